"""Vowpal Wabbit, by its command: events as text, predictions from before each was learned.

VW writes its predictions as it goes, in one pass: they are progressive by themselves. Margins are taken, not probabilities, because
VW writes six digits. With several classes, --probabilities normalises the sigmoids of --oaa's margins: `one_vs_rest` does the same.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.quality.scoring import Predicted, one_vs_rest, sigmoid_pair
from benchmarks.quality.streams import BINARY, NUMBER, Stream

BITS = "22"  # the default of 18 makes 94,000 words times 20 classes collide; elsewhere it makes no difference
VARIANTS: dict[str, tuple[str, ...]] = {
    "VW": (),
    "VW -l 0.1": ("-l", "0.1"),
    "VW -l 2": ("-l", "2"),
    "VW -l 10": ("-l", "10"),
    "VW --coin": ("--coin",),
    "VW --ftrl": ("--ftrl",),
}


def predict(stream: Stream, flags: tuple[str, ...], folder: Path) -> Predicted:
    """One pass of VW over the stream, whose text is kept in the folder."""
    text, answers = folder / f"{stream.name}.vw", folder / "predictions"
    if not text.exists():
        write_text(stream, text)
    start = [sys.executable, "-m", "vowpalwabbit", "-d", str(text), "-b", BITS, "--quiet"]
    if stream.task == NUMBER:
        task = ["-p", str(answers)]
    elif stream.task == BINARY:
        task = ["--loss_function", "logistic", "-p", str(answers)]
    else:
        task = ["--loss_function", "logistic", "--oaa", str(stream.classes), "-r", str(answers)]
    subprocess.run([*start, *task, *flags], check=True, capture_output=True, text=True)
    lines = [line for line in answers.read_text(encoding="utf-8").split("\n") if line]
    if stream.task == NUMBER:
        return np.array(lines, dtype=float)
    if stream.task == BINARY:
        return sigmoid_pair(np.array(lines, dtype=float))
    return one_vs_rest(np.array([[pair.partition(":")[2] for pair in line.split()] for line in lines], dtype=float))


def write_text(stream: Stream, path: Path) -> None:
    """Write a line for each event; the feature of column n is named fn, and has no value if that is 1."""
    X = stream.X
    tokens = np.array(
        [
            f" f{column}" if value == 1.0 else f" f{column}:{value:.9g}"
            for column, value in zip(X.indices.tolist(), X.data.tolist(), strict=True)
        ],
        dtype=object,
    )
    with path.open("w", encoding="utf-8") as file:
        for label, start, end in zip(labels_of(stream), X.indptr, X.indptr[1:], strict=False):
            file.write(f"{label} |{''.join(tokens[start:end])}\n")


def labels_of(stream: Stream) -> npt.NDArray[np.float64] | list[str]:
    """Labels as VW wants them: -1 and 1, classes from 1 on, or numbers."""
    if stream.task == NUMBER:
        return [repr(value) for value in stream.y.tolist()]
    return [str(value) for value in (2 * stream.y - 1 if stream.task == BINARY else stream.y + 1)]
