"""All relations a second time, from codes alone, as sums that must be zero.

No matrix is built: the place of a cell in a sum is computed from its codes, and sums are formed by sorting.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.model.tableset import TableSet


class Broken(NamedTuple):
    """A relation that does not hold: in words, by how much, and over how many cells."""

    text: str
    gap: int
    cells: int


def broken_sums(table: Table, rows: Ints, group: Ints, amount: NDArray[Any]) -> list[Broken]:
    """Relations that amounts at some rows break.

    ``group`` separates independent sets of amounts (certificates); rows not listed have amount zero.
    """
    broken = []
    for k, (variable, hierarchy) in enumerate(table.spec.by.items()):
        start, which, sign = _places_in_sums(hierarchy)
        codes = table.codes[rows, k]
        length = start[codes + 1] - start[codes]
        entry = np.repeat(np.arange(len(rows)), length)
        position = np.arange(len(entry)) - np.repeat(np.cumsum(length) - length, length) + start[codes][entry]
        line = np.zeros(len(rows), np.int64)
        for j, size in enumerate(len(h) for h in table.spec.hierarchies):
            if j != k:
                line = line * size + table.codes[rows, j]
        _, line = np.unique(line, return_inverse=True)
        key = (group[entry] * len(hierarchy.groupings) + which[position]) * (len(rows) + 1) + line[entry]
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        first = np.flatnonzero(np.concatenate(([True], sorted_key[1:] != sorted_key[:-1])))
        if not len(order):
            continue
        sums = exact_sums(amount[entry][order] * sign[position][order], first)
        cells = np.diff(np.concatenate((first, [len(order)])))
        for at in np.flatnonzero(sums != 0).tolist():
            one = order[first[at]]
            text = hierarchy.groupings[int(which[position[one]])]
            where = table.cell_name(int(rows[entry[one]]))
            broken.append(Broken(f"{variable}: {text}, at {where}", int(sums[at]), int(cells[at])))
    return broken


def exact_sums(terms: NDArray[Any], first: Ints) -> NDArray[Any]:
    """Sums of runs, in wide integers where 64 bits could overflow."""
    if terms.dtype != object:
        longest = int(np.diff(np.concatenate((first, [len(terms)]))).max(initial=0))
        if float(np.abs(terms.astype(np.float64)).max(initial=0)) * longest >= 2**62:
            terms = terms.astype(object)
    return np.asarray(np.add.reduceat(terms, first))


def _places_in_sums(hierarchy: Hierarchy) -> tuple[Ints, Ints, Ints]:
    """For each code the sums it stands in and its sign there, the total of a sum with -1."""
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, grouping in enumerate(hierarchy.groupings):
        places[grouping.parent].append((number, -1))
        for code, sign in grouping.parts:
            places[code].append((number, sign))
    listed = [places[code] for code in hierarchy.codes]
    start = np.cumsum([0, *(len(p) for p in listed)]).astype(np.int64)
    flat = np.array([item for p in listed for item in p], np.int64).reshape(-1, 2)
    return start, flat[:, 0], flat[:, 1]


class Meaning:
    """What the cells of a set mean: universe, and per variable the base codes that a code sums.

    Codes are numbered so that equal numbers mean the same within one universe (filter, period and weight); a table
    without a variable stands at that variable's total.
    """

    def __init__(self, tables: TableSet) -> None:
        self.tables = tables
        self.variables = list(dict.fromkeys(v for table in tables for v in table.variables))
        self.universe = [table.spec.identity[1:] for table in tables]
        self._known: dict[tuple[Any, ...], int] = {}
        self.codes = [[self._numbers(i, v) for v in self.variables] for i in range(len(tables))]

    def _numbers(self, number: int, variable: str) -> Ints:
        """Numbers of the codes that a table has of a variable; only the total where it does not have it."""
        mates = [t for t, u in zip(self.tables, self.universe, strict=True) if u == self.universe[number]]
        hierarchies = [t.spec.by[variable] for t in mates if variable in t.spec.by]
        sums = {g.parent: g.parts for h in reversed(hierarchies) for g in reversed(h.groupings)}
        memo: dict[str, frozenset[tuple[str, int]]] = {}

        def meaning(code: str) -> frozenset[tuple[str, int]]:
            if code not in memo:
                found: dict[str, int] = defaultdict(int)
                for part, sign in sums.get(code, ()):
                    for base, s in meaning(part):
                        found[base] += sign * s
                memo[code] = (
                    frozenset((b, s) for b, s in found.items() if s) if code in sums else frozenset({(code, 1)})
                )
            return memo[code]

        own = self.tables.tables[number].spec.by.get(variable)
        totals = [h.total for h in hierarchies if h.total is not None]
        wanted = own.codes if own is not None else tuple(totals[:1])
        key = (self.universe[number], variable)
        listed = [self._known.setdefault((*key, meaning(code)), len(self._known)) for code in wanted]
        return np.array(listed or [self._known.setdefault((*key, None), len(self._known))], np.int64)

    def columns(self, number: int) -> list[Ints]:
        """Numbers of every cell of a table, one column a variable."""
        table = self.tables.tables[number]
        return [
            codes[table.codes[:, table.variables.index(v)]] if v in table.spec.by else np.full(len(table), codes[0])
            for v, codes in zip(self.variables, self.codes[number], strict=True)
        ]

    def same(self, by_value: bool = True) -> list[Ints]:
        """Numbers that agree exactly where cells mean the same (in all value variables, where asked)."""
        kinds: dict[tuple[str, ...], int] = {}
        parts = []
        for i, table in enumerate(self.tables):
            identity = (table.spec.identity[0] if by_value else "", *self.universe[i])
            kind = np.full(len(table), kinds.setdefault(identity, len(kinds)), np.int64)
            parts.append([kind, *self.columns(i)])
        rank = np.zeros(sum(len(table) for table in self.tables), np.int64)
        for column in zip(*parts, strict=True):
            # Ranks stay below the number of cells, so the next product cannot overflow.
            joined = rank * (len(self._known) + len(kinds) + 1) + np.concatenate(column)
            rank = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        return np.split(rank, np.cumsum([len(table) for table in self.tables])[:-1])

    def spans(self, number: int, other: int, row: int) -> bool:
        """Whether a table has codes for the place of another table's cell, so that an absent cell is empty there."""
        if self.universe[number] != self.universe[other]:
            return False
        place = [column[row] for column in self.columns(other)]
        return all(code in codes for code, codes in zip(place, self.codes[number], strict=True))


class EquationSum(NamedTuple):
    """The sum of an equation between variables at one place: in words, what is over, and what slack allows."""

    text: str
    gap: int
    allowed: int
    row: int


class Equations:
    """The equations between variables of a set, as sums over places where every part is known."""

    def __init__(self, tables: TableSet) -> None:
        self.tables = tables
        self.sizes = np.array([len(table) for table in tables], np.int64)
        self.first = np.cumsum(self.sizes) - self.sizes
        meaning = Meaning(tables)
        self.place = np.concatenate(meaning.same(by_value=False))
        self.cell = np.concatenate(meaning.same())
        self.value = np.concatenate([np.full(len(t), t.spec.value or "", object) for t in tables])
        self.places = [self._places(meaning, dict(e.terms()), e.total) for e in tables.equations]

    def _places(self, meaning: Meaning, signs: dict[str, int], total: str) -> set[int]:
        """Places where the total stands and every part stands or is known to be empty."""
        standing = {v: set(self.place[self.value == v].tolist()) for v in signs}
        found = set()
        for row in np.flatnonzero(self.value == total).tolist():
            other = int(np.searchsorted(self.first, row, side="right")) - 1
            inner = row - int(self.first[other])
            here = int(self.place[row])
            if here not in found and all(
                here in standing[v]
                or any(t.spec.value == v and meaning.spans(i, other, inner) for i, t in enumerate(self.tables.tables))
                for v in signs
            ):
                found.add(here)
        return found

    def sums(self, rows: Ints, group: Ints, amount: NDArray[Any], decimals: int) -> list[EquationSum]:
        """Sums per group and place, from amounts at some rows (numbered through all tables)."""
        result = []
        units = [10 ** (decimals - table.decimals) for table in self.tables]
        for equation, places in zip(self.tables.equations, self.places, strict=True):
            signs = dict(equation.terms())
            found: dict[tuple[int, int], list[int]] = {}
            seen: set[tuple[int, int]] = set()
            for i, row in enumerate(rows.tolist()):
                sign, key = signs.get(self.value[row]), (int(group[i]), int(self.place[row]))
                if sign is None or key[1] not in places or (key[0], int(self.cell[row])) in seen:
                    continue
                seen.add((key[0], int(self.cell[row])))
                table = int(np.searchsorted(self.first, row, side="right")) - 1
                slack = self.tables.tables[table].slack or 0
                entry = found.setdefault(key, [0, 0, 0, row])
                entry[0] += sign * int(amount[i])
                entry[1] += units[table] if slack < 0 else 0
                entry[2] = max(entry[2], slack * units[table])
            result += [EquationSum(str(equation), e[0], e[1] // 2 + e[2], e[3]) for e in found.values()]
        return result
