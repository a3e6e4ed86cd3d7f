"""Public tables as Excel workbooks: a cross-table with merged headings, and a sheet of notes."""

from __future__ import annotations

import errno
import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from discreet.errors import OutputError, counted
from discreet.files.celltext import refuse_markup
from discreet.files.published.cube import label_of, parents_of, value_texts
from discreet.files.published.heading import EMPTY, WITHHELD, Heading, notes
from discreet.model.public import PublicTable

MOST_ROWS, MOST_COLUMNS, MOST_TEXT = 1_048_576, 16_384, 32_767
EXACT_DIGITS = 15
"""Excel keeps so many digits of a number; longer ones are written as text."""
SIGNS = {"X": "x", "E": "-"}
"""What stands in a cell that is withheld, and in one that is empty."""


def write_xlsx(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as a workbook: the last variable across, under merged headings; the others down.

    The row above the cells and the first column of every variable hold the codes themselves; labels stand beside them
    where a variable has some. Every text is written as text, never as a formula. Ends of intervals stand on sheets of
    their own.
    """
    import xlsxwriter

    # Put together in memory, because xlsxwriter leaves errors of a full disk to whoever collects its garbage.
    content = io.BytesIO()
    try:
        with xlsxwriter.Workbook(content, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
            _fill(book, table, heading)
    except xlsxwriter.exceptions.XlsxFileError as error:  # the folder for temporary files is full
        raise OSError(errno.EIO, str(error)) from error
    path.write_bytes(content.getvalue())


def _fill(book: Any, table: PublicTable, heading: Heading) -> None:
    book.set_properties({"created": datetime(1980, 1, 1), "title": table.name})
    Sheet(book, "Table", table).fill()
    if table.lower is not None and table.upper is not None:
        for name, ends in (("Lower", table.lower), ("Upper", table.upper)):
            Sheet(book, name, replace(table, value=ends)).fill()
    _notes(book, table, heading)


class Sheet:
    """One cross-table being written."""

    def __init__(self, book: Any, name: str, table: PublicTable) -> None:
        self.table = table
        self.sheet = book.add_worksheet(name)
        self.across = len(table.variables) - 1
        self.columns = table.code_lists[self.across]
        self.depth = _depths(parents_of(table, self.across))
        self.levels = max(self.depth) + 1
        self.rows = sorted({tuple(row) for row in table.codes[:, : self.across].tolist()})
        self.labelled = [
            any(label_of(table, k, code) != code for code in codes) for k, codes in enumerate(table.code_lists)
        ]
        *self.starts, first = accumulate((1 + self.labelled[k] for k in range(self.across)), initial=0)
        self.first_column = first or 1
        self.first_row = self.levels + 2
        decimals = f".{'0' * table.decimals}" if table.decimals else ""
        self.number = book.add_format({"num_format": f"#,##0{decimals}"})
        self.sign = book.add_format({"align": "right", "num_format": "@"})
        self.code = book.add_format({"num_format": "@", "font_color": "#666666"})
        self.head = book.add_format({"bold": True, "align": "center", "valign": "vcenter", "border": 1})
        self.title = book.add_format({"bold": True})
        self.indents = [book.add_format({"num_format": "@", "indent": min(depth, 15)}) for depth in range(16)]

    def fill(self) -> None:
        """Headings, codes, labels and cells."""
        self._refuse_too_large()
        period = f", {self.table.period}" if self.table.period else ""
        self._text(0, 0, f"{self.table.name}{period}", self.title)
        self._headings()
        self._labels()
        self._cells()
        self.sheet.freeze_panes(self.first_row, self.first_column)

    def _refuse_too_large(self) -> None:
        height, width = self.first_row + len(self.rows), self.first_column + len(self.columns)
        if height > MOST_ROWS or width > MOST_COLUMNS:
            raise OutputError(
                f"Table {self.table.name!r} needs {counted(height, 'row')} and {counted(width, 'column')}; a sheet has "
                f"{MOST_ROWS:,} and {MOST_COLUMNS:,}.",
                hint="Leave 'xlsx' out of the formats, or put the shortest variable last.",
            )

    def _text(self, row: int, column: int, text: str, style: Any) -> None:
        if len(text) > MOST_TEXT:
            raise OutputError(
                f"A code or label of table {self.table.name!r} has {counted(len(text), 'character')}; a cell of "
                "Excel holds "
                f"{MOST_TEXT:,}.",
                hint="Shorten it, or leave 'xlsx' out of the formats.",
            )
        self.sheet.write_string(row, column, refuse_markup(text), style)

    def _headings(self) -> None:
        """Every code above the codes that stand under it, merged over their columns; then the codes themselves.

        Without labels only sums stand there: other codes would stand twice.
        """
        parents = parents_of(self.table, self.across)
        paths = [_path(parents, i) for i in range(len(self.columns))]
        sums = {parent for parent in parents if parent >= 0}
        for level in range(self.levels):
            start = 0
            above = [path[level] if level < len(path) else -1 - i for i, path in enumerate(paths)]
            for key, run in groupby(above):
                width = len(list(run))
                if key >= 0 and (self.labelled[self.across] or key in sums):
                    bottom = level if key in sums else self.levels - 1
                    label = label_of(self.table, self.across, self.columns[key])
                    self._merge(level, bottom, start, start + width - 1, label)
                start += width
        for i in sorted(sums):  # the column of a sum, below its own heading
            self._merge(len(paths[i]), self.levels - 1, i, i, "total")
        for variable, column in zip(self.table.variables, self.starts or [0], strict=False):
            self._text(self.levels + 1, column, variable, self.title)
        if self.across:
            self._text(self.levels, 0, self.table.variables[self.across], self.title)
        for i, code in enumerate(self.columns):
            self._text(self.levels + 1, self.first_column + i, code, self.code)

    def _merge(self, top: int, bottom: int, left: int, right: int, text: str) -> None:
        place = (top + 1, self.first_column + left, bottom + 1, self.first_column + right)
        if top != bottom or left != right:
            self.sheet.merge_range(*place, "", self.head)
        self._text(*place[:2], text, self.head)

    def _labels(self) -> None:
        depths = [_depths(parents_of(self.table, k)) for k in range(self.across)]
        for number, row in enumerate(self.rows, start=self.first_row):
            for k, position in enumerate(row):
                code = self.table.code_lists[k][position]
                indent = self.indents[min(depths[k][position], 15)]
                self._text(number, self.starts[k], code, self.code if self.labelled[k] else indent)
                if self.labelled[k]:
                    self._text(number, self.starts[k] + 1, label_of(self.table, k, code), indent)

    def _cells(self) -> None:
        line = {row: number for number, row in enumerate(self.rows, start=self.first_row)}
        texts, status = value_texts(self.table), self.table.status
        for i, position in enumerate(self.table.codes.tolist()):
            place = (line[tuple(position[:-1])], self.first_column + position[-1])
            text = texts[i]
            if text is None:
                self.sheet.write_string(*place, SIGNS[status[i]], self.sign)
            elif len(text.strip("-").replace(".", "").lstrip("0")) > EXACT_DIGITS:
                self.sheet.write_string(*place, text, self.sign)
            else:
                self.sheet.write_number(*place, float(text), self.number)


def _path(parents: Sequence[int], position: int) -> list[int]:
    """A code and what stands above it, from the top."""
    found = [position]
    while parents[found[-1]] >= 0:
        found.append(parents[found[-1]])
    return found[::-1]


def _depths(parents: Sequence[int]) -> list[int]:
    return [len(_path(parents, i)) - 1 for i in range(len(parents))]


def _notes(book: Any, table: PublicTable, heading: Heading) -> None:
    """What the signs mean, and what readers must know."""
    sheet = book.add_worksheet("Notes")
    status = set(table.status)
    lines = [("Table", table.name), ("Values", table.measure or "count")]
    lines += [("Period", table.period)] if table.period else []
    lines += [(name, text) for name, text in (("Units", heading.units), ("Source", heading.source)) if text]
    lines += [(SIGNS["X"], WITHHELD)] if "X" in status else []
    lines += [(SIGNS["E"], EMPTY)] if "E" in status else []
    lines += [("Note", text) for text in notes(table)]
    if any(abs(value) >= 10**EXACT_DIGITS for value in table.value.tolist()):
        lines.append(("Note", f"Numbers of more than {EXACT_DIGITS} digits are written as text, so that none is lost."))
    for row, (name, text) in enumerate(lines):
        sheet.write_string(row, 0, name)
        sheet.write_string(row, 1, refuse_markup(text))
    sheet.set_column(1, 1, 80)
