"""Log-linear models of weighted samples against a slow regression of all cells."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from discreet.errors import NeedsError, ParameterError
from discreet.measures import SampleCells, log_linear, survey_log_linear
from discreet.measures.population.cells import sample_cells
from discreet.rules.key_counts import KeyCodes

SETS = {"main": [(0,), (1,), (2,)], "two-way": list(combinations(range(3), 2))}


def sample(seed: int, rows: int = 150) -> SampleCells:
    """Three keys that hang together, and weights that depend on one of them and on chance."""
    rng = np.random.default_rng(seed)
    a = rng.integers(1, 5, rows)
    b = np.where(rng.random(rows) < 0.4, a, rng.integers(1, 5, rows))
    c = rng.integers(1, 7, rows)
    keys = KeyCodes(("a", "b", "c"), (a, b, c), (5, 5, 7))
    return sample_cells(keys, 3.0 + 5 * a + rng.integers(0, 10, rows))


def table_of(cells: SampleCells, values: np.ndarray) -> np.ndarray:
    table = np.zeros(cells.sizes)
    table[cells.codes] = values
    return table


def regression(
    count: np.ndarray, terms: list[tuple[int, ...]], offset: np.ndarray, more: list[np.ndarray]
) -> np.ndarray:
    """Poisson regression of all cells by Newton's steps, halved while the likelihood falls."""
    places = list(product(*(range(size) for size in count.shape)))
    columns = [
        [float(all(cell[axis] == v for axis, v in zip(term, values, strict=True))) for cell in places]
        for term in terms
        for values in product(*(range(count.shape[axis]) for axis in term))
    ]
    z = np.array([*columns, *(one.ravel() for one in more)]).T
    f, shift = count.ravel(), offset.ravel()
    theta = np.linalg.lstsq(z, np.log(f + 0.5) - shift, rcond=None)[0]

    def likelihood(at: np.ndarray) -> float:
        line = z @ at + shift
        return float(f @ line - np.exp(line).sum())

    for _ in range(200):
        mean = np.exp(z @ theta + shift)
        step = np.linalg.pinv(z.T @ (z * mean[:, None])) @ (z.T @ (f - mean))
        size = 1.0
        while likelihood(theta + size * step) < likelihood(theta) and size > 1e-9:
            size /= 2
        theta = theta + size * step
        if np.abs(step).max() < 1e-11:
            break
    return np.exp(z @ theta + shift).reshape(count.shape)


def by_hand(mean: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Population uniques and matches of sample uniques: ``exp(-v)`` and ``(1 - exp(-v)) / v``, v persons unseen."""
    unseen = mean * (weight - 1)
    return float(np.exp(-unseen).sum()), float(((1 - np.exp(-unseen)) / unseen).sum())


@pytest.mark.parametrize("terms", ["main", "two-way"])
@pytest.mark.parametrize("way", ["default", "IPF", "CE", "weightedLLM"])
@pytest.mark.parametrize("seed", range(2))
def test_each_way_is_a_regression_of_all_cells(terms: str, way: str, seed: int) -> None:
    cells = sample(seed, 400 if terms == "two-way" else 150)
    count, weight = table_of(cells, cells.count), table_of(cells, cells.population)
    none = np.zeros(count.shape)
    rate = np.full(count.shape, cells.records / cells.persons)
    rate[count > 0] = (count / np.maximum(weight, 1))[count > 0]
    offset = np.log(rate) if way == "CE" else none
    more = [weight / weight.max()] if way == "weightedLLM" else []
    slow = regression(count, SETS[terms], offset, more)[cells.codes]
    found = survey_log_linear(cells, terms, way, tolerance=1e-10, cycles=5_000)  # type: ignore[arg-type]
    assert found.mean * cells.fractions == pytest.approx(slow, rel=1e-5)
    alone = cells.alone
    expected = by_hand(slow[alone], cells.population[alone])
    assert (found.estimate.uniques, found.estimate.matches) == pytest.approx(expected, rel=1e-5)
    assert found.match.sum() == pytest.approx(found.estimate.matches)


def test_pseudo_likelihood_fits_sums_of_weights() -> None:
    cells = sample(4)
    weight = table_of(cells, cells.population)
    slow = regression(weight, SETS["main"], np.zeros(weight.shape), [])[cells.codes]
    found = survey_log_linear(cells, way="PML")
    assert found.mean == pytest.approx(slow, rel=1e-6)
    assert found.mean == pytest.approx(log_linear(cells).mean)
    assert "pseudo likelihood" in found.name


def test_a_constant_is_added_to_every_fraction() -> None:
    cells = sample(5)
    count, weight = table_of(cells, cells.count), table_of(cells, cells.population)
    rate = np.where(count > 0, count / np.maximum(weight, 1), 0.0) + 0.1
    slow = regression(count, SETS["main"], np.log(rate), [])[cells.codes]
    found = survey_log_linear(cells, way="CE", added=0.1, tolerance=1e-11, cycles=20_000)
    assert found.mean * cells.fractions == pytest.approx(slow, rel=1e-6)
    assert found.estimate.matches != pytest.approx(survey_log_linear(cells, way="CE").estimate.matches, rel=1e-3)


@pytest.mark.parametrize("way", ["default", "IPF", "CE", "PML"])
def test_equal_weights_give_the_model_without_weights(way: str) -> None:
    rng = np.random.default_rng(6)
    keys = KeyCodes(("a", "b"), (rng.integers(1, 9, 90), rng.integers(1, 9, 90)), (9, 9))
    plain = log_linear(sample_cells(keys, fraction=0.1)).estimate
    found = survey_log_linear(sample_cells(keys, np.full(90, 10.0)), way=way).estimate  # type: ignore[arg-type]
    assert found.uniques == pytest.approx(plain.uniques, rel=1e-6)
    assert found.matches == pytest.approx(plain.matches, rel=1e-6)
    assert found.uniques_bias == pytest.approx(plain.uniques_bias, rel=1e-5)


def test_error_estimates_judge_the_counts_of_the_sample() -> None:
    cells = sample(7)
    count, pi = table_of(cells, cells.count), cells.fraction
    found = survey_log_linear(cells, way="CE", tolerance=1e-11, cycles=20_000)
    weight = table_of(cells, cells.population)
    rate = np.where(count > 0, count / np.maximum(weight, 1), pi)
    mean = regression(count, SETS["main"], np.log(rate), []) / pi
    beyond = count - pi * mean
    expected = (mean * np.exp(-mean) * (1 - pi) * (beyond + (1 - pi) * (beyond**2 - count) / (2 * pi))).sum()
    assert found.error.uniques == pytest.approx(float(expected), rel=1e-5)


def test_a_slope_without_end_is_said_and_no_number_given() -> None:
    """All records stand where both keys agree, and no table with these margins has more in occupied cells."""
    codes = np.repeat([1, 2, 3], 4)
    cells = sample_cells(KeyCodes(("a", "b"), (codes, codes), (4, 4)), np.full(12, 5.0))
    found = survey_log_linear(cells, way="weightedLLM")
    assert not found.estimate.fitted
    assert "no highest point" in found.estimate.notes[0]


def test_what_is_refused() -> None:
    cells = sample(8)
    with pytest.raises(ParameterError, match="way='clogg' is not allowed") as refused:
        survey_log_linear(cells, way="clogg")  # type: ignore[arg-type]
    assert "'CE', 'PML'" in str(refused.value.hint)
    with pytest.raises(ParameterError, match=r"added=0.1 is not allowed"):
        survey_log_linear(cells, added=0.1)
    with pytest.raises(ParameterError, match="added=0 is not allowed"):
        survey_log_linear(cells, way="CE", added=0)
    with pytest.raises(NeedsError, match="one fraction for all"):
        survey_log_linear(sample_cells(KeyCodes(("a",), (np.array([1, 2]),), (3,)), fraction=0.5), way="CE")
    with pytest.raises(ParameterError, match="have more than 20 cells"):
        survey_log_linear(cells, way="CE", most_cells=20)


def test_a_sample_without_uniques_has_none_at_risk() -> None:
    codes = np.repeat([1, 2], 6)
    keys = KeyCodes(("a", "b"), (codes, np.tile([1, 1, 1, 2, 2, 2], 2)), (3, 3))
    for way in ("default", "CE", "PML"):
        found = survey_log_linear(sample_cells(keys, np.full(12, 4.0)), way=way).estimate  # type: ignore[arg-type]
        assert (found.uniques, found.matches) == (0, 0)
