"""The learner: the Python interface of the native core. It validates its arguments and contains no mathematics."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from odca import _core, lineage
from odca import products as product_terms
from odca.errors import InputError
from odca.io import model_file
from odca.learner_file import LINEAGE, filed, saved_options
from odca.learner_options import (
    MOST_LANES,
    LearnerOptions,
    Numbers,
    can_choose,
    candidates_of,
    count_lanes,
    default_rho,
    fixed_features,
    frozen,
    options_of_lanes,
    per_lane,
    shape_of,
)
from odca.losses import as_native, label_rule
from odca.penalties import KL, L2, Penalty
from odca.products import Product
from odca.reports import Delta, Diagnostics, FitReport
from odca.validation.arrays import Array, as_columns, as_floats, as_matrix, as_times
from odca.validation.numbers import real, whole, yes_or_no
from odca.windows import Automatic, Infinite, Window

MOST = 2**62
"""Of whole numbers that the core counts with."""


class Learner(LearnerOptions, model_file.Savable):
    """Learns a linear model from a stream in one pass: min (1/Δ) Σ δ_n Q(b_n + h_nᵀw; y_n) + ρ R(w). There is no step size.

    All options are keyword-only.

    loss: one of odca's losses, an object with `dual(p, s, y)` or `gradient(z, y)`, or a `CompiledLoss`.
    penalty: R. L2, ElasticNet, NonNegative, Box or KL.
    rho: ρ ≥ 0, the strength of the penalty relative to the total weight of the events. "auto" learns with six constant
        strengths side by side and answers with the one whose predictions were best lately (docs/options.md).
    window: how past events are weighted. Infinite, Exponential, HalfLife or Sliding. "auto" learns with several windows
        side by side, and answers with the one whose predictions were best lately; with rho="auto" too, with several pairs.
    smoothing: κ in [0, 1]. Predictions use w̄ = Σ κ^(N-n) w_n / Σ κ^(N-n); 0 uses w itself.
    prior_strength: a₀ ≥ 0, a constant strength: the penalty is multiplied by ρΔ + a₀. Required if rho=0.
    prior_mean: w₀, the weights to start from: the penalty applies to w - w₀.
    penalty_weights: a_j > 0, a factor for the penalty of each feature; 1 for features beyond the end of the array.
    intercept: adds a constant feature, whose penalty is always L2. intercept_penalty is the factor of its penalty (small: almost
        unpenalised), prior_intercept its w₀: one number, or one per lane.
    scale: standardise the rows with statistics of the window's events (of the longest window, if lanes differ). Dense rows
        are centred and divided by the standard deviation; sparse rows are divided by the root mean square of each
        feature's non-zero values. The penalty applies to the weights of the standardised features; `coef` and `intercept`
        are in the units of X.
    lanes: the number of models to learn from the same rows. Then y is (n, lanes), or (n,) for all of them, and
        rho, prior_strength and the window's parameter may be sequences. By default it is the length of these, or there is one model
        and y is (n,).
    n_features: the number of features, for KL without a prior.
    products: products of two features, each with fixed weights, which add to every margin as an offset would. `AutoLearner.freeze`
        makes them.

    New features may appear at any time (except with KL). Any split of a stream into calls gives the same model. A call
    that raises ValueError leaves the model unchanged. Several threads may use one learner.
    """

    kind = "Learner"

    def __init__(
        self,
        *,
        loss: object,
        penalty: Penalty = L2(),  # noqa: B008 - frozen
        rho: Numbers | Literal["auto"] = "auto",
        window: Window | Literal["auto"] = Infinite(),  # noqa: B008 - frozen
        smoothing: float = 0.0,
        prior_strength: Numbers = 0.0,
        prior_mean: npt.ArrayLike | None = None,
        prior_intercept: Numbers = 0.0,
        penalty_weights: npt.ArrayLike | None = None,
        intercept: bool = False,
        intercept_penalty: float = 1.0,
        scale: bool = False,
        lanes: int | None = None,
        n_features: int | None = None,
        products: Sequence[Product] = (),
    ) -> None:
        if not isinstance(penalty, Penalty):
            raise TypeError(f"penalty must be L2(), ElasticNet(...), NonNegative(), Box(...) or KL(); got {penalty!r}.")
        if window == "auto":
            window = Automatic()
        if not isinstance(window, Window):
            raise TypeError(
                f"window must be Infinite(), Exponential(...), HalfLife(...), Sliding(...) or 'auto'; got {window!r}."
            )
        intercept, scale = yes_or_no(intercept, "intercept"), yes_or_no(scale, "scale")
        if scale and (isinstance(penalty, KL) or prior_mean is not None):
            raise ValueError(
                "scale=True does not go with KL or prior_mean, whose weights are in the units of X. Scale X beforehand."
            )
        if isinstance(rho, str) and rho != "auto":
            raise ValueError(f"rho must be a number >= 0, one for each lane, or 'auto'; got {rho!r}.")
        if not can_choose(loss):
            rho, window = default_rho(scale=scale) if isinstance(rho, str) else rho, window.fixed
        self._options: dict[str, Any] = {
            "loss": loss,
            "penalty": penalty,
            "rho": rho if isinstance(rho, str) else frozen(rho, "rho"),
            "window": window,
            "smoothing": smoothing,
            "prior_strength": frozen(prior_strength, "prior_strength"),
            "prior_mean": frozen(prior_mean, "prior_mean"),
            "prior_intercept": frozen(prior_intercept, "prior_intercept"),
            "penalty_weights": frozen(penalty_weights, "penalty_weights"),
            "intercept": intercept,
            "intercept_penalty": intercept_penalty,
            "scale": scale,
            "lanes": lanes,
            "n_features": n_features,
        }
        if not 0.0 <= real(smoothing) <= 1.0:
            raise ValueError(f"smoothing must lie in [0, 1]; got {smoothing!r}. 0.999 averages about 1000 events.")
        count = count_lanes(lanes, rho=rho, prior_strength=prior_strength, window=window)
        self._single = count is None
        self._lanes = count or 1
        self._options["products"] = product_terms.checked(products, self._lanes)
        strengths = per_lane("rho", 0.0 if isinstance(rho, str) else rho, self._lanes)
        priors = per_lane("prior_strength", prior_strength, self._lanes)
        if not isinstance(rho, str) and np.any((strengths == 0.0) & (priors == 0.0)):
            raise ValueError(
                "rho and prior_strength are both 0: the problem has no strength. Give one of them a value > 0."
            )
        fixed = fixed_features(penalty, n_features, intercept=intercept)
        inverse_weights, means = shape_of(self._options, self._lanes, penalty)
        self._loss = as_native(loss)  # keeps a user's methods alive for the core, which only borrows them
        rule, hint = label_rule(loss)
        candidates = candidates_of(rho, window, penalty, smoothing)
        self._core = _core.Learner(
            loss=self._loss,
            label_rule=rule,
            label_hint=hint,
            penalty=penalty.native(fixed or None),
            window=window.native(),
            lanes=self._lanes,
            rho=strengths,
            prior_strength=priors,
            candidates=[each.native() for each in candidates] or None,
            kappa=float(smoothing),
            intercept=intercept,
            scale=scale,
            fixed_features=fixed,
            inverse_weights=inverse_weights,
            means=means,
            products=self._native_products(),
        )
        self._fixed = fixed
        self._lineage: lineage.Lineage | None = None  # as of when it was set: the learner may have changed since

    # Learning and predicting

    def learn(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        diagnostics: bool = False,
    ) -> Any:
        """Learn from events in order; return each event's prediction from before it was learned.

        X is dense or sparse, events by features. The predictions are margins b + hᵀw (hᵀw̄ with smoothing; with
        scale=True, h is standardised with the statistics up to and including its own event).
        `offset` is b, `time` holds the event times that HalfLife and Sliding(duration=...) need (for other windows they are
        validated but otherwise ignored). With diagnostics=True, a `Diagnostics` is returned instead.
        """
        arrays = self._core.learn(*self.as_events("learn", X, y, sample_weight, offset, time), bool(diagnostics))
        shaped = [self._per_event(array) for array in arrays]
        return Diagnostics(shaped[0], shaped[1], shaped[2], shaped[3].astype(bool)) if diagnostics else shaped[0]

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        shuffle: bool = True,
        seed: int = 0,
    ) -> FitReport:
        """Discard what was learned and solve the weighted problem of these events, to a certified duality gap.

        Each event has the weight that the window gives it after the last event. The first pass is O-DCA, further passes are
        S-DCA, until the gap is at most `tol` times the mean loss of the untrained model, or for at most
        `max_iter` passes, in a random order (`shuffle`, `seed`) or in the order of the rows. `learn` continues from the result as if
        the events had come from a stream (and, for w̄, as if every past w had been the result).

        The model is replaced at the end: an error or Ctrl-C leaves it unchanged, and until then other threads see the old one.
        One problem is solved. With rho="auto" it is that of rho=1e-5, or of 1e-3 with scale=True, and with window="auto"
        that of the infinite window; these are then the learner's own.
        """
        if isinstance(self.rho, str) or self.window.fixed != self.window:
            plain = type(self)(**self.fitted_options())
            report = plain.fit(
                X,
                y,
                sample_weight=sample_weight,
                offset=offset,
                time=time,
                tol=tol,
                max_iter=max_iter,
                shuffle=shuffle,
                seed=seed,
            )
            vars(self).update(vars(plain))
            return report
        if not 0.0 < real(tol) < math.inf:
            raise ValueError(f"tol must be a number > 0, a share of the loss at the start; got {tol!r}. Try 1e-4.")
        events = self.as_events("fit", X, y, sample_weight, offset, time)
        if not len(events[1]):
            raise ValueError("fit needs events; X has no rows.")
        passes = whole(max_iter, "max_iter", least=1, most=MOST)
        margin, done, gap, converged = self._core.fit(
            *events, float(tol), passes, bool(shuffle), whole(seed, "seed", least=0) % 2**64
        )
        return FitReport(self._per_event(margin), done, self.per_model(np.maximum(gap, 0.0)), converged)

    def fitted_options(self) -> dict[str, Any]:
        """The options of the one problem that `fit` solves, if this learner would choose a strength or a window itself."""
        rho = default_rho(scale=self.scale) if isinstance(self.rho, str) else self.rho
        return self._options | {"rho": rho, "window": self.window.fixed}

    def become_solution(self, solved: "Learner") -> None:
        """Hold the solution of `fitted_options` that another learner holds, which has no smoothing; as after `fit`."""
        made, state = type(self)(**self.fitted_options()), solved.get_state()
        if made.smoothing > 0.0:
            count, kappa = solved.count, made.smoothing
            mass = float(count) if kappa == 1.0 else -math.expm1(count * math.log(kappa)) / (1.0 - kappa)
            weights = np.ascontiguousarray(solved.native.weights(False)).ravel()
            timeline = {name: array for name, array in made.get_state().items() if name.startswith("timeline.")}
            state |= {"smooth_mass": np.array([mass]), "smooth": mass * weights, **timeline}
            state["seen"] = np.zeros(len(weights) // self._lanes, state["seen"].dtype)
        made.set_state(state)
        vars(self).update(vars(made))

    def predict(self, X: Any, *, offset: npt.ArrayLike | None = None, smoothed: bool | None = None) -> Array:
        """Return the margins b + hᵀw, by default with w̄ instead of w if smoothing is on."""
        matrix, rows = self._matrix(X)
        use_smoothed = self.smoothing > 0.0 if smoothed is None else bool(smoothed)
        margins: Array = self._per_event(
            self._core.predict(matrix, self._columns("offset", offset, rows), use_smoothed)
        )
        return margins

    # What was learned

    @property
    def coef(self) -> Array:
        """The weights w, of shape (n_features,), or (lanes, n_features)."""
        return self._weights(smoothed=False)

    @property
    def smoothed_coef(self) -> Array:
        """The smoothed weights w̄, in the shape of `coef`; without smoothing, w itself."""
        return self._weights(smoothed=True)

    @property
    def intercept(self) -> float | Array:
        """The weight of the constant feature, or 0 without one. (With scale=True, dense rows are centred: then it is the
        prediction for a row of zeros.)
        """
        return self._intercept(smoothed=False)

    @property
    def smoothed_intercept(self) -> float | Array:
        """The smoothed weight of the constant feature."""
        return self._intercept(smoothed=True)

    @property
    def dual_sum(self) -> Array:
        """S = Σ δ_n λ_n h_n, in the shape of `coef`."""
        return self._features(self._core.dual_sum())

    @property
    def mass(self) -> float | Array:
        """Δ = Σ δ_n, the total weight of the events in the window."""
        return self.per_model(self._core.scalars()["mass"])

    @property
    def strength(self) -> float | Array:
        """A = ρΔ + a₀, by which the penalty is multiplied now. With rho="auto", a₀ is the one that predicts best lately."""
        return self.per_model(self._core.scalars()["strength"])

    @property
    def count(self) -> int:
        """N, the number of events learned from."""
        return int(self._core.scalars()["count"])

    @property
    def clock(self) -> float | None:
        """The latest event time, for windows that depend on time; otherwise None."""
        clock = float(self._core.scalars()["clock"])
        return None if math.isinf(clock) else clock

    @property
    def effective_sample_size(self) -> float | Array:
        """(Σ δ)² / Σ δ²: the number of equally weighted events whose mean would be as precise."""
        scalars = self._core.scalars()
        mass, squared = scalars["mass"], scalars["squared_mass"]
        per_mass = np.divide(squared, mass, out=np.zeros_like(mass), where=mass > 0.0)  # mass² may be below all numbers
        return self.per_model(np.divide(mass, per_mass, out=np.zeros_like(mass), where=per_mass > 0.0))

    @property
    def saturation(self) -> float | Array:
        """The share of the total weight that belongs to events whose dual is at the end of its domain. It rises when the stream drifts."""
        scalars = self._core.scalars()
        mass, saturated = scalars["mass"], scalars["saturated"]
        share = np.divide(saturated, mass, out=np.zeros_like(mass), where=mass > 0.0)
        return self.per_model(np.clip(share, 0.0, 1.0))

    @property
    def n_features(self) -> int:
        """The number of features seen so far, without the intercept."""
        return int(self._core.scalars()["features"]) - self.has_intercept

    @property
    def native(self) -> _core.Learner:
        """The native learner, for code that is built on it."""
        return self._core

    @property
    def lanes(self) -> int:
        """The number of models that learn from the same events."""
        return self._lanes

    @property
    def is_single(self) -> bool:
        """Whether there is one model and no option has one value per lane: then labels and weights are one number per event."""
        return self._single

    @property
    def fixed_features(self) -> int | None:
        """With KL, the fixed number of features (the option `n_features`, or the length of its prior); otherwise None."""
        return self._fixed or None

    # Objectives

    def dual_objective(self) -> float | Array:
        """D_N, a certified lower bound of the weighted objective for every w; 0 before the first event."""
        return self.per_model(self._core.dual_objective())

    def primal_objective(self) -> float | Array:
        """The weighted objective of w over the events of a sliding window."""
        return self.per_model(self._core.primal_objective())

    def duality_gap(self) -> float | Array:
        """Primal minus dual objective over the events of a sliding window: the objective of w is at most this far above the minimum."""
        return self.per_model(np.maximum(self._core.duality_gap(), 0.0))  # below, it is rounding

    def objective(
        self,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        smoothed: bool = False,
    ) -> float | Array:
        """Return the weighted mean loss over these rows plus the penalty at its current strength."""
        margins = np.asarray(self.predict(X, offset=offset, smoothed=smoothed))
        z = margins.reshape(len(margins), self._lanes)
        labels = np.array(np.broadcast_to(as_columns(y, "y", len(z), self._lanes), z.shape))
        valid = self._loss.valid(labels.ravel()).reshape(z.shape).all(axis=1)
        if not valid.all():
            row = int(np.argmin(valid))
            raise InputError(f"{self.loss!r} is not defined for row {row} of y, which is {labels[row]}.", row=row)
        given = self._columns("sample_weight", sample_weight, len(z))
        weights = np.broadcast_to(np.ones((1, 1)) if given is None else given, z.shape)
        if not (np.all(weights >= 0.0) and np.all(np.isfinite(weights)) and np.all(weights.sum(axis=0) > 0.0)):
            raise ValueError(
                "objective needs rows of finite weights >= 0 that are not all zero; look at sample_weight and X."
            )
        losses = self._loss.value(z.ravel(), labels.ravel()).reshape(z.shape)
        return self.per_model(np.average(losses, axis=0, weights=weights) + self._core.penalty_term(smoothed))

    def loss_of(self, margins: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """Return the loss Q(margin; y) of each pair, in the shape of `margins`."""
        z, labels = np.broadcast_arrays(as_floats(margins, "margins"), as_floats(y, "y"))
        values: Array = self._loss.value(np.ravel(z), np.ravel(labels)).reshape(z.shape)
        return values

    # Sliding windows

    def refine(self, passes: int = 1, *, gap: float = 0.0, seed: int = 0) -> float | Array:
        """Revisit the events of a sliding window (S-DCA), in random order; return the duality gap.

        The dual objective never decreases, and w converges to the exact minimiser over the window. Stops early once the
        duality gap is at most `gap`: an absolute number, unlike the `tol` of `fit`.
        """
        if not real(gap) >= 0.0:
            raise ValueError(f"gap must be a number >= 0, a duality gap; got {gap!r}.")
        self._core.refine(whole(passes, "passes", least=0, most=MOST), float(gap), whole(seed, "seed", least=0) % 2**64)
        return self.duality_gap()

    def unlearn(self, event: int) -> None:
        """Remove one event (its number in the stream, from 0) from a sliding window: exactly its δλh."""
        self._core.unlearn(whole(event, "event", least=0, most=MOST))

    # Several learners

    def merge(self, other: "Learner") -> Self:
        """Return a learner with the events of both. docs/merging.md explains what this means for each window."""
        if not isinstance(other, Learner):
            raise TypeError(f"merge needs another Learner; got {other!r}.")
        self._require_same_problem(other.options, "merge")
        core = self._core.copy()
        core.merge(other.native)
        return self._made_of({**vars(self), "_core": core, "_lineage": None})

    def split(self, parts: int) -> list[Self]:
        """Return this many learners, which merge to this one: each has the same weights and a share of all sums.

        Each may then learn from different events, and they may be merged whenever you like: no interval makes the model diverge. The
        events of a sliding window are dealt out, so there the weights of the parts differ.
        """
        return [self.part(number, parts) for number in range(whole(parts, "parts", least=1, most=lineage.MOST_PARTS))]

    def part(self, number: int, parts: int) -> Self:
        """Return one of the learners of `split`, counted from 0, without making the others."""
        share, name = self.copy(), self.lineage.name
        share.native.become_part(number, parts)
        share._remember(lineage.part_of(name, number, parts))  # noqa: SLF001 - of its own class
        return share

    def delta(self, base: "Learner") -> Delta:
        """Return what this learner has learned since `base`, an earlier copy of it."""
        if not isinstance(base, Learner):
            raise TypeError(f"delta needs the Learner that this one was; got {base!r}.")
        self._require_same_problem(base.options, "delta")
        nothing = base.count == 0 and not np.any(base.get_state()["constant"])
        names = (lineage.NOTHING if nothing else base.lineage.name, self.lineage.name)
        return Delta(dict(self._core.delta(base.native)), self.options, *names)

    def apply(self, delta: Delta) -> None:
        """Add what another learner has learned since its base, which this learner must contain: it is the base, or was split into it.

        So the deltas of all parts of a `split` can be added, one after another and in any order; a second delta from one base is refused,
        because the steps of several learners from one base add up to more than is safe (docs/merging.md).
        """
        if not isinstance(delta, Delta):
            raise TypeError(f"apply needs what Learner.delta returned; got {delta!r}.")
        self._require_same_problem(delta.options, "apply")
        contents = self.lineage.replaced(delta.base, delta.later)
        self._core.apply(delta.arrays)
        self._remember(*contents)

    @property
    def lineage(self) -> lineage.Lineage:
        """Which states this learner is the sum of: itself, unless it is a part of a split or deltas were added to it."""
        now, known = lineage.digest(self.get_state()), self._lineage
        return known if known is not None and known.now == now else lineage.Lineage(now, (now,))

    def _remember(self, *contents: str) -> None:
        self._lineage = lineage.Lineage(lineage.digest(self.get_state()), contents)

    def with_lanes(self, sources: Sequence[int], mirrored: Sequence[bool] | None = None) -> "Learner":
        """Return a learner whose lane k is this one's lane `sources[k]`: lanes can be reordered, left out or duplicated.

        A mirrored lane is the lane that would have resulted, to the bit, if all its labels had been negated (only for margin losses
        with a symmetric penalty). A source of -1 gives a lane all of whose labels were -1 and whose duals are still
        zero. This is how a class that appears in the middle of a stream gets a lane.
        """
        flips = [False] * len(sources) if mirrored is None else [bool(flip) for flip in mirrored]
        lanes = [whole(source, "a source", least=-1, most=MOST_LANES) for source in sources]
        core = self._core.with_lanes(lanes, flips)
        options = options_of_lanes(self._options, self._lanes, lanes, flips)
        return self._made_of({**vars(type(self)(**options)), "_core": core, "_loss": self._loss})

    def _native_products(self) -> tuple[npt.NDArray[np.int64], Array, Array] | None:
        if not self.products:
            return None
        pairs, forms, weights = product_terms.as_arrays(self.products, self._lanes)
        return pairs.ravel(), forms.ravel(), weights.ravel()

    def copy(self) -> Self:
        """Return an independent learner in the same state."""
        return self._made_of({**vars(self), "_core": self._core.copy()})

    @classmethod
    def _made_of(cls, attributes: dict[str, Any]) -> Self:
        learner = object.__new__(cls)
        learner.__dict__ = attributes
        return learner

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Learner):
            return NotImplemented
        return self.options == other.options and self._core.same_state(other.native)

    __hash__ = None  # type: ignore[assignment] # a learner changes

    # State

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """The complete state as arrays, for `set_state` of a learner with the same options."""
        return dict(self._core.get_state())

    def set_state(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore a state from `get_state`. ValueError if the arrays are inconsistent."""
        self._core.set_state(dict(state))

    def saved(self) -> model_file.ModelFile:
        """The contents of the learner's model file."""
        options, arrays = filed(self._options, self.get_state())
        known = {} if self._lineage is None else {LINEAGE: self._lineage.as_array()}
        return model_file.ModelFile(self.kind, options, arrays | known)

    @classmethod
    def restored(cls, saved: model_file.ModelFile, loss: object = None) -> Self:
        """Return the learner of a model file. ValueError (or a similar error) if it is invalid."""
        options, state = saved_options(saved.options, saved.arrays, loss)
        learner = cls(**options)
        learner.set_state(state)
        if LINEAGE in saved.arrays:
            learner._lineage = lineage.Lineage.from_array(saved.arrays[LINEAGE])
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self._options, "state": self.get_state(), LINEAGE: self._lineage}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(**saved["options"])  # type: ignore[misc] # a learner is its options and its state
        self.set_state(saved["state"])
        self._lineage = saved.get(LINEAGE)

    def __repr__(self) -> str:
        shown = ("loss", "penalty", "rho", "window")
        options = ", ".join(f"{name}={self._options[name]!r}" for name in shown)
        return f"<{type(self).__name__} {options}: {self.count} events, {self.n_features} features>"

    # Helpers

    def _require_same_problem(self, theirs: Mapping[str, object], what: str) -> None:
        for name, mine in self._options.items():
            if mine != theirs.get(name):
                raise ValueError(
                    f"{what} needs learners of one problem; {name} is {mine!r} here and {theirs.get(name)!r} there."
                )

    def as_events(
        self, what: str, X: Any, y: Any, sample_weight: Any, offset: Any, time: Any
    ) -> tuple[_core.Matrix, Array, Array | None, Array | None, Array | None]:
        """The arguments of `learn` and `fit`, validated and converted for the core."""
        matrix, rows = self._matrix(X)
        labels = as_columns(y, "y", rows, self._lanes)
        if time is None and self.window.uses_time:
            raise ValueError(f"{self.window!r} counts in event time; give {what} the time of every event.")
        times = None if time is None else as_times(time, rows)
        weight, moved = self._columns("sample_weight", sample_weight, rows), self._columns("offset", offset, rows)
        return matrix, labels, weight, moved, times

    def _matrix(self, X: Any) -> tuple[_core.Matrix, int]:
        matrix, rows, width = as_matrix(X)
        if self._fixed and width != self._fixed:
            raise ValueError(f"X must have the {self._fixed} features that KL was made with; got {width} columns.")
        return matrix, rows

    def _columns(self, name: str, values: npt.ArrayLike | None, rows: int) -> Array | None:
        return None if values is None else as_columns(values, name, rows, self._lanes)

    def _per_event(self, array: Any) -> Any:
        return array[:, 0] if self._single else array

    def per_model(self, array: Array) -> float | Array:
        """Numbers of all lanes in the form in which they are shown: one number, if there is one model."""
        return float(array[0]) if self._single else array

    def _features(self, array: Array) -> Array:
        by_lane = np.ascontiguousarray(array[int(self.has_intercept) :].T)
        return by_lane[0] if self._single else by_lane

    def _weights(self, *, smoothed: bool) -> Array:
        return self._features(self.weights_by_feature(smoothed=smoothed))

    def weights_by_feature(self, *, smoothed: bool) -> Array:
        """The weights, features (intercept first) by lanes, in the units of X."""
        weights: Array = self._core.weights(smoothed)
        return weights * self._core.units()[1][:, None] if self.scale else weights

    def _intercept(self, *, smoothed: bool) -> float | Array:
        weights = self._core.weights(smoothed)
        constant = weights[0].copy() if self.has_intercept else np.zeros(self._lanes)
        if self.scale:
            centres, factors = self._core.units()
            constant -= (centres * factors) @ weights
        return self.per_model(constant)
