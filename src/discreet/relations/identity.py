"""Which cells are the same cell.

A cell's identity is its value variable, universe, period, weight, and per variable the set of base codes it
sums. Codes that cover the same base codes are one category, in different hierarchies too; a table that does not
have a variable stands at that variable's total.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.tableset import TableSet


def cell_identities(tables: TableSet, *, by_value: bool = True) -> tuple[list[Ints], int]:
    """Number the distinct cells of a set in order of first appearance.

    Parameters
    ----------
    tables
        The set.
    by_value
        ``False`` numbers cells apart from their value variable, so that turnover and export of one cell agree.

    Returns
    -------
    numbers
        For every table the number of each row's cell.
    size
        How many distinct cells there are.
    """
    if len(tables) == 1 and not _has_synonyms(tables.tables[0].spec.hierarchies):
        rows = len(tables.tables[0])
        return [np.arange(rows, dtype=np.int64)], rows
    variables = list(dict.fromkeys(v for table in tables for v in table.variables))
    merged = {
        v: reduce(Hierarchy.merged, [table.spec.by[v] for table in tables if v in table.spec.by]) for v in variables
    }
    kinds: dict[tuple[str, ...], int] = {}
    columns: list[list[Ints]] = []
    for table in tables:
        identity = table.spec.identity if by_value else ("", *table.spec.identity[1:])
        kind = kinds.setdefault(identity, len(kinds))
        column = [np.full(len(table), kind, np.int64)]
        for v in variables:
            hierarchy = merged[v]
            if v in table.spec.by:
                positions = [hierarchy.index[code] for code in table.spec.by[v].codes]
                classes = hierarchy.same_as[positions].astype(np.int64)
                column.append(classes[table.codes[:, table.variables.index(v)]])
            else:
                total = -1 if hierarchy.total is None else hierarchy.same_as[hierarchy.position(hierarchy.total)]
                column.append(np.full(len(table), total, np.int64))
        columns.append(column)
    joined = [np.concatenate([column[i] for column in columns]) for i in range(len(variables) + 1)]
    numbers, size = number_rows(joined)
    ends = np.cumsum([0, *(len(table) for table in tables)])
    return [numbers[a:b] for a, b in pairwise(ends)], size


def number_rows(columns: Sequence[Ints]) -> tuple[Ints, int]:
    """Number equal rows alike, in order of first appearance."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = int(column.min(initial=0))
        span = int(column.max(initial=0)) - low + 1
        if float(key.max(initial=0) + 1) * span >= 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * span + (column - low)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[inverse], len(first)


def _has_synonyms(hierarchies: Sequence[Hierarchy]) -> bool:
    return any(not np.array_equal(h.same_as, np.arange(len(h))) for h in hierarchies)
