"""What totals of areas tell of a map of magnitudes or counts, one reason at a time, and places of a single unit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.verify.redistributed import _check_magnitudes, _told_counts, _told_values
from discreet.verify.verdict import Verdict

RULES: dict[str, Any] = {"p": None, "max_share": None, "dominance": None, "outliers": "suppress"}
Held = list[dict[str, int]]
"""Who has how much, place by place."""


def part(held: Held) -> dict[str, np.ndarray]:
    rows = [(place, ord(who), value) for place, inside in enumerate(held) for who, value in inside.items()]
    return dict(zip(("place", "contributor", "value"), np.array(rows, np.int64).T, strict=True))


def sums(held: Held) -> np.ndarray:
    return np.array([sum(inside.values()) for inside in held], np.int64)


def told(before: Held, after: list[int], parts: list[list[int]], **rules: Any) -> bool:
    evidence = SimpleNamespace(parts={"contributions": part(before)}, method={**RULES, **rules})
    return _told_values(evidence, parts, sums(before), np.array(after), 3)


FEW = {"a": 40, "b": 60}
MANY = {"c": 50, "d": 50, "e": 50}


def test_the_total_of_a_region_with_too_few_contributors_tells_them_even_where_the_map_shows_the_truth():
    assert told([FEW, MANY], [100, 150], [[0], [1]])
    assert not told([FEW, MANY], [100, 150], [[0, 1]])


def test_what_is_left_of_a_region_without_the_places_that_show_the_truth_tells_them():
    two = [{"a": 100, "b": 90}, {"a": 80, "b": 70}, MANY]
    assert told(two, [230, 200, 150], [[0, 1, 2]])
    assert not told([*two[:1], {"a": 80, "f": 70}, MANY], [230, 200, 150], [[0, 1, 2]])


@pytest.mark.parametrize(("off", "found"), [(0, True), (9, True), (-9, True), (10, False), (-10, False)])
def test_a_place_is_told_where_the_others_are_off_by_less_than_a_tenth_of_its_largest(off, found):
    assert told([{"a": 100}, MANY], [150, 150 + off], [[0, 1]]) is found


@pytest.mark.parametrize(("off", "found"), [(19, True), (20, False)])
def test_or_by_less_than_the_rule_of_the_map_asks_for(off, found):
    lone, other, third = {"a": 100}, {"c": 50, "d": 50, "e": 50, "f": 50}, {"g": 50, "h": 50, "i": 50}
    assert told([lone, other, third], [150, 200 + off, 150], [[0, 1, 2]], p=20) is found


@pytest.mark.parametrize(("off", "found"), [(9, True), (10, False)])
def test_places_that_are_left_out_are_told_together(off, found):
    assert told([{"a": 100}, {"b": 20}, MANY], [0, 0, 150 + off], [[0, 1, 2]]) is found


def counts_told(old: list[int], new: list[int], parts: list[list[int]]) -> bool:
    nobody = {"target": np.zeros(0, np.int64), "units": np.zeros(0, np.int64)}
    evidence = SimpleNamespace(parts={"outlier_moves": nobody}, method={"outliers": "suppress"})
    return _told_counts(evidence, parts, np.array(old), np.array(new), 3)


def test_the_total_of_a_part_of_which_nothing_is_shown_tells_what_was_left_out():
    """Places that hold the threshold may have held less, so that no other reason speaks against it."""
    assert counts_told([3, 3, 0, 2, 2], [3, 3, 0, 0, 0], [[0, 1, 2], [3, 4]])


def test_places_of_one_unit_count():
    """One was repaired, another one left out as an outlier."""
    before: Held = [{"a": 1}, {"b": 5, "c": 5, "d": 5}, {"e": 1}]
    after: Held = [{"a": 1, "b": 1}, {"b": 4, "c": 5, "d": 5}, {}]
    evidence = SimpleNamespace(parts={"contributions": part(before), "repaired": part(after)}, method=RULES)
    verdict = Verdict()
    assert _check_magnitudes(verdict, evidence, sums(before), sums(after), 2) == {"outliers": 1, "lost": 1}
    assert verdict.refused == []
