"""Vowpal Wabbit, by its command: events as text, predictions from before each was learned.

VW writes predictions as it goes: in one pass they are progressive by themselves. Margins are taken and not probabilities, of which VW
writes six digits; with several classes --probabilities would normalise the sigmoids of --oaa's margins, which is done here instead.
"""

import functools
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.quality.methods import Method, Predicted, from_log_odds, from_one_vs_rest
from benchmarks.quality.streams import BINARY, CLASSES, NUMBER, Stream

BITS = "22"  # the default, 18, is too few for 94,000 words times 20 classes
VARIANTS = ("", "-l 0.1", "-l 2", "-l 10", "--coin", "--ftrl")  # the default is -l 0.5


def predict(stream: Stream, flags: str, folder: Path) -> Predicted:
    """One pass over the stream, whose text is made once and kept in the folder."""
    text, answers = folder / f"{stream.name}.vw", folder / "predictions"
    if not text.exists():
        write_text(stream, text)
    if stream.task == NUMBER:
        task = ["-p", str(answers)]
    elif stream.task == BINARY:
        task = ["--loss_function", "logistic", "-p", str(answers)]
    else:
        task = ["--loss_function", "logistic", "--oaa", str(stream.classes), "-r", str(answers)]
    command = [sys.executable, "-m", "vowpalwabbit", "-d", str(text), "-b", BITS, "--quiet", *task, *flags.split()]
    subprocess.run(command, check=True, capture_output=True)
    lines = [line for line in answers.read_text(encoding="utf-8").split("\n") if line]
    if stream.task == CLASSES:
        margins = [[pair.partition(":")[2] for pair in line.split()] for line in lines]
        return from_one_vs_rest(np.array(margins, dtype=float))
    values = np.array(lines, dtype=float)
    return Predicted(values) if stream.task == NUMBER else from_log_odds(values)


def write_text(stream: Stream, path: Path) -> None:
    """Write a line for each event. The feature of column n is named fn, and a value of 1 is left out, as VW users do."""
    columns, values = stream.X.indices.tolist(), stream.X.data.tolist()
    tokens = [
        f" f{column}" if value == 1.0 else f" f{column}:{value:.9g}"
        for column, value in zip(columns, values, strict=True)
    ]
    ends = stream.X.indptr.tolist()
    with path.open("w", encoding="utf-8") as file:
        for label, start, end in zip(labels_of(stream), ends, ends[1:], strict=False):
            file.write(f"{label} |{''.join(tokens[start:end])}\n")


def labels_of(stream: Stream) -> list[float]:
    """As VW wants them: -1 and 1, classes from 1 on, or numbers."""
    labels = {NUMBER: stream.y, BINARY: 2 * stream.y - 1, CLASSES: stream.y + 1}[stream.task]
    as_list: list[float] = labels.tolist()
    return as_list


def vowpal_wabbit(folder: Path, more: str = "") -> list[Method]:
    """VW with various flags, and more of them for all; texts are kept in the folder."""
    tasks = (BINARY, CLASSES, NUMBER)
    return [
        Method(
            f"VW {flags} {more}".replace("  ", " ").strip(),
            tasks,
            functools.partial(predict, flags=f"{flags} {more}", folder=folder),
        )
        for flags in VARIANTS
    ]
