"""The fewest steps that bring units from donors to receivers over a network of neighbours.

A primal-dual method: potentials keep all reduced costs of residual arcs at zero or above, units move along arcs of
reduced cost zero, and potentials rise until the next receiver comes within reach. Steps cost one, so that a search is
a walk through few levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import ProtectionError
from discreet.jit import kernel
from discreet.model.arrays import Ints


class PlaceNetwork(NamedTuple):
    """Nodes with their neighbours; ``node`` is the node of each cell, ``back`` the place of each arc's reverse."""

    start: Ints
    head: Ints
    back: Ints
    node: Ints


def network_of(tail: Ints, head: Ints, nodes: int, node: Ints) -> PlaceNetwork:
    """A network from arcs that come in both directions."""
    order = np.lexsort((head, tail))
    tail, head = tail[order], head[order]
    start = np.searchsorted(tail, np.arange(nodes + 1))
    back = np.searchsorted(tail * nodes + head, head * nodes + tail)
    return PlaceNetwork(start.astype(np.int64), head.astype(np.int64), back.astype(np.int64), node)


def fewest_steps(network: PlaceNetwork, supply: Ints, demand: Ints) -> Ints:
    """Moves as rows of (donor, receiver, units, steps), by cell; the demand is met exactly.

    Parameters
    ----------
    network
        Nodes and neighbours.
    supply, demand
        Units that each cell can give, and that it wants.
    """
    nodes = len(network.start) - 1
    gives, wants = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    gives[network.node], wants[network.node] = supply, demand
    flow = np.zeros(len(network.head), np.int64)
    left = gives.copy()
    if not send(network.start, network.head, network.back, left, wants.copy(), flow):
        raise ProtectionError("A small cell cannot be reached from any cell with units to spare.")
    moves = taken_apart(network.start, network.head, gives - left, wants, flow)
    cell = np.full(nodes, -1, np.int64)
    cell[network.node] = np.arange(len(network.node))
    moves[:, 0], moves[:, 1] = cell[moves[:, 0]], cell[moves[:, 1]]
    return moves


@kernel("b1(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def send(start: Ints, head: Ints, back: Ints, gives: Ints, wants: Ints, flow: Ints) -> bool:
    """Fill ``flow`` with the cheapest shipment; says whether all that is wanted could be sent."""
    nodes = len(gives)
    height = np.zeros(nodes, np.int64)
    level = np.empty(nodes, np.int64)
    ring = np.empty((3, 8 * nodes + len(head)), np.int64)
    size = np.zeros(3, np.int64)
    path = np.empty(nodes + 1, np.int64)
    arc = np.empty(nodes, np.int64)
    closed = np.zeros(nodes, np.bool_)
    missing = wants.sum()
    while missing > 0:
        # Distances by reduced cost (0, 1 or 2 an arc) from all donors, as far as the nearest receiver.
        level[:] = -1
        size[:] = 0
        for v in range(nodes):
            if gives[v] > 0:
                ring[0, size[0]] = v
                size[0] += 1
        depth, found, idle = 0, False, 0
        while idle < 3:
            slot = depth % 3
            at = 0
            while at < size[slot]:
                v = ring[slot, at]
                at += 1
                if level[v] >= 0:
                    continue
                level[v] = depth
                if wants[v] > 0:
                    found = True
                for e in range(start[v], start[v + 1]):
                    w = head[e]
                    if level[w] >= 0:
                        continue
                    cost = (-1 if flow[back[e]] > 0 else 1) + height[v] - height[w]
                    place = (depth + cost) % 3
                    ring[place, size[place]] = w
                    size[place] += 1
            size[slot] = 0
            if found:
                break
            idle = idle + 1 if at == 0 else 0
            depth += 1
        if not found:
            return False
        for v in range(nodes):
            height[v] += level[v] if level[v] >= 0 else depth
        # Send along arcs of reduced cost zero; a node from which nothing could be sent is not tried again.
        closed[:] = False
        arc[:] = start[:-1]
        for source in range(nodes):
            while gives[source] > 0 and not closed[source]:
                path[0] = source
                length = 1
                onward = True
                closed[source] = True
                while length > 0:
                    v = path[length - 1]
                    if wants[v] > 0:
                        break
                    onward = False
                    while arc[v] < start[v + 1]:
                        e = arc[v]
                        w = head[e]
                        cost = (-1 if flow[back[e]] > 0 else 1) + height[v] - height[w]
                        if cost == 0 and not closed[w]:
                            closed[w] = True
                            path[length] = w
                            length += 1
                            onward = True
                            break
                        arc[v] += 1
                    if not onward:
                        length -= 1
                if length == 0:
                    break
                units = min(gives[source], wants[path[length - 1]])
                for k in range(length - 1):
                    e = arc[path[k]]
                    if flow[back[e]] > 0:
                        units = min(units, flow[back[e]])
                for k in range(length - 1):
                    e = arc[path[k]]
                    if flow[back[e]] > 0:
                        flow[back[e]] -= units
                    else:
                        flow[e] += units
                gives[source] -= units
                wants[path[length - 1]] -= units
                missing -= units
                for k in range(length):
                    closed[path[k]] = False
    return True


@kernel("i8[:,::1](i8[::1], i8[::1], i8[::1], i8[::1], i8[::1])")
def taken_apart(start: Ints, head: Ints, gives: Ints, wants: Ints, flow: Ints) -> Ints:
    """A flow as moves from donors to receivers: rows of (donor, receiver, units, steps)."""
    moves = np.empty((int(gives.sum()), 4), np.int64)
    used = 0
    path = np.empty(len(gives) + 1, np.int64)
    for source in range(len(gives)):
        while gives[source] > 0:
            v, length, units = source, 0, gives[source]
            while wants[v] == 0:
                for e in range(start[v], start[v + 1]):
                    if flow[e] > 0:
                        path[length] = e
                        length += 1
                        units = min(units, flow[e])
                        v = head[e]
                        break
            units = min(units, wants[v])
            for k in range(length):
                flow[path[k]] -= units
            gives[source] -= units
            wants[v] -= units
            moves[used, 0], moves[used, 1], moves[used, 2], moves[used, 3] = source, v, units, length
            used += 1
    return moves[:used].copy()
