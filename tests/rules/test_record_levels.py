"""Combinations of keys by identification level are those that μ-ARGUS makes."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as ds
from discreet.rules import levels as module


def by_brute_force(levels: dict[str, int]) -> set[frozenset[str]]:
    """Sets with a key for every level in use, each of this level or a more identifying one."""
    keys = [key for key in levels if levels[key]]
    slots = sorted({levels[key] for key in keys})
    return {
        frozenset(chosen)
        for chosen in combinations(keys, len(slots))
        if any(
            all(levels[key] <= slot for key, slot in zip(order, slots, strict=True)) for order in permutations(chosen)
        )
    }


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=1))
def test_every_level_has_a_key_that_identifies_at_least_as_much(levels):
    if not any(levels.values()):
        levels["a"] = 1
    found = ds.level_combinations(levels)
    assert {frozenset(chosen) for chosen in found} == by_brute_force(levels)
    assert len(found) == len(set(found))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), min_size=1))
def test_smaller_combinations_are_the_parts_of_the_others(levels):
    whole = ds.level_combinations(levels)
    parts = {frozenset(part) for one in whole for size in range(1, len(one) + 1) for part in combinations(one, size)}
    found = ds.level_combinations(levels, smaller=True)
    assert {frozenset(chosen) for chosen in found} == parts
    assert len(found) == len(parts)
    assert [len(chosen) for chosen in found] == sorted(len(chosen) for chosen in found)


def test_one_key_of_level_1_and_one_of_level_2_meet_every_key_of_level_3():
    levels = {"REGION": 1, "SEX": 2, **{f"V{n}": 3 for n in range(27)}}
    found = ds.level_combinations(levels)
    assert len(found) == 27
    assert all(chosen[:2] == ("REGION", "SEX") for chosen in found)


def test_levels_need_not_begin_with_1_or_follow_each_other():
    assert ds.level_combinations({"sex": 2, "age": 5}) == [("sex", "age")]
    assert ds.level_combinations({"sex": 4, "age": 4}) == [("sex",), ("age",)]


def test_combinations_go_into_the_rule():
    rule = ds.KAnonymity(3, combinations=ds.level_combinations({"region": 1, "sex": 2}))
    assert [table.keys for table in rule.tables()] == [("region", "sex")]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"a": -1}, "The identification level of 'a' is -1."),
        ({"a": True}, "The identification level of 'a' is True."),
        ({"a": 1.0}, "The identification level of 'a' is 1.0."),
        ({"a": "1"}, "The identification level of 'a' is '1'."),
        ({"a": 0}, "No key has an identification level above 0."),
        ({}, "No key has an identification level above 0."),
    ],
)
def test_what_is_no_level_is_refused(levels, message):
    with pytest.raises(ds.DiscreetError) as error:
        ds.level_combinations(levels)
    assert error.value.message == message
    assert error.value.hint


def test_more_combinations_than_anybody_counts_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 5)
    levels = {"a": 1, "b": 1, "c": 2, "d": 2}
    assert len(ds.level_combinations(levels)) == 5
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 4)
    with pytest.raises(ds.DiscreetError, match="4 keys of 2 levels have more than 4 combinations"):
        ds.level_combinations(levels)
