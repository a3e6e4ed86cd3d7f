"""How many contributions are kept, so that the largest are known once each counts as often as it weighs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet.engine.cells import Above
from discreet.engine.contributions import MOST_KEPT, contributions_of, kept_of


@pytest.mark.parametrize(("top", "lightest"), list(product((1, 2, 3, 5), (None, 1.0, 1.5, 0.9, 0.5, 0.3, 0.21))))
def test_so_many_of_the_lightest_fill_the_top(top, lightest):
    """With the lightest weight each, the contributions that are kept count for at least the top ones, and no more."""
    kept = kept_of(top, lightest)
    assert kept >= top
    if lightest is None or lightest >= 1:
        assert kept == top
    else:
        enough = next(n for n in range(top, 10_000) if n * lightest >= top)
        assert kept == min(enough, MOST_KEPT)


def test_there_is_an_end_to_it_but_the_top_is_always_kept():
    assert kept_of(2, 1e-9) == MOST_KEPT
    assert kept_of(MOST_KEPT + 5, 1e-9) == MOST_KEPT + 5


def test_without_a_part_of_records_there_is_nothing_to_say():
    one_cell = Above(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32))
    with pytest.raises(ValueError, match="There are no records"):
        contributions_of(iter(()), one_cell, cells=1, top=2, kept=2)
