"""The modular engine (HiTaS): sub-tables without hierarchies, solved exactly one after the other from the top.

In every sub-table the cheapest cells are withheld that let each unsafe cell move by its level there. Cells that are
withheld already enter as cells to protect; margins that are published cost more than all inner cells together. Where a
margin must be withheld all the same, it is marked and the work starts again from the top; sub-tables for which nothing
changed are taken from memory. What sub-tables give away *together* is not looked at: over all relations some unsafe
cells may be short of their levels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from discreet.errors import ParameterError, unknown_name
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.engines.proposal import Proposal, candidates, numbers, starting_pattern
from discreet.tables.engines.smallest import Problem, cheapest
from discreet.tables.engines.subtables import Subtables, subtables

SINGLETONS = ("sums", "none")
MOST_RESTARTS = 500


@dataclass(frozen=True)
class ModularSettings:
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
        How many nodes of its search tree a sub-table may take; a cheap pattern made without it is used beyond that.
    """

    singletons: Literal["sums", "none"] = "sums"
    least_contributors: int = 3
    carried: float = 0.0
    nodes: int = 200

    def __post_init__(self) -> None:
        if self.singletons not in SINGLETONS:
            raise ParameterError(unknown_name("setting of singletons", str(self.singletons), SINGLETONS))
        for name in ("least_contributors", "carried", "nodes"):
            if getattr(self, name) < 0:
                raise ParameterError(f"{name}={getattr(self, name)!r} is not allowed.", hint="Give 0 or more.")


@dataclass
class _Work:
    """Counted work, and what could not be done."""

    solved: int = 0
    restarts: int = 0
    programs: int = 0
    stopped: int = 0
    short: set[int] = field(default_factory=set)


def propose(system: System, cost: Floats, settings: ModularSettings | None = None) -> Proposal:
    """A pattern in which every unsafe cell keeps its level in each sub-table without hierarchies."""
    return _Modular(system, cost, settings or ModularSettings()).run()


class _Modular:
    def __init__(self, system: System, cost: Floats, settings: ModularSettings) -> None:
        self.system, self.settings = system, settings
        self.parts = subtables(system, "modular")
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
        self.memory: dict[tuple[int, int, bytes], tuple[Ints, Ints]] = {}
        self.work = _Work()

    def run(self) -> Proposal:
        order = sorted(
            (int(level), t, number) for t, part in enumerate(self.parts) for number, level in enumerate(part.level)
        )
        places = [(level, t, number, self.parts[t].cells(number)) for level, t, number in order]
        marked = self.start.copy()
        withheld = marked
        for _ in range(MOST_RESTARTS):
            withheld, again = self._downwards(places, marked)
            if not len(again):
                break
            marked[again] = True
            self.work.restarts += 1
        return self._proposal(withheld)

    def _downwards(self, places: list[tuple[int, int, int, Codes]], marked: Bools) -> tuple[Bools, Ints]:
        """One way from the top to the finest sub-tables, or to the first level at which margins had to be withheld."""
        withheld = marked.copy()
        self.work.short.clear()
        margins: list[int] = []
        level = -1
        for done, (at, t, number, cells) in enumerate(places):
            if at != level and margins:
                break
            level = at
            if done % 200 == 0:
                checkpoint("modular", done, len(places))
            flat = cells.ravel()
            hidden = (flat >= 0) & withheld[flat]
            if not hidden.any():
                continue
            key = (t, number, np.packbits(hidden).tobytes())
            if key not in self.memory:
                self.memory[key] = self._solve(self.parts[t], number, cells, hidden.reshape(cells.shape))
            new, short = self.memory[key]
            self.work.short.update(short.tolist())
            for place in new.tolist():
                cell = int(flat[place])
                if not withheld[cell]:
                    withheld[cell] = True
                    if 0 in np.unravel_index(place, cells.shape):
                        margins.append(cell)
        return withheld, np.array(sorted(set(margins)), np.int64)

    def _solve(self, part: Subtables, number: int, cells: Codes, hidden: Bools) -> tuple[Ints, Ints]:
        """Places of a sub-table to be withheld as well, and cells that cannot be protected there."""
        whole = part.whole[part.lines(number)].astype(np.bool_)
        flat = cells.ravel()
        there = flat >= 0
        safe = np.where(there, flat, 0)
        weight = np.where(there, self.cost[safe], 0.0).reshape(cells.shape)
        weight = weight / max(float(weight.max()), 1e-300)
        weight = weight + float(weight.max()) * _margin_weights(cells.shape, whole)
        unsafe = there & self.system.unsafe[safe]
        secondary, carried = hidden.ravel() & ~unsafe, self.carried[safe]
        problem = Problem(
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
        found = cheapest(problem, self.settings.nodes)
        self.work.solved += 1
        self.work.programs += found.programs
        self.work.stopped += not found.proved
        short = flat[found.short]
        return found.new, short[self.system.unsafe[short]].astype(np.int64)

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

    def _proposal(self, withheld: Bools) -> Proposal:
        work, notes = self.work, []
        if work.short:
            names = ", ".join(self.system.cell_name(cell) for cell in sorted(work.short)[:5])
            notes.append(f"{len(work.short)} unsafe cells cannot keep their level in some sub-table: {names}.")
        if work.stopped:
            notes.append(f"{work.stopped} sub-tables have a cheap pattern that is not proved to be the cheapest.")
        short = np.zeros(len(self.system), np.bool_)
        short[list(work.short)] = True
        effort = {"subtables_solved": work.solved, "restarts": work.restarts, "programs": work.programs}
        return Proposal(withheld, numbers(short), effort, tuple(notes))


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
