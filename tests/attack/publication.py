"""What an attacker holds: published tables, the sums behind their codes, and the unseen table that all stand on.

Nothing here calls the code that is attacked. Tables come in as plain columns; the sums behind codes as plain mappings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import product

import numpy as np

Sums = dict[str, list[tuple[str, int]]]
"""Code to the codes that it sums, with their signs."""


@dataclass
class Tree:
    """A variable: its base codes and the sums above them."""

    base: list[str]
    sums: Sums
    total: str = "Total"

    def cover(self, code: str) -> dict[str, int]:
        """Base codes behind a code, with their signs."""
        if code not in self.sums:
            return {code: 1}
        found: Counter[str] = Counter()
        for part, sign in self.sums[code]:
            for one, times in self.cover(part).items():
                found[one] += sign * times
        return {one: times for one, times in found.items() if times}


@dataclass
class Shown:
    """One published table: numbers by codes, ``None`` where a cell is withheld; cells that are not there are empty.

    ``half`` is how far a published number may be from the true one: half of its last place, where it is rounded.
    """

    name: str
    variables: tuple[str, ...]
    value: str | None
    cells: dict[tuple[str, ...], float | None]
    codes: list[list[str]]
    half: float = 0.0
    bounds: dict[tuple[str, ...], tuple[float, float]] = field(default_factory=dict)


def shown_from(
    columns: dict[str, list],
    variables: tuple[str, ...],
    name: str,
    value: str | None,
    codes: list[list[str]],
    half: float,
) -> Shown:
    """A published table from the columns of its public file."""
    cells = {}
    for row in zip(*(columns[v] for v in variables), columns["value"], columns["status"], strict=True):
        if row[-1] != "E":
            cells[row[: len(variables)]] = row[-2]
    return Shown(name, variables, value, cells, codes, half)


class Unseen:
    """The table of all base codes that some published tables of one value stand on, and what they say of it.

    ``known`` are equations: coefficients over the base cells, and the published number. ``zero`` are base cells that
    an empty cell covers.
    """

    def __init__(self, trees: dict[str, Tree], tables: list[Shown]) -> None:
        self.trees, self.tables = trees, tables
        self.variables = sorted({v for table in tables for v in table.variables})
        self.cells = list(product(*(trees[v].base for v in self.variables)))
        self.number = {cell: i for i, cell in enumerate(self.cells)}
        self.zero = np.zeros(len(self.cells), bool)
        rows, values, halves, self.limits = [], [], [], []
        for table in tables:
            for codes in product(*table.codes):
                row = self.row(table, codes)
                if codes not in table.cells:
                    self.zero |= row != 0
                elif table.cells[codes] is not None:
                    rows.append(row)
                    values.append(table.cells[codes])
                    halves.append(table.half)
                elif codes in table.bounds:
                    self.limits.append((row, *table.bounds[codes]))
        self.known = np.array(rows).reshape(-1, len(self.cells))
        self.values = np.array(values, float)
        self.halves = np.array(halves, float)

    def row(self, table: Shown, codes: tuple[str, ...]) -> np.ndarray:
        """The base cells that a cell of a table sums, with their signs."""
        covers = {v: self.trees[v].cover(code) for v, code in zip(table.variables, codes, strict=True)}
        for v in self.variables:
            covers.setdefault(v, self.trees[v].cover(self.trees[v].total))
        row = np.zeros(len(self.cells))
        for parts in product(*(covers[v].items() for v in self.variables)):
            row[self.number[tuple(code for code, _ in parts)]] = np.prod([sign for _, sign in parts])
        return row

    def inner_of(self, record: dict) -> int:
        """The base cell of a record."""
        return self.number[tuple(record[v] for v in self.variables)]
