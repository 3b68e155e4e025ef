"""Tracking: a target that stands still and then changes its sign."""

import numpy as np

from odca.research import datasets
from odca.research.experiments.intervals import Array, Interval
from odca.research.experiments.random_walk import EXPONENTIAL, FEATURES, INFINITE, NOISE, REFINED, deviations, filters
from odca.research.experiments.study import Claim, Finding, Job, Line, Panel, over_seeds

JUMP, BEFORE, AFTER, EVERY = 20_000, 200, 1_200, 5
LEVEL = 0.1
NAMES = (EXPONENTIAL, REFINED, INFINITE, "LMS", "NLMS", "RLS")


def find(job: Job, after: int = AFTER) -> Finding:
    """How many events it takes each filter to get near the new target."""
    made = {name: make for name, make in filters().items() if name in NAMES}

    def one(seed: int) -> dict[str, Array]:
        drift = datasets.random_walk(JUMP + after, FEATURES, step=0.0, noise=NOISE, jump_at=JUMP, seed=seed)
        return deviations(drift, EVERY, made, begin=JUMP - BEFORE)

    runs = over_seeds(one, job, "jump")
    curves = {name: np.array([run[name] for run in runs]) for name in made}
    at = np.arange(EVERY - BEFORE, after + 1, EVERY)
    back = {name: EVERY * looks_until(each[:, at > 0], LEVEL) for name, each in curves.items()}
    late = {name: int((each > after).sum()) for name, each in back.items()}
    back = {name: np.minimum(each, after) for name, each in back.items()}
    return Finding(
        panel=Panel(
            "tracking-jump",
            f"A target that turns round, at event {JUMP:,}",
            "events since it turned",
            "‖w - w°‖²",
            [Line.of(name, at, each) for name, each in curves.items()],
            y_log=True,
            y_range=(1e-4, 10.0),
        ),
        claims=[
            Claim(
                f"O-DCA responds to a sudden change sooner with a window that forgets: events until the deviation is below {LEVEL:g}",
                "paper, abstract",
                Interval.of(back[EXPONENTIAL] - back[INFINITE]),
                "events",
            )
        ],
        results={
            f"jump, events until below {LEVEL:g}: {name}": (Interval.of(each), float("nan"))
            for name, each in back.items()
        },
        parameters={
            "jump": f"as the walk, but the target stands still and then changes its sign; evaluated every {EVERY} events"
        },
        notes=[
            f"After the jump, {name} had not recovered within {after:,} events in {count} of {len(runs)} runs, which count as {after:,}."
            for name, count in late.items()
            if count
        ],
    )


def looks_until(curves: Array, level: float) -> Array:
    """The number of the evaluation at which each curve first is below the level; infinity if it never is."""
    below = curves < level
    looks: Array = np.where(below.any(axis=1), below.argmax(axis=1) + 1.0, np.inf)
    return looks
