"""The steady and the live answer through every interface: one composition, so the same numbers everywhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import odca
import odca.river
from odca import AutoClassifier, AutoRegressor, cli
from odca.products import margins_of
from odca.stream import open as open_stream
from odca.stream.evaluation import Evaluation
from odca.stream.model import StreamModel

TASKS = ("two", "several", "numbers")
NAMES = ("small", "large", "often zero")


def events_of(task: str, count: int = 700) -> tuple[np.ndarray, np.ndarray]:
    """Features of very different units, and labels that come in runs, so that the two answers differ much."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(count, 3)) * [1e-3, 100.0, 1.0] + [0.0, 300.0, 0.0]
    X[rng.random(count) < 0.8, 2] = 0.0
    z = 1000.0 * X[:, 0] + 0.01 * (X[:, 1] - 300.0) + X[:, 2] + 2.0 * np.sin(np.arange(count) / 30.0)
    if task == "numbers":
        return X, z
    names = np.array(["no", "yes"] if task == "two" else ["low", "mid", "high", "top"])
    return X, names[np.digitize(z, [0.0] if task == "two" else [-1.5, 0.0, 1.5])]


def written(path: Path, X: np.ndarray, y: np.ndarray) -> Path:
    rows = (",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y.tolist(), strict=True))
    path.write_text("\n".join([",".join([*NAMES, "y"]), *rows]) + "\n", encoding="utf-8")
    return path


def trained(folder: Path, task: str) -> tuple[StreamModel, Path]:
    """A model of the first 500 events, and a file of the rest."""
    X, y = events_of(task)
    first, rest = written(folder / "first.csv", X[:500], y[:500]), written(folder / "rest.csv", X[500:], y[500:])
    path = folder / "m.safetensors"
    assert cli.main(["train", str(first), "--auto", "--label", "y", "--quiet", "-o", str(path)]) == 0
    return odca.load(path), rest


def estimator_of(task: str, count: int = 500) -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = events_of(task)
    model: Any = AutoRegressor() if task == "numbers" else AutoClassifier()
    return model.partial_fit(X[:count], y[:count]), X, y


@pytest.mark.parametrize("task", TASKS)
def test_weights_and_intercepts_agree_with_what_is_predicted(task: str) -> None:
    model, X, _ = estimator_of(task)
    margins = model.predict(X) if task == "numbers" else model.decision_function(X)
    heads = {"two": 1, "several": 4, "numbers": 1}[task]
    assert model.coef_.shape == ((3,) if task == "numbers" else (heads, 3))
    assert model.intercept_.shape == (heads,)
    expected = X @ np.atleast_2d(model.coef_).T + model.intercept_ + margins_of(model.products_, X, heads)
    assert np.any(margins_of(model.products_, X, heads))
    np.testing.assert_allclose(margins.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)
    if task == "several":
        e = np.exp(expected)
        np.testing.assert_allclose(model.predict_proba(X), e / e.sum(axis=1, keepdims=True), rtol=1e-9)
    if task == "two":
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-margins)), rtol=1e-9)


def test_the_weights_of_two_classes_speak_for_the_larger_label_whichever_came_first() -> None:
    X, y = events_of("two")
    for first in ("no", "yes"):
        order = np.argsort(y != first, kind="stable")
        order = np.concatenate([order[:1], np.delete(np.arange(len(y)), order[0])])
        model = AutoClassifier().partial_fit(X[order], y[order])
        expected = X @ model.coef_[0] + model.intercept_ + margins_of(model.products_, X, 1)[:, 0]
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)


def test_large_steady_logits_become_probabilities() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = AutoClassifier().partial_fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    p = model.predict_proba(np.array([[1e6, 0.0], [-1e6, 0.0]]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p.argmax(axis=1).tolist() == [2, 0]
    two = AutoClassifier().partial_fit(X, X[:, 0] > 0)
    assert two.predict_proba(np.array([[1e6, 0.0], [-1e6, 0.0]])).argmax(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("answer", ["steady", "live"])
@pytest.mark.parametrize("task", TASKS)
def test_every_interface_gives_the_same_answer(task: str, answer: Any, tmp_path: Path) -> None:
    """Sparse rows in scikit-learn are what events and files are."""
    X, y = events_of(task)
    events = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    model, rest = trained(tmp_path, task)
    river: Any = (odca.river.AutoRegressor if task == "numbers" else odca.river.AutoClassifier)()
    estimator: Any = AutoRegressor() if task == "numbers" else AutoClassifier()
    river.learn_many(events[:500], y[:500].tolist())
    if task == "numbers":
        estimator.partial_fit(sp.csr_array(X[:500]), y[:500])
        expected = estimator.predict(sp.csr_array(X[500:]), answer=answer)
        np.testing.assert_allclose(river.predict_many(events[500:], answer=answer), expected, rtol=1e-9)
        assert river.predict_one(events[500], answer=answer) == pytest.approx(expected[0], rel=1e-9)
        np.testing.assert_allclose(model.predict(rest, answer=answer), expected, rtol=1e-9)
        np.testing.assert_allclose(model.predict(events[500:], answer=answer), expected, rtol=1e-9)
        return
    estimator.partial_fit(sp.csr_array(X[:500]), y[:500], classes=list(model.classes))
    expected = estimator.predict_proba(sp.csr_array(X[500:]), answer=answer)
    np.testing.assert_allclose(
        np.exp(estimator.predict_log_proba(sp.csr_array(X[500:]), answer=answer)), expected, rtol=1e-9
    )
    columns = [model.classes.index(label) for label in estimator.classes_.tolist()]
    for found in (model.predict(rest, "probabilities", answer=answer),
                  model.predict(events[500:], "probabilities", answer=answer)):  # fmt: skip
        np.testing.assert_allclose(found[:, columns], expected, rtol=1e-6, atol=1e-9)
    p = river.predict_proba_many(events[500:], answer=answer)
    assert p.iloc[3].to_dict() == pytest.approx(river.predict_proba_one(events[503], answer=answer), rel=1e-12)
    chosen = river.predict_many(events[500:], answer=answer)
    assert chosen[3] == river.predict_one(events[503], answer=answer) == p.iloc[3].idxmax()


@pytest.mark.parametrize("task", TASKS)
def test_the_answer_without_a_word_is_steady_except_where_events_come_one_by_one(task: str, tmp_path: Path) -> None:
    X, y = events_of(task)
    estimator, _, _ = estimator_of(task)
    steady, live = (estimator.predict(X[500:], answer=answer) for answer in ("steady", "live"))
    assert not np.array_equal(steady, live)
    assert np.array_equal(estimator.predict(X[500:]), steady)
    assert estimator.score(X[500:], y[500:]) == estimator.score(X[500:], y[500:], answer="steady")
    assert estimator.score(X[500:], y[500:]) != estimator.score(X[500:], y[500:], answer="live")
    model, rest = trained(tmp_path, task)
    assert np.array_equal(model.predict(rest), model.predict(rest, answer="steady"))
    events = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    river: Any = (odca.river.AutoRegressor if task == "numbers" else odca.river.AutoClassifier)()
    river.learn_many(events[:500], y[:500].tolist())
    asked = [[river.predict_one(event, **how) for event in events[500:]] for how in ({}, {"answer": "live"})]
    assert asked[0] == asked[1] != [river.predict_one(event, answer="steady") for event in events[500:]]


def test_the_scores_of_an_evaluation_are_those_of_its_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, rest = trained(tmp_path, "two")
    scores = {}
    for answer in ("steady", "live"):
        evaluation = Evaluation(model, answer=answer)
        with open_stream(rest, schema=model.schema, vocabulary=model.vocabulary, grow=False) as stream:
            for block in stream:
                evaluation.add(block)
        scores[answer] = evaluation.metrics.log_loss
        assert cli.main(["evaluate", str(tmp_path / "m.safetensors"), str(rest), "--quiet", "--answer", answer]) == 0
        assert f"{scores[answer]:.6f}"[:6] in capsys.readouterr().out
    assert scores["steady"] != scores["live"]


@pytest.mark.parametrize("answer", ["steady", "live"])
def test_the_command_line_predicts_by_the_answer_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: Any
) -> None:
    model, rest = trained(tmp_path, "several")
    assert cli.main(["predict", str(tmp_path / "m.safetensors"), str(rest), "--answer", answer, "--raw"]) == 0
    printed = capsys.readouterr().out.splitlines()[1:]
    expected = model.predict(rest, "margins", answer=answer)
    assert np.array_equal([[float(x) for x in line.split("\t")] for line in printed], expected)


def test_a_linear_model_has_no_live_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = events_of("two", 50)
    data, path = written(tmp_path / "a.csv", X, y), tmp_path / "m.safetensors"
    assert cli.main(["train", str(data), "--loss", "log_loss", "--label", "y", "--quiet", "-o", str(path)]) == 0
    assert cli.main(["predict", str(path), str(data), "--answer", "steady"]) == 0
    capsys.readouterr()
    assert cli.main(["predict", str(path), str(data), "--answer", "live"]) == 1
    said = capsys.readouterr().err
    assert "only automatic models have a live answer. Leave out --answer live." in said
    with pytest.raises(ValueError, match="Leave out `answer='live'`"):
        odca.load(path).predict(data, answer="live")


def test_an_answer_that_does_not_exist_is_refused() -> None:
    X, y = events_of("two", 50)
    model = AutoClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="answer must be 'live' or 'steady'; got 'quick'"):
        model.predict(X, answer="quick")
