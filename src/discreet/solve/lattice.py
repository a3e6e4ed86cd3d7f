"""Neighbourhoods that follow the hierarchies of a table: whole paths between a cell and others of its lines.

A cell of a deep table moves together with another one of its line and with all totals on the way from one to the other;
where a relation crosses a second one, the same paths are needed there. The cells of such a neighbourhood are all
combinations of the codes on these paths, few of a large table, and none of them is missed because it is dear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status, pointers
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table

if TYPE_CHECKING:
    from discreet.relations import System

OTHERS = {1: 40, 2: 8, 3: 4}
"""How many other cells of each line are looked at, by the number of variables."""
WINDOW = 64
"""Cells of a line that are looked at for them."""
PARTS = 3
"""How many of the parts of a total are looked at, the largest ones."""
LARGEST = 3_000
"""Combinations of codes that make a neighbourhood at most."""


@kernel("i8(i8, i8, i8, i8, i4[::1], i4[::1], i8[::1], f8[::1], b1[::1], i4[::1], f8[::1])")
def _cheapest_of_line(
    row: int,
    level: int,
    low: int,
    high: int,
    line_row: Codes,
    cell_of: Codes,
    value: Ints,
    weight: Floats,
    movable: Bools,
    best: Codes,
    best_weight: Floats,
) -> int:
    """Write other rows of a line into ``best``: the cheapest that reach the level, or the largest; how many."""
    others = len(best)
    a, b = low, high  # values fall along a line: find the first that is below the level
    while a < b:
        middle = (a + b) >> 1
        if value[cell_of[line_row[middle]]] >= level:
            a = middle + 1
        else:
            b = middle
    found = 0
    begin = max(low, a - WINDOW) if a > low else low
    end = a if a > low else min(high, low + others)
    for at in range(begin, end):
        other = line_row[at]
        cell = cell_of[other]
        if other == row or not movable[cell]:
            continue
        price = weight[cell]
        if found == others and price >= best_weight[found - 1]:
            continue
        place = found if found < others else others - 1
        while place > 0 and best_weight[place - 1] > price:
            best[place], best_weight[place] = best[place - 1], best_weight[place - 1]
            place -= 1
        best[place], best_weight[place] = other, price
        found = min(found + 1, others)
    return found


@kernel("i8(i8, i8, i4[::1], i4[::1], i1[::1], i4[::1], i8)")
def _list_path(
    code: int, offset: int, above_start: Codes, above: Codes, marked: Status, listed: Codes, count: int
) -> int:
    """List a code and all above it that are not marked, and mark them; how many are listed then."""
    for e in range(above_start[offset + code], above_start[offset + code + 1]):
        if not marked[offset + above[e]]:
            marked[offset + above[e]] = 1
            listed[count] = above[e]
            count += 1
    return count


@kernel("i4[::1](i8, i8[::1], i4[::1], i8[::1], i8[::1], i4[::1], b1[::1])")
def _combined(row: int, first: Ints, listed: Codes, keys: Ints, strides: Ints, cell_of: Codes, movable: Bools) -> Codes:
    """Cells that can move of all combinations of listed codes, the row's own cell first."""
    dimensions, size = len(first) - 1, 1
    for k in range(dimensions):
        size *= first[k + 1] - first[k]
    result = np.empty(size + 1, np.int32)
    result[0] = cell_of[row]
    filled = 1
    at_code = first[:-1].copy()
    while True:
        wanted = np.int64(0)
        for k in range(dimensions):
            wanted += strides[k] * np.int64(listed[at_code[k]])
        place = int(np.searchsorted(keys, wanted))
        if place < len(keys) and keys[place] == wanted and place != row and movable[cell_of[place]]:
            result[filled] = cell_of[place]
            filled += 1
        k = dimensions - 1
        while k >= 0:
            at_code[k] += 1
            if at_code[k] < first[k + 1]:
                break
            at_code[k] = first[k]
            k -= 1
        if k < 0:
            break
    cells: Codes = result[:filled].copy()
    return cells


@kernel(
    "i4[::1](i8, i8, i8, i8, i4[:,::1], i8[::1], i8[::1], i4[::1], i8[::1], i4[::1], i4[::1], b1[::1], i4[:,::1],"
    "i8[::1], i8[::1], i4[::1], i8[::1], f8[::1], b1[::1], i1[::1])"
)
def combinations(
    row: int,
    level: int,
    others: int,
    largest: int,
    codes: Codes,
    keys: Ints,
    strides: Ints,
    cell_of: Codes,
    offset: Ints,
    above_start: Codes,
    above: Codes,
    base: Bools,
    line_of: Codes,
    line_offset: Ints,
    line_start: Ints,
    line_row: Codes,
    value: Ints,
    weight: Floats,
    movable: Bools,
    marked: Status,
) -> Codes:
    """Cells of all combinations of codes on the paths from a row to others of its lines; the row's own cell first.

    The others are finest cells: the cheapest of those that reach the level, or the largest where none does; along a
    line values fall. ``marked`` is scratch space, as long as there are codes of all variables, filled with zeros.
    """
    dimensions = codes.shape[1]
    listed = np.empty(len(marked), np.int32)
    first = np.zeros(dimensions + 1, np.int64)
    count = 0
    best, best_weight = np.empty(others, np.int32), np.empty(others)
    for k in range(dimensions):
        first[k] = count
        own = codes[row, k]
        line = line_offset[k] + line_of[k, row]
        low, high = line_start[line], line_start[line + 1]
        found = _cheapest_of_line(row, level, low, high, line_row, cell_of, value, weight, movable, best, best_weight)
        # Codes of the row itself and of the cells found, with all above them.
        for i in range(-1, found):
            code = own if i < 0 else codes[best[i], k]
            count = _list_path(code, offset[k], above_start, above, marked, listed, count)
        if not base[offset[k] + own]:
            inside = 0
            # A total moves with the largest of its parts.
            for at in range(low, high):
                code = codes[line_row[at], k]
                below = False
                for e in range(above_start[offset[k] + code], above_start[offset[k] + code + 1]):
                    below = below or above[e] == own
                if below and movable[cell_of[line_row[at]]]:
                    count = _list_path(code, offset[k], above_start, above, marked, listed, count)
                    inside += 1
                    if inside == PARTS:
                        break
        for i in range(first[k], count):
            marked[offset[k] + listed[i]] = 0
    first[dimensions] = count
    size = 1
    for k in range(dimensions):
        size *= first[k + 1] - first[k]
        if size > largest:
            return np.empty(0, np.int32)
    return _combined(row, first, listed, keys, strides, cell_of, movable)


class Lattice:
    """The lines and hierarchies of the tables of a system."""

    def __init__(self, system: System) -> None:
        self.value, self.home = system.value, system.home
        pairs = zip(system.tables.tables, system.of, strict=True)
        self.tables = [_Lines(table, cells, system.value) for table, cells in pairs]
        self.variables = max((len(table.shape) for table in system.tables.tables), default=0)

    def around(self, target: int, level: int, weight: Floats, movable: Bools, times: int = 1) -> Codes:
        """Cells of the neighbourhood of a cell, that cell first; none where it is in no table or there are too many.

        There are ``times`` as many other cells of each line.
        """
        number, row = self.home[target].tolist()
        if number < 0:
            return np.empty(0, np.int32)
        table: _Lines = self.tables[number]
        return table.around(row, level, self.value, weight, movable, times)


class _Lines:
    def __init__(self, table: Table, cells: Ints, value: Ints) -> None:
        hierarchies, shape = table.spec.hierarchies, table.shape
        self.codes = np.ascontiguousarray(table.codes, np.int32)
        self.keys, self.cell_of = table.keys, cells.astype(np.int32)
        self.strides = np.array([int(np.prod(shape[k + 1 :], dtype=np.int64)) for k in range(len(shape))], np.int64)
        self.offset = np.cumsum([0, *shape])[:-1].astype(np.int64)
        above = [_above(hierarchy) for hierarchy in hierarchies]
        self.base = np.concatenate([base for _, base in above])
        lists = [codes for codes_of, _ in above for codes in codes_of]
        self.above_start = pointers(np.array([len(codes) for codes in lists], np.int64)).astype(np.int32)
        self.above = np.array([code for codes in lists for code in codes], np.int32)
        self.marked = np.zeros(int(sum(shape)), np.int8)
        # Several rows can be one cell: a total with one part.
        self.several = len(np.unique(cells)) < len(cells)
        line_of, starts, rows, lines = [], [], [], []
        for k in range(len(shape)):
            other = self.keys - self.codes[:, k].astype(np.int64) * self.strides[k]
            names, line = np.unique(other, return_inverse=True)
            kept = np.flatnonzero(self.base[self.offset[k] + self.codes[:, k]])
            kept = kept[np.lexsort((kept, -value[cells[kept]], line[kept]))]
            line_of.append(line.astype(np.int32))
            starts.append(np.bincount(line[kept], minlength=len(names)))
            rows.append(kept.astype(np.int32))
            lines.append(len(names))
        self.line_of = np.ascontiguousarray(np.stack(line_of))
        self.line_offset = np.cumsum([0, *lines])[:-1].astype(np.int64)
        self.line_start, self.line_row = pointers(np.concatenate(starts)), np.concatenate(rows)
        self.others = OTHERS.get(len(shape), 2)

    def around(self, row: int, level: int, value: Ints, weight: Floats, movable: Bools, times: int) -> Codes:
        hierarchies: tuple[Any, ...] = (self.offset, self.above_start, self.above, self.base)
        lines: tuple[Any, ...] = (self.line_of, self.line_offset, self.line_start, self.line_row)
        sizes = (self.others * times, LARGEST * times**2)
        search: tuple[Any, ...] = (row, level, *sizes, self.codes, self.keys, self.strides, self.cell_of)
        state: tuple[Any, ...] = (value, weight, movable, self.marked)
        found: Codes = combinations(*search, *hierarchies, *lines, *state)
        if self.several:
            found = found[np.sort(np.unique(found, return_index=True)[1])]
        return found


def _above(hierarchy: Hierarchy) -> tuple[list[list[int]], Bools]:
    """For every code itself and all totals it is a part of; and whether it has no parts."""
    parents: dict[str, list[str]] = {}
    for grouping in hierarchy.groupings:
        for code, _ in grouping.parts:
            parents.setdefault(code, []).append(grouping.parent)
    totals = {grouping.parent for grouping in hierarchy.groupings}
    lists = []
    for code in hierarchy.codes:
        found, waiting = [code], [code]
        while waiting:
            for parent in parents.get(waiting.pop(), ()):
                if parent not in found:
                    found.append(parent)
                    waiting.append(parent)
        lists.append([hierarchy.index[c] for c in found])
    return lists, np.array([code not in totals for code in hierarchy.codes], np.bool_)
