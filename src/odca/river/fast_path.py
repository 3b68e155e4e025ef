"""Methods that are called for every event, with a native fast path in front of them."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from odca import _core

Method = TypeVar("Method", bound=Callable[..., Any])


def with_fast_path(name: str) -> Callable[[Method], Method]:
    """Put a native fast path in front of a method, for calls without keywords on an object whose `_fast` is not None."""

    def decorate(method: Method) -> Method:
        return cast("Method", functools.update_wrapper(_core.with_fast_path(name, method), method))

    return decorate
