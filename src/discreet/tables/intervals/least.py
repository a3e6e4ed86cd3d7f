"""Intervals of least width that keep all levels: partial suppression by a linear program.

Source: Giessing and Dittrich (2006).

How far beyond its level an unsafe cell can move up, and how far down, is drawn with the key, both together being its
level once more: otherwise the true value would stand in the middle of its interval for whoever knows the levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import NamedTuple

import numpy as np

from discreet.errors import ProtectionError, counted, listed
from discreet.keys import Key
from discreet.model.arrays import NO_LOWER, NO_UPPER, Floats, Ints
from discreet.model.evidence import Certificates, Proofs
from discreet.relations import System
from discreet.relations.interior import interior
from discreet.relations.marks import cell_marks
from discreet.solve.narrowest import NarrowestRoom, Needs, narrowest
from discreet.tables.adjust.moves import FAR, limits_of_moves
from discreet.tables.levels import prove_levels, room_for_levels
from discreet.tables.rounding.controlled import RoundingSteps, SearchEffort, round_controlled
from discreet.tables.suppress.certified import needed_levels

PROGRAMS = 3_000
"""Linear programs without asking."""
SHOWN = 5


@dataclass(frozen=True, eq=False)
class Narrow:
    """Intervals around the true values, their proofs, and the room that they were made from.

    ``scale`` turns the cost of the room into weighted units.
    """

    lower: Ints
    upper: Ints
    certificates: Certificates
    proofs: Proofs
    room: NarrowestRoom
    scale: float


def narrow_intervals(
    system: System,
    weight: Floats,
    *,
    limit: Fraction | None,
    fixed: str,
    movable_zeros: bool,
    effort: int | None,
    time_limit: float | None,
    key: Key,
) -> Narrow:
    """Intervals of least weighted width within which every unsafe cell reaches its levels, exactly proved.

    Parameters
    ----------
    system
        Cells and relations.
    weight
        What a unit of width costs each cell.
    limit, fixed, movable_zeros
        How far a safe cell's interval may reach from its value, in per cent, and which cells get none.
    effort, time_limit
        Linear programs, and seconds.
    key
        Of the draws.
    """
    moves = limits_of_moves(
        system, most=None, limit=limit, fixed=fixed, movable_zeros=movable_zeros, weight=weight, stretch=None
    )
    may = ((moves.most_up > 0) | (moves.most_down > 0)) & ~system.empty
    cells = np.flatnonzero(may | system.unsafe)
    most_up, most_down = (np.where(m >= FAR, np.inf, m * moves.grid)[cells] for m in (moves.most_up, moves.most_down))
    place = np.full(len(system), -1, np.int64)
    place[cells] = np.arange(len(cells))
    targets = np.flatnonzero(system.unsafe)
    at = place[targets]
    wanted = _wanted(system, targets, most_down[at], most_up[at], key)
    scale = max(float(wanted.level.mean()), 1.0) if len(targets) else 1.0
    matrix = system.matrix[np.flatnonzero(system.defining)][:, cells].astype(np.float64)
    matrix = matrix[np.flatnonzero(np.diff(matrix.indptr) > 0)]
    price = np.maximum(weight[cells] / max(float(weight[cells].mean()), 1e-300), 1e-6) if len(cells) else weight[cells]
    end = None if time_limit is None else monotonic() + time_limit
    needs = Needs(np.tile(at, 2), np.repeat(np.array([1, -1]), len(at)), wanted.distance / scale)

    def solve(needs: Needs) -> NarrowestRoom:
        return narrowest(
            matrix,
            most_down / scale,
            most_up / scale,
            price,
            needs,
            grid=1.0 / scale,
            programs=PROGRAMS if effort is None else effort,
            late=lambda: end is not None and monotonic() >= end,
        )

    found = solve(needs)
    if len(found.unreachable):
        # Beyond their levels these cells cannot move as far as was drawn; their levels alone are asked for.
        distance = needs.distance.copy()
        distance[found.unreachable] = wanted.least[found.unreachable] / scale
        found = solve(replace(needs, distance=distance))
    fall, rise = np.zeros(len(system), np.int64), np.zeros(len(system), np.int64)
    for whole, room, most in ((fall, found.fall, most_down), (rise, found.rise, most_up)):
        whole[cells] = np.minimum(np.ceil(room * scale - 1e-4), most).astype(np.int64)
    reach = np.zeros((2, len(system)))
    reach[:, cells] = most_down, most_up
    return _proved(system, fall, rise, reach, found, scale * float(weight[cells].mean()) if len(cells) else 0.0)


class _Wanted(NamedTuple):
    """How far unsafe cells must be able to move, up and then down: at least for their levels, and as it was drawn."""

    level: Ints
    least: Ints
    distance: Floats


def _wanted(system: System, targets: Ints, most_down: Floats, most_up: Floats, key: Key) -> _Wanted:
    least_up, least_down = (level[targets] for level in needed_levels(system))
    level = np.maximum(np.maximum(least_up, least_down), np.maximum(system.sliding_level[targets], 1))
    short = targets[(most_down < least_down) | (most_up < least_up)]
    if len(short):
        raise unprotected(system, short.tolist())
    share = key.uniform("intervals least", cell_marks(system))[targets]
    # As much of the drawn part as there is room for goes down, and what is left of it up.
    down = np.minimum(np.minimum(np.floor(share * (level + 1)), level) + least_down, most_down)
    up = np.minimum(least_up + level - (down - least_down), most_up)
    return _Wanted(level, np.concatenate((least_up, least_down)), np.concatenate((up, down)))


def _proved(system: System, fall: Ints, rise: Ints, reach: Floats, found: NarrowestRoom, scale: float) -> Narrow:
    """Exact certificates within the intervals; where whole numbers need more room, intervals get it within reach."""
    lower, upper = system.value - fall, system.value + rise
    certificates, proofs, left = prove_levels(system, lower, upper)
    if left:
        down, up = (np.where(np.isfinite(r), r, 0).astype(np.int64) for r in reach)
        least = np.where(np.isfinite(reach[0]), system.value - down, NO_LOWER)
        most = np.where(np.isfinite(reach[1]), system.value + up, NO_UPPER)
        room = room_for_levels(system, (fall > 0) | (rise > 0), least, most)
        if room.left:
            raise unprotected(system, room.left)
        certificates, proofs = room.certificates, room.proofs
        lower, upper = np.minimum(lower, system.value - room.fall), np.maximum(upper, system.value + room.rise)
    return Narrow(lower, upper, certificates, proofs, found, scale)


def values_within(system: System, lower: Ints, upper: Ints) -> Ints:
    """Values that add up and lie in the middle of their intervals as nearly as can be.

    They are made from the intervals alone, without the true values, so that they tell nothing that these do not.
    Rounding to whole units may leave an interval where no table of whole numbers was found in all of them.
    """
    import highspy
    from scipy.sparse import csc_array, eye_array, hstack, vstack

    from discreet.solve.program import started

    cells = np.flatnonzero(upper > lower)
    value = lower.copy()
    if not len(cells):
        return value
    rows = system.matrix[np.flatnonzero(system.defining)]
    missing = -np.asarray(rows @ lower, np.float64)
    part = rows[:, cells].astype(np.float64)
    some = np.flatnonzero(np.diff(part.indptr) > 0)
    part, missing = part[some], missing[some]
    width = (upper - lower)[cells].astype(np.float64)
    scale = float(width.mean())
    # Above the lower end, and how far that is from the middle on either side.
    one = eye_array(len(cells))
    matrix = csc_array(vstack([hstack([part, 0 * part, 0 * part]), hstack([one, -one, one])]))
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = np.concatenate((np.zeros(len(cells)), np.tile(scale / width, 2)))
    model.col_lower_ = np.zeros(3 * len(cells))
    model.col_upper_ = np.concatenate((width / scale, np.full(2 * len(cells), highspy.kHighsInf)))
    model.row_lower_ = model.row_upper_ = np.concatenate((missing / scale, width / (2 * scale)))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    highs = started(model)
    highs.run()
    above = np.array(highs.getSolution().col_value)[: len(cells)] * scale
    low, high = lower.copy(), lower.copy()
    low[cells] += np.clip(np.floor(above + 1e-6), 0, width).astype(np.int64)
    high[cells] += np.clip(np.ceil(above - 1e-6), 0, width).astype(np.int64)
    value[cells] += np.clip(np.rint(above), 0, width).astype(np.int64)
    inner = interior(system)
    problem = RoundingSteps(inner, low, high, np.zeros(len(system)))
    return round_controlled(problem, value[inner.cells], SearchEffort(effort=100), 1).value


def unprotected(system: System, cells: list[int]) -> ProtectionError:
    """Cells that intervals cannot protect."""
    names = listed((system.cell_name(cell) for cell in cells), SHOWN)
    return ProtectionError(
        f"{counted(len(cells), 'unsafe cell')} cannot be protected by intervals: {names}.",
        hint="Let more cells move (limit=, fixed=, zeros='movable'), or withhold cells: ds.Suppress().",
    )
