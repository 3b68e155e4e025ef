"""Model files: named arrays and a description, in the safetensors format. Reading one executes nothing.

Any tool that reads safetensors can show the arrays. The description (the kind of model, its options, its parts) is JSON
in the header's `__metadata__`. A long one, with the names of many classes or columns, is stored as an array, `description`,
because the size of headers is limited.

Files are written atomically: a reader sees the old file or the new one.
"""

import io
import itertools
import json
import math
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from odca.io import container, sparse
from odca.io.atomic import replacing
from odca.losses import LOSSES, Loss
from odca.penalties import PENALTIES
from odca.records import record
from odca.windows import WINDOWS, Automatic

LONGEST_IN_HEADER = 100_000
LONGEST_DESCRIPTION = 1_000_000_000
DESCRIPTION = "description"
SPARSE_VERSION = "3"
"""The version of files in which an array is stored by what is not zero; earlier versions of odca refuse it."""
VOCABULARY: dict[str, Any] = {kind.__name__: kind for kind in (*LOSSES, *PENALTIES, *WINDOWS, Automatic)}
OF_THE_USER = "a loss of the user's own"
FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""The errors that a damaged or malicious file may cause."""
Model = TypeVar("Model")


@record
class ModelFile:
    """The contents of a model file: the kind of model, its options, its state, and its parts, which are models too."""

    kind: str
    options: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    parts: dict[str, "ModelFile"] = field(default_factory=dict)

    def described(self) -> dict[str, Any]:
        """Everything except the arrays, in a form for JSON."""
        options = {name: encode(value) for name, value in self.options.items()}
        parts = {name: part.described() for name, part in self.parts.items()}
        return {"kind": self.kind, "options": options, **({"parts": parts} if parts else {})}

    def all_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All arrays; those of a part are prefixed with its name and a slash."""
        of_parts = ((name, part.all_arrays()) for name, part in self.parts.items())
        return self.arrays | {f"{name}/{inner}": array for name, arrays in of_parts for inner, array in arrays.items()}

    @classmethod
    def from_description(cls, about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> "ModelFile":
        """The contents from a description and arrays; raises various errors if they are inconsistent."""
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
    """An option in a form for JSON: losses, penalties and windows by name and parameters."""
    if VOCABULARY.get(type(value).__name__) is type(value):
        return {type(value).__name__: {each.name: encode(getattr(value, each.name)) for each in fields(value)}}
    if isinstance(value, tuple | list):
        return list(value) if _is_plain(value) else [encode(each) for each in value]
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
    """The option from what `encode` returned; sequences become tuples. ValueError if it is invalid."""
    if isinstance(value, list):
        return tuple(value if _is_plain(value) else map(decode, value))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("an option is a number that is too large.")
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an option must have one name; it has {', '.join(sorted(value)) or 'none'}.")
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


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether all values are plain, so that a million names or numbers need not be encoded one by one."""
    types = set(map(type, values))
    return types <= {str, int, bool} or (types == {float} and all(map(math.isfinite, values)))


@record
class UsersLoss:
    """A placeholder for a user's own loss, which a file cannot hold because it is code."""

    name: str


# Texts


def pack_texts(texts: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Texts as arrays: their concatenated UTF-8, and where each begins and ends."""
    encoded = [text.encode() for text in texts]
    ends = itertools.accumulate(map(len, encoded), initial=0)
    return {"text": np.frombuffer(b"".join(encoded), np.uint8), "text_ends": np.array(list(ends), np.int64)}


def unpack_texts(arrays: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """The texts from what `pack_texts` returned. ValueError if it is invalid."""
    text, ends = container.vector(arrays, "text", np.uint8), container.vector(arrays, "text_ends", np.int64)
    ordered = len(ends) > 0 and bool(np.all(ends[:-1] <= ends[1:]))
    if not ordered or ends[0] != 0 or ends[-1] != len(text):
        raise ValueError("its texts are invalid.")
    data = text.tobytes()
    return [data[begin:end].decode() for begin, end in itertools.pairwise(ends.tolist())]


# Writing


def write(path: str | os.PathLike[str], model: ModelFile) -> None:
    """Write a model to `path` atomically. ValueError if it could not be read again."""
    chunks = to_chunks(model)
    with replacing(Path(path)) as file:
        file.writelines(chunks)


def to_chunks(model: ModelFile) -> list[container.Bytes]:
    """The bytes of a model file, in parts. ValueError if they could not be read again."""
    described, arrays = model.described(), model.all_arrays()
    texts = {name: text if name == "kind" else json.dumps(text, allow_nan=False) for name, text in described.items()}
    try:
        if sum(map(len, texts.values())) > LONGEST_IN_HEADER:
            kind = texts.pop("kind")
            text = "{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}"
            arrays, texts = {DESCRIPTION: np.frombuffer(text.encode(), np.uint8), **arrays}, {"kind": kind}
            _require_readable(arrays[DESCRIPTION])
        arrays, shapes = sparse.condensed(arrays)
        if shapes:
            texts |= {"sparse": json.dumps(shapes), "version": SPARSE_VERSION}
        return container.pack(texts, arrays)
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error} {_largest_of(model)}") from error


def _require_readable(description: npt.NDArray[Any]) -> None:
    if description.nbytes > LONGEST_DESCRIPTION:
        raise ValueError(f"its description has {description.nbytes} bytes; at most {LONGEST_DESCRIPTION} are allowed.")


def _largest_of(model: ModelFile) -> str:
    """A sentence about the largest part of the description."""
    sizes = {name: len(json.dumps(encode(value))) for name, value in model.options.items()}
    for name, part in model.parts.items():
        sizes[name] = len(json.dumps(part.described())) + sum(100 + len(each) for each in part.all_arrays())
    name = max(sizes, key=sizes.__getitem__, default="")
    return f"Its largest part is {name!r}, with about {sizes.get(name, 0)} bytes."


# Reading


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file. ValueError, which names the file and the fault, if it is invalid.

    If it is not a model, only its beginning is read. Pipes and devices are refused without reading.
    """
    descriptor = os.open(
        path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    )  # opening a pipe must not wait for its writer
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(os.fspath(path), ValueError("it is not a file, but a pipe or a device."))
        return _read(file, found.st_size, os.fspath(path))


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """The kind of model that a file says it holds; None if it holds none, or does not exist. Only its header is read."""
    found = Path(path)
    try:
        if not found.is_file():
            return None
        with found.open("rb") as file:
            kind = container.read_header(file, found.stat().st_size)[1].texts.get("kind")
    except (OSError, *FAULTS):
        return None
    return kind if isinstance(kind, str) else None


def from_bytes(data: bytes, name: str) -> ModelFile:
    """Read a model from the bytes of a model file. ValueError, which contains `name` and the fault, if they are invalid."""
    return _read(io.BytesIO(data), len(data), name)


def _read(file: BinaryIO, size: int, name: str) -> ModelFile:
    try:
        texts, arrays = container.unpack(file, size)
        if "sparse" in texts:
            arrays = sparse.expanded(arrays, container.from_json(texts["sparse"]))
        about: dict[str, Any] = {
            part: container.from_json(texts[part]) for part in ("options", "parts") if part in texts
        }
        if not about:
            _require_readable(arrays[DESCRIPTION])
            about = container.from_json(container.vector(arrays, DESCRIPTION, np.uint8).tobytes())
            del arrays[DESCRIPTION]
        return ModelFile.from_description({**about, "kind": texts["kind"]}, arrays)
    except FAULTS as error:
        raise _refusal(name, error) from error


def _refusal(name: str, error: Exception) -> ValueError:
    return ValueError(f"{name} is not a model of odca that can be read: {_in_words(error)}")


def _in_words(error: Exception) -> str:
    """What was found. Where our code stumbled over a value, Python's own words would help nobody."""
    if isinstance(error, KeyError):
        return f"it has no {error}."
    if unknown := re.search(r"unexpected keyword argument ('\w+')", str(error)):
        return f"it has an option {unknown[1]}, which this version of odca does not know."
    return str(error) if isinstance(error, ValueError) else "what it says of itself is not in the form of a model."


def load(path: str | os.PathLike[str], kinds: Mapping[str, Callable[[ModelFile], Model]]) -> Model:
    """Read a model file and rebuild the model with the function of its kind. ValueError if that fails."""
    return rebuild(read(path), kinds, os.fspath(path))


def rebuild(saved: ModelFile, kinds: Mapping[str, Callable[[ModelFile], Model]], name: str) -> Model:
    """Rebuild a model with the function of its kind. ValueError, which contains `name`, if that fails."""
    try:
        if saved.kind not in kinds:
            raise ValueError(f"it holds a {saved.kind}.")
        return kinds[saved.kind](saved)
    except FAULTS as error:
        raise ValueError(f"{name} cannot be loaded: {_in_words(error)}") from error


class Savable:
    """A model that can be saved: `saved()` returns the contents of its file, `restored(saved, loss)` the model from them."""

    kind: ClassVar[str]
    """The kind of model, as it is stored in the file."""

    def saved(self) -> ModelFile:
        """The contents of the model's file."""
        raise NotImplementedError

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the model of a model file. ValueError (or a similar error) if it is invalid."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file atomically, in the safetensors format (the usual extension is `.safetensors`).

        A loss of your own is code, which a file does not hold: pass it to `load` again.
        """
        write(path, self.saved())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, loss: object = None) -> Self:
        """Return the model that was saved, to the bit. Loading executes nothing that the file holds.

        `loss` is needed for a model that was saved with a loss of your own. A file that is damaged, of another kind or
        of a newer version is refused with a ValueError.
        """
        return load(path, {cls.kind: lambda saved: cls.restored(saved, loss)})
