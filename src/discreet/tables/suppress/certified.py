"""Certified suppression: a family of exact alternative tables for every unsafe cell.

First every unsafe cell gets its family, largest level first; then dear secondaries are given up one after the other,
with all cells behind them, wherever the families that used them can be made anew at less cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.evidence import DOWN, MOVES, UP
from discreet.progress import PARTS, Step, checkpoint
from discreet.relations import System
from discreet.solve.lattice import Lattice
from discreet.solve.local import HUGE, LATTICE, QUICK, LocalPrograms
from discreet.solve.small import STEEP, Alternative, CutOff
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.effort import EffortLimits
from discreet.tables.suppress.families import CertificateFamilies, Member, Unprotected
from discreet.tables.suppress.users import Users

CLOSE = 1e-9
MILLION = 1_000_000
"""In systems of more cells effort is shared out by what it may save of the cost of all, not by rank."""
IN_LARGE = 4
"""There this share of the iterations of the first pattern may go into giving up, where that is more than usual."""
ROUNDS = ((0.0, 0.5), (0.5, 0.8), (0.8, 1.0))
"""Rounds in which secondaries are given up, and the part of that work which each is expected to take."""
NEARBY, FURTHER = ((250, STEEP), (251, LATTICE), (600, STEEP)), ((250, STEEP), (251, LATTICE), (1_500, STEEP))
"""Neighbourhoods in which secondaries are replaced, the dearest fifth in larger ones; finding nothing is no loss."""
WORTH = 5e-3
"""A further round is made while the last one saved this share of the cost."""
WIDEST, WIDE, NARROW, WIDELY, AT_MOST = 20_000, 1_500, 600, 5, 20_000
"""Cells among which something cheaper is looked for: many for the first fifth, which decide on the cost."""
FIRST = 1_500_000
"""The first cells of all decide most: so many neighbours are looked at for them, shared out by rank."""
SHARED = 3
"""So many certificates of larger cells are remembered for a small cell that they move far enough."""
BESIDE = 0.3
"""A secondary is given up together with another one that is worth this share of it."""
LITTLE = 0.02
"""Secondaries that together cost no more than this share are not worth giving up."""
LINES = (2, 8)
"""How much of the lines through a cell is withheld, in parts of a neighbourhood, before it stays without a family."""
STRUCK = ("limit_struck_at", "limit_struck_cells", "limit_struck_of")
"""What is kept of a limit that was reached: the effort, and how many of how many cells had been protected with care."""


@dataclass
class CertifiedPattern:
    """What is withheld, the family of every protected cell, and the unsafe cells that are not protected."""

    withheld: Bools
    families: dict[int, list[Member]]
    unprotected: dict[int, Unprotected]
    effort: dict[str, int]


def needed_levels(system: System) -> tuple[Ints, Ints]:
    """Upper and lower levels; a sliding level that they do not reach together is asked of the upper side."""
    missing = np.maximum(system.sliding_level - system.upper_level - system.lower_level, 0)
    return system.upper_level + missing, system.lower_level


def price(system: System, cost: Floats, pattern: CertifiedPattern) -> float:
    """What the secondaries of a pattern cost."""
    return float(cost[pattern.withheld & ~system.unsafe & ~system.given].sum())


def movable_cells(system: System) -> Bools:
    """Cells that may be withheld, and are not known from before."""
    return ~system.forced & ~system.known & ~(system.empty & ~system.unsafe)


def certify(
    system: System,
    cost: Floats,
    attackers: Attackers,
    limits: EffortLimits,
    allowed: Bools | None = None,
    first_cost: Floats | None = None,
    share: Floats | None = None,
    least: float = 0.0,
) -> CertifiedPattern:
    """Withhold cells until every unsafe one that can be protected has its family; at most ``allowed`` ones.

    The first pattern can be made with another cost, so that the search starts somewhere else. Secondaries are given up
    by what they cost beyond the ``share`` that is necessary of them. Progress says how the cost stands to the ``least``
    that any pattern costs; in systems of millions the effort is shared out by it.
    """
    movable = movable_cells(system)
    beyond = cost if share is None else cost * (1.0 - share)
    among = movable if allowed is None else movable & allowed
    search = _CertifiedSearch(system, cost, beyond, attackers, limits, among)
    search.least = least
    if len(system) > MILLION:
        search.programs.expected, search.programs.shared_by = least, max(int(system.unsafe.sum()), 1)
    try:
        return search.run(cost if first_cost is None else first_cost, cost)
    finally:
        search.programs.solver.let_go()


def _families_against(programs: LocalPrograms, attackers: Attackers, up: Ints, down: Ints) -> CertificateFamilies:
    """What makes families of certificates against some attackers."""
    if attackers.in_pairs:
        from discreet.tables.suppress.coalitions import CoalitionFamilies, Coalitions

        assert isinstance(attackers, Coalitions)
        return CoalitionFamilies(programs, attackers, up, down)
    return CertificateFamilies(programs, attackers, up, down)


class _CertifiedSearch:
    def __init__(
        self, system: System, cost: Floats, beyond: Floats, attackers: Attackers, limits: EffortLimits, movable: Bools
    ) -> None:
        self.unsafe, self.limits, self.beyond = system.unsafe, limits, beyond
        self.up, self.down = needed_levels(system)
        self.programs = LocalPrograms(
            system.matrix[np.flatnonzero(system.defining)],
            system.value,
            attackers.floor,
            attackers.upper,
            movable,
            system.unsafe | system.given,
            cost,
            attackers.integral,
            Lattice(system),
        )
        self.maker = _families_against(self.programs, attackers, self.up, self.down)
        self.families: dict[int, list[Member]] = {}
        self.unprotected: dict[int, Unprotected] = {}
        self.users = Users(self.programs.required)
        self.waiting = np.zeros(len(system), np.bool_)
        self.shared: dict[int, list[Member]] = {}
        self.remembered = np.zeros((len(system), 3), np.int8)
        self.last = self.work = self.fallbacks = self.careful = self.count = 0
        self.step = Step("protect", 0, 0)
        self.improving, self.hurried, self.least = False, False, 0.0
        self.programs.solver.listen, self.programs.solver.allowed = self._listen_within, self._allowed

    def run(self, first_cost: Floats, cost: Floats) -> CertifiedPattern:
        self.programs.charge(first_cost)
        targets = np.flatnonzero(self.unsafe & ((self.up > 0) | (self.down > 0)))
        order = targets[np.lexsort((targets, -np.maximum(self.up[targets], self.down[targets])))]
        self.count = len(order)
        widely = min(len(order) // WIDELY + 1, AT_MOST)
        self.waiting[order[widely:]] = True
        ahead = self._work(len(order), widely)
        for done, target in enumerate(order.tolist()):
            self._at(ahead[done], f"{done:,} of {counted(len(order), 'unsafe cell')}")
            self.limits.waiting = len(order) - done
            if self.limits.struck_at is None:
                self.programs.second = _width(done) if done < widely else NARROW
            else:
                self._hurry(order[done:])
            self.waiting[target] = False
            found = self.maker.make(target, self.shared.pop(target, []))
            if self.limits.struck_at is None:
                self.careful = done + 1
            elif isinstance(found, Unprotected) and self.careful == done:
                self._hurry(order[done + 1 :])  # the limit struck on the way, and took a program away
                found = self.maker.make(target, [])
            if isinstance(found, Unprotected):
                self.unprotected[target] = found
            else:
                self.families[target] = found
                self._share(self.maker.found)
        self._try_again()
        self._at(self.work)
        self._drop_unused()
        self.limits.complete = self.improving = True
        self.limits.waiting = 0
        self._improved(0)
        self.programs.charge(cost)
        self.users.take(self.families)
        first = self.programs.solver.iterations
        care = self.limits.care
        most = max(care.most, first // IN_LARGE) if self.programs.expected > 0 else care.most
        self.last = first + min(max(int(care.times * first), care.least), most)
        before = np.inf
        self.programs.solver.thorough = False
        for number in range(len(ROUNDS)):
            price = self._price()
            if self._done() or before - price < WORTH * price:
                break
            before = price
            self._improve(ROUNDS[number], first)
        self._improved(PARTS)
        return CertifiedPattern(self.programs.withheld, self.families, self.unprotected, self._effort())

    def _at(self, done: float, note: str = "") -> None:
        """So much of the work on the first pattern is done."""
        self.step = Step("protect", int(done), self.work, note)
        self._listen()

    def _improved(self, done: float, note: str = "") -> None:
        """So much of the work on a better pattern is done, in parts."""
        self.step = Step("improve", int(done), PARTS, note)
        self._listen()

    def _against_least(self) -> str:
        """How the cost of what is withheld besides stands to what any pattern costs at least."""
        return f", {self.programs.spent / self.least:.2f} x the proven least" if self.least > 0 else ""

    def _listen(self) -> None:
        """Say how much is done, and let whoever hears it cancel."""
        checkpoint(*self.step)

    def _listen_within(self) -> None:
        """The same while a program runs, which is cut off when a limit of time strikes."""
        self._listen()
        if self.limits.struck_at is None and self.limits.due:
            self._strikes()
            raise CutOff

    def _allowed(self) -> bool:
        """Whether the next program is solved.

        The one at which a limit strikes is not, so that a replay stops at the same place, wherever the clock was looked
        at. Programs that complete the pattern are solved then, and those that improve it are not.
        """
        if self.limits.struck_at is not None:
            return not self.improving
        return not self._strikes()

    def _strikes(self) -> bool:
        """Whether a limit strikes now; from then on nothing cheaper is looked for than what was found."""
        if self.limits.struck(self.programs.solver.programs):
            self.programs.second = self.programs.rounds = 0
            return True
        return False

    def _hurry(self, order: Ints) -> None:
        """Let the cells that are left take the first that comes.

        Nothing is given up later on, so that the largest of them may hang on certificates of others, too.
        """
        if not self.hurried:
            self.hurried = True
            self.programs.second = self.programs.rounds = 0
            self.waiting[order] = True

    def _try_again(self) -> None:
        """Cells without a family, now that more is withheld; where that does not help, whole lines are withheld too.

        What is withheld of these lines and then not needed is published again. Where programs of the whole system were
        solved, there is nothing else to be found.
        """
        programs = self.programs
        if programs.whole:
            return
        programs.sizes = HUGE
        for target in list(self.unprotected):
            for times in (0, *LINES):
                self._at(self.work, f"{counted(len(self.unprotected), 'unsafe cell')} tried again")
                if times and programs.lattice is not None:
                    level = int(max(self.up[target], self.down[target]))
                    lines = programs.lattice.around(target, level, programs.weight, programs.movable, times)
                    programs.withhold(lines)
                    self.fallbacks += 1
                found = self.maker.make(target, [])
                if not isinstance(found, Unprotected):
                    self.families[target] = found
                    del self.unprotected[target]
                    break

    def _work(self, count: int, widely: int) -> Floats:
        """How much work lies before each cell, in microseconds of an ordinary machine; sets the whole ``work``."""
        width = np.array([min(_width(rank), len(self.unsafe)) for rank in range(widely)], np.float64)
        each = np.full(count, 1_200.0)
        each[:widely] = np.where(width > QUICK, 12.0 * width, 3.0 * width)[:count]
        before: Floats = np.cumsum(each) - each
        self.work = int(before[-1] + each[-1]) if count else 1
        return before

    def _share(self, found: list[Alternative]) -> None:
        """Remember new certificates of a cell for smaller ones that they move.

        Larger cells do not share: where many of them hang on one certificate, nothing can be given up any more.
        """
        for alternative in found:
            waiting = np.flatnonzero(self.waiting[alternative.cells])
            if not len(waiting) or alternative.denominator != 1:
                continue
            cells, amount = alternative.cells[waiting], alternative.amount[waiting]
            enough = np.where(amount > 0, amount >= self.up[cells], -amount >= self.down[cells])
            uses = np.where(enough, np.where(amount > 0, UP, DOWN), MOVES)
            wanted = self.remembered[cells, uses] < SHARED
            self.remembered[cells[wanted], uses[wanted]] += 1
            for cell, use in zip(cells[wanted].tolist(), uses[wanted].tolist(), strict=True):
                self.shared.setdefault(cell, []).append(Member(use, alternative, 1))

    def _done(self) -> bool:
        return self.limits.struck_at is not None or self.programs.solver.iterations >= self.last

    def _effort(self) -> dict[str, int]:
        solver = self.programs.solver
        effort = {"linear_programs": solver.programs, "simplex_iterations": solver.iterations}
        if self.fallbacks:
            effort["fallbacks"] = self.fallbacks
        if self.limits.struck_at is not None:
            effort |= dict(zip(STRUCK, (self.limits.struck_at, self.careful, self.count), strict=True))
        return effort

    def _price(self) -> float:
        return float(self.programs.cost[self.programs.withheld].sum())

    def _drop_unused(self) -> None:
        """Publish what was withheld for attempts that came to nothing."""
        unused = self.programs.withheld & ~self.programs.required
        for family in self.families.values():
            for member in family:
                unused[member.alternative.cells] = False
        self.programs.release(np.flatnonzero(unused))

    # ---- improvement --------------------------------------------------------------------------------------

    def _improve(self, part: tuple[float, float], started: int) -> None:
        """Give up secondaries, the dearest first, where that makes the pattern cheaper.

        ``part`` and ``started``, the iterations before the first round, are for progress.
        """
        programs = self.programs
        secondary = np.flatnonzero(programs.withheld & ~programs.required)
        secondary = secondary[np.lexsort((secondary, -self.beyond[secondary]))]
        left = np.cumsum(self.beyond[secondary][::-1])[::-1]
        secondary = secondary[left > LITTLE * left[:1]]
        widely = min(len(secondary) // WIDELY + 1, AT_MOST)
        for done, cell in enumerate(secondary.tolist()):
            placed = part[0] + (part[1] - part[0]) * done / len(secondary)
            spent = (programs.solver.iterations - started) / (self.last - started)
            self._improved(
                PARTS * min(max(placed, spent), 1.0),
                f"{done:,} of {counted(len(secondary), 'cell')}{self._against_least()}",
            )
            if self._done():
                break
            programs.sizes, programs.second = (FURTHER, _width(done)) if done < widely else (NEARBY, NARROW)
            if programs.withheld[cell] and not self._give_up([cell]) and done < widely:
                beside = self._dear_beside(cell)
                if beside is not None:
                    self._give_up([cell, beside])

    def _dear_beside(self, cell: int) -> int | None:
        """The dearest secondary that users of a cell need besides and that is worth as much as a good part of it.

        Where both were chosen together, neither can be given up without the other.
        """
        cost, users = self.programs.cost, self.users.of([cell])
        if users is None:
            return None
        others = self.users.needs(users) - {cell}
        kept = [c for c in others if cost[c] > BESIDE * cost[cell] and not self.users.within(c, users)]
        return max(kept, key=lambda c: (cost[c], -c), default=None)

    def _give_up(self, cells: list[int]) -> bool:
        """Publish cells, and all that only their users needed, if these can be protected at less cost without them."""
        programs, users = self.programs, self.users.of(cells)
        if users is None:
            return False
        free = [c for c in sorted(self.users.needs(users)) if self.users.within(c, users)]
        released = np.array(free, np.int64)
        saved = float(programs.cost[released].sum())
        programs.release(released)
        programs.movable[cells] = False
        made = self._made_anew(users, saved * (1 - CLOSE))
        programs.movable[cells] = True
        if made is None:
            programs.withhold(released)
            return False
        for target, family in made.items():
            self.users.change(target, family)
            self.families[target] = family
        programs.release(np.array([c for c in free if not self.users.any(c)], np.int64))
        return True

    def _made_anew(self, users: set[int], budget: float) -> dict[int, list[Member]] | None:
        """Families of some cells, made anew one after the other; everything is undone where that costs too much."""
        programs, made, new = self.programs, {}, []
        spent = 0.0
        for target in sorted(users, key=lambda t: (-max(int(self.up[t]), int(self.down[t])), t)):
            kept = [m for m in self.families[target] if bool(np.all(programs.withheld[m.alternative.cells]))]
            family = self.maker.make(target, kept, budget - spent)
            new += self.maker.new
            spent += self.maker.spent
            if isinstance(family, Unprotected) or spent >= budget:
                for cells in new:
                    programs.release(cells)
                return None
            made[target] = family
        return made


def _width(rank: int) -> int:
    """Neighbours to be looked at for the cell of a rank among the first fifth."""
    return max(WIDE, min(WIDEST, FIRST // (rank + 1)))
