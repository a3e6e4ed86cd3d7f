"""What an xlsx file holds besides the cells that one sees: other sheets, hidden parts, comments, caches."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from discreet.errors import counted, listed

SHEET = re.compile(r"<(?:\w+:)?sheet\b([^>]*)>")
NAME, STATE = re.compile(r'\bname="([^"]*)"'), re.compile(r'\bstate="(hidden|veryHidden)"')
HIDDEN = re.compile(rb'<(?:\w+:)?(?:row|col)\b[^>]*\bhidden="(?:1|true)"')
NAMES = re.compile(r"<(?:\w+:)?definedName\b")
PIECE = 2**20
LONGEST = 4096
"""Bytes that a tag may have; pieces of a sheet overlap by so many."""
TELLING = {
    "comments": re.compile(r"xl/(.*/)?(comments|threadedComments)"),
    "caches of pivot tables": re.compile(r"xl/pivotCache/"),
    "values of other workbooks": re.compile(r"xl/externalLinks/"),
    "embedded files": re.compile(r"xl/embeddings/"),
}
"""Members that may hold withheld values without showing them."""
DRAWN = re.compile(r"xl/(drawings|charts|media)/")


def look_around(path: Path, sheet: str | None) -> tuple[list[str], list[str]]:
    """What a workbook hides, which may give withheld cells away, and what else is in it that nobody looked at.

    Parameters
    ----------
    path
        An xlsx file that could be read.
    sheet
        The sheet that was looked at; the first when left out.
    """
    hidden: list[str] = []
    besides: list[str] = []
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
        book = archive.read("xl/workbook.xml").decode("utf-8", "replace") if "xl/workbook.xml" in members else ""
        sheets = [(match, NAME.search(match)) for match in SHEET.findall(book)]
        names = [found[1] if found else "" for _, found in sheets]
        secret = [name for name, (match, _) in zip(names, sheets, strict=True) if STATE.search(match)]
        others = [name for name in names if name not in secret and name != (sheet or names[0])]
        if secret:
            hidden.append(f"{counted(len(secret), 'sheet', 'are')} hidden ({listed(secret, 3)})")
        if others:
            besides.append(f"{counted(len(others), 'other sheet')} ({listed(others, 3)})")
        for what, kind in TELLING.items():
            if any(kind.match(name) for name in members):
                hidden.append(f"the file holds {what}")
        if any(DRAWN.match(name) for name in members):
            besides.append("drawings and charts")
        if NAMES.search(book):
            besides.append("named ranges")
        parts = [name for name in members if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
        if any(_hides_lines(archive, name) for name in parts):
            hidden.append("rows or columns of a sheet are hidden")
    besides.append("properties of the file")
    return hidden, besides


def _hides_lines(archive: zipfile.ZipFile, name: str) -> bool:
    """Whether a sheet has hidden rows or columns; it is read piece by piece."""
    with archive.open(name) as stream:
        kept = b""
        while piece := stream.read(PIECE):
            if HIDDEN.search(kept + piece):
                return True
            kept = piece[-LONGEST:]
    return False
