"""What a least number of contributors asks for beside rules that say how closely a contribution may become known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.verify.rules import Recheck
from tests.rules.making import assessed, magnitudes

FEW = ([100], [60, 40], [50, 30, 20])


def test_beside_p_percent_too_few_ask_for_p_percent_of_the_largest():
    assert assessed(magnitudes(*FEW), ds.MinContributors(4)) == [(30, 30)] * 3
    for rules in ([ds.PPercent(10), ds.MinContributors(4)], [ds.MinContributors(4), ds.PPercent(10)]):
        assert assessed(magnitudes(*FEW), *rules) == [(10, 10), (6, 6), (5, 5)]
    assert assessed(magnitudes([1], [9]), ds.PPercent(10), ds.MinContributors(4)) == [(1, 1), (1, 1)]


def test_the_strictest_of_several_such_rules_counts():
    # 10/40 of the largest is more than 5 % of it; 13.25 are rounded up.
    rules = [ds.PPercent(5), ds.PriorPosterior(10, 40), ds.MinContributors(4)]
    assert assessed(magnitudes([53, 27, 20]), *rules) == [(14, 14)]


def test_a_range_that_was_given_stays_beside_p_percent():
    for wide, levels in ((30, [(30, 30)] * 3), (8, [(10, 10), (8, 8), (8, 8)])):
        assert assessed(magnitudes(*FEW), ds.PPercent(10), ds.MinContributors(4, range=wide)) == levels


@pytest.mark.parametrize(
    ("other", "options"),
    [
        (ds.Dominance(1, 80), {}),
        (ds.MaxShare(0.8), {}),
        (ds.PPercent(10, level="record"), {"levels": ("holding", "record")}),
        (ds.PPercent(10), {"weights": [[1, 1, 1]]}),
        (ds.PPercent(10), {"values": [100]}),
    ],
    ids=["dominance", "share", "other contributors", "weights", "shadow"],
)
def test_other_rules_weights_and_a_shadow_variable_leave_the_usual_range(other, options):
    table = magnitudes([50, 30, 20], **options)
    assert assessed(table, other, ds.MinContributors(4)) == [(30, 30)]


def test_the_argus_profile_keeps_its_range_beside_p_percent():
    table = magnitudes([50, 30, 20]).assess(ds.PPercent(10), ds.MinContributors(4), profile="argus")
    assert table.assessment.upper.tolist() == [30]


def test_who_consents_is_not_the_largest_that_is_protected():
    table = magnitudes([100, 40], [100, 0], consent=[[True, False], [True, False]])
    assert assessed(table, ds.PPercent(10), ds.MinContributors(3)) == [(4, 4), (1, 1)]


def test_the_checker_says_which_range_the_rules_came_to():
    def said(*rules, table=None):
        table = magnitudes([50, 30, 20]) if table is None else table
        return [rule.get("range") for rule in Recheck(table.assess(*rules)).checked]

    assert said(ds.MinContributors(4)) == ["30 % of the value"]
    assert said(ds.PPercent(12.5), ds.MinContributors(4)) == [None, "12.5 % of the largest"]
    assert said(ds.PPercent(12.5), ds.MinContributors(4, range=30)) == [None, 30]


amounts = st.integers(1, 200)


@settings(max_examples=300, deadline=None)
@given(
    largest=st.integers(1, 300),
    rest=st.lists(st.lists(amounts, min_size=1, max_size=5), min_size=1, max_size=3),
    p=st.sampled_from([1, 5, 12, 30, 60, 100]),
)
def test_a_row_that_cannot_give_one_contributor_its_level_has_an_unsafe_total(largest, rest, p):
    """A total that is safe never has to be withheld for a cell of one contributor with all its row withheld."""
    whole = [largest, *(x for cell in rest for x in cell)]
    judged = magnitudes([largest], whole).assess(ds.PPercent(p), ds.MinContributors(3)).assessment
    missing = int(judged.upper[0]) - sum(whole[1:])
    if missing > 0:
        assert judged.unsafe[1]
        assert judged.upper[1] >= missing


def test_with_the_usual_range_a_safe_total_had_to_move():
    total = [100, 5, 5, 5, 5, 5]
    table = magnitudes([100], total)
    assert assessed(table, ds.PPercent(12), ds.MinContributors(3, range=30)) == [(30, 30), None]
    assert assessed(table, ds.PPercent(12), ds.MinContributors(3)) == [(12, 12), None]
    assert np.sum(total[1:]) == 25
