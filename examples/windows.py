"""Three windows that follow a moving target: all of the past, a fading past, the last events."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from odca import Exponential, Infinite, Learner, Sliding, SquaredError

rng = np.random.default_rng(0)
events = 3000
target = np.where(np.arange(events) < 1500, 1.0, -1.0) + 0.5 * np.sin(np.arange(events) / 150)
x = rng.normal(size=events)
y = target * x + 0.5 * rng.normal(size=events)
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(target, "k--", linewidth=1, label="the true weight")
windows = {"Infinite()": Infinite(), "Exponential(0.99)": Exponential(0.99), "Sliding(200)": Sliding(200)}
for (name, window), colour in zip(windows.items(), ("#9aa0a6", "#c2253b", "#4a6fa5"), strict=True):
    learner = Learner(loss=SquaredError(), rho=0.1, window=window)
    weights = []
    for n in range(events):
        learner.learn(x[n : n + 1, None], y[n : n + 1])
        weights.append(learner.coef[0])
    axes.plot(weights, color=colour, label=name)
    print(f"{name:18} mean distance {np.mean(np.abs(target - weights)[100:]):.3f}")
axes.set(xlabel="events", ylabel="weight")
axes.legend(frameon=False, ncols=4, loc="upper right")
figure.savefig(sys.argv[1], dpi=120)
