"""Files and frames of records as a :class:`~discreet.model.records.RecordSet`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.engine.draws import draws
from discreet.engine.identities import doubles, identities_of
from discreet.engine.parts import gathered
from discreet.engine.protocol import columns_of
from discreet.errors import InputError, NeedsError, ParameterError, counted, listed, unknown_column
from discreet.files.frames import column_names, condition_mask, hint_for_text, nearest_floats, no_records
from discreet.files.records.parquet import column_words
from discreet.files.statistical import (
    StatisticalMetadata,
    is_statistical,
    read_statistical_records,
    statistical_metadata,
)
from discreet.files.statistical_child import ZERO_PADDED
from discreet.files.text_columns import is_text_table
from discreet.model.arrays import Ints
from discreet.model.condition import Condition
from discreet.model.microdata import Microdata
from discreet.model.records import (
    HOUSEHOLD,
    IDENTIFIER,
    KEY,
    NEVER_PUBLIC,
    NUMERIC,
    WEIGHT,
    ColumnInfo,
    MissingRange,
    RecordSet,
)

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = (NUMERIC, WEIGHT)
"""Roles of columns of numbers."""
FEWEST, NEARLY = 20, 0.5
"""A column is nearly unique where there are so many records, and more than this share of them stand alone in it."""


def read_record_set(data: Microdata, numeric: Collection[str] = ()) -> RecordSet:
    """All columns of some records, with their roles and labels.

    Columns of csv files are text, so that codes keep their leading zeros, unless they are numbers by their role or
    named in ``numeric``.

    Raises
    ------
    InputError
        Where a role names no column, a record has no household, or an identifier occurs twice.
    NeedsError
        Where the records lie in a database or cluster, and nobody took them out (``data.on("memory")``).
    """
    data = gathered(data)
    names, roles = record_names(data), data.roles
    about = _about(data.source, names)
    table, left_out = _without(plain_columns(_read(data, names, numeric, about), data), data.leave_out)
    info = {
        name: ColumnInfo(
            role=roles.get(name, ""),
            label=data.labels.get(name, about.labels.get(name, "")),
            value_labels=dict(data.value_labels.get(name, about.value_labels.get(name, {}))),
            missing=tuple((code, code) for code in data.missing_codes.get(name, ()))
            or _missing(about, name, table[name]),
            format=about.formats.get(name, ""),
            measure=about.measures.get(name, ""),
        )
        for name in names
    }
    records = with_identity(RecordSet(table, info, None, dict(data.hierarchies), tuple(data.strata), left_out))
    _refuse_gaps(records, IDENTIFIER, HOUSEHOLD)
    _refuse_repeated(records)
    return records


def record_names(data: Microdata) -> list[str]:
    """Names of all columns, each of which stands once; roles and conditions name no others."""
    names = column_names(data.source, data.delimiter)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The records have two columns {twice!r}.", hint="Rename one of them.")
    for name in [
        *data.roles,
        *(condition.column for condition in data.leave_out),
        *data.strata,
        *data.hierarchies,
        *data.labels,
        *data.value_labels,
        *data.missing_codes,
    ]:
        if name not in names:
            raise unknown_column(name, names, "the records")
    return names


def _without(table: pa.Table, conditions: Sequence[Condition]) -> tuple[pa.Table, tuple[str, ...]]:
    """The records that meet none of some conditions, and words that say how many met each."""
    import pyarrow.compute as pc

    gone, words = None, []
    for condition in conditions:
        met = pc.fill_null(condition_mask(table, condition), False)
        many = pc.sum(met).as_py() or 0
        words.append(f"{counted(many, 'record', 'were')} left out before anything else: {condition}.")
        gone = met if gone is None else pc.or_(gone, met)
    if gone is None:
        return table, ()
    kept = table.filter(pc.invert(gone))
    if not kept.num_rows:
        raise InputError(
            f"Every record meets {listed(map(str, conditions))}, and none is left.", hint="Correct leave_out."
        )
    return kept.combine_chunks(), tuple(words)


def _about(source: Any, names: Sequence[str]) -> StatisticalMetadata:
    """Labels, formats and codes for "unknown" that a file or frame states itself."""
    import pyarrow as pa

    if is_statistical(source):
        return statistical_metadata(source)
    if isinstance(source, pa.Table):
        return column_words(source.schema)
    if isinstance(source, Path) and source.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        return column_words(pq.read_schema(source))
    return StatisticalMetadata(tuple(names))


def _missing(about: StatisticalMetadata, name: str, column: pa.ChunkedArray) -> tuple[MissingRange, ...]:
    """Codes for "unknown" of a column; of the letters that Stata and SAS have, those that it uses."""
    stated = about.missing.get(name, ())
    if len(stated) < len(ascii_lowercase) or not all(isinstance(low, str) for low, _ in stated):
        return stated
    used = {*about.value_labels.get(name, {}), *(column.unique().to_pylist() if _is_text(column) else ())}
    return tuple(ends for ends in stated if ends[0] in used)


def _is_text(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type))


def _read(data: Microdata, names: Sequence[str], numeric: Collection[str], about: StatisticalMetadata) -> pa.Table:
    """All columns: those of csv files as text unless they are numbers by their role; codes of statistical packages as
    text where they have a role or a format with leading zeros."""
    roles, source = data.roles, data.source
    numbers = {name for name in names if roles.get(name) in NUMBERS or name in numeric}
    if is_statistical(source):
        padded = [name for name, kind in about.formats.items() if ZERO_PADDED.match(kind)]
        codes = [name for name in names if (name in roles or name in padded) and name not in numbers]
        table = read_statistical_records(Path(source), names, codes, numbers)
        if not table.num_rows:
            raise no_records()
        return table
    is_csv = (isinstance(source, Path) and source.suffix.lower() != ".parquet") or is_text_table(source)
    text = [name for name in names if name not in numbers] if is_csv else []
    return columns_of(data, names, text)


def plain_columns(table: pa.Table, data: Microdata) -> pa.Table:
    """The same with the few types that methods, files and the checker know; a floating-point NaN is a gap."""
    import pyarrow as pa

    made = {}
    for name in table.column_names:
        column = table[name]
        empty_numbers = pa.types.is_null(column.type) and data.roles.get(name) in NUMBERS
        kind = pa.float64() if empty_numbers else _plain_type(column.type)
        if kind is None:
            raise InputError(
                f"Column {name!r} holds {column.type}, which a file of records cannot have.",
                hint="Give text, numbers, true/false, dates or times.",
            )
        try:
            made[name] = _without_nan(
                _exact(column, name) if pa.types.is_decimal(column.type) else column.cast(kind), name
            )
        except pa.ArrowException as error:
            raise InputError(f"Column {name!r} cannot be read exactly ({str(error)[:80]}).") from None
        if data.roles.get(name) in NUMBERS and not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            text = pa.types.is_string(kind)
            raise InputError(
                f"Column {name!r} is to hold numbers, and holds {'text' if text else kind}.",
                hint=hint_for_text(made[name]) if text else "Correct its role, or its values.",
            )
    return pa.table(made)


def _exact(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Decimal numbers as the floating-point ones that show the same digits; where there are none, that is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    floats = nearest_floats(column)
    try:
        same = pc.all(pc.equal(floats.cast(pa.string()).cast(column.type), column)).as_py()
    except pa.ArrowException:
        same = False
    if same is False:
        raise InputError(
            f"Column {name!r} holds decimal numbers with more digits than files of records can have (about 15).",
            hint="Round them, or give them as text where they are codes.",
        )
    return floats


def _plain_type(kind: Any) -> Any:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return pa.string()
    if types.is_integer(kind):
        return pa.int64()
    if types.is_floating(kind) or types.is_decimal(kind):
        return pa.float64()
    if types.is_boolean(kind) or types.is_date32(kind):
        return kind
    if types.is_date64(kind):
        return pa.date32()
    return pa.timestamp("us") if types.is_timestamp(kind) else None


def _without_nan(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Floating-point numbers with gaps for what is no number, and one zero; infinite ones are errors."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    infinite = pc.sum(pc.is_inf(column)).as_py() or 0
    if infinite:
        raise InputError(f"Column {name!r} holds {counted(infinite, 'infinite number')}.", hint="Empty these fields.")
    return pc.add(pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column), 0.0)


def with_identity(records: RecordSet) -> RecordSet:
    """The records with a number for each row: of its identifier, or of all that it holds where it has none."""
    return records if records.identity is not None else replace(records, identity=_identity(records))


def mixed_identity(columns: Sequence[pa.ChunkedArray]) -> Ints:
    """A number for each row, which equal rows have alike."""
    return draws(bytes(32), "identity of rows", 1, *map(_numbers, columns)).astype(np.int64)


def _identity(records: RecordSet) -> Ints:
    """Rows that hold the same are told apart by how many stand before them."""
    named = records.with_role(IDENTIFIER)
    mixed = mixed_identity([records[name] for name in named or records.names])
    if named:
        return mixed
    order = np.argsort(mixed, kind="stable")
    sorted_ = mixed[order]
    begins = np.r_[True, sorted_[1:] != sorted_[:-1]]
    if begins.all():
        return mixed
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    before = np.empty(len(order), np.int64)
    before[order] = np.arange(len(order)) - first
    return draws(bytes(32), "identity of equal rows", 1, mixed, before).astype(np.int64)


def _numbers(column: pa.ChunkedArray) -> Ints:
    """A number for each value of a column, the same for the same value; gaps have one of their own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = np.asarray(column.is_null().to_numpy())
    if pa.types.is_string(column.type):
        encoded = column.combine_chunks().dictionary_encode()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        words = identities_of(encoded.dictionary) if len(encoded.dictionary) else np.zeros(1, np.int64)
        places = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
        numbers = words[places]
    else:
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        elif pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        filled = pc.fill_null(column, 0).to_numpy()
        numbers = filled.view(np.int64) if filled.dtype == np.float64 else filled.astype(np.int64)
    return np.where(gaps, np.int64(-1), numbers)


def _refuse_gaps(records: RecordSet, *roles: str) -> None:
    for name in records.with_role(*roles):
        refuse_gaps(records[name].null_count, name, records.about(name).role)


def refuse_gaps(gaps: int, name: str, role: str) -> None:
    """Refuse records that say nothing in a column of which each must say something."""
    if gaps:
        raise InputError(
            f"{counted(gaps, 'record', 'have')} nothing in {name!r}, the {role}.",
            hint="Fill it, or leave these records out.",
        )


def _refuse_repeated(records: RecordSet) -> None:
    names = records.with_role(IDENTIFIER)
    if names and records.identity is not None:
        refuse_repeated(records.identity, names)


def refuse_repeated(identity: Ints, names: Sequence[str]) -> None:
    """Refuse records whose identifier an earlier one has."""
    again = doubles(identity)
    if again:
        raise InputError(
            f"{counted(again, 'record', 'have')} the identifier of an earlier record ({listed(names)}).",
            hint="Name all columns that identify a record together, or remove records that stand twice.",
        )


def refuse_recognisable(records: RecordSet) -> None:
    """Refuse columns that would name people without being called so: nearly unique ones without a role.

    Keys that are nearly unique after all steps are refused as well: whoever knows them finds the record.
    """
    import pyarrow as pa

    if len(records) < FEWEST:
        return
    for name in records.names:
        role, kind = records.about(name).role, records[name].type
        names_people = role == "" and not pa.types.is_boolean(kind)
        if role != KEY and not names_people:
            continue
        alone = _standing_alone(records[name])
        if alone <= NEARLY * len(records):
            continue
        share = f"{counted(alone, 'value')} of {counted(len(records), 'record')} occur once"
        if role == KEY:
            raise NeedsError(
                f"Key {name!r} is nearly unique ({share}): whoever knows it finds the record.",
                hint=f"Recode it, for example ds.Recode({name!r}, intervals=[...]), or give it another role.",
            )
        raise NeedsError(
            f"Column {name!r} is nearly unique ({share}) and has no role, so it may name people.",
            hint=f"Say what it is: Microdata(identifier={name!r}) leaves it out of public files, "
            f"keys=, sensitive= or numeric=[{name!r}] keep it.",
        )


def _standing_alone(column: pa.ChunkedArray) -> int:
    """How many values of a column occur once."""
    counts = column.combine_chunks().value_counts().field("counts").to_numpy()
    return int((counts == 1).sum())


def refuse_no_columns(records: RecordSet) -> None:
    """Refuse records of which nothing is left to publish."""
    if not [name for name in records.names if records.about(name).role not in NEVER_PUBLIC]:
        raise ParameterError("No column is left to publish: all are identifiers.", hint="Correct the roles.")
