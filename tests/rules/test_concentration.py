"""Rules against large contributors, computed by hand."""

from __future__ import annotations

import pytest

import discreet as ds
from discreet.errors import InputError
from tests.rules.making import assessed, magnitudes

# ---- p% ------------------------------------------------------------------------------------------------------


def test_p_percent_is_broken_when_the_rest_is_less_than_p_percent_of_the_largest():
    # The rest of the cell is 100; 20 % of 654 are 130.8, so 30.8 are missing.
    assert assessed(magnitudes([654, 168, 60, 40], decimals=1), ds.PPercent(20)) == [(30.8, 30.8)]


def test_p_percent_levels_are_rounded_up_to_the_unit():
    assert assessed(magnitudes([654, 168, 60, 40]), ds.PPercent(20)) == [(31, 31)]


def test_p_percent_is_kept_when_the_rest_is_exactly_p_percent():
    table = magnitudes(["100.00", "50.00", "10.00"], ["100.00", "50.00", "9.99"], decimals=2)
    assert assessed(table, ds.PPercent(10)) == [None, (0.01, 0.01)]


def test_p_percent_takes_p_as_the_decimal_number_that_was_written():
    # 0.7 % of 1000 are 7; in floating point they are a little less.
    assert 0.7 / 100 * 1000 < 7
    table = magnitudes(["1000.00", "500.00", "7.00"], ["1000.00", "500.00", "6.99"], decimals=2)
    assert assessed(table, ds.PPercent(0.7, below_one=True)) == [None, (0.01, 0.01)]


@pytest.mark.parametrize("largest", [10**15, 4 * 10**17])
def test_p_percent_is_exact_for_huge_values(largest):
    """The second size needs integers of more than 64 bits."""
    rest = largest * 7 // 1000
    half = rest // 2
    table = magnitudes([largest, rest, half, half], [largest, rest, half, half - 1])
    assert assessed(table, ds.PPercent(0.7, below_one=True)) == [None, (1, 1)]


def test_p_percent_takes_parameters_with_many_digits():
    # 12.345678901234567 % of 100 are 12.3...: three units of a whole number are missing to 10.
    table = magnitudes([100, 50, 10], [0, 0, 0])
    assert assessed(table, ds.PPercent(12.345678901234567)) == [(3, 3), None]
    assert assessed(magnitudes([0]), ds.PPercent(12.345678901234567)) == [None]
    assert assessed(magnitudes([100]), ds.PPercent(1e-300, below_one=True)) == [(1, 1)]


def test_one_or_two_contributors_always_break_the_p_percent_rule():
    assert assessed(magnitudes([100], [60, 40]), ds.PPercent(10)) == [(10, 10), (6, 6)]


def test_a_cell_whose_contributors_all_have_zero_keeps_every_rule_of_concentration():
    rules = [ds.PPercent(10), ds.PriorPosterior(10, 50), ds.Dominance(1, 50), ds.MaxShare(0.5)]
    assert assessed(magnitudes([0], [0, 0], []), *rules) == [None, None, None]


def test_a_coalition_knows_as_many_contributions_as_it_has_members():
    # Rest beside the largest and 1, 2, 3 others: 28, 8, 0; 10 % of the largest are 10.
    table = magnitudes([100, 30, 20, 8])
    levels = [assessed(table, ds.PPercent(10, coalition=n))[0] for n in (1, 2, 3)]
    assert levels == [None, (2, 2), (10, 10)]


# ---- prior-posterior -----------------------------------------------------------------------------------------


def test_prior_posterior_compares_the_rest_with_p_over_q():
    # p / q = 10 / 50: the rest must reach 20 % of 100.
    table = magnitudes([100, 30, 20], [100, 30, 19])
    assert assessed(table, ds.PriorPosterior(10, 50)) == [None, (1, 1)]


def test_prior_posterior_with_q_100_is_the_p_percent_rule():
    table = magnitudes([100, 30, 20], [100, 30, 9], [100, 30, 9, 0.5], decimals=1)
    assert assessed(table, ds.PriorPosterior(10)) == assessed(table, ds.PPercent(10)) == [None, (1, 1), (0.5, 0.5)]


def test_prior_posterior_takes_p_equal_to_q_and_coalitions():
    table = magnitudes([100, 60, 50, 50], [100, 60, 50, 49], [100, 30, 20, 8])
    assert assessed(table, ds.PriorPosterior(50, 50))[:2] == [None, (1, 1)]
    assert assessed(table, ds.PriorPosterior(5, 50, coalition=2))[2] == (2, 2)


# ---- dominance and maximum share -----------------------------------------------------------------------------


def test_dominance_is_broken_when_the_n_largest_hold_more_than_k_percent():
    # 85 of 100 are more than 80 %; the cell would have to be 85 / 0.8 = 106.25.
    assert assessed(magnitudes([60, 25, 10, 5], decimals=2), ds.Dominance(2, 80)) == [(6.25, 6.25)]
    assert assessed(magnitudes([60, 25, 10, 5]), ds.Dominance(2, 80)) == [(7, 7)]


def test_dominance_is_kept_at_exactly_k_percent():
    table = magnitudes(["50.00", "30.00", "20.00"], ["50.01", "30.00", "19.99"], decimals=2)
    # 80.01 / 0.8 = 100.0125
    assert assessed(table, ds.Dominance(2, 80)) == [None, (0.02, 0.02)]


def test_dominance_takes_k_as_the_decimal_number_that_was_written():
    table = magnitudes(["33.3", "33.3", "33.3", "0.1"], ["33.4", "33.3", "33.3"], decimals=1)
    # 33.4 / 0.333 = 100.3003...
    assert assessed(table, ds.Dominance(1, 33.3)) == [None, (0.4, 0.4)]


def test_dominance_is_exact_for_huge_values():
    half = 2 * 10**17
    table = magnitudes([half, half], [half + 1, half - 1])
    assert assessed(table, ds.Dominance(1, 50)) == [None, (2, 2)]


def test_dominance_takes_all_contributors_where_there_are_fewer_than_n():
    # 100 / 0.8 = 125
    assert assessed(magnitudes([60, 40]), ds.Dominance(3, 80)) == [(25, 25)]


def test_a_dominance_level_above_the_value_reaches_down_to_zero_only():
    # 100 / 0.4 - 100 = 150 up; nobody believes in a turnover below zero.
    assert assessed(magnitudes([100]), ds.Dominance(1, 40)) == [(100, 150)]


def test_maximum_share_is_dominance_of_one():
    table = magnitudes([5, 5], [6, 5])
    assert assessed(table, ds.MaxShare(0.5)) == assessed(table, ds.Dominance(1, 50)) == [None, (1, 1)]


# ---- waivers -------------------------------------------------------------------------------------------------


def test_with_waivers_the_largest_without_consent_is_protected_from_the_largest_other():
    # s = 40, r = 100: the rest is 3, 10 % of 40 are 4. Without waivers 10 - 3 = 7 would be missing.
    table = magnitudes([100, 40, 3], consent=[[True, False, False]])
    assert assessed(table, ds.PPercent(10)) == [(1, 1)]
    assert assessed(magnitudes([100, 40, 3]), ds.PPercent(10)) == [(7, 7)]


def test_with_waivers_a_coalition_is_of_the_largest_others():
    # s = 30, others 100 and 20: rest 2; 10 % of 30 are 3.
    table = magnitudes([100, 30, 20, 2], consent=[[True, False, True, True]])
    assert assessed(table, ds.PPercent(10, coalition=2), ds.PriorPosterior(5, 50, coalition=2)) == [(1, 1)]


def test_one_who_is_not_among_the_largest_is_safe_from_them():
    # s = 20 is third: beside 20 and 100 there are 90 left.
    table = magnitudes([100, 90, 20], consent=[[True, True, False]])
    assert assessed(table, ds.PPercent(100)) == [None]


def test_dominance_with_waivers_adds_the_protected_one_to_the_largest_others():
    # s = 10 is third: 10 + 100 are more than 80 % of 130; 110 / 0.8 = 137.5. Alone it dominates nothing.
    table = magnitudes([100, 20, 10], consent=[[True, True, False]])
    assert assessed(table, ds.Dominance(2, 80)) == [(8, 8)]
    assert assessed(table, ds.Dominance(1, 70)) == [None]
    assert assessed(table, ds.MaxShare(0.7)) == [None]


def test_a_tie_between_the_protected_one_and_a_consenting_one_counts_both_once():
    consent = [[True, False, True], [True, False, True], [True, True, False]]
    table = magnitudes([50, 50, 5], [50, 50, 4], [50, 50, 50], consent=consent)
    assert assessed(table, ds.PPercent(10)) == [None, (1, 1), None]


def test_a_tie_at_the_end_of_the_list_counts_once():
    # n = 2: s = 50 and one of the others are 100 of 150, which is not more than 70 %.
    table = magnitudes([50, 50, 50], consent=[[True, True, False]])
    assert assessed(table, ds.Dominance(2, 70)) == [None]
    assert assessed(table, ds.Dominance(2, 60)) == [(17, 17)]


def test_where_all_consent_the_cell_is_safe():
    table = magnitudes([100], [100, 1], consent=[[True], [True, True]])
    rules = [ds.PPercent(10), ds.PriorPosterior(10), ds.Dominance(1, 50), ds.MaxShare(0.5), ds.MinContributors(3)]
    assert assessed(table, *rules) == [None, None]


def test_one_without_consent_whose_contribution_is_zero_has_nothing_that_the_p_percent_rule_protects():
    table = magnitudes([100, 0], consent=[[True, False]])
    assert assessed(table, ds.PPercent(10)) == [None]
    # Dominance adds it to the largest other: 0 + 100 are more than 80 %, and 100 / 0.8 = 125.
    assert assessed(table, ds.Dominance(2, 80)) == [(25, 25)]


# ---- negative contributions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [ds.PPercent(10), ds.PriorPosterior(10, 50), ds.Dominance(1, 70), ds.MaxShare(0.7)],
    ids=lambda rule: rule.kind,
)
def test_negative_contributions_are_refused_with_the_rule_the_number_of_cells_and_the_first(rule):
    table = magnitudes([100, 3], [100, -3, 5], [7, -1])
    with pytest.raises(InputError) as error:
        table.assess(rule)
    assert error.value.message == (
        f"Rule '{rule.kind}' cannot take negative contributions; 2 cells of table 'turnover' have some, first cell=b."
    )
    assert "absolute=True" in error.value.hint
    assert "shadow=" in error.value.hint


def test_absolute_contributions_give_levels_in_units_of_the_value():
    # Absolute: 100, 99, 5 of 204; the rest of 5 is short of 10 by 5. The value is 6: as a share of it the level
    # would be 1, and the second could work out the first within 1 %.
    table = magnitudes([100, -99, 5], [-20, 5, 5], absolute=True)
    assert assessed(table, ds.PPercent(10)) == [(5, 5), None]
    # 100 + 99 of 204 are more than 90 %: 199 / 0.9 - 204 = 17.1...
    assert assessed(table, ds.Dominance(2, 90))[0] == (18, 18)


# ---- shadow variable -----------------------------------------------------------------------------------------


def test_a_level_of_the_shadow_variable_is_the_same_share_of_the_value():
    # 30.8 of 922, as in the first test, are 33.4... of 1000.
    table = magnitudes([654, 168, 60, 40], values=[1000])
    assert assessed(table, ds.PPercent(20)) == [(34, 34)]
    assert assessed(table.with_(value=-table.value), ds.PPercent(20)) == [(34, 34)]
    # 654 / 0.5 - 922 = 386 of 922 are 418.6... of 1000.
    assert assessed(table, ds.Dominance(1, 50)) == [(419, 419)]


def test_a_level_of_the_shadow_variable_is_at_least_one_unit_of_the_value():
    table = magnitudes([654, 168, 60, 40], [654, 168, 60, 40], values=[0, 5])
    assert assessed(table, ds.PPercent(20)) == [(0, 1), (1, 1)]


def test_where_the_shadow_variable_is_zero_there_is_no_concentration():
    assert assessed(magnitudes([0, 0], values=[1000]), ds.PPercent(20), ds.Dominance(1, 50)) == [None]
