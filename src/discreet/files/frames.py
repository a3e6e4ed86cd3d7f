"""Any data frame or file of records as Arrow columns, with errors that say what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError, listed, missing_extra, unknown_column
from discreet.model.arrays import Bools
from discreet.model.condition import Condition

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", ";", "\t", "|")


def read_columns(
    source: Any,
    columns: Iterable[str],
    text: Iterable[str] = (),
    where: Sequence[Condition] = (),
    delimiter: str = ",",
) -> pa.Table:
    """The named columns of a frame or file, records outside the universe left out.

    Parameters
    ----------
    source
        Data frame or path.
    columns
        Columns to read.
    text
        Columns that hold codes and are read as text (leading zeros stay).
    where
        Filters; their columns are read too.
    delimiter
        Separator of a csv file.
    """
    wanted = list(dict.fromkeys([*columns, *(condition.column for condition in where)]))
    codes = set(text) | {c.column for c in where if any(isinstance(v, str) for v in c.values)}
    if isinstance(source, str | Path):
        table = _read_file(Path(source), wanted, codes, delimiter)
    else:
        table = _from_frame(source, wanted)
    if table.num_rows == 0:
        raise InputError("The data have no records.", hint="Check that the right file or frame was given.")
    for condition in where:
        table = table.filter(_mask(table, condition))
    if table.num_rows == 0:
        raise InputError(
            f"No record meets the filter {' and '.join(str(c) for c in where)!r}.",
            hint="Check the values it compares with.",
        )
    return table


def file_columns(path: Path, delimiter: str = ",") -> list[str]:
    """Column names of a csv or Parquet file."""
    if not path.exists():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Looked for: {path}")
    if path.stat().st_size == 0:
        raise InputError(f"The file {path.name!r} is empty.", hint="Check that it was written completely.")
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(path).names)
    with path.open("rb") as stream:
        first = stream.readline()
    try:
        header = first.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    import csv

    return next(csv.reader([header], delimiter=delimiter), [])


def _read_file(path: Path, wanted: list[str], codes: set[str], delimiter: str) -> pa.Table:
    names = file_columns(path, delimiter)
    for name in wanted:
        if name not in names:
            raise _column_or_delimiter(path, name, names, delimiter)
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path, columns=wanted, read_dictionary=[c for c in wanted if c in codes])
    import pyarrow as pa
    from pyarrow import csv

    dictionary = pa.dictionary(pa.int32(), pa.string())
    try:
        return csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                include_columns=wanted,
                column_types={c: dictionary for c in wanted if c in codes},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise _not_utf8(path) from None
        raise InputError(
            f"The file {path.name!r} is not a regular csv file.",
            hint="Check that every line has as many fields as the header and that the delimiter is right.",
            details=str(error),
        ) from None


def _column_or_delimiter(path: Path, name: str, names: list[str], delimiter: str) -> InputError:
    for other in DELIMITERS:
        if other != delimiter and path.suffix.lower() != ".parquet" and name in file_columns(path, other):
            return InputError(
                f"The file {path.name!r} is separated by {other!r}, not by {delimiter!r}.",
                hint=f"Give delimiter={other!r}.",
            )
    return unknown_column(name, names, f"the file {path.name!r}")


def _not_utf8(path: Path) -> InputError:
    return InputError(
        f"The file {path.name!r} is not UTF-8 text.",
        hint="Save it as UTF-8, for example: iconv -f LATIN1 -t UTF-8 old.csv > new.csv",
    )


def _from_frame(source: Any, wanted: list[str]) -> pa.Table:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        table = source
    else:
        import narwhals as nw

        try:
            frame = nw.from_native(source)
        except TypeError:
            raise ParameterError(
                f"Cannot read records from a {type(source).__name__}.",
                hint="Give a pandas, polars, pyarrow or duckdb frame, or the path of a csv or Parquet file.",
            ) from None
        names = frame.collect_schema().names()
        for name in wanted:
            if name not in names:
                raise unknown_column(name, names)
        picked = frame.select(wanted)
        table = (picked.collect() if isinstance(picked, nw.LazyFrame) else picked).to_arrow()
    for name in wanted:
        if name not in table.column_names:
            raise unknown_column(name, table.column_names)
    return table.select(wanted)


def _mask(table: pa.Table, condition: Condition) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[condition.column]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if any(isinstance(value, str) != is_text for value in condition.values):
        kind = "text" if is_text else "numbers"
        raise ParameterError(
            f"The filter '{condition}' does not fit column {condition.column!r}, which holds {kind}.",
            hint="Quote text values and leave numbers unquoted.",
        )
    if condition.operator in ("in", "not in"):
        inside = pc.is_in(column, value_set=pa.array(list(condition.values)).cast(column.type))
        return inside if condition.operator == "in" else pc.invert(inside)
    compare = {
        "==": pc.equal,
        "!=": pc.not_equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }[condition.operator]
    return pc.fill_null(compare(column, condition.values[0]), False)


def numbers(table: pa.Table, name: str) -> Any:
    """A numeric column as a NumPy array (integers stay integers); text, gaps and infinities are errors."""
    import pyarrow as pa

    column = table[name]
    kind = column.type
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if pa.types.is_dictionary(kind) or not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    ):
        raise InputError(
            f"Column {name!r} holds text where numbers are needed{_first_text(column)}.",
            hint="Remove the text, or mark missing values as empty fields and filter those records out.",
        )
    if column.null_count:
        gaps = np.flatnonzero(np.asarray(column.is_null()))
        raise _bad_numbers(name, gaps, "are empty")
    array = column.to_numpy()
    if array.dtype.kind == "f":
        wrong = ~np.isfinite(array)
        if wrong.any():
            raise _bad_numbers(name, np.flatnonzero(wrong), "are not finite numbers")
    return array


def flags(table: pa.Table, name: str) -> Bools:
    """A true/false column."""
    array = numbers(table, name)
    if array.dtype.kind != "b" and not np.isin(array, (0, 1)).all():
        raise InputError(f"Column {name!r} must hold true or false (or 1 and 0).")
    return np.array(array, dtype=np.bool_)


def _bad_numbers(name: str, rows: Any, what: str) -> InputError:
    return InputError(
        f"Column {name!r} has {len(rows)} values that {what}, first in record {int(rows[0]) + 1}.",
        hint="Correct or impute them, or leave the records out with a filter.",
    )


def _first_text(column: Any) -> str:
    for position, item in enumerate(column.to_pylist()[:100_000]):
        if item is not None:
            try:
                float(str(item))
            except ValueError:
                return f", first in record {position + 1}"
    return ""


def to_frame(columns: dict[str, Any], backend: str) -> Any:
    """Columns as a frame of the wanted kind: ``pyarrow``, ``pandas`` or ``polars``."""
    if backend not in ("pyarrow", "pandas", "polars"):
        raise ParameterError(f"backend={backend!r} is not known.", hint=f"Use {listed(['pyarrow', 'pandas', 'polars'])}.")
    import pyarrow as pa

    table = pa.table(columns)
    if backend == "pyarrow":
        return table
    try:
        if backend == "pandas":
            return table.to_pandas()
        import polars

        return polars.from_arrow(table)
    except ModuleNotFoundError:
        raise missing_extra(backend, "frames", f"A {backend} frame") from None
