"""The cut loop: the relaxation to near convergence, then a tree, with a feasible pattern at any time."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import PARTS, checkpoint
from discreet.tables.suppress.bridges import Bridges
from discreet.tables.suppress.cuts import LEAN, Cut, CutPrograms, capacity_cuts
from discreet.tables.suppress.master import SAFE, Master, Relaxed
from discreet.tables.suppress.patterns import Patterns

SCALE = 1e3
"""The cost of the first pattern in the programs."""
VIOLATION = 1e-3
"""Cuts that are missed by less are not worth a row."""
BLEND = 0.3
"""Share of the best pattern in the first point where cuts are looked for: cuts between two points reach further."""
THRESHOLDS = (0.9, 0.5, 0.2)
"""Cells above a threshold are taken as withheld in further points, the others at a small share: the point breaks
cuts that ask for the rest of a level more often than the relaxation's own point does."""
DIM = 0.02
POINTS = 2 + len(THRESHOLDS)
BRIDGED = (1, 3)
"""Points after which bridge cuts are looked for, too."""
TAIL = 12
WORTH = 0.02
"""The relaxation is left when so many rounds closed less than this share of the gap."""
EVERY = 20
"""Rounds of the relaxation between two attempts to make its point a pattern."""
RESTING = 5
"""Demands that were met twice on end are asked only every so many rounds."""
IDLE = 8
"""A cut that was slack in so many rounds on end is dropped."""


@dataclass
class SearchLimits:
    """When to stop: at a gap, after so many nodes and rounds, linear programs or their iterations, or at a time.

    ``struck_at`` is the number of linear programs after which one of the last three struck.
    """

    gap: float
    max_nodes: int
    max_rounds: int
    deadline: float | None
    max_iterations: int | None = None
    max_programs: int | None = None
    struck_at: int | None = None
    seen: int = -1

    @property
    def common(self) -> bool:
        """Whether there is a limit on all that is done, whichever cells it is for."""
        return (self.deadline, self.max_iterations, self.max_programs) != (None, None, None)

    def seconds(self) -> float | None:
        """How long there is still time."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def struck(self, programs: int, iterations: int) -> bool:
        """Whether time or effort is up after so many linear programs and iterations of them.

        The clock counts only where another program was solved, so that as many programs end a replay at the same place.
        """
        if self.struck_at is None:
            late = self.deadline is not None and programs > self.seen and time.monotonic() >= self.deadline
            self.seen = programs
            spent = self.max_programs is not None and programs >= self.max_programs
            if late or spent or (self.max_iterations is not None and iterations >= self.max_iterations):
                self.struck_at = programs
        return self.struck_at is not None


def impossible(k: int) -> ValueError:
    """A demand that no pattern meets."""
    return ValueError(f"Demand {k} cannot be met, even if every movable cell were withheld.")


class PatternSearch(ABC):
    """Looks for the cheapest pattern on cells that hang together; how the tree is searched is up to subclasses.

    Parameters
    ----------
    attackers
        The demands.
    cost
        What withholding a cell costs.
    required
        Cells that every pattern withholds.
    start
        A pattern to start from.
    limits
        When to stop; effort counts from what is given.
    effort
        Counts of all that was done so far; this search adds to them.
    names
        Numbers of the demands in messages.
    cuts
        Cuts that are known before.

    Raises
    ------
    ValueError
        When a demand cannot be met.
    """

    def __init__(
        self,
        attackers: CutPrograms,
        cost: Floats,
        required: Bools,
        start: Bools,
        limits: SearchLimits,
        effort: Counter[str],
        names: Ints,
        cuts: Sequence[Cut] = (),
    ) -> None:
        self.attackers, self.cost, self.limits, self.effort = attackers, cost, limits, effort
        self.base = float(cost[required].sum())
        self.bound, self.scale = 0.0, 0.0
        # What costs nothing may as well be withheld; prune leaves out what is not needed in the end.
        self.settled = required | (cost <= 0)
        self._required, self._names = required, names
        self._working: list[CutPrograms | Patterns | Master | Bridges] = [attackers]
        self.patterns = Patterns(attackers, cost, self.settled, self.over)
        self._working.append(self.patterns)
        order = np.lexsort((np.arange(len(attackers.demands)), -attackers.demands.level))
        self.demands = self.patterns.missed(order.tolist(), self.settled)
        self.best = self.settled
        self._tried: set[bytes] = set()
        if self.demands:
            first = self._started(start)
            self.scale = SCALE / max(float(cost[first].sum()) - self.base, 1e-300)
            self.master = Master(np.where(required, 0.0, cost * self.scale), self.settled)
            self._working.append(self.master)
            self.master.add([*cuts, *self.patterns.found])
            self.best = first
            self.bridges = Bridges(attackers.columns)
            self._working.append(self.bridges)

    def _started(self, start: Bools) -> Bools:
        """A first pattern that meets all demands."""
        everything = np.ones(len(self.cost), np.bool_)
        found = self.patterns.complete(self.demands, start, np.zeros(len(self.cost)))
        if found is None and (missed := self.patterns.missed(self.demands, everything)):
            raise impossible(int(self._names[missed[0]]))
        return self.patterns.prune(self.demands, everything if found is None else found, [])

    def run(self) -> None:
        """Search until the gap is closed or a limit is reached."""
        if self.demands:
            self._relax()
            self._branch()
            self.effort["simplex_iterations"] += self.master.iterations
            for part in (self.master, self.bridges):
                self.effort["linear_programs"] += part.solved
                part.solved = 0
            self.effort["cuts"] += len(self.master.cuts)
        self._publish_needless()
        for asked in (self.attackers, self.patterns):
            self.effort["linear_programs"] += asked.solved
            self.effort["simplex_iterations"] += asked.iterations

    def _publish_needless(self) -> None:
        """Publish cells that cost nothing and serve nothing."""
        required = self._required
        if np.any(self.best & ~required & (self.cost <= 0)):
            self.patterns.settled = required | (self.cost > 0)
            self.best = self.patterns.prune(list(range(len(self.attackers.demands))), self.best, [])

    @property
    def lower_bound(self) -> float:
        """No pattern costs less."""
        return self.base + (self.bound / self.scale if self.demands else 0.0)

    @property
    def cutoff(self) -> float:
        """Cost of the best pattern beyond what is required, as the programs count it."""
        return (float(self.cost[self.best].sum()) - self.base) * self.scale

    @property
    def closed(self) -> bool:
        allowed = self.limits.gap * float(self.cost[self.best].sum()) * self.scale
        return self.bound >= self.cutoff - max(allowed, SAFE * self.cutoff)

    def over(self) -> bool:
        """Report how much of the cost is proved, and say whether time or effort is up."""
        checkpoint("optimum", int(PARTS * self.bound / max(self.cutoff, self.bound)) if self.bound else 0, PARTS)
        return self.limits.struck(self._programs, self._iterations)

    @property
    def _iterations(self) -> int:
        """Iterations of all linear programs so far, of this search and of those before it."""
        return self.effort["simplex_iterations"] + sum(part.iterations for part in self._working)

    @property
    def _programs(self) -> int:
        """Linear programs so far, of this search and of those before it."""
        return self.effort["linear_programs"] + sum(part.solved for part in self._working)

    @property
    def _stopped(self) -> bool:
        return self.effort["rounds"] >= self.limits.max_rounds or self.over()

    def claim(self, bound: float) -> None:
        """Raise the bound. Cuts may be wrong for patterns that are not cheaper than the best one."""
        self.bound = max(self.bound, min(bound, self.cutoff * (1 - SAFE / 2)))

    def _relax(self) -> None:
        """Solve the relaxation and cut off its point, again and again."""
        bounds: list[float] = []
        met = dict.fromkeys(self.demands, 0)
        for number in range(self.limits.max_rounds):
            relaxed = self.master.relax()
            self.effort["rounds"] += 1
            self.claim(relaxed.bound)
            if self.closed:
                return
            self.master.purge(IDLE)
            self.settle(relaxed)
            bounds.append(self.bound)
            slow = len(bounds) > TAIL and bounds[-1] - bounds[-TAIL] < WORTH * (self.cutoff - self.bound)
            last = self._stopped or slow or not self._cut_off(relaxed.point, number, met)
            if last or number % EVERY == EVERY - 1:
                self.propose(relaxed.point > 0.5, relaxed.point)
            if last:
                return

    def settle(self, relaxed: Relaxed) -> None:
        """Settle cells whose other state would make every pattern dearer than the best one."""
        room = self.cutoff * (1 - SAFE / 2) - relaxed.bound
        published, withheld = (cells & self.master.free for cells in relaxed.settled(room))
        if published.any() or withheld.any():
            self.master.fix(published, withheld)
            self.settled |= withheld

    def _cut_off(self, x: Floats, number: int, met: dict[int, int]) -> int:
        """Add cuts that a point of the relaxation violates; says how many."""
        for turn in range(POINTS):
            at = (number + turn) % POINTS
            point = self._point(at, x)
            cuts: list[Cut] = []
            reached = np.zeros(len(self.attackers.demands), np.bool_)
            for k in self.demands:
                if self.over():
                    break
                if reached[k] or (met[k] >= 2 and (number + k) % RESTING and not turn):
                    continue
                found = self.violated(k, point, x, reached)
                met[k] = 0 if found else met[k] + 1
                cuts += found
            if at in BRIDGED:
                cuts += self.bridges.cuts(x, self.settled)
            added = self.master.add(cuts)
            if added:
                return added
        return 0

    def _point(self, at: int, x: Floats) -> Floats:
        """Where to look for cuts: near the best pattern, at the point itself, or at one of its roundings."""
        if at == 0:
            point = (1 - BLEND) * x + BLEND * self.best
        elif at == 1:
            point = x
        else:
            point = np.where(x >= THRESHOLDS[at - 2], 1.0, DIM * x)
        return point * self.master.upper

    def violated(self, k: int, point: Floats, x: Floats, reached: Bools) -> list[Cut]:
        """Cuts that an attack at one point gives and another point violates; notes which demands are ``reached``."""
        quick = self.attackers.attack(k, point)
        if quick.reached:
            reached |= self.attackers.also_met(k, point, quick.moves)
            return []
        keen = self.attackers.attack(k, point, least=LEAN)
        for attack in (keen, quick):
            cuts = [] if attack.reached else capacity_cuts(attack.given, self.settled, x, VIOLATION)
            if cuts:
                return cuts
        return []

    def propose(self, pattern: Bools, point: Floats) -> int:
        """Make a pattern feasible and minimal, and keep it when it is the best; says how many cuts came of it."""
        if pattern.tobytes() in self._tried or self.over():
            return 0
        self._tried.add(pattern.tobytes())
        self.patterns.found = []
        found = self.patterns.complete(self.demands, pattern, point)
        if found is not None:
            monotone = [cut for cut in self.master.cuts if cut.right > 0]
            found = self.patterns.prune(self.demands, found, monotone + self.patterns.found)
            if self.cost[found].sum() < self.cost[self.best].sum():
                self.best = found
        return self.master.add(self.patterns.found)

    def _branch(self) -> None:
        """Search the tree to its end or to a limit."""
        left = self.limits.max_nodes - self.effort["nodes"]
        if left > 0 and not self.closed and not self._stopped:
            self._search_tree(left)

    @abstractmethod
    def _search_tree(self, nodes: int) -> None:
        """Search the tree that the relaxation leaves open, up to so many nodes, and claim what was proved."""
