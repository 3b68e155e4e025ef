"""The exact fit: questions to all shards until the duality gap of the whole problem is small. docs/distributed.md derives it."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from odca.distributed.shard import Answer, Ask, problem_of
from odca.learner import Learner
from odca.penalties import L2
from odca.records import record
from odca.validation.arrays import Array
from odca.validation.numbers import real, whole

LOCAL_PASSES = 10
"""Over a shard's events in a round of ascent, unless no dual moves any more."""
ROUNDS_BEFORE = 5
"""Of ascent, before L-BFGS takes over."""
MEMORY = 10
"""The number of pairs that L-BFGS keeps."""


@record
class Round:
    """One exchange: the objective at its beginning, and what was sent."""

    method: str
    """"ascent" or "lbfgs"."""
    primal: float | Array
    """The weighted objective of w: one number, or one per lane."""
    dual: float | Array
    """A lower bound of the objective of every w."""
    gap: float | Array
    """Their difference: the objective of w is at most this far above the minimum."""
    bytes: int
    """Sent to each shard, and returned by it."""


@record
class DistributedReport:
    """How `fit` went."""

    rounds: tuple[Round, ...]
    gap: float | Array
    """Of the learner as it is now."""
    converged: bool
    """Whether every gap is within the tolerance."""

    @property
    def bytes(self) -> int:
        """Exchanged with each shard, in all rounds."""
        return sum(each.bytes for each in self.rounds)


class Problem:
    """The sums of all shards, and the objectives that follow from them. Lanes are separate problems."""

    def __init__(self, learner: Learner, survey: Answer, sums: Answer) -> None:
        self.learner = learner.copy()
        self.survey, self.mass = survey, sums["mass"]
        self._state = self.learner.get_state()
        self._state |= {name: sums[name] for name in ("mass", "squared_mass")}
        self._state["count"] = np.array([survey["count"]], np.uint64)
        self._state["clock"] = np.array([survey["clock"]])
        self.put(sums["dual"], sums["conjugate"], sums["saturated"])

    def put(self, dual: Array, conjugate: Array, saturated: Array | None = None) -> None:
        """Set S and the sum of the conjugates."""
        lanes = len(self.mass)
        bound = np.abs(dual.reshape(-1, lanes)).max(axis=0, initial=0.0)
        self._state |= {"dual": dual, "conjugate": conjugate, "bound": bound}
        if saturated is not None:
            self._state["saturated"] = saturated
        self.learner.set_state(self._state)

    def move(self, gain: Array, conjugate: Array, *, always: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Add to S in the lanes whose dual objective does not fall by it, and where that must be; return which these are."""
        lanes = len(self.mass)
        before, at, held = self.dual(), self._state["dual"], self._state["conjugate"]
        self.put(at + gain, conjugate)
        taken = always | (self.dual() >= before)
        if not np.all(taken):
            self.put(at + (gain.reshape(-1, lanes) * taken).ravel(), np.where(taken, conjugate, held))
        return taken

    def per_strength(self) -> Array:
        """S/A."""
        strength = self.strength()
        per_strength = np.divide(1.0, strength, out=np.zeros_like(strength), where=strength > 0.0)
        return np.ascontiguousarray((self._state["dual"].reshape(-1, len(strength)) * per_strength).ravel())

    def strength(self) -> Array:
        """A of each lane."""
        return np.asarray(self.learner.native.scalars()["strength"])

    def stiffness(self) -> Array:
        """Under L2: A a_j, by which the penalty pulls each weight to its origin; flat, [feature][lane]."""
        lanes, dual = len(self.mass), self._state["dual"]
        origin = self.origin()
        self.learner.set_state({**self._state, "dual": np.ones_like(dual), "bound": np.ones(lanes)})
        pulled = self.weights() - origin  # 1 / (A a_j)
        self.learner.set_state(self._state)
        return 1.0 / pulled

    def origin(self) -> Array:
        """Under L2: w₀, flat, [feature][lane]: the weights of S = 0."""
        dual = self._state["dual"]
        self.learner.set_state({**self._state, "dual": np.zeros_like(dual)})
        origin = self.weights()
        self.learner.set_state(self._state)
        return origin

    def dual(self) -> Array:
        """The dual objective of each lane."""
        return np.asarray(self.learner.native.dual_objective())

    def weights(self) -> Array:
        """w = ∇R*(S/A), flat, [feature][lane]."""
        return np.ascontiguousarray(self.learner.native.weights(False)).ravel()

    def primal(self, losses: Array) -> Array:
        """The objective of w, whose losses add up to these."""
        return per(losses, self.mass) + self.learner.native.penalty_term(False)


def per(sums: Array, mass: Array) -> Array:
    """Sums by mass; 0 where there is none."""
    return np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0.0)


def fit(
    learner: Learner,
    ask: Ask,
    *,
    tol: float = 1e-4,
    max_rounds: int = 1000,
    seed: int = 0,
    on_round: Callable[[Round], None] | None = None,
) -> DistributedReport:
    """Solve the weighted problem of all shards' events, to a certified duality gap, and let the learner be its solution.

    ask: puts a question to every shard and returns the combined answers (`asking` for shards of this process).
    tol: the gap that is wanted, as a share of the mean loss of the untrained model.
    on_round: called with each round when it is over.

    The start is one pass of O-DCA in each shard, merged. Then all shards ascend at the same time, each on its own events, from a point ahead
    of where they are. The dual objective never falls: a move by which it would is not made. Smooth losses under L2 continue with L-BFGS after
    a few such rounds, whose number does not grow with that of the shards.
    """
    if not real(tol) > 0.0:
        raise ValueError(f"tol must be a number > 0, a share of the loss at the start; got {tol!r}. Try 1e-4.")
    most = whole(max_rounds, "max_rounds", least=1)
    plain = problem_of(learner)
    survey = ask({"kind": "survey"})
    if not survey["count"]:
        raise ValueError("fit needs events; the shards have none.")

    def told(*each: Any) -> None:
        if on_round is not None:
            on_round(_round(learner, *each))

    exchange = Exchange(ask, survey, whole(seed, "seed", least=0), told)
    begun = exchange.put("begin")
    problem = Problem(plain, survey, begun)
    tolerance = tol * per(begun["sizes"], problem.mass)
    converged = False
    if begun["smooth"] == survey["shards"] and isinstance(plain.penalty, L2):
        converged = ascent(problem, exchange, tolerance, min(ROUNDS_BEFORE, most - 1))
        if not converged:
            lbfgs(problem, exchange, tolerance, most - 1, begun["squares"])
    converged = converged or ascent(problem, exchange, tolerance, most)
    sums = exchange.put("finish", taken=np.zeros(len(tolerance)))
    problem.put(sums["dual"], sums["conjugate"], sums["saturated"])
    learner.become_solution(problem.learner)
    shaped = [_round(learner, *each) for each in exchange.rounds]
    return DistributedReport(tuple(shaped), shaped[-1].gap, converged)


def _round(learner: Learner, method: str, sent: int, primal: Array, dual: Array) -> Round:
    gap = np.maximum(primal - dual, 0.0)  # below, it is rounding
    return Round(method, learner.per_model(primal), learner.per_model(dual), learner.per_model(gap), sent)


class Exchange:
    """Puts questions, and keeps the record of the rounds: bytes, primal and dual objective. `told` is called with each."""

    def __init__(self, ask: Ask, survey: Answer, seed: int, told: Callable[..., None] = lambda *_: None) -> None:
        self._ask, self._told = ask, told
        self._together = (int(survey["features"]), float(survey["clock"]), int(survey["count"]))
        self._seed, self._questions, self._bytes = seed, 0, 0
        self.rounds: list[tuple[str, int, Array, Array]] = []

    def put(self, kind: str, **more: Any) -> Answer:
        """Ask, and count the bytes."""
        self._questions += 1
        seed = (self._seed + 1_000_003 * self._questions) % 2**63
        answer = self._ask({"kind": kind, "together": self._together, "seed": seed, **more})
        arrays = [each for each in (*more.values(), *answer.values()) if isinstance(each, np.ndarray)]
        self._bytes += sum(each.nbytes for each in arrays)
        return answer

    def report(self, method: str, primal: Array, dual: Array) -> Array:
        """The round is over; return its gap."""
        self.rounds.append((method, self._bytes, primal, dual))
        self._bytes = 0
        self._told(*self.rounds[-1])
        return primal - dual


def ascent(problem: Problem, exchange: Exchange, tolerance: Array, rounds: int) -> bool:
    """Dual ascent in all shards at the same time, each at its share of the strength, with Nesterov's momentum; return whether it arrived.

    Without momentum the dual never falls. With it, it may: then the move is not made, and the momentum begins anew.
    """
    lanes = len(problem.mass)
    taken, momentum, t = np.zeros(lanes, bool), np.zeros(lanes), np.ones(lanes)
    while len(exchange.rounds) < rounds:
        known = {"taken": taken.astype(np.float64), "momentum": momentum, "passes": LOCAL_PASSES}
        answer = exchange.put("ascend", x=problem.per_strength(), **known)
        gap = exchange.report("ascent", problem.primal(answer["losses"]), problem.dual())
        if np.all(gap <= tolerance):
            return True
        if len(exchange.rounds) < rounds:  # the learner remains where its gap is known
            taken = problem.move(answer["gain"], answer["conjugate"], always=momentum == 0.0)
            later = 0.5 + np.sqrt(0.25 + t * t)
            momentum, t = np.where(taken, (t - 1.0) / later, 0.0), np.where(taken, later, 1.0)
    return False


def lbfgs(problem: Problem, exchange: Exchange, tolerance: Array, rounds: int, squares: Array) -> None:
    """L-BFGS on the primal; the lanes are one separable problem. It leaves the duals -Q'(z) in the shards.

    At w, these duals give S and a lower bound. What a learner holds is not w but S/A, which is further from the minimum: `ascent` follows.
    """
    lanes = len(problem.mass)
    stiffness, origin = problem.stiffness(), problem.origin()
    scale = 1.0 / (stiffness + np.repeat(squares, lanes))

    def evaluate(w: Array) -> tuple[float, Array, Array]:
        """The sum of the objectives, its gradient, and the gap of each lane."""
        answer = exchange.put("respond", w=w)
        pull = (w - origin) * stiffness
        sums = answer["losses"] + 0.5 * (pull * (w - origin)).reshape(-1, lanes).sum(axis=0)
        problem.put(answer["dual"], answer["conjugate"], answer["saturated"])
        gap = exchange.report("lbfgs", per(sums, problem.mass), problem.dual())
        return float(sums.sum()), pull - answer["dual"], gap

    if len(exchange.rounds) >= rounds:
        return
    pairs: deque[tuple[Array, Array]] = deque(maxlen=MEMORY)
    w = problem.weights()
    value, gradient, gap = evaluate(w)
    while np.any(gap > tolerance) and len(exchange.rounds) < rounds:
        direction = -two_loops(gradient, pairs, scale)
        descent, step = float(gradient @ direction), 1.0
        while len(exchange.rounds) < rounds:
            moved = w + step * direction
            new_value, new_gradient, gap = evaluate(moved)
            if new_value <= value + 1e-4 * step * descent or np.all(gap <= tolerance):
                break
            if step < 1e-10:  # rounding: no better w can be told apart
                return
            step *= 0.25 if not np.isfinite(new_value) else 0.5
        change = new_gradient - gradient
        if (moved - w) @ change > 1e-12 * float(np.linalg.norm(moved - w) * np.linalg.norm(change)):
            pairs.append((moved - w, change))
        w, value, gradient = moved, new_value, new_gradient


def two_loops(gradient: Array, pairs: "deque[tuple[Array, Array]]", scale: Array) -> Array:
    """The inverse Hessian of L-BFGS times the gradient; `scale` is its diagonal where there are no pairs."""
    q, factors = gradient.copy(), []
    for s, y in reversed(pairs):
        factors.append(float(s @ q) / float(s @ y))
        q -= factors[-1] * y
    if pairs:
        s, y = pairs[-1]
        scale = scale * (float(s @ y) / float(y @ (scale * y)))
    q *= scale
    for (s, y), factor in zip(pairs, reversed(factors), strict=True):
        q += (factor - float(y @ q) / float(s @ y)) * s
    return q
