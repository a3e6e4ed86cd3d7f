"""Which cells are the same cell.

A cell's identity is its value variable, universe, period, weight, and per variable the set of base codes it
sums. Codes that cover the same base codes are one category, in different hierarchies too; a table that does not
have a variable stands at that variable's total.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.model.tableset import TableSet


class Categories(NamedTuple):
    """How the codes of one table translate into categories that all tables of its universe share.

    ``of_codes`` holds for every variable of the set the category of each of the table's codes; for a variable
    that the table does not have, the category of the total alone. Categories of different universes are not
    comparable.
    """

    universe: int
    of_codes: tuple[Ints, ...]
    position: tuple[int | None, ...]

    def columns(self, table: Table) -> list[Ints]:
        """Universe and categories of every cell of the table."""
        size = len(table)
        return [
            np.full(size, self.universe, np.int64),
            *(
                np.full(size, of[0], np.int64) if k is None else of[table.codes[:, k]]
                for of, k in zip(self.of_codes, self.position, strict=True)
            ),
        ]

    def spans(self, columns: Sequence[Ints]) -> Bools:
        """Which places, given as universe and categories, the table has codes for."""
        inside: Bools = columns[0] == self.universe
        for column, of in zip(columns[1:], self.of_codes, strict=True):
            inside &= np.isin(column, of)
        return inside


def categories(tables: TableSet) -> list[Categories]:
    """Categories of the codes of every table of a set.

    Raises
    ------
    InputError
        When hierarchies of one variable in one universe contradict each other.
    """
    variables = list(dict.fromkeys(v for table in tables for v in table.variables))
    universes: dict[tuple[str, ...], int] = {}
    for table in tables:
        universes.setdefault(table.spec.identity[1:], len(universes))
    merged = {(universes[identity], v): h for (identity, v), h in merged_hierarchies(tables).items()}
    found = []
    for table in tables:
        universe = universes[table.spec.identity[1:]]
        of_codes = tuple(_of_codes(table, v, merged.get((universe, v))) for v in variables)
        position = tuple(table.variables.index(v) if v in table.spec.by else None for v in variables)
        found.append(Categories(universe, of_codes, position))
    return found


def merged_hierarchies(tables: TableSet) -> dict[tuple[tuple[str, ...], str], Hierarchy]:
    """For every universe and variable all that its tables know of how the codes add up.

    Raises
    ------
    InputError
        When hierarchies of one variable in one universe contradict each other.
    """
    merged: dict[tuple[tuple[str, ...], str], Hierarchy] = {}
    variables = list(dict.fromkeys(v for table in tables for v in table.variables))
    for identity in dict.fromkeys(table.spec.identity[1:] for table in tables):
        members = [table for table in tables if table.spec.identity[1:] == identity]
        for v in variables:
            own = {id(table.spec.by[v]): table.spec.by[v] for table in members if v in table.spec.by}
            if own:
                merged[identity, v] = reduce(Hierarchy.merged, own.values())
    return merged


def _of_codes(table: Table, variable: str, merged: Hierarchy | None) -> Ints:
    if merged is None:  # no table of this universe has the variable
        return np.full(1, -1, np.int64)
    if variable in table.spec.by:
        positions = [merged.index[code] for code in table.spec.by[variable].codes]
        return merged.same_as[positions].astype(np.int64)
    total = -1 if merged.total is None else int(merged.same_as[merged.position(merged.total)])
    return np.full(1, total, np.int64)


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
    if len(tables) == 1 and not any(h.has_synonyms for h in tables.tables[0].spec.hierarchies):
        rows = len(tables.tables[0])
        return [np.arange(rows, dtype=np.int64)], rows
    values: dict[str, int] = {}
    columns = []
    for table, found in zip(tables, categories(tables), strict=True):
        value = values.setdefault(table.spec.identity[0] if by_value else "", len(values))
        columns.append([np.full(len(table), value, np.int64), *found.columns(table)])
    numbers, size = number_rows([np.concatenate(parts) for parts in zip(*columns, strict=True)])
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


def stands_alone(tables: TableSet, size: int) -> bool:
    """Whether there is one table and each of its rows is a cell of its own: cells are then numbered as rows are."""
    return len(tables) == 1 and len(tables.tables[0]) == size
