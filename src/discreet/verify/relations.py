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


def same_cells(tables: TableSet, by_value: bool = True) -> list[Ints]:
    """Numbers that agree exactly where cells of the set mean the same.

    Codes are compared by the base codes that they sum; a table without a variable stands at its total.
    """
    variables = list(dict.fromkeys(v for table in tables for v in table.variables))
    sums: dict[str, dict[str, list[Any]]] = {v: {} for v in variables}
    totals: dict[str, str | None] = {}
    for table in tables:
        for v, hierarchy in table.spec.by.items():
            totals.setdefault(v, hierarchy.total)
            for grouping in hierarchy.groupings:
                sums[v].setdefault(grouping.parent, list(grouping.parts))
    content: dict[tuple[str, str | None], int] = {}
    known: dict[tuple[str, frozenset[tuple[str, int]]], int] = {}
    memo: dict[tuple[str, str], frozenset[tuple[str, int]]] = {}

    def meaning(v: str, code: str) -> frozenset[tuple[str, int]]:
        if (v, code) not in memo:
            found: dict[str, int] = defaultdict(int)
            for part, sign in sums[v].get(code, ()):
                for base, s in meaning(v, part):
                    found[base] += sign * s
            leaves = {(base, s) for base, s in found.items() if s} if code in sums[v] else {(code, 1)}
            memo[v, code] = frozenset(leaves)
        return memo[v, code]

    def number(v: str, code: str | None) -> int:
        if (v, code) not in content:
            what = (v, frozenset() if code is None else meaning(v, code))
            content[v, code] = known.setdefault(what, len(known))
        return content[v, code]

    kinds: dict[tuple[str, ...], int] = {}
    parts = []
    for table in tables:
        identity = table.spec.identity if by_value else table.spec.identity[1:]
        columns = [np.full(len(table), kinds.setdefault(identity, len(kinds)), np.int64)]
        for v in variables:
            if v in table.spec.by:
                own = np.array([number(v, code) for code in table.spec.by[v].codes], np.int64)
                columns.append(own[table.codes[:, table.variables.index(v)]])
            else:
                columns.append(np.full(len(table), number(v, totals[v]), np.int64))
        parts.append(columns)
    rank = np.zeros(sum(len(table) for table in tables), np.int64)
    for column in zip(*parts, strict=True):
        # Ranks stay below the number of cells, so the next product cannot overflow.
        joined = rank * (len(known) + len(kinds) + 1) + np.concatenate(column)
        rank = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return np.split(rank, np.cumsum([len(table) for table in tables])[:-1])
