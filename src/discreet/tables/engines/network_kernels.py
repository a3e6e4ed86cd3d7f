"""Kernels of the network engine: cheapest ways back through a graph whose edges are cells."""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints, Status
from discreet.solve.heap import pop, push

_GRAPH = "i4[::1], i4[::1], i8[::1], i4[::1], f8[::1], f8[::1], f8[::1], b1[::1]"
_SCRATCH = "f8[::1], i8[::1], i8[::1], i4[::1], i4[::1], f8[::1], i4[::1], i8[::1], i8[::1]"


@kernel("i8(i8, i8, i8, i8, f8, i8, i4[::1], i4[::1], i4[::1], f8[::1], f8[::1], b1[::1], f8[::1], i8[::1])")
def _usable(
    u: int,
    at: int,
    end: int,
    target: int,
    least: float,
    stamp: int,
    tail: Codes,
    head: Codes,
    edge: Codes,
    up: Floats,
    down: Floats,
    withheld: Bools,
    flow: Floats,
    reached: Ints,
) -> int:
    """The first place from ``at`` on in the list of a node's edges whose edge leads on, or the end of the list."""
    while at < end:
        e = edge[at]
        if e != target and not withheld[e]:
            if tail[e] == u:
                if reached[head[e]] != stamp and up[e] - flow[e] >= least:
                    break
            elif reached[tail[e]] != stamp and down[e] + flow[e] >= least:
                break
        at += 1
    return at


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
    size, waiting, done = 0, 0, 0
    reached[origin] = stamp
    queue[0] = origin
    waiting = 1
    distance = 0.0
    while True:
        while done < waiting:
            u = queue[done]
            done += 1
            if u == goal:
                return distance
            node = hidden_head[u]
            while node >= 0:
                e = node >> 1
                v = head[e] if tail[e] == u else tail[e]
                if reached[v] != stamp and e != target:
                    room = up[e] - flow[e] if tail[e] == u else down[e] + flow[e]
                    if room >= least:
                        reached[v] = stamp
                        come_by[v] = e
                        queue[waiting] = v
                        waiting += 1
                        if v == goal:
                            return distance
                node = hidden_next[node]
            pointer[u] = _usable(
                u, start[u], start[u + 1], target, least, stamp, tail, head, edge, up, down, withheld, flow, reached
            )
            if pointer[u] < start[u + 1]:
                size = push(key, item, size, distance + cost[edge[pointer[u]]], u)
        while True:
            if size == 0:
                return np.inf
            u, at = item[0], key[0]
            e = edge[pointer[u]]
            size = pop(key, item, size)
            v = head[e] if tail[e] == u else tail[e]
            new = reached[v] != stamp
            reached[v] = stamp
            pointer[u] = _usable(
                u, pointer[u] + 1, start[u + 1], target, least, stamp, tail, head, edge, up, down, withheld, flow,
                reached,
            )  # fmt: skip
            if pointer[u] < start[u + 1]:
                size = push(key, item, size, at - cost[e] + cost[edge[pointer[u]]], u)
            if not new:
                continue
            come_by[v] = e
            distance = at
            queue[waiting] = v
            waiting += 1
            break


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
            amount, v = left, goal
            while v != origin:
                e = come_by[v]
                forward = head[e] == v
                amount = min(amount, up[e] - flow[e] if forward else down[e] + flow[e])
                v = tail[e] if forward else head[e]
            v = goal
            while v != origin:
                e = come_by[v]
                forward = head[e] == v
                if count == len(used):
                    used = np.concatenate((used, used))
                used[count] = e
                count += 1
                flow[e] += amount if forward else -amount
                if not withheld[e]:
                    withheld[e] = True
                    for side in range(2):
                        node = tail[e] if side == 0 else head[e]
                        hidden_next[2 * e + side] = hidden_head[node]
                        hidden_head[node] = 2 * e + side
                v = tail[e] if forward else head[e]
            left -= amount
            least = min(least, left)
        if left > 0:
            missed[target] = 1
        for i in range(count):
            flow[used[i]] = 0.0
    return stamp
