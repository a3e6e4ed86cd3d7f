"""The cheapest way to tie every record to another one, and what any groups of two and three must lose at least.

Every record is tied to at least one other at the price of their squared distance; the cheapest ties make groups that
lose at most twice what the best groups of two and three lose (Domingo-Ferrer and Sebé 2006): a star loses no more than
its ties cost, and the cheapest star of a group costs at most twice its loss.

It is a linear program with one constraint for every record, and one for odd sets of records as they turn out to be
needed: ``2m + 1`` records need at least ``m + 1`` ties. Its prices prove the bound: no groups lose less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints

WHOLE = 1e-6
"""Shares of ties that are nearer to 0 or 1 than this are whole."""


class OddSet(NamedTuple):
    """An odd number of records, of which not all can be in pairs with each other, and its price."""

    members: frozenset[int]
    price: float


class GroupPrices(NamedTuple):
    """What proves that no groups of two and three lose less.

    No two or three records lose less together than their prices add up to, less the prices of the odd sets of which two
    of them or more are members. So all groups together lose at least the prices of all records, less those of all odd
    sets, each as often as it has room for pairs.
    """

    record: Floats
    odd: tuple[OddSet, ...]

    @property
    def bound(self) -> float:
        """What any groups of two and three lose at least."""
        return float(self.record.sum()) - sum(one.price * (len(one.members) // 2) for one in self.odd)


class CheapestTies(NamedTuple):
    """Ties between records, what they cost together, and the prices that prove what any groups lose at least."""

    pairs: Ints
    weight: float
    prices: GroupPrices


def cheapest_ties(points: Floats) -> CheapestTies:
    """The cheapest ties that leave nobody alone."""
    from discreet.records.microaggregation.pairing_kernels import nearest_records, pairs_below

    away, who = nearest_records(points)
    # A tie that costs no less than the nearest ties of both its ends is never needed; these themselves may be.
    nearest = np.stack((np.arange(len(points)), who), axis=1)
    nearest.sort(axis=1)
    pairs = np.unique(np.concatenate((pairs_below(points, away), nearest)), axis=0)
    cost = ((points[pairs[:, 0]] - points[pairs[:, 1]]) ** 2).sum(axis=1)
    highs = _covering_program(len(points), pairs, cost)
    sets: list[frozenset[int]] = []
    while True:
        highs.run()
        answer = highs.getSolution()
        share, dual = np.array(answer.col_value), np.array(answer.row_dual)
        odd = odd_components(len(points), pairs, share)
        new = [members for members in odd if _add_odd_set(highs, pairs, share, members)]
        if not new:
            break
        sets += new
    if np.any(np.abs(share - np.rint(share)) > WHOLE):
        share = _whole_ties(highs, len(cost))
    chosen = share > 0.5
    return CheapestTies(pairs[chosen], float(cost[chosen].sum()), _halved(dual, len(points), sets))


def _covering_program(records: int, pairs: Ints, cost: Floats) -> Any:
    import highspy

    from discreet.solve.program import started

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = records, len(cost)
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = np.zeros(len(cost)), np.full(len(cost), highspy.kHighsInf)
    model.row_lower_, model.row_upper_ = np.ones(records), np.full(records, highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = 2 * np.arange(len(cost) + 1)
    model.a_matrix_.index_, model.a_matrix_.value_ = pairs.ravel(), np.ones(2 * len(cost))
    return started(model)


def odd_components(records: int, pairs: Ints, share: Floats) -> list[frozenset[int]]:
    """Odd sets of records that hang together by ties which are neither made nor left out."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    broken = pairs[(share > WHOLE) & (share < 1 - WHOLE)]
    graph = coo_array((np.ones(len(broken)), (broken[:, 0], broken[:, 1])), (records, records))
    _, part = connected_components(graph, directed=False)
    inside = np.unique(broken)
    order = inside[np.argsort(part[inside], kind="stable")]
    pieces = np.split(order, np.flatnonzero(np.diff(part[order])) + 1) if len(order) else []
    return [frozenset(piece.tolist()) for piece in pieces if len(piece) % 2]


def _add_odd_set(highs: Any, pairs: Ints, share: Floats, members: frozenset[int]) -> bool:
    """Let an odd set have as many ties as it needs, unless it has."""
    import highspy

    touched = np.flatnonzero(np.isin(pairs, list(members)).any(axis=1))
    needed = (len(members) + 1) / 2
    if share[touched].sum() >= needed - WHOLE:
        return False
    highs.addRow(needed, highspy.kHighsInf, len(touched), touched.astype(np.int32), np.ones(len(touched)))
    return True


def _whole_ties(highs: Any, many: int) -> Floats:
    """The cheapest whole ties, by branching: odd sets that were not found are not needed for it."""
    import highspy

    kinds = np.full(many, highspy.HighsVarType.kInteger)
    highs.changeColsIntegrality(many, np.arange(many, dtype=np.int32), kinds)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    return np.array(highs.getSolution().col_value)


def _halved(dual: Floats, records: int, sets: Sequence[frozenset[int]]) -> GroupPrices:
    """Prices of groups from those of ties: half of them, and what odd sets pay goes to their members first."""
    dual = np.maximum(dual, 0.0) / 2
    price = dual[:records].copy()
    for members, paid in zip(sets, dual[records:], strict=True):
        price[list(members)] += paid
    odd = zip(sets, dual[records:].tolist(), strict=True)
    return GroupPrices(price, tuple(OddSet(members, paid) for members, paid in odd if paid > 0))
