"""The hypercube engine (GHMITER): boxes of withheld cells in sub-tables, without a solver.

Every withheld cell of a sub-table becomes a corner of a box with one other index in each dimension. Moving the corners
up and down in turn changes no total, as far as each has room; the box is good enough if the target can move by its
demand. Cells of value zero are corners only where there is no other box. Sub-tables are gone through from the top until
nothing changes. What the boxes of *different* sub-tables give
away together is not looked at, so that a cell may be short of its level over all relations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.parameters import Declared, Positive
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.engines.proposal import Proposal, candidates, numbers, singletons, starting_pattern
from discreet.tables.engines.subtables import Subtables, subtables

MOST_ROUNDS = 100


@dataclass(frozen=True)
class HypercubeSettings(Declared):
    """How boxes are judged and chosen.

    Parameters
    ----------
    variant
        ``"hypercube"``: full demands in all sub-tables; ``"hyper0"``: any room will do; ``"hyperseq"``: from the
        finest sub-tables up, with full demands in the finest ones only, which spares the levels above.
    demand
        ``"levels"``: room for the level on both sides; ``"width"``: the interval is as wide as both levels together.
    known_within
        Everybody knows each cell to within so many per cent of its value. Left out, the table's own bounds.
    singletons
        Cells that one contributor fills alone: ``"double"`` makes them corners of two boxes without a common line,
        ``"distrust"`` takes no corner that another single contributor fills, ``"none"`` treats them like others.
    choice
        ``"count"``: the fewest new cells, then the least logarithm of their costs, margins last; ``"cost"``: the
        least cost.
    """

    variant: Literal["hypercube", "hyper0", "hyperseq"] = "hypercube"
    demand: Literal["levels", "width"] = "levels"
    known_within: Positive | None = None
    singletons: Literal["double", "distrust", "none"] = "double"
    choice: Literal["count", "cost"] = "count"


def propose(system: System, cost: Floats, settings: HypercubeSettings | None = None) -> Proposal:
    """A pattern of boxes in which every unsafe cell has its room in every sub-table that holds it."""
    return _Boxes(system, cost, settings or HypercubeSettings()).run()


class _Boxes:
    def __init__(self, system: System, cost: Floats, settings: HypercubeSettings) -> None:
        self.system, self.settings = system, settings
        self.parts = subtables(system, "hypercube")
        self.withheld = starting_pattern(system)
        self.allowed = self.withheld | candidates(system)
        self.solid = self.withheld | (self.allowed & (system.value != 0))
        self.up, self.down = _rooms(system, settings.known_within)
        weight = np.log1p(cost) if settings.choice == "count" else np.asarray(cost, np.float64)
        # A box that costs nothing is one whose corners are all withheld, so that a free cell must cost a trifle.
        self.weight = np.maximum(weight, max(float(weight.mean()) if len(weight) else 0.0, 1e-9) * 1e-9)
        missing = np.maximum(system.sliding_level - system.upper_level - system.lower_level, 0)
        self.need_up = np.where(system.unsafe, system.upper_level + missing, 0).astype(np.float64)
        self.need_down = np.where(system.unsafe, system.lower_level, 0).astype(np.float64)
        self.state = np.zeros(len(system), np.int8)
        self.sole = singletons(system)
        self.holder = np.ascontiguousarray(system.holder.reshape(len(system), -1)[:, 0])
        self.boxes = 0

    def run(self) -> Proposal:
        waiting = [np.zeros(part.count, np.bool_) for part in self.parts]
        orders = [_order(part, self.settings.variant == "hyperseq") for part in self.parts]
        shares = [_shares(part, self.settings.variant) for part in self.parts]
        seen = np.zeros(len(self.system), np.bool_)
        rounds = 0
        for rounds in range(1, MOST_ROUNDS + 1):
            checkpoint("hypercube", rounds - 1, rounds)
            for t, part in enumerate(self.parts):
                # What other tables withheld since, and at first everything that is withheld.
                for other, marks in zip(self.parts, waiting, strict=True):
                    self._touch(other, marks, numbers(self.withheld & ~seen))
                seen = self.withheld.copy()
                self.boxes += self._sweep(part, orders[t], waiting[t], shares[t])
                if len(self.parts) == 1:
                    seen = self.withheld.copy()
            if not any(marks.any() for marks in waiting) and not np.any(self.withheld & ~seen):
                break
        return self._proposal(rounds)

    def _touch(self, part: Subtables, waiting: Bools, cells: Ints) -> None:
        from discreet.tables.engines.hypercube_kernels import touch

        for cell in cells.tolist():
            touch(cell, -1, waiting, *part.places, part.strides, _first_and_shape(part), *part.containing)

    def _sweep(self, part: Subtables, order: Ints, waiting: Bools, share: Floats) -> int:
        from discreet.tables.engines.hypercube_kernels import sweep

        settings = self.settings
        return int(
            sweep(
                order,
                waiting,
                share,
                part.grid,
                part.strides,
                _first_and_shape(part),
                part.start,
                part.code,
                *part.places,
                *part.containing,
                self.withheld,
                self.allowed,
                self.sole,
                self.holder,
                self.up,
                self.down,
                self.weight,
                self.solid,
                self.need_up,
                self.need_down,
                settings.singletons == "distrust",
                settings.singletons == "double",
                settings.demand == "width",
                settings.choice == "count",
                2 * float(self.weight.max(initial=0.0)) + 1,
                self.state,
            )
        )

    def _proposal(self, rounds: int) -> Proposal:
        from discreet.tables.engines.hypercube_kernels import HOLLOW, LOST, REDUCED, TRUSTING

        notes = []
        for which, words in (
            (TRUSTING, "withheld cells of a single contributor have no second box"),
            (HOLLOW, "withheld cells have boxes with corners of value zero only"),
            (REDUCED, "unsafe cells have a box with less room than asked for"),
            (LOST, "withheld cells have no box in some sub-table"),
        ):
            count = int((self.state == which).sum())
            if count:
                notes.append(f"{count} {words}.")
        return Proposal(
            self.withheld,
            numbers(self.state >= REDUCED),
            {"boxes": self.boxes, "rounds": rounds, "subtables": sum(part.count for part in self.parts)},
            tuple(notes),
        )


def _first_and_shape(part: Subtables) -> Ints:
    """The first line of each variable, the number of lines, and then the number of codes of each variable."""
    return np.concatenate((part.first, np.array(part.shape, np.int64)))


def _order(part: Subtables, finest_first: bool) -> Ints:
    level = -part.level if finest_first else part.level
    return np.argsort(level, kind="stable").astype(np.int64)


def _shares(part: Subtables, variant: str) -> Floats:
    """Which part of the demands counts in each sub-table."""
    if variant == "hyper0":
        return np.zeros(part.count)
    if variant == "hyperseq":
        finest: Floats = (part.level == part.level.max(initial=0)).astype(np.float64)
        return finest
    return np.ones(part.count)


def _rooms(system: System, known_within: float | None) -> tuple[Floats, Floats]:
    """How far every cell can rise and fall in the eyes of everybody."""
    value = system.value.astype(np.float64)
    up = np.where(system.upper_bound >= NO_UPPER, np.inf, np.maximum(system.upper_bound - system.value, 0))
    down = np.where(system.lower_bound <= NO_LOWER, np.inf, np.maximum(system.value - system.lower_bound, 0))
    if known_within is not None:
        near = np.abs(value) * known_within / 100
        up, down = np.minimum(up, near), np.minimum(down, near)
    return up.astype(np.float64), down.astype(np.float64)
