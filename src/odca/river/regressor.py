"""A linear regression for river."""

import math
from typing import Any, Self, Unpack

from river import base, conf

from odca import _core
from odca.features.records import as_events
from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.losses import Poisson
from odca.models.event_adapters import EventLanes
from odca.models.events import EventLearner
from odca.models.linear import LinearRegressor
from odca.models.named_events import Event
from odca.models.options import Answer
from odca.models.uncertainty import Uncertainty
from odca.penalties import Penalty
from odca.river.base import interval_of
from odca.river.fast_path import with_fast_path
from odca.river.frames import as_series
from odca.river.linear import LinearEstimator
from odca.validation.arrays import as_columns
from odca.windows import Window


class ODCARegressor(LinearEstimator, base.MiniBatchRegressor):  # type: ignore[misc]
    """A linear regression for streams of dictionaries, by online dual coordinate ascent. There is no step size.

    loss: "squared_error", "huber", "absolute_error", "quantile", "expectile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "poisson" (then predictions are the mean e^z), or an object such as Quantile(0.9).

    The other parameters are those of `ODCAClassifier`.

    >>> from river import datasets, evaluate, metrics
    >>> model = ODCARegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.2666
    """

    kind = "river.ODCARegressor"
    _task = "numbers"

    def __init__(
        self,
        loss: object = "squared_error",
        penalty: Penalty | str = "l2",
        rho: float | str = "auto",
        window: Window | str | float = "auto",
        smoothing: float | str = "auto",
        intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float | str = "auto",
        max_pending: int = 10_000,
        **feature_options: Unpack[FeatureOptions],
    ) -> None:
        parameters = locals()
        self._uncertainties = [Uncertainty("numbers")]
        self._begin(parameters)

    def _use(self, events: EventLearner) -> None:
        self._model = LinearRegressor(EventLanes(events), scored=False)
        self._model.uncertainties = self._uncertainties
        self._counts = isinstance(events.learner.loss, Poisson)
        super()._use(events)
        events.native.observe(self._uncertainties[0].native, "counts" if self._counts else "numbers")

    def _new_fast(self) -> _core.FastRegressor | None:
        takes_numbers = not self._counts and self._events.learner.is_single
        return _core.FastRegressor(self._events.native) if takes_numbers else None

    @with_fast_path("learn_number")
    def learn_one(self, x: Event, y: float, w: float = 1.0, *, offset: float = 0.0, time: Any = None) -> None:
        """Learn from one event, of weight `w`."""
        self._events.learn_one(x, y, weight=w, offset=offset, time=time)

    @with_fast_path("predict_number")
    def predict_one(
        self,
        x: Event,
        *,
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,
    ) -> float:
        """Predict the number. With an `id`, the event is kept for `learn_label`. The time matters only to `history`."""
        margin: float = self._events.predict_one(x, offset=offset, id=id, time=time)
        return _exp(margin) if self._counts else margin

    def learn_label(self, id: str | int, y: float, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction has kept under `id`, once its number is known."""
        self.events.learn_label(id, y, weight=w, time=time)

    def learn_many(self, X: Any, y: Any, w: Any = None, *, offset: Any = None, time: Any = None) -> None:
        """Learn from the rows of a data frame (or a list of dictionaries), with the same result as `learn_one`, to the bit."""
        events = as_events(X)
        self._model.learn(events, as_columns(y, "y", len(events), 1), sample_weight=w, offset=offset, time=time)

    def predict_many(self, X: Any) -> Any:
        """The predictions for the rows of a data frame."""
        return as_series(self._model.predictions(self._model.margins(X))[:, 0], X)

    def predict_interval_one(
        self,
        x: Event,
        coverage: float = 0.9,
        *,
        answer: Answer = "live",
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
    ) -> conf.Interval:
        """The interval that holds the number, for a share of `coverage` of all events: its `lower` and `upper` end.

        answer: "steady" if no labels are coming in. With an `id`, the event is kept for `learn_label`. docs/intervals.md says what is
        promised. Infinite while too few events were learned.
        """
        return interval_of(self._model, self._events.predict_one(x, offset=offset, id=id), coverage, answer)

    # Files

    def _contents(self) -> ModelFile:
        """The contents of the regression's model file."""
        saved = super()._contents()
        saved.arrays.update(self._model.saved_uncertainty())
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the regression of a model file. ValueError (or a similar error) if it is invalid."""
        estimator = super().restored(saved, loss)
        estimator._model.restore_uncertainty(saved.arrays)  # noqa: SLF001 - of its own class
        return estimator

    @classmethod
    def around(cls, events: EventLearner, uncertainties: list[Uncertainty]) -> Self:
        """An estimator of events that were learned elsewhere, and of how far their predictions were from the truth."""
        estimator = cls.of(events)
        estimator._uncertainties = uncertainties  # noqa: SLF001 - of its own class
        estimator._use(events)  # noqa: SLF001 - the same
        return estimator


def _exp(margin: float) -> float:
    try:
        return math.exp(margin)
    except OverflowError:
        return math.inf
