"""Progressive validation of a stream, in bounded memory: every event is predicted before it is learned.

`ClassMetrics` is for classes, coded 0, 1, 2, ... in order of appearance; `NumberMetrics` is for numbers. Both also evaluate, on the
same events, the baselines that a score must be compared with: no change (predict the previous label), the majority class or the
mean of the labels so far, and the best constant in hindsight.

All sums are taken in event order, so the results do not depend on how the stream is split into calls, to the bit, or on saving in
between (`as_arrays`, `from_arrays`). An event of weight zero counts as an event, and as the previous label of the next one.

A signal handler that raises an exception leaves the scores of the call before, or those with all its events (`add_all`).

    VW's table    `add` returns a `ProgressRow` for each of the event counts 1, 2, 4, 8, ... within the block; with every=N for
                  each multiple of N.
    drift         when the loss rose, and how much (docs/drift.md); curve() and plot() show the scores over the stream.
    AUC           from two histograms of the margin z, with 8,192 bins by its sign and the leading bits of |z| + 2^-16. Two
                  margins that differ by less than 0.8 % may count as a tie, and so may margins beyond ±65,536.
    ECE           over 15 equal bins, as in `calibration.expected_calibration_error`: of P(second class) for two classes,
                  otherwise of the probability of the predicted class.
    log loss      of the predicted probability of the actual class, but of at least 2.2e-16.
"""

from odca.metrics.additions import Addition, add_all
from odca.metrics.class_metrics import ClassMetrics, Codes
from odca.metrics.drift import ColumnChange, Drift, Rise
from odca.metrics.number_metrics import Constant, NumberMetrics
from odca.metrics.progress_table import ProgressRow

__all__ = [
    "Addition",
    "ClassMetrics",
    "Codes",
    "ColumnChange",
    "Constant",
    "Drift",
    "NumberMetrics",
    "ProgressRow",
    "Rise",
    "add_all",
]
