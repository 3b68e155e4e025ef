"""The automatic mode judged by other losses than squared error: absolute error, quantiles, counts.

    python -m benchmarks.losses [--events 12000] [--only REGEX] [--methods REGEX] [--repeats 3]

Progressive losses of the first events of number streams, real and generated: mean absolute error, mean pinball loss at 0.1 and 0.9, and
mean Poisson deviance where labels are counts. The peers:

- `squared`: the automatic mode with squared error, as it is (means of counts are at least a hundredth of the mean label so far);
- `squared + quantile`: the same plus the running quantile of its last 1,000 errors;
- `VW`: the loss itself (`--loss_function quantile` or `poisson`), the best of four learning rates and `--coin`, chosen in hindsight for each stream;
- `river`: its linear regression with the loss, behind a StandardScaler, the best of three learning rates;
- `constant`: the running quantile of the last 1,000 labels, or for counts the mean label so far.

The first event is not judged. The time of an event is the best of several, of which those of the loss and of squared error take turns. VW is missing where it is not installed. Writes benchmarks/results/losses.json.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from river import linear_model, optim, preprocessing

from benchmarks.quality import vw
from benchmarks.quality.streams import NUMBER, STREAMS, Stream, narrow
from benchmarks.report import describe_machine, log, show_machine, table, write_json
from odca import AutoLearner

Array = npt.NDArray[np.float64]
Losses = Callable[[Array, Array], Array]
EVENTS, WINDOW = 12_000, 1000
QUANTILES = {"absolute error": 0.5, "pinball 0.1": 0.1, "pinball 0.9": 0.9}
COUNTS = "Poisson deviance"
VW_FLAGS = ("", "-l 0.1", "-l 2", "-l 10", "--coin")
RIVER_RATES = (0.001, 0.01, 0.1)


# Streams


def made(name: str, X: Array, y: Array) -> Stream:
    """A stream of numbers."""
    return Stream(name, NUMBER, narrow(X), y, np.ones(X.shape[1], bool), True, "")


def widening(events: int) -> Stream:
    """Ten features, of which one also says how uncertain the label is, by factors from 0.1 to 4."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(events, 10)), rng.normal(size=10)
    return made("uncertain by a feature", X, X @ w + np.exp(X[:, 0] - 0.5) * rng.normal(size=events))


def skewed(events: int) -> Stream:
    """Ten features and errors with a log-normal distribution."""
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(events, 10)), rng.normal(size=10)
    return made("skewed errors", X, X @ w + np.exp(rng.normal(size=events)))


def rare_counts(events: int) -> Stream:
    """Counts, mostly 0, whose means are log-linear in ten features."""
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(events, 10)), 0.3 * rng.normal(size=10)
    return made("rare counts", X, rng.poisson(np.exp(X @ w - 1.5)).astype(float))


def scattered_counts(events: int) -> Stream:
    """Counts of about twenty, which scatter more than by chance: negative binomial, with means log-linear in ten features."""
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(events, 10)), 0.3 * rng.normal(size=10)
    return made(
        "scattered counts", X, rng.poisson(np.exp(X @ w + 3.0) * rng.gamma(3.0, 1.0 / 3.0, events)).astype(float)
    )


def streams(events: int) -> Iterator[tuple[Stream, list[str]]]:
    """Each stream with the losses that it is judged by."""
    for name in ("bike_hour", "toulouse_bikes", "ETTh1", "ETTh1-lag", "sysid_f16"):
        stream = STREAMS[name]().first(events)
        is_count = bool(np.all((stream.y >= 0) & (stream.y == np.floor(stream.y))))
        yield stream, [*QUANTILES, *([COUNTS] if is_count else [])]
    for make in (widening, skewed):
        yield make(events), [*QUANTILES]
    for make in (rare_counts, scattered_counts):
        yield make(events), [COUNTS]


# Losses


def pinball(q: float) -> Losses:
    """The loss of a quantile; for the median twice that, the absolute error."""
    factor = 2.0 if q == 0.5 else 1.0
    return lambda told, y: factor * np.maximum(q * (y - told), (q - 1.0) * (y - told))


def deviance(told: Array, y: Array) -> Array:
    """Of counts from their means."""
    return 2.0 * (y * np.log(np.where(y > 0.0, y, 1.0) / told) - y + told)


def running_quantile(values: Array, q: float) -> Array:
    """For each event, that of the values before it, at most the last 1,000."""
    out = np.zeros(len(values))
    for at in range(1, len(values)):
        out[at] = np.quantile(values[max(at - WINDOW, 0) : at], q)
    return out


def running_mean(y: Array) -> Array:
    """Of the labels before each event, with half an event of 1 before the first."""
    return np.concatenate([[1.0], (np.cumsum(y)[:-1] + 0.5) / (np.arange(1, len(y)) + 0.5)])


# Methods


def auto(stream: Stream, loss: str) -> Array:
    """Progressive predictions of the automatic mode."""
    return AutoLearner("numbers", loss=loss).learn(stream.events, stream.y.astype(float))


def by_vw(stream: Stream, flags: str, folder: Path) -> Array:
    """The same by VW."""
    text, answers = folder / f"{stream.name}.vw", folder / "predictions"
    if not text.exists():
        vw.write_text(stream, text)
    command = [sys.executable, "-m", "vowpalwabbit", "-d", str(text), "-b", vw.BITS, "--quiet", "-p", str(answers)]
    subprocess.run([*command, *flags.split()], check=True, capture_output=True)
    return np.array(answers.read_text(encoding="utf-8").split(), dtype=float)


def by_river(stream: Stream, loss: Any, rate: float) -> Array:
    """The same by river; not a number where it diverges."""
    scaler, model = preprocessing.StandardScaler(), linear_model.LinearRegression(optim.SGD(rate), loss=loss)
    out = np.empty(len(stream.y))
    for at in range(len(stream.y)):
        row = slice(stream.X.indptr[at], stream.X.indptr[at + 1])
        x = dict(zip(stream.X.indices[row].tolist(), stream.X.data[row].tolist(), strict=True))
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        try:
            out[at] = model.predict_one(x)
            model.learn_one(x, stream.y[at])
        except OverflowError:  # it has diverged
            return np.full(len(stream.y), np.nan)
    return out


def name_of(loss: str) -> str:
    """As `loss=` has it."""
    names = {COUNTS: "poisson", "absolute error": "absolute_error"}
    return names[loss] if loss in names else f"quantile:{QUANTILES[loss]}"


def candidates(stream: Stream, of: str, folder: Path) -> Iterator[tuple[str, Callable[[], Array]]]:
    """By method, what predicts the stream for a loss; the best of those with the same name counts."""
    y, q = stream.y.astype(float), QUANTILES.get(of, 0.5)
    is_count = of == COUNTS
    yield "auto", lambda: auto(stream, name_of(of))

    def squared() -> Array:
        told = auto(stream, "squared_error")
        return np.maximum(told, 0.01 * running_mean(y)) if is_count else told

    def moved() -> Array:
        told = auto(stream, "squared_error")
        return told + running_quantile(y - told, q)

    yield "squared", squared
    if not is_count:
        yield "squared + quantile", moved
    if importlib.util.find_spec("vowpalwabbit"):
        loss = "--loss_function poisson --link poisson" if is_count else f"--loss_function quantile --quantile_tau {q}"
        for flags in VW_FLAGS:
            yield "VW", lambda flags=flags: by_vw(stream, f"{loss} {flags}", folder)
    for rate in RIVER_RATES:
        loss = optim.losses.Poisson() if is_count else optim.losses.Quantile(q)
        yield "river", lambda rate=rate, loss=loss: by_river(stream, loss, rate)
    yield "constant", lambda: running_mean(y) if is_count else running_quantile(y, q)


def judged(stream: Stream, of: str, told: Array) -> float:
    """The mean loss from the second event on; infinite where a prediction is none."""
    y = stream.y.astype(float)
    with np.errstate(all="ignore"):
        losses = deviance(np.maximum(told, 1e-10), y) if of == COUNTS else pinball(QUANTILES[of])(told, y)
        mean = float(np.mean(losses[1:]))
    return mean if np.isfinite(mean) else np.inf


def timed(stream: Stream, loss: str, repeats: int) -> dict[str, float]:
    """Microseconds for an event by the automatic mode with the loss, and with squared error."""
    taken = {"auto": np.inf, "squared": np.inf}
    for _ in range(repeats):
        for name, each in (("auto", loss), ("squared", "squared_error")):
            begin = time.process_time()
            auto(stream, each)
            taken[name] = min(taken[name], 1e6 * (time.process_time() - begin) / len(stream.y))
    return taken


def rows(events: int, only: str, methods: str, repeats: int) -> Iterator[dict[str, Any]]:
    """For each stream and loss, the mean loss of each method."""
    with tempfile.TemporaryDirectory() as folder:
        for stream, losses in streams(events):
            for of in losses:
                if not re.search(only, f"{stream.name}, {of}"):
                    continue
                found: dict[str, float] = {}
                for method, predict in candidates(stream, of, Path(folder)):
                    if re.search(methods, method):
                        found[method] = min(found.get(method, np.inf), judged(stream, of, predict()))
                microseconds = timed(stream, name_of(of), repeats)
                yield {"stream": stream.name, "loss": of, "losses": found, "microseconds": microseconds}


def main() -> None:
    """Run, print the table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.losses", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=EVENTS, metavar="N", help="of each stream, at most")
    parser.add_argument("--only", default="", metavar="REGEX", help="of streams and losses; then no file is written")
    parser.add_argument("--methods", default="", metavar="REGEX", help="those to run; then no file is written")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of every time")
    arguments = parser.parse_args()
    machine, found = describe_machine(), []
    for row in rows(arguments.events, arguments.only, arguments.methods, arguments.repeats):
        log(str(row))
        found.append(row)
    show_machine(machine)
    names = list(dict.fromkeys(name for row in found for name in row["losses"]))
    cells = [[f"{row['losses'][name]:.4g}" if name in row["losses"] else "" for name in names] for row in found]
    print(
        table(
            ("stream", "loss", *names), [[row["stream"], row["loss"], *c] for row, c in zip(found, cells, strict=True)]
        )
    )
    if not (arguments.only or arguments.methods):
        write_json("losses", {"machine": machine, "events": arguments.events, "rows": found})


if __name__ == "__main__":
    main()
