"""Exchanges between rounded inner cells that bring the published counts nearer to the originals.

One cell goes down from the base and another that shares a small published cell with it goes up, so that the number of
raised cells, and with it the total, stays. Early sweeps also take exchanges that do a little harm (threshold
accepting), because a search that only ever improves soon finds nothing left to do.
"""

from __future__ import annotations

import numpy as np

from discreet.engine.draws import Draws
from discreet.jit import kernel
from discreet.model.arrays import Codes, Ints, pointers
from discreet.progress import checkpoint
from discreet.tables.perturb.cover import Cover, turned

WIDEST = 64
"""Partners come from published cells with at most so many candidates: others leave the narrow ones worse off."""
TRIES = 4
HARM = 36
"""The first sweep takes harm up to base times the published cells of a candidate over this."""
NEVER = 1 << 40
"""The cost of a published count in 1 .. base - 1."""


def exchanged(
    candidates: Ints, draw: Draws, cover: Cover, now: Ints, published: Ints, original: Ints, base: int, sweeps: int
) -> None:
    """Exchange candidates that stand at zero and at the base; changes ``now`` and ``published`` in place.

    The candidates come in the order of their draws and partners are found by draws, so that nothing depends on the
    order of cells. The cost of a published cell is its deviation, with a steep extra beyond twice the base.
    """
    if len(candidates) < 2:
        return
    lengths = np.diff(cover.start)[candidates]
    start = pointers(lengths)
    cells = gathered(candidates, cover.start, cover.published, start)
    member_start, members = turned(start, cells, cover.size)
    own = draw[candidates]
    pool_start, pool = pools(start, cells, member_start, members, own)
    state = np.stack([published - original, published], axis=1)
    raised = now[candidates] == base
    first = base * (len(cells) // len(candidates)) // HARM
    calm = max(sweeps // 20, 1)
    for sweep in range(sweeps):
        checkpoint("exchange small counts", sweep, sweeps)
        harm = first * max(sweeps - calm - sweep, 0) // sweeps
        one_sweep(sweep, harm, own, start, cells, member_start, members, pool_start, pool, state, raised, base)
    now[candidates] = np.where(raised, base, 0)
    published[:] = state[:, 1]


@kernel("i4[::1](i8[::1], i8[::1], i4[::1], i8[::1])")
def gathered(candidates: Ints, start: Ints, published_of: Codes, own_start: Ints) -> Codes:
    """The published cells of the candidates alone."""
    result = np.empty(own_start[-1], np.int32)
    for k in range(len(candidates)):
        at = own_start[k]
        for e in range(start[candidates[k]], start[candidates[k] + 1]):
            result[at] = published_of[e]
            at += 1
    return result


@kernel("Tuple((i8[::1], i4[::1]))(i8[::1], i4[::1], i8[::1], i4[::1], u8[::1])")
def pools(start: Ints, cells: Codes, member_start: Ints, members: Codes, draw: Draws) -> tuple[Ints, Codes]:
    """For every candidate the published cells to look for partners in, each set of members once, in canonical order."""
    mark = np.zeros(len(member_start) - 1, np.uint64)
    for j in range(len(mark)):
        if 1 < member_start[j + 1] - member_start[j] <= WIDEST:
            for at in range(member_start[j], member_start[j + 1]):
                mark[j] += draw[members[at]] * draw[members[at]]
    pool_start = np.zeros(len(start), np.int64)
    pool = np.empty(len(cells), np.int32)
    filled = 0
    for k in range(len(start) - 1):
        for e in range(start[k], start[k + 1]):
            cell = cells[e]
            if not 1 < member_start[cell + 1] - member_start[cell] <= WIDEST:
                continue
            place = filled
            while place > pool_start[k] and mark[pool[place - 1]] > mark[cell]:
                place -= 1
            if place > pool_start[k] and mark[pool[place - 1]] == mark[cell]:
                continue
            for shift in range(filled, place, -1):
                pool[shift] = pool[shift - 1]
            pool[place] = cell
            filled += 1
        pool_start[k + 1] = filled
    return pool_start, pool[:filled].copy()


@kernel("i8(i8, i8, i8)")
def cell_cost(off: int, count: int, base: int) -> int:
    """What a published cell costs that deviates by ``off`` and shows ``count``."""
    cost = abs(off)
    if cost > 2 * base:
        cost += (cost - 2 * base) * (cost - 2 * base) * 2
    if 0 < count < base:
        cost += NEVER
    return cost


@kernel("i8(i8, i8, i8, i8[::1], i4[::1], i8[:, ::1])")
def moved(cell: int, change: int, base: int, start: Ints, cells: Codes, state: Ints) -> int:
    """Change a candidate and all that contains it; the change of the cost."""
    change_of_cost = 0
    for at in range(start[cell], start[cell + 1]):
        off, count = state[cells[at], 0], state[cells[at], 1]
        change_of_cost += cell_cost(off + change, count + change, base) - cell_cost(off, count, base)
        state[cells[at], 0] = off + change
        state[cells[at], 1] = count + change
    return change_of_cost


@kernel("u8(u8)")
def mixed(number: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: spreads a number over all bits."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@kernel(
    "i8(i8, i8, u8[::1], i8[::1], i4[::1], i8[::1], i4[::1], i8[::1], i4[::1], i8[:, ::1], b1[::1], i8)",
)
def one_sweep(
    sweep: int,
    harm: int,
    draw: Draws,
    start: Ints,
    cells: Codes,
    member_start: Ints,
    members: Codes,
    pool_start: Ints,
    pool: Codes,
    state: Ints,
    raised: Ints,
    base: int,
) -> int:
    """Offer every candidate one partner; says how many exchanges were made."""
    made = 0
    for k in range(len(start) - 1):
        choice = pool_start[k + 1] - pool_start[k]
        if choice == 0:
            continue
        chance = mixed(draw[k] + np.uint64(sweep + 1) * np.uint64(0x9E3779B97F4A7C15))
        partner = -1
        for _ in range(TRIES):
            cell = pool[pool_start[k] + np.int64(chance % np.uint64(choice))]
            chance = mixed(chance)
            size = member_start[cell + 1] - member_start[cell]
            first = np.int64(chance % np.uint64(size))
            for step in range(size):
                other = members[member_start[cell] + (first + step) % size]
                if raised[other] != raised[k]:
                    partner = other
                    break
            if partner >= 0:
                break
        if partner < 0:
            continue
        change = -base if raised[k] else base
        cost = moved(k, change, base, start, cells, state) + moved(partner, -change, base, start, cells, state)
        if cost < harm:
            raised[k], raised[partner] = raised[partner], raised[k]
            made += 1
        else:
            moved(k, -change, base, start, cells, state)
            moved(partner, change, base, start, cells, state)
    return made
