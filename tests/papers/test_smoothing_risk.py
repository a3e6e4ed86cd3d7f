"""Card 003-08: negative binomial smoothing of sample counts (Rinott and Shlomo 2006)."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.measures import CloseCells, cell_risk, smoothed_risk, unique_risk, weight_only
from discreet.measures.population.cells import sample_cells
from discreet.measures.population.formulas import success_probability
from discreet.measures.population.log_linear import log_linear
from discreet.measures.population.smoothing_kernels import local_derivatives, local_likelihood
from discreet.rules.key_counts import KeyCodes

GOLDEN = [
    (0.4, 0.5, 0.1, 0.40000000, 0.06400000, 0.28000000),
    (0.05, 2.0, 0.1, 0.55000000, 0.40789092, 0.63159593),
    (0.02, 1.0, 0.02, 0.51000000, 0.26010000, 0.51000000),
    (1.3, 0.25, 0.02, 0.07681159, 0.00000267, 0.02079990),
]


@pytest.mark.parametrize(("mu", "a", "pi", "rho", "unique", "match"), GOLDEN)
def test_golden_values(mu: float, a: float, pi: float, rho: float, unique: float, match: float) -> None:
    found = unique_risk(mu, a, pi)
    assert float(success_probability(mu, a, pi)) == pytest.approx(rho, abs=1e-7 / 2)
    assert (float(found.unique), float(found.match)) == pytest.approx((unique, match), abs=1e-7 / 2)


def test_golden_values_of_cells_with_several_records() -> None:
    """Shape 0.7 and rho 0.4, which a mean of 0.14 gives with a tenth of the population."""
    assert float(unique_risk(0.14, 1 / 0.7, 0.1).unique) == pytest.approx(0.21062115, abs=1e-7 / 2)
    found = cell_risk([1, 2, 5], 0.14, 1 / 0.7, 0.1)
    assert found == pytest.approx([0.45090202, 0.21533254, 0.08272745], abs=1e-7 / 2)


@pytest.mark.parametrize(
    ("axes", "c", "d", "size"),
    [
        (3, 2, None, 125),
        (3, 3, None, 343),
        (5, 2, 4, 581),
        (5, 2, 6, 1893),
        (4, 2, 4, 257),
        (4, 2, 6, 545),
        (4, 2, 8, 625),
    ],
)
def test_sizes_of_neighbourhoods(axes: int, c: int, d: int | None, size: int) -> None:
    assert len(CloseCells(c=c, d=d).offsets(axes)) == size


def test_derivatives_are_those_of_the_likelihood() -> None:
    rng = np.random.default_rng(4)
    f = rng.negative_binomial(0.8, 0.4, 30).astype(float)
    assert (f == 0).any()
    z = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    offset = rng.normal(0, 0.2, 30)
    at = np.array([0.3, -0.4, 0.2, 0.1, 0.7])  # the last is the spread

    def value(where: np.ndarray) -> float:
        return local_likelihood(f, z, offset, 30, 4, where[:4].copy(), where[4])

    def slopes(where: np.ndarray) -> np.ndarray:
        slope, bend = np.zeros(5), np.zeros((5, 5))
        local_derivatives(f, z, offset, 30, 4, where[:4].copy(), where[4], slope, bend)
        return slope

    slope, bend = np.zeros(5), np.zeros((5, 5))
    reached = local_derivatives(f, z, offset, 30, 4, at[:4].copy(), at[4], slope, bend)
    assert reached == pytest.approx(value(at), rel=1e-12)
    for j in range(5):
        step = np.zeros(5)
        step[j] = 1e-5
        assert slope[j] == pytest.approx((value(at + step) - value(at - step)) / 2e-5, abs=1e-6)
        assert bend[j] == pytest.approx((slopes(at + step) - slopes(at - step)) / 2e-5, abs=1e-6)


def test_both_limits() -> None:
    mu, pi = np.meshgrid([0.02, 0.3, 2.0], [0.02, 0.05, 0.1])
    far, poisson = unique_risk(mu, 1e-6, pi), unique_risk(mu, 0.0, pi)
    assert np.abs(far.unique - poisson.unique).max() < 1e-6
    assert np.abs(far.match - poisson.match).max() < 1e-6
    unseen = mu * (1 - pi) / pi
    assert poisson.unique == pytest.approx(np.exp(-unseen))
    assert poisson.match == pytest.approx((1 - np.exp(-unseen)) / unseen)
    wide, weights = unique_risk(mu, 1e6, pi), unique_risk(mu, np.inf, pi)
    assert np.abs(wide.unique - weights.unique).max() < 1e-5
    assert np.abs(wide.match - weights.match).max() < 1e-5
    assert weights.unique == pytest.approx(pi)
    assert weights.match == pytest.approx(-pi * np.log(pi) / (1 - pi))
    assert np.abs(success_probability(mu, 1e-6, pi) - 1).max() < 2e-4  # one less a share of a of the mean unseen
    assert np.abs(success_probability(mu, 1e6, pi) - pi).max() < 1e-5


def test_a_whole_population_is_certain() -> None:
    found = smoothed_risk(np.random.default_rng(1).poisson(0.5, (6, 6)), 1.0, [0, 1])
    assert (found.unique == 1).all()
    assert (found.match == 1).all()


def test_known_parameters_give_the_true_numbers_on_average() -> None:
    """Check 6: 50 tables from the model with one shape and scale."""
    rng, shape, mean, pi = np.random.default_rng(11), 0.8, 0.3, 0.1
    off = []
    for _ in range(50):
        population = rng.poisson(rng.gamma(shape, mean / pi / shape, 4_000))
        sample = rng.binomial(population, pi)
        alone = sample == 1
        risk = unique_risk(mean, 1 / shape, pi)
        true = (population[alone] == 1).sum(), (1 / population[alone]).sum()
        off.append((alone.sum() * risk.unique - true[0], alone.sum() * risk.match - true[1]))
    errors = np.array(off, np.float64)
    assert (np.abs(errors.mean(axis=0)) < 3 * errors.std(axis=0, ddof=1) / 50**0.5).all()


def test_fractions_that_differ_change_only_neighbours() -> None:
    """Check 7."""
    rng = np.random.default_rng(2)
    table = rng.poisson(0.4, (14, 14))
    fraction = np.full(table.shape, 0.1)
    before = smoothed_risk(table, fraction, [0, 1])
    fraction[3, 3] = 0.2
    after = smoothed_risk(table, fraction, [0, 1])
    near = np.abs(before.cells - 3).max(axis=1) <= 2
    assert (before.match[~near] == after.match[~near]).all()
    assert (before.match[near] != after.match[near]).all()
    assert near.any()


def test_one_fraction_for_all_cells_is_the_same_as_one_number() -> None:
    table = np.random.default_rng(2).poisson(0.4, (9, 9))
    one, each = (smoothed_risk(table, pi, [0, 1]) for pi in (0.1, np.full(table.shape, 0.1)))
    assert one.match == pytest.approx(each.match, rel=1e-12)


def test_an_isolated_unique_is_flagged_and_riskier_than_one_in_a_crowd() -> None:
    """Check 8."""
    table = np.zeros((15, 5, 5), int)
    table[2, 2, 2] = 1
    table[8:14] = 3
    table[11, 2, 2] = 1
    found = smoothed_risk(table, 0.1, [0, 1, 2])
    assert found.flat.tolist() == [True, False]
    assert found.unique[0] == pytest.approx(0.9305, abs=5e-5)
    assert found.match[0] == pytest.approx(0.9648, abs=5e-5)
    assert found.occupied.tolist() == [0, 124]
    assert found.unique[1] < 0.01
    assert "1 sample unique has fewer than three neighbours" in found.estimate.notes[0]


def test_weights_alone_on_equal_weights() -> None:
    """Check 9."""
    codes = np.arange(1, 41)
    found = weight_only(sample_cells(KeyCodes(("key",), (codes,), (41,)), weight=np.full(40, 8.0)))
    assert (found.uniques, found.matches) == pytest.approx((40 / 8, 40 * np.log(8) / 7))


@pytest.mark.parametrize(
    ("population", "sample", "uniques", "matches", "implied"),
    [(37_586, 3_759, 137.2, 346.4, 1_360), (746_949, 14_939, 114.5, 456.0, 5_720), (746_949, 7_470, 20.7, 95.4, 2_060)],
)
def test_both_printed_numbers_of_weights_alone_imply_the_same_uniques(population, sample, uniques, matches, implied):
    """The rows of the other tool in the three examples are those of weights alone, to 1.5 %."""
    pi = sample / population
    one = unique_risk(0.0, np.inf, pi)
    by_uniques, by_matches = uniques / float(one.unique), matches / float(one.match)
    assert by_uniques == pytest.approx(by_matches, rel=0.015)
    assert (by_uniques + by_matches) / 2 == pytest.approx(implied, rel=0.005)


@pytest.mark.parametrize(
    ("sizes", "cells"), [((2, 32, 14, 13), 11_648), ((2, 16, 10, 11, 12, 8), 337_920), ((2, 16, 10, 11, 12), 42_240)]
)
def test_sizes_of_the_tables_of_the_examples(sizes, cells):
    """All of them are held at once: a unique in the middle has a risk, and all cells were looked at."""
    table = np.zeros(sizes, np.int64)
    table[tuple(size // 2 for size in sizes)] = 1
    found = smoothed_risk(table, 0.1, [1, 2])
    assert table.size == cells
    assert found.cells.tolist() == [[size // 2 for size in sizes]]


@pytest.fixture(scope="module")
def stand_in() -> tuple[np.ndarray, np.ndarray]:
    """A smooth density with Gamma(1.2) noise of cells, of the size of the first example: population and sample."""
    rng, shape = np.random.default_rng(5), (2, 32, 14, 13)
    grid = np.meshgrid(*[np.linspace(-1, 1, size) for size in shape], indexing="ij")
    log = sum(rng.normal() * x - rng.uniform(1, 3) * (x - rng.normal(0, 0.3)) ** 2 for x in grid)
    density = np.exp(log) * rng.gamma(1.2, 1, shape)
    population = rng.multinomial(37_586, (density / density.sum()).ravel())
    sample = rng.multivariate_hypergeometric(population, 3_759, method="marginals")
    return population.reshape(shape), sample.reshape(shape)


def test_weights_alone_are_far_lower_than_all_others(stand_in: tuple[np.ndarray, np.ndarray]) -> None:
    """The ordering of the three examples: weights alone are far too low, and smoothing comes close."""
    population, sample = stand_in
    alone = sample == 1
    true = int((population[alone] == 1).sum()), float((1 / population[alone]).sum())
    codes = [np.repeat(axis, sample[sample > 0]) + 1 for axis in np.nonzero(sample)]
    cells = sample_cells(KeyCodes(("a", "b", "c", "d"), tuple(codes), (3, 33, 15, 14)), fraction=0.1)
    weights = weight_only(cells)
    smoothed = smoothed_risk(sample, 0.1, [1, 2, 3])
    assert smoothed.converged.all()
    assert cells.uniques == smoothed.estimate.sample_uniques == int(alone.sum())
    independent, pairs = log_linear(cells).estimate, log_linear(cells, "two-way").estimate
    for other in (independent, pairs, smoothed.estimate):
        assert weights.uniques < other.uniques
        assert weights.matches < other.matches
    assert abs(smoothed.estimate.matches - true[1]) < 0.1 * true[1]
    assert abs(smoothed.estimate.uniques - true[0]) < 0.2 * true[0]
    assert weights.matches < 0.85 * true[1]


def test_estimates_grow_with_the_neighbourhood(stand_in: tuple[np.ndarray, np.ndarray]) -> None:
    """As in examples 2 and 3, and in the card's stand-ins; not guaranteed."""
    _, sample = stand_in
    found = [smoothed_risk(sample, 0.1, [1, 2, 3], CloseCells(c=c)).estimate.uniques for c in (1, 2)]
    assert found == sorted(found)
