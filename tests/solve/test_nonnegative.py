"""Non-negative least squares on sums: the true optimum, and zeros that every solution has."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import csr_array

from discreet.errors import InputError, ProtectionError
from discreet.solve import nonnegative
from discreet.solve.additive import expected_inner, restored
from discreet.solve.nonnegative import distinct_rows, nonnegative_least_squares


def cover_of(shape: tuple[int, ...], margins: list[tuple[int, ...]]) -> csr_array:
    places = np.indices(shape).reshape(len(shape), -1)
    blocks = []
    for kept in margins:
        key = np.zeros(places.shape[1], int)
        for axis in kept:
            key = key * shape[axis] + places[axis]
        blocks.append(np.eye(key.max() + 1)[key])
    return csr_array(np.hstack(blocks))


MARGINS = [(0, 1), (1, 2), (0, 2), (0,), (1,), (2,), ()]


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_fit_is_that_of_the_dense_solver(seed):
    random = np.random.default_rng(seed)
    cover = cover_of((3, 2, 4), MARGINS)
    true = cover.T @ random.poisson(random.gamma(0.4, 2, 24))
    target = np.maximum(true + random.integers(-3, 4, len(true)), 0).astype(float)
    found = nonnegative_least_squares(target, cover)
    assert found.fitted == pytest.approx(cover.T @ nnls(cover.T.toarray(), target)[0], abs=1e-7)
    assert found.inner.min() >= 0
    assert cover.T @ found.inner == pytest.approx(found.fitted, abs=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_inner_cells_add_up_to_the_fit_even_where_some_must_be_zero(seed):
    """All two-way margins of 2 x 2 x 2: fits lie on the edge, where plain proportional fitting does not end."""
    random = np.random.default_rng(seed)
    cover = cover_of((2, 2, 2), MARGINS)
    target = np.maximum(cover.T @ random.integers(0, 3, 8) + random.integers(-2, 3, cover.shape[1]), 0).astype(float)
    fit = restored(target, cover, rule="nnls")
    inner = expected_inner(np.where(fit.value < 1e-9, 0, fit.value), cover, fit.possible)
    assert cover.T @ inner == pytest.approx(fit.value, abs=1e-6)


def test_cells_in_the_same_sums_are_taken_together():
    cover = csr_array(np.array([[1.0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 0, 1]]))
    part, rows = distinct_rows(cover)
    assert part.tolist() == [0, 0, 1, 0]
    assert rows.toarray().tolist() == [[1, 0, 1], [0, 1, 1]]
    found = nonnegative_least_squares(np.array([6.0, 1.0, 7.0]), cover)
    assert found.inner == pytest.approx([2, 2, 1, 2])


def test_a_limit_that_strikes_is_an_error_and_no_answer(monkeypatch):
    monkeypatch.setattr(nonnegative, "SWEEPS", nonnegative.BETWEEN)
    cover = cover_of((3, 4, 5), MARGINS)
    target = np.arange(cover.shape[1], dtype=float) ** 2
    with pytest.raises(ProtectionError, match="did not converge"):
        nonnegative_least_squares(target, cover)


def test_missing_values_are_refused():
    with pytest.raises(InputError, match="missing"):
        restored(np.array([1.0, np.nan, 1.0]), csr_array(np.array([[1.0, 0, 1], [0, 1, 1]])), rule="nnls")
