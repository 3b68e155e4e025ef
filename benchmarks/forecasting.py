"""One step ahead: what a line of `--history` is worth, beside VW and river with lags made by hand.

    python -m benchmarks.forecasting [--events N] [--only bike_hour]

Every event is predicted before its number is learned. All methods get the same features: those that odca reads from the file (the parts
of dates, categories as features of their own). "lags" are the same past values, made by hand for VW and river; SNARIMAX makes its own.
Nothing is timed. The lines of history were chosen after a look at these streams: of three for bike_hour and ETTh1, of about eight for
toulouse_bikes. The step size of river's methods is the best one in hindsight of a few.
"""

import argparse
import math
import subprocess
import sys
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import odca
from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca import stream
from odca.features import Features, feature_name
from odca.research.datasets import MissingDataError
from odca.research.datasets.files import File, fetched

Array = npt.NDArray[np.float64]
Row = dict[str, float]


@dataclass(frozen=True, slots=True)
class Series:
    """A stream of numbers: its file, its label, and the past that is worth knowing, as a line of history and by hand."""

    file: str
    label: str
    history: str
    lags: tuple[int, ...]
    mean: int
    """The number of labels whose mean is a feature of the lags made by hand."""
    season: int
    """The number of events after which SNARIMAX looks for the same season."""
    key: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


STEPS = (0.01, 0.003, 0.001)
"""The step sizes of river's methods, of which the best one in hindsight is shown."""
CODES = ("season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit")

SERIES = {
    "bike_hour": Series(
        "bike_hour.csv.gz",
        "cnt",
        "y: lag 1,2,24,168; mean 24",
        (1, 2, 24, 168),
        24,
        24,
        options={"ignore": ("casual", "registered", "instant"), "categorical": CODES},
    ),
    "toulouse_bikes": Series(
        "toulouse_bikes.csv.gz", "bikes", "y by station: lag 1,2,3; mean 24h", (1, 2, 3), 24, 24, key="station"
    ),
    "ETTh1": Series("ETTh1.csv.gz", "OT", "y: lag 1,2,3,24; mean 24h", (1, 2, 3, 24), 24, 24),
}


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a series as dictionaries of features, their keys and their numbers."""

    rows: list[Row]
    keys: list[str]
    y: Array


def read(path: Path, series: Series, most: int | None) -> Events:
    """The features that odca reads from the file."""
    rows: list[Row] = []
    labels: list[float] = []
    with stream.open(path, label=series.label, features=Features(**series.options)) as blocks:
        for block in blocks:
            X, names = block.X, [feature_name(key) for key in blocks.vocabulary.keys()]  # noqa: SIM118 - no dictionary
            for row in range(len(block)):
                part = slice(X.indptr[row], X.indptr[row + 1])
                rows.append({names[k]: float(v) for k, v in zip(X.indices[part], X.data[part], strict=True)})
            labels += block.y.tolist()
    mark = f"{series.key}="
    keys = [next((name for name in row if name.startswith(mark)), "") if series.key else "" for row in rows]
    return Events(rows[:most], keys[:most], np.array(labels[:most]))


def with_lags(events: Events, series: Series) -> Iterator[Row]:
    """The features of each event with the labels that its key had before."""
    past: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=max(*series.lags, series.mean)))
    for row, key, y in zip(events.rows, events.keys, events.y.tolist(), strict=True):
        known = past[key]
        out = dict(row)
        for lag in series.lags:
            if lag <= len(known):
                out[f"lag {lag}"] = known[-lag]
        if known:
            out["mean"] = math.fsum(list(known)[-series.mean :]) / min(len(known), series.mean)
        yield out
        known.append(y)


# The methods: the predictions of all events, each from before it was learned.


def by_odca(path: Path, series: Series, events: int, *, past: bool, **options: Any) -> Callable[[], dict[str, float]]:
    """The scores of the model that `odca train` makes."""

    def scores() -> dict[str, float]:
        history = [series.history] if past else []
        with tempfile.NamedTemporaryFile(suffix=".csv") as part:
            first_lines(path, Path(part.name), events)
            made = odca.train(
                part.name, label=series.label, history=history, progress=False, **series.options, **options
            )
        return {"mae": float(made.metrics.mae), "rmse": float(made.metrics.rmse)}

    return scores


def first_lines(path: Path, out: Path, events: int) -> None:
    """A file with the header and the first events of another one."""
    import gzip

    with gzip.open(path, "rt", encoding="utf-8") as source:
        out.write_text("".join(line for _, line in zip(range(events + 1), source, strict=False)), encoding="utf-8")


def by_vw(rows: Iterable[Row], y: Array, *flags: str) -> Array:
    """VW's progressive predictions."""
    places: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        text, answers = Path(folder) / "events.vw", Path(folder) / "answers"
        with text.open("w", encoding="utf-8") as file:
            for row, label in zip(rows, y.tolist(), strict=True):
                tokens = [f"f{places.setdefault(name, len(places))}:{value:.9g}" for name, value in row.items()]
                file.write(f"{label!r} | {' '.join(tokens)}\n")
        command = [sys.executable, "-m", "vowpalwabbit", "-d", str(text), "-p", str(answers), "--quiet", *flags]
        subprocess.run(command, check=True, capture_output=True)
        return np.array(answers.read_text(encoding="utf-8").split(), dtype=float)


def numbers(row: Row) -> Row:
    """The features that are no indicators."""
    return {name: value for name, value in row.items() if not is_indicator(name)}


def indicators(row: Row) -> Row:
    """The others."""
    return {name: value for name, value in row.items() if is_indicator(name)}


def is_indicator(name: str) -> bool:
    """Whether a feature is that of a category; the trend of a year lies between 0 and 1 as well."""
    return "=" in name or ".trend." in name


def river_regression(step: float) -> Any:
    """river's linear regression. Indicators are not scaled: divided by the deviation of a rare one they would make it diverge."""
    from river import compose, linear_model, optim, preprocessing

    scaled = compose.FuncTransformer(numbers) | preprocessing.StandardScaler()
    regression = linear_model.LinearRegression(optimizer=optim.SGD(step))
    return (scaled + compose.FuncTransformer(indicators)) | regression


def best_step(predict: Callable[[float], Array], y: Array) -> dict[str, float]:
    """The scores of the step size that is the best one in hindsight. river's default, 0.01, diverges on some streams."""
    return min((scored(predict(step), y) for step in STEPS), key=lambda scores: scores["mae"])


def by_river(rows: Iterable[Row], y: Array, step: float) -> Array:
    """The progressive predictions of river's linear regression."""
    model = river_regression(step)
    out = []
    for row, label in zip(rows, y.tolist(), strict=True):
        out.append(model.predict_one(row))
        model.learn_one(row, label)
    return np.array(out)


def by_snarimax(events: Events, series: Series, step: float) -> Array:
    """river's SNARIMAX with the features of the event, one model for each key."""
    from river import time_series

    def make() -> Any:
        return time_series.SNARIMAX(p=3, d=0, q=0, m=series.season, sp=1, regressor=river_regression(step))

    models: dict[str, Any] = {}
    out = []
    for row, key, label in zip(events.rows, events.keys, events.y.tolist(), strict=True):
        if key not in models:
            models[key] = make()
        model = models[key]
        out.append(model.forecast(horizon=1, xs=[row])[0])
        model.learn_one(label, row)
    return np.array(out)


def scored(predictions: Array, y: Array) -> dict[str, float]:
    """Mean absolute error, and the root of the mean squared one."""
    off = np.clip(predictions, -1e12, 1e12) - y  # a method that diverges is told by its figure, not by an overflow
    return {"mae": float(np.abs(off).mean()), "rmse": float(np.sqrt(np.mean(off * off)))}


def methods(path: Path, series: Series, most: int | None) -> Iterator[tuple[str, Callable[[], dict[str, float]]]]:
    """All methods, by name."""
    events = read(path, series, most)
    y, count = events.y, len(events.y)

    def previous() -> dict[str, float]:
        last: dict[str, float] = {}
        said = []
        for key, label in zip(events.keys, y.tolist(), strict=True):
            said.append(last.get(key, 0.0))
            last[key] = label
        return scored(np.array(said), y)

    yield "the previous number of the key", previous
    yield "odca, automatic", by_odca(path, series, count, past=False)
    yield "odca, automatic, --history", by_odca(path, series, count, past=True)
    linear = {"loss": "squared_error"}
    yield "odca, one linear model", by_odca(path, series, count, past=False, **linear)
    yield "odca, one linear model, --history", by_odca(path, series, count, past=True, **linear)
    yield "VW --coin", lambda: scored(by_vw(events.rows, y, "--coin"), y)
    yield "VW --coin, lags", lambda: scored(by_vw(with_lags(events, series), y, "--coin"), y)
    yield "VW, lags", lambda: scored(by_vw(with_lags(events, series), y), y)
    yield "river: LinearRegression", lambda: best_step(lambda step: by_river(events.rows, y, step), y)
    yield (
        "river: LinearRegression, lags",
        lambda: best_step(lambda step: by_river(with_lags(events, series), y, step), y),
    )
    yield "river: SNARIMAX", lambda: best_step(lambda step: by_snarimax(events, series, step), y)


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecasting", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, help="only the first of each stream (default: all)")
    parser.add_argument("--only", choices=SERIES, nargs="+", default=list(SERIES))
    arguments = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    found: list[dict[str, Any]] = []
    for name in arguments.only:
        try:
            path = fetched([File(SERIES[name].file)])[0]
        except MissingDataError as missing:
            log(f"skipping {name}: {missing}")
            continue
        for method, score in methods(path, SERIES[name], arguments.events):
            found.append({"stream": name, "method": method, "history": SERIES[name].history, **score()})
            log(f"  {name}, {method}: {found[-1]['mae']:.4g}")
    cells = [[row["stream"], row["method"], f"{row['mae']:.4g}", f"{row['rmse']:.4g}"] for row in found]
    print(table(["stream", "method", "mean absolute error", "rmse"], cells))
    if arguments.events is None and arguments.only == list(SERIES):
        print(f"written to {write_json('forecasting', {'machine': machine, 'rows': found}).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
