"""Two files of records side by side: which columns can be compared, as numbers or as codes, and which cannot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed, unknown_name
from discreet.measures.values import ValuePair
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, WEIGHT, MissingRange, RecordSet
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

ON_PURPOSE = ("Not asked for", "A weight", "Left out")
"""How notes on columns begin that were not to be compared."""
MANY_VALUES = 20
"""Text that is all numbers, with more different ones than this, is pointed out: it may be meant as numbers."""


@dataclass(frozen=True, eq=False)
class PairedColumn:
    """A column in both files: numbers with not-a-number in gaps, or codes from 1 that mean the same in both, 0 in gaps.

    ``labels`` are the values that codes stand for, from the one of code 0 (a gap) on.
    """

    name: str
    before: Floats | Ints
    after: Floats | Ints
    labels: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return not self.labels

    def sides(self) -> tuple[Floats, Floats]:
        """The numbers before and after."""
        return np.asarray(self.before, np.float64), np.asarray(self.after, np.float64)

    def gaps(self) -> tuple[Bools, Bools]:
        """Which records are empty, before and after."""
        if self.is_number:
            return np.isnan(self.before), np.isnan(self.after)
        return self.before == 0, self.after == 0


class ColumnStanding(NamedTuple):
    """What a column is in both files, how it was compared (``"numbers"``, ``"codes"`` or not at all), and why not."""

    name: str
    original: str
    released: str
    compared: str
    empty_original: int
    empty_released: int
    note: str

    @property
    def differs(self) -> bool:
        """Whether it could not be compared although nobody wanted it left out."""
        return not self.compared and not self.note.startswith(ON_PURPOSE)


@dataclass(frozen=True, eq=False)
class FilePair:
    """Two files of records.

    Parameters
    ----------
    columns
        Columns that can be compared.
    standings
        All columns of both files.
    rows
        How many records each file has.
    aligned
        Whether record ``i`` of one is record ``i`` of the other.
    weights
        Weights of the records of each file; all 1 where there are none.
    weighted
        Name of the column of weights, or nothing.
    notes
        What to know before using numbers about them.
    """

    columns: tuple[PairedColumn, ...]
    standings: tuple[ColumnStanding, ...]
    rows: tuple[int, int]
    aligned: bool
    weights: tuple[Floats, Floats]
    weighted: str
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> PairedColumn:
        for column in self.columns:
            if column.name == name:
                return column
        why = next((one.note for one in self.standings if one.name == name), "")
        if why:
            raise InputError(f"Column {name!r} is not compared: {why}", hint="Name another column.")
        raise ParameterError(unknown_name("column", name, [column.name for column in self.columns], "both files"))

    @property
    def numbers(self) -> tuple[PairedColumn, ...]:
        """Columns of numbers."""
        return tuple(column for column in self.columns if column.is_number)

    @property
    def codes(self) -> tuple[PairedColumn, ...]:
        """Columns of codes."""
        return tuple(column for column in self.columns if not column.is_number)

    def values(self) -> tuple[ValuePair, tuple[Floats, Floats]]:
        """All numbers of records without a gap in any of them, and the weights of these records.

        Where records are aligned, one with a gap in either file is left out of both.
        """
        chosen = self.numbers
        names = tuple(column.name for column in chosen)
        sides = [
            np.stack([column.sides()[side] for column in chosen], axis=1) if chosen else np.zeros((self.rows[side], 0))
            for side in (0, 1)
        ]
        there = [~np.isnan(side).any(axis=1) for side in sides]
        if self.aligned:
            there = [there[0] & there[1]] * 2
        weights = self.weights[0][there[0]], self.weights[1][there[1]]
        return ValuePair(names, sides[0][there[0]], sides[1][there[1]]), weights


def pair_files(
    original: RecordSet,
    released: RecordSet,
    *,
    columns: Sequence[str] | None = None,
    numeric: Collection[str] = (),
    categories: Collection[str] = (),
    weight: str | None = None,
    aligned: bool = False,
) -> FilePair:
    """Put two files side by side.

    Parameters
    ----------
    original, released
        The files.
    columns
        Columns to compare; all that both have where left out.
    numeric, categories
        Columns to take as numbers, although they are text, and as codes, although they are numbers.
    weight
        Column of weights.
    aligned
        Whether the files have the same records in the same order.

    Raises
    ------
    InputError
        Where a file is empty, or nothing can be compared.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.engine.record_set import read_record_set
    >>> files = [pa.table({"x": [1, 2, 3], "y": y}) for y in (["a", "b", "b"], [1.5, 2.5, None])]
    >>> pair = pair_files(*(read_record_set(ds.Microdata(file)) for file in files))
    >>> [(one.name, one.compared, one.note) for one in pair.standings]
    [('x', 'numbers', ''), ('y', '', 'Text before and numbers after.')]
    """
    if not len(original) or not len(released):
        which = "original" if not len(original) else "released"
        raise InputError(f"The {which} file has no records.", hint="Give a file with at least one record.")
    if aligned and len(original) != len(released):
        raise InputError(
            f"The original has {counted(len(original), 'record')} and the released file {len(released):,}: they cannot "
            "be the same in the same order.",
            hint="Leave aligned= out.",
            recipe_hint="Leave --aligned out.",
        )
    both = (original, released)
    _refuse_names(both, columns, (*numeric, *categories))
    found: list[PairedColumn] = []
    standings = []
    for name in dict.fromkeys((*original.names, *released.names)):
        column, standing = _paired(name, both, columns, numeric, categories, weight)
        standings.append(standing)
        if column is not None:
            found.append(column)
    if not found:
        raise InputError(
            "The files have no column that can be compared.",
            hint=f"The original has {listed(original.names)}; the released file {listed(released.names)}.",
        )
    weights, notes = _weights(both, weight)
    return FilePair(
        tuple(found), tuple(standings), (len(original), len(released)), aligned, weights, weight or "", tuple(notes)
    )


def _refuse_names(both: tuple[RecordSet, RecordSet], columns: Sequence[str] | None, typed: Sequence[str]) -> None:
    names = list(dict.fromkeys((*both[0].names, *both[1].names)))
    for name in (*(columns or ()), *typed):
        if name not in names:
            raise ParameterError(unknown_name("column", name, names, "the files"))


def _paired(
    name: str,
    both: tuple[RecordSet, RecordSet],
    columns: Sequence[str] | None,
    numeric: Collection[str],
    categories: Collection[str],
    weight: str | None,
) -> tuple[PairedColumn | None, ColumnStanding]:
    """A column of both files, where it can be compared, and what it is."""
    here = [name in records.names for records in both]
    kinds = [_kind(records[name]) if there else "" for records, there in zip(both, here, strict=True)]
    empty = [_empty(records, name) if there else 0 for records, there in zip(both, here, strict=True)]

    def standing(compared: str, note: str) -> ColumnStanding:
        return ColumnStanding(name, kinds[0], kinds[1], compared, empty[0], empty[1], note)

    roles = {records.about(name).role for records, there in zip(both, here, strict=True) if there}
    if columns is not None and name not in columns:
        return None, standing("", "Not asked for.")
    if name == weight or WEIGHT in roles:
        return None, standing("", "A weight.")
    hidden = roles & {*NEVER_PUBLIC, HOUSEHOLD}
    if hidden and columns is None:
        return None, standing("", f"Left out: {'an' if hidden & {'identifier'} else 'a'} {min(hidden)}.")
    if not all(here):
        return None, standing("", f"Only in the {'original' if here[0] else 'released file'}.")
    as_codes = name in categories or (name not in numeric and _said_to_be_codes(both[0], name))
    if not as_codes and ("numbers" in kinds or name in numeric):
        values = [_numbers(records, name) for records in both]
        if values[0] is not None and values[1] is not None:
            read = "Text was read as numbers." if "text" in kinds and name not in numeric else ""
            return PairedColumn(name, values[0], values[1]), standing("numbers", read)
        if name in numeric:
            which = "original" if values[0] is None else "released file"
            return None, standing("", f"To be compared as numbers, and the {which} has text that is none.")
        return None, standing("", f"{kinds[0].capitalize()} before and {kinds[1]} after.")
    column = _coded(name, both)
    many = len(column.labels) > MANY_VALUES and kinds == ["text", "text"] and _numbers(both[0], name) is not None
    note = f"Numbers written as text, compared as codes; numeric=[{name!r}] compares them as numbers." if many else ""
    return column, standing("codes", note)


def _kind(column: pa.ChunkedArray) -> str:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if pa.types.is_boolean(kind):
        return "true/false"
    return "text" if pa.types.is_string(kind) else "dates"


def _said_to_be_codes(records: RecordSet, name: str) -> bool:
    about = records.about(name)
    return about.measure in ("nominal", "ordinal") or bool(about.value_labels)


def _empty(records: RecordSet, name: str) -> int:
    """How many records have nothing in a column, or a code for "unknown"."""
    unknown = records.about(name).missing
    return int((codes_of(records[name], unknown)[0] == 0).sum()) if unknown else int(records[name].null_count)


def _numbers(records: RecordSet, name: str) -> Floats | None:
    """A column as numbers, not-a-number in gaps and for codes for "unknown"; nothing where it holds other things."""
    import pyarrow as pa

    column = records[name]
    if _kind(column) not in ("numbers", "text", "true/false"):
        return None
    unknown = _unknown(records, name)
    if unknown is not None:
        column = _emptied(column, unknown)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        floats = column.cast(pa.float64(), safe=False)
    except pa.ArrowInvalid:
        return None
    values = np.array(floats.fill_null(np.nan).to_numpy(), np.float64)
    return None if np.isinf(values).any() else values


def _unknown(records: RecordSet, name: str) -> Bools | None:
    unknown = records.about(name).missing
    return codes_of(records[name], unknown)[0] == 0 if unknown else None


def _emptied(column: pa.ChunkedArray, gone: Bools) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.array(gone), pa.scalar(None, column.type), column)


def _coded(name: str, both: tuple[RecordSet, RecordSet]) -> PairedColumn:
    """A column of both files as codes that mean the same."""
    import pyarrow as pa

    columns = [records[name] for records in both]
    if columns[0].type != columns[1].type:
        columns = [column.cast(pa.string()) for column in columns]
    joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    missing: tuple[MissingRange, ...] = tuple(
        dict.fromkeys(ends for records in both for ends in records.about(name).missing)
    )
    codes, _ = codes_of(joined, missing)
    words = joined.combine_chunks().dictionary_encode()
    words = words.chunk(0) if isinstance(words, pa.ChunkedArray) else words
    labels = np.array([str(value) for value in words.dictionary.to_pylist()], np.object_)
    # Codes are numbered by their names, so that the order of rows decides no tie between them.
    order = np.argsort(labels, kind="stable")
    place = np.zeros(len(labels) + 1, np.int64)
    place[order + 1] = np.arange(1, len(labels) + 1)
    rows = len(both[0])
    return PairedColumn(name, place[codes[:rows]], place[codes[rows:]], ("", *labels[order].tolist()))


def _weights(both: tuple[RecordSet, RecordSet], weight: str | None) -> tuple[tuple[Floats, Floats], list[str]]:
    """Weights of both files: all 1 where a file has none."""
    found, notes = [], []
    for records, which in zip(both, ("original", "released file"), strict=True):
        if weight is None:
            found.append(np.ones(len(records)))
            continue
        if weight not in records.names:
            notes.append(f"The {which} has no column {weight!r}: all of its records count alike.")
            found.append(np.ones(len(records)))
            continue
        values = _numbers(records, weight)
        if values is None or np.isnan(values).any() or (values < 0).any() or not values.sum() > 0:
            raise InputError(
                f"The weight {weight!r} of the {which} has values that are missing, negative or no numbers.",
                hint="Correct the weights, or leave weight= out.",
                recipe_hint="Correct the weights, or leave --weight out.",
            )
        found.append(values)
    if len(notes) == len(both):
        raise ParameterError(unknown_name("column", str(weight), both[0].names, "the files"))
    return (found[0], found[1]), notes
