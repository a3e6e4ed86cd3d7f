"""How much a table tells of the margins that it refines, and how much may be told.

Noise of cell keys belongs to a set of records. Cells of a finer table have noise of their own, so that their sum is
one more reading of the coarser cell: of ``k`` cells with variance ``V`` each, one with variance ``k V``. Whoever has
many such readings takes their mean. The *precision* of a cell is the sum of ``1 / k`` over all readings of it, 1 being
that of the published cell itself; its nearest whole number is then the true count with chance
``2 Phi(sqrt(precision / V) / 2) - 1``. That chance rises ever more slowly with the precision, so that the mean
precision of many cells bounds the share of them that is known.

A table with its margins holds many readings: each margin of it is read by every finer margin of it. A reading counts
once, in whichever tables it occurs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod, sqrt

import numpy as np

from discreet.engine.cells import strides_of
from discreet.errors import ParameterError
from discreet.methods.base import TablePublisher
from discreet.model.arrays import Codes, Ints
from discreet.model.noise_table import NoiseTable
from discreet.model.table import Table
from discreet.server.account import Margin, MarginReading
from discreet.server.catalogue import EVERYBODY
from discreet.server.levels import VariableLevel
from discreet.server.refinement_kernels import mean_precision

DENSE = 2**24
"""Up to so many possible cells of a margin, parts are counted in an array of all of them."""

Depths = tuple[int, ...]


def exact_chance(precision: float, variance: float) -> float:
    """Share of counts that the nearest whole number of the mean of all readings gives exactly.

    Examples
    --------
    >>> [round(exact_chance(n / 5, 3.0), 2) for n in (10, 20, 50, 200)]
    [0.32, 0.44, 0.64, 0.93]
    """
    from scipy.special import ndtr

    return float(2 * ndtr(0.5 * sqrt(max(precision, 0.0) / variance)) - 1)


def largest_precision(share: float, variance: float) -> float:
    """The precision at which a share of counts is known exactly; the inverse of :func:`exact_chance`."""
    from scipy.special import ndtri

    if share >= 1:
        return float("inf")
    return float(variance * (2 * ndtri((1 + share) / 2)) ** 2)


def noise_variance(method: TablePublisher) -> float:
    """Variance of the noise of one published count.

    Raises
    ------
    ParameterError
        When nobody has worked it out for the method: how often its answers may be averaged is not known then.
    """
    if method.kind == "cell_key":
        noise: NoiseTable = method.table  # type: ignore[attr-defined]
        return min(row.variance for row in map(noise.at, range(len(noise))) if row.value >= 1)
    if method.kind == "drop_add":
        return 2 / 3  # -1, 0 and 1 alike, in cells of which one record at most is dropped or added
    raise ParameterError(
        f"How fast the noise of {method.kind!r} averages out over many tables is not known.",
        hint='Use cell_key, or mode = "hypercube": answers are sums of the cells of one table then.',
    )


def margin_name(value: str | None, names: Sequence[str], depths: Depths) -> Margin:
    """The name of a margin; the same whatever order its variables stand in."""
    parts = ",".join(f"{name}:{depth}" for name, depth in sorted(zip(names, depths, strict=True)) if depth)
    return f"{value or ''}|{parts}"


def readings_of(
    table: Table, levels: Sequence[VariableLevel], value: str | None, universe: str
) -> Iterator[MarginReading]:
    """All readings that a table with its margins holds: of each margin by each finer one.

    A cell all of whose records lie in one finer cell learns nothing: both have the same noise. Cells of a universe
    and of those outside of it add up to cells of everybody; such a reading has two parts at least, whoever is
    outside.

    Parameters
    ----------
    table
        The true table with all its margins.
    levels
        Levels of its variables, in their order.
    value
        What is summed; ``None`` for counts.
    universe
        Whom the table is about.
    """
    names = table.variables
    nodes = list(product(*(range(level.number + 1) for level in levels)))
    reader = _Reader(table, [_ancestors(level) for level in levels])
    rows = _rows_by_node(table, levels, nodes)
    named = {node: margin_name(value, names, node) for node in nodes}
    for fine in nodes:
        margin = named[fine]
        if universe != EVERYBODY:
            yield MarginReading(margin, f"{margin}@{universe}|", 0.5)
        by = f"{margin}@{universe}"
        for coarse in product(*(range(depth + 1) for depth in fine)):
            if coarse != fine:
                yield MarginReading(named[coarse], by, reader.precision(rows[fine], coarse))


class _Reader:
    """Tells how precisely some cells of a table read the margin that they belong to."""

    def __init__(self, table: Table, above: Sequence[Sequence[Ints]]) -> None:
        self.codes = np.ascontiguousarray(table.codes, np.int32)
        self.shape = table.shape
        self.above = above
        self._adds: dict[Depths, tuple[Ints, Ints, int]] = {}
        self._parts: Codes = np.zeros(0, np.int32)

    def precision(self, rows: Ints, coarse: Depths) -> float:
        """Mean precision of the cells of a margin that are read as sums of these."""
        if coarse not in self._adds:
            self._adds[coarse] = self._added(coarse)
        used, adds, space = self._adds[coarse]
        if space > DENSE:
            numbers = np.zeros(len(rows), np.int64)
            for j, k in enumerate(used.tolist()):
                numbers += adds[j][self.codes[rows, k]]
            numbers = np.unique(numbers, return_inverse=True)[1]
            number = np.arange(int(numbers.max(initial=0)) + 1, dtype=np.int64)
            one = np.arange(len(rows), dtype=np.int64)
            return mean_precision(
                numbers.astype(np.int32)[:, None],
                one,
                np.zeros(1, np.int64),
                number[None, :],
                np.zeros(len(number), np.int32),
            )
        if len(self._parts) < space:
            self._parts = np.zeros(space, np.int32)
        return mean_precision(self.codes, rows, used, adds, self._parts)

    def _added(self, coarse: Depths) -> tuple[Ints, Ints, int]:
        """Variables of a margin, what each of their codes adds to the number of a cell, and how many numbers there are.

        Codes are those above, at the depth of the margin.
        """
        used = [k for k, depth in enumerate(coarse) if depth]
        sizes = [self.shape[k] for k in used]
        adds = np.zeros((len(used), max(sizes, default=1)), np.int64)
        for j, (k, stride) in enumerate(zip(used, strides_of(sizes), strict=True)):
            adds[j, : sizes[j]] = self.above[k][coarse[k]] * stride
        return np.array(used, np.int64), adds, prod(sizes)


def _ancestors(level: VariableLevel) -> list[Ints]:
    """For each depth, the code at that depth that every code stands under; base codes of short branches stay."""
    hierarchy = level.hierarchy
    own = np.arange(len(hierarchy), dtype=np.int64)
    found = [own]
    for _ in range(level.number):
        below = found[0]
        deep = hierarchy.depth[below]
        up = np.where(deep > 0, hierarchy.parents[below], below)
        target = level.number - len(found)
        found.insert(0, np.where(deep > target, up, below).astype(np.int64))
    found[0] = np.full(len(hierarchy), hierarchy.index[str(hierarchy.total)], np.int64)
    return found


def _rows_by_node(table: Table, levels: Sequence[VariableLevel], nodes: Sequence[Depths]) -> dict[Depths, Ints]:
    """Cells of each margin: rows of the table by the depths of their codes."""
    signature = np.zeros(len(table), np.int64)
    for k, level in enumerate(levels):
        signature = signature * (level.number + 1) + level.depth[table.codes[:, k]]
    order = np.argsort(signature, kind="stable")
    ends = np.searchsorted(signature[order], np.arange(len(nodes) + 1))
    return {node: order[ends[i] : ends[i + 1]] for i, node in enumerate(nodes)}


def room_of(margin: Margin, levels: Mapping[str, Sequence[VariableLevel]], most: float) -> float:
    """How much precision readings may add to the cells of a margin.

    The published cell itself has 1. For each of its variables, the total less all other codes is a further reading.
    """
    used = 1.0
    text = margin.partition("|")[2]
    for part in text.split(",") if text else ():
        name, _, depth = part.rpartition(":")
        used += 1 / _siblings(levels[name][int(depth) - 1])
    return max(0.0, most - used)


def _siblings(level: VariableLevel) -> float:
    """How many codes stand beside each other at a level, on average."""
    codes = np.flatnonzero(level.hierarchy.base)
    return max(1.0, len(codes) / len(np.unique(level.hierarchy.parents[codes])))
