"""Public tables as csv and as SDMX-CSV, written a second time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from discreet.verify.formats.shown import FORMULA, ShownTable, csv_bytes, inert, same_lines

STATUS_OF = {"V": "A", "A": "A", "X": "Q", "E": "O"}
"""Codes of CL_OBS_STATUS."""


def check_csv(found: bytes, shown: ShownTable) -> None:
    """A csv file is byte for byte what the cells give."""
    same_lines(csv_bytes(_csv(shown)), found)


def _csv(shown: ShownTable) -> Iterator[Sequence[str]]:
    table, ends = shown.table, shown.ends()
    yield [*map(inert, table.variables), "value", *(["lower", "upper"] if ends else []), "status"]
    for i, (codes, value, status) in enumerate(zip(shown.cells(), shown.numbers(), table.status, strict=True)):
        yield [*map(inert, codes), value, *(ends[i] if ends else ()), status]


def check_sdmx_csv(found: bytes, shown: ShownTable) -> None:
    """An SDMX-CSV file is byte for byte what the cells give."""
    cube = shown.cube()
    statuses = [STATUS_OF[letter] for letter in cube.table.status]
    same_lines(csv_bytes(sdmx_lines(cube, cube.numbers(), {"OBS_STATUS": statuses})), found)


def sdmx_lines(cube: ShownTable, values: Sequence[str], statuses: dict[str, list[str]]) -> Iterator[Sequence[str]]:
    """Lines of an SDMX-CSV file with some columns of statuses."""
    table = cube.table
    begin = ["STRUCTURE", "STRUCTURE_ID", "ACTION"]
    names = identifiers(table.variables, [*begin, "TIME_PERIOD", "OBS_VALUE", "COMMENT_DSET", *statuses])
    period = [_free(table.period)] if table.period else []
    comment = [" ".join(cube.notes())] if table.altered else []
    yield [
        *begin,
        *names,
        *(["TIME_PERIOD"] if period else []),
        "OBS_VALUE",
        *statuses,
        *(["COMMENT_DSET"] if comment else []),
    ]
    flow = f"{cube.words.agency}:{identifiers([table.name], [])[0]}(1.0.0)"
    for i, codes in enumerate(cube.cells()):
        letters = [column[i] for column in statuses.values()]
        yield ["dataflow", flow, "I", *map(sdmx_code, codes), *period, values[i], *letters, *comment]


def sdmx_code(code: str) -> str:
    """A code as SDMX writes it: signs that it cannot hold, and signs that begin a formula, as their numbers."""
    signs = []
    for i, sign in enumerate(code):
        plain = (sign.isascii() and sign.isalnum()) or sign == "_" or (i > 0 and sign in "@-")
        signs.append(sign if plain else f"${ord(sign):X}$")
    return "".join(signs) or "$$"


def _free(text: str) -> str:
    return sdmx_code(text) if text[0] in FORMULA else text


def identifiers(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names as SDMX identifiers, none twice."""
    found: list[str] = []
    used = {name.upper() for name in taken}
    for name in names:
        made = re.sub("[^A-Za-z0-9_-]", "_", name)
        if not (made[:1].isascii() and made[:1].isalpha()):
            made = "V_" + made
        while made.upper() in used:
            made = made + "_"
        used.add(made.upper())
        found.append(made)
    return found
