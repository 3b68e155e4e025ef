"""Estimators with nothing to tune, for scikit-learn."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from odca.io.model_file import ModelFile, Savable
from odca.metrics.progress import Progress
from odca.models.auto import AutoLearner
from odca.models.auto_report import AutoReport
from odca.sklearn.classifier import restored_classes
from odca.sklearn.columns import Columns, all_or_nothing
from odca.validation.arrays import Array


class Auto(Columns, Savable, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no annotations
    """What the automatic classifier and regressor share."""

    learner_: AutoLearner
    progress_: Progress

    def __init__(self, *, shuffle: bool = True, random_state: Any = None, new_features: str = "error") -> None:
        self.shuffle = shuffle
        self.random_state = random_state
        self.new_features = new_features

    def report(self) -> AutoReport:
        """Which memory and strength are believed now: str(report) in words, as_json(), plot()."""
        check_is_fitted(self)
        return self.learner_.report()

    def _in_order(self, X: Any, y: Any, sample_weight: Any, time: Any) -> tuple[Any, Any, Array | None, Any]:
        """Events as `fit` takes them: in the order of their times, or in any."""
        weight = self._weights(sample_weight, X, online=False)
        order = np.arange(len(y))
        if time is not None:
            order = np.argsort(np.asarray(time), kind="stable")
        elif self.shuffle:
            order = check_random_state(self.random_state).permutation(len(y))
        moments = None if time is None else np.asarray(time)[order]
        return X[order], y[order], None if weight is None else weight[order], moments

    def _told(self, X: Any) -> Array:
        check_is_fitted(self)
        return self.learner_.predict(self._checked(X, reset=False, learning=False))

    # Files

    def saved(self) -> ModelFile:
        """What a file holds of the estimator."""
        check_is_fitted(self)
        arrays = {"progress": self.progress_.as_array(), **self._saved_names()}
        options = {"params": self.get_params(deep=False), "n_features_in": self.n_features_in_}
        return ModelFile(self.kind, options, arrays, {"learner": self.learner_.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator that a file holds. ValueError (or the like) if it holds none."""
        del loss
        estimator = cls(**saved.options["params"])
        estimator.learner_ = AutoLearner.restored(saved.parts["learner"])
        estimator.progress_ = Progress.from_array(saved.arrays["progress"])
        estimator._restore_columns(saved.options["n_features_in"], estimator.learner_.n_features, saved.arrays)
        return estimator


class AutoClassifier(ClassifierMixin, Auto):  # type: ignore[misc]
    """A classifier for streams with nothing to tune: strengths and memories are learned side by side and mixed as the stream decides.

    shuffle, random_state: the order in which `fit` takes the rows, each once. `partial_fit` takes them as they come.
    class_weight: a dictionary of weights by class.
    new_features: "error" refuses X with other columns, as scikit-learn asks; "learn" takes wider X as it comes, and columns of data frames by
        their names.

    Classes may appear at any time. Features come to scale by themselves. `progress_` holds log loss and accuracy of the predictions that were made
    before learning from each event; `report()` says which memory and strength are believed.
    """

    kind = "sklearn.AutoClassifier"
    _known: list[Any]
    """The classes in the order in which they came, which is the learner's."""

    def __init__(
        self,
        *,
        class_weight: dict[Any, float] | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        new_features: str = "error",
    ) -> None:
        super().__init__(shuffle=shuffle, random_state=random_state, new_features=new_features)
        self.class_weight = class_weight

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from these events alone, each once; what was learned before is forgotten. Events with a `time` are taken in its order."""
        X, y = self._checked(X, reset=True), self._checked_labels(X, y)
        for name in ("learner_", "progress_", "_known"):
            self.__dict__.pop(name, None)
        X, y, weight, time = self._in_order(X, y, sample_weight, time)
        self._learn(X, y, np.unique(y), weight, time)
        return self

    @all_or_nothing
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from these events, each once, in order. `classes` may name classes that have not come yet."""
        X, y = self._checked(X, reset=not hasattr(self, "learner_")), self._checked_labels(X, y)
        declared: Any = [] if classes is None else np.unique(np.asarray(classes))
        self._learn(X, y, declared, self._weights(sample_weight, X, online=True), time)
        return self

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in order."""
        if "_known" not in self.__dict__:
            raise AttributeError("the classes are known after fit or partial_fit.")
        return np.unique(np.array(self._known))

    def decision_function(self, X: Any) -> Array:
        """Log odds of the second class where there are two, else the log probabilities of all."""
        return self._by_label(self._told(X))

    def predict_proba(self, X: Any) -> Array:
        """P(class) of each event, one column for each class."""
        told = self.decision_function(X)
        return np.ones((len(told), 1)) if len(self.classes_) == 1 else self.learner_.probabilities(told)

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most likely class of each event."""
        told = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(told))
        chosen = (told > 0.0).astype(int) if told.ndim == 1 else told.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def _learn(self, X: Any, y: npt.NDArray[Any], declared: Any, weight: Array | None, time: Any) -> None:
        labels, known = y.tolist(), list(self.__dict__.get("_known", ()))
        with_declared = list(dict.fromkeys([*known, *np.asarray(declared).tolist()]))
        every = list(dict.fromkeys([*with_declared, *labels]))
        classes = np.unique(np.array(every))
        if len({isinstance(label, str) for label in every}) > 1 or len(classes) != len(every):
            raise ValueError(f"the classes so far are {known}; labels must be of one type, and y holds others too.")
        learner = self.learner_ if hasattr(self, "learner_") else AutoLearner("classes")
        if len(with_declared) > learner.classes:
            learner = learner.copy()  # a refused call must not leave room behind
            learner.declare(len(with_declared))
        places = {label: float(place) for place, label in enumerate(every)}
        codes = np.array([places[label] for label in labels])
        weight = self._by_class(weight, labels)
        before = learner.count
        try:
            told = learner.learn(X, codes, sample_weight=weight, time=time)
        except BaseException:
            if learner.count > before and "_known" in self.__dict__:  # interrupted: it has met some of them
                self._known[:] = every[: max(learner.classes, len(known))]
            raise
        p = learner.probabilities(told)
        own = np.maximum(p[np.arange(len(codes)), codes.astype(np.intp)], 1e-15)
        self.__dict__.setdefault("progress_", Progress()).add(
            -np.log(own), (p.argmax(axis=1) == codes).astype(np.float64), weight
        )
        self.learner_, self._known = learner, every

    def _by_class(self, weight: Array | None, labels: list[Any]) -> Array | None:
        if self.class_weight is None:
            return weight
        if not isinstance(self.class_weight, dict):
            raise TypeError(f"class_weight must be a dictionary or None; got {self.class_weight!r}.")
        by_class = np.array([float(self.class_weight.get(label, 1.0)) for label in labels])
        return by_class if weight is None else weight * by_class

    def _by_label(self, told: Array) -> Array:
        """What is told of the classes in the order in which they came, in the order of `classes_`."""
        places = [self._known.index(label) for label in self.classes_.tolist()]
        if told.ndim == 2:
            return np.ascontiguousarray(told[:, places])
        return told if places == sorted(places) else -told

    def _checked_labels(self, X: Any, y: Any) -> npt.NDArray[Any]:
        self._require_labels(X, y)
        assert_all_finite(np.asarray(y), input_name="y")
        check_classification_targets(y)
        return np.asarray(column_or_1d(y, warn=True))

    def saved(self) -> ModelFile:
        """What a file holds of the classifier."""
        saved = super().saved()
        saved.options["classes"] = list(self._known)
        return saved

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the classifier that a file holds. ValueError (or the like) if it holds none."""
        estimator = super().restored(saved, loss)
        estimator._known = list(saved.options["classes"])
        restored_classes(tuple(sorted(estimator._known)), np.array(estimator._known).dtype.str)
        if estimator.learner_.classes != max(len(estimator._known), 2):
            raise ValueError("its classes are not those of its learner.")
        return estimator


class AutoRegressor(RegressorMixin, Auto):  # type: ignore[misc]
    """A regression for streams with nothing to tune: strengths and memories are learned side by side and mixed as the stream decides.

    The parameters are those of `AutoClassifier`. Predictions lie within the range of the labels that came. `progress_` holds the mean squared and
    absolute error of the predictions that were made before learning from each event.
    """

    kind = "sklearn.AutoRegressor"

    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from these events alone, each once; what was learned before is forgotten. Events with a `time` are taken in its order."""
        X, y = self._checked(X, reset=True), self._checked_targets(X, y)
        for name in ("learner_", "progress_"):
            self.__dict__.pop(name, None)
        self._learn(*self._in_order(X, y, sample_weight, time))
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from these events, each once, in order."""
        X, y = self._checked(X, reset=not hasattr(self, "learner_")), self._checked_targets(X, y)
        self._learn(X, y, self._weights(sample_weight, X, online=True), time)
        return self

    def predict(self, X: Any) -> Array:
        """The prediction for each event."""
        return self._told(X)

    def _learn(self, X: Any, y: Array, weight: Array | None, time: Any) -> None:
        learner = self.learner_ if hasattr(self, "learner_") else AutoLearner("numbers")
        told = learner.learn(X, y, sample_weight=weight, time=time)
        self.learner_ = learner
        self.__dict__.setdefault("progress_", Progress()).add((told - y) ** 2, np.abs(told - y), weight)

    def _checked_targets(self, X: Any, y: Any) -> Array:
        self._require_labels(X, y)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return np.asarray(column_or_1d(targets, warn=True))
