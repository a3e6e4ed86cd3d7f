"""Who must be in a total, because it is the only contributor of one of its parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from discreet.relations.filling import Filling, parts_filled_alone

T, A, B, a, b = range(5)
TREE = np.array([[-1, 1, 1, 0, 0], [0, -1, 0, 1, 1]])
NOBODY = -1


def filled(
    value: list[int],
    sole: dict[int, int],
    least: float = 0.4,
    exact: tuple[bool, ...] = (True, True),
    matrix: np.ndarray = TREE,
) -> dict[int, dict[int, int]]:
    """For each cell who fills how much of it."""
    people = np.array([sole.get(cell, NOBODY) for cell in range(5)])
    found = parts_filled_alone(csr_array(matrix), np.array(exact), np.array(value), people, least)
    assert len(found.start) == 6
    return {
        cell: dict(zip(found.who[low:high].tolist(), found.amount[low:high].tolist(), strict=True))
        for cell, (low, high) in enumerate(zip(found.start[:-1].tolist(), found.start[1:].tolist(), strict=True))
        if high > low
    }


def test_who_fills_a_part_is_in_all_totals_above_it_where_that_matters():
    value = [100, 60, 40, 40, 20]
    assert filled(value, {a: -2}) == {T: {-2: 40}, A: {-2: 40}}
    assert filled(value, {a: -2}, least=0.41) == {A: {-2: 40}}
    assert filled(value, {a: -2, b: -3}, least=0.3) == {T: {-2: 40}, A: {-2: 40, -3: 20}}
    assert filled(value, {}) == {}


def test_of_several_parts_the_largest_counts():
    assert filled([100, 60, 40, 40, 20], {a: -2, b: -2}, least=0.3) == {T: {-2: 40}, A: {-2: 40}}


def test_a_total_of_one_contributor_is_that_ones():
    assert filled([100, 60, 40, 60, 0], {a: -2, A: -2}) == {T: {-2: 60}}


def test_a_part_without_a_value_fills_nothing_and_one_unit_does():
    assert filled([0, 0, 0, 0, 0], {a: -2}) == {}
    assert filled([2, 2, 0, 1, 1], {a: -2}) == {T: {-2: 1}, A: {-2: 1}}


def test_only_sums_that_hold_exactly_tell():
    value = [100, 60, 40, 40, 20]
    assert filled(value, {a: -2}, exact=(True, False)) == {}
    assert filled(value, {a: -2}, exact=(False, True)) == {A: {-2: 40}}
    difference = np.array([[-1, 1, 1, 0, 0], [0, -1, 0, 1, -1]])
    assert filled([100, 20, 80, 40, 20], {a: -2}, matrix=difference) == {}


@pytest.mark.parametrize(
    ("amount", "value", "left", "spared"),
    [(5, 10, 5, False), (6, 11, 6, True), (6, 12, 5, True), (5, 11, 5, False), (5, 9, 9, True), (6, 20, 5.5, True)],
)
def test_who_is_largest_or_leaves_too_little_is_spared(amount, value, left, spared):
    """One who has more than half, or more than is left."""
    found = Filling(np.array([0, 1, 2]), np.array([-9, -2]), np.array([1, amount]))
    assert found.spared(1, value, left) == ({-2} if spared else set())
