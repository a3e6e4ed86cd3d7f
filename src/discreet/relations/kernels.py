"""Compiled loops over the cells of tables."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Ints

DENSE = 4
"""Keys are numbered in an array of all that can be, where it is at most so many times as long as there are keys."""


@kernel(
    "Tuple((int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], boolean[::1]))"
    "(int32[::1], int64[::1], int64, int64[::1], int32[::1], int32[::1], int32[::1])"
)
def along(
    codes: Codes, line: Ints, lines: int, starts: Ints, groupings: Codes, coefficients: Codes, parents: Codes
) -> tuple[Ints, Ints, Ints, Ints, Ints, Bools]:
    """The equations along a variable: entries (row, cell, coefficient), and of each row its grouping, first cell and
    whether the parent is there.

    ``line`` numbers the codes of all other variables, from 0 to ``lines``; code ``c`` stands in the groupings
    ``starts[c]`` to ``starts[c + 1]``. Rows are numbered by grouping, then by line.
    """
    entries = 0
    for c in codes:
        entries += starts[c + 1] - starts[c]
    key, cell = np.empty(entries, np.int64), np.empty(entries, np.int64)
    coefficient = np.empty(entries, np.int64)
    at = 0
    for i in range(len(codes)):
        for k in range(starts[codes[i]], starts[codes[i] + 1]):
            key[at], cell[at], coefficient[at] = groupings[k] * lines + line[i], i, coefficients[k]
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
    has_parent = np.zeros(rows, np.bool_)
    for e in range(entries - 1, -1, -1):
        r = row[e]
        grouping[r], first[r] = key[e] // lines, cell[e]
        if parents[grouping[r]] == codes[cell[e]]:
            has_parent[r] = True
    return row, cell, coefficient, grouping, first, has_parent
