"""The automatic mode judged by absolute error, quantiles and counts. See docs/auto.md."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odca
from odca import AbsoluteError, AutoLearner, AutoRegressor, Poisson, Quantile, SquaredError
from odca.models.auto_events import AutoEvents
from odca.river import AutoRegressor as RiverRegressor

LOSSES = [AbsoluteError(), Quantile(0.1), Quantile(0.9), Poisson()]
N = 1500


def events(loss: object, n: int = N, seed: int = 0) -> tuple[Any, Any]:
    """Features of different units, one of them sparse, and labels that the loss has: a mean, and errors that grow with a feature."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 0.01, 1.0]
    X[:, 3] *= rng.random(n) < 0.3
    z = X @ [0.5, -0.003, 0.0, 0.4] + 0.3 * X[:, 0] * X[:, 3]
    if isinstance(loss, Poisson):
        return X, rng.poisson(np.exp(z)).astype(float)
    return X, 3.0 * z + np.exp(0.5 * X[:, 0]) * rng.normal(size=n)


def mean_loss(loss: Any, told: Any, y: Any) -> float:
    return float(np.mean(loss.value(np.log(told) if isinstance(loss, Poisson) else told, y)[100:]))


def test_squared_error_is_the_default_to_the_bit() -> None:
    X, y = events(SquaredError())
    default, given = AutoLearner("numbers"), AutoLearner("numbers", loss="squared_error")
    assert np.array_equal(default.learn(X, y), given.learn(X, y))
    assert default == given
    assert default.get_state().keys() == given.get_state().keys()
    assert "offsets" not in default.get_state()  # files of squared error are as they were


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
class TestEveryLoss:
    def test_any_split_into_calls_gives_the_same_bits(self, loss: Any) -> None:
        X, y = events(loss)
        whole, parts = AutoLearner("numbers", loss=loss), AutoLearner("numbers", loss=loss)
        told = whole.learn(X, y)
        cuts = [0, 1, 2, 17, 500, N]
        again = [parts.learn(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]
        assert np.array_equal(told, np.concatenate(again))
        assert whole == parts

    def test_a_saved_model_learns_on_with_the_same_bits(self, loss: Any, tmp_path: Path) -> None:
        X, y = events(loss)
        for before in (1, 20, 700):  # with and without products
            learner = AutoLearner("numbers", loss=loss)
            learner.learn(X[:before], y[:before])
            learner.save(tmp_path / "model")
            loaded = odca.load(tmp_path / "model")
            assert loaded.loss == loss
            assert np.array_equal(loaded.learn(X[before:], y[before:]), learner.learn(X[before:], y[before:]))
            assert loaded == learner

    def test_it_is_better_by_its_loss_than_squared_error(self, loss: Any) -> None:
        X, y = events(loss, 6000)
        told, squared = (AutoLearner("numbers", loss=each).learn(X, y) for each in (loss, None))
        if isinstance(loss, Poisson):
            squared = np.maximum(squared, 0.01)
        assert mean_loss(loss, told, y) < mean_loss(loss, squared, y)

    def test_freezing_keeps_the_steady_answer_and_the_loss(self, loss: Any) -> None:
        X, y = events(loss)
        model = AutoRegressor(loss=loss).partial_fit(X, y)
        frozen = model.freeze()
        assert frozen.loss == loss
        assert frozen.learner_.loss == loss
        np.testing.assert_allclose(frozen.predict(X), model.predict(X), rtol=1e-9)
        frozen.partial_fit(X, y)  # and learns on

    def test_explanations_sum_to_the_margin(self, loss: Any) -> None:
        X, y = events(loss, 400)
        model = RiverRegressor(loss=loss)
        rows = [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
        model.learn_many(rows[:300], y[:300])
        for late in (False, True):
            if late:
                model.predict_one(rows[300], id=1)
                model.learn_many(rows[301:], y[301:])
                model.learn_label(1, y[300])
            for answer in ("live", "steady"):
                told = model.predict_one(rows[300], answer=answer)
                margin = np.log(told) if isinstance(loss, Poisson) else told
                parts = model.explain_one(rows[300], answer=answer)
                assert sum(parts.values()) == pytest.approx(margin, rel=1e-9, abs=1e-9)

    def test_parts_merge_to_the_whole(self, loss: Any) -> None:
        X, y = events(loss)
        learner = AutoLearner("numbers", loss=loss)
        learner.learn(X, y)
        merged = AutoLearner.merge(*learner.split(2))
        for answer in ("live", "steady"):
            told = merged.predict(X[:50], answer=answer), learner.predict(X[:50], answer=answer)
            np.testing.assert_allclose(*told, rtol=1e-6, atol=1e-6)

    def test_shards_merge_to_a_sensible_model(self, loss: Any) -> None:
        X, y = events(loss, 4000)
        shards = [AutoLearner("numbers", loss=loss) for _ in range(2)]
        for k, shard in enumerate(shards):
            shard.learn(X[k:3000:2], y[k:3000:2])
        one = AutoLearner("numbers", loss=loss)
        one.learn(X[:3000], y[:3000])
        merged = shards[0].merge(shards[1])
        losses = [
            mean_loss(loss, model.predict(X[3000:], answer="steady"), y[3000:]) for model in (merged, one, shards[0])
        ]
        spread = mean_loss(loss, np.full(1000, max(np.quantile(y, 0.5), 0.1)), y[3000:]) - losses[1]
        assert losses[0] < losses[1] + 0.2 * spread

    def test_every_door_gives_the_same_model(self, loss: Any, tmp_path: Path) -> None:
        X, y = events(loss, 300)
        learner = AutoLearner("numbers", loss=loss)
        told = learner.learn(X, y)
        estimator = AutoRegressor(loss=loss).partial_fit(X, y)
        assert estimator.learner_ == learner
        keyed = AutoEvents("numbers", loss=loss)
        rows = [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
        np.testing.assert_allclose(keyed.learn_many(rows, y), told, rtol=1e-9)
        path = tmp_path / "data.csv"
        lines = [",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
        path.write_text("\n".join(["a,b,c,d,y", *lines]), encoding="utf-8")
        model = odca.train(path, label="y", task="numbers", auto=True, loss=loss)
        np.testing.assert_allclose(model.predict(path), learner.predict(X, answer="steady"), rtol=1e-9)
        assert odca.train(path, label="y", task="numbers", auto=True, loss=loss).learner == model.learner

    def test_wild_labels_are_bounded(self, loss: Any) -> None:
        X, y = events(loss)
        wild = y.copy()
        wild[500] = 1e6
        sound, harmed = (AutoLearner("numbers", loss=loss).learn(X, labels) for labels in (y, wild))
        kept = np.arange(N) != 500
        assert mean_loss(loss, harmed[kept], y[kept]) < mean_loss(loss, sound[kept], y[kept]) + 0.05

    def test_late_labels_are_learned(self, loss: Any) -> None:
        X, y = events(loss)
        learner = AutoLearner("numbers", loss=loss)
        learner.learn(X[:700], y[:700])
        asked = learner.ask(X[700:900])
        learner.learn(X[900:], y[900:])
        learner.learn(X[700:900], y[700:900], asked=asked)
        assert np.isfinite(learner.predict(X)).all()


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_a_quantile_holds_its_share_of_the_labels(q: float) -> None:
    X, y = events(Quantile(q), 6000)
    learner = AutoLearner("numbers", loss=Quantile(q))
    below = y <= learner.learn(X, y)
    assert np.mean(below[500:]) == pytest.approx(q, abs=0.02)
    X, y = events(Quantile(q), 6000, seed=1)
    assert np.mean(y <= learner.predict(X, answer="steady")) == pytest.approx(q, abs=0.03)


def test_means_of_counts_are_positive_even_before_a_positive_label() -> None:
    X = np.ones((50, 2))
    learner = AutoLearner("numbers", loss="poisson")
    told = learner.learn(X, np.zeros(50))
    assert np.all(told > 0.0)
    assert told[-1] < 0.05
    assert np.all(learner.predict(1e9 * X, answer="steady") > 0.0)
    assert np.all(learner.predict_interval(X) >= 0.0)


def test_negative_counts_are_refused_and_change_nothing() -> None:
    X, y = events(Poisson(), 50)
    learner = AutoLearner("numbers", loss="poisson")
    learner.learn(X, y)
    before = learner.copy()
    with pytest.raises(ValueError, match="row 3 of y is -1, but counts must not be negative"):
        learner.learn(X, np.where(np.arange(50) == 3, -1.0, y))
    assert learner == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: AutoLearner("numbers", loss="huber"),
        lambda: AutoEvents("numbers", loss="huber"),
        lambda: RiverRegressor(loss="huber"),
        lambda: AutoRegressor(loss="huber").fit(np.ones((5, 1)), np.ones(5)),
        lambda: odca.train([{"x": 1.0, "y": k} for k in range(5)], label="y", auto=True, loss="huber"),
    ],
)
def test_other_losses_are_refused_with_those_that_there_are(make: Any) -> None:
    with pytest.raises(ValueError, match=r"has the losses squared_error, absolute_error, quantile:Q, poisson; got"):
        make()


def test_models_of_different_losses_do_not_merge() -> None:
    with pytest.raises(ValueError, match="one loss"):
        AutoLearner("numbers", loss="poisson").merge(AutoLearner("numbers"))


def test_a_loss_that_changes_between_calls_is_refused() -> None:
    X, y = events(Quantile(0.5), 20)
    model = AutoRegressor(loss="quantile:0.5").partial_fit(X, y)
    model.loss = "quantile:0.9"
    with pytest.raises(ValueError, match="was created with loss=Quantile"):
        model.partial_fit(X, y)


def test_scores_and_baselines_are_those_of_the_loss() -> None:
    X, y = events(Quantile(0.9), 3000)
    progress = AutoRegressor(loss="quantile:0.9").partial_fit(X, y).progress_
    baselines = progress.baselines()
    assert baselines["quantile"]["loss"] == pytest.approx(baselines["best_constant"]["loss"], rel=0.05)
    assert progress.loss < baselines["quantile"]["loss"]
    X, y = events(Poisson(), 3000)
    model = AutoRegressor(loss="poisson").partial_fit(X, y)
    told = AutoLearner("numbers", loss="poisson").learn(X, y)
    half = np.mean(y * np.log(np.where(y > 0, y, 1.0) / told) - y + told)
    assert model.progress_.loss == pytest.approx(half)
    assert model.progress_.loss < model.progress_.baselines()["mean"]["loss"] < np.inf


def test_the_command_takes_the_losses(tmp_path: Path) -> None:
    X, y = events(Poisson(), 300)
    path, model = tmp_path / "data.csv", tmp_path / "model"
    rows = [f"{a!r},{b!r},{label}" for (a, b, *_), label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    train = [sys.executable, "-m", "odca", "train", str(path), "--label", "y", "-o", str(model), "--auto", "--json"]
    for loss in ("poisson", "absolute_error", "quantile:0.9"):
        done = subprocess.run([*train, "--loss", loss], capture_output=True, text=True, check=True)
        facts = json.loads(done.stdout.splitlines()[-1])
        assert "automatic" in str(facts)
        assert odca.load(model).learner.loss == odca.losses.as_loss(loss)
    failed = subprocess.run([*train, "--loss", "huber:1"], capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert "squared_error, absolute_error, quantile:Q, poisson" in failed.stderr


# --- Files of version 0.2, the first with these losses ---

DATA = Path(__file__).parent.parent / "data"
OLD = json.loads((DATA / "auto_v0.2.json").read_text())
OF_OLD = json.loads((DATA / "auto_v1.json").read_text())


@pytest.mark.parametrize("name", [name for name in OLD if name != "events"])
def test_an_old_file_predicts_as_it_did_and_learns_on(name: str, tmp_path: Path) -> None:
    learner, wanted, at = AutoLearner.load(DATA / f"auto_v0.2_{name}.safetensors"), OLD[name], OLD["events"]
    assert learner.loss == odca.losses.as_loss(wanted["loss"])
    assert learner.count == at
    X, y = np.array(OF_OLD["X"], dtype=float)[at:], np.array(OF_OLD["numbers"]["y"], dtype=float)[at:]
    y = np.round(np.abs(y)) if name == "counts" else y
    for answer in ("live", "steady"):
        np.testing.assert_allclose(np.ravel(learner.predict(X[:10], answer=answer)), wanted[answer], rtol=1e-9)
    learner.save(tmp_path / "model")
    again = AutoLearner.load(tmp_path / "model")
    assert np.array_equal(learner.learn(X, y), again.learn(X, y))
    assert learner == again
    assert np.isfinite(learner.predict(X, answer="steady")).all()
