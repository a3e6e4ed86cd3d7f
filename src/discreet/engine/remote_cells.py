"""Finest cells from an engine: grouped there by the codes as they stand, and put into hierarchies here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from discreet.engine.cells import LeafCells, strides_of
from discreet.engine.checks import bad_record_keys
from discreet.engine.encode import base_positions, position_of_gaps, recoded
from discreet.engine.plan import ColumnPlan
from discreet.engine.protocol import NumberSums
from discreet.engine.remote_keys import HALF, LOWER, UPPER
from discreet.engine.remote_numbers import half_even, read
from discreet.engine.remote_source import WIDE_SUMS, RemoteTable
from discreet.errors import InputError, unknown_codes
from discreet.files.frames import bad_numbers
from discreet.model.arrays import Codes, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata

MOST_KEY = 2**31
"""Whole record keys are below it."""
NARROW = 4
"""Bytes of whole numbers that are below 2 ** 31."""


@dataclass(eq=False)
class Grouped:
    """What an engine says of every combination of codes that occurs.

    ``totals`` and ``empty`` are of columns that were summed as they are: the sum of absolute values, and gaps. In
    columns that are ``positive`` no number is below zero. Record keys that are wrong are told of by ``wrong_keys``.
    """

    codes: dict[str, Any]
    records: Ints
    sums: dict[str | None, Any]
    nonzero: dict[str, Ints]
    key_sum: Ints
    totals: dict[str, float] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    positive: set[str] = field(default_factory=set)
    key: str | None = None
    wrong_keys: int = 0
    empty_keys: int = 0

    @property
    def rows(self) -> int:
        """How many combinations there are."""
        return len(self.records)


class LeafQuestion:
    """One grouping by some variables, for all sums that are asked of it."""

    def __init__(self, remote: RemoteTable, records: Any, variables: Sequence[str]) -> None:
        self.remote = remote
        self.records = records
        self.variables = tuple(variables)

    def ask(
        self,
        sums: Mapping[str | None, Any],
        nonzero: Mapping[str, Any],
        whole: Sequence[str],
        key: tuple[str, int] | None,
    ) -> Grouped:
        """Ask the engine.

        Parameters
        ----------
        sums
            What to sum, by column.
        nonzero
            Amounts of which those other than zero are counted.
        whole
            Columns of whole numbers that were not looked at before: gaps and signs are told of.
        key
            Column of record keys, and what fractions are multiplied by (0 for whole keys).
        """
        records = self.records
        codes = {f"code{k}": read(self.remote, variable) for k, variable in enumerate(self.variables)}
        asked = {"records": records.count()}
        for i, (column, amount) in enumerate(sums.items()):
            plain = column is not None and column in whole
            asked[f"sum{i}"] = self._sum(self.remote.column(str(column)) if plain else amount, safe=not plain)
        for i, amount in enumerate(nonzero.values()):
            # Few values are zero or missing: counting these is less work than counting the others.
            zero = (amount == 0) | amount.isnull()
            asked[f"zero{i}"] = zero.count(where=zero)
        ordinary = self._ordinary(whole, key)
        if ordinary:
            odd = _unlike(reduce(and_, ordinary.values()))
            asked["odd"] = odd.count(where=odd)
        if key is not None:
            asked |= self._keys(*key)
        found = self.remote.fetch("sums", records.group_by(**codes).aggregate(**asked))
        return self._understood(found, list(sums), list(nonzero), whole, key)

    def _ordinary(self, whole: Sequence[str], key: tuple[str, int] | None) -> dict[str, Any]:
        """What is true of ordinary numbers of columns: not below zero, not missing, and a key that is one."""
        found = {column: self.remote.column(column) >= 0 for column in whole}
        if key is not None and not key[1]:
            column = self.remote.column(key[0])
            kind, fits = column.type(), column >= 0
            narrow = kind.is_signed_integer() and kind.nbytes <= NARROW
            found[key[0]] = fits if narrow else fits & (column < MOST_KEY)
        return found

    def _odd(self, found: Any, ordinary: Mapping[str, Any]) -> set[str]:
        """Columns with a number that is not ordinary; few have one, so that they are asked for all together first."""
        if "odd" not in found.column_names or not _ints(found["odd"]).any():
            return set()
        columns = {f"odd{i}": (column, _unlike(fits)) for i, (column, fits) in enumerate(ordinary.items())}
        asked = {name: odd.count(where=odd) for name, (_, odd) in columns.items()}
        row = self.remote.rows("sizes", self.records.aggregate(**asked))[0]
        return {column for name, (column, _) in columns.items() if row[name]}

    def _sum(self, amount: Any, safe: bool) -> Any:
        """An exact sum; one that may leave 64 bits is made of wide numbers, or by engines whose sums are wide."""
        if not safe and self.remote.engine not in WIDE_SUMS:
            amount = amount.cast("decimal(38, 0)")
        return amount.sum().cast("decimal(38, 0)")

    def _keys(self, name: str, modulus: int) -> dict[str, Any]:
        column = read(self.remote, name)
        if modulus:
            column = column.cast("float64")
            fits = (column >= 0.0) & (column < 1.0)
            units = half_even(fits.ifelse(column, 0.0) * float(modulus))
            asked = {"keys_good": fits.fill_null(False).sum().cast("int64"), "keys_filled": column.count()}
            return asked | {"key_sum": self._sum(units, safe=False)}
        return {"key_sum": self._sum(self.remote.column(name), safe=False)}

    def _understood(
        self, found: Any, sums: list[str | None], nonzero: list[str], whole: Sequence[str], key: Any
    ) -> Grouped:
        records = _ints(found["records"])
        grouped = Grouped(
            {variable: _distinct_codes(found[f"code{k}"], variable) for k, variable in enumerate(self.variables)},
            records,
            {column: exact_ints(found[f"sum{i}"]) for i, column in enumerate(sums)},
            {column: records - _ints(found[f"zero{i}"]) for i, column in enumerate(nonzero)},
            np.zeros(0, np.int64),
        )
        odd = self._odd(found, self._ordinary(whole, key))
        for column in whole:
            if column not in odd:
                grouped.positive.add(column)
                grouped.totals[column] = float(np.sum(grouped.sums[column], dtype=np.float64))
            else:
                grouped.totals[column], grouped.empty[column] = self._absolute(column)
        if key is not None:
            self._understand_keys(grouped, found, *key, odd=odd)
        return grouped

    def _absolute(self, column: str) -> tuple[float, int]:
        amount = read(self.remote, column)
        asked = {"total": amount.cast("float64").abs().sum(), "empty": amount.isnull().sum().cast("int64")}
        row = self.remote.rows("sizes", self.records.aggregate(**asked))[0]
        return float(row["total"] or 0.0), int(row["empty"] or 0)

    def _understand_keys(self, grouped: Grouped, found: Any, name: str, modulus: int, *, odd: set[str]) -> None:
        grouped.key = name
        if modulus:
            grouped.empty_keys = int(grouped.records.sum() - _ints(found["keys_filled"]).sum())
            grouped.wrong_keys = int(grouped.records.sum() - _ints(found["keys_good"]).sum())
            sums = np.array([int(total or 0) % modulus for total in found["key_sum"].to_pylist()], object)
        else:
            grouped.wrong_keys = int(name in odd)
            grouped.empty_keys = self._absolute(name)[1] if grouped.wrong_keys else 0
            sums = exact_ints(found["key_sum"])
        if not grouped.wrong_keys and not grouped.empty_keys:
            grouped.key_sum = np.array(sums, np.int64)


def _unlike(fits: Any) -> Any:
    """Where a condition does not hold; of what is missing none does."""
    return ~fits.fill_null(False)


def _ints(column: Any) -> Ints:
    return np.array(column.fill_null(0).to_numpy(), np.int64)


def _distinct_codes(column: Any, variable: str) -> Any:
    """Codes of which equal ones are the same: 0 and -0 are equal to engines and would be joined with each other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = column.combine_chunks()
    codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
    if not pa.types.is_floating(codes.type):
        return codes
    if pc.any(pc.is_nan(codes)).as_py():
        raise InputError(
            f"Variable {variable!r} has codes that are no numbers (NaN), which engines compare differently.",
            hint="Make empty fields of them in the engine, and give Microdata(missing=) a code for these.",
        )
    return pc.if_else(pc.equal(codes, 0.0), 0.0, codes)


def exact_ints(column: Any) -> Any:
    """Whole numbers of any size; the sum of nothing is 0."""
    import pyarrow as pa

    try:
        return _ints(column.cast(pa.int64()))
    except pa.ArrowInvalid:
        return np.array([int(value or 0) for value in column.to_pylist()], object)


# ---- codes --------------------------------------------------------------------------------------------------


def cell_keys(grouped: Grouped, by: Mapping[str, Hierarchy], data: Microdata) -> Ints:
    """Keys of the finest cells that combinations of codes lie in."""
    strides = strides_of([len(h) for h in by.values()])
    keys = np.zeros(grouped.rows, np.int64)
    for (variable, hierarchy), stride in zip(by.items(), strides, strict=True):
        positions, missing = positions_of(grouped, variable, hierarchy, data)
        encoded = grouped.codes[variable].dictionary_encode()
        indices = encoded.indices.fill_null(len(positions)).to_numpy(zero_copy_only=False)
        keys += np.append(positions, np.int32(missing)).astype(np.int64)[indices] * stride
    return keys


def number_sums(grouped: Grouped, by: Mapping[str, Hierarchy], data: Microdata) -> NumberSums:
    """Sums of numbers, of which the halves were added up, modulo 2**64."""
    cells, at = np.unique(cell_keys(grouped, by, data), return_inverse=True)
    records, total = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.uint64)
    upper, lower = (np.asarray(grouped.sums[half], np.int64).astype(np.uint64) for half in (UPPER, LOWER))
    np.add.at(records, at, grouped.records)
    np.add.at(total, at, (upper << np.uint64(HALF)) + lower)
    return NumberSums(cells, records, total)


def coded_cells(grouped: Grouped, plan: ColumnPlan, data: Microdata, modulus: int) -> LeafCells:
    """Finest cells of a table, in its order: combinations of codes that mean the same are added up."""
    keys = cell_keys(grouped, plan.spec.by, data)
    if grouped.empty_keys:
        raise bad_numbers(str(grouped.key), grouped.empty_keys, None, "are empty")
    if grouped.wrong_keys:
        raise bad_record_keys(str(grouped.key), whole=not modulus)
    cells, at = np.unique(keys, return_inverse=True)

    def added(column: Sequence[int] | Ints) -> Ints:
        total = np.zeros(len(cells), np.int64)
        np.add.at(total, at, np.asarray(column, np.int64))
        return total

    sums = [added(grouped.sums[column]) for column in plan.summed]
    key_sum = np.zeros(0, np.int64)
    if grouped.key is not None:
        key_sum = added(grouped.key_sum)
        key_sum = key_sum % modulus if modulus else key_sum
    value = plan.spec.value
    return LeafCells(
        cells,
        added(grouped.records),
        np.stack(sums) if sums else np.zeros((0, len(cells)), np.int64),
        key_sum,
        np.zeros(0, np.int64) if value is None else added(grouped.nonzero[value]),
    )


def positions_of(grouped: Grouped, variable: str, hierarchy: Hierarchy, data: Microdata) -> tuple[Codes, int]:
    """Positions in a hierarchy of the distinct codes of a variable, and of gaps (-1 where there are none)."""
    column = grouped.codes[variable]
    encoded = column.dictionary_encode()
    gaps = int(grouped.records[np.asarray(column.is_null())].sum())
    missing = position_of_gaps(variable, hierarchy, data.missing.get(variable), gaps)
    codes = [recoded(code, data.recode.get(variable, {})) for code in encoded.dictionary.to_pylist()]
    positions = base_positions(codes, hierarchy)
    if np.any(positions < 0):
        indices = encoded.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        counts = np.bincount(indices, weights=grouped.records, minlength=len(codes) + 1)
        unknown: dict[str, int] = {}
        for code, position, count in zip(codes, positions.tolist(), counts.tolist(), strict=False):
            if position < 0:
                unknown[code] = unknown.get(code, 0) + int(count)
        raise unknown_codes(variable, unknown)
    return positions, missing


def positions_table(
    grouped: Grouped, variable: str, hierarchy: Hierarchy, data: Microdata, number: int
) -> tuple[Any, int]:
    """The codes of a variable as they stand with their positions, for the engine; and the position of gaps."""
    import pyarrow as pa

    positions, missing = positions_of(grouped, variable, hierarchy, data)
    listed = grouped.codes[variable].dictionary_encode().dictionary
    return pa.table({f"listed{number}": listed, f"position{number}": positions.astype(np.int64)}), missing
