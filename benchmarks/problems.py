"""Real data as the estimators get it: rows to learn from, rows to be judged by. Found on this machine, never downloaded."""

import functools
import gzip
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from odca.research import datasets
from odca.research.datasets.files import File, fetched


@dataclass(frozen=True, slots=True)
class Problem:
    """A set, split. The rows to learn from are in a random order."""

    name: str
    X: Any
    y: npt.NDArray[Any]
    X_test: Any
    y_test: npt.NDArray[Any]
    about: str

    @property
    def dense(self) -> bool:
        """Whether scaling is a question."""
        return not sp.issparse(self.X)

    @property
    def regression(self) -> bool:
        """Whether y is a number."""
        return self.y.dtype == np.float64

    def ordered(self, seed: int) -> tuple[Any, npt.NDArray[Any]]:
        """The rows to learn from in the order of a seed; 0 is the order in which they are."""
        if seed == 0:
            return self.X, self.y
        order = np.random.default_rng(seed).permutation(len(self.y))
        return self.X[order], self.y[order]


def _file(name: str) -> Path:
    return fetched([File(name)])[0]


def _split(name: str, X: Any, y: npt.NDArray[Any], learn: int, about: str) -> Problem:
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    return Problem(name, _narrow(X[:learn]), y[:learn], _narrow(X[learn:]), y[learn:], about)


def _narrow(X: Any) -> Any:
    """CSR with the 32-bit indices that LIBLINEAR asks for; other arrays as they are."""
    if not sp.issparse(X):
        return X
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def _binary(name: str) -> Problem:
    data = datasets.load_file(f"{name}.gz").shuffled()
    y, y_test = (each > 0 for each in (data.y, data.y_test))
    return Problem(name, _narrow(data.X), y, _narrow(data.X_test), y_test, "its own test rows; shuffled with seed 0")


def _letter() -> Problem:
    data = datasets.load("letter")
    return _split(
        "letter", data.X.toarray(), data.y.astype(int), 10_500, "shuffled with seed 0, the first 10,500 rows to learn"
    )


def _bike() -> Problem:
    data = datasets.load("bikes")
    return _split(
        "bike",
        data.X,
        data.y,
        12_000,
        "shuffled with seed 0 (not in the order of time), the first 12,000 rows to learn",
    )


def _news(name: str) -> Problem:
    """Words as scikit-learn's own example of text classification takes them."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    texts, groups = {}, {}
    for part in ("train", "test"):
        text = gzip.decompress(_file(f"20newsgroups-{part}.tab.gz").read_bytes()).decode("utf-8", "replace")
        rows = [line.split("\t") for line in text.split("\n")[3:] if line]
        groups[part], texts[part] = np.array([row[0] for row in rows]), [row[1] for row in rows]
    common = {"max_df": 0.5, "min_df": 5}
    words = TfidfVectorizer(sublinear_tf=True, **common) if name == "20news" else CountVectorizer(**common, dtype=float)
    X, X_test = words.fit_transform(texts["train"]), words.transform(texts["test"])
    order = np.random.default_rng(0).permutation(len(groups["train"]))
    about = "tf-idf of the rows to learn" if name == "20news" else "counts"
    about = f"{about}, max_df=0.5, min_df=5; its own test rows; shuffled with seed 0"
    return Problem(name, _narrow(X[order]), groups["train"][order], _narrow(X_test), groups["test"], about)


def _covtype() -> Problem:
    with gzip.open(_file("covtype.csv.gz"), "rt", encoding="ascii") as file:
        lines = file.read().split("\n")[1:]
    chosen = np.random.default_rng(0).choice(len(lines) - 1, 20_000, replace=False)
    rows = np.array([np.array(lines[at].split(","), dtype=float) for at in chosen])
    return _split(
        "covtype", rows[:, :-1], rows[:, -1].astype(int), 14_000, "20,000 rows drawn with seed 0, 14,000 to learn"
    )


def _spam() -> Problem:
    data = datasets.load("spam")
    return _split(
        "spam",
        sp.csr_matrix(data.X),
        data.y > np.min(data.y),
        6_500,
        "shuffled with seed 0, the first 6,500 rows to learn",
    )


@functools.cache
def load(name: str) -> Problem:
    """A set by its name."""
    own = {"letter": _letter, "bike": _bike, "covtype": _covtype, "spam": _spam}
    try:
        if name in own:
            return own[name]()
        return _news(name) if name.startswith("20news") else _binary(name)
    except datasets.MissingDataError as missing:
        sys.exit(str(missing))
