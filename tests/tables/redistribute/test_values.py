"""Maps of magnitudes, repaired in whole units: all rules are kept, and no repaired place shows the truth."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import ParameterError, ProtectionError
from discreet.model.geography import Adjacency
from discreet.tables.redistribute.grid import Neighbours
from discreet.tables.redistribute.limits import MapRules, reduced, spread
from discreet.tables.redistribute.magnitudes import RepairedMap, repaired_map
from tests.tables.redistribute.test_areas import in_a_row, valued_map

RULES = ({}, {"max_share": 0.5}, {"p": 20.0}, {"dominance": (1, 0.6)}, {"dominance": (2, 0.85), "p": 10.0})
Held = list[list[int]]


def breaks(values: list[int], rules: dict) -> bool:
    """The rules of a map, written anew."""
    v = sorted(values, reverse=True)
    n, k = rules.get("dominance", (0, 1))
    return (
        len(v) < 3
        or 2 * v[0] > sum(v) * (1 if "max_share" in rules else 2)
        or (n > 0 and 100 * sum(v[:n]) >= round(100 * k) * sum(v))
        or 100 * sum(v[2:]) < rules.get("p", 0) * v[0]
    )


def repaired(values: Held, rules: dict) -> RepairedMap:
    """A row of places, repaired; sensitive places must not come back to what they held."""
    place = np.repeat(np.arange(len(values)), [len(inside) for inside in values])
    value = np.array([v for inside in values for v in inside])
    never = {i: sum(inside) for i, inside in enumerate(values) if breaks(inside, rules)}
    where = Neighbours(in_a_row(len(values)))
    return repaired_map(place, np.arange(len(place)), value, where, MapRules(**rules), never=never)


def by_place(made: RepairedMap, places: int) -> Held:
    return [made.value[made.cell == k].tolist() for k in range(places)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=6), min_size=2, max_size=5),
    st.sampled_from(RULES),
)
def test_rules_hold_in_the_units_that_are_published_and_no_repaired_place_shows_the_truth(values, rules):
    try:
        made = repaired(values, rules)
    except ProtectionError:
        return
    if made.unresolved:
        return
    after = by_place(made, len(values))
    assert sum(map(sum, after)) == sum(map(sum, values))
    for before, now in zip(values, after, strict=True):
        assert min(now) > 0
        assert not breaks(now, rules)
        assert not breaks(before, rules) or sum(now) != sum(before)


def test_a_place_that_came_back_to_its_true_value_hands_some_on():
    """The middle holds 10, takes in 3 from the left and hands 3 to the right: it would show 10 again."""
    values = [[4, 8, 4, 3], [8, 2], [7, 4, 6, 3]]
    place, held = np.repeat(np.arange(3), [4, 2, 4]), np.array([v for inside in values for v in inside])
    where = Neighbours(in_a_row(3))
    by_chance = repaired_map(place, np.arange(10), held, where, MapRules(max_share=0.5))
    assert by_place(by_chance, 3)[1] == [3, 5, 2]
    made = repaired(values, {"max_share": 0.5})
    assert by_place(made, 3) == [[5, 8, 4], [3, 4, 2], [8, 5, 6, 4]]
    assert made.value_moves[-1].rule == "true value"
    table = valued_map(*({f"f{i}{k}": v for k, v in enumerate(inside)} for i, inside in enumerate(values)))
    release = ds.protect(table, ds.Redistribute(max_share=0.5))
    assert release.verify().holds
    assert int(release.custodian.published[0][table.row(place="c1")]) == 9


def test_a_place_that_cannot_leave_its_true_value_is_refused():
    """Two places of three equal contributors: any unit that moves makes one of three too large."""
    held = np.array([4, 4, 4, 4, 4, 4])
    where = Neighbours(Adjacency(["a", "b"], [("a", "b")]))
    rules = MapRules(3, max_share=0.334)
    made = repaired_map(np.repeat([0, 1], 3), np.arange(6), held, where, rules, never={0: 12})
    assert made.unresolved == {0: "it would show its true value"}


def test_maps_say_why_they_cannot_be_repaired():
    table = valued_map({"a": 2, "b": 1, "c": 1}, {"d": 1, "e": 1, "f": 1})
    with pytest.raises(ProtectionError, match=r"2 places of the map cannot be repaired: 'c0 \(3 equal contributors"):
        ds.protect(table, ds.Redistribute(max_share=0.3))
    with pytest.raises(
        ProtectionError, match=r"1 place of the map cannot be repaired: 'c0 \(no cell can take its value"
    ) as error:
        ds.protect(table, ds.Redistribute(p=100, max_share=0.34))
    assert "smaller units" in str(error.value)


def test_rules_of_maps_are_exact():
    """Largest contributions of exactly the limit, beyond what floating point tells apart."""
    many = 3 * 10**17
    assert MapRules(max_share=0.1).broken([many, *[many] * 9]) is None
    assert MapRules(max_share=0.1).broken([many + 1, *[many] * 9]).kind == "max_share"
    assert MapRules(dominance=(1, 0.1)).broken([many - 1, *[many] * 9]) is not None
    assert MapRules(p=10).broken([many, many, many // 10]) is None
    assert MapRules(p=10).broken([many, many, many // 10 - 1]).kind == "p_percent"
    assert MapRules(dominance=(10**9, 0.99)).broken([1, 2, 3]).kind == "dominance"


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6), st.integers(-(10**6), 10**6))
def test_what_is_spread_is_all_there(values, amount):
    amount = max(amount, 1 - sum(values))
    after = spread(values, amount)
    assert sum(after) == sum(values) + amount
    assert all(abs(new * sum(values) - old * sum(after)) <= sum(values) for old, new in zip(values, after, strict=True))


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=3, max_size=6), st.sampled_from(RULES[1:]))
def test_a_rule_that_is_broken_takes_value_and_nobody_goes(values, rules):
    rule = MapRules(**rules).broken(values)
    if rule is None:
        return
    after = reduced(values, rule)
    assert min(after) > 0
    assert all(new <= old for old, new in zip(values, after, strict=True))
    assert Counter(after) != Counter(values)


def test_a_share_of_too_many_digits_is_refused():
    wrong = next(k / 10**17 for k in range(10**16 + 1, 10**16 + 10**4, 37) if not _exact(k / 10**17))
    with pytest.raises(ParameterError, match="too many digits"):
        MapRules(dominance=(1, wrong))


def _exact(share: float) -> bool:
    from fractions import Fraction

    return Fraction(str(float(Fraction(str(share)) * 100))) == Fraction(str(share)) * 100
