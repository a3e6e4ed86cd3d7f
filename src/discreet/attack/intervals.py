"""Attacker's intervals: the least and largest value that each withheld cell can have.

The attacker knows all published cells, all relations and the bounds of each cell. Cells that are known from single
relations are found first; the others fall into components that no relation ties together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.attack.moves import DOWN, UP, PossibleMoves, tighten
from discreet.attack.plain_moves import by_exchange, by_scaling
from discreet.attack.settle import Ends, SettledLevels, settle
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.relations.components import components
from discreet.relations.whole_counts import whole_cells

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOLERANCE = 1e-6
"""Share of a value (at least one unit) below which a width is nothing, and of a level that may be missed."""
FLOAT = 2.5e-16
"""Share of a value that floating-point numbers cannot tell."""
PUSH = 0.01
"""Share of its value by which a cell is pushed to see whether it moves at all."""
BEYOND = 1e3
"""No finite end lies further than this many times all finite room together."""
FEW = 5
"""Cells are pushed one by one where plain moves leave no more than one in so many open."""
TOGETHER = 2_000
"""Small components are looked at together, up to so many cells."""


@dataclass(frozen=True, eq=False)
class AttackIntervals:
    """Intervals of the withheld cells of a system, in units.

    ``cells`` are numbers of cells; ``lower`` and ``upper`` the attacker's interval (infinite where nothing is
    known; not a number where a cell was not looked at). Where the ends are not ``exact``, the true interval contains
    them and may be wider, but whether a level is kept and whether a cell is recoverable is certain.
    ``short_below``, ``short_above`` and ``short_width`` say by how much the lower, upper and sliding protection level
    is missed.
    """

    cells: Ints
    lower: Floats
    upper: Floats
    short_below: Floats
    short_above: Floats
    short_width: Floats
    value: Floats
    exact: bool

    @property
    def looked_at(self) -> Bools:
        """Cells that were looked at."""
        return ~np.isnan(self.lower)

    @property
    def recoverable(self) -> Bools:
        """Cells that the attacker knows exactly."""
        with np.errstate(invalid="ignore"):
            return (self.upper - self.lower) <= TOLERANCE * np.maximum(1.0, np.abs(self.value))

    @property
    def short(self) -> Bools:
        """Unsafe cells whose interval misses their level."""
        return (self.short_below > 0) | (self.short_above > 0) | (self.short_width > 0)


@dataclass(frozen=True, eq=False)
class Required:
    """What each withheld cell must be able to do: rise and fall by ``level``, both together by ``sliding``."""

    level: Floats
    sliding: Floats
    value: Floats

    @classmethod
    def of(cls, system: System, cells: Ints) -> Required:
        """What the levels of a system ask of some cells."""
        unsafe = system.unsafe[cells]
        level = np.stack((system.upper_level[cells], system.lower_level[cells]))
        return cls(
            np.where(unsafe, level, 0).astype(np.float64),
            np.where(unsafe, system.sliding_level[cells], 0).astype(np.float64),
            system.value[cells].astype(np.float64),
        )

    @cached_property
    def enough(self) -> Floats:
        """Rises and falls that keep the level."""
        return self.level * (1 - TOLERANCE) - FLOAT * np.abs(self.value)

    @cached_property
    def width(self) -> Floats:
        """Widths that keep the sliding level, and below which a cell is known."""
        known = TOLERANCE * np.maximum(1.0, np.abs(self.value))
        return np.maximum(2 * known, self.sliding * (1 - TOLERANCE) - FLOAT * np.abs(self.value))

    def levels(self, cells: Ints, wanted: Bools) -> SettledLevels:
        """What to settle of some cells; nothing of those that are not wanted."""
        reach = np.maximum(self.sliding, PUSH * np.abs(self.value) + 1.0)[cells]
        return SettledLevels(
            self.level[:, cells],
            np.where(wanted, self.enough[:, cells], -1.0),
            np.where(wanted, self.width[cells], -1.0),
            np.stack((reach, reach)),
        )


class External:
    """The attack of an outsider on the withheld cells of a system.

    Parameters
    ----------
    system
        Cells and relations.
    withheld
        Which cells the attacker does not know.
    wanted
        For every withheld cell whether it is to be looked at; all when left out.

    Attributes
    ----------
    cells
        Numbers of the withheld cells.
    room, shown, possible
        How far each can rise and fall by its bounds, was shown to, and can at most.
    """

    def __init__(self, system: System, withheld: Bools, wanted: Bools | None = None) -> None:
        self.system = system
        self.cells = np.flatnonzero(withheld)
        self.wanted = np.ones(len(self.cells), np.bool_) if wanted is None else wanted
        self.required = Required.of(system, self.cells)
        value = system.value[self.cells]
        low, high = system.lower_bound[self.cells], system.upper_bound[self.cells]
        rise = np.where(high >= NO_UPPER, np.inf, (high - value).astype(np.float64))
        fall = np.where(low <= NO_LOWER, np.inf, (value - low).astype(np.float64))
        self.room = np.maximum(np.stack((rise, fall)), 0.0)
        self.possible = self.room.copy()
        self.shown = np.zeros_like(self.room)
        self._batches = True
        tighten(system.matrix[:, self.cells].tocsr().astype(np.float64), self.possible)
        self.matrix = system.matrix[np.flatnonzero(system.defining)][:, self.cells].tocsr().astype(np.float64)

    def show_plain_moves(self) -> None:
        """Take what cells can do without a linear program; much where nearly all cells are withheld."""
        self.shown = np.minimum(by_scaling(self.system, self.cells, self.room), self.possible)
        before = self._open()
        if before.any():
            found = by_exchange(self.system, self.cells, self.room, before, self.required.level)
            self.shown = np.minimum(np.maximum(self.shown, found), self.possible)
            self._batches = FEW * int(self._open().sum()) > int(before.sum())

    def take_proofs(self, proved: Bools) -> None:
        """Take it that some cells of the system, which have certificates, rise and fall by their levels."""
        mine = proved[self.cells]
        self.shown[:, mine] = np.maximum(self.shown, np.minimum(self.required.level, self.possible))[:, mine]

    def _open(self) -> Bools:
        """Wanted cells of which it is not settled whether they move as far as they must."""
        required, shown, possible = self.required, self.shown, self.possible
        lacking = ((shown < required.enough) & (possible >= required.enough)).any(axis=0)
        narrow = (shown.sum(axis=0) < required.width) & (possible.sum(axis=0) >= required.width)
        result: Bools = self.wanted & (lacking | narrow)
        return result

    def bundles(self) -> Iterator[tuple[Ints, csr_array]]:
        """Positions of cells that can move, by component, and the relations among them; small components together."""
        movable = np.flatnonzero(self.possible.sum(axis=0) > 0)
        count, label = components(self.matrix, movable)
        order = np.argsort(label, kind="stable")
        size = np.bincount(label, minlength=count)
        number = np.arange(count)
        large = size > TOGETHER
        # Large components get numbers of their own; the others share one until it is full.
        filled = np.cumsum(np.where(large, 0, size)) // TOGETHER
        bundle = np.where(large, number, count + filled)[label[order]]
        for one in np.unique(bundle).tolist():
            cells = np.sort(movable[order[bundle == one]])
            part = self.matrix[:, cells]
            yield cells, part[np.flatnonzero(np.diff(part.indptr))]

    def run(self, exact: bool, seed: int) -> None:
        """Settle what is required of each cell, and with ``exact`` both ends of its interval."""
        bundles = list(self.bundles())
        total = 2 * sum(int(self.wanted[cells].sum()) for cells, _ in bundles) * (1 + exact)
        done = 0
        for cells, part in bundles:
            stages = 2 * int(self.wanted[cells].sum())
            report = Reporter("audit", done, total, stages)
            moves = PossibleMoves(part, self.room[:, cells], self.possible[:, cells], report.again)
            moves.shown = self.shown[:, cells]
            settle(moves, self.required.levels(cells, self.wanted[cells]), seed, report, self._batches)
            done += stages
            if exact:
                report = Reporter("audit", done, total, stages)
                moves = find_ends(moves, self.wanted[cells], np.abs(self.required.value[cells]), seed, report)
                done += stages
            self.shown[:, cells], self.possible[:, cells] = moves.shown, moves.possible
        checkpoint("audit", total, total)

    def intervals(self, exact: bool) -> AttackIntervals:
        """What was found."""
        required, value = self.required, self.required.value
        shown = np.where(self.wanted, self._in_whole_numbers(), np.nan)
        with np.errstate(invalid="ignore"):
            missed = np.where(shown < required.enough, required.level - shown, 0.0)
            both = shown.sum(axis=0)
            narrow = (required.sliding > 0) & (both < required.width)
        return AttackIntervals(
            self.cells,
            value - shown[DOWN],
            value + shown[UP],
            missed[DOWN],
            missed[UP],
            np.where(narrow, required.sliding - both, 0.0),
            value,
            exact,
        )

    def _in_whole_numbers(self) -> Floats:
        """How far cells were shown to move; counts as far as the last whole number on the way."""
        whole = whole_cells(self.system)[self.cells]
        step = 10.0**self.system.decimals
        result: Floats = np.where(whole, np.floor(self.shown / step + TOLERANCE) * step, self.shown)
        return result


class Reporter:
    """Reports how much is settled while the number of open questions falls; called again, the same as before."""

    def __init__(self, stage: str, done: int, total: int, share: int) -> None:
        self._stage, self._done, self._total, self._share = stage, done, total, share
        self._first: int | None = None
        self._now = done

    def __call__(self, open_questions: int) -> None:
        if self._first is None:
            self._first = max(open_questions, 1)
        settled = self._share * (1 - open_questions / self._first)
        self._now = self._done + max(0, int(settled))
        self.again()

    def again(self) -> None:
        """Report once more, so that whoever listens can cancel."""
        checkpoint(self._stage, self._now, self._total)


def find_ends(
    moves: PossibleMoves, wanted: Bools, value: Floats, seed: int, report: Callable[[int], None]
) -> PossibleMoves:
    """Both ends of the interval of each wanted cell."""
    endless = np.isinf(moves.possible) & wanted
    if endless.any():
        # Directions in which cells can go on for ever: all finite bounds are walls, all others are far away.
        room, possible = (np.where(np.isinf(known), np.inf, 0.0) for known in (moves.room, moves.possible))
        cone = PossibleMoves(moves.matrix, room, possible)
        ones, none = np.ones_like(moves.room), np.full(len(moves), -1.0)
        settle(cone, SettledLevels(ones, np.where(endless, 0.5, -1.0), none, ones), seed, report)
        moves.shown[endless & (cone.shown >= 0.5)] = np.inf
    finite = moves.room[np.isfinite(moves.room)]
    most = BEYOND * (float(finite.sum()) + float(value.max(initial=0.0)) + 1.0)
    tolerance = np.where(wanted, TOLERANCE / 10 * np.maximum(1.0, value), np.inf)
    settle(moves, Ends(tolerance, most, max(float(np.median(value)), 1.0)), seed, report)
    moves.shown[moves.shown >= most] = np.inf
    return moves


def attack_intervals(system: System, withheld: Bools, *, exact: bool = True, seed: int = 0) -> AttackIntervals:
    """What an outsider can work out of each withheld cell.

    Parameters
    ----------
    system
        Cells and relations.
    withheld
        Which cells the attacker does not know.
    exact
        Find both ends of every interval; otherwise only whether levels are kept and whether cells are recoverable.
    seed
        Which cells are looked at together; what is found does not depend on it.

    Examples
    --------
    >>> import discreet as ds
    >>> from discreet.relations import build_system
    >>> system = build_system(ds.examples.small_table())
    >>> len(attack_intervals(system, system.value < 0).cells)
    0
    """
    attack = External(system, withheld)
    attack.run(exact, seed)
    return attack.intervals(exact)
