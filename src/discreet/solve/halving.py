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


@kernel("int64(int64[::1], int64[::1], int8[::1], int64[:, ::1])")
def _count_sides(pins: Ints, pin: Ints, side: Sides, count: Ints) -> int:
    """Count the members of every net on both sides; how many nets have some on both."""
    cut = 0
    for n in range(len(pins) - 1):
        for f in range(pins[n], pins[n + 1]):
            count[n, side[pin[f]]] += 1
        if count[n, 0] > 0 and count[n, 1] > 0:
            cut += 1
    return cut


@kernel("int64(int64[::1], int64[::1], int64[:, ::1], int8[::1], int64)")
def _gain(start: Ints, net: Ints, count: Ints, side: Sides, v: int) -> int:
    """By how many nets the cut falls when a member changes sides."""
    mine, gain = side[v], 0
    for e in range(start[v], start[v + 1]):
        n = net[e]
        if count[n, 0] + count[n, 1] > 1:
            if count[n, mine] == 1:
                gain += 1
            if count[n, 1 - mine] == 0:
                gain -= 1
    return gain


@kernel("void(int64[:, ::1], int64[::1], int64[::1], int64[::1], int64, int64, int64)")
def _enter(head: Ints, after: Ints, before: Ints, top: Ints, mine: int, at: int, v: int) -> None:
    """Put a member at the head of the list of its side and gain."""
    before[v], after[v] = -1, head[mine, at]
    if head[mine, at] >= 0:
        before[head[mine, at]] = v
    head[mine, at] = v
    top[mine] = max(top[mine], at)


@kernel("void(int64[:, ::1], int64[::1], int64[::1], int64, int64, int64)")
def _leave(head: Ints, after: Ints, before: Ints, mine: int, at: int, v: int) -> None:
    """Take a member out of its list."""
    if before[v] >= 0:
        after[before[v]] = after[v]
    else:
        head[mine, at] = after[v]
    if after[v] >= 0:
        before[after[v]] = before[v]


@kernel("int64(int64[:, ::1], int64[::1], int64[::1], int64[::1], int64)")
def _side_to_leave(head: Ints, top: Ints, filled: Ints, weight: Ints, room: int) -> int:
    """The side whose best member moves next: the larger gain, at ties the heavier side; -1 where none has room."""
    chosen = -1
    for s in range(2):
        while top[s] >= 0 and head[s, top[s]] < 0:
            top[s] -= 1
        if top[s] < 0 or filled[1 - s] + weight[head[s, top[s]]] > room:
            continue
        if chosen < 0 or top[s] > top[chosen] or (top[s] == top[chosen] and filled[s] > filled[chosen]):
            chosen = s
    return chosen


@kernel(
    f"void({MEMBERS}, int8[::1], boolean[::1], int64[:, ::1], int64[::1], int64[:, ::1], int64[::1], int64[::1], "
    "int64[::1], int64)"
)
def _update_gains(
    start: Ints,
    net: Ints,
    pins: Ints,
    pin: Ints,
    side: Sides,
    locked: Bools,
    count: Ints,
    gain: Ints,
    head: Ints,
    after: Ints,
    before: Ints,
    top: Ints,
    v: int,
) -> None:
    """Counts of nets and gains of members once a member has left its side."""
    s = side[v]
    t = 1 - s
    widest = head.shape[1] // 2
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
                if u == v or locked[u]:
                    continue
                if watched == 0:
                    delta = sign
                elif side[u] == wanted_side:
                    delta = -sign
                else:
                    continue
                _leave(head, after, before, side[u], gain[u] + widest, u)
                gain[u] += delta
                _enter(head, after, before, top, side[u], gain[u] + widest, u)


@kernel("void(int64[::1], int64[::1], int64[:, ::1], int8[::1], int64[::1], int64[::1], int64)")
def _move_back(start: Ints, net: Ints, count: Ints, side: Sides, filled: Ints, weight: Ints, v: int) -> None:
    """Undo a move."""
    s = side[v]
    for e in range(start[v], start[v + 1]):
        count[net[e], s] -= 1
        count[net[e], 1 - s] += 1
    side[v] = 1 - s
    filled[s] -= weight[v]
    filled[1 - s] += weight[v]


@kernel(f"int64({MEMBERS}, int64[::1], int8[::1], int64)")
def refine(start: Ints, net: Ints, pins: Ints, pin: Ints, weight: Ints, side: Sides, most: int) -> int:
    """Move members one at a time while fewer nets are cut; no side may weigh more than ``most``. Gives the nets cut.

    In a pass every member moves at most once, the one whose move helps most first, even where it does harm; the best
    state of the pass is kept. Passes end when one brings nothing. Where both sides are full, one may hold a member too
    many in between: otherwise nothing could move at all.
    """
    size = len(start) - 1
    count = np.zeros((len(pins) - 1, 2), np.int64)
    cut = _count_sides(pins, pin, side, count)
    widest = 1
    for v in range(size):
        widest = max(widest, start[v + 1] - start[v])
    # Members by gain and side, as linked lists: head of each list, and neighbours of each member.
    head = np.empty((2, 2 * widest + 1), np.int64)
    after, before = np.empty(size, np.int64), np.empty(size, np.int64)
    gain, moved = np.empty(size, np.int64), np.empty(size, np.int64)
    locked = np.empty(size, np.bool_)
    top = np.empty(2, np.int64)
    filled = np.zeros(2, np.int64)
    for v in range(size):
        filled[side[v]] += weight[v]
    room = max(most, (filled[0] + filled[1]) // 2 + 1)
    while True:
        head[:, :] = -1
        locked[:] = False
        top[:] = 0
        for v in range(size):
            gain[v] = _gain(start, net, count, side, v)
            _enter(head, after, before, top, side[v], gain[v] + widest, v)
        done, best_at, best, now = 0, 0, cut, cut
        allowed = max(most, max(filled[0], filled[1]))
        while True:
            s = _side_to_leave(head, top, filled, weight, room)
            if s < 0:
                break
            v = head[s, top[s]]
            _leave(head, after, before, s, top[s], v)
            locked[v] = True
            now -= gain[v]
            _update_gains(start, net, pins, pin, side, locked, count, gain, head, after, before, top, v)
            side[v] = 1 - s
            filled[s] -= weight[v]
            filled[1 - s] += weight[v]
            moved[done] = v
            done += 1
            if now < best and max(filled[0], filled[1]) <= allowed:
                best, best_at = now, done
        for number in range(done - 1, best_at - 1, -1):
            _move_back(start, net, count, side, filled, weight, moved[number])
        if best >= cut:
            return cut
        cut = best
