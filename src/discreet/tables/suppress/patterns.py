"""Patterns that meet all demands: completing a proposal, and leaving out what is not needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Floats, Ints
from discreet.solve.program import program
from discreet.tables.suppress.cuts import FAR, LEAN, Cut, CutPrograms, capacity_cuts

MOVED = 1e-9
"""A cell that moves by less than this share of the level stands still."""
REMEMBERED = 40
"""So many witnesses are kept of each demand."""
DEAREST = 1e3
"""A cell whose room is small against the level costs at most so many times more a step."""
PREFERENCE = 0.9
"""How much of its cost a cell loses when the relaxation withholds it."""
MISSED = 1e-6


class _Inside(NamedTuple):
    """Attackers on few cells, for patterns within them, and which cells these are."""

    attackers: CutPrograms
    cells: Ints


class Patterns:
    """Makes patterns feasible and minimal; cuts that come up on the way are kept in ``found``.

    Parameters
    ----------
    attackers
        The demands.
    cost
        What withholding a cell costs.
    settled
        Cells that every pattern withholds; the owner may add to them.
    stopped
        Reports, and says whether time is up: nothing more is left out of patterns then.
    """

    def __init__(
        self, attackers: CutPrograms, cost: Floats, settled: Bools, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        from scipy.sparse import hstack

        self.attackers, self.cost, self.settled = attackers, cost, settled
        self.found: list[Cut] = []
        self._stopped = stopped
        self.solved = self.iterations = 0
        self._everything = _Inside(attackers, np.arange(attackers.count))
        # Which cells moved when a demand was met, as bits: a pattern that withholds them all needs no linear program.
        self._known: dict[int, NDArray[np.uint8]] = {}
        both = hstack([attackers.columns, -attackers.columns]).tocsc()
        nothing = np.zeros(both.shape[1])
        self._highs = program(both, nothing, nothing)
        self._index = np.arange(both.shape[1], dtype=np.int32)

    def witness(self, k: int, withheld: Bools, inside: _Inside | None = None) -> Bools | None:
        """Cells whose moves meet demand ``k`` under a pattern, or nothing; the reason is then in ``found``."""
        known = self._known.setdefault(k, np.zeros((0, (len(withheld) + 7) // 8), np.uint8))
        good = np.flatnonzero(~np.any(known & np.packbits(~withheld), axis=1))
        if len(good):
            return np.unpackbits(known[good[-1]], count=len(withheld)).astype(np.bool_)
        self._stopped()  # for whoever listens: this is where time goes
        attackers, cells = inside or self._everything
        share = withheld[cells].astype(np.float64)
        for far in FAR:
            got = attackers.attack(k, share, far)
            if got.reached:
                moved = np.zeros(len(withheld), np.bool_)
                moved[cells[np.abs(got.moves) > MOVED]] = True
                bits = np.packbits(moved)
                for other in np.flatnonzero(attackers.also_met(k, share, got.moves)).tolist():
                    self._known[other] = np.vstack((self._known.get(other, known[:0]), bits))[-REMEMBERED:]
                return moved
            if float(got.given[share > 0].sum()) < 1:
                self._explain(k, withheld, far)
                return None
        return None

    def _explain(self, k: int, withheld: Bools, far: float) -> None:
        """Note cuts that tell why a pattern does not meet a demand."""
        share = withheld.astype(np.float64)
        for least in (LEAN, 0.0):
            got = self.attackers.attack(k, share, far, least)
            cuts = [] if got.reached else capacity_cuts(got.given, self.settled, share, 0.0)
            if cuts:
                self.found += cuts
                return

    def missed(self, demands: list[int], withheld: Bools) -> list[int]:
        """Demands that a pattern does not meet."""
        cells = np.flatnonzero(withheld)
        inside = _Inside(self.attackers.within(cells), cells)
        result = [k for k in demands if self.witness(k, withheld, inside) is None]
        self._count(inside)
        return result

    def complete(self, demands: list[int], withheld: Bools, point: Floats) -> Bools | None:
        """Withhold more cells, those that a point of the relaxation likes first, until all demands are met."""
        withheld = withheld | self.settled
        for k in self.missed(demands, withheld):
            if self.witness(k, withheld) is not None:
                continue
            more = self._cheapest(k, withheld, point)
            if more is None:
                return None
            withheld |= more
            if self.witness(k, withheld) is None:
                return None
        return withheld

    def _cheapest(self, k: int, withheld: Bools, point: Floats) -> Bools | None:
        """Cells that move in a cheap alternative for demand ``k``, in which withheld cells move for free."""
        import highspy

        highs, n = self._highs, len(self.cost)
        target, rises = int(self.attackers.demands.target[k]), self.attackers.demands.direction[k] > 0
        own, other = (target, target + n) if rises else (target + n, target)
        room = np.concatenate(self.attackers.rooms(k))
        if room[own] < 1:
            return None
        weight = np.where(withheld, 0.0, self.cost * (1 - PREFERENCE * point))
        highs.changeColsCost(2 * n, self._index, np.tile(weight, 2) / np.clip(room, 1 / DEAREST, 1.0))
        for far in FAR:
            low, high = np.zeros(2 * n), np.minimum(room, far)
            low[own] = high[own] = 1.0
            high[other] = 0.0
            highs.changeColsBounds(2 * n, self._index, low, high)
            highs.run()
            self.solved += 1
            self.iterations += int(highs.getInfo().simplex_iteration_count)
            if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                solution = np.asarray(highs.getSolution().col_value)
                moved: Bools = np.abs(solution[:n] - solution[n:]) > MOVED
                return moved
        return None

    def prune(self, demands: list[int], withheld: Bools, cuts: list[Cut]) -> Bools:
        """Publish cells that no demand needs, the dearest first; a cell without which a cut fails is needed.

        The cuts must be ones that more withheld cells cannot violate.
        """
        withheld = withheld.copy()
        cells = np.flatnonzero(withheld)
        inside = _Inside(self.attackers.within(cells), cells)
        witnesses = {k: self.witness(k, withheld, inside) for k in demands}
        uses = _uses(cuts, len(withheld))
        blocked = dict.fromkeys(demands, 0)
        optional = cells[~self.settled[cells]]
        for cell in optional[np.lexsort((optional, -self.cost[optional]))].tolist():
            self._count(inside)
            if self._stopped():
                break
            withheld[cell] = False
            if any(cut.missing(withheld) > MISSED for cut in uses[cell]):
                withheld[cell] = True
                continue
            noted = len(self.found)
            users = [k for k in demands if (seen := witnesses[k]) is not None and seen[cell]]
            # Demands that often stood in the way are asked first.
            users.sort(key=lambda k: -blocked[k])
            replaced: dict[int, Bools | None] = {}
            for k in users:
                replaced[k] = self.witness(k, withheld, inside)
                if replaced[k] is None:
                    withheld[cell] = True
                    blocked[k] += 1
                    break
            else:
                witnesses.update(replaced)
            for cut in self.found[noted:]:
                for i in cut.cell.tolist():
                    uses[i].append(cut)
        self._count(inside)
        return withheld

    def _count(self, inside: _Inside) -> None:
        """Take over what was done inside a pattern since it was last asked."""
        self.solved += inside.attackers.solved
        self.iterations += inside.attackers.iterations
        inside.attackers.solved = inside.attackers.iterations = 0


def _uses(cuts: list[Cut], count: int) -> list[list[Cut]]:
    """For every cell the cuts that it stands in."""
    uses: list[list[Cut]] = [[] for _ in range(count)]
    for cut in cuts:
        for cell in cut.cell.tolist():
            uses[cell].append(cut)
    return uses
