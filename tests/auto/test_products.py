"""Products of two features: chosen by the stream, used by experts of their own, named in reports. slow_pairs.py checks the arithmetic."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import odca
import odca.river
from auto import streams
from auto.slow_experts import SlowExperts
from auto.streams import (
    OF_STREAMS,
    TASKS,
    Experts,
    Stream,
    assert_close,
    assert_same_bits,
    assert_same_parts,
    every_task,
    every_task_and_loss,
    labels,
    make_stream,
    options_of,
)
from odca import AutoClassifier, AutoLearner, AutoRegressor, cli
from odca.models.auto_events import AutoEvents


def wide_stream(kind: str, n: int, d: int = 16, seed: int = 0) -> Stream:
    """More pairs than fit, of which one counts; a few columns are sparse."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < np.where(np.arange(d) % 5 == 4, 0.2, 1.0))
    z = np.column_stack([2.0 * X[:, 2] * X[:, 3], X[:, 0], X[:, 1] ** 2, X[:, 5]])
    return Stream(X, labels(kind, z, rng))


def loss_of(learner: AutoLearner, X: Any, y: Any) -> float:
    """Progressive, of the second half."""
    told, half = learner.learn(X, y), len(y) // 2
    if learner.task == "numbers":
        return float(np.mean((told[half:] - y[half:]) ** 2))
    p = learner.probabilities(told)[half:]
    return float(-np.log(p[np.arange(len(y) - half), y[half:].astype(int)]).mean())


def new(kind: str, **options: Any) -> AutoLearner:
    return AutoLearner(TASKS[kind]["task"], classes=TASKS[kind]["classes"], **options)


# --- What it computes ---


@every_task_and_loss
def test_the_core_chooses_as_the_slow_twin_where_not_all_pairs_fit(kind: str) -> None:
    stream = wide_stream(kind, 280, d=7)
    experts, slow = streams.new(kind, products=6), SlowExperts(**options_of(kind), products=6)
    told = slow.learn(stream.X, stream.y)
    assert_close(stream.into(experts), told, OF_STREAMS[kind], "what was told")
    assert None not in slow.pairs.slots
    assert_same_parts(experts, slow, OF_STREAMS[kind])


@every_task
def test_a_product_that_counts_is_found_and_used(kind: str) -> None:
    stream = wide_stream(kind, 3000)
    with_, without = new(kind), new(kind, products=False)
    assert loss_of(with_, stream.X, stream.y) < 0.8 * loss_of(without, stream.X, stream.y)
    pairs, sizes = with_.native.products()
    assert [2, 3] in pairs.tolist()
    assert (np.diff(sizes) <= 0.0).all()
    assert len(pairs) == 128


def test_pairs_that_stay_keep_their_weights_and_others_begin_at_zero() -> None:
    stream = wide_stream("numbers", 256)
    learner = new("numbers", products=10)
    learner.learn(stream.X[:255], stream.y[:255])
    before = learner.get_state()
    learner.learn(stream.X[255:], stream.y[255:])
    after = learner.get_state()
    old, now = (each["pairs"].reshape(-1, 2) for each in (before, after))
    stayed = (old == now).all(axis=1)
    assert 0 < stayed.sum() < 10
    weights = after["products.table"].reshape(10, -1)
    assert (weights[~stayed] == 0.0).all()
    assert (weights[stayed] != 0.0).any(axis=1).all()


# --- What it costs nothing ---


@every_task
def test_without_products_nothing_is_chosen(kind: str) -> None:
    stream = make_stream(kind)
    for off in (False, 0):
        learner = new(kind, products=off)
        learner.learn(stream.X, stream.y, sample_weight=stream.weight, time=stream.time)
        state = learner.get_state()
        assert not any(name.startswith("products.") for name in state)
        assert b"product" not in state["experts"].tobytes()
        assert learner.report().products == {}


def test_bags_of_words_have_no_products_unless_asked() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((600, 2000), density=0.01, rng=rng, format="csr")
    y = (np.asarray(X[:, :1000].sum(axis=1)).ravel() > np.asarray(X[:, 1000:].sum(axis=1)).ravel()).astype(float)
    told = {products: AutoLearner("classes", products=products).learn(X, y) for products in ("auto", False, 20)}
    assert told["auto"].tobytes() == told[False].tobytes()
    assert told[20].tobytes() != told[False].tobytes()


# --- Promises ---


@every_task
def test_products_are_the_same_however_the_stream_is_split_saved_and_restored(kind: str) -> None:
    stream = wide_stream(kind, 600)
    whole, parts = Experts(**TASKS[kind]), Experts(**TASKS[kind])
    told = stream.into(whole)
    said = []
    for begin, end in ((0, 31), (31, 32), (32, 33), (33, 64), (64, 65), (65, 250), (250, 256), (256, 600)):
        said.append(stream[begin:end].into(parts))
        again = Experts(**TASKS[kind])
        again.restore(parts.state())
        parts = again
    assert np.concatenate(said).tobytes() == told.tobytes()
    assert_same_bits(whole, parts)


@every_task
def test_the_mixture_is_the_same_when_products_join(kind: str) -> None:
    stream = make_stream(kind, 40, seed=3).with_(weight=None, time=None)
    with_, without = Experts(**TASKS[kind]), Experts(**TASKS[kind], products=0)
    a, b = stream.into(with_), stream.into(without)
    assert a[:32].tobytes() == b[:32].tobytes()
    np.testing.assert_allclose(a[32], b[32], rtol=1e-9, atol=1e-9)  # they know nothing yet
    assert with_.state()["products.mass"][0] > 0.0


@pytest.mark.parametrize("products", ["none", True, None, -1, 2081, 1.5])
def test_other_numbers_of_products_are_refused(products: Any) -> None:
    with pytest.raises(ValueError, match="products must be"):
        AutoLearner("classes", products=products)


def test_a_damaged_choice_is_refused() -> None:
    stream = wide_stream("numbers", 300)
    learner = new("numbers", products=10)
    learner.learn(stream.X, stream.y)
    state, before = learner.get_state(), learner.copy()
    pairs, candidates = state["pairs"], state["pairs_candidates"]
    damaged = [
        {"pairs": np.r_[pairs[2:4], pairs[2:]]},  # one twice
        {"pairs": np.r_[99.0, 99.0, pairs[2:]]},
        {"pairs": np.r_[3.0, 1.0, pairs[2:]]},
        {"pairs": np.r_[-1.0, 1.0, pairs[2:]]},
        {"pairs": pairs[2:]},
        {"pairs_candidates": candidates[::-1].copy()},
        {"pairs_candidates": np.r_[candidates[:-1], 99.0]},
        {"pairs_asked": np.array([-2.0])},
        {"pairs_asked": np.array([5.0])},
        {"pairs_squares": -state["pairs_squares"]},
        {"products.table": state["products.table"][:-8]},
    ]
    for change in damaged:
        with pytest.raises(ValueError, match=r"do not fit together|has the wrong length"):
            learner.native.restore({**state, **change})
    assert learner == before


# --- Names ---


def hourly(n: int = 2000) -> tuple[list[dict[str, Any]], np.ndarray]:
    rng = np.random.default_rng(0)
    events = [{"temp": rng.normal(), "hour": rng.normal(), "wind": rng.normal()} for _ in range(n)]
    return events, np.array([3.0 * each["temp"] * each["hour"] + rng.normal() for each in events])


def test_reports_and_explanations_name_products() -> None:
    events, y = hourly()
    model = AutoEvents("numbers")
    model.learn_many(events, y)
    report = model.report()
    assert next(iter(report.products)) == "temp × hour"
    assert "The products that matter most are temp × hour" in str(report)
    assert "temp × hour" in report.as_json().encode().decode("unicode_escape")
    parts = model.explain_one({"temp": 2.0, "hour": -1.5, "wind": 0.1})
    assert parts["temp × hour"] == min(parts.values())
    assert "temp²" in parts
    steady = model.explain_one(events[0], answer="steady")
    assert "temp × hour" in steady
    np.testing.assert_allclose(sum(steady.values()), model.predict_one(events[0], answer="steady"), rtol=0.0, atol=1e-9)
    hashed = AutoEvents("numbers", bits=10)
    hashed.learn_many(events, y)
    assert all(name.startswith("x") for name in hashed.report().products)


def test_every_automatic_face_takes_the_option(tmp_path: Path) -> None:
    events, y = hourly(300)
    X, columns = np.array([list(each.values()) for each in events]), list(events[0])
    lines = [",".join([*columns, "y"]), *(",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True))]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for products, used in (("auto", 6), (False, 0), (2, 2)):
        regressor = AutoRegressor(products=products).partial_fit(X, y)
        assert regressor.get_params()["products"] == products
        assert len(regressor.report().products) == used
        classifier = AutoClassifier(products=products).partial_fit(X, y > 0.0)
        assert len(classifier.report().products) == used
        river = odca.river.AutoRegressor(products=products)
        river.learn_many(events, y)
        assert len(river.report().products) == used
        assert len(odca.train(str(path), label="y", task="numbers", products=products).report().products) == used
        word = "none" if products is False else str(products)
        words = ["train", str(path), "--label", "y", "--task", "numbers", "--products", word, "-o", str(tmp_path / "m")]
        assert cli.main([*words, "--quiet"]) == 0
        assert len(odca.load(tmp_path / "m").report().products) == used


def test_inspect_names_products(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, y = hourly()
    model = odca.river.AutoRegressor()
    model.learn_many(events, y)
    model.save(tmp_path / "model")
    assert cli.main(["inspect", str(tmp_path / "model")]) == 0
    assert "temp × hour" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--products", "2081"], ["--products", "many"], ["--products", "3", "--rho", "1"]])
def test_the_command_line_refuses_other_values(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["train", "data.csv", "--label", "y", "-o", "model", *options])
    assert stopped.value.code == 2
    assert "--products" in capsys.readouterr().err


# --- Merging ---


def test_the_products_of_both_models_are_used_after_merging() -> None:
    stream = wide_stream("numbers", 4000)
    parts = [new("numbers", products=40) for _ in range(2)]
    for k, part in enumerate(parts):
        part.learn(stream.X[k::2], stream.y[k::2])
    both = parts[0].merge(parts[1])
    assert both.native.products()[0].tolist()[0] == [2, 3]
    chosen = [{tuple(pair) for pair in each.native.products()[0].tolist()} for each in (*parts, both)]
    assert chosen[0] <= chosen[2] <= chosen[0] | chosen[1]
    test = wide_stream("numbers", 1000, seed=1)
    errors = [float(np.mean((each.predict(test.X) - test.y) ** 2)) for each in (*parts, both)]
    assert errors[2] < 1.1 * min(errors[:2])
    both.learn(test.X, test.y)
    off = new("numbers", products=False).merge(parts[0])
    assert off.report().products == {}
    off.learn(test.X, test.y)
    assert off.copy() == off
