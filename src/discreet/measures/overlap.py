"""Overlap of confidence intervals, and changes of statistics that readers know.

Sources: Li and Krenzke (2013), Kennickell and Lane (2006).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError
from discreet.model.arrays import Floats


def interval_overlap(original: npt.ArrayLike, published: npt.ArrayLike) -> Floats:
    """Overlap of intervals (lower, upper): the mean of its shares of both lengths, 0 where they are apart.

    Intervals of no width overlap wholly where they are equal and not at all otherwise.

    Examples
    --------
    >>> interval_overlap([[0, 2], [0, 1], [3, 3]], [[1, 3], [2, 3], [3, 3]]).tolist()
    [0.5, 0.0, 1.0]
    """
    one, two = np.asarray(original, np.float64), np.asarray(published, np.float64)
    if one.shape != two.shape or one.ndim != 2 or one.shape[1] != 2:
        raise InputError("Intervals are rows of lower and upper ends, as many before as after.")
    if np.any(one[:, 0] > one[:, 1]) or np.any(two[:, 0] > two[:, 1]):
        raise InputError("A lower end lies above its upper end.", hint="Give lower ends first.")
    common = np.maximum(np.minimum(one[:, 1], two[:, 1]) - np.maximum(one[:, 0], two[:, 0]), 0.0)
    lengths = one[:, 1] - one[:, 0], two[:, 1] - two[:, 0]
    wide = (lengths[0] > 0) & (lengths[1] > 0)
    first, second = (common / np.where(wide, length, 1.0) for length in lengths)
    same: Floats = np.all(one == two, axis=1).astype(np.float64)
    return np.where(wide, (first + second) / 2, same)


def percent_difference(original: npt.ArrayLike, published: npt.ArrayLike) -> Floats:
    """100 · (original − published) / original, with this sign; not a number where the original is zero."""
    one, two = np.asarray(original, np.float64), np.asarray(published, np.float64)
    found = np.full(np.broadcast_shapes(one.shape, two.shape), np.nan)
    np.divide(100 * (one - two), one, out=found, where=one != 0)
    return found


def inverse_mean_square(original: npt.ArrayLike, published: npt.ArrayLike) -> float:
    """One over the mean squared difference of a statistic from several releases; infinite where all are identical.

    It depends on the unit: never compare it across variables.

    Examples
    --------
    >>> inverse_mean_square(2.0, [1.0, 2.0])
    2.0
    """
    square = float(((np.asarray(original, np.float64) - np.asarray(published, np.float64)) ** 2).mean())
    return 1 / square if square else float("inf")
