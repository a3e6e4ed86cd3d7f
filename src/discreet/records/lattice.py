"""The least lossy generalisation of all keys at once, among all combinations of their levels.

Everything is done on combinations of codes that occur, not on records: a level further up merges some of them. The
search goes through the levels of the first key, for each of them through those of the second, and so on, and makes each
table from the one before, so that the many nodes high up cost little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from discreet.errors import ParameterError
from discreet.model.arrays import Bools, Ints
from discreet.progress import checkpoint
from discreet.records.class_judges import ClassJudges, ValuePairs
from discreet.records.ladders import Ladder
from discreet.records.lattice_kernels import price_of_suppression, rolled_pairs, rolled_up, with_gaps
from discreet.records.node_losses import NodeLosses
from discreet.rules.class_values import gathered_values
from discreet.rules.key_counts import compacted, numbered
from discreet.rules.population import PopulationCounts

WORD = 2**62
"""KeyDigits of a combination must fit into two whole numbers below this."""
MOST_NODES = 5_000_000
EXHAUSTIVE = 20_000
"""Lattices of up to so many nodes are gone through whole, so that all of their nodes can be shown."""
MOST_JOINED = 50
"""So many further classes may be suppressed so that those suppressed keep the rules together."""
LITTLE = 1e-9


@dataclass(frozen=True, eq=False)
class CellTable:
    """Combinations of codes at some levels of the keys, each once, with records, units and sensitive values."""

    high: Ints
    low: Ints
    records: Ints
    units: Ints
    pairs: tuple[ValuePairs, ...]


@dataclass(frozen=True)
class JudgedNode:
    """One combination of levels: how many records it would suppress, what it loses, and whether it keeps the rules."""

    levels: tuple[int, ...]
    suppressed: int
    loss: float
    feasible: bool


@dataclass(frozen=True, eq=False)
class KeyDigits:
    """Where the code of each key stands in the numbers of a combination."""

    in_high: Bools
    stride: Ints
    size: Ints

    @classmethod
    def of(cls, sizes: Sequence[int]) -> KeyDigits:
        """Keys fill the lower word first."""
        in_high, stride, used, word = [], [], 1, 0
        for size in sizes:
            if used * size >= WORD:
                used, word = 1, word + 1
            in_high.append(word == 1)
            stride.append(used)
            used *= size
        if word > 1:
            raise ParameterError(
                f"{len(sizes)} keys have more combinations of codes than can be told apart.",
                hint="Give fewer keys, or recode those with very many codes first.",
            )
        return cls(np.array(in_high), np.array(stride, np.int64), np.array(sizes, np.int64))

    def words(self, columns: Sequence[Ints]) -> tuple[Ints, Ints]:
        """Combinations as two numbers."""
        high, low = np.zeros(len(columns[0]), np.int64), np.zeros(len(columns[0]), np.int64)
        for place, column in enumerate(columns):
            word = high if self.in_high[place] else low
            word += column * self.stride[place]
        return high, low

    def codes(self, place: int, high: Ints, low: Ints) -> Ints:
        """The codes of one key."""
        word = high if self.in_high[place] else low
        return np.asarray(word // self.stride[place] % self.size[place], np.int64)


@dataclass(eq=False)
class LevelLattice:
    """Levels of keys, the combinations that occur, and the rules; :meth:`search` finds the best node."""

    ladders: tuple[Ladder, ...]
    judges: ClassJudges
    losses: NodeLosses
    most: int
    """So many records may be suppressed."""
    base: CellTable
    digits: KeyDigits
    judged: list[JudgedNode] = field(default_factory=list)
    best: JudgedNode | None = None
    best_gone: Bools | None = None
    best_table: CellTable | None = None
    count: int = 0

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return prod(len(one) for one in self.ladders)

    def search(self) -> JudgedNode | None:
        """The node that keeps the rules and loses least; the lowest and first of several."""
        if self.nodes > MOST_NODES:
            raise ParameterError(
                f"The hierarchies of the keys have {self.nodes:,} combinations of levels; at most {MOST_NODES:,} are "
                "looked at.",
                hint="Give fewer keys, hierarchies with fewer levels, or algorithm='local'.",
            )
        prune = self.nodes > EXHAUSTIVE and self.losses.additive
        if prune:
            self._descend()
        self._visit(0, (), self.base, prune)
        return self.best

    def _visit(self, place: int, levels: tuple[int, ...], table: CellTable, prune: bool) -> None:
        """All nodes that begin with some levels."""
        for level in range(len(self.ladders[place])):
            if level:
                table = self._rolled(table, place, level - 1)
            here = (*levels, level)
            if prune and self.best is not None and self.losses.at_least(here) > self.best.loss + LITTLE:
                return  # further levels only lose more
            if place == len(self.ladders) - 1:
                self._judge(here, table)
            else:
                self._visit(place + 1, here, table, prune)

    def _descend(self) -> None:
        """Walk down from the top while the rules hold, so that there is something to beat."""
        levels = tuple(len(one) - 1 for one in self.ladders)
        self._judge(levels, self._at(levels))
        while self.best is not None:
            before = self.best
            for place in range(len(levels)):
                if before.levels[place]:
                    down = tuple(level - (i == place) for i, level in enumerate(before.levels))
                    self._judge(down, self._at(down))
            if self.best is before:
                return

    def _at(self, levels: Sequence[int]) -> CellTable:
        """The table of a node, from the bottom."""
        table = self.base
        for place, level in enumerate(levels):
            for below in range(level):
                table = self._rolled(table, place, below)
        return table

    def _rolled(self, table: CellTable, place: int, level: int) -> CellTable:
        """A table with one key a level further up."""
        cells = len(table.high)
        new = [np.empty(cells, np.int64) for _ in range(5)]
        step = self.ladders[place].step(level)
        at = self.digits
        many = rolled_up(
            table.high,
            table.low,
            table.records,
            table.units,
            bool(at.in_high[place]),
            int(at.stride[place]),
            int(at.size[place]),
            step,
            *new,
        )
        high, low, records, units = (one[:many].copy() for one in new[:4])
        pairs = []
        for mine, column in zip(table.pairs, self.judges.columns, strict=True):
            parts = [np.empty(len(mine.owner), np.int64) for _ in range(3)]
            left = rolled_pairs(new[4], mine.owner, mine.value, mine.count, len(column.known), *parts)
            pairs.append(ValuePairs(*(one[:left].copy() for one in parts)))
        return CellTable(high, low, records, units, tuple(pairs))

    def _judge(self, levels: tuple[int, ...], table: CellTable) -> None:
        """Ask the rules of a node, and keep it where it is the best so far."""
        self.count += 1
        if self.count % 64 == 0:
            checkpoint("generalisations", min(self.count, self.nodes), self.nodes)
        gone = self._gone(levels, table)
        feasible = gone is not None
        gone = self._broken(levels, table) if gone is None else gone
        empty = self._empty(table)
        suppressed = int(table.records[gone & ~empty].sum())
        feasible &= suppressed <= self.most
        node = JudgedNode(levels, suppressed, self.loss_of(levels, table, gone), feasible)
        if self.nodes <= EXHAUSTIVE:
            self.judged.append(node)
        if feasible and (self.best is None or _order(node) < _order(self.best)):
            self.best, self.best_gone, self.best_table = node, gone, table

    def _empty(self, table: CellTable) -> Bools:
        """The combination with nothing in it."""
        return np.asarray((table.high == 0) & (table.low == 0), np.bool_)

    def loss_of(self, levels: tuple[int, ...], table: CellTable, gone: Bools) -> float:
        """What a node loses that suppresses some combinations; the empty one has nothing to lose."""
        at, cost, gone = self.digits, self.losses, gone & ~self._empty(table)
        price = 0.0
        if cost.additive and gone.any():
            price = price_of_suppression(
                table.high,
                table.low,
                table.records,
                gone,
                at.in_high,
                at.stride,
                at.size,
                np.array(levels, np.int64),
                cost.cost,
                cost.whole,
            )
        kept = table.records[~gone & (table.records > 0)]
        joins = bool(gone.any()) and bool((self._empty(table) & (table.records > 0)).any())
        return self.losses.of_node(levels, price, kept, int(table.records[gone].sum()), joins)

    def _broken(self, levels: tuple[int, ...], table: CellTable) -> Bools:
        """Combinations that break a rule, as they stand."""
        gapped = np.zeros(len(table.high), np.bool_)
        at = self.digits
        if self.losses.any_gap:
            with_gaps(
                table.high,
                table.low,
                at.in_high,
                at.stride,
                at.size,
                np.array(levels, np.int64),
                self.losses.gap,
                gapped,
            )
        good = self.judges.enough(table.records, gapped)
        if self.judges.sensitive:
            values = [gathered_values(one.owner, one.value, one.count, len(good)) for one in table.pairs]
            good &= self.judges.values_safe(values, gapped)
        for rule in self.judges.maps:
            good &= table.units >= rule.k
        for presence in self.judges.presences:
            good &= table.records <= (presence.upper + LITTLE) * table.units
            good &= table.records >= (presence.lower - LITTLE) * table.units
        return ~good & (table.records > 0)

    def _gone(self, levels: tuple[int, ...], table: CellTable) -> Bools | None:
        """Combinations that are suppressed, so that all rules hold; nothing where they cannot."""
        gone = self._broken(levels, table)
        if not gone.any():
            return gone if self._all_present(table, gone) else None
        gone = gone | (self._empty(table) & (table.records > 0))
        total = int(table.records[gone].sum())
        most = self.most + int(table.records[self._empty(table)].sum())
        if total > most:
            return None
        if not self.judges.suppressed_safe(total, table.pairs, gone):
            joined = self._joined(table, gone, total, most)
            if joined is None:
                return None
            gone = joined
        return gone if self._all_present(table, gone) else None

    def _joined(self, table: CellTable, gone: Bools, total: int, most: int) -> Bools | None:
        """Further classes are suppressed, the smallest first, until those suppressed keep the rules together."""
        free = np.flatnonzero(~gone & (table.records > 0))
        order = free[np.lexsort((table.low[free], table.high[free], table.records[free]))]
        gone = gone.copy()
        for place in order[:MOST_JOINED].tolist():
            gone[place] = True
            total += int(table.records[place])
            if total > most:
                return None
            if self.judges.suppressed_safe(total, table.pairs, gone):
                return gone
        return None

    def _all_present(self, table: CellTable, gone: Bools) -> bool:
        """Whether chances to be in the file stay within their bounds once suppressed records may be anybody."""
        everybody = int(table.units.sum())
        suppressed = int(table.records[gone].sum())
        if self.judges.maps and suppressed and any(everybody < rule.k for rule in self.judges.maps):
            return False
        people = table.units > 0
        for rule in self.judges.presences:
            spread = suppressed / everybody
            own = np.where(gone, 0, table.records)[people] / table.units[people]
            high, low = float((own + spread).max()), float(np.maximum(own, spread).min())
            if high > min(rule.upper, 1.0) + LITTLE or low < rule.lower - LITTLE:
                return False
        return True


def _order(node: JudgedNode) -> tuple[float, int, tuple[int, ...]]:
    # Losses are sums of floating-point numbers: those that agree to twelve digits are the same.
    return (float(f"{node.loss:.12g}"), sum(node.levels), node.levels)


def base_table(ladders: Sequence[Ladder], judges: ClassJudges) -> tuple[CellTable, KeyDigits, Ints]:
    """The combinations of codes that occur, and the combination of every record."""
    columns = [one.column.codes for one in ladders]
    sizes = [one.column.size for one in ladders]
    rows = len(columns[0])
    population = judges.population
    units = np.zeros(0, np.int64)
    if population is not None:
        more = _people(ladders, population)
        columns = [np.concatenate((mine, theirs)) for mine, theirs in zip(columns, more, strict=True)]
        units = population.units
    digits = KeyDigits.of(sizes)
    cell, many = compacted(numbered(columns, sizes, len(columns[0]))[0])
    first = np.zeros(many, np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    high, low = digits.words([column[first] for column in columns])
    mine, theirs = cell[:rows], cell[rows:]
    records = np.bincount(mine, minlength=many).astype(np.int64)
    people = np.bincount(theirs, units, many).astype(np.int64)
    pairs = tuple(_pairs(mine, column.codes, len(column.known)) for column in judges.columns)
    return CellTable(high, low, records, people, pairs), digits, mine


def _pairs(cell: Ints, value: Ints, size: int) -> ValuePairs:
    pair, many = compacted(cell * size + value)
    first = np.zeros(many, np.int64)
    first[pair[::-1]] = np.arange(len(pair))[::-1]
    return ValuePairs(cell[first], value[first], np.bincount(pair, minlength=many).astype(np.int64))


def _people(ladders: Sequence[Ladder], population: PopulationCounts) -> Iterator[Ints]:
    """Codes of the population, which the ladders know."""
    for place, one in enumerate(ladders):
        known = {text: number for number, text in enumerate(one.column.texts, 1)}
        # Codes that no unit has (those for "unknown" of the population) are in no ladder.
        numbers = np.array([*(known.get(code, 0) for code in population.codes[place]), known.get("", 0)], np.int64)
        yield numbers[population.columns[place]]


def suppressed_cells(lattice: LevelLattice) -> Bools:
    """Which combinations of the base table the best node suppresses."""
    best, table, gone = lattice.best, lattice.best_table, lattice.best_gone
    assert best is not None
    assert table is not None
    assert gone is not None
    digits, base = lattice.digits, lattice.base
    columns = [
        one.rungs[level].code[digits.codes(place, base.high, base.low)]
        for place, (one, level) in enumerate(zip(lattice.ladders, best.levels, strict=True))
    ]
    high, low = digits.words(columns)
    if not base.high.any():
        return np.isin(low, table.low[gone])
    wanted = set(zip(table.high[gone].tolist(), table.low[gone].tolist(), strict=True))
    return np.array([pair in wanted for pair in zip(high.tolist(), low.tolist(), strict=True)], np.bool_)
