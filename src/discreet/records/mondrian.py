"""Local recoding: classes of records are cut in two again and again, where that lowers the loss most.

Every class then gets its own codes: the interval of its numbers, or the lowest code above all of its codes. Work is
done on combinations of codes that occur, not on records, and on all classes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.progress import checkpoint
from discreet.records.class_judges import ClassJudges, ValuePairs
from discreet.records.ladders import KeyColumn, base_codes_under, paths, refuse_unknown
from discreet.records.mondrian_kernels import best_cuts, divided, ends_of, inside_cuts, lowest_above, width
from discreet.rules.class_values import class_values

TOP = "*"
"""What stands above the codes of a key without a hierarchy."""


@dataclass(frozen=True, eq=False)
class KeyScale:
    """A key whose codes stand in an order in which neighbours may become one.

    ``place`` says for every number of the column its place in that order, negative where it is empty or stands for
    "unknown"; ``position`` is the position of each place on a line from 0 to 1, or its node in a tree.
    """

    column: KeyColumn
    place: Ints
    line: bool
    position: Floats
    parent: Ints
    depth: Ints
    loss: Floats
    nodes: tuple[str, ...]

    def name(self, lo: int, hi: int) -> str | None:
        """What the codes from one place to another become; nothing where they are empty."""
        if lo < 0:
            return None if lo == -1 else self.column.texts[-lo - 2]
        if not self.line:
            node = int(lowest_above(int(self.position[lo]), int(self.position[hi]), self.parent, self.depth))
            return self.nodes[node]
        return interval_name(self.nodes[lo], self.nodes[hi])

    def width(self, lo: int, hi: int) -> float:
        """What codes lose that become one."""
        return float(width(lo, hi, self.line, self.position, self.parent, self.depth, self.loss))


def interval_name(low: str, high: str) -> str:
    """The name of the numbers from one to another, both included, as ``Recode`` calls intervals.

    Examples
    --------
    >>> interval_name("15", "29"), interval_name("7", "7"), interval_name("0.5", "1"), interval_name("-3", "4")
    ('15-29', '7', '0.5 to 1', '-3 to 4')
    """
    if low == high:
        return low
    return f"{low}-{high}" if low.isdigit() and high.isdigit() else f"{low} to {high}"


def line_scale(column: KeyColumn) -> KeyScale:
    """Numbers on a line."""
    numbers = {number: float(text) for number, text in enumerate(column.texts, 1) if not column.unknown[number]}
    order = sorted(numbers, key=lambda number: numbers[number])
    place = _places(column, order)
    ends = (numbers[order[0]], numbers[order[-1]]) if order else (0.0, 0.0)
    span = (ends[1] - ends[0]) or 1.0
    position = np.array([(numbers[number] - ends[0]) / span for number in order])
    none = np.zeros(0, np.int64)
    texts = tuple(column.texts[number - 1] for number in order)
    return KeyScale(column, place, True, position, none, none, np.zeros(0), texts)


def tree_scale(column: KeyColumn, hierarchy: Hierarchy | None) -> KeyScale:
    """Codes of a hierarchy in the order of the tree; codes without one all stand under one top."""
    if hierarchy is None:
        known = [text for number, text in enumerate(column.texts, 1) if not column.unknown[number]]
        path = {text: [TOP, text] for text in sorted(known)}
        under = {**dict.fromkeys(known, 1), TOP: len(known)}
    else:
        path = paths(hierarchy)
        refuse_unknown(column, path)
        under = base_codes_under(hierarchy, path)
        if len({line[0] for line in path.values()}) > 1:
            path = {code: ["", *line] for code, line in path.items()}
    codes = list(dict.fromkeys(code for line in path.values() for code in line))
    node = {code: number for number, code in enumerate(codes)}
    rank = {code: tuple(node[above] for above in line) for code, line in path.items()}
    numbers = [number for number, text in enumerate(column.texts, 1) if not column.unknown[number]]
    order = sorted(numbers, key=lambda number: rank[column.texts[number - 1]])
    place = _places(column, order)
    parent, depth = np.full(len(codes), -1, np.int64), np.zeros(len(codes), np.int64)
    for line in path.values():
        for up, down in pairwise(line):
            parent[node[down]], depth[node[down]] = node[up], line.index(down)
    every = max(under.values())
    loss = np.array([(under[code] - 1) / max(every - 1, 1) for code in codes])
    position = np.array([float(node[column.texts[number - 1]]) for number in order])
    return KeyScale(column, place, False, position, parent, depth, loss, tuple(codes))


def _places(column: KeyColumn, order: Sequence[int]) -> Ints:
    """The place of every number of a column; -1 where it is empty, and below for each code that stands for unknown."""
    place = -np.arange(1, column.size + 1)
    place[list(order)] = np.arange(len(order))
    return place.astype(np.int64)


def numbered_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """ValuePairs that occur, in their order, and which of them each is."""
    low, base = int(first.min(initial=0)), int(second.min(initial=0))
    span = int(second.max(initial=0)) - base + 1
    number = (first - low) * span + (second - base)
    most = int(number.max(initial=0)) + 1
    if most <= 4 * len(number) + 10**6:
        there = np.zeros(most, np.bool_)
        there[number] = True
        pairs, place = np.flatnonzero(there), (np.cumsum(there) - 1)[number]
    else:
        pairs, place = np.unique(number, return_inverse=True)
    return pairs // span + low, pairs % span + base, place.ravel()


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of combinations: ``cells[start[c] : start[c + 1]]`` are those of class ``c``."""

    cells: Ints
    start: Ints

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(eq=False)
class Mondrian:
    """Combinations of codes that occur, with their records and sensitive values, to be divided into classes.

    ``codes`` has a row for every key.
    """

    scales: tuple[KeyScale, ...]
    codes: Ints
    records: Ints
    pairs: tuple[ValuePairs, ...]
    judges: ClassJudges

    def first(self) -> Partition:
        """Combinations that are empty or unknown in the same keys."""
        group = np.zeros(len(self.records), np.int64)
        for code in self.codes:
            if code.min() < 0:
                _, _, group = numbered_pairs(group, np.minimum(code, 0))
        order = np.argsort(group, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(group)))
        return Partition(order, start.astype(np.int64))

    def gapped(self, classes: Partition) -> Bools:
        """Classes that are empty or unknown in some key."""
        first = classes.cells[classes.start[:-1]]
        return np.asarray(np.any([code[first] < 0 for code in self.codes], axis=0), np.bool_)

    def safe(self, classes: Partition, gapped: Bools) -> Bools:
        """Classes that keep the rules."""
        group = np.repeat(np.arange(len(classes)), np.diff(classes.start))
        records = np.bincount(group, self.records[classes.cells], len(classes)).astype(np.int64)
        good = self.judges.enough(records, gapped)
        return good & self._values_safe(classes.cells, group, len(classes), gapped)

    def _values_safe(self, cells: Ints, group: Ints, many: int, gapped: Bools) -> Bools:
        if not self.judges.sensitive:
            return np.ones(many, np.bool_)
        of_cell = np.full(len(self.records), -1, np.int64)
        of_cell[cells] = group
        values = []
        for mine, column in zip(self.pairs, self.judges.columns, strict=True):
            owner = of_cell[mine.owner]
            there = owner >= 0
            values.append(class_values(owner[there], mine.value[there], len(column.known), mine.count[there]))
        return self.judges.values_safe(values, gapped)

    def divide(self, classes: Partition) -> Partition:
        """Cut classes while that lowers the loss and both halves keep the rules."""
        done: list[Ints] = []
        sizes: list[Ints] = []
        finished, everybody = 0, int(self.records.sum())
        active = classes
        while len(active):
            checkpoint("classes of records", finished, everybody)
            halved, inside = self._cuts(active)
            length = np.diff(active.start)
            done.append(active.cells[np.repeat(~halved, length)])
            sizes.append(length[~halved])
            finished += int(self.records[done[-1]].sum())
            order, start = np.empty(len(active.cells), np.int64), np.empty(2 * len(active) + 1, np.int64)
            many = divided(active.cells, active.start, halved, inside, order, start)
            active = Partition(order[: start[many]].copy(), start[: many + 1].copy())
        return Partition(np.concatenate(done), np.append(0, np.cumsum(np.concatenate(sizes))).astype(np.int64))

    def _cuts(self, active: Partition) -> tuple[Bools, Bools]:
        """Which classes are cut, and which of their combinations lie inside the cut."""
        many, keys = len(active), len(self.scales)
        falls, cuts = np.zeros((keys, many)), np.zeros((keys, many, 2), np.int64)
        records = self.records[active.cells]
        least, simple = max(self.judges.least, self.judges.least_open), self.judges.counts_only
        for j, scale in enumerate(self.scales):
            best_cuts(
                self.codes[j][active.cells],
                records,
                active.start,
                least,
                scale.line,
                scale.position,
                scale.parent,
                scale.depth,
                scale.loss,
                falls[j],
                cuts[j],
            )
        ranking = falls.argmax(axis=0)[None, :] if simple else np.argsort(-falls, axis=0, kind="stable")
        group = np.repeat(np.arange(many), np.diff(active.start))
        halved, inside = np.zeros(many, np.bool_), np.zeros(len(active.cells), np.bool_)
        for key in ranking:
            tried = ~halved & (falls[key, np.arange(many)] > 0)
            if not tried.any():
                break
            within = np.zeros(len(active.cells), np.bool_)
            inside_cuts(self.codes, active.cells, active.start, key, cuts, within)
            good = tried if simple else tried & self._both_safe(active, group, within, tried)
            inside[good[group]] = within[good[group]]
            halved |= good
        return halved, inside

    def _both_safe(self, active: Partition, group: Ints, within: Bools, tried: Bools) -> Bools:
        """Classes of which both halves keep the rules on sensitive values."""
        mine = tried[group]
        number = np.cumsum(tried) - 1
        half = 2 * number[group[mine]] + ~within[mine]
        many = 2 * int(tried.sum())
        good = self._values_safe(active.cells[mine], half, many, np.zeros(many, np.bool_))
        both = np.zeros(len(tried), np.bool_)
        both[tried] = good[0::2] & good[1::2]
        return both

    def ends(self, classes: Partition, key: int) -> tuple[Ints, Ints]:
        """The lowest and the highest place of a key in every class."""
        low, high = np.empty(len(classes), np.int64), np.empty(len(classes), np.int64)
        ends_of(self.codes[key][classes.cells], classes.start, low, high)
        return low, high
