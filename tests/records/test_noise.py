"""Multiplicative noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from discreet.errors import InputError, ParameterError
from discreet.measures.noise import noise_errors
from discreet.records.noise import NoiseZone, balanced_directions, directions, multipliers
from tests.records.noise_in_floats import cell_noise, noisy_contributions, surely_protected

KEY = bytes(range(32))
D1, D2 = NoiseZone(1.1, 1.2), NoiseZone(1.05, 1.15)


@pytest.mark.parametrize("shape", ["triangular", "uniform", "ramp"])
def test_distances_have_the_distribution_that_is_named(shape):
    zone = NoiseZone(1.1, 1.2, shape)
    ids = np.arange(50_000)
    distance = np.abs(multipliers(ids, ids, KEY, zone) - 1)
    assert distance.min() >= 0.1
    assert distance.max() <= 0.2
    share = (distance - 0.1) / 0.1
    cumulative = {"triangular": lambda u: 1 - (1 - u) ** 2, "uniform": lambda u: u, "ramp": lambda u: u**2}[shape]
    assert stats.kstest(share, cumulative).pvalue > 1e-3
    assert distance.mean() == pytest.approx(zone.mean_distance, abs=4 * distance.std() / np.sqrt(50_000))
    density = {"triangular": lambda u: 2 * (1 - u), "uniform": lambda u: 1.0, "ramp": lambda u: 2 * u}[shape]
    second = integrate.quad(lambda u: (0.1 + 0.1 * u) ** 2 * density(u), 0, 1)[0]
    assert zone.deviation == pytest.approx(np.sqrt(second))


def test_the_card_density_integrates_to_one():
    a, b = 1.1, 1.2
    k = 1 / (b - a) ** 2
    upper = integrate.quad(lambda x: k * (b - x), a, b)[0]
    lower = integrate.quad(lambda x: k * (x - (2 - b)), 2 - b, 2 - a)[0]
    assert upper + lower == pytest.approx(1)


def test_a_company_moves_one_way_in_every_file():
    company, record = np.repeat(np.arange(2000), 3), np.arange(6000)
    m = multipliers(company, record, KEY, D1)
    up = (m > 1).reshape(-1, 3)
    assert (up.all(axis=1) | (~up).all(axis=1)).all()
    assert abs(up[:, 0].mean() - 0.5) < 4 * 0.5 / np.sqrt(2000)
    order = np.random.default_rng(1).permutation(6000)[:3000]
    assert (multipliers(company[order], record[order], KEY, D1) == m[order]).all()
    assert (directions(company, KEY) == directions(company[::-1], KEY)[::-1]).all()
    assert (multipliers(company, record, KEY, D1, version=2) != m).all()


def test_only_the_own_share_moves():
    value, weight = np.array([100.0, 100.0, 0.0]), np.array([1.0, 4.0, 2.0])
    found = noisy_contributions(value, weight, np.array([1.15, 0.85, 1.2]))
    assert found.noisy / np.maximum(found.plain, 1) == pytest.approx([1.15, 1 - 0.15 / 4, 0])
    cut = noisy_contributions(np.array([100.0]), np.array([0.1]), np.array([0.8]))
    assert cut.noisy[0] == 0
    assert cut.clipped == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1.0, 2.5]))
def test_a_cell_of_one_company_moves_as_far_as_the_rule_asks(seed, most):
    rng = np.random.default_rng(seed)
    n = 40
    company = rng.integers(0, 8, n)
    cell = company.copy()
    value, weight = rng.lognormal(3, 1, n), rng.uniform(1, most, n)
    m = multipliers(company, np.arange(n), seed.to_bytes(32, "big"), D1)
    found = cell_noise(cell, company, value, weight, m, p=10)
    assert not found.unprotected.any()
    assert surely_protected(D1, 10, weight).all()
    assert found.companies.max(initial=0) == 1


def test_known_weights_can_leave_a_cell_short():
    """The card's counter-example: x 100, w = known 3, p = 10: needed 30, change 10 to 20."""
    one = np.array([0])
    found = cell_noise(
        one, one, np.array([100.0]), np.array([3.0]), np.array([1.2]), p=10, known_weight=np.array([3.0])
    )
    assert found.needed[0] == pytest.approx(30)
    assert found.change[0] == pytest.approx(20)
    assert found.unprotected[0]
    assert not surely_protected(D1, 10, np.array([3.0]), known_weight=3.0)[0]


def test_noisy_tables_add_up_and_keep_their_expectation():
    rng = np.random.default_rng(2)
    n = 300
    company, record, cell = rng.integers(0, 60, n), np.arange(n), rng.integers(0, 12, n)
    value, weight = rng.lognormal(3, 1, n), np.ones(n)
    totals = []
    for seed in range(400):
        m = multipliers(company, record, seed.to_bytes(32, "big"), D1)
        fine = cell_noise(cell, company, value, weight, m, p=10)
        coarse = cell_noise(cell // 3, company, value, weight, m, p=10)
        assert coarse.noisy == pytest.approx(fine.noisy.reshape(-1, 3).sum(axis=1))
        totals.append(fine.noisy.sum())
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - value.sum()) < 4 * error


def test_balanced_directions_let_noise_cancel():
    rng = np.random.default_rng(3)
    n = 4000
    company, cell = rng.integers(0, 800, n), rng.integers(0, 20, n)
    value = rng.lognormal(3, 1.3, n)
    plain = directions(company, KEY)
    balanced = balanced_directions(company, cell, value, KEY)
    sums = [np.abs(np.bincount(cell, sign * value)).sum() for sign in (plain, balanced)]
    assert sums[1] < 0.3 * sums[0]
    pairs = np.unique(np.stack([company, balanced], axis=1), axis=0)
    assert len(pairs) == len(np.unique(company))
    order = rng.permutation(n)
    assert (balanced_directions(company[order], cell[order], value[order], KEY) == balanced[order]).all()
    kept = {int(c): int(s) for c, s in pairs[:100]}
    again = balanced_directions(company, cell, value, bytes(32), kept=kept)
    assert all(again[company == c][0] == s for c, s in kept.items())


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.2), (1.1, 2.0), (1.2, 1.1), (1.1, 1.1)])
def test_zones_that_cannot_be_are_refused(a, b):
    with pytest.raises(ParameterError, match="1 < a < b < 2"):
        NoiseZone(a, b)


def test_alpha_and_beta_at_their_ends():
    before, needed = np.array([100.0, 50.0, 0.0]), np.array([10.0, -5.0, 1.0])
    still = noise_errors(before, before, needed)
    assert (still.alpha, still.beta, still.skipped) == (1.0, 0.0, 1)
    calm = noise_errors(before[:2], np.array([101.0, 51.0]), np.array([-1.0, 0.0]))
    assert calm.alpha == 0
    assert calm.beta == pytest.approx(calm.approximate_beta)
    scaled = noise_errors(before * 7, before * 7 * 1.05, needed * 7)
    plain = noise_errors(before, before * 1.05, needed)
    assert (scaled.alpha, scaled.beta) == pytest.approx((plain.alpha, plain.beta))
    with pytest.raises(InputError, match="missing"):
        noise_errors(before, before, np.array([np.nan, 1, 1]))


def test_more_noise_hurts_more():
    """Card 003-26, ORDERING: beta of D1 exceeds that of D2 in every table; alpha does not."""
    rng = np.random.default_rng(4)
    n = 6000
    company = rng.integers(0, 600, n)
    value, weight = rng.lognormal(3, 1.5, n), rng.uniform(1, 3, n)
    for cells in (20, 400, 3000):
        cell = rng.integers(0, cells, n)
        betas, alphas = [], []
        for zone in (D1, D2):
            found = [
                cell_noise(
                    cell, company, value, weight, multipliers(company, np.arange(n), s.to_bytes(32, "big"), zone), p=10
                )
                for s in range(5)
            ]
            errors = [noise_errors(f.plain, f.noisy, f.needed) for f in found]
            betas.append(np.mean([e.beta for e in errors]))
            alphas.append(np.mean([e.alpha for e in errors]))
        assert betas[0] > betas[1]
        assert alphas[0] <= alphas[1] + 1e-12
