"""The checker, which shares no code with the rules, finds the same cells and levels: the only guard that they agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError
from discreet.verify.rules import Recheck
from tests.rules.making import magnitudes
from tests.rules.strategies import (
    PROFILES,
    drawn_cells,
    drawn_counts,
    rules_for_counts,
    rules_for_magnitudes,
    with_marks,
)


def assert_same(table):
    """What the assessment says is what the checker finds."""
    found, recheck = table.assessment, Recheck(table)
    assert recheck.asserted == recheck.missing == []
    assert recheck.unsafe.tolist() == found.unsafe.tolist()
    assert [int(x) for x in recheck.lower[found.unsafe]] == found.lower[found.unsafe].tolist()
    assert [int(x) for x in recheck.upper[found.unsafe]] == found.upper[found.unsafe].tolist()


def assess_or_skip(table, rules, **options):
    """Secrets that no cell could hide are refused before there is anything to check."""
    try:
        return table.assess(*rules, **options)
    except NeedsError:
        assume(False)
        raise


@settings(max_examples=300, deadline=None)
@given(data=st.data(), drawn=drawn_cells(), profile=PROFILES)
def test_rules_and_checker_agree_on_magnitudes(data, drawn, profile):
    rules = data.draw(st.lists(rules_for_magnitudes(drawn.asked is not None), min_size=1, max_size=4))
    rules = [data.draw(st.sampled_from([rule, _at_record_level(rule)])) for rule in rules]
    table = data.draw(with_marks(drawn.table))
    options = {"profile": profile, "manual_range": data.draw(st.sampled_from([1.7, 20, 130]))}
    assert_same(table.assess(*rules, **options))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), table=drawn_counts(), profile=PROFILES, missing_safe=st.booleans())
def test_rules_and_checker_agree_on_counts(data, table, profile, missing_safe):
    rules = data.draw(st.lists(rules_for_counts(), min_size=1, max_size=3))
    table = data.draw(with_marks(table))
    assert_same(assess_or_skip(table, rules, profile=profile, missing_safe=missing_safe))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), drawn=drawn_cells(huge=True))
def test_rules_and_checker_agree_on_huge_values(data, drawn):
    rule = data.draw(rules_for_magnitudes(drawn.asked is not None))
    try:
        table = drawn.table.assess(rule)
    except InputError as error:
        assert "too large" in str(error)  # noqa: PT017
        return
    assert_same(table)


def _at_record_level(rule):
    return replace(rule, level="record") if hasattr(rule, "level") else rule


def test_rules_and_checker_agree_on_the_example_of_the_tutorial():
    for profile in ("handbook", "argus"):
        rules = [ds.PPercent(10), ds.Dominance(2, 90), ds.MinContributors(10), ds.MinFrequency(10)]
        assert_same(ds.examples.small_table().assess(*rules, profile=profile))


# ---- what the checker does not believe -----------------------------------------------------------------------


def found_by_checker(table):
    """Cells that the checker finds unsafe, whatever the table says of them."""
    recheck = Recheck(table)
    assert recheck.asserted == recheck.missing == []
    return recheck.unsafe.tolist()


def test_the_checker_does_not_take_a_sum_from_the_file_that_is_not_the_value():
    table = magnitudes([100, 5], [40, 35, 25]).assess(ds.PPercent(10))
    found = table.contributions["holding"]
    forged = table.with_(contributions={"holding": replace(found, total=found.total + 1000)})
    assert found_by_checker(forged) == [True, False]


def test_the_checker_does_not_believe_that_a_cell_with_contributions_is_empty():
    table = magnitudes([100, 5], [0], [40, 35, 25]).assess(ds.PPercent(10), ds.ZeroUnsafe())
    forged = table.with_(empty=np.ones(3, np.bool_))
    assert found_by_checker(forged) == [True, True, False]


def test_the_checker_finds_cells_unsafe_whose_contributions_no_rule_could_have_taken():
    table = magnitudes([40, 35, 25], [40, 35, 25], asked=[[1, 0, 0], [0, 0, 0]])
    negative = np.array([True, True])
    forged = {"holding": replace(table.contributions["holding"], negative=negative)}
    assert found_by_checker(table.assess(ds.PPercent(10)).with_(contributions=forged)) == [True, True]
    assert found_by_checker(table.assess(ds.Request(90)).with_(contributions=forged)) == [True, False]


def test_a_rule_whose_inputs_are_not_there_is_no_rule_that_was_applied():
    table = magnitudes([100, 5]).assess(ds.PPercent(10), ds.MinContributors(3))
    assert Recheck(table.with_(contributions={})).missing == ["p_percent", "min_contributors"]
    narrow = replace(table.contributions["holding"], top=np.array([[100]]))
    assert Recheck(table.with_(contributions={"holding": narrow})).missing == ["p_percent"]
    unsaid = replace(table.contributions["holding"], nonzero=None)
    with pytest.raises(InputError, match="not well formed"):
        Recheck(table.with_(contributions={"holding": unsaid}))


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "p_percent"},
        {"kind": "p_percent", "p": "1e99999999", "coalition": 1, "level": "holding"},
        {"kind": "p_percent", "p": -10, "coalition": 1, "level": "holding"},
        {"kind": "p_percent", "p": float("inf"), "coalition": 1, "level": "holding"},
        {"kind": "p_percent", "p": 10, "coalition": 0, "level": "holding"},
        {"kind": "p_percent", "p": 0, "coalition": 1, "level": "holding", "below_one": True},
        {"kind": "max_share", "share": 0, "level": "holding"},
        {"kind": "dominance", "n": 0, "k": 50, "level": "holding"},
        {"kind": "min_contributors", "n": -3, "range": 30, "level": "holding"},
        {"kind": "min_contributors", "n": True, "range": 30, "level": "holding"},
        {"kind": "group_disclosure", "variable": "nothing", "k": 0},
        {"n": 3},
        {"kind": "p_percnt", "p": 10, "coalition": 1, "level": "holding"},
        {"kind": "p_percent", "p": 10, "coalition": 1, "weight": "ignore", "level": "holding"},
        {"kind": "p_percent", "p": 0.1, "coalition": 1, "level": "holding"},
        {"kind": "p_percent", "p": 10, "coalition": 1, "level": "firm"},
        {"kind": "min_contributors", "n": 3, "range": 0.3, "level": "holding"},
    ],
)
def test_a_stated_rule_that_is_not_well_formed_is_refused(rule):
    table = magnitudes([100, 5]).assess(ds.PPercent(10))
    forged = table.with_(assessment=replace(table.assessment, rules=(rule,)))
    with pytest.raises(InputError, match="A stated rule of table 'turnover' is not well formed"):
        Recheck(forged)
