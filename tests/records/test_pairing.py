"""The best groups of two and three: against all partitions, against other programs, and what their prices prove."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records.microaggregation import pairing
from discreet.records.microaggregation.covering import cheapest_ties, odd_components
from discreet.records.microaggregation.grouping import loss_of, renumbered
from discreet.records.microaggregation.pairing import (
    GroupPrices,
    OddSet,
    mended,
    paired_groups,
    tied_groups,
    underpriced,
)


def squared(points: np.ndarray) -> np.ndarray:
    return ((points[:, None] - points[None]) ** 2).sum(axis=2)


def least_loss(points: np.ndarray) -> float:
    """By taking the first record that is free, with one or two others."""
    away = squared(points)

    @cache
    def best(free: int) -> float:
        if not free:
            return 0.0
        members = [record for record in range(len(points)) if free >> record & 1]
        first, rest, found = members[0], members[1:], np.inf
        for one in rest:
            found = min(found, away[first, one] / 2 + best(free & ~(1 << first | 1 << one)))
        for one, other in combinations(rest, 2):
            loss = (away[first, one] + away[first, other] + away[one, other]) / 3
            found = min(found, loss + best(free & ~(1 << first | 1 << one | 1 << other)))
        return float(found)

    return best((1 << len(points)) - 1)


def least_weight(points: np.ndarray) -> float:
    """The cheapest edges that leave nobody alone, with at most two at each record, by an integer program."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    pairs = list(combinations(range(len(points)), 2))
    touch = np.zeros((len(points), len(pairs)))
    for place, (one, other) in enumerate(pairs):
        touch[[one, other], place] = 1
    cost = np.array([squared(points)[pair] for pair in pairs])
    limits = LinearConstraint(touch, 1, 2)
    return float(milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(len(pairs))).fun)


def some_points(seed: int, records: int, columns: int, whole: bool) -> np.ndarray:
    draw = np.random.default_rng(seed)
    points = draw.integers(0, 3, (records, columns)) if whole else draw.normal(size=(records, columns))
    return np.ascontiguousarray(points, np.float64)


ANY = (st.integers(0, 10_000), st.integers(2, 10), st.integers(1, 4), st.booleans())


@given(*ANY)
@settings(max_examples=40, deadline=None)
def test_the_best_groups_are_found_and_prices_say_so(seed, records, columns, whole):
    """Also with many equal records; at most twice as much is lost by the cheapest ties."""
    points = some_points(seed, records, columns, whole)
    best = least_loss(points)
    for effort, factor in (("normal", 1.0), ("best", 1.0), ("quick", 2.0)):
        found = paired_groups(points, effort)
        sizes, loss = np.bincount(found.group), loss_of(points, found.group)
        assert 2 <= sizes.min() <= sizes.max() <= 3
        assert found.prices.bound <= best + 1e-7
        assert loss <= factor * best + 1e-7
        assert loss <= max(2 * found.prices.bound, 0) + 1e-7


@pytest.mark.parametrize("records", [13, 14])
@pytest.mark.parametrize("columns", [1, 3])
def test_fourteen_records_lose_at_most_twice_the_least(records, columns):
    """Card 003-12, checks 1 and 6: what is certified is no less than the true ratio, and at most 2."""
    points = some_points(records, records, columns, False)
    best = least_loss(points)
    assert loss_of(points, paired_groups(points, "normal").group) == pytest.approx(best, rel=1e-6)
    quick = paired_groups(points, "quick")
    loss = loss_of(points, quick.group)
    assert loss / best - 1e-9 <= loss / quick.prices.bound <= 2 + 1e-6


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_two_and_three_records_are_one_group(effort):
    for records in (2, 3):
        assert paired_groups(some_points(1, records, 2, False), effort).group.tolist() == [0] * records
        assert paired_groups(np.zeros((records, 2)), effort).group.tolist() == [0] * records


@given(*ANY)
@settings(max_examples=30, deadline=None)
def test_ties_are_the_cheapest(seed, records, columns, whole):
    """Of an integer program as well, wherever no record has more than two; never dearer."""
    points = some_points(seed, records, columns, whole)
    ties = cheapest_ties(points)
    most = np.bincount(ties.pairs.ravel()).max()
    weight = least_weight(points)
    assert ties.weight <= weight + 1e-7
    assert most > 2 or ties.weight == pytest.approx(weight, abs=1e-7)
    assert 2 * ties.prices.bound <= ties.weight + 1e-7


@given(*ANY)
@settings(max_examples=30, deadline=None)
def test_no_group_is_underpriced_whatever_the_prices_were(seed, records, columns, whole):
    points = some_points(seed, records, columns, whole)
    draw = np.random.default_rng(seed)
    odd = (OddSet(frozenset(range(3)), float(draw.random())),) if records > 2 else ()
    prices = mended(points, GroupPrices(draw.normal(size=records), odd))
    away = squared(points)

    def paid(group: tuple[int, ...]) -> float:
        return sum(one.price for one in odd if len(one.members.intersection(group)) > 1)

    for pair in combinations(range(records), 2):
        assert prices.record[list(pair)].sum() - paid(pair) <= away[pair] / 2 + 1e-9
    for a, b, c in combinations(range(records), 3):
        loss = (away[a, b] + away[a, c] + away[b, c]) / 3
        assert prices.record[[a, b, c]].sum() - paid((a, b, c)) <= loss + 1e-9
    assert not underpriced(points, prices, 1e-9)


def test_each_group_loses_between_half_its_ties_and_all_of_them():
    points = some_points(3, 200, 3, False)
    ties = cheapest_ties(points)
    group, away = renumbered(tied_groups(points, ties)), squared(points)
    for number in range(group.max() + 1):
        members = np.flatnonzero(group == number)
        edges = sorted(away[pair] for pair in combinations(members.tolist(), 2))[: len(members) - 1]
        loss = ((points[members] - points[members].mean(axis=0)) ** 2).sum()
        assert 0.5 - 1e-9 <= loss / sum(edges) <= 1 + 1e-9


def test_a_star_falls_apart_and_nobody_is_left_alone():
    """One record in the middle of nine, each in a direction of its own."""
    points = np.concatenate((np.zeros((1, 9)), np.eye(9)))
    assert np.bincount(cheapest_ties(points).pairs.ravel()).max() > 2
    assert set(np.bincount(paired_groups(points, "quick").group).tolist()) <= {2, 3}


def test_the_order_of_rows_does_not_matter():
    points = some_points(4, 60, 3, False)
    order = np.random.default_rng(4).permutation(60)
    moved = np.ascontiguousarray(points[order])
    for effort in ("quick", "normal"):
        first, second = (paired_groups(given, effort).group for given in (points, moved))
        assert loss_of(points, first) == pytest.approx(loss_of(moved, second), rel=1e-9)


def test_a_program_that_ends_with_halves_is_branched(monkeypatch):
    """Without odd sets the linear program of two far triangles ends with halves."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])
    points = np.ascontiguousarray(np.concatenate((corners, corners + np.array([30.0, 0.0]))))
    monkeypatch.setattr(pairing._BestPairs, "_add_sets", lambda self, share: 0)
    found = paired_groups(points, "normal")
    assert loss_of(points, found.group) == pytest.approx(least_loss(points))
    assert found.prices.bound < loss_of(points, found.group) - 0.01


def test_odd_sets_hang_together_by_broken_ties():
    pairs = np.array([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [5, 6], [3, 6], [7, 8]])
    share = np.array([0.5] * 7 + [1.0])
    assert odd_components(9, pairs, share) == [frozenset({0, 1, 2})]
