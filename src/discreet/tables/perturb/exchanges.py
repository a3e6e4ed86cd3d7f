"""Exchanges between rounded inner cells that bring the published counts nearer to the originals.

One cell goes down from the base and another of its family that shares a published cell with it goes up, so that the
number of raised cells, and with it the total, stays. Early sweeps also take exchanges that do harm, the more rarely
the greater it is (annealing), because a search that only ever improves soon finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.engine.draws import Draws
from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Ints, pointers
from discreet.progress import checkpoint
from discreet.tables.perturb.cover import Cover
from discreet.tables.perturb.families import CandidateFamilies, families_of, mixed

PARTNERS = 2
"""So many partners are looked at for one cell, and the better is taken."""
TRIES = 8
"""So many members of a published cell are looked at for a partner, from a drawn one on."""
PASSES = (1, 3)
"""How often the first and every other kind of families is gone through in a sweep; two times each ended 0.7 % worse."""
HOT, COLD = 0.25, 0.08
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


def exchanged(
    candidates: Ints,
    draw: Draws,
    cover: Cover,
    now: Ints,
    published: Ints,
    original: Ints,
    base: int,
    sweeps: int,
    groups: Sequence[Ints | Draws] = (),
) -> None:
    """Exchange candidates that stand at zero and at the base; changes ``now`` and ``published`` in place.

    The candidates come in the order of their draws and partners are found by draws, so that nothing depends on the
    order of cells. Partners have the same number in one of ``groups``, each a number for every inner cell; without any,
    all candidates are one family. The cost of a published cell is its deviation, with a steep extra beyond twice the
    base. Nothing changes where deviations would not be less in sum.
    """
    if len(candidates) < 2 or not sweeps:
        return
    groups = groups or [np.zeros(len(now), np.int64)]
    # Published cells are numbered as they come: those of a small family then lie side by side in memory.
    candidates = candidates[np.argsort(groups[0][candidates], kind="stable")]
    lengths = np.diff(cover.start)[candidates]
    start = pointers(lengths)
    cells = gathered(candidates, cover.start, cover.published, start)
    raised = now[candidates] == base
    rest = published - added_raised(cells, np.repeat(raised, lengths), cover.size) * base
    number, known, plain = numbered(cells, (rest > 0) & (rest < base))
    cells = number[cells]
    off = np.clip((published - original)[known], -FARTHEST, FARTHEST).astype(np.int32)
    before = int(np.abs(off).sum())
    families = [families_of(group[candidates], draw[candidates], start, cells, len(known)) for group in groups]
    warmth = base * np.sqrt(len(cells) / len(candidates))
    _anneal(families, draw[candidates], off, published[known[plain:]], raised, base, sweeps, warmth)
    if int(np.abs(off).sum()) >= before:
        return
    now[candidates] = np.where(raised, base, 0)
    published[:] = cover.sums(now)


def _anneal(
    families: Sequence[CandidateFamilies],
    draw: Draws,
    off: Codes,
    count: Ints,
    raised: Bools,
    base: int,
    sweeps: int,
    warmth: float,
) -> None:
    """All sweeps, from hot to cold; changes ``off``, ``count`` and ``raised`` in place.

    ``count`` has the published counts that may not fall below the base, which are those of the last cells.
    """
    rise, fall = step_costs(base)
    coins = np.rint(-SCALE * np.log((np.arange(1 << COIN_BITS) + 0.5) / (1 << COIN_BITS))).astype(np.int64)
    cooling = sweeps - max(sweeps // CALM, 1)
    turn = 0
    for sweep in range(sweeps):
        checkpoint("exchange small counts", sweep, sweeps)
        heat = round(SCALE * warmth * HOT * (COLD / HOT) ** (sweep / cooling)) if sweep < cooling else 0
        for number, family in enumerate(families):
            passes = PASSES[min(number, 1)]
            exchange(turn, passes, heat, draw, *family, off, count, raised, rise, fall, coins, base)
            turn += passes


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


@kernel("void(i8, i8, i8[::1], i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8, i8[:, ::1])")
def take_steps(
    first: int,
    end: int,
    cell_start: Ints,
    cells: Codes,
    off: Codes,
    count: Ints,
    rise: Codes,
    fall: Codes,
    base: int,
    steps: Ints,
) -> None:
    """Write down what it costs that the published cells of some bundles rise by the base, and that they fall."""
    reach = len(rise) // 2
    plain = len(off) - len(count)
    for bundle in range(first, end):
        higher, lower = 0, 0
        for at in range(cell_start[bundle], cell_start[bundle + 1]):
            cell = cells[at]
            here = min(max(off[cell], -reach), reach) + reach
            higher += rise[here]
            lower += fall[here]
            if cell >= plain:
                shown = count[cell - plain]
                if 0 < shown < base:
                    higher -= NEVER
                    lower -= NEVER
                elif base < shown < 2 * base:
                    lower += NEVER
        steps[bundle, 0], steps[bundle, 1] = higher, lower


@kernel("void(i8, b1, i8[::1], i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8, i8[:, ::1])")
def step(
    bundle: int,
    lower: bool,
    cell_start: Ints,
    cells: Codes,
    off: Codes,
    count: Ints,
    rise: Codes,
    fall: Codes,
    base: int,
    steps: Ints,
) -> None:
    """Lower or raise the published cells of a bundle by the base, and write down what their next steps cost."""
    amount = -base if lower else base
    plain = len(off) - len(count)
    for at in range(cell_start[bundle], cell_start[bundle + 1]):
        off[cells[at]] += amount
        if cells[at] >= plain:
            count[cells[at] - plain] += amount
    take_steps(bundle, bundle + 1, cell_start, cells, off, count, rise, fall, base, steps)


@kernel("i8(b1, i8, u8, i8[::1], i8[::1], i4[::1], b1[::1])")
def _other_state(
    mine: bool, bundle: int, chance: np.uint64, order: Ints, member_start: Ints, members: Codes, raised: Bools
) -> int:
    """A member of a bundle that is not raised where the own candidate is, or is where it is not; -1 if none is met."""
    first, end = member_start[bundle], member_start[bundle + 1]
    at = first + np.int64((chance & np.uint64(0xFFFFFFFF)) % np.uint64(end - first))
    for _ in range(min(end - first, TRIES)):
        if raised[order[members[at]]] != mine:
            return int(members[at])
        at += 1
        if at == end:
            at = first
    return -1


@kernel(
    "Tuple((i8, i8, u8))(i8, i8, i8, u8, i8[::1], i8[::1], i4[::1], i8[::1], i4[::1], b1[::1], i8[:, ::1], i8[::1])"
)
def _best_partner(
    k: int,
    shared: int,
    look: int,
    chance: np.uint64,
    order: Ints,
    own_start: Ints,
    own: Codes,
    member_start: Ints,
    members: Codes,
    raised: Bools,
    steps: Ints,
    owner: Ints,
) -> tuple[int, int, np.uint64]:
    """The best of a few drawn partners (-1 for none), what the exchange costs, and the next draw.

    ``owner`` becomes ``look`` at the candidate's own bundles.
    """
    mine = raised[order[k]]
    leave, enter = (1, 0) if mine else (0, 1)
    partner, least, alone = -1, 0, 0
    for _ in range(PARTNERS):
        chosen = (chance >> np.uint64(32)) % np.uint64(shared)
        bundle = own[own_start[k] + np.int64(chosen)]
        other = _other_state(mine, bundle, chance, order, member_start, members, raised)
        chance = mixed(chance)
        if other < 0:
            continue
        if partner < 0:
            for e in range(own_start[k], own_start[k + 1]):
                owner[own[e]] = look
                alone += steps[own[e], leave]
        # Bundles of both stay as they are: what they would have cost is taken back.
        cost = 0
        for e in range(own_start[other], own_start[other + 1]):
            cost += -steps[own[e], leave] if owner[own[e]] == look else steps[own[e], enter]
        if partner < 0 or cost < least:
            partner, least = other, cost
    return partner, alone + least, chance


@kernel(
    "i8(i8, i8, i8, u8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i4[::1], i8[::1], i4[::1], i8[::1], i4[::1],"
    " i4[::1], i8[::1], b1[::1], i4[::1], i4[::1], i8[::1], i8)",
)
def exchange(
    turn: int,
    passes: int,
    heat: int,
    draw: Draws,
    order: Ints,
    start: Ints,
    bundle_start: Ints,
    cell_start: Ints,
    cells: Codes,
    own_start: Ints,
    own: Codes,
    member_start: Ints,
    members: Codes,
    off: Codes,
    count: Ints,
    raised: Bools,
    rise: Codes,
    fall: Codes,
    coins: Ints,
    base: int,
) -> int:
    """Offer every candidate the best of a few partners of its family, some times over; says how many were taken."""
    steps = np.empty((len(cell_start) - 1, 2), np.int64)
    owner = np.full(len(steps), -1, np.int64)
    made, look = 0, 0
    for family in range(len(start) - 1):
        if start[family + 1] - start[family] < 2:
            continue
        one, end = bundle_start[family], bundle_start[family + 1]
        take_steps(one, end, cell_start, cells, off, count, rise, fall, base, steps)
        for again in range(passes):
            for k in range(start[family], start[family + 1]):
                shared = own_start[k + 1] - own_start[k]
                if shared > 0:
                    last = own[own_start[k + 1] - 1]
                    shared -= member_start[last + 1] - member_start[last] == 1
                if shared == 0:
                    continue
                mine = raised[order[k]]
                chance = mixed(draw[order[k]] + np.uint64(turn + again + 1) * np.uint64(0x9E3779B97F4A7C15))
                look += 1
                partner, cost, chance = _best_partner(
                    k, shared, look, chance, order, own_start, own, member_start, members, raised, steps, owner
                )
                if partner < 0:
                    continue
                coin = coins[np.int64(chance >> np.uint64(64 - COIN_BITS))]
                if cost > heat * coin // (SCALE * SCALE):
                    continue
                raised[order[k]], raised[order[partner]] = not mine, mine
                for e in range(own_start[partner], own_start[partner + 1]):
                    if owner[own[e]] == look:
                        owner[own[e]] = -1
                    else:
                        step(own[e], not mine, cell_start, cells, off, count, rise, fall, base, steps)
                for e in range(own_start[k], own_start[k + 1]):
                    if owner[own[e]] == look:
                        step(own[e], mine, cell_start, cells, off, count, rise, fall, base, steps)
                made += 1
    return made
