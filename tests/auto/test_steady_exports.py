"""The products of the steady answer are in every export, which agree with it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from auto.test_answers import NAMES, TASKS, events_of, trained
from odca import AutoLearner, LogLoss, cli
from odca.learner import Learner
from odca.products import Product, margins_of

CLOSE: dict[str, Any] = {"rtol": 0.0, "atol": 1e-9}


@pytest.mark.parametrize("task", TASKS)
def test_json_has_the_products_of_the_steady_answer(task: str, tmp_path: Path) -> None:
    model, _ = trained(tmp_path, task)
    assert cli.main(["convert", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.json"), "--quiet"]) == 0
    about = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    X = events_of(task)[0]
    assert (about["version"], about["bound"]) == (3, 3.0)
    columns = [about["weights"].get(name, np.zeros(len(about["intercept"]))) for name in NAMES]
    products = [
        Product(tuple(NAMES.index(name) for name in each["features"]), each["centres"], each["scales"], each["weights"])
        for each in about["products"]
    ]
    added = margins_of(products, X, len(about["intercept"]))
    assert np.abs(added).max() > 1e-6
    scores = X @ np.array(columns) + about["intercept"] + added
    steady = model.learner.predict(X, answer="steady").reshape(scores.shape)
    np.testing.assert_allclose(scores, steady, **CLOSE)


@pytest.mark.parametrize("task", TASKS)
def test_onnx_has_the_products_of_the_steady_answer(task: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model, _ = trained(tmp_path, task)
    assert cli.main(["convert", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx"), "--quiet"]) == 0
    X = events_of(task)[0]
    outputs = runtime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"X": X})
    steady = model.learner.predict(X, answer="steady")
    expected = steady if task == "numbers" else model.learner.probabilities(steady)
    np.testing.assert_allclose(outputs[-1].reshape(expected.shape), expected, **CLOSE)


def test_inspect_lists_the_products_of_a_frozen_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(tmp_path, "numbers")
    small = str(tmp_path / "small.safetensors")
    assert cli.main(["freeze", str(tmp_path / "m.safetensors"), "-o", small, "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(["inspect", small, "--all"]) == 0
    shown = capsys.readouterr().out
    frozen = odca.load(small)
    for each in frozen.learner.products:
        assert repr(each.weights[0]) in shown
    assert f"{NAMES[0]}²" in shown


def test_a_frozen_learner_goes_on_with_its_products_as_offsets() -> None:
    X, y = events_of("numbers")
    auto = AutoLearner("numbers")
    auto.learn(X[:500], y[:500])
    frozen = auto.freeze()
    plain = Learner(**{**frozen.options, "products": ()})
    offset = margins_of(frozen.products, X, 1)[:, 0]
    told = frozen.learn(X[500:], y[500:])
    np.testing.assert_allclose(told, plain.learn(X[500:], y[500:], offset=offset[500:]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(frozen.coef, plain.coef, rtol=1e-12, atol=1e-12)
    two = frozen.with_lanes([0, -1, 0], [False, False, True])
    expected = frozen.predict(X)
    np.testing.assert_allclose(two.predict(X)[:, [0, 2]], np.column_stack([expected, -expected]), rtol=1e-12)


@pytest.mark.parametrize(
    "product",
    [
        Product((0, 1), (0.0, 0.0), (1.0, 0.0), (1.0,)),
        Product((0, -1), (0.0, 0.0), (1.0, 1.0), (1.0,)),
        Product((0, 1), (np.nan, 0.0), (1.0, 1.0), (1.0,)),
        Product((0, 1), (0.0, 0.0), (1.0, 1.0), (1.0, 2.0)),
    ],
)
def test_products_that_cannot_be_are_refused(product: Product) -> None:
    with pytest.raises(ValueError, match="a product needs two columns"):
        Learner(loss=LogLoss(), rho=0.1, products=[product])
