"""Attackers as linear programs, and the inequalities that their duals give.

An attacker with demand ``k`` asks how far the target can move when cell ``i`` has a share ``x_i`` of its room. For any
prices ``u`` of the relations the answer is at most ``sum_i c_i x_i`` with ``c_i = max(r_i, 0) up_i + max(-r_i, 0)
down_i`` and ``r = direction e_target - T' u``, so that ``sum_i c_i x_i >= level`` holds for every pattern that meets
the demand, whatever the prices are. The linear program only chooses good ones; rounding errors cannot make a cut wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.solve.program import program

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

FAR = (1.0, 1e2, 1e5)
"""No cell needs to move further than so many times the level: in most tables never further than the target itself."""
LEAN = 1e-5
"""Share of its room that a published cell gets where a cut is looked for."""
REACHED = 1e-9
"""A level counts as reached within this share of it."""
SEEN = 1e-3
"""Another target that moves by less than this share of the level may do so by rounding errors alone."""
LEAST = 1e-6
"""Coefficients are at least this share of the right side, or nothing."""
SLACK = 1e-9
"""Coefficients are raised by this share, which outweighs their rounding errors."""
DENOMINATORS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 60.0)
"""Of the prices that linear programs on tables usually give."""
COVER = 0.5
"""Cells of which the point withholds this share may be taken as withheld, to ask the others for the rest."""
SMALL = 0.5
"""Share of the rest that the smallest cells may give together before they are taken as withheld."""
MOST_MODELS = 400
"""So many demands keep a model of their own, warm from one round to the next; more than that share them."""

_NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class PatternDemands:
    """What a pattern must allow: for each demand a target that can move by its level in a direction.

    Parameters
    ----------
    target, direction, level
        Cell, +1 or -1, and how far, in units.
    start, cell, lower, upper
        What the demand's attacker knows beyond the system: demand ``k`` has the cells ``cell[start[k]:start[k + 1]]``
        with these bounds on their values. Empty for the external attacker.
    """

    target: Ints
    direction: Ints
    level: Ints
    start: Ints
    cell: Ints
    lower: Ints
    upper: Ints

    def __len__(self) -> int:
        return len(self.target)

    @classmethod
    def external(cls, target: Ints, direction: Ints, level: Ints) -> PatternDemands:
        """Demands against attackers who know nothing beyond the system."""
        nothing = np.zeros(0, np.int64)
        return cls(target, direction, level, np.zeros(len(target) + 1, np.int64), nothing, nothing, nothing)

    def on(self, place: Ints, which: Ints) -> PatternDemands:
        """Some of the demands, on the cells that have a place (others have -1) among fewer cells."""
        inside = place[self.cell] >= 0
        seen = np.concatenate(([0], np.cumsum(inside, dtype=np.int64)))[self.start]
        entries = [np.arange(self.start[k], self.start[k + 1]) for k in which.tolist()]
        entry = np.concatenate([np.zeros(0, np.int64), *entries])
        entry = entry[inside[entry]]
        return PatternDemands(
            place[self.target[which]],
            self.direction[which],
            self.level[which],
            np.concatenate(([0], np.cumsum(np.diff(seen)[which], dtype=np.int64))),
            place[self.cell[entry]],
            self.lower[entry],
            self.upper[entry],
        )


class Cut(NamedTuple):
    """``coefficient @ x[cell] >= right`` for all patterns that are feasible and cheaper than the best one known."""

    cell: Ints
    coefficient: Floats
    right: float = 1.0

    def missing(self, x: Floats) -> float:
        """How far a point is from meeting the cut; negative where it does."""
        return self.right - float(self.coefficient @ x[self.cell])


class Attack(NamedTuple):
    """Whether a target gets to its level.

    Where it does, ``moves`` are the changes of all cells; where it does not, ``given`` is what each cell adds to its
    reach when it is withheld (infinite where nothing limits it). The other one is empty.
    """

    reached: bool
    moves: Floats
    given: Floats


class _Model(NamedTuple):
    """A solver, the demand that it was last used for, and its bounds."""

    highs: Any
    demand: int
    low: Floats
    high: Floats


class CutPrograms:
    """One linear program a demand on the cells that can move, warm from one round to the next."""

    def __init__(self, part: csr_array, value: Ints, lower: Ints, upper: Ints, demands: PatternDemands) -> None:
        part = part[np.flatnonzero(np.diff(part.indptr))]
        self.columns: csc_array = part.tocsc()
        self.transposed: csr_array = part.T.tocsr()
        self.value, self.lower, self.upper, self.demands = value, lower, upper, demands
        self.count = part.shape[1]
        self.solved = self.iterations = 0
        self._up, self._down = rooms(value, lower, upper)
        self._models: dict[tuple[int, bool], _Model] = {}

    def within(self, cells: Ints) -> CutPrograms:
        """The same demands when no other cells are withheld than these, the targets among them."""
        place = np.full(self.count, -1, np.int64)
        place[cells] = np.arange(len(cells))
        demands = self.demands.on(place, np.arange(len(self.demands)))
        return CutPrograms(
            self.columns[:, cells].tocsr(), self.value[cells], self.lower[cells], self.upper[cells], demands
        )

    def rooms(self, k: int) -> tuple[Floats, Floats]:
        """How far every cell can rise and fall in the eyes of demand ``k``, as shares of its level."""
        d, level = self.demands, float(self.demands.level[k])
        up, down = self._up / level, self._down / level
        span = slice(int(d.start[k]), int(d.start[k + 1]))
        if span.stop > span.start:
            cell = d.cell[span]
            more_up, more_down = rooms(self.value[cell], d.lower[span], d.upper[span])
            np.minimum.at(up, cell, more_up / level)
            np.minimum.at(down, cell, more_down / level)
        return up, down

    def attack(self, k: int, share: Floats, far: float = FAR[0], least: float = 0.0) -> Attack:
        """Move the target of demand ``k`` as far as shares of all rooms allow, at most by its level.

        A ``least`` share for every cell makes the prices good for cells that the point does not withhold as well.
        """
        target, direction = int(self.demands.target[k]), float(self.demands.direction[k])
        up, down = self.rooms(k)
        share = np.maximum(share, least)
        high, low = np.minimum(up, far) * share, np.minimum(down, far) * -share
        if direction > 0:
            high[target] = min(high[target], 1.0)
        else:
            low[target] = max(low[target], -1.0)
        highs = self._model(k, least > 0, low, high)
        highs.run()
        self.solved += 1
        self.iterations += int(highs.getInfo().simplex_iteration_count)
        solution = highs.getSolution()
        moves = np.asarray(solution.col_value)
        if direction * float(moves[target]) >= 1 - REACHED:
            return Attack(True, moves, _NOTHING)
        slope, denominator = priced(self.transposed, np.asarray(solution.row_dual), target, direction)
        with np.errstate(invalid="ignore"):
            given = np.where(slope > 0, slope * up, np.where(slope < 0, -slope * down, 0.0)) / denominator
        return Attack(False, _NOTHING, given)

    def also_met(self, k: int, share: Floats, moves: Floats) -> Bools:
        """Demands that the moves for demand ``k`` meet as well, made larger as far as shares of all rooms allow.

        Whose attacker knows more than the system is not among them, but for the demand itself.
        """
        d = self.demands
        moved = np.flatnonzero((np.abs(moves) > REACHED) & (share > 0))
        by = moves[moved]
        room = np.where(by > 0, self._up[moved], self._down[moved]) * share[moved] / float(d.level[k])
        size = min(float((room / np.abs(by)).min(initial=np.inf)), 1 / SEEN)
        shift = d.direction * moves[d.target]
        met: Bools = (shift > SEEN) & (shift * size >= d.level / float(d.level[k])) & (np.diff(d.start) == 0)
        met[k] = True
        return met

    def _place(self, k: int, keen: bool) -> tuple[int, bool]:
        """Which of the models takes a demand."""
        return k % MOST_MODELS, keen

    def _model(self, k: int, keen: bool, low: Floats, high: Floats) -> Any:
        """A model with the bounds and the objective of a demand, as warm as can be."""
        place = self._place(k, keen)
        if place not in self._models:
            nothing = np.zeros(self.count)
            highs = program(self.columns, nothing, nothing, presolve="off", primal_feasibility_tolerance=1e-9)
            self._models[place] = _Model(highs, -1, nothing, nothing)
        highs, last, old_low, old_high = self._models[place]
        if last != k:
            if last >= 0:
                highs.changeColCost(int(self.demands.target[last]), 0.0)
            highs.changeColCost(int(self.demands.target[k]), -float(self.demands.direction[k]))
        changed = np.flatnonzero((low != old_low) | (high != old_high))
        highs.changeColsBounds(len(changed), changed.astype(np.int32), low[changed], high[changed])
        self._models[place] = _Model(highs, k, low, high)
        return highs


def rooms(value: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats]:
    """How far cells can rise and fall; infinite where no bound is known, nothing where a bound excludes the value."""
    up = np.where(upper >= NO_UPPER, np.inf, np.maximum(upper - value, 0).astype(np.float64))
    down = np.where(lower <= NO_LOWER, np.inf, np.maximum(value - lower, 0).astype(np.float64))
    return up, down


def priced(transposed: csr_array, dual: Floats, target: int, direction: float) -> tuple[Floats, float]:
    """Reduced costs of all cells where the target counts and relations have prices, as whole numbers over one."""
    numerator, denominator = _fractions(dual)
    slope: Floats = transposed @ numerator
    slope[target] += direction * denominator
    return slope, denominator


def _fractions(prices: Floats) -> tuple[Floats, float]:
    """Prices as whole numbers over one denominator.

    Reduced costs that ought to cancel then do so exactly: a trace of one times a room of 1e15 would spoil the cut.
    """
    for denominator in DENOMINATORS:
        whole = np.rint(prices * denominator)
        if float(np.abs(whole - prices * denominator).max(initial=0.0)) < 1e-6:
            return whole, denominator
    return np.rint(prices * 2.0**20), 2.0**20


def capacity_cuts(given: Floats, settled: Bools, x: Floats, violation: float) -> list[Cut]:
    """Violated cuts from capacities; ``settled`` cells are withheld in every pattern of interest.

    Withheld cells that do not suffice leave a rest that the others must give, and no cell counts for more than the
    rest. More cells may be treated as if they were withheld (knapsack cover): the others must give what is left then.
    One cut does so with cells that the point withholds, another one with the smallest of all cells besides.
    """
    rest = 1.0 - float(given[settled].sum())
    if not rest > LEAST:
        return []
    cells = np.flatnonzero((given > 0) & ~settled)
    amount, point = given[cells], x[cells]
    kept = _most_violated(amount, point, rest)
    cuts = [_cut(cells, amount, kept, rest)]
    small = _without_small(amount, point, rest)
    if len(small) < len(kept):
        cuts.append(_cut(cells, amount, small, rest))
    return [cut for cut in cuts if cut.missing(x) > violation]


def _cut(cells: Ints, amount: Floats, kept: Ints, rest: float) -> Cut:
    """What the kept cells must give when the others are withheld."""
    covered = np.ones(len(cells), np.bool_)
    covered[kept] = False
    needed = rest - float(amount[covered].sum())
    return Cut(cells[kept], np.maximum(np.minimum(amount[kept] / needed, 1.0) * (1 + SLACK), LEAST))


def _most_violated(amount: Floats, point: Floats, rest: float) -> Ints:
    """Cells that are left when those at the top of the point are taken as withheld, as many as serve best."""
    order = np.lexsort((np.arange(len(point)), -point))
    best, cover = np.inf, 0
    for number in range(len(order) + 1):
        others = order[number:]
        left = float(np.minimum(amount[others] / rest, 1.0) @ point[others])
        if left < best - 1e-6:
            best, cover = left, number
        if number == len(order) or point[order[number]] < COVER:
            break
        rest -= float(amount[order[number]])
        if not rest > LEAST:
            break
    return np.sort(order[cover:])


def _without_small(amount: Floats, point: Floats, rest: float) -> Ints:
    """Cells that are left when the point's cells and the smallest others are taken as withheld, up to half the rest."""
    withheld = point > COVER
    rest -= float(amount[withheld].sum())
    if not rest > LEAST:
        return np.arange(len(amount))
    others = np.flatnonzero(~withheld)
    others = others[np.argsort(amount[others], kind="stable")]
    return np.sort(others[int((np.cumsum(amount[others]) < SMALL * rest).sum()) :])
