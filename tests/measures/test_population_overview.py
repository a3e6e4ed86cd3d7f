"""All models by one call, records and registers by their keys, and the result that all share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import poisson

from discreet.errors import InputError, NeedsError, ParameterError
from discreet.measures import (
    PopulationEstimate,
    aligned_tables,
    household_risk,
    key_cells,
    log_linear,
    population_estimates,
    sample_risk,
    weight_only,
)
from discreet.measures.population import overview
from discreet.measures.population.cells import sample_cells
from discreet.rules.key_counts import KeyCodes


@pytest.fixture(scope="module")
def population() -> pa.Table:
    rng = np.random.default_rng(1)
    rows = 20_000
    age = np.minimum(rng.geometric(0.06, rows), 90)
    job = np.where(rng.random(rows) < 0.4, age // 8, np.minimum(rng.geometric(0.15, rows), 30))
    return pa.table({"age": age, "sex": np.where(rng.random(rows) < 0.5, "f", "m"), "job": job})


KEYS = ["age", "sex", "job"]


def test_the_best_model_comes_first_and_weights_alone_last(population: pa.Table) -> None:
    taken = np.random.default_rng(2).random(population.num_rows) < 0.1
    sample = population.filter(pa.array(taken))
    tables = aligned_tables(sample, population, KEYS)
    true = sample_risk(tables.sample, tables.register.astype(np.int64))
    found = population_estimates(key_cells(sample, KEYS, fraction=0.1))
    assert found[0].model.startswith("log-linear, ")
    assert found[-1].model == "weights alone"
    assert {one.sample_uniques for one in found} == {true.uniques}
    assert {one.records for one in found} == {sample.num_rows}
    assert {one.knows for one in found} == {"register"}
    assert found[0].matches == pytest.approx(true.matches, rel=0.15)
    assert abs(found[-1].matches - true.matches) > abs(found[0].matches - true.matches)
    names = [one.model for one in found]
    assert len(names) == len(set(names))
    assert {"Pitman", "Zayatz", "shifted negative binomial"} < set(names)


def test_the_order_of_records_and_names_of_values_do_not_matter(population: pa.Table) -> None:
    sample = population.slice(0, 1_500)
    turned = sample.take(np.random.default_rng(4).permutation(1_500))
    renamed = turned.set_column(1, "sex", pa.array(["x" + one for one in turned["sex"].to_pylist()]))
    one, other = (population_estimates(key_cells(data, KEYS, fraction=0.1)) for data in (sample, renamed))
    for left, right in zip(one, other, strict=True):
        assert left.model == right.model
        assert (left.uniques, left.matches) == pytest.approx((right.uniques, right.matches), rel=1e-9)


def test_weights_and_a_fraction_say_the_same(population: pa.Table) -> None:
    sample = population.slice(0, 800)
    weighted = sample.append_column("w", pa.array(np.full(800, 4.0)))
    by_weight = population_estimates(key_cells(weighted, KEYS, weight="w"))
    by_fraction = population_estimates(key_cells(sample, KEYS, fraction=0.25))
    assert [one.matches for one in by_weight] == pytest.approx([one.matches for one in by_fraction], rel=1e-9)


def test_a_file_of_everybody_is_certain(population: pa.Table) -> None:
    for found in population_estimates(key_cells(population, KEYS, fraction=1.0)):
        assert found.uniques == pytest.approx(found.sample_uniques)
        assert found.matches == pytest.approx(found.sample_uniques)


def test_nobody_is_unique() -> None:
    keys = KeyCodes(("a",), (np.repeat(np.arange(1, 6), 3),), (6,))
    assert {one.matches for one in population_estimates(keys, fraction=0.1)} == {0.0}


def test_few_uniques_are_a_guess() -> None:
    keys = KeyCodes(("a",), (np.array([1, 2, 3, 3]),), (4,))
    for found in population_estimates(keys, fraction=0.5):
        assert found.notes[-1] == "There are only 2 sample uniques: any share of them is a guess."


def test_one_record_and_one_key() -> None:
    found = population_estimates(KeyCodes(("a",), (np.array([1]),), (2,)), fraction=0.5)
    assert found[-1].uniques == pytest.approx(0.5)
    assert not next(one for one in found if one.model == "Pitman").fitted


def test_a_key_with_a_value_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as an identifier that was taken for a key: no pair with it is searched, and nothing breaks."""
    monkeypatch.setattr(overview, "QUICK_CELLS", 50)
    rng = np.random.default_rng(1)
    keys = KeyCodes(("id", "sex"), (np.arange(1, 301), rng.integers(1, 3, 300)), (301, 3))
    found = population_estimates(keys, fraction=0.1)
    assert found[0].model == "log-linear, main effects"
    assert found[0].sample_uniques == 300


def test_empty_fields_are_a_value_of_their_own() -> None:
    data = pa.table({"a": ["x", None, "x"], "b": ["y", "y", "y"]})
    assert key_cells(data, ["a", "b"], fraction=0.5).uniques == 1


def test_risk_of_households_follows_from_that_of_cells(population: pa.Table) -> None:
    """A log-linear model gives the chance of every record; households take those of their members."""
    cells = key_cells(population.slice(0, 600), KEYS, fraction=0.1)
    fit = log_linear(cells)
    own = fit.record_risk(cells)
    count = cells.count[cells.cell]
    assert own[count == 1].sum() == pytest.approx(fit.estimate.matches)
    others = np.arange(5_000)
    for row in np.flatnonzero(count > 1)[:5].tolist():
        chance = poisson.pmf(others, fit.mean[cells.cell[row]] * 0.9)
        assert own[row] == pytest.approx(float((chance / (count[row] + others)).sum()), rel=1e-6)
    home = household_risk(own, np.arange(600) // 3)
    assert (home >= own - 1e-12).all()


def test_a_register_that_lacks_a_value_is_named() -> None:
    sample, register = pa.table({"sex": ["f", "x", "y"]}), pa.table({"sex": ["f", "m"]})
    with pytest.raises(InputError, match=r"The register lacks 2 values of key 'sex' that the sample has\.") as error:
        aligned_tables(sample, register, ["sex"])
    assert "'x'" not in str(error.value)


def test_registers_are_checked() -> None:
    sample = pa.table({"sex": ["f", None], "w": [1.0, 0.5]})
    register = pa.table({"sex": ["f", "m"], "n": [3, None]})
    with pytest.raises(InputError, match=r"Key 'sex' is empty in 1 row of the sample\."):
        aligned_tables(sample, register, ["sex"])
    empty = pa.table({"sex": pa.array([None, None], pa.string())})
    with pytest.raises(InputError, match=r"Key 'sex' is empty in every row of the register\."):
        aligned_tables(sample.slice(0, 1), empty, ["sex"])
    with pytest.raises(InputError, match=r"Column 'n' of the register has empty or negative counts\."):
        aligned_tables(sample.slice(0, 1), register, ["sex"], count="n")
    filled = pa.table({"sex": ["f", "f"], "w": [1.0, 0.5]})
    with pytest.raises(InputError, match=r"1 record has no weight or one below 1 \(row 2\)\."):
        aligned_tables(filled, pa.table({"sex": ["f"]}), ["sex"], weight="w")
    with pytest.raises(ParameterError, match=r"'age'"):
        aligned_tables(filled, register, ["age"])
    with pytest.raises(NeedsError, match=r"There are no keys\."):
        aligned_tables(filled, register, [])


def test_records_are_checked() -> None:
    data = pa.table({"a": ["x", "y"], "w": [2.0, None]})
    with pytest.raises(ParameterError, match=r"'b'"):
        key_cells(data, ["b"], fraction=0.5)
    with pytest.raises(InputError, match=r"1 record has no weight or one below 1 \(row 2\)\."):
        key_cells(data, ["a"], weight="w")
    with pytest.raises(InputError, match=r"Key 'a' is empty in every record\."):
        key_cells(pa.table({"a": pa.array([None, None], pa.string())}), ["a"], fraction=0.5)
    with pytest.raises(NeedsError, match=r"There are no keys\."):
        sample_cells(KeyCodes((), (), ()), fraction=0.5)


def test_weights_of_a_register_are_added_up() -> None:
    sample = pa.table({"sex": ["f", "f", "m"], "w": [1.5, 2.0, 3.0]})
    found = aligned_tables(sample, pa.table({"sex": ["m", "f", "m"]}), ["sex"], weight="w")
    assert found.weights is not None
    assert found.weights.tolist() == [3.5, 3.0]
    assert found.register.tolist() == [1.0, 2.0]


def test_numbers_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputError, match=r"x: 3 population uniques and 2 matches of 5 sample uniques contradict"):
        PopulationEstimate("x", 10, 5, 3.0, 2.0)


def test_intervals_stay_within_the_sample() -> None:
    found = PopulationEstimate("x", 10, 5, 1.0, 4.0, 2.0, 2.0)
    assert found.uniques_interval == (0.0, pytest.approx(4.92, abs=0.01))
    assert found.matches_interval == (pytest.approx(0.08, abs=0.01), 5.0)
    assert (found.unique_share, found.match_share) == (0.2, 0.8)
    assert weight_only(sample_cells(KeyCodes(("a",), (np.array([1, 1]),), (2,)), fraction=0.5)).match_share == 0.0
