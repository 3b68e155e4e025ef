"""Probabilities from margins, learned as the stream goes.

The margins of the hinge and similar losses are not log odds. Each lane has a map of its own, P(+1) = σ(a·margin + b), learned by
O-DCA under log loss from (margin, 1), where the margin is that from before the event was learned: an honest score. It
forgets as the model forgets. It begins at a = 1, b = 0.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.io.model_file import ModelFile
from odca.io.stacking import stack, unstack
from odca.learner import Learner
from odca.losses import LogLoss
from odca.validation.arrays import Array
from odca.windows import Window

# Chosen on a6a, rcv1sub and w8a under two losses and two strengths: ECE falls from 0.07 ... 0.29 to 0.006 ... 0.017.
STRENGTH, PRIOR_STRENGTH = 1e-3, 10.0
LEAST_SLOPE = 0.05
MOST_PENDING = 1000
MOST_MARGIN = 1e50  # that a map learns from: it must not refuse an event that the model has learned
BARELY = 1e-6  # of how far from ½ a probability is at least, where the margin is large


class Calibration:
    """One map from margins to probabilities for each lane."""

    def __init__(self, lanes: int, window: Window) -> None:
        self._window = window
        blank = self._new_map()
        self._current = [blank.copy() for _ in range(lanes)]  # much faster than to make each anew
        self._pending: list[tuple[Any, Any, float, Any]] = []  # margins, labels, weight, time

    @property
    def _maps(self) -> list[Learner]:
        """The maps, which have learned all that was noted."""
        if self._pending:
            margins, labels, weights, times = zip(*self._pending, strict=True)
            self._pending = []
            self.learn(
                np.array(margins, dtype=float).reshape(len(margins), -1),
                np.array(labels, dtype=float).reshape(len(labels), -1),
                sample_weight=np.array(weights),
                time=None if times[0] is None else np.array(times),
            )
        return self._current

    @_maps.setter
    def _maps(self, maps: list[Learner]) -> None:
        self._current = maps

    def note(self, margins: Any, labels: Any, weight: float, time: Any) -> None:
        """Learn from one event, as `learn` does, but later: many events at once are faster."""
        self._pending.append((margins, labels, weight, time))
        if len(self._pending) >= MOST_PENDING:
            _ = self._maps

    def _new_map(self) -> Learner:
        return Learner(
            loss=LogLoss(),
            rho=STRENGTH,
            prior_strength=PRIOR_STRENGTH,
            prior_mean=[1.0],
            intercept=True,
            window=self._window,
            smoothing=self._window.default_smoothing,
        )

    def learn(
        self, margins: Array, labels: Array, *, sample_weight: Array | None = None, time: npt.ArrayLike | None = None
    ) -> Array:
        """Learn from the margins (n, lanes) of events, from before they were learned, and their labels.

        Returns P(+1) of each lane, by the maps as they were before the event.
        """
        log_odds = np.empty_like(margins)
        seen = np.clip(margins, -MOST_MARGIN, MOST_MARGIN)
        for lane, each in enumerate(self._maps):
            log_odds[:, lane] = each.learn(seen[:, [lane]], labels[:, lane], sample_weight=sample_weight, time=time)
        return _on_the_side_of(margins, sigmoid(log_odds))

    def probabilities(self, margins: Array) -> Array:
        """P(+1) of each lane, for margins (n, at most lanes): it rises with the margin, and is above ½ where that is positive.

        The second holds by force where the map says otherwise, that is near 0 if b is not: what `predict` chooses is the likelier.
        """
        slope, constant = self.maps(margins.shape[1])
        return _on_the_side_of(margins, sigmoid(slope * margins + constant))

    def maps(self, lanes: int) -> tuple[Array, Array]:
        """The slopes a and the constants b of the first lanes."""
        maps = self._maps[:lanes]
        slope = np.array([max(float(each.smoothed_coef.sum()) if each.count else 1.0, LEAST_SLOPE) for each in maps])
        return slope, np.array([each.smoothed_intercept for each in maps])

    def rearranged(self, sources: Sequence[int], mirrored: Sequence[bool]) -> "Calibration":
        """Follow `Learner.with_lanes`."""
        other = Calibration(0, self._window)
        other._maps = [
            self._new_map() if source < 0 else _mirrored(self._maps[source]) if mirror else self._maps[source].copy()
            for source, mirror in zip(sources, mirrored, strict=True)
        ]
        return other

    def merge(self, other: "Calibration") -> "Calibration":
        """Return the maps of both, lane by lane; see `Learner.merge`."""
        merged = Calibration(0, self._window)
        merged._maps = [mine.merge(theirs) for mine, theirs in zip(self._maps, other._maps, strict=True)]  # noqa: SLF001 - of its own class
        return merged

    def __len__(self) -> int:
        return len(self._maps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self._maps == other._maps

    __hash__ = None  # type: ignore[assignment] # it changes

    def saved(self) -> ModelFile:
        """What a file holds of it."""
        return ModelFile("Calibration", {"window": self._window}, stack([each.get_state() for each in self._maps]))

    @classmethod
    def restored(cls, saved: ModelFile) -> "Calibration":
        """The reverse. ValueError (or the like) for what `saved` cannot have made."""
        in_parts = [saved.parts[str(lane)].arrays for lane in range(len(saved.parts))]  # of files of version 1
        states = in_parts or unstack(saved.arrays)
        calibration = cls(len(states), saved.options["window"])
        for each, state in zip(calibration._maps, states, strict=True):
            each.set_state(state)
        if any(each.lanes != 1 or each.n_features > 1 for each in calibration._maps):
            raise ValueError("its calibration is not of margins.")
        return calibration


class Softmax:
    """Probabilities of several classes from margins that are logits: the softmax, which is not learned."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes

    def note(self, margins: Any, labels: Any, weight: float, time: Any) -> None:
        """Nothing is learned."""

    def learn(self, margins: Array, labels: Array, **_how: Any) -> Array:
        """P of each lane; nothing is learned."""
        del labels
        return self.probabilities(margins)

    def probabilities(self, margins: Array) -> Array:
        """P of each lane, for margins (n, at most lanes)."""
        e = np.exp(margins - margins.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def rearranged(self, sources: Sequence[int], mirrored: Sequence[bool]) -> "Softmax":
        """Follow `Learner.with_lanes`."""
        del mirrored
        return Softmax(len(sources))

    def merge(self, other: "Softmax") -> "Softmax":
        """The same, if the other is one."""
        if not isinstance(other, Softmax):
            raise TypeError("one model makes probabilities by a softmax, the other does not.")
        return self

    def __len__(self) -> int:
        return self._lanes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Softmax) and len(self) == len(other)

    def __hash__(self) -> int:
        return hash((Softmax, self._lanes))

    def saved(self) -> ModelFile:
        """What a file holds of it."""
        return ModelFile("Softmax", {"lanes": self._lanes}, {})


def restored(saved: ModelFile) -> Calibration | Softmax:
    """What makes probabilities, from a file. ValueError (or the like) for what `saved` cannot have made."""
    return Softmax(int(saved.options["lanes"])) if saved.kind == "Softmax" else Calibration.restored(saved)


def sigmoid(z: Array) -> Array:
    """1 / (1 + e^-z), without overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0.0, 1.0, e) / (1.0 + e)


def _on_the_side_of(margins: Array, p: Array) -> Array:
    """The probabilities, above ½ where the margin is positive and below it elsewhere."""
    barely = 0.5 + BARELY * margins / (1.0 + np.abs(margins))
    return np.where(margins > 0.0, np.maximum(p, barely), np.minimum(p, barely))


def _mirrored(calibrated: Learner) -> Learner:
    """The map of a lane whose margins and labels are the negatives: σ(az - b), exactly."""
    twin, state = calibrated.copy(), calibrated.get_state()
    for sums in ("dual", "smooth"):
        state[sums][:1] = 0.0 - state[sums][:1]  # the intercept's; the slope's pulls are products of two negatives
    if len(state["window.number"]):
        state["window.value"].reshape(-1, 2)[:, 1] *= -1.0
        state["window.facts"].reshape(-1, 5)[:, [0, 3]] *= -1.0  # label and dual
    twin.set_state(state)
    return twin


def expected_calibration_error(probability: npt.ArrayLike, outcome: npt.ArrayLike, bins: int = 15) -> float:
    """ECE: how far the stated probability is from the observed share, averaged over equal bins of probability."""
    p, hit = np.asarray(probability, dtype=np.float64), np.asarray(outcome, dtype=np.float64)
    place = np.minimum((p * bins).astype(int), bins - 1)
    total = np.bincount(place, minlength=bins)
    gap = np.abs(np.bincount(place, p, bins) - np.bincount(place, hit, bins))
    return float(gap.sum() / max(total.sum(), 1))
