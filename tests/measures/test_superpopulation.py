"""Superpopulation models against populations that were drawn from them, and against sums."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.stats import betabinom, hypergeom

from discreet.errors import InputError, ParameterError
from discreet.measures import pitman, shifted_negative_binomial, superpopulation, zayatz
from discreet.measures.population.superpopulation import pitman_risk


def sampled(population: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, float, float]:
    """Counts of a sample, and how many of its uniques are unique and matched in truth."""
    counts = np.random.default_rng(seed).binomial(population, fraction)
    alone = counts == 1
    return counts[counts > 0], float((population[alone] == 1).sum()), float((1 / population[alone]).sum())


@pytest.fixture(scope="module")
def seated() -> np.ndarray:
    """Classes of a population that was drawn by Pitman's model, person by person."""
    draw = random.Random(4)
    theta, alpha = 200.0, 0.6
    sizes: list[int] = []
    own: list[int] = []
    for person in range(60_000):
        if draw.random() < (theta + alpha * len(sizes)) / (theta + person):
            own.append(len(sizes))
            sizes.append(1)
            continue
        while True:
            table = own[draw.randrange(person)]
            if draw.random() < (sizes[table] - alpha) / sizes[table]:
                break
        sizes[table] += 1
        own.append(table)
    return np.array(sizes)


@pytest.mark.parametrize("fraction", [0.05, 0.3])
def test_pitman_finds_what_it_drew(seated: np.ndarray, fraction: float) -> None:
    counts, uniques, matches = sampled(seated, fraction, 1)
    found = pitman(counts, fraction)
    assert found.uniques == pytest.approx(uniques, rel=0.15)
    assert found.matches == pytest.approx(matches, rel=0.1)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("theta", "alpha", "records", "persons"),
    [
        (10, 0.4, 50, 500),
        (3, 0.0, 20, 100),
        (3, 1e-5, 20, 100),
        (3, 9e-4, 20, 100),
        (3, 1.1e-3, 20, 100),
        (80, 1e-6, 500, 90_000),
        (-0.2, 0.5, 20, 1000),
        (5, 0.9, 30, 30),
    ],
)
def test_pitman_risk_is_the_sum_over_the_beta_binomial(theta: float, alpha: float, records: int, persons: int) -> None:
    others = np.arange(persons - records + 1)
    chance = betabinom.pmf(others, persons - records, 1 - alpha, theta + records - 1 + alpha)
    expected = float(chance[0]), float((chance / (1 + others)).sum())
    assert pitman_risk(theta, alpha, records, persons) == pytest.approx(expected, rel=1e-6)


def test_pitman_without_a_tail_is_ewens() -> None:
    population = 1 + np.random.default_rng(1).negative_binomial(0.8, 0.3, 20_000)
    counts, _, _ = sampled(population, 0.05, 2)
    found = pitman(counts, 0.05)
    assert found.fitted
    assert found.notes == ("Pitman's second parameter is 0: the model is that of Ewens.",)


@pytest.mark.parametrize("fraction", [0.1, 0.3])
def test_the_shifted_negative_binomial_finds_what_it_drew(fraction: float) -> None:
    population = 1 + np.random.default_rng(3).negative_binomial(0.8, 0.3, 60_000)
    counts, uniques, matches = sampled(population, fraction, 4)
    found = shifted_negative_binomial(counts, fraction)
    assert found.uniques == pytest.approx(uniques, rel=0.15)
    assert found.matches == pytest.approx(matches, rel=0.05)


def test_zayatz_is_the_rule_of_bayes_with_the_classes_of_the_sample() -> None:
    counts = np.array([1] * 5 + [2] * 3 + [4])
    records, persons = 15, 30
    chance = {size: many * hypergeom.pmf(1, persons, size, records) for size, many in ((1, 5), (2, 3), (4, 1))}
    total = sum(chance.values())
    found = zayatz(counts, 0.5)
    assert found.uniques == pytest.approx(5 * chance[1] / total)
    assert found.matches == pytest.approx(5 * sum(one / size for size, one in chance.items()) / total)


def test_classes_that_a_sample_must_hold_twice_do_not_count() -> None:
    """A class of ten cannot have one record in a sample that leaves out two persons."""
    found = zayatz(np.array([1] * 8 + [10]), 18 / 20)
    assert found.uniques == pytest.approx(8)


def test_the_rule_chooses_by_the_fraction(seated: np.ndarray) -> None:
    small, large = (superpopulation(sampled(seated, pi, 1)[0], pi) for pi in (0.1, 0.3))
    assert small[0].model == "Pitman"
    assert "Chosen among superpopulation models" in small[0].notes[-1]
    rest = {one.model: one for one in large}
    smaller = min(rest["Zayatz"].uniques, rest["shifted negative binomial"].uniques)
    assert large[0].uniques == smaller
    assert len(small) == len(large) == 3


def test_what_cannot_be_fitted_says_so() -> None:
    found = superpopulation(np.ones(50, np.int64), 0.05)
    assert found[0].model == "Zayatz"
    refused = next(one for one in found if one.model == "Pitman")
    assert not refused.fitted
    assert np.isnan(refused.uniques)
    assert refused.notes == ("Every record is unique: nothing tells how many share keys.",)
    assert refused.summary().startswith("Pitman: not fitted of 50 sample uniques.")
    assert refused.uniques_interval is None


def test_no_uniques_are_no_risk_and_a_whole_population_is_certain() -> None:
    assert [one.matches for one in superpopulation([2, 3, 3], 0.1)] == [0.0, 0.0, 0.0]
    for one in superpopulation([1, 1, 2, 3, 1, 5], 1.0):
        assert one.matches == pytest.approx(3)
        assert one.uniques == pytest.approx(3)


@pytest.mark.parametrize("counts", [[], [0, 1], [1.5]])
def test_counts_must_be_whole_and_there(counts: list[float]) -> None:
    with pytest.raises(InputError, match=r"Counts of records must be whole numbers from 1 on\."):
        pitman(counts, 0.1)


def test_fractions_must_be_shares() -> None:
    with pytest.raises(ParameterError, match=r"fraction=0 is not allowed\."):
        zayatz([1, 2], 0)
