"""The options that say how to learn: loss, penalty, window and so on. Several commands share them.

`add_learning_options` declares them as text. `learning_options` turns the text into losses, penalties and windows after
parsing: only then is the rest of odca imported.
"""

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from odca.cli.option_types import AUTO, OrAuto, as_float, number, or_auto
from odca.records import record

if TYPE_CHECKING:
    from odca.penalties import Penalty
    from odca.windows import Window

Parsed = TypeVar("Parsed")

LOSSES = (
    "log_loss, hinge, squared_hinge, smooth_hinge:G, modified_huber; squared_error, absolute_error, huber:D, quantile:Q, "
    "expectile:Q, epsilon_insensitive:E, squared_epsilon_insensitive:E, poisson"
)


@record
class LearningOptions:
    """The values of the options that `add_learning_options` declares. "auto" leaves a value to the command, as in the estimators."""

    loss: Any
    """None unless given."""
    penalty: "Penalty"
    rho: OrAuto
    window: "Window"
    smoothing: OrAuto
    prior_strength: OrAuto
    intercept: bool
    scale: bool | Literal["auto"]


class _Given(argparse.Action):
    """Stores a value, and remembers that it was given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        del parser
        setattr(namespace, self.dest, values)
        namespace.given = [*getattr(namespace, "given", []), option_string]


def given_options(arguments: argparse.Namespace) -> list[str]:
    """The options of `add_learning_options` that the user has given."""
    flags = list(dict.fromkeys(getattr(arguments, "given", [])))
    if not arguments.intercept:
        flags.append("--no-intercept")
    if arguments.scale is not None:
        flags.append("--scale" if arguments.scale else "--no-scale")
    return flags


def add_learning_options(parser: argparse.ArgumentParser) -> None:
    """--loss, --penalty, --rho, --window, --smoothing, --prior-strength, --no-intercept, --scale."""
    group = parser.add_argument_group("how to learn")
    group.add_argument("--loss", action=_Given, metavar="LOSS[:X]", help=f"{LOSSES} (default: chosen from the labels)")
    group.add_argument(
        "--penalty",
        action=_Given,
        metavar="PENALTY",
        default="l2",
        help="l2, elasticnet, elasticnet:0.2, nonnegative, box:-1,1 (default: l2)",
    )
    group.add_argument(
        "--rho",
        action=_Given,
        type=or_auto(number(least=0.0)),
        metavar="X",
        default=AUTO,
        help="the strength of the penalty (default: auto: several are tried side by side, and the one that predicted best lately is used)",
    )
    group.add_argument(
        "--window",
        action=_Given,
        metavar="WINDOW",
        default="auto",
        help="auto: several windows are tried side by side, and the one that predicted best lately is used; infinite: all events "
        "count alike; 0.9999: the weight of past events shrinks by this factor at each new event; 5000: only the last 5000 events count; 7d, 36h, "
        "20min, 90s: only the events of this period count; half-life:7d: the weight of past events halves in this period (default: auto)",
    )
    group.add_argument(
        "--smoothing",
        action=_Given,
        type=or_auto(number(least=0.0, most=1.0)),
        metavar="X",
        default=AUTO,
        help="predict with a moving average of the weights: from 0, no averaging, to 1, the mean over all events "
        "(default: 0, or chosen to suit the window if --rho and --window are given)",
    )
    group.add_argument(
        "--prior-strength",
        action=_Given,
        type=or_auto(number(least=0.0)),
        metavar="X",
        default=AUTO,
        help="a constant penalty in addition to rho, which damps the first updates (default: auto)",
    )
    group.add_argument("--no-intercept", dest="intercept", action="store_false", help="leave out the constant term")
    group.add_argument(
        "--scale",
        action=argparse.BooleanOptionalAction,
        help="standardise features, with statistics updated as events arrive (default: yes for CSV, JSON and tables, no for libsvm and VW)",
    )


def learning_options(arguments: argparse.Namespace) -> LearningOptions:
    """The options as losses, penalties and windows.

    Raises ArgumentTypeError, which lists the possible values; `main` reports it as argparse would.
    """
    from odca.losses import as_loss  # noqa: PLC0415 - after parsing
    from odca.penalties import as_penalty  # noqa: PLC0415 - after parsing
    from odca.windows import as_window  # noqa: PLC0415 - after parsing

    return LearningOptions(
        loss=None if arguments.loss is None else _parse("--loss", as_loss, arguments.loss),
        penalty=_parse("--penalty", as_penalty, arguments.penalty),
        rho=arguments.rho,
        window=_parse("--window", lambda text: as_window(_number_or_text(text)), arguments.window),
        smoothing=arguments.smoothing,
        prior_strength=arguments.prior_strength,
        intercept=arguments.intercept,
        scale="auto" if arguments.scale is None else arguments.scale,
    )


def _parse(option: str, parse: Callable[[str], Parsed], text: str) -> Parsed:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"argument {option}: {error}") from error


def _number_or_text(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        found = as_float(text)
        return text if math.isnan(found) else found
