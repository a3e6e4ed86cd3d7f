"""Given patterns on tables."""

from __future__ import annotations

import numpy as np

from discreet.errors import InputError, counted, listed
from discreet.model.arrays import Bools, Status
from discreet.model.pattern import Pattern
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet

SHOWN = 5


def on_tables(pattern: Pattern, tables: TableSet) -> tuple[Status, ...]:
    """What a pattern says of every row of every table; cells that the tables do not have are refused, by name."""
    placed = pattern.placed(tables)
    if placed.unknown:
        raise InputError(
            f"The pattern {pattern.name!r} names {counted(len(placed.unknown), 'cell')} that the tables do not have: "
            f"{listed(placed.unknown, SHOWN)}.",
            hint="Correct the codes or the columns of the pattern; tables keep only cells with records unless they are "
            "made with cells='all'. Cells that are gone since last period are allowed in prefer=, not here.",
        )
    return placed.status


def with_pattern(table: Table, status: Status) -> Table:
    """An assessed table in which the pattern's cells are withheld or frozen, whatever else is.

    Raises
    ------
    InputError
        When the pattern contradicts what the table says of a cell. A pattern can neither publish an unsafe cell nor
        withhold an empty one.
    """
    hidden = np.isin(status, (CellStatus.UNSAFE, CellStatus.SECONDARY))
    frozen = status == CellStatus.FORCED
    _refuse(
        table,
        frozen & table.unsafe,
        "must be published by the pattern, although unsafe",
        "Take the status 'forced' from these cells of the pattern; only the table itself can force an unsafe cell "
        "(table.marked({cell: 'P'}) before assess).",
    )
    _refuse(
        table,
        frozen & (table.status == CellStatus.SECONDARY),
        "must be published by the pattern, although marked as withheld in the table",
        "Take the mark from the table or the status 'forced' from the pattern.",
    )
    _refuse(
        table,
        hidden & (table.status == CellStatus.FORCED),
        "are withheld by the pattern but forced to be published in the table",
        "Take the force from the table, or these cells from the pattern.",
    )
    _refuse(
        table,
        hidden & (table.status == CellStatus.EMPTY),
        "are withheld by the pattern but empty",
        "Take these cells from the pattern, or find out why they are empty here.",
    )
    manual = np.zeros(len(table), np.int8) if table.manual is None else table.manual.copy()
    manual[hidden & ~table.unsafe] = CellStatus.SECONDARY
    manual[frozen & ~table.empty] = CellStatus.FORCED
    return table.with_(manual=manual)


def _refuse(table: Table, wrong: Bools, what: str, hint: str) -> None:
    rows = np.flatnonzero(wrong).tolist()
    if rows:
        raise InputError(
            f"{counted(len(rows), f'cell of table {table.name!r}', what)}: "
            f"{listed([table.cell_name(r) for r in rows], SHOWN)}.",
            hint=hint,
        )
