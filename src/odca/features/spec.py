"""Which features an event has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

from odca import _core
from odca.features.date_spans import DateSpans
from odca.features.history import lines_of
from odca.records import record
from odca.validation.numbers import whole

Missing: TypeAlias = Literal["ignore", "indicate", "error"]
Kind: TypeAlias = Literal["number", "category", "text", "date", "boolean", "any"]
Space: TypeAlias = Literal["indices", "names", "hashed"]

MOST_BITS = 30
MOST_WORDS, MOST_CHARACTERS = 8, 32
"""The most words, and the most characters, that are one feature."""
LISTS = ("keep", "ignore", "text", "categorical", "numeric", "dates", "booleans")
KINDS: Mapping[Kind, str] = {
    "text": "text",
    "category": "categorical",
    "number": "numeric",
    "date": "dates",
    "boolean": "booleans",
}
"""The kinds of fields, and the option that lists the fields of each kind."""


class FeatureOptions(TypedDict, total=False):
    """The fields of `Features` as keyword arguments; see there."""

    bits: int | None
    keep: Sequence[str]
    ignore: Sequence[str]
    interactions: Sequence[Sequence[str]]
    text: Sequence[str]
    ngrams: int
    chars: tuple[int, int] | None
    sublinear: bool
    tf_idf: bool
    unit_norm: bool
    text_length: int | None
    categorical: Sequence[str]
    numeric: Sequence[str]
    dates: Sequence[str]
    booleans: Sequence[str]
    missing: Missing
    na_values: Sequence[str] | None
    day_first: bool | None
    trend: bool
    find_dates: bool
    history: Sequence[str]
    history_keys: int


@record(kw_only=True)
class Features:
    """Which features an event has. A field is a column of a table, a key of a JSON object, or a namespace of VW's text format.

    bits: hash feature names to this many bits; None stores all names, so that memory grows with every new name.
    keep, ignore: use only these fields; do not use these fields.
    interactions: fields whose features are multiplied: each feature of the first field with each one of the second, and so on. A
        field may be multiplied with itself. ("*", "*") are all pairs of different fields, and ("user", "*") those of one field.
    text: fields whose strings are split into lower-case words (docs/text.md).
    ngrams: the largest number of consecutive words of a text that are one feature; 0 for no words, where there are chars.
    chars: the fewest and the most consecutive characters of a text that are one feature, (3, 5); within a word and the blanks around it.
    sublinear: whether a feature of a text is 1 + log(count), instead of how often it is there.
    tf_idf: whether it is multiplied by log((1 + n) / (1 + df)) + 1, if df of the n events that were learned before have it. A model
        does this: the blocks of a stream are without their texts.
    unit_norm: whether the features of a text are divided by their Euclidean norm.
    text_length: how many characters of a text are read; None for all.
    categorical: fields whose numbers are codes of categories. numeric: fields whose values must be numbers.
    dates: fields that hold dates, as text, as numbers (20240731, or seconds or milliseconds since 1970) or as objects: their month,
        weekday and hour are categories, and their trend is a number.
    booleans: fields that hold true or false, also as text; they are the numbers 1 and 0.
    missing: what a missing value means: nothing ("ignore"), a feature of its own ("indicate"), or an "error".
    na_values: texts and numbers that mean that a value is missing, in addition to an empty text; None for the usual words: NA, NaN,
        nan, null, NULL, None, N/A, n/a, #N/A, <NA>, NaT, ? and similar ones.
    day_first: whether 7/8/2024 is the 7th of August; None if this is not known, and then it is the 8th of July.
    trend: whether dates have a trend, a line that bends at every New Year: 80 % of a date in March 2024 are the feature at.trend.2024,
        and 20 % at.trend.2025.
    find_dates: whether text in ISO 8601 is a date in fields whose kind no option says.
    history: the past as features, in lines such as "y by station: lag 1,24; mean 24h" (docs/history.md): of the label, y (in files, its column), or of a field
        that holds numbers; the lag, mean, std, min, max and change over so many events or so much time, and since, the time since.
    history_keys: the most keys (stations) whose history a line remembers; then the one that was not learned for longest is forgotten.
    """

    bits: int | None = None
    keep: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    interactions: tuple[tuple[str, ...], ...] = ()
    text: tuple[str, ...] = ()
    ngrams: int = 1
    chars: tuple[int, int] | None = None
    sublinear: bool = False
    tf_idf: bool = False
    unit_norm: bool = False
    text_length: int | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    booleans: tuple[str, ...] = ()
    missing: Missing = "indicate"
    na_values: tuple[str, ...] | None = None
    day_first: bool | None = None
    trend: bool = True
    find_dates: bool = True
    history: tuple[str, ...] = ()
    history_keys: int = 100_000

    def __post_init__(self) -> None:
        for name in LISTS:
            object.__setattr__(self, name, _strings(name, getattr(self, name)))
        object.__setattr__(self, "interactions", tuple(_strings("interactions", each) for each in self.interactions))
        if self.bits is not None and not (type(self.bits) is int and 1 <= self.bits <= MOST_BITS):
            raise ValueError(
                f"bits must be a whole number from 1 to {MOST_BITS}, or None for names; got {self.bits!r}."
            )
        object.__setattr__(self, "chars", _chars(self.chars))
        if not (type(self.ngrams) is int and (self.chars is None) <= self.ngrams <= MOST_WORDS):
            raise ValueError(
                f"ngrams must be a whole number from 1 to {MOST_WORDS}, or 0 for chars without words; got {self.ngrams!r}."
            )
        if self.text_length is not None:
            whole(self.text_length, "text_length", least=1, most=2**53)
        if self.missing not in {"ignore", "indicate", "error"}:
            raise ValueError(f"missing must be 'ignore', 'indicate' or 'error'; got {self.missing!r}.")
        for each in self.interactions:
            _require_interaction(each)
        if self.na_values is not None:
            object.__setattr__(self, "na_values", _strings("na_values", self.na_values))
        for name in ("day_first", "trend", "find_dates", "sublinear", "tf_idf", "unit_norm"):
            if type(getattr(self, name)) is not bool and (name, self.day_first) != ("day_first", None):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        object.__setattr__(self, "history", _strings("history", self.history))
        lines_of(self.history)
        whole(self.history_keys, "history_keys", least=1, most=2**31 - 1)
        both = sorted({*self.keep} & {*self.ignore})
        if both:
            raise ValueError(f"{both[0]!r} is in both keep and ignore. Remove it from one of them.")
        times = Counter(name for option in KINDS.values() for name in getattr(self, option))
        twice = sorted(name for name, count in times.items() if count > 1)
        if twice:
            raise ValueError(f"{twice[0]!r} has two kinds; a field can be in only one of {', '.join(KINDS.values())}.")

    def native(
        self,
        *,
        indices: bool = False,
        nested: bool = True,
        guessed: Sequence[str] = (),
        date_spans: DateSpans = DateSpans(),  # noqa: B008 - frozen
        predicts: bool = False,
    ) -> _core.TextFeatures:
        """The options in the form of the core.

        indices: whether the names of features are numbers, which are used as their indices.
        nested: whether an option for "user" also applies to "user.age", as in JSON and dictionaries.
        guessed: fields whose kind was detected from a sample; a value of another kind counts as missing.
        date_spans: the days that the trends of dates are known for. predicts: whether events are predicted, and trends held within these.
        """
        space: Space = "hashed" if self.bits is not None else "indices" if indices else "names"
        return _core.TextFeatures(
            space=space,
            bits=self.bits or 0,
            keep=list(self.keep),
            ignore=list(self.ignore),
            interactions=[list(each) for each in self.interactions],
            text=list(self.text),
            categorical=list(self.categorical),
            numeric=list(self.numeric),
            dates=list(self.dates),
            booleans=list(self.booleans),
            ngrams=self.ngrams,
            missing=self.missing,
            nested=nested,
            guessed=list(guessed),
            day_first=bool(self.day_first),
            trend=self.trend,
            find_dates=self.find_dates,
            na_values=None if self.na_values is None else list(self.na_values),
            history=[line.native() for line in lines_of(self.history)],
            history_keys=self.history_keys,
            chars=self.chars,
            sublinear=self.sublinear,
            tf_idf=self.tf_idf,
            unit_norm=self.unit_norm,
            text_length=self.text_length,
            date_spans=date_spans.native(),
            predicts=predicts,
        )

    @property
    def need_the_past(self) -> bool:
        """Whether the features of an event depend on the events before it."""
        return bool(self.history) or self.tf_idf

    @property
    def remembered(self) -> set[str]:
        """The fields that history needs, beside the label."""
        lines = lines_of(self.history)
        return {line.source for line in lines} | {key for line in lines for key in line.keys}

    def of_kinds(self, kinds: Mapping[str, str]) -> "Features":
        """The options with the kinds of further fields, such as the columns of a table."""
        named = self.kinds()
        more: dict[str, Any] = {
            option: (
                *getattr(self, option),
                *(name for name, each in kinds.items() if each == kind and name not in named),
            )
            for kind, option in KINDS.items()
        }
        return replace(self, **more)

    def kinds(self) -> dict[str, Kind]:
        """The kinds of fields, by name."""
        return {name: kind for kind, option in KINDS.items() for name in getattr(self, option)}

    def as_options(self) -> dict[str, Any]:
        """For a model file."""
        return asdict(self)

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> "Features":
        """The options from a model file. ValueError if they are invalid."""
        known = {"dates": [], "booleans": [], **OLDER, **options}  # files of the first version have none of these
        if set(known) != {each.name for each in fields(cls)}:
            raise ValueError("its description of features is incomplete.")
        known["interactions"] = tuple(tuple(each) for each in options["interactions"])
        return cls(**known)


OLDER: Mapping[str, Any] = {
    "na_values": None,
    "day_first": None,
    "trend": False,
    "find_dates": False,
    "history": (),
    "history_keys": 100_000,
    "chars": None,
    "sublinear": False,
    "tf_idf": False,
    "unit_norm": False,
    "text_length": None,
}
"""What files mean that do not say it."""


def _require_interaction(fields: Sequence[str]) -> None:
    if "*" in fields and len(fields) != 2:
        raise ValueError(
            f"'*' stands for every field in an interaction of two fields, such as user '*', or '*' '*' for all pairs; got {' '.join(map(repr, fields))}."
        )
    if len(fields) < 2:
        raise ValueError(f"an interaction needs at least two fields; got {fields!r}. Name one twice to square it.")


def _chars(chars: Any) -> tuple[int, int] | None:
    if chars is None:
        return None
    sizes = tuple(chars) if isinstance(chars, tuple | list) else ()
    if (
        len(sizes) != 2
        or any(type(size) is not int for size in sizes)
        or not 1 <= sizes[0] <= sizes[1] <= MOST_CHARACTERS
    ):
        raise ValueError(
            f"chars must be two whole numbers from 1 to {MOST_CHARACTERS}, the smaller one first, such as (3, 5); got {chars!r}."
        )
    return sizes


def _strings(what: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        strings = "lines such as 'y: lag 1'" if what == "history" else "names of fields"
        raise ValueError(f"{what} must be {strings}, as strings in a list; got {names!r}.")
    for name in names:
        require_unicode(name)
    return tuple(names)


def require_unicode(name: str) -> None:
    """ValueError for a name that is not valid Unicode, which arguments of a command may be but names in data cannot."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the name {name!r} is not UTF-8.") from error


PRODUCT, MISSING, CATEGORY = b"\xfd", b"\xfe", b"\xff"


def feature_name(key: bytes) -> str:
    r"""The readable name of a feature, from its key in the core: "price", "country=NZ", "price is missing", "a * b".

    >>> feature_name(b"country\xffNZ\xfdprice")
    'country=NZ * price'
    """
    return " * ".join(_factor_name(part) for part in key.split(PRODUCT))


def _factor_name(key: bytes) -> str:
    if key.endswith(MISSING):
        return f"{key[:-1].decode(errors='replace')} is missing"
    return key.replace(CATEGORY, b"=", 1).decode(errors="replace")


def feature_names(keys: Sequence[bytes]) -> list[str]:
    r"""The readable names of features, all different: if a category and a number have the same name, the category gets another "=".

    >>> feature_names([b"a\xffb", b"a=b", b"c\xfe"])
    ['a==b', 'a=b', 'c is missing']
    """
    marked = [_is_marked(key) for key in keys]
    if not any(marked):
        return [key.decode() for key in keys]
    taken = {key.decode() for key, is_marked in zip(keys, marked, strict=True) if not is_marked}
    out = []
    for key, is_marked in zip(keys, marked, strict=True):
        name, sign = feature_name(key), "="
        if is_marked:
            while name in taken:
                sign += "="
                name = feature_name(key.replace(CATEGORY, sign.encode(), 1)) if CATEGORY in key else f"{name}="
            taken.add(name)
        out.append(name)
    return out


def _is_marked(key: bytes) -> bool:
    return not key.isascii() and any(mark in key for mark in (PRODUCT, MISSING, CATEGORY))  # no mark is ASCII


class FeatureParts(NamedTuple):
    """The parts of a feature: its field, and whether it is a number, a category or a missing value."""

    field: str
    kind: Literal["number", "category", "missing"]
    category: str = ""


def feature_parts(key: bytes) -> FeatureParts:
    r"""The parts of a feature, from its key. A product is a number of its own field.

    >>> feature_parts(b"country\xffNZ")
    FeatureParts(field='country', kind='category', category='NZ')
    """
    if PRODUCT in key:
        return FeatureParts(feature_name(key), "number")
    if key.endswith(MISSING):
        return FeatureParts(key[:-1].decode(), "missing")
    field, mark, category = key.partition(CATEGORY)
    return FeatureParts(field.decode(), "category" if mark else "number", category.decode())
