"""Log-linear models against a slow Newton fit, and their error estimates against sums over all cells."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from discreet.errors import InputError, NeedsError, ParameterError
from discreet.measures import choose_log_linear, log_linear
from discreet.measures.population import fit_error
from discreet.measures.population.cells import SampleCells, sample_cells
from discreet.rules.key_counts import KeyCodes

NAMES = ("a", "b", "c")


def keys_of(columns: list[np.ndarray]) -> KeyCodes:
    return KeyCodes(NAMES[: len(columns)], tuple(columns), tuple(int(column.max()) + 1 for column in columns))


def drawn(seed: int, rows: int = 300) -> KeyCodes:
    """Keys that hang together."""
    rng = np.random.default_rng(seed)
    a = rng.integers(1, 5, rows)
    b = np.where(rng.random(rows) < 0.5, a, rng.integers(1, 5, rows))
    c = np.where(rng.random(rows) < 0.3, b % 3 + 1, rng.integers(1, 4, rows))
    return keys_of([a, b, c])


def slow_newton(table: np.ndarray, terms: list[tuple[int, ...]]) -> np.ndarray:
    """Poisson regression of all cells on indicators of all terms, by Newton steps with a pseudo-inverse."""
    columns = []
    cells = list(product(*(range(size) for size in table.shape)))
    for term in terms:
        for values in product(*(range(table.shape[axis]) for axis in term)):
            columns.append([all(cell[axis] == v for axis, v in zip(term, values, strict=True)) for cell in cells])
    z = np.array(columns, np.float64).T
    f = table.ravel().astype(np.float64)
    theta = np.linalg.lstsq(z, np.log(f + 0.5), rcond=None)[0]
    for _ in range(60):
        mean = np.exp(z @ theta)
        theta = theta + np.linalg.pinv(z.T @ (z * mean[:, None])) @ (z.T @ (f - mean))
    return np.exp(z @ theta).reshape(table.shape)


@pytest.mark.parametrize("terms", ["main", "two-way", [["a", "b"]], [["a", "b"], ["c", "b"]], [["a", "b", "c"]]])
def test_means_are_those_of_a_slow_newton_fit(terms: object) -> None:
    keys = drawn(1)
    cells = sample_cells(keys, fraction=0.1)
    table = np.zeros(cells.sizes, np.int64)
    np.add.at(table, tuple(column - 1 for column in keys.columns), 1)
    assert (table.sum(axis=2) > 0).all()  # so that the slow fit stays finite
    sets = {
        "main": [(0,), (1,), (2,)],
        "two-way": list(combinations(range(3), 2)),
    }
    asked = sets.get(str(terms)) or [tuple(sorted(NAMES.index(name) for name in term)) for term in terms]  # type: ignore[attr-defined]
    if len(asked) == 1 and len(asked[0]) == 2:
        asked.append((2,))
    expected = table / 0.1 if asked == [(0, 1, 2)] else slow_newton(table, asked) / 0.1
    found = log_linear(cells, terms, tolerance=1e-10, cycles=5_000)  # type: ignore[arg-type]
    assert found.mean == pytest.approx(expected[cells.codes], rel=1e-6)


def dense(cells: SampleCells, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = np.zeros(cells.sizes, np.int64)
    count[cells.codes] = cells.count
    return count, share * cells.persons


def test_error_estimates_are_sums_over_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formulas of the source, cell by cell with slopes by differences; and by logarithms of means."""
    rng = np.random.default_rng(2)
    cells = sample_cells(keys_of([rng.binomial(14, 0.4, 80) + 1 for _ in range(3)]), fraction=0.2)
    parts = [np.bincount(codes, cells.count) / cells.records for codes in cells.codes]
    count, mean = dense(cells, np.einsum("i,j,k->ijk", *parts))
    pi, h = 0.2, 1e-4

    def unique(m: np.ndarray) -> np.ndarray:
        return np.exp(-(1 - pi) * m)

    def match(m: np.ndarray) -> np.ndarray:
        return (1 - np.exp(-(1 - pi) * m)) / ((1 - pi) * m)

    expected, spread = [], []
    for chance in (unique, match):
        one = (chance(mean + h) - chance(mean - h)) / (2 * h)
        two = (chance(mean + h) - 2 * chance(mean) + chance(mean - h)) / h**2
        weight = mean * np.exp(-pi * mean)
        beyond = count - pi * mean
        expected.append(float((weight * (-one * beyond + two * (beyond**2 - count) / (2 * pi))).sum()))
        spread.append(float((weight**2 * (one**2 * pi * mean + two**2 * mean**2 / 2)).sum()) ** 0.5)
    found = log_linear(cells).error
    assert (found.uniques, found.matches) == pytest.approx(expected, rel=1e-4)
    assert (found.uniques_deviation, found.matches_deviation) == pytest.approx(spread, rel=1e-4)
    monkeypatch.setattr(fit_error, "ONE_BY_ONE", 1)
    by_logarithm = log_linear(cells).error
    assert tuple(by_logarithm) == pytest.approx(tuple(found), rel=1e-3)


def test_the_first_error_estimate_has_the_closed_form_of_the_source() -> None:
    cells = sample_cells(drawn(3), fraction=0.25)
    parts = [np.bincount(codes, cells.count) / cells.records for codes in cells.codes]
    f, mean = dense(cells, np.einsum("i,j,k->ijk", *parts))
    pi = 0.25
    beyond = f - pi * mean
    expected = (mean * np.exp(-mean) * (1 - pi) * (beyond + (1 - pi) * (beyond**2 - f) / (2 * pi))).sum()
    assert log_linear(cells).error.uniques == pytest.approx(float(expected), rel=1e-9)


@pytest.fixture(scope="module")
def independent() -> tuple[KeyCodes, np.ndarray, np.ndarray]:
    """A population with independent keys, and who is sampled."""
    rng = np.random.default_rng(8)
    columns = [1 + np.minimum(rng.geometric(p, 60_000), 25) for p in (0.2, 0.3, 0.25)]
    return keys_of(columns), np.ravel_multi_index(columns, (30, 30, 30)), rng.random(60_000) < 0.05


def test_the_right_model_is_chosen_and_close(independent: tuple[KeyCodes, np.ndarray, np.ndarray]) -> None:
    keys, place, sampled = independent
    sample = keys_of([column[sampled] for column in keys.columns])
    cells = sample_cells(sample, fraction=0.05)
    population = np.bincount(place)
    f = np.bincount(place[sampled], minlength=len(population))
    alone = f == 1
    true = int((population[alone] == 1).sum()), float((1 / population[alone]).sum())
    found = choose_log_linear(cells)
    best = found[0].estimate
    assert abs(found[0].error.standardised) < 2.5
    assert best.uniques_interval is not None
    assert best.matches_interval is not None
    low, high = best.uniques_interval
    assert low - 10 < true[0] < high + 10
    assert best.matches == pytest.approx(true[1], rel=0.1)
    assert min(abs(one.error.standardised) for one in found) == abs(found[0].error.standardised)


def test_the_search_leaves_independence_where_keys_hang_together() -> None:
    cells = sample_cells(drawn(4, 3_000), fraction=0.1)
    found = choose_log_linear(cells)
    independent = next(one for one in found if one.name == "log-linear, main effects")
    assert independent.error.uniques > 0
    assert abs(found[0].error.standardised) <= abs(independent.error.standardised)


def test_weights_decide_means_and_fractions() -> None:
    keys = drawn(5)
    weight = np.where(keys.columns[0] == 1, 30.0, 5.0)
    cells = sample_cells(keys, weight)
    found = log_linear(cells)
    share = [np.bincount(codes, cells.population) / cells.persons for codes in cells.codes]
    expected = cells.persons * share[0][cells.codes[0]] * share[1][cells.codes[1]] * share[2][cells.codes[2]]
    assert found.mean == pytest.approx(expected)


def test_equal_weights_are_a_fraction() -> None:
    keys = drawn(6)
    by_weight, by_fraction = sample_cells(keys, np.full(len(keys), 10.0)), sample_cells(keys, fraction=0.1)
    assert log_linear(by_weight).estimate == log_linear(by_fraction).estimate


def test_terms_are_checked() -> None:
    cells = sample_cells(drawn(1), fraction=0.1)
    with pytest.raises(ParameterError, match=r"'d'"):
        log_linear(cells, [["a", "d"]])
    with pytest.raises(ParameterError, match=r"terms='all' is not allowed\."):
        log_linear(cells, "all")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"Terms that join 'a', 'b', 'c' have more than 3 cells\."):
        log_linear(cells, "two-way", most_cells=3)


def test_bad_samples_are_refused() -> None:
    keys = drawn(1)
    with pytest.raises(NeedsError, match=r"How much of the population the sample is must be known once\."):
        sample_cells(keys)
    with pytest.raises(ParameterError, match=r"fraction=1\.5 is not allowed\."):
        sample_cells(keys, fraction=1.5)
    weight = np.full(len(keys), 2.0)
    weight[[3, 7]] = 0.5, np.nan
    with pytest.raises(InputError, match=r"2 records have no weight or one below 1 \(row 4, 8\)\."):
        sample_cells(keys, weight)
    with pytest.raises(InputError, match=r"There are 300 records and 2 weights\."):
        sample_cells(keys, [1.0, 2.0])
    empty = KeyCodes(("a", "b"), (np.zeros(3, np.int64), np.ones(3, np.int64)), (1, 2))
    with pytest.raises(InputError, match=r"Key 'a' is empty in every record\."):
        sample_cells(empty, fraction=0.5)
    with pytest.raises(InputError, match=r"There are no records\."):
        sample_cells(KeyCodes(("a",), (np.zeros(0, np.int64),), (1,)), fraction=0.5)
