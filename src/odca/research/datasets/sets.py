"""The data sets by name: their files, and how these become arrays."""

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from odca.records import record
from odca.research.datasets.files import File, fetched, found
from odca.stream import open as open_stream

Array = npt.NDArray[np.float64]
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"


@record
class Dataset:
    """Rows X and labels y for training, in the order of the files, and others for testing, if the data set has them."""

    name: str
    what: str
    """A one-line description."""
    files: tuple[str, ...]
    """The files it was read from."""
    exact: bool
    """Whether these are the original files, not a substitute."""
    X: Any
    """A dense array or a csr_array."""
    y: npt.NDArray[Any]
    X_test: Any = None
    y_test: npt.NDArray[Any] | None = None

    def shuffled(self, seed: int = 0) -> "Dataset":
        """The training rows in random order. Where the set has no test rows, the last fifth becomes its test rows."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        X, y = self.X[order], self.y[order]
        if self.X_test is not None:
            return replace(self, X=X, y=y)
        train = len(y) * 4 // 5
        return replace(self, X=X[:train], y=y[:train], X_test=X[train:], y_test=y[train:])

    @property
    def file_names(self) -> str:
        """The names of the files, for reports, which need not say where they are."""
        return " and ".join(Path(each).name for each in self.files)


Parts = tuple[Any, npt.NDArray[Any]]


@record
class Variant:
    """Files that a data set can be read from: the training file, and the test file if there is one."""

    what: str
    files: tuple[File, ...]
    read: Callable[[Path], Parts]
    exact: bool = True


def _libsvm(features: int) -> Callable[[Path], Parts]:
    def read(path: Path) -> Parts:
        with open_stream(path, format="libsvm") as stream:
            blocks = [(block.X, block.y) for block in stream]
        rows = [csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], features + 1)) for X, _ in blocks]
        return csr_array(vstack(rows, format="csr")[:, 1:]), np.concatenate([y for _, y in blocks])

    return read


def _table(target: str | int, *, drop: Sequence[str] = (), header: bool = True) -> Callable[[Path], Parts]:
    """A reader of tables. All columns are numeric, except that the target may be text."""

    def read(path: Path) -> Parts:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        names = lines[0].split(",") if header else [str(n) for n in range(len(lines[0].split(",")))]
        place = names.index(target) if isinstance(target, str) else target % len(names)
        kept = [k for k, name in enumerate(names) if k != place and name not in drop]
        body = lines[1:] if header else lines
        X = np.loadtxt(body, delimiter=",", usecols=kept, ndmin=2)
        labels = [line.split(",")[place] for line in body]
        try:
            return X, np.array([float(label) for label in labels])
        except ValueError:
            return X, np.array(labels)

    return read


def _relatives(path: Path) -> Parts:
    """For each day and stock, the value at the end of the day of one unit of money invested at its start. There is no label: y is
    the number of the day.
    """
    wealth = np.loadtxt(io.StringIO(gzip.decompress(path.read_bytes()).decode()), delimiter=",", skiprows=1)
    relatives = np.vstack([wealth[:1], wealth[1:] / wealth[:-1]])
    return relatives, np.arange(len(relatives), dtype=np.float64)


SETS: dict[str, tuple[Variant, ...]] = {
    "adult": (
        Variant(
            "who earns more than 50,000 dollars: LIBSVM's a6a, the paper's first experiment",
            (File("a6a.gz"), File("a6a.t.gz")),
            _libsvm(123),
        ),
        Variant(
            "who earns more than 50,000 dollars: LIBSVM's a6a, the paper's first experiment",
            (File("a6a", LIBSVM + "binary/a6a"), File("a6a.t", LIBSVM + "binary/a6a.t")),
            _libsvm(123),
        ),
    ),
    "rcv1": (
        Variant(
            "news by topic: LIBSVM's rcv1.binary, the paper's second experiment",
            (
                File("rcv1_train.binary.bz2", LIBSVM + "binary/rcv1_train.binary.bz2"),
                File("rcv1_test.binary.bz2", LIBSVM + "binary/rcv1_test.binary.bz2"),
            ),
            _libsvm(47_236),
        ),
        Variant(
            "news by topic: documents of RCV1, as a substitute for LIBSVM's rcv1.binary",
            (File("rcv1sub.gz"), File("rcv1sub.t.gz")),
            _libsvm(47_236),
            exact=False,
        ),
    ),
    "spam": (Variant("mail in order of arrival, drifting", (File("spamassassin_drift.libsvm.gz"),), _libsvm(39_916)),),
    "web": (Variant("web pages, sorted by label", (File("w8a.gz"),), _libsvm(300)),),
    "letter": (Variant("letters, 26 classes", (File("letter.gz"),), _libsvm(16)),),
    "elec2": (
        Variant(
            "whether the price of electricity in New South Wales goes up or down",
            (File("elec2_river.csv.gz"),),
            _table("class"),
        ),
    ),
    "phishing": (Variant("phishing sites, drifting", (File("phishing_uci_drift.csv.gz"),), _table("target")),),
    "covtype": (Variant("forest cover, 7 classes", (File("covtype.csv.gz"),), _table(-1)),),
    "bikes": (
        Variant(
            "bikes rented per hour",
            (File("bike_hour.csv.gz"),),
            _table("cnt", drop=("instant", "dteday", "casual", "registered")),
        ),
    ),
    "f16": (
        Variant(
            "vibration test of an F-16: force, voltage and acceleration",
            (File("sysid_f16.txt.gz"),),
            _table(-1, header=False),
        ),
    ),
    "nyse": (
        Variant("36 stocks of the New York Stock Exchange, 1962 to 1984, daily", (File("nyse_o.csv.gz"),), _relatives),
    ),
}


def load(name: str, *, download: bool = False) -> Dataset:
    """Load the data set of this name, one of SETS.

    The first variant found on this machine is used; with download=True only the original files count. If none is found, the data set is downloaded.
    Raises MissingDataError, which says what to do, if that is not possible.
    """
    if name not in SETS:
        raise ValueError(f"there is no data set {name!r}. The data sets are {', '.join(SETS)}.")
    variants = SETS[name]
    here = next((each for each in variants if (each.exact or not download) and found(each.files)), None)
    variant = here or next((each for each in variants if all(file.url for file in each.files)), variants[0])
    return _read(name, variant)


def load_file(file: str) -> Dataset:
    """The variant of a set whose training rows are in this file: `rcv1sub.gz` even where `load("rcv1")` finds a better one."""
    name, variant = next((name, each) for name, all_ in SETS.items() for each in all_ if each.files[0].name == file)
    return _read(name, variant)


def _read(name: str, variant: Variant) -> Dataset:
    paths = fetched(variant.files)
    parts = [variant.read(path) for path in paths]
    test = parts[1] if len(parts) > 1 else (None, None)
    return Dataset(name, variant.what, tuple(map(str, paths)), variant.exact, *parts[0], *test)
