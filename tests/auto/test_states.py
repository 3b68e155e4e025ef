"""States are written by the keys of experts: files from before that load to the bit, and files with other experts load too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auto.slow_parts import (
    AVERAGED,
    EXPERTS,
    OF_FULL,
    OF_LABELS,
    OF_ROWS,
    PLAIN,
    RECENT,
    STATISTICS,
    prior_of,
    recent_column,
    statistics_with,
)
from auto.slow_steady import NAMES
from odca import AutoLearner
from odca.io import model_file

DATA = Path(__file__).parent.parent / "data"
KINDS = ("two_classes", "five_classes", "numbers")
EXPECTED, STREAM = (json.loads((DATA / f"auto_v{version}.json").read_text()) for version in (0, 1))
every_kind = pytest.mark.parametrize("kind", KINDS)

State = dict[str, np.ndarray]
KEYS = [expert.key for expert in EXPERTS]
ROW_KEYS, FULL_KEYS, LABEL_KEYS = ([expert.key for expert in experts] for experts in (OF_ROWS, OF_FULL, OF_LABELS))
OLD_KEYS = [*ROW_KEYS, *LABEL_KEYS]  # of versions 0 and 1
AVERAGED_KEYS = [ROW_KEYS[k] for k in AVERAGED]


def old(kind: str, version: int = 0) -> AutoLearner:
    return AutoLearner.load(DATA / f"auto_v{version}_{kind}.safetensors")


def hexed(values: np.ndarray) -> list[str]:
    return [float(x).hex() for x in np.ravel(values)]


def learned(kind: str) -> tuple[AutoLearner, np.ndarray, np.ndarray]:
    """A learner whose steady answer was judged by some events, and events to go on with."""
    learner, events = old(kind, version=1), events_of(kind, slice(STREAM["events"], None))
    learner.learn(**events)
    return learner, np.array(EXPECTED[kind]["X"]), np.array(EXPECTED[kind]["y"], dtype=float)


def restored(like: AutoLearner, state: State) -> AutoLearner:
    out = AutoLearner(like.task, classes=max(like.classes, 2))
    out._core.restore(state)
    return out


# --- Files of version 0, from before a state had a version ---


@every_kind
@pytest.mark.parametrize("version", [0, 1])
def test_an_old_file_has_all_that_it_had_to_the_bit_and_learns_on(kind: str, version: int, tmp_path: Path) -> None:
    learner, state = old(kind, version), old(kind, version).get_state()
    arrays = model_file.read(DATA / f"auto_v{version}_{kind}.safetensors").arrays
    assert ("version" in arrays) == (version > 0)
    of_all = {"version", "experts", "bayes", "simplex", "kalman", "covariance", "history"}  # of new experts too
    for name in set(arrays) - of_all:
        assert state[name].tobytes() == arrays[name].tobytes(), name
    known = [KEYS.index(key) for key in OLD_KEYS]
    assert len(state["bayes"]) == PLAIN  # pairs of features are chosen at the next event
    for name in ("bayes", "simplex"):
        np.testing.assert_allclose(state[name][known] / state[name][known].sum(), arrays[name], rtol=1e-12)
    assert state["kalman"][known].tobytes() == arrays["kalman"].tobytes()
    X, y = np.array(EXPECTED[kind]["X"]), np.array(EXPECTED[kind]["y"], dtype=float)
    learner.save(tmp_path / "model")  # and once more as it is written today
    again = AutoLearner.load(tmp_path / "model")
    assert learner.learn(X, y).tobytes() == again.learn(X, y).tobytes()
    assert learner == again
    goes_on(learner, X, y)


# --- Files of version 1, from before the steady answer ---


def events_of(kind: str, rows: slice) -> dict[str, np.ndarray]:
    """For `learn`: those that the file learned come first."""
    arrays = {name: np.array(STREAM[name], dtype=float) for name in ("X", "sample_weight", "time")}
    return {name: values[rows] for name, values in {**arrays, "y": np.array(STREAM[kind]["y"], dtype=float)}.items()}


@every_kind
@pytest.mark.parametrize("version", [0, 1])
def test_the_steady_answer_of_an_old_file_begins_with_the_next_event(kind: str, version: int, tmp_path: Path) -> None:
    learner, rest = old(kind, version), events_of(kind, slice(STREAM["events"], None))
    state, heads = learner.get_state(), heads_of(learner)
    weights = (
        state["table"].reshape(-1, STATISTICS + heads * len(ROW_KEYS))[:, STATISTICS:].reshape(-1, heads, len(ROW_KEYS))
    )
    np.testing.assert_array_equal(state["averages"].reshape(-1, heads, len(AVERAGED)), weights[:, :, AVERAGED])
    members, products = np.delete(learner._core.steady_weights(), slice(7, 14)), learner._core.steady_weights()[7:14]
    np.testing.assert_allclose(members, 1.0 / len(NAMES), rtol=1e-15)
    assert (products == 0.0).all()
    assert np.isfinite(learner.predict(rest["X"], answer="steady")).all()
    learner.save(tmp_path / "model")
    assert AutoLearner.load(tmp_path / "model") == learner
    weighed = state["weighed"][0]
    first = int(np.flatnonzero(rest["sample_weight"])[0])
    learner.learn(**{name: values[: first + 1] for name, values in rest.items()})
    assert learner.get_state()["frozen_at"] == weighed + 1.0
    goes_on(learner, rest["X"], rest["y"])
    assert np.ptp(learner._core.steady_weights()) > 1e-3


# --- What a state says ---


def test_a_state_names_its_version_and_its_experts() -> None:
    state = AutoLearner("numbers").get_state()
    assert state["version"].tolist() == [2.0]
    lines = [line.split(" ", 1) for line in state["experts"].tobytes().decode().splitlines()]
    assert [key for word, key in lines if word == "row"] == ROW_KEYS
    assert [key for word, key in lines if word == "recent"] == RECENT
    assert [key for word, key in lines if word == "full"] == FULL_KEYS
    assert [key for word, key in lines if word == "label"] == LABEL_KEYS
    assert [key for word, key in lines if word == "average"] == AVERAGED_KEYS
    assert [key for word, key in lines if word == "steady"] == NAMES
    assert "product" not in {word for word, _ in lines}  # before pairs of features were chosen


@pytest.mark.parametrize("text", ["", "row\n", "row \n", "row newton_4", "column newton_4\n", "row a\nrow a\n", "\n"])
def test_experts_that_cannot_be_read_are_refused(text: str) -> None:
    learner, _, _ = learned("numbers")
    before = learner.copy()
    state = {**learner.get_state(), "experts": np.frombuffer(text.encode(), np.uint8)}
    with pytest.raises(ValueError, match=r"not named|do not fit together|has the wrong length"):
        learner._core.restore(state)
    assert learner == before


def test_a_newer_version_is_refused() -> None:
    learner, _, _ = learned("numbers")
    with pytest.raises(ValueError, match="its state has version 3"):
        learner._core.restore({**learner.get_state(), "version": np.array([3.0])})


# --- Files with other experts ---


def lines_of(**keys: list[str]) -> np.ndarray:
    """row=, recent=, full=, label=, average=, steady=, product="""
    return np.frombuffer("".join(f"{word} {key}\n" for word in keys for key in keys[word]).encode(), np.uint8)


def keys_without(key: str) -> dict[str, list[str]]:
    everything = {"row": ROW_KEYS, "recent": RECENT, "full": FULL_KEYS, "label": LABEL_KEYS}
    everything |= {"average": AVERAGED_KEYS, "steady": NAMES}
    left = {word: [k for k in keys if k not in {key, f"average of {key}"}] for word, keys in everything.items()}
    return left | {"product": [k for k in ROW_KEYS if k not in {key, key.removesuffix("_products")}]}


def places_of(key: str) -> list[int]:
    """The columns of an expert and of its twin with products."""
    return [place for place, each in enumerate(KEYS) if each in {key, f"{key}_products"}]


STEADY_PARTS = ("steady_sum", "frozen", "frozen_constant", "frozen_products", "frozen_product_constant")


def without(state: State, key: str, heads: int) -> State:
    """The state as a core would have written it that has not this expert."""
    place, n, out = places_of(key), len(KEYS), dict(state)
    keys = keys_without(key)
    out["experts"] = lines_of(**keys)
    for name in ("bayes", "simplex"):
        left = np.delete(state[name], place)
        out[name] = left / left.sum()
    out["kalman"] = np.delete(state["kalman"], place)
    covariance = state["covariance"].reshape(n, n)
    out["covariance"] = np.delete(np.delete(covariance, place, 0), place, 1).ravel()
    out["history"] = np.delete(state["history"].reshape(-1, 3 + n), 3 + np.array(place), 1).ravel()
    if key in FULL_KEYS:
        return {name: values for name, values in out.items() if not name.startswith(f"{key}.")}
    if key in LABEL_KEYS:
        place = LABEL_KEYS.index(key)
        out["counts"] = np.delete(state["counts"].reshape(len(LABEL_KEYS), -1), place, 0).ravel()
        for name in ("masses", "sums", "sum_masses"):
            out[name] = np.delete(state[name], place)
        return out
    for prefix, left in (("", keys["row"]), ("products.", keys["product"])):
        recents, averages = ([k for k in keys[word] if k in left] for word in ("recent", "average"))
        for name in (f"{prefix}table", f"{prefix}constant"):
            records = state[name].reshape(-1, STATISTICS + len(ROW_KEYS) * heads)
            weights = records[:, STATISTICS:].reshape(-1, heads, len(ROW_KEYS))
            kept = weights[:, :, [ROW_KEYS.index(k) for k in left]].reshape(len(records), -1)
            out[name] = np.hstack([statistics_of(records, recents), kept]).ravel()
        for name in (f"{prefix}averages", f"{prefix}constant_average"):
            out[name] = state[name].reshape(-1, len(AVERAGED))[:, [AVERAGED_KEYS.index(k) for k in averages]].ravel()
    members = [NAMES.index(k) for k in keys["steady"]]
    for name in STEADY_PARTS:
        out[name] = state[name].reshape(-1, len(NAMES))[:, members].ravel()
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
    out["experts"] = lines_of(
        row=["from_the_future", *ROW_KEYS],
        recent=RECENT,
        full=FULL_KEYS,
        label=LABEL_KEYS,
        average=["from_the_future", *AVERAGED_KEYS],
        steady=["average of from_the_future", *NAMES],
        product=ROW_KEYS,
    )
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
    for width, names in ((len(AVERAGED), ("averages", "constant_average")), (len(NAMES), STEADY_PARTS)):
        for name in names:
            rows = state[name].reshape(-1, width)
            out[name] = np.hstack([rng.normal(size=(len(rows), 1)), rows]).ravel()
    return out


def heads_of(learner: AutoLearner) -> int:
    return learner.classes if learner.classes > 2 else 1


@every_kind
@pytest.mark.parametrize("key", KEYS)
def test_an_expert_that_the_file_does_not_have_begins_as_at_the_start(kind: str, key: str) -> None:
    learner, X, y = learned(kind)
    heads, places = heads_of(learner), places_of(key)
    older = without(learner.get_state(), key, heads)
    state = restored(learner, older).get_state()
    prior = prior_of(len(EXPERTS))[places]
    for name in ("bayes", "simplex"):
        np.testing.assert_allclose(state[name][places], prior, rtol=1e-12)
        np.testing.assert_allclose(np.delete(state[name], places), (1.0 - prior.sum()) * older[name], rtol=1e-12)
    assert (state["kalman"][places] == 0.0).all()
    covariance = state["covariance"].reshape(len(KEYS), -1)
    np.testing.assert_array_equal(covariance[places], 0.25 * np.eye(len(KEYS))[places])
    assert (state["history"].reshape(-1, 3 + len(KEYS))[:, [3 + place for place in places]] == 0.0).all()
    assert_same(without(state, key, heads), older)  # all others are as they were
    for prefix in ("", "products."):
        if key.removesuffix("_products" if prefix else "") in ROW_KEYS:
            rows = state[f"{prefix}table"].reshape(-1, STATISTICS + heads * len(ROW_KEYS))[:, STATISTICS:]
            new = rows.reshape(-1, heads, len(ROW_KEYS))
            assert (new[:, :, ROW_KEYS.index(key.removesuffix("_products"))] == 0.0).all()
    if key in ROW_KEYS:
        places = [m for m, name in enumerate(NAMES) if name in {key, f"average of {key}"}]
        assert (state["steady_sum"][places] == state["steady_sum"][-1]).all()  # as the base rate, which it begins at
        assert (state["frozen"].reshape(-1, len(NAMES))[:, places] == 0.0).all()
    elif key in FULL_KEYS:
        assert len(state[f"{key}.diagonal"]) == 1 + len(state["full_features"])
        assert (state[f"{key}.weights"] == 0.0).all()
        assert (state[f"{key}.upper"] == 0.0).all()
        assert (state[f"{key}.diagonal"] == 1.0).all()
    elif key in LABEL_KEYS:
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


@every_kind
def test_an_average_that_the_file_does_not_have_begins_at_the_weights(kind: str) -> None:
    learner, X, y = learned(kind)
    heads, state, key = heads_of(learner), learner.get_state(), "proportionate"
    older = dict(state)
    older["experts"] = lines_of(**{**keys_without(""), "average": [k for k in AVERAGED_KEYS if k != key]})
    place = AVERAGED_KEYS.index(key)
    for name in ("averages", "constant_average", "products.averages", "products.constant_average"):
        older[name] = np.delete(state[name].reshape(-1, len(AVERAGED)), place, 1).ravel()
    read = restored(learner, older)
    weights = state["table"].reshape(-1, STATISTICS + heads * len(ROW_KEYS))[:, STATISTICS:].reshape(-1, len(ROW_KEYS))
    wanted = state["averages"].reshape(-1, len(AVERAGED)).copy()
    wanted[:, place] = weights[:, ROW_KEYS.index(key)]
    np.testing.assert_array_equal(read.get_state()["averages"].reshape(-1, len(AVERAGED)), wanted)
    goes_on(read, X, y)


def test_no_expert_in_common_is_a_fresh_mixture() -> None:
    learner, X, y = learned("numbers")
    state = {
        f"other {name}" if name.startswith(tuple(FULL_KEYS)) else name: values
        for name, values in learner.get_state().items()
    }
    state["experts"] = np.frombuffer(
        b"".join(line.replace(b" ", b" other ", 1) for line in state["experts"].tobytes().splitlines(keepends=True)),
        np.uint8,
    )
    fresh = restored(learner, state)
    np.testing.assert_allclose(fresh._core.weights(), prior_of(len(EXPERTS)), rtol=1e-12)
    weights = fresh._core.steady_weights()
    np.testing.assert_allclose(weights[:7] + weights[7:14], 1.0 / len(NAMES), rtol=1e-15)
    assert weights[14] == 1.0 / len(NAMES)
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
