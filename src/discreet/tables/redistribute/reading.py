"""What readers who know how a map was made can tell of its places: the least and most that each can have held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from discreet.model.arrays import NO_UPPER, Ints
from discreet.tables.redistribute.areas import most_beyond, parts_of_map


def held_before(
    true: Ints,
    shown: Ints,
    received: Ints,
    threshold: int,
    outliers: Literal["suppress", "redistribute", "none"],
    areas: Sequence[Ints],
) -> tuple[Ints, Ints]:
    """The least and most that places of a map of counts can have held.

    Parameters
    ----------
    true, shown
        True and published counts of places; true ones for the totals of areas.
    received
        Units that each place took in from outliers: readers are taken to know them.
    threshold
        Places are filled up to it.
    outliers
        What became of outliers, which hold less than the threshold.
    areas
        Places of each area whose true total is published.

    Notes
    -----
    Places above the threshold were not filled up, and those on it were occupied. What rich places gave stands in places
    that show the threshold, so that all of them together gave no more than these can have taken.

    Examples
    --------
    >>> low, high = held_before(np.array([1, 8]), np.array([3, 6]), np.zeros(2, int), 3, "none", [])
    >>> low.tolist(), high.tolist()
    ([1, 6], [3, 8])
    """
    listed = shown > 0
    held = np.where(shown > threshold, shown, np.where(listed, 1, 0))
    least = np.where(shown > threshold, np.maximum(shown - received, 1), held)
    most = held + int((shown - held).sum())
    if areas:
        part = parts_of_map(len(true), areas)
        total = np.bincount(part, true).astype(np.int64)
        most = np.minimum(most, least + most_beyond(part, total, shown, received, threshold)[1][part])
    unseen = 0 if outliers == "none" else threshold - 1
    return least, np.where(listed, most, unseen)


def total_before(shown: int, true: int, outliers: str, *, known: bool) -> tuple[int, int]:
    """The least and most that the whole map can have held: units of outliers that were left out are missing."""
    if outliers != "suppress" or known:
        return true, true
    return shown, NO_UPPER
