"""What a published value tells of the true one, where everybody knows by how many per cent it moved at most."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.tables.adjust.moves import known_of_others


@pytest.mark.parametrize("percent", [Fraction(1), Fraction(10), Fraction(33), Fraction(25, 2), Fraction(99)])
def test_the_ends_are_the_first_and_last_value_that_could_have_moved_there(percent):
    """Every value up to a thousand in turn, against trying all of them."""
    published = np.arange(-30, 31)
    low, high = known_of_others(published, percent)
    for p, least, most in zip(published.tolist(), low.tolist(), high.tolist(), strict=True):
        could = [v for v in range(-3100, 3101) if 100 * abs(p - v) <= percent * abs(v)]
        assert (least, most) == (min(could), max(could)), p


def test_who_may_move_by_all_of_a_value_tells_nothing():
    low, high = known_of_others(np.array([0, 7]), Fraction(100))
    assert low.tolist() == [NO_LOWER] * 2
    assert high.tolist() == [NO_UPPER] * 2
