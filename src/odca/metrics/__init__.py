"""Progressive validation of a stream, in bounded memory: every event is predicted before it is learned.

`ClassMetrics` is for classes, coded 0, 1, 2, ... as they come; `NumberMetrics` is for numbers. Both count the same events
for the baselines without which a figure says nothing: no change (predict the label before), the majority or the mean of
the labels so far, and the best constant in hindsight.

All sums are in event order, so no split of the stream into calls shows, to the bit, and neither does saving in between
(`as_arrays`, `from_arrays`). An event whose weight is zero counts as an event, and as the label before the next one.

    VW's table    `add` returns a `Row` for every event count 1, 2, 4, 8, ... that falls into the block; with every=N for
                  every multiple of N.
    AUC           from two histograms of the margin, by its sign and the leading bits of |z| + 2^-16: 8,192 bins. Two
                  margins closer than 0.8 % of their size may count as equal, which is a half; so do those beyond ±65,536.
    ECE           over 15 equal bins, as `calibration.expected_calibration_error`: of P(second class) where there are two,
                  else of the probability of the class that was chosen.
    log loss      of the stated probability of the class that came, which counts as 2.2e-16 where it is below.
"""

from odca.metrics.classes import ClassMetrics
from odca.metrics.numbers import NumberMetrics
from odca.metrics.shared import Row

__all__ = ["ClassMetrics", "NumberMetrics", "Row"]
