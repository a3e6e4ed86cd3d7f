"""The network engine: two-way tables, one side with a hierarchy, as flows in a graph.

Every cell is an edge and every relation a node: what flows in flows out. An unsafe cell can rise by its level if the
level can flow back to it through other cells, and the cheapest way back is withheld. Ways through cells that are
withheld already are free. Each unsafe cell keeps its level against outsiders, over all relations of the table; single
contributors, who know their own cells, are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.errors import NeedsError, counted
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Floats, Ints, pointers
from discreet.model.hierarchy import Hierarchy
from discreet.parameters import Declared
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.tables.engines.proposal import Proposal, candidates, numbers, starting_pattern

OTHERS = "Use algorithm='certified', 'hypercube', 'modular' or 'gauss', which take any shape."
TOGETHER = 2_000
"""Progress is reported after so many cells."""


@dataclass(frozen=True)
class NetworkSettings(Declared):
    """In which order unsafe cells get their ways: by their levels, the ``"largest"`` or the ``"smallest"`` first."""

    order: Literal["largest", "smallest"] = "largest"


@dataclass(frozen=True, eq=False)
class _Graph:
    tail: Codes
    head: Codes
    nodes: int


def propose(system: System, cost: Floats, settings: NetworkSettings | None = None) -> Proposal:
    """A pattern in which every unsafe cell of a two-way table has a way round for its level.

    Raises
    ------
    NeedsError
        When the table has not two variables, or both have hierarchies, or there are several tables.
    """
    from discreet.tables.engines.network_kernels import protect

    settings = settings or NetworkSettings()
    graph = _graph(system)
    withheld = starting_pattern(system)
    allowed = withheld | candidates(system)
    price = np.maximum(cost, max(float(cost.mean()) if len(cost) else 0.0, 1e-9) * 1e-9)
    start, edge, other = _by_cost(graph, price, allowed)
    hidden_head, hidden_next = _hidden(graph, numbers(withheld))
    up = np.where(system.upper_bound >= NO_UPPER, np.inf, np.maximum(system.upper_bound - system.value, 0))
    down = np.where(system.lower_bound <= NO_LOWER, np.inf, np.maximum(system.value - system.lower_bound, 0))
    missed = np.zeros(len(system), np.int8)
    target, direction, level = _demands(system, settings.order)
    # The target itself must have room for its level.
    room = np.where(direction > 0, up[target], down[target])
    missed[target[room < level]] = 1
    possible = room >= level
    target, direction, level = target[possible], direction[possible], level[possible]
    searches = 0
    for first in range(0, len(target), TOGETHER):
        checkpoint("network", first, len(target))
        chunk = slice(first, first + TOGETHER)
        searches += protect(
            target[chunk],
            direction[chunk],
            level[chunk],
            graph.tail,
            graph.head,
            start,
            edge,
            other,
            price,
            up.astype(np.float64),
            down.astype(np.float64),
            withheld,
            hidden_head,
            hidden_next,
            missed,
            graph.nodes,
        )
    checkpoint("network", len(target), len(target))
    left = int(missed.sum())
    notes = (f"{counted(left, 'unsafe cell', 'have')} no way round for the level.",) if left else ()
    return Proposal(withheld, numbers(missed > 0), {"searches": int(searches), "nodes": graph.nodes}, notes)


def _demands(system: System, order: str) -> tuple[Ints, Ints, Floats]:
    """Cell, direction and level of everything that must be able to move, in the order of the levels."""
    missing = np.maximum(system.sliding_level - system.upper_level - system.lower_level, 0)
    unsafe = numbers(system.unsafe)
    rise, fall = (system.upper_level + missing)[unsafe], system.lower_level[unsafe]
    rise = np.where((rise == 0) & (fall == 0), 1, rise)  # without a level it must at least not be known exactly
    target = np.concatenate((unsafe[rise > 0], unsafe[fall > 0]))
    direction = np.repeat(np.array([1, -1], np.int64), [int((rise > 0).sum()), int((fall > 0).sum())])
    level = np.concatenate((rise[rise > 0], fall[fall > 0])).astype(np.float64)
    by_level = np.lexsort((-direction, target, level if order == "smallest" else -level))
    return target[by_level], direction[by_level], level[by_level]


def _graph(system: System) -> _Graph:
    """Relations as nodes, such that every cell leaves one and enters another."""
    hierarchical, leaf, total = _sides(system)
    table = system.tables.tables[0]
    variable = system.origin[:, 1]
    codes = table.codes[system.origin[:, 3]]
    flat = 1 - hierarchical
    along = variable == hierarchical
    chosen = np.flatnonzero(along | leaf[codes[:, hierarchical]])
    # Signs are turned such that each cell has one plus and one minus.
    sign = np.where(along, np.where(codes[:, flat] == total, -1, 1), -1)[chosen]
    rows = system.matrix[chosen].tocoo()
    value = rows.data * sign[rows.row]
    ground = len(chosen)
    tail, head = np.full(len(system), -1, np.int64), np.full(len(system), -1, np.int64)
    for end, mask in ((tail, value < 0), (head, value > 0)):
        count = np.bincount(rows.col[mask], minlength=len(system))
        if int(count.max(initial=0)) > 1:
            raise NeedsError("The relations of the table are not those of a network.", hint=OTHERS)
        end[rows.col[mask]] = rows.row[mask]
    tail[tail < 0], head[head < 0] = ground, ground
    return _Graph(tail.astype(np.int32), head.astype(np.int32), ground + 1)


def _sides(system: System) -> tuple[int, Bools, int]:
    """Which variable has the hierarchy, which of its codes are the finest, and the total of the other one."""
    if len(system.tables) != 1 or system.tables.equations:
        raise NeedsError(f"algorithm='network' takes one table, not {system.present} linked ones.", hint=OTHERS)
    if len(system.figure_of):
        raise NeedsError("algorithm='network' cannot take figures that are already published.", hint=OTHERS)
    table = system.tables.tables[0]
    if len(table.variables) != 2:
        raise NeedsError(
            f"algorithm='network' takes tables of two variables; table {table.name!r} has {len(table.variables)}.",
            hint=OTHERS,
        )
    if table.slack is not None:
        raise NeedsError(f"algorithm='network' takes tables that add up; {table.name!r} has slack.", hint=OTHERS)
    trees = list(table.spec.hierarchies)
    for variable, h in table.spec.by.items():
        parts = [code for g in h.groupings for code, _ in g.parts]
        parents = [g.parent for g in h.groupings]
        signed = any(sign < 0 for g in h.groupings for _, sign in g.parts)
        if signed or len(set(parts)) < len(parts) or len(set(parents)) < len(parents) or h.total is None:
            raise NeedsError(
                f"algorithm='network' takes hierarchies that are trees with a total; that of {variable!r} is none.",
                hint=OTHERS,
            )
    deep = [k for k, h in enumerate(trees) if sum(len(g.parts) > 1 for g in h.groupings) > 1]
    if len(deep) > 1:
        raise NeedsError(
            f"algorithm='network' takes one variable with a hierarchy; {table.variables[0]!r} and "
            f"{table.variables[1]!r} both have one.",
            hint=OTHERS,
        )
    hierarchical = deep[0] if deep else 0
    flat = trees[1 - hierarchical]
    top = {flat.position(code) for code in flat.codes if flat.total is not None and flat.same(code, flat.total)}
    return hierarchical, _finest(trees[hierarchical]), min(top)


def _finest(hierarchy: Hierarchy) -> Bools:
    """Codes that no sum of several parts explains, be it under another name."""
    parts = {g.parent: [code for code, _ in g.parts] for g in hierarchy.groupings}
    result = np.zeros(len(hierarchy), np.bool_)
    for i, code in enumerate(hierarchy.codes):
        while len(parts.get(code, [])) == 1:
            code = parts[code][0]
        result[i] = code not in parts
    return result


def _by_cost(graph: _Graph, price: Floats, allowed: Bools) -> tuple[Ints, Codes, Codes]:
    """Where the edges of every node begin, the edges in the order of their costs, and the node that each leads to."""
    edges = numbers(allowed)
    node = np.concatenate((graph.tail[edges], graph.head[edges]))
    other = np.concatenate((graph.head[edges], graph.tail[edges]))
    edge = np.concatenate((edges, edges))
    order = np.lexsort((edge, price[edge], node))
    start = pointers(np.bincount(node, minlength=graph.nodes).astype(np.int64))
    return start, edge[order].astype(np.int32), other[order].astype(np.int32)


def _hidden(graph: _Graph, cells: Ints) -> tuple[Codes, Codes]:
    """Linked lists of the withheld edges at every node: edge ``e`` stands there as 2e (tail) and 2e + 1 (head)."""
    first, following = np.full(graph.nodes, -1, np.int32), np.full(2 * len(graph.tail), -1, np.int32)
    for side, ends in enumerate((graph.tail, graph.head)):
        at = ends[cells]
        order = np.argsort(at, kind="stable")
        item = (2 * cells + side).astype(np.int32)[order]
        node = at[order]
        if not len(node):
            continue
        last = np.append(node[1:] != node[:-1], True)
        link = np.append(item[1:], -1).astype(np.int32)
        following[item] = np.where(last, first[node], link)
        begin = np.append(True, last[:-1])
        first[node[begin]] = item[begin]
    return first, following
