"""Record swapping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, ParameterError
from discreet.records.swapping import household_profiles, swapped_households, with_swapped_areas

KEY = bytes(range(32))


def households(seed: int, n: int, areas: int = 20, profiles: int = 6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    area = rng.integers(0, areas, n)
    return np.arange(n), area, area // 5, rng.integers(0, profiles, n)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 400), st.sampled_from([0.05, 0.1, 0.5, 1.0]), st.integers(1, 40))
def test_swapping_keeps_what_it_matches_on(seed, n, rate, profiles):
    identity, area, broad, profile = households(seed, n, profiles=profiles)
    swaps = swapped_households(identity, area, broad, profile, KEY, rate=rate)
    used = np.concatenate([swaps.first, swaps.second])
    assert len(np.unique(used)) == len(used)
    assert swaps.rate == pytest.approx(len(used) / n)
    assert (area[swaps.first] != area[swaps.second]).all()
    assert (broad[swaps.first] == broad[swaps.second]).all()
    assert (profile[swaps.first] == profile[swaps.second]).all()
    assert not set(swaps.alone.tolist()) & set(used.tolist())
    after = with_swapped_areas(area, swaps)
    assert (broad == after // 5).all()
    # Area by profile counts of households stay what they were.
    assert sorted(zip(area, profile, strict=True)) == sorted(zip(after, profile, strict=True))


def test_the_order_of_the_file_is_nothing():
    columns = households(1, 500)
    order = np.random.default_rng(2).permutation(500)
    plain = with_swapped_areas(columns[1], swapped_households(*columns, KEY))
    mixed = tuple(column[order] for column in columns)
    assert with_swapped_areas(mixed[1], swapped_households(*mixed, KEY)).tolist() == plain[order].tolist()
    assert with_swapped_areas(columns[1], swapped_households(*columns, bytes(32))).tolist() != plain.tolist()


def test_the_achieved_rate_is_that_of_the_card():
    """About 2 rate - rate^2 where partners are plentiful."""
    columns = households(3, 20_000)
    swaps = swapped_households(*columns, KEY, rate=0.1)
    assert swaps.rate == pytest.approx(0.19, abs=0.01)
    assert len(swaps.alone) == 0


def test_risky_households_are_selected_first():
    columns = households(4, 4000)
    risk = np.where(np.arange(4000) % 10 == 0, 50.0, 1.0)
    swaps = swapped_households(*columns, KEY, rate=0.05, risk=risk)
    moved = np.zeros(4000, bool)
    moved[swaps.first] = moved[swaps.second] = True
    assert moved[risk > 1].mean() > 5 * moved[risk == 1].mean()
    never = swapped_households(*columns, KEY, rate=1.0, risk=np.zeros(4000))
    assert never.rate == 0


def test_a_household_without_a_partner_is_reported():
    identity, area = np.arange(3), np.array([0, 1, 2])
    swaps = swapped_households(identity, area, np.zeros(3, int), np.array([0, 0, 1]), KEY, rate=1.0)
    assert swaps.alone.tolist() == [2]


def test_profiles_are_equal_for_equal_households():
    household = np.array([0, 0, 1, 1, 2, 3])
    age_sex = np.array([1, 2, 2, 1, 1, 2])
    profile = household_profiles(household, age_sex)
    assert profile[0] == profile[1]
    assert len({profile[0], profile[2], profile[3]}) == 3
    crowded = household_profiles(np.repeat([0, 1], [8, 11]))
    assert crowded[0] == crowded[1]


def test_after_swapping_areas_and_a_free_variable_are_less_related():
    """Card 003-07, check 6: Cramér's V falls."""
    rng = np.random.default_rng(5)
    n = 8000
    area = rng.integers(0, 20, n)
    kind = (rng.random(n) < area / 20).astype(int)
    swaps = swapped_households(np.arange(n), area, np.zeros(n, int), rng.integers(0, 4, n), KEY, rate=0.1)
    assert cramers_v(with_swapped_areas(area, swaps), kind) < cramers_v(area, kind)


def cramers_v(one: np.ndarray, two: np.ndarray) -> float:
    table = np.zeros((one.max() + 1, two.max() + 1))
    np.add.at(table, (one, two), 1)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum()))


def test_bad_households_are_refused():
    identity, area, broad, profile = households(6, 10)
    with pytest.raises(ParameterError, match="rate=0"):
        swapped_households(identity, area, broad, profile, KEY, rate=0)
    with pytest.raises(InputError, match="stands there twice"):
        swapped_households(np.zeros(10, int), area, broad, profile, KEY)
    with pytest.raises(InputError, match="two broad areas"):
        swapped_households(identity, np.zeros(10, int), np.arange(10) % 2, profile, KEY)
