"""Group disclosure in counts, and the request rule, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError
from discreet.verify.rules import Recheck
from tests.rules.making import assessed, counts, magnitudes

REGION = ds.Hierarchy.flat(["r1", "r2"])
HEALTH = ds.Hierarchy.flat(["sick", "well"])
NO_BOUND = 2**62


def by_cell(table, *rules, **options):
    """Levels of the unsafe cells by their codes."""
    found = assessed(table, *rules, **options)
    return {
        table.spec_codes(table.codes[row].tolist()): levels for row, levels in enumerate(found) if levels is not None
    }


def health(r1, r2=(4, 7), **columns):
    """Counts of sick and well in two regions."""
    people = {
        ("r1", "sick"): r1[0],
        ("r1", "well"): r1[1],
        ("r2", "sick"): r2[0],
        ("r2", "well"): r2[1],
    }
    return counts({"region": REGION, "health": HEALTH}, people, **columns)


# ---- group disclosure ----------------------------------------------------------------------------------------


def test_a_group_in_one_category_is_unsafe_and_so_is_the_fullest_other_category():
    """All five of r1 are sick: "sick" must seem one lower, and "well", which tells the same, one higher."""
    assert by_cell(health((5, 0)), ds.GroupDisclosure("health")) == {("r1", "sick"): (1, 0), ("r1", "well"): (0, 1)}
    assert by_cell(health((5, 1)), ds.GroupDisclosure("health")) == {}


def test_k_members_of_the_group_may_put_their_knowledge_together():
    # One of six is well. At k = 1 two must seem well: one more than there is.
    expected = {("r1", "sick"): (1, 0), ("r1", "well"): (0, 1)}
    assert by_cell(health((5, 1)), ds.GroupDisclosure("health", k=1)) == expected
    # At k = 2 three must seem well: two more.
    expected = {("r1", "sick"): (2, 0), ("r1", "well"): (0, 2)}
    assert by_cell(health((5, 1)), ds.GroupDisclosure("health", k=2)) == expected
    assert by_cell(health((5, 3)), ds.GroupDisclosure("health", k=2)) == {}


def test_in_a_small_group_every_category_may_be_the_one():
    # k = 2: three must seem outside "sick" (one is) and three outside "well" (two are).
    expected = {("r1", "sick"): (2, 1), ("r1", "well"): (1, 2)}
    assert by_cell(health((2, 1)), ds.GroupDisclosure("health", k=2)) == expected


def test_the_lower_level_is_at_most_the_count():
    assert by_cell(health((1, 0)), ds.GroupDisclosure("health", k=2))["r1", "sick"] == (1, 0)


def test_groups_and_categories_are_taken_at_every_depth():
    region = ds.Hierarchy.from_nested({"North": ["n1", "n2"], "South": ["s1"]})
    state = ds.Hierarchy.from_nested({"sick": ["cancer", "flu"], "well": []})
    people = {
        ("n1", "cancer"): 5,
        ("n2", "cancer"): 2,
        ("n2", "flu"): 3,
        ("s1", "cancer"): 1,
        ("s1", "flu"): 2,
        ("s1", "well"): 4,
    }
    assert by_cell(counts({"region": region, "state": state}, people), ds.GroupDisclosure("state")) == {
        # Nobody of the north is well, nor in either part of it ...
        ("North", "sick"): (1, 0),
        ("North", "well"): (0, 1),
        ("n1", "sick"): (1, 0),
        ("n1", "well"): (0, 1),
        ("n2", "sick"): (1, 0),
        ("n2", "well"): (0, 1),
        # ... and in n1 all have cancer; of flu and well, both empty, flu stands first.
        ("n1", "cancer"): (1, 0),
        ("n1", "flu"): (0, 1),
    }


def test_a_code_that_covers_everybody_is_no_category():
    people = {("r1", "sick"): 3, ("r1", "well"): 4, ("r2", "sick"): 2, ("r2", "well"): 2}
    whole = ds.Hierarchy.from_nested({"everybody": ["sick", "well"]})
    assert by_cell(counts({"region": REGION, "health": whole}, people), ds.GroupDisclosure("health")) == {}


def test_the_fullest_of_the_others_is_taken():
    state = ds.Hierarchy.flat(["sick", "well", "unknown"])
    people = {("r1", "sick"): 9, ("r1", "unknown"): 1, ("r2", "sick"): 4, ("r2", "well"): 5, ("r2", "unknown"): 6}
    table = counts({"region": REGION, "state": state}, people)
    assert by_cell(table, ds.GroupDisclosure("state", k=1)) == {("r1", "sick"): (1, 0), ("r1", "unknown"): (0, 1)}


def test_what_everybody_knows_is_not_disclosed():
    """Nobody can be well in r1, and everybody knows: bounds say so."""
    table = health((5, 0))
    bound = np.full(len(table), NO_BOUND)
    bound[table.row(region="r1", health="well")] = 0
    assert by_cell(table.with_(upper_bound=bound), ds.GroupDisclosure("health")) == {}


def test_a_difference_of_codes_does_not_hide_how_empty_they_are():
    """Nobody can be y or z in r1, and everybody knows; "lead" = y - z says nothing of how many are neither."""
    state = ds.Hierarchy.flat(["x", "y", "z"]).with_grouping("lead", ["y"], minus=["z"])
    people = {("r1", "x"): 5, ("r2", "x"): 4, ("r2", "y"): 7, ("r2", "z"): 2}
    table = counts({"region": REGION, "state": state}, people)
    bound = np.full(len(table), NO_BOUND)
    for code in "yz":
        bound[table.row(region="r1", state=code)] = 0
    assert by_cell(table.with_(upper_bound=bound), ds.GroupDisclosure("state")) == {}


def test_a_difference_of_codes_is_no_group():
    """By state y there are 7, all in r2, and that is a secret; y - z is 5, all in r2, and says nothing of people."""
    state = ds.Hierarchy.flat(["y", "z"]).with_grouping("lead", ["y"], minus=["z"])
    people = {("r1", "z"): 1, ("r2", "y"): 7, ("r2", "z"): 1}
    table = counts({"region": REGION, "state": state}, people)
    assert by_cell(table, ds.GroupDisclosure("region")) == {("r2", "y"): (1, 0), ("r1", "y"): (0, 1)}
    same = counts({"region": REGION, "state": state}, {("r1", "y"): 2, ("r1", "z"): 2, ("r2", "y"): 7, ("r2", "z"): 1})
    assert by_cell(same, ds.GroupDisclosure("region")) == {}


def test_where_rounding_shows_another_category_full_enough_it_stays_as_it_is():
    # Rounded to threes the parts need not add up: 9 and 3 of 9.
    table = health((9, 3), (6, 6)).with_(slack=3)
    value = table.value.copy()
    value[table.row(region="r1")] = 9
    assert by_cell(table.with_(value=value), ds.GroupDisclosure("health")) == {("r1", "sick"): (1, 0)}


def test_a_secret_that_no_cell_could_hide_is_refused():
    table = health((5, 0))
    listed = np.arange(len(table)) != table.row(region="r1", health="well")
    without = table.at(np.flatnonzero(listed))
    with pytest.raises(NeedsError, match=r"cannot protect 1 cell.*Please tabulate with cells='all'") as error:
        without.assess(ds.GroupDisclosure("health"))
    assert "r1" not in str(error.value)  # whose secret it is, is for the custodian
    assert error.value.details == "The first is region=r1, health=sick."
    with pytest.raises(NeedsError, match=r"Please give the cells that nobody is in, with value 0; with upper_bound 0"):
        without.with_(from_records=False).assess(ds.GroupDisclosure("health"))
    bound = np.full(len(table), NO_BOUND)
    bound[table.row(region="r1", health="well")] = 1
    with pytest.raises(NeedsError, match="cannot protect 1 cell"):
        table.with_(upper_bound=bound).assess(ds.GroupDisclosure("health", k=1))


def test_a_release_hides_that_the_other_category_is_empty():
    """Withholding "sick" and the total of r1 alone would not do: "well" would still show that nobody is well."""
    region = ds.Hierarchy.flat(["r1", "r2", "r3"])
    people = {("r1", "sick"): 5, ("r2", "sick"): 4, ("r2", "well"): 7, ("r3", "sick"): 3, ("r3", "well"): 9}
    table = counts({"region": region, "health": HEALTH}, people).assess(ds.GroupDisclosure("health"))
    release = ds.protect(table, ds.Suppress())
    assert release.verify().holds
    assert release.public["people"].status[table.row(region="r1", health="well")] == "X"
    intervals = release.audit().columns()
    at = intervals["cell"].index("region=r1, health=well")
    assert intervals["upper"][at] >= 1


def test_the_checker_wants_a_secret_that_no_cell_could_hide_to_be_withheld_for_ever():
    table = health((5, 0)).assess(ds.GroupDisclosure("health"))
    without = table.at(np.flatnonzero(np.arange(len(table)) != table.row(region="r1", health="well")))
    recheck = Recheck(without)
    assert recheck.upper[without.row(region="r1", health="sick")] > 2**63


def test_the_reasons_tell_the_category_from_the_one_that_gives_it_away():
    table = health((5, 0)).assess(ds.GroupDisclosure("health"))
    assert table.reasons(table.row(region="r1", health="sick")) == [
        "group disclosure: all but 0 of the group have the same health"
    ]
    assert table.reasons(table.row(region="r1", health="well")) == [
        "group disclosure: it would tell that nearly all of the group have another health"
    ]


def test_weighted_counts_are_compared_as_they_are_published():
    # One well person stands for 1.5: at k = 1 that is more than 1.
    table = health((50, 15), (40, 70))
    table = table.with_(decimals=1, spec=table.spec.with_(weight="w", decimals=1))
    assert by_cell(table, ds.GroupDisclosure("health", k=1)) == {}
    assert by_cell(table, ds.GroupDisclosure("health", k=2)) == {
        ("r1", "sick"): (1.5, 0),
        ("r1", "well"): (0, 1.5),
    }


def test_group_disclosure_is_for_counts_with_a_total():
    with pytest.raises(ParameterError, match=r"is for counts; table 'turnover' sums 'turnover'.*tables="):
        magnitudes([5]).assess(ds.GroupDisclosure("cell"))
    with pytest.raises(ParameterError, match=r"no variable 'helth' in table 'people'.*Did you mean 'health'"):
        health((5, 0)).assess(ds.GroupDisclosure("helth"))
    bare = ds.Hierarchy.flat(["sick", "well"], total=None)
    with pytest.raises(NeedsError, match=r"needs a total of 'health'.*give its hierarchy a total"):
        counts({"health": bare}, {("sick",): 3}).assess(ds.GroupDisclosure("health"))


# ---- request -------------------------------------------------------------------------------------------------


def test_a_request_is_honoured_when_the_contribution_exceeds_its_percentage():
    table = magnitudes([30, 70], [31, 69], [70, 30], asked=[[1, 0], [1, 0], [0, 1]])
    assert assessed(table, ds.Request(30)) == [None, (30, 30), None]
    assert assessed(table, ds.Request(30, range=10)) == [None, (10, 10), None]


def test_the_two_request_codes_have_their_own_percentages():
    table = magnitudes([30, 70], [30, 70], asked=[[1, 0], [2, 0]])
    assert assessed(table, ds.Request(25, 40)) == [(30, 30), None]
    assert assessed(table, ds.Request(40, 25)) == [None, (30, 30)]


def test_without_a_second_percentage_both_codes_have_the_first():
    table = magnitudes([30, 70], [30, 70], asked=[[1, 0], [2, 0]])
    assert assessed(table, ds.Request(25)) == [(30, 30), (30, 30)]


def test_a_request_beside_too_few_others_is_honoured_however_small():
    table = magnitudes([0, 100], [0, 100], [0, 50, 50], asked=[[1, 0], [0, 0], [2, 0, 0]])
    assert assessed(table, ds.Request(50, n=3)) == [(30, 30), None, None]
    assert assessed(table, ds.Request(50)) == [None, None, None]


def test_the_largest_of_those_who_asked_counts():
    table = magnitudes([50, 30, 20], asked=[[0, 1, 1]])
    assert assessed(table, ds.Request(29)) == [(30, 30)]
    assert assessed(table, ds.Request(30)) == [None]


def test_a_waiver_does_not_change_a_request():
    table = magnitudes([30, 70], asked=[[1, 0]], consent=[[True, True]])
    assert assessed(table, ds.Request(25)) == [(30, 30)]


def test_negative_contributions_are_refused_where_somebody_asked():
    table = magnitudes([30, -5], [30, 5], [-90, 10], asked=[[0, 0], [1, 0], [1, 0]])
    with pytest.raises(InputError, match=r"Rule 'request' cannot take negative.*1 cell.*first cell=c"):
        table.assess(ds.Request(25))
    assert assessed(table.at(np.array([0, 1])), ds.Request(90)) == [None, None]


# ---- which partner, and what is no secret -------------------------------------------------------------------


@pytest.mark.parametrize("order", [["sick", "never", "well"], ["never", "sick", "well"], ["sick", "well", "never"]])
def test_among_equally_empty_partners_one_is_taken_that_somebody_has_elsewhere(order):
    by = {"region": REGION, "health": ds.Hierarchy.flat(order)}
    table = counts(by, {("r1", "sick"): 5, ("r2", "sick"): 4, ("r2", "well"): 7})
    rule = ds.GroupDisclosure("health")
    assert by_cell(table, rule) == {("r1", "sick"): (1, 0), ("r1", "well"): (0, 1)}
    release = ds.protect(table.assess(rule), ds.Suppress())
    assert release.verify().holds


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_order_of_codes_does_not_decide_how_empty_the_partner_is(data):
    codes = ["a", "b", "c", "d"]
    people = {(r, c): data.draw(st.sampled_from([0, 0, 0, 1, 4])) for r in REGION.base_codes for c in codes}

    def partners(order):
        table = counts({"region": REGION, "health": ds.Hierarchy.flat(order)}, people)
        try:
            found = by_cell(table, ds.GroupDisclosure("health"))
        except NeedsError:
            return None
        whole = {code: sum(people[r, code] for r in REGION.base_codes) for code in codes}
        return sorted((group, whole[code] == 0) for (group, code), (_, up) in found.items() if up)

    assert partners(codes) == partners(data.draw(st.permutations(codes)))


SICK = ds.Hierarchy.flat(["sick", "well", "unknown"], missing=frozenset(["unknown"]))


def test_unknown_is_no_secret():
    """Nobody learns anything from "unknown"; that all who are known are sick is not what the rule is about."""
    by = {"region": REGION, "health": SICK}
    table = counts(by, {("r1", "unknown"): 5, ("r2", "sick"): 4, ("r2", "well"): 7})
    assert by_cell(table, ds.GroupDisclosure("health")) == {}
    found = by_cell(table, ds.GroupDisclosure("health", unknown=True))
    assert found == {("r1", "unknown"): (1, 0), ("r1", "sick"): (0, 1)}


def test_a_broad_code_may_stand_for_unknown_though_its_parts_do_not():
    health = ds.Hierarchy.from_nested(
        {"known": ["sick", "well"], "unknown": ["refused", "lost"]}, total="Total", missing=frozenset(["unknown"])
    )
    table = counts({"region": REGION, "health": health}, {("r1", "refused"): 5, ("r2", "sick"): 4, ("r2", "well"): 7})
    rule = ds.GroupDisclosure("health")
    found = {cell for cell, (low, _) in by_cell(table, rule).items() if low}
    assert found == {("r1", "refused"), ("r2", "known")}
    assert ("r1", "unknown") in by_cell(table, ds.GroupDisclosure("health", unknown=True))


@pytest.mark.parametrize("order", [["sick", "b", "a"], ["sick", "a", "b"]])
def test_a_sum_that_a_table_leaves_out_is_not_taken_for_empty(order):
    by = {"region": REGION, "health": ds.Hierarchy.flat(order)}
    whole = counts(by, {("r1", "sick"): 5, ("r2", "sick"): 7})
    left = [row for row, codes in enumerate(whole.codes.tolist()) if whole.spec_codes(codes) != ("Total", "a")]
    table = whole.at(np.array(left))
    assert table.value[-1] == 0
    partners = {cell for cell, (low, _) in by_cell(table, ds.GroupDisclosure("health")).items() if not low}
    assert {("r1", "a"), ("r2", "a")} <= partners


def test_those_of_an_unknown_group_are_no_group():
    region = ds.Hierarchy.flat(["r1", "unknown"], missing=frozenset(["unknown"]))
    table = counts({"region": region, "health": HEALTH}, {("r1", "sick"): 3, ("r1", "well"): 4, ("unknown", "sick"): 5})
    assert by_cell(table, ds.GroupDisclosure("health")) == {}
    assert ("unknown", "sick") in by_cell(table, ds.GroupDisclosure("health", unknown=True))


def test_a_partner_stays_unsafe_though_unknown_codes_are_safe():
    by = {"region": REGION, "health": ds.Hierarchy.flat(["sick", "unknown"], missing=frozenset(["unknown"]))}
    table = counts(by, {("r1", "sick"): 5, ("r2", "sick"): 4, ("r2", "unknown"): 7})
    expected = {("r1", "sick"): (1, 0), ("r1", "unknown"): (0, 1)}
    assert by_cell(table, ds.GroupDisclosure("health"), missing_safe=True) == expected
