"""Published tables of others: csv, xlsx or a frame, long or crossed, with holes where cells are withheld."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import InputError, ParameterError, counted, listed, missing_extra
from discreet.files.csv_rows import csv_rows
from discreet.files.frames import code_text, column_names, not_utf8, read_columns
from discreet.files.workbooks import look_around
from discreet.room import require

MARKS = ("x", "X", "c", "C", "*", ":", "..", "...", "(x)", "[c]", "s", "S")
"""Marks of withheld cells, besides an empty field. A dash is none: it often stands for zero."""
LARGEST_FILE = 200 * 2**20
LARGEST_INSIDE = 2**30
"""Bytes that an xlsx file may have when it is unpacked."""
TEXT_COST = 8
"""Bytes of memory for a byte of the list of texts of an xlsx file."""
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, SyntaxError, ValueError, TypeError, LookupError),
    *(AttributeError, ArithmeticError, NotImplementedError, RuntimeError),
)
"""What the library for xlsx files says of damaged ones; errors of their XML are syntax errors."""
PIECE = 2**20
LONGEST_TEXT = 8 * 32_767
"""Bytes of the longest text of a cell, with every character written as an entity."""
LONG_TEXT = re.compile(rb"[^<]{%d}" % LONGEST_TEXT)
HEADER_WITHIN = 50
"""Titles may stand above the header, in so many lines."""


class ForeignCells(NamedTuple):
    """Cells as they were published: codes and values; ``None`` where a cell is withheld.

    ``given_away`` says what else in the file shows something of withheld cells or is hidden from the eye, and
    ``not_read`` what stands in it besides and was not looked at.
    """

    variables: tuple[str, ...]
    codes: list[tuple[str, ...]]
    values: list[Decimal | None]
    given_away: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()


def read_published(
    source: Any,
    variables: Sequence[str],
    value: str = "value",
    *,
    code_lists: Mapping[str, Collection[str]] | None = None,
    withheld: Sequence[str] = MARKS,
    delimiter: str = ",",
    sheet: str | None = None,
) -> ForeignCells:
    """Read a published table.

    Parameters
    ----------
    source
        A csv or xlsx file, or a frame.
    variables
        Columns of codes. A file without a column of values may be crossed: one of two variables has a column, the codes
        of the other stand in the header.
    value
        Column of values.
    code_lists
        Codes of the variables, by which a crossed table is known.
    withheld
        Marks of withheld cells, besides an empty field.
    delimiter, sheet
        Of a csv file; of an xlsx file (its first when left out).
    """
    lines = _lines(source, delimiter, sheet)
    head: list[list[str]] = []
    for line in lines:
        words = [_text(item) for item in line]
        found = None
        crossed = _crossed_by(words, variables, code_lists)
        if all(name in words for name in (*variables, value)):
            found = _long(words, lines, variables, value, withheld, len(head) + 1)
        elif crossed is not None:
            found = _crossed(words, lines, variables, crossed, withheld, len(head) + 1)
        if found is not None:
            return _with_the_rest(found, head, source, sheet)
        head.append(words)
        if len(head) >= HEADER_WITHIN:
            break
    first = next((words for words in head if any(words)), [])
    raise InputError(
        f"No line of the published table has the columns {listed((*variables, value))}; it begins with "
        f"{listed(first, 8)}.",
        hint="Name the columns of codes and values; check the delimiter or the sheet.",
    )


def _text(item: Any) -> str:
    return "" if item is None or item != item else code_text(item).strip()


def _with_the_rest(found: ForeignCells, head: list[list[str]], source: Any, sheet: str | None) -> ForeignCells:
    """The same, with what stands around the table: lines above it, other sheets, what a workbook hides."""
    not_read = list(found.not_read)
    above = [word for words in head for word in words if any(letter.isdigit() for letter in word)]
    if above:
        not_read.append(f"{counted(len(above), 'field', 'hold')} digits above the table")
    given_away = list(found.given_away)
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".xlsx":
        hidden, besides = look_around(Path(source), sheet)
        given_away += hidden
        not_read += besides
    return found._replace(given_away=tuple(given_away), not_read=tuple(not_read))


def _lines(source: Any, delimiter: str, sheet: str | None) -> Iterator[list[Any]]:
    if not isinstance(source, str | Path):
        names = column_names(source)
        frame = read_columns(source, names, names).to_pydict()
        rows = zip(*frame.values(), strict=True)
        return iter([names, *(list(row) for row in rows)])
    path = Path(source)
    if not path.is_file():
        raise InputError(f"There is no file {path.name!r}.", hint=f"Check the name and the folder. Looked for: {path}")
    if path.stat().st_size > LARGEST_FILE:
        raise InputError(f"The file {path.name!r} is larger than 200 MiB.", hint="Check it in parts.")
    if path.suffix.lower() == ".xlsx":
        return workbook_rows(path, sheet)
    if sheet is not None:
        raise ParameterError("Only xlsx files have sheets.", hint="Leave sheet= out.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    return csv_rows(io.StringIO(text), path.name, delimiter)


def workbook_rows(path: Path, sheet: str | None) -> Iterator[list[Any]]:
    """Rows of a sheet of an xlsx file; of its first when none is named."""
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError:
        raise missing_extra("openpyxl", "xlsx", "Reading an xlsx file") from None
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {item.filename: item.file_size for item in archive.infolist()}
        inside = sum(sizes.values())
        if inside > LARGEST_INSIDE:
            raise InputError(f"The file {path.name!r} unpacks to more than 1 GiB.", hint="Check it in parts.")
        _refuse_long_texts(path)
        texts = sum(size for name, size in sizes.items() if name.lower().endswith("sharedstrings.xml"))
        require(TEXT_COST * texts, f"Reading the texts of {path.name!r}", "Save it as csv, or check it in parts.")
        book = load_workbook(path, read_only=True, data_only=True)
        names = [page.title for page in book.worksheets]
    except UNREADABLE as error:
        raise _no_workbook(path, error) from None
    if not names or (sheet is not None and sheet not in names):
        raise ParameterError(f"There is no sheet {sheet or 'at all'!r}.", hint=f"There are {listed(names)}.")
    return _rows(book[sheet] if sheet is not None else book.worksheets[0], path)


def _refuse_long_texts(path: Path) -> None:
    """Refuse a text that no cell can hold before anything keeps it: a small file may unpack to hundreds of megabytes.

    The file is unpacked piece by piece and looked through for bytes without the beginning of a tag among them.
    """
    with zipfile.ZipFile(path) as archive:
        for item in archive.infolist():
            if not item.filename.endswith((".xml", ".rels")):
                continue
            with archive.open(item) as stream:
                held = b""
                while piece := stream.read(PIECE):
                    held += piece
                    if LONG_TEXT.search(held):
                        raise InputError(
                            f"The file {path.name!r} holds a text that is longer than an xlsx cell can be.",
                            hint="Save it again, or as csv.",
                        )
                    held = held[held.rfind(b"<") + 1 :] if b"<" in held else held


def _rows(page: Any, path: Path) -> Iterator[list[Any]]:
    """Rows of a sheet, which are read from the file one after the other."""
    try:
        for number, row in enumerate(page.iter_rows(values_only=True)):
            if number >= MOST_ROWS or len(row) > MOST_COLUMNS:
                raise InputError(f"A sheet of {path.name!r} is larger than xlsx allows.", hint="Save it again.")
            yield list(row)
    except UNREADABLE as error:
        raise _no_workbook(path, error) from None


def _no_workbook(path: Path, error: Exception) -> InputError:
    return InputError(
        f"The file {path.name!r} is not an xlsx file that can be read.",
        hint="Save it again, or as csv.",
        details=f"{type(error).__name__}: {error}",
    )


def _long(
    header: list[str],
    lines: Iterable[list[Any]],
    variables: Sequence[str],
    value: str,
    withheld: Sequence[str],
    above: int,
) -> ForeignCells:
    places = [header.index(name) for name in variables]
    at = header.index(value)
    status = header.index("status") if "status" in header else None
    extra = [k for k, name in enumerate(header) if k not in (*places, at, status)]
    shown, beyond = dict.fromkeys(extra, 0), 0
    codes, values = [], []
    for number, line in enumerate(lines, start=above + 1):
        words = [_text(item) for item in line] + [""] * (len(header) - len(line))
        if not any(words):
            continue
        codes.append(tuple(words[k] for k in places))
        found = _number(words[at], withheld, number)
        empty = found is None and status is not None and words[status] == "E"
        values.append(Decimal(0) if empty else found)
        beyond += sum(bool(word) for word in words[len(header) :])
        if found is None and not empty:
            for k in extra:
                shown[k] += any(letter.isdigit() for letter in words[k])
    titles = {k: repr(header[k]) if header[k] else f"number {k + 1}, which has no title," for k in extra}
    given_away = [
        f"column {titles[k]} holds numbers in {counted(number, 'withheld cell')}"
        for k, number in shown.items()
        if number
    ]
    not_read = [f"column {titles[k]}" for k, number in shown.items() if not number and header[k]]
    if beyond:
        given_away.append(f"{counted(beyond, 'field', 'stand')} right of the last column")
    return _checked(ForeignCells(tuple(variables), codes, values, tuple(given_away), tuple(not_read)))


def _crossed_by(
    header: list[str], variables: Sequence[str], code_lists: Mapping[str, Collection[str]] | None
) -> tuple[int, int] | None:
    """Number of the variable that has a column, and its place; ``None`` where the header is not that of a cross."""
    if len(variables) != 2 or code_lists is None:
        return None
    for k, name in enumerate(variables):
        if name in header and variables[1 - k] not in header:
            others = [word for word in header if word and word != name]
            if others and all(word in code_lists[variables[1 - k]] for word in others):
                return k, header.index(name)
    return None


def _crossed(
    header: list[str],
    lines: Iterable[list[Any]],
    variables: Sequence[str],
    crossed: tuple[int, int],
    withheld: Sequence[str],
    above: int,
) -> ForeignCells:
    k, place = crossed
    codes: list[tuple[str, ...]] = []
    values: list[Decimal | None] = []
    for number, line in enumerate(lines, start=above + 1):
        words = [_text(item) for item in line] + [""] * (len(header) - len(line))
        if not any(words):
            continue
        for at, other in enumerate(header):
            if at != place and other:
                pair = (words[place], other)
                codes.append(pair if k == 0 else pair[::-1])
                values.append(_number(words[at], withheld, number))
    return _checked(ForeignCells(tuple(variables), codes, values))


def _number(word: str, withheld: Sequence[str], line: int) -> Decimal | None:
    if not word or word in withheld:
        return None
    plain = word.replace("\u00a0", "").replace("\u202f", "").replace(" ", "")
    try:
        number = Decimal(plain)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise InputError(
            f"Line {line} holds {word[:20]!r} as a published value.",
            hint="Write plain numbers with a decimal point, and name the marks of withheld cells in withheld=.",
        )
    return number


def _checked(found: ForeignCells) -> ForeignCells:
    if not found.codes:
        raise InputError("The published table has no cells.", hint="Check that the right file was given.")
    if len(set(found.codes)) != len(found.codes):
        seen: set[tuple[str, ...]] = set()
        twice = next(codes for codes in found.codes if codes in seen or seen.add(codes))  # type: ignore[func-returns-value]
        raise InputError(f"The cell {twice} stands twice in the published table.", hint="Give every cell once.")
    return found
