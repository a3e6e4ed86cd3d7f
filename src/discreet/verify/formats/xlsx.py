"""Public tables as workbooks, written a second time."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any

from discreet.verify.formats.shown import EMPTY, WITHHELD, Different, ShownTable

SURE = 15
"""Digits of a number that a workbook holds as one."""
MARKED = re.compile("<r>.*</r>", re.DOTALL)
"""Text that the library takes for the inside of a cell and writes as it stands, markup and all."""
PACKED = "that nothing is hidden in how closely it is packed, which is not how this machine packs it"
LOCAL, LISTED = 30, 46
"""Bytes before the name of a member, where it stands and in the list at the end."""


def check_xlsx(found: bytes, shown: ShownTable) -> str | None:
    """A workbook is member for member what the cells give, with nothing before, between or behind its members."""
    return same_workbook(_workbook(shown), found, "published cells give")


def same_workbook(expected: bytes, found: bytes, given: str) -> str | None:
    """Refuse a workbook that is not the expected one but for how closely its members are packed.

    Machines pack in different ways, and how a member is packed could carry a message. The answer says so where this
    machine packs otherwise. ``given`` says in messages what the expected one comes from.
    """
    if expected == found:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(found)) as theirs:
            names = [part.filename for part in theirs.infolist()]
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise Different("the file is not a workbook") from None
    with zipfile.ZipFile(io.BytesIO(expected)) as mine:
        wanted = [(part, mine.read(part)) for part in mine.infolist()]
        start = mine.start_dir
    known = [part.filename for part, _ in wanted]
    for name in names:
        if name not in known:
            raise Different(f"the member {name!r} is not one that the release has")
    if names != known:
        raise Different("a member is missing, stands twice or stands elsewhere")
    _check_archive(expected, start, wanted, found, given)
    return PACKED


def _check_archive(
    expected: bytes, start: int, wanted: list[tuple[zipfile.ZipInfo, bytes]], found: bytes, given: str
) -> None:
    """The archive is the expected one but for how closely its members are packed, which differs between machines."""
    at, listing = 0, b""
    for part, content in wanted:
        name = part.filename.encode()
        packed = found[at + 18 : at + 22]
        head = expected[part.header_offset : part.header_offset + LOCAL + len(name)]
        theirs = found[at : at + len(head)]
        if theirs[:4] != head[:4] or theirs[LOCAL - 4 :] != head[LOCAL - 4 :]:
            raise Different(f"something stands before the member {part.filename!r}")
        entry = expected[start : start + LISTED + len(name)]
        listing += entry[:20] + packed + entry[24:42] + at.to_bytes(4, "little") + entry[46:]
        start, at = start + len(entry), at + len(head)
        reader = zlib.decompressobj(-15)
        try:
            text = reader.decompress(found[at : at + int.from_bytes(packed, "little")], len(content) + 1)
        except zlib.error:
            raise Different(f"the member {part.filename!r} cannot be unpacked") from None
        if text != content or not reader.eof or reader.unused_data or reader.unconsumed_tail:
            raise Different(f"the member {part.filename!r} is not what the {given}")
        if theirs != head[:18] + packed + head[22:]:
            raise Different(f"something is said of the member {part.filename!r} that is not so")
        at += int.from_bytes(packed, "little")
    end = expected[start:]
    if found[at:] != listing + end[:16] + at.to_bytes(4, "little") + end[20:]:
        raise Different("something stands behind the members, or is said of them")


def _workbook(shown: ShownTable) -> bytes:
    import xlsxwriter

    sink, table = io.BytesIO(), shown.table
    with xlsxwriter.Workbook(sink, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        book.set_properties({"created": datetime(1980, 1, 1), "title": table.name})
        _cross_table(book, "Table", shown)
        if table.lower is not None and table.upper is not None:
            _cross_table(book, "Lower", ShownTable(replace(table, value=table.lower), shown.words))
            _cross_table(book, "Upper", ShownTable(replace(table, value=table.upper), shown.words))
        sheet = book.add_worksheet("Notes")
        for row, (name, text) in enumerate(_notes(shown)):
            _write(sheet, row, 0, name)
            _write(sheet, row, 1, text)
        sheet.set_column(1, 1, 80)
    return sink.getvalue()


def _write(sheet: Any, row: int, column: int, text: str, style: Any = None) -> None:
    if MARKED.fullmatch(text):
        raise Different("the format cannot hold a text that stands between <r> and </r>")
    sheet.write_string(row, column, text, style)


def _notes(shown: ShownTable) -> list[tuple[str, str]]:
    table, words = shown.table, shown.words
    lines = [("Table", table.name), ("Values", shown.measure), ("Period", table.period)]
    lines += [("Units", words.units), ("Source", words.source)]
    lines = [line for i, line in enumerate(lines) if i < 2 or line[1]]
    lines += [("x", WITHHELD)] if "X" in table.status else []
    lines += [("-", EMPTY)] if "E" in table.status else []
    lines += [("Note", text) for text in shown.notes()]
    if any(abs(units) >= 10**SURE for units in table.value.tolist()):
        lines.append(("Note", f"Numbers of more than {SURE} digits are written as text, so that none is lost."))
    return lines


def _cross_table(book: Any, name: str, shown: ShownTable) -> None:
    """A sheet: the last variable across, under merged headings; codes and labels of the others down."""
    table, sheet = shown.table, book.add_worksheet(name)
    down = len(table.variables) - 1
    across, above = table.code_lists[down], shown.above(down)
    paths = [_path(above, i) for i in range(len(across))]
    levels = max(map(len, paths))
    columns, left = [], 0
    for k in range(down):
        columns.append(left)
        left += 2 if _has_labels(shown, k) else 1
    left = max(left, 1)
    lines = sorted({tuple(codes[:down]) for codes in table.codes.tolist()})
    number = book.add_format({"num_format": f"#,##0{'.' if table.decimals else ''}{'0' * table.decimals}"})
    sign = book.add_format({"align": "right", "num_format": "@"})
    grey = book.add_format({"num_format": "@", "font_color": "#666666"})
    head = book.add_format({"bold": True, "align": "center", "valign": "vcenter", "border": 1})
    bold = book.add_format({"bold": True})
    indents = [book.add_format({"num_format": "@", "indent": depth}) for depth in range(16)]
    _write(sheet, 0, 0, table.name + (f", {table.period}" if table.period else ""), bold)
    _headings(sheet, shown, paths, left, head)
    for k in range(max(down, 1)):
        _write(sheet, levels + 1, columns[k] if down else 0, table.variables[k], bold)
    if down:
        _write(sheet, levels, 0, table.variables[down], bold)
    for i, code in enumerate(across):
        _write(sheet, levels + 1, left + i, code, grey)
    depths = [[len(_path(shown.above(k), i)) - 1 for i in range(len(table.code_lists[k]))] for k in range(down)]
    for row, line in enumerate(lines, start=levels + 2):
        for k, place in enumerate(line):
            code = table.code_lists[k][place]
            style = indents[min(depths[k][place], 15)]
            if _has_labels(shown, k):
                _write(sheet, row, columns[k], code, grey)
                _write(sheet, row, columns[k] + 1, shown.label(k, code), style)
            else:
                _write(sheet, row, columns[k], code, style)
    rows = {line: row for row, line in enumerate(lines, start=levels + 2)}
    for codes, text, status in zip(table.codes.tolist(), shown.numbers(), table.status, strict=True):
        place = (rows[tuple(codes[:down])], left + codes[down])
        if not text:
            _write(sheet, *place, {"X": "x", "E": "-"}[status], sign)
        elif len(text.replace("-", "").replace(".", "").lstrip("0")) > SURE:
            _write(sheet, *place, text, sign)
        else:
            sheet.write_number(*place, float(text), number)
    sheet.freeze_panes(levels + 2, left)


def _has_labels(shown: ShownTable, k: int) -> bool:
    """Whether some code of a variable is called otherwise than it is written."""
    return not all(shown.label(k, code) == code for code in shown.table.code_lists[k])


def _headings(sheet: Any, shown: ShownTable, paths: list[list[int]], left: int, style: Any) -> None:
    """Labels of the codes across, each above those that stand under it."""
    across = len(shown.table.variables) - 1
    codes, sums = shown.table.code_lists[across], sorted({place for place in shown.above(across) if place >= 0})
    levels = max(map(len, paths))

    def block(top: int, bottom: int, first: int, last: int, text: str) -> None:
        if (top, first) != (bottom, last):
            sheet.merge_range(top + 1, left + first, bottom + 1, left + last, "", style)
        _write(sheet, top + 1, left + first, text, style)

    for level in range(levels):
        start = 0
        for place, run in groupby(path[level] if level < len(path) else -1 - i for i, path in enumerate(paths)):
            end = start + len(list(run))
            if place in sums or (place >= 0 and _has_labels(shown, across)):
                label = shown.label(across, codes[place])
                block(level, level if place in sums else levels - 1, start, end - 1, label)
            start = end
    for place in sums:
        block(len(paths[place]), levels - 1, place, place, "total")


def _path(above: Sequence[int], place: int) -> list[int]:
    """A code and what stands above it, from the top."""
    found = [place]
    while above[found[0]] >= 0:
        found.insert(0, above[found[0]])
    return found
