"""Compiled loops of local suppression.

A *cell* is a combination of codes that occurs, with its number of records. Cells that are too small become members of
a *class*: the cells that look alike once some of their codes are blank.

``least`` says when a class is large enough: for every number of records the least weight that they must have; more
records than there are entries suffice in any case.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

NOBODY = -1
LITTLE = 1e-9
NEARLY = 1 - 1e-12


@kernel("b1(i8, f8, f8[::1])")
def large_enough(records: int, mass: float, least: Any) -> bool:
    """Whether a class is large enough."""
    return bool(records >= len(least) or mass >= least[records] * NEARLY)


@kernel("f8(f8[:, ::1], i8, i8)")
def price_of(price: Any, cell: int, bits: int) -> float:
    """What it costs to blank a set of columns in a cell."""
    total = 0.0
    for column in range(price.shape[1]):
        if bits >> column & 1:
            total += price[cell, column]
    return total


@kernel("void(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1], i8[::1], f8[::1], f8[::1], i8[::1], i8[::1])")
def take_classes(
    order: Any,
    start: Any,
    member: Any,
    blanked: Any,
    records: Any,
    mass: Any,
    total: Any,
    weight: Any,
    least: Any,
    class_of: Any,
    choice: Any,
) -> None:
    """Fill classes one after the other, in an order: each with all of its members that are still free.

    A class is taken only if it is large enough then. ``start`` and ``member`` list the members of each class,
    ``blanked`` says by which set of columns each of them gets there; ``total`` and ``weight`` are what the class has
    already.
    """
    for place in range(len(order)):
        found = order[place]
        here, heavy, some = total[found], weight[found], False
        for at in range(start[found], start[found + 1]):
            if class_of[member[at]] == NOBODY:
                here += records[member[at]]
                heavy += mass[member[at]]
                some = True
        if not some or not large_enough(here, heavy, least):
            continue
        for at in range(start[found], start[found + 1]):
            cell = member[at]
            if class_of[cell] == NOBODY:
                class_of[cell] = found
                choice[cell] = blanked[at]
        total[found], weight[found] = here, heavy


@kernel("b1(i8, f8, i8, f8, f8[::1])")
def may_leave(total: int, weight: float, records: int, mass: float, least: Any) -> bool:
    """Whether a class is still large enough without some, or has nobody left."""
    left = total - records
    return bool(left == 0 or large_enough(left, weight - mass, least))


@kernel(
    "i8(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1], i8[::1], f8[::1], f8[:, ::1], f8[::1], i8[::1], "
    "i8[::1])"
)
def improve(
    order: Any,
    start: Any,
    class_at: Any,
    member: Any,
    blanked: Any,
    records: Any,
    mass: Any,
    total: Any,
    weight: Any,
    price: Any,
    least: Any,
    class_of: Any,
    choice: Any,
) -> int:
    """Move cells to cheaper classes, together with others where a class needs them; gives how many moves were made.

    ``order`` lists places in ``member``: a cell, the class that it could be in (``class_at``) and the columns that
    would be blank then, as bits.
    """
    moved = 0
    pulled: Any = [np.int64(0)]
    for place in range(len(order)):
        at = order[place]
        cell, wanted = member[at], class_at[at]
        before = class_of[cell]
        gain = price_of(price, cell, choice[cell]) - price_of(price, cell, blanked[at])
        if before == wanted or gain <= LITTLE:
            continue
        if not may_leave(total[before], weight[before], records[cell], mass[cell], least):
            continue
        total[before] -= records[cell]
        weight[before] -= mass[cell]
        here, heavy = total[wanted] + records[cell], weight[wanted] + mass[cell]
        pulled.clear()
        for other_at in range(start[wanted], start[wanted + 1]):
            if large_enough(here, heavy, least) or gain <= LITTLE:
                break
            other = member[other_at]
            own = class_of[other]
            if other == cell or own in (wanted, NOBODY):
                continue
            if not may_leave(total[own], weight[own], records[other], mass[other], least):
                continue
            gain += price_of(price, other, choice[other]) - price_of(price, other, blanked[other_at])
            total[own] -= records[other]
            weight[own] -= mass[other]
            here += records[other]
            heavy += mass[other]
            pulled.append(other_at)
        if large_enough(here, heavy, least) and gain > LITTLE:
            class_of[cell], choice[cell] = wanted, blanked[at]
            for other_at in pulled:
                class_of[member[other_at]], choice[member[other_at]] = wanted, blanked[other_at]
            total[wanted], weight[wanted] = here, heavy
            moved += 1
        else:
            total[before] += records[cell]
            weight[before] += mass[cell]
            for other_at in pulled:
                other = member[other_at]
                total[class_of[other]] += records[other]
                weight[class_of[other]] += mass[other]
    return moved
