"""Impossible hierarchies are refused, and the message says what was given and what to do next."""

from __future__ import annotations

import pytest

from discreet import Grouping, Hierarchy
from discreet.errors import InputError, unknown_codes
from discreet.model.layout import hierarchy_description, hierarchy_from

FLAT = Hierarchy.flat(["a", "b", "c"])


def refusal(call) -> InputError:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.hint, "every refusal says what to do next"
    return caught.value


def test_a_cycle_is_shown():
    error = refusal(lambda: Hierarchy.from_parents({"a": "b", "b": "c", "c": "a"}))
    assert "runs in a circle" in error.message
    assert "a > c > b > a" in error.message or "b > a > c > b" in error.message or "c > b > a > c" in error.message


def test_a_cycle_beside_a_sound_tree_is_shown():
    error = refusal(lambda: Hierarchy.from_parents({"a": "T", "x": "y", "y": "x"}, total="T"))
    assert "circle: x > y > x" in error.message or "circle: y > x > y" in error.message


def test_a_code_cannot_be_its_own_parent():
    assert "circle: a > a" in refusal(lambda: Hierarchy.from_parents({"a": "a", "b": "T"}, total="T")).message


def test_a_sum_cannot_contain_itself():
    assert "circle" in refusal(lambda: FLAT.with_grouping("Total", ["Total"])).message


def test_two_roots_are_named():
    error = refusal(lambda: Hierarchy.from_parents({"a": "North", "b": "South"}))
    assert error.message == "The total is ambiguous: 2 codes stand at the top: 'North', 'South'."
    assert "total=" in error.hint


def test_a_given_total_that_is_not_the_only_root_is_ambiguous():
    error = refusal(lambda: Hierarchy.from_parents({"a": "North", "b": "South", "North": None}, total="North"))
    assert "2 codes stand at the top: 'North', 'South'" in error.message


def test_sums_without_a_total_are_ambiguous():
    error = refusal(lambda: Hierarchy.flat(["a", "b"], total=None).with_grouping("ab", ["a", "b"]))
    assert "ambiguous" in error.message


def test_an_orphan_is_named():
    groupings = (Grouping("Total", (("a", 1), ("b", 1))),)
    error = refusal(lambda: Hierarchy(groupings, "Total", ("Total", "a", "b", "lost")))
    assert error.message == "The total 'Total' does not cover 1 base code: 'lost'."


def test_a_total_that_no_sum_names_is_unknown():
    # The total may be a code of its own, so that the codes that it should cover are the orphans.
    groupings = (Grouping("x", (("a", 1),)),)
    assert "'Totl' does not cover 1 base code: 'a'" in refusal(lambda: Hierarchy(groupings, "Totl", ())).message


@pytest.mark.parametrize(
    ("make", "repeated"),
    [
        (lambda: Hierarchy.flat(["a", "b", "a"]), "'a'"),
        (lambda: Hierarchy.flat(["a", "Total"]), "'Total'"),
        (lambda: Hierarchy.flat(["a", "a"], total=None), "'a'"),
        (lambda: Hierarchy.from_nested({"x": ["a"], "y": ["a"]}), "'a'"),
        (lambda: Hierarchy.from_nested({"Total": ["a", "b"]}), "'Total'"),
    ],
)
def test_a_code_that_stands_twice_is_named(make, repeated):
    error = refusal(make)
    assert error.message.endswith(f"has codes more than once: {repeated}.")
    assert "with_grouping" in error.hint


def test_a_sum_that_lists_a_part_twice_is_named():
    assert "'x = a + a' lists 'a' twice" in refusal(lambda: FLAT.with_grouping("x", ["a", "a"])).message


def test_the_same_sum_twice_is_refused():
    error = refusal(lambda: FLAT.with_grouping("x", ["a", "b"]).with_grouping("x", ["a", "b"]))
    assert "'x = a + b' lists 'x' twice" in error.message


def test_a_sum_needs_parts():
    assert refusal(lambda: FLAT.with_grouping("x", [])).message == "Code 'x' is a sum without parts."


def test_parts_are_added_or_subtracted_once():
    error = refusal(lambda: Hierarchy((Grouping("T", (("a", 2),)),), "T", ()))
    assert error.message == "A part of the sum for 'T' has a sign that is neither 1 nor -1."


def test_overlapping_parts_name_the_base_code():
    h = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c"]})
    error = refusal(lambda: h.with_grouping("more", ["x", "b"]))
    assert error.message == "The sum 'more = x + b' counts base code 'b' more than once."
    assert "Subtract the overlap" in error.hint


def test_a_code_made_up_in_two_ways_must_cover_the_same():
    h = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c"]})
    error = refusal(lambda: h.with_grouping("x", ["a"]))
    assert error.message == "Code 'x' is made up in two ways that cover different base codes."
    assert "x = a" in error.hint


def test_a_base_code_cannot_become_a_sum():
    error = refusal(lambda: FLAT.with_grouping("a", ["b", "c"]))
    assert error.message == "Code 'a' is a base code, so it cannot become a sum of others."
    assert "new code" in error.hint


def test_an_unknown_part_has_its_nearest_code_named():
    h = Hierarchy.flat(["manufacturing", "construction"])
    with pytest.raises(InputError, match=r"no code 'manufactoring' in the hierarchy. Did you mean 'manufacturing'"):
        h.with_grouping("x", ["manufactoring"])


def test_an_unknown_code_lists_what_there_is():
    with pytest.raises(InputError, match=r"There is no code 'z' in the hierarchy. Available: 'Total', 'a', 'b', 'c'."):
        FLAT.position("z")


def test_an_unknown_code_for_missing_is_refused():
    with pytest.raises(InputError, match=r"no code '99' in the hierarchy \(missing=\)"):
        Hierarchy.flat(["a"], missing=frozenset(["99"]))


def test_totals_of_merged_hierarchies_must_cover_the_same():
    one, two = Hierarchy.flat(["a", "b", "c"]), Hierarchy.flat(["a", "b"], total="All")
    error = refusal(lambda: one.merged(two))
    assert error.message == "The totals 'Total' and 'All' of the two hierarchies cover different base codes."


def test_merged_hierarchies_may_not_contradict_each_other():
    one = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c"]})
    two = Hierarchy.from_nested({"x": ["a"], "y": ["b", "c"]}, total="All")
    assert "is made up in two ways" in refusal(lambda: one.merged(two)).message


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        ([1, 1], "describe codes of 2 characters, but these differ: '011'"),
        ([], "do not say how many characters each level has"),
        ([0, 0], "do not say how many characters each level has"),
        ([3, -1], "do not say how many characters each level has"),
    ],
)
def test_digits_must_fit_the_codes(digits, words):
    assert words in refusal(lambda: Hierarchy.from_digits(["011", "22"], digits)).message


def test_level_columns_must_be_of_one_length():
    error = refusal(lambda: Hierarchy.from_columns([["a", "b"], ["a1"]]))
    assert error.message == "The level columns of a hierarchy have '2', '1' codes."
    assert "at least one column" in refusal(lambda: Hierarchy.from_columns([])).hint


def test_level_columns_give_each_code_one_parent():
    error = refusal(lambda: Hierarchy.from_columns([["x", "y"], ["a", "a"]]))
    assert error.message == "Code 'a' stands under both 'x' and 'y'."


@pytest.mark.parametrize("below", ["N1", 5])
def test_nested_codes_stand_in_lists(below):
    error = refusal(lambda: Hierarchy.from_nested({"North": below}))
    assert error.message == f"What stands under 'North' is a {type(below).__name__}, not a list of codes."


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hierarchy.flat([]),
        lambda: Hierarchy.flat([], total=None),
        lambda: Hierarchy.from_nested({}),
        lambda: Hierarchy.from_parents({}),
        lambda: Hierarchy.from_parents({}, total="T"),
        lambda: Hierarchy.from_digits([], [1, 1]),
        lambda: Hierarchy.from_columns([[], []]),
    ],
)
def test_an_empty_hierarchy_is_refused(make):
    assert refusal(make).message.endswith("is empty.")


def test_a_description_with_codes_out_of_order_is_refused():
    description = hierarchy_description(FLAT)
    description["codes"] = ["a", "Total", "b", "c"]
    assert "in their order" in refusal(lambda: hierarchy_from(description)).message


def test_a_description_that_names_further_codes_is_refused():
    description = hierarchy_description(FLAT)
    description["codes"] = ["Total", "a", "b"]
    assert "in their order" in refusal(lambda: hierarchy_from(description)).message


def test_unknown_codes_in_the_data_are_listed_with_counts_the_most_frequent_first():
    error = unknown_codes("nace", {"9X": 2, "ZZ": 40, **{f"K{i}": 1 for i in range(10)}})
    assert "'ZZ' (40 records), '9X' (2 records), 'K0' (1 record)" in error.message
    assert "12 codes" in error.message
    assert error.message.endswith("and 2 more codes.")
    assert "code map" in error.hint
