"""Several threads at one model: calls that change it take turns, and calls that read it see it before such a call or after it.

A learner of the core has a gate of its own. Here is what holds together the parts around it that change with it: classes, columns,
scores, names. Every interface uses the same: `in_turn` for what changes a model, `at_one_moment` for what reads it, and `TakesTurns`,
whose `saved` waits for its turn.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, Self, TypeVar

from odca import _core
from odca.io.model_file import ModelFile, Savable
from odca.models.progressive_scores import ProgressivelyScored

P = ParamSpec("P")
R = TypeVar("R")


class TakesTurns(Savable):
    """A model that several threads may use."""

    __slots__ = ("_turn",)  # no attribute like the others: it is no part of what the model knows
    _turn: _core.Turn

    def __new__(cls, *_args: Any, **_keywords: Any) -> Self:
        """A model with a turn of its own, whether it is made, copied or read from somewhere."""
        model = super().__new__(cls)
        model._turn = _core.Turn()
        return model

    def saved(self) -> ModelFile:
        """What a file holds of the model, between two calls that change it."""
        with turn_of(self):
            return self._contents()

    def _contents(self) -> ModelFile:
        """What a file holds of the model."""
        raise NotImplementedError

    def _after_an_interruption(self, before: Any, twin: Any) -> None:
        """Keep what belongs to the events that were learned before a call was interrupted.

        `before` is the model as it was, `twin` what the call had made of it.
        """


delattr(TakesTurns, "__slots__")  # the slot remains; scikit-learn refuses to pickle what has this attribute


def turn_of(model: TakesTurns) -> _core.Turn:
    """The turn of a model: one thread has it at a time, and no thread twice."""
    return model._turn  # noqa: SLF001 - a part of this mechanism


@contextlib.contextmanager
def turns_of(*models: TakesTurns) -> Iterator[None]:
    """The turns of several objects, which may be the same ones. All threads take them in the same order, so that none waits for another."""
    with contextlib.ExitStack() as held:
        for _, model in sorted({id(model): model for model in models}.items()):
            held.enter_context(turn_of(model))
        yield


def in_turn(method: Callable[P, R]) -> Callable[P, R]:
    """A method that changes a model: one thread at a time. All attributes change at its end, at once; if it raises, none does.

    It works on a twin. Models behind the attributes, such as the learner, are the same, and change as they go.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0]
        with turn_of(model):
            before, twin = pinned(model), _twin(model)
            try:
                result = method(twin, *args[1:], **kwargs)  # type: ignore[arg-type] # of the type of the model
            except BaseException:
                model._after_an_interruption(before, twin)  # noqa: SLF001 - a part of this mechanism
                raise
            old = before.__dict__
            gone = old.keys() - twin.__dict__.keys()
            kept = {name: value for name, value in model.__dict__.items() if name not in gone}
            model.__dict__ = kept | twin.__dict__
        return model if result is twin else result

    return call


def at_one_moment(method: Callable[P, R]) -> Callable[P, R]:
    """A method that reads a model: it sees all parts as they belong together, whatever other threads do meanwhile."""

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return method(pinned(args[0]), *args[1:], **kwargs)  # type: ignore[arg-type] # of the type of the model

    return call


def pinned(model: Any) -> Any:
    """The same model, whose attributes stay as they are: classes, columns, and which learner it has."""
    view = _twin(model)
    for name, value in view.__dict__.items():
        if isinstance(value, ProgressivelyScored):
            view.__dict__[name] = _twin(value)
    return view


def _twin(model: Any) -> Any:
    """An object with the same attributes, all of one moment."""
    twin = object.__new__(type(model))
    twin.__dict__ = dict(model.__dict__)
    return twin
