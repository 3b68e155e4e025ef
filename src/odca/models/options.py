"""The options of a model, with the same names in every interface, and the meaning of "auto"."""

from dataclasses import fields, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from odca.errors import InputError, Remedy
from odca.learner_options import can_choose, default_rho
from odca.losses import MARGIN_LOSSES, AbsoluteError, LogLoss, Loss, Poisson, Quantile, SquaredError, as_loss
from odca.penalties import KL, L2, Penalty, as_penalty
from odca.records import record
from odca.validation.numbers import whole
from odca.windows import Automatic, Window, as_window

Task: TypeAlias = Literal["classes", "numbers"]
Label: TypeAlias = float | str
Memory: TypeAlias = Literal["events", "time"]
Answer: TypeAlias = Literal["live", "steady"]
"""Which prediction is wanted: "live" while labels keep coming in, "steady" while none do."""
Products: TypeAlias = Literal["auto", False] | int
"""How many products of two features an automatic model may use: "auto" is up to 128 where they can help, False none."""
OrAuto: TypeAlias = float | Literal["auto"]

MOST_PRODUCTS = 2080  # all pairs of 64 features

OF_ESTIMATORS = (
    "loss",
    "penalty",
    "rho",
    "window",
    "smoothing",
    "prior_strength",
    "intercept",
    "intercept_penalty",
    "scale",
)


@record(kw_only=True)
class ModelOptions:
    """What is learned, and how. The first events decide what is None or "auto"; see docs/options.md.

    task: whether labels are classes or numbers. None: classes if the loss is for classes, or if labels are text or only two.
    loss: None is log loss for classes and squared error for numbers.
    penalty: as for `Learner`.
    rho, window: "auto" learns with several and predicts with what has predicted best lately; see `Learner`.
    smoothing: "auto" follows the window; with rho="auto" or window="auto" it is 0.
    prior_strength: "auto" is a tenth of the squared length of the first event for classes, and 0 for numbers; with
        rho="auto" it is 0.
    intercept, intercept_penalty: whether there is a constant feature, and the factor of its penalty.
    scale: "auto" scales features that have units (dense arrays, tables, JSON, dictionaries), unless the weights have a
        meaning in these units (KL, prior_mean).
    classes: all classes, if they are known in advance.
    auto: None for one linear model. "events" or "time" for an automatic model (`AutoLearner`), whose memories are measured in
        events or in time; it ignores loss, penalty, rho, window and so on.
    products: of an automatic model, how many products of two features are used.
    """

    task: Task | None = None
    loss: object | None = None
    penalty: Penalty = L2()
    rho: OrAuto = "auto"
    window: Window = Automatic()
    smoothing: OrAuto = "auto"
    prior_strength: OrAuto = "auto"
    intercept: bool = True
    intercept_penalty: float = 1.0
    scale: bool | Literal["auto"] = "auto"
    classes: tuple[Label, ...] = ()
    auto: Memory | None = None
    products: Products = "auto"

    @classmethod
    def of(cls, owner: object, **others: Any) -> "ModelOptions":
        """The options of an estimator, read from its attributes; `others` are those that have other names there.

        Losses, penalties and windows may be given by name: "hinge", "elasticnet:0.2", "36h".
        """
        options = {name: getattr(owner, name) for name in OF_ESTIMATORS if name not in others} | others
        for name in ("rho", "smoothing", "prior_strength"):
            _require_number_or_auto(name, options[name])
        if options["scale"] not in ("auto", True, False):
            raise ValueError(f"scale must be 'auto', True or False; got {options['scale']!r}.")
        meant = {"loss": as_loss, "penalty": as_penalty, "window": as_window}
        return cls(**options | {name: read(options[name]) for name, read in meant.items()})

    @property
    def uses_time(self) -> bool:
        """Whether events need a time."""
        return self.window.uses_time or self.auto == "time"

    def resolved(self, *, in_units: bool, first: npt.ArrayLike) -> "ModelOptions":
        """The options without any "auto", for a known task and loss.

        in_units: whether features have units, so that "auto" scales them. first: the values of the first event's features.
        """
        scale = in_units and not isinstance(self.penalty, KL) if self.scale == "auto" else bool(self.scale)
        rho, window, smoothing, strength = self.rho, self.window, self.smoothing, self.prior_strength
        if not can_choose(self.loss):
            rho, window = default_rho(scale=scale) if isinstance(rho, str) else rho, window.fixed
        if isinstance(smoothing, str):
            chooses = isinstance(rho, str) or isinstance(window, Automatic)
            smoothing = 0.0 if chooses else window.default_smoothing
        if isinstance(strength, str):
            restrained = self.task == "classes" and not isinstance(rho, str) and not isinstance(self.penalty, KL)
            strength = _prior_strength_for(np.asarray(first, np.float64), scale=scale) if restrained else 0.0
        return replace(self, scale=scale, rho=rho, window=window, smoothing=smoothing, prior_strength=strength)

    def of_learner(self, *, lanes: int | None) -> dict[str, Any]:
        """Resolved options as the keywords of `Learner` and `EventLearner`."""
        assert not any(isinstance(each, str) for each in (self.smoothing, self.prior_strength, self.scale))
        return {
            "loss": self.loss,
            "penalty": self.penalty,
            "rho": self.rho,
            "window": self.window,
            "smoothing": self.smoothing,
            "prior_strength": self.prior_strength,
            "intercept": self.intercept,
            "intercept_penalty": self.intercept_penalty if self.intercept else 1.0,
            "scale": self.scale,
            "lanes": lanes,
        }

    def require_resolved(self) -> None:
        """Raise ValueError for options that no model can have, such as those in a damaged file."""
        if self.task not in get_args(Task) or self.auto not in (None, *get_args(Memory)):
            raise ValueError(f"its task is {self.task!r}, and automatic by {self.auto!r}.")
        most_products(self.products)
        if not all(type(each) in {float, str} for each in self.classes) or len({*self.classes}) < len(self.classes):
            raise ValueError("its classes are not distinct numbers or texts.")
        if (self.task == "classes") != (len(self.classes) >= 2):
            raise ValueError(f"its task is {self.task}, and it has {len(self.classes)} classes.")
        for name, kind in (("window", Window), ("penalty", Penalty)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"its {name} is {getattr(self, name)!r}.")  # noqa: TRY004 - of a damaged file
        for name in ("rho", "smoothing", "prior_strength", "intercept", "intercept_penalty", "scale"):
            if not isinstance(getattr(self, name), str | float | int | list | np.ndarray):
                raise ValueError(f"its {name} is {getattr(self, name)!r}.")  # noqa: TRY004 - of a damaged file

    def as_options(self) -> dict[str, Any]:
        """For a model file."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def is_steady(answer: Answer) -> bool:
    """Whether `answer` asks for the steady answer. ValueError if it is neither of the two."""
    if answer not in get_args(Answer):
        raise ValueError(f"answer must be 'live' or 'steady'; got {answer!r}.")
    return answer == "steady"


def most_products(products: Products) -> int:
    """The number of products for the core, where -1 is "auto". ValueError if `products` is none of the possible values."""
    if products == "auto":
        return -1
    if products is False:
        return 0
    if isinstance(products, bool) or not hasattr(products, "__index__"):
        raise ValueError(f"products must be 'auto', False, or the largest number of products; got {products!r}.")
    return whole(products, "products", least=0, most=MOST_PRODUCTS)


def default_loss(task: Task) -> LogLoss | SquaredError:
    """The default loss of a task."""
    return LogLoss() if task == "classes" else SquaredError()


AUTO_LOSSES = (SquaredError, AbsoluteError, Quantile, Poisson)
"""The losses of the automatic mode for numbers. Classes have log loss."""


def auto_loss(loss: object, task: Task) -> Loss:
    """The loss of an automatic model, from its name or as an object; None is the default of the task. ValueError if it has none such."""
    if loss is None:
        return default_loss(task)
    found = as_loss(loss)
    if task == "classes" and not isinstance(found, LogLoss):
        raise ValueError(f"an automatic model of classes has log_loss; got loss={loss!r}. Leave it out.")
    if task == "numbers" and not isinstance(found, AUTO_LOSSES):
        names = ", ".join("quantile:Q" if kind is Quantile else kind.name for kind in AUTO_LOSSES)
        raise ValueError(f"an automatic model of numbers has the losses {names}; got loss={loss!r}.")
    assert isinstance(found, Loss)
    return found


def require_loss_for(task: Task, loss: object) -> None:
    """Raise ValueError for one of odca's losses that is not for the task. Squared error is for both."""
    is_for_classes = isinstance(loss, MARGIN_LOSSES)
    if task == "numbers" if is_for_classes else task == "classes" and loss != SquaredError():
        raise ValueError(f"{loss!r} is not for {task}. Choose another loss, or another task.")


def _prior_strength_for(first: npt.NDArray[Any], *, scale: bool) -> float:
    """a₀ = (1 + ‖h‖²)/10, with which the first events move a classifier's margins by a few units, whatever their length.

    An event moves its own margin by s = ‖h‖²/A per unit of λ ≤ 1. With A = ρΔ alone, the first events would move it too far
    while Δ is small. h is the first event; scaled features are about 1 each, so ‖h‖² is their number.
    """
    with np.errstate(over="ignore"):
        squared_length = float(len(first) if scale else first @ first)
    if not np.isfinite(squared_length):
        raise InputError(
            "the values are too large: their squares are not finite.",
            row=0,
            remedy=Remedy("Scale the features ({scale}).", scale=True),
        )
    return 0.1 * (1.0 + squared_length)


def numbers_first(label: Any) -> tuple[bool, Any]:
    """A key to sort labels by: numbers come before text, which cannot be compared with them."""
    return isinstance(label, str), label


def label_text(label: Label) -> str:
    """A label as a person writes it: 1 and not 1.0.

    >>> label_text(1.0), label_text("UP")
    ('1', 'UP')
    """
    if isinstance(label, str | bool):
        return str(label)
    return str(int(label)) if label == int(label) and abs(label) < 1e15 else repr(float(label))


def _require_number_or_auto(name: str, value: object) -> None:
    if isinstance(value, str) and value != "auto":
        raise ValueError(f"{name} must be a number or 'auto'; got {value!r}.")
