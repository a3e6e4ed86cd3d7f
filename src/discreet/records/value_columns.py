"""Columns of values that a method is about: those that it names, or those that the records call numeric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import InputError, NeedsError, ParameterError
from discreet.model.arrays import Bools, Ints
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, NUMERIC, WEIGHT, MissingRange, RecordSet
from discreet.records.exact_columns import ExactColumn, exact_units
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

NO_VALUES = (*NEVER_PUBLIC, HOUSEHOLD, WEIGHT)
"""Roles of columns that hold no values of anybody."""


def refuse_repeated(columns: Sequence[str]) -> None:
    """Refuse a list of columns that names one twice."""
    if len(set(columns)) < len(columns):
        raise ParameterError("columns= names a column twice.", hint="Name each once.")


def value_columns(records: RecordSet, named: tuple[str, ...], method: str) -> tuple[str, ...]:
    """The columns; ``method`` is the name of the one that asks."""
    names = named or records.with_role(NUMERIC)
    if not names:
        raise NeedsError(
            f"{method} needs to know which columns it is about.",
            hint=f"Give {method}([...]), or Microdata(numeric=[...]).",
        )
    refuse_without_values(records, names)
    return names


def refuse_without_values(records: RecordSet, names: Sequence[str]) -> None:
    """Refuse columns that are not there, and those that hold no values of anybody."""
    for name in names:
        records[name]  # refuses what is not there
        if records.about(name).role in NO_VALUES:
            raise ParameterError(
                f"Column {name!r} is a {records.about(name).role}, and holds no values that may change.",
                hint="Leave it out.",
            )


def empty_rows(records: RecordSet, name: str) -> Bools:
    """Where a column has no value: gaps, and codes that stand for "unknown"."""
    column, unknown = records[name], records.about(name).missing
    return codes_of(column, unknown)[0] == 0 if unknown else np.asarray(column.is_null().to_numpy(), np.bool_)


def exact_column(records: RecordSet, name: str) -> ExactColumn:
    """A column in its smallest unit; codes that stand for "unknown" are gaps."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = records[name]
    if records.about(name).missing:
        known = pa.chunked_array([pa.array(~empty_rows(records, name))])
        column = pc.if_else(known, column, pa.scalar(None, column.type))
    return exact_units(column, name)


def with_units(old: pa.ChunkedArray, new: Ints, column: ExactColumn, decimals: int, name: str) -> pa.ChunkedArray:
    """A column with new values, in units of ``10 ** -decimals``; gaps, and codes that stand for "unknown", stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = decimals == 0 and column.whole
    values = pa.array(new if whole else new / 10.0**decimals)
    if not column.gaps.any():
        return pa.chunked_array([values])
    there = pa.chunked_array([pa.array(~column.gaps)])
    try:
        return pc.if_else(there, pa.chunked_array([values]), old.cast(values.type))
    except pa.ArrowInvalid:
        raise InputError(
            f'Column {name!r} has codes for "unknown" that are too large to stand beside numbers with decimals.',
            hint="Give decimals=0, or smaller codes.",
        ) from None


def unknown_by_accident(new: pa.ChunkedArray, gaps: Bools, unknown: Sequence[MissingRange]) -> bool:
    """Whether readers would take a new value for a code that stands for "unknown"."""
    return bool(unknown) and bool(np.any((codes_of(new, unknown)[0] == 0) & ~gaps))


def stratum_of(records: RecordSet) -> Ints:
    """The number of every record's stratum; 0 for all where there is none."""
    kind = np.zeros(len(records), np.int64)
    for name in records.strata:
        codes, size = codes_of(records[name])
        kind = np.unique(kind * size + codes, return_inverse=True)[1].ravel()
    return kind


def rows_by_kind(kind: Ints) -> list[Ints]:
    """Rows of each kind, in their order."""
    return list(np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1]))
