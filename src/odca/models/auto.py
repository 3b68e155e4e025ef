"""The automatic mode: experts with different strengths and memories, mixed by how well they predict. See docs/auto.md."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.io import model_file
from odca.learner import Learner
from odca.lineage import MOST_PARTS
from odca.losses import Loss, Poisson
from odca.models.auto_report import AutoReport
from odca.models.calibration import sigmoid
from odca.models.options import Answer, Products, auto_loss, is_steady, most_products
from odca.models.uncertainty import Uncertainty, require_some
from odca.products import Product, from_arrays
from odca.records import record
from odca.validation.arrays import Array, as_columns, as_matrix, as_times
from odca.validation.numbers import whole

Task: TypeAlias = Literal["classes", "numbers"]


MOST_CLASSES = 2**20
STEADY = -1
"""The position of the steady answer among the predictions of an event."""


@record
class Asked:
    """The predictions of an `AutoLearner` for events, to be kept until their labels come.

    `asked[rows]` are those of some of the events: `rows` is a slice, or an array of indices.
    """

    answers: Array
    """The live answers, in the form of `AutoLearner.predict`."""
    said: Array
    """The margins of every expert, the live answer and the steady one: (n, heads, experts + 2)."""
    after: int
    """The number of events that had been learned."""

    def __getitem__(self, rows: Any) -> "Asked":
        return Asked(self.answers[rows], self.said[rows], self.after)

    @property
    def native(self) -> tuple[Array, int]:
        """The same for the core."""
        return np.ascontiguousarray(self.said), self.after


@record
class SteadyModel:
    """The steady answer as a linear model of features and products."""

    weights: Array
    intercepts: Array
    curvature: float
    """The mean curvature along the weights: how much was learned about them."""
    products: tuple[Product, ...]

    def arranged(self, by: Callable[[Array], Array]) -> "SteadyModel":
        """The model with other heads: `by` makes their numbers from those of all heads, whose axis is the first."""
        products = (replace(each, weights=tuple(by(np.array(each.weights)).tolist())) for each in self.products)
        return replace(self, weights=by(self.weights), intercepts=by(self.intercepts), products=tuple(products))


class AutoLearner(model_file.Savable):
    """Learns classes or numbers from a stream, with nothing to tune.

    Fourteen experts learn from each row, which is read once: isotropic steps of three strengths, AdaGrad and a proportionate variant,
    diagonal Newton steps with two priors and with a short memory, Newton steps with a full covariance of the dense features, with and
    without forgetting, and the mean label over four memories. Three mixers (Bayes with a
    fixed share, KL on the simplex, a Kalman filter) combine their predictions, and the prediction mixes the mixers. Each feature is
    scaled automatically, so units do not matter.

    task: "classes", whose labels are 0, 1, 2, ..., or "numbers".
    classes: the number of classes known so far. Others may appear later, each with the next label; they are predicted from their first
        event on.
    products: "auto" lets the stream choose up to 128 products of two features, which further experts use; False uses none, and a
        number is the largest number of products, also where "auto" would choose none (bags of words).
    loss: what numbers are judged by: "squared_error" (predicts means), "absolute_error" (medians), "quantile:0.9" or Quantile(0.9), or
        "poisson" (counts: predicts means, which are positive).

    For each event, `learn` and `predict` return the log-odds of class 1 if there are two classes, the log probabilities of all classes if
    there are more (the steady answer returns logits; `probabilities` converts both), or the number. Features may appear at any time. Any
    split of a stream into calls gives the same model. A call that raises ValueError leaves the model unchanged. Several threads may use
    one learner.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)) * [1.0, 1000.0, 0.001]
    >>> y = (X @ [1.0, 0.002, 0.0] > 0.0).astype(float)
    >>> learner = AutoLearner("classes")
    >>> odds = learner.learn(X, y)  # each event's from before it was learned
    >>> bool(np.mean((odds[1000:] > 0.0) == y[1000:]) > 0.95)
    True
    """

    kind = "AutoLearner"

    def __init__(self, task: Task, *, classes: int = 2, products: Products = "auto", loss: object = None) -> None:
        if task not in {"classes", "numbers"}:
            raise ValueError(f"task must be 'classes' or 'numbers'; got {task!r}.")
        self.task: Task = task
        self.loss: Loss = auto_loss(loss, task)
        self._core = _core.Experts(
            task=task,
            classes=whole(classes, "classes", least=2, most=MOST_CLASSES),
            products=most_products(products),
            loss=self._number_loss(),
        )

    def _number_loss(self) -> _core.Loss | None:
        return self.loss.native() if self.task == "numbers" else None

    def learn(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        asked: Asked | Sequence[Asked] | None = None,
    ) -> Array:
        """Learn from events in order; return the predictions, each from before its event was learned.

        With event times, memories are measured in time, in units of the mean time between two events. For labels that come later,
        `asked` is what `ask` returned for these events; or a list, if they were asked about at different moments.
        """
        matrix, rows, _ = as_matrix(X)
        weight = None if sample_weight is None else as_columns(sample_weight, "sample_weight", rows, 1)[:, 0].copy()
        moments = None if time is None else as_times(time, rows)
        labels = np.ascontiguousarray(as_columns(y, "y", rows, 1)[:, 0])
        parts = [asked] if isinstance(asked, Asked) else asked
        kept = None if parts is None else [each.native for each in parts]
        return self.shaped(self._core.learn(matrix, labels, weight, moments, kept))

    def ask(self, X: Any) -> Asked:
        """The live answers for events whose labels come later, and what `learn` needs then.

        The mixing weights then learn from the predictions that the experts made at this moment, that is, without the labels that are
        still missing. From the first late label on, live answers are mixed with steady ones, by how good both were. If no other event
        is learned in between, the result is the same as without `ask`, to the bit.
        """
        answers, (said, after) = self._core.ask(as_matrix(X)[0])
        return Asked(self.shaped(answers), said, after)

    def predict(self, X: Any, *, answer: Answer = "live") -> Array:
        """The prediction for each event. The model does not change.

        answer: "live" if these events follow those learned last; "steady" if no labels are coming in, as for a model that was trained
        once and is then used.
        """
        return self.shaped(self._core.predict(as_matrix(X)[0], steady=is_steady(answer)))

    def predict_interval(self, X: Any, coverage: float = 0.9, *, answer: Answer = "live") -> Array:
        """[lower, upper] for the number of each event, (n, 2): a share of `coverage` of the labels lies within.

        docs/intervals.md says what is promised. Infinite while too few events were learned.
        """
        return self.intervals(self.predict(X, answer=answer), coverage, answer=answer)

    def predict_set(self, X: Any, coverage: float = 0.9, *, answer: Answer = "live") -> npt.NDArray[np.bool_]:
        """Which classes belong to the set of each event, (n, classes): a share of `coverage` of the sets holds the label.

        docs/intervals.md says what is promised. All classes while too few events were learned.
        """
        return self.sets(self.predict(X, answer=answer), coverage, answer=answer)

    def intervals(self, predictions: Array, coverage: float = 0.9, *, answer: Answer) -> Array:
        """The intervals of events, from what `predict` returned."""
        if self.task != "numbers":
            raise ValueError("intervals are for numbers, and this learner predicts classes: use predict_set.")
        require_some(known := self.uncertainty, self.count)
        found = np.asarray(predictions[:, None] + np.array(known.bounds(coverage, answer)))
        return np.maximum(found, 0.0) if isinstance(self.loss, Poisson) else found

    def sets(self, predictions: Array, coverage: float = 0.9, *, answer: Answer) -> npt.NDArray[np.bool_]:
        """The sets of events, from what `predict` returned."""
        if self.task == "numbers":
            raise ValueError("sets are for classes, and this learner predicts numbers: use predict_interval.")
        require_some(known := self.uncertainty, self.count)
        return np.asarray(self.probabilities(predictions) >= known.least_probability(coverage, answer))

    @property
    def coef(self) -> Array:
        """The weights of the steady answer, which is a linear model: (n_features,), or (classes, n_features) for several classes.

        X @ coef.T + intercept, and what the `products` add, is the log-odds for two classes, the number, or the logits for several
        classes.
        """
        weights = self.linear().weights
        return weights[0] if len(weights) == 1 else weights

    @property
    def intercept(self) -> Array | float:
        """The intercept of the steady answer; one for each of several classes."""
        intercept = self.linear().intercepts
        return float(intercept[0]) if len(intercept) == 1 else intercept

    @property
    def products(self) -> tuple[Product, ...]:
        """The products of two features in the steady answer, with a weight for each, or one for each of several classes.

        They add to the linear model of `coef` and `intercept`.
        """
        return self.linear().products

    def linear(self) -> "SteadyModel":
        """The steady answer as of now: weights (heads, n_features), intercepts (heads,), and products."""
        weights, intercepts, curvature, *products = self._core.linear()
        return SteadyModel(weights, intercepts, curvature, from_arrays(*products))

    def freeze(self) -> Learner:
        """The steady answer as a plain linear model, which is small and has all methods of `Learner`.

        It starts at the weights of the steady answer (its `prior_mean`), with a lane for each of several classes. If training continues,
        the penalty keeps the weights near there, with a strength that is the mean curvature of the stream over the features: new events
        count about as much as earlier ones. Its products keep their weights. It has no experts and does not scale X, so keep the
        automatic learner for further training.
        """
        return Learner(**self.frozen_options())

    def frozen_options(self, *, features: int = 0, mirrored: bool = False) -> dict[str, Any]:
        """The options of such a model, with at least this many features; mirrored: for the first of two classes."""
        model = self.linear().arranged((lambda values: -values) if mirrored else np.copy)
        weights, intercepts = model.weights, model.intercepts
        mean = np.pad(weights, ((0, 0), (0, max(features - weights.shape[1], 0))))
        single = len(mean) == 1
        return {
            "loss": self.loss,
            "prior_strength": model.curvature,
            "prior_mean": mean[0] if single else mean,
            "prior_intercept": float(intercepts[0]) if single else intercepts,
            "intercept": True,
            "scale": False,
            "lanes": None if single else len(mean),
            "products": tuple(each for each in model.products if any(each.weights)),
        }

    def probabilities(self, answers: Array) -> Array:
        """P(class) of each event, with one column per class, from what `learn` or `predict` returned."""
        if self.task == "numbers":
            raise ValueError("numbers have no probabilities.")
        if answers.ndim == 1:
            p = sigmoid(answers)
            return np.column_stack([1.0 - p, p])
        return _core.softmax(np.ascontiguousarray(answers))

    def declare(self, classes: int) -> None:
        """Declare this many classes, of which some may appear later. Other classes are added when they appear."""
        if self.task == "numbers":
            raise ValueError("numbers have no classes.")
        self._core.declare(whole(classes, "classes", least=2, most=MOST_CLASSES))

    # Several learners

    def merge(self, other: "AutoLearner", *, features: Sequence[int] = (), classes: Sequence[int] = ()) -> Self:
        """Return a learner with the events of both, which learned from different ones. docs/merging.md says what that means.

        features, classes: the numbers here of the other's features and classes, if they differ.
        """
        if other.task != self.task:
            raise ValueError(f"merge needs learners of one task; one learns {self.task}, the other {other.task}.")
        if other.loss != self.loss:
            raise ValueError(f"merge needs learners of one loss; one has {self.loss}, the other {other.loss}.")
        merged = self.copy()
        merged.native.merge(other.native, list(features), list(classes))
        return merged

    def split(self, parts: int) -> list[Self]:
        """Return this many learners, which merge to this one: each makes the same predictions and has a share of the events."""
        return [self.part(number, parts) for number in range(whole(parts, "parts", most=MOST_PARTS))]

    def part(self, number: int, parts: int) -> Self:
        """Return one of the learners of `split`, counted from 0, without making the others."""
        count = whole(parts, "parts", most=MOST_PARTS)
        share = self.copy()
        share.native.become_part(whole(number, "number", least=0, most=count - 1), count)
        return share

    def report(self, names: Sequence[str] = ()) -> AutoReport:
        """Which experts have the most weight now, how that changed over the stream, and what the steady answer mixes.

        names: of the features, for the products that are used; without, feature 3 is "x3".
        """
        return AutoReport.of(self._core, self.loss, names)

    @property
    def uncertainty(self) -> Uncertainty:
        """How far from the truth the live and the steady predictions have been, as of now: see docs/intervals.md."""
        return Uncertainty(self.task, self._core.uncertainty())

    @property
    def classes(self) -> int:
        """The number of classes; 0 for numbers."""
        return 0 if self.task == "numbers" else self._core.classes

    @property
    def native(self) -> _core.Experts:
        """The native experts, for code that builds on them."""
        return self._core

    @property
    def count(self) -> int:
        """The number of events learned from."""
        return self._core.count

    @property
    def n_features(self) -> int:
        """The number of features seen so far."""
        return self._core.features

    # State

    def get_state(self) -> dict[str, Array]:
        """The complete state as arrays."""
        return dict(self._core.state())

    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        return self.restored(self.saved())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AutoLearner):
            return NotImplemented
        mine, its = self.get_state(), other.get_state()
        return (self.task, self.classes, self.loss) == (other.task, other.classes, other.loss) and all(
            np.array_equal(mine[name], its[name]) for name in mine
        )

    __hash__ = None  # type: ignore[assignment] # a learner changes

    def saved(self) -> model_file.ModelFile:
        """The contents of the learner's model file."""
        return model_file.ModelFile(self.kind, self._options(), {**self.get_state()})

    def _options(self) -> dict[str, Any]:
        """What a file says of the learner besides its state. Squared error, which every older file has, is left out."""
        by_default = self.loss == auto_loss(None, self.task)
        return {
            "task": self.task,
            "classes": max(self.classes, 2),
            **({} if by_default else {"loss": self.loss}),
        }

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner of a model file. ValueError (or a similar error) if it is invalid."""
        del loss
        learner = cls.__new__(cls)
        learner._become(dict(saved.arrays), **saved.options)  # noqa: SLF001 - of its own class
        return learner

    def _become(self, state: dict[str, Any], *, task: Task, classes: int, loss: object = None) -> None:
        """Make room for no more than the state has, and take it over."""
        self.task, self.loss = task, auto_loss(loss, task)
        self._core = _core.Experts.restored(
            task=str(task),
            classes=whole(classes, "classes", least=2, most=MOST_CLASSES),
            state=state,
            loss=self._number_loss(),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self._options(), "state": self.get_state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self._become(**saved)

    def __repr__(self) -> str:
        what = f"{self.classes} classes" if self.task == "classes" else "numbers"
        return f"<AutoLearner of {what}, {self.count} events, {self.n_features} features>"

    def shaped(self, answers: Array) -> Array:
        """The predictions of the core, (n, heads), with one dimension if there is one number per event."""
        return answers[:, 0] if answers.shape[1] == 1 else answers
