"""Iterative proportional fitting: cells are scaled to each of their margins in turn, again and again.

Margin ``j`` is the sum of the cells ``member[start[j] : start[j + 1]]``, and ``target[j]`` what it should be.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Codes, Floats, Ints

STILL = 1e-12
"""Cells that change by less than this share in a cycle stand still."""


@kernel("Tuple((f8, f8))(i8[::1], i4[::1], f8[::1], f8[::1])")
def scale_to_margins(start: Ints, member: Codes, target: Floats, cell: Floats) -> tuple[float, float]:
    """Scale cells to every margin once; the largest gap that was met on the way, and the largest change of a cell."""
    gap, moved = 0.0, 0.0
    for j in range(len(target)):
        total = 0.0
        for at in range(start[j], start[j + 1]):
            total += cell[member[at]]
        gap = max(gap, abs(total - target[j]))
        # Nothing can be made of nothing: such a margin keeps its gap.
        factor = target[j] / total if total > 0.0 else 0.0
        for at in range(start[j], start[j + 1]):
            there = cell[member[at]]
            moved = max(moved, abs(there * (factor - 1.0)) / max(there, 1.0))
            cell[member[at]] = there * factor
    return gap, moved


@kernel("f8(i8[::1], i4[::1], f8[::1], f8[::1], i8)")
def fit_until_still(start: Ints, member: Codes, target: Floats, cell: Floats, cycles: int) -> float:
    """Fit cells to margins until nothing changes; the largest gap of the last cycle."""
    gap = 0.0
    for _ in range(cycles):
        gap, moved = scale_to_margins(start, member, target, cell)
        if moved < STILL:
            break
    return gap


@kernel("b1(i8[::1], i4[::1], f8[::1], f8[::1], i8, f8)")
def fit_until_close(start: Ints, member: Codes, target: Floats, cell: Floats, cycles: int, tolerance: float) -> bool:
    """Fit cells to margins until all are met within a tolerance; whether they were, in so many cycles."""
    for _ in range(cycles):
        scale_to_margins(start, member, target, cell)
        gap = 0.0
        for j in range(len(target)):
            total = 0.0
            for at in range(start[j], start[j + 1]):
                total += cell[member[at]]
            if total <= 0.0 and target[j] > tolerance:
                return False
            gap = max(gap, abs(total - target[j]))
        if gap <= tolerance:
            return True
    return False


@kernel("Tuple((i8, f8))(i4[:, ::1], i8[::1], f8[::1], f8[::1], i8, f8)")
def fit_by_place(
    place: Codes, first: Ints, target: Floats, cell: Floats, cycles: int, tolerance: float
) -> tuple[int, float]:
    """Fit cells to several tables of margins at once, until all are met within a share of them.

    Cell ``i`` counts towards margin ``place[t, i]`` of table ``t``, whose margins are ``target[first[t] :
    first[t + 1]]``. Gives the number of cycles, and the largest gap as a share of its margin.
    """
    tables, cells = place.shape
    total = np.zeros(len(target))
    gap, cycle = 0.0, 0
    while cycle < cycles:
        cycle += 1
        for t in range(tables):
            total[first[t] : first[t + 1]] = 0.0
            for i in range(cells):
                total[first[t] + place[t, i]] += cell[i]
            for j in range(first[t], first[t + 1]):
                # Nothing can be made of nothing: such a margin keeps its gap.
                total[j] = target[j] / total[j] if total[j] > 0.0 else 0.0
            for i in range(cells):
                cell[i] *= total[first[t] + place[t, i]]
        gap = 0.0
        for t in range(tables):
            total[first[t] : first[t + 1]] = 0.0
            for i in range(cells):
                total[first[t] + place[t, i]] += cell[i]
            for j in range(first[t], first[t + 1]):
                gap = max(gap, abs(total[j] - target[j]) / max(target[j], 1e-300) if target[j] > 0.0 else total[j])
        if gap <= tolerance:
            break
    return cycle, gap
