"""Neighbourhoods of a cell: the cells that are cheapest to move together with it, and the relations among them."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status
from discreet.solve.heap import pop, push
from discreet.solve.small import BY_COST, STEEP

_GRAPH = "i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8[::1]"
_SCRATCH = "f8[::1], i1[::1], i1[::1], f8[::1], i4[::1]"


@kernel("f8(f8, i8, f8, f8, f8, f8)")
def _further(at: float, measure: int, weight: float, step: float, free: float, level: float) -> float:
    """The distance of a cell with so much room in its direction, when it is entered from a distance."""
    if measure == BY_COST:
        return at + weight + 0.2 * step
    stretch = 1.0 if measure == STEEP else 0.25
    distance = at + 1.0 + stretch * np.log2(1.0 + weight / step)
    return float(distance + np.log2(level / max(free, 1.0)) if free < level else distance)


@kernel(f"i4[::1](i8, i8, i8, i8, f8, f8, f8, f8[::1], f8[::1], f8[::1], b1[::1], {_GRAPH}, {_SCRATCH})")
def nearest(
    target: int,
    direction: int,
    most: int,
    measure: int,
    budget: float,
    step: float,
    level: float,
    weight: Floats,
    room: Floats,
    headroom: Floats,
    movable: Bools,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    row_start: Codes,
    row_cell: Codes,
    row_coefficient: Ints,
    distance: Floats,
    rises: Status,
    opened: Status,
    key: Floats,
    item: Codes,
) -> Codes:
    """At most ``most`` cells in the order of their distance from a target.

    A path goes from cell to cell through relations that both stand in; each cell moves against the one before, so that
    it rises or falls. By cost, entering a cell costs its weight and a part of ``step``; on a scale free of units it
    costs one and the logarithm of its weight in steps (a quarter of it where the scale is flat, which finds something
    in more cases and cheap things in fewer), and more where its ``room`` to fall or ``headroom`` to rise is below the
    level, because many such cells are needed. Cells that weigh more than ``budget`` are left out.
    ``distance`` (infinite), ``rises``, ``opened`` (0), ``key`` and ``item`` are scratch space, left as it was found.
    """
    found = np.empty(min(most, len(weight)), np.int32)
    touched = np.empty(len(key), np.int32)
    count, seen, rows = 0, 1, 0
    opened_rows = np.empty(len(row_start), np.int32)
    size = push(key, item, 0, 0.0, target)
    distance[target], rises[target], touched[0] = 0.0, direction, target
    while size > 0 and count < len(found):
        size = pop(key, item, size)
        cell, at = item[size], key[size]
        if at > distance[cell]:
            continue
        distance[cell], found[count] = -1.0 - at, cell
        count += 1
        for r in range(cell_start[cell], cell_start[cell + 1]):
            row = cell_row[r]
            if opened[row]:
                continue
            opened[row], opened_rows[rows] = 1, row
            rows += 1
            pushed = rises[cell] if coefficient[r] > 0 else -rises[cell]
            for c in range(row_start[row], row_start[row + 1]):
                other = row_cell[c]
                if not movable[other] or weight[other] > budget or distance[other] < 0.0:
                    continue
                way = -pushed if row_coefficient[c] > 0 else pushed
                free = headroom[other] if way > 0 else room[other]
                new = _further(at, measure, weight[other], step, free, level)
                if new < distance[other]:
                    if distance[other] == np.inf:
                        touched[seen] = other
                        seen += 1
                    distance[other], rises[other] = new, way
                    size = push(key, item, size, new, other)
    distance[touched[:seen]] = np.inf
    opened[opened_rows[:rows]] = 0
    return found[:count].copy()


@kernel("Tuple((i8, b1[::1]))(i4[::1], i4[::1], i4[::1], i4[::1], i4[::1])")
def _movable_among(chosen: Codes, cell_start: Codes, cell_row: Codes, place: Codes, rows: Codes) -> tuple[int, Bools]:
    """How many relations the chosen cells have, and which cells can move: not the only ones left of a relation.

    ``place`` gets the number of each relation, as they come, and ``rows`` the relations in this order.
    """
    n = len(chosen)
    members = np.zeros(len(rows), np.int32)
    count = 0
    for i in range(n):
        for r in range(cell_start[chosen[i]], cell_start[chosen[i] + 1]):
            row = cell_row[r]
            if place[row] < 0:
                place[row] = count
                rows[count] = row
                count += 1
            members[place[row]] += 1
    # The cells of each relation, for the peeling.
    start = np.zeros(count + 1, np.int32)
    for r in range(count):
        start[r + 1] = start[r] + members[r]
    listing = np.empty(len(rows), np.int32)
    fill = start[:-1].copy()
    for i in range(n):
        for r in range(cell_start[chosen[i]], cell_start[chosen[i] + 1]):
            row = place[cell_row[r]]
            listing[fill[row]] = i
            fill[row] += 1
    left = np.ones(n, np.bool_)
    stack = np.empty(count, np.int32)
    depth = 0
    for r in range(count):
        if members[r] == 1:
            stack[depth] = r
            depth += 1
    while depth:
        depth -= 1
        row = stack[depth]
        if members[row] != 1:
            continue
        for at in range(start[row], start[row + 1]):
            i = listing[at]
            if left[i]:
                left[i] = False
                for r in range(cell_start[chosen[i]], cell_start[chosen[i] + 1]):
                    other = place[cell_row[r]]
                    members[other] -= 1
                    if members[other] == 1:
                        stack[depth] = other
                        depth += 1
    return count, left


@kernel("Tuple((i4[::1], i4[::1], i4[::1], i8[::1]))(i8, i4[::1], i4[::1], i4[::1], i8[::1], i4[::1])")
def program_of(
    target: int,
    chosen: Codes,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    place: Codes,
) -> tuple[Codes, Codes, Codes, Ints]:
    """The relations among chosen cells, without cells that cannot move: (cells, start, relation, sign).

    A cell that is the only one left of a relation cannot move. No cells are given when the target is such a cell.
    ``place`` is scratch space, as long as there are relations, filled with -1.
    """
    n = len(chosen)
    entries = 0
    for i in range(n):
        entries += cell_start[chosen[i] + 1] - cell_start[chosen[i]]
    rows = np.empty(entries, np.int32)
    count, left = _movable_among(chosen, cell_start, cell_row, place, rows)
    number = np.full(count, -1, np.int32)
    kept, entries_kept, used = 0, 0, 0
    for i in range(n):
        if left[i]:
            kept += 1
            entries_kept += cell_start[chosen[i] + 1] - cell_start[chosen[i]]
    alive = False
    for i in range(n):
        if left[i] and chosen[i] == target:
            alive = True
    if not alive:
        kept, entries_kept = 0, 0
    cells = np.empty(kept, np.int32)
    starts = np.zeros(kept + 1, np.int32)
    index = np.empty(entries_kept, np.int32)
    sign = np.empty(entries_kept, np.int64)
    if alive:
        k, e = 0, 0
        for i in range(n):
            if not left[i]:
                continue
            cells[k] = chosen[i]
            for r in range(cell_start[chosen[i]], cell_start[chosen[i] + 1]):
                row = place[cell_row[r]]
                if number[row] < 0:
                    number[row] = used
                    used += 1
                index[e] = number[row]
                sign[e] = coefficient[r]
                e += 1
            k += 1
            starts[k] = e
    for r in range(count):
        place[rows[r]] = -1
    return cells, starts, index, sign
