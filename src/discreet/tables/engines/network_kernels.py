"""Kernels of the network engine: cheapest ways back through a graph whose edges are cells.

Not the cheapest flow of :mod:`discreet.solve.flow`: an edge costs its price once, however much flows through it, and
nothing is paid back for flow that is taken off it again.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status
from discreet.solve.flow import ORIGIN, room_along, send_along
from discreet.solve.heap import pop, push, put_first

_GRAPH = "i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], f8[::1], f8[::1], f8[::1], b1[::1]"
_SCRATCH = "f8[::1], i8[::1], i8[::1], i4[::1], i4[::1], f8[::1], i4[::1], i8[::1], i8[::1]"


@kernel("i8(i8, i8, i8, f8, i8, i4[::1], i8[::1], i4[::1], i4[::1], f8[::1], f8[::1], b1[::1], f8[::1], i8[::1])")
def _leading_on(
    u: int,
    at: int,
    target: int,
    least: float,
    stamp: int,
    tail: Codes,
    start: Ints,
    edge: Codes,
    other: Codes,
    up: Floats,
    down: Floats,
    withheld: Bools,
    flow: Floats,
    reached: Ints,
) -> int:
    """The first place from ``at`` on in the list of a node's edges whose edge leads on, or the end of the list.

    Where the edge ends is looked at first: that list is read in its order, and most nodes nearby are reached soon.
    """
    while at < start[u + 1]:
        if reached[other[at]] != stamp:
            e = edge[at]
            room = up[e] - flow[e] if tail[e] == u else down[e] + flow[e]
            if room >= least and e != target and not withheld[e]:
                break
        at += 1
    return at


@kernel(
    "i8(i8, i8, f8, i8, i8, i4[::1], i4[::1], f8[::1], f8[::1], f8[::1], i8[::1], i8[::1], i4[::1], i4[::1], i8[::1])"
)
def _reach_freely(
    u: int,
    target: int,
    least: float,
    stamp: int,
    waiting: int,
    tail: Codes,
    head: Codes,
    up: Floats,
    down: Floats,
    flow: Floats,
    reached: Ints,
    come_by: Ints,
    hidden_head: Codes,
    hidden_next: Codes,
    queue: Ints,
) -> int:
    """Put the nodes that a node leads to by withheld edges into the queue; how many it has then."""
    node = hidden_head[u]
    while node >= 0:
        e = node >> 1
        v = head[e] if tail[e] == u else tail[e]
        if reached[v] != stamp and e != target and (up[e] - flow[e] if tail[e] == u else down[e] + flow[e]) >= least:
            reached[v], come_by[v], queue[waiting] = stamp, e, v
            waiting += 1
        node = hidden_next[node]
    return waiting


@kernel(f"f8(i8, i8, i8, f8, i8, {_GRAPH}, {_SCRATCH})")
def cheapest_way(
    target: int,
    origin: int,
    goal: int,
    least: float,
    stamp: int,
    tail: Codes,
    head: Codes,
    start: Ints,
    edge: Codes,
    other: Codes,
    cost: Floats,
    up: Floats,
    down: Floats,
    withheld: Bools,
    flow: Floats,
    reached: Ints,
    come_by: Ints,
    hidden_head: Codes,
    hidden_next: Codes,
    key: Floats,
    item: Codes,
    pointer: Ints,
    queue: Ints,
) -> float:
    """Cheapest way from ``origin`` to ``goal`` on edges with room for ``least``, without the target's own edge.

    Edges that are withheld are free. The edges of a node stand in the order of their costs and are looked at only as
    far as they may be needed. ``come_by`` keeps the edge by which each node was reached; infinite if there is no way.
    """
    reached[origin], come_by[origin], queue[0] = stamp, ORIGIN, origin
    size, waiting, done, distance = 0, 1, 0, 0.0
    while True:
        while done < waiting:
            u = queue[done]
            done += 1
            if u == goal:
                return distance
            waiting = _reach_freely(
                u, target, least, stamp, waiting, tail, head, up, down, flow, reached, come_by, hidden_head,
                hidden_next, queue,
            )  # fmt: skip
            if reached[goal] == stamp:
                return distance
            pointer[u] = _leading_on(
                u, start[u], target, least, stamp, tail, start, edge, other, up, down, withheld, flow, reached,
            )  # fmt: skip
            if pointer[u] < start[u + 1]:
                size = push(key, item, size, distance + cost[edge[pointer[u]]], u)
        while True:
            if size == 0:
                return np.inf
            u, at = item[0], key[0]
            e, v = edge[pointer[u]], other[pointer[u]]
            new, reached[v] = reached[v] != stamp, stamp
            pointer[u] = _leading_on(
                u, pointer[u] + 1, target, least, stamp, tail, start, edge, other, up, down, withheld, flow, reached,
            )  # fmt: skip
            further = at - cost[e] + cost[edge[pointer[u]]] if pointer[u] < start[u + 1] else np.inf
            size = put_first(key, item, size, further, u) if further < np.inf else pop(key, item, size)
            if new:
                break
        come_by[v], distance, queue[waiting] = e, at, v
        waiting += 1


@kernel("i8(i8, i4[::1], i4[::1], i8[::1], b1[::1], i4[::1], i4[::1], i8[::1])")
def _withhold(
    goal: int,
    tail: Codes,
    head: Codes,
    come_by: Ints,
    withheld: Bools,
    hidden_head: Codes,
    hidden_next: Codes,
    used: Ints,
) -> int:
    """Withhold the edges of a way, and list them in ``used``; how many there are."""
    count, v = 0, goal
    while come_by[v] >= 0:
        e = come_by[v]
        used[count] = e
        count += 1
        if not withheld[e]:
            withheld[e] = True
            for side in range(2):
                node = tail[e] if side == 0 else head[e]
                hidden_next[2 * e + side] = hidden_head[node]
                hidden_head[node] = 2 * e + side
        v = tail[e] if head[e] == v else head[e]
    return count


@kernel(f"i8(i8[::1], i8[::1], f8[::1], {_GRAPH}, i4[::1], i4[::1], i1[::1], i8)")
def protect(
    targets: Ints,
    direction: Ints,
    level: Floats,
    tail: Codes,
    head: Codes,
    start: Ints,
    edge: Codes,
    other: Codes,
    cost: Floats,
    up: Floats,
    down: Floats,
    withheld: Bools,
    hidden_head: Codes,
    hidden_next: Codes,
    missed: Status,
    nodes: int,
) -> int:
    """Give every target a way round for its level in its direction; how many searches that took.

    A level that no single way can carry is sent by several, each as wide as can be found by halving.
    """
    reached, come_by = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    key, item = np.empty(nodes + 1, np.float64), np.empty(nodes + 1, np.int32)
    pointer, queue = np.empty(nodes, np.int64), np.empty(nodes + 1, np.int64)
    flow = np.zeros(len(tail), np.float64)
    used = np.empty(4 * nodes + 16, np.int64)
    stamp = 0
    for t in range(len(targets)):
        target = targets[t]
        origin, goal = (head[target], tail[target]) if direction[t] > 0 else (tail[target], head[target])
        left, least, count = level[t], level[t], 0
        while left > 0 and least >= 0.5:
            stamp += 1
            price = cheapest_way(
                target, origin, goal, least, stamp, tail, head, start, edge, other, cost, up, down, withheld,
                flow, reached, come_by, hidden_head, hidden_next, key, item, pointer, queue,
            )  # fmt: skip
            if price == np.inf:
                least /= 2
                continue
            amount = room_along(goal, left, tail, head, come_by, up, down, flow)
            send_along(goal, amount, tail, head, come_by, flow)
            if count + nodes > len(used):
                used = np.concatenate((used, used))
            count += _withhold(goal, tail, head, come_by, withheld, hidden_head, hidden_next, used[count:])
            left -= amount
            least = min(least, left)
        if left > 0:
            missed[target] = 1
        for i in range(count):
            flow[used[i]] = 0.0
    return stamp
