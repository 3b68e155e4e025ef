"""Linear models for river, by online dual coordinate ascent."""

import contextlib
import functools
import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Self, TypeVar, Unpack, cast

import numpy as np
from river import base

from odca import _core
from odca.features.records import as_events
from odca.features.spec import FeatureOptions
from odca.io.model_file import ModelFile
from odca.losses import Poisson
from odca.models.classifier import RawPredictions
from odca.models.event_adapters import EventLanes
from odca.models.events import Event, EventLearner
from odca.models.linear import LinearClassifier
from odca.models.options import ModelOptions, Task
from odca.penalties import Penalty
from odca.river.estimator import RiverEstimator, require_labels
from odca.river.frames import index_of
from odca.windows import Window

BOTH = (False, True)
NOT_SAVED = {"_learn", "_predict", "_fast", "_beginning"}
Method = TypeVar("Method", bound=Callable[..., Any])


def _with_fast_path(name: str) -> Callable[[Method], Method]:
    """Put a native fast path in front of a method, for plain calls on an object that has its `_fast`."""

    def decorate(method: Method) -> Method:
        return cast("Method", functools.update_wrapper(_core.with_fast_path(name, method), method))

    return decorate


class _Linear(RiverEstimator):
    """What classifier and regressor share: the options, and the learner behind them."""

    _task: Task

    def __init__(  # the parameters are explained where they are public
        self,
        loss: object = "squared_error",
        penalty: Penalty | str = "l2",
        rho: float | str = "auto",
        window: Window | str | float = "infinite",
        smoothing: float | str = "auto",
        intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float | str = "auto",
        max_pending: int = 10_000,
        **feature_options: Unpack[FeatureOptions],
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.rho = rho
        self.window = window
        self.smoothing = smoothing
        self.intercept = intercept
        self.intercept_penalty = intercept_penalty
        self.scale = scale
        self.prior_strength = prior_strength
        self.max_pending = max_pending
        self.feature_options = feature_options
        self._beginning = threading.RLock()  # one thread at a time begins a model or brings new labels
        self._use(self._new_events())

    @property
    def events(self) -> EventLearner:
        """The learner of dictionaries behind the estimator."""
        return self._events

    def _use(self, events: EventLearner) -> None:
        """Learn by these from now on. Their two methods are kept at hand: to look them up takes a while, for an event."""
        self._events, self._learn, self._predict = events, events.learn_plain, events.predict_plain
        self._fast = events.native if self._has_fast_path() else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in NOT_SAVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._beginning = threading.RLock()
        self._use(state["_events"])

    def _has_fast_path(self) -> bool:
        """Whether the margin of one lane says all there is to say of an event."""
        raise NotImplementedError

    def _new_events(self, *, lanes: int | None = None, first: Event | None = None) -> EventLearner:
        """A learner of events, whose first one decides what is left to "auto"."""
        values = [] if first is None else self._events.native.feature_values(first)

        def squared_length(scale: bool) -> float:
            return float(len(values)) if scale else sum(value * value for value in values)

        resolved = ModelOptions.of(self, task=self._task).resolved(in_units=True, squared_length=squared_length)
        return EventLearner(**resolved.of_learner(lanes=lanes), max_pending=self.max_pending, **self.feature_options)

    @contextlib.contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """What is done inside may begin a model or bring new labels; if it is refused, none of that stays."""
        with self._beginning:
            before = dict(self.__dict__)
            try:
                yield
            except BaseException:
                self.__dict__ = before
                raise

    @classmethod
    def of(cls, events: EventLearner) -> Self:
        """An estimator of events that learned elsewhere."""
        options, own = events.learner.options, events.options_of_features
        estimator = cls(
            loss=options["loss"],
            prior_strength=options["prior_strength"],
            scale=options["scale"],
            **{name: value for name, value in own.items() if name in FeatureOptions.__annotations__},
        )
        estimator._use(events)
        return estimator

    # Files

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator that a file holds. ValueError (or the like) if it holds none."""
        params = saved.options["params"]
        estimator = cls(**(params if loss is None else {**params, "loss": loss}))
        estimator._use(EventLearner.restored(saved.parts["events"], loss))
        return estimator

    def explain_one(self, x: Event) -> dict[str, Any]:
        """What each named feature of an event adds to its margin. See `EventLearner.explain_one`."""
        return self.events.explain_one(x)

    @property
    def weights(self) -> dict[str, Any]:
        """The weights by name, that of the intercept under ""; of one lane, or arrays with one number for each lane."""
        return self.events.weights()


class ODCAClassifier(_Linear, base.MiniBatchClassifier):  # type: ignore[misc]
    """A linear classifier for streams of dictionaries, by online dual coordinate ascent. There is no step size.

    Labels True and False make a binary model. Any other labels may be as many as there are, and may appear at any time: a late
    one ends bit for bit as if it had been there from the start.

    loss: "log_loss" (exact probabilities), "hinge", "squared_hinge", "smooth_hinge", "modified_huber", or an object.
    penalty, rho: "l2", "elasticnet", "nonnegative" or an object; and its strength, a number or "auto": the best so far of six.
    window: "infinite", 0.999 (exponential forgetting), 5000 (the last events), or an object such as HalfLife(3600.0).
    smoothing: how long predictions average over past weights; "auto" follows the window, and is 0 with rho="auto".
    scale: True (and "auto") divides each number by the root mean square of its non-zero values so far, under the model's own window.
    prior_strength: a constant strength beside that of rho, which restrains the first events; "auto" takes it from the first one,
        and is 0 with rho="auto".
    max_pending: how many events wait for their labels at most.
    bits, missing, keep, ignore, interactions, text, ngrams, categorical, numeric, dates, booleans: what becomes a feature, as for
        `EventLearner`.

    >>> from river import datasets, evaluate, metrics
    >>> model = ODCAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.03%
    """

    kind = "river.ODCAClassifier"
    _task = "classes"

    def __init__(
        self,
        loss: object = "log_loss",
        penalty: Penalty | str = "l2",
        rho: float | str = "auto",
        window: Window | str | float = "infinite",
        smoothing: float | str = "auto",
        intercept: bool = True,
        intercept_penalty: float = 1.0,
        scale: bool | str = "auto",
        prior_strength: float | str = "auto",
        max_pending: int = 10_000,
        **feature_options: Unpack[FeatureOptions],
    ) -> None:
        self._model: LinearClassifier | None = None  # until the first label
        self._targets: dict[Hashable, Any] = {}  # what each label is to the lanes
        self._binary = False  # one lane for True and False
        super().__init__(
            loss=loss,
            penalty=penalty,
            rho=rho,
            window=window,
            smoothing=smoothing,
            intercept=intercept,
            intercept_penalty=intercept_penalty,
            scale=scale,
            prior_strength=prior_strength,
            max_pending=max_pending,
            **feature_options,
        )

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The labels so far, in the order in which they came; False and True of a binary model."""
        return () if self._model is None else self._model.classes

    def _has_fast_path(self) -> bool:
        return self._binary and self._model is not None and self._model.calibration is None

    @_with_fast_path("learn_truth")
    def learn_one(self, x: Event, y: Hashable, w: float = 1.0, *, offset: float = 0.0, time: Any = None) -> None:
        """Learn from one event, of weight `w`."""
        if y in self._targets:
            self._learn_known(x, self._targets[y], w, offset, time)
            return
        with self._or_as_before():
            self._meet([y], x)
            self._learn_known(x, self._targets[y], w, offset, time)

    def _learn_known(self, x: Event, label: Any, w: float, offset: float, time: Any) -> None:
        if w == 1.0 and time is None and not offset:
            margin = self._learn(x, label)
        else:
            margin = self._events.learn_one(x, label, weight=w, offset=offset, time=time)
        if self._model is not None and self._model.calibration is not None:
            self._model.calibration.note(margin, label, w, time)

    @_with_fast_path("predict_truth")
    def predict_one(  # `time` may come along, as river gives both methods the same arguments
        self,
        x: Event,
        *,
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,  # noqa: ARG002
    ) -> Any:
        """Predict the label; None before the first was seen. With an `id` the event waits for `learn_label`."""
        margin: Any = (
            self._predict(x) if id is None and not offset else self._events.predict_one(x, offset=offset, id=id)
        )
        if self._binary:
            return margin > 0.0
        if self._model is None:
            return None
        return self._model.classes[int(self._model.chosen(RawPredictions(np.atleast_2d(margin)))[0])]

    def predict_proba_one(
        self,
        x: Event,
        *,
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,  # noqa: ARG002
    ) -> dict[Any, float]:
        """The probability of each label seen so far. With an `id` the event waits for `learn_label`."""
        margin: Any = (
            self._predict(x) if id is None and not offset else self._events.predict_one(x, offset=offset, id=id)
        )
        if self._model is None:
            return {}
        if self._binary and self._model.calibration is None:
            p = 1.0 / (1.0 + math.exp(-margin)) if margin > -700.0 else 0.0
            return {False: 1.0 - p, True: p}
        p = self._model.probabilities(RawPredictions(np.atleast_2d(margin)))[0]
        return dict(zip(self._model.classes, p.tolist(), strict=True))

    def learn_label(self, id: str | int, y: Hashable, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction kept under `id`, now that its label has come."""
        if y in self._targets:
            self._learn_known_label(id, self._targets[y], w, time)
            return
        first = self.events.waiting(id)
        with self._or_as_before():
            self._meet([y], first)
            self._learn_known_label(id, self._targets[y], w, time)

    def _learn_known_label(self, id: str | int, label: Any, w: float, time: Any) -> None:  # noqa: A002
        margin = self.events.learn_label(id, label, weight=w, time=time)
        if self._model is not None and self._model.calibration is not None:
            self._model.calibration.note(margin, label, w, time)

    def learn_many(self, X: Any, y: Any, w: Any = None, *, offset: Any = None, time: Any = None) -> None:
        """Learn from the rows of a data frame (or a list of dictionaries), as by `learn_one`, to the bit."""
        labels, events = list(y), as_events(X)
        if len(labels) != len(events):
            raise ValueError(f"there must be a label for every event; got {len(labels)} for {len(events)}.")
        if labels:
            with self._or_as_before():
                model = self._meet(labels, events[0])
                codes = {label: code for code, label in enumerate(model.classes)}
                coded = np.array([codes[label] for label in labels])
                model.learn(events, coded, sample_weight=w, offset=offset, time=time)

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of the rows of a data frame, one column for each label."""
        import pandas as pd  # noqa: PLC0415 - river's own mini-batches are pandas

        index = index_of(X)
        if self._model is None:
            return pd.DataFrame(index=index)
        p = self._model.probabilities(self._model.predict_raw(X))
        return pd.DataFrame(p, columns=pd.Index(self._model.classes, dtype=object), index=index)

    def explain_one(self, x: Event) -> dict[str, Any]:
        """What each named feature adds to the margin: a number for True and False, else one for each class that has a lane.

        That is every class, or of two only the second. See `EventLearner.explain_one`.
        """
        return self._of_classes(super().explain_one(x))

    @property
    def weights(self) -> dict[str, Any]:
        """The weights by name, that of the intercept under ""; numbers or arrays as in `explain_one`."""
        return self._of_classes(super().weights)

    def _of_classes(self, parts: dict[str, Any]) -> dict[str, Any]:
        """Without the lane that waits for a class yet to come."""
        has_spare = self._model is not None and self._model.layout.spare
        return {name: part[:-1] for name, part in parts.items()} if has_spare else parts

    # Files

    def saved(self) -> ModelFile:
        """What a file holds of the classifier."""
        saved = super().saved()
        saved.options["classes"] = list(self.classes)
        if self._model is not None and self._model.calibration is not None:
            saved.parts["calibration"] = self._model.calibration.saved()
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the classifier that a file holds. ValueError (or the like) if it holds none."""
        estimator = super().restored(saved, loss)
        if classes := saved.options["classes"]:
            model = LinearClassifier(EventLanes(estimator.events), classes, spare=not all_truths(classes), scored=False)
            model.restore_calibration(saved.parts)
            model.require_consistent()
            estimator._take(model)  # noqa: SLF001 - of its own class
        return estimator

    @classmethod
    def around(cls, model: LinearClassifier) -> Self:
        """An estimator of a model that learned elsewhere."""
        learner: Any = model.learner
        estimator = cls.of(learner.events)
        estimator._take(model)  # noqa: SLF001 - of its own class
        return estimator

    # Helpers

    def _meet(self, labels: list[Hashable], first: Event) -> LinearClassifier:
        """The model, once it has a lane for all of these labels. `first` is the first event of theirs."""
        new = list(dict.fromkeys(label for label in labels if label not in self._targets))
        require_labels(new)
        if not new and self._model is not None:
            return self._model
        if any(isinstance(label, bool | np.bool_) for label in (*self.classes, *new)) and not all_truths(
            (*self.classes, *new)
        ):
            raise ValueError(
                f"labels are True and False, or all of another kind; got {new[0]!r} beside "
                f"{(self.classes or labels)[0]!r}. Write True and False as text, for example."
            )
        if self._model is None:
            binary = all_truths(new)
            classes: tuple[Hashable, ...] = BOTH if binary else tuple(new)
            lanes = None if binary else LinearClassifier.lanes(classes, spare=True)
            events = self._new_events(lanes=lanes, first=first).with_waiting_of(self.events)
            model = LinearClassifier(EventLanes(events), classes, spare=not binary, scored=False)
        else:
            model = self._model.with_classes([*self.classes, *new])
        self._take(model)
        return model

    def _take(self, model: LinearClassifier) -> None:
        self._model, self._binary = model, not model.layout.spare
        targets = model.layout.labels(np.arange(len(model.classes))).tolist()
        self._targets = dict(
            zip(model.classes, [each[0] for each in targets] if self._binary else targets, strict=True)
        )
        learner: Any = model.learner
        self._use(learner.events)


def all_truths(labels: Iterable[Hashable]) -> bool:
    """Whether all labels are True or False."""
    return all(isinstance(label, bool | np.bool_) for label in labels)


class ODCARegressor(_Linear, base.MiniBatchRegressor):  # type: ignore[misc]
    """A linear regression for streams of dictionaries, by online dual coordinate ascent. There is no step size.

    loss: "squared_error", "huber", "absolute_error", "quantile", "expectile", "epsilon_insensitive",
        "squared_epsilon_insensitive", "poisson" (then predictions are the mean e^z), or an object such as Quantile(0.9).

    The other parameters are those of `ODCAClassifier`.

    >>> from river import datasets, evaluate, metrics
    >>> model = ODCARegressor()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.266681
    """

    kind = "river.ODCARegressor"
    _task = "numbers"

    def _use(self, events: EventLearner) -> None:
        self._counts = isinstance(events.learner.loss, Poisson)
        super()._use(events)

    def _has_fast_path(self) -> bool:
        return not self._counts

    @_with_fast_path("learn_number")
    def learn_one(self, x: Event, y: float, w: float = 1.0, *, offset: float = 0.0, time: Any = None) -> None:
        """Learn from one event, of weight `w`."""
        self._events.learn_one(x, y, weight=w, offset=offset, time=time)

    @_with_fast_path("predict_number")
    def predict_one(
        self,
        x: Event,
        *,
        offset: float = 0.0,
        id: str | int | None = None,  # noqa: A002
        time: Any = None,  # noqa: ARG002
    ) -> float:
        """Predict the number. With an `id` the event waits for `learn_label`."""
        margin: float = self._events.predict_one(x, offset=offset, id=id)
        return math.exp(min(margin, 709.0)) if self._counts else margin

    def learn_label(self, id: str | int, y: float, w: float = 1.0, *, time: Any = None) -> None:  # noqa: A002
        """Learn from the event that a prediction kept under `id`, now that its number has come."""
        self.events.learn_label(id, y, weight=w, time=time)

    def learn_many(self, X: Any, y: Any, w: Any = None, *, offset: Any = None, time: Any = None) -> None:
        """Learn from the rows of a data frame (or a list of dictionaries), as by `learn_one`, to the bit."""
        self.events.learn_many(X, np.asarray(y, dtype=np.float64), sample_weight=w, offset=offset, time=time)

    def predict_many(self, X: Any) -> Any:
        """The predictions for the rows of a data frame."""
        import pandas as pd  # noqa: PLC0415 - river's own mini-batches are pandas

        margins = self.events.predict_many(X)
        mean = np.exp(np.minimum(margins, 709.0)) if self._counts else margins
        return pd.Series(mean, index=index_of(X))
