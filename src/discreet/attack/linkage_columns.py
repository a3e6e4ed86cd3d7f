"""What an intruder compares: the same columns of an original and of a released file, as numbers and as codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.any_records import records_of
from discreet.engine.record_set import with_identity
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.custodian import RecordCustodian
from discreet.model.records import KEY, NUMERIC, RecordSet
from discreet.model.release import Release
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa


def both_files(original: Any, released: Any, numeric: Sequence[str] = ()) -> tuple[RecordSet, RecordSet]:
    """Both files as records; of a release alone, its original and what was released of it."""
    if isinstance(original, Release) and released is None:
        custodian = original.custodian
        if not isinstance(custodian, RecordCustodian):
            raise ParameterError(
                "This is a release of tables, and records are linked with records.", hint="Use ds.audit(release)."
            )
        return with_identity(custodian.original), custodian.released
    if released is None:
        raise ParameterError("There is no released file.", hint="Give link(original, released), or a release alone.")
    return with_identity(records_of(original, numeric)), with_identity(records_of(released, numeric))


def names_of(argument: str, given: Any) -> tuple[str, ...]:
    """Names of columns, given as one or as several."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint="Give names of columns in a list.")
    if len(set(names)) < len(names):
        raise ParameterError(f"{argument} names a column twice.", hint=f"There are {listed(names)}.")
    return tuple(names)


def known_columns(original: RecordSet, columns: Any) -> tuple[str, ...]:
    """Columns that the intruder knows: those given, or numbers and keys by their roles."""
    names = original.with_role(NUMERIC, KEY) if columns is None else names_of("columns", columns)
    if not names:
        raise NeedsError(
            "Linking needs to know which columns an intruder has.",
            hint="Give columns=[...], or say Microdata(keys=[...], numeric=[...]).",
        )
    return names


@dataclass(frozen=True, eq=False)
class LinkageColumns:
    """Columns of both files: numbers with their gaps, and codes that mean the same in both.

    Numbers of each column were divided by one power of two, so that sums of squares stay finite. A gap holds the mean
    of its column and file. Codes are whole numbers from 1; 0 is a gap, which is a code like any other.
    """

    names: tuple[str, ...]
    before: Floats
    after: Floats
    gone: Bools
    empty: Bools
    code_names: tuple[str, ...]
    codes_before: Floats
    codes_after: Floats
    notes: tuple[str, ...]

    @property
    def complete(self) -> tuple[Bools, Bools]:
        """Rows of both files without a gap among the numbers."""
        return np.logical_not(self.gone.any(axis=1)), np.logical_not(self.empty.any(axis=1))

    def numbers_only(self, what: str) -> None:
        """Refuse codes for a way that has no place for them."""
        if self.code_names:
            raise InputError(
                f"{listed(self.code_names)} {'holds' if len(self.code_names) == 1 else 'hold'} codes, and {what} "
                "compares numbers.",
                hint='Name them in blocking=, leave them out, or use way="nearest" or way="probabilistic".',
            )


def compared_columns(
    original: RecordSet, released: RecordSet, columns: Sequence[str], categories: Sequence[str]
) -> LinkageColumns:
    """The columns of both files, without those that never vary in one of them."""
    for name in categories:
        if name not in columns:
            raise ParameterError(f"categories= names {name!r}, which is not among the columns.", hint="Add it there.")
    numbers: list[tuple[str, Floats, Floats, Bools, Bools]] = []
    codes: list[tuple[str, Floats, Floats]] = []
    constant = []
    for name in columns:
        _refuse_other_kinds(name, original[name], released[name])
        if name in categories or not _is_number(original[name]):
            one, other = shared_codes(original, released, name)
            codes.append((name, one.astype(np.float64), other.astype(np.float64)))
            continue
        (old, gone), (new, empty) = (_numbers(records, name) for records in (original, released))
        if _never_varies(old[~gone]) or _never_varies(new[~empty]):
            constant.append(name)
            continue
        top = max(np.abs(old[~gone]).max(), np.abs(new[~empty]).max())
        unit = np.ldexp(1.0, -int(np.frexp(top)[1]))
        pair = (
            np.where(lost, (values[~lost] * unit).mean(), values * unit) for values, lost in ((old, gone), (new, empty))
        )
        numbers.append((name, *pair, gone, empty))
    notes = (f"{listed(constant)}: never varies in one of the files, and was left out.",) if constant else ()
    sizes = len(original), len(released)
    return LinkageColumns(
        tuple(one[0] for one in numbers),
        _stacked([one[1] for one in numbers], sizes[0]),
        _stacked([one[2] for one in numbers], sizes[1]),
        _stacked([one[3] for one in numbers], sizes[0]).astype(np.bool_),
        _stacked([one[4] for one in numbers], sizes[1]).astype(np.bool_),
        tuple(one[0] for one in codes),
        _stacked([one[1] for one in codes], sizes[0]),
        _stacked([one[2] for one in codes], sizes[1]),
        notes,
    )


def _stacked(columns: Sequence[Any], rows: int) -> Floats:
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros((rows, 0))


def _never_varies(values: Floats) -> bool:
    return not len(values) or bool(values.min() == values.max())


def _is_number(column: pa.ChunkedArray) -> bool:
    import pyarrow.types as kinds

    tests = (kinds.is_integer, kinds.is_floating, kinds.is_date, kinds.is_timestamp)
    return any(test(column.type) for test in tests)


def _refuse_other_kinds(name: str, old: pa.ChunkedArray, new: pa.ChunkedArray) -> None:
    """Refuse columns whose values cannot be compared: numbers and text, dates and numbers."""
    import pyarrow.types as kinds

    def kind(column: pa.ChunkedArray) -> str:
        plain = kinds.is_integer(column.type) or kinds.is_floating(column.type)
        return "numbers" if plain else "text" if kinds.is_string(column.type) else str(column.type)

    if kind(old) != kind(new):
        raise InputError(
            f"Column {name!r} holds {kind(old)} in the original and {kind(new)} in the released file.",
            hint="Leave it out, or bring both to one type: recode the original as the released file is.",
        )


def _numbers(records: RecordSet, name: str) -> tuple[Floats, Bools]:
    """Values and gaps of a column; dates count in days, times in microseconds."""
    import pyarrow as pa

    column, unknown = records[name], records.about(name).missing
    empty = codes_of(column, unknown)[0] == 0 if unknown else np.asarray(column.is_null().to_numpy(), np.bool_)
    kind = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}.get(str(column.type))
    plain = column if kind is None else column.cast(kind)
    return np.asarray(plain.fill_null(0).to_numpy(), np.float64), empty


def shared_codes(original: RecordSet, released: RecordSet, name: str) -> tuple[Ints, Ints]:
    """Codes of a column that mean the same in both files; 0 for a gap."""
    import pyarrow as pa

    old, new = original[name], released[name]
    _refuse_other_kinds(name, old, new)
    if pa.types.is_floating(old.type) or pa.types.is_floating(new.type):
        old, new = old.cast(pa.float64()), new.cast(pa.float64())
    unknown = (*original.about(name).missing, *released.about(name).missing)
    codes = codes_of(pa.chunked_array([*old.chunks, *new.chunks], old.type), unknown)[0]
    return codes[: len(original)], codes[len(original) :]


def blocks_of(original: RecordSet, released: RecordSet, names: Sequence[str]) -> tuple[Ints, Ints] | None:
    """A number for the block of each row of both files; nothing where no column divides them."""
    if not names:
        return None
    block = np.zeros(len(original) + len(released), np.int64)
    for name in names:
        codes = np.concatenate(shared_codes(original, released, name))
        block = np.unique(block * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].ravel()
    return block[: len(original)], block[len(original) :]


def true_links(original: RecordSet, released: RecordSet, truth: Any) -> Ints:
    """The released row of each original one; -1 where it has none."""
    rows, others = len(original), len(released)
    if truth is None:
        if rows != others:
            raise InputError(
                f"The original has {counted(rows, 'record')} and the released file {others:,}: nothing says which "
                "record is whose.",
                hint="Give truth=: a column of both files, or for each original record its released row (-1 for none).",
            )
        return np.arange(rows)
    if isinstance(truth, str):
        return _by_column(original, released, truth)
    given = np.asarray(truth)
    if given.ndim != 1 or len(given) != rows or given.dtype.kind not in "iu":
        raise ParameterError(
            f"truth= does not give one row for each of {counted(rows, 'original record')}.",
            hint="Give the released row of each original record, -1 for none; or a column of both files.",
        )
    links = given.astype(np.int64)
    wrong = int(((links < -1) | (links >= others)).sum())
    if wrong:
        raise ParameterError(
            f"truth= names {counted(wrong, 'row')} that the released file does not have.",
            hint=f"Give numbers from 0 to {others - 1:,}, and -1 for none.",
        )
    twice = int((np.bincount(links[links >= 0], minlength=1) > 1).sum())
    if twice:
        raise InputError(
            f"truth= gives {counted(twice, 'released row')} to several original records.",
            hint="Every released record belongs to one original record at most.",
        )
    return links


def _by_column(original: RecordSet, released: RecordSet, name: str) -> Ints:
    for records, which in ((original, "original"), (released, "released file")):
        column = records[name]
        gaps, different = column.null_count, len(column.unique().drop_null())
        if gaps:
            raise InputError(
                f"{counted(gaps, 'record', 'have')} no {name!r} in the {which}.",
                hint="Fill it, or leave these records out.",
            )
        again = len(records) - different
        if again:
            raise InputError(
                f"{counted(again, 'record', 'have')} the {name!r} of an earlier one in the {which}.",
                hint="Name a column in which every record has a value of its own.",
            )
    old, new = shared_codes(original, released, name)
    place = np.full(int(max(old.max(initial=0), new.max(initial=0))) + 1, -1)
    place[new] = np.arange(len(new))
    return place[old]
