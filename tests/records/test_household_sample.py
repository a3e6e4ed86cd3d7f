"""A systematic sample of households, and strata that are no areas; checks 1 and 2 of card 003-31."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InputError, ParameterError
from discreet.records.household_sample import draw_systematic, pseudo_strata


def people(seed: int, districts: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Households of one to six, by district, in no order."""
    draw = np.random.default_rng(seed)
    homes = [np.full(draw.integers(30, 90), number) for number in range(districts)]
    area = np.concatenate(homes)
    sizes = draw.integers(1, 7, len(area))
    household = np.repeat(draw.permutation(len(area)) * 7 + 3, sizes)
    area = np.repeat(area, sizes)
    order = draw.permutation(len(area))
    return household[order], area[order]


@pytest.mark.parametrize("density", [0.05, 0.07, 0.3, 1.0])
@pytest.mark.parametrize("start", [0.0, 0.41, 0.999])
def test_households_are_whole_and_every_district_has_its_share(density: float, start: float) -> None:
    household, area = people(4)
    chosen = draw_systematic(household, area, density, start)
    for number in np.unique(household):
        assert len(set(chosen[household == number])) == 1
    for district in np.unique(area):
        there = len(np.unique(household[area == district]))
        drawn = len(np.unique(household[(area == district) & chosen]))
        assert abs(drawn - density * there) <= 1
    every, drawn = len(np.unique(household)), len(np.unique(household[chosen]))
    assert abs(drawn / density - every) <= 1 / density


def test_every_household_is_drawn_by_one_start_in_n() -> None:
    household, area = people(9)
    times = np.zeros(len(household), int)
    for start in range(20):
        times += draw_systematic(household, area, 0.05, (start + 0.5) / 20)
    assert set(times) == {1}


def test_persons_of_collective_dwellings_are_drawn_one_by_one() -> None:
    household = np.zeros(200, np.int64)
    chosen = draw_systematic(household, household, 0.1, 0.0, np.ones(200, np.bool_))
    assert chosen.sum() == 20


def test_the_mean_varies_less_than_under_simple_random_sampling() -> None:
    """Exact variance over the 20 starts, 60 populations of 400 districts of 500 with a strong effect of districts."""
    ratios = []
    for seed in range(60):
        draw = np.random.default_rng(1000 + seed)
        chance = 1 / (1 + np.exp(-draw.normal(-1, 1.2, 400)))
        value = (draw.random((400, 500)) < chance[:, None]).reshape(-1).astype(float)
        means = value.reshape(-1, 20).mean(axis=0)  # unit p belongs to the sample of start p mod 20
        size, every = len(value) // 20, len(value)
        simple = value.var(ddof=1) / size * (1 - size / every)
        ratios.append(means.var() / simple)
        if seed == 0:
            area = np.repeat(np.arange(400), 500)
            for start in (0, 7, 19):
                chosen = draw_systematic(np.arange(every), area, 0.05, (start + 0.5) / 20)
                assert value[chosen].mean() == pytest.approx(means[start])
    assert np.mean(ratios) < 0.92


def test_members_in_two_areas_and_bad_shares_are_refused() -> None:
    one = np.zeros(2, np.int64)
    with pytest.raises(InputError, match="different areas"):
        draw_systematic(one, np.array([0, 1]), 0.5, 0.0)
    for density in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(ParameterError, match="density"):
            draw_systematic(one, one, density, 0.0)


def test_strata_stand_for_as_many_persons_as_areas_must() -> None:
    draw = np.random.default_rng(3)
    area = np.sort(draw.integers(0, 5, 2_000))
    persons = draw.integers(1, 6, 2_000).astype(float)
    strata = pseudo_strata(area, draw.random(2_000), persons, 300.0, draw.integers(0, 2**60, 2_000, np.uint64))
    for number in np.unique(strata):
        inside = strata == number
        assert len(np.unique(area[inside])) == 1
        assert persons[inside].sum() >= 300
    assert len(np.unique(strata)) > 10
    assert abs(np.corrcoef(strata, area)[0, 1]) < 0.5  # numbers tell no order
