"""Maps of counts without small cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.measures.redistribution import map_measures
from discreet.model.geography import Adjacency, HexGrid
from discreet.tables.redistribute.counts import redistributed
from discreet.tables.redistribute.grid import Hexagons, Neighbours, coarser_grid, occupied_hexagons
from discreet.tables.redistribute.limits import MapRules
from discreet.tables.redistribute.magnitudes import repaired_map
from discreet.tables.redistribute.transport import cheapest_shipment


def random_map(seed: int, side: int = 6) -> tuple[np.ndarray, Hexagons]:
    rng = np.random.default_rng(seed)
    cells = np.array([(q, r) for q in range(side) for r in range(side) if rng.random() < 0.7] or [(0, 0)])
    return rng.poisson(4, len(cells)) + 1, Hexagons(cells)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 5), st.sampled_from(["suppress", "redistribute", "none"]))
def test_every_cell_is_filled_and_nothing_is_lost(seed, threshold, outliers):
    counts, places = random_map(seed)
    distance = {}
    for algorithm in ("nearest", "equal", "optimal"):
        try:
            found = redistributed(counts, places, threshold=threshold, outliers=outliers, algorithm=algorithm)
        except ProtectionError:
            return
        left = found.before > 0
        assert (found.after[left] >= threshold).all()
        assert ((found.after > 0) == left).all()
        assert found.after.sum() + found.lost == counts.sum()
        assert (found.after[left & (found.before < threshold)] == threshold).all()
        measures = map_measures(found.before, found.after, *found.moves)
        assert sum(part.u3 for part in measures.by_count.values()) == pytest.approx(found.moves.distance)
        assert measures.change_sum == 2 * found.moves.units.sum()
        distance[algorithm] = found.moves.distance
        again = redistributed(found.after, places, threshold=threshold, outliers="none", algorithm=algorithm)
        assert (again.after == found.after).all()
        if algorithm == "equal":
            excess = np.maximum(found.before - threshold, 0)
            given_ = np.maximum(found.before - found.after, 0)
            able = given_ < excess
            if able.any():
                assert given_.max() - given_[able].min() <= 1
    assert distance["optimal"] <= min(distance.values())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_the_shipment_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    supply, demand = rng.integers(1, 3, 3), rng.integers(1, 3, 2)
    cost = rng.integers(1, 6, (3, 2))
    found = cheapest_shipment(lambda d, r: cost[np.ix_(d, r)], supply, demand)
    total = min(supply.sum(), demand.sum())
    assert found.units.sum() == total
    best = min(
        sum(cost[d, r] * n for (d, r), n in zip(itertools.product(range(3), range(2)), plan, strict=True))
        for plan in itertools.product(range(3), repeat=6)
        if sum(plan) == total
        and all(plan[2 * d] + plan[2 * d + 1] <= supply[d] for d in range(3))
        and all(sum(plan[r::2]) <= demand[r] for r in range(2))
    )
    assert (cost[found.donor, found.receiver] * found.units).sum() == best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_the_flow_is_as_cheap_as_the_linear_program(seed, areas):
    counts, places = random_map(seed)
    if areas:
        edges = np.argwhere(places.distances(np.arange(len(places)), np.arange(len(places))) == 1)
        geometry = Neighbours(Adjacency([str(k) for k in range(len(places))], [(str(a), str(b)) for a, b in edges]))
    else:
        geometry = places
    small, donors = np.flatnonzero(counts < 3), np.flatnonzero(counts > 3)
    try:
        found = redistributed(counts, geometry, outliers="none", algorithm="optimal")
    except ProtectionError:
        return
    steps = geometry.distances(donors, small)
    best = cheapest_shipment(lambda d, r: steps[np.ix_(d, r)], counts[donors] - 3, 3 - counts[small])
    assert found.moves.distance == (steps[best.donor, best.receiver] * best.units).sum()
    assert all(
        geometry.distances(np.array([s]), np.array([t]))[0, 0] == d for s, t, _, d in zip(*found.moves, strict=True)
    )


def test_a_map_that_is_too_fine_is_refused_and_a_coarser_grid_is_found():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 10, 60), rng.normal(0, 10, 60)
    grid = HexGrid("x", "y", 1.0)
    places, counts, number = occupied_hexagons(grid.cells(x, y))
    assert counts.sum() == 60
    assert (np.bincount(number) == counts).all()
    with pytest.raises(ProtectionError, match="too fine"):
        redistributed(counts, places, outliers="none")
    wider = coarser_grid(grid, x, y, lambda hexagons, _: 3 * len(hexagons) <= 60)
    assert wider is not None
    places, counts, _ = occupied_hexagons(wider.cells(x, y))
    assert (redistributed(counts, places, outliers="none").after >= 3).all()


def test_points_lie_in_the_hexagon_with_the_nearest_centre():
    rng = np.random.default_rng(2)
    grid = HexGrid("x", "y", 2.0, (5.0, -3.0))
    x, y = rng.uniform(-20, 20, 500), rng.uniform(-20, 20, 500)
    cells = grid.cells(x, y)
    radius = 2.0 / np.sqrt(3)
    ring = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)])

    def centre(qr: np.ndarray) -> np.ndarray:
        return np.stack([radius * np.sqrt(3) * (qr[:, 0] + qr[:, 1] / 2) + 5, radius * 1.5 * qr[:, 1] - 3], axis=1)

    points = np.stack([x, y], axis=1)
    away = np.stack([np.linalg.norm(centre(cells + step) - points, axis=1) for step in ring])
    assert (away.argmin(axis=0) == 0).all()


def test_a_grid_from_the_data_warns_and_is_rounded():
    with pytest.warns(UserWarning, match="extremes"):
        grid = HexGrid.fitted("x", "y", (np.array([0.3, 17.2]), np.array([1.0, 2.0])), 10)
    assert grid.size == 2.0
    assert grid.origin == (0.0, 0.0)


def test_areas_with_neighbours_work_like_hexagons():
    codes = [str(k) for k in range(5)]
    areas = Neighbours(Adjacency(codes, [(str(k), str(k + 1)) for k in range(4)]))
    row = Hexagons(np.array([[k, 0] for k in range(5)]))
    counts = np.array([1, 8, 3, 6, 2])
    for algorithm in ("nearest", "optimal"):
        one, two = (redistributed(counts, g, outliers="none", algorithm=algorithm) for g in (areas, row))
        assert one.after.tolist() == two.after.tolist()
        assert one.moves.distance == two.moves.distance
    island = Neighbours(Adjacency([*codes, "island"], [(str(k), str(k + 1)) for k in range(4)]))
    with pytest.raises(ProtectionError, match="reached"):
        redistributed(np.array([3, 8, 3, 6, 3, 1]), island, outliers="none")
    with pytest.raises(ParameterError, match="no area '9'"):
        Adjacency(codes, [("1", "9")])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"threshold": 1}, "threshold=1"),
        ({"outlier_distance": 0}, "outlier_distance=0"),
        ({"algorithm": "best"}, "algorithm"),
        ({"outliers": "hide"}, "outliers"),
    ],
)
def test_bad_parameters_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        redistributed(np.array([3]), Hexagons(np.array([[0, 0]])), **arguments)


def test_bad_points_and_counts_are_refused():
    with pytest.raises(InputError, match="1 points have no coordinates, first in record 2"):
        HexGrid("x", "y", 1.0).cells(np.array([0.0, np.nan]), np.zeros(2))
    with pytest.raises(InputError, match="whole numbers"):
        redistributed(np.array([-1]), Hexagons(np.array([[0, 0]])))
    with pytest.raises(ParameterError, match="size=0"):
        HexGrid("x", "y", 0)


def test_magnitudes_that_cannot_be_repaired_are_named():
    """One contributor of three has everything: the p% rule leaves nothing to repair with."""
    places = Hexagons(np.array([[0, 0], [1, 0]]))
    cell, who = np.array([0, 0, 0, 1, 1, 1]), np.arange(6)
    value = np.array([9, 1, 1, 4, 4, 4])
    found = repaired_map(cell, who, value, places, MapRules(3, max_share=0.3))
    assert set(found.unresolved) == {0, 1}
    assert "equal contributors already exceed" in found.unresolved[0]
    alone = repaired_map(cell[:3], who[:3], value[:3], Hexagons(np.array([[0, 0]])), MapRules(3, max_share=0.5))
    assert alone.unresolved == {0: "no other cell can take value"}


def test_receiving_value_changes_no_ratio_and_groups_count_once():
    places = Hexagons(np.array([[0, 0], [1, 0]]))
    cell = np.array([0, 0, 0, 0, 1, 1, 1])
    who = np.array([1, 2, 3, 3, 4, 5, 6])
    value = np.array([500, 50, 40, 30, 100, 80, 60])
    found = repaired_map(cell, who, value, places, MapRules(3, max_share=0.5))
    other = found.value[found.cell == 1]
    assert other.tolist() == [258, 206, 156]  # 380 more; the units that are left over go to the smallest
    assert found.value[found.cell == 0].tolist() == [120, 50, 70]
    assert found.value.sum() == value.sum()
    with pytest.raises(InputError, match="at least zero"):
        repaired_map(cell, who, -value, places, MapRules())
