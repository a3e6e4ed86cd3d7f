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


@kernel("f8(i8[::1], f8, b1)")
def _rank(values: Any, value: Any, last: Any) -> Any:
    """The place of a number among values in their order, from 0 on; between two of them it is no whole one."""
    if last:
        below = np.searchsorted(values, value, side="right") - 1
        if below < 0:
            return 0.0
    else:
        below = np.searchsorted(values, value) - 1
        if below + 1 < len(values) and values[below + 1] == value:
            return below + 1.0
        if below < 0:
            return 0.0
    if below + 1 >= len(values):
        return len(values) - 1.0
    return below + (value - values[below]) / (values[below + 1] - values[below])


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
    among others that all share theirs, is drawn from a tenth of the column. Numbers lie as close together as values of
    the column do: places between all records in the interval are drawn alike.
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
        begin, end = _rank(alone, low, False), _rank(alone, high, True)
        if in_leaf and lower[donor] < upper[donor]:  # the first and the last of a leaf reach as far to their other side
            place = _rank(alone, np.float64(value), False)
            if lower[donor] == value:
                begin = max(min(begin, 2 * place - _rank(alone, upper[donor], True)), 0.0)
            elif upper[donor] == value:
                end = min(max(end, 2 * place - _rank(alone, lower[donor], False)), many - 1.0)
        rank = begin + chance[i] * (end - begin)
        below = np.int64(min(rank, many - 1.0))
        made[i] = alone[below]
        if below + 1 < many:
            made[i] += (rank - below) * (alone[below + 1] - alone[below])
    return made
