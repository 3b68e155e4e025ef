"""What each feature adds to one prediction, in log-odds."""

import sys

import matplotlib.pyplot as plt

import odca
from odca import datasets

events = datasets.clicks()
model = odca.train(events, label="click")
event = next(event for event in reversed(events) if event["site"] == "games" and event["device"] == "desktop")
parts = model.explain({name: value for name, value in event.items() if name != "click"})
largest = sorted(parts.items(), key=lambda each: abs(each[1]))[-10:]
names, sizes = zip(*largest, strict=True)
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.barh(
    [name or "(intercept)" for name in names], sizes, color=["#c2253b" if size > 0 else "#4a6fa5" for size in sizes]
)
axes.axvline(0.0, color="#333333", linewidth=0.8)
axes.set(
    xlabel="added to the log-odds of a click",
    title=f"{event['device']} on {event['site']}, age {event['age']}, {event['ad']}",
)
figure.savefig(sys.argv[1], dpi=120)
print(f"log-odds {sum(parts.values()):.2f}")
