"""Halving a hypergraph: parts grown from a seed, and refinement by moves of single members."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.jit import kernel
from discreet.model.arrays import Bools, Ints

Sides = NDArray[np.int8]
MEMBERS = "int64[::1], int64[::1], int64[::1], int64[::1]"


@kernel(f"int8[::1]({MEMBERS}, int64)")
def grown(start: Ints, net: Ints, pins: Ints, pin: Ints, first: int) -> Sides:
    """Side 1 grown from a member over shared nets until it holds half of all members."""
    size = len(start) - 1
    side = np.zeros(size, np.int8)
    queue = np.empty(size, np.int64)
    head, tail, seed = 0, 0, first
    wanted = size // 2
    while tail < wanted:
        if head == tail:
            while side[seed] == 1:
                seed = (seed + 1) % size
            queue[tail] = seed
            side[seed] = 1
            tail += 1
        member = queue[head]
        head += 1
        for e in range(start[member], start[member + 1]):
            for f in range(pins[net[e]], pins[net[e] + 1]):
                other = pin[f]
                if side[other] == 0 and tail < wanted:
                    side[other] = 1
                    queue[tail] = other
                    tail += 1
    return side


@kernel("int64[::1](int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def matched(start: Ints, other: Ints, shared: Ints, weight: Ints, order: Ints) -> Ints:
    """Heavy-edge matching: each member in turn goes with the free one that it shares most nets with; ties: the lighter.

    ``other`` and ``shared`` list for each member those it shares nets with, and how many. Gives the number of the pair.
    """
    pair = np.full(len(order), -1, np.int64)
    count = 0
    for member in order:
        if pair[member] >= 0:
            continue
        best = -1
        most = 0
        for e in range(start[member], start[member + 1]):
            u = other[e]
            if u == member or pair[u] >= 0:
                continue
            if shared[e] > most or (shared[e] == most and weight[u] < weight[best]):
                best, most = u, shared[e]
        pair[member] = count
        if best >= 0:
            pair[best] = count
        count += 1
    return pair


GAINS = "int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1]"
"""Members by side and gain, as linked lists: head of each list, neighbours of each member, its gain, highest lists."""


@kernel(f"void(int64, int64, int64, {GAINS})")
def _enlist(v: int, mine: int, widest: int, head: Ints, after: Ints, before: Ints, gain: Ints, top: Ints) -> None:
    """Put a member at the head of the list of its gain."""
    at = gain[v] + widest
    before[v], after[v] = -1, head[mine, at]
    if head[mine, at] >= 0:
        before[head[mine, at]] = v
    head[mine, at] = v
    top[mine] = max(top[mine], at)


@kernel("void(int64, int64, int64, int64[:,::1], int64[::1], int64[::1], int64[::1])")
def _delist(v: int, mine: int, widest: int, head: Ints, after: Ints, before: Ints, gain: Ints) -> None:
    """Take a member out of the list of its gain."""
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        head[mine, gain[v] + widest] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@kernel(f"void(int64[::1], int64[::1], int8[::1], int64[:,::1], int64, {GAINS})")
def _enlist_all(
    start: Ints,
    net: Ints,
    side: Sides,
    count: Ints,
    widest: int,
    head: Ints,
    after: Ints,
    before: Ints,
    gain: Ints,
    top: Ints,
) -> None:
    """Lists of all members by how many fewer nets are cut when they move."""
    head[:, :] = -1
    top[:] = 0
    for v in range(len(start) - 1):
        mine = side[v]
        gain[v] = 0
        for e in range(start[v], start[v + 1]):
            n = net[e]
            if count[n, 0] + count[n, 1] > 1:
                gain[v] += count[n, mine] == 1
                gain[v] -= count[n, 1 - mine] == 0
        _enlist(v, mine, widest, head, after, before, gain, top)


@kernel("int64(int64[:,::1], int64[::1], int64[::1], int64[::1], int64)")
def _side_to_leave(head: Ints, top: Ints, filled: Ints, weight: Ints, most: int) -> int:
    """The side whose best member may move and gains most, the fuller of two; -1 where none may."""
    for s in range(2):
        while top[s] >= 0 and head[s, top[s]] < 0:
            top[s] -= 1
    best = -1
    for s in range(2):
        if top[s] < 0 or filled[1 - s] + weight[head[s, top[s]]] > most:
            continue
        if best < 0 or top[s] > top[best] or (top[s] == top[best] and filled[s] > filled[best]):
            best = s
    return best


@kernel(f"void(int64, {MEMBERS}, int8[::1], int64[:,::1], boolean[::1], int64, {GAINS})")
def _shift_gains(
    v: int,
    start: Ints,
    net: Ints,
    pins: Ints,
    pin: Ints,
    side: Sides,
    count: Ints,
    locked: Bools,
    widest: int,
    head: Ints,
    after: Ints,
    before: Ints,
    gain: Ints,
    top: Ints,
) -> None:
    """Count a member on the other side, and change what others of its nets would gain."""
    s, t = side[v], 1 - side[v]
    for e in range(start[v], start[v + 1]):
        n = net[e]
        if count[n, 0] + count[n, 1] < 2:
            count[n, s] -= 1
            count[n, t] += 1
            continue
        for change in range(2):
            # First what the net gains before the move, then what it loses after it.
            if change == 0:
                watched, wanted_side, sign = count[n, t], t, 1
            else:
                count[n, s] -= 1
                count[n, t] += 1
                watched, wanted_side, sign = count[n, s], s, -1
            if watched > 1:
                continue
            for f in range(pins[n], pins[n + 1]):
                u = pin[f]
                if u == v or locked[u] or (watched > 0 and side[u] != wanted_side):
                    continue
                _delist(u, side[u], widest, head, after, before, gain)
                gain[u] += sign if watched == 0 else -sign
                _enlist(u, side[u], widest, head, after, before, gain, top)


@kernel(f"int64({MEMBERS}, int64[::1], int8[::1], int64)")
def refine(start: Ints, net: Ints, pins: Ints, pin: Ints, weight: Ints, side: Sides, most: int) -> int:
    """Move members one at a time while fewer nets are cut; no side may weigh more than ``most``. Gives the nets cut.

    In a pass every member moves at most once, the one whose move helps most first, even where it does harm; the best
    state of the pass is kept. Passes end when one brings nothing.
    """
    size, nets = len(start) - 1, len(pins) - 1
    count = np.zeros((nets, 2), np.int64)
    for n in range(nets):
        for f in range(pins[n], pins[n + 1]):
            count[n, side[pin[f]]] += 1
    cut = 0
    for n in range(nets):
        if count[n, 0] > 0 and count[n, 1] > 0:
            cut += 1
    widest = 1
    for v in range(size):
        widest = max(widest, start[v + 1] - start[v])
    head = np.empty((2, 2 * widest + 1), np.int64)
    after, before = np.empty(size, np.int64), np.empty(size, np.int64)
    gain, moved = np.empty(size, np.int64), np.empty(size, np.int64)
    locked = np.empty(size, np.bool_)
    top, filled = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for v in range(size):
        filled[side[v]] += weight[v]
    while True:
        locked[:] = False
        _enlist_all(start, net, side, count, widest, head, after, before, gain, top)
        done, best_at, best, now = 0, 0, cut, cut
        while True:
            s = _side_to_leave(head, top, filled, weight, most)
            if s < 0:
                break
            v = head[s, top[s]]
            _delist(v, s, widest, head, after, before, gain)
            locked[v] = True
            now -= gain[v]
            _shift_gains(v, start, net, pins, pin, side, count, locked, widest, head, after, before, gain, top)
            side[v] = 1 - s
            filled[s] -= weight[v]
            filled[1 - s] += weight[v]
            moved[done] = v
            done += 1
            if now < best:
                best, best_at = now, done
        for number in range(done - 1, best_at - 1, -1):
            v = moved[number]
            s = side[v]
            for e in range(start[v], start[v + 1]):
                count[net[e], s] -= 1
                count[net[e], 1 - s] += 1
            side[v] = 1 - s
            filled[s] -= weight[v]
            filled[1 - s] += weight[v]
        if best >= cut:
            return cut
        cut = best
