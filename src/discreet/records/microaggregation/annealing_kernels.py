"""Simulated annealing of groups: the changes of the search, drawn at random, also those for the worse at first."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.records.microaggregation.search_kernels import (
    enter_members,
    exchange_gain,
    exchange_records,
    move_gain,
    move_record,
)
from discreet.solve.stream import draw_below, unit_draw

HOT, COLD = 0.3, 0.002
"""Temperatures at the beginning and at the end, as shares of the loss of a record."""
RARELY = 100
"""One draw in so many makes or ends a group."""


@kernel("b1(u8[::1], f8, f8)")
def _accepted(state: Any, gain: float, heat: float) -> Any:
    """Whether a change is made that lowers the loss by ``gain``, or raises it."""
    if gain >= 0:
        return True
    return unit_draw(state) < np.exp(gain / heat)


@kernel("f8(f8[:,::1], i8, i8[:,::1], i8[::1], f8[:,::1])")
def _loss_of(points: Any, mine: int, member: Any, size: Any, total: Any) -> float:
    loss = 0.0
    for i in range(size[mine]):
        for c in range(points.shape[1]):
            loss += (points[member[mine, i], c] - total[mine, c] / size[mine]) ** 2
    return loss


@kernel(
    "b1(f8[:,::1], i8, i8, i4[:,::1], i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1], f8, u8[::1], i8[::1], i8[::1])"
)
def _try_dissolving(
    points: Any,
    k: int,
    mine: int,
    near: Any,
    group: Any,
    member: Any,
    slot: Any,
    size: Any,
    total: Any,
    heat: float,
    state: Any,
    people: Any,
    where: Any,
) -> bool:
    """Give all members of a group to their best neighbouring groups, and undo it where that is not accepted."""
    many, gain = size[mine], _loss_of(points, mine, member, size, total)
    for i in range(many):
        people[i] = member[mine, i]
    done = 0
    for i in range(many):
        best, chosen = np.inf, -1
        for j in range(near.shape[1]):
            if near[people[i], j] < 0:
                break
            theirs = group[near[people[i], j]]
            if theirs == mine or size[theirs] >= 2 * k - 1:
                continue
            away, b = 0.0, size[theirs]
            for c in range(points.shape[1]):
                away += (points[people[i], c] - total[theirs, c] / b) ** 2
            if b / (b + 1.0) * away < best:
                best, chosen = b / (b + 1.0) * away, theirs
        if chosen < 0:
            break
        gain -= best
        move_record(points, people[i], mine, chosen, group, member, slot, size, total)
        where[i] = chosen
        done += 1
    if done == many and _accepted(state, gain, heat):
        return True
    for i in range(done - 1, -1, -1):
        move_record(points, people[i], where[i], mine, group, member, slot, size, total)
    return False


@kernel("b1(f8[:,::1], i8, i8, i8, i8, i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1], f8, u8[::1], i8[::1], f8[::1])")
def _try_splitting(
    points: Any,
    k: int,
    one: int,
    theirs: int,
    new: int,
    group: Any,
    member: Any,
    slot: Any,
    size: Any,
    total: Any,
    heat: float,
    state: Any,
    people: Any,
    along: Any,
) -> bool:
    """Let a record enter a full group, which becomes two; undo it where that is not accepted."""
    mine = group[one]
    before = _loss_of(points, mine, member, size, total) + _loss_of(points, theirs, member, size, total)
    move_record(points, one, mine, theirs, group, member, slot, size, total)
    many = size[theirs]
    start = member[theirs, draw_below(state, many)]
    end, most = start, -1.0
    for i in range(many):
        away = 0.0
        for c in range(points.shape[1]):
            away += (points[member[theirs, i], c] - points[start, c]) ** 2
        if away > most:
            end, most = member[theirs, i], away
    for i in range(many):
        along[i] = 0.0
        for c in range(points.shape[1]):
            along[i] += points[member[theirs, i], c] * (points[end, c] - points[start, c])
    order = np.argsort(along[:many], kind="mergesort")
    for i in range(k):
        people[i] = member[theirs, order[i]]
    for i in range(k):
        move_record(points, people[i], theirs, new, group, member, slot, size, total)
    after = _loss_of(points, mine, member, size, total) + _loss_of(points, theirs, member, size, total)
    if _accepted(state, before - after - _loss_of(points, new, member, size, total), heat):
        return True
    for i in range(k - 1, -1, -1):
        move_record(points, people[i], new, theirs, group, member, slot, size, total)
    move_record(points, one, theirs, mine, group, member, slot, size, total)
    return False


@kernel("b1(f8[:,::1], i8, i8, i8, i8[::1], i8[:,::1], i8[::1], i8[::1], f8[:,::1], f8, u8[::1])")
def _try_moving(
    points: Any,
    k: int,
    one: int,
    theirs: int,
    group: Any,
    member: Any,
    slot: Any,
    size: Any,
    total: Any,
    heat: float,
    state: Any,
) -> bool:
    """Let a record move to another group, or change places with one of its members."""
    mine, pick = group[one], draw_below(state, size[theirs] + 1)
    if pick < size[theirs]:
        other = member[theirs, pick]
        if not _accepted(state, exchange_gain(points, one, other, total, size, mine, theirs), heat):
            return False
        exchange_records(points, one, other, mine, theirs, group, member, slot, total)
        return True
    if size[mine] == k or size[theirs] == 2 * k - 1:
        return False
    if not _accepted(state, move_gain(points, one, total, size, mine, theirs), heat):
        return False
    move_record(points, one, mine, theirs, group, member, slot, size, total)
    return True


@kernel("void(f8[:,::1], i8, i8[::1], i4[:,::1], i8, u8)")
def anneal_groups(points: Any, k: int, group: Any, near: Any, draws: int, seed: Any) -> None:
    """Change groups in place, by so many draws."""
    records, columns = points.shape
    most = records // k
    member, slot = np.full((most, 2 * k), -1, np.int64), np.empty(records, np.int64)
    size, total = np.zeros(most, np.int64), np.zeros((most, columns))
    enter_members(points, group, member, slot, size, total)
    loss, free, spare = 0.0, np.empty(most, np.int64), 0
    for mine in range(most - 1, -1, -1):
        if size[mine]:
            loss += _loss_of(points, mine, member, size, total)
        else:
            free[spare], spare = mine, spare + 1
    state = np.empty(1, np.uint64)
    state[0] = seed * np.uint64(2) + np.uint64(1)
    people, where, along = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64), np.empty(2 * k)
    heat, steps = HOT * loss / records, 1000
    cooling = (COLD / HOT) ** (1.0 / steps)
    for _ in range(steps):
        for turn in range(draws // steps):
            one = draw_below(state, records)
            other = near[one, draw_below(state, near.shape[1])]
            if other < 0 or group[one] == group[other]:
                continue
            mine, theirs = group[one], group[other]
            if turn % RARELY == 0 and size[mine] == k and spare < most:
                if _try_dissolving(points, k, mine, near, group, member, slot, size, total, heat, state, people, where):
                    free[spare], spare = mine, spare + 1
            elif size[mine] > k and size[theirs] == 2 * k - 1 and spare:
                new = free[spare - 1]
                spare -= _try_splitting(
                    points, k, one, theirs, new, group, member, slot, size, total, heat, state, people, along
                )
            else:
                _try_moving(points, k, one, theirs, group, member, slot, size, total, heat, state)
        heat *= cooling
