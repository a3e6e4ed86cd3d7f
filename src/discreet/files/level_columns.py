"""Hierarchies as csv files of levels and codes, as R packages write them."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import InputError, listed
from discreet.files.csv_rows import csv_rows

LevelEntry = tuple[int, int, str]
"""Line, depth from 0, and code."""
DELIMITERS = (",", ";", "\t")
LEVELS, CODES = ("levels", "level"), ("codes", "code", "name")


def level_columns(file: str, lines: Sequence[str], lead: str) -> list[LevelEntry] | None:
    """Codes with their depth, of a csv file with a column of levels and one of codes; ``None`` for a plain list.

    Parameters
    ----------
    file
        Name of the file, for errors.
    lines
        Its lines.
    lead
        What stands for one level; whole numbers are read too.

    Raises
    ------
    InputError
        When it is a csv file of something else.

    Examples
    --------
    >>> level_columns("nace.csv", ["levels,codes", "@,Total", "@@,A", "@@@,A01"], "@")
    [(2, 0, 'Total'), (3, 1, 'A'), (4, 2, 'A01')]
    >>> level_columns("nace.hrc", ["A", "@A01"], "@") is None
    True
    """
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    delimiter = next((sign for sign in DELIMITERS if filled and all(sign in line for _, line in filled)), None)
    if delimiter is None:
        return None
    rows = list(csv_rows([line for _, line in filled], file, delimiter))
    head = [name.strip().strip('"').lower() for name in rows[0]]
    level = next((head.index(name) for name in LEVELS if name in head), None)
    code = next((head.index(name) for name in CODES if name in head), None)
    if level is None or code is None:
        if file.lower().endswith(".hrc"):
            return None  # codes that all hold the delimiter
        raise InputError(
            f"{file!r} is a csv file with columns {listed(rows[0], 4)}, which is no hierarchy that can be read.",
            hint="Give an .hrc file (one code per line, '@' for each level), or a csv file with the columns levels and "
            "codes; for level columns use Hierarchy.from_columns.",
            recipe_hint="Give an .hrc file (one code per line, '@' for each level), or a csv file with the columns "
            'levels and codes; level columns of the data are named as columns = ["section", "division"].',
        )
    entries = []
    for (number, _), row in zip(filled[1:], rows[1:], strict=True):
        depth = _depth(row[level].strip(), lead) if len(row) == len(head) else None
        if depth is None or not row[code].strip():
            raise InputError(
                f"{file}, line {number}: a level ({lead!r}, {2 * lead!r}, ... or a whole number) and a code are "
                "expected.",
                hint="Correct the line.",
            )
        entries.append((number, depth, row[code].rstrip()))
    least = min((depth for _, depth, _ in entries), default=0)
    return [(number, depth - least, name) for number, depth, name in entries]


def _depth(text: str, lead: str) -> int | None:
    if text.isascii() and text.isdigit():
        return int(text)
    count = len(text) // len(lead)
    return count if count and text == lead * count else None
