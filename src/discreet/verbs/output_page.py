"""A published table as a table of ours: its cells, all totals above them, and which of them are shown."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from discreet.engine.cells import all_cells
from discreet.errors import InputError, counted, listed
from discreet.files.foreign import ForeignCells
from discreet.model.arrays import Bools, Codes, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.spec import TableSpec
from discreet.model.table import Table, cell_numbers
from discreet.model.tableset import TableSet
from discreet.relations.identity import cell_identities

MOST_CELLS = 2_000_000


class Page(NamedTuple):
    """The published table as a table of ours: which of its cells are shown, which are listed, and how finely."""

    table: Table
    shown: Bools
    listed: Bools
    decimals: int

    @classmethod
    def of(
        cls,
        read: ForeignCells,
        by: Mapping[str, Hierarchy],
        value: str,
        counts: bool,
        missing: str,
        true: Table | None,
    ) -> Page:
        """Cells that are listed, all totals above them, and, where asked, all others."""
        if true is not None and {v: h.codes for v, h in true.spec.by.items()} != {v: h.codes for v, h in by.items()}:
            raise InputError("The true table has other variables or codes.", hint="Use the same hierarchies for both.")
        if true is not None and true.variables != tuple(by):
            raise InputError(f"The true table has the variables {listed(true.variables)}.", hint="Use the same order.")
        hierarchies = list(by.values())
        shape = [len(h) for h in hierarchies]
        codes = _positions(read, by)
        keys = cell_numbers(codes, shape)
        spec = TableSpec(by=dict(by), value=None if counts else value, name="publication")
        every = _all_keys(keys, codes, hierarchies, shape, missing, true)
        decimals = max([0, *(decimals_of(v) for v in read.values if v is not None)])
        place = np.searchsorted(every, keys)
        units, shown = np.zeros(len(every), np.int64), np.zeros(len(every), np.bool_)
        there = np.zeros(len(every), np.bool_)
        there[place] = True
        for at, number in zip(place.tolist(), read.values, strict=True):
            if number is not None:
                units[at], shown[at] = _units(number, decimals), True
        table = Table(
            spec=spec,
            codes=np.column_stack(np.unravel_index(every, shape)).astype(np.int32),
            value=units,
            decimals=decimals,
            empty=np.zeros(len(every), np.bool_),
            from_records=False,
        )
        return cls(_same_cells(table, shown), shown, there, decimals)


def decimals_of(number: Decimal) -> int:
    """Decimals as they are written: 10.0 has one."""
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _units(number: Decimal, decimals: int) -> int:
    units = int(number.scaleb(decimals))
    if abs(units) >= 2**52:
        raise InputError("A published value is too large.", hint="Give the table in a larger unit (thousands).")
    return units


def _positions(read: ForeignCells, by: Mapping[str, Hierarchy]) -> Codes:
    columns = []
    for k, (variable, hierarchy) in enumerate(by.items()):
        found = [hierarchy.index.get(codes[k] or hierarchy.total or "", -1) for codes in read.codes]
        if -1 in found:
            unknown = dict.fromkeys(codes[k] for codes, at in zip(read.codes, found, strict=True) if at < 0)
            raise InputError(
                f"Column {variable!r} has codes that its hierarchy does not have: {listed(unknown, 8)}.",
                hint="Add them to the hierarchy, or correct them.",
            )
        columns.append(found)
    return np.array(columns, np.int32).T


def _all_keys(
    keys: Ints, codes: Codes, hierarchies: list[Hierarchy], shape: list[int], missing: str, true: Table | None
) -> Ints:
    finest = np.ones(len(keys), np.bool_)
    for k, hierarchy in enumerate(hierarchies):
        finest &= hierarchy.base[codes[:, k]]
    every = np.unique(keys)
    if finest.any():
        every = np.union1d(every, all_cells(np.unique(keys[finest]), hierarchies, every=False))
    if true is not None:
        every = np.union1d(every, true.keys[true.value != 0])
    if missing == "withheld":
        size = int(np.prod([float(n) for n in shape]))
        if size > MOST_CELLS:
            raise InputError(
                f"The table would have {counted(size, 'cell')}.", hint="Use missing='zero', or fewer variables."
            )
        every = np.arange(size, dtype=np.int64)
    return every.astype(np.int64)


def _same_cells(table: Table, shown: Bools) -> Table:
    """Codes that cover the same base codes are one cell: a hole whose twin is shown is known."""
    of, size = cell_identities(TableSet((table,)))
    known = np.zeros(size, np.int64)
    known[of[0][shown]] = table.value[shown]
    twin = np.zeros(size, np.bool_)
    twin[of[0][shown]] = True
    return table.with_(value=np.where(shown, table.value, np.where(twin[of[0]], known[of[0]], 0)))
