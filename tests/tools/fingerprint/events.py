"""Runs of `EventLearner`, and the dictionaries that it and river's estimators learn from."""

import functools
from typing import Any, NamedTuple

import numpy as np
from learner import KINDS, LOSSES, WINDOWS
from runs import Parts, add, named, saved

from data import COUNT, FIRST, WEIGHTS, data
from odca import (
    EventLearner,
)

COUNTRIES = ("NZ", "FR", "IT", "", "São Tomé")


class Events(NamedTuple):
    """Dictionaries with numbers, categories, truths and gaps; and labels of all kinds."""

    x: list[dict[str, Any]]
    truth: list[bool]
    place: list[str]
    """Of which one comes late."""
    number: list[float]
    count: list[float]


@functools.cache
def events() -> Events:
    rng = np.random.default_rng(20241)
    x, z = [], []
    for n in range(COUNT):
        price, size = float(rng.exponential(3.0)), float(rng.normal(100.0, 20.0))
        country, new = COUNTRIES[rng.integers(len(COUNTRIES))], bool(rng.random() < 0.3)
        event: dict[str, Any] = {
            "price": price,
            "size": size,
            "country": country,
            "new": new,
            "rooms": int(rng.integers(1, 6)),
        }
        for name in ("price", "country", "size"):
            if rng.random() < 0.1:
                event[name] = None
        if rng.random() < 0.1:
            event["size"] = float("nan")
        if rng.random() < 0.2:
            del event["rooms"]
        if n > COUNT // 3 and rng.random() < 0.3:
            event[f"only {int(rng.integers(4))}"] = float(rng.normal())
        x.append(event)
        z.append(0.4 * price - 0.01 * size + new + 0.5 * (country == "FR") + float(rng.normal()))
    middle = float(np.median(z))
    late = [n >= FIRST and value > middle + 1.0 for n, value in enumerate(z)]
    return Events(
        x=x,
        truth=[value > middle for value in z],
        place=[
            "late" if is_late else "up" if value > middle else "down" for is_late, value in zip(late, z, strict=True)
        ],
        number=z,
        count=[float(round(max(0.0, 2.0 + value))) for value in z],
    )


def event_learner_run(loss: str, window: Any, bits: int | None, missing: str, lanes: int | None) -> Parts:
    """One by one, then many, then with labels that come later."""
    model = EventLearner(
        loss=LOSSES[loss], window=window, rho=1e-3, smoothing=0.9, prior_strength=0.5, scale=True, intercept=True,
        lanes=lanes, bits=bits, missing=missing, max_pending=20,
    )  # fmt: skip
    given = events()
    single = {
        "signs": [1.0 if truth else -1.0 for truth in given.truth],
        "counts": given.count,
        "numbers": given.number,
    }
    y = np.array(single[KINDS[loss]])
    if lanes:
        y = np.stack([y, y[::-1]], axis=1)
    uses_time, told = model.learner.window.uses_time, []
    for n in range(100):
        told.append(model.predict_one(given.x[n], offset=0.1))
        more = {"time": float(data().time[n])} if uses_time else {}
        told.append(model.learn_one(given.x[n], y[n], weight=1.5 if n % 3 else 1.0, **more))
    more = {"time": data().time[100:200]} if uses_time else {}
    told.append(model.learn_many(given.x[100:200], y[100:200], **{WEIGHTS: data().weight[100:200]}, **more))
    for n in range(200, COUNT):
        told.append(model.predict_one(given.x[n], id=f"event {n}"))
        if n >= 210:
            more = {"time": float(data().time[n])} if uses_time else {}
            told.append(model.learn_label(f"event {n - 10}", y[n - 10], **more))
    yield "results", [told, model.predict_many(given.x), model.pending, model.dropped]
    yield "explained", [model.explain_one(x) for x in given.x[-10:]]
    if bits is None:
        yield "names", [model.weights(), list(map(repr, model.features))]
    yield "state", model.learner.get_state()
    yield from saved(model)


for name, loss, window, bits, missing, lanes in named(
    ("log_loss", "hinge", "huber", "poisson"), WINDOWS, (None, 8), ("ignore", "indicate"), (None, 2)
):
    add(f"events/{name}", event_learner_run, loss, window, bits, missing, lanes)
