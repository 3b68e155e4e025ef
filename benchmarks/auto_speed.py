"""What an event costs the automatic mode: sparse rows beside one learner, a table with products beside river's forest.

    python -m benchmarks.auto_speed [--rounds N]

Writes benchmarks/results/auto_speed.json. Both sides of a ratio are measured in turns, in one process.
"""

import argparse

import numpy as np

from benchmarks.data import make_documents
from benchmarks.report import (
    Goal,
    Row,
    compare,
    describe_machine,
    log,
    show_machine,
    table,
    time_interleaved,
    write_json,
)
from odca import AutoClassifier, AutoLearner, Learner, LogLoss

ROWS, FEATURES, NONZEROS = 60_000, 47_000, 70
COLUMNS, EVENTS = 20, 6_000


def sparse(rounds: int) -> Row:
    """Beside one learner of log loss, on documents of 70 words."""
    made = make_documents(rows=ROWS, features=FEATURES, nonzeros=NONZEROS, teachers=1)
    codes = (made.y > 0.0).astype(np.float64)
    timings = time_interleaved(
        {
            "auto": lambda: lambda: AutoLearner("classes").learn(made.X, codes),
            "one": lambda: lambda: Learner(loss=LogLoss(), rho=1e-5, intercept=True).learn(made.X, made.y),
        },
        rounds,
    )
    return Row(
        f"{NONZEROS} of {FEATURES:,} features",
        "one log-loss Learner",
        *compare(timings["auto"], timings["one"]),
        goal=Goal(5.0),
        note=f"{1e6 * timings['auto'].best / ROWS:.2f} us an event",
    )


def forest() -> Row:
    """Beside river's forest, on a table whose label depends on products of columns."""
    from river.forest import ARFClassifier

    rng = np.random.default_rng(3)
    X = rng.normal(size=(EVENTS, COLUMNS))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=EVENTS) > 0.0).astype(int)
    events = [(dict(enumerate(row)), int(label)) for row, label in zip(X.tolist(), y, strict=True)]

    def learn() -> None:
        model = AutoClassifier()
        for at in range(0, EVENTS, 1000):
            model.partial_fit(X[at : at + 1000], y[at : at + 1000], classes=[0, 1])

    def grow() -> None:
        trees = ARFClassifier(seed=1)
        for event, label in events:
            trees.predict_proba_one(event)
            trees.learn_one(event, label)

    timings = time_interleaved({"auto": lambda: learn, "forest": lambda: grow}, 3)
    return Row(
        f"a table of {COLUMNS} columns, with products, times faster",
        "river ARFClassifier",
        *compare(timings["auto"], timings["forest"], faster=True),
        goal=Goal(200.0, at_least=True),
        note=f"{1e6 * timings['auto'].best / EVENTS:.2f} us an event",
    )


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto_speed", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    rows = [sparse(options.rounds), forest()]
    print(table(Row.HEADER, [row.as_cells() for row in rows]))
    log(f"wrote {write_json('auto_speed', {'machine': machine, 'rows': [row.as_json() for row in rows]})}")


if __name__ == "__main__":
    main()
