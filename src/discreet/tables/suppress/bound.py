"""What any safe pattern costs at least: a linear program of necessary conditions, and its value proved by prices.

A pattern that is safe against outsiders meets every cut of :mod:`discreet.solve.relation_cuts`, and one that is safe
against contributors those of :mod:`discreet.solve.insider_cuts`, too:

- ``insiders="full"``: for every contributor who does not fill cell p alone there is an alternative in which p moves by
  its level L, the cells that this contributor fills alone stay, and no other cell falls below what it has there. In any
  sum of relations ``sum w_j y_j = 0`` with ``w_p`` of 1 or -1 the other cells make up for L: those that must stay by
  nothing, the others by at most ``|w_j|`` times their room as the contributor knows it. That is the outsider's cut with
  less room. Downwards it is not asked for who need not be kept from the level (``Attackers.excluded``).
- ``insiders="nonzero"``: there is such an alternative in which p moves at all. Then another cell of the sum moves that
  the contributor does not fill alone: one of those at least is withheld.

Against two contributors together, and in large systems, both are left out, so that the bound is one against outsiders.
And of a relation without unsafe cells a pattern withholds none or several, because a cell alone in a relation could be
published as well. The shares of cells that meet all of this at the least cost are a bound, and a proposal of what to
withhold.

Any prices of the conditions prove a bound. They are rounded to whole numbers of a small unit, and so are costs and
coefficients, always to the safe side: the bound is computed exactly, and rests on no solver.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, pointers
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.solve.insider_cuts import insider_cuts, insider_questions
from discreet.solve.local import Graph
from discreet.solve.program import run_listening, started
from discreet.solve.relation_cuts import relation_cuts
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import CertifiedPattern, movable_cells, price

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STEPS, SHORT = 30, 0.02
"""Relations that are added up for one cut at most, and how far shares must fall short of it to be worth a cut."""
ROUNDS, WORTH = 8, 2e-3
"""Rounds in which cuts are added, while the last one raised the bound by this share."""
ASKED = 50_000
"""So many levels are asked for further cuts, the largest ones; what they leave open is little."""
FINE, UNITS = 2**18, 2**40
"""Steps of a coefficient of one, and units that all prices have together: products stay below 64 bits."""
MOST_CELLS = 200_000
"""In systems of more cells nobody asks what contributors force: there are too many of them."""
DEAREST = 2**43
"""A cost of more units counts as so many, which can only lower the bound."""


@dataclass(frozen=True, eq=False)
class _Conditions:
    """Cuts (``start``, ``cell``, ``coefficient``, each at least one) with their owners, and bare relations.

    Of a bare relation (``bare_start``, ``bare_cell``) a cell is withheld only where another one is.
    """

    start: Ints
    cell: Codes
    coefficient: Floats
    owner: Codes
    bare_start: Ints
    bare_cell: Codes


@dataclass(frozen=True, eq=False)
class LeastCost:
    """Shares of cells in the cheapest solution of the necessary conditions, and prices that prove what it costs."""

    share: Floats
    _cost: Floats
    _conditions: _Conditions
    _price: Floats
    _bare_price: Floats

    def proved(self, unprotected: Collection[int] = ()) -> float:
        """What any pattern costs at least that protects all unsafe cells but these."""
        reduced, prices, unit = self._reduced(unprotected)
        short = sum(int(part.sum()) for part in np.array_split(np.minimum(reduced, 0), 8))
        return max((prices * FINE + short) / FINE * unit * (1 - 1e-12), 0.0)

    def too_dear(self, paid: float, unprotected: Collection[int] = ()) -> Bools:
        """Cells that no pattern withholds which protects all unsafe cells but these and costs less than ``paid``.

        To withhold a cell costs its reduced cost besides the least.
        """
        reduced, _, unit = self._reduced(unprotected)
        left = paid - self.proved(unprotected)
        return np.asarray(reduced / FINE * unit * (1 - 1e-9) > left * (1 + 1e-9) + 1e-9)

    def _reduced(self, unprotected: Collection[int]) -> tuple[Ints, int, float]:
        """Costs less what prices of conditions pay, in units of ``FINE`` steps; all prices together; what a unit is."""
        found = self._conditions
        left_out = np.isin(found.owner, np.fromiter(unprotected, np.int64, len(unprotected)))
        price = np.where(left_out, 0.0, np.maximum(self._price, 0.0))
        bare = np.maximum(self._bare_price, 0.0)
        together = float(price.sum() + bare.sum())
        unit = together / UNITS if together > 0 else 1.0
        price_units, bare_units = np.floor(price / unit).astype(np.int64), np.floor(bare / unit).astype(np.int64)
        cost = np.minimum(np.floor(self._cost / unit * (1 - 1e-12)), DEAREST).astype(np.int64) * FINE
        upwards = np.ceil(found.coefficient * FINE + 1e-6).astype(np.int64)
        coefficient = np.where(found.coefficient >= 1.0, FINE, np.minimum(upwards, FINE))
        reduced = cost
        np.subtract.at(reduced, found.cell, np.repeat(price_units, np.diff(found.start)) * coefficient)
        if len(found.bare_cell):
            of_relation = np.add.reduceat(bare_units, found.bare_start[:-1])
            np.subtract.at(reduced, found.bare_cell, np.repeat(of_relation, np.diff(found.bare_start)) * FINE)
            np.add.at(reduced, found.bare_cell, 2 * bare_units * FINE)
        return reduced, int(price_units.sum()), unit


def least_cost(system: System, cost: Floats, attackers: Attackers) -> LeastCost:
    """The cheapest shares that meet what is necessary for safety against the attackers, with a proof of their cost."""
    separation = _Separation(system, attackers)
    cost = np.where(separation.free, np.maximum(cost, 0.0), 0.0)
    cuts = [separation.cuts(np.zeros(len(system)), 0, 0.0)]
    bare_start, bare_cell = _bare_relations(system, separation)
    program = _ConditionProgram(cost, separation.free, cuts[0], bare_start, bare_cell)
    share, value = program.solved(0)
    for number in range(ROUNDS if len(cuts[0].owner) else 0):
        checkpoint("bound", number, ROUNDS)
        more = separation.cuts(share, STEPS, SHORT)
        if not len(more.owner):
            break
        cuts.append(more)
        program.add(more)
        before = value
        share, value = program.solved(number)
        if value - before <= WORTH * value:
            break
    checkpoint("bound", ROUNDS, ROUNDS)
    price, bare_price = program.prices(sum(len(c.owner) for c in cuts[1:]))
    found = _together(*cuts)
    conditions = _Conditions(found.start, found.cell, found.coefficient, found.owner, bare_start, bare_cell)
    return LeastCost(share, cost, conditions, price, bare_price)


@dataclass(frozen=True, eq=False)
class _Cuts:
    start: Ints
    cell: Codes
    coefficient: Floats
    owner: Codes


def _together(*cuts: _Cuts) -> _Cuts:
    """Several lists of cuts as one."""
    return _Cuts(
        pointers(np.concatenate([np.diff(c.start) for c in cuts])),
        np.concatenate([c.cell for c in cuts]),
        np.concatenate([c.coefficient for c in cuts]),
        np.concatenate([c.owner for c in cuts]),
    )


class _Separation:
    """Finds cuts that shares do not meet."""

    def __init__(self, system: System, attackers: Attackers) -> None:
        self.graph = Graph(system.matrix)
        lower, upper, value = attackers.lower, attackers.upper, system.value.astype(np.float64)
        self.room = np.where(lower <= NO_LOWER, np.inf, value - lower)
        self.headroom = np.where(upper >= NO_UPPER, np.inf, upper - value)
        self.movable = movable_cells(system)
        self.required = system.unsafe | system.given
        self.free: Bools = self.movable & ~self.required
        # A sliding level can be had in either direction: nothing is necessary for it in one of them.
        up, down = (np.flatnonzero(system.unsafe & (level > 0)) for level in (system.upper_level, system.lower_level))
        self.target = np.concatenate((up, down)).astype(np.int32)
        self.direction = np.repeat(np.array([1, -1], np.int64), (len(up), len(down)))
        self.level = np.concatenate((system.upper_level[up], system.lower_level[down])).astype(np.float64)
        self.largest = np.argsort(-self.level, kind="stable")[:ASKED]
        self.largest.sort()
        self.scratch = np.zeros(len(system), np.int64), np.zeros(len(system), np.bool_)
        self.inside = None
        if attackers.insiders is not None and not attackers.in_pairs and len(system) <= MOST_CELLS:
            self.inside = InsiderQuestions(self, attackers)

    def cuts(self, share: Floats, steps: int, short: float) -> _Cuts:
        """Cuts that shares fall short of."""
        cells = share, self.room, self.headroom, self.movable, self.required
        targets: tuple[Any, ...] = self.target, self.direction, self.level
        if steps:
            targets = tuple(part[self.largest] for part in targets)
        call: tuple[Any, ...] = (*targets, steps, short, *cells, *self.graph.lists, *self.scratch)
        found: tuple[Ints, Codes, Floats, Codes] = relation_cuts(*call)
        return _Cuts(*found) if self.inside is None else _together(_Cuts(*found), self.inside.cuts(share, steps, short))


def _bare_relations(system: System, separation: _Separation) -> tuple[Ints, Codes]:
    """The cells of every relation in which no unsafe cell moves, where more than one may be withheld."""
    matrix = system.matrix
    start, cell = matrix.indptr.astype(np.int64), matrix.indices
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(start))
    moving = np.bincount(row, (separation.required & separation.movable)[cell], matrix.shape[0])
    among = separation.free[cell] & (moving[row] == 0)
    length = np.bincount(row[among], minlength=matrix.shape[0])
    return pointers(length[length > 0]), cell[among].astype(np.int32)


class InsiderQuestions:
    """Who leaves which cell short in which relation by what it knows, and the cuts that follow."""

    def __init__(self, given: _Separation, attackers: Attackers) -> None:
        self.given, self.full = given, attackers.insiders == "full"
        if self.full:
            target, direction, level, room = given.target, given.direction, given.level, given.room
        else:
            # A cell has to move, up or down, by however little.
            target = np.unique(given.target)
            direction, level = np.ones(len(target), np.int64), np.ones(len(target))
            room = np.full(len(given.room), np.inf)
        self.room = room
        self.headroom = given.headroom if self.full else np.full(len(given.room), np.inf)
        left = room[:, None] - np.where(
            attackers.named & (attackers.lower > NO_LOWER)[:, None], self._floor(attackers), 0
        )
        if not self.full:
            left[:] = np.inf
        known = (attackers.contributors, attackers.holder, np.maximum(left, 0.0))
        call: tuple[Any, ...] = (target, direction, level, room, given.movable, given.required, *known)
        found: tuple[Codes, Codes, Ints] = insider_questions(*call, *given.graph.lists)
        number, row, who = found
        keep = self._asked(attackers, target[number], direction[number], level[number], who)
        number, self.row, who = number[keep], row[keep], who[keep]
        self.target, self.level = target[number], level[number]
        self.sign = direction[number] * self._coefficient(self.target, self.row)
        insiders, at = np.unique(who, return_inverse=True)
        self.insider = at.astype(np.int32)
        self._parts(attackers, insiders)

    @staticmethod
    def _floor(attackers: Attackers) -> Floats:
        """How much less room a cell has for those who know their own part of it."""
        floor = attackers.base[:, None] + attackers.own - attackers.lower[:, None]
        result: Floats = np.maximum(floor, 0).astype(np.float64)
        return result

    def _asked(self, attackers: Attackers, target: Codes, direction: Ints, level: Floats, who: Ints) -> Bools:
        """Leave out from whom a level downwards need not be kept."""
        keep = np.ones(len(target), np.bool_)
        spared: dict[int, set[int]] = {}
        for at in np.flatnonzero(direction < 0).tolist():
            cell = int(target[at])
            if cell not in spared:
                spared[cell] = attackers.excluded(cell, -1, int(level[at]))
            keep[at] = int(who[at]) not in spared[cell]
        return keep

    def _coefficient(self, cell: Codes, row: Codes) -> Ints:
        """How often cells stand in relations."""
        cell_start, cell_row, coefficient, row_start, *_ = self.given.graph.lists
        rows = len(row_start) - 1
        # Entries are listed by cell; a cell stands in a relation once.
        place = np.repeat(np.arange(len(cell_start) - 1), np.diff(cell_start)) * rows + cell_row
        order = np.argsort(place, kind="stable")
        at = np.searchsorted(place[order], cell.astype(np.int64) * rows + row)
        result: Ints = coefficient[order[at]]
        return result

    def _parts(self, attackers: Attackers, insiders: Ints) -> None:
        """What every insider knows: cells with less room for it, and behind them the cells that stay where they are."""
        cells, rooms, starts, alone_starts = [], [], [0], []
        for who in insiders.tolist():
            alone, shared, floor = attackers.knowledge({who})
            if not self.full:
                shared, floor = shared[:0], floor[:0]
            alone_starts.append(starts[-1] + len(shared))
            starts.append(alone_starts[-1] + len(alone))
            cells += [shared, alone]
            rooms += [np.maximum(attackers.value[shared] - floor, 0), np.zeros(len(alone), np.int64)]
        self.start, self.alone_start = np.array(starts, np.int64), np.array(alone_starts, np.int64)
        self.cell = np.concatenate(cells).astype(np.int32) if cells else np.zeros(0, np.int32)
        self.left = np.concatenate(rooms).astype(np.float64) if rooms else np.zeros(0)

    def cuts(self, share: Floats, steps: int, short: float) -> _Cuts:
        """Cuts that shares fall short of."""
        given = self.given
        parts = (self.alone_start, self.start, self.cell, self.left)
        asked: tuple[Any, ...] = (self.target, self.sign, self.level, self.row, self.insider, *parts, steps, short)
        cells = (share, self.room.copy(), self.headroom, given.movable.copy(), given.required)
        found: tuple[Ints, Codes, Floats, Codes] = insider_cuts(*asked, *cells, *given.graph.lists, *given.scratch)
        return _Cuts(*found)


class _ConditionProgram:
    """The linear program; a bare relation has a column for the sum of its shares."""

    def __init__(self, cost: Floats, free: Bools, cuts: _Cuts, bare_start: Ints, bare_cell: Codes) -> None:
        import highspy

        self.size, self.cuts, self.bare = len(cost), len(cuts.owner), len(bare_cell)
        relations = len(bare_start) - 1
        columns = self.size + relations
        of_relation = np.repeat(np.arange(relations), np.diff(bare_start))
        each = np.arange(self.bare)
        whole, ones, every = np.arange(relations), np.ones(relations), np.ones(self.bare)
        rows = _stacked(
            columns,
            (cuts.coefficient, np.repeat(np.arange(self.cuts), np.diff(cuts.start)), cuts.cell, self.cuts),
            (
                np.concatenate((every, -2.0 * every)),
                np.concatenate((each, each)),
                np.concatenate((self.size + of_relation, bare_cell)),
                self.bare,
            ),
            (
                np.concatenate((ones, -every)),
                np.concatenate((whole, of_relation)),
                np.concatenate((self.size + whole, bare_cell)),
                relations,
            ),
        )
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = rows.shape
        model.col_cost_ = np.concatenate((cost, np.zeros(relations)))
        model.col_lower_ = np.zeros(columns)
        model.col_upper_ = np.concatenate((free.astype(np.float64), np.full(relations, np.inf)))
        model.row_lower_ = np.concatenate((np.ones(self.cuts), np.zeros(self.bare + relations)))
        model.row_upper_ = np.concatenate((np.full(self.cuts + self.bare, np.inf), np.zeros(relations)))
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_, model.a_matrix_.index_ = rows.indptr, rows.indices
        model.a_matrix_.value_ = rows.data
        self.rows = rows.shape[0]
        self._highs = started(model)

    def add(self, cuts: _Cuts) -> None:
        """Take in further cuts."""
        count = len(cuts.owner)
        start = cuts.start[:-1].astype(np.int32)
        most = np.full(count, np.inf)
        self._highs.addRows(count, np.ones(count), most, len(cuts.cell), start, cuts.cell, cuts.coefficient)

    def solved(self, number: int) -> tuple[Floats, float]:
        """The cheapest shares in a round of so many, and what they cost as the solver says."""
        run_listening(self._highs, lambda: checkpoint("bound", number, ROUNDS))
        share = np.clip(np.asarray(self._highs.getSolution().col_value)[: self.size], 0.0, 1.0)
        return share, float(self._highs.getInfo().objective_function_value)

    def prices(self, added: int) -> tuple[Floats, Floats]:
        """Prices of the cuts, those added later behind the others, and of the cells of bare relations."""
        dual = np.asarray(self._highs.getSolution().row_dual)
        if len(dual) != self.rows + added:
            dual = np.zeros(self.rows + added)
        cuts = np.concatenate((dual[: self.cuts], dual[self.rows :]))
        return cuts, dual[self.cuts : self.cuts + self.bare]


def _stacked(columns: int, *parts: tuple[Floats, Ints, Any, int]) -> csr_array:
    """Rows of several parts, each given by entries, their rows and columns, and how many rows there are."""
    from scipy.sparse import csr_array

    before = np.cumsum([0, *(part[3] for part in parts)])
    entry = np.concatenate([part[0] for part in parts])
    row = np.concatenate([part[1] + first for part, first in zip(parts, before, strict=False)])
    column = np.concatenate([part[2] for part in parts])
    return csr_array((entry, (row, column)), shape=(int(before[-1]), columns))


def with_least_cost(system: System, cost: Floats, pattern: CertifiedPattern, least: LeastCost) -> CertifiedPattern:
    """The pattern with what its secondaries cost, and what those of any pattern cost at least, in its effort."""
    found = max(int(least.proved(pattern.unprotected)), pattern.effort.get("least_cost", 0))
    paid = pattern.effort.get("cost", int(np.ceil(price(system, cost, pattern))))
    return replace(pattern, effort={**pattern.effort, "cost": paid, "least_cost": min(found, paid)})


def against_least(effort: Mapping[str, int]) -> tuple[str, ...]:
    """How much more the secondaries cost than those of any pattern must, where there are any."""
    cost, least = effort["cost"], effort["least_cost"]
    if not cost:
        return ()
    if not least:
        return ("nothing could be proved of what must be withheld besides the unsafe cells at least",)
    return (f"cells withheld besides the unsafe ones cost {cost / least:.2f} times the proven least",)
