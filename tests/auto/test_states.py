"""States are written by the keys of experts: files from before that load to the bit, and files with other experts load too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auto.slow_parts import EXPERTS, OF_LABELS, OF_ROWS, RECENT, STATISTICS, recent_column, statistics_with
from odca import AutoLearner
from odca.io import model_file

DATA = Path(__file__).parent.parent / "data"
KINDS = ("two_classes", "five_classes", "numbers")
EXPECTED = json.loads((DATA / "auto_v0.json").read_text())
every_kind = pytest.mark.parametrize("kind", KINDS)

State = dict[str, np.ndarray]
KEYS = [expert.key for expert in EXPERTS]
VERSION_0 = {"isotropic_1/64", "isotropic_1/2", "isotropic_8", "adagrad", "proportionate"}
VERSION_0 |= {
    "newton_0.2",
    "newton_4",
    "newton_recent",
    "last_label",
    "mean_label_0.7",
    "mean_label_0.95",
    "mean_label",
}
ROW_KEYS, LABEL_KEYS = ([expert.key for expert in experts] for experts in (OF_ROWS, OF_LABELS))


def old(kind: str) -> AutoLearner:
    return AutoLearner.load(DATA / f"auto_v0_{kind}.safetensors")


def hexed(values: np.ndarray) -> list[str]:
    return [float(x).hex() for x in np.ravel(values)]


def learned(kind: str) -> tuple[AutoLearner, np.ndarray, np.ndarray]:
    expected = EXPECTED[kind]
    return old(kind), np.array(expected["X"]), np.array(expected["y"])


def restored(like: AutoLearner, state: State) -> AutoLearner:
    out = AutoLearner(like.task, classes=max(like.classes, 2))
    out._core.restore(state)
    return out


# --- Files of version 0, from before a state had a version ---


@every_kind
def test_an_old_file_predicts_and_learns_on_to_the_bit(kind: str, tmp_path: Path) -> None:
    learner, X, y = learned(kind)
    expected = EXPECTED[kind]
    if set(KEYS) != VERSION_0:  # another table predicts something else
        goes_on(learner, X, y)
        return
    assert "version" not in model_file.read(DATA / f"auto_v0_{kind}.safetensors").arrays
    assert hexed(learner.predict(X)) == expected["predicted"]
    learner.save(tmp_path / "model")  # and once more as it is written today
    for each in (learner, AutoLearner.load(tmp_path / "model")):
        assert hexed(each.learn(X, y)) == expected["learned"]
        assert hexed(each.predict(X)) == expected["predicted_after"]
        assert hexed(each.get_state()["bayes"]) == expected["bayes_after"]


def test_a_state_names_its_version_and_its_experts() -> None:
    state = AutoLearner("numbers").get_state()
    assert state["version"].tolist() == [1.0]
    lines = [line.split(" ", 1) for line in state["experts"].tobytes().decode().splitlines()]
    assert [key for word, key in lines if word == "row"] == ROW_KEYS
    assert [key for word, key in lines if word == "recent"] == RECENT
    assert [key for word, key in lines if word == "label"] == LABEL_KEYS


@pytest.mark.parametrize("text", ["", "row\n", "row \n", "row newton_4", "column newton_4\n", "row a\nrow a\n", "\n"])
def test_experts_that_cannot_be_read_are_refused(text: str) -> None:
    learner, _, _ = learned("numbers")
    before = learner.copy()
    state = {**learner.get_state(), "experts": np.frombuffer(text.encode(), np.uint8)}
    with pytest.raises(ValueError, match=r"not named|do not fit together"):
        learner._core.restore(state)
    assert learner == before


def test_a_newer_version_is_refused() -> None:
    learner, _, _ = learned("numbers")
    with pytest.raises(ValueError, match="its state has version 2"):
        learner._core.restore({**learner.get_state(), "version": np.array([2.0])})


# --- Files with other experts ---


def lines_of(rows: list[str], recents: list[str], labels: list[str]) -> np.ndarray:
    lines = [("row", key) for key in rows] + [("recent", key) for key in recents] + [("label", key) for key in labels]
    return np.frombuffer("".join(f"{word} {key}\n" for word, key in lines).encode(), np.uint8)


def without(state: State, key: str, heads: int) -> State:
    """The state as a core would have written it that has not this expert."""
    place, n, out = KEYS.index(key), len(KEYS), dict(state)
    rows, labels = [k for k in ROW_KEYS if k != key], [k for k in LABEL_KEYS if k != key]
    recents = [k for k in RECENT if k != key]
    out["experts"] = lines_of(rows, recents, labels)
    for name in ("bayes", "simplex"):
        left = np.delete(state[name], place)
        out[name] = left / left.sum()
    out["kalman"] = np.delete(state["kalman"], place)
    covariance = state["covariance"].reshape(n, n)
    out["covariance"] = np.delete(np.delete(covariance, place, 0), place, 1).ravel()
    out["history"] = np.delete(state["history"].reshape(-1, 3 + n), 3 + place, 1).ravel()
    if key in LABEL_KEYS:
        place = LABEL_KEYS.index(key)
        out["counts"] = np.delete(state["counts"].reshape(len(LABEL_KEYS), -1), place, 0).ravel()
        for name in ("masses", "sums", "sum_masses"):
            out[name] = np.delete(state[name], place)
        return out
    for name in ("table", "constant"):
        records = state[name].reshape(-1, STATISTICS + len(ROW_KEYS) * heads)
        weights = records[:, STATISTICS:].reshape(-1, heads, len(ROW_KEYS))
        kept = np.delete(weights, ROW_KEYS.index(key), 2).reshape(len(records), -1)
        out[name] = np.hstack([statistics_of(records, recents), kept]).ravel()
    return out


def statistics_of(records: np.ndarray, recents: list[str]) -> np.ndarray:
    """What a record has before the weights, with the sums of recent curvatures of these experts alone."""
    out = np.zeros((len(records), statistics_with(len(recents))))
    out[:, [0, 1, 2, 3, 4, 6]] = records[:, [0, 1, 2, 3, 4, 6]]
    for place, key in enumerate(recents):
        out[:, recent_column(place)] = records[:, recent_column(RECENT.index(key))]
    return out


def with_another(state: State, heads: int, share: float) -> State:
    """The state as a core would have written it that has one expert more, first of all, with a share of the weight."""
    rng, n, out = np.random.default_rng(0), len(KEYS), dict(state)
    out["experts"] = lines_of(["from_the_future", *ROW_KEYS], RECENT, LABEL_KEYS)
    for name in ("bayes", "simplex"):
        out[name] = np.append(share, (1.0 - share) * state[name])
    out["kalman"] = np.append(0.3, state["kalman"])
    covariance = np.zeros((n + 1, n + 1))
    covariance[0, 0], covariance[1:, 1:] = 0.1, state["covariance"].reshape(n, n)
    out["covariance"] = covariance.ravel()
    history = state["history"].reshape(-1, 3 + n)
    shares = np.full((len(history), 1), share)
    out["history"] = np.hstack([history[:, :3], shares, (1.0 - share) * history[:, 3:]]).ravel()
    for name in ("table", "constant"):
        records = state[name].reshape(-1, STATISTICS + len(ROW_KEYS) * heads)
        weights = records[:, STATISTICS:].reshape(-1, heads, len(ROW_KEYS))
        more = np.concatenate([rng.normal(size=(len(records), heads, 1)), weights], axis=2)
        out[name] = np.hstack([records[:, :STATISTICS], more.reshape(len(records), -1)]).ravel()
    return out


def heads_of(learner: AutoLearner) -> int:
    return learner.classes if learner.classes > 2 else 1


@every_kind
@pytest.mark.parametrize("key", KEYS)
def test_an_expert_that_the_file_does_not_have_begins_as_at_the_start(kind: str, key: str) -> None:
    learner, X, y = learned(kind)
    heads, place = heads_of(learner), KEYS.index(key)
    older = without(learner.get_state(), key, heads)
    state = restored(learner, older).get_state()
    prior = EXPERTS[place].prior / sum(expert.prior for expert in EXPERTS)
    for name in ("bayes", "simplex"):
        assert state[name][place] == pytest.approx(prior, rel=1e-12)
        np.testing.assert_allclose(np.delete(state[name], place), (1.0 - prior) * older[name], rtol=1e-12)
    assert state["kalman"][place] == 0.0
    covariance = state["covariance"].reshape(len(KEYS), -1)
    np.testing.assert_array_equal(covariance[place], 0.25 * (np.arange(len(KEYS)) == place))
    assert (state["history"].reshape(-1, 3 + len(KEYS))[:, 3 + place] == 0.0).all()
    assert_same(without(state, key, heads), older)  # all others are as they were
    new = (
        state["table"].reshape(-1, STATISTICS + heads * len(ROW_KEYS))[:, STATISTICS:].reshape(-1, heads, len(ROW_KEYS))
    )
    if key in ROW_KEYS:
        assert (new[:, :, ROW_KEYS.index(key)] == 0.0).all()
    else:
        assert state["masses"][LABEL_KEYS.index(key)] == state["sum_masses"][LABEL_KEYS.index(key)] == 0.0
    goes_on(restored(learner, older), X, y)


@every_kind
def test_an_expert_that_the_core_does_not_have_is_dropped_with_its_weight(kind: str) -> None:
    learner, X, y = learned(kind)
    state = learner.get_state()
    dropped = restored(learner, with_another(state, heads_of(learner), 0.25))
    assert_same(dropped.get_state(), state)
    np.testing.assert_allclose(dropped.predict(X), learner.predict(X), rtol=1e-9, atol=1e-12)
    goes_on(dropped, X, y)


@every_kind
def test_a_file_with_one_expert_fewer_and_one_more_is_read(kind: str) -> None:
    learner, X, y = learned(kind)
    heads = heads_of(learner)
    state = without(learner.get_state(), "newton_4", heads)
    state["experts"] = np.frombuffer(
        state["experts"].tobytes().replace(b"row adagrad\n", b"row other\n"), np.uint8
    )  # where AdaGrad was is another one
    mixed = restored(learner, state)
    assert mixed._core.weights().sum() == pytest.approx(1.0, rel=1e-12)
    weights = dict(zip(KEYS, mixed._core.weights(), strict=True))
    total = sum(expert.prior for expert in EXPERTS)
    assert weights["newton_4"] == pytest.approx(4.0 / total)
    assert weights["adagrad"] == pytest.approx(1.0 / total)
    goes_on(mixed, X, y)


def test_no_expert_in_common_is_a_fresh_mixture() -> None:
    learner, X, y = learned("numbers")
    state = learner.get_state()
    state["experts"] = np.frombuffer(
        state["experts"].tobytes().replace(b"row ", b"row other ").replace(b"label ", b"label other "), np.uint8
    )
    fresh = restored(learner, state)
    np.testing.assert_array_equal(fresh._core.weights(), AutoLearner("numbers")._core.weights())
    goes_on(fresh, X, y)


def assert_same(got: State, wanted: State) -> None:
    assert got.keys() == wanted.keys()
    for name, values in wanted.items():
        if name in {"bayes", "simplex", "kalman", "covariance", "history"}:
            np.testing.assert_allclose(got[name], values, rtol=1e-12, atol=1e-300, err_msg=name)
        else:
            np.testing.assert_array_equal(got[name], values, err_msg=name)


def goes_on(learner: AutoLearner, X: np.ndarray, y: np.ndarray) -> None:
    """It learns, all numbers stay finite, and what it learned can be saved and restored."""
    predictions: Any = learner.learn(X, y)
    assert np.isfinite(predictions).all()
    assert learner.copy() == learner
    assert all(np.isfinite(values).all() for values in learner.get_state().values())
