"""Rows whose columns change together, and columns that stay, on which others depend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from discreet.errors import ParameterError, listed
from discreet.model.arrays import Bools, Ints
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, RecordSet
from discreet.records.value_columns import rows_by_kind


class RowsTogether(NamedTuple):
    """Rows that change together, in an order of who they are, and the places of the columns that they have.

    ``where`` says which rows these are, in words that go on a sentence.
    """

    rows: Ints
    places: list[int]
    where: str


def rows_with_gaps(records: RecordSet, names: Sequence[str], kind: Ints, gaps: Bools) -> Iterator[RowsTogether]:
    """Rows of each kind that have the same gaps; ``gaps`` has a column for each of these names."""
    assert records.identity is not None
    for column in (column for column in gaps.T if column.any()):
        kind = np.unique(kind * 2 + column, return_inverse=True)[1].ravel()
    for rows in rows_by_kind(kind):
        there = np.flatnonzero(~gaps[rows[0]]).tolist()
        missing = [name for name, gap in zip(names, gaps[rows[0]], strict=True) if gap]
        # Sums in another order differ in their last bits: rows stand in the order of who they are.
        ordered = rows[np.argsort(records.identity[rows], kind="stable")]
        if there and len(ordered):
            yield RowsTogether(ordered, there, where_rows(records, rows, missing))


def where_rows(records: RecordSet, rows: Ints, gaps: Sequence[str] = ()) -> str:
    """The stratum and the gaps of some rows, in words that go on."""
    told = [f"{name} {records[name][int(rows[0])].as_py()!r}" for name in records.strata]
    told += [f"a gap in {listed(gaps)}"] if gaps else []
    return f" with {', '.join(told)}" if told else ""


def refuse_given_twice(given: Sequence[str], columns: Sequence[str], done: str) -> None:
    """Refuse given columns that are named twice, or that would be ``done`` something to."""
    if len(set(given)) < len(given):
        raise ParameterError("given= names a column twice.", hint="Name each once.")
    both = [name for name in columns if name in given]
    if both:
        raise ParameterError(
            f"{listed(both)} would {done} and be given, too.", hint="Take it out of columns= or of given=."
        )


def refuse_given_roles(records: RecordSet, given: Sequence[str]) -> None:
    """Refuse given columns that are not there, or on which nothing depends."""
    for name in given:
        records[name]  # refuses what is not there
        if records.about(name).role in (*NEVER_PUBLIC, HOUSEHOLD):
            raise ParameterError(
                f"Column {name!r} is of the role {records.about(name).role!r}: no value depends on it.",
                hint="Take it out of given=.",
            )


def short_number(number: float) -> float:
    """A number as facts state it: six digits, and no minus before a zero."""
    return float(f"{number:.6g}") + 0.0
