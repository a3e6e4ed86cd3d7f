"""How noise is made of draws: moments, rotations, ranks and outliers against other ways of computing them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engine.draws import draws
from discreet.errors import InputError
from discreet.records.additive.landing import Landing, landed, unknown_numbers
from discreet.records.additive.moments import DependentColumn, centred, covariance, root, turned
from discreet.records.additive.moves import (
    block_sizes,
    correlated,
    exact,
    hypercube,
    independent,
    restricted,
    rotated,
)
from discreet.records.additive.normal_draws import normal_draws
from discreet.records.additive.outlying import NoSpread, by_distance, by_influence, by_limits, noise_factor


def skewed(records: int, columns: int = 3, seed: int = 1) -> np.ndarray:
    draw = np.random.default_rng(seed)
    mix = np.eye(columns) + 0.4 * draw.normal(size=(columns, columns))
    return np.exp(0.7 * mix @ draw.normal(size=(columns, records)) + 5)


def normals(shape: tuple[int, int], seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_draws_are_normal_quantiles_of_the_keyed_hash():
    from scipy.special import ndtri

    who = np.arange(5_000)
    words = draws(bytes(32), "a", 1, who)
    expected = ndtri(((words >> np.uint64(12)).astype(float) + 0.5) / 2**52)
    assert np.allclose(normal_draws(bytes(32), ["a"], 1, who)[0], expected, rtol=1e-13, atol=1e-15)


def test_draws_reach_into_the_farthest_tails():
    """Whatever the hash is, the draw is a number: 52 bits of zeros and of ones."""
    from scipy.special import ndtri

    from discreet.records.additive.normal_draws import AS_241, _to_normals

    words = np.array([0, 2**64 - 1, 1 << 12, 1 << 40, 1 << 63], np.uint64)
    found = np.empty(5)
    _to_normals(words, found, AS_241)
    assert np.allclose(found, ndtri(((words >> np.uint64(12)).astype(float) + 0.5) / 2**52), rtol=1e-12)
    assert found[0] == -found[1] == pytest.approx(-8.2095, abs=1e-3)


def test_exact_noise_has_the_moments_that_it_should_have():
    """Card 003-10, check 4: means below 1e-12 and covariances to 1e-10 of the columns' standard deviations."""
    values = centred(skewed(10_000, 2))
    noise = exact(values, normals((2, 10_000)), 0.3)
    spread = values.std(axis=1)
    assert np.all(np.abs(noise.mean(axis=1)) < 1e-12 * spread)
    assert np.all(np.abs(np.cov(noise) - 0.3 * np.cov(values)) < 1e-10 * np.outer(spread, spread))


def test_restricted_noise_keeps_moments_and_is_uncorrelated_with_what_it_is_added_to():
    values = centred(skewed(500))
    new = values + restricted(values, normals((3, 500)), 0.5)
    spread = values.std(axis=1)
    assert np.all(np.abs(new.mean(axis=1)) < 1e-12 * spread)
    assert np.all(np.abs(np.cov(new) - np.cov(values)) < 1e-10 * np.outer(spread, spread))
    noise = new * np.sqrt(1.5) - values
    assert np.all(np.abs(noise @ values.T / 499) < 1e-10 * np.outer(spread, spread))


def test_noise_by_itself_and_with_covariances():
    """Card 003-29, R13: variances d S_jj, and covariances 0 or d S_jk."""
    values = centred(skewed(20_000))
    scale = np.outer(values.std(axis=1), values.std(axis=1))
    apart = np.cov(independent(values, normals((3, 20_000)), 0.2)) / scale
    assert np.allclose(apart, 0.2 * np.eye(3), atol=0.01)
    together = np.cov(correlated(values, normals((3, 20_000)), 0.2)) / scale
    assert np.allclose(together, 0.2 * np.corrcoef(values), atol=0.01)


def test_noise_mends_what_averaging_took_away():
    """Card 003-10, check 5: noise with the covariance of the residual restores that of the file, over 200 draws."""
    values = centred(skewed(600, 2))
    order = np.argsort((values / values.std(axis=1, keepdims=True)).sum(axis=0))
    averaged = np.empty_like(values)
    averaged[:, order] = np.repeat(values[:, order].reshape(2, 200, 3).mean(axis=2), 3, axis=1)
    rest = centred(values - averaged)
    found = []
    for seed in range(200):
        noise = rest + restricted(rest, normals((2, 600), seed), 1e12)
        assert np.allclose(np.cov(noise), np.cov(rest), rtol=1e-4)
        found.append(np.cov(averaged + noise))
    error = np.std(found, axis=0) / np.sqrt(200)
    assert np.all(averaged.var(axis=1) < 0.9 * values.var(axis=1))
    assert np.all(np.abs(np.mean(found, axis=0) - np.cov(values)) < 4 * error)


@pytest.mark.parametrize("records", [3, 7, 30, 31, 61, 62, 100])
def test_rotations_are_orthogonal_and_keep_the_mean(records):
    """Card 003-29, R14: X' = T X, T orthogonal with T 1 = 1. What it does to single records shows T itself."""
    widest = int(block_sizes(records).max()) - 1
    turn = np.eye(records) + rotated(np.eye(records), normals((widest, records)), 0.4)
    assert np.allclose(turn @ turn.T, np.eye(records), atol=1e-12)
    assert np.allclose(turn @ np.ones(records), 1.0, atol=1e-12)
    assert np.allclose(turn.T @ np.ones(records), 1.0, atol=1e-12)
    # Where every direction has a partner, squared moves are exactly that share of the variance.
    sizes = block_sizes(records)
    if np.all(sizes % 2 == 1) and len(sizes) == 1:
        values = centred(skewed(records))
        moves = rotated(values, normals((widest, records)), 0.4)
        assert np.allclose((moves**2).sum(axis=1), 0.4 * (values**2).sum(axis=1))


def test_blocks_hold_all_records():
    for records in range(3, 200):
        sizes = block_sizes(records)
        assert sizes.sum() == records
        assert sizes.min() >= min(records, 31)
        assert np.all(np.diff(sizes) <= 0)


def test_a_latin_hypercube_has_one_value_in_each_place_and_nearly_the_same_rank_correlations():
    """Card 003-29, R17."""
    from scipy.stats import spearmanr

    values = centred(skewed(400))
    places = np.random.default_rng(3).random((3, 400))
    new = values + hypercube(values, normals((3, 400)), 0.5, places)
    for old, made in zip(np.sort(values), np.sort(new), strict=True):
        assert np.all(made[1:-1] >= old[:-2])
        assert np.all(made[1:-1] <= old[2:])
    assert np.abs(spearmanr(values.T)[0] - spearmanr(new.T)[0]).max() < 0.1
    assert spearmanr(values[0], new[0])[0] < 0.95
    # As much noise as one likes: columns have nothing to do with their old ones, and still go together.
    new = values + hypercube(values, normals((3, 400)), 1e9, places)
    assert abs(spearmanr(values[0], new[0])[0]) < 0.15
    assert np.abs(spearmanr(values.T)[0] - spearmanr(new.T)[0]).max() < 0.1


def with_outliers() -> np.ndarray:
    values = normals((200, 3), 5) @ np.array([[1, 0, 0], [0.9, 0.4, 0], [0.5, 0.2, 0.8]]).T
    values[:4] *= np.array([[20], [12], [9], [15]])
    return np.exp(values / 10 + 4)


@pytest.mark.parametrize("measure", ["distance", "influence", "limits"])
def test_planted_outliers_are_found_and_get_more_noise_the_farther_they_lie_out(measure):
    """Card 003-29, R15: three ways of flagging."""
    values = with_outliers()
    factor = noise_factor(measure, values, 0.995)
    # Influence is not robust: outliers hide each other.
    assert (factor[:4] > 1).sum() >= (3 if measure == "influence" else 4)
    assert (factor > 0).sum() < 20
    farther = values.copy()
    farther[0] = np.exp(2 * (np.log(values[0]) - 4) + 4)
    assert noise_factor(measure, farther, 0.995)[0] > factor[0]


def test_influence_is_that_of_leaving_each_record_out():
    from scipy.stats import chi2

    values = with_outliers()
    straight = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    whole = np.sort(np.linalg.eigvalsh(np.cov(straight.T)))[::-1][:2]
    found = []
    for row in range(len(values)):
        left = np.sort(np.linalg.eigvalsh(np.cov(np.delete(straight, row, axis=0).T)))[::-1][:2]
        found.append(np.sqrt(max(0, np.max((whole - left) * (len(values) - 2) / whole + 1)) / chi2.ppf(0.9, 1)))
    assert np.allclose(by_influence(values, 0.9), found)


def test_distances_are_robust_and_ordinary_ones_without_outliers():
    """Ten per cent of wild records do not hide that they are wild; normal records have the distances they should."""
    values = normals((2_000, 2), 7) @ np.array([[1, 0], [0.8, 0.6]]).T
    assert np.mean(by_distance(values, 0.95) > 1) == pytest.approx(0.05, abs=0.02)
    wild = values.copy()
    wild[:200] = [50, -50]
    assert np.all(by_distance(wild, 0.95)[:200] > 5)


def test_limits_hold_after_columns_are_made_symmetric():
    """A lognormal column has no more outliers than a normal one."""
    values = np.exp(normals((2_000, 1), 8))
    assert np.mean(by_limits(values, 0.95) > 1) == pytest.approx(0.05, abs=0.02)
    assert np.mean(by_limits(values - values.min() - 1, 0.95) > 1) > 0.1  # as it is where it is not positive
    with pytest.raises(NoSpread):
        by_limits(np.array([[1.0], [1.0], [1.0], [5.0]]), 0.9)


def test_a_column_that_follows_from_others_is_named():
    values = centred(skewed(50))
    with pytest.raises(DependentColumn) as wrong:
        root(covariance(np.stack([values[0], values[1], values[0] - 2 * values[1]])))
    assert wrong.value.place == 2
    lower = root(covariance(values))
    assert np.allclose(lower @ lower.T, np.cov(values))
    assert np.allclose(turned(lower, np.eye(3)), lower)


PLAIN = Landing("x", 0, 0, 1, False, False, False, ())


@given(
    st.lists(st.tuples(st.integers(-60, 60), st.floats(-40, 40)), min_size=1, max_size=8),
    st.integers(-1, 1),
    st.booleans(),
    st.sampled_from([(), ((-9, -1),), (("7", "7"), (20, 30)), ((0, 9),)]),
)
@settings(max_examples=60, deadline=None)
def test_values_land_where_brute_force_puts_them(given_, finer, floor, unknown):
    units, moves = (np.array(column) for column in zip(*given_, strict=True))
    units = np.abs(units).astype(np.int64) if floor else units.astype(np.int64)
    way = PLAIN._replace(finer=finer, floor=floor, unknown=unknown)
    done = landed(units, moves.astype(np.float64), way, int(units.min()))
    around = np.arange(0 if floor else -1200, 1201)
    good = around[~unknown_numbers(around / 10.0**finer, unknown)]
    for old, move, new in zip(units.tolist(), moves.tolist(), done.units.tolist(), strict=True):
        place = (old + move) * 10.0**finer
        place = max(place, 0) if floor else place
        assert new in good
        # The nearest one; half a unit more because codes are left from the rounded value.
        assert abs(new - place) <= np.abs(good - place).min() + 1.0 + 1e-9


@given(
    st.lists(st.tuples(st.integers(-(10**6), 10**6), st.floats(-100, 100)), min_size=2, max_size=20), st.integers(-2, 2)
)
@settings(max_examples=50, deadline=None)
def test_sums_are_kept_to_half_a_unit(given_, finer):
    units, moves = (np.array(column) for column in zip(*given_, strict=True))
    moves = moves - moves.mean()
    done = landed(units.astype(np.int64), moves, PLAIN._replace(finer=finer, sums=True), int(units.min()))
    apart = int(done.units.sum()) - int(units.sum()) * 10.0**finer
    assert abs(apart) <= (0.5 if finer < 0 else 0)
    assert np.all(np.abs(done.units - (units + moves) * 10.0**finer) <= 1.5 + 1e-6)


def test_codes_that_leave_no_place_are_refused():
    way = PLAIN._replace(unknown=((-5000, 5000),))
    with pytest.raises(InputError, match="Noise made values of column 'x' that stand for \"unknown\", and no other"):
        landed(np.array([6000], np.int64), np.array([-6000.0]), way, 6000)


def test_sums_that_nobody_can_keep_are_refused():
    way = PLAIN._replace(sums=True, unknown=((2, 1000), (-1000, -2)))
    with pytest.raises(InputError, match="The sum of column 'x' cannot be kept in so few values"):
        landed(np.array([1, 1], np.int64), np.array([3.0, -3.0]), way, 1)


def test_totals_beyond_64_bits_are_exact():
    units = np.array([2**61, 2**61, 2**61, 2**61 - 1, 2**61 - 3], np.int64)
    done = landed(
        units, np.array([2048.0, -2048.0, 512.0, -256.0, -256.0]), PLAIN._replace(sums=True), int(units.min())
    )
    assert sum(done.units.tolist()) == sum(units.tolist())
