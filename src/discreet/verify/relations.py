"""All relations a second time, from codes alone, as sums that must be zero.

No matrix is built: the sums that a cell stands in are numbered from its codes.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import LARGEST, Bools, Codes, Ints, pointers, ranges
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table, cell_numbers
from discreet.model.tableset import TableSet, VariableEquation


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
        self._sums: dict[tuple[Any, str], dict[str, tuple[tuple[str, int], ...]]] = {}
        self._memo: dict[tuple[Any, str], dict[str, frozenset[tuple[str, int]]]] = {}
        self.codes = [[self._numbers(i, v) for v in self.variables] for i in range(len(tables))]

    def _numbers(self, number: int, variable: str) -> Ints:
        """Numbers of the codes that a table has of a variable; only the total where it does not have it."""
        hierarchies = self._hierarchies(number, variable)
        own = self.tables.tables[number].spec.by.get(variable)
        totals = [h.total for h in hierarchies if h.total is not None]
        wanted = own.codes if own is not None else tuple(totals[:1])
        key = (self.universe[number], variable)
        meanings = (self.base_codes(number, variable, code) for code in wanted)
        listed = [self._known.setdefault((*key, meaning), len(self._known)) for meaning in meanings]
        return np.array(listed or [self._known.setdefault((*key, None), len(self._known))], np.int64)

    def _hierarchies(self, number: int, variable: str) -> list[Hierarchy]:
        """Hierarchies of a variable in all tables of one universe."""
        mates = [t for t, u in zip(self.tables, self.universe, strict=True) if u == self.universe[number]]
        return [t.spec.by[variable] for t in mates if variable in t.spec.by]

    def base_codes(self, number: int, variable: str, code: str) -> frozenset[tuple[str, int]]:
        """The base codes that a code of a table's variable sums, with their signs, as all tables together know it."""
        key = (self.universe[number], variable)
        if key not in self._sums:
            hierarchies = self._hierarchies(number, variable)
            self._sums[key] = {g.parent: g.parts for h in reversed(hierarchies) for g in reversed(h.groupings)}
        sums, memo = self._sums[key], self._memo.setdefault(key, {})

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

        return meaning(code)

    def columns(self, number: int) -> list[Ints]:
        """Numbers of every cell of a table, one column per variable."""
        table = self.tables.tables[number]
        return [
            codes[table.codes[:, table.variables.index(v)]] if v in table.spec.by else np.full(len(table), codes[0])
            for v, codes in zip(self.variables, self.codes[number], strict=True)
        ]

    @cached_property
    def cells(self) -> Ints:
        """One number for each row of all tables; it agrees exactly where cells mean the same."""
        return self._ranks([table.spec.identity[0] for table in self.tables])

    @cached_property
    def places(self) -> Ints:
        """The same, whatever the value variable is."""
        return self._ranks([""] * len(self.tables))

    def _ranks(self, values: list[str]) -> Ints:
        kinds: dict[tuple[str, ...], int] = {}
        parts = []
        for i, table in enumerate(self.tables):
            kind = np.full(len(table), kinds.setdefault((values[i], *self.universe[i]), len(kinds)), np.int64)
            parts.append([kind, *self.columns(i)])
        rank = np.zeros(sum(len(table) for table in self.tables), np.int64)
        for column in zip(*parts, strict=True):
            # Ranks stay below the number of cells, so the next product cannot overflow.
            joined = rank * (len(self._known) + len(kinds) + 1) + np.concatenate(column)
            rank = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        return rank

    def spans(self, number: int, other: int) -> Bools:
        """For which cells of another table this one has codes, so that a cell that it does not hold is empty."""
        result = np.full(len(self.tables.tables[other]), self.universe[number] == self.universe[other])
        for place, codes in zip(self.columns(other), self.codes[number], strict=True):
            result &= np.isin(place, codes)
        return result


class _Block(NamedTuple):
    """Relations of one kind: where rows stand in them, and for each how far it may be from adding up (in the finest
    unit), a grouping and a row to name it by."""

    row: Ints
    relation: Ints
    positive: Bools
    allowed: NDArray[Any]
    grouping: Ints
    sample: Ints


class RowRelations:
    """Which relations each row stands in; rows are numbered through all tables.

    Row ``r`` stands in ``relation[i]`` for ``i`` in ``start[r] .. start[r + 1]``, with a plus sign where
    ``positive[i]``; ``row[i]`` is that row again. Cells that are not there count as zero.
    """

    def __init__(self, tables: TableSet, meaning: Meaning) -> None:
        self.tables = tables
        sizes = np.array([len(table) for table in tables], np.int64)
        self.first: Ints = np.cumsum(sizes) - sizes
        finest = max(table.decimals for table in tables)
        blocks = [
            (table, k, _table_block(table, k, int(first), 10 ** (finest - table.decimals)))
            for table, first in zip(tables, self.first, strict=True)
            for k in range(len(table.variables))
        ]
        equations = [(e, -1, _equation_block(tables, meaning, e, self.first)) for e in tables.equations]
        self._blocks: list[tuple[Table | VariableEquation, int, _Block]] = [*blocks, *equations]
        self._ends = np.cumsum([len(block.sample) for _, _, block in self._blocks])
        offsets = [0, *self._ends[:-1].tolist()]
        self.row = np.concatenate([block.row for _, _, block in self._blocks])
        numbers = [block.relation + offset for (_, _, block), offset in zip(self._blocks, offsets, strict=True)]
        relation: Codes = np.concatenate(numbers).astype(np.int32)
        positive = np.concatenate([block.positive for _, _, block in self._blocks])
        order = np.argsort(self.row, kind="stable")
        self.row, self.relation, self.positive = self.row[order], relation[order], positive[order]
        self.start = pointers(np.bincount(self.row, minlength=int(sizes.sum())))

    def __len__(self) -> int:
        return int(self._ends[-1])

    @cached_property
    def variable(self) -> Ints:
        """For each relation the variable of its table that it sums over; -1 for equations between variables."""
        return np.repeat([k for _, k, _ in self._blocks], np.diff(self._ends, prepend=0)).astype(np.int64)

    @cached_property
    def exactly_added(self) -> Bools:
        """Relations that are sums of a table to the last unit, of which no part is subtracted."""
        parts = []
        for whose, k, block in self._blocks:
            plain = np.zeros(len(block.sample), np.bool_)
            if isinstance(whose, Table) and whose.slack is None:
                adds = [all(sign > 0 for _, sign in g.parts) for g in whose.spec.hierarchies[k].groupings]
                plain = np.array(adds, np.bool_)[block.grouping]
            parts.append(plain)
        return np.concatenate(parts)

    @cached_property
    def allowed(self) -> NDArray[Any]:
        """How far each relation may be from adding up, in the finest unit."""
        return np.concatenate([block.allowed for _, _, block in self._blocks])

    @property
    def table_sum(self) -> Bools:
        """Relations that are sums of a table."""
        return self.variable >= 0

    def broken(self, value: NDArray[Any]) -> list[int]:
        """Relations that values (in the finest unit) do not keep within the stated slack."""
        terms = np.where(self.positive, value[self.row], -value[self.row])
        longest = int(np.bincount(self.relation).max(initial=0))
        if terms.dtype != object and float(np.abs(terms.astype(np.float64)).max(initial=0)) * longest >= LARGEST:
            terms = terms.astype(object)
        sums = np.zeros(len(self), terms.dtype)
        np.add.at(sums, self.relation, terms)
        return np.flatnonzero(np.asarray(np.abs(sums) > self.allowed, np.bool_)).tolist()

    def _find(self, relation: int) -> tuple[Table | VariableEquation, int, _Block, int]:
        number = int(np.searchsorted(self._ends, relation, side="right"))
        whose, variable, block = self._blocks[number]
        return whose, variable, block, relation - (int(self._ends[number]) - len(block.sample))

    def equation(self, relation: int) -> str | None:
        """The equation between variables that a relation stands for."""
        whose = self._find(relation)[0]
        return str(whose) if isinstance(whose, VariableEquation) else None

    def is_named(self, relation: int, table: str, variable: str, number: int) -> bool:
        """Whether a relation is a sum of a table's variable, or without a variable an equation, by its number."""
        whose, k, block, inner = self._find(relation)
        if isinstance(whose, VariableEquation):
            return not variable and 0 <= number < len(self.tables.equations) and self.tables.equations[number] is whose
        return whose.name == table and whose.variables[k] == variable and int(block.grouping[inner]) == number

    def sample(self, relation: int) -> int:
        """A row that stands in a relation."""
        _, _, block, inner = self._find(relation)
        return int(block.sample[inner])

    def text(self, relation: int) -> str:
        """A sum of a table in words."""
        whose, variable, block, inner = self._find(relation)
        if not isinstance(whose, Table):
            return str(whose)
        row = int(block.sample[inner]) - int(self.first[self.tables.tables.index(whose)])
        grouping = whose.spec.hierarchies[variable].groupings[int(block.grouping[inner])]
        return f"{whose.name}: {whose.variables[variable]}: {grouping}, at {whose.cell_name(row)}"


def _table_block(table: Table, k: int, first: int, unit: int) -> _Block:
    """The sums of one variable of a table: one for each grouping and line of the other variables."""
    start, grouping, sign = _places_in_sums(table.spec.hierarchies[k])
    codes, others = table.codes[:, k], [j for j in range(len(table.variables)) if j != k]
    length = start[codes + 1] - start[codes]
    row = np.repeat(np.arange(len(table), dtype=np.int64), length)
    place = ranges(start[codes], length)
    lines, line = np.unique(cell_numbers(table.codes[:, others], [table.shape[j] for j in others]), return_inverse=True)
    _, sample, relation = np.unique(grouping[place] * len(lines) + line[row], return_index=True, return_inverse=True)
    slack = table.slack or 0
    cells = np.bincount(relation, minlength=len(sample))
    allowed = (cells + 1) // 2 if slack < 0 else np.full(len(sample), slack, object)
    return _Block(
        row=first + row,
        relation=relation.astype(np.int64),
        positive=sign[place] > 0,
        allowed=allowed * unit if slack else np.zeros(len(sample), np.int64),
        grouping=grouping[place[sample]],
        sample=first + row[sample],
    )


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


def _equation_block(tables: TableSet, meaning: Meaning, equation: VariableEquation, first: Ints) -> _Block:
    """An equation between variables, at every place where the total stands and every part stands or is empty."""
    signs = dict(equation.terms())
    rows = {
        v: np.concatenate(
            [
                np.arange(start, start + len(t))
                for t, start in zip(tables, first.tolist(), strict=True)
                if t.spec.value == v
            ]
        )
        for v in signs
    }
    places: Ints = np.zeros(0, np.int64)
    for other, (table, start) in enumerate(zip(tables, first.tolist(), strict=True)):
        if table.spec.value != equation.total:
            continue
        here = meaning.places[start : start + len(table)]
        good = np.ones(len(here), np.bool_)
        for v in signs:
            known = np.isin(here, meaning.places[rows[v]])
            for i, part in enumerate(tables):
                known |= part.spec.value == v and meaning.spans(i, other)
            good &= known
        places = np.union1d(places, here[good])
    row = np.sort(np.concatenate(list(rows.values())))
    # A cell that stands in several tables counts once.
    row = np.sort(row[np.unique(meaning.cells[row], return_index=True)[1]])
    row = row[np.isin(meaning.places[row], places)]
    used, sample, relation = np.unique(meaning.places[row], return_index=True, return_inverse=True)
    home = np.searchsorted(first, row, side="right") - 1
    sign = np.array([signs.get(t.spec.value or "", 0) for t in tables])
    return _Block(
        row=row.astype(np.int64),
        relation=relation.astype(np.int64),
        positive=sign[home] > 0,
        allowed=_equation_slack(tables, home, relation, len(used)),
        grouping=np.zeros(len(used), np.int64),
        sample=row[sample],
    )


def _equation_slack(tables: TableSet, home: Ints, relation: Ints, count: int) -> NDArray[Any]:
    """Half a unit for each cell of a rounded table, and the largest slack that a table states as a number."""
    finest = max(t.decimals for t in tables)
    halves, stated = np.zeros(count, object), np.zeros(count, object)
    for number, t in enumerate(tables):
        unit, slack = 10 ** (finest - t.decimals), t.slack or 0
        if slack < 0:
            np.add.at(halves, relation[home == number], unit)
        elif slack:
            np.maximum.at(stated, relation[home == number], slack * unit)
    return np.asarray(halves // 2 + stated)
