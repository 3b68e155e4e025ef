"""The library's options as command-line flags: its errors name options, and a user of the command line needs flags."""

import shlex
from typing import Any

from odca.errors import InputError, as_keyword

FLAGS = {
    "answer": "--answer",
    "auto": "--auto",
    "bits": "--bits",
    "booleans": "--booleans",
    "categorical": "--categorical",
    "chars": "--chars",
    "checkpoint": "--checkpoint",
    "classes": "--classes",
    "dates": "--dates",
    "day_first": "--day-first",
    "decimal": "--decimal",
    "history": "--history",
    "history_keys": "--history-keys",
    "ignore": "--ignore",
    "interactions": "--interact",
    "intercept": "--no-intercept",
    "keep": "--keep",
    "label": "--label",
    "loss": "--loss",
    "max_line": "--max-line",
    "missing": "--missing",
    "na_values": "--na-values",
    "ngrams": "--ngrams",
    "numeric": "--numeric",
    "on_error": "--on-error",
    "penalty": "--penalty",
    "prior_strength": "--prior-strength",
    "products": "--products",
    "query": "--query",
    "quote": "--quote",
    "resume": "--resume",
    "rho": "--rho",
    "scale": "--scale",
    "smoothing": "--smoothing",
    "start": "--resume",
    "sublinear": "--sublinear",
    "task": "--task",
    "text": "--text",
    "text_length": "--text-length",
    "tf_idf": "--tf-idf",
    "time": "--time",
    "unit_norm": "--unit-norm",
    "window": "--window",
}
"""The flags of the options that errors may name."""
FLAGS_OF_VALUES = {
    ("auto", "events"): "--memory events",
    ("day_first", True): "--day-first",
    ("resume", True): "--resume",
    ("scale", False): "--no-scale",
    ("scale", True): "--scale",
}
"""The flags that depend on the value."""


def as_flag(option: str, value: Any = None) -> str:
    """An option as a flag of the command line.

    >>> as_flag("task", "numbers"), as_flag("ignore", ["price per piece"]), as_flag("scale", False)
    ('--task numbers', "--ignore 'price per piece'", '--no-scale')
    """
    if isinstance(value, str | bool) and (option, value) in FLAGS_OF_VALUES:
        return FLAGS_OF_VALUES[option, value]
    if option not in FLAGS:
        return as_keyword(option, value)
    values = value if isinstance(value, list) else [] if value is None else [value]
    return " ".join([FLAGS[option], *(shlex.quote(str(each)) for each in values)])


def explain(error: BaseException) -> str:
    """The message of an error, with its options written as flags."""
    return error.explain(as_flag) if isinstance(error, InputError) else str(error)
