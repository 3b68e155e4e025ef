"""The paper's experiments, reproduced and extended. `odca reproduce` runs them.

An experiment is a function of seeds that returns a `Study`: claims with their verdicts, curves, results. A new one is a line in `EXPERIMENTS`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from odca.experiments import portfolio, sparse, step_size, svm, tracking
from odca.experiments.study import Claim, Interval, Line, Panel, Study, Tell

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Interval", "Line", "Panel", "Study"]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is done, and how often it tells that a part is: for each seed, and besides."""

    what: str
    run: Callable[[Sequence[int], Tell], Study]
    per_seed: int
    besides: int = 0


EXPERIMENTS: dict[str, Experiment] = {
    "adult": Experiment("the paper's Figure 1", partial(svm.run, svm.ADULT), per_seed=1, besides=1),
    "rcv1": Experiment("the paper's Figure 2", partial(svm.run, svm.RCV1), per_seed=1, besides=1),
    "tracking": Experiment("targets that move", tracking.run, per_seed=4, besides=1),
    "portfolio": Experiment("stocks, weighted on the simplex", portfolio.run, per_seed=0, besides=1),
    "sparse": Experiment("the elastic net online", sparse.run, per_seed=1),
    "step-size": Experiment("how forgiving O-DCA and SGD are", step_size.run, per_seed=1),
}
