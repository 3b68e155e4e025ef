"""A record is what `dataclass(frozen=True, slots=True)` would be."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from odca.records import record


@record
class Point:
    x: float
    y: float = 2.0
    seen: list[int] = field(default_factory=list, compare=False)
    note: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x must not be negative")


@dataclass(frozen=True, slots=True)
class Standard:
    x: float
    y: float = 2.0
    seen: list[int] = field(default_factory=list, compare=False)
    note: str = field(default="", repr=False)


@record(kw_only=True)
class Named:
    a: int
    b: int = 1


@record
class Empty:
    pass


@record(eq=False)
class Single:
    value: Any


def test_it_shows_compares_and_hashes_as_the_standard_one() -> None:
    one, other = Point(1.0, note="n"), Standard(1.0, note="n")
    assert repr(one) == repr(other).replace("Standard", "Point")
    assert hash(one) == hash(other)
    assert one == Point(1.0, seen=[3], note="n")
    assert one != Point(1.0)
    assert one != other
    assert [each.name for each in fields(one)] == [each.name for each in fields(other)]
    assert Point.__slots__ == Standard.__slots__
    assert Point.__match_args__ == Standard.__match_args__
    assert repr(Empty()) == "Empty()"
    assert Empty() == Empty()
    assert Single(1) != Single(1)
    assert hash(Single([])) is not None


def test_its_parameters_are_the_fields() -> None:
    def named(cls: type) -> list[tuple[str, Any]]:
        return [(each.name, each.kind) for each in inspect.signature(cls).parameters.values()]

    assert named(Point) == named(Standard)
    assert inspect.signature(Point).parameters["y"].default == 2.0
    assert Point.__init__.__annotations__ == Standard.__init__.__annotations__
    assert Named(a=1) == Named(a=1, b=1)
    with pytest.raises(TypeError, match="positional"):
        Named(1)
    with pytest.raises(TypeError, match=r"Point.__init__\(\) got an unexpected keyword argument 'z'"):
        Point(1.0, z=2)


def test_each_has_its_own_list() -> None:
    assert Point(1.0).seen is not Point(1.0).seen


def test_it_never_changes() -> None:
    point = Point(1.0)
    with pytest.raises(FrozenInstanceError, match=r"Point\.x does not change"):
        point.x = 2.0
    with pytest.raises(FrozenInstanceError):
        del point.x
    with pytest.raises(FrozenInstanceError):
        point.z = 1
    with pytest.raises(ValueError, match="negative"):
        replace(point, x=-1.0)
    assert point == Point(1.0)


def test_copies_are_equal() -> None:
    point = Point(1.0, 5.0, [1, 2], "n")
    for each in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point)), replace(point)):
        assert each == point
        assert each.seen == [1, 2]
        assert each is not point


def test_a_record_is_compiled_when_it_is_constructed_derived_from_or_looked_at() -> None:
    @record
    class Constructed:
        x: int
        y: int = 2

    @record
    class LookedAt:
        x: int
        y: int = 2

    @record
    class Base:
        x: int

    class Derived(Base):
        def __init__(self, x: int) -> None:
            super().__init__(2 * x)

    assert not inspect.isfunction(vars(Constructed)["__init__"])
    assert (Constructed(1).y, Derived(3).x) == (2, 6)
    assert str(inspect.signature(LookedAt)) == "(x: int, y: int = 2) -> None"
    for each in (Constructed, LookedAt, Base):
        assert inspect.isfunction(vars(each)["__init__"])
    with pytest.raises(TypeError, match=r"Constructed.__init__\(\) missing 1 required positional argument: 'x'"):
        Constructed()  # type: ignore[call-arg] # on purpose
