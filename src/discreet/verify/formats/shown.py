"""What a public file must say: the published cells, the words around them, and nothing else.

Everything here is written apart from the writers of public files, from the same facts: a file is right when it is what
these few lines make of the published cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from discreet.model.public import PublicTable

WITHHELD, EMPTY = "withheld for confidentiality", "no units in this cell"
FORMULA = "=+-@\t\r"
"""A spreadsheet runs text that begins with one of these."""


class Words(NamedTuple):
    """What a release says above its tables; nobody can check these words, and the verdict repeats them."""

    agency: str = "UNKNOWN"
    units: str = ""
    source: str = ""
    prepared: str = "1970-01-01T00:00:00Z"


class Different(Exception):
    """A file does not say what it must; the text says where."""


@dataclass(frozen=True)
class ShownTable:
    """A published table, ready to be written again."""

    table: PublicTable
    words: Words

    @property
    def measure(self) -> str:
        """What is summed, in words."""
        return self.table.measure or "count"

    def number(self, units: int) -> str:
        """A value as the decimal number it stands for."""
        return number_text(units, self.table.decimals)

    def numbers(self) -> list[str]:
        """Values of all cells; nothing where none is shown."""
        cells = zip(self.table.value.tolist(), self.table.shown.tolist(), strict=True)
        return [self.number(units) if shown else "" for units, shown in cells]

    def ends(self) -> list[tuple[str, str]]:
        """Ends of all intervals; nothing where the value is exact."""
        table = self.table
        if table.lower is None or table.upper is None:
            return []
        cells = zip(table.lower.tolist(), table.upper.tolist(), table.shown.tolist(), strict=True)
        return [(self.number(a), self.number(b)) if shown and a < b else ("", "") for a, b, shown in cells]

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Codes of all cells."""
        for places in self.table.codes.tolist():
            yield tuple(codes[place] for codes, place in zip(self.table.code_lists, places, strict=True))

    def label(self, k: int, code: str) -> str:
        """Words for a code of the k-th variable."""
        return str(self.table.labels[k].get(code, code))

    def above(self, k: int) -> Sequence[int]:
        """What each code of the k-th variable stands under."""
        return self.table.parents[k] if self.table.parents else [-1] * len(self.table.code_lists[k])

    def notes(self) -> list[str]:
        """What readers are told of the values as a whole."""
        table, found = self.table, []
        if table.altered:
            found.append("All values of this table were altered to protect confidentiality.")
            if len(table) != prod(map(len, table.code_lists)):
                found.append("Cells that are not listed stand for zero, whether they were empty or not.")
        if "X" in table.status:
            found.append("Some values are withheld to protect confidentiality.")
        if table.coverage is not None:
            found.append(
                f"Between lower and upper lies a confidence interval of {100 * table.coverage:g} % for sampling "
                "errors, from replicate weights."
            )
        elif table.lower is not None:
            found.append("True values lie between lower and upper.")
        return found

    def cube(self) -> ShownTable:
        """The same with the ends of intervals as cells of a further dimension."""
        table = self.table
        if table.lower is None or table.upper is None:
            return self
        name = "measure"
        while name in table.variables:
            name += "_"
        three = np.arange(3 * len(table)) // 3
        third = (np.arange(3 * len(table)) % 3).astype(table.codes.dtype)
        made = replace(
            table,
            variables=(*table.variables, name),
            code_lists=(*table.code_lists, ("value", "lower", "upper")),
            labels=(*table.labels, {}),
            parents=(*(tuple(self.above(k)) for k in range(len(table.variables))), (-1, -1, -1)),
            codes=np.hstack([table.codes[three], third[:, None]]),
            value=np.choose(third, [column[three] for column in (table.value, table.lower, table.upper)]),
            shown=table.shown[three],
            empty=table.empty[three],
            lower=None,
            upper=None,
        )
        return ShownTable(made, self.words)

    def places(self) -> list[int]:
        """Where each cell stands in the cube, the last dimension running fastest."""
        found = []
        for codes in self.table.codes.tolist():
            place = 0
            for code, listing in zip(codes, self.table.code_lists, strict=True):
                place = place * len(listing) + code
            found.append(place)
        return found


def number_text(units: int, decimals: int) -> str:
    """An integer number of units as a decimal number."""
    if decimals == 0:
        return str(units)
    whole, part = divmod(abs(units), 10**decimals)
    return f"{'-' if units < 0 else ''}{whole}.{part:0{decimals}d}"


def inert(text: str) -> str:
    """Text as a csv file writes it: an apostrophe before what a spreadsheet would run, one more before such text."""
    return f"'{text}" if text.lstrip("'")[:1] in tuple(FORMULA) else text


def field(text: str) -> str:
    """A csv field."""
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if set(text) & set(',"\r\n') else text


def csv_bytes(lines: Iterator[Sequence[str]]) -> bytes:
    """Lines of fields as a csv file."""
    return "".join(",".join(map(field, line)) + "\n" for line in lines).encode()


def same_lines(expected: bytes, found: bytes) -> None:
    """Refuse text that is not byte for byte the expected one, with the first line that differs."""
    if expected == found:
        return
    mine, theirs = expected.split(b"\n"), found.split(b"\n")
    number = next(
        (i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs))
    )
    if number >= len(theirs) - (not theirs[-1]):
        raise Different(f"the file ends after line {number}, where more must stand")
    if number >= len(mine) - (not mine[-1]):
        raise Different(f"line {number + 1} is one too many")
    raise Different(f"line {number + 1} is not what the published cells give")
