"""The files that the contenders read: documents like RCV1's as VW text, with numbers or words for names, and as libsvm text; numbers as CSV.

    python -m benchmarks.versus.data [--data /tmp/odca-versus]

`small` (50 MB) holds the first rows of `large` (1 GB), `held` rows that neither has, `one` a single row. All are one stream: blocks with a seed
each, the words and the teacher of one world. Feature n is named n + 1 in both formats, which are the same but for VW's bar, so
the size is that of the VW text and the libsvm text has the same rows. In `large.words.vw`, as large, features are named by made-up words of 4 to
12 letters. Values have six significant digits, as %.6g writes them.
"""

import argparse
import hashlib
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.data import Problem, make_documents
from benchmarks.report import log

DEFAULT = Path("/tmp/odca-versus")
SIZES = {"small": 50_000_000, "large": 1_000_000_000}
CSV_SIZE = 200_000_000
CSV_COLUMNS = 20
FEATURES = 47_000
BLOCK, CSV_BLOCK = 50_000, 100_000
HELD_ROWS = 20_000
WORLD = 7
HELD_SEED = 1_000_000  # no block of a stream gets there
RECIPE = {"version": 3, "sizes": SIZES, "csv": CSV_SIZE, "features": FEATURES, "block": BLOCK, "world": WORLD}

Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.unsignedinteger[Any]]
Array = npt.NDArray[np.float64]


# Text by tables: a number is put together from pieces of four or eight bytes, and the padding is dropped at the end.


def packed(texts: list[str], kind: type[np.unsignedinteger[Any]]) -> Codes:
    """Texts as integers of their bytes, NUL-padded."""
    width = np.dtype(kind).itemsize
    return np.array([text.encode() for text in texts], dtype=f"S{width}").view(kind)


def made_words(count: int) -> list[str]:
    """So many different words of two to four syllables; the earlier ones, which are more frequent, are shorter."""
    rng = np.random.default_rng((WORLD, 2))
    syllables = [
        first + vowel + last for first in "bcdfghklmnprstvw" for vowel in "aeiou" for last in ("", "n", "r", "s")
    ]
    words: dict[str, None] = {}
    while len(words) < count:
        length = 2 + (len(words) > 1_000) + (len(words) > 15_000)
        words["".join(syllables[k] for k in rng.integers(len(syllables), size=length))] = None
    return list(words)


NUMBERED = np.array([f" {n + 1}:".encode() for n in range(FEATURES)])
WORDED = np.array([f" {word}:".encode() for word in made_words(FEATURES)])
LEADS = packed(["0.", "0.0", "0.00"], np.uint32)
THOUSANDS = [f"{n:03d}" for n in range(1000)]
FIRST = packed(THOUSANDS + [text.rstrip("0") for text in THOUSANDS], np.uint32)  # the second half: nothing follows
LAST = packed([text.rstrip("0") for text in THOUSANDS], np.uint32)


def unpadded(codes: npt.NDArray[Any]) -> bytes:
    return codes.tobytes().translate(None, b"\0")


def digits(values: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Zeros behind the point, and six significant digits behind those, of values in [0.001, 1)."""
    zeros = (values < 0.1).astype(np.int64) + (values < 0.01)
    mantissa = np.rint(values * 10.0 ** (6 + zeros)).astype(np.int64)
    if mantissa.min() < 100_000 or values.max() >= 0.9999995:
        raise ValueError(f"values must be in [0.001, 1); got {values.min()} to {values.max()}.")
    carry = mantissa == 1_000_000
    return zeros - carry, np.where(carry, 100_000, mantissa)


def as_text(made: Problem, names: npt.NDArray[np.bytes_]) -> bytes:
    """Rows as VW text."""
    indices, starts, values, y = made.X.indices, made.X.indptr, made.X.data, made.y
    kinds = [("name", names.dtype), ("lead", np.uint32), ("first", np.uint32), ("last", np.uint32)]
    tokens = np.zeros(len(indices) + len(y), dtype=kinds)
    heads = starts[:-1] + np.arange(len(y))
    of_values = np.ones(len(tokens), dtype=bool)
    of_values[heads] = False
    zeros, mantissa = digits(values)
    first, last = np.divmod(mantissa, 1000)
    tokens["name"][of_values] = names[indices]
    tokens["lead"][of_values] = LEADS[zeros]
    tokens["first"][of_values] = FIRST[first + 1000 * (last == 0)]
    tokens["last"][of_values] = LAST[last]
    tokens["name"][heads] = np.where(y > 0, b"\n1 |", b"\n-1 |")
    return unpadded(tokens)[1:] + b"\n"


def documents() -> Iterator[Problem]:
    """Blocks of the stream, without end."""
    return (document_block(BLOCK, seed) for seed in itertools.count())


def document_block(rows: int, seed: int) -> Problem:
    return make_documents(rows=rows, features=FEATURES, teachers=1, seed=seed, world=WORLD)


def blocks() -> Iterator[tuple[bytes, npt.NDArray[np.int8]]]:
    """VW text and labels, without end."""
    return ((as_text(made, NUMBERED), made.y.astype(np.int8)) for made in documents())


def as_libsvm(text: bytes) -> bytes:
    return text.replace(b" |", b"")


def csv_blocks() -> Iterator[bytes]:
    """Numbers with five places behind the point, and a label of ±1, without end."""
    signs, wholes = packed(["", "-"], np.uint16), packed([f"{n // 100}.{n % 100:02d}" for n in range(1000)], np.uint32)
    thousandths = packed([f"{text}," for text in THOUSANDS], np.uint32)
    labels = packed(["-1\n", "1\n"], np.uint32)
    number = np.dtype([("sign", np.uint16), ("whole", np.uint32), ("rest", np.uint32)])
    line = np.dtype([("numbers", number, (CSV_COLUMNS,)), ("label", np.uint32)])
    teacher = np.random.default_rng((WORLD, 1)).standard_normal(CSV_COLUMNS)
    seed = 0
    while True:
        rng = np.random.default_rng(seed)
        X = np.clip(rng.standard_normal((CSV_BLOCK, CSV_COLUMNS)), -9.9, 9.9)
        whole, rest = np.divmod(np.rint(np.abs(X) * 1e5).astype(np.int64), 1000)
        lines = np.zeros(CSV_BLOCK, dtype=line)
        lines["numbers"]["sign"] = signs[(X < 0.0).astype(np.int64)]
        lines["numbers"]["whole"] = wholes[whole]
        lines["numbers"]["rest"] = thousandths[rest]
        lines["label"] = labels[(X @ teacher + rng.standard_normal(CSV_BLOCK) > 0.0).astype(np.int64)]
        yield unpadded(lines)
        seed += 1


# Files


class CountedFile:
    """A file that appears under its name when it is whole, with its size, rows and checksum."""

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(path.name + ".part")
        self._file, self._hash = self._part.open("wb"), hashlib.sha256()
        self.size = self.rows = 0

    def write(self, text: bytes, *, rows: int) -> None:
        """Append whole lines."""
        self._file.write(text)
        self._hash.update(text)
        self.size += len(text)
        self.rows += rows

    def close(self) -> dict[str, Any]:
        """Return what to remember of it."""
        self._file.close()
        self._part.replace(self._path)
        return {"bytes": self.size, "rows": self.rows, "sha256": self._hash.hexdigest()}


def cut(text: bytes, size: int) -> bytes:
    """The whole lines within so many bytes."""
    return text if len(text) <= size else text[: text.rfind(b"\n", 0, size) + 1]


def write_documents(folder: Path) -> dict[str, Any]:
    """Write both sizes in both formats, and the labels of the larger one; and that one with words."""
    outs = {f"{name}.{kind}": CountedFile(folder / f"{name}.{kind}") for name in SIZES for kind in ("vw", "svm")}
    worded = outs["large.words.vw"] = CountedFile(folder / "large.words.vw")
    labels = []
    for made in documents():
        text, rows = as_text(made, NUMBERED), 0
        for name, size in SIZES.items():
            part = cut(text, size - outs[f"{name}.vw"].size)
            rows = part.count(b"\n")
            outs[f"{name}.vw"].write(part, rows=rows)
            outs[f"{name}.svm"].write(as_libsvm(part), rows=rows)
        part = cut(as_text(made, WORDED), SIZES["large"] - worded.size)
        worded.write(part, rows=part.count(b"\n"))
        labels.append(made.y.astype(np.int8)[:rows])
        if rows < BLOCK:
            break
    np.save(folder / "labels.npy", np.concatenate(labels))
    held = document_block(HELD_ROWS, HELD_SEED)
    text = as_text(held, NUMBERED)
    outs |= {name: CountedFile(folder / name) for name in ("held.vw", "held.svm", "held.words.vw", "one.vw")}
    outs["held.vw"].write(text, rows=HELD_ROWS)
    outs["held.svm"].write(as_libsvm(text), rows=HELD_ROWS)
    outs["held.words.vw"].write(as_text(held, WORDED), rows=HELD_ROWS)
    outs["one.vw"].write(text[: text.index(b"\n") + 1], rows=1)
    np.save(folder / "held-labels.npy", held.y.astype(np.int8))
    return {name: out.close() for name, out in outs.items()}


def write_csv(folder: Path) -> dict[str, Any]:
    """Write numbers.csv."""
    out = CountedFile(folder / "numbers.csv")
    out.write((",".join(f"x{n}" for n in range(CSV_COLUMNS)) + ",y\n").encode(), rows=0)
    for text in csv_blocks():
        part = cut(text, CSV_SIZE - out.size)
        out.write(part, rows=part.count(b"\n"))
        if len(part) < len(text):
            break
    return {"numbers.csv": out.close()}


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def prepare(folder: Path) -> dict[str, Any]:
    """Make the files unless they are there; check sizes and checksums; return them."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "files.json"
    found = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    if found.get("recipe") != RECIPE:
        started = time.perf_counter()
        log(f"writing the files into {folder} ...")
        found = {"recipe": RECIPE, "files": write_documents(folder) | write_csv(folder)}
        found["seconds"] = time.perf_counter() - started
        manifest.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        log(f"  took {found['seconds']:.0f} s")
    for name, facts in found["files"].items():
        path = folder / name
        if path.stat().st_size != facts["bytes"] or checksum(path) != facts["sha256"]:
            raise ValueError(f"{path} is not what was written. Delete {manifest} to have it made again.")
    files: dict[str, Any] = found["files"]
    return files


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versus.data", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DEFAULT, help="where they go (default: %(default)s)")
    print(json.dumps(prepare(parser.parse_args().data), indent=1))
