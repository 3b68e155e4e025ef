"""The best parameter of a grid, in hindsight: every method has its own, so that none is beaten by its parameter."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

RATIO = float(np.sqrt(2.0))


def grid(low: float, count: int, ratio: float = RATIO) -> tuple[float, ...]:
    """So many numbers from the lowest up, each by that much larger than the one before."""
    return tuple(float(low * ratio**k) for k in range(count))


def lowest(what: str, parameters: Sequence[float], scores: npt.ArrayLike) -> int:
    """Which parameter has the lowest score. ValueError if it is an end of the grid: a better one may lie beyond."""
    values = np.nan_to_num(np.asarray(scores, dtype=np.float64), nan=np.inf)
    best = int(values.argmin())
    if best in {0, len(values) - 1}:
        raise ValueError(
            f"the best {what}, {parameters[best]:g}, is at an end of its grid, {told(parameters, values)}: widen it."
        )
    return best


def told(parameters: Sequence[float], scores: npt.ArrayLike) -> str:
    """Every parameter with its score."""
    pairs = zip(parameters, np.asarray(scores, dtype=np.float64), strict=True)
    return ", ".join(
        f"{each:.6g}: {score:.3g}" if np.isfinite(score) else f"{each:.6g}: diverges" for each, score in pairs
    )
