"""Published figures of multiplicative noise (cards 003-26)."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.measures.noise import noise_errors
from discreet.records.noise import NoiseZone
from tests.records.noise_in_floats import cell_noise, needed_protection


def test_the_worked_example():
    """Company A (100, w 1, m 1.12), (300, w 1.2, m 1.15); company B (50, w 1, m .88)."""
    company, value = np.array([0, 0, 1]), np.array([100.0, 300.0, 50.0])
    weight, m = np.array([1.0, 1.2, 1.0]), np.array([1.12, 1.15, 0.88])
    cell = np.zeros(3, np.int64)
    ten = cell_noise(cell, company, value, weight, m, p=10)
    assert (ten.plain[0], ten.noisy[0], ten.first[0], ten.second[0]) == pytest.approx((510, 561, 400, 50))
    assert ten.needed[0] == pytest.approx(-20)
    assert not ten.sensitive[0]
    twenty = cell_noise(cell, company, value, weight, m, p=20)
    assert twenty.needed[0] == pytest.approx(20)
    assert twenty.change[0] == pytest.approx(51)
    errors = noise_errors(twenty.plain, twenty.noisy, twenty.needed)
    assert errors.multiplier[0] == pytest.approx(2.55)


def test_two_companies_on_the_edge_of_the_rule():
    """w2 = 1, w1 = 1 + p/100: nothing is needed."""
    for p in (5.0, 10.0, 20.0):
        plain = np.array([(1 + p / 100) * 80 + 30])
        assert needed_protection(plain, np.array([80.0]), np.array([30.0]), p=p)[0] == pytest.approx(0)


@pytest.mark.parametrize("total", [3_400_000.0, 3_450_000.0])
def test_rounding_protects_too(total):
    needed = needed_protection(np.array([total]), np.array([3e6]), np.array([3.5e5]), p=10, round_unit=1e6)
    assert needed[0] == 150_000


def test_the_noise_zones():
    """Ranges of D1 and D2, mean distance and standard deviation of the multiplier."""
    for zone, mean, deviation in ((NoiseZone(1.1, 1.2), 0.1333, 0.1354), (NoiseZone(1.05, 1.15), 0.0833, 0.0866)):
        assert zone.mean_distance == pytest.approx(mean, abs=5e-5)
        assert zone.deviation == pytest.approx(deviation, abs=5.1e-5)
    ends = np.array([0.0, 1.0])
    assert NoiseZone(1.1, 1.2).distances(ends) == pytest.approx([0.1, 0.2])
    assert NoiseZone(1.05, 1.15).distances(ends) == pytest.approx([0.05, 0.15])


def test_alpha_of_table_4_from_its_one_short_cell():
    """One of 224 sensitive cells reaches .52 of what it must: alpha .00214."""
    before = np.full(224, 1000.0)
    needed = np.full(224, 10.0)
    after = before + 20.0
    after[0] = before[0] + 5.2
    assert noise_errors(before, after, needed).alpha == pytest.approx(0.00214, abs=5e-6)
