"""Whether 30 % means 30 %: probabilities, predicted before each label was known, beside how often it came true."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from odca import datasets
from odca.river import AutoClassifier

model, predicted, came = AutoClassifier(), [], []
for event in datasets.clicks():
    clicked = event.pop("click")
    predicted.append(model.predict_proba_one(event).get(1, 0.5))
    came.append(clicked)
    model.learn_one(event, clicked)

predicted, came = np.array(predicted), np.array(came)
bins = np.clip((predicted * 10).astype(int), 0, 9)
sizes = np.bincount(bins, minlength=10)
means = np.bincount(bins, predicted, 10) / sizes
shares = np.bincount(bins, came, 10) / sizes
figure, axes = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
axes.plot([0, 1], [0, 1], color="#9aa0a6", linestyle=":")
axes.scatter(means, shares, s=sizes / sizes.max() * 200 + 10, color="#c2253b")
axes.set(xlabel="predicted probability", ylabel="how often it was a click", xlim=(0, 1), ylim=(0, 1), aspect="equal")
figure.savefig(sys.argv[1], dpi=120)
print(f"mean distance: {np.average(np.abs(means - shares), weights=sizes):.3f}")
