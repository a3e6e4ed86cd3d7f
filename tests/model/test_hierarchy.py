"""Hierarchies: every way to make one, and what follows from the sums."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet import Grouping, Hierarchy
from discreet.model.layout import hierarchy_description, hierarchy_from
from tests.model.random_hierarchies import cover_of, hierarchies, trees

INDUSTRY = Hierarchy.from_nested({"A": ["A1", "A2"], "B": {"B1": ["B11", "B12"], "B2": None}, "C": []})


def tree_of(hierarchy: Hierarchy) -> dict[str, list[str]]:
    return {g.parent: [code for code, sign in g.parts if sign == 1] for g in hierarchy.groupings}


# ---- making ---------------------------------------------------------------------------------------------------


def test_a_flat_list_hangs_under_its_total():
    region = Hierarchy.flat(["N", "S"], total="All")
    assert region.codes == ("All", "N", "S")
    assert region.total == "All"
    assert tree_of(region) == {"All": ["N", "S"]}


def test_a_flat_list_without_a_total_has_no_sums():
    sex = Hierarchy.flat(["f", "m"], total=None)
    assert sex.codes == ("f", "m")
    assert sex.groupings == ()
    assert sex.base_codes == ("f", "m")


def test_numbers_become_text_codes():
    assert Hierarchy.flat([2024, 2025]).base_codes == ("2024", "2025")
    assert Hierarchy.flat([2024]).position(2024) == 1


def test_nested_dictionaries_may_be_unbalanced():
    assert tree_of(INDUSTRY) == {"Total": ["A", "B", "C"], "A": ["A1", "A2"], "B": ["B1", "B2"], "B1": ["B11", "B12"]}
    assert INDUSTRY.base_codes == ("A1", "A2", "B11", "B12", "B2", "C")


def test_display_order_puts_every_code_before_its_parts():
    assert INDUSTRY.codes == ("Total", "A", "A1", "A2", "B", "B1", "B11", "B12", "B2", "C")


def test_a_parent_map_with_one_root_takes_it_as_the_total():
    region = Hierarchy.from_parents({"North": "Land", "South": "Land", "N1": "North", "Land": None})
    assert region.total == "Land"
    assert region.base_codes == ("N1", "South")


def test_a_parent_map_with_a_new_total_hangs_all_roots_under_it():
    region = Hierarchy.from_parents({"N1": "North", "N2": "North", "S": ""}, total="Land")
    assert tree_of(region) == {"North": ["N1", "N2"], "Land": ["S", "North"]}


def test_digits_cut_codes_into_levels():
    nace = Hierarchy.from_digits(["0111", "0112", "0121", "2000"], [1, 1, 2])
    assert tree_of(nace) == {
        "Total": ["0", "2"],
        "0": ["01"],
        "01": ["0111", "0112", "0121"],
        "2": ["20"],
        "20": ["2000"],
    }


def test_digits_of_zero_are_levels_that_do_not_exist():
    assert Hierarchy.from_digits(["11", "12"], [1, 0, 1]).codes == Hierarchy.from_digits(["11", "12"], [1, 1]).codes


def test_level_columns_give_the_same_tree_as_a_nested_dictionary():
    frame = pd.DataFrame(
        {
            "section": ["A", "A", "B", "B", "B", "C"],
            "division": ["A1", "A2", "B1", "B1", "B2", "C"],
            "group": [None, None, "B11", "B12", float("nan"), ""],
        }
    )
    made = Hierarchy.from_columns([frame["section"], frame["division"], frame["group"]])
    assert made.codes == INDUSTRY.codes
    assert tree_of(made) == tree_of(INDUSTRY)


def test_a_first_level_column_may_hold_the_total():
    assert Hierarchy.from_columns([["Total", "Total"], ["a", "b"]]).codes == ("Total", "a", "b")


def test_labels_fall_back_on_the_code():
    region = Hierarchy.flat(["N", "S"], labels={"N": "North"}).labelled({"S": "South"})
    assert [region.label(code) for code in region.codes] == ["Total", "North", "South"]


def test_codes_for_unknown_are_kept_through_every_change():
    region = Hierarchy.flat(["N", "S", "?"], missing=frozenset("?"))
    assert region.labelled({"N": "North"}).with_grouping("known", ["N", "S"]).missing == {"?"}
    assert Hierarchy.flat(["N", "S", "?"]).merged(region).missing == {"?"}


def test_a_description_keeps_codes_and_sums():
    other = hierarchy_from(hierarchy_description(INDUSTRY.with_grouping("exC", ["Total"], minus=["C"])))
    assert other.codes == (*INDUSTRY.codes, "exC")
    assert str(other.groupings[-1]) == "exC = Total - C"


def test_repr_says_how_large_it_is():
    assert repr(INDUSTRY) == "Hierarchy(10 codes, 6 base codes, 4 levels, total 'Total')"


# ---- further sums -----------------------------------------------------------------------------------------------


def test_a_code_may_stand_in_several_groups():
    region = Hierarchy.flat(["N", "S", "W"]).with_grouping("coast", ["N", "W"]).with_grouping("west", ["W", "S"])
    assert region.covered("coast") == {"N": 1, "W": 1}
    assert region.covered("west") == {"S": 1, "W": 1}
    assert [region.codes[i] for i in ancestors_of(region, "W")] == ["Total", "W", "coast", "west"]


def test_overlapping_parts_are_fine_once_the_overlap_is_subtracted():
    h = Hierarchy.flat(list("abcd")).with_grouping("ab", ["a", "b"]).with_grouping("bc", ["b", "c"])
    assert h.with_grouping("abc", ["ab", "bc"], minus=["b"]).covered("abc") == {"a": 1, "b": 1, "c": 1}


def test_a_balance_subtracts_base_codes():
    trade = Hierarchy.flat(["exports", "imports"]).with_grouping("balance", ["exports"], minus=["imports"])
    assert trade.covered("balance") == {"exports": 1, "imports": -1}
    assert str(trade.groupings[-1]) == "balance = exports - imports"


def test_a_total_may_be_made_up_in_two_ways():
    h = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c"]})
    h = h.with_grouping("p", ["a"]).with_grouping("q", ["b", "c"]).with_grouping("Total", ["p", "q"])
    assert h.covered("Total") == {"a": 1, "b": 1, "c": 1}
    assert [str(g) for g in h.groupings if g.parent == "Total"] == ["Total = x + y", "Total = p + q"]


def test_depth_follows_the_tree_and_not_a_later_group():
    h = Hierarchy.from_nested({"N": {"N1": ["N11", "N12"]}, "S": []}).with_grouping("sunny", ["N11", "S"])
    depth = dict(zip(h.codes, h.depth.tolist(), strict=True))
    assert depth == {"Total": 0, "N": 1, "N1": 2, "N11": 3, "N12": 3, "S": 1, "sunny": 0}


# ---- what means the same -------------------------------------------------------------------------------------------


def test_a_single_child_is_its_parent():
    h = Hierarchy.from_nested({"N": {"N1": ["N11"]}, "S": ["S1", "S2"]})
    assert h.same("N", "N11")
    assert h.same("N1", "N")
    assert not h.same("S", "S1")
    assert [h.codes[i] for i in h.same_as] == ["Total", "N", "N", "N", "S", "S1", "S2"]


def test_groups_of_the_same_base_codes_are_one_category():
    h = Hierarchy.from_nested({"N": ["a", "b"], "S": ["c"]}).with_grouping("exS", ["Total"], minus=["S"])
    assert h.same("N", "exS")


def test_a_balance_is_not_the_category_without_its_sign():
    h = Hierarchy.flat(["a", "b"]).with_grouping("sum", ["a", "b"]).with_grouping("balance", ["a"], minus=["b"])
    assert h.same("sum", "Total")
    assert not h.same("balance", "Total")


def test_two_hierarchies_over_one_variable_merge_into_one():
    east_west = Hierarchy.from_nested({"East": ["a", "b"], "West": ["c", "d"]}, labels={"East": "the east"})
    size = Hierarchy.from_nested({"Small": ["a", "c"], "Large": ["b", "d"]}, total="All", labels={"All": "all"})
    both = east_west.merged(size)
    assert both.total == "Total"
    assert both.same("Total", "All")
    assert both.covered("Large") == {"b": 1, "d": 1}
    assert set(both.base_codes) == set("abcd")
    assert both.label("All") == "all"
    assert both.label("East") == "the east"


def test_merging_explains_base_codes_of_the_coarser_hierarchy():
    coarse = Hierarchy.flat(["N", "S"])
    fine = Hierarchy.from_nested({"N": ["n1", "n2"], "S": ["s1"]})
    both = coarse.merged(fine)
    assert both.base_codes == ("n1", "n2", "s1")
    assert both.covered("N") == {"n1": 1, "n2": 1}


def test_merging_with_itself_changes_nothing():
    assert INDUSTRY.merged(INDUSTRY).codes == INDUSTRY.codes
    assert INDUSTRY.merged(INDUSTRY).groupings == INDUSTRY.groupings


def test_a_list_without_total_merges_under_the_other_total():
    assert Hierarchy.flat(["a", "b"], total=None).merged(Hierarchy.flat(["a", "b"])).total == "Total"


# ---- by brute force ------------------------------------------------------------------------------------------------


def ancestors_of(hierarchy: Hierarchy, code: str) -> list[int]:
    start, above, _ = hierarchy.ancestors
    position = hierarchy.position(code)
    return above[start[position] : start[position + 1]].tolist()


@settings(deadline=None, max_examples=150)
@given(hierarchies(12))
def test_covers_agree_with_brute_force(hierarchy: Hierarchy):
    for code in hierarchy.codes:
        assert hierarchy.covered(code) == cover_of(hierarchy, code)


@settings(deadline=None, max_examples=100)
@given(hierarchies(12))
def test_ancestors_are_the_covers_seen_from_below(hierarchy: Hierarchy):
    start, above, sign = hierarchy.ancestors
    found = {
        (hierarchy.codes[above[i]], hierarchy.codes[code]): int(sign[i])
        for code in range(len(hierarchy))
        for i in range(start[code], start[code + 1])
    }
    wanted = {(code, base): s for code in hierarchy.codes for base, s in cover_of(hierarchy, code).items()}
    assert found == wanted


@settings(deadline=None, max_examples=100)
@given(hierarchies(12))
def test_codes_are_the_same_exactly_when_their_covers_are(hierarchy: Hierarchy):
    covers = [cover_of(hierarchy, code) for code in hierarchy.codes]
    assert [covers.index(cover) for cover in covers] == hierarchy.same_as.tolist()


@settings(deadline=None, max_examples=100)
@given(hierarchies(12))
def test_every_grouping_sums_to_zero_over_its_members(hierarchy: Hierarchy):
    start, groupings, coefficient = hierarchy.members
    sums: list[dict[str, int]] = [{} for _ in hierarchy.groupings]
    for position, code in enumerate(hierarchy.codes):
        for i in range(start[position], start[position + 1]):
            for base, sign in cover_of(hierarchy, code).items():
                mine = sums[groupings[i]]
                mine[base] = mine.get(base, 0) + sign * int(coefficient[i])
    assert all(not any(found.values()) for found in sums)


@settings(deadline=None, max_examples=100)
@given(hierarchies(12))
def test_the_order_of_codes_survives_being_written_and_read(hierarchy: Hierarchy):
    again = hierarchy_from(hierarchy_description(hierarchy))
    assert again.codes == hierarchy.codes
    assert np.array_equal(again.same_as, hierarchy.same_as)


@settings(deadline=None, max_examples=60)
@given(trees(10, "a"), st.data())
def test_merged_hierarchies_cover_what_they_covered_apart(one: Hierarchy, data: st.DataObject):
    base = data.draw(st.permutations(one.base_codes))
    cut = data.draw(st.integers(1, len(base)))
    groups = [group for group in (base[:cut], base[cut:]) if group]
    other = Hierarchy.from_nested({f"g{i}": list(group) for i, group in enumerate(groups)}, total="Whole")
    both = one.merged(other)
    assert all(both.covered(code) == one.covered(code) for code in one.codes)
    assert all(both.covered(code) == other.covered(code) for code in other.codes)


@pytest.mark.parametrize(("code", "base"), [("B1", {"B11": 1, "B12": 1}), ("C", {"C": 1}), ("A", {"A1": 1, "A2": 1})])
def test_covered_lists_base_codes(code, base):
    assert INDUSTRY.covered(code) == base


def test_the_package_offers_hierarchies_and_groupings():
    assert ds.Hierarchy is Hierarchy
    assert str(Grouping("x", (("a", 1), ("b", -1)))) == "x = a - b"
