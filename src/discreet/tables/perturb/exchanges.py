"""Exchanges between rounded inner cells that bring the published counts nearer to the originals.

One cell goes down from the base and another that shares a small published cell with it goes up, so that the number of
raised cells, and with it the total, stays. Early sweeps also take exchanges that do harm, the more rarely the greater
it is (annealing), because a search that only ever improves soon finds nothing left to do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.engine.draws import Draws
from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Ints, pointers
from discreet.progress import checkpoint
from discreet.tables.perturb.cover import Cover, turned

WIDEST = 64
"""Partners come from published cells with at most so many candidates: others leave the narrow ones worse off."""
PARTNERS = 4
"""So many partners are looked at for one cell, and the best is taken."""
HOT, COLD = 0.26, 0.065
"""Temperature of the first and of the last sweep, over the base and the root of a candidate's published cells."""
CALM = 20
"""One sweep in so many, at the end, takes no harm at all."""
NEVER = 1 << 40
"""The cost of a published count in 1 .. base - 1."""
FARTHEST = 1 << 20
"""Deviations beyond this, which only differences to make up for can bring, count as this."""
COIN_BITS = 12
SCALE = 1024
"""Temperatures and coins are whole numbers of this fraction, so that every machine decides alike."""


class Network(NamedTuple):
    """Candidates and the published cells that contain them; the last of these, from ``plain`` on, may not be emptied.

    ``start`` and ``cells`` are the published cells of each candidate, ``member_start`` and ``members`` the candidates
    of each published cell, ``pool_start`` and ``pool`` the published cells to look for partners in.
    """

    start: Ints
    cells: Codes
    member_start: Ints
    members: Codes
    pool_start: Ints
    pool: Codes
    plain: int


def exchanged(
    candidates: Ints,
    draw: Draws,
    cover: Cover,
    now: Ints,
    published: Ints,
    original: Ints,
    base: int,
    sweeps: int,
    near: Ints | Draws | None = None,
) -> None:
    """Exchange candidates that stand at zero and at the base; changes ``now`` and ``published`` in place.

    The candidates come in the order of their draws and partners are found by draws, so that nothing depends on the
    order of cells. Those with the same number in ``near`` are looked at one after another: they share most of their
    published cells, which are then at hand, and a sweep takes less than half the time. The cost of a published cell is
    its deviation, with a steep extra beyond twice the base. Nothing changes where deviations would not be less in sum.
    """
    if len(candidates) < 2 or not sweeps:
        return
    if near is not None:
        candidates = candidates[np.argsort(near[candidates], kind="stable")]
    lengths = np.diff(cover.start)[candidates]
    start = pointers(lengths)
    cells = gathered(candidates, cover.start, cover.published, start)
    raised = now[candidates] == base
    rest = published - added_raised(cells, np.repeat(raised, lengths), cover.size) * base
    guarded = (rest > 0) & (rest < base)
    number, known, plain = numbered(cells, guarded)
    cells = number[cells]
    own = draw[candidates]
    member_start, members = turned(start, cells, len(known))
    network = Network(
        start, cells, member_start, members, *pools(start, cells, member_start, members, own), plain=int(plain)
    )
    off = np.clip((published - original)[known], -FARTHEST, FARTHEST).astype(np.int32)
    count = published[known[plain:]]
    before = int(np.abs(off).sum())
    _anneal(network, own, off, count, raised, base, sweeps)
    if int(np.abs(off).sum()) >= before:
        return
    now[candidates] = np.where(raised, base, 0)
    published[:] = cover.sums(now)


def _anneal(network: Network, draw: Draws, off: Codes, count: Ints, raised: Bools, base: int, sweeps: int) -> None:
    """All sweeps, from hot to cold; changes ``off``, ``count`` and ``raised`` in place."""
    steps = step_costs(base)
    coins = np.rint(-SCALE * np.log((np.arange(1 << COIN_BITS) + 0.5) / (1 << COIN_BITS))).astype(np.int64)
    unit = base * np.sqrt(len(network.cells) / (len(network.start) - 1)) * SCALE
    cooling = sweeps - max(sweeps // CALM, 1)
    for sweep in range(sweeps):
        checkpoint("exchange small counts", sweep, sweeps)
        warmth = round(unit * HOT * (COLD / HOT) ** (sweep / cooling)) if sweep < cooling else 0
        one_sweep(
            sweep,
            warmth,
            draw,
            network.start,
            network.cells,
            network.member_start,
            network.members,
            network.pool_start,
            network.pool,
            network.plain,
            off,
            count,
            raised,
            *steps,
            coins,
            base,
        )


def step_costs(base: int) -> tuple[Codes, Codes]:
    """What it costs that a published cell rises or falls by the base, by its deviation; the middle is none.

    The cost of a deviation is itself, with a steep extra beyond twice the base, which rises evenly in the end: beyond
    the ends of the table costs are those at its ends.
    """
    far = min(40 * base, max(1000, 4 * base))
    size = np.abs(np.arange(-far - 2 * base, far + 2 * base + 1))
    beyond = np.clip(size - 2 * base, 0, far - 2 * base)
    cost = size + 2 * beyond**2 + 4 * (far - 2 * base) * np.maximum(size - far, 0)
    middle = cost[base:-base]
    return (cost[2 * base :] - middle).astype(np.int32), (cost[: -2 * base] - middle).astype(np.int32)


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


@kernel("i8[::1](i4[::1], b1[::1], i8)")
def added_raised(cells: Codes, raised: Bools, size: int) -> Ints:
    """How many raised candidates every published cell has."""
    result = np.zeros(size, np.int64)
    for at in range(len(cells)):
        if raised[at]:
            result[cells[at]] += 1
    return result


@kernel("Tuple((i4[::1], i8[::1], i8))(i4[::1], b1[::1])")
def numbered(cells: Codes, guarded: Bools) -> tuple[Codes, Ints, int]:
    """New numbers of the published cells with candidates, as they come, the guarded ones last; and the old numbers."""
    number = np.full(len(guarded), -1, np.int32)
    known = np.empty(len(guarded), np.int64)
    used, plain = 0, 0
    for last in range(2):
        for at in range(len(cells)):
            cell = cells[at]
            if number[cell] < 0 and guarded[cell] == (last == 1):
                number[cell] = used
                known[used] = cell
                used += 1
        if last == 0:
            plain = used
    return number, known[:used].copy(), plain


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


@kernel("i8(i8, i8, i8, i8[::1], i4[::1], i8, i4[::1], i8[::1], i4[::1])")
def change_cost(
    cell: int, change: int, base: int, start: Ints, cells: Codes, plain: int, off: Codes, count: Ints, steps: Codes
) -> int:
    """What it costs to change a candidate and all that contains it."""
    cost, far = 0, False
    reach = len(steps) // 2
    for at in range(start[cell], start[cell + 1]):
        here = off[cells[at]]
        if here > reach or here < -reach:
            far = True
            break
        cost += steps[here + reach]
    if far:
        cost = 0
        for at in range(start[cell], start[cell + 1]):
            cost += steps[min(max(off[cells[at]], -reach), reach) + reach]
    if plain < len(off):
        for at in range(start[cell], start[cell + 1]):
            if cells[at] >= plain:
                shown = count[cells[at] - plain]
                if 0 < shown + change < base:
                    cost += NEVER
                if 0 < shown < base:
                    cost -= NEVER
    return cost


@kernel("void(i8, i8, i8[::1], i4[::1], i8, i4[::1], i8[::1])")
def change_candidate(cell: int, change: int, start: Ints, cells: Codes, plain: int, off: Codes, count: Ints) -> None:
    """Change a candidate and all that contains it."""
    for at in range(start[cell], start[cell + 1]):
        off[cells[at]] += change
    if plain < len(off):
        for at in range(start[cell], start[cell + 1]):
            if cells[at] >= plain:
                count[cells[at] - plain] += change


@kernel("u8(u8)")
def mixed(number: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: spreads a number over all bits."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@kernel(
    "i8(i8, i8, u8[::1], i8[::1], i4[::1], i8[::1], i4[::1], i8[::1], i4[::1], i8, i4[::1], i8[::1], b1[::1],"
    " i4[::1], i4[::1], i8[::1], i8)",
)
def one_sweep(
    sweep: int,
    warmth: int,
    draw: Draws,
    start: Ints,
    cells: Codes,
    member_start: Ints,
    members: Codes,
    pool_start: Ints,
    pool: Codes,
    plain: int,
    off: Codes,
    count: Ints,
    raised: Bools,
    rise: Codes,
    fall: Codes,
    coins: Ints,
    base: int,
) -> int:
    """Offer every candidate the best of a few partners; says how many exchanges were made."""
    made = 0
    for k in range(len(start) - 1):
        choice = np.uint64(pool_start[k + 1] - pool_start[k])
        if choice == 0:
            continue
        chance = mixed(draw[k] + np.uint64(sweep + 1) * np.uint64(0x9E3779B97F4A7C15))
        steps, opposite = (fall, rise) if raised[k] else (rise, fall)
        change = -base if raised[k] else base
        partner, least, own = -1, 0, 0
        for _ in range(PARTNERS):
            cell = pool[pool_start[k] + np.int64((chance >> np.uint64(32)) % choice)]
            first, end = member_start[cell], member_start[cell + 1]
            at = first + np.int64((chance & np.uint64(0xFFFFFFFF)) % np.uint64(end - first))
            chance = mixed(chance)
            other = -1
            for _ in range(end - first):
                if raised[members[at]] != raised[k]:
                    other = members[at]
                    break
                at += 1
                if at == end:
                    at = first
            if other < 0:
                continue
            if partner < 0:
                own = change_cost(k, change, base, start, cells, plain, off, count, steps)
                change_candidate(k, change, start, cells, plain, off, count)
            cost = change_cost(other, -change, base, start, cells, plain, off, count, opposite)
            if partner < 0 or cost < least:
                partner, least = other, cost
        if partner < 0:
            continue
        coin = coins[np.int64(chance >> np.uint64(64 - COIN_BITS))]
        if (own + least) * SCALE * SCALE <= warmth * coin:
            change_candidate(partner, -change, start, cells, plain, off, count)
            raised[k], raised[partner] = raised[partner], raised[k]
            made += 1
        else:
            change_candidate(k, -change, start, cells, plain, off, count)
    return made
