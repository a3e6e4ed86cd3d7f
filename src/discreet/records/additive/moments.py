"""Means and covariances of columns, summed in one order so that the number of threads changes nothing.

Tables have one row for each column and one column for each record, so that the values of a column stand together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel
from discreet.model.arrays import Floats

LEAST_PIVOT = 1e-9
"""Of its variance, what a column must have that does not follow from the columns before it."""


class DependentColumn(Exception):
    """A column follows from those before it; ``place`` says which one."""

    def __init__(self, place: int) -> None:
        super().__init__(f"column {place} follows from those before it")
        self.place = place


PIECE = 2048
"""Records whose values stay in the processor's cache while all columns are gone through."""


@kernel("f8[:,::1](f8[:,::1], f8[:,::1], b1)")
def _products(left: Any, right: Any, half: Any) -> Any:
    """Sums of products; those below the diagonal only where the others are the same."""
    found = np.zeros((left.shape[0], right.shape[0]))
    for first in range(0, left.shape[1], PIECE):
        last = min(first + PIECE, left.shape[1])
        for j in range(left.shape[0]):
            for k in range(j + 1 if half else right.shape[0]):
                total = 0.0
                for i in range(first, last):
                    total += left[j, i] * right[k, i]
                found[j, k] += total
    return found


@kernel("f8[:,::1](f8[:,::1], f8[:,::1])")
def mixed(weights: Any, values: Any) -> Any:
    """Columns as sums of other columns: ``weights @ values``."""
    found = np.zeros((weights.shape[0], values.shape[1]))
    for first in range(0, values.shape[1], PIECE):
        last = min(first + PIECE, values.shape[1])
        for j in range(weights.shape[0]):
            for k in range(weights.shape[1]):
                for i in range(first, last):
                    found[j, i] += weights[j, k] * values[k, i]
    return found


def products(left: Floats, right: Floats) -> Floats:
    """Sums over records of all products of a column of one table with a column of another."""
    found: Floats = _products(left, right, False)
    return found


@kernel("void(f8[:,::1], f8[:,::1])")
def _turn(lower: Any, values: Any) -> None:
    """Columns become sums of themselves and those before them, in place."""
    for first in range(0, values.shape[1], PIECE):
        last = min(first + PIECE, values.shape[1])
        for j in range(lower.shape[0] - 1, -1, -1):
            for i in range(first, last):
                values[j, i] *= lower[j, j]
            for k in range(j):
                for i in range(first, last):
                    values[j, i] += lower[j, k] * values[k, i]


def turned(lower: Floats, values: Floats) -> Floats:
    """``lower @ values`` in the place of the values; ``lower`` has nothing above its diagonal."""
    _turn(lower, values)
    return values


def centred(values: Floats) -> Floats:
    """Columns less their means, in their place; twice, because the first means carry the rounding of large numbers."""
    for _ in range(2):
        values -= values.mean(axis=1, keepdims=True)
    return values


def covariance(middle: Floats) -> Floats:
    """The covariance of columns whose means are 0; the sum is divided by one less than the records."""
    lower = _products(middle, middle, True) / (middle.shape[1] - 1)
    return np.asarray(lower + np.tril(lower, -1).T)


def root(matrix: Floats) -> Floats:
    """The lower triangular matrix that gives a covariance when it is multiplied by itself turned over (Cholesky).

    Raises
    ------
    DependentColumn
        Where a column follows from those before it.

    Examples
    --------
    >>> root(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    many = len(matrix)
    found = np.zeros((many, many))
    for j in range(many):
        rest = matrix[j, j] - found[j, :j] @ found[j, :j]
        if not rest > LEAST_PIVOT * matrix[j, j]:
            raise DependentColumn(j)
        found[j, j] = rest**0.5
        for i in range(j + 1, many):
            found[i, j] = (matrix[i, j] - found[i, :j] @ found[j, :j]) / found[j, j]
    return found


def lower_inverse(lower: Floats) -> Floats:
    """The inverse of a lower triangular matrix."""
    many = len(lower)
    found = np.zeros((many, many))
    for j in range(many):
        found[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, many):
            found[i, j] = -(lower[i, j:i] @ found[j:i, j]) / lower[i, i]
    return found


def with_covariance(drawn: Floats, wanted: Floats) -> Floats:
    """Draws turned so that their means are 0 and their covariance is exactly the wanted one.

    Examples
    --------
    >>> drawn = np.random.default_rng(1).normal(size=(2, 50))
    >>> made = with_covariance(drawn, np.array([[4.0, 1.0], [1.0, 9.0]]))
    >>> np.cov(made).round(12).tolist()
    [[4.0, 1.0], [1.0, 9.0]]
    """
    middle = centred(drawn.copy())
    for _ in range(2):  # the second time takes away what rounding left
        middle = centred(turned(lower_inverse(root(covariance(middle))), middle))
    return turned(root(wanted), middle)


def without(drawn: Floats, middle: Floats) -> Floats:
    """Draws less what of them goes with some columns: uncorrelated with all of these, and means of 0."""
    straight = turned(lower_inverse(root(covariance(middle))), middle.copy())
    left = centred(drawn.copy())
    for _ in range(2):
        left -= mixed(products(left, straight) / (middle.shape[1] - 1), straight)
        left = centred(left)
    return left
