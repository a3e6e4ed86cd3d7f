"""Compiled loops of local suppression.

A *cell* is a combination of codes that occurs, with its number of records. Cells that are too small become members of
a *class*: the cells that look alike once some of their codes are blank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

NOBODY = -1
LITTLE = 1e-9


@kernel("void(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8, i8[::1], i8[::1])")
def take_classes(
    order: Any, start: Any, member: Any, blanked: Any, records: Any, total: Any, k: int, class_of: Any, choice: Any
) -> None:
    """Fill classes one after the other, in an order: each with all of its members that are still free.

    A class is taken only if it then has ``k`` records. ``start`` and ``member`` list the members of each class,
    ``blanked`` says by which set of columns each of them gets there; ``total`` is what the class has already.
    """
    for place in range(len(order)):
        found = order[place]
        here = total[found]
        for at in range(start[found], start[found + 1]):
            if class_of[member[at]] == NOBODY:
                here += records[member[at]]
        if here < k:
            continue
        for at in range(start[found], start[found + 1]):
            cell = member[at]
            if class_of[cell] == NOBODY:
                class_of[cell] = found
                choice[cell] = blanked[at]
        total[found] = here


@kernel("b1(i8[::1], i8, i8, i8)")
def _may_leave(total: Any, found: int, records: int, k: int) -> bool:
    """Whether a class still has enough records without some, or none at all."""
    left = total[found] - records
    return bool(left >= k or left == 0)


@kernel("i8(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1], i8, i8[::1], i8[::1])")
def improve(
    order: Any,
    start: Any,
    class_at: Any,
    member: Any,
    blanked: Any,
    records: Any,
    total: Any,
    cost: Any,
    k: int,
    class_of: Any,
    choice: Any,
) -> int:
    """Move cells to cheaper classes, together with others where a class needs them; gives how many moves were made.

    ``order`` lists places in ``member``: a cell, the class that it could be in (``class_at``) and the set of columns
    that would be blank then. ``cost`` is what a set costs per record.
    """
    moved = 0
    pulled: Any = [np.int64(0)]
    for place in range(len(order)):
        at = order[place]
        cell, wanted = member[at], class_at[at]
        before = class_of[cell]
        gain = records[cell] * (cost[choice[cell]] - cost[blanked[at]])
        if before == wanted or gain <= LITTLE or not _may_leave(total, before, records[cell], k):
            continue
        total[before] -= records[cell]
        here = total[wanted] + records[cell]
        pulled.clear()
        for other_at in range(start[wanted], start[wanted + 1]):
            if here >= k or gain <= LITTLE:
                break
            other = member[other_at]
            own = class_of[other]
            if other == cell or own == wanted or not _may_leave(total, own, records[other], k):
                continue
            gain += records[other] * (cost[choice[other]] - cost[blanked[other_at]])
            total[own] -= records[other]
            here += records[other]
            pulled.append(other_at)
        if here >= k and gain > LITTLE:
            class_of[cell], choice[cell] = wanted, blanked[at]
            for other_at in pulled:
                class_of[member[other_at]], choice[member[other_at]] = wanted, blanked[other_at]
            total[wanted] = here
            moved += 1
        else:
            total[before] += records[cell]
            for other_at in pulled:
                total[class_of[member[other_at]]] += records[member[other_at]]
    return moved
