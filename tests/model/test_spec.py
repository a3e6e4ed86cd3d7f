"""Specs: the question a table answers, and the identity that its cells share."""

from __future__ import annotations

import pytest

from discreet import Hierarchy, Microdata, TableSpec
from discreet.errors import ParameterError

REGION = Hierarchy.flat(["N", "S"])


def test_a_name_is_made_of_value_and_variables():
    assert TableSpec({"region": REGION, "sex": REGION}, "turnover").name == "turnover_by_region_sex"
    assert TableSpec({"region": REGION}).name == "count_by_region"


def test_identity_is_value_universe_period_and_weight():
    spec = TableSpec({"region": REGION}, "turnover", where="size >= 10", period="2024", weight="w")
    assert spec.identity == ("turnover", "size >= 10", "2024", "w")
    assert TableSpec({"region": REGION}, weight=False).identity == ("", "", "", "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"period": 2024}, {"period": "2024"}),
        ({"where": ["a == 1", "b == 2"]}, {"where": ["b==2", "a==1"]}),
        ({"where": "a in ['y', 'x']"}, {"where": "a in ['x', 'y']"}),
    ],
)
def test_the_same_universe_written_differently_is_the_same(one, other):
    assert TableSpec({"region": REGION}, **one).identity == TableSpec({"region": REGION}, **other).identity


def test_changes_make_a_new_spec_with_its_own_identity():
    spec = TableSpec({"region": REGION}, "turnover", name="t")
    assert spec.with_(period="2025").identity[2] == "2025"
    assert spec.identity[2] == ""


@pytest.mark.parametrize(
    "name",
    [
        "value", "contributors", "status", "lower_protection", "upper", "cost", "record_key", "top1", "top12",
        "holding_total", "record_contributors", "empty", "manual_lower", "upper_bound",
    ],
)  # fmt: skip
def test_a_variable_may_not_be_named_like_a_column_of_the_cell_files(name):
    with pytest.raises(ParameterError, match=f"cannot be called '{name}'.*Rename the variable"):
        TableSpec({name: REGION})


@pytest.mark.parametrize("name", ["topic", "values", "region", "top", "statusquo", "costs"])
def test_similar_names_are_allowed(name):
    assert TableSpec({name: REGION}).variables == (name,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"by": {}}, "at least one variable. Give by="),
        ({"by": ["region"]}, "at least one variable. Give by="),
        ({"by": {"region": ["N", "S"]}}, r"by\['region'\] is a list, not a Hierarchy.*Hierarchy.flat"),
        ({"cells": "some"}, "cells='some' is not allowed. Use 'nonempty' or 'all'"),
        ({"top": 0}, "top=0 is not allowed"),
        ({"top": 21}, "Keep 1 to 20"),
        ({"decimals": -1}, "decimals=-1 is not allowed. Give 0 to 15"),
        ({"levels": ("firm",)}, r"levels=\('firm',\) is not allowed. Use 'holding', 'record' or both"),
        ({"levels": ()}, "levels"),
        ({"where": "region = 'N'"}, "Cannot read the filter"),
    ],
)
def test_impossible_specs_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        TableSpec(**{"by": {"region": REGION}, **arguments})


def test_microdata_say_what_their_columns_are():
    assert repr(Microdata("folder/firms.csv", contributor="holding", weight="w")) == (
        "Microdata(firms.csv, contributor='holding', weight='w')"
    )
    assert Microdata("firms.csv").is_file
    assert repr(Microdata({"a": [1]})) == "Microdata(dict, no roles)"
    with pytest.raises(ParameterError, match=r"needs a data frame or the path of a file"):
        Microdata(None)
