"""Files of series: arrays, lists of unequal series, and panels in long form (one record for each unit and time)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.engine.any_records import records_of
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import IDENTIFIER, NUMERIC, RecordSet
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_NAMED = 5
LARGEST = 1e100
"""The square of this number, and of one over it, is a number."""


@dataclass(frozen=True, eq=False)
class SeriesFile:
    """Units with one or several series each.

    Parameters
    ----------
    values
        By unit, series and time; a gap is not a number.
    times
        When the values were, in rising order.
    names
        Names of the series, where they have any.
    units
        Who each unit is, where that is known.
    ragged
        Whether series may end early: what follows their last value is no gap.
    """

    values: Floats
    times: Floats
    names: tuple[str, ...] = ()
    units: tuple[Hashable, ...] = ()
    ragged: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @property
    def incomplete(self) -> Bools:
        """Which units have a gap."""
        return np.asarray(np.isnan(self.values).any(axis=(1, 2)))

    def interpolated(self) -> SeriesFile:
        """The same without gaps: straight lines between values, and the nearest value before and after them all."""
        filled = self.values.copy()
        for unit, series in np.argwhere(np.isnan(filled).any(axis=2)):
            line = filled[unit, series]
            gone = np.isnan(line)
            line[gone] = np.interp(self.times[gone], self.times[~gone], line[~gone])
        return replace(self, values=filled)


class PanelColumns(NamedTuple):
    """Columns of a panel in long form: who, when, and the values; or a column that names the series of one value."""

    id: str | None
    time: str
    values: tuple[str, ...]
    variable: str | None


def series_from_arrays(given: Any, which: str) -> SeriesFile:
    """Series as arrays: by unit and time, or by unit, series and time; or a list of unequal series."""
    unequal = _unequal(given)
    if unequal is not None:
        return _refuse_odd_numbers(unequal, which)
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{which} is a {type(given).__name__} that holds no series of numbers.",
            hint="Give an array by unit and time, or by unit, series and time; of a data frame, name time=.",
        ) from None
    values = values[:, None, :] if values.ndim == 2 else values
    if values.ndim != 3:
        raise ParameterError(
            f"{which} is an array with {counted(values.ndim, 'direction')}.",
            hint="Give one by unit and time, or by unit, series and time.",
        )
    file = SeriesFile(np.ascontiguousarray(values) + 0.0, np.arange(values.shape[2], dtype=np.float64))
    return _refuse_odd_numbers(file, which)


def _unequal(given: Any) -> SeriesFile | None:
    """A list of series of unequal length, each beginning at the first time; nothing where it is something else."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not len(given):
        return None
    try:
        series = [np.asarray(one, np.float64) for one in given]
    except (TypeError, ValueError):
        return None
    if any(one.ndim != 1 for one in series) or len({len(one) for one in series}) == 1:
        return None
    values = np.full((len(series), 1, max(len(one) for one in series)), np.nan)
    for unit, one in enumerate(series):
        if np.isnan(one).any():
            raise InputError(
                f"Series {unit + 1} has a gap, and the series are of unequal length.", hint="Leave its empty times out."
            )
        values[unit, 0, : len(one)] = one
    return SeriesFile(values + 0.0, np.arange(values.shape[2], dtype=np.float64), ragged=True)


def _refuse_odd_numbers(file: SeriesFile, which: str) -> SeriesFile:
    if not file.values.size:
        raise InputError(f"{which} holds no series.", hint="Give at least one unit with one value.")
    infinite = int(np.isinf(file.values).any(axis=(1, 2)).sum())
    if infinite:
        raise InputError(
            f"{counted(infinite, f'unit of {which}', 'have')} infinite numbers.",
            hint="Correct them, or leave these units out.",
        )
    largest = float(np.nanmax(np.abs(file.values), initial=0.0))
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        raise InputError(
            f"The numbers of {which} are of a size at which distances are no longer exact.",
            hint="Give them in another unit.",
        )
    empty = int((np.isnan(file.values).sum(axis=2) == file.values.shape[2]).any(axis=1).sum())
    if empty:
        raise InputError(
            f"{counted(empty, f'unit of {which}', 'have')} a series without any value.",
            hint="Leave these units out.",
        )
    return file


def is_panel(given: Any) -> bool:
    """Whether something is a table of records and no array."""
    return not isinstance(given, np.ndarray | list | tuple)


def series_from_panels(original: Any, released: Any, columns: PanelColumns) -> tuple[SeriesFile, SeriesFile]:
    """Two panels in long form as series over the times of both."""
    read = [
        _read_panel(given, columns, which)
        for given, which in ((original, "the original file"), (released, "the released file"))
    ]
    first, second = read
    if first.names != second.names:
        raise InputError(
            f"The original file has series {listed(first.names)}, the released file {listed(second.names)}.",
            hint="Name the series of both with values=.",
        )
    times = np.unique(np.concatenate((first.times, second.times)))
    return _over(first, times), _over(second, times)


def series_from_columns(
    original: Any, released: Any, who: str | None, values: Mapping[str, Sequence[str]], times: Any
) -> tuple[SeriesFile, SeriesFile]:
    """Two panels in wide form: one record for each unit, and for each series the columns of its times."""
    lengths = {len(columns) for columns in values.values()}
    if len(lengths) != 1 or any(isinstance(columns, str) for columns in values.values()):
        raise ParameterError(
            "values= does not name the same number of columns for every series.",
            hint='For example values={"income": ["income_2024", "income_2025"]}.',
        )
    many = lengths.pop()
    named = tuple(name for columns in values.values() for name in columns)
    made = []
    for given, which in ((original, "the original file"), (released, "the released file")):
        records = records_of(given, named)
        found = np.stack([_numbers(records, name) for name in named], axis=1).reshape(-1, len(values), many)
        file = SeriesFile(
            np.ascontiguousarray(found) + 0.0, stamps(times, many), tuple(values), _units(records, who, which)
        )
        made.append(_refuse_odd_numbers(file, which))
    return made[0], made[1]


def _units(records: RecordSet, who: str | None, which: str) -> tuple[Any, ...]:
    """Who the units of a wide panel are; nothing where that is not said."""
    if who is None:
        return ()
    unit, units = _numbered(records, who, which)
    if len(units) < len(unit):
        raise InputError(
            f"{counted(len(unit) - len(units), f'record of {which}', 'repeat')} the {who!r} of an earlier one.",
            hint="A panel in wide form has one record for each unit; name time= for the long form.",
        )
    return units


def stamps(times: Any, many: int) -> Floats:
    """Times of series: rising numbers, or 0, 1, 2 and so on."""
    if times is None:
        return np.arange(many, dtype=np.float64)
    found = np.asarray(times, np.float64)
    if found.shape != (many,) or not np.isfinite(found).all():
        raise ParameterError(
            f"times= does not give one number for each of {counted(many, 'value')} of a series.",
            hint=f"Give {many} numbers in rising order.",
        )
    if (np.diff(found) <= 0).any():
        raise ParameterError("times= does not rise from each time to the next.", hint="Put the times in rising order.")
    return found


def _over(file: SeriesFile, times: Floats) -> SeriesFile:
    values = np.full((*file.values.shape[:2], len(times)), np.nan)
    values[:, :, np.searchsorted(times, file.times)] = file.values
    return replace(file, values=values, times=times)


def _read_panel(given: Any, columns: PanelColumns, which: str) -> SeriesFile:
    records = records_of(given, columns.values)
    who = columns.id or next((name for name in records.with_role(IDENTIFIER) if name != columns.time), None)
    if who is None:
        raise NeedsError("It is not said which records are one unit's.", hint="Give id= the name of that column.")
    used = (who, columns.time, columns.variable)
    names = columns.values or records.with_role(NUMERIC) or _columns_of_numbers(records, used)
    if not names:
        raise NeedsError("No column of numbers is named.", hint="Give values= the columns that are series.")
    unit, units = _numbered(records, who, which)
    stamps = _stamps(records, columns.time, which)
    times, place = np.unique(stamps, return_inverse=True)
    if columns.variable is None:
        series = [np.zeros(len(records), np.int64)] * len(names)
        found: tuple[str, ...] = names
    else:
        if len(names) != 1:
            raise ParameterError(
                f"variable={columns.variable!r} names the series of one column, and values= are {listed(names)}.",
                hint="Give values= the one column of numbers.",
            )
        kind, words = _numbered(records, columns.variable, which)
        order = np.argsort([str(word) for word in words], kind="stable")
        series, found = [np.argsort(order, kind="stable")[kind]], tuple(str(words[i]) for i in order)
    _refuse_doubles(unit, place.ravel(), series[0], which, who, columns)
    values = np.full((len(units), len(found), len(times)), np.nan)
    for number, name in enumerate(names):
        values[unit, series[number] + (number if columns.variable is None else 0), place.ravel()] = _numbers(
            records, name
        )
    return _refuse_odd_numbers(SeriesFile(values + 0.0, times, found, units), which)


def _columns_of_numbers(records: RecordSet, used: Sequence[str | None]) -> tuple[str, ...]:
    import pyarrow as pa

    kinds = {name: records[name].type for name in records.names if name not in used}
    return tuple(name for name, kind in kinds.items() if pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _numbered(records: RecordSet, name: str, which: str) -> tuple[Ints, tuple[Any, ...]]:
    """A number from 0 for each value of a column, and the values; gaps are refused."""
    column = records[name]
    _refuse_gaps(column, name, which)
    encoded = column.combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if hasattr(encoded, "chunks") else encoded
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), tuple(encoded.dictionary.to_pylist())


def _refuse_gaps(column: pa.ChunkedArray, name: str, which: str) -> None:
    if column.null_count:
        raise InputError(
            f"{counted(column.null_count, f'record of {which}', 'have')} no {name!r}.",
            hint="Every record of a panel needs its unit and its time: correct these, or leave them out.",
        )


def _stamps(records: RecordSet, name: str, which: str) -> Floats:
    """Times as numbers: days of dates, seconds of times; text that spells numbers is taken for them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = records[name]
    _refuse_gaps(column, name, which)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind)
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    try:
        stamps = np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    except pa.ArrowException:
        stamps = np.full(len(column), np.nan)
    if not np.isfinite(stamps).all():
        raise InputError(
            f"Column {name!r} of {which} holds times that are neither numbers nor dates.",
            hint="Give years, numbers in rising order, or dates.",
        )
    return stamps


def _refuse_doubles(unit: Ints, place: Ints, series: Ints, which: str, who: str, columns: PanelColumns) -> None:
    """Refuse two records of one unit at one time: nobody knows which of them counts."""
    keys = np.stack([unit, place, series], axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse.ravel()] != np.arange(len(keys)))
    if len(again):
        rows = ", ".join(str(row + 1) for row in again[:ROWS_NAMED].tolist())
        more = " and more" if len(again) > ROWS_NAMED else ""
        pair = ", ".join(repr(name) for name in (who, columns.time, columns.variable) if name is not None)
        raise InputError(
            f"{counted(len(again), f'record of {which}', 'repeat')} the {pair} of an earlier one (row {rows}{more}).",
            hint="A unit has one value at a time: remove repeated records, or name the column that tells them apart.",
        )


def _numbers(records: RecordSet, name: str) -> Floats:
    """A column of numbers; not a number where it is empty or stands for "unknown"."""
    import pyarrow as pa

    column, unknown = records[name], records.about(name).missing
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(
            f"Column {name!r} holds {column.type}, not numbers.", hint="Name columns of numbers with values=."
        )
    found = np.array(column.fill_null(0).to_numpy(), np.float64)
    empty = codes_of(column, unknown)[0] == 0 if unknown else np.asarray(column.is_null().to_numpy(), np.bool_)
    found[empty] = np.nan
    return found


def truth_of(original: SeriesFile, released: SeriesFile, given: Any) -> Ints:
    """For every original unit where its released one stands; -1 where it has none."""
    if original.units:
        return _truth_by_name(original, released, given)
    if given is None:
        if len(original) != len(released):
            raise InputError(
                f"There are {counted(len(original), 'original unit')} and {counted(len(released), 'released one')}, "
                "and it is not said which is whose.",
                hint="Give truth=: for every original unit the position of its released one, -1 where it has none.",
            )
        return np.arange(len(original))
    truth = np.asarray(given)
    if truth.shape != (len(original),) or truth.dtype.kind not in "iu":
        raise ParameterError(
            "truth= does not say it of every original unit.",
            hint=f"Give {counted(len(original), 'whole number')}: positions from 0, -1 where there is none.",
        )
    if (truth < -1).any() or (truth >= len(released)).any():
        raise ParameterError(
            "truth= names positions that the released file does not have.",
            hint=f"Positions go from 0 to {len(released) - 1}; -1 says that there is none.",
        )
    return truth.astype(np.int64)


def _truth_by_name(original: SeriesFile, released: SeriesFile, given: Any) -> Ints:
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(
            "truth= of panels goes by units.", hint="Give a mapping from original to released ones, or leave it out."
        )
    place = {unit: number for number, unit in enumerate(released.units)}
    named = [unit if given is None else given.get(unit) for unit in original.units]
    found = np.array([place.get(name, -1) for name in named], np.int64)
    if not (found >= 0).any():
        raise InputError(
            "No unit of the original file is in the released one.",
            hint="Give id= a column that both files have, or truth= a mapping from original to released units.",
        )
    return found
