"""Tables whose relations are a network: cells are arcs, relations nodes, and additive changes are circulations.

Two-way tables are, also with one hierarchical variable. Their cells can always be rounded to neighbouring multiples.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import LARGEST, Floats, Ints
from discreet.relations import System
from discreet.solve.flow import arcs_of_nodes, least_weight
from discreet.tables.rounding import network_kernels as kernels


class CellNetwork(NamedTuple):
    """Cells as arcs from ``tail`` to ``head``; the last node stands for everything that is in no relation."""

    tail: Ints
    head: Ints
    nodes: int

    def adjacency(self) -> tuple[Ints, Ints, Ints]:
        """Where the arcs of each node begin, how many there are, and the arcs."""
        return arcs_of_nodes(self.tail, self.head, self.nodes)

    def in_order(self, draw: Floats) -> tuple[CellNetwork, Ints]:
        """The same network with arcs and nodes ordered by a draw for each arc, and the order of the arcs.

        Where the draws depend on nothing but the cells, so does everything that is done in this order.
        """
        order = np.argsort(draw, kind="stable")
        whole = (draw * 2.0**53).astype(np.uint64)
        weight = np.zeros(self.nodes, np.uint64)
        np.add.at(weight, self.tail, whole)
        np.add.at(weight, self.head, whole)
        rank = np.empty(self.nodes, np.int64)
        rank[np.argsort(weight, kind="stable")] = np.arange(self.nodes)
        tail, head = rank[self.tail[order]], rank[self.head[order]]
        if len(order) and tail[0] > head[0]:
            tail, head = head, tail
        return CellNetwork(np.ascontiguousarray(tail), np.ascontiguousarray(head), self.nodes), order


def network(system: System) -> CellNetwork | None:
    """The network of a system, or ``None`` where its relations are none."""
    if system.residual.any() or len(system.figure_of):
        return None
    several = {len(table.variables) for table in system.tables}
    orders = list(permutations(range(max(several)))) if len(system.tables) == 1 and max(several) <= 2 else [None]
    for order in orders:
        found = _as_network(system, _rows(system, order))
        if found is not None:
            return found
    return None


def _rows(system: System, order: tuple[int, ...] | None) -> Ints:
    """Relations that imply all others: along later variables only where the earlier ones stand at base codes."""
    if order is None or system.defining.all():
        return np.flatnonzero(system.defining)
    table = system.tables.tables[0]
    variable, sample = system.origin[:, 1], system.origin[:, 3]
    keep = np.ones(len(variable), np.bool_)
    for position, k in enumerate(order):
        for before in order[:position]:
            base = table.spec.hierarchies[before].base[table.codes[sample, before]]
            keep &= (variable != k) | base
    return np.flatnonzero(keep)


def _as_network(system: System, rows: Ints) -> CellNetwork | None:
    """Every cell in at most two relations, with signs that can be made opposite by turning relations round."""
    matrix = system.matrix
    tail, head = np.empty(len(system), np.int64), np.empty(len(system), np.int64)
    start, cell = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    if not kernels.as_arcs(start, cell, matrix.data.astype(np.int64), rows, tail, head):
        return None
    return CellNetwork(tail, head, len(rows) + 1)


def round_cheaply(net: CellNetwork, rest: Ints, step: int, low: Ints, high: Ints, weight: Ints) -> Ints | None:
    """How far above its lower multiple each cell ends (0 or ``step``) so that the weight of those that go up is least.

    Weights are whole numbers of at most ``step``. Cells go where ``low`` and ``high`` (0 or ``step``) leave them no
    choice; ``None`` where that leaves no rounding.
    """
    if float(step) * (len(rest) + net.nodes) >= LARGEST:  # sums of weights would not be exact
        return None
    begin, _, arcs = net.adjacency()
    left = np.where((weight < 0) | ((weight == 0) & (2 * rest >= step)), high, low)
    done = least_weight(step, net.tail, net.head, begin, arcs, weight, high > low, rest, left)
    return left if done else None


def round_by_cycles(net: CellNetwork, rest: Ints, step: int, weight: Floats | None, seed: int) -> Ints:
    """How far above its lower multiple each cell ends (0 or ``step``): drawn without bias, or cheaply by weights."""
    begin, alive, arcs = net.adjacency()
    left = rest.copy()
    drawn = weight is None
    cost = np.zeros(len(rest)) if weight is None else weight
    state = np.array([seed | 1], np.uint64)
    kernels.cancel_cycles(step, state, net.tail, net.head, begin, alive, arcs, left, cost, drawn)
    return left


def round_by_coins(net: CellNetwork, rest: Ints, step: int, order: Ints, seed: int) -> tuple[Ints, Ints]:
    """The same by fair coins, cell by cell in an order; and the coins (0 where none was tossed)."""
    begin, _, arcs = net.adjacency()
    left, coin = rest.copy(), np.zeros(len(rest), np.int8)
    state = np.array([seed | 1], np.uint64)
    kernels.fair_coins(step, state, order, net.tail, net.head, begin, arcs, left, coin)
    return left, coin.astype(np.int64)
