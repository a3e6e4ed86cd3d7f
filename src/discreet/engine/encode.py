"""Records as integers: codes by position, amounts in exact units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, unknown_codes
from discreet.files.frames import flags, numbers, read_columns
from discreet.model.arrays import LARGEST, Bools, Codes, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.microdata import Microdata
from discreet.model.spec import TableSpec
from discreet.model.units import choose_decimals, to_units

if TYPE_CHECKING:
    import pyarrow as pa

WEIGHT_DECIMALS = 6
KEY_DECIMALS = 15


@dataclass(eq=False)
class Amounts:
    """One numeric column in units: what each record has, and what it stands for with its weight."""

    own: Ints
    weighted: Ints
    decimals: int
    shown_decimals: int


@dataclass(eq=False)
class Records:
    """Encoded records of one universe; columns are encoded when first asked for."""

    table: pa.Table
    data: Microdata
    weight_name: str | None
    _codes: dict[tuple[str, int], Codes] = field(default_factory=dict)
    _amounts: dict[tuple[str, bool], Amounts] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def codes(self, variable: str, hierarchy: Hierarchy) -> Codes:
        """Position of each record's base code in the hierarchy."""
        found = self._codes.get((variable, id(hierarchy)))
        if found is None:
            found = encode_codes(
                self.table[variable],
                variable,
                hierarchy,
                self.data.missing.get(variable),
                self.data.recode.get(variable, {}),
            )
            self._codes[variable, id(hierarchy)] = found
        return found

    def amounts(self, variable: str | None, absolute: bool = False) -> Amounts:
        """Amounts of a variable; ``None`` counts every record once."""
        key = (variable or "", absolute)
        if key not in self._amounts:
            self._amounts[key] = self._encode_amounts(variable, absolute)
        return self._amounts[key]

    def _encode_amounts(self, variable: str | None, absolute: bool) -> Amounts:
        if variable is None:
            raw, decimals, name = np.ones(len(self), np.int64), 0, "count"
        else:
            raw, name = numbers(self.table, variable), variable
            decimals = 0 if raw.dtype.kind in "iub" else choose_decimals(raw.astype(np.float64), name)
        own = to_units(raw, decimals, name)
        own = np.abs(own) if absolute else own
        if self.weight is None:
            return Amounts(own, own, decimals, decimals)
        weight, weight_decimals = self.weight
        total = float(np.abs(own.astype(np.float64) * weight).sum())
        if total >= LARGEST:
            raise InputError(
                f"Column {name!r} times its weights is too large for exact 64-bit sums.",
                hint="Express the column in a larger unit (thousands), or give weights with fewer decimals.",
            )
        return Amounts(own * np.int64(10**weight_decimals), own * weight, decimals + weight_decimals, decimals)

    @property
    def weight(self) -> tuple[Ints, int] | None:
        """Weights in units and their decimals."""
        if self.weight_name is None:
            return None
        raw = numbers(self.table, self.weight_name)
        wrong = np.flatnonzero(np.asarray(raw) <= 0)
        if len(wrong):
            raise InputError(
                f"Weight column {self.weight_name!r} has {len(wrong)} values that are not positive, "
                f"first in record {int(wrong[0]) + 1}.",
                hint="Weights must be greater than zero; leave records out with a filter instead.",
            )
        if raw.dtype.kind in "iub":
            return raw.astype(np.int64), 0
        decimals = min(choose_decimals(raw.astype(np.float64), self.weight_name), WEIGHT_DECIMALS)
        return to_units(raw, decimals, self.weight_name), decimals

    def contributor(self) -> tuple[Ints, int]:
        """Number of each record's contributor, and how many there are."""
        name = self.data.contributor
        if name is None:
            return np.arange(len(self), dtype=np.int64), len(self)
        column = self.table[name]
        if column.null_count:
            raise InputError(
                f"Contributor column {name!r} is empty in {column.null_count} records.",
                hint="Every record must say whom it belongs to; give lone records an identifier of their own.",
            )
        encoded = _dictionary(column)
        return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)

    def waived(self) -> Bools:
        """Whose records may be published."""
        return np.zeros(0, np.bool_) if self.data.waiver is None else flags(self.table, self.data.waiver)

    def requested(self) -> Any:
        """Requests for protection: 0, 1 or 2."""
        if self.data.request is None:
            return np.zeros(0, np.int8)
        raw = numbers(self.table, self.data.request)
        if not np.isin(raw, (0, 1, 2)).all():
            raise InputError(f"Request column {self.data.request!r} must hold 0, 1 or 2.")
        return np.array(raw, dtype=np.int8)

    def record_key(self) -> tuple[Ints, int]:
        """Record keys as integers, and the modulus that their sums are taken to (0: none)."""
        name = self.data.record_key
        if name is None:
            return np.zeros(0, np.int64), 0
        raw = numbers(self.table, name)
        if raw.dtype.kind in "iu":
            if raw.min() < 0 or raw.max() >= 2**31:
                raise InputError(f"Record keys in column {name!r} must lie in 0 .. {2**31 - 1}.")
            return raw.astype(np.int64), 0
        if raw.min() < 0 or raw.max() >= 1:
            raise InputError(f"Record keys in column {name!r} must be fractions in [0, 1) or whole numbers.")
        return to_units(raw, KEY_DECIMALS, name) % 10**KEY_DECIMALS, 10**KEY_DECIMALS


def read_records(data: Microdata, specs: Sequence[TableSpec], weight: str | None) -> Records:
    """Read the columns that some specs of one universe need."""
    variables = list(dict.fromkeys(v for spec in specs for v in spec.variables))
    numeric = [name for spec in specs for name in (spec.value, spec.shadow, spec.cost) if name]
    roles = [data.contributor, weight, data.waiver, data.request, data.record_key]
    columns = [*variables, *numeric, *(role for role in roles if role)]
    table = read_columns(data.source, columns, text=variables, where=specs[0].where, delimiter=data.delimiter)
    return Records(table, data, weight)


def encode_codes(
    column: Any, variable: str, hierarchy: Hierarchy, missing: str | None, recode: Mapping[str, str]
) -> Codes:
    """Code columns of any type as positions in a hierarchy; only base codes may occur."""
    if column.null_count and missing is None:
        raise InputError(
            f"Variable {variable!r} is empty in {column.null_count} records.",
            hint=f"Give Microdata(missing={{{variable!r}: code}}) to count them under a code, or filter them out.",
        )
    encoded = _dictionary(column)
    codes = [recode.get(code, code) for code in map(code_text, encoded.dictionary.to_pylist())]
    positions = np.array([hierarchy.index.get(code, -1) for code in codes] + [-1], dtype=np.int32)
    known = positions >= 0
    known[known] = hierarchy.base[positions[known]]
    indices = encoded.indices
    if column.null_count:
        place = hierarchy.position(str(missing))
        if not hierarchy.base[place]:
            raise unknown_codes(variable, {str(missing): int(column.null_count)})
        positions[-1], known[-1] = place, True
        indices = indices.fill_null(len(codes))
    where = indices.to_numpy(zero_copy_only=False)
    if not known[:-1].all():
        counts = np.bincount(where, minlength=len(codes) + 1)
        wrong = {codes[i]: int(counts[i]) for i in np.flatnonzero(~known[:-1]) if counts[i]}
        if wrong:
            raise unknown_codes(variable, wrong)
    result: Codes = positions[where]
    return result


def code_text(value: Any) -> str:
    """A code as text; whole floating-point numbers lose their point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _dictionary(column: Any) -> Any:
    """A column as one dictionary array."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    return column


