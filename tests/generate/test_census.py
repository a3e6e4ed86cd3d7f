"""What every census population keeps to."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.generate import Generated, census_population


@pytest.fixture(scope="module")
def people() -> Generated:
    return census_population()


def column(people: Generated, name: str) -> np.ndarray:
    return people.records[name].to_numpy()


def test_same_arguments_give_the_same_population(people):
    assert census_population().records.equals(people.records)


def test_the_numbers_are_the_same_on_every_platform():
    small = census_population(200, seed=11)
    digest = hashlib.sha256(repr(small.records.to_pydict()).encode()).hexdigest()
    assert digest == "710e8e6576e581e55bf36fd4e544f61c9feb4f08b8836783ade0533d0a366398"


def test_seeds_differ_but_share_their_trees(people):
    other = census_population(seed=2)
    for name in ("household", "area", "sex", "age", "marital", "birth", "education", "labour", "income"):
        assert not other.records[name].equals(people.records[name])
    assert other.parents == people.parents


@pytest.mark.parametrize("records", [1, 2, 3, 17, 1_000])
def test_the_number_of_records_is_what_was_asked(records):
    people = census_population(records)
    assert people.records.num_rows == records
    assert all(chunked.null_count == 0 for chunked in people.records.columns)


@pytest.mark.parametrize(
    "variable", ["area", "sex", "age_group", "marital", "birth", "education", "labour", "occupation"]
)
def test_codes_are_leaves_and_all_have_labels(people, variable):
    parents = people.parents[variable]
    leaves = [code for code in parents if code not in set(parents.values())]
    assert people.records[variable].combine_chunks().dictionary.to_pylist() == leaves
    assert set(people.labels[variable]) == set(parents) | {"Total"}


def test_households_live_in_one_area_and_have_the_stated_size(people):
    household = column(people, "household")
    names, start, size = np.unique(household, return_index=True, return_counts=True)
    assert np.array_equal(names, np.arange(1, len(names) + 1))
    assert np.array_equal(size[household - 1], column(people, "household_size"))
    assert set(size) == set(range(1, 8))
    area = column(people, "area")
    assert np.array_equal(area, area[start][household - 1])


def test_every_household_has_an_adult(people):
    oldest = np.zeros(column(people, "household").max() + 1)
    np.maximum.at(oldest, column(people, "household"), column(people, "age"))
    assert oldest[1:].min() >= 18


def test_household_sizes_are_realistic(people):
    sizes = np.unique(column(people, "household"), return_counts=True)[1]
    assert 2.0 < sizes.mean() < 2.6
    assert 0.3 < (sizes == 1).mean() < 0.4


def test_age_groups_are_five_years(people):
    age = column(people, "age")
    assert age.min() == 0
    assert age.max() <= 99
    assert [f"Y{low:02d}-{low + 4:02d}" for low in age // 5 * 5] == list(column(people, "age_group"))
    assert len(people.records["age_group"].combine_chunks().dictionary) == 20


def test_children_neither_work_nor_earn_nor_marry(people):
    child = column(people, "age") < 15
    assert set(column(people, "labour")[child]) == {"IC"}
    assert set(column(people, "occupation")[child]) == {"X"}
    assert set(column(people, "marital")[child]) == {"S"}
    assert set(column(people, "education")[child]) <= {"E0", "E1"}
    assert not column(people, "income")[child].any()
    assert "IC" not in set(column(people, "labour")[~child])


def test_only_the_employed_have_an_occupation(people):
    assert np.array_equal(column(people, "labour") == "AE", column(people, "occupation") != "X")
    assert column(people, "age")[column(people, "labour") == "AE"].max() < 75


def test_income_has_a_heavy_tail_and_grows_with_education(people):
    employed = column(people, "labour") == "AE"
    income, education = column(people, "income"), column(people, "education")
    assert income.max() > 15 * np.median(income[employed])
    assert np.median(income[employed & (education == "E6")]) > 1.3 * np.median(income[employed & (education == "E2")])


def test_country_of_birth_is_skewed(people):
    counts = np.unique(column(people, "birth"), return_counts=True)[1]
    assert 0.75 < counts.max() / counts.sum() < 0.9
    assert (counts < 10).sum() >= 5
    assert people.parents["birth"]["POL"] == "EUR"


def test_small_areas_vary_in_size(people):
    counts = np.unique(column(people, "area"), return_counts=True)[1]
    assert counts.max() > 5 * np.median(counts[counts > 0]) / 2
    assert counts.min() < np.median(counts) / 2


@pytest.mark.parametrize("areas", [1, 2, 7, 200, 35_000])
def test_geography_has_four_levels_and_the_number_of_areas_asked(areas):
    parents = census_population(10, areas=areas).parents["area"]
    assert sum(len(code) == len("G01020304") for code in parents) == areas
    assert {len(code) for code in parents} == {3, 5, 7, 9}
    assert all(parent == ("Total" if len(code) == 3 else code[:-2]) for code, parent in parents.items())


def test_changing_one_answer_leaves_the_trees_of_the_next_population_alone(people):
    spoilt = census_population(10)
    spoilt.parents["sex"]["Z"] = "Total"
    assert census_population(10).parents["sex"] == people.parents["sex"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"records": 0}, "records must be a whole number of at least 1"),
        ({"records": "many"}, "type str"),
        ({"seed": 1.5}, "type float"),
        ({"areas": 0}, "areas must be"),
        ({"areas": 35_001}, "at most 35,000"),
    ],
)
def test_impossible_parameters_are_refused_with_what_is_allowed(arguments, message):
    with pytest.raises(InputError, match=message):
        census_population(**arguments)
