"""The equations of one table, vectorised over the cells that exist."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.table import Table


class Equations(NamedTuple):
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
    parts, rows = [], 0
    for k in range(len(table.variables)):
        part = _along(table, k)
        parts.append(part._replace(row=part.row + rows))
        rows += len(part.variable)
    return Equations(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _along(table: Table, k: int) -> Equations:
    """The equations along variable ``k``."""
    from discreet.relations.kernels import along

    hierarchy = table.spec.hierarchies[k]
    line, lines = _lines(table, k)
    starts, groupings, signs = hierarchy.members
    row, cell, coefficient, grouping, sample, has_parent = along(
        table.codes[:, k].copy(), line, lines, starts, groupings, signs, hierarchy.grouping_parents
    )
    defining = hierarchy.first_groupings[grouping]
    for j in range(k):
        defining &= table.spec.hierarchies[j].base[table.codes[sample, j]]
    variable = np.full(len(grouping), k, np.int64)
    return Equations(row, cell, coefficient, variable, grouping, sample, defining, has_parent)


def _lines(table: Table, k: int) -> tuple[Ints, int]:
    """A number for the codes of all variables but ``k``, and how many there can be."""
    line, lines = np.zeros(len(table), np.int64), 1
    for j, size in enumerate(table.shape):
        if j != k:
            line = line * size + table.codes[:, j]
            lines *= size
    return line, lines
