"""Kernels of the network engine: cheapest ways back through a graph whose edges are cells.

Not the cheapest flow of :mod:`discreet.solve.flow`: an edge costs its price once, however much flows through it, and
nothing is paid back for flow that is taken off it again.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status
from discreet.solve.flow import ORIGIN, room_along, send_along
from discreet.solve.heap import pop, push

_GRAPH = "i4[::1], i4[::1], i8[::1], i4[::1], f8[::1], f8[::1], f8[::1], b1[::1]"
_SCRATCH = "f8[::1], i8[::1], i8[::1], i4[::1], i4[::1], f8[::1], i4[::1], i8[::1], i8[::1]"


@kernel(f"i8(i8, i8, f8, i8, i8, f8, i8, {_GRAPH}, f8[::1], i8[::1], f8[::1], i4[::1], i8[::1])")
def _offer(
    u: int,
    at: int,
    distance: float,
    size: int,
    target: int,
    least: float,
    stamp: int,
    tail: Codes,
    head: Codes,
    start: Ints,
    edge: Codes,
    cost: Floats,
    up: Floats,
    down: Floats,
    withheld: Bools,
    flow: Floats,
    reached: Ints,
    key: Floats,
    item: Codes,
    pointer: Ints,
) -> int:
    """Put a node into the heap with the first of its edges, from place ``at`` on, that leads on; the heap's size."""
    while at < start[u + 1]:
        e = edge[at]
        if e != target and not withheld[e]:
            if tail[e] == u:
                if reached[head[e]] != stamp and up[e] - flow[e] >= least:
                    break
            elif reached[tail[e]] != stamp and down[e] + flow[e] >= least:
                break
        at += 1
    pointer[u] = at
    return push(key, item, size, distance + cost[edge[at]], u) if at < start[u + 1] else size


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
            size = _offer(
                u, start[u], distance, size, target, least, stamp, tail, head, start, edge, cost, up, down, withheld,
                flow, reached, key, item, pointer,
            )  # fmt: skip
        while True:
            if size == 0:
                return np.inf
            u, at = item[0], key[0]
            e = edge[pointer[u]]
            size = pop(key, item, size)
            v = head[e] if tail[e] == u else tail[e]
            new = reached[v] != stamp
            reached[v] = stamp
            size = _offer(
                u, pointer[u] + 1, at - cost[e], size, target, least, stamp, tail, head, start, edge, cost, up, down,
                withheld, flow, reached, key, item, pointer,
            )  # fmt: skip
            if not new:
                continue
            come_by[v], distance, queue[waiting] = e, at, v
            waiting += 1
            break


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
                target, origin, goal, least, stamp, tail, head, start, edge, cost, up, down, withheld, flow,
                reached, come_by, hidden_head, hidden_next, key, item, pointer, queue,
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
