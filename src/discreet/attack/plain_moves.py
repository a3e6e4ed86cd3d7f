"""Moves of all cells of a table that need no linear program.

Where values are altered no cell is known, and most questions have plain answers: all cells grow or shrink together, or
a finest cell gets a few units from others, which changes only the sums that hold some of them.
"""

from __future__ import annotations

import numpy as np

from discreet.attack.moves import DOWN, UP
from discreet.engine.cells import cells_above
from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints, pointers
from discreet.relations import System

LEAVES = 8
"""So many finest cells of a sum are tried."""
PARTNERS = 2_000
"""So many others are looked at for every step of a repair."""
STEPS = 60
"""So many other finest cells change at most."""
NEVER = -1e300
"""Less than any gain."""


def by_scaling(system: System, cells: Ints, room: Floats) -> Floats:
    """How far cells rise and fall when all values grow or shrink in proportion.

    Parameters
    ----------
    system
        Cells and relations.
    cells
        The cells that are not known; nothing is shown where one of the others is not zero.
    room
        How far the bounds of each of them let it rise and fall.
    """
    shown = np.zeros_like(room)
    value = system.value[cells].astype(np.float64)
    known = np.ones(len(system), np.bool_)
    known[cells] = False
    moves = value != 0
    if np.any(system.value[known] != 0) or np.any(system.matrix @ system.value) or not moves.any():
        return shown
    size, positive = np.abs(value[moves]), value[moves] > 0
    with_sign, against = room[:, moves], room[::-1, moves]
    grow = float((np.where(positive, with_sign[UP], against[UP]) / size).min())
    shrink = float((np.where(positive, with_sign[DOWN], against[DOWN]) / size).min())
    shown[UP, moves] = np.where(positive, grow, shrink) * size
    shown[DOWN, moves] = np.where(positive, shrink, grow) * size
    return shown


def by_exchange(system: System, cells: Ints, room: Floats, wanted: Bools, level: Floats) -> Floats:
    """How far cells rise and fall when one finest cell changes, and a few others so that bounds are kept.

    Parameters
    ----------
    system
        Cells and relations of one table of counts or other values that adds up.
    cells
        The cells that are not known.
    room
        How far the bounds of each of them let it rise and fall.
    wanted
        Which of them to look at.
    level
        How far they should rise and fall; at least one unit is tried.
    """
    shown = np.zeros_like(room)
    if len(system.tables) != 1 or not system.tables.tables[0].from_records:
        return shown
    table = system.tables.tables[0]
    finest = np.all([h.base[table.codes[:, k]] for k, h in enumerate(table.spec.hierarchies)], axis=0)
    leaves = np.flatnonzero(finest)
    above = cells_above(table.keys[leaves], table.keys, table.spec.hierarchies)
    if above.signed:
        return shown
    place = np.full(len(system), -1, np.int64)
    place[cells] = np.arange(len(cells))
    # Cells that are known keep their values, each of them: they come last, with no room at all.
    known = np.flatnonzero(place < 0)
    place[known] = len(cells) + np.arange(len(known))
    at = place[system.of[0]][above.cell]
    padded = np.concatenate((room, np.zeros((2, len(known)))), axis=1)
    # Rows that are one cell under several names change once, not once for each name.
    owner = np.repeat(np.arange(len(leaves), dtype=np.int64), np.diff(above.start))
    owner, at = np.divmod(np.unique(owner * len(system) + at), len(system))
    start = pointers(np.bincount(owner, minlength=len(leaves)))
    members = owner[np.argsort(at, kind="stable")]
    member_start = pointers(np.bincount(at, minlength=len(system)))
    need = np.maximum(np.ceil(level - 1e-9), 1.0)
    result = np.zeros_like(padded)
    exchange(start, at, member_start, members, padded, wanted, need, result)
    return np.ascontiguousarray(result[:, : len(cells)])


@kernel("f8(f8, f8, f8)")
def _beyond(change: float, rise: float, fall: float) -> float:
    """How far a change goes beyond what bounds allow."""
    return max(change - rise, -change - fall, 0.0)


@kernel("f8(i8, f8, i8[::1], i8[::1], f8[:, ::1], f8[::1])")
def _gain(leaf: int, change: float, start: Ints, above: Ints, room: Floats, moved: Floats) -> float:
    """By how much less all cells go beyond their bounds if a finest cell changes, too."""
    gain = 0.0
    for e in range(start[leaf], start[leaf + 1]):
        at = above[e]
        gain += _beyond(moved[at], room[0, at], room[1, at]) - _beyond(moved[at] + change, room[0, at], room[1, at])
    return gain


@kernel("i8(i8, f8, i8[::1], i8[::1], f8[::1], b1[::1], i8[::1], i8)")
def _apply(
    leaf: int, change: float, start: Ints, above: Ints, moved: Floats, seen: Bools, touched: Ints, count: int
) -> int:
    """Change a finest cell and all sums that hold it; gives how many cells were touched so far."""
    for e in range(start[leaf], start[leaf + 1]):
        at = above[e]
        moved[at] += change
        if not seen[at]:
            seen[at] = True
            touched[count] = at
            count += 1
    return count


@kernel("b1(i8[::1], i8[::1], i8[::1], i8[::1], f8[:, ::1], f8[::1], b1[::1], i8[::1], f8[::1], i8[::1], i8[::1])")
def _repaired(
    start: Ints,
    above: Ints,
    member_start: Ints,
    members: Ints,
    room: Floats,
    moved: Floats,
    seen: Bools,
    touched: Ints,
    changed: Floats,
    leaves: Ints,
    count: Ints,
) -> bool:
    """Let other finest cells change until no cell is beyond its bounds; the narrowest such sum first."""
    for _ in range(STEPS):
        worst = -1
        for k in range(count[0]):
            at = touched[k]
            if _beyond(moved[at], room[0, at], room[1, at]) > 0.0:
                size = member_start[at + 1] - member_start[at]
                if worst < 0 or size < member_start[worst + 1] - member_start[worst]:
                    worst = at
        if worst < 0:
            return True
        excess = _beyond(moved[worst], room[0, worst], room[1, worst])
        # Unit by unit, because several others rarely fail where one would.
        unit = 1.0 if excess <= STEPS else excess
        change = -unit if moved[worst] > room[0, worst] else unit
        first, last = member_start[worst], member_start[worst + 1]
        best, most = -1, NEVER
        # Members that stand evenly over a wide sum, all of a narrow one.
        step = max((last - first) // PARTNERS, 1)
        for p in range(first, last, step):
            # What has changed one way does not go back, or two sums would push it back and forth.
            if change * changed[members[p]] < 0.0:
                continue
            gain = _gain(members[p], change, start, above, room, moved)
            if gain > most:
                best, most = members[p], gain
        if best < 0:
            return False
        if changed[best] == 0.0:
            leaves[count[1]] = best
            count[1] += 1
        changed[best] += change
        count[0] = _apply(best, change, start, above, moved, seen, touched, count[0])
    return False


@kernel("void(i8[::1], i8[::1], i8[::1], i8[::1], f8[:, ::1], b1[::1], f8[:, ::1], f8[:, ::1])")
def exchange(
    start: Ints,
    above: Ints,
    member_start: Ints,
    members: Ints,
    room: Floats,
    wanted: Bools,
    need: Floats,
    shown: Floats,
) -> None:
    """Look for a move of a few finest cells for every wanted cell and direction; what else moves is noted too."""
    moved = np.zeros(room.shape[1])
    seen = np.zeros(room.shape[1], np.bool_)
    touched = np.zeros(room.shape[1], np.int64)
    changed = np.zeros(len(start) - 1)
    leaves = np.zeros(STEPS + 1, np.int64)
    count = np.zeros(2, np.int64)
    for cell in range(len(wanted)):
        if not wanted[cell]:
            continue
        for way in range(2):
            amount = need[way, cell]
            change = amount if way == 0 else -amount
            for m in range(member_start[cell], min(member_start[cell] + LEAVES, member_start[cell + 1])):
                if shown[way, cell] >= amount or room[way, cell] < amount:
                    break
                # The cell itself may not end up anywhere else: that it has not moved far enough is to be repaired, too.
                own = room[1 - way, cell]
                room[1 - way, cell] = -amount
                first = change if amount > STEPS else change / amount
                count[0] = _apply(members[m], first, start, above, moved, seen, touched, 0)
                changed[members[m]], leaves[0], count[1] = first, members[m], 1
                good = _repaired(
                    start, above, member_start, members, room, moved, seen, touched, changed, leaves, count
                )
                room[1 - way, cell] = own
                for k in range(count[1]):
                    changed[leaves[k]] = 0.0
                for k in range(count[0]):
                    at = touched[k]
                    if good and moved[at] > 0.0:
                        shown[0, at] = max(shown[0, at], moved[at])
                    elif good and moved[at] < 0.0:
                        shown[1, at] = max(shown[1, at], -moved[at])
                    moved[at] = 0.0
                    seen[at] = False
