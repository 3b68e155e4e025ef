"""What a model is created with: a request, checked, and what it means for the model."""

import math
import re
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from odca.features.spec import KINDS, FeatureOptions, Features, Kind
from odca.losses import as_loss
from odca.models.options import Label, Memory, ModelOptions, Task, most_products
from odca.penalties import as_penalty
from odca.serve.limits import ModelLimits
from odca.serve.problems import Problem, of_event
from odca.stream.read.json_events import JsonReader
from odca.stream.read.schema import Roles, Schema
from odca.windows import as_window

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
LINEAR = ("loss", "penalty", "rho", "window", "smoothing", "prior_strength", "intercept", "scale")
AUTOMATIC = ("memory", "products")
BY_COLUMNS = {"text", "categorical", "numeric", "dates", "booleans"}
"""Options of features that `columns` says."""
OF_FEATURES = tuple(name for name in FeatureOptions.__annotations__ if name not in BY_COLUMNS)
OF_LISTS = ("keep", "ignore", "interactions", "na_values", "history", "chars")
FIRST_EVENTS, MOST_FIRST_EVENTS = 100, 1000
MOST_COLUMNS, MOST_CLASSES, LONGEST_NAME = 10_000, 10_000, 1_000


def require_name(name: str) -> None:
    """Problem if a model cannot be called this."""
    if not NAME.fullmatch(name):
        raise Problem(
            "bad-request",
            "the name of a model has 1 to 64 characters: lower-case letters, digits, '-' and '_'; the first is a letter or a digit.",
        )


class Spec(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """The request that creates a model; see docs/serve-api.md."""

    task: Literal["classes", "numbers"] | None = None
    classes: tuple[str | float, ...] = ()
    columns: dict[str, Literal["number", "category", "text", "date", "boolean"]] = {}
    label: str = "label"
    id: str = "id"
    weight: str | None = None
    offset: str | None = None
    time: str | None = None
    options: dict[str, Any] = {}
    first_events: int | None = None
    limits: ModelLimits = ModelLimits()

    @property
    def needed(self) -> int:
        """How many labelled events the model collects before it begins."""
        if self.first_events is not None:
            return self.first_events
        declared = bool(self.columns) and (self.task == "numbers" or (self.task == "classes" and len(self.classes) > 1))
        return 1 if declared else FIRST_EVENTS

    def roles(self) -> Roles:
        """The keys of events that are no features."""
        return Roles(label=self.label, weight=self.weight, offset=self.offset, time=self.time, tag=self.id)

    def features(self) -> Features:
        """Which features an event has, as far as that was said."""
        given = {name: _as_tuple(value) for name, value in self.options.items() if name in OF_FEATURES}
        by_kind: dict[str, Any] = {
            option: tuple(n for n, kind in self.columns.items() if kind == each) for each, option in KINDS.items()
        }
        return Features(**given, **by_kind)

    def model_options(self) -> ModelOptions:
        """What is learned, and how."""
        given = {name: value for name, value in self.options.items() if name in LINEAR and value is not None}
        labels: tuple[Label, ...] = tuple(each if isinstance(each, str) else float(each) for each in self.classes)
        task: Task | None = self.task
        if not given:
            memory = self.options.get("memory", "events")
            if memory not in get_args(Memory):
                raise ValueError(f"memory must be 'events' or 'time'; got {memory!r}.")
            products = self.options.get("products", "auto")
            most_products(products)
            return ModelOptions(auto=memory, products=products, task=task, classes=labels)
        also = [name for name in AUTOMATIC if name in self.options]
        if also:
            raise ValueError(
                f"{also[0]} is for the automatic mode, which chooses everything itself, but {', '.join(given)} was given. Leave out one "
                "of the two."
            )
        named: dict[str, Callable[[Any], Any]] = {"loss": as_loss, "penalty": as_penalty, "window": as_window}
        chosen: dict[str, Any] = {
            name: named[name](value) if name in named else _checked(name, value) for name, value in given.items()
        }
        return ModelOptions(task=task, classes=labels, **chosen)

    def collecting_reader(self) -> JsonReader:
        """Reads events while it is not known yet what their fields hold."""
        return JsonReader(Schema(format="jsonl", features=self.features(), roles=self.roles()))

    def require_valid(self) -> None:
        """Problem if no model can be made of it."""
        try:
            _require_sizes(self)
            unknown = sorted(set(self.options) - {*LINEAR, *AUTOMATIC, *OF_FEATURES})
            if unknown:
                raise ValueError(
                    f"there is no option {unknown[0]!r}. There are {', '.join((*AUTOMATIC, *LINEAR, *OF_FEATURES))}."
                )
            if self.first_events is not None and not 1 <= self.first_events <= MOST_FIRST_EVENTS:
                raise ValueError(f"first_events must be from 1 to {MOST_FIRST_EVENTS}; got {self.first_events}.")
            if self.task == "numbers" and self.classes:
                raise ValueError("a model of numbers has no classes. Leave one of the two out.")
            if len(set(self.classes)) < len(self.classes) or len(self.classes) == 1:
                raise ValueError("classes must be two or more, each named once.")
            if any(isinstance(each, float) and not math.isfinite(each) for each in self.classes):
                raise ValueError("classes must be texts or finite numbers.")
            taken = sorted(set(self.columns) & set(self.roles().by_name()))
            if taken:
                raise ValueError(f"{taken[0]!r} is a column of features, and the {self.roles().by_name()[taken[0]]}.")
            unlisted = [name for name in OF_LISTS if not isinstance(self.options.get(name), list | None)]
            if unlisted:
                raise ValueError(f"{unlisted[0]} must be a list; got {self.options[unlisted[0]]!r}.")
            self.model_options()
            self.collecting_reader()
        except (ValueError, TypeError, OverflowError) as error:
            if not isinstance(error, ValueError):
                raise Problem("invalid-model", f"an option has a value of the wrong type: {error}.") from error
            raise of_event(error, kind="invalid-model") from error


def _require_sizes(spec: Spec) -> None:
    names = [
        *spec.columns,
        spec.label,
        spec.id,
        *(each for each in (spec.weight, spec.offset, spec.time) if each is not None),
    ]
    if any(not 1 <= len(name) <= LONGEST_NAME for name in names):
        raise ValueError(f"names of columns and of the label, the id and so on have 1 to {LONGEST_NAME} characters.")
    if len(spec.columns) > MOST_COLUMNS or len(spec.classes) > MOST_CLASSES:
        raise ValueError(f"there may be at most {MOST_COLUMNS:,} columns and {MOST_CLASSES:,} classes.")
    limits = spec.limits
    bounds = {"max_pending": (0, 10_000_000), "max_answers": (0, 10_000_000), "max_answers_bytes": (0, 4 << 30)}
    bounds |= {"max_pending_age": (0, 10 * 366 * 86_400), "max_answers_age": (0, 366 * 86_400)}
    for name, (least, most) in bounds.items():
        if not least <= getattr(limits, name) <= most:
            raise ValueError(f"{name} must be from {least:,} to {most:,}; got {getattr(limits, name)}.")


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _checked(name: str, value: Any) -> Any:
    if name == "intercept" and not isinstance(value, bool):
        raise ValueError(f"intercept must be true or false; got {value!r}.")
    if name == "scale" and value != "auto" and not isinstance(value, bool):
        raise ValueError(f"scale must be true, false or 'auto'; got {value!r}.")
    if (
        name in {"rho", "smoothing", "prior_strength"}
        and value != "auto"
        and (isinstance(value, bool) or not isinstance(value, int | float))
    ):
        raise ValueError(f"{name} must be a number or 'auto'; got {value!r}.")
    return value


def columns_of(schema: Schema) -> dict[str, Kind]:
    """The kinds of fields that are known, by name."""
    return {**{column.name: column.kind for column in schema.columns}, **schema.features.kinds()}
