"""Records with ``.rda`` metadata: fixed-width ``.asc`` and separated ``.csv`` files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, ParameterError, counted, listed, unknown_column
from discreet.files.argus.numbers import code_column, number_column, recoded
from discreet.files.argus.rda import ArgusMetadata, RdaVariable
from discreet.files.argus.text import LONGEST_LINE, decode, number_of, read_bytes, wrong, wrong_data
from discreet.files.statistical import is_statistical, read_statistical, statistical_metadata
from discreet.model.arrays import Ints

if TYPE_CHECKING:
    import pyarrow as pa

BLANK, NEWLINE, RETURN = 32, 10, 13
LARGEST_FILE = 200 * 10**9
PIECE = 250_000
"""Records that are cut into fields at a time, which bounds the memory."""


def read_argus_records(
    path: str | Path,
    metadata: ArgusMetadata,
    columns: Iterable[str] | None = None,
    *,
    as_numbers: Iterable[str] | None = None,
    notes: list[str] | None = None,
    gaps: bool = False,
) -> pa.Table:
    """Read a file of records as its ``.rda`` describes it.

    Parameters
    ----------
    path
        The ``.asc`` (fixed width) or ``.csv`` (free format) file, or the ``.sav`` file of metadata with ``<SPSS>``.
    metadata
        What :func:`read_metadata` found.
    columns
        Variables to read; all when left out. Others are neither read nor checked.
    as_numbers
        Variables to read as numbers; when left out those that are numeric, weights or record keys, and no spanning
        variables.
    notes
        Gets what the log should say, such as an encoding that was guessed.
    gaps
        Whether numbers may be empty or a missing code; they are nulls then, and so are empty codes.

    Returns
    -------
    pyarrow.Table
        Codes as text (leading blanks kept, trailing ones dropped), numbers as exact numbers.

    Raises
    ------
    InputError
        With file and line.
    """
    path = Path(path)
    notes = [] if notes is None else notes
    if metadata.kind != "records":
        raise ParameterError("These are metadata of a table.", hint="Read them with kind='records'.")
    wanted = [metadata[name] for name in (columns or [v.name for v in metadata.variables])]
    numeric = {v.name for v in metadata.variables if v.numeric or v.weight or v.record_key} - {
        v.name for v in metadata.variables if v.recodeable
    }
    numeric = numeric if as_numbers is None else set(as_numbers)
    if metadata.spss:
        return _spss(path, wanted, numeric, gaps)
    content = read_bytes(path, LARGEST_FILE)
    if metadata.separator:
        return _free(path, content, metadata, wanted, numeric, notes, gaps)
    return _fixed(path, content, wanted, numeric, notes, gaps)


# ---- fixed width ----------------------------------------------------------------------------------------------


def _fixed(
    path: Path, content: bytes, wanted: list[RdaVariable], numeric: set[str], notes: list[str], gaps: bool
) -> pa.Table:
    import pyarrow as pa

    signs = _signs(content, path.name, notes)
    starts, ends, lines = _lines(signs)
    longest = int((ends - starts).max())
    if longest > LONGEST_LINE:
        line = int(lines[int(np.argmax(ends - starts))])
        raise wrong(path.name, line, counted(longest, "character"), f"at most {LONGEST_LINE:,} in a record")
    numbers = [v for v in wanted if v.name in numeric and not gaps]
    needed = max((v.start + v.length - 1 for v in numbers), default=0)
    short = ends - starts < needed
    if short.any():
        row = int(np.argmax(short))
        raise wrong(
            path.name,
            int(lines[row]),
            f"a record of {counted(int(ends[row] - starts[row]), 'character')}",
            f"at least {needed}, which the last number reaches to",
        )
    columns = []
    for variable in wanted:
        pieces = [
            _field(signs, starts[i : i + PIECE], ends[i : i + PIECE], variable) for i in range(0, len(starts), PIECE)
        ]
        text = pa.chunked_array(pieces).combine_chunks()
        columns.append(_typed(text, path.name, variable, numeric, lines, gaps))
    return pa.table(columns, names=[v.name for v in wanted])


def _signs(content: bytes, name: str, notes: list[str]) -> NDArray[Any]:
    """The characters as numbers: bytes where one is one character, code points otherwise."""
    if content.isascii():
        return np.frombuffer(content, np.uint8)
    text = decode(content, name, notes)
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _lines(signs: NDArray[Any]) -> tuple[Ints, Ints, Ints]:
    """Where each record begins and ends, and the number of its line; empty lines and a blank last one hold none."""
    breaks = np.flatnonzero(signs == NEWLINE)
    starts = np.concatenate([[0], breaks + 1])
    ends = np.concatenate([breaks, [len(signs)]])
    ends = ends - ((ends > starts) & (signs[np.maximum(ends - 1, 0)] == RETURN))
    lines = np.arange(1, len(starts) + 1)
    full = ends > starts
    for row in np.flatnonzero(full)[-1:].tolist():
        full[row] = not np.all(signs[starts[row] : ends[row]] == BLANK)  # an editor's last line
    return starts[full].astype(np.int64), ends[full].astype(np.int64), lines[full]


def _field(signs: NDArray[Any], starts: Ints, ends: Ints, variable: RdaVariable) -> pa.Array:
    """One field of some records as text, of the width that it has; what a short record lacks is blank."""
    import pyarrow as pa

    first = starts + variable.start - 1
    places = first[:, None] + np.arange(variable.length)
    outside = places >= ends[:, None]
    field = signs[np.minimum(places, len(signs) - 1)]
    field[outside] = BLANK
    if field.dtype == np.uint8 and not (field >= 128).any():
        offsets = np.arange(len(starts) + 1, dtype=np.int32) * variable.length
        data = pa.py_buffer(np.ascontiguousarray(field))
        return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), data)
    words, which = np.unique(
        np.ascontiguousarray(field.astype("<u4")).view(f"<U{variable.length}").ravel(), return_inverse=True
    )
    return pa.array([str(word) for word in words], pa.string()).take(pa.array(which.ravel()))


# ---- SPSS -----------------------------------------------------------------------------------------------------


def _spss(path: Path, wanted: list[RdaVariable], numeric: set[str], gaps: bool) -> pa.Table:
    """Columns of an SPSS file; capitals of names do not count. Codes that it lacks are blank."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_statistical(path):
        raise InputError(
            f"The metadata describe an SPSS file, and {path.name!r} is none.",
            hint="Name the .sav file, or take <SPSS> out of the metadata.",
        )
    there = {name.lower(): name for name in statistical_metadata(path).columns}
    for variable in wanted:
        if variable.name.lower() not in there:
            raise unknown_column(variable.name, list(there.values()), f"the file {path.name!r}")
    names = [there[v.name.lower()] for v in wanted]
    found = read_statistical(path, names, [n for n, v in zip(names, wanted, strict=True) if v.name not in numeric])
    columns = []
    for name, variable in zip(names, wanted, strict=True):
        column = found[name].combine_chunks()
        if variable.name not in numeric:
            columns.append(code_column(pc.fill_null(column.cast(pa.string()), "")))
            continue
        known = pa.array([float(code) for code in variable.missing if number_of(code) is not None], pa.float64())
        words = pa.types.is_string(column.type)
        unknown = column.is_null() if words else pc.or_(column.is_null(), pc.is_in(column.cast(pa.float64()), known))
        if gaps and not words:
            columns.append(pc.if_else(unknown, pa.scalar(None, column.type), column))
            continue
        if words or pc.any(unknown).as_py():
            row = 0 if words else int(np.argmax(unknown.to_numpy(zero_copy_only=False)))
            raise wrong_data(
                path.name, row + 1, variable.name, str(column[row].as_py()), "a number that is known",
                "Sums cannot be made of missing values: impute them, or leave the records out.",
            )  # fmt: skip
        columns.append(column)
    return pa.table(columns, names=[v.name for v in wanted])


# ---- free format ----------------------------------------------------------------------------------------------


def _free(
    path: Path,
    content: bytes,
    metadata: ArgusMetadata,
    wanted: list[RdaVariable],
    numeric: set[str],
    notes: list[str],
    gaps: bool,
) -> pa.Table:
    import pyarrow as pa

    names = [v.name for v in metadata.variables]
    if metadata.names_in_front:
        names, content = _names_in_front(path.name, content, metadata, notes)
    table = split_fields(path, content, names, [v.name for v in wanted], metadata.separator, notes)
    lines = line_numbers(content)
    columns = [_typed(table[v.name].combine_chunks(), path.name, v, numeric, lines, gaps) for v in wanted]
    return pa.table(columns, names=[v.name for v in wanted])


def _names_in_front(file: str, content: bytes, metadata: ArgusMetadata, notes: list[str]) -> tuple[list[str], bytes]:
    """Names of the columns that the first line states, and the records with an empty line in its place.

    Capitals do not count, and lines keep their numbers.
    """
    first, _, below = content.partition(b"\n")
    try:
        stated = next(csv.reader([decode(first, file, notes).rstrip("\r")], delimiter=metadata.separator), [])
    except csv.Error:
        stated = []
    stated = [name.strip() for name in stated]
    declared = {v.name.lower(): v.name for v in metadata.variables}
    names = [declared.get(name.lower(), name) for name in stated]
    absent = [name for name in declared.values() if name not in names]
    twice = [name for name in names if names.count(name) > 1]
    if absent or twice:
        what = f"{absent[0]!r} is not among the names" if absent else f"{twice[0]!r} stands twice among the names"
        raise InputError(
            f"{file}, line 1: {what} in front of the records.",
            hint=f"The line has {listed(names)}; the metadata declare {listed(declared.values())}.",
        )
    if not below.strip():
        raise InputError(f"{file}, line 2: there is no record.", hint="Check that the file was written completely.")
    return names, b"\n" + below


def split_fields(
    path: Path, content: bytes, names: Sequence[str], wanted: Sequence[str], separator: str, notes: list[str]
) -> pa.Table:
    """Columns of text of a separated file without a header; empty fields are empty texts."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    content = content if content.isascii() else decode(content, path.name, notes).encode()
    breaks = np.flatnonzero(np.frombuffer(content, np.uint8) == NEWLINE)
    widths = np.diff(np.concatenate([[-1], breaks, [len(content)]]))
    if widths.max() > LONGEST_LINE + 2:
        line = int(np.argmax(widths)) + 1
        raise wrong(path.name, line, f"{int(widths.max()):,} bytes", f"at most {LONGEST_LINE:,} in a line")
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(content),
            read_options=arrow_csv.ReadOptions(column_names=list(names), block_size=2**22),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, ignore_empty_lines=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(wanted),
                column_types={name: pa.string() for name in names},
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _irregular(path.name, content, len(names), separator, error) from None


def line_numbers(content: bytes) -> Ints | None:
    """The line of each record, where empty lines stand between them; nothing where none do."""
    if b"\n\n" not in content and b"\n\r\n" not in content and content[:1] not in b"\r\n":
        return None
    return np.array([n for n, text in enumerate(content.split(b"\n"), start=1) if text.strip(b"\r")], np.int64)


def _irregular(file: str, content: bytes, fields: int, separator: str, error: Exception) -> InputError:
    """The first line that cannot be taken apart."""
    expected = f"{counted(fields, 'field')} separated by {separator!r}, as the metadata declare"
    text = io.StringIO(content.decode(), newline="")
    reader = csv.reader(text, delimiter=separator)
    line = 1
    try:
        for row in reader:
            if row and len(row) != fields:
                return wrong(file, reader.line_num, counted(len(row), "field"), expected)
            line = reader.line_num
    except csv.Error:
        line += 1
    return InputError(
        f"{file}, line {line}: the line cannot be taken apart; expected {expected}.",
        hint="Look for a quotation mark that is not closed, or a field that is far too long.",
        details=str(error),
    )


def _typed(text: Any, file: str, variable: RdaVariable, numeric: set[str], lines: Ints | None, gaps: bool) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if variable.name not in numeric:
        return code_column(text)
    if gaps:
        plain = pc.utf8_trim_whitespace(text)
        unknown = pc.is_in(plain, pa.array([code.strip() for code in variable.missing], pa.string()))
        return number_column(pc.if_else(unknown, "", plain), file, variable.name, lines, blank=True)
    column = number_column(text, file, variable.name, lines)
    if variable.missing:
        codes = pc.utf8_trim_whitespace(text)
        for code in variable.missing:
            found = pc.equal(codes, code.strip())
            if pc.any(found).as_py():
                row = int(np.argmax(found.to_numpy(zero_copy_only=False)))
                line = row + 1 if lines is None else int(lines[row])
                raise wrong_data(
                    file, line, variable.name, code, "a number that is not its missing code",
                    "Sums cannot be made of missing values: impute them, or leave the records out.",
                )  # fmt: skip
    return column


def request_codes(column: Any, codes: Sequence[str]) -> pa.Array:
    """A request variable as 0, 1 and 2: nobody asked, or asked under the first or second parameter set."""
    import pyarrow as pa

    words = [str(word).strip() for word in column.dictionary.to_pylist()]
    meaning = pa.array([codes.index(word) + 1 if word in codes else 0 for word in words], pa.int64())
    return meaning.take(column.indices)


# ---- writing --------------------------------------------------------------------------------------------------


def write_argus_records(columns: Mapping[str, Sequence[Any]], metadata: ArgusMetadata, path: str | Path) -> None:
    """Write records as their metadata describe them; what does not fit is an error.

    Codes of fixed-width files are left-justified, so that their leading blanks stay; numbers are right-justified.
    """
    rows = [
        [_text(columns[v.name][i], v) for v in metadata.variables] for i in range(len(next(iter(columns.values()))))
    ]
    for number, row in enumerate(rows, start=1):
        for text, variable in zip(row, metadata.variables, strict=True):
            if (variable.length and len(text) > variable.length) or "\n" in text or "\r" in text:
                raise wrong_data(
                    Path(path).name,
                    number,
                    variable.name,
                    text,
                    f"at most {counted(variable.length, 'character')} in one line",
                )
    if metadata.separator:
        lines = [metadata.separator.join(_quoted(text, metadata.separator) for text in row) for row in rows]
    else:
        width = max(v.start + v.length - 1 for v in metadata.variables)
        lines = []
        for row in rows:
            line = [" "] * width
            for text, v in zip(row, metadata.variables, strict=True):
                numeric = v.numeric and not v.recodeable
                line[v.start - 1 : v.start - 1 + v.length] = text.rjust(v.length) if numeric else text.ljust(v.length)
            lines.append("".join(line))
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _text(value: Any, variable: RdaVariable) -> str:
    if isinstance(value, float) and variable.decimals is not None:
        return f"{value:.{variable.decimals}f}"
    return str(value)


def _quoted(text: str, separator: str) -> str:
    plain = text == text.strip() and not set(text) & {separator, '"'}
    return text if plain else '"' + text.replace('"', '""') + '"'


__all__ = ["read_argus_records", "recoded", "request_codes", "split_fields", "write_argus_records"]
