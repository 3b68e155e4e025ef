"""Real data as streams: events in one order, with labels, the same for every method."""

import csv
import functools
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from odca.research import datasets
from odca.research.datasets.files import File, fetched

Array = npt.NDArray[np.float64]
BINARY, CLASSES, NUMBER = "binary", "classes", "number"
LAGS = 10  # of the F-16's signals


@dataclass(frozen=True, slots=True)
class Stream:
    """Events X (CSR, sorted, 32-bit indices) and what is to be predicted: y is 0 and 1, the number of a class, or a number."""

    name: str
    task: str
    X: csr_array
    y: npt.NDArray[Any]
    numeric: npt.NDArray[np.bool_]
    """Of each column, whether it is a number; the others are categories, as indicators 0 and 1."""
    dense: bool
    """Whether it came as a table, which a user would keep as one."""
    about: str
    classes: int = 0
    """How many there are, in all of the data; 0 where y is a number."""

    @property
    def events(self) -> Any:
        """The rows as a user would have them: dense, or CSR."""
        return self.X.toarray() if self.dense else self.X

    def first(self, events: int) -> "Stream":
        """The first so many events; 0 is all."""
        if not 0 < events < len(self.y):
            return self
        return replace(self, X=narrow(self.X[:events]), y=self.y[:events])


def narrow(X: Any) -> csr_array:
    """CSR with sorted 32-bit indices, which is what everybody takes."""
    X = csr_array(X)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def lines_of(name: str) -> list[str]:
    """The lines of a compressed file of text, the header too if it has one."""
    return gzip.decompress(fetched([File(name)])[0].read_bytes()).decode("utf-8", "replace").split("\n")


# From tables to events


def indicators(values: Sequence[str]) -> csr_array:
    """A column for each value, in the order of appearance; an empty one has none."""
    known: dict[str, int] = {}
    columns = [known.setdefault(value, len(known)) if value else -1 for value in values]
    rows = np.flatnonzero(np.array(columns) >= 0)
    return csr_array((np.ones(len(rows)), (rows, np.array(columns)[rows])), shape=(len(values), len(known)))


def of_columns(
    name: str,
    y: npt.NDArray[Any],
    numbers: Array,
    categories: Sequence[Sequence[str]] = (),
    *,
    task: str = NUMBER,
    dense: bool = True,
    about: str,
) -> Stream:
    """Columns side by side. A number that is missing is 0, and an indicator says so."""
    gaps = np.isnan(numbers)
    gaps = gaps[:, gaps.any(axis=0)]
    parts = [csr_array(np.nan_to_num(numbers)), csr_array(gaps.astype(float)), *map(indicators, categories)]
    X = narrow(hstack(parts, format="csr"))
    is_numeric = np.arange(X.shape[1]) < numbers.shape[1]
    return Stream(name, task, X, y, is_numeric, dense, about, 2 if task == BINARY else 0)


def codes_of(labels: Any) -> npt.NDArray[np.int64]:
    """Labels as the numbers of classes, in the order of their names."""
    return np.unique(labels, return_inverse=True)[1]


def of_set(name: str, stream: str, *, dense: bool, numeric: int = 0, about: str = "", shuffle: bool = False) -> Stream:
    """A set of odca.research.datasets with the rows to be judged by at its end. The first `numeric` columns are numbers."""
    data = datasets.load(name)
    X, y = data.X, data.y
    if data.X_test is not None:
        X, y = vstack([X, data.X_test]), np.concatenate([y, data.y_test])
    X = narrow(X)
    codes = codes_of(y)
    if shuffle:
        order = np.random.default_rng(0).permutation(len(codes))
        X, codes = narrow(X[order]), codes[order]
    task = BINARY if codes.max() == 1 else CLASSES
    is_numeric = np.arange(X.shape[1]) < numeric
    return Stream(stream, task, X, codes, is_numeric, dense, about or data.what, int(codes.max()) + 1)


# The streams


def adult() -> Stream:
    return of_set("adult", "a6a", dense=False, about="who earns more than 50,000 dollars: a6a, then a6a.t")


def adult_alone() -> Stream:
    return replace(adult().first(11_220), name="a6a-train", about="a6a without a6a.t")


def rcv1() -> Stream:
    return of_set(
        "rcv1", "rcv1sub", dense=False, numeric=47_236, about="news by topic, tf-idf: rcv1sub, then rcv1sub.t"
    )


def spam() -> Stream:
    return of_set("spam", "spamassassin", dense=False)


def electricity() -> Stream:
    return of_set("elec2", "elec2", dense=True, numeric=8)


def phishing() -> Stream:
    return of_set("phishing", "phishing", dense=True)


def web() -> Stream:
    return of_set("web", "w8a", dense=False, about="pages of the web, shuffled with seed 0", shuffle=True)


def letter() -> Stream:
    return of_set("letter", "letter", dense=True, numeric=16)


@functools.cache
def forest() -> Stream:
    return of_set(
        "covtype", "covtype7", dense=True, numeric=10, about="forest cover in the order of the file, 7 classes"
    )


def spruce_or_not() -> Stream:
    all_classes = forest()
    is_second = (all_classes.y == 1).astype(np.int64)
    about = "forest cover in the order of the file, class 2 or not"
    return replace(all_classes, name="covtype2", task=BINARY, y=is_second, about=about, classes=2)


def newsgroups() -> Stream:
    rows = [line.split("\t") for part in ("train", "test") for line in lines_of(f"20newsgroups-{part}.tab.gz")[3:]]
    rows = [row for row in rows if len(row) > 1]
    order = np.random.default_rng(0).permutation(len(rows))
    known: dict[str, int] = {}
    words = [sorted({known.setdefault(word, len(known)) for word in rows[at][1].split()}) for at in order]
    starts = np.cumsum([0, *map(len, words)])
    columns = np.concatenate([np.array(each, dtype=np.int32) for each in words])
    X = csr_array((np.ones(len(columns)), columns, starts), shape=(len(rows), len(known)))
    codes = codes_of([rows[at][0] for at in order])
    about = "texts in 20 groups, train and test shuffled with seed 0, words as indicators"
    return Stream("20newsgroups", CLASSES, narrow(X), codes, np.zeros(X.shape[1], dtype=bool), False, about, 20)


def clicks() -> Stream:
    rows = [line.split("\t") for line in lines_of("criteo_wideresdnn_train.csv.gz") if line]
    numbers = np.array([[float(cell) if cell else np.nan for cell in row[1:14]] for row in rows])
    categories = [[row[at] for row in rows] for at in range(14, 40)]
    y = np.array([int(row[0]) for row in rows])
    about = "clicks: 13 numbers as they are, with an indicator each for gaps, 26 categories"
    return of_columns("criteo", y, numbers, categories, task=BINARY, dense=False, about=about)


def rentals() -> Stream:
    rows = list(csv.DictReader(lines_of("bike_hour.csv.gz")))
    left_out = ("cnt", "casual", "registered", "instant", "dteday")
    columns = [name for name in rows[0] if name not in left_out]
    numbers = np.array([[float(row[name]) for name in columns] for row in rows])
    categories = [[row[name] for row in rows] for name in ("hr", "weekday")]
    y = np.array([float(row["cnt"]) for row in rows])
    about = "bikes rented in an hour: 12 numbers, hour and weekday as categories too"
    return of_columns("bike_hour", y, numbers, categories, about=about)


def stations() -> Stream:
    rows = list(csv.DictReader(lines_of("toulouse_bikes.csv.gz")))
    moments = [datetime.fromisoformat(row["moment"]) for row in rows]
    hours = np.array([moment.hour + moment.minute / 60.0 for moment in moments])
    turn = 2.0 * np.pi * hours / 24.0
    weekdays = np.array([moment.weekday() for moment in moments], dtype=float)
    weather = [[float(row[name]) for name in ("clouds", "humidity", "pressure", "temperature", "wind")] for row in rows]
    numbers = np.column_stack([hours, np.sin(turn), np.cos(turn), weekdays, weather])
    categories = [[row[name] for row in rows] for name in ("station", "description")]
    y = np.array([float(row["bikes"]) for row in rows])
    about = (
        "bikes at a station: hour (and its sine and cosine), weekday, weather; station and description as categories"
    )
    return of_columns("toulouse_bikes", y, numbers, categories, about=about)


def transformer(*, with_last: bool) -> Stream:
    rows = [line.split(",")[1:] for line in lines_of("ETTh1.csv.gz")[1:] if line]
    values = np.array(rows, dtype=float)
    if with_last:
        numbers, name, behind = (
            np.column_stack([values[1:, :-1], values[:-1, -1]]),
            "ETTh1-lag",
            " and that of an hour ago",
        )
    else:
        numbers, name, behind = values[1:, :-1], "ETTh1", ""
    about = f"temperature of a transformer's oil from 6 loads{behind}"
    return of_columns(name, values[1:, -1], numbers, about=about)


def vibration() -> Stream:
    data = datasets.load("f16")
    signals = np.column_stack([data.X, data.y])
    numbers = np.column_stack([signals[LAGS - lag : len(signals) - lag] for lag in range(1, LAGS + 1)])
    about = f"acceleration of an F-16 that is shaken, from {LAGS} lags of force, voltage and itself"
    return of_columns("sysid_f16", data.y[LAGS:], numbers, about=about)


STREAMS: dict[str, Callable[[], Stream]] = {
    "a6a": adult,
    "a6a-train": adult_alone,
    "rcv1sub": rcv1,
    "spamassassin": spam,
    "elec2": electricity,
    "phishing": phishing,
    "w8a": web,
    "covtype2": spruce_or_not,
    "criteo": clicks,
    "covtype7": forest,
    "letter": letter,
    "20newsgroups": newsgroups,
    "bike_hour": rentals,
    "toulouse_bikes": stations,
    "ETTh1": functools.partial(transformer, with_last=False),
    "ETTh1-lag": functools.partial(transformer, with_last=True),
    "sysid_f16": vibration,
}
