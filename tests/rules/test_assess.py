"""All rules together: levels, statuses set by hand, missing codes, and the two profiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError
from discreet.model.table import CellStatus
from discreet.rules import assess_table
from tests.rules.making import assessed, counts, magnitudes

NO_BOUND = 2**62
SHOP = ("retail", "South")


# ---- several rules -------------------------------------------------------------------------------------------


def test_every_rule_is_evaluated_and_the_largest_level_counts():
    # p%: 8 - 5 = 3; dominance: 80 / 0.6 - 100 = 33.3...; frequency is kept.
    table = magnitudes([80, 15, 5], [40, 35, 25])
    rules = [ds.PPercent(10), ds.MinContributors(3), ds.Dominance(1, 60)]
    assert assessed(table, *rules) == [(34, 34), None]
    found = table.assess(*rules).assessment
    assert found.hits.tolist() == [0b101, 0]
    assert [rule["kind"] for rule in found.rules] == ["p_percent", "min_contributors", "dominance"]


def test_two_rules_of_one_kind_may_stand_side_by_side():
    table = magnitudes([80, 15, 5])
    # 80 / 0.75 = 106.6..., 95 / 0.9 = 105.5...
    assert assessed(table, ds.Dominance(1, 75), ds.Dominance(2, 90)) == [(7, 7)]


def test_the_reasons_name_every_rule_that_is_broken():
    table = magnitudes([80, 15, 5], [40, 35, 25]).assess(ds.PPercent(10), ds.Dominance(1, 60))
    assert table.reasons(0) == [
        "p% rule: the second largest contributor can work out the largest within 6.2 % (limit 10 %)",
        "dominance: the largest contributor holds 80.0 % of the cell (limit 60 %)",
    ]
    assert table.reasons(1) == []


def test_a_rule_that_is_not_broken_gives_no_reason_although_a_later_one_does():
    table = magnitudes([80, 15, 30]).assess(ds.PPercent(10), ds.Dominance(1, 60))
    assert table.reasons(0) == ["dominance: the largest contributor holds 64.0 % of the cell (limit 60 %)"]


def test_unrelated_variables_are_noted_in_the_tables_that_have_them():
    table = magnitudes([80, 15, 30])
    assert assess_table(table, [], unrelated=["cell", "other"]).assessment.options == {
        "missing_safe": False,
        "manual_range": 20.0,
        "unrelated": ["cell"],
    }
    assert "unrelated" not in assess_table(table, [], unrelated=["other"]).assessment.options


def test_a_rule_may_be_restricted_to_tables():
    table = magnitudes([100])
    assert assessed(table, ds.PPercent(10, tables=("turnover",))) == [(10, 10)]
    exports = magnitudes([100], spec={"name": "exports"})
    one, other = ds.TableSet([table, exports]).assess(ds.PPercent(10, tables=["turnover"]))
    assert one.unsafe.any()
    assert not other.unsafe.any()
    assert other.assessment.rules == ()


def test_a_rule_for_a_table_that_is_not_there_is_an_error():
    with pytest.raises(ParameterError, match=r"no table 'turnovr'.*rule 'p_percent'.*mean 'turnover'"):
        magnitudes([100]).assess(ds.PPercent(10, tables=["turnovr"]))


def test_one_table_may_be_named_without_a_list():
    """The name is taken as a whole, not letter by letter, nor as a text in which other names may occur."""
    assert ds.PPercent(10, tables="turnover").tables == ("turnover",)
    short = magnitudes([100], spec={"name": "turn"})
    assert not ds.PPercent(10, tables="turnover").applies_to(short)
    record = ds.PPercent(10, tables="turnover").record()
    assert record["tables"] == ("turnover",)


def test_at_most_62_rules_fit_into_one_assessment():
    table = magnitudes([100])
    found = table.assess(*[ds.PPercent(10)] * 62).assessment
    assert int(found.hits[0]) == 2**62 - 1
    with pytest.raises(ParameterError, match=r"63 rules are too many at once. Give at most 62 rules."):
        table.assess(*[ds.PPercent(10)] * 63)


def test_record_and_holding_rules_look_at_their_own_contributions():
    # Two records of one holding: per record 50, 50, 8, per holding 100, 8.
    records = magnitudes([50, 50, 8], levels=("record",))
    both = records.with_(
        contributions={**records.contributions, "holding": magnitudes([100, 8]).contributions["holding"]}
    )
    assert assessed(both, ds.PPercent(10, level="record")) == [None]
    assert assessed(both, ds.PPercent(10)) == [(10, 10)]
    assert assessed(both, ds.MinContributors(3, level="record")) == [None]
    assert assessed(both, ds.MinContributors(3)) == [(33, 33)]


# ---- levels --------------------------------------------------------------------------------------------------


def test_safe_cells_have_no_levels_and_no_rule_sets_a_sliding_level():
    found = magnitudes([100], [40, 35, 25]).assess(ds.PPercent(10)).assessment
    assert found.upper.tolist() == [10, 0]
    assert found.lower.tolist() == [10, 0]
    assert found.sliding.tolist() == [0, 0]


def test_a_sliding_level_is_the_width_that_a_proof_must_show():
    table = ds.examples.small_table().assess(ds.PPercent(10))
    row = table.row(trade="retail", region="South")
    sliding = table.assessment.sliding.copy()
    for width, holds in ((16, True), (10**6, False)):  # upper and lower level are 8 each
        sliding[row] = width
        release = ds.protect(table, ds.Suppress())
        custodian = release.custodian
        changed = custodian.tables.replaced(
            [t.with_(assessment=replace(t.assessment, sliding=sliding)) for t in custodian.tables]
        )
        assert replace(release, custodian=replace(custodian, tables=changed)).verify().holds is holds


def test_the_lower_level_stops_at_what_everybody_knows():
    table = magnitudes([100], [100])
    assert assessed(table, ds.MinContributors(3, range=120)) == [(100, 120), (100, 120)]
    known = table.with_(lower_bound=np.array([95, -NO_BOUND]))
    assert assessed(known, ds.PPercent(10)) == [(5, 10), (10, 10)]


def test_the_upper_level_does_not_stop_at_what_everybody_knows():
    """So that a cell which cannot be protected is reported and not passed over."""
    table = magnitudes([100], upper_bound=np.array([104]))
    assert assessed(table, ds.PPercent(10)) == [(10, 10)]


def test_the_lower_level_of_a_negative_cell_does_not_stop_at_zero_and_that_of_its_neighbour_does():
    assert assessed(magnitudes([10], [-5]), ds.MinContributors(3, range=200)) == [(10, 20), (10, 10)]


def test_levels_that_do_not_fit_into_64_bits_are_refused():
    with pytest.raises(InputError, match=r"1 cell of table 'turnover' needs protection levels too large") as error:
        magnitudes([10**18], [1, 1, 1]).assess(ds.Dominance(1, 10))
    assert "larger unit" in error.value.hint
    assert error.value.details == "The first is cell=a."


# ---- by hand -------------------------------------------------------------------------------------------------


def test_a_cell_marked_unsafe_gets_a_percentage_of_its_value():
    table = magnitudes([40, 35, 26]).marked({("a",): "U"})
    assert assessed(table) == [(21, 21)]  # 20 % of 101
    assert assessed(table, manual_range=10) == [(11, 11)]
    assert table.assess().reasons(0) == ["marked unsafe by hand"]


def test_levels_given_by_hand_count_and_a_side_left_at_zero_gets_the_percentage():
    table = magnitudes([40, 35, 25], [40, 35, 25])
    both = table.marked({("a",): "U"}, protection=(5, 50)).marked({("b",): "U"}, protection=(0, 50))
    assert assessed(both) == [(5, 50), (20, 50)]


def test_the_larger_of_the_rules_level_and_the_one_given_by_hand_counts():
    table = magnitudes([100], [100]).marked({("a",): "U", ("b",): "U"}, protection=(1, 50))
    assert assessed(table, ds.PPercent(10)) == [(10, 50), (10, 50)]


def test_levels_given_for_a_cell_that_only_a_rule_finds_count_too():
    table = magnitudes([100], [40, 35, 25])
    given = table.with_(manual_lower=np.array([7, 7]), manual_upper=np.array([30, 30]))
    assert assessed(given, ds.PPercent(10)) == [(10, 30), None]


def test_a_cell_marked_v_is_left_to_the_rules():
    table = magnitudes([100], [40, 35, 25]).marked({("a",): "U", ("b",): "U"}).marked({("a",): "V", ("b",): "V"})
    assert assessed(table, ds.PPercent(10)) == [(10, 10), None]


def test_marks_that_make_no_sense_are_refused():
    table = magnitudes([100])
    for letter in "EM":
        with pytest.raises(ParameterError, match=r"cannot be marked .* by hand. Use 'U', 'P' or 'V'"):
            table.marked({("a",): letter})
    with pytest.raises(InputError, match="Status 'X' is not known"):
        table.marked({("a",): "X"})
    with pytest.raises(ParameterError, match="has 1 code"):
        table.marked({("a", "b"): "U"})
    with pytest.raises(ParameterError, match="negative"):
        table.marked({("a",): "U"}, protection=(-1, 5))


def test_statuses_and_levels_of_a_ready_made_table_are_marks():
    cells = pa.table(
        {
            "cell": ["", "a", "b"],
            "value": [30, 20, 10],
            "status": ["S", "U", "V"],
            "lower_protection": [None, 3, None],
            "upper_protection": [None, None, None],
        }
    )
    table = ds.Table.from_cells(cells, by={"cell": ds.Hierarchy.flat(["a", "b"])})
    assert assessed(table) == [None, (3, 4), None]


def test_an_unsafe_cell_published_by_force_stays_visible():
    table = ds.examples.small_table().marked({SHOP: "P"}).assess(ds.PPercent(10))
    row = table.row(trade="retail", region="South")
    assert CellStatus(table.status[row]).letter == "P"
    assert not table.unsafe[row]
    assert table.assessment.unsafe[row]
    assert table.assessment.upper[row] == 8
    assert table.reasons(row) == [
        "p% rule: the second largest contributor can work out the largest within 5.6 % (limit 10 %)"
    ]
    release = ds.protect(table, ds.Suppress())
    verdict = release.verify()
    assert verdict.holds
    assert "1 unsafe cell of table turnover is published by force" in verdict.asserted
    assert release.public["turnover"].columns()["value"][row] == 200


def test_the_range_of_cells_marked_by_hand_is_a_percentage():
    for wrong in (0, -5, 2000, True, "20"):
        with pytest.raises(
            ParameterError, match=r"assess: manual_range=.* is not allowed. Use more than 0 up to 1000."
        ):
            magnitudes([100]).assess(manual_range=wrong)


# ---- missing codes -------------------------------------------------------------------------------------------


def test_cells_of_a_missing_code_are_safe_when_asked_for():
    sex = ds.Hierarchy.flat(["f", "m", "unknown"], missing=frozenset(["unknown"]))
    table = counts({"sex": sex}, {("f",): 5, ("m",): 1, ("unknown",): 1})
    assert assessed(table, ds.MinFrequency(3)) == [None, None, (1, 2), (1, 2)]
    assert assessed(table, ds.MinFrequency(3), missing_safe=True) == [None, None, (1, 2), None]


def test_a_missing_code_of_any_variable_makes_the_cell_safe_but_not_against_a_mark_by_hand():
    sex = ds.Hierarchy.flat(["f", "unknown"], missing=frozenset(["unknown"]))
    region = ds.Hierarchy.flat(["n", "s"])
    table = counts({"sex": sex, "region": region}, {("f", "n"): 1, ("unknown", "n"): 1})
    found = assessed(table, ds.MinFrequency(2), missing_safe=True)
    assert [table.cell_name(i) for i, level in enumerate(found) if level] == ["sex=f, region=Total", "sex=f, region=n"]
    marked = table.marked({("unknown", "n"): "U"})
    row = marked.row(sex="unknown", region="n")
    assert assessed(marked, ds.MinFrequency(2), missing_safe=True)[row] == (1, 1)


# ---- the argus profile ---------------------------------------------------------------------------------------


def test_argus_takes_the_level_of_concentration_before_request_before_frequency():
    asked = [[1, 0, 0], [1, 0, 0, 0]]
    table = magnitudes([60, 30, 10], [40, 30, 20, 10], asked=asked)
    rules = [ds.MinContributors(5, range=50), ds.Request(25, range=40), ds.Dominance(1, 50)]
    # 60 / 0.5 - 100 = 20; the second cell keeps dominance.
    assert assessed(table, *rules, profile="argus") == [(20, 20), (40, 40)]
    assert assessed(table, *rules) == [(50, 50), (50, 50)]
    assert assessed(table, rules[0], profile="argus") == [(50, 50), (50, 50)]
    assert table.assess(*rules, profile="argus").assessment.hits.tolist() == [0b111, 0b011]


def test_argus_takes_the_largest_level_of_the_rules_of_concentration():
    # p%: 9 - 0 = 9, dominance: 100 / 0.8 - 100 = 25
    table = magnitudes([90, 10])
    assert assessed(table, ds.PPercent(10), ds.Dominance(2, 80), profile="argus") == [(25, 25)]


def test_argus_takes_frequency_before_zero_and_zero_only_up():
    table = magnitudes([0], [0, 0, 0])
    rules = [ds.ZeroUnsafe(range=5), ds.MinContributors(3)]
    # The level of frequency is one unit; downwards there is no room.
    assert assessed(table, *rules, profile="argus") == [(0, 1), (0, 5)]
    assert assessed(table, *rules) == [(0, 5), (0, 5)]


def test_argus_levels_are_symmetric_in_counts_too():
    table = counts({"sex": ds.Hierarchy.flat(["f", "m"])}, {("f",): 1, ("m",): 9})
    assert assessed(table, ds.MinFrequency(5)) == [None, (1, 4), None]
    assert assessed(table, ds.MinFrequency(5), profile="argus") == [None, (1, 1), None]


def test_argus_levels_are_at_least_one_published_unit():
    # Cents inside, whole euros published.
    table = magnitudes(["1.00", "0.50", "0.09"], decimals=2, spec={"decimals": 0})
    assert assessed(table, ds.PPercent(10)) == [(0.01, 0.01)]
    assert assessed(table, ds.PPercent(10), profile="argus") == [(1, 1)]
    assert assessed(table.marked({("a",): "U"}), profile="argus") == [(1, 1)]
    cents = magnitudes(["1.00", "0.50", "0.09"], decimals=2, spec={"decimals": None})
    assert assessed(cents, ds.PPercent(10), profile="argus") == [(0.01, 0.01)]


def test_argus_keeps_the_levels_of_rules_that_the_program_does_not_have():
    people = {("r1", "sick"): 1, ("r2", "sick"): 6, ("r2", "well"): 7}
    by = {"region": ds.Hierarchy.flat(["r1", "r2"]), "health": ds.Hierarchy.flat(["sick", "well"])}
    table = counts(by, people)
    sick, well = table.row(region="r1", health="sick"), table.row(region="r1", health="well")
    for rules in ([ds.GroupDisclosure("health", k=2)], [ds.GroupDisclosure("health", k=2), ds.MinFrequency(2)]):
        found = assessed(table, *rules, profile="argus")
        assert found[well] == (0, 3)
        assert found[sick] == ((1, 0) if len(rules) == 1 else (1, 1))


def test_a_profile_that_is_not_known_is_refused():
    with pytest.raises(ParameterError, match=r"no profile 'arguz'. Did you mean 'argus'"):
        magnitudes([100]).assess(ds.PPercent(10), profile="arguz")
