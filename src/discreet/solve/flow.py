"""Flows on networks: ways with room from some nodes to others, what is sent along them, and the cheapest rounding.

Arc ``a`` leads from ``tail[a]`` to ``head[a]`` and can be used both ways: ``ahead[a] - flow[a]`` can still be sent with
it, and ``back[a] + flow[a]`` against it.

Two relatives stay where they are used. :mod:`discreet.tables.engines.network_kernels` pays for an edge once, however
much flows through it, and gets nothing back, so that plain distances suffice. :mod:`discreet.tables.redistribute.flow`
has arcs of cost one without limits, and sends many units along all shortest ways before it searches again.
"""

from __future__ import annotations

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Bools, Codes, Floats, Ints

FAR = 2**62
"""A distance that no way has."""
UNREACHED, ORIGIN = -1, -2
"""What stands in ``came`` in place of an arc."""

_WHOLE, _NARROW = "i8[::1], i8[::1]", "i4[::1], i4[::1]"
_SEARCH = "i8[::1], i8[::1], {0}[::1], {0}[::1], {0}[::1], {0}, b1[::1], i8[::1], i8[::1]"


@kernel("Tuple((i8[::1], i8[::1], i8[::1]))(i8[::1], i8[::1], i8)")
def arcs_of_nodes(tail: Ints, head: Ints, nodes: int) -> tuple[Ints, Ints, Ints]:
    """Where the arcs of each node begin, how many there are, and the arcs in their order; a loop stands once."""
    count = np.zeros(nodes, np.int64)
    for a in range(len(tail)):
        count[tail[a]] += 1
        count[head[a]] += tail[a] != head[a]
    begin = np.zeros(nodes + 1, np.int64)
    for v in range(nodes):
        begin[v + 1] = begin[v] + count[v]
    place = begin[:-1].copy()
    arcs = np.empty(begin[nodes], np.int64)
    for a in range(len(tail)):
        arcs[place[tail[a]]] = a
        place[tail[a]] += 1
        if tail[a] != head[a]:
            arcs[place[head[a]]] = a
            place[head[a]] += 1
    return begin, count, arcs


@kernel(f"i8({_WHOLE}, {_SEARCH.format('i8')})", f"i8({_WHOLE}, {_SEARCH.format('f8')})")
def find_way(
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    ahead: Ints | Floats,
    back: Ints | Floats,
    flow: Ints | Floats,
    least: float,
    goal: Bools,
    came: Ints,
    queue: Ints,
) -> int:
    """The first goal that is reached by arcs with more room than ``least``, over as few arcs as can be; -1 if none is.

    ``came`` is ORIGIN where ways begin and UNREACHED elsewhere, and gets the arc by which each node was reached.
    """
    waiting, done = 0, 0
    for v in range(len(came)):
        if came[v] == ORIGIN:
            queue[waiting] = v
            waiting += 1
    while done < waiting:
        u = queue[done]
        done += 1
        for k in range(begin[u], begin[u + 1]):
            a = arcs[k]
            forward = tail[a] == u
            v = int(head[a] if forward else tail[a])
            if came[v] != UNREACHED or (ahead[a] - flow[a] if forward else back[a] + flow[a]) <= least:
                continue
            came[v] = a
            if goal[v]:
                return v
            queue[waiting] = v
            waiting += 1
    return -1


@kernel(
    f"i8(i8, i8, {_WHOLE}, i8[::1], i8[::1], i8[::1], i8[::1])",
    f"f8(i8, f8, {_WHOLE}, i8[::1], f8[::1], f8[::1], f8[::1])",
    f"f8(i8, f8, {_NARROW}, i8[::1], f8[::1], f8[::1], f8[::1])",
)
def room_along(
    end: int,
    most: float,
    tail: Ints | Codes,
    head: Ints | Codes,
    came: Ints,
    ahead: Ints | Floats,
    back: Ints | Floats,
    flow: Ints | Floats,
) -> float:
    """How much can be sent to a node along the way by which it was reached, and no more than ``most``."""
    node = end
    while came[node] >= 0:
        a = came[node]
        if head[a] == node:
            most, node = min(most, ahead[a] - flow[a]), tail[a]
        else:
            most, node = min(most, back[a] + flow[a]), head[a]
    return most


@kernel(
    f"i8(i8, i8, {_WHOLE}, i8[::1], i8[::1])",
    f"i8(i8, f8, {_WHOLE}, i8[::1], f8[::1])",
    f"i8(i8, f8, {_NARROW}, i8[::1], f8[::1])",
)
def send_along(end: int, amount: float, tail: Ints | Codes, head: Ints | Codes, came: Ints, flow: Ints | Floats) -> int:
    """Send an amount to a node along the way by which it was reached; the node that it comes from."""
    node = end
    while came[node] >= 0:
        a = came[node]
        if head[a] == node:
            flow[a] += amount
            node = tail[a]
        else:
            flow[a] -= amount
            node = head[a]
    return node


@kernel(
    "i8(i8, i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1])"
)
def _nearest_lack(
    step: int,
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    weight: Ints,
    movable: Bools,
    left: Ints,
    much: Ints,
    potential: Ints,
    distance: Ints,
    came: Ints,
    done: Bools,
) -> int:
    """The nearest node with too little, by weights under the potentials, from all nodes with too much; -1 if none is.

    The nearest node is looked for among all: networks of tables have few nodes, and each many arcs.
    """
    nodes = len(much)
    for v in range(nodes):
        distance[v], came[v], done[v] = (0 if much[v] > 0 else FAR), UNREACHED, False
    while True:
        node, reach = -1, FAR
        for v in range(nodes):
            if not done[v] and distance[v] < reach:
                node, reach = v, distance[v]
        if node < 0 or much[node] < 0:
            return node
        done[node] = True
        for k in range(begin[node], begin[node + 1]):
            a = arcs[k]
            if not movable[a]:
                continue
            if left[a] == 0 and tail[a] == node:
                other, cost = head[a], weight[a]
            elif left[a] == step and head[a] == node:
                other, cost = tail[a], -weight[a]
            else:
                continue
            further = reach + cost + potential[node] - potential[other]
            if further < distance[other]:
                distance[other], came[other] = further, a


@kernel("b1(i8, i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], i8[::1], i8[::1])")
def least_weight(
    step: int,
    tail: Ints,
    head: Ints,
    begin: Ints,
    arcs: Ints,
    weight: Ints,
    movable: Bools,
    rest: Ints,
    left: Ints,
) -> bool:
    """Round a circulation with the least weight: shortest ways from nodes with too much to nodes with too little.

    ``rest`` is how far each arc lies above a multiple, ``left`` where it goes: 0 or ``step``, wherever it is cheaper to
    begin with. What raising an arc costs is its ``weight``. Node potentials, under which no change is cheaper than
    nothing, prove the answer; it is ``False`` where arcs that are not ``movable`` leave no way or the proof fails.
    """
    nodes = len(begin) - 1
    much = np.zeros(nodes, np.int64)
    for a in range(len(tail)):
        much[head[a]] += left[a] - rest[a]
        much[tail[a]] -= left[a] - rest[a]
    for v in range(nodes):
        if much[v] % step != 0:
            return False
        much[v] //= step
    potential = np.zeros(nodes, np.int64)
    distance, came = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    done = np.empty(nodes, np.bool_)
    while much.max() > 0:
        node = _nearest_lack(
            step, tail, head, begin, arcs, weight, movable, left, much, potential, distance, came, done
        )
        if node < 0:
            return False
        reach = distance[node]
        for v in range(nodes):
            potential[v] += min(distance[v], reach)
        much[node] += 1
        much[send_along(node, step, tail, head, came, left)] -= 1
    for a in range(len(tail)):
        reduced = weight[a] + potential[tail[a]] - potential[head[a]]
        if movable[a] and ((left[a] == 0 and reduced < 0) or (left[a] == step and reduced > 0)):
            return False
    return True
