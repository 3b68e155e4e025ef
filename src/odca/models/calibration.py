"""Probabilities from margins, learned from the stream.

The margins of the hinge and similar losses are not log-odds. Each lane has its own map, P(+1) = σ(a·margin + b), which starts at
a = 1, b = 0. It is learned by O-DCA with log loss and the window of the model, from the margins of events, each from before its event
was learned.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.io.model_file import ModelFile
from odca.io.stacking import stack, unstack
from odca.learner import Learner
from odca.losses import LogLoss
from odca.validation.arrays import Array
from odca.windows import Window

# Chosen on a6a, rcv1sub and w8a with two losses and two strengths: ECE falls from 0.07 ... 0.29 to 0.006 ... 0.017.
STRENGTH, PRIOR_STRENGTH = 1e-3, 10.0
LEAST_SLOPE = 0.05
MOST_MARGIN = 1e50  # larger margins are clipped, so that a map never refuses an event that the model has learned
BARELY = 1e-6  # the least distance of a probability from ½, for large margins


class Calibration:
    """A map from margins to probabilities for each lane."""

    def __init__(self, lanes: int, window: Window) -> None:
        self._window = window
        blank = self._new_map()
        self._maps = [blank.copy() for _ in range(lanes)]  # much faster than creating each

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
        """Learn from the margins (n, lanes) of events, each from before its event was learned, and their labels.

        Returns P(+1) of each lane, from the maps as they were before each event.
        """
        log_odds = np.empty_like(margins)
        seen = np.clip(margins, -MOST_MARGIN, MOST_MARGIN)
        for lane, each in enumerate(self._maps):
            log_odds[:, lane] = each.learn(seen[:, [lane]], labels[:, lane], sample_weight=sample_weight, time=time)
        return _on_the_side_of(margins, sigmoid(log_odds))

    def probabilities(self, margins: Array) -> Array:
        """P(+1) of each lane, for margins (n, at most lanes): it increases with the margin, and is above ½ if the margin is positive.

        Where the map violates the latter (near a margin of 0, if b is not 0) the probability is moved, so that the predicted class is
        the more probable one.
        """
        slope, constant = self.maps(margins.shape[1])
        return _on_the_side_of(margins, sigmoid(slope * margins + constant))

    def maps(self, lanes: int) -> tuple[Array, Array]:
        """The slopes a and the constants b of the first lanes."""
        maps = self._maps[:lanes]
        slope = np.array([max(float(each.smoothed_coef.sum()) if each.count else 1.0, LEAST_SLOPE) for each in maps])
        return slope, np.array([each.smoothed_intercept for each in maps])

    def rearranged(self, sources: Sequence[int], mirrored: Sequence[bool]) -> "Calibration":
        """The calibration after `Learner.with_lanes` with the same arguments."""
        other = Calibration(0, self._window)
        other._maps = [
            self._new_map() if source < 0 else _mirrored(self._maps[source]) if mirror else self._maps[source].copy()
            for source, mirror in zip(sources, mirrored, strict=True)
        ]
        return other

    def merge(self, other: "Calibration") -> "Calibration":
        """Merge the maps of both, lane by lane; see `Learner.merge`."""
        merged = Calibration(0, self._window)
        merged._maps = [mine.merge(theirs) for mine, theirs in zip(self._maps, other._maps, strict=True)]  # noqa: SLF001 - of its own class
        return merged

    def __len__(self) -> int:
        return len(self._maps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self._maps == other._maps

    __hash__ = None  # type: ignore[assignment] # it changes

    def saved(self) -> ModelFile:
        """The contents of its part of a model file."""
        return ModelFile("Calibration", {"window": self._window}, stack([each.get_state() for each in self._maps]))

    @classmethod
    def restored(cls, saved: ModelFile) -> "Calibration":
        """The calibration from a model file. ValueError (or a similar error) if it is invalid."""
        in_parts = [saved.parts[str(lane)].arrays for lane in range(len(saved.parts))]  # of files of version 1
        states = in_parts or unstack(saved.arrays)
        calibration = cls(len(states), saved.options["window"])
        for each, state in zip(calibration._maps, states, strict=True):
            each.set_state(state)
        if any(each.lanes != 1 or each.n_features > 1 for each in calibration._maps):
            raise ValueError("its calibration does not belong to margins.")
        return calibration


class Softmax:
    """Probabilities of several classes whose margins are logits, by the softmax. Nothing is learned."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes

    def learn(self, margins: Array, labels: Array, **_how: Any) -> Array:
        """The probability of each lane; nothing is learned."""
        del labels
        return self.probabilities(margins)

    def probabilities(self, margins: Array) -> Array:
        """The probability of each lane, for margins (n, at most lanes)."""
        e = np.exp(margins - margins.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def rearranged(self, sources: Sequence[int], mirrored: Sequence[bool]) -> "Softmax":
        """The softmax after `Learner.with_lanes` with the same arguments."""
        del mirrored
        return Softmax(len(sources))

    def merge(self, other: "Softmax") -> "Softmax":
        """Return this one. TypeError if the other is not a softmax."""
        if not isinstance(other, Softmax):
            raise TypeError("one model computes probabilities with a softmax, the other does not.")
        return self

    def __len__(self) -> int:
        return self._lanes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Softmax) and len(self) == len(other)

    def __hash__(self) -> int:
        return hash((Softmax, self._lanes))

    def saved(self) -> ModelFile:
        """The contents of its part of a model file."""
        return ModelFile("Softmax", {"lanes": self._lanes}, {})


def restored(saved: ModelFile) -> Calibration | Softmax:
    """The calibration or softmax from a model file. ValueError (or a similar error) if it is invalid."""
    return Softmax(int(saved.options["lanes"])) if saved.kind == "Softmax" else Calibration.restored(saved)


def sigmoid(z: Array) -> Array:
    """1 / (1 + e^-z), without overflow."""
    return _core.sigmoid(np.ascontiguousarray(np.atleast_2d(z))).reshape(z.shape)


def _on_the_side_of(margins: Array, p: Array) -> Array:
    """The probabilities, moved above ½ if the margin is positive and below ½ otherwise."""
    barely = 0.5 + BARELY * margins / (1.0 + np.abs(margins))
    return np.where(margins > 0.0, np.maximum(p, barely), np.minimum(p, barely))


def _mirrored(calibrated: Learner) -> Learner:
    """The map of a lane whose margins and labels are negated: σ(az - b), exactly."""
    twin, state = calibrated.copy(), calibrated.get_state()
    for sums in ("dual", "smooth"):
        state[sums][:1] = 0.0 - state[sums][:1]  # the intercept only: the slope has products of two negated numbers
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
