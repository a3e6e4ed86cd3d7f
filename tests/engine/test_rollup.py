"""Adding up one variable at a time gives what adding up all at once gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet.engine.rollup as rollup
from discreet.engine.cells import LeafCells, all_cells, cells_above, rolled_up
from discreet.model.hierarchy import Hierarchy
from tests.model.random_hierarchies import hierarchies


@settings(max_examples=60, deadline=None)
@given(
    st.lists(hierarchies(), min_size=1, max_size=3), st.integers(0, 2**32), st.booleans(), st.sampled_from([0, 1000])
)
def test_both_ways_agree(chosen, seed, keyed, modulus):
    rng = np.random.default_rng(seed)
    shape = [len(h) for h in chosen]
    bases = [np.flatnonzero(h.base) for h in chosen]
    grid = np.stack(np.meshgrid(*bases, indexing="ij"), axis=-1).reshape(-1, len(chosen))
    codes = grid[rng.random(len(grid)) < 0.6]
    if not len(codes):
        codes = grid[:1]
    keys = np.sort(np.ravel_multi_index(tuple(codes.T), shape)).astype(np.int64)
    n = len(keys)
    leaf = LeafCells(
        keys,
        rng.integers(1, 5, n),
        rng.integers(-9, 9, (2, n)),
        rng.integers(0, 1000, n) if keyed else np.zeros(0, np.int64),
    )
    cells = all_cells(keys, chosen, False)
    expected = rolled_up(leaf, cells_above(keys, cells, chosen), len(cells), modulus)
    for dense in (0, 2**25):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rollup, "DENSE_CELLS", dense)
            found = rollup.rolled_up_by_variable(leaf, chosen, modulus)
        assert found.keys.tolist() == cells.tolist()
        assert found.records.tolist() == expected.records.tolist()
        assert found.sums.tolist() == expected.sums.tolist()
        assert found.key_sum.tolist() == expected.key_sum.tolist()


def test_signed_codes_are_noticed():
    flat = Hierarchy.flat(["a", "b"])
    assert not rollup.signed([flat])
    assert rollup.signed([flat, flat.with_grouping("net", ["a"], minus=["b"])])
