"""Payments, of which frauds are reported hours or days later. Each is predicted at once, and learned when its label comes.

The model is not given the time of a payment: frauds are known sooner than the rest, so that recent payments would look like frauds.
"""

import heapq
import sys

import matplotlib.pyplot as plt
import numpy as np

from odca import datasets
from odca.river import AutoClassifier

model = AutoClassifier(max_pending=10_000)
waiting: list[tuple[str, str, int]] = []  # when it will be known, of which payment, and what
scores, frauds = [], []
for event in datasets.payments():
    name, now, fraud, reported = event.pop("id"), event.pop("time"), event.pop("fraud"), event.pop("reported")
    while waiting and waiting[0][0] <= now:
        _, known, label = heapq.heappop(waiting)
        model.learn_label(known, label)
    scores.append(model.predict_proba_one(event, id=name).get(1, 0.0))
    frauds.append(fraud)
    heapq.heappush(waiting, (reported, name, fraud))

stretch = 1000
times = np.arange(stretch, len(scores) + 1, stretch)
found = []
for end in times:
    part = slice(end - stretch, end)
    watched = np.argsort(scores[part])[-50:]  # an analyst looks at the 50 most suspicious of 1,000
    found.append(np.array(frauds[part])[watched].sum() / max(sum(frauds[part]), 1))
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.bar(times, found, width=0.8 * stretch, color="#c2253b")
axes.axhline(0.05, color="#9aa0a6", linestyle=":", label="by chance")
axes.axvline(10_500, color="#333333", linestyle="--", label="a new trick appears")
axes.set(
    xlabel="payments",
    ylabel="share of frauds found",
    title="frauds among the 5 % most suspicious payments",
    ylim=(0, 1),
)
axes.legend(frameon=False)
figure.savefig(sys.argv[1], dpi=120)
print(
    f"{np.mean(found[4:10]):.0%} of the frauds found before the new trick, {np.mean(found[14:]):.0%} when it was known"
)
