"""Runs of the automatic mode."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from learner import LAYOUTS, LONG, long_data
from runs import Parts, add, named, saved

from data import COUNT, FIRST, PARTS, data
from odca import (
    AutoLearner,
)


def auto_run(task: str, classes: int, labels: Callable[[], Any], layout: str, chosen: Mapping[str, bool]) -> Parts:
    learner, given, y = AutoLearner(task, classes=classes), data(), labels()
    said = []
    for part in PARTS:
        more = {"sample_weight": given.weight[part]} if chosen.get("weighted") else {}
        more |= {"time": given.time[part]} if chosen.get("timed") else {}
        said += [learner.learn(given.X[layout][part], y[part], **more), learner.predict(given.X[layout])]
    if task == "classes":
        said.append(learner.probabilities(said[-1]))
    yield "results", [said, learner.classes, learner.count, learner.n_features]
    yield "report", json.loads(learner.report().as_json())
    yield "state", learner.get_state()
    yield from saved(learner)


def four_classes(late: int) -> Any:
    """Four of them, of which the last comes after so many events; the first three come in order."""
    z = data().y["numbers"]
    codes = np.where(z[:, 0] > 2.0, 3, z.argmax(axis=1))
    codes[(codes == 3) & (np.arange(COUNT) < late)] = 0
    codes[:4] = [0, 1, 2, 0]
    return codes.astype(np.float64)


AUTO_TASKS: dict[str, tuple[str, int, Callable[[], Any]]] = {
    "two classes": ("classes", 2, lambda: (data().y["numbers"][:, 0] > 0.0).astype(np.float64)),
    "four classes, declared": ("classes", 4, lambda: four_classes(0)),
    "four classes, declared, late": ("classes", 4, lambda: four_classes(150)),
    "four classes, met, late": ("classes", 2, lambda: four_classes(FIRST + 20)),
    "numbers": ("numbers", 2, lambda: data().y["numbers"][:, 0]),
    "counts": ("numbers", 2, lambda: data().y["counts"][:, 0]),
}
AUTO_WAYS = {
    "plain": {},
    "weighted": {"weighted": True},
    "timed": {"timed": True},
    "weighted, timed": {"weighted": True, "timed": True},
}
for name, (task, classes, labels), layout, chosen in named(AUTO_TASKS, LAYOUTS, AUTO_WAYS):
    add(f"auto/{name}", auto_run, task, classes, labels, layout, chosen)


def auto_long_run(task: str, classes: int, layout: str, timed: bool) -> Parts:
    learner, given = AutoLearner(task, classes=2), long_data()
    z = given.y["numbers"]
    y = z[:, 0] if task == "numbers" else z[:, :classes].argmax(axis=1).astype(np.float64)
    if classes > 2:  # each comes once those before it have come
        y[np.arange(LONG) < 100 * y] = 0.0
    yield (
        "results",
        [learner.learn(given.X[layout], y, time=given.time if timed else None), learner.predict(given.X[layout])],
    )
    yield "report", json.loads(learner.report().as_json())
    yield "state", learner.get_state()


LONG_TASKS = {"two classes": ("classes", 2), "seven classes": ("classes", 7), "numbers": ("numbers", 2)}
for name, (task, classes), layout, timed in named(LONG_TASKS, LAYOUTS, (False, True)):
    add(f"auto/long/{name}", auto_long_run, task, classes, layout, timed)
