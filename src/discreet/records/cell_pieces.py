"""Exact arithmetic of microaggregated swapping: weights as whole numbers, the unit of a column, means over pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Floats, Ints
from discreet.records.exact_columns import WHOLE_LIMIT
from discreet.records.ordered_values import order_of

MANTISSA = 53
ON_GRID = 0.75
"""The unit of a column is the largest that divides this share of its values."""


def whole_weights(weights: NDArray[Any]) -> NDArray[Any]:
    """Weights as whole numbers in the same proportions, exactly; Python's own where 64 bits do not hold their sum.

    Examples
    --------
    >>> whole_weights(np.array([0.5, 1.25, 3.0])).tolist()
    [2, 5, 12]
    """
    if weights.dtype.kind == "i":
        whole, shift = weights.astype(np.int64), np.zeros(len(weights), np.int64)
    else:
        part, power = np.frexp(weights)
        whole = (part * 2.0**MANTISSA).astype(np.int64)
        zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        whole, power = whole >> zeros, power + zeros
        shift = (power - power.min()).astype(np.int64)
    bits = int(np.max(shift + np.frexp(whole.astype(np.float64))[1], initial=0))
    if bits + len(weights).bit_length() < 62:
        return np.asarray(whole << shift)
    return np.array([one << by for one, by in zip(whole.tolist(), shift.tolist(), strict=True)], object)


def grid_unit(units: Ints) -> int:
    """The unit of some whole numbers: what divides all of them, times 1, 2, 5, 10, ... while it divides most.

    Examples
    --------
    >>> grid_unit(np.array([250, 300, 0, 410, 90])), grid_unit(np.array([3, 7, 100])), grid_unit(np.array([70, 35]))
    (10, 1, 35)
    """
    some = np.abs(units[units != 0])
    unit = least = int(np.gcd.reduce(some)) if len(some) else 1
    power = 1
    while least * power <= int(some.max(initial=0)):
        for times in (1, 2, 5):
            if np.mean(some % (least * power * times) == 0) >= ON_GRID:
                unit = least * power * times
        power *= 10
    return unit


def piece_sums(values: Ints, weights: NDArray[Any], piece: Ints) -> NDArray[Any]:
    """For every record of a cell the weighted sum of values over its piece; divided by its weight, their mean.

    The cell is a line on which the values lie from the smallest to the largest, each as long as its weight. It is cut
    into pieces as long as the weights in the order of ``piece``.

    Examples
    --------
    >>> sums = piece_sums(np.array([32, 40, 25]), np.array([2, 4, 3]), np.array([2, 0, 1]))
    >>> (sums / np.array([2, 4, 3])).tolist()
    [40.0, 26.75, 37.333333333333336]
    """
    total = int(weights.sum())
    wide = total * max(int(np.abs(values).max(initial=0)), 1) >= WHOLE_LIMIT
    kind = np.dtype(object) if wide else np.dtype(np.int64)
    order, cut = order_of(values), order_of(piece)
    ends, cuts = (np.cumsum(weights[some]) for some in (order, cut))
    value = values[order].astype(kind)
    mass = np.cumsum(weights[order].astype(kind) * value)
    step = np.minimum(np.searchsorted(ends, cuts, side="left"), len(ends) - 1)
    reached = mass[step] - (ends[step] - cuts).astype(kind) * value[step]
    found = np.empty(len(values), kind)
    found[cut] = np.diff(np.insert(reached, 0, 0))
    return found


def shares_of(sums: NDArray[Any], weights: NDArray[Any], dithered: Any, unit: int) -> Floats:
    """Means over pieces less the weighted mean of what was added before, in units; each the nearest number there is."""
    tops, bottoms = sums.astype(object), weights.astype(object)
    if dithered:
        total = int(weights.sum())
        tops, bottoms = tops * total - bottoms * dithered, bottoms * total
    return np.asarray(tops / (bottoms * unit), np.float64)
