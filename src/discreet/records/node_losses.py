"""What a generalisation loses, by several measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.records.ladders import Ladder

Metric = Literal["loss", "precision", "entropy", "discernibility", "class_size"]
METRICS: tuple[Metric, ...] = get_args(Metric)
ADDITIVE = ("loss", "precision", "entropy")
"""Measures that are sums over records and keys."""


@dataclass(frozen=True, eq=False)
class NodeLosses:
    """One measure of loss, ready for every node of a lattice.

    ``cost[key, level, code]`` is what a record with that code loses by the key, up to what its original code says;
    ``total[key][level]`` is the sum over all records; ``whole`` is what a suppressed record has in place of its costs.
    ``gap[key, level, code]`` says which codes are empty or stand for "unknown".
    """

    metric: Metric
    cost: Floats
    total: tuple[Floats, ...]
    whole: float
    rows: int
    gap: np.ndarray
    any_gap: bool

    @property
    def additive(self) -> bool:
        """Whether it is a sum over records and keys, so that further levels can only add to it."""
        return self.metric in ADDITIVE

    @property
    def unit(self) -> float:
        """What sums are divided by."""
        return float(self.rows) if self.metric == "entropy" else float(self.rows * len(self.total))

    def at_least(self, levels: Sequence[int]) -> float:
        """What all nodes that begin with some levels lose at least."""
        return sum(float(one[level]) for one, level in zip(self.total, levels, strict=False)) / self.unit

    def of_node(self, levels: Sequence[int], price: float, kept: Ints, suppressed: int, joins: bool) -> float:
        """The loss of a node.

        ``price`` is what suppressed records lose more; ``kept`` are the sizes of the classes that are left; ``joins``
        says whether the suppressed records become one of them.
        """
        if self.additive:
            return self.at_least(levels) + price / self.unit
        if self.metric == "discernibility":
            return float((kept.astype(np.float64) ** 2).sum() + float(suppressed) * self.rows)
        return self.rows / max(len(kept) + (suppressed > 0 and not joins), 1)


def node_losses(metric: Metric, ladders: Sequence[Ladder]) -> NodeLosses:
    """A measure of loss for the levels of some keys."""
    rows = len(ladders[0].column.codes)
    levels = max(len(one) for one in ladders)
    size = max(one.column.size for one in ladders)
    cost = np.zeros((len(ladders), levels, size))
    gap = np.zeros((len(ladders), levels, size), np.bool_)
    total = []
    for place, one in enumerate(ladders):
        count = one.column.counts
        sums = np.zeros(len(one))
        for level, rung in enumerate(one.rungs):
            codes = len(rung.texts) + 1
            gap[place, level, :codes] = rung.unknown
            if metric == "entropy":
                share = np.bincount(rung.code, count, codes)
                cost[place, level, :codes] = np.log2(np.maximum(share, 1))
                sums[level] = count @ (cost[place, level][rung.code] - np.log2(np.maximum(count, 1)))
            else:
                height = level / max(len(one) - 1, 1)
                cost[place, level, :codes] = rung.loss if metric == "loss" else np.where(rung.unknown, 0.0, height)
                sums[level] = count @ cost[place, level][rung.code]
        total.append(sums)
    whole = len(ladders) * (float(np.log2(max(rows, 1))) if metric == "entropy" else 1.0)
    any_gap = any(bool(one.column.counts[one.column.unknown].any()) for one in ladders)
    return NodeLosses(metric, cost, tuple(total), whole, rows, gap, any_gap)
