"""`odca demo`: compare three windows on a drifting stream.

The label of an event says on which side of a hyperplane it lies; one label in twenty is wrong. The hyperplane turns slowly all
the time, and half-way it suddenly turns by a third of a circle. The three learners differ only in their window. Each event is
predicted before it is learned.

All three share one rho, and the outcome depends on it: at the default, the infinite window cannot follow the turn; at a hundredth
of it, the infinite window follows, and the finite ones are noisy. Try `--rho`; README.md has the figures.

The stream is divided into equal stretches, each as long as the finite windows, and errors are counted per stretch.
`race` computes and returns data, the view_* functions turn data into text, and only `run` prints.
"""

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TextIO

import numpy as np
import numpy.typing as npt

from odca.cli.option_types import number, whole_number
from odca.learner import Learner
from odca.losses import LogLoss
from odca.records import record
from odca.windows import Exponential, Infinite, Sliding

EPILOG = """\
examples:
  odca demo
  odca demo --rho 0.001
  odca demo --events 100000 --json
"""

STRETCHES = 40
BATCHES = 5 * STRETCHES
FEWEST_EVENTS = 10 * STRETCHES
RHO = 0.1
LEARNERS = ("infinite", "exponential", "sliding")
NO_CHANGE, MAJORITY, TRUTH = "no change", "majority", "the truth"
BASELINES = (NO_CHANGE, MAJORITY, TRUTH)

Array = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


# The problem


@record
class Problem:
    """A hyperplane through `features` dimensions that turns by `slow` over the stream and by `turn` half-way."""

    events: int
    seed: int = 0
    features: int = 20
    flipped: float = 0.05
    slow: float = math.pi
    turn: float = 2.0 * math.pi / 3.0
    rho: float = RHO  # for all three learners

    def edge(self, stretch: int) -> int:
        """The number of the first event of a stretch."""
        return self.events * stretch // STRETCHES

    @property
    def stretch(self) -> int:
        """The length of a stretch, and of the finite windows."""
        return self.events // STRETCHES

    def batches(self) -> Iterator[tuple[Array, Array, Array]]:
        """The stream in equal parts: rows, labels, and the labels before any was flipped."""
        rng = np.random.default_rng(self.seed)
        plane = np.linalg.qr(rng.normal(size=(self.features, 2)))[0]  # the two directions it turns between
        half_way = self.edge(STRETCHES // 2)
        for batch in range(BATCHES):
            n = np.arange(self.events * batch // BATCHES, self.events * (batch + 1) // BATCHES)
            angle = self.slow * n / self.events + np.where(n >= half_way, self.turn, 0.0)
            X = rng.normal(size=(len(n), self.features))
            along = X @ plane
            side = np.cos(angle) * along[:, 0] + np.sin(angle) * along[:, 1] + 0.25
            clean = np.where(side >= 0.0, 1.0, -1.0)
            yield X, np.where(rng.random(len(n)) < self.flipped, -clean, clean), clean


# The race


@record
class Score:
    """The results of one predictor: its error in each stretch (the last may be unfinished), its error so far, and its speed."""

    name: str
    errors: tuple[float, ...]
    so_far: float
    events_per_second: float | None


@record
class Standing:
    """The race after `done` events."""

    done: int
    scores: tuple[Score, ...]


class _Tally:
    """Counts one predictor's errors by stretch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.wrong = np.zeros(STRETCHES)
        self.seen = np.zeros(STRETCHES)
        self.seconds = 0.0

    def count(self, stretch: int, wrong: Marks) -> None:
        self.wrong[stretch] += np.count_nonzero(wrong)
        self.seen[stretch] += len(wrong)

    def score(self) -> Score:
        begun = self.seen > 0
        errors = tuple((self.wrong[begun] / self.seen[begun]).tolist())
        speed = float(self.seen.sum() / self.seconds) if self.seconds > 0.0 else None
        return Score(self.name, errors, float(self.wrong.sum() / self.seen.sum()), speed)


def _learners(stretch: int, rho: float) -> dict[str, Learner]:
    # With span=L the average age of the past events is that of a sliding window of L events.
    windows = dict(zip(LEARNERS, (Infinite(), Exponential(span=max(stretch, 2)), Sliding(stretch)), strict=True))
    return {name: Learner(loss=LogLoss(), rho=rho, window=w, intercept=True) for name, w in windows.items()}


def race(problem: Problem) -> Iterator[Standing]:
    """Run the stream through all predictors; yield the standing after every batch."""
    learners = _learners(problem.stretch, problem.rho)
    tallies = {name: _Tally(name) for name in (*LEARNERS, *BASELINES)}
    done, positive, last = 0, 0, 1.0
    for batch, (X, y, clean) in enumerate(problem.batches()):
        stretch = batch * STRETCHES // BATCHES
        for name, learner in learners.items():
            start = time.perf_counter()
            margins = learner.learn(X, y)
            tallies[name].seconds += time.perf_counter() - start
            tallies[name].count(stretch, (margins >= 0.0) != (y > 0.0))
        seen = done + np.arange(len(y))
        positives = positive + np.cumsum(y > 0.0) - (y > 0.0)  # among the events before each
        tallies[NO_CHANGE].count(stretch, np.concatenate(([last], y[:-1])) != y)
        tallies[MAJORITY].count(stretch, (2 * positives >= seen) != (y > 0.0))
        tallies[TRUTH].count(stretch, clean != y)
        done, positive, last = done + len(y), positive + int(np.count_nonzero(y > 0.0)), float(y[-1])
        yield Standing(done, tuple(tally.score() for tally in tallies.values()))


@record
class FinalErrors:
    """A line of the final table: the errors in the last stretch before the turn, the first after it, and the last of all."""

    name: str
    errors: tuple[float, float, float]
    events_per_second: float | None


def table(standing: Standing) -> tuple[FinalErrors, ...]:
    """The final table of a finished race."""
    half = STRETCHES // 2
    return tuple(
        FinalErrors(score.name, (score.errors[half - 1], score.errors[half], score.errors[-1]), score.events_per_second)
        for score in standing.scores
    )


# Text


@record
class Style:
    """What the output can show: block characters or ASCII, colours or none."""

    blocks: bool = False
    colour: bool = False

    def paint(self, text: str, code: str) -> str:
        """`text` in an ANSI style, if the output has colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


PLAIN = Style()
BOLD, DIM, GREEN, YELLOW, RED = "1", "2", "32", "33", "31"
HIGHEST = 0.64  # the error of a full bar
LIVE_COLUMNS, LIVE_LINES = 13 + STRETCHES + 20, 10  # the size of terminal that the live view needs
HIDE_CURSOR, SHOW_CURSOR, CLEAR_REST = "\x1b[?25l", "\x1b[?25h", "\x1b[K"
SECONDS_PER_FRAME = 0.04


def view_header(problem: Problem) -> str:
    """The description of the problem and the learners."""
    return (
        f"{problem.events:,} events in {problem.features} dimensions, labelled by a hyperplane that turns\n"
        f"slowly by {math.degrees(problem.slow):.0f} degrees over the stream, and half-way suddenly by "
        f"{math.degrees(problem.turn):.0f} degrees.\n"
        f"{problem.flipped:.0%} of the labels are wrong. Three learners (log loss, rho = {problem.rho:g}) differ only in\n"
        f"their window: infinite, exponential (span {problem.stretch:,}), sliding ({problem.stretch:,} events).\n"
    )


def view_live(problem: Problem, standing: Standing, style: Style) -> list[str]:
    """The race so far, as lines that are drawn over the previous ones."""
    half = STRETCHES // 2
    sign = f"{'▼' if style.blocks else 'v'} the turn"
    lines = [style.paint(f"{'error':{13 + half}}{sign:{half}}{'now':>10}{'so far':>10}", DIM)]
    for score in standing.scores[: len(LEARNERS)]:
        upper, lower = zip(*(_bar(error, style) for error in score.errors), strict=True)
        rest = " " * (STRETCHES - len(score.errors))
        now = style.paint(f"{_percent(score.errors[-1]):>10}", BOLD)
        lines.append(f"{'':13}{''.join(upper)}")
        lines.append(f"{score.name:13}{''.join(lower)}{rest}{now}{_percent(score.so_far):>10}")
    cells = STRETCHES * standing.done // problem.events
    full, rest = "━─" if style.blocks else "=-"
    track = full * cells + style.paint(rest * (STRETCHES - cells), DIM)
    lines.append(f"{'':13}{track}{standing.done / problem.events:>9.0%}")
    return lines


def view_plain(problem: Problem, standing: Standing) -> str:
    """The race so far, as one line of a log."""
    errors = ", ".join(f"{score.name} {_percent(score.so_far)}" for score in standing.scores[: len(LEARNERS)])
    return f"{standing.done:>{len(f'{problem.events:,}')},} events, error so far: {errors}"


def view_table(problem: Problem, standing: Standing, style: Style = PLAIN) -> str:
    """The final table. The best learner in each column is bold."""
    rows = table(standing)
    learners = rows[: len(LEARNERS)]
    least = [min(row.errors[k] for row in learners) for k in range(3)]
    lines = [
        style.paint(f"{'error':13}{'before':>12}{'just after':>12}{'at the':>12}{'':14}", DIM),
        style.paint(f"{'':13}{'the turn':>12}{'the turn':>12}{'end':>12}{'events/s':>14}", DIM),
    ]
    for row in rows:
        cells = [
            style.paint(f"{_percent(error):>12}", BOLD if row in learners and error == least[k] else "")
            for k, error in enumerate(row.errors)
        ]
        speed = "-" if row.events_per_second is None else f"{row.events_per_second:,.0f}"
        lines.append(f"{row.name:13}{''.join(cells)}{speed:>14}")
    return "\n".join(lines) + (
        f"\n\nEach error is over {problem.stretch:,} events, each predicted before it was learned.\n"
        f"{NO_CHANGE}: the previous label; {MAJORITY}: the more frequent label so far;\n"
        f"{TRUTH}: the hyperplane itself, which only errs on the wrong labels.\n"
        "There is no step size to tune, but rho matters as much as the window: with\n"
        "--rho 0.001 the infinite window follows the turn and the other two are noisy."
    )


def view_json(problem: Problem, standing: Standing) -> str:
    """The problem and the results, as JSON."""
    document = {
        "problem": {**asdict(problem), "turn_at": problem.edge(STRETCHES // 2)},
        "learners": {"loss": LogLoss.name, "span": problem.stretch, "length": problem.stretch},
        "table": [
            {
                "name": row.name,
                **dict(zip(("before", "after", "end"), row.errors, strict=True)),
                "events_per_second": row.events_per_second,
            }
            for row in table(standing)
        ],
        "errors_by_stretch": {score.name: score.errors for score in standing.scores},
    }
    return json.dumps(document, indent=2)


def _percent(error: float) -> str:
    return f"{100.0 * error:.1f} %"


def _bar(error: float, style: Style) -> tuple[str, str]:
    """A bar two characters high: its upper and its lower character."""
    ramp = " ▁▂▃▄▅▆▇█" if style.blocks else " _.:-=+*#"
    steps = len(ramp) - 1
    height = 1 + min(int(error / HIGHEST * 2 * steps), 2 * steps - 1)
    code = GREEN if error < 0.12 else YELLOW if error < 0.24 else RED
    return style.paint(ramp[max(height - steps, 0)], code), style.paint(ramp[min(height, steps)], code)


# The command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --events, --seed, --rho, --json."""
    parser.add_argument(
        "--events",
        type=whole_number(FEWEST_EVENTS),
        default=1_000_000,
        metavar="N",
        help="the length of the stream (default: 1000000, a few seconds)",
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="the seed of the random stream (default: 0)"
    )
    parser.add_argument(
        "--rho",
        type=number(above=0.0),
        default=RHO,
        metavar="X",
        help=f"the strength of the penalty, for all three learners (default: {RHO})",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Run the race and show it: live on a terminal, as a few lines elsewhere."""
    problem = Problem(events=arguments.events, seed=arguments.seed, rho=arguments.rho)
    standings = race(problem)
    if arguments.json:
        print(view_json(problem, _last(standings)))
        return 0
    style, live = _style_of(sys.stdout)
    print(view_header(problem), flush=True)
    over = _show_live(problem, standings, style) if live else _show_plain(problem, standings)
    print()
    print(view_table(problem, over, style))
    return 0


def _style_of(out: TextIO) -> tuple[Style, bool]:
    """What `out` can show, and whether it can redraw lines."""
    if not out.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return PLAIN, False
    try:
        "▁█▼━─".encode(out.encoding or "ascii")
        blocks = True
    except UnicodeEncodeError:
        blocks = False
    size = shutil.get_terminal_size()
    style = Style(blocks=blocks, colour=not os.environ.get("NO_COLOR"))
    return style, size.columns >= LIVE_COLUMNS and size.lines >= LIVE_LINES


def _last(standings: Iterable[Standing]) -> Standing:
    return deque(standings, maxlen=1).pop()


def _show_plain(problem: Problem, standings: Iterable[Standing]) -> Standing:
    for batch, standing in enumerate(standings, start=1):
        if batch % (BATCHES // 4) == 0:
            print(view_plain(problem, standing), flush=True)
    return standing


def _show_live(problem: Problem, standings: Iterable[Standing], style: Style) -> Standing:
    drawn, up = -math.inf, ""
    print(HIDE_CURSOR, end="")
    try:
        for standing in standings:
            if time.monotonic() - drawn < SECONDS_PER_FRAME and standing.done < problem.events:
                continue
            lines = view_live(problem, standing, style)
            print(up + "".join(f"{line}{CLEAR_REST}\n" for line in lines), end="", flush=True)
            drawn, up = time.monotonic(), f"\x1b[{len(lines)}F"
    finally:
        print(SHOW_CURSOR, end="", flush=True)
    return standing
