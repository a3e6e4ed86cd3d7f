"""Single cells in words, for the lists of a custodian's report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.table import Table
from discreet.report.deduction import Deduction
from discreet.report.numbers import TableNumbers
from discreet.report.words import Name, interval, names_of, number
from discreet.rules import reasons


@dataclass(frozen=True)
class CellLine:
    """One withheld cell: what it is, why, what must stay possible and what does.

    ``finding`` is empty, or says loudly that the cell is known exactly or short of its level.
    """

    names: tuple[Name, ...]
    value: str
    contributors: str
    reasons: tuple[str, ...]
    required: str
    possible: str
    finding: str


@dataclass(frozen=True)
class CellList:
    """The first lines of a list of cells, and how many cells it has in all."""

    lines: tuple[CellLine, ...]
    total: int

    @property
    def more(self) -> int:
        """Cells that are not shown."""
        return self.total - len(self.lines)


def unsafe_cells(numbers: TableNumbers, deduction: Deduction, most: int) -> CellList:
    """The unsafe cells from the largest value down."""
    return _list(numbers, deduction, deduction.rows[deduction.unsafe], most)


def secondary_cells(numbers: TableNumbers, deduction: Deduction, most: int) -> CellList:
    """The cells withheld besides, from the largest value down."""
    return _list(numbers, deduction, deduction.rows[~deduction.unsafe], most)


def cell_lines(table: Table, deduction: Deduction, rows: Sequence[int]) -> tuple[CellLine, ...]:
    """Some withheld cells of a table, in the order given."""
    at = np.searchsorted(deduction.rows, np.array(rows, np.int64)).tolist()
    return tuple(_line(table, deduction, row, i) for row, i in zip(rows, at, strict=True))


def _list(numbers: TableNumbers, deduction: Deduction, rows: Ints, most: int) -> CellList:
    which = np.zeros(len(numbers.table), np.bool_)
    which[rows] = True
    shown = numbers.largest(which)[:most].tolist()
    return CellList(cell_lines(numbers.table, deduction, shown), len(rows))


def _line(table: Table, deduction: Deduction, row: int, i: int) -> CellLine:
    codes = table.spec_codes(table.codes[row].tolist())
    labels = [h.label(code) for h, code in zip(table.spec.hierarchies, codes, strict=True)]
    holding = table.contributions.get("holding")
    unsafe = bool(deduction.unsafe[i])
    value = float(deduction.value[i])
    need = (value - float(deduction.need_below[i]), value + float(deduction.need_above[i]))
    finding = ""
    if deduction.realised and deduction.exact[i]:
        finding = "known exactly"
    elif deduction.short[i]:
        finding = "level missed" if deduction.realised else "level not proved"
    return CellLine(
        names=names_of(codes, labels),
        value=number(int(table.value[row]), table.decimals),
        contributors="" if holding is None else f"{int(holding.count[row]):,}",
        reasons=tuple(reasons(table, row)) if unsafe else (),
        required=interval(*need, table.decimals) if unsafe else "",
        possible=interval(float(deduction.lower[i]), float(deduction.upper[i]), table.decimals),
        finding=finding,
    )
