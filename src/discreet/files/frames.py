"""Any data frame or file of records as Arrow columns, with errors that say what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed, missing_extra, unknown_column
from discreet.files.csv_rows import csv_rows
from discreet.files.statistical import is_statistical, read_statistical, statistical_metadata
from discreet.files.text_columns import is_text_table, with_numbers
from discreet.model.arrays import Bools, Floats
from discreet.model.condition import GAPS, Condition
from discreet.model.units import MOST_DECIMALS, detect_decimals

if TYPE_CHECKING:
    import pyarrow as pa

DELIMITERS = (",", ";", "\t", "|")
PART = 500_000
"""Row groups of a Parquet file are read together up to so many rows."""
LONGEST_HEADER = 2**22
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How files of Excel begin, new and old."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]{1,3}([. '\u00a0\u202f]?[0-9]{3})*(,[0-9]+)?\s*|\s*[+-]?[0-9]+(,[0-9]+)?\s*")
SAMPLE = 2**18
"""Bytes by which the length of lines is judged."""
PLACE = "(place)"
"""Column that says where in the source each record stands, from 0, when others were left out."""


def read_columns(
    source: Any,
    columns: Iterable[str],
    text: Iterable[str] = (),
    where: Sequence[Condition] = (),
    delimiter: str = ",",
    exact: Iterable[str] = (),
    placed: bool = False,
    unified: bool = True,
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
    exact
        Columns whose numbers are kept to the last decimal where floating-point numbers cannot hold them.
    placed
        Add the column :data:`PLACE` where there are filters.
    unified
        Give all batches of a column of codes one dictionary. Large files come in batches, each with a dictionary of
        its own, which saves time where the reader is ready for it; grouping and comparing are not.
    """
    wanted = list(dict.fromkeys([*columns, *(condition.column for condition in where)]))
    codes = set(text) | {c.column for c in where if any(isinstance(v, str) for v in c.values)}
    if isinstance(source, str | Path):
        table = _read_file(Path(source), wanted, codes, delimiter, set(exact))
    else:
        table = _from_frame(source, wanted)
        if is_text_table(table):
            table = with_numbers(table, codes)
    if table.num_rows == 0:
        raise no_records()
    if placed and where:
        table = table.append_column(PLACE, [np.arange(table.num_rows)])
    for condition in where:
        table = table.filter(condition_mask(table, condition))
    if table.num_rows == 0:
        raise no_record_left(where)
    return table.unify_dictionaries() if unified else table


def file_columns(path: Path, delimiter: str = ",") -> list[str]:
    """Column names of a csv or Parquet file, or of one of a statistical package."""
    if len(delimiter) != 1:
        raise ParameterError(
            f"delimiter={delimiter!r} is not allowed.", hint=f"Give one character: {listed(DELIMITERS)}."
        )
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}")
    if path.stat().st_size == 0:
        raise InputError(f"The file {path.name!r} is empty.", hint="Check that it was written completely.")
    if is_statistical(path):
        return list(statistical_metadata(path).columns)
    if path.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return list(pq.read_schema(path).names)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise no_parquet(path, error) from None
    with path.open("rb") as stream:
        first = stream.readline(LONGEST_HEADER)
    if first.startswith(WORKBOOKS):
        raise a_workbook(path)
    if len(first) == LONGEST_HEADER:
        raise InputError(
            f"The first line of {path.name!r} is longer than {LONGEST_HEADER:,} bytes.",
            hint="Check that it is a csv file, with column names in its first line.",
        )
    try:
        header = first.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    return next(csv_rows([header], path.name, delimiter), [])


def rows_of_file(path: Path) -> int:
    """About how many records a csv or Parquet file has; 0 where it does not say."""
    if not path.is_file() or is_statistical(path):
        return 0
    if path.suffix.lower() != ".parquet":
        with path.open("rb") as stream:
            sample = stream.read(SAMPLE)
        return path.stat().st_size * sample.count(b"\n") // max(len(sample), 1)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise no_parquet(path, error) from None


def column_names(source: Any, delimiter: str = ",") -> list[str]:
    """Column names of a frame or file."""
    if isinstance(source, str | Path):
        return file_columns(Path(source), delimiter)
    import narwhals as nw

    try:
        return list(nw.from_native(source).collect_schema().names())
    except TypeError:
        raise _not_a_frame(source) from None


def _not_a_frame(source: Any) -> ParameterError:
    return ParameterError(
        f"Cannot read data from a {type(source).__name__}.",
        hint="Give a pandas, polars, pyarrow or duckdb frame, or a path of a csv, Parquet, sav, dta or sas7bdat file.",
    )


def _read_file(path: Path, wanted: list[str], codes: set[str], delimiter: str, exact: set[str]) -> pa.Table:
    names = file_columns(path, delimiter)
    for name in wanted:
        if name not in names:
            raise column_or_delimiter(path, name, names, delimiter)
        _refuse_twice(name, names, f"the file {path.name!r}")
    if is_statistical(path):
        return read_statistical(path, wanted, codes)
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, wanted, codes)
    import pyarrow as pa

    dictionary = pa.dictionary(pa.int32(), pa.string())
    table = _read_csv(path, wanted, {c: dictionary for c in wanted if c in codes}, delimiter)
    vague = [c for c in wanted if c in exact and pa.types.is_floating(table[c].type) and _outgrows_floats(table[c])]
    if vague:
        text = _read_csv(path, vague, {c: pa.string() for c in vague}, delimiter)
        for name in vague:
            try:
                column = text[name].cast(pa.decimal128(38, MOST_DECIMALS))
            except pa.ArrowInvalid:
                continue  # more decimals than a table can have, or not finite: the floating-point numbers stand
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _read_parquet(path: Path, wanted: list[str], codes: set[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # One piece for each row group, where read_table would give pieces of 131,072 rows. Large row groups are read
        # one after another, because they use the same memory for what is compressed: a fifth of the time is saved.
        file = pq.ParquetFile(path, read_dictionary=[c for c in wanted if c in codes])
        groups = _large_parts([file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)])
        read = [file.read_row_groups(part, columns=wanted) for part in groups]
        table = pa.concat_tables(read) if read else file.read(columns=wanted)
        refuse_damaged(table)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise no_parquet(path, error) from None
    return table


def _large_parts(rows: Sequence[int]) -> list[list[int]]:
    """Row groups in parts of at least half a million rows, by their numbers of rows."""
    parts: list[list[int]] = []
    filled = PART
    for number, size in enumerate(rows):
        if filled >= PART:
            parts.append([])
            filled = 0
        parts[-1].append(number)
        filled += size
    return parts


def refuse_damaged(table: pa.Table) -> None:
    """Refuse damaged pages: text that is none, and codes that no dictionary has."""
    import pyarrow as pa

    checked = None
    for column in table.columns:
        if not pa.types.is_dictionary(column.type):
            column.validate(full=True)
            continue
        for chunk in column.chunks:
            # Looking at the numbers of the codes here is much faster than Arrow's own look at every code.
            if checked is None or not chunk.dictionary.equals(checked):
                checked = chunk.dictionary
                checked.validate(full=True)
            number = chunk.indices.drop_null().to_numpy()
            # Numbers below zero are very large ones without their sign.
            if len(number) and number.view(f"u{number.dtype.itemsize}").max() >= len(checked):
                raise pa.ArrowInvalid("A code is missing in its dictionary.")


def no_parquet(path: Path, error: Exception) -> InputError:
    return InputError(
        f"The file {path.name!r} is not a Parquet file that can be read.",
        hint="Check that it was written completely and that its name is right.",
        details=str(error),
    )


def _outgrows_floats(column: Any) -> bool:
    """Whether whole numbers of the column's smallest unit are too large for floating-point numbers."""
    values = column.drop_null().to_numpy()
    finite = values[np.isfinite(values)]
    return bool(np.abs(finite).max(initial=0.0) * 10.0 ** (detect_decimals(finite) or 0) >= 2**53)


def _read_csv(path: Path, wanted: list[str], types: dict[str, Any], delimiter: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv_options(wanted, types),
        )
    except pa.ArrowInvalid as error:
        raise unreadable_csv(path, error) from None


def csv_options(wanted: Sequence[str], types: Mapping[str, Any]) -> Any:
    """How columns of csv files are read: an empty field is a gap."""
    from pyarrow import csv

    return csv.ConvertOptions(
        include_columns=list(wanted), column_types=dict(types), null_values=[""], strings_can_be_null=True
    )


def unreadable_csv(path: Path, error: Exception) -> InputError:
    """Error for a csv file that Arrow refused."""
    if "UTF8" in str(error):
        return not_utf8(path)
    if "Empty CSV file" in str(error):  # a header without a line end
        return no_records()
    return not_regular(path.name, error)


def not_regular(name: str, error: Exception) -> InputError:
    """Error for a csv file that cannot be taken apart."""
    return InputError(
        f"The file {name!r} is not a regular csv file.",
        hint="Check that every line has as many fields as the header and that the delimiter is right.",
        details=str(error),
    )


def column_or_delimiter(path: Path, name: str, names: list[str], delimiter: str) -> InputError:
    """Error for a column that a file does not have, or that another delimiter would show."""
    for other in DELIMITERS:
        plain = path.suffix.lower() != ".parquet" and not is_statistical(path)
        if other != delimiter and plain and name in file_columns(path, other):
            return InputError(
                f"The file {path.name!r} is separated by {other!r}, not by {delimiter!r}.",
                hint=f"Give delimiter={other!r}.",
            )
    return unknown_column(name, names, f"the file {path.name!r}")


def no_records() -> InputError:
    """Error for data without records."""
    return InputError("The data have no records.", hint="Check that the right file or frame was given.")


def no_record_left(where: Sequence[Condition]) -> InputError:
    """Error for a filter that leaves nothing."""
    return InputError(
        f"No record meets the filter {' and '.join(str(c) for c in where)!r}.",
        hint="Check the values it compares with.",
    )


def _refuse_twice(name: str, names: Sequence[str], where: str = "the data") -> None:
    if names.count(name) > 1:
        raise InputError(
            f"Column {name!r} stands {names.count(name)} times in {where}.",
            hint="Rename or remove the others, so that it is clear which one is meant.",
        )


def not_utf8(path: Path) -> InputError:
    """Error for a file in another encoding."""
    with path.open("rb") as stream:
        known = "UTF-16" if stream.read(2) in UTF_16 else ""
    what = "It is UTF-16, which Excel calls Unicode text. Save" if known else "Save"
    encoding = (known or "latin-1").lower()
    return InputError(
        f"The file {path.name!r} is not UTF-8 text.",
        hint=f"Records may say their encoding: Microdata({path.name!r}, encoding={encoding!r}). {what} other files as "
        f"UTF-8, for example: iconv -f {known or 'LATIN1'} -t UTF-8 old.csv > new.csv",
        recipe_hint=f'Records may say their encoding: encoding = "{encoding}" in [data]. {what} other files as UTF-8, '
        f"for example: iconv -f {known or 'LATIN1'} -t UTF-8 old.csv > new.csv",
    )


def a_workbook(path: Path) -> InputError:
    """Error for a file of Excel where records are read."""
    return InputError(
        f"The file {path.name!r} is a workbook, and is not read here.",
        hint="Save the sheet as csv (UTF-8). Records are read from xlsx files: ds.Microdata('records.xlsx').",
        recipe_hint="Save the sheet as csv (UTF-8). Records are read from files that are called .xlsx.",
    )


def hint_for_text(column: Any) -> str:
    """What to do about text where numbers are needed: numbers with a decimal comma are told from other text."""
    words = [str(item) for item in column.to_pylist()[:10_000] if item is not None]
    if any("," in word for word in words) and all(DECIMAL_COMMA.fullmatch(word) for word in words):
        return (
            "These look like numbers with a decimal comma. Say so: Microdata(delimiter=';', decimal=','), or write "
            "a point."
        )
    return "Remove the text, or mark missing values as empty fields and filter those records out."


def _from_frame(source: Any, wanted: list[str]) -> pa.Table:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        table = source
    else:
        import narwhals as nw

        try:
            frame = nw.from_native(source)
        except TypeError:
            raise _not_a_frame(source) from None
        names = frame.collect_schema().names()
        for name in wanted:
            if name not in names:
                raise unknown_column(name, names)
            _refuse_twice(name, names)
        picked = frame.select(wanted)
        try:
            table = (picked.collect() if isinstance(picked, nw.LazyFrame) else picked).to_arrow()
        except pa.ArrowException as error:
            raise _mixed(wanted, error) from None
    for name in wanted:
        if name not in table.column_names:
            raise unknown_column(name, table.column_names)
        _refuse_twice(name, table.column_names)
    return table.select(wanted)


def _mixed(wanted: list[str], error: Exception) -> InputError:
    """A column of Python objects that are not all of one kind; the values stay in the details."""
    guilty = [name for name in wanted if f"column {name} with" in str(error)]
    what = f"Column {guilty[0]!r} mixes" if guilty else "A column of the data mixes"
    return InputError(
        f"{what} text and numbers, or holds objects that are neither.",
        hint="Make it all text (codes) or all numbers, with empty fields where values are missing.",
        details=str(error),
    )


def condition_mask(table: pa.Table, condition: Condition) -> Any:
    """Which records meet a condition; text compared with numbers is an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[condition.column]
    if condition.operator in GAPS:
        # Data frames fill gaps of numbers with what is not a number.
        gap = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        return gap if condition.operator == "is null" else pc.invert(gap)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_decimal(column.type):
        column = nearest_floats(column)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if any(not (is_text if isinstance(value, str) else is_number) for value in condition.values):
        kind = "text" if is_text else "numbers" if is_number else f"neither text nor numbers ({column.type})"
        raise ParameterError(
            f"The filter '{condition}' does not fit column {condition.column!r}, which holds {kind}.",
            hint="Quote text values and leave numbers unquoted.",
        )
    if condition.operator in ("in", "not in"):
        whole = pa.types.is_integer(column.type) and all(isinstance(value, int) for value in condition.values)
        kind = column.type if is_text else pa.int64() if whole else pa.float64()
        inside = pc.is_in(column.cast(kind), value_set=pa.array(condition.values, kind))
        # An empty field is neither in the list nor known not to be.
        return inside if condition.operator == "in" else pc.and_(pc.invert(inside), column.is_valid())
    compare = {
        "==": pc.equal,
        "!=": pc.not_equal,
        "<": pc.less,
        "<=": pc.less_equal,
        ">": pc.greater,
        ">=": pc.greater_equal,
    }[condition.operator]
    value = condition.values[0]
    if pa.types.is_floating(column.type):
        # A whole number that no floating-point number is equal to stands for the nearest one.
        value = float(value)
    return pc.fill_null(compare(column, value), False)


def nearest_floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decimal numbers as floating-point ones: through text, because the direct cast does not give the nearest."""
    import pyarrow as pa

    return column.cast(pa.string()).cast(pa.float64())


def coordinates(table: pa.Table, name: str) -> Floats:
    """A column of coordinates; a gap is not a number."""
    import pyarrow as pa

    column = table[name]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        raise bad_numbers(name, len(column), 0, "are no numbers")
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def numbers(table: pa.Table, name: str) -> Any:
    """A numeric column as a NumPy array (integers stay integers); text, gaps and infinities are errors."""
    import pyarrow as pa

    column = table[name]
    kind = column.type
    if pa.types.is_decimal(kind):
        column, kind = nearest_floats(column), pa.float64()
    if pa.types.is_null(kind):
        raise bad_numbers(name, len(column), 0, "are empty")
    if pa.types.is_dictionary(kind) or not (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    ):
        raise InputError(
            f"Column {name!r} holds text where numbers are needed{_first_text(column)}.",
            hint=hint_for_text(column),
        )
    if column.null_count:
        gaps = np.asarray(column.is_null())
        raise bad_numbers(name, column.null_count, int(np.argmax(gaps)), "are empty")
    array = column.to_numpy()
    if array.dtype.kind == "f":
        wrong = ~np.isfinite(array)
        if wrong.any():
            raise bad_numbers(name, int(wrong.sum()), int(np.argmax(wrong)), "are not finite")
    return array


def exact_numbers(table: pa.Table, name: str) -> Any:
    """A numeric column as integers, floating-point numbers, or decimal numbers where floats would lose digits."""
    import pyarrow as pa

    column = table[name]
    if pa.types.is_decimal(column.type) and not column.null_count and _outgrows_floats(column.cast(pa.float64())):
        return np.array(column.to_pylist(), dtype=object)
    return numbers(table, name)


def gaps(table: pa.Table, name: str) -> Bools:
    """Where a column is empty."""
    return np.array(table[name].is_null().to_numpy(), np.bool_)


def filled_numbers(table: pa.Table, name: str) -> Any:
    """A numeric column as in :func:`exact_numbers`, with zeros in its empty fields."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name]
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
    if column.null_count and numeric:
        column = pc.fill_null(column, pa.scalar(0).cast(column.type))
        table = table.set_column(table.column_names.index(name), name, column)
    return exact_numbers(table, name)


def flags(table: pa.Table, name: str) -> Bools:
    """A true/false column."""
    array = numbers(table, name)
    if array.dtype.kind != "b" and not np.isin(array, (0, 1)).all():
        raise InputError(f"Column {name!r} must hold true or false (or 1 and 0).")
    return np.array(array, dtype=np.bool_)


def bad_numbers(name: str, count: int, first: int | None, what: str) -> InputError:
    """Error for values that cannot be summed; ``first`` is the number of the first record, from 0.

    Records of a database have no numbers, and ``first`` is ``None``.
    """
    where = "" if first is None else f", first in record {first + 1}"
    return InputError(
        f"In column {name!r} {counted(count, 'value', what)}{where}.",
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
    """Columns as a frame of the wanted kind: ``pyarrow``, ``pandas``, ``polars`` or ``duckdb`` (a relation)."""
    known = ("pyarrow", "pandas", "polars", "duckdb")
    if backend not in known:
        raise ParameterError(f"backend={backend!r} is not known.", hint=f"Use {listed(known)}.")
    import pyarrow as pa

    table = pa.table(columns)
    if backend == "pyarrow":
        return table
    try:
        if backend == "pandas":
            return table.to_pandas()
        if backend == "duckdb":
            import duckdb

            return duckdb.from_arrow(table)
        import polars

        return polars.from_arrow(table)
    except ModuleNotFoundError:
        extra = "sql" if backend == "duckdb" else "frames"
        raise missing_extra(backend, extra, f"A {backend} frame") from None


def code_text(value: Any) -> str:
    """A code as text; whole floating-point numbers lose their point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
