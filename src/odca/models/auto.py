"""The automatic mode: experts with many strengths and memories, mixed by how well they predict. See docs/auto.md."""

from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.io import model_file
from odca.models.auto_report import AutoReport
from odca.validation.arrays import Array, as_columns, as_matrix, as_times
from odca.validation.numbers import whole

Task: TypeAlias = Literal["classes", "numbers"]


class AutoLearner(model_file.Savable):
    """Learns classes or numbers from a stream, with nothing to tune.

    Twelve experts learn from each row, which is read once: isotropic steps of three strengths, AdaGrad and a proportionate variant,
    diagonal Newton steps with two priors and with a short memory, and the mean label over four memories. Three mixers (Bayes with a
    fixed share, KL on the simplex, a Kalman filter) combine their predictions, and the prediction mixes the mixers. Each feature is
    scaled as it is seen, so units do not matter.

    task: "classes", whose labels are 0, 1, 2, ..., or "numbers".
    classes: the number of classes known so far. Others may appear later, each with the next label; they are predicted from their first
        event on.

    What `learn` and `predict` return is, for each event, the log odds of class 1 where there are two classes, the log probabilities of all where
    there are more, or the number. Features may appear at any time. Any split of a stream into calls gives the same model. A call that raises
    ValueError leaves the model as it was. Several threads may use one learner.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)) * [1.0, 1000.0, 0.001]
    >>> y = (X @ [1.0, 0.002, 0.0] > 0.0).astype(float)
    >>> learner = AutoLearner("classes")
    >>> odds = learner.learn(X, y)  # each event's from before it was learned
    >>> bool(np.mean((odds[1000:] > 0.0) == y[1000:]) > 0.95)
    True
    """

    kind = "AutoLearner"

    def __init__(self, task: Task, *, classes: int = 2) -> None:
        if task not in {"classes", "numbers"}:
            raise ValueError(f"task must be 'classes' or 'numbers'; got {task!r}.")
        self.task: Task = task
        self._core = _core.Experts(task=task, classes=whole(classes, "classes", least=2))

    def learn(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> Array:
        """Learn from events in order; return the prediction for each, made before it was learned.

        With event times, memories are measured in time, in units of the mean time between two events.
        """
        matrix, rows, _ = as_matrix(X)
        weight = None if sample_weight is None else as_columns(sample_weight, "sample_weight", rows, 1)[:, 0].copy()
        moments = None if time is None else as_times(time, rows)
        labels = np.ascontiguousarray(as_columns(y, "y", rows, 1)[:, 0])
        return self.shaped(self._core.learn(matrix, labels, weight, moments))

    def predict(self, X: Any) -> Array:
        """The prediction for each event. The model does not change."""
        return self.shaped(self._core.predict(as_matrix(X)[0]))

    def probabilities(self, answers: Array) -> Array:
        """P(class) of each event, one column for each class, from what `learn` or `predict` returned."""
        if self.task == "numbers":
            raise ValueError("numbers have no probabilities.")
        if answers.ndim == 1:
            p = 1.0 / (1.0 + np.exp(-answers))
            return np.column_stack([1.0 - p, p])
        p = np.exp(answers)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def declare(self, classes: int) -> None:
        """Make room for so many classes, which may come later. One that was not declared is met when it comes."""
        if self.task == "numbers":
            raise ValueError("numbers have no classes.")
        self._core.declare(whole(classes, "classes", least=2))

    def report(self) -> AutoReport:
        """Which experts carry the weight now, and how that changed over the stream."""
        return AutoReport.of(self._core.weights(), self._core.history(), self.task, self._core.mean_norm)

    @property
    def classes(self) -> int:
        """How many classes there are; 0 for numbers."""
        return 0 if self.task == "numbers" else self._core.classes

    @property
    def native(self) -> _core.Experts:
        """The native experts, for code that is built on them."""
        return self._core

    @property
    def count(self) -> int:
        """How many events were learned from."""
        return self._core.count

    @property
    def n_features(self) -> int:
        """The number of features seen so far."""
        return self._core.features

    # State

    def get_state(self) -> dict[str, Array]:
        """All that was learned, as arrays."""
        return dict(self._core.state())

    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        return self.restored(self.saved())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AutoLearner):
            return NotImplemented
        mine, its = self.get_state(), other.get_state()
        return (self.task, self.classes) == (other.task, other.classes) and all(
            np.array_equal(mine[name], its[name]) for name in mine
        )

    __hash__ = None  # type: ignore[assignment] # a learner changes

    def saved(self) -> model_file.ModelFile:
        """What a file holds of the learner."""
        return model_file.ModelFile(
            self.kind, {"task": self.task, "classes": max(self.classes, 2)}, {**self.get_state()}
        )

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner that a file holds. ValueError (or the like) if it holds none."""
        del loss
        learner = cls(saved.options["task"], classes=saved.options["classes"])
        learner._core.restore(dict(saved.arrays))
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return {"task": self.task, "classes": max(self.classes, 2), "state": self.get_state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["task"], classes=saved["classes"])  # type: ignore[misc] # a learner is its options and its state
        self._core.restore(saved["state"])

    def __repr__(self) -> str:
        what = f"{self.classes} classes" if self.task == "classes" else "numbers"
        return f"<AutoLearner of {what}, {self.count} events, {self.n_features} features>"

    def shaped(self, answers: Array) -> Array:
        """The answers of the core, (n, heads), with one dimension where there is one number for each event."""
        return answers[:, 0] if answers.shape[1] == 1 else answers
