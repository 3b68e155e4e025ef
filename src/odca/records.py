"""Values that do not change once they are made: `dataclass(frozen=True, slots=True)`, made in a quarter of the time.

The standard library writes and compiles six functions for each such class, which takes half a millisecond, and the command needs some
seventy classes before it reads its first event. Here only `__init__` is compiled, when it is first needed; what compares, hashes, shows and
refuses is written once, for the names of any fields. `dataclasses.fields`, `replace` and `asdict`, copies and pickles work as usual.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

_T = TypeVar("_T")
_LATER = object()  # stands for what a factory makes


@overload
def record(cls: type[_T], /) -> type[_T]: ...
@overload
def record(*, kw_only: bool = False, init: bool = True, eq: bool = True) -> Callable[[type[_T]], type[_T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, kw_only: bool = False, init: bool = True, eq: bool = True) -> Any:
    """The class with the methods of a value; the options are those of `dataclass`. What the class defines itself, it keeps."""
    if cls is None:
        return lambda each: record(each, kw_only=kw_only, init=init, eq=eq)  # type: ignore[call-overload]
    own = vars(cls).keys()
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    every = fields(made)
    methods: dict[str, Any] = {"__repr__": _shows([each.name for each in every if each.repr])}
    if init:
        methods["__init__"] = _CompiledWhenNeeded(made)
    if eq:
        values = _values_of([each.name for each in every if each.compare])
        methods |= {"__eq__": _compares(values), "__hash__": lambda self: hash(values(self))}
    methods |= {"__getstate__": _values_of([each.name for each in every]), "__setstate__": _set_state}
    methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


class _CompiledWhenNeeded:
    """Stands for the `__init__` of a class until someone constructs it, derives from it or asks for its signature."""

    __slots__ = ("_cls",)

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        made = _sets(self._cls)
        type.__setattr__(self._cls, "__init__", made)
        return made.__get__(instance, owner)


def _sets(cls: type) -> Callable[..., None]:
    """`__init__`, with a parameter for each field."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_later": _LATER}
    head, named, body = ["self"], list[str](), list[str]()
    for each in fields(cls):
        name, value = each.name, each.name
        if each.default_factory is not MISSING:
            known[f"_{name}"], parameter = each.default_factory, f"{name}=_later"
            value = f"_{name}() if {name} is _later else {name}"
        elif each.default is not MISSING:
            known[f"_{name}"], parameter = each.default, f"{name}=_{name}"
        else:
            parameter = name
        (named if each.kw_only else head).append(parameter)
        body.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*head, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), known)  # noqa: S102 - names of fields alone
    made: Callable[..., None] = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {each.name: each.type for each in fields(cls)} | {"return": None}
    return made


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda self: tuple([getattr(self, name) for name in names])


def _compares(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _shows(names: list[str]) -> Callable[[Any], str]:
    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return shown


def _set_state(self: Any, state: tuple[Any, ...]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__name__}.{name} does not change; dataclasses.replace makes another one")
