"""Options that several commands have: how to learn, and what numbers they take.

`add_learning_options` declares them as text. `learning_options` makes losses, penalties and windows of it, after parsing: only
then is the rest of odca imported.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from odca.penalties import Penalty
    from odca.windows import Window

AUTO: Literal["auto"] = "auto"
OrAuto: TypeAlias = float | Literal["auto"]
Parsed = TypeVar("Parsed")

LOSSES = (
    "log_loss, hinge, squared_hinge, smooth_hinge:G, modified_huber; squared_error, absolute_error, huber:D, quantile:Q, "
    "expectile:Q, epsilon_insensitive:E, squared_epsilon_insensitive:E, poisson"
)
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}  # as shtab names them


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """What `add_learning_options` asked for. Under "auto" a command decides, as the estimators do."""

    loss: Any
    """None if it was not given."""
    penalty: "Penalty"
    rho: OrAuto
    window: "Window"
    smoothing: OrAuto
    prior_strength: OrAuto
    intercept: bool
    scale: bool | None
    """None if it was not given."""


def add_learning_options(parser: argparse.ArgumentParser) -> None:
    """--loss, --penalty, --rho, --window, --smoothing, --prior-strength, --no-intercept, --scale."""
    group = parser.add_argument_group("how to learn")
    group.add_argument("--loss", metavar="LOSS[:X]", help=f"{LOSSES} (default: by the labels)")
    group.add_argument(
        "--penalty",
        metavar="PENALTY",
        default="l2",
        help="l2, elasticnet, elasticnet:0.2, nonnegative, box:-1,1 (default: l2)",
    )
    group.add_argument(
        "--rho",
        type=or_auto(number(least=0.0)),
        metavar="X",
        default=AUTO,
        help="the penalty's strength (default: auto)",
    )
    group.add_argument(
        "--window",
        metavar="WINDOW",
        default="infinite",
        help="infinite; 0.9999: the past fades by this factor per event; 5000: the last 5000 events; 7d, 36h, 20min, 90s: "
        "those of so much event time; half-life:7d: the past fades with event time, by half in so long (default: infinite)",
    )
    group.add_argument(
        "--smoothing",
        type=or_auto(number(least=0.0, most=1.0)),
        metavar="X",
        default=AUTO,
        help="the weight of the past in the averaged model, from 0 to 1 (default: by the window)",
    )
    group.add_argument(
        "--prior-strength",
        type=or_auto(number(least=0.0)),
        metavar="X",
        default=AUTO,
        help="a constant strength beside rho, which restrains the first events (default: auto)",
    )
    group.add_argument("--no-intercept", dest="intercept", action="store_false", help="no constant term")
    group.add_argument(
        "--scale",
        action=argparse.BooleanOptionalAction,
        help="standardise features as they come (default: as the input suggests)",
    )


def learning_options(arguments: argparse.Namespace) -> LearningOptions:
    """The options as odca's objects. ArgumentTypeError, which `main` answers as argparse does, names what is possible."""
    from odca.losses import as_loss  # noqa: PLC0415 - after parsing
    from odca.penalties import as_penalty  # noqa: PLC0415 - after parsing
    from odca.windows import as_window  # noqa: PLC0415 - after parsing

    return LearningOptions(
        loss=None if arguments.loss is None else _read("--loss", as_loss, arguments.loss),
        penalty=_read("--penalty", as_penalty, arguments.penalty),
        rho=arguments.rho,
        window=_read("--window", lambda text: as_window(_number_or_text(text)), arguments.window),
        smoothing=arguments.smoothing,
        prior_strength=arguments.prior_strength,
        intercept=arguments.intercept,
        scale=arguments.scale,
    )


def takes_file(argument: argparse.Action) -> argparse.Action:
    """Let shells complete an argument by the names of files."""
    argument.complete = FILES  # type: ignore[attr-defined] # where shtab looks
    return argument


# What the text of an option may be


def whole_number(least: int) -> Callable[[str], int]:
    """A whole number of at least `least`."""

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = None
        if found is None or found < least:
            raise argparse.ArgumentTypeError(f"a whole number of at least {least} is needed; got {text!r}")
        return found

    return read


def number(*, above: float = -math.inf, least: float = -math.inf, most: float = math.inf) -> Callable[[str], float]:
    """A finite number within limits."""
    limits = [
        f"{word} {limit:g}"
        for word, limit in (("above", above), ("from", least), ("up to", most))
        if math.isfinite(limit)
    ]

    def read(text: str) -> float:
        found = _float(text)
        if not (math.isfinite(found) and above < found and least <= found <= most):
            raise argparse.ArgumentTypeError(" ".join(["a finite number", *limits]) + f" is needed; got {text!r}")
        return found

    return read


def or_auto(read: Callable[[str], float]) -> Callable[[str], OrAuto]:
    """What `read` takes, or "auto"."""

    def read_or_auto(text: str) -> OrAuto:
        return AUTO if text == AUTO else read(text)

    return read_or_auto


def _read(option: str, parse: Callable[[str], Parsed], text: str) -> Parsed:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"argument {option}: {error}") from error


def _number_or_text(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        found = _float(text)
        return text if math.isnan(found) else found


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
