"""Options of the library as the command line writes them: errors name the first, and a user there needs the second."""

import shlex
from typing import Any

from odca.errors import InputError, as_keyword

FLAGS = {
    "auto": "--auto",
    "bits": "--bits",
    "classes": "--classes",
    "ignore": "--ignore",
    "label": "--label",
    "scale": "--scale",
    "start": "--resume",
    "task": "--task",
    "time": "--time",
}
"""The flag of each option that an error may name."""
FLAGS_OF_VALUES = {
    ("auto", "events"): "--memory events",
    ("scale", False): "--no-scale",
    ("scale", True): "--scale",
}
"""Those whose flag depends on the value."""


def as_flag(option: str, value: Any = None) -> str:
    """An option as it is written on the command line.

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
    """What an error says, its options written as flags."""
    return error.explain(as_flag) if isinstance(error, InputError) else str(error)
