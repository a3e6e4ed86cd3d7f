"""Equations between value variables, such as ``turnover = home + export``, cell by cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Ints
from discreet.model.tableset import TableSet, VariableEquation
from discreet.relations.identity import Categories, categories, cell_identities


class Places(NamedTuple):
    """The places of a set: where cells of several value variables may stand.

    ``of`` numbers the place of each row of each table, ``size`` is their number.
    """

    of: list[Ints]
    size: int
    categories: list[Categories]


class VariableRows(NamedTuple):
    """Entries (row, cell, coefficient) of the relations that an equation makes, and each row's total."""

    row: Ints
    cell: Ints
    coefficient: Ints
    total: Ints


def places(tables: TableSet) -> Places:
    """All places of a set."""
    of, size = cell_identities(tables, by_value=False)
    return Places(of, size, categories(tables))


def variable_rows(equation: VariableEquation, tables: TableSet, of: list[Ints], where: Places) -> VariableRows:
    """One relation for every place where the total stands and every part stands or is known to be empty.

    A part that is absent from a table that has codes for the place is empty, so its term is zero. Where no table
    of the part has codes for the place, nothing is known of it and there is no relation.
    """
    cells = {variable: np.full(where.size, -1, np.int64) for variable, _ in equation.terms()}
    for table, place, number in zip(tables, where.of, of, strict=True):
        if table.spec.value in cells:
            cells[table.spec.value][place] = number
    keep = cells[equation.total] >= 0
    columns = _columns_of_totals(equation.total, tables, where)
    for variable in cells:
        keep &= _spanned(variable, tables, where, columns)
    rows = np.flatnonzero(keep)
    row, cell, coefficient = [], [], []
    for variable, sign in equation.terms():
        there = np.flatnonzero(cells[variable][rows] >= 0)
        row.append(there)
        cell.append(cells[variable][rows[there]])
        coefficient.append(np.full(len(there), sign, np.int64))
    return VariableRows(
        np.concatenate(row), np.concatenate(cell), np.concatenate(coefficient), cells[equation.total][rows]
    )


def _columns_of_totals(total: str, tables: TableSet, where: Places) -> list[Ints]:
    """Universe and categories of every place where the total stands."""
    columns = [np.full(where.size, -2, np.int64) for _ in range(1 + len(where.categories[0].of_codes))]
    for table, place, found in zip(tables, where.of, where.categories, strict=True):
        if table.spec.value == total:
            for column, mine in zip(columns, found.columns(table), strict=True):
                column[place] = mine
    return columns


def _spanned(variable: str, tables: TableSet, where: Places, columns: list[Ints]) -> Bools:
    """Places that some table of the variable has codes for."""
    result = np.zeros(where.size, np.bool_)
    for table, found in zip(tables, where.categories, strict=True):
        if table.spec.value == variable:
            result |= found.spans(columns)
    return result
