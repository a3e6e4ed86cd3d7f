"""How far each cell may and must move, in whole steps of a grid that floating-point solvers keep exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ProtectionError, counted, listed
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.relations import System

FINE = 10**9
"""The largest level is at most so many steps of the grid."""
FAR = 1e15
"""A move that nothing limits."""
SHOWN = 5


@dataclass(frozen=True, eq=False)
class MoveLimits:
    """Limits of moves, in steps of ``grid`` units.

    Parameters
    ----------
    grid
        Units in a step.
    unsafe
        Numbers of the cells that must move.
    least_up, least_down
        How far each of them must move, one way or the other.
    most_up, most_down
        How far every cell may move; zero where it may not.
    weight
        What a step of each cell costs.
    """

    grid: int
    unsafe: Ints
    least_up: Floats
    least_down: Floats
    most_up: Floats
    most_down: Floats
    weight: Floats

    @property
    def can_rise(self) -> Bools:
        """Unsafe cells that can move up as far as they must."""
        return self.most_up[self.unsafe] >= self.least_up

    @property
    def can_fall(self) -> Bools:
        """Unsafe cells that can move down as far as they must."""
        return self.most_down[self.unsafe] >= self.least_down


def needed(system: System) -> tuple[Ints, Ints]:
    """How far unsafe cells must move up or down, in units: their level, their sliding level, at least one unit."""
    least = np.maximum(system.sliding_level, 1)
    return np.maximum(system.upper_level, least), np.maximum(system.lower_level, least)


def whole(level: Ints, times: Fraction) -> Ints:
    """So many times a level, rounded up to whole units, at least the level itself."""
    times = max(times, Fraction(1))
    return np.array([-((-int(v) * times.numerator) // times.denominator) for v in level.tolist()], np.int64)


def share_of(value: Ints, percent: Fraction) -> Ints:
    """So many per cent of the size of each value, rounded down to whole units."""
    return np.array([abs(int(v)) * percent.numerator // (100 * percent.denominator) for v in value.tolist()], np.int64)


def fixed_cells(system: System, what: str) -> Bools:
    """Cells that stay what they are: forced ones and those of a kind.

    ``what`` is ``"none"``, ``"total"`` (grand totals), ``"one-way"`` or ``"margins"`` (all above the lowest level).
    """
    fixed = system.forced.copy()
    if what == "none":
        return fixed
    for table, cells in zip(system.tables, system.of, strict=True):
        hierarchies = table.spec.hierarchies
        if what in ("total", "one-way"):
            top = [-1 if h.total is None else h.position(h.total) for h in hierarchies]
            below = (table.codes != np.array(top)).sum(axis=1)
            fixed[cells[below <= (what == "one-way")]] = True
        else:
            inner = np.all([h.base[table.codes[:, k]] for k, h in enumerate(hierarchies)], axis=0)
            fixed[cells[~inner]] = True
    return fixed


def known_of_others(published: Ints, percent: Fraction) -> tuple[Ints, Ints]:
    """The least and most that values can be which moved by at most so many per cent of themselves."""
    whole, moved = 100 * percent.denominator, percent.numerator
    if moved >= whole:
        return np.full(len(published), NO_LOWER), np.full(len(published), NO_UPPER)
    size = [abs(p) for p in published.tolist()]
    near = np.array([-(-p * whole // (whole + moved)) for p in size], np.int64)
    far = np.array([min(p * whole // (whole - moved), NO_UPPER) for p in size], np.int64)
    negative = published < 0
    return np.where(negative, -far, near), np.where(negative, -near, far)


def limits_of_moves(
    system: System,
    *,
    most: Fraction | None,
    limit: Fraction | None,
    fixed: str,
    movable_zeros: bool,
    weight: Floats,
    stretch: Floats | None,
) -> MoveLimits:
    """Limits of the moves of a system.

    Parameters
    ----------
    system
        Cells and relations.
    most
        Unsafe cells move at most so many times their level.
    limit
        Other cells move at most so many per cent of their value.
    fixed
        ``"none"``, ``"total"`` or ``"margins"``.
    movable_zeros
        Whether cells with the value zero, and empty ones, may get one.
    weight
        What a unit of each cell costs.
    stretch
        For every cell a number from 0 up to 1: how far between its level and the most it must move at least.
    """
    cells = np.flatnonzero(system.unsafe)
    kept = fixed_cells(system, fixed)
    clash = cells[kept[cells]]
    if len(clash):
        names = listed((system.cell_name(c) for c in clash.tolist()), SHOWN)
        raise ProtectionError(
            f"{counted(len(clash), 'unsafe cell')} cannot be protected, being fixed: {names}.",
            hint=f"Let them move: fixed={'none' if fixed == 'total' else 'total'!r}.",
        )
    if not movable_zeros:
        kept |= system.value == 0
    kept |= system.empty & (not movable_zeros)
    up, down = needed(system)
    up, down = up[cells], down[cells]
    largest = max(int(up.max(initial=1)), int(down.max(initial=1)))
    grid = 10 ** max(0, len(str(largest // FINE)) if largest > FINE else 0)
    room_up = np.where(system.upper_bound < NO_UPPER, (system.upper_bound - system.value) // grid, FAR).astype(
        np.float64
    )
    room_down = np.where(system.lower_bound > NO_LOWER, (system.value - system.lower_bound) // grid, FAR)
    room_down = room_down.astype(np.float64)
    most_up, most_down = room_up.copy(), room_down.copy()
    if limit is not None:
        own = share_of(system.value, limit)
        most_up, most_down = (np.minimum(m, own // grid) for m in (most_up, most_down))
    most_up[kept], most_down[kept] = 0.0, 0.0
    most_up[cells], most_down[cells] = room_up[cells], room_down[cells]
    least_up, least_down = (np.ceil(level / grid) for level in (up, down))
    if most is not None:
        for far, level, least in ((most_up, up, least_up), (most_down, down, least_down)):
            allowed = np.maximum(whole(level, most) // grid, least)
            far[cells] = np.minimum(far[cells], allowed)
    if stretch is not None:
        for far, least in ((most_up, least_up), (most_down, least_down)):
            room = np.where(far[cells] >= FAR, least, far[cells] - least)
            least += np.floor(np.maximum(room, 0) * stretch[cells])
    return MoveLimits(grid, cells, least_up, least_down, np.maximum(most_up, 0), np.maximum(most_down, 0), weight)
