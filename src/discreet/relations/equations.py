"""The equations of one table, vectorised over the cells that exist."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.table import Table


class Equations(NamedTuple):
    """Entries (row, cell, coefficient) of equations that sum to zero, and what each row is.

    ``variable`` and ``grouping`` name the sum a row stands for, ``sample`` one cell in it. ``defining`` rows
    suffice where the table is complete down to its base codes: each explains one cell by finer ones. ``parent`` is that
    cell, -1 where it is not there.
    """

    row: Ints
    cell: Ints
    coefficient: Ints
    variable: Ints
    grouping: Ints
    sample: Ints
    defining: Bools
    parent: Ints


def table_equations(table: Table) -> Equations:
    """All equations of a table: every grouping of every variable, at every combination of the other codes."""
    from discreet.relations.kernels import along

    hierarchies = table.spec.hierarchies
    if not any(hierarchy.groupings for hierarchy in hierarchies):
        none = np.zeros(0, np.int64)
        return Equations(none, none, none, none, none, none, np.zeros(0, np.bool_), none)
    codes, sizes = np.array(table.codes, np.int32, order="C"), np.array(table.shape, np.int64)
    parts, rows = [], 0
    for k, hierarchy in enumerate(hierarchies):
        starts, groupings, signs = hierarchy.members
        row, cell, coefficient, grouping, sample, parent = along(
            codes, k, sizes, starts, groupings, signs, hierarchy.grouping_parents
        )
        defining = hierarchy.first_groupings[grouping]
        for j in range(k):
            defining &= hierarchies[j].base[codes[sample, j]]
        variable = np.full(len(grouping), k, np.int64)
        parts.append((row + rows, cell, coefficient, variable, grouping, sample, defining, parent))
        rows += len(grouping)
    return Equations(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
