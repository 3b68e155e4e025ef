"""What linear models need of their learner."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from odca.errors import InputError, Remedy
from odca.models.options import Answer, is_steady
from odca.penalties import Penalty
from odca.validation.arrays import Array
from odca.windows import Window


class Lanes(Protocol):
    """What a model needs of its learner: a `Learner`, or an `EventLearner` whose rows are dictionaries."""

    @property
    def lanes(self) -> int:
        """The number of models that learn from the same events."""

    @property
    def loss(self) -> object:
        """Their loss."""

    @property
    def penalty(self) -> Penalty:
        """Their penalty."""

    @property
    def window(self) -> Window:
        """How past events are weighted."""

    @property
    def count(self) -> int:
        """The number of events learned from."""

    def learn(self, X: Any, y: Array, *, sample_weight: Any = None, offset: Any = None, time: Any = None) -> Array:
        """Learn from events in order; return the margins, each from before its event was learned, (n, lanes)."""

    def predict(self, X: Any, *, offset: Any = None) -> Array:
        """The margins of events, (n, lanes)."""

    def loss_of(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The loss of each margin."""

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> Self:
        """The same learner with its lanes rearranged."""


def require_steady(answer: Answer) -> None:
    """Raise ValueError for the live answer, which a linear model does not have."""
    if not is_steady(answer):
        raise InputError(
            "a linear model has only a steady answer; only automatic models have a live answer.",
            remedy=Remedy("Leave out {answer}.", answer=answer),
        )


def has_value(learner: Lanes) -> bool:
    """Whether the loss has a value, the cost of a prediction. A user's own loss may have none."""
    return hasattr(learner.loss, "value")


def losses_of(learner: Lanes, margins: npt.ArrayLike, labels: npt.ArrayLike) -> Array:
    """The loss of each margin; nan if the user's loss has no value."""
    return learner.loss_of(margins, labels) if has_value(learner) else np.full(np.shape(margins), np.nan)
