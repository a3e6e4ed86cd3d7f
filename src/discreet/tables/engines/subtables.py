"""Hierarchical tables as products of families: each variable at one parent and its children.

A *line* of a variable is a code with the codes that it is the sum of. A *sub-table* takes one line of every variable;
it is a table without hierarchies, whose margins are inner cells of sub-tables above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import NeedsError
from discreet.model.arrays import Bools, Codes, Ints, pointers
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.relations import System

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_GRID = 2 * 10**8
"""Tables with more combinations of codes than this are not taken apart."""


@dataclass(frozen=True, eq=False)
class Subtables:
    """The sub-tables of one table of a system.

    Parameters
    ----------
    grid
        For every combination of codes (the last variable fastest) the number of its cell, -1 where there is none.
    strides
        Distance in the grid from one code of a variable to the next.
    first
        Number of each variable's first line among all lines, and the number of all lines.
    start, code
        The codes of line ``l`` are ``code[start[l]:start[l + 1]]``, the parent first.
    depth
        How far below the total the parent of each line stands.
    whole
        Whether a line has a parent: a code that adds up with no others is a line of its own.
    """

    grid: Codes
    strides: Ints
    first: Ints
    start: Ints
    code: Ints
    depth: Ints
    whole: Ints

    @property
    def dimensions(self) -> int:
        """How many variables there are."""
        return len(self.strides)

    @cached_property
    def count(self) -> int:
        """How many sub-tables there are."""
        return int(np.prod(np.diff(self.first)))

    @cached_property
    def level(self) -> Ints:
        """For every sub-table the sum of the depths of its lines: tables above it have a smaller one."""
        result = np.zeros(1, np.int64)
        for k in range(self.dimensions):
            result = np.add.outer(result, self.depth[self.first[k] : self.first[k + 1]]).ravel()
        return result

    @cached_property
    def containing(self) -> tuple[Ints, Ints]:
        """For every variable and code the lines that hold it: starts (by variable, then code) and line numbers."""
        sizes = self.shape
        offset = pointers(np.array(sizes, np.int64))
        variable = np.repeat(np.arange(self.dimensions), np.diff(self.first))
        line = np.repeat(np.arange(len(variable)), np.diff(self.start))
        key = offset[variable[line]] + self.code
        order = np.lexsort((line, key))
        return pointers(np.bincount(key, minlength=int(offset[-1])).astype(np.int64)), line[order].astype(np.int64)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each variable."""
        sizes = [*self.strides.tolist(), 0]
        above = [len(self.grid), *self.strides[:-1].tolist()]
        return tuple(a // s for a, s in zip(above, sizes[:-1], strict=True))

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """For every cell of the system where it stands in the grid: starts and places."""
        there = np.flatnonzero(self.grid >= 0)
        order = np.lexsort((there, self.grid[there]))
        lengths = np.bincount(self.grid[there]).astype(np.int64) if len(there) else np.zeros(0, np.int64)
        return pointers(lengths), there[order].astype(np.int64)

    def lines(self, number: int) -> Ints:
        """The line of each variable that a sub-table is made of."""
        sizes = np.diff(self.first)
        return np.array(np.unravel_index(number, sizes), np.int64) + self.first[:-1]

    def cells(self, number: int) -> Codes:
        """Cells of a sub-table as an array with one axis a variable; -1 where there is none."""
        at = np.zeros((), np.int64)
        for k, line in enumerate(self.lines(number).tolist()):
            at = np.add.outer(at, self.code[self.start[line] : self.start[line + 1]] * self.strides[k])
        return self.grid[at]


def relations_of(cells: Codes, whole: Bools) -> csr_array:
    """Relations of a sub-table without hierarchies: along every whole axis the first entry is the sum of the others.

    One column per place of the flattened array; places without a cell have none of the entries. Relations that follow
    from others are left out: along each axis only those of parts, not totals, of the whole axes before it.
    """
    from scipy.sparse import csr_array

    place = np.arange(cells.size, dtype=np.int64).reshape(cells.shape)
    rows, columns, values, count = [], [], [], 0
    for axis in np.flatnonzero(whole).tolist():
        lines = np.moveaxis(place, axis, -1).reshape(-1, cells.shape[axis])
        index = np.stack(np.unravel_index(lines[:, 0], cells.shape), axis=1)
        lines = lines[np.all((index[:, :axis] > 0) | ~whole[:axis], axis=1)]
        there = cells.ravel()[lines] >= 0
        sign = np.ones(lines.shape, np.int64)
        sign[:, 0] = -1
        rows.append(np.repeat(np.arange(count, count + len(lines)), there.sum(axis=1)))
        columns.append(lines[there])
        values.append(sign[there])
        count += len(lines)
    if not rows:
        return csr_array((0, cells.size), dtype=np.int64)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return csr_array(entries, shape=(count, cells.size))


def subtables(system: System, engine: str) -> list[Subtables]:
    """Every table of a system taken apart."""
    return [_taken_apart(table, of, engine) for table, of in zip(system.tables, system.of, strict=True)]


def _taken_apart(table: Table, of: Ints, engine: str) -> Subtables:
    size = float(np.prod([float(n) for n in table.shape]))
    if size > LARGEST_GRID:
        raise NeedsError(
            f"Table {table.name!r} has {size:.3g} combinations of codes; algorithm={engine!r} cannot take it apart.",
            hint="Use algorithm='gauss' or 'certified', or leave out a variable.",
        )
    grid = np.full(int(size), -1, np.int32)
    there = np.flatnonzero(~table.empty)
    grid[table.keys[there]] = of[there]
    strides = np.ones(len(table.shape), np.int64)
    strides[:-1] = np.cumprod(np.array(table.shape[:0:-1], np.int64))[::-1]
    parts = [_lines(variable, hierarchy, engine) for variable, hierarchy in table.spec.by.items()]
    lines = [line for part in parts for line in part]
    return Subtables(
        grid,
        strides,
        pointers(np.array([len(part) for part in parts], np.int64)),
        pointers(np.array([len(codes) for codes, _, _ in lines], np.int64)),
        np.concatenate([np.array(codes, np.int64) for codes, _, _ in lines]),
        np.array([depth for _, depth, _ in lines], np.int64),
        np.array([whole for _, _, whole in lines], np.int64),
    )


def _lines(variable: str, hierarchy: Hierarchy, engine: str) -> list[tuple[list[int], int, bool]]:
    """Codes, depth of the parent, and whether there is one, of each line of a variable."""
    depth: dict[str, int] = {}
    used: set[str] = set()
    for g in hierarchy.groupings:
        if any(sign < 0 for _, sign in g.parts):
            raise NeedsError(
                f"Variable {variable!r} has a sum with a minus sign ({g}), which algorithm={engine!r} cannot take.",
                hint="Use algorithm='gauss' or 'certified'.",
            )
    left = list(hierarchy.groupings)
    parts = {code for g in left for code, _ in g.parts}
    waiting = [(code, 0) for code in hierarchy.codes if code not in parts]
    while waiting:  # from the totals down; the longest way counts
        code, at = waiting.pop()
        if depth.get(code, -1) >= at:
            continue
        depth[code] = at
        for g in left:
            if g.parent == code:
                waiting += [(part, at + (len(g.parts) > 1)) for part, _ in g.parts]
    found = []
    for g in left:
        used.update((g.parent, *(code for code, _ in g.parts)))
        if len(g.parts) > 1:  # a sum of one part is that part under another name
            codes = [hierarchy.position(c) for c in (g.parent, *(code for code, _ in g.parts))]
            found.append((codes, depth[g.parent], True))
    summed = {code for codes, _, _ in found for code in codes}
    alone = [i for i, code in enumerate(hierarchy.codes) if i not in summed and (code not in used or not found)]
    return [([code], 0, False) for code in alone] + found
