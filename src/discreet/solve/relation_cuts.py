"""What every safe pattern withholds, said by relations: for a cell to move, something else of the relation must move.

Relations added up with signs are a relation too. A *cut* belongs to one unsafe cell and one such sum of relations: the
other cells of the sum that are withheld must be able to make up for the level of the cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints

LONG = 4_000
"""A relation of more cells is never added to another one."""
NOTHING = 1e-9
LITTLE = 0.02
"""A cell that gives less than this share of the level is not worth another relation."""

_GRAPH = "i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8[::1]"
_CELLS = "f8[::1], f8[::1], f8[::1], b1[::1], b1[::1]"


@kernel("f8(i8, i8, i8, f8, f8[::1], f8[::1], f8[::1], b1[::1], b1[::1])")
def _gives(
    cell: int,
    weight: int,
    sign: int,
    level: float,
    share: Floats,
    room: Floats,
    headroom: Floats,
    movable: Bools,
    required: Bools,
) -> float:
    """How much of the level a cell gives that stands in a sum of relations so many times."""
    if weight == 0 or not movable[cell]:
        return 0.0
    most = min(abs(weight) * (headroom[cell] if -weight * sign > 0 else room[cell]), level)
    return float(most if required[cell] else most * share[cell])


_ROWS = "i4[::1], i4[::1], i8[::1]"


@kernel(f"Tuple((i4[::1], i8))(i8, i8, i4[::1], i8, {_ROWS}, i8[::1], b1[::1])")
def _added(
    row: int,
    times: int,
    among: Codes,
    count: int,
    row_start: Codes,
    row_cell: Codes,
    row_coefficient: Ints,
    weight: Ints,
    listed: Bools,
) -> tuple[Codes, int]:
    """Add a relation so many times to a sum of relations; the cells that stand in it, and how many they are."""
    for k in range(row_start[row], row_start[row + 1]):
        j = row_cell[k]
        weight[j] += times * row_coefficient[k]
        if not listed[j]:
            listed[j] = True
            if count == len(among):
                among = np.concatenate((among, np.empty(len(among), np.int32)))
            among[count] = j
            count += 1
    return among, count


@kernel(f"Tuple((f8, i8, i8))(i8, i4[::1], i8, f8, {_CELLS}, {_GRAPH}, i8[::1])")
def _best_addition(
    target: int,
    among: Codes,
    sign: int,
    level: float,
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
) -> tuple[float, int, int]:
    """The relation that leaves the least to be had of a sum when it replaces one of its cells: (gain, row, times)."""
    best, best_row, best_times = NOTHING * level, -1, 0
    for a in range(len(among)):
        m = among[a]
        gives = _gives(m, weight[m], sign, level, share, room, headroom, movable, required)
        if m == target or gives <= LITTLE * level:
            continue
        for c in range(cell_start[m], cell_start[m + 1]):
            row = cell_row[c]
            if abs(coefficient[c]) != 1 or row_start[row + 1] - row_start[row] > LONG:
                continue
            times, gain = int(-weight[m] * coefficient[c]), 0.0
            for k in range(row_start[row], row_start[row + 1]):
                j = row_cell[k]
                if j == target or gain < -gives:
                    gain = -np.inf
                    break
                new = weight[j] + times * row_coefficient[k]
                gain += _gives(j, weight[j], sign, level, share, room, headroom, movable, required)
                gain -= _gives(j, new, sign, level, share, room, headroom, movable, required)
            if gain > best:
                best, best_row, best_times = gain, int(row), times
    return best, best_row, best_times


@kernel(f"i8(i8, i4[::1], i8, f8, {_CELLS}, i8[::1], f8, i4[::1], f8[::1])")
def _cut_of(
    target: int,
    among: Codes,
    sign: int,
    level: float,
    share: Floats,
    room: Floats,
    headroom: Floats,
    movable: Bools,
    required: Bools,
    weight: Ints,
    short: float,
    cells: Codes,
    coefficients: Floats,
) -> int:
    """Write the cut of a sum of relations; how many cells it has, none where shares meet it or nothing could.

    A cell that nothing could protect says nothing of what protects the others.
    """
    need = level
    for j in among:
        if j != target and required[j]:
            need -= _gives(j, weight[j], sign, level, share, room, headroom, movable, required)
    if need <= NOTHING * level:
        return 0
    count, reached, possible = 0, 0.0, 0.0
    for j in among:
        if j == target or required[j] or not movable[j] or weight[j] == 0:
            continue
        most = abs(weight[j]) * (headroom[j] if -weight[j] * sign > 0 else room[j])
        part = min(most, need) / need
        if part > 0:
            cells[count], coefficients[count] = j, part
            reached += part * share[j]
            possible += part
            count += 1
    return count if reached < 1.0 - short and possible >= 1.0 else 0


@kernel(
    "Tuple((i8[::1], i4[::1], f8[::1], i4[::1]))"
    f"(i4[::1], i8[::1], f8[::1], i8, f8, {_CELLS}, {_GRAPH}, i8[::1], b1[::1])"
)
def relation_cuts(
    target: Codes,
    direction: Ints,
    level: Floats,
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
    """Cuts that shares of cells fall short of by more than ``short``: (start, cells, coefficients, whose they are).

    A cut says that the sum of its coefficients times shares is at least one. Every relation through a target is looked
    at, and relations are added to it, at most ``steps``, wherever a cell gives more than what would stand in its place.
    ``weight`` and ``listed`` are scratch space, one place for every cell, filled with zeros.
    """
    known = (share, room, headroom, movable, required)
    rows = (row_start, row_cell, row_coefficient)
    graph: Any = (*known, cell_start, cell_row, coefficient, row_start, row_cell, row_coefficient, weight)
    cells, coefficients = np.empty(1024, np.int32), np.empty(1024)
    starts, owner, among = np.zeros(256, np.int64), np.empty(256, np.int32), np.empty(1024, np.int32)
    count = 0
    for t in range(len(target)):
        p = target[t]
        for e in range(cell_start[p], cell_start[p + 1]):
            if abs(coefficient[e]) != 1:
                continue
            sign = int(direction[t] * coefficient[e])
            among, n = _added(cell_row[e], 1, among, 0, *rows, weight, listed)
            for _ in range(steps):
                _, row, times = _best_addition(p, among[:n], sign, level[t], *graph)
                if row < 0:
                    break
                among, n = _added(row, times, among, n, *rows, weight, listed)
            used = starts[count]
            if used + n > len(cells):
                more = max(n, len(cells))
                cells = np.concatenate((cells, np.empty(more, np.int32)))
                coefficients = np.concatenate((coefficients, np.empty(more)))
            if count + 1 == len(starts):
                starts = np.concatenate((starts, np.empty(len(starts), np.int64)))
                owner = np.concatenate((owner, np.empty(len(owner), np.int32)))
            there = (cells[used:], coefficients[used:])
            found = _cut_of(p, among[:n], sign, level[t], *known, weight, short, *there)
            if found > 0:
                owner[count] = p
                count += 1
                starts[count] = used + found
            for a in range(n):
                weight[among[a]] = 0
                listed[among[a]] = False
    used = starts[count]
    return starts[: count + 1].copy(), cells[:used].copy(), coefficients[:used].copy(), owner[:count].copy()
