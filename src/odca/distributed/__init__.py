"""Exact fits across shards: each worker keeps its own events, and vectors of the size of the model are exchanged.

A `Shard` holds the events of one worker with their duals, and answers questions. `fit` asks them, round by round, until the duality gap of
the whole problem is small: the result is that of `Learner.fit` on all events, up to the gap. docs/distributed.md derives the rounds.
"""

from odca.distributed.exact import DistributedReport, Round, fit
from odca.distributed.shard import Ask, Shard, asking, combined, problem_of

__all__ = ["Ask", "DistributedReport", "Round", "Shard", "asking", "combined", "fit", "problem_of"]
