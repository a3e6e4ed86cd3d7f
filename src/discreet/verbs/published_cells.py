"""Files of published cells: which cells of a table they make known."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.files.frames import code_text, column_names, read_columns
from discreet.model.already import KnownCells, PublishedCells, known_digest
from discreet.model.arrays import Ints
from discreet.model.table import Table
from discreet.model.tableset import TableSet


def known_cells(tables: TableSet, cells: PublishedCells, name: str) -> KnownCells:
    """The rows of a table that a file publishes.

    Raises
    ------
    ParameterError
        When the file names no table, or its columns are not those of the table.
    InputError
        When it publishes cells that the table does not hold, or other values.
    """
    if cells.table is None and len(tables) > 1:
        raise ParameterError(
            f"The published cells of {name!r} do not say which table they belong to.",
            hint=f"Give table=, one of {listed(table.name for table in tables)}.",
        )
    table = tables.tables[0] if cells.table is None else tables[cells.table]
    if isinstance(cells.source, str | Path) and not cells.name:
        name = Path(cells.source).name
    columns = _columns(cells, table)
    frame = read_columns(
        cells.source, [*columns.values(), cells.value], [*columns.values(), cells.value], delimiter=cells.delimiter
    ).to_pydict()
    shown = [_number(text, cells, name) for text in frame[cells.value]]
    places = np.flatnonzero([number is not None for number in shown])
    rows, unknown = _rows(table, columns, frame, places)
    values = [shown[i] or Decimal(0) for i in places.tolist()]
    unknown &= np.array([value != 0 for value in values], np.bool_)  # a cell that is not there is empty
    if unknown.any() and not cells.ignore_unknown:
        raise _not_held(name, table, columns, frame, places[unknown])
    held = np.flatnonzero(rows >= 0)
    _refuse_other_values(name, table, rows[held], [values[i] for i in held.tolist()], cells.decimals)
    found = np.unique(rows[held]).astype(np.int64)
    return KnownCells(name, table.name, found, known_digest(table, found), int(unknown.sum()))


def _columns(cells: PublishedCells, table: Table) -> dict[str, str]:
    """Column of each variable that the file has; the others stand at their total."""
    there = column_names(cells.source, cells.delimiter)
    given = dict(cells.columns or {})
    for variable in given:
        if variable not in table.spec.by:
            raise ParameterError(f"Table {table.name!r} has no variable {variable!r}, which columns= names.")
    found = {v: given.get(v, v) for v in table.variables if v in given or v in there}
    missing = [v for v, h in table.spec.by.items() if v not in found and h.total is None]
    if missing or not found:
        raise ParameterError(
            f"The published cells have no column for {listed(missing or table.variables)}.",
            hint="Name the code columns: columns={'variable': 'column'}.",
        )
    return found


def _number(text: Any, cells: PublishedCells, name: str) -> Decimal | None:
    """A published value; ``None`` where it is withheld."""
    word = "" if text is None or text != text else str(text).strip()
    if not word or word in cells.withheld:
        return None
    try:
        number = Decimal(word)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise InputError(
            f"{name!r} holds {word[:20]!r} as a published value.",
            hint="Write plain numbers with a decimal point, and name the marks of withheld cells in withheld=.",
        )
    return number


def _rows(table: Table, columns: dict[str, str], frame: dict[str, list[Any]], places: Ints) -> tuple[Ints, Any]:
    """Row of each published value in the table (-1 where it has none), and which of them it has none for."""
    position = np.zeros((len(places), len(table.variables)), np.int32)
    for k, (variable, hierarchy) in enumerate(table.spec.by.items()):
        if variable not in columns:
            position[:, k] = -1 if hierarchy.total is None else hierarchy.index[hierarchy.total]
            continue
        words = [frame[columns[variable]][i] for i in places.tolist()]
        codes = ["" if word is None else code_text(word) for word in words]
        position[:, k] = [hierarchy.index.get(code, -1) for code in codes]
    known = (position >= 0).all(axis=1)
    rows = np.full(len(places), -1, np.int64)
    rows[known] = table.find(position[known])
    return rows, rows < 0


def _not_held(
    name: str, table: Table, columns: dict[str, str], frame: dict[str, list[Any]], places: Ints
) -> InputError:
    shown = [", ".join(f"{v}={frame[column][i]}" for v, column in columns.items()) for i in places[:5].tolist()]
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return InputError(
        f"{name!r} publishes {counted(len(places), 'cell')} that table {table.name!r} does not hold: "
        f"{'; '.join(shown)}{more}.",
        hint="Add a table that holds them to the set, map their codes, or set ignore_unknown=True, which the claim "
        "then says.",
    )


def _refuse_other_values(name: str, table: Table, rows: Ints, values: list[Decimal], decimals: int | None) -> None:
    """A published value must be ours, to half a unit of the last decimal that the file shows."""
    if not len(rows):
        return
    shown = max(max(0, -int(v.as_tuple().exponent)) for v in values) if decimals is None else decimals
    half = Fraction(10) ** -shown / 2
    unit = Fraction(1, 10**table.decimals)
    gaps = [abs(Fraction(v) - int(table.value[row]) * unit) for row, v in zip(rows.tolist(), values, strict=True)]
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    if gaps[worst] > half:
        wrong = sum(gap > half for gap in gaps)
        raise InputError(
            f"{name!r} disagrees with table {table.name!r} on {counted(wrong, 'cell')}; the worst is "
            f"{table.cell_name(int(rows[worst]))}.",
            hint="Give tables of another vintage another period, and those of other units another filter; state "
            "decimals= where values are rounded.",
            details=f"They differ by {float(gaps[worst])!r}.",
        )
