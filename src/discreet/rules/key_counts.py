"""How many records share a combination of keys, under each meaning of an empty field.

``"category"``: an empty field is a value of its own. Everybody can count that in the public file.
``"any"``: an empty field agrees with every value, whichever of two records has it (as sdcMicro counts).
``"exempt"``: a record with an empty field in a combination is neither counted nor judged by it (as mu-ARGUS counts).

Under the last two, codes that stand for "unknown" are empty fields, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.model.records import MissingRange, RecordSet, stands_for_unknown

if TYPE_CHECKING:
    import pyarrow as pa

Meaning = Literal["category", "any", "exempt"]
"""What an empty field means."""
DENSE = 2**24
"""Combinations are numbered by a table of up to so many places, and by hashing beyond."""


@dataclass(frozen=True, eq=False)
class KeyCodes:
    """Columns of records as numbers: 1 and up for values, 0 for an empty field.

    ``sizes`` are the numbers of codes of each column, 0 included.
    """

    names: tuple[str, ...]
    columns: tuple[Ints, ...]
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def of(self, chosen: Sequence[str]) -> KeyCodes:
        """Some of the columns."""
        at = [self.names.index(name) for name in chosen]
        return KeyCodes(tuple(chosen), tuple(self.columns[i] for i in at), tuple(self.sizes[i] for i in at))

    def groups(self) -> tuple[Ints, int]:
        """The number of each record's combination, and how many there are."""
        return numbered(self.columns, self.sizes, len(self))


def key_codes(records: RecordSet, names: Sequence[str], missing: Meaning = "category") -> KeyCodes:
    """Columns of records as numbers.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.engine.record_set import read_record_set
    >>> records = read_record_set(ds.Microdata(pa.table({"x": ["b", None, "a", "b"]})))
    >>> key_codes(records, ["x"]).columns[0].tolist()
    [1, 0, 2, 1]
    """
    found = [codes_of(records[name], () if missing == "category" else records.about(name).missing) for name in names]
    return KeyCodes(tuple(names), tuple(codes for codes, _ in found), tuple(size for _, size in found))


def codes_of(column: pa.ChunkedArray, unknown: Sequence[MissingRange] = ()) -> tuple[Ints, int]:
    """A number for each value of a column, from 1; 0 where it is empty or stands for "unknown"; and how many."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    size = len(encoded.dictionary) + 1
    place: Ints = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64) + 1
    if unknown:
        empty = [stands_for_unknown(value, unknown) for value in encoded.dictionary.to_pylist()]
        place[np.array([False, *empty])[place]] = 0
    return place, size


def numbered(columns: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Ints, int]:
    """The number of each row's combination of codes, and how many there are; numbers without a row may occur."""
    group, many = np.zeros(rows, np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if many * size >= 2**62:
            group, many = compacted(group)
        group, many = group * size + codes, many * size
    return (group, many) if many <= max(DENSE, 4 * rows) else compacted(group)


def compacted(group: Ints) -> tuple[Ints, int]:
    """The same groups, numbered without gaps."""
    import pyarrow as pa

    encoded = pa.array(group).dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(), np.int64), len(encoded.dictionary)


def records_like(keys: KeyCodes, missing: Meaning = "category", weight: Floats | None = None) -> Floats:
    """For every record how many have its combination of keys, itself included, or their weight.

    It is infinite for a record that is exempt.
    """
    if missing == "any":
        return _agreeing(keys, weight)
    group, many = keys.groups()
    if missing == "category":
        return _sums(group, many, weight)[group]
    complete = np.all([codes > 0 for codes in keys.columns], axis=0)
    found = np.full(len(keys), np.inf)
    sums = _sums(group[complete], many, None if weight is None else weight[complete])
    found[complete] = sums[group[complete]]
    return found


def households_like(keys: KeyCodes, household: Ints, households: int) -> Floats:
    """For every record how many households have a member with its combination of keys."""
    group, many = compacted(keys.groups()[0])
    _, first = np.unique(group * households + household, return_index=True)
    return _sums(group[first], many, None)[group]


def _sums(group: Ints, many: int, weight: Floats | None) -> Floats:
    return np.bincount(group, weight, many).astype(np.float64)


def _agreeing(keys: KeyCodes, weight: Floats | None) -> Floats:
    """For every record how many agree with it where neither of the two is empty."""
    group, many = compacted(keys.groups()[0])
    first = np.zeros(many, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    mass = _sums(group, many, weight)
    cells = KeyCodes(keys.names, tuple(codes[first] for codes in keys.columns), keys.sizes)
    patterns = list(_by_pattern(cells))
    found = np.zeros(many)
    for empty, asked in patterns:
        for other, there in patterns:
            shared = [i for i in range(len(keys.names)) if i not in empty and i not in other]
            found[asked] += _matched(cells, shared, asked, there, mass)
    return found[group]


def _by_pattern(cells: KeyCodes) -> Iterator[tuple[set[int], Ints]]:
    """Cells that are empty in the same columns, by these columns."""
    bits = np.zeros(len(cells), np.int64)
    for place, codes in enumerate(cells.columns):
        bits |= (codes == 0).astype(np.int64) << place
    for pattern in np.unique(bits).tolist():
        yield {i for i in range(len(cells.columns)) if pattern >> i & 1}, np.flatnonzero(bits == pattern)


def _matched(cells: KeyCodes, shared: Sequence[int], asked: Ints, there: Ints, mass: Floats) -> Floats:
    """What agrees with each of some cells among others, in some columns."""
    both = np.concatenate((asked, there))
    columns = [cells.columns[i][both] for i in shared]
    group, many = numbered(columns, [cells.sizes[i] for i in shared], len(both))
    return _sums(group[len(asked) :], many, mass[there])[group[: len(asked)]]
