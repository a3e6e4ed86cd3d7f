"""An automaton that learns groups of equal size from pairs of near records (Fayyoumi and Oommen 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.records.microaggregation.search_kernels import enter_members, exchange_gain, exchange_records
from discreet.solve.stream import draw_below


@kernel("void(u8[::1], i4[::1])")
def shuffle(state: Any, order: Any) -> None:
    """Put numbers into a random order."""
    for i in range(len(order) - 1, 0, -1):
        j = draw_below(state, i + 1)
        order[i], order[j] = order[j], order[i]


@kernel("f8[::1](f8[:,::1])")
def all_distances(points: Any) -> Any:
    """Distances of all pairs, row by row of the upper triangle."""
    records, columns = points.shape
    far, place = np.empty(records * (records - 1) // 2), 0
    for one in range(records):
        for other in range(one + 1, records):
            total = 0.0
            for c in range(columns):
                apart = points[one, c] - points[other, c]
                total += apart * apart
            far[place] = np.sqrt(total)
            place += 1
    return far


@kernel("i4[:,::1](f8[::1], i8, f8)")
def near_pairs(far: Any, records: int, most: float) -> Any:
    """Pairs at most so far apart."""
    many = 0
    for value in far:
        many += value <= most
    pairs, place, found = np.empty((many, 2), np.int32), 0, 0
    for one in range(records):
        for other in range(one + 1, records):
            if far[place] <= most:
                pairs[found, 0], pairs[found, 1] = one, other
                found += 1
            place += 1
    return pairs


@kernel("f8(f8[:,::1], i8, i8, i8, f8, i8[::1], i8[:,::1], i8[::1], f8[:,::1], i8[::1])")
def _best_exchange(
    points: Any,
    comes: int,
    stays: int,
    theirs: int,
    gain: float,
    group: Any,
    member: Any,
    size: Any,
    total: Any,
    chosen: Any,
) -> float:
    """The best member of a group, but for the one that stays, to go for the one that comes."""
    mine = group[comes]
    for i in range(size[theirs]):
        other = member[theirs, i]
        if other == stays:
            continue
        found = exchange_gain(points, comes, other, total, size, mine, theirs)
        if found > gain:
            gain, chosen[0], chosen[1] = found, comes, other
    return gain


@kernel("i8(f8[:,::1], i4[:,::1], i4[::1], b1[::1], i8, i8[::1], i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1])")
def _cycle(
    points: Any,
    pairs: Any,
    order: Any,
    active: Any,
    states: int,
    state: Any,
    group: Any,
    member: Any,
    slot: Any,
    size: Any,
    total: Any,
) -> int:
    """Show all active pairs to the automaton once; give back the number of exchanges."""
    exchanges = 0
    chosen = np.empty(2, np.int64)
    for place in order:
        if not active[place]:
            continue
        one, other = pairs[place, 0], pairs[place, 1]
        if group[one] == group[other]:
            state[one], state[other] = max(state[one] - 1, 1), max(state[other] - 1, 1)
            continue
        if state[one] < states and state[other] < states:
            state[one] += 1
            state[other] += 1
            continue
        # Exchanges that change nothing are made as well: -1e-12 stands for no gain, but for rounding.
        gain = -1e-12
        chosen[0] = -1
        if state[other] == states:
            gain = _best_exchange(points, other, one, group[one], gain, group, member, size, total, chosen)
        if state[one] == states:
            gain = _best_exchange(points, one, other, group[other], gain, group, member, size, total, chosen)
        if chosen[0] < 0:
            active[place] = False
            continue
        comes, goes = chosen[0], chosen[1]
        exchange_records(points, comes, goes, group[comes], group[goes], group, member, slot, total)
        state[comes] = state[goes] = states
        exchanges += 1
    return exchanges


@kernel("f8(f8[:,::1], i8[::1], f8[:,::1], i8[::1])")
def _loss(points: Any, group: Any, total: Any, size: Any) -> float:
    loss = 0.0
    for record in range(len(points)):
        mine = group[record]
        for c in range(points.shape[1]):
            loss += (points[record, c] - total[mine, c] / size[mine]) ** 2
    return loss


@kernel("f8[::1](f8[:,::1], i4[:,::1], i8, i8, u8, i8, i8[::1])")
def learn_groups(points: Any, pairs: Any, k: int, states: int, seed: Any, most_cycles: int, group: Any) -> Any:
    """Fill in the group of every record; give back the loss at the start and after every cycle.

    Records begin in random groups, at the border of them. Pairs in one group move inwards, those in two outwards; at
    the border, the best exchange that brings them together is made unless it raises the loss, and a pair for which
    there is none is not shown again.
    """
    records, columns = points.shape
    groups = records // k
    state = np.empty(1, np.uint64)
    state[0] = seed * np.uint64(2) + np.uint64(1)
    who = np.arange(records).astype(np.int32)
    shuffle(state, who)
    for i in range(records):
        group[who[i]] = i % groups
    most = records // groups + 1
    member, slot = np.full((groups, most), -1, np.int64), np.empty(records, np.int64)
    size, total = np.zeros(groups, np.int64), np.zeros((groups, columns))
    enter_members(points, group, member, slot, size, total)
    depth = np.full(records, states, np.int64)
    order, active = np.arange(len(pairs)).astype(np.int32), np.ones(len(pairs), np.bool_)
    history = np.empty(most_cycles + 1)
    history[0] = _loss(points, group, total, size)
    cycle = 0
    while cycle < most_cycles:
        shuffle(state, order)
        _cycle(points, pairs, order, active, states, depth, group, member, slot, size, total)
        cycle += 1
        history[cycle] = _loss(points, group, total, size)
        if history[cycle] >= history[cycle - 1] * (1 - 1e-9):
            break
    return history[: cycle + 1].copy()
