"""Card 003-06: what two margins disclose, against brute force over all cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attack import two_way_disclosure
from discreet.errors import InputError, ParameterError

A = np.array([[20, 15, 2], [1, 1, 0], [0, 2, 1]])
B = np.array([[50, 3, 2], [4, 1, 0], [2, 0, 1]])


def bounds(table):
    r, c = table.sum(axis=1)[:, None], table.sum(axis=0)[None, :]
    return np.maximum(0, r + c - table.sum()), np.minimum(r, c)


def disclosed(table, kind, threshold=None):
    return two_way_disclosure(table.sum(axis=1), table.sum(axis=0), kind, threshold).mask()


def test_example_a():
    low, up = bounds(A)
    assert low.tolist() == [[16, 13, 0], [0, 0, 0], [0, 0, 0]]
    assert up.tolist() == [[21, 18, 3], [2, 2, 2], [3, 3, 3]]
    assert np.argwhere(disclosed(A, "existence")).tolist() == [[0, 0], [0, 1]]
    assert np.argwhere(disclosed(A, "upward", 14)).tolist() == [[0, 0]]
    assert disclosed(A, "downward", 3).tolist() == [[False] * 3, [True] * 3, [False] * 3]
    assert disclosed(A, "approximation", 3).tolist() == [[False] * 3, [True] * 3, [False] * 3]
    five = disclosed(A, "approximation", 5)
    assert five.tolist() == [[False, False, True], [True] * 3, [True] * 3]
    assert disclosed(A, "approximation", 6).all()


def test_example_b():
    low, up = bounds(B)
    assert low[0, 0] == 48
    assert (up - low).tolist() == [[7, 4, 3], [5, 4, 3], [3, 3, 3]]
    assert np.argwhere(disclosed(B, "existence")).tolist() == [[0, 0]]


def random_table(seed, real):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(2, 6, 2))
    table = random.poisson(random.choice([0.5, 2.0]), shape)
    if random.random() < 0.5:
        table[tuple(random.integers(0, s) for s in shape)] += random.integers(5, 60)
    return table * random.random(shape) if real else table


@given(st.integers(0, 100_000), st.booleans(), st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_procedures_and_patterns_equal_brute_force(seed, real, tau):
    table = random_table(seed, real)
    if table.sum() == 0:
        return
    low, up = bounds(table)
    slack = 1e-9 * table.sum() if real else 0
    for kind, threshold, expected in (
        ("existence", None, low > slack),
        ("upward", tau, low > tau + slack),
        ("downward", tau + 1, up < tau + 1 - slack),
        ("approximation", tau + 1, up - low < tau + 1 - slack),
    ):
        found = two_way_disclosure(table.sum(axis=1), table.sum(axis=0), kind, threshold)
        assert np.array_equal(found.mask(), expected), kind
        assert len(found) == expected.sum()
        if kind in ("existence", "upward"):
            assert expected.any(axis=0).sum() <= 1 or expected.any(axis=1).sum() <= 1
        else:
            rows, columns = expected.all(axis=1), expected.all(axis=0)
            assert np.array_equal(expected, expected & (rows[:, None] | columns[None, :]))


def test_columns_are_searched_where_the_row_holds_one_cell():
    """The printed step looks at the column only when the row holds no cell, and misses those of the column."""
    table = np.array([[30, 1], [12, 1], [11, 1]]).T
    low, _ = bounds(table.T)
    assert (low > 0).sum() == 3
    assert np.array_equal(disclosed(table.T, "existence"), low > 0)


def test_large_margins_need_no_matrix():
    random = np.random.default_rng(1)
    rows = random.integers(0, 100, 1_000_000)
    columns = random.multinomial(rows.sum(), np.full(1000, 1e-3))
    found = two_way_disclosure(rows, columns, "downward", 5)
    assert len(found) == (rows < 5).sum() * 1000


@pytest.mark.parametrize(
    ("rows", "columns", "kind", "threshold", "error"),
    [
        ([1, 2], [1, 1], "existence", None, InputError),
        ([-1, 2], [1, 0], "existence", None, InputError),
        ([1, 2], [3], "downward", None, ParameterError),
        ([1, 2], [3], "downward", 0, ParameterError),
        ([1, 2], [3], "sideways", 1, ParameterError),
        ([1, 2], [3], "existence", 4, ParameterError),
    ],
)
def test_bad_input_is_refused(rows, columns, kind, threshold, error):
    with pytest.raises(error):
        two_way_disclosure(rows, columns, kind, threshold)


def test_rows_of_zeros_are_named():
    found = two_way_disclosure([0, 3], [1, 2], "downward", 1)
    assert found.rows.tolist() == [0]
    assert found.zero_rows.tolist() == [0]
