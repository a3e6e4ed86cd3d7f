"""Compiled loops of rounding in parts: one cell of a line goes up and another down, so that the line's sum stays.

Lines are cells that only differ in one variable, within one family of its codes. Exchanges within lines change no sum
beyond the part that the lines are in, so that parts are searched for themselves.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Ints
from discreet.solve.stream import Words, next_word, unit_draw
from discreet.tables.rounding.kernels import counted_violations, recounted, violation

TRIES = 6
"""So many cells of a line are looked at for one that can be exchanged."""


@kernel("int64(uint64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _partner(state: Words, a: int, x: Ints, low: Ints, line: Ints, begin: Ints, member: Ints) -> int:
    """A cell of the same line that is down where ``a`` is up, or up where it is down; -1 where none was met."""
    first = begin[line[a]]
    size = begin[line[a] + 1] - first
    for _ in range(TRIES):
        b = member[first + np.int64(next_word(state) % np.uint64(size))]
        if x[b] - low[b] != x[a] - low[a]:
            return int(b)
    return -1


@kernel("int64(int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _shifted(a: int, move: int, start: Ints, row: Ints, z: Ints, floor: Ints, ceil: Ints) -> int:
    """Move a cell in its sums, and by how much the squared violations change."""
    change = 0
    for k in range(start[a], start[a + 1]):
        j = row[k]
        old = violation(j, z, floor, ceil)
        z[j] += move
        new = violation(j, z, floor, ceil)
        change += new * new - old * old
    return change


@kernel(
    "int64(int64, uint64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], float64, float64)"
)
def exchange(
    steps: int,
    state: Words,
    start: Ints,
    row: Ints,
    x: Ints,
    low: Ints,
    line: Ints,
    begin: Ints,
    member: Ints,
    mine: Ints,
    rows: Ints,
    z: Ints,
    floor: Ints,
    ceil: Ints,
    hot: float,
    cold: float,
) -> int:
    """Anneal the cells ``mine`` of one part towards sums ``rows`` within ``floor`` to ``ceil``; the worst violation.

    The members of line ``l`` are ``member[begin[l] : begin[l + 1]]``. ``x`` ends with the best that was found.
    """
    counts, top = counted_violations(rows, z, floor, ceil)
    found = top
    if len(mine) == 0:
        return found
    best = np.empty(len(mine), np.int64)
    for i in range(len(mine)):
        best[i] = x[mine[i]]
    cooling = (cold / hot) ** (1.0 / max(steps, 1))
    heat = hot
    for _ in range(steps):
        if found == 0:
            break
        heat *= cooling
        a = mine[next_word(state) % np.uint64(len(mine))]
        b = _partner(state, a, x, low, line, begin, member)
        if b < 0:
            continue
        move = 1 if x[a] == low[a] else -1
        change = _shifted(a, move, start, row, z, floor, ceil) + _shifted(b, -move, start, row, z, floor, ceil)
        refused = change > 0 and unit_draw(state) >= np.exp(-change / heat)
        # Back to where it was: sums that the move changed are counted anew one by one.
        _shifted(a, -move, start, row, z, floor, ceil)
        _shifted(b, move, start, row, z, floor, ceil)
        if refused:
            continue
        for cell in (a, b):
            for k in range(start[cell], start[cell + 1]):
                top = recounted(row[k], move if cell == a else -move, top, counts, z, floor, ceil)
        x[a] += move
        x[b] -= move
        while top > 0 and counts[top] == 0:
            top -= 1
        if top < found:
            found = top
            for i in range(len(mine)):
                best[i] = x[mine[i]]
    for i in range(len(mine)):
        cell = mine[i]
        if x[cell] != best[i]:
            _shifted(cell, best[i] - x[cell], start, row, z, floor, ceil)
            x[cell] = best[i]
    return found
