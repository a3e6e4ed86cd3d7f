"""Public tables as PX files, written a second time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from discreet.verify.formats.shown import EMPTY, WITHHELD, ShownTable, same_lines

LONGEST = 200
"""Characters of a piece of text."""


def check_px(found: bytes, shown: ShownTable) -> None:
    """A PX file is byte for byte what the cells give."""
    same_lines("".join(f"{line}\n" for line in _lines(shown)).encode(), found)


def _lines(shown: ShownTable) -> Iterator[str]:
    cube, table = shown.cube(), shown.table
    title = f"{shown.measure} by {', '.join(table.variables)}" + (f", {table.period}" if table.period else "")
    *stub, head = cube.table.variables
    matrix = re.sub("[^A-Za-z0-9_-]", "_", table.name)[:20] or "table"
    yield from ('CHARSET="ANSI";', 'AXIS-VERSION="2013";', 'CODEPAGE="utf-8";', 'LANGUAGE="en";')
    yield from (f"DECIMALS={table.decimals};", f"SHOWDECIMALS={table.decimals};", f'MATRIX="{matrix}";')
    yield from ('SUBJECT-CODE="-";', 'SUBJECT-AREA="-";')
    yield f"TITLE={_string(title)};"
    yield f"CONTENTS={_string(shown.measure)};"
    yield f"UNITS={_string(shown.words.units or 'units')};"
    if stub:
        yield f"STUB={_list(stub)};"
    yield f"HEADING={_list([head])};"
    for k, variable in enumerate(cube.table.variables):
        words = _value_words(cube, k)
        yield f"VALUES({_string(variable)})={_list(words)};"
        yield f"CODES({_string(variable)})={_list(cube.table.code_lists[k])};"
        top = [i for i, parent in enumerate(cube.above(k)) if parent < 0]
        if len(top) == 1 and len(words) > 1:
            yield f"ELIMINATION({_string(variable)})={_string(words[top[0]])};"
    yield f'DATASYMBOL1="{EMPTY}";'
    yield f'DATASYMBOL2="{WITHHELD}";'
    if shown.words.source:
        yield f"SOURCE={_string(shown.words.source)};"
    if shown.notes():
        yield f"NOTE={_string(' '.join(shown.notes()))};"
    yield "DATA="
    yield from _data(cube)
    yield ";"


def _data(cube: ShownTable) -> Iterator[str]:
    table = cube.table
    silent = cube.number(0) if table.altered else '"."'
    signs = {"X": '".."', "E": '"."'}
    cells = zip(cube.places(), cube.numbers(), table.status, strict=True)
    said = {place: text or signs[status] for place, text, status in cells}
    width = len(table.code_lists[-1])
    for start in range(0, prod(map(len, table.code_lists)), width):
        yield " ".join(said.get(place, silent) for place in range(start, start + width))


def _value_words(cube: ShownTable, k: int) -> list[str]:
    codes = cube.table.code_lists[k]
    words = [" ".join(cube.label(k, code).replace('"', "'").split()) for code in codes]
    if len(set(words)) == len(codes):
        return words
    words = [word if code == word else f"{code} {word}" for code, word in zip(codes, words, strict=True)]
    return words if len(set(words)) == len(codes) else list(codes)


def _list(texts: Sequence[str]) -> str:
    return ",\n".join(map(_string, texts))


def _string(text: str) -> str:
    plain = text.replace('"', "'")
    return "\n".join(f'"{plain[at : at + LONGEST]}"' for at in range(0, max(len(plain), 1), LONGEST))
