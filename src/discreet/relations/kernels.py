"""Compiled loops over the cells of tables."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints

DENSE = 4
"""Keys are numbered in an array of all that can be, where it is at most so many times as long as there are keys."""


@kernel(
    "Tuple((int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1]))"
    "(int32[:, ::1], int64, int64[::1], int64[::1], int32[::1], int32[::1], int32[::1])"
)
def along(
    codes: Codes, k: int, sizes: Ints, starts: Ints, groupings: Codes, coefficients: Codes, parents: Codes
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """The equations along variable ``k``: entries (row, cell, coefficient); of rows grouping, first cell, parent.

    The parent is a cell, -1 where it is not there. A variable has as many codes as ``sizes`` says; code ``c`` stands
    in the groupings ``starts[c]`` to ``starts[c + 1]``. Rows are numbered by grouping, then by the other codes.
    """
    entries, lines = 0, 1
    for i in range(len(codes)):
        entries += starts[codes[i, k] + 1] - starts[codes[i, k]]
    for j in range(len(sizes)):
        lines *= sizes[j] if j != k else 1
    key, cell = np.empty(entries, np.int64), np.empty(entries, np.int64)
    coefficient = np.empty(entries, np.int64)
    at = 0
    for i in range(len(codes)):
        line = 0
        for j in range(len(sizes)):
            if j != k:
                line = line * sizes[j] + codes[i, j]
        for e in range(starts[codes[i, k]], starts[codes[i, k] + 1]):
            key[at], cell[at], coefficient[at] = groupings[e] * lines + line, i, coefficients[e]
            at += 1
    row = np.empty(entries, np.int64)
    rows = 0
    if len(parents) * lines <= DENSE * entries:
        number = np.full(len(parents) * lines, -1, np.int64)
        for e in range(entries):
            number[key[e]] = 0
        for n in range(len(number)):
            if number[n] == 0:
                number[n] = rows
                rows += 1
        for e in range(entries):
            row[e] = number[key[e]]
    else:
        order = np.argsort(key, kind="mergesort")
        for n in range(entries):
            if n > 0 and key[order[n]] != key[order[n - 1]]:
                rows += 1
            row[order[n]] = rows
        rows += entries > 0
    grouping, first = np.empty(rows, np.int64), np.empty(rows, np.int64)
    parent = np.full(rows, -1, np.int64)
    for e in range(entries - 1, -1, -1):
        r = row[e]
        grouping[r], first[r] = key[e] // lines, cell[e]
        if parents[grouping[r]] == codes[cell[e], k]:
            parent[r] = cell[e]
    return row, cell, coefficient, grouping, first, parent
