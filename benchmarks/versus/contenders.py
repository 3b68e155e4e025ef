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
SMALL, LARGE, WORDS, ONE, CSV = "50 MB", "1 GB", "1 GB, words", "one line", "CSV"

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
    train = (ODCA, "train", "{file}", "-o", "{model}", *flags)
    judged = (ODCA, "predict", "{model}", "{held}", "--raw", "--no-names", "-o", "{predictions}")
    return Contender(name, part, stem, kind, train, summary=(*train, "--json"), judged=judged)


def plain(name: str, part: str, stem: str, kind: str, *flags: str) -> Contender:
    return odca(name, part, stem, kind, "--loss", "log_loss", *flags)


def vw(name: str, part: str, stem: str, *flags: str, kind: str = "vw") -> Contender:
    start = (PYTHON, "-m", "vowpalwabbit")
    train = (*start, "-d", "{file}", "--loss_function", "logistic", "-f", "{model}", *flags)
    judged = (*start, "-d", "{held}", "-t", "-i", "{model}", "-p", "{predictions}", "--quiet")
    return Contender(name, part, stem, kind, train, (*train, "-p", "{predictions}"), judged)


def all_of_vw(part: str, stem: str, kind: str = "vw") -> list[Contender]:
    ways: tuple[Command, ...] = ((), ("--quiet",), ("--coin",), ("--coin", "--quiet"))
    return [
        vw(", ".join(("VW", *([" ".join(flags)] if flags else []))), part, stem, *flags, kind=kind) for flags in ways
    ]


def peer(name: str, part: str, stem: str, which: str, *flags: str, rows: int | None = None) -> Contender:
    work = (*PEER, which, "{file}", "{model}", *flags)
    return Contender(name, part, stem, "svm", work, tells=(*work, "--held", "{held}"), rows=rows)


def all_contenders() -> list[Contender]:
    """All of them."""
    found = []
    for part, stem in ((SMALL, "small"), (LARGE, "large")):
        found += [
            plain("odca", part, stem, "vw"),
            plain("odca, --bits 18", part, stem, "vw", "--bits", "18"),
            plain("odca, libsvm", part, stem, "svm"),
            *all_of_vw(part, stem),
        ]
    words = "words.vw"
    blocks = ("--blocks", str(BLOCKS))
    return [
        *found,
        odca("odca, automatic, --bits 18", LARGE, "large", "vw", "--bits", "18"),
        plain("odca", WORDS, "large", words),
        plain("odca, --bits 18", WORDS, "large", words, "--bits", "18"),
        *all_of_vw(WORDS, "large", words),
        peer("scikit-learn, whole file", SMALL, "small", "sklearn"),
        peer("scikit-learn, blocks", LARGE, "large", "sklearn", *blocks),
        peer("river", SMALL, "small", "river"),
        plain("odca", ONE, "one", "vw", "--classes=-1,1"),
        vw("VW, --quiet", ONE, "one", "--quiet"),
        Contender("odca.stream", CSV, "numbers", "csv", (*PEER, "csv-odca", "{file}"), inside=True),
        Contender("pyarrow", CSV, "numbers", "csv", (*PEER, "csv-pyarrow", "{file}"), inside=True),
    ]
