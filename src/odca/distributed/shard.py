"""What a worker holds: its events and their duals. It answers questions.

A question is a dictionary of arrays and numbers, and so is an answer. All shards get the same question; their answers are added
(`combined`), in any order, so that a cluster can add them up along a tree. What carries them is up to the caller: processes, Spark, Dask.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from odca import _core
from odca.io import model_file
from odca.learner import Learner
from odca.windows import HalfLife, Infinite

Question: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[Question], Answer]
"""Puts a question to every shard and returns their combined answers."""

LARGEST = frozenset({"features", "clock"})
"""What is the largest of all answers, not their sum."""


class Shard:
    """The events of one worker, with their duals.

    problem: a Learner with the options of the problem; its own state does not matter.
    The events are given as to `Learner.fit`.
    """

    def __init__(
        self,
        problem: Learner,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
        time: npt.ArrayLike | None = None,
    ) -> None:
        plain = problem_of(problem)
        events = plain.as_events("a shard", X, y, sample_weight, offset, time)
        self._problem = plain
        self._native = _core.Shard(plain.native, *events)
        self._joined: tuple[int, float, int] | None = None

    def answer(self, question: Question) -> Answer:
        """Answer one question of `fit`. The duals change; `to_bytes` holds them between questions, if the worker does not."""
        kind = question["kind"]
        if kind == "survey":
            native = self._native
            return {"shards": 1, "count": native.rows, "features": native.features, "clock": native.clock}
        self._join(*question["together"])
        answer: Answer = getattr(self, f"_{kind}")(question)
        return answer

    def _join(self, features: int, clock: float, count: int) -> None:
        if self._joined is None:
            share = self._native.rows / max(count, 1)
            constant = np.broadcast_to(np.asarray(self._problem.prior_strength, np.float64), (self._problem.lanes,))
            self._native.join(features, clock, np.ascontiguousarray(constant * share))
            self._joined = (features, clock, count)

    def _begin(self, question: Question) -> Answer:
        """One pass of O-DCA."""
        native = self._native
        native.learn(question["seed"])
        more = {"sizes": native.sizes_of_losses(), "squares": native.squares()}
        return {**native.sums(), **more, "smooth": int(native.is_smooth)}

    def _ascend(self, question: Question) -> Answer:
        """Make the move of the last time, where it is taken, and look for the next one."""
        self._native.take(question["taken"])
        gain, conjugate, losses = self._native.ascend(
            question["x"], question["momentum"], question["passes"], question["seed"]
        )
        return {"gain": gain, "conjugate": conjugate, "losses": losses}

    def _respond(self, question: Question) -> Answer:
        """The losses at w, and the sums of the duals that go with it."""
        losses = self._native.losses(question["w"])
        self._native.respond(question["w"])
        return {"losses": losses, **self._native.sums()}

    def _finish(self, question: Question) -> Answer:
        self._native.take(question["taken"])
        return dict(self._native.sums())

    def to_bytes(self) -> bytes:
        """What the questions have changed, in the format of model files: for a worker that forgets it between two questions."""
        saved = model_file.ModelFile("Shard", {"together": self._joined}, dict(self._native.kept()))
        return b"".join(model_file.to_chunks(saved))

    def restore(self, data: bytes) -> None:
        """The reverse, for a shard that was just made of the same events. ValueError if the bytes are damaged or of other events."""

        def restored(saved: model_file.ModelFile) -> None:
            if saved.options["together"] is not None:
                features, clock, count = saved.options["together"]
                self._join(int(features), float(clock), int(count))
                self._native.restore(**saved.arrays)

        model_file.rebuild(model_file.from_bytes(data, "this shard"), {"Shard": restored}, "this shard")


def combined(answers: Iterable[Answer]) -> Answer:
    """The answer of all shards together."""

    def joined(one: Answer, other: Answer) -> Answer:
        return {name: max(one[name], other[name]) if name in LARGEST else one[name] + other[name] for name in one}

    return reduce(joined, answers)


def asking(shards: Sequence[Shard]) -> Ask:
    """Puts questions to shards of this process."""
    return lambda question: combined(shard.answer(question) for shard in shards)


def problem_of(learner: Learner) -> Learner:
    """The problem that `fit` solves: without the options that are about a stream. ValueError if shards cannot solve it together."""
    if learner.scale:
        raise ValueError(
            "shards cannot solve a problem with scale=True together: each knows the statistics of its own rows only. Standardise the data "
            "beforehand, in the same way for all."
        )
    window = learner.window.fixed
    if not isinstance(window, Infinite | HalfLife):
        raise ValueError(  # noqa: TRY004 - the problem's fault
            f"shards have no common order of events, which {window!r} needs. Use Infinite() or HalfLife(...)."
        )
    return Learner(**learner.fitted_options() | {"smoothing": 0.0})
