"""Branch and cut: one tree of relaxations, to which attackers add cuts as it goes.

A node settles some cells. Its relaxation gives a bound and a point; the point is cut off where attackers see through
it, or one of its shares is settled both ways. An integer program for every round of cuts takes several times as long,
because it proves much about patterns that the next cut forbids.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.tables.suppress.cuts import Cut
from discreet.tables.suppress.master import SAFE, Relaxed
from discreet.tables.suppress.search import PatternSearch

WHOLE = 1e-6
"""A share counts as nothing or all within this."""
SEPARATED = 10
"""Shares are cut off in every so many nodes, whole points in all of them."""
ENOUGH, ASKED = 20, 40
"""Demands with cuts that are enough to move on from a point, and how many are asked at most."""
WORTH = 0.002
"""Cuts are looked for again at a node while they close this share of what is left to its pruning."""
IDLE, MANY = 60, 0.2
"""Cuts that were slack in so many relaxations on end are dropped, where they are this share of all."""
TRIED = 25
"""Nodes between two attempts to make a point a pattern."""
CANDIDATES = 8
"""So many cells are tried both ways before one is chosen to branch on."""
RELIABLE = 4
"""A cell that was tried so often is taken to do again what it did."""
FORGOTTEN = 0.7
"""How much of what is known of a demand counts after it was asked again."""
LEAST = 1e-6


class _Branch(NamedTuple):
    """What a part of the tree costs at least, its number, and which cells it settles in what way."""

    bound: float
    number: int
    cells: Ints
    withheld: Bools


class _Open(NamedTuple):
    """A node that has to be branched on: its relaxation, and the bounds of the shares there."""

    relaxed: Relaxed
    lower: Floats
    upper: Floats


class BranchingSearch(PatternSearch):
    """The search with a tree of its own."""

    def _search_tree(self, nodes: int) -> None:
        _Branching(self).run(nodes)


class _Branching:
    """Searches the tree of a search, from what its relaxation has shown."""

    def __init__(self, search: PatternSearch) -> None:
        self.search, self.master = search, search.master
        count = len(search.cost)
        self._open: list[_Branch] = []
        self._numbers = 0
        # What settling a cell added to bounds, by the share that was settled: withheld and published.
        self._gain, self._tries = np.zeros((2, count)), np.zeros((2, count))
        self._heat = np.zeros(len(search.attackers.demands))
        self._root: Relaxed | None = None

    @property
    def _cutoff(self) -> float:
        """Nothing that costs this much is of interest."""
        return self.search.cutoff * (1 - SAFE / 2)

    def run(self, nodes: int) -> None:
        """Search to the end of the tree, or to a limit, and tell the search what was proved."""
        search = self.search
        following: _Branch | None = self._node(search.bound, np.zeros(0, np.int64), np.zeros(0, np.bool_))
        done, best = 0, search.best
        while following is not None or self._open:
            node = heappop(self._open) if following is None else following
            following = None
            if search.best is not best and self._root is not None:
                search.settle(self._root)
            best = search.best
            search.claim(min(node.bound, self._open[0].bound) if self._open else node.bound)
            if search.closed or search.over() or done >= nodes:
                break
            if node.bound >= self._cutoff:
                continue
            done += 1
            opened = self._visit(node, done)
            following = None if opened is None else self._branch(opened)
        else:
            search.claim(np.inf)
        search.effort["nodes"] += done
        self.master.leave()

    def _node(self, bound: float, cells: Ints, withheld: Bools) -> _Branch:
        self._numbers += 1
        return _Branch(bound, self._numbers, cells, withheld)

    # ---- one node -----------------------------------------------------------------------------------------

    def _visit(self, node: _Branch, number: int) -> _Open | None:
        """Solve the relaxation of a node and cut off its point; nothing is left to branch on where it is pruned."""
        search, master = self.search, self.master
        lower, upper = master.lower.copy(), master.upper.copy()
        lower[node.cells[node.withheld]], upper[node.cells[~node.withheld]] = 1.0, 0.0
        if np.any(lower > upper):
            return None  # settled otherwise for good in the meantime
        separating, before = number == 1 or number % SEPARATED == 0, -np.inf
        while True:
            master.enter(lower, upper)
            relaxed = master.relax()
            if relaxed.bound >= self._cutoff:
                return None
            if number == 1:
                self._root = relaxed
            published, withheld = relaxed.settled(self._cutoff - relaxed.bound)
            upper[published], lower[withheld] = 0.0, 1.0
            if np.all(np.minimum(relaxed.point, 1 - relaxed.point) < WHOLE):
                # Looked at even where time is up: it may be all that is left of the node.
                if not self._refuted(relaxed.point > 0.5) or search.over():
                    break
                continue
            gained, before = relaxed.bound - before, relaxed.bound
            little = gained < WORTH * (self._cutoff - relaxed.bound)
            if little or not separating or search.over() or not self._cut_off(relaxed.point):
                break
        if separating:
            master.purge(IDLE, MANY)
        if number % TRIED == 0:
            search.propose(relaxed.point > 0.5, relaxed.point)
        # Only now: reduced costs go with the bound that they are of, and not with a better one from above.
        relaxed = relaxed._replace(bound=max(relaxed.bound, node.bound))
        return None if relaxed.bound >= self._cutoff else _Open(relaxed, lower, upper)

    def _refuted(self, pattern: Bools) -> bool:
        """Whether a cut against a pattern was added. One that meets all demands is kept where it is the best."""
        search = self.search
        search.patterns.found = []
        if not search.patterns.missed(search.demands, pattern):
            if search.cost[pattern].sum() < search.cost[search.best].sum():
                search.best = pattern
            return False
        if self.master.add(search.patterns.found) or self._cut_off(pattern.astype(np.float64), whole=True):
            return True
        # The reason is beyond the arithmetic: something else must be withheld.
        others = np.flatnonzero((self.master.upper > 0) & ~pattern)
        return bool(len(others)) and bool(self.master.add([Cut(others, np.ones(len(others)))]))

    def _cut_off(self, point: Floats, whole: bool = False) -> int:
        """Add cuts that a point violates, of demands that gave some lately; of all demands against a whole point."""
        search = self.search
        reached = np.zeros(len(search.attackers.demands), np.bool_)
        cuts: list[Cut] = []
        hot = asked = 0
        for k in sorted(search.demands, key=lambda k: -self._heat[k]):
            if search.over() or (not whole and (hot >= ENOUGH or asked >= ASKED)):
                break
            if reached[k]:
                continue
            found = search.violated(k, point * self.master.upper, point, reached)
            self._heat[k] = FORGOTTEN * self._heat[k] + bool(found)
            hot, asked = hot + bool(found), asked + 1
            cuts += found
        return self.master.add(cuts)

    # ---- branching ----------------------------------------------------------------------------------------

    def _branch(self, opened: _Open) -> _Branch | None:
        """Settle a cell both ways; gives the node to go on with, and keeps the other one for later."""
        relaxed, lower, upper = opened
        self.master.enter(lower, upper)
        cell, bounds = self._chosen(relaxed, lower, upper)
        if cell < 0:
            return None
        settled = np.flatnonzero((lower > self.master.lower) | (upper < self.master.upper))
        settled = settled[settled != cell]
        way = lower[settled] > 0.5
        nodes = [
            self._node(max(relaxed.bound, bound), np.append(settled, cell), np.append(way, withheld))
            for bound, withheld in zip(bounds, (True, False), strict=True)
            if bound < self._cutoff
        ]
        if len(nodes) < 2:
            return nodes[0] if nodes else None
        first = int(relaxed.point[cell] <= 0.4 or nodes[0].bound > nodes[1].bound * (1 + 1e-3))
        heappush(self._open, nodes[1 - first])
        return nodes[first]

    def _chosen(self, relaxed: Relaxed, lower: Floats, upper: Floats) -> tuple[int, tuple[float, float]]:
        """The cell to branch on, and what both ways cost at least; -1 where nothing is left to settle.

        The product of what both ways add to the bound counts. Of cells that were not tried often this is found out.
        """
        free = np.flatnonzero(upper > lower)
        point = relaxed.point[free]
        fractional = np.minimum(point, 1 - point) > WHOLE
        if fractional.any():
            free, point = free[fractional], point[fractional]
        if not len(free):
            return -1, (np.inf, np.inf)
        distance = np.stack((1 - point, point))
        tries = self._tries[:, free]
        usual = self._gain.sum(axis=1) / np.maximum(self._tries.sum(axis=1), 1.0)
        gain = np.where(tries > 0, self._gain[:, free] / np.maximum(tries, 1.0), usual[:, None]) * distance
        score = np.prod(np.maximum(gain, LEAST), axis=0)
        if not self._tries.any():
            score = np.minimum(point, 1 - point) * self.master.cost[free]
        best, best_score, both = int(free[0]), -1.0, (relaxed.bound, relaxed.bound)
        tried = 0
        for i in np.argsort(-score, kind="stable").tolist():
            cell, bounds = int(free[i]), (relaxed.bound, relaxed.bound)
            reached = float(score[i])
            if tries[:, i].min() < RELIABLE:
                if tried == CANDIDATES:
                    break
                tried += 1
                bounds = self._tried(cell, relaxed, distance[:, i])
                if max(bounds) >= self._cutoff:
                    return cell, bounds  # one way is closed
                reached = float(np.prod(np.maximum(np.array(bounds) - relaxed.bound, LEAST)))
            if reached > best_score:
                best, best_score, both = cell, reached, bounds
        return best, both

    def _tried(self, cell: int, relaxed: Relaxed, distance: Floats) -> tuple[float, float]:
        """What a node costs at least when a cell is withheld, and when it is published."""
        bounds = [max(bound, relaxed.bound) for bound in self.master.probe(cell)]
        for way, bound in enumerate(bounds):
            if np.isfinite(bound):
                self._gain[way, cell] += (bound - relaxed.bound) / max(float(distance[way]), WHOLE)
                self._tries[way, cell] += 1
        return bounds[0], bounds[1]
