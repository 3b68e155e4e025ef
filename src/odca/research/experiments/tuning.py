"""Tuning: the best parameter of a grid in hindsight. Each method gets its own best, so that none loses because of a bad parameter."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

RATIO = float(np.sqrt(2.0))


def grid(low: float, count: int, ratio: float = RATIO) -> tuple[float, ...]:
    """`count` numbers that begin with `low`, each `ratio` times the previous one."""
    return tuple(float(low * ratio**k) for k in range(count))


def lowest(what: str, parameters: Sequence[float], scores: npt.ArrayLike) -> int:
    """The index of the parameter with the lowest score. ValueError if it is at an end of the grid: there may be a better one beyond."""
    values = np.nan_to_num(np.asarray(scores, dtype=np.float64), nan=np.inf)
    best = int(values.argmin())
    if best in {0, len(values) - 1}:
        raise ValueError(
            f"the best {what}, {parameters[best]:g}, is at an end of its grid, {listed(parameters, values)}. Widen the grid."
        )
    return best


def listed(parameters: Sequence[float], scores: npt.ArrayLike) -> str:
    """Every parameter with its score."""
    pairs = zip(parameters, np.asarray(scores, dtype=np.float64), strict=True)
    return ", ".join(
        f"{each:.6g}: {score:.3g}" if np.isfinite(score) else f"{each:.6g}: diverges" for each, score in pairs
    )
