"""Saving and loading: the same model to the bit, safe to load from anyone, all of the file or nothing."""

import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import odca
from odca import KL, L2, Box, Exponential, Hinge, Huber, Learner, Sliding, SquaredError
from odca.io import container
from streams import KAPPAS, LOSSES, PENALTIES, WINDOWS, assert_same_bits, make_stream, options, window_name

HERE = Path(__file__).parent


def a_learner(**changes: Any) -> Learner:
    given = options(loss=Huber(1.0), penalty=L2(), window=Sliding(7), smoothing=0.9) | changes
    learner = Learner(**given)
    make_stream(given["loss"], 20, seed=3).into(learner)
    return learner


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("window", WINDOWS, ids=window_name)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty.name)
def test_a_loaded_learner_equals_the_saved_one_and_continues_like_it(
    penalty: Any, window: Any, kappa: float, path: Path
) -> None:
    stream = make_stream(Huber(1.0), 120, seed=8)
    learner = Learner(**options(loss=Huber(1.0), penalty=penalty, window=window, smoothing=kappa))
    stream.part(slice(70)).into(learner)
    learner.save(path)
    loaded = Learner.load(path)
    assert loaded == learner
    assert_same_bits(loaded, learner)
    first, second = stream.part(slice(70, None)).into(learner), stream.part(slice(70, None)).into(loaded)
    assert first.tobytes() == second.tobytes()
    assert_same_bits(loaded, learner)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_loss_survives_saving(loss: Any, path: Path) -> None:
    learner = Learner(loss=loss, rho=[0.1, 0.2], window=Exponential([0.9, 0.99]), prior_strength=0.5)
    learner.save(path)
    loaded = Learner.load(path)
    assert loaded == learner
    assert repr(loaded) == repr(learner)


def test_infinite_bounds_and_priors_survive_saving(path: Path) -> None:
    for given in (
        {"penalty": Box(0.0, np.inf), "prior_mean": [0.1, 1 / 3], "penalty_weights": [2.0, 1e-7]},
        {"penalty": KL([0.2, 0.8])},
        {"intercept": True, "intercept_penalty": 1e-6, "prior_intercept": 0.1, "lanes": 3},
    ):
        learner = Learner(loss=SquaredError(), rho=0.1, **given)
        learner.save(path)
        assert Learner.load(path) == learner


def test_other_tools_can_read_the_arrays(path: Path) -> None:
    learner = a_learner()
    learner.save(path)
    arrays = safetensors.numpy.load_file(path)
    state = learner.get_state()
    assert set(arrays) == set(state)
    for name, array in state.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_a_file_of_version_1_stays_readable() -> None:
    """tests/data/model_v1.safetensors was written by odca 0.1.0 with the lines of `a_learner` and is never changed."""
    loaded = Learner.load(HERE / "data" / "model_v1.safetensors")
    expected = json.loads((HERE / "data" / "model_v1.json").read_text())
    assert loaded.count == expected["count"]
    np.testing.assert_allclose(loaded.coef, expected["coef"], rtol=1e-12)
    np.testing.assert_allclose(loaded.smoothed_coef, expected["smoothed_coef"], rtol=1e-12)
    loaded.learn(np.ones((1, loaded.n_features)), [1.0])
    np.testing.assert_allclose(loaded.coef, expected["coef_after_ones"], rtol=1e-9)


# Losses of the user's own


class Mine:
    """A loss of the user's own."""

    def dual(self, p: float, s: float, y: float) -> float:
        return (y - p) / (1.0 + s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mine)

    __hash__ = None  # type: ignore[assignment]


def test_a_custom_loss_must_be_passed_again_when_loading(path: Path) -> None:
    learner = Learner(loss=Mine(), rho=0.1)
    learner.learn(np.eye(3), [1.0, 2.0, 3.0])
    learner.save(path)
    with pytest.raises(ValueError, match=r"its loss was Mine, which is code.*load\(path, loss="):
        Learner.load(path)
    assert Learner.load(path, loss=Mine()) == learner


# Damaged files


@pytest.mark.long
def test_every_flipped_bit_and_every_truncation_is_detected(path: Path, notes: list[str]) -> None:
    a_learner().save(path)
    whole, rng, executions = path.read_bytes(), random.Random(1), 0
    damaged = [whole[:k] for k in range(0, len(whole), 7)] + [whole + b"\0"]
    for k in range(len(whole)):
        flipped = bytearray(whole)
        flipped[k] ^= 1 << rng.randrange(8)
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"model\.safetensors is not a model of odca that can be read: "):
            Learner.load(path)
        executions += 1
    notes.append(f"{executions} damaged model files, all refused")


def crafted(whole: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The file with another header, and the right checksum for it."""
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header["__metadata__"]["checksum"] = container.NO_CHECKSUM
    change(header)
    text = json.dumps(header).encode()
    head = len(text).to_bytes(8, "little") + text
    digest = container.digest(head, whole[8 + length :])
    return head.replace(container.NO_CHECKSUM.encode(), digest.encode(), 1) + whole[8 + length :]


def with_options(header: dict[str, Any], **changes: Any) -> None:
    about = header["__metadata__"]
    about["options"] = json.dumps(json.loads(about["options"]) | changes)


CRAFTED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a newer version": (lambda h: h["__metadata__"].update(version="4"), "version '4' of the format.*newer odca"),
    "another format": (lambda h: h["__metadata__"].update(format="other"), "of another kind"),
    "no metadata": (lambda h: h["__metadata__"].clear(), "of another kind"),
    "another kind": (lambda h: h["__metadata__"].update(kind="Forest"), "it holds a Forest"),
    "an array left out": (lambda h: h.pop("window.facts"), "belong to no array"),
    "an unknown type": (lambda h: h["dual"].update(dtype="O"), "'O'"),
    "a negative shape": (lambda h: h["dual"].update(shape=[-1]), "invalid shape or place"),
    "a shape of truth": (lambda h: h["dual"].update(shape=[True]), "invalid shape or place"),
    "a huge shape": (lambda h: h["dual"].update(shape=[2**62]), "not where its header says"),
    "another shape": (lambda h: h["dual"].update(shape=[1, h["dual"]["shape"][0]]), "'dual'"),
    "two in one place": (lambda h: h["mass"].update(data_offsets=h["scale"]["data_offsets"]), "not where"),
    "too many lanes": (lambda h: with_options(h, lanes=10**12), "at most .* lanes"),
    "lanes that the state has not": (lambda h: with_options(h, lanes=10**6), "do not fit together"),
    "too many features": (
        lambda h: with_options(h, n_features=10**12, penalty={"KL": {"prior": None}}),
        "do not fit together",
    ),
    "an unknown loss": (lambda h: with_options(h, loss={"Popen": {"args": ["true"]}}), "no loss.*'Popen'"),
    "an unknown parameter": (lambda h: with_options(h, loss={"Hinge": {"x": 1}}), "Hinge does not take x"),
    "a bad parameter": (lambda h: with_options(h, loss={"Huber": {"delta": -1.0}}), "Huber"),
    "an unknown option": (lambda h: with_options(h, verbose=1), "verbose"),
    "a negative strength": (lambda h: with_options(h, rho=-1.0), "rho must be"),
    "a loss as a window": (lambda h: with_options(h, window={"Hinge": {}}), "cannot be loaded"),
    "another window": (lambda h: with_options(h, window={"Infinite": {}}), "window"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_file_is_refused(name: str, path: Path) -> None:
    a_learner().save(path)
    change, message = CRAFTED[name]
    path.write_bytes(crafted(path.read_bytes(), change))
    with pytest.raises(ValueError, match=message):
        Learner.load(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 8,
        (2**63).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
        (100_000).to_bytes(8, "little") + b'{"a":' * 20_000,
        b"not a model at all, but long enough",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_a_file_that_is_not_a_model_is_refused(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with pytest.raises(ValueError, match="not a model of odca"):
        Learner.load(path)


HUGE = 30 * 2**30
BEGINNINGS = {
    "zeros": b"",
    "an odd length": b"\1",
    "a length": HUGE.to_bytes(8, "little"),
    "a length and a bracket": HUGE.to_bytes(8, "little") + b"{",
    "a short header": (2).to_bytes(8, "little") + b"{}",
    "a header of another format": (24).to_bytes(8, "little") + b'{"__metadata__":{"a":1}}',
}


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_of_a_huge_file_that_is_no_model_only_the_beginning_is_read(beginning: bytes, path: Path) -> None:
    with path.open("wb") as file:
        file.write(beginning)
        file.truncate(HUGE)
    with resource_limit(2 * 2**30), pytest.raises(ValueError, match=r"model\.safetensors is not a model of odca"):
        odca.load(path)


def test_a_file_whose_header_promises_more_than_it_has_is_refused(path: Path) -> None:
    a_learner().save(path)
    path.write_bytes(crafted(path.read_bytes(), lambda header: header["dual"].update(shape=[2**50])))
    with resource_limit(2 * 2**30), pytest.raises(ValueError, match="not where its header says"):
        odca.load(path)


def test_devices_and_pipes_are_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(ValueError, match="is not a file, but a pipe or a device"):
            odca.load(path)
    with pytest.raises(IsADirectoryError):
        odca.load(tmp_path)


@contextmanager
def resource_limit(size: int) -> Iterator[None]:
    """No more memory than this beyond what is in use."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.long
def test_crafted_numbers_are_refused_or_load_as_a_valid_model(path: Path, notes: list[str]) -> None:
    """Random numbers in random places of the state, with the right checksum: refused, or a model that works."""
    a_learner().save(path)
    whole, rng, refused = path.read_bytes(), np.random.default_rng(5), 0
    length = 8 + int.from_bytes(whole[:8], "little")
    odd = [0.0, -1.0, 1e308, -1e308, 5e-324, np.nan, np.inf, 1e18]
    for _ in range(1500):
        data = bytearray(whole)
        for place in rng.integers(length, len(whole) - 8, size=rng.integers(1, 4)):
            at = place - (place - length) % 8
            number = np.float64(rng.choice(odd)) if rng.random() < 0.5 else rng.integers(-9, 2**40)
            data[at : at + 8] = number.tobytes()
        path.write_bytes(crafted(bytes(data), lambda header: header))
        try:
            learner = Learner.load(path)
        except ValueError:
            refused += 1
            continue
        try:
            learner.learn(np.ones((3, learner.n_features)), np.ones(3))
        except ValueError:
            continue
        assert np.all(np.isfinite(learner.coef))
    notes.append(f"1500 crafted states, {refused} refused")


# Writing


def test_a_file_is_replaced_whole_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = a_learner(), a_learner(loss=SquaredError())
    first.save(path)

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        second.save(path)
    assert Learner.load(path) == first
    assert list(path.parent.iterdir()) == [path]


def test_a_process_killed_while_saving_leaves_a_whole_file(path: Path) -> None:
    """Ten processes that save over and over, each killed at another moment."""
    script = (
        "import sys, numpy as np; from odca import Hinge, Learner\n"
        "m = Learner(loss=Hinge()); m.learn(np.ones((1, 300_000)), [1.0]); print(flush=True)\n"
        "while True: m.save(sys.argv[1])\n"
    )
    for k in range(10):
        with subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            while not path.exists():
                pass
            try:
                process.wait(timeout=0.003 * k)
            except subprocess.TimeoutExpired:
                process.kill()
        assert Learner.load(path).n_features == 300_000


def test_saving_into_a_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Learner(loss=Hinge()).save(tmp_path / "nowhere" / "model.safetensors")
    with pytest.raises(FileNotFoundError):
        Learner.load(tmp_path / "none.safetensors")
