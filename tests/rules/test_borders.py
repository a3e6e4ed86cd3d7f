"""Where rules would be a unit too weak, or a number would not fit: the border itself, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError
from discreet.model.arrays import LARGEST
from discreet.model.table import DECLARED_SAFE, Contributions
from discreet.rules.base import ceiling, combine, in_proportion, with_value
from tests.rules.making import assessed, counts, magnitudes

HEALTH = {"region": ds.Hierarchy.flat(["r1", "r2"]), "health": ds.Hierarchy.flat(["sick", "well"])}


@pytest.mark.parametrize("amount", [2**40, -(2**40)])
def test_sums_of_multiples_are_exact_beyond_64_bits(amount):
    assert combine((2**40, np.array([amount, 1]))).tolist() == [2**40 * amount, 2**40]
    assert combine((2**70, np.zeros(2, np.int64))).tolist() == [0, 0]
    assert combine((1, np.array([LARGEST]))).dtype == object
    assert combine((1, np.array([LARGEST - 1]))).dtype == np.int64


def test_levels_that_do_not_fit_end_at_the_largest_that_does():
    assert ceiling(np.array([2**80, 5], object), 2).tolist() == [LARGEST, 3]
    assert ceiling(np.array([5, 0]), 2**70).tolist() == [1, 0]
    value, total, level = np.array([2**61, 0]), np.array([1, 1]), np.array([8, 3])
    assert in_proportion(value, total, level, 1).tolist() == [LARGEST, 1]


@pytest.mark.parametrize(
    ("top", "negative", "some"), [([9, 4, 0], False, 2), ([9, 4, 0], True, 5), ([9, 4, 1], False, 5), ([], False, 5)]
)
def test_a_list_that_ends_with_zeros_tells_how_many_have_something(top, negative, some):
    """Unless somebody has less than zero: those are not in the list."""
    five, total = np.array([5]), np.array([13])
    found = Contributions(five, total, np.array([top], np.int64).reshape(1, -1), np.array([negative]))
    assert with_value(found).tolist() == [some]
    # One contribution that fills two places of the list is still one.
    assert with_value(replace(found, count=np.array([1]))).tolist() == [1]


def test_a_rule_is_written_down_with_what_is_not_left_out():
    assert ds.PPercent(10).record() == {"kind": "p_percent", "p": 10, "coalition": 1, "level": "holding"}
    assert ds.MinContributors(3, zeros=True).record()["zeros"] is True
    assert "zeros" not in ds.MinContributors(3).record()


def test_what_an_office_declares_safe_is_safe_whatever_the_rules_say():
    table = magnitudes([100], [100]).with_(manual=np.array([DECLARED_SAFE, 0], np.int8))
    assert assessed(table, ds.PPercent(10)) == [None, (10, 10)]


def test_contributions_without_weights_are_needed_with_their_sum():
    table = magnitudes([100, 5], weights=[[10, 1]])
    held = table.contributions["holding"]
    for change in ({"own": None}, {"own_total": None}):
        less = table.with_(contributions={"holding": replace(held, **change)})
        with pytest.raises(NeedsError, match="needs contributions without their weights"):
            ds.PPercent(10, weights="once").evaluate(less, "handbook")


def test_a_single_unit_at_the_limit_is_something():
    assert assessed(magnitudes([1, 1, 1]), ds.PPercent(100, inclusive=True)) == [(1, 1)]


@pytest.mark.parametrize("weights", [None, [[1, 1, 1]]])
@pytest.mark.parametrize("rule", [ds.PPercent(10), ds.PPercent(10, weights="ignore")])
def test_levels_of_absolute_contributions_do_not_shrink_with_what_cancels_out(weights, rule):
    """5 of 195 is left where 10 would do: 5 are missing, not 5/195 of the 15 that are published."""
    table = magnitudes([100, -90, 5], absolute=True, weights=weights)
    in_proportion_only = weights is not None and rule.weights == "ignore"
    assert assessed(table, rule) == [(1, 1) if in_proportion_only else (5, 5)]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ds.PriorPosterior(10, weights="twice"), "prior_posterior: weights='twice' is not allowed"),
        (lambda: ds.Dominance(1, 75, weights="twice"), "dominance: weights='twice' is not allowed"),
        (lambda: ds.MaxShare(0.5, weights="twice"), "max_share: weights='twice' is not allowed"),
        (lambda: ds.PriorPosterior(50.5, 50), r"p=50.5 is larger than q=50"),
        (lambda: ds.Dominance(1, "75"), "dominance: k='75' is not allowed"),
        (lambda: ds.Dominance(1, True), "dominance: k=True is not allowed"),
        (lambda: ds.MaxShare("0.5"), "max_share: share='0.5' is not allowed"),
        (lambda: ds.MaxShare(True), "max_share: share=True is not allowed"),
    ],
)
def test_parameters_just_beyond_what_is_allowed_are_refused(make, said):
    with pytest.raises(ParameterError, match=said):
        make()


def test_a_weighted_count_needs_room_for_one_person_at_least():
    """1.5 persons: thirty per cent are half a person, which hides nobody."""
    people = counts({"cell": ds.Hierarchy.flat(["a"], total=None)}, {("a",): 15})
    people = people.with_(decimals=1, spec=people.spec.with_(weight="w"), records=np.array([1]))
    assert assessed(people, ds.MinFrequency(3)) == [(1, 2)]
    assert assessed(people.with_(value=np.array([150])), ds.MinFrequency(3)) == [(4.5, 4.5)]


def test_contributors_of_counts_count_whatever_the_list_says():
    people = counts({"cell": ds.Hierarchy.flat(["a"], total=None)}, {("a",): 5})
    held = Contributions(np.array([5]), np.array([5]), np.array([[1, 0]]), np.array([False]))
    assert assessed(people.with_(contributions={"holding": held}), ds.MinContributors(3)) == [None]


def test_who_does_not_consent_counts_with_nothing_too():
    table = magnitudes([50, 0], [50, 20], consent=[[True, False], [True, True]])
    assert assessed(table, ds.MinContributors(3)) == [(15, 15), None]


def test_the_words_say_how_many_have_something_where_not_all_have():
    table = magnitudes([100, 50, 0], [100, 50])
    for rule, what in ((ds.MinContributors(3), "too few contributors"), (ds.MinFrequency(3), "low frequency")):
        judged = table.assess(rule)
        assert judged.reasons(0) == [f"{what}: 2 with a value, of 3 (at least 3 needed)"]
        assert judged.reasons(1) == [f"{what}: 2 (at least 3 needed)"]
    zero = magnitudes([0, 0]).assess(ds.ZeroUnsafe())
    assert zero.reasons(0) == ["zero cell: it tells that every contributor has zero"]
    asked = magnitudes([90, 10], asked=[[1, 0]]).assess(ds.Request(25))
    assert asked.reasons(0)[0].startswith("request: a contributor who asked for protection is too large")


def test_contributors_do_not_stand_for_records_where_there_were_records():
    table = magnitudes([100, 50], records=None, nonzero=None)
    assert assessed(table.with_(from_records=False), ds.MinFrequency(3)) == [(45, 45)]
    with pytest.raises(NeedsError, match="needs the number of records"):
        table.with_(from_records=True).assess(ds.MinFrequency(3))


def test_group_disclosure_needs_the_totals_of_its_groups():
    table = counts(HEALTH, {("r1", "sick"): 5, ("r2", "sick"): 4, ("r2", "well"): 7})
    codes = [table.spec_codes(row) for row in table.codes.tolist()]
    some = table.at(np.array([row for row, code in enumerate(codes) if code != ("r1", "Total")]))
    with pytest.raises(NeedsError, match="needs the totals of 'health' in table 'people'"):
        ds.GroupDisclosure("health").evaluate(some, "handbook")


@pytest.mark.parametrize("order", [["sick", "never", "well"], ["never", "sick", "well"], ["sick", "well", "never"]])
def test_a_partner_is_taken_that_leaves_fewer_empty_cells_above(order):
    by = {**HEALTH, "health": ds.Hierarchy.flat(order)}
    table = counts(by, {("r1", "sick"): 5, ("r2", "sick"): 4, ("r2", "well"): 7})
    found = ds.GroupDisclosure("health").evaluate(table, "handbook")
    names = [table.spec_codes(table.codes[row].tolist()) for row in np.flatnonzero(found.upper > 0).tolist()]
    assert names == [("r1", "well")]


def test_codes_that_cover_unknown_ones_only_are_no_secret():
    codes = ds.Hierarchy.from_parents(
        {"sick": "Total", "well": "Total", "none": "Total", "no answer": "none", "not asked": "none"},
        missing=("no answer", "not asked"),
    )
    by = {"region": HEALTH["region"], "health": codes}
    table = counts(by, {("r1", "no answer"): 5, ("r2", "sick"): 4, ("r2", "well"): 7, ("r2", "not asked"): 1})
    assert not ds.GroupDisclosure("health").evaluate(table, "handbook").unsafe.any()
    assert ds.GroupDisclosure("health", unknown=True).evaluate(table, "handbook").unsafe.any()
