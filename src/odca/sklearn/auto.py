"""Estimators with nothing to tune, for scikit-learn."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from odca.io.model_file import ModelFile
from odca.losses import Poisson, as_loss
from odca.metrics import ClassMetrics, NumberMetrics
from odca.models.auto import AutoLearner, SteadyModel
from odca.models.auto_report import AutoReport
from odca.models.classifier import RawPredictions
from odca.models.experts import ExpertClassifier, ExpertRegressor
from odca.models.options import Answer, Products, auto_loss, most_products
from odca.models.turns import at_one_moment, in_turn, turn_of
from odca.products import Product
from odca.sklearn.base import Estimator, require_sound_csr
from odca.sklearn.classifier import ODCAClassifier
from odca.sklearn.labels import WithClasses, checked_labels, class_weights, encode, restored_classes, times_class_weight
from odca.sklearn.regressor import ODCARegressor
from odca.validation.arrays import Array, as_times


class AutoEstimator(Estimator):
    """What the automatic classifier and regressor share."""

    _model: ExpertClassifier | ExpertRegressor

    def __init__(
        self,
        *,
        products: Products = "auto",
        shuffle: bool = True,
        random_state: Any = None,
        new_features: str = "error",
    ) -> None:
        self._store(locals())

    @property
    def progress_(self) -> ClassMetrics | NumberMetrics:
        """How well each event was predicted before learning from it."""
        check_is_fitted(self)
        return self._model.metrics

    def report(self) -> AutoReport:
        """Which experts have the most weight now: str(report) in words, as_json(), plot()."""
        check_is_fitted(self)
        report: AutoReport = self.learner_.report(
            self._space.names() if "_space" in self.__dict__ else list(getattr(self, "feature_names_in_", ()))
        )
        return report

    def _in_order(self, X: Any, y: Any, sample_weight: Any, time: Any) -> tuple[Any, Any, Array | None, Any]:
        """The events in the order in which `fit` learns them: by time, shuffled, or as given."""
        require_sound_csr(X)
        weight = self._weights(sample_weight, X, online=False)
        order, moments = np.arange(len(y)), None
        if time is not None:
            moments = as_times(time, len(y))
            order = np.argsort(moments, kind="stable")
        elif self.shuffle:
            order = check_random_state(self.random_state).permutation(len(y))
        of_rows = [None if each is None else each[order] for each in (weight, moments)]
        return X[order], y[order], *of_rows

    @property
    @at_one_moment
    def coef_(self) -> Array:
        """The weights of the steady answer, which is a linear model, in the units of X."""
        check_is_fitted(self)
        return self._steady().weights

    @property
    @at_one_moment
    def intercept_(self) -> Array:
        """The constant of the steady answer."""
        check_is_fitted(self)
        return self._steady().intercepts

    @property
    @at_one_moment
    def products_(self) -> tuple[Product, ...]:
        """The products of two features in the steady answer, each with its weights in the order of `coef_`."""
        check_is_fitted(self)
        return self._steady().products

    def _steady(self) -> SteadyModel:
        """The steady answer, in the order of the classes."""
        model: SteadyModel = self.learner_.linear()
        return model

    def _check_options(self) -> None:
        """ValueError for an option that cannot be used."""
        most_products(self.products)

    # Files

    def _contents(self) -> ModelFile:
        """The contents of the estimator's model file."""
        check_is_fitted(self)
        arrays = {**self._model.saved_metrics(), **self._saved_names()}
        options = {"params": self.get_params(deep=False), "n_features_in": self.n_features_in_}
        return ModelFile(self.kind, options, arrays, {"learner": self.learner_.saved()})

    @classmethod
    def restored(cls, saved: ModelFile, loss: object = None) -> Self:
        """Return the estimator of a model file. ValueError (or a similar error) if it is invalid."""
        del loss
        estimator = cls(**saved.options["params"])
        estimator._check_options()
        estimator._restore_model(AutoLearner.restored(saved.parts["learner"]), saved)
        estimator._model.restore_metrics(saved.arrays)
        estimator._restore_columns(saved.options["n_features_in"], estimator.learner_.n_features, saved.arrays)
        return estimator


class AutoClassifier(WithClasses, ClassifierMixin, AutoEstimator):  # type: ignore[misc]
    """A classifier for streams with nothing to tune: experts with many strengths and memories learn side by side and are mixed.

    products: how many products of two features are used, "auto", False or a number, as for `AutoLearner`.
    shuffle, random_state: the order in which `fit` visits the rows, each once. `partial_fit` takes them as they come.
    class_weight: a dictionary of weights by class.
    new_features: "error" refuses X with other columns, as scikit-learn requires; "learn" accepts wider X, and matches the columns of
        data frames by their names.

    Classes may appear at any time. Features are scaled automatically. Predictions are the steady answer, for times when no labels are
    coming in: one linear model, with `coef_`, `intercept_` and
    `products_`. answer="live" is for events that follow those learned last. `progress_`
    holds the log loss and the accuracy of the live predictions, each made before learning from the event. `report()` says which experts
    have the most weight.
    """

    kind = "sklearn.AutoClassifier"
    _model: ExpertClassifier

    def __init__(
        self,
        *,
        products: Products = "auto",
        class_weight: dict[Any, float] | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        new_features: str = "error",
    ) -> None:
        self._store(locals())

    @in_turn
    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Self:
        """Discard what was learned and learn from these events, each once. If `time` is given, they are learned in order of time."""
        X, y = self._checked(X, reset=True), self._checked_labels(X, y)
        for name in ("_model", "_class_dtype"):
            self.__dict__.pop(name, None)
        X, y, weight, time = self._in_order(X, y, sample_weight, time)
        self._learn(X, y, np.unique(y), weight, time)
        return self

    @in_turn
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from these events, each once, in order. `classes` may declare classes that have not appeared yet."""
        X, y = self._checked(X, reset="_model" not in self.__dict__), self._checked_labels(X, y)
        self._learn(X, y, classes, self._weights(sample_weight, X, online=True), time)
        return self

    @at_one_moment
    def decision_function(self, X: Any, *, answer: Answer = "steady") -> Array:
        """The log-odds of the second class if there are two, otherwise the logits of all (the live answer: log probabilities)."""
        rows = self._checked_for_prediction(X)
        return self._by_class(self._model.scores(self._model.predict_raw(rows, answer=answer)))

    @at_one_moment
    def predict_proba(self, X: Any, *, answer: Answer = "steady") -> Array:
        """P(class) of each event, with one column per class."""
        rows = self._checked_for_prediction(X)
        predictions, columns = self._model.predict_raw(rows, answer=answer), self._columns()
        if columns == [1, 0]:  # the log odds of the other class
            return self._model.probabilities(RawPredictions(-predictions.raw))
        return self._model.probabilities(predictions)[:, columns]

    def predict_log_proba(self, X: Any, *, answer: Answer = "steady") -> Array:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: Array = np.log(self.predict_proba(X, answer=answer))
        return logarithms

    @at_one_moment
    def predict(self, X: Any, *, answer: Answer = "steady") -> npt.NDArray[Any]:
        """The most likely class of each event."""
        return self._chosen(self.decision_function(X, answer=answer))

    @at_one_moment
    def predict_set(self, X: Any, coverage: float = 0.9, *, answer: Answer = "steady") -> npt.NDArray[np.bool_]:
        """Which classes belong to the set of each event, (n, classes) in the order of `classes_`: a share of `coverage` holds the label.

        answer: "steady" if no labels are coming in, "live" if those of the events before were learned. docs/intervals.md says what is
        promised. All classes while too few events were learned; none where a model that is right more often than `coverage` is unsure.
        """
        rows = self._checked_for_prediction(X)
        return self._model.sets(self._model.predict_raw(rows, answer=answer), coverage, answer)[:, self._columns()]

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, answer: Answer = "steady") -> float:
        """The accuracy of `predict`."""
        return float(accuracy_score(y, self.predict(X, answer=answer), sample_weight=sample_weight))

    def _steady(self) -> SteadyModel:
        model, columns = super()._steady(), self._columns()
        if len(columns) > 2:
            return model.arranged(lambda values: values[columns])
        if len(model.weights) > 1:  # another thread has added a third class since
            model = model.arranged(lambda values: values[1:2] - values[:1])
        sign = 1.0 if columns == sorted(columns) else -1.0  # the log odds of the other class
        return model.arranged(lambda values: sign * values)

    def freeze(self) -> ODCAClassifier:
        """The steady answer as a plain linear classifier, fitted: see `AutoLearner.freeze`."""
        check_is_fitted(self)
        with turn_of(self):
            return ODCAClassifier.around(self._model.freeze(spare=True), self, class_weight=self.class_weight)

    def _check_options(self) -> None:
        super()._check_options()
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight must be a dictionary or None; got {self.class_weight!r}.")

    def _learn(self, X: Any, y: npt.NDArray[Any], declared: Any, weight: Array | None, time: Any) -> None:
        model = (
            self._model
            if "_model" in self.__dict__
            else ExpertClassifier(AutoLearner("classes", products=self.products), ())
        )
        labels = encode(y, model.classes, declared, sort_two=False)
        self._note_dtype(y, declared)
        self._check_options()
        if self.class_weight is not None:
            by_class = class_weights(self.class_weight, labels.classes)[labels.codes]
            weight = times_class_weight(weight, by_class)
        model.learn(X, labels.codes, labels.classes, declared=labels.declared, sample_weight=weight, time=time)
        self._model = model

    def _checked_labels(self, X: Any, y: Any) -> npt.NDArray[Any]:
        self._require_labels(X, y)
        return checked_labels(y)

    def _contents(self) -> ModelFile:
        """The contents of the classifier's model file."""
        saved = super()._contents()
        saved.options.update(self._saved_classes())
        return saved

    def _restore_model(self, learner: AutoLearner, saved: ModelFile) -> None:
        values = saved.options["values"] if "values" in saved.options else saved.options["classes"]
        dtype = saved.options.get("dtype") or np.array(values).dtype.str
        classes, self._class_dtype = restored_classes(values, dtype)
        if learner.classes != max(len(classes), 2):
            raise ValueError("its classes are not those of its learner.")
        self._model = ExpertClassifier(learner, classes)


class AutoRegressor(RegressorMixin, AutoEstimator):  # type: ignore[misc]
    """A regression for streams with nothing to tune: experts with many strengths and memories learn side by side and are mixed.

    loss: what predictions are judged by: "squared_error" (they are means), "absolute_error" (medians), "quantile:0.9" or
        Quantile(0.9), or "poisson" (counts; `predict` is the mean, which is positive, and the steady answer linear in its logarithm).

    The other parameters are those of `AutoClassifier` without class_weight, and so are the steady and the live answer. Live predictions
    lie within the range of the labels seen so far. `progress_` holds the errors of the live predictions, each made before learning from
    the event; its `loss` is the mean of the loss, for squared error half the mean squared error.
    """

    kind = "sklearn.AutoRegressor"
    _model: ExpertRegressor

    def __init__(
        self,
        loss: object = "squared_error",
        *,
        products: Products = "auto",
        shuffle: bool = True,
        random_state: Any = None,
        new_features: str = "error",
    ) -> None:
        self._store(locals())

    @in_turn
    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Self:
        """Discard what was learned and learn from these events, each once. If `time` is given, they are learned in order of time."""
        X, y = self._checked(X, reset=True), self._checked_targets(X, y)
        self.__dict__.pop("_model", None)
        self._learn(*self._in_order(X, y, sample_weight, time))
        return self

    @in_turn
    def partial_fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, time: npt.ArrayLike | None = None
    ) -> Self:
        """Learn from these events, each once, in order."""
        X, y = self._checked(X, reset="_model" not in self.__dict__), self._checked_targets(X, y)
        self._learn(X, y, self._weights(sample_weight, X, online=True), time)
        return self

    @at_one_moment
    def predict(self, X: Any, *, answer: Answer = "steady") -> Array:
        """The prediction for each event."""
        rows = self._checked_for_prediction(X)
        return self._model.margins(rows, answer=answer)[:, 0]

    @at_one_moment
    def predict_interval(self, X: Any, coverage: float = 0.9, *, answer: Answer = "steady") -> Array:
        """[lower, upper] for each event, (n, 2): a share of `coverage` of the labels lies within.

        answer: "steady" if no labels are coming in, "live" if those of the events before were learned. docs/intervals.md says what is
        promised. Infinite while too few events were learned.
        """
        rows = self._checked_for_prediction(X)
        return self._model.intervals(self._model.margins(rows, answer=answer), coverage, answer)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, *, answer: Answer = "steady") -> float:
        """R² of `predict`."""
        return float(r2_score(y, self.predict(X, answer=answer), sample_weight=sample_weight))

    @property
    def coef_(self) -> Array:
        """The weights of the steady answer, which is a linear model, in the units of X."""
        weights: Array = super().coef_[0]
        return weights

    def freeze(self) -> ODCARegressor:
        """The steady answer as a plain linear regression, fitted: see `AutoLearner.freeze`."""
        check_is_fitted(self)
        regressor = ODCARegressor.around(self._model.freeze(), self, loss=self.loss)
        regressor.n_outputs_ = 0
        return regressor

    def _learn(self, X: Any, y: Array, weight: Array | None, time: Any) -> None:
        model = (
            self._model
            if "_model" in self.__dict__
            else ExpertRegressor(AutoLearner("numbers", products=self.products, loss=self.loss))
        )
        if model.learner.loss != auto_loss(self.loss, "numbers"):
            raise ValueError(
                f"the model was created with loss={model.learner.loss!r}, and loss is now {self.loss!r}. Use fit, which begins anew."
            )
        model.learn(X, y[:, None], sample_weight=weight, time=time)
        self._model = model

    def _restore_model(self, learner: AutoLearner, saved: ModelFile) -> None:
        del saved
        if learner.task != "numbers":
            raise ValueError("its learner is for classes.")
        if learner.loss != auto_loss(self.loss, "numbers"):
            raise ValueError("its loss is not that of its learner.")
        self._model = ExpertRegressor(learner)

    def _check_options(self) -> None:
        super()._check_options()
        auto_loss(self.loss, "numbers")

    def _checked_targets(self, X: Any, y: Any) -> Array:
        self._require_labels(X, y)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        return np.asarray(column_or_1d(targets, warn=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = isinstance(as_loss(self.loss), Poisson)
        return tags
