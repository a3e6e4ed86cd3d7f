"""What every business survey keeps to."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.generate import LARGE_ACTIVITIES, LARGE_REGIONS, Generated, business_survey


@pytest.fixture(scope="module")
def survey() -> Generated:
    return business_survey()


def column(survey: Generated, name: str) -> np.ndarray:
    return survey.records[name].to_numpy()


def leaves(survey: Generated, variable: str) -> list[str]:
    inner = set(survey.parents[variable].values())
    return [code for code in survey.parents[variable] if code not in inner]


def cell_of_each_firm(survey: Generated) -> np.ndarray:
    activity, region = (survey.records[name].combine_chunks() for name in ("activity", "region"))
    return activity.indices.to_numpy().astype(np.int64) * len(region.dictionary) + region.indices.to_numpy()


def holdings_per_cell(survey: Generated) -> np.ndarray:
    pairs = np.unique(np.stack([cell_of_each_firm(survey), column(survey, "holding")]), axis=1)
    return np.unique(pairs[0], return_counts=True)[1]


def test_same_arguments_give_the_same_survey(survey):
    assert business_survey().records.equals(survey.records)


def test_the_numbers_are_the_same_on_every_platform():
    small = business_survey(200, seed=11)
    digest = hashlib.sha256(repr(small.records.to_pydict()).encode()).hexdigest()
    assert digest == "77343f0e1fc44eb124179090632d832faf0e8f5f8162ab2fc297040fb9517abd"


def test_seeds_differ_but_share_their_trees(survey):
    other = business_survey(seed=2)
    for name in ("activity", "region", "turnover", "weight", "record_key", "holding", "investment"):
        assert not other.records[name].equals(survey.records[name])
    assert other.parents == survey.parents


def test_a_setting_of_one_column_leaves_the_others_alone(survey):
    other = business_survey(holding_share=0.2)
    assert other.records.drop_columns("holding").equals(survey.records.drop_columns("holding"))
    assert not other.records["holding"].equals(survey.records["holding"])


@pytest.mark.parametrize("records", [1, 2, 17, 1_000])
def test_the_number_of_records_is_what_was_asked(records):
    survey = business_survey(records)
    assert survey.records.num_rows == records
    assert all(chunked.null_count == 0 for chunked in survey.records.columns)


def test_home_and_export_add_up_to_turnover(survey):
    home, export, turnover = (column(survey, name) for name in ("home", "export", "turnover"))
    assert turnover.dtype == np.int64
    assert np.array_equal(home + export, turnover)
    assert min(home.min(), export.min(), turnover.min()) >= 0
    assert 0.1 < (export > 0).mean() < 0.7


def test_a_few_firms_have_negative_investment(survey):
    assert 0.005 < (column(survey, "investment") < 0).mean() < 0.05


def test_weights_are_at_least_one_with_two_decimals_and_one_for_large_firms(survey):
    weight = column(survey, "weight")
    assert weight.min() == 1.0
    assert np.array_equal(weight, np.round(weight, 2))
    assert (weight[column(survey, "size") == "5"] == 1.0).all()
    assert weight[column(survey, "size") == "1"].mean() > 10.0


def test_size_class_follows_from_employees(survey):
    expected = np.searchsorted([10, 20, 50, 250], column(survey, "employees"), side="right") + 1
    assert np.array_equal(column(survey, "size").astype(int), expected)


@pytest.mark.parametrize("variable", ["activity", "region", "size"])
def test_codes_are_leaves_and_all_have_labels(survey, variable):
    codes = survey.records[variable].combine_chunks()
    assert codes.dictionary.to_pylist() == leaves(survey, variable)
    assert set(survey.labels[variable]) == set(survey.parents[variable]) | {"Total"}


def test_activity_codes_extend_their_parents(survey):
    for code, parent in survey.parents["activity"].items():
        assert parent == "Total" if len(code) == 1 else (code.startswith(parent) and parent != code)
        assert len(code) in (1, 3, 4, 5)


@pytest.mark.parametrize("variable", ["activity", "region"])
def test_trees_are_uneven_with_short_branches_and_single_children(survey, variable):
    parents = survey.parents[variable]
    children: dict[str, int] = {}
    for parent in parents.values():
        children[parent] = children.get(parent, 0) + 1
    assert 1 in children.values()
    assert len(set(children.values())) > 2
    assert len({len(code) for code in leaves(survey, variable)}) > 1


def test_demonstration_and_large_trees_have_the_documented_size(survey):
    large = business_survey(10, activities=LARGE_ACTIVITIES, regions=LARGE_REGIONS)
    assert (len(leaves(survey, "activity")), len(leaves(survey, "region"))) == (60, 21)
    assert (len(leaves(large, "activity")), len(leaves(large, "region"))) == (800, 400)


def test_one_firm_in_ten_belongs_to_a_holding_of_several(survey):
    sizes = np.unique(column(survey, "holding"), return_counts=True)[1]
    assert 0.08 < sizes[sizes > 1].sum() / survey.records.num_rows < 0.13
    assert sizes.max() >= 10
    assert np.median(sizes[sizes > 1]) <= 4


def test_holdings_spread_over_cells_and_are_named_after_their_first_firm(survey):
    holding, firm, cell = column(survey, "holding"), column(survey, "firm"), cell_of_each_firm(survey)
    order = np.lexsort((firm, holding))
    first = np.unique(holding[order], return_index=True)[1]
    assert np.array_equal(firm[order][first], holding[order][first])
    names, members = np.unique(holding, return_counts=True)
    several = names[members > 1]
    spread = [len(np.unique(cell[holding == name])) > 1 for name in several]
    assert np.mean(spread) > 0.8


def test_no_holding_gives_every_firm_to_itself():
    survey = business_survey(500, holding_share=0)
    assert np.array_equal(column(survey, "holding"), column(survey, "firm"))


def test_turnover_has_a_heavy_tail(survey):
    turnover = np.sort(column(survey, "turnover"))
    assert turnover[-100:].sum() > 0.3 * turnover.sum()
    assert turnover.max() > 1_000 * np.median(turnover)


def test_turnover_grows_with_size(survey):
    size, turnover = column(survey, "size"), column(survey, "turnover")
    medians = [np.median(turnover[size == code]) for code in "12345"]
    assert all(low < high for low, high in pairwise(medians))


def test_many_cells_are_empty_or_have_few_contributors(survey):
    contributors = holdings_per_cell(survey)
    possible = len(leaves(survey, "activity")) * len(leaves(survey, "region"))
    assert len(contributors) < 0.8 * possible
    assert (contributors < 3).mean() > 0.25
    assert contributors.max() > 100


def test_some_cells_stay_empty_in_a_census_of_firms():
    contributors = holdings_per_cell(business_survey(100_000))
    assert len(contributors) < 0.8 * 60 * 21


def test_record_keys_belong_to_the_firm_and_not_to_its_place(survey):
    keys = column(survey, "record_key")
    assert keys.min() >= 0.0
    assert keys.max() < 1.0
    assert np.array_equal(keys, np.round(keys, 8))
    assert abs(keys.mean() - 0.5) < 0.02
    longer = business_survey(20_000)
    assert np.array_equal(column(longer, "record_key")[:10_000], keys)


def test_waivers_and_requests_are_few(survey):
    assert 0 < column(survey, "waiver").mean() < 0.02
    assert survey.records["request"].type == "int8"
    assert set(column(survey, "request")) == {0, 1, 2}
    assert (column(survey, "request") > 0).mean() < 0.03


def test_unit_is_the_unit_of_the_amounts(survey):
    exact = column(business_survey(unit=1), "turnover")
    assert np.abs(exact / 1_000 - column(survey, "turnover")).max() <= 0.501


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"records": 0}, "records must be a whole number of at least 1"),
        ({"records": 10.0}, "type float"),
        ({"records": True}, "type bool"),
        ({"records": 2**31}, "at most 2,147,483,647"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "x"}, "type str"),
        ({"activities": ()}, "1 to 6 levels"),
        ({"activities": 5}, "1 to 6 levels"),
        ({"activities": (30,)}, r"activities\[0\] must be .* at most 21"),
        ({"activities": (5, 4)}, r"activities\[1\] must be a whole number of at least 5"),
        ({"regions": (1, 36)}, r"regions\[1\] must be .* at most 35"),
        ({"holding_share": 0.5}, "holding_share must be a number from 0 to 0.3"),
        ({"holding_share": float("nan")}, "holding_share"),
        ({"unit": 0}, "unit must be"),
    ],
)
def test_impossible_parameters_are_refused_with_what_is_allowed(arguments, message):
    with pytest.raises(InputError, match=message):
        business_survey(**arguments)
