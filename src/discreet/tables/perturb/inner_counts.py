"""Counts of the inner cells below a set of tables: the cells of all variables together, by their base codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.engine.protocol import open_records
from discreet.errors import NeedsError
from discreet.model.arrays import Codes, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.inner import positions
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.model.tableset import TableSet

Listing = Mapping[str, tuple[str, ...]]
"""Base codes by variable, as :func:`discreet.model.inner.inner_codes` gives them."""


def inner_counts(tables: TableSet, listing: Listing, who: str) -> tuple[Codes, Ints]:
    """Codes and counts of inner cells with somebody in them: of a table with all variables, or from the records.

    ``who`` needs them, for the message where they cannot be had.
    """
    if len({table.spec.identity for table in tables}) > 1:
        raise NeedsError(
            f"{who} works in one universe and period at a time.",
            hint="Take tables of different universes or periods one after the other.",
        )
    whole = [table for table in tables if set(table.variables) == set(listing)]
    if whole:
        return _finest(whole[0], listing)
    if all(isinstance(table.source, Microdata) for table in tables):
        return _counted(tables.tables[0], listing)
    raise NeedsError(
        f"{who} needs the cells of all variables ({', '.join(listing)}) together, and no table has them.",
        hint="Tabulate the tables from records in the same session, or add a table by all variables.",
    )


def codes_in(codes: Codes, listing: Listing, table: Table) -> tuple[Codes, tuple[Hierarchy, ...]]:
    """Inner cells in the hierarchies of a table."""
    variables = list(listing)
    columns = [
        np.array(positions(listing[variable], hierarchy), np.int32)[codes[:, variables.index(variable)]]
        for variable, hierarchy in table.spec.by.items()
    ]
    return np.column_stack(columns), table.spec.hierarchies


def _finest(table: Table, listing: Listing) -> tuple[Codes, Ints]:
    """Inner cells of a table that has all variables."""
    columns, inside = [], ~table.empty
    for variable, codes in listing.items():
        hierarchy = table.spec.by[variable]
        place = np.full(len(hierarchy), -1, np.int32)
        place[positions(codes, hierarchy)] = np.arange(len(codes))
        column = place[table.codes[:, table.variables.index(variable)]]
        inside &= column >= 0
        columns.append(column)
    return np.column_stack(columns)[inside], table.value[inside]


def _counted(table: Table, listing: Listing) -> tuple[Codes, Ints]:
    """Inner cells counted from the records."""
    by = {variable: Hierarchy.flat(codes, total=None) for variable, codes in listing.items()}
    spec = TableSpec(by=by, where=table.spec.where, weight=False, period=table.spec.period, holders=False, top=1)
    with open_records(table.source, [spec], None) as records:
        found = records.table(spec)
    return found.codes, found.value
