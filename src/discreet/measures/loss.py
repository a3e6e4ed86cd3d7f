"""What noise costs: differences between the numbers before and after, for counts and for magnitudes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Floats, Ints

PERCENTILES = (0, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99, 100)


class DifferenceSummary(NamedTuple):
    """One kind of difference over the cells: mean, median, largest and percentiles."""

    mean: float
    median: float
    largest: float
    percentiles: dict[int, float]


class Loss(NamedTuple):
    """Information loss over cells that are not empty before.

    ``absolute`` is |after − before|, ``relative`` that over |before|, ``root`` |√after − √before| (absolute values
    under the root). ``false_zeros`` were not zero before, ``false_positives`` were.
    """

    cells: int
    changed: int
    absolute: DifferenceSummary
    relative: DifferenceSummary
    root: DifferenceSummary
    false_zeros: int
    false_positives: int
    hellinger: float


def information_loss(before: Floats | Ints, after: Floats | Ints) -> Loss:
    """Differences between two tables of the same cells.

    Examples
    --------
    >>> loss = information_loss(np.array([4, 10, 0]), np.array([9, 10, 0]))
    >>> loss.absolute.mean, loss.root.largest, loss.relative.largest
    (2.5, 1.0, 1.25)
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if first.shape != second.shape:
        raise InputError(
            f"The tables have {first.size} and {counted(second.size, 'cell')}.", hint="Compare the same cells."
        )
    there = first != 0
    a, b = first[there], second[there]
    return Loss(
        int(there.sum()),
        int((a != b).sum()),
        _differences(np.abs(b - a)),
        _differences(np.abs(b - a) / np.abs(a)),
        _differences(np.abs(np.sqrt(np.abs(b)) - np.sqrt(np.abs(a)))),
        int(((second == 0) & there).sum()),
        int(((second != 0) & ~there).sum()),
        hellinger_utility(np.abs(first), np.abs(second)),
    )


def _differences(found: Floats) -> DifferenceSummary:
    if not len(found):
        return DifferenceSummary(0.0, 0.0, 0.0, dict.fromkeys(PERCENTILES, 0.0))
    levels = np.percentile(found, PERCENTILES)
    return DifferenceSummary(
        float(found.mean()),
        float(np.median(found)),
        float(found.max()),
        {p: float(x) for p, x in zip(PERCENTILES, levels, strict=True)},
    )


def hellinger_utility(before: Floats | Ints, after: Floats | Ints) -> float:
    """One less the Hellinger distance over the root of the total: 1 when nothing changed (Langsrud 2021).

    Examples
    --------
    >>> hellinger_utility(np.array([1, 2]), np.array([1, 2]))
    1.0
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if first.min(initial=0.0) < 0 or second.min(initial=0.0) < 0:
        raise InputError("The Hellinger distance needs values of at least zero.")
    total = float(first.sum())
    if total == 0:
        return 1.0 if not second.any() else 0.0
    distance = np.sqrt(((np.sqrt(first) - np.sqrt(second)) ** 2).sum() / 2)
    return float(1 - distance / np.sqrt(total))


def cumulative(found: Floats) -> tuple[Floats, Floats]:
    """The empirical distribution of differences: distinct values, and the share of cells up to each."""
    values, counts = np.unique(np.asarray(found, np.float64), return_counts=True)
    return values, np.cumsum(counts) / max(len(found), 1)
