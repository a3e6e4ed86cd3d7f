"""Original, released and held-out records as matrices with the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.any_records import records_of
from discreet.engine.record_set import with_identity
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_column
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.records import (
    HOUSEHOLD,
    IDENTIFIER,
    NEVER_PUBLIC,
    NUMBER,
    WEIGHT,
    PublicRecords,
    RecordSet,
    stands_for_unknown,
)
from discreet.model.release import Release
from discreet.rules.key_counts import codes_of, numbered
from discreet.rules.linkage import tried_rows

if TYPE_CHECKING:
    import pyarrow as pa

ORIGINAL, RELEASED, HOLDOUT = "the original file", "the released file", "the hold-out file"
MANY_NUMBERS = 20
"""A text column of nothing but numbers with more distinct values than this should have been numbers."""
FAR = 1e300
"""A number that is far from all others: a gap."""
NEARLY_ALL = 0.95
"""A hold-out file of which a larger share occurs in the original was hardly held out."""


@dataclass(frozen=True, eq=False)
class FileColumns:
    """One file: a row of numbers for each column, with NaN for gaps; and who each record is."""

    values: Floats
    identity: Ints

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def tried(self, most: int) -> Ints:
        """Rows that are tried: all, or those that a public hash of what they hold puts first."""
        return tried_rows(self.identity, most)


@dataclass(frozen=True, eq=False)
class ComparedFiles:
    """Columns that all files share. Categories are numbered alike in all of them.

    Parameters
    ----------
    names
        The columns.
    number
        Which of them hold numbers, dates or times; the others hold categories.
    original, released, holdout
        The files.
    words
        For each column of categories what its numbers stand for.
    notes
        What to know of the comparison.
    """

    names: tuple[str, ...]
    number: Bools
    original: FileColumns
    released: FileColumns
    holdout: FileColumns | None
    words: Mapping[str, tuple[Any, ...]]
    notes: tuple[str, ...] = ()

    def of(self, chosen: Sequence[str]) -> ComparedFiles:
        """The same with some of the columns."""
        at = [self.place(name) for name in chosen]

        def some(file: FileColumns) -> FileColumns:
            return replace(file, values=np.ascontiguousarray(file.values[at]))

        return replace(
            self,
            names=tuple(chosen),
            number=self.number[at],
            original=some(self.original),
            released=some(self.released),
            holdout=None if self.holdout is None else some(self.holdout),
        )

    def place(self, name: str) -> int:
        """Where a column stands."""
        if name not in self.names:
            raise unknown_column(name, self.names, "the compared columns")
        return self.names.index(name)

    def held_out(self, attack: str) -> FileColumns:
        """The hold-out file, or an error that says what it is needed for."""
        if self.holdout is None:
            raise NeedsError(
                f"{attack} needs records that were not used to make the released file.",
                hint="Set some records apart before the file is made, and give them as holdout=.",
            )
        return self.holdout

    def scaled(self) -> ComparedFiles:
        """The same with numbers in units of their range in the original, and gaps far from everything.

        Where there is no range, numbers are categories.
        """
        files = [self.original, self.released, *([] if self.holdout is None else [self.holdout])]
        ends = np.cumsum([len(file) for file in files])
        rows = []
        for place, is_number in enumerate(self.number):
            values = np.concatenate([file.values[place] for file in files])
            known = values[: ends[0]][~np.isnan(values[: ends[0]])]
            reach = float(known.max() - known.min()) if len(known) else 0.0
            if is_number and 0 < reach < np.inf:
                values = (values - known.min()) / reach
            elif is_number:
                values = np.where(np.isnan(values), np.nan, value_codes(values)[0])
            rows.append(np.where(np.isnan(values), FAR, values))
        parts = [np.ascontiguousarray(part) for part in np.split(np.stack(rows), ends[:-1], axis=1)]
        made = [replace(file, values=part) for file, part in zip(files, parts, strict=True)]
        return replace(self, original=made[0], released=made[1], holdout=made[2] if len(made) > 2 else None)

    def combinations(self) -> tuple[Ints, Ints, Ints | None, int]:
        """The number of each record's combination of all columns, for the three files, and how many numbers there are.

        A gap is a value of its own.
        """
        files = [self.original, self.released, *([] if self.holdout is None else [self.holdout])]
        ends = np.cumsum([len(file) for file in files])
        columns, sizes = [], []
        for place in range(len(self.names)):
            codes, size = value_codes(np.concatenate([file.values[place] for file in files]))
            columns.append(codes)
            sizes.append(size)
        group, many = numbered(columns, sizes, int(ends[-1]))
        parts = np.split(group, ends[:-1])
        return parts[0], parts[1], parts[2] if len(parts) > 2 else None, many


def value_codes(values: Floats) -> tuple[Ints, int]:
    """A number for each value, from 1; 0 for a gap; and how many numbers there are."""
    gaps = np.isnan(values)
    distinct, place = np.unique(values[~gaps], return_inverse=True)
    codes = np.zeros(len(values), np.int64)
    codes[~gaps] = place.ravel() + 1
    return codes, len(distinct) + 1


def compared_files(
    original: Any, released: Any, holdout: Any = None, columns: Sequence[str] | None = None, needed: Sequence[str] = ()
) -> ComparedFiles:
    """Read files and put their columns side by side: those that are named, or all that can be compared.

    Columns that are ``needed`` must be there whatever their role is.

    Raises
    ------
    InputError
        Where a file has no records, a column is missing in one of them, or holds another type there.

    Examples
    --------
    >>> import pyarrow as pa
    >>> made = compared_files(pa.table({"x": ["a", "b"], "y": [1, None]}), pa.table({"y": [2.5], "x": ["b"]}))
    >>> made.names, made.number.tolist(), made.released.values.tolist()
    (('x', 'y'), [False, True], [[1.0], [2.5]])
    """
    first = read_records(original, ORIGINAL)
    numeric = [name for name in first.names if _kind(first[name]) == "numbers"]
    files = {ORIGINAL: first, RELEASED: read_records(released, RELEASED, numeric)}
    if holdout is not None:
        files[HOLDOUT] = read_records(holdout, HOLDOUT, numeric)
    names, notes = _shared_names(files, columns, needed)
    _refuse_other_types(files, names)
    number = np.array([_joint_kind(files, name) not in ("text", "true/false") for name in names])
    rows: dict[str, list[Floats]] = {where: [] for where in files}
    words: dict[str, tuple[Any, ...]] = {}
    for name, is_number in zip(names, number, strict=True):
        unknown = next((f.about(name).missing for f in files.values() if f.about(name).missing), ())
        if is_number:
            for where, file in files.items():
                rows[where].append(_numbers(file[name], unknown))
            continue
        parts, words[name] = _categories([file[name] for file in files.values()], unknown)
        for where, part in zip(files, parts, strict=True):
            rows[where].append(part)
    made = {where: FileColumns(np.stack(rows[where]), _identity(file)) for where, file in files.items()}
    notes += _numbers_as_text(words)
    if HOLDOUT in files:
        notes += _overlap(first, files[HOLDOUT])
    return ComparedFiles(names, number, made[ORIGINAL], made[RELEASED], made.get(HOLDOUT), words, tuple(notes))


def read_records(data: Any, where: str, numeric: Sequence[str] = ()) -> RecordSet:
    """Records of a frame, a file, a release or a record set; ``where`` is what errors call them."""
    if isinstance(data, Release):
        if not isinstance(data.custodian, RecordCustodian):
            raise ParameterError(f"Here {where} is a release of tables.", hint="Give records.")
        data = data.custodian.released
    if not isinstance(data, RecordSet) and not (
        hasattr(data, "__len__") and not isinstance(data, str) and not len(data)
    ):
        data = data if isinstance(data, PublicRecords | Microdata) else Microdata(_as_path(data))
        is_file = isinstance(data, Microdata) and isinstance(data.source, Path)
        there = set(_names_of(data)) if is_file and numeric else set()
        data = records_of(data, [name for name in numeric if name in there])
    if not len(data):
        hint = (
            "Leave holdout= out, or give records that were not used." if where == HOLDOUT else "Check what was given."
        )
        raise InputError(f"There are no records in {where}.", hint=hint)
    return with_identity(data)


def _as_path(data: Any) -> Any:
    return Path(data) if isinstance(data, str) else data


def _names_of(microdata: Microdata) -> list[str]:
    from discreet.files.frames import column_names

    return list(column_names(microdata.source, microdata.delimiter))


def _identity(records: RecordSet) -> Ints:
    assert records.identity is not None
    return records.identity


def _shared_names(
    files: Mapping[str, RecordSet], columns: Sequence[str] | None, needed: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """The columns that are compared, and what to know of the others."""
    names, notes = (tuple(columns), []) if columns is not None else _comparable(files[ORIGINAL], files[RELEASED])
    names = tuple(dict.fromkeys([*names, *needed]))
    for where, file in files.items():
        lacking = [name for name in names if name not in file.names]
        if lacking:
            raise InputError(
                f"Columns are missing in {where}: {listed(lacking)}.", hint=f"It has {listed(file.names)}."
            )
    if not names:
        raise InputError(
            f"{ORIGINAL.capitalize()} and {RELEASED} have no column in common that can be compared.",
            hint="Identifiers, households and weights are not compared.",
        )
    return names, notes


def _comparable(original: RecordSet, released: RecordSet) -> tuple[tuple[str, ...], list[str]]:
    """Columns of both files, without those that say who a record is or how it was drawn."""
    left_out = (*NEVER_PUBLIC, HOUSEHOLD, WEIGHT)
    silent = {*original.with_role(*left_out), *released.with_role(*left_out)}
    foreign = [name for name in released.names if name not in original.names and name not in silent]
    if foreign:
        raise InputError(
            f"Columns of {RELEASED} are not in the original: {listed(foreign)}.",
            hint=f"Rename them, or name the columns to compare: columns=[...] of {listed(original.names)}.",
        )
    gone = [name for name in original.names if name not in released.names and name not in silent]
    notes = [f"Not in {RELEASED}, and not compared: {listed(gone)}."] if gone else []
    return tuple(name for name in original.names if name in released.names and name not in silent), notes


def _kind(column: pa.ChunkedArray) -> str:
    """What a column holds, in words; nothing where it holds nothing."""
    import pyarrow as pa

    if column.null_count == len(column):
        return ""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if pa.types.is_boolean(kind):
        return "true/false"
    return "text" if pa.types.is_string(kind) else "dates" if pa.types.is_date(kind) else "times"


def _joint_kind(files: Mapping[str, RecordSet], name: str) -> str:
    return next((kind for kind in (_kind(file[name]) for file in files.values()) if kind), "text")


def _refuse_other_types(files: Mapping[str, RecordSet], names: Sequence[str]) -> None:
    for where, file in files.items():
        wrong = []
        for name in names:
            mine, first = _kind(file[name]), _kind(files[ORIGINAL][name])
            if mine and first and mine != first:
                wrong.append(f"{name!r} ({mine} instead of {first})")
        if wrong:
            raise InputError(
                f"Columns of {where} hold other types than the original: {', '.join(wrong)}.",
                hint="Bring both files to the same codes, or leave these columns out of columns=[...].",
            )


def _numbers(column: pa.ChunkedArray, unknown: Sequence[Any]) -> Floats:
    import pyarrow as pa

    kinds = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}
    if pa.types.is_string(column.type):  # nothing but gaps
        return np.full(len(column), np.nan)
    plain = column.cast(kinds.get(str(column.type), column.type)).fill_null(0).to_numpy()
    values = np.array(plain, np.float64)
    empty = codes_of(column, unknown)[0] == 0 if unknown else np.asarray(column.is_null().to_numpy(), np.bool_)
    values[empty] = np.nan
    return values


def _categories(columns: Sequence[pa.ChunkedArray], unknown: Sequence[Any]) -> tuple[list[Floats], tuple[Any, ...]]:
    """Codes of some columns that are numbered together, from 0, and what they stand for, in order."""
    import pyarrow as pa

    kind = next((column.type for column in columns if column.null_count < len(column)), pa.string())
    together = _together(columns, kind)
    words = sorted(word for word in together.unique().to_pylist() if word is not None)
    number = {word: place for place, word in enumerate(words)}
    encoded = together.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    places = [np.nan if stands_for_unknown(w, unknown) else number[w] for w in encoded.dictionary.to_pylist()]
    values = np.array([*places, np.nan])[encoded.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)]
    ends = np.cumsum([len(column) for column in columns])
    return np.split(values, ends[:-1]), tuple(words)


def _numbers_as_text(words: Mapping[str, tuple[Any, ...]]) -> list[str]:
    """A csv file that nobody said anything about is all text, and attacks by distance would be weak without a word."""
    found = [
        name
        for name, codes in words.items()
        if len(codes) > MANY_NUMBERS and all(isinstance(c, str) and NUMBER.fullmatch(c.strip()) for c in codes)
    ]
    if not found:
        return []
    return [
        f"Numbers were given as text and are compared as codes: {listed(found)}. "
        f"If they are amounts, give Microdata(..., numeric=[...])."
    ]


def _overlap(original: RecordSet, holdout: RecordSet) -> list[str]:
    """Refuse a hold-out file that is a part of the original; say where some of it may be."""
    mine, theirs, many = _who(original, holdout)
    counts = np.bincount(mine, minlength=many)
    again = int((counts[theirs] > 0).sum())
    # Strangers are equal, too: as often as original records equal each other.
    usual = float((counts[mine] > 1).mean())
    if usual >= 0.5 or again <= len(theirs) * usual + 4 * sqrt(len(theirs) * usual * (1 - usual)):
        return []
    if again > NEARLY_ALL * len(theirs):
        raise InputError(
            f"{counted(again, 'record')} of the {len(theirs):,} held out occur in the original, too.",
            hint="Hold-out records must not have been used to make the released file. Leave them out of the original.",
        )
    return [
        f"{counted(again, 'record')} of the {len(theirs):,} held out equal original records in all columns, more "
        "than strangers do. Whoever was used to make the released file does not belong there, and makes the "
        "risk look smaller."
    ]


def _who(original: RecordSet, holdout: RecordSet) -> tuple[Ints, Ints, int]:
    """A number for each record of two files, the same for the same identifier, or for the same in all columns."""
    named = original.with_role(IDENTIFIER)
    shared = [name for name in original.names if name in holdout.names]
    if named and set(named) <= set(shared):
        shared = list(named)
    columns, sizes = [], []
    for name in shared:
        if original[name].type == holdout[name].type:
            codes, size = codes_of(_together([original[name], holdout[name]], original[name].type))
            columns.append(codes)
            sizes.append(size)
    who, many = numbered(columns, sizes, len(original) + len(holdout))
    return who[: len(original)], who[len(original) :], many


def _together(columns: Sequence[pa.ChunkedArray], kind: Any) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([chunk for column in columns for chunk in column.cast(kind).chunks], type=kind)
