"""Files of models with many hashed features: as large as what is not zero, and the same model to the bit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from odca import LogLoss
from odca.features import Features
from odca.io import container, model_file, sparse
from odca.io.model_file import ModelFile
from odca.models.options import ModelOptions
from odca.stream.model import StreamModel
from stream_files import events, trained, vw, write


@pytest.mark.parametrize("problem", [ModelOptions(), ModelOptions(auto=None, loss=LogLoss())], ids=["auto", "linear"])
def test_a_file_is_as_large_as_what_is_not_zero(problem: ModelOptions, tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", [vw(each) for each in events(200)])
    sizes = []
    for bits in (10, 18):
        model = trained(data, problem, features=Features(bits=bits))
        model.save(tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
        loaded = StreamModel.load(tmp_path / "model")
        assert loaded.learner == model.learner
        assert loaded.predict(data, "margins").tolist() == model.predict(data, "margins").tolist()
    assert sizes[1] < 60_000, "bytes, of 10 to 50 million"
    assert container_of(tmp_path / "model")["version"] == "3"


def container_of(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return container.unpack(file, path.stat().st_size)[0]


def test_a_file_without_many_zeros_is_as_before(tmp_path: Path) -> None:
    data = write(tmp_path / "a.vw", [vw(each) for each in events(200)])
    trained(data).save(tmp_path / "model")
    assert container_of(tmp_path / "model")["version"] == "2"


def roundtrip(**arrays: np.ndarray[Any, Any]) -> ModelFile:
    return model_file.from_bytes(b"".join(model_file.to_chunks(ModelFile("test", {}, arrays))), "test")


@pytest.mark.parametrize("dtype", ["f8", "i8", "u8", "i4", "u4", "u1"])
def test_arrays_are_the_same_to_the_bit(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for filled in (0, 1, 100, 5_000, 99_999):
        array = np.zeros(100_000, dtype)
        array[rng.choice(100_000, filled, replace=False)] = rng.integers(1, 100, filled)
        found = roundtrip(a=array.reshape(100, 1000)).arrays["a"]
        assert (found.dtype, found.shape) == (array.dtype, (100, 1000))
        assert found.tobytes() == array.tobytes()


def test_negative_zeros_and_nan_survive() -> None:
    array = np.zeros(50_000)
    array[[7, 8, 49_999]] = -0.0, np.nan, 1e-320
    assert roundtrip(a=array).arrays["a"].tobytes() == array.tobytes()


def test_parts_may_be_sparse() -> None:
    part = ModelFile("inner", {}, {"a": np.zeros(100_000)})
    data = b"".join(model_file.to_chunks(ModelFile("outer", {}, {"b": np.ones(3)}, {"learner": part})))
    assert len(data) < 2000
    assert model_file.from_bytes(data, "test").parts["learner"].arrays["a"].tolist() == [0.0] * 100_000


PLACES, VALUES = np.array([1, 5], np.uint32), np.ones(2)
INVALID: dict[str, tuple[dict[str, Any], Any]] = {
    "too large": ({"a~places": PLACES, "a~values": VALUES}, {"a": [1 << 40]}),
    "many that are too large together": (
        {f"{name}~{part}": array for name in "ab" for part, array in (("places", PLACES), ("values", VALUES))},
        {"a": [1 << 28], "b": [(1 << 28) + 1]},
    ),
    "a place behind the end": ({"a~places": PLACES, "a~values": VALUES}, {"a": [5]}),
    "a negative length": ({"a~places": PLACES, "a~values": VALUES}, {"a": [-8, -8]}),
    "a length that is no number": ({"a~places": PLACES, "a~values": VALUES}, {"a": ["8"]}),
    "a place twice": ({"a~places": np.array([1, 1], np.uint32), "a~values": VALUES}, {"a": [8]}),
    "places out of order": ({"a~places": PLACES[::-1], "a~values": VALUES}, {"a": [8]}),
    "places that are no places": ({"a~places": VALUES, "a~values": VALUES}, {"a": [8]}),
    "too few numbers": ({"a~places": PLACES, "a~values": VALUES[:1]}, {"a": [8]}),
    "no numbers": ({"a~places": PLACES}, {"a": [8]}),
    "an array that is there already": ({"a": VALUES, "a~places": PLACES, "a~values": VALUES}, {"a": [8]}),
    "no shapes": ({"a~places": PLACES, "a~values": VALUES}, [8]),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_file_that_cannot_be_is_refused(name: str) -> None:
    arrays, shapes = INVALID[name]
    texts = {"kind": "test", "options": "{}", "sparse": json.dumps(shapes), "version": "3"}
    data = b"".join(container.pack(texts, {name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    with pytest.raises(ValueError, match="is not a model of odca that can be read"):
        model_file.from_bytes(data, "test")


def test_models_that_would_be_too_large_are_stored_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "LARGEST", 1_000_000)
    arrays, shapes = sparse.condensed({"a": np.zeros(100_000), "b": np.zeros(100_000)})
    assert (list(arrays), list(shapes)) == (["a~places", "a~values", "b"], ["a"])
