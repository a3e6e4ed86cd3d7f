"""Means and covariances of columns, summed in one order so that the number of threads changes nothing."""

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


@kernel("f8[:,::1](f8[:,::1], f8[:,::1])")
def products(left: Any, right: Any) -> Any:
    """Sums over rows of all products of a column of one table with a column of another."""
    found = np.zeros((left.shape[1], right.shape[1]))
    for i in range(left.shape[0]):
        for j in range(left.shape[1]):
            for k in range(right.shape[1]):
                found[j, k] += left[i, j] * right[i, k]
    return found


@kernel("f8[:,::1](f8[:,::1], f8[:,::1])")
def mixed(values: Any, weights: Any) -> Any:
    """Rows as sums of their own columns: ``values @ weights.T``."""
    found = np.empty((values.shape[0], weights.shape[0]))
    for i in range(values.shape[0]):
        for j in range(weights.shape[0]):
            total = 0.0
            for k in range(weights.shape[1]):
                total += values[i, k] * weights[j, k]
            found[i, j] = total
    return found


def centred(values: Floats) -> Floats:
    """Columns less their means; twice, because the first means carry the rounding of large numbers."""
    once = values - values.mean(axis=0)
    return np.ascontiguousarray(once - once.mean(axis=0))


def covariance(middle: Floats) -> Floats:
    """The covariance of columns whose means are 0; the sum is divided by one less than the rows."""
    found: Floats = products(middle, middle) / (len(middle) - 1)
    return found


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
    >>> drawn = np.random.default_rng(1).normal(size=(50, 2))
    >>> made = with_covariance(drawn, np.array([[4.0, 1.0], [1.0, 9.0]]))
    >>> np.cov(made.T).round(12).tolist()
    [[4.0, 1.0], [1.0, 9.0]]
    """
    middle = centred(drawn)
    for _ in range(2):  # the second time takes away what rounding left
        middle = centred(mixed(middle, lower_inverse(root(covariance(middle)))))
    return np.ascontiguousarray(mixed(middle, root(wanted)))


def without(drawn: Floats, middle: Floats) -> Floats:
    """Draws less what of them goes with some columns: uncorrelated with all of these, and means of 0."""
    turn = lower_inverse(root(covariance(middle)))
    straight = mixed(middle, turn)
    left = centred(drawn)
    for _ in range(2):
        shared = products(left, straight) / (len(middle) - 1)
        left = centred(left - mixed(straight, np.ascontiguousarray(shared)))
    return left
