"""Exchanges keep their books: what the search believes of published cells is what they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.arrays import pointers
from discreet.tables.perturb.exchanges import _anneal, step_costs
from discreet.tables.perturb.families import families_of


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 14), st.integers(1, 10), st.sampled_from([2, 3, 10]), st.integers(0, 3))
def test_deviations_and_counts_follow_the_raised_cells(seed, count, size, base, guarded):
    rng = np.random.default_rng(seed)
    contains = rng.random((count, size)) < 0.4
    contains[:, 0] = True
    guarded = min(guarded, size)
    cells = np.concatenate([np.flatnonzero(row) for row in contains]).astype(np.int32)
    draw = rng.integers(0, 2**64, count, dtype=np.uint64)
    raised = rng.random(count) < 0.5
    rest = rng.integers(1, base, guarded)
    small = lambda shown: int(((shown > 0) & (shown < base)).sum())  # noqa: E731
    shown = rest + base * contains[raised][:, size - guarded :].sum(axis=0)
    off = rng.integers(-4 * base, 4 * base, size).astype(np.int32)
    before, raised_before, small_before = off.copy(), raised.copy(), small(shown)
    start = pointers(contains.sum(axis=1))
    families = [
        families_of(group, draw, start, cells, size) for group in (rng.integers(0, 3, count), np.zeros(count, np.int64))
    ]
    _anneal(families, draw, off, shown, raised, base, 12, float(base))
    moved = raised.astype(int) - raised_before
    assert moved.sum() == 0
    assert (off == before + base * (moved @ contains)).all()
    assert (shown == rest + base * contains[raised][:, size - guarded :].sum(axis=0)).all()
    assert small(shown) <= small_before


def test_a_step_costs_what_the_deviation_gains_and_much_more_beyond_twice_the_base():
    rise, fall = step_costs(3)
    middle = len(rise) // 2
    assert [int(rise[middle + off]) for off in (-3, -2, -1, 0, 1)] == [-3, -1, 1, 3, 3]
    assert [int(fall[middle + off]) for off in (3, 2, 1, 0, -1)] == [-3, -1, 1, 3, 3]
    assert rise[middle + 6] > 15
    assert (rise[::-1] == fall).all()
