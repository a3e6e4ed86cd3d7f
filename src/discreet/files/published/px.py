"""Public tables as PX files (PC-Axis), which PxWeb and its relatives publish."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from pathlib import Path

from discreet.errors import OutputError, counted
from discreet.files.published.cube import dense_rows, label_of, parents_of, sizes, stacked, value_texts
from discreet.files.published.heading import EMPTY, WITHHELD, Heading, notes
from discreet.model.public import PublicTable
from discreet.model.units import unit_text

MOST_CELLS = 20_000_000
"""PX files state every place of the cube; beyond this many they are not written."""
WIDTH = 200
"""Text is broken into pieces of so many characters; lines of PX files are at most 256 long."""
NONE, HIDDEN = ".", ".."


def write_px(path: Path, table: PublicTable, heading: Heading) -> None:
    """Write a table as a PX file in UTF-8: ``".."`` where withheld, ``"."`` where nobody is.

    Tables of altered values have zeros for the cells that they do not list.

    Raises
    ------
    OutputError
        When a code cannot be written (PX has no way to write quotation marks), or the cube is too large.
    """
    cube = stacked(table)
    if prod(sizes(cube)) > MOST_CELLS:
        raise OutputError(
            f"Table {table.name!r} spans {counted(prod(sizes(cube)), 'place')}; a PX file states every one of them.",
            hint="Leave 'px' out of the formats, or publish fewer variables together.",
        )
    stub, head = cube.variables[:-1], cube.variables[-1]
    title = f"{table.measure or 'count'} by {', '.join(table.variables)}{f', {table.period}' if table.period else ''}"
    lines = [
        'CHARSET="ANSI";',
        'AXIS-VERSION="2013";',
        'CODEPAGE="utf-8";',
        'LANGUAGE="en";',
        f"DECIMALS={table.decimals};",
        f"SHOWDECIMALS={table.decimals};",
        f"MATRIX={_text(re.sub(r'[^A-Za-z0-9_-]', '_', table.name)[:20] or 'table')};",
        'SUBJECT-CODE="-";',
        'SUBJECT-AREA="-";',
        f"TITLE={_text(title)};",
        f"CONTENTS={_text(table.measure or 'count')};",
        f"UNITS={_text(heading.units or 'units')};",
        *([f"STUB={_texts(_exact(name) for name in stub)};"] if stub else []),
        f"HEADING={_texts([_exact(head)])};",
    ]
    for k, variable in enumerate(cube.variables):
        name = _exact(variable)
        codes, shown = [_exact(code) for code in cube.code_lists[k]], _values(cube, k)
        lines += [f"VALUES({_text(name)})={_texts(shown)};", f"CODES({_text(name)})={_texts(codes)};"]
        tops = [i for i, parent in enumerate(parents_of(cube, k)) if parent < 0]
        if len(tops) == 1 and len(codes) > 1:
            lines.append(f"ELIMINATION({_text(name)})={_text(shown[tops[0]])};")
    lines += [f'DATASYMBOL1="{EMPTY}";', f'DATASYMBOL2="{WITHHELD}";']
    lines += [f"SOURCE={_text(heading.source)};"] if heading.source else []
    lines += [f"NOTE={_text(' '.join(notes(table)))};"] if notes(table) else []
    lines += ["DATA=", *_data(cube)]
    path.write_text("\n".join(lines) + "\n;\n", encoding="utf-8", newline="\n")


def _data(cube: PublicTable) -> Iterable[str]:
    texts, hidden = value_texts(cube), (~cube.shown & ~cube.empty).tolist()
    missing = unit_text(0, cube.decimals) if cube.altered else f'"{NONE}"'
    width = sizes(cube)[-1]
    rows = dense_rows(cube).tolist()
    for start in range(0, len(rows), width):
        yield " ".join(_datum(texts, hidden, row, missing) for row in rows[start : start + width])


def _datum(texts: list[str | None], hidden: list[bool], row: int, missing: str) -> str:
    if row < 0:
        return missing
    text = texts[row]
    return text if text is not None else f'"{HIDDEN if hidden[row] else NONE}"'


def _values(cube: PublicTable, k: int) -> list[str]:
    """Words of the values; codes stand before words that occur twice, since PX tells values apart by them."""
    codes = cube.code_lists[k]
    words = [_plain(label_of(cube, k, code)) for code in codes]
    if len(set(words)) < len(words):
        words = [f"{code} {word}" if code != word else word for code, word in zip(codes, words, strict=True)]
    return words if len(set(words)) == len(words) else list(codes)


def _plain(text: str) -> str:
    """Words with what PX cannot hold replaced: quotation marks and line breaks."""
    return " ".join(text.replace('"', "'").split())


def _exact(code: str) -> str:
    """A code or name as it is; one that PX cannot hold is an error, because another would be published in its place."""
    if '"' in code or any(ord(sign) < 32 for sign in code) or not code:
        raise OutputError(
            f"A PX file cannot hold the code {code!r}.",
            hint="Recode it without quotation marks, tabs and line breaks, or leave 'px' out of the formats.",
        )
    return code


def _texts(items: Iterable[str]) -> str:
    return ",\n".join(_text(item) for item in items)


def _text(text: str) -> str:
    """A PX string; long ones are broken into pieces on lines of their own."""
    pieces = [text[i : i + WIDTH] for i in range(0, len(text), WIDTH)] or [""]
    return "\n".join('"' + piece.replace('"', "'") + '"' for piece in pieces)
