"""20 newsgroups from raw text: what characters and tf-idf are worth, beside scikit-learn's TfidfVectorizer with SGD and VW --ngram.

    python -m benchmarks.text [--events N]

The 11,293 texts for training are shuffled once and read in one pass, each predicted before its group is learned: the progressive figures.
The model after that pass predicts 7,528 further texts. scikit-learn's TfidfVectorizer needs to see all texts first, so it has no
progressive figures as the others have; its SGD makes one pass, or as many as it takes (the default of scikit-learn) over the same tf-idf.
A time is that of the whole work from the text on: reading, features, learning. It is measured once, in order of magnitude.
The settings of odca are five of ten that were tried on these texts; the others were not tuned (docs/text.md says which were left out).
"""

import argparse
import gzip
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import odca
from benchmarks.report import ROOT, describe_machine, log, show_machine, table, write_json
from odca.research.datasets import MissingDataError
from odca.research.datasets.files import File, fetched

Array = npt.NDArray[np.float64]
FILES = ("20newsgroups-train.tab.gz", "20newsgroups-test.tab.gz")
HEADER = 3
"""Orange's files begin with so many lines that are no texts."""
LEAST = 1e-15
"""The least probability that log loss believes."""
WEIGHTED = {"sublinear": True, "tf_idf": True, "unit_norm": True}
ODCA: dict[str, dict[str, Any]] = {
    "odca --text": {},
    "odca --text --sublinear --unit-norm": {"sublinear": True, "unit_norm": True},
    "odca --text --sublinear --unit-norm --tf-idf": WEIGHTED,
    "odca the same, --ngrams 2": {**WEIGHTED, "ngrams": 2},
    "odca the same, --chars 3-5 --bits 20": {**WEIGHTED, "chars": (3, 5), "bits": 20},
}


class Text(NamedTuple):
    """A text and its group."""

    group: str
    text: str


class Scores(NamedTuple):
    """Shares of right answers and mean log loss; None where a method has none."""

    progressive_accuracy: float | None
    progressive_log_loss: float | None
    accuracy: float
    log_loss: float | None


def read(path: Path, most: int | None) -> list[Text]:
    """The texts of a file, which is sorted by group, shuffled."""
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n").split("\t", 1) for line in list(file)[HEADER:]]
    texts = [Text(*line) for line in lines if len(line) == 2]
    random.Random(0).shuffle(texts)
    return texts[:most]


def by_odca(train: list[Text], test: list[Text], **options: Any) -> Scores:
    """The scores of `odca train`, and of `odca evaluate`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.tsv"
        path.write_text("group\ttext\n" + "".join(f"{each.group}\t{each.text}\n" for each in train), encoding="utf-8")
        model = odca.train(path, label="group", text=["text"], quote="none", progress=False, **options)
    found = model.predict([{"text": each.text} for each in test], "probabilities")
    held_out = scored(found, [model.classes.index(each.group) for each in test])
    return Scores(float(model.metrics.accuracy), float(model.metrics.log_loss), *held_out)


def scored(probabilities: Array, groups: list[int]) -> tuple[float, float]:
    """The share of right answers, and the mean log loss."""
    right = probabilities[np.arange(len(groups)), groups]
    return float(np.mean(probabilities.argmax(axis=1) == groups)), float(-np.log(np.maximum(right, LEAST)).mean())


def by_sklearn(train: list[Text], test: list[Text], *, passes: int | None, loss: str, **how: Any) -> Scores:
    """Held-out scores of SGD on tf-idf: in so many passes, or as many as its default stops after."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier

    vectorizer = TfidfVectorizer(sublinear_tf=True, **how)
    X = vectorizer.fit_transform([each.text for each in train])
    stop = {} if passes is None else {"max_iter": passes, "tol": None}
    model = SGDClassifier(loss=loss, random_state=0, **stop).fit(X, [each.group for each in train])
    Z = vectorizer.transform([each.text for each in test])
    groups = [list(model.classes_).index(each.group) for each in test]
    if loss == "log_loss":
        return Scores(None, None, *scored(model.predict_proba(Z), groups))
    return Scores(None, None, float(np.mean(model.predict(Z) == [each.group for each in test])), None)


def by_vw(train: list[Text], test: list[Text], *flags: str) -> Scores:
    """VW's one-against-all with logistic loss, its progressive predictions and those for the held-out texts."""
    groups = {group: code for code, group in enumerate(sorted({each.group for each in train}))}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)

        def run(texts: list[Text], *more: str) -> Array:
            lines = [f"{groups[each.group] + 1} | {vw_words(each.text)}\n" for each in texts]
            (home / "texts.vw").write_text("".join(lines), encoding="utf-8")
            command = [sys.executable, "-m", "vowpalwabbit", "-d", str(home / "texts.vw"), "-p", str(home / "answers")]
            subprocess.run([*command, "--quiet", *more], check=True, capture_output=True)
            answers = (home / "answers").read_text(encoding="utf-8").splitlines()
            return np.array([[float(part.rpartition(":")[2]) for part in line.split()] for line in answers if line])

        model, learn = (
            str(home / "model"),
            ["--oaa", str(len(groups)), "--loss_function", "logistic", "--probabilities"],
        )
        said = run(train, *learn, *flags, "-f", model)
        later = run(test, "-t", "-i", model, "--probabilities")
    return Scores(
        *(s for part, texts in ((said, train), (later, test)) for s in scored(part, [groups[t.group] for t in texts]))
    )


def vw_words(text: str) -> str:
    """The words of a text, without what VW's format means by a colon and a bar."""
    return text.lower().replace(":", " ").replace("|", " ")


def methods(train: list[Text], test: list[Text]) -> Iterator[tuple[str, Callable[[], Scores]]]:
    """All methods, by name."""
    for name, options in ODCA.items():
        yield name, lambda options=options: by_odca(train, test, **options)
    for name, how in {
        "words": {},
        "words 1-2": {"ngram_range": (1, 2)},
        "chars 3-5": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    }.items():
        yield (
            f"TfidfVectorizer, {name}; SGD log_loss, one pass",
            lambda how=how: by_sklearn(train, test, passes=1, loss="log_loss", **how),
        )
        yield (
            f"TfidfVectorizer, {name}; SGD log_loss, until it stops",
            lambda how=how: by_sklearn(train, test, passes=None, loss="log_loss", **how),
        )
        yield (
            f"TfidfVectorizer, {name}; SGD hinge, until it stops",
            lambda how=how: by_sklearn(train, test, passes=None, loss="hinge", **how),
        )
    for flags in ((), ("--ngram", "2"), ("-b", "24"), ("--ngram", "2", "-b", "24")):
        yield " ".join(["VW --oaa 20", *flags]), lambda flags=flags: by_vw(train, test, *flags)


def main() -> None:
    """Run, print, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, help="only so many texts of each file (default: all)")
    arguments = parser.parse_args()
    machine = describe_machine()
    log(show_machine(machine))
    try:
        train, test = (read(path, arguments.events) for path in fetched([File(name) for name in FILES]))
    except MissingDataError as missing:
        sys.exit(str(missing))
    found: list[dict[str, Any]] = []
    for name, score in methods(train, test):
        started = time.perf_counter()
        scores = score()
        found.append({"method": name, **scores._asdict(), "seconds": time.perf_counter() - started})
        log(f"  {name}: {found[-1]}")
    show = [[row["method"], *(shown(row[key]) for key in Scores._fields), f"{row['seconds']:.1f}"] for row in found]
    print(table(["method", *(each.replace("_", " ") for each in Scores._fields), "seconds"], show))
    if arguments.events is None:
        print(f"written to {write_json('text', {'machine': machine, 'rows': found}).relative_to(ROOT)}")


def shown(figure: float | None) -> str:
    """A figure in a table."""
    return "" if figure is None else f"{figure:.4f}"


if __name__ == "__main__":
    main()
