"""Model files: named arrays and a description, in the safetensors format. Reading one executes nothing.

A safetensors file is a length (8 bytes), a header in JSON that names every array with its type, shape and place, and
the arrays' bytes. Any tool that reads safetensors can look at the arrays. Ours adds to the header's `__metadata__`
the format's version, the kind of model, its options as JSON, and a SHA-256 checksum of the whole file (with the
checksum itself taken as zeros), so that no damaged file is taken for a model.

Files are written beside their destination and then renamed: whoever reads sees the old file or the new one.
"""

import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
import numpy.typing as npt

from odca.io.atomic import replacing
from odca.losses import LOSSES, Loss
from odca.penalties import PENALTIES
from odca.windows import WINDOWS

VERSION = 1
LONGEST_HEADER = 16_000_000  # names and everything else that grows are arrays
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
VOCABULARY: dict[str, Any] = {kind.__name__: kind for kind in (*LOSSES, *PENALTIES, *WINDOWS)}
OF_THE_USER = "a loss of the user's own"
NO_CHECKSUM = "0" * 64
Model = TypeVar("Model")


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a file holds: the kind of model, its options, its state, and the models that it is made of."""

    kind: str
    options: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    parts: dict[str, "ModelFile"] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """All but the arrays, as JSON can hold it."""
        options = {name: encode(value) for name, value in self.options.items()}
        parts = {name: part.described() for name, part in self.parts.items()}
        return {"kind": self.kind, "options": options, **({"parts": parts} if parts else {})}

    def all_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays, those of a part under its name and a slash."""
        of_parts = ((name, part.all_arrays()) for name, part in self.parts.items())
        return self.arrays | {f"{name}/{inner}": array for name, arrays in of_parts for inner, array in arrays.items()}

    @classmethod
    def from_description(cls, about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> "ModelFile":
        """The reverse; raises whatever does not fit together."""
        parts = about.get("parts", {})
        own = {name: array for name, array in arrays.items() if "/" not in name}
        inner: dict[str, dict[str, npt.NDArray[Any]]] = {name: {} for name in parts}
        for name in arrays.keys() - own.keys():
            part, _, rest = name.partition("/")
            inner[part][rest] = arrays[name]
        return cls(
            str(about["kind"]),
            {name: decode(value) for name, value in about["options"].items()},
            own,
            {name: cls.from_description(part, inner[name]) for name, part in parts.items()},
        )


# Options


def encode(value: Any) -> Any:
    """An option as JSON can hold it: losses, penalties and windows by name and parameters."""
    if VOCABULARY.get(type(value).__name__) is type(value):
        return {type(value).__name__: {each.name: encode(getattr(value, each.name)) for each in fields(value)}}
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, dict):
        return {"map": [[encode(key), encode(each)] for key, each in value.items()]}
    if value is None or isinstance(value, str | bool | np.bool_ | int | np.integer):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, Loss) or any(hasattr(value, part) for part in ("dual", "gradient")):
        return {OF_THE_USER: type(value).__name__}
    raise TypeError(f"a model file cannot hold {value!r}.")


def decode(value: Any) -> Any:
    """The reverse; sequences become tuples. ValueError for what `encode` cannot have written."""
    if isinstance(value, list):
        return tuple(decode(each) for each in value)
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an option must name one thing; it names {', '.join(sorted(value)) or 'none'}.")
    ((name, parameters),) = value.items()
    if name == "float" and parameters in {"inf", "-inf", "nan"}:
        return float(parameters)
    if name == "map" and isinstance(parameters, list):
        return dict(decode(pair) for pair in parameters)
    if name == OF_THE_USER:
        return UsersLoss(str(parameters))
    if name not in VOCABULARY or not isinstance(parameters, dict):
        raise ValueError(f"there is no loss, penalty or window named {name!r}.")
    given = {each: decode(parameter) for each, parameter in parameters.items()}
    try:
        return VOCABULARY[name](**{each: parameter for each, parameter in given.items() if parameter is not None})
    except TypeError as error:
        raise ValueError(f"{name} does not take {', '.join(given)}.") from error


@dataclass(frozen=True, slots=True)
class UsersLoss:
    """Stands for a loss that a file cannot hold, because it is code."""

    name: str


# Texts


def pack_texts(texts: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Texts as arrays: their UTF-8 one behind the other, and where each begins and ends."""
    encoded = [text.encode() for text in texts]
    ends = itertools.accumulate(map(len, encoded), initial=0)
    return {"text": np.frombuffer(b"".join(encoded), np.uint8), "text_ends": np.array(list(ends), np.int64)}


def unpack_texts(arrays: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """The reverse; ValueError for what `pack_texts` cannot have made."""
    text, ends = arrays["text"], arrays["text_ends"]
    ordered = ends.ndim == text.ndim == 1 and len(ends) > 0 and bool(np.all(ends[:-1] <= ends[1:]))
    if not ordered or text.dtype != np.uint8 or ends[0] != 0 or ends[-1] != len(text):
        raise ValueError("its texts do not add up.")
    data = text.tobytes()
    return [data[begin:end].decode() for begin, end in itertools.pairwise(ends.tolist())]


# Writing


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model to `path`, all of it or nothing."""
    with replacing(Path(path)) as file:
        file.writelines(to_chunks(model))


def to_chunks(model: ModelFile) -> list[bytes]:
    """The bytes of a model's file: its header, and each of its arrays."""
    place, header = 0, dict[str, Any]()
    header["__metadata__"] = {
        "checksum": NO_CHECKSUM,  # first: what follows may hold as many zeros
        "format": "odca",
        "version": str(VERSION),
        **{
            name: text if name == "kind" else json.dumps(text, allow_nan=False)
            for name, text in model.described().items()
        },
    }
    chunks = []
    for name, array in model.all_arrays().items():
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        chunk = np.ascontiguousarray(little).tobytes()
        end = place + len(chunk)
        header[name] = {"dtype": NAMES[little.dtype], "shape": list(array.shape), "data_offsets": [place, end]}
        chunks.append(chunk)
        place = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    head = len(text).to_bytes(8, "little") + text
    digest = _digest(head, *chunks)
    return [head.replace(NO_CHECKSUM.encode(), digest.encode(), 1), *chunks]


def _digest(*parts: bytes) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()


# Reading


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model; ValueError, which names the file and the fault, if it is not one that `write` wrote."""
    return from_bytes(Path(path).read_bytes(), os.fspath(path))


def from_bytes(data: bytes, name: str) -> ModelFile:
    """The reverse of `to_chunks`; ValueError, which names the data and the fault, for bytes that it cannot have made."""

    def refuse(fault: str) -> NoReturn:
        raise ValueError(f"{name} is not a model of odca that can be read: {fault}")

    if len(data) < 8:
        refuse(f"it has {len(data)} bytes. Was it cut short?")
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, LONGEST_HEADER):
        if data[8:9] != b"{":
            refuse("it does not begin as one. It is of another kind, or damaged.")
        refuse(f"its header should have {length} bytes, which it has not. Was it cut short?")
    try:
        header = json.loads(data[8 : 8 + length], object_pairs_hook=without_repeats)
    except (ValueError, RecursionError):
        refuse("its header is not JSON. It is of another kind, or damaged.")
    about = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(about, dict) or about.get("format") != "odca":
        refuse("it is of another kind, or damaged.")
    version = about.get("version")
    if version != str(VERSION):
        refuse(
            f"it has version {version!r} of the format; this odca reads version {VERSION}. A newer odca may read it."
        )
    checksum = about.get("checksum")
    if not isinstance(checksum, str) or len(checksum) != len(NO_CHECKSUM):
        refuse("it has no checksum.")
    head = data[: 8 + length].replace(checksum.encode(), NO_CHECKSUM.encode(), 1)
    if _digest(head, data[8 + length :]) != checksum:
        refuse("its checksum is wrong: it was damaged or changed after it was saved.")
    try:
        arrays = _arrays(header, memoryview(data)[8 + length :])
        texts = {
            name: json.loads(about[name], object_pairs_hook=without_repeats)
            for name in ("options", "parts")
            if name in about
        }
        return ModelFile.from_description({"kind": about["kind"], **texts}, arrays)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        refuse(str(error))


def load(path: str | os.PathLike[str], kinds: Mapping[str, Callable[[ModelFile], Model]]) -> Model:
    """Read a model and let the function that `kinds` has for it rebuild it. ValueError for whatever goes wrong there."""
    return rebuild(read(path), kinds, os.fspath(path))


def rebuild(saved: ModelFile, kinds: Mapping[str, Callable[[ModelFile], Model]], name: str) -> Model:
    """The model, made by the function that `kinds` has for it; ValueError, which names the data, for whatever goes wrong there."""
    try:
        if saved.kind not in kinds:
            raise ValueError(f"it holds a {saved.kind}.")
        return kinds[saved.kind](saved)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{name} cannot be loaded: {error}") from error


class Savable:
    """A model with a file of its own: `saved()` says what the file holds, `restored(saved, loss)` makes it a model again."""

    kind: ClassVar[str]
    """What the file says it is."""

    def saved(self) -> ModelFile:
        """What a file holds of the model."""
        raise NotImplementedError

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the model that a file holds. ValueError (or the like) if it holds none."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file (safetensors, by convention `.safetensors`), all of it or nothing.

        A loss of your own is code, which a file does not hold: give it to `load` again.
        """
        write(path, self.saved())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: object = None) -> Self:
        """Return the model that was saved, to the bit. Loading executes nothing that the file holds.

        `loss` is needed for a model that was saved with a loss of your own. A file that is damaged, of another kind or
        of a newer version is refused with a ValueError.
        """
        return load(path, {cls.kind: lambda saved: cls.restored(saved, loss)})


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dictionary; one that names something twice is refused."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice.")
    return found


def _arrays(header: Mapping[str, Any], data: memoryview) -> dict[str, npt.NDArray[Any]]:
    """Every array that the header names. Their places must fill the data, one behind the other."""
    place, arrays = 0, {}
    for name, entry in header.items():
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if not all(type(number) is int and number >= 0 for number in itertools.chain(shape, (begin, end))):
            raise ValueError(f"array {name!r} has a shape or place that is no number.")
        if begin != place or end > len(data) or end - begin != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"array {name!r} is not where its header says.")
        arrays[name] = np.frombuffer(data[begin:end], dtype).reshape(shape).astype(dtype.newbyteorder("="))
        place = end
    if place != len(data):
        raise ValueError(f"{len(data) - place} bytes belong to no array.")
    return arrays
