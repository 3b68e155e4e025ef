"""Model files: named arrays and a description, in the safetensors format. Reading one executes nothing.

Any tool that reads safetensors can look at the arrays. The description (the kind of model, its options, its parts) is JSON
in the header's `__metadata__`. A long one, with the names of many classes or columns, is an array, `description`:
headers have a limit.

Files are written beside their destination and then renamed: whoever reads sees the old file or the new one.
"""

import io
import itertools
import json
import math
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from odca.io import container
from odca.io.atomic import replacing
from odca.losses import LOSSES, Loss
from odca.penalties import PENALTIES
from odca.windows import WINDOWS

LONGEST_IN_HEADER = 100_000
LONGEST_DESCRIPTION = 1_000_000_000
DESCRIPTION = "description"
VOCABULARY: dict[str, Any] = {kind.__name__: kind for kind in (*LOSSES, *PENALTIES, *WINDOWS)}
OF_THE_USER = "a loss of the user's own"
FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""What a file may raise that nobody wrote like this."""
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
    """The reverse; sequences become tuples. ValueError for what `encode` cannot have written."""
    if isinstance(value, list):
        return tuple(value if _is_plain(value) else map(decode, value))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("an option is too large for a number.")
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


def _is_plain(values: Sequence[Any]) -> bool:
    """Whether each of these is its own code: what may be a million names or numbers is not looked at one by one."""
    types = set(map(type, values))
    return types <= {str, int, bool} or (types == {float} and all(map(math.isfinite, values)))


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
    """Write a model to `path`, all of it or nothing. ValueError if it could not be read again."""
    chunks = to_chunks(model)
    with replacing(Path(path)) as file:
        file.writelines(chunks)


def to_chunks(model: ModelFile) -> list[container.Bytes]:
    """The bytes of a model's file, in parts. ValueError if they could not be read again."""
    described, arrays = model.described(), model.all_arrays()
    texts = {name: text if name == "kind" else json.dumps(text, allow_nan=False) for name, text in described.items()}
    try:
        if sum(map(len, texts.values())) > LONGEST_IN_HEADER:
            kind = texts.pop("kind")
            text = "{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}"
            arrays, texts = {DESCRIPTION: np.frombuffer(text.encode(), np.uint8), **arrays}, {"kind": kind}
            _require_readable(arrays[DESCRIPTION])
        return container.pack(texts, arrays)
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error} {_largest_of(model)}") from error


def _require_readable(description: npt.NDArray[Any]) -> None:
    if description.nbytes > LONGEST_DESCRIPTION:
        raise ValueError(f"its description has {description.nbytes} bytes, and may have {LONGEST_DESCRIPTION}.")


def _largest_of(model: ModelFile) -> str:
    """What takes the most room beside the arrays' contents, in words."""
    sizes = {name: len(json.dumps(encode(value))) for name, value in model.options.items()}
    for name, part in model.parts.items():
        sizes[name] = len(json.dumps(part.described())) + sum(100 + len(each) for each in part.all_arrays())
    name = max(sizes, key=sizes.__getitem__, default="")
    return f"The most room, about {sizes.get(name, 0)} bytes, takes {name!r}."


# Reading


def read(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model; ValueError, which names the file and the fault, if it is not one that `write` wrote.

    Of a file that is no model only the beginning is read. A pipe or a device is refused unread.
    """
    descriptor = os.open(
        path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    )  # opening a pipe must not wait for its writer
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(os.fspath(path), ValueError("it is not a file, but a pipe or a device."))
        return _read(file, found.st_size, os.fspath(path))


def from_bytes(data: bytes, name: str) -> ModelFile:
    """The reverse of `to_chunks`; ValueError, which names the data and the fault, for bytes that it cannot have made."""
    return _read(io.BytesIO(data), len(data), name)


def _read(file: BinaryIO, size: int, name: str) -> ModelFile:
    try:
        texts, arrays = container.unpack(file, size)
        about: dict[str, Any] = {
            part: container.from_json(texts[part]) for part in ("options", "parts") if part in texts
        }
        if not about:
            _require_readable(arrays[DESCRIPTION])
            about = container.from_json(arrays.pop(DESCRIPTION).tobytes())
        return ModelFile.from_description({**about, "kind": texts["kind"]}, arrays)
    except FAULTS as error:
        raise _refusal(name, error) from error


def _refusal(name: str, error: Exception) -> ValueError:
    return ValueError(f"{name} is not a model of odca that can be read: {_in_words(error)}")


def _in_words(error: Exception) -> str:
    return f"it has no {error}." if isinstance(error, KeyError) else str(error)


def load(path: str | os.PathLike[str], kinds: Mapping[str, Callable[[ModelFile], Model]]) -> Model:
    """Read a model and let the function that `kinds` has for it rebuild it. ValueError for whatever goes wrong there."""
    return rebuild(read(path), kinds, os.fspath(path))


def rebuild(saved: ModelFile, kinds: Mapping[str, Callable[[ModelFile], Model]], name: str) -> Model:
    """The model, made by the function that `kinds` has for it; ValueError, which names the data, for whatever goes wrong there."""
    try:
        if saved.kind not in kinds:
            raise ValueError(f"it holds a {saved.kind}.")
        return kinds[saved.kind](saved)
    except FAULTS as error:
        raise ValueError(f"{name} cannot be loaded: {_in_words(error)}") from error


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
