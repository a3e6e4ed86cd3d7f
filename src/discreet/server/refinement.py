"""How much a table tells of the margins that it refines, and how much may be told.

Noise of cell keys belongs to a set of records. The cells of a finer table have noise of their own, so that their sum is
one more reading of the coarser cell: of ``k`` cells with variance ``V`` each, one with variance ``k V``. Whoever has
many such readings takes their mean. The *precision* of a cell is the sum of ``1 / k`` over all readings of it, 1 being
that of the published cell itself; its nearest whole number is then the true count with chance
``2 Phi(sqrt(precision / V) / 2) - 1``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from discreet.engine.cells import LeafCells, strides_of
from discreet.engine.rollup import rolled_up_by_variable
from discreet.errors import ParameterError
from discreet.methods.base import TablePublisher
from discreet.model.noise_table import NoiseTable
from discreet.model.table import Table
from discreet.server.levels import Level

Margin = str
"""A margin by its variables and levels: ``age:2,sex:1``; the empty text is the total."""


class Charge(NamedTuple):
    """What a table adds to the precision of the cells of one margin, on average over those that are not empty."""

    margin: Margin
    precision: float


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
    if method.kind == "round":
        base = int(method.base)  # type: ignore[attr-defined]
        return (base * base - 1) / 12  # of the nearest multiple; drawn ones vary more
    raise ParameterError(
        f"How fast the noise of {method.kind!r} averages out over many tables is not known.",
        hint='Use cell_key, or mode = "hypercube": answers are sums of the cells of one table then.',
    )


def margin_text(names: Sequence[str], depths: Sequence[int]) -> Margin:
    """The name of a margin."""
    return ",".join(f"{name}:{depth}" for name, depth in sorted(zip(names, depths, strict=True)) if depth)


def charges_of(table: Table, levels: Sequence[Level]) -> list[Charge]:
    """What a table adds to the precision of each margin that it refines.

    A cell all of whose records lie in one finer cell learns nothing: both have the same noise.

    Parameters
    ----------
    table
        The true table with all its margins.
    levels
        Levels of its variables, in their order.
    """
    shape = table.shape
    strides = np.array(strides_of(shape), np.int64)
    keys = table.codes.astype(np.int64) @ strides
    finest = np.ones(len(table), np.bool_)
    for k, level in enumerate(levels):
        finest &= level.hierarchy.base[table.codes[:, k]]
    leaves = np.sort(keys[finest])
    ones = np.ones(len(leaves), np.int64)
    none = np.zeros(0, np.int64)
    rolled = rolled_up_by_variable(LeafCells(leaves, ones, ones[None, :], none), table.spec.hierarchies, 0)
    parts = rolled.sums[0]
    signature = np.zeros(len(rolled.keys), np.int64)
    steps = np.array([level.number + 1 for level in levels], np.int64)
    for level, size, stride, step in zip(levels, shape, strides.tolist(), steps.tolist(), strict=True):
        signature = signature * step + level.depth[(rolled.keys // stride) % size]
    readings = np.where(parts > 1, 1 / np.maximum(parts, 1), 0.0)
    many = int(np.prod(steps))
    cells, sums = np.bincount(signature, minlength=many), np.bincount(signature, readings, many)
    found = []
    for at in np.flatnonzero(cells).tolist():
        if sums[at] > 0:
            depths = np.unravel_index(at, tuple(steps.tolist()))
            name = margin_text(table.variables, [int(d) for d in depths])
            found.append(Charge(name, float(sums[at] / cells[at])))
    return found


def room_of(margin: Margin, levels: Mapping[str, Sequence[Level]], most: float) -> float:
    """How much precision refinements may add to the cells of a margin.

    The published cell itself has 1. For each of its variables, the total less all other codes is a further reading.
    """
    used = 1.0
    for part in margin.split(",") if margin else ():
        name, _, depth = part.rpartition(":")
        level = levels[name][int(depth) - 1]
        used += 1 / _siblings(level)
    return max(0.0, most - used)


def _siblings(level: Level) -> float:
    """How many codes stand beside each other at a level, on average, itself and what is above counted."""
    codes = np.flatnonzero(level.hierarchy.base)
    return max(1.0, len(codes) / len(np.unique(level.hierarchy.parents[codes])))
