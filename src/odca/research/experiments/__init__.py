"""The paper's experiments, reproduced and extended. `odca reproduce` runs them.

An experiment is a function of a `Job` (the seeds, and a callback for progress) that returns a `Study`: claims with their verdicts, curves, results.
To add one, add a line to `EXPERIMENTS`.
"""

from collections.abc import Callable
from functools import partial

from odca.records import record
from odca.research.experiments import portfolio, sparse, step_size, svm, tracking
from odca.research.experiments.intervals import Interval
from odca.research.experiments.study import Claim, Job, Line, Panel, Study

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Interval", "Job", "Line", "Panel", "Study"]


@record
class Experiment:
    """An experiment, and how many times it reports progress: once for each of `per_seed` parts of each seed, and for `others`."""

    run: Callable[[Job], Study]
    per_seed: int
    others: int = 0


EXPERIMENTS: dict[str, Experiment] = {
    "adult": Experiment(partial(svm.run, svm.ADULT), per_seed=1, others=1),
    "rcv1": Experiment(partial(svm.run, svm.RCV1), per_seed=1, others=1),
    "tracking": Experiment(tracking.run, per_seed=len(tracking.PARTS), others=1),
    "portfolio": Experiment(portfolio.run, per_seed=0, others=1),
    "sparse": Experiment(sparse.run, per_seed=1),
    "step-size": Experiment(step_size.run, per_seed=1),
}
