"""How far cells can move at most, with relations as a proof."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from discreet.solve.bound import Bound, bound_of, furthest

ROW = csr_array(np.array([[1, 1, 1, -1]]))
VALUE, LOW, HIGH = np.array([4, 5, 6, 15]), np.zeros(4, int), np.array([99, 99, 99, 15])


def most(movable: list[bool], target: int, direction: int) -> Bound:
    found = furthest(ROW, np.array(movable), VALUE, LOW, HIGH, target, direction)
    assert found is not None
    return found


@pytest.mark.parametrize(("target", "far"), [(0, 11), (1, 10), (2, 9)])
def test_a_cell_rises_as_far_as_the_others_can_fall(target, far):
    movable = [True, True, True, False]
    found = most(movable, target, 1)
    assert found.most == far
    proof = list(found.relations), found.multipliers
    assert bound_of(ROW, np.array(movable), VALUE, LOW, HIGH, target, 1, *proof) == far


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("movable", [[True, True, True, False], [False] * 4, [True, True, False, True]])
def test_a_cell_that_may_not_move_does_not_move(movable, direction):
    """Behind the last cell that may move there was an IndexError; before it, the next one was looked at instead."""
    for target in np.flatnonzero(~np.array(movable)).tolist():
        assert most(movable, target, direction) == Bound(Fraction(0), (), ())
