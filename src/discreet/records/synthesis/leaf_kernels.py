"""Numbers drawn from leaves: around one record's value, as far as its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel


@kernel("UniTuple(f8[::1], 2)(i8[::1], b1[::1], i8[::1])")
def neighbours(values: Any, shared: Any, ends: Any) -> Any:
    """How far values that few share may be drawn: half the way to the next of their leaf on either side.

    Values stand in their order within each leaf; ``ends`` is where leaves end. At an end of a leaf it is the value
    itself.
    """
    lower, upper = values.astype(np.float64), values.astype(np.float64)
    start = 0
    for end in ends:
        last, seen = np.int64(0), False
        for i in range(start, end):
            if not shared[i]:
                if seen and values[i] == last and i > start:
                    lower[i] = lower[i - 1] if not shared[i - 1] else lower[i]
                elif seen:
                    lower[i] = (last + values[i]) / 2.0
                last, seen = values[i], True
        seen = False
        for i in range(end - 1, start - 1, -1):
            if not shared[i]:
                if seen and values[i] == last and i + 1 < end:
                    upper[i] = upper[i + 1] if not shared[i + 1] else upper[i]
                elif seen:
                    upper[i] = (last + values[i]) / 2.0
                last, seen = values[i], True
        start = end
    return lower, upper


@kernel("f8[::1](i8[::1], f8[::1], i8[::1], b1[::1], f8[::1], f8[::1], i8[::1], i8, b1)")
def spread_out(
    taken: Any,
    chance: Any,
    values: Any,
    shared: Any,
    lower: Any,
    upper: Any,
    alone: Any,
    reach: Any,
    in_leaf: Any,
) -> Any:
    """Numbers around the values of donors.

    Each comes from an interval that holds the values of at least ``reach`` further records on either side, or twice as
    many on one: of all records whose values are not shared (``alone``, in their order). With ``in_leaf`` it also
    reaches half the way to the neighbours in the leaf; a value that has none there, and would be told of its record
    among others that all share theirs, is drawn from a tenth of the column.
    """
    made = np.empty(len(taken))
    many = len(alone)
    for i in range(len(taken)):
        donor = taken[i]
        value = values[donor]
        if shared[donor] or many == 0:
            made[i] = value
            continue
        wide = reach
        if in_leaf and lower[donor] == value and upper[donor] == value:
            wide = max(reach, many // 20)
        first = np.searchsorted(alone, value) - wide
        last = np.searchsorted(alone, value, side="right") - 1 + wide
        if first < 0:
            last = max(last, 2 * wide)
        if last > many - 1:
            first = min(first, many - 1 - 2 * wide)
        low, high = np.float64(alone[max(first, 0)]), np.float64(alone[min(last, many - 1)])
        if in_leaf:
            low, high = min(low, lower[donor]), max(high, upper[donor])
        made[i] = low + chance[i] * (high - low)
    return made
