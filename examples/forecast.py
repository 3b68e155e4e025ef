"""The load of three stations, one hour ahead: predictions and intervals that hold 90 % of the labels."""

import sys
from datetime import datetime

import matplotlib.pyplot as plt
import numpy as np

from odca import datasets
from odca.river import AutoRegressor

model = AutoRegressor(history=["y by station: lag 1,2,24,168; mean 24"])
shown, held = [], []
for event in datasets.load():
    load = event.pop("load")
    interval = model.predict_interval_one(event, 0.9)
    held.append(interval.lower <= load <= interval.upper)
    if event["station"] == "harbour":
        shown.append(
            (datetime.fromisoformat(event["time"]), load, model.predict_one(event), interval.lower, interval.upper)
        )
    model.learn_one(event, load)

times, loads, predicted, low, high = zip(*shown[-96:], strict=True)
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.fill_between(times, low, high, color="#c2253b", alpha=0.18, linewidth=0, label="90 % interval")
axes.plot(times, predicted, color="#c2253b", label="predicted an hour before")
axes.plot(times, loads, "k.", markersize=4, label="what came")
axes.set(ylabel="load in MW", title="the last four days of one station")
axes.legend(frameon=False, ncols=3)
figure.autofmt_xdate()
figure.savefig(sys.argv[1], dpi=120)
print(f"{np.mean(held[1000:]):.1%} of the labels were inside their interval")
