"""The modular engine (HiTaS): sub-tables without hierarchies, solved exactly, level by level from the top.

In every sub-table the cheapest cells are withheld that let each unsafe cell move by its level there. Cells that are
withheld already enter as cells to protect; margins that are published cost more than all inner cells together. Where a
margin must be withheld all the same, it is marked and the work starts again from the top; only sub-tables that hold a
cell for which something changed are looked at then. Sub-tables of one level are solved at the same time. What they
give away *together* is not looked at: over all relations some unsafe cells may be short of their levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np

from discreet.errors import counted, listed
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints
from discreet.parallel import shared
from discreet.parameters import Declared, Natural, Number
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.engines.proposal import Proposal, candidates, numbers, starting_pattern
from discreet.tables.engines.smallest import FlatTable, SmallestPattern, cheapest
from discreet.tables.engines.subtables import Subtables, subtables
from discreet.tables.engines.visits import NONE, SubtableHolders, Visits

MOST_RESTARTS = 500


@dataclass(frozen=True)
class ModularSettings(Declared):
    """How sub-tables are protected.

    Parameters
    ----------
    singletons
        ``"sums"``: where a line of a sub-table holds exactly two unsafe cells, one of them with a single contributor,
        or unsafe cells with few contributors together, their sum must be able to move as well. ``"none"``: outsiders.
    least_contributors
        Unsafe cells of a line with so few contributors together count as few.
    carried
        By how many per cent of their value (at most the largest level of all) secondaries must be able to move in
        other sub-tables that hold them; at least by one unit.
    nodes
        How many nodes of its search tree a sub-table may take; the best pattern found is used beyond that.
        ``None`` solves every sub-table to its optimum, however long that takes.
    """

    singletons: Literal["sums", "none"] = "sums"
    least_contributors: Natural = 3
    carried: Annotated[float, Number(least=0)] = 0.0
    nodes: Natural | None = 1_000


class _SubTable(NamedTuple):
    """A sub-table: its level, table and number, its cells, and which of its axes have a total."""

    level: int
    table: int
    number: int
    cells: Codes
    whole: Bools


@dataclass
class _WorkDone:
    """Counted work, and what could not be done."""

    solved: int = 0
    restarts: int = 0
    programs: int = 0
    stopped: int = 0
    short: dict[int, _SubTable] = field(default_factory=dict)


def propose(system: System, cost: Floats, settings: ModularSettings | None = None) -> Proposal:
    """A pattern in which every unsafe cell keeps its level in each sub-table without hierarchies."""
    return _Modular(system, cost, settings or ModularSettings()).run()


class _Modular:
    def __init__(self, system: System, cost: Floats, settings: ModularSettings) -> None:
        self.system, self.settings = system, settings
        self.subtables = subtables(system, "modular")
        self.start = starting_pattern(system)
        self.allowed = self.start | candidates(system)
        self.cost = np.maximum(cost, max(float(cost.mean()) if len(cost) else 0.0, 1e-9) * 1e-6)
        up = np.where(system.upper_bound >= NO_UPPER, np.inf, np.maximum(system.upper_bound - system.value, 0))
        down = np.where(system.lower_bound <= NO_LOWER, np.inf, np.maximum(system.value - system.lower_bound, 0))
        self.up, self.down = up.astype(np.float64), down.astype(np.float64)
        missing = np.maximum(system.sliding_level - system.upper_level - system.lower_level, 0)
        self.need_up = np.where(system.unsafe, system.upper_level + missing, 0).astype(np.float64)
        self.need_down = np.where(system.unsafe, system.lower_level, 0).astype(np.float64)
        largest = max(float(self.need_up.max(initial=0)), float(self.need_down.max(initial=0)), 1.0)
        self.carried = np.maximum(np.minimum(settings.carried / 100 * np.abs(system.value), largest), 1.0)
        self.memory: dict[tuple[int, int, bytes], SmallestPattern] = {}
        self.work = _WorkDone()

    def run(self) -> Proposal:
        order = sorted(
            (int(level), t, number) for t, part in enumerate(self.subtables) for number, level in enumerate(part.level)
        )
        places = [_place(self.subtables[t], level, t, number) for level, t, number in order]
        holders = SubtableHolders([place.cells for place in places], len(self.system))
        levels = _levels(places)
        marked = self.start.copy()
        withheld, again = self._downwards(places, holders, levels, marked)
        while len(again) and self.work.restarts < MOST_RESTARTS:
            marked[again] = True
            self.work.restarts += 1
            withheld, again = self._downwards(places, holders, levels, marked)
        return self._proposal(withheld, len(again) > 0)

    def _downwards(
        self, places: list[_SubTable], holders: SubtableHolders, levels: list[Visits], marked: Bools
    ) -> tuple[Bools, Ints]:
        """One way from the top to the finest sub-tables, or to the first level at which margins had to be withheld.

        Sub-tables of one level do not look at each other's results, so that they can be solved at the same time.
        """
        withheld = marked.copy()
        self.work.short.clear()
        for level in levels:
            checkpoint("modular", level.first, len(places))
            self._visit(places, level, level.changed(holders, withheld))
            for p, cells in sorted(level.short.items()):
                for cell in cells.tolist():
                    self.work.short.setdefault(cell, places[p])
            withheld[level.all_added] = True
            if level.margins:
                return withheld, level.all_margins
        late = [level.late(holders, withheld) for level in levels]
        return withheld, np.unique(np.concatenate(late)) if late else NONE

    def _visit(self, places: list[_SubTable], level: Visits, visited: Sequence[int]) -> None:
        """Look at some sub-tables of a level, as things were withheld when that began."""
        assert level.seen is not None
        hidden = {p: (places[p].cells >= 0) & level.seen[places[p].cells] for p in visited}
        found = self._solved(places, {p: mask for p, mask in hidden.items() if mask.any()}, level.first)
        for p in hidden:
            if p not in found:
                level.note(p, NONE, NONE, NONE)
                continue
            result, flat = found[p], places[p].cells.ravel().astype(np.int64)
            short = flat[result.short]
            margins = flat[result.new[_is_margin(places[p], result.new)]]
            level.note(p, flat[result.new], margins, short[self.system.unsafe[short]])

    def _solved(self, places: list[_SubTable], hidden: dict[int, Bools], done: int) -> dict[int, SmallestPattern]:
        """The cheapest patterns of sub-tables, from memory or made at the same time, in a fixed order."""
        key = {p: (places[p].table, places[p].number, np.packbits(mask).tobytes()) for p, mask in hidden.items()}
        fresh = [p for p in hidden if key[p] not in self.memory]

        def problem(p: int) -> FlatTable:
            return self._problem(places[p], hidden[p])

        solve = partial(cheapest, nodes=self.settings.nodes)
        with closing(shared(solve, problem, fresh, "modular", done, len(places))) as results:
            for p, found in zip(fresh, results, strict=True):
                self.memory[key[p]] = found
                self.work.solved += 1
                self.work.programs += found.programs
                self.work.stopped += not found.proved
        return {p: self.memory[key[p]] for p in hidden}

    def _problem(self, place: _SubTable, hidden: Bools) -> FlatTable:
        """What must be able to move in a sub-table, and what its cells cost there."""
        cells, whole = place.cells, place.whole
        flat = cells.ravel()
        there = flat >= 0
        safe = np.where(there, flat, 0)
        weight = np.where(there, self.cost[safe], 0.0).reshape(cells.shape)
        weight = weight / max(float(weight.max()), 1e-300)
        weight = weight + float(weight.max()) * _margin_weights(cells.shape, whole)
        unsafe = there & self.system.unsafe[safe]
        secondary, carried = hidden.ravel() & ~unsafe, self.carried[safe]
        return FlatTable(
            cells,
            whole,
            hidden,
            (there & self.allowed[safe]).reshape(cells.shape),
            weight,
            np.where(there, self.up[safe], 0.0),
            np.where(there, self.down[safe], 0.0),
            np.where(unsafe, self.need_up[safe], np.where(secondary, carried, 0.0)),
            # What can rise by one unit can also fall a little: one direction is enough for cells to be unknown.
            np.where(unsafe, self.need_down[safe], np.where(secondary & (self.settings.carried > 0), carried, 0.0)),
            self._sums(cells, hidden, unsafe.reshape(cells.shape), whole),
        )

    def _sums(self, cells: Codes, hidden: Bools, unsafe: Bools, whole: Bools) -> list[tuple[int, Ints]]:
        """Lines of a sub-table (axis, places) whose unsafe cells must not be known as a sum."""
        if self.settings.singletons == "none":
            return []
        count = np.where(cells >= 0, self.system.contributors[np.where(cells >= 0, cells, 0)], 0)
        place = np.arange(cells.size).reshape(cells.shape)
        found = []
        for axis in np.flatnonzero(whole).tolist():
            size = cells.shape[axis]
            mine, all_hidden, counts, places = (
                np.moveaxis(a, axis, -1).reshape(-1, size) for a in (unsafe, hidden, count, place)
            )
            many = mine.sum(axis=1)
            sole = (mine & (counts == 1)).any(axis=1)
            few = ((counts * mine).sum(axis=1) <= self.settings.least_contributors) & ~(mine & (counts == 0)).any(
                axis=1
            )
            for line in np.flatnonzero((many == all_hidden.sum(axis=1)) & (((many == 2) & sole) | ((many > 1) & few))):
                found.append((axis, places[line][mine[line]].astype(np.int64)))
        return found

    def _proposal(self, withheld: Bools, given_up: bool) -> Proposal:
        work, notes = self.work, []
        if given_up:
            notes.append(f"After {work.restarts} new starts some sub-tables still withhold cells of others.")
        if work.short:
            names = [
                f"{self.system.cell_name(cell)} (in {self._name(work.short[cell])})" for cell in sorted(work.short)
            ]
            notes.append(
                f"{counted(len(work.short), 'unsafe cell')} cannot keep the level in a sub-table: {listed(names, 5)}."
            )
        if work.stopped:
            notes.append(
                f"{work.stopped} of {work.solved} sub-tables have a cheap pattern, not proved to be the cheapest."
            )
        unprotected = np.zeros(len(self.system), np.bool_)
        unprotected[list(work.short)] = True
        effort = {
            "subtables_solved": work.solved,
            "subtables_proved": work.solved - work.stopped,
            "restarts": work.restarts,
            "programs": work.programs,
        }
        return Proposal(withheld, numbers(unprotected), effort, tuple(notes))

    def _name(self, place: _SubTable) -> str:
        """A sub-table in words: the codes that its lines are the parts of."""
        part, table = self.subtables[place.table], self.system.tables.tables[place.table]
        top = part.code[part.start[part.lines(place.number)]].tolist()
        codes = ", ".join(f"{v}={code}" for v, code in zip(table.variables, table.spec_codes(top), strict=True))
        return f"the sub-table of {codes}"


def _place(part: Subtables, level: int, table: int, number: int) -> _SubTable:
    return _SubTable(level, table, number, part.cells(number), part.whole[part.lines(number)].astype(np.bool_))


def _is_margin(place: _SubTable, flat: Ints) -> Bools:
    """Which places of a sub-table are totals."""
    at = np.stack(np.unravel_index(flat, place.cells.shape), axis=-1)
    result: Bools = np.any((at == 0) & place.whole, axis=-1)
    return result


def _levels(places: list[_SubTable]) -> list[Visits]:
    """Sub-tables of one level each; none has been looked at."""
    level = np.array([place.level for place in places], np.int64)
    starts = np.flatnonzero(np.diff(level, prepend=-1)) if len(level) else NONE
    return [Visits(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(places)], strict=True)]


def _margin_weights(shape: tuple[int, ...], whole: Bools) -> Floats:
    """How many times the dearest cell each margin costs more: the number of inner cells along its summed axes."""
    factor = np.ones(shape)
    margin = np.zeros(shape, np.bool_)
    for axis in np.flatnonzero(whole).tolist():
        zero = [slice(None)] * len(shape)
        zero[axis] = slice(0, 1)
        factor[tuple(zero)] *= max(shape[axis] - 1, 1)
        margin[tuple(zero)] = True
    return np.where(margin, factor, 0.0)
