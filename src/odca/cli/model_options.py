"""Options of `odca train` that define the model, and what they make: the problem that is solved."""

import argparse
import math
import re
from typing import TYPE_CHECKING

from odca.cli.data_options import add_feature_options, add_history_options
from odca.cli.learning_options import add_learning_options, given_options, learning_options
from odca.cli.option_types import writes_file

if TYPE_CHECKING:
    from odca.models.options import Label, ModelOptions, Products

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that define the model. With --initial, the initial model has fixed them already."""
    parser.add_argument(
        "--task",
        choices=("classes", "numbers"),
        help="what the labels are (default: chosen from the loss and the first labels)",
    )
    parser.add_argument(
        "--classes",
        type=_class_list,
        metavar="A,B,...",
        help="all classes, if known in advance (default: those of the first events)",
    )
    parser.add_argument(
        "--auto",
        action="store_true",
        help="choose the settings automatically, which is the default unless an option of one linear model is given; "
        "with --loss: squared_error, absolute_error, quantile:Q or poisson, for numbers",
    )
    parser.add_argument(
        "--memory",
        choices=("events", "time"),
        help="in automatic mode: measure memories in events or in event time (default: events)",
    )
    parser.add_argument(
        "--products",
        type=_products,
        metavar="auto|none|N",
        help="in automatic mode: use up to N products of two features that the stream chooses (default: auto, up to 128)",
    )
    add_learning_options(parser)
    add_feature_options(parser, learns=True)
    add_history_options(parser)
    writes_file(
        parser.add_argument(
            "--schema",
            metavar="FILE",
            help="write how each field is read to this file (JSON); if it exists, read the data as it says",
        )
    )


def problem_of(arguments: argparse.Namespace) -> "ModelOptions":
    """The problem that the options state. ArgumentTypeError if they contradict each other."""
    from odca.models.options import ModelOptions  # noqa: PLC0415 - after parsing

    chosen, plain = learning_options(arguments), why_plain(arguments)
    of_auto = {
        "--auto": arguments.auto,
        "--memory": arguments.memory is not None,
        "--products": arguments.products is not None,
    }
    if plain and any(of_auto.values()):
        option = next(name for name, given in of_auto.items() if given)
        raise argparse.ArgumentTypeError(
            f"argument {option}: is for the automatic mode, which chooses everything itself, but {plain}. Leave out one of the two"
        )
    return ModelOptions(
        auto=None if plain else arguments.memory or "events",
        products="auto" if arguments.products is None else arguments.products,
        task=arguments.task,
        loss=chosen.loss,
        penalty=chosen.penalty,
        rho=chosen.rho,
        window=chosen.window,
        smoothing=chosen.smoothing,
        prior_strength=chosen.prior_strength,
        intercept=chosen.intercept,
        scale=chosen.scale,
        classes=tuple(_label(each) for each in arguments.classes.split(",")) if arguments.classes else (),
    )


def why_plain(arguments: argparse.Namespace) -> str:
    """Why the model is one linear model; empty if it is automatic."""
    given = [flag for flag in given_options(arguments) if flag != "--loss" or not arguments.auto]
    flags = [*given, *(["--offset"] if arguments.offset is not None else [])]
    return f"{', '.join(flags)} {'was' if len(flags) == 1 else 'were'} given" if flags else ""


def _products(text: str) -> "Products":
    from odca.models.options import MOST_PRODUCTS  # noqa: PLC0415 - after parsing

    if text in {"auto", "none"}:
        return "auto" if text == "auto" else False
    if not text.isdecimal() or int(text) > MOST_PRODUCTS:
        raise argparse.ArgumentTypeError(f"must be auto, none, or a number up to {MOST_PRODUCTS}; got {text!r}")
    return int(text)


def _class_list(text: str) -> str:
    for name in text.split(","):
        if not name or (isinstance(label := _label(name), float) and not math.isfinite(label)):
            raise argparse.ArgumentTypeError(f"must be names and finite numbers, separated by commas; got {name!r}")
    return text


def _label(text: str) -> "Label":
    """A class as it is read from data: only what is written in digits is a number there."""
    return float(text) if NUMBER.fullmatch(text) else text
