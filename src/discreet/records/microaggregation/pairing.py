"""The best groups of two and three: a linear program over all groups, with constraints for odd sets of records.

All pairs and triples are variables, made when their prices ask for them. A triple is never cheaper than its three pairs
taken half each, so that only odd sets keep the program from halves: of ``2m + 1`` records at most ``m`` groups can hold
two or more. With those odd sets that were violated the answer is usually whole, and so the optimum, and the prices
of records and odd sets prove it. Otherwise they prove how far from the optimum the groups are at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.progress import checkpoint
from discreet.records.microaggregation.covering import WHOLE, CheapestTies, GroupPrices, OddSet, cheapest_ties

Members = tuple[int, ...]
SMALLEST = 1e-9
"""Groups that would gain less than this share of the loss of a record are not asked for."""
MOST_ROUNDS = 400
BRANCHES = {"normal": 200, "best": 20_000}
"""Nodes of the search for whole groups, where the linear program ends with halves."""
NEAR = 3
"""Triples of so many nearest records are there from the start."""


class PairedGroups(NamedTuple):
    """The group of every record, the prices that prove a bound, the cost of the cheapest ties, and what it took."""

    group: Ints
    prices: GroupPrices
    weight: float
    effort: dict[str, int]


def paired_groups(points: Floats, effort: str) -> PairedGroups:
    """Groups of two and three: those of the cheapest ties where it must be quick, otherwise the best ones."""
    from discreet.records.microaggregation.grouping import loss_of, renumbered
    from discreet.records.microaggregation.search_kernels import improve_groups, neighbours

    checkpoint("groups", 0, 3)
    ties = cheapest_ties(points)
    group = tied_groups(points, ties)
    prices, work = ties.prices, {"odd_sets": len(ties.prices.odd)}
    checkpoint("groups", 1, 3)
    if effort != "quick" and len(points) > 2:
        near = neighbours(points, min(40, len(points) - 1), 1000)
        group = renumbered(group)
        work["passes"] = improve_groups(points, 2, group, near, 200) if len(points) > 3 else 0
        checkpoint("groups", 2, 3)
        found = _BestPairs(points, group, near).solved(BRANCHES[effort])
        work |= found.effort
        work["passes"] += improve_groups(points, 2, found.group, near, 200) if len(points) > 3 else 0
        if loss_of(points, found.group) < loss_of(points, group):
            group = found.group
        if found.prices.bound > prices.bound:
            prices = found.prices
    return PairedGroups(renumbered(group), mended(points, prices), ties.weight, work)


def tied_groups(points: Floats, ties: CheapestTies) -> Ints:
    """Records that are tied together; stars of more than three fall apart, which only lowers the loss.

    Of a star, the two or three leaves nearest to each other go, while more than three records are left.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    records, pairs = len(points), _without_spare(len(points), ties.pairs)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (records, records))
    many, found = connected_components(graph, directed=False)
    group: Ints = np.asarray(found, np.int64)
    degree = np.bincount(pairs.ravel(), minlength=records)
    for star in np.flatnonzero(np.bincount(group) > 3).tolist():
        rest = np.flatnonzero(group == star)
        hub = rest[np.argmax(degree[rest])]
        while len(rest) > 3:
            leaves = rest[rest != hub]
            away = ((points[leaves][:, None] - points[leaves]) ** 2).sum(axis=2)
            away[np.diag_indices_from(away)] = np.inf
            one, other = np.unravel_index(np.argmin(away), away.shape)
            group[[leaves[one], leaves[other]]] = many
            many += 1
            rest = rest[group[rest] == star]
    return group


def _without_spare(records: int, pairs: Ints) -> Ints:
    """Ties less those between records that have others: equal records may be tied more often than they need."""
    degree = np.bincount(pairs.ravel(), minlength=records)
    kept = np.ones(len(pairs), np.bool_)
    for place, (one, other) in enumerate(pairs.tolist()):
        if degree[one] > 1 and degree[other] > 1:
            kept[place] = False
            degree[[one, other]] -= 1
    return pairs[kept]


class _BestPairs:
    """The linear program: groups as columns, records and odd sets as rows."""

    def __init__(self, points: Floats, group: Ints, near: Ints) -> None:
        import highspy

        from discreet.solve.program import started

        self.points, self.start = points, group
        self.scale = float((points**2).sum()) / len(points) or 1.0
        self.columns: list[Members] = []
        self.known: set[Members] = set()
        self.holding: list[list[int]] = [[] for _ in range(len(points))]
        self.sets: list[frozenset[int]] = []
        self.member_of: dict[int, list[int]] = {}
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = len(points), 0
        model.row_lower_ = model.row_upper_ = np.ones(len(points))
        model.a_matrix_.start_ = np.zeros(1, np.int64)
        self.highs = started(model, presolve="off")
        self._add_groups(_members(group))
        self._add_groups(_neighbouring(near))

    def solved(self, branches: int) -> PairedGroups:
        """Solve it, asking for odd sets and groups until neither is missing."""
        rounds = 0
        while True:
            rounds += 1
            checkpoint("groups", 2, 3)
            self.highs.run()
            answer = self.highs.getSolution()
            share, dual = np.array(answer.col_value), np.array(answer.row_dual)
            prices = self._prices(dual)
            if rounds == MOST_ROUNDS:
                break
            if not self._add_sets(share) and not self._add_groups(self._wanted(prices)):
                break
        whole = bool(np.all(np.abs(share - np.rint(share)) < WHOLE))
        if not whole:
            share = self._branched(share, branches)
        group = self._group_of(share)
        effort = {"programs": rounds, "groups_tried": len(self.columns), "odd_sets": len(self.sets)}
        return PairedGroups(group, prices, 0.0, effort)

    def _prices(self, dual: Floats) -> GroupPrices:
        paid = np.maximum(-dual[len(self.points) :], 0.0).tolist()
        odd = tuple(OddSet(members, price) for members, price in zip(self.sets, paid, strict=True) if price > 0)
        return GroupPrices(dual[: len(self.points)].copy(), odd)

    def _add_groups(self, groups: Iterable[Members]) -> int:
        """Add groups as columns; give back how many are new."""
        new = [one for one in dict.fromkeys(groups) if one not in self.known]
        if not new:
            return 0
        start, index, value = list[int](), list[int](), list[float]()
        for place, group in enumerate(new, len(self.columns)):
            start.append(len(index))
            index += list(group)
            value += [1.0] * len(group)
            for odd in self._sets_with(group):
                index.append(len(self.points) + odd)
                value.append(1.0)
            for record in group:
                self.holding[record].append(place)
        costs, none = losses_of(self.points, new), np.zeros(len(new))
        rows = np.array(index, np.int32), np.array(value)
        self.highs.addCols(len(new), costs, none, none + np.inf, len(index), np.array(start, np.int32), *rows)
        self.columns += new
        self.known.update(new)
        return len(new)

    def _sets_with(self, group: Members) -> set[int]:
        """Odd sets that hold two of a group, or three."""
        held = [set(self.member_of.get(record, ())) for record in group]
        return {odd for one, other in combinations(held, 2) for odd in one & other}

    def _add_sets(self, share: Floats) -> int:
        """Add odd sets that the answer violates: triangles first, then all that hang together."""
        broken = np.flatnonzero((share > WHOLE) & (share < 1 - WHOLE)).tolist()
        found = _violated_triangles([self.columns[place] for place in broken], share[broken].tolist())
        found += self._violated_components(broken, share)
        new = [members for members in dict.fromkeys(found) if members not in self.sets]
        for members in new:
            self._add_set(members)
        return len(new)

    def _violated_components(self, broken: Sequence[int], share: Floats) -> list[frozenset[int]]:
        from discreet.records.microaggregation.covering import odd_components

        linked = [pair for place in broken for pair in combinations(self.columns[place], 2)]
        pairs = np.array(linked, np.int64).reshape(-1, 2)
        found = []
        for members in odd_components(len(self.points), pairs, np.full(len(pairs), 0.5)):
            inside = {place for record in members for place in self.holding[record]}
            held = sum(float(share[p]) for p in inside if len(members.intersection(self.columns[p])) > 1)
            if held > len(members) // 2 + 100 * WHOLE:
                found.append(members)
        return found

    def _add_set(self, members: frozenset[int]) -> None:
        import highspy

        inside = sorted({place for record in members for place in self.holding[record]})
        held = [place for place in inside if len(members.intersection(self.columns[place])) > 1]
        where, ones = np.array(held, np.int32), np.ones(len(held))
        self.highs.addRow(-highspy.kHighsInf, float(len(members) // 2), len(held), where, ones)
        for record in members:
            self.member_of.setdefault(record, []).append(len(self.sets))
        self.sets.append(members)

    def _wanted(self, prices: GroupPrices) -> list[Members]:
        """Groups that cost less than their prices."""
        return [group for group, _ in underpriced(self.points, prices, SMALLEST * self.scale)]

    def _branched(self, share: Floats, branches: int) -> Floats:
        """Groups that are whole stay; of the records in broken ones, the best whole groups that branching finds."""
        import highspy

        broken = {r for place in np.flatnonzero((share > WHOLE) & (share < 1 - WHOLE)) for r in self.columns[place]}
        rows = np.array(sorted(broken))
        inside = np.ascontiguousarray(self.points[rows])
        begun = [tuple(rows[list(one)].tolist()) for one in _members(tied_groups(inside, cheapest_ties(inside)))]
        self._add_groups(begun)
        many, wanted = len(self.columns), set(begun)
        stays = np.append(share > 1 - WHOLE, np.zeros(many - len(share), np.bool_))
        first = np.array([float(stays[place] or one in wanted) for place, one in enumerate(self.columns)])
        open_ = stays | np.array([broken.issuperset(one) for one in self.columns])
        where, least = np.arange(many, dtype=np.int32), np.zeros(many)
        self.highs.changeColsBounds(many, where, least, open_.astype(np.float64))
        self.highs.changeColsIntegrality(many, where, np.full(many, highspy.HighsVarType.kInteger))
        for option, setting in (("mip_rel_gap", 0.0), ("mip_max_nodes", branches), ("presolve", "choose")):
            self.highs.setOptionValue(option, setting)
        start = highspy.HighsSolution()
        start.col_value = first.tolist()
        self.highs.setSolution(start)
        self.highs.run()
        return np.array(self.highs.getSolution().col_value)

    def _group_of(self, share: Floats) -> Ints:
        group = np.full(len(self.points), -1, np.int64)
        for number, place in enumerate(np.flatnonzero(share > 0.5).tolist()):
            group[list(self.columns[place])] = number
        return group if group.min() >= 0 else self.start


def _members(group: Ints) -> list[Members]:
    order = np.argsort(group, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    return [tuple(sorted(piece.tolist())) for piece in pieces]


def _neighbouring(near: Ints) -> Iterable[Members]:
    """Pairs of near records, and triples of the nearest."""
    for record, others in enumerate(near[:, : 2 * NEAR].tolist()):
        others = [other for other in others if other >= 0]
        for other in others:
            yield tuple(sorted((record, other)))
        for one, other in combinations(others[:NEAR], 2):
            yield tuple(sorted((record, one, other)))


def _violated_triangles(groups: Sequence[Members], share: Sequence[float]) -> list[frozenset[int]]:
    """Three records of which two are together more than once, all shares added up; the worst first."""
    together: dict[Members, float] = {}
    linked: dict[int, set[int]] = {}
    three = {group: held for group, held in zip(groups, share, strict=True) if len(group) == 3}
    for group, held in zip(groups, share, strict=True):
        for pair in combinations(group, 2):
            together[pair] = together.get(pair, 0.0) + held
            linked.setdefault(pair[0], set()).add(pair[1])
    found = []
    for (one, other), held in together.items():
        for third in linked.get(one, set()) & linked.get(other, set()):
            triangle = (one, other, third)
            total = held + together[one, third] + together[other, third] - 2 * three.get(triangle, 0.0)
            if total > 1 + 100 * WHOLE:
                found.append((-total, triangle))
    return [frozenset(triangle) for _, triangle in sorted(found)[:200]]


def losses_of(points: Floats, groups: Sequence[Members]) -> Floats:
    """The loss of every pair and triple."""
    loss = np.empty(len(groups))
    for size in (2, 3):
        places = [place for place, group in enumerate(groups) if len(group) == size]
        if places:
            members = np.array([groups[place] for place in places])
            inside = points[members]
            loss[places] = ((inside - inside.mean(axis=1, keepdims=True)) ** 2).sum(axis=(1, 2))
    return loss


def underpriced(points: Floats, prices: GroupPrices, least: float) -> list[tuple[Members, float]]:
    """Pairs and triples that lose less than their prices say, by more than ``least``; and by how much.

    Where all three pairs of a triple lose at least their prices, the triple does so as well: its loss is a third of the
    squared distances, and the pairs' a half. So only pairs that odd sets pay for lead to triples.
    """
    from discreet.records.microaggregation.pairing_kernels import pairs_below, triples_below

    pairs = [(one, other) for one, other in pairs_below(points, 2 * prices.record).tolist()]
    sets: dict[int, list[int]] = {}
    for number, odd in enumerate(prices.odd):
        for record in odd.members:
            sets.setdefault(record, []).append(number)

    def paid(group: Members) -> float:
        held = [set(sets.get(record, ())) for record in group]
        return sum(prices.odd[odd].price for odd in {o for one, other in combinations(held, 2) for o in one & other})

    paid_by = np.array([paid(pair) for pair in pairs], np.float64)
    found: list[Members] = list(pairs)
    if len(prices.odd):
        three = triples_below(points, np.array(pairs, np.int64).reshape(-1, 2), paid_by, prices.record, least)
        found += sorted({tuple(sorted(group)) for group in three.tolist()})
    if not found:
        return []
    asked = np.array([prices.record[list(group)].sum() - paid(group) for group in found]) - losses_of(points, found)
    return [(group, float(gain)) for group, gain in zip(found, asked.tolist(), strict=True) if gain > least]


def mended(points: Floats, prices: GroupPrices) -> GroupPrices:
    """Prices that no group exceeds: whoever asks too much is lowered, and all by what rounding may leave."""
    record = prices.record.copy()
    for group, gain in underpriced(points, prices, 0.0):
        asked = record[list(group)].sum() - prices.record[list(group)].sum() + gain
        if asked > 0:
            record[group[0]] -= asked
    return GroupPrices(record, prices.odd)
