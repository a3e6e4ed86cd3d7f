"""How many records share a combination, counted by code of the checker's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.model.records import MissingRange
from discreet.verify.records.words import is_unknown

if TYPE_CHECKING:
    import pyarrow as pa

Numbers = NDArray[np.int64]
Sums = NDArray[np.float64]
MOST_NUMBERS = 2**62


def combination_counts(table: pa.Table, chosen: Sequence[str], weight: str | None = None) -> Sums:
    """How often each combination occurs, or the sum of its weights; an empty field is a value of its own."""
    import pyarrow as pa

    # Columns get other names, because two of them might be called like the count itself.
    named = {str(place): table[name] for place, name in enumerate(chosen)}
    groups = list(named)
    if weight is not None:  # not as whole numbers, whose sums could leave 64 bits
        named["weight"] = table[weight].cast(pa.float64(), safe=False)
    what = ([], "count_all") if weight is None else ("weight", "sum")
    counts = pa.table(named).group_by(groups).aggregate([what])["count_all" if weight is None else "weight_sum"]
    return np.asarray(counts.to_numpy(), np.float64)


def household_counts(table: pa.Table, chosen: Sequence[str], household: str) -> Sums:
    """In how many households each combination occurs."""
    import pyarrow as pa

    named = {str(place): table[name] for place, name in enumerate(chosen)}
    groups = list(named)
    named["household"] = table[household]
    once = pa.table(named).group_by([*groups, "household"]).aggregate([])
    counts = once.group_by(groups).aggregate([([], "count_all")])["count_all"]
    return np.asarray(counts.to_numpy(), np.float64)


def complete_rows(
    table: pa.Table, chosen: Sequence[str], unknown: Mapping[str, Sequence[MissingRange]]
) -> NDArray[np.bool_]:
    """Rows that are not empty in any of some columns; codes that stand for "unknown" are empty."""
    complete = np.ones(table.num_rows, np.bool_)
    for name in chosen:
        complete &= ~empty_fields(table[name], unknown.get(name, ()))
    return complete


def rows_agreeing(
    table: pa.Table,
    chosen: Sequence[str],
    unknown: Mapping[str, Sequence[MissingRange]],
    weight: str | None = None,
) -> Sums:
    """For every row how many agree with it in all columns in which neither of the two is empty, or their weight."""
    columns = [_codes(table[name], unknown.get(name, ())) for name in chosen]
    mass = np.ones(table.num_rows) if weight is None else np.asarray(table[weight].to_numpy(), np.float64)
    place = _numbers(columns, np.arange(table.num_rows))
    _, first = np.unique(place, return_index=True)
    total = np.bincount(place, mass, len(first))
    empty = np.stack([codes[first] < 0 for codes in columns], axis=1)
    kinds, kind = np.unique(empty, axis=0, return_inverse=True)
    kind = kind.ravel()
    found = np.zeros(len(first))
    for a in range(len(kinds)):
        mine = np.flatnonzero(kind == a)
        for b in range(len(kinds)):
            theirs = np.flatnonzero(kind == b)
            shared = [columns[i] for i in np.flatnonzero(~(kinds[a] | kinds[b]))]
            group = _numbers(shared, first[np.concatenate((mine, theirs))])
            sums = np.bincount(group[len(mine) :], total[theirs], int(group.max(initial=0)) + 1)
            found[mine] += sums[group[: len(mine)]]
    return found[place]


def _numbers(columns: Sequence[Numbers], rows: Numbers) -> Numbers:
    """The number of each row's combination of codes, without gaps between them."""
    number, many = np.zeros(len(rows), np.int64), 1
    for codes in columns:
        mine = codes[rows] + 1
        size = int(mine.max(initial=0)) + 1
        if many * size >= MOST_NUMBERS:
            found, number = np.unique(number, return_inverse=True)
            number, many = number.ravel(), len(found)
        number, many = number * size + mine, many * size
    return np.unique(number, return_inverse=True)[1].ravel()


def _codes(column: pa.ChunkedArray, unknown: Sequence[MissingRange]) -> Numbers:
    """A number for each value; -1 where it is empty."""
    import pyarrow.compute as pc

    values = pc.unique(column.drop_null())
    codes: Numbers = np.asarray(pc.index_in(column, values).fill_null(-1).to_numpy(), np.int64)
    codes[empty_fields(column, unknown)] = -1
    return codes


def empty_fields(column: pa.ChunkedArray, unknown: Sequence[MissingRange]) -> NDArray[np.bool_]:
    """Where a column has no value: gaps, and codes that stand for "unknown"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = np.asarray(column.is_null().to_numpy(), np.bool_)
    if unknown:
        values = pc.unique(column.drop_null())
        said = [value for value in values.to_pylist() if is_unknown(value, unknown)]
        empty |= np.asarray(pc.is_in(column, pa.array(said, column.type)).to_numpy(), np.bool_)
    return empty
