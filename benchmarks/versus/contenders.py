"""Who takes part, as data: a command each, and how its quality is found out, which is never timed.

In a command, {file} is the file to read, {model} the file to write, {predictions} a file of one prediction a line, {held} rows to be judged by.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

PYTHON = sys.executable
ODCA = str(Path(sys.executable).with_name("odca"))
PEER = (PYTHON, "-m", "benchmarks.versus.peers")
BLOCKS = 16_000_000  # bytes that scikit-learn loads at a time, where it does not load all
SMALL, LARGE, ONE, CSV = "50 MB", "1 GB", "one line", "CSV"

Command = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """A command to be timed. `stem` and `kind` name its file.

    Quality is that of a second run: of `progressive`, which writes predictions from before each row is learned, or of `summary`, whose last line is
    JSON that judges them; and of `judged`, which writes those of the held rows with the model it left; or of `tells`, which prints both. `inside`: the command prints its own seconds, without
    imports. `rows` is a part of the file, if it is not all of it: times are then scaled to the whole.
    """

    name: str
    part: str
    stem: str
    kind: str
    command: Command
    progressive: Command = ()
    judged: Command = ()
    tells: Command = ()
    summary: Command = ()
    inside: bool = False
    rows: int | None = None


def odca(name: str, part: str, stem: str, kind: str, *flags: str) -> Contender:
    train = (ODCA, "train", "{file}", "-o", "{model}", "--loss", "log_loss", *flags)
    judged = (ODCA, "predict", "{model}", "{held}", "--raw", "--no-names", "-o", "{predictions}")
    return Contender(name, part, stem, kind, train, summary=(*train, "--json"), judged=judged)


def vw(name: str, part: str, stem: str, *flags: str) -> Contender:
    start = (PYTHON, "-m", "vowpalwabbit")
    train = (*start, "-d", "{file}", "--loss_function", "logistic", "-f", "{model}", *flags)
    judged = (*start, "-d", "{held}", "-t", "-i", "{model}", "-p", "{predictions}", "--quiet")
    return Contender(name, part, stem, "vw", train, (*train, "-p", "{predictions}"), judged)


def peer(name: str, part: str, stem: str, which: str, *flags: str, rows: int | None = None) -> Contender:
    work = (*PEER, which, "{file}", "{model}", *flags)
    return Contender(name, part, stem, "svm", work, tells=(*work, "--held", "{held}"), rows=rows)


def all_contenders() -> list[Contender]:
    """All of them."""
    found = []
    for part, stem in ((SMALL, "small"), (LARGE, "large")):
        found += [
            odca("odca", part, stem, "vw"),
            odca("odca, --bits 18", part, stem, "vw", "--bits", "18"),
            odca("odca, libsvm", part, stem, "svm"),
            vw("VW", part, stem),
            vw("VW, --quiet", part, stem, "--quiet"),
            vw("VW, --coin", part, stem, "--coin"),
            vw("VW, --coin --quiet", part, stem, "--coin", "--quiet"),
        ]
    blocks = ("--blocks", str(BLOCKS))
    return [
        *found,
        peer("scikit-learn, whole file", SMALL, "small", "sklearn"),
        peer("scikit-learn, blocks", LARGE, "large", "sklearn", *blocks),
        peer("river", SMALL, "small", "river"),
        odca("odca", ONE, "one", "vw", "--classes=-1,1"),
        vw("VW, --quiet", ONE, "one", "--quiet"),
        Contender("odca.stream", CSV, "numbers", "csv", (*PEER, "csv-odca", "{file}"), inside=True),
        Contender("pyarrow", CSV, "numbers", "csv", (*PEER, "csv-pyarrow", "{file}"), inside=True),
    ]
