"""What a pattern must withhold because contributors know their own part: cuts of relations as an insider sees them.

An insider knows the cells that it fills alone, and of any other cell that it is not below its own contribution. What is
left to make up for the level of a cell is what the others give. See :mod:`discreet.solve.relation_cuts` for outsiders.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.solve.relation_cuts import _CELLS, _GRAPH, _added, _best_addition, _cut_of

MOST_IN_ROW = 400
"""Relations with more cells that are withheld anyway are not looked at: each of their insiders holds a small part."""
NOTHING = 1e-9

_PART = "i8[::1], i8[::1], i4[::1], f8[::1]"


@kernel(
    "Tuple((f8, i8))(i8, i8, f8, i8, i8, i8, f8[::1], b1[::1], b1[::1], i8[::1], i8[:,::1], f8[:,::1],"
    "i4[::1], i8[::1], i8[::1], f8[::1])"
)
def _taken(
    target: int,
    sign: int,
    level: float,
    alone: int,
    first: int,
    last: int,
    room: Floats,
    movable: Bools,
    required: Bools,
    contributors: Ints,
    holder: Ints,
    left: Floats,
    row_cell: Codes,
    row_coefficient: Ints,
    who: Ints,
    takes: Floats,
) -> tuple[float, int]:
    """What unsafe cells of a relation give a target, and how many insiders take some of it: ``who``, and how much.

    Of a relation with too many of them nobody is said to take anything.
    """
    known, total, inside = 0, 0.0, 0
    for k in range(first, last):
        j = row_cell[k]
        if j == target or not required[j] or not movable[j]:
            continue
        inside += 1
        if inside > MOST_IN_ROW:
            return total, 0
        times, falls = abs(row_coefficient[k]), row_coefficient[k] * sign > 0
        gives = min(times * room[j], level) if falls else level
        total += gives
        for place in range(holder.shape[1]):
            h = holder[j, place]
            if h == -1 or h == alone:
                continue
            loss = gives
            if contributors[j] != 1:
                loss = gives - min(times * left[j, place], gives) if falls else 0.0
            if loss <= 0:
                continue
            at = 0
            while at < known and who[at] != h:
                at += 1
            if at == known:
                who[at], takes[at] = h, 0.0
                known += 1
            takes[at] += loss
    return total, known


@kernel(
    "Tuple((i4[::1], i4[::1], i8[::1]))"
    f"(i4[::1], i8[::1], f8[::1], f8[::1], b1[::1], b1[::1], i8[::1], i8[:,::1], f8[:,::1], {_GRAPH})"
)
def insider_questions(
    target: Codes,
    direction: Ints,
    level: Floats,
    room: Floats,
    movable: Bools,
    required: Bools,
    contributors: Ints,
    holder: Ints,
    left: Floats,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    row_start: Codes,
    row_cell: Codes,
    row_coefficient: Ints,
) -> tuple[Codes, Codes, Ints]:
    """Which insiders leave a target short in which relation: (target's number, relation, insider).

    Only where what unsafe cells give without this insider's part is short of the level something else is necessary.
    ``left`` is what every named contributor leaves of the room below a cell.
    """
    found_t, found_r, found_h = np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int64)
    count = 0
    who, takes = np.empty(3 * MOST_IN_ROW, np.int64), np.empty(3 * MOST_IN_ROW)
    cells: Any = (room, movable, required, contributors, holder, left, row_cell, row_coefficient, who, takes)
    for t in range(len(target)):
        p = target[t]
        alone_in_p = holder[p, 0] if contributors[p] == 1 else -1
        for e in range(cell_start[p], cell_start[p + 1]):
            if abs(coefficient[e]) != 1:
                continue
            row, sign = cell_row[e], direction[t] * coefficient[e]
            total, known = _taken(p, sign, level[t], alone_in_p, row_start[row], row_start[row + 1], *cells)
            for at in range(known):
                if total - takes[at] < level[t] * (1 - NOTHING):
                    if count == len(found_t):
                        found_t = np.concatenate((found_t, np.empty(count, np.int32)))
                        found_r = np.concatenate((found_r, np.empty(count, np.int32)))
                        found_h = np.concatenate((found_h, np.empty(count, np.int64)))
                    found_t[count], found_r[count], found_h[count] = t, row, who[at]
                    count += 1
    return found_t[:count].copy(), found_r[:count].copy(), found_h[:count].copy()


@kernel("void(i8, i8, i8, i4[::1], f8[::1], f8[::1], b1[::1], f8[::1], b1[::1])")
def _known_to(
    first: int,
    alone: int,
    last: int,
    part_cell: Codes,
    part_room: Floats,
    room: Floats,
    movable: Bools,
    before: Floats,
    could: Bools,
) -> None:
    """Take away what an insider knows, and note what was there."""
    for k in range(first, last):
        j = part_cell[k]
        before[k], could[k] = room[j], movable[j]
        if k >= alone:
            movable[j] = False
        else:
            room[j] = min(room[j], part_room[k])


@kernel(f"Tuple((i4[::1], i8))(i8, i8, i8, f8, i4[::1], i8, {_CELLS}, {_GRAPH}, i8[::1], b1[::1])")
def _added_up(
    target: int,
    steps: int,
    sign: int,
    level: float,
    among: Codes,
    count: int,
    share: Floats,
    room: Floats,
    headroom: Floats,
    movable: Bools,
    required: Bools,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    row_start: Codes,
    row_cell: Codes,
    row_coefficient: Ints,
    weight: Ints,
    listed: Bools,
) -> tuple[Codes, int]:
    """Add so many relations to a sum, each the one that leaves the least to be had; its cells, and how many."""
    known, rows = (share, room, headroom, movable, required), (row_start, row_cell, row_coefficient)
    for _ in range(steps):
        graph: Any = (*known, cell_start, cell_row, coefficient, *rows, weight)
        _, more, times = _best_addition(target, among[:count], sign, level, *graph)
        if more < 0:
            break
        among, count = _added(more, times, among, count, *rows, weight, listed)
    return among, count


@kernel(
    "Tuple((i8[::1], i4[::1], f8[::1], i4[::1]))"
    f"(i4[::1], i8[::1], f8[::1], i4[::1], i4[::1], {_PART}, i8, f8, {_CELLS}, {_GRAPH}, i8[::1], b1[::1])"
)
def insider_cuts(
    target: Codes,
    sign: Ints,
    level: Floats,
    row: Codes,
    insider: Codes,
    alone_start: Ints,
    part_start: Ints,
    part_cell: Codes,
    part_room: Floats,
    steps: int,
    short: float,
    share: Floats,
    room: Floats,
    headroom: Floats,
    movable: Bools,
    required: Bools,
    cell_start: Codes,
    cell_row: Codes,
    coefficient: Ints,
    row_start: Codes,
    row_cell: Codes,
    row_coefficient: Ints,
    weight: Ints,
    listed: Bools,
) -> tuple[Ints, Codes, Floats, Codes]:
    """Cuts of some questions that shares fall short of by more than ``short``, as :func:`relation_cuts` gives them.

    Of insider number ``i`` the cells ``part_cell[part_start[i] : part_start[i + 1]]`` are known: those from
    ``alone_start[i]`` on exactly, and the others to have no more room below them than ``part_room``. What is changed
    for an insider is put back before the next one.
    """
    known = (share, room, headroom, movable, required)
    rows = (row_start, row_cell, row_coefficient)
    sums: Any = (*known, cell_start, cell_row, coefficient, row_start, row_cell, row_coefficient, weight, listed)
    cells, coefficients = np.empty(1024, np.int32), np.empty(1024)
    starts, owner, among = np.zeros(256, np.int64), np.empty(256, np.int32), np.empty(1024, np.int32)
    before, could = np.empty(len(part_cell)), np.empty(len(part_cell), np.bool_)
    count = 0
    for q in range(len(target)):
        p, first, last = target[q], part_start[insider[q]], part_start[insider[q] + 1]
        _known_to(first, alone_start[insider[q]], last, part_cell, part_room, room, movable, before, could)
        among, n = _added(row[q], 1, among, 0, *rows, weight, listed)
        among, n = _added_up(p, steps, sign[q], level[q], among, n, *sums)
        used = starts[count]
        if used + n > len(cells):
            longer = max(n, len(cells))
            cells = np.concatenate((cells, np.empty(longer, np.int32)))
            coefficients = np.concatenate((coefficients, np.empty(longer)))
        if count + 1 == len(starts):
            starts = np.concatenate((starts, np.empty(len(starts), np.int64)))
            owner = np.concatenate((owner, np.empty(len(owner), np.int32)))
        there = (cells[used:], coefficients[used:])
        found = _cut_of(p, among[:n], sign[q], level[q], *known, weight, short, *there)
        if found > 0:
            owner[count] = p
            count += 1
            starts[count] = used + found
        for a in range(n):
            weight[among[a]] = 0
            listed[among[a]] = False
        for k in range(last - 1, first - 1, -1):
            room[part_cell[k]], movable[part_cell[k]] = before[k], could[k]
    used = starts[count]
    return starts[: count + 1].copy(), cells[:used].copy(), coefficients[:used].copy(), owner[:count].copy()
