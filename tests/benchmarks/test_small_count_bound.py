"""The bound of the benchmark of small counts, against every rounding there is."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.sparse import csr_array

from benchmarks.small_count_tables import least_sum


def test_no_rounding_goes_below_the_bound_and_the_bound_says_more_than_remainders():
    rng = np.random.default_rng(0)
    sharper = 0
    for _ in range(20):
        contains = (rng.random((8, 14)) < 0.4).astype(float)
        target = (contains.T @ rng.integers(1, 3, 8)).astype(np.int64)
        best = min(np.abs(3 * contains.T @ np.array(rises) - target).sum() for rises in product((0, 1), repeat=8))
        bound = least_sum(csr_array(contains), target, steps=300)
        assert bound <= best + 1e-9
        sharper += bound > (target % 3 > 0).sum() + 0.5
    assert sharper > 10
