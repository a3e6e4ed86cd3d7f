"""Linking files of time series: figures and acceptance checks of card 003-18 (Nin and Torra 2006)."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.attack import link_series, normalised_series, series_distance, warping_path

YEARS = np.arange(1993, 2002)
PRICES = np.array(
    [
        [106.5, 110.3, 114.9, 117.9, 119.3, 121.0, 122.2, 124.1, 129.0],
        [102.7, 119.8, 147.8, 178.7, 130.8, 116.2, 133.6, 123.5, 114.4],
        [95.6, 101.9, 110.8, 116.4, 114.2, 119.0, 124.6, 126.4, 133.9],
        [101.1, 133.6, 162.8, 123.8, 121.3, 140.4, 149.8, 148.6, 177.6],
    ]
)
"""Price indices of bread, oil, fruit and vegetables, and potatoes."""
RANGED = [
    [1.00, 0.26, 0.08, 0.02, 0.31, 0.20, 0.00, 0.02, 0.23],
    [0.65, 0.56, 0.71, 1.00, 1.00, 0.00, 0.41, 0.00, 0.00],
    [0.00, 0.00, 0.00, 0.00, 0.00, 0.12, 0.09, 0.12, 0.31],
    [0.50, 1.00, 1.00, 0.12, 0.43, 1.00, 1.00, 1.00, 1.00],
]
OWN = [
    [-1.71, -1.16, -0.50, -0.07, 0.14, 0.38, 0.55, 0.83, 1.53],
    [-1.20, -0.44, 0.81, 2.18, 0.05, -0.60, 0.17, -0.28, -0.68],
    [-1.69, -1.16, -0.42, 0.04, -0.14, 0.26, 0.73, 0.88, 1.50],
    [-1.68, -0.27, 0.99, -0.70, -0.80, 0.02, 0.43, 0.38, 1.63],
]
POOLED = [
    [-1.00, -0.81, -0.57, -0.42, -0.34, -0.26, -0.19, -0.10, 0.16],
    [-1.20, -0.32, 1.13, 2.72, 0.25, -0.50, 0.39, -0.13, -0.60],
    [-1.57, -1.24, -0.78, -0.49, -0.61, -0.36, -0.07, 0.02, 0.41],
    [-1.28, 0.39, 1.90, -0.11, -0.24, 0.75, 1.23, 1.17, 2.66],
]
DISTANCES = {
    (0, 1): (73.3656, 64.4333, 62.1558, 61.3700, 69.2927, 0.0776, 0.8559, 3380.94, 15),
    (0, 2): (16.5378, 13.0927, 11.9966, 11.5247, 8.9554, 0.9912, 0.0044, 183.32, 11),
    (0, 3): (83.6995, 65.4794, 59.1272, 56.1423, 64.5638, 0.7099, 0.1697, 5671.68, 15),
    (1, 2): (79.8384, 67.7746, 64.4658, 63.2696, 64.3646, 0.1245, 0.7786, 3238.47, 15),
    (1, 3): (94.8398, 77.1388, 71.3676, 68.6767, 99.5805, 0.0280, 0.9455, 5655.39, 10),
    (2, 3): (85.6729, 66.4631, 59.8498, 56.8089, 61.4651, 0.7380, 0.1507, 4393.50, 15),
}
"""Of each pair: Minkowski of order 2 to 5, slopes, correlation, its distance, warping: sum of squares and steps."""
HALF = 0.005 + 1e-9


def test_the_three_normalised_tables():
    """Check 1. The table of the source that should hold the second prints the raw data again."""
    assert normalised_series(PRICES, "range") == pytest.approx(np.array(RANGED), abs=HALF)
    assert normalised_series(PRICES, "series") == pytest.approx(np.array(OWN), abs=HALF)
    assert normalised_series(PRICES, "pooled") == pytest.approx(np.array(POOLED), abs=HALF)


@pytest.mark.parametrize("pair", DISTANCES)
def test_the_distances_between_prices(pair):
    """Check 1."""
    x, v = PRICES[list(pair)]
    *powers, slopes, r, by_r, squares, steps = DISTANCES[pair]
    for q, printed in zip((2, 3, 4, 5), powers, strict=True):
        assert series_distance(x, v, "minkowski", q=q) == pytest.approx(printed, abs=5e-5)
    assert series_distance(x, v, "sts", YEARS) == pytest.approx(slopes, abs=5e-5)
    found = series_distance(x, v, "cc")
    assert found == pytest.approx(by_r, abs=5e-5)
    assert (1 - found) / (1 + found) == pytest.approx(r, abs=5e-5)
    path = warping_path(x, v)
    assert (round(path.cost, 2), path.steps) == (squares, steps)
    assert series_distance(x, v, "dtw", normalise_path=False) == path.cost
    assert series_distance(x, v, "dtw") == pytest.approx(np.sqrt(path.cost) / steps)


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(5)
    return [(rng.integers(0, 6, n).astype(float), rng.integers(0, 6, n).astype(float)) for n in (2, 3, 5, 8, 8, 12)]


@pytest.mark.parametrize(
    ("distance", "options"),
    [*(("minkowski", {"q": q}) for q in (1, 2, 3, 4, 5)), ("sts", {}), ("dtw", {}), ("dtw", {"band": 2})],
)
def test_distances_are_symmetric_not_negative_and_nothing_from_a_series_to_itself(pairs, distance, options):
    """Check 2, on whole numbers, where paths of equal cost abound."""
    for x, v in pairs:
        there = series_distance(x, v, distance, **options)
        assert there == series_distance(v, x, distance, **options) >= 0
        assert series_distance(x, x, distance, **options) == 0


def test_the_distance_by_correlation_is_nothing_only_for_perfect_correlation(pairs):
    """Check 2."""
    for x, v in pairs[2:]:
        assert series_distance(x, v, "cc") == series_distance(v, x, "cc") > 0
        assert series_distance(x, 3 * x + 2, "cc") == pytest.approx(0, abs=1e-12)
        assert series_distance(x, -x, "cc") > 1e12


def test_what_changes_no_distance(pairs):
    """Check 3."""
    for x, v in pairs[2:]:
        assert series_distance(x + 100, v, "sts") == pytest.approx(series_distance(x, v, "sts"))
        assert series_distance(7 * x - 5, v / 3 + 1, "cc") == pytest.approx(series_distance(x, v, "cc"))
        assert warping_path(x, v).cost <= ((x - v) ** 2).sum()


@pytest.fixture(scope="module")
def rising():
    """120 rising series of 10 times, and the same in groups of two: stand-in for the forecasters."""
    rng = np.random.default_rng(18)
    growth = rng.gamma(2.0, 1.0, (120, 10))
    series = rng.lognormal(3.0, 0.6, (120, 1)) + growth.cumsum(axis=1)
    return series, {k: grouped(series, k) for k in (2, 3, 6)}


def grouped(series: np.ndarray, k: int) -> np.ndarray:
    """Microaggregated series."""
    import pyarrow as pa

    names = [f"t{number}" for number in range(series.shape[1])]
    data = ds.Microdata(pa.table(dict(zip(names, series.T.round(6), strict=True))), numeric=names)
    release = ds.protect(data, ds.Microaggregate(k=k), keep_order=True)
    columns = release.public.records.columns
    return np.stack([columns[name].to_numpy() for name in names], axis=1)


def test_the_exponent_changes_no_link_of_one_series(rising):
    """Check 4."""
    series, masked = rising
    links = [link_series(series, masked[2], "cc", beta=beta) for beta in (1, 2, 3, 4)]
    for one in links[1:]:
        assert (one.links == links[0].links).all()
        assert (one.chance == links[0].chance).all()


def test_with_own_scales_euclid_links_as_correlation_does(rising):
    """Check 5."""
    series, masked = rising
    euclid = link_series(series, masked[3], "minkowski", normalise="series")
    assert (euclid.links == link_series(series, masked[3], "cc", normalise="series").links).all()


def test_an_unmasked_file_is_linked_throughout(rising):
    """Check 6."""
    series, _ = rising
    for distance, normalise in (("minkowski", "pooled"), ("minkowski", "component"), ("sts", "pooled")):
        assert link_series(series, series, distance, normalise=normalise).share == 1.0
    doubled = np.concatenate([series[:5], series[:5] + 3])
    assert link_series(doubled, doubled, "minkowski").share == 1.0
    assert link_series(doubled, doubled, "sts").share == 0.5


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("distance", ["minkowski", "sts", "cc", "dtw"])
def test_groups_of_k_cap_the_links(rising, distance, k):
    """Check 7, and in the order of the published table: fewer links with larger groups."""
    series, masked = rising
    found = link_series(series, masked[k], distance)
    assert found.right <= found.distinct <= len(series) / k
    assert (found.tied >= k).all()
    if k > 2:
        assert found.right < link_series(series, masked[2], distance).right


def test_the_printed_formulas_explain_the_published_zeros(rising):
    """Check 8: even exponents of what is no correlation give none; odd powers with signs link worse than even ones."""
    series, masked = rising
    printed = {
        beta: link_series(series, masked[2], "cc", beta=beta, paper_literal=True, ties="first").right
        for beta in (1, 2, 3, 4)
    }
    assert printed[1] == printed[3] > 10
    assert max(printed[2], printed[4]) <= 1
    signed = {q: link_series(series, masked[2], "minkowski", q=q, paper_literal=True).right for q in (2, 3, 4, 5)}
    assert signed[3] < signed[5] < min(signed[2], signed[4])
    repaired = {q: link_series(series, masked[2], "minkowski", q=q).right for q in (2, 3, 4, 5)}
    assert signed[2] == repaired[2]
    assert signed[4] == repaired[4]
    assert min(repaired.values()) > signed[5]


def test_unequal_steps_of_time_change_slopes_and_nothing_else(rising):
    """Check 9."""
    series, masked = rising
    times = np.arange(10.0) ** 2
    assert series_distance(series[0], series[1], "minkowski", times) == series_distance(
        series[0], series[1], "minkowski"
    )
    assert series_distance(series[0], series[1], "sts", times) != series_distance(series[0], series[1], "sts")
    even = link_series(series, masked[2], "sts")
    assert (even.best != link_series(series, masked[2], "sts", times=times).best).all()


def test_advantages_on_soccer_are_points_of_176_records():
    """The better of Euclid and slopes less record linkage, as printed: 17 % to 39 %."""
    record_linkage, euclid, slopes = (
        np.array(row) for row in ([144, 123, 83, 64, 54], [154, 142, 134, 133, 123], [174, 168, 121, 86, 62])
    )
    points = 100 * (np.maximum(euclid, slopes) - record_linkage) / 176
    assert points.round(1).tolist() == [17.0, 25.6, 29.0, 39.2, 39.2]
