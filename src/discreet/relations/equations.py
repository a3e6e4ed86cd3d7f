"""The equations of one table, vectorised over the cells that exist."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.model.arrays import Bools, Codes, Ints, ranges
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table


@dataclass(frozen=True, eq=False)
class Equations:
    """Entries (row, cell, coefficient) of equations that sum to zero, and what each row is.

    ``variable`` and ``grouping`` name the sum a row stands for, ``sample`` one cell in it. ``defining`` rows
    suffice where the table is complete down to its base codes: each explains one cell by finer ones.
    """

    row: Ints
    cell: Ints
    coefficient: Ints
    variable: Ints
    grouping: Ints
    sample: Ints
    defining: Bools
    has_parent: Bools


def table_equations(table: Table) -> Equations:
    """All equations of a table: every grouping of every variable, at every combination of the other codes."""
    parts = [_along(table, k) for k in range(len(table.variables))]
    offsets = np.cumsum([0, *(len(part.variable) for part in parts)])
    rows = [part.row + offset for part, offset in zip(parts, offsets, strict=False)]
    return Equations(
        np.concatenate(rows),
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("cell", "coefficient", "variable", "grouping", "sample", "defining", "has_parent")
        ),
    )


def _along(table: Table, k: int) -> Equations:
    """The equations along variable ``k``."""
    hierarchy = table.spec.hierarchies[k]
    if not hierarchy.groupings:
        nothing, none = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        return Equations(nothing, nothing, nothing, nothing, nothing, nothing, none, none)
    codes = table.codes[:, k]
    starts, groupings, coefficients = hierarchy.members
    lengths = np.diff(starts)[codes]
    where = ranges(starts[codes], lengths)
    cell = np.repeat(np.arange(len(table), dtype=np.int64), lengths)
    grouping = groupings[where].astype(np.int64)
    key = grouping * _lines_size(table, k) + _lines(table, k)[cell]
    unique, sample, row = np.unique(key, return_index=True, return_inverse=True)
    row = row.astype(np.int64)
    parent = _parents(hierarchy)[grouping] == codes[cell]
    has_parent = np.zeros(len(unique), np.bool_)
    has_parent[row[parent]] = True
    first = cell[sample]
    finer = np.ones(len(table), np.bool_)
    for j in range(k):
        finer &= table.spec.hierarchies[j].base[table.codes[:, j]]
    row_grouping = grouping[sample]
    return Equations(
        row,
        cell,
        coefficients[where].astype(np.int64),
        np.full(len(unique), k, np.int64),
        row_grouping,
        first,
        finer[first] & _first_grouping(hierarchy)[row_grouping],
        has_parent,
    )


def _lines(table: Table, k: int) -> Ints:
    """A number for the codes of all variables but ``k``."""
    line = np.zeros(len(table), np.int64)
    for j, size in enumerate(table.shape):
        if j != k:
            line = line * size + table.codes[:, j]
    return line


def _lines_size(table: Table, k: int) -> int:
    return int(np.prod([size for j, size in enumerate(table.shape) if j != k], dtype=np.int64))


def _parents(hierarchy: Hierarchy) -> Codes:
    return np.array([hierarchy.index[g.parent] for g in hierarchy.groupings], dtype=np.int32)


def _first_grouping(hierarchy: Hierarchy) -> Bools:
    """Which groupings are the first of their parent."""
    parents = _parents(hierarchy)
    result = np.zeros(len(parents), np.bool_)
    result[np.unique(parents, return_index=True)[1]] = True
    return result
