"""What stands for a group of records, worked out from its values by plain arithmetic on whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Exact = Fraction


def median_of(ordered: Sequence[int | Exact]) -> Exact:
    """The middle of sorted numbers, or of the two in the middle."""
    return Exact(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def trimmed_mean(values: Sequence[int], share: Exact) -> Exact:
    """The mean without a share of the values at each end, whole values only."""
    away = int(len(values) * share)
    kept = sorted(values)[away : len(values) - away]
    return Exact(sum(kept), len(kept))


def _limits(values: Sequence[int], cut: Exact) -> tuple[Exact, Exact]:
    """The median, and so many median deviations."""
    middle = median_of(sorted(values))
    return middle, cut * median_of(sorted(abs(value - middle) for value in values))


def clipped_mean(values: Sequence[int], cut: Exact) -> Exact:
    """The mean of values that are brought to so many median deviations from the median where they lie beyond."""
    middle, room = _limits(values, cut)
    return sum((min(max(Exact(value), middle - room), middle + room) for value in values), Exact(0)) / len(values)


def huber_estimate(values: Sequence[int], cut: Exact) -> Exact:
    """Where deviations, none counted beyond the cut, add up to nothing; the middle where they do so on a stretch.

    Found by halving the places at which the sum bends, then by the straight line between two of them.
    """
    middle, room = _limits(values, cut)
    if not room:
        return middle

    def rest(place: Exact) -> Exact:
        return sum((min(max(value - place, -room), room) for value in values), Exact(0))

    bends = sorted({value + side for value in values for side in (-room, room)})
    return (_crossing(bends, rest, strictly=True) + _crossing(bends, rest, strictly=False)) / 2


def _crossing(bends: Sequence[Exact], rest: Callable[[Exact], Exact], strictly: bool) -> Exact:
    """The first place from which on a falling sum is no longer above 0; or, not strictly, the last where it is not
    below."""
    low, high = 0, len(bends) - 1  # above 0 at the first bend, below 0 at the last
    while high - low > 1:
        half = (low + high) // 2
        found = rest(bends[half])
        if found > 0 or (found == 0 and not strictly):
            low = half
        else:
            high = half
    left, right = rest(bends[low]), rest(bends[high])
    return bends[low] + (bends[high] - bends[low]) * left / (left - right)


def wrong_locations(method: Any, values: Any, shown: Any, start: Any, size: Any, digits: int, decimals: int) -> Any:
    """Which groups hold something else than their robust mean, in units of ``decimals``; halves go up."""
    cut = {"one_step": 3, "m_estimate": 2}.get(method["location"]) if method["cut"] is None else method["cut"]
    wrong = np.zeros(len(start), np.bool_)
    for place, (first, many) in enumerate(zip(start.tolist(), size.tolist(), strict=True)):
        members = [int(value) for value in values[first : first + many].tolist()]
        if method["location"] == "trimmed":
            found = trimmed_mean(members, Exact(str(method["trim"])))
        elif method["location"] == "one_step":
            found = clipped_mean(members, Exact(str(cut)))
        else:
            found = huber_estimate(members, Exact(str(cut)))
        found = found * 10**decimals / 10**digits
        wrong[place] = int(shown[first]) != (2 * found + 1) // 2
    return wrong
