"""How far noise moves the values of records: one function for each way of making it of normal draws.

All take values less their means, one row for each column, and give the moves in the same units.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.records.additive.moments import covariance, root, turned, with_covariance, without

BLOCK = 31
"""Records that one random rotation mixes; more where they are left over."""


def independent(middle: Floats, drawn: Floats, amount: float) -> Floats:
    """Noise with a share of the variance of each column, each by itself."""
    spread = [sqrt(float(covariance(column[None, :])[0, 0])) for column in middle]
    return np.asarray(drawn * (sqrt(amount) * np.array(spread)[:, None]))


def correlated(middle: Floats, drawn: Floats, amount: float) -> Floats:
    """Noise drawn with a share of the covariance of the columns, in the place of the draws."""
    return turned(sqrt(amount) * root(covariance(middle)), drawn)


def exact(middle: Floats, drawn: Floats, amount: float) -> Floats:
    """Noise whose means are 0 and whose covariance is exactly a share of that of the columns.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> from discreet.records.additive.moments import centred
    >>> values = centred(draw.lognormal(size=(2, 40)))
    >>> noise = exact(values, draw.normal(size=(2, 40)), 0.25)
    >>> bool(np.allclose(np.cov(noise), 0.25 * np.cov(values), atol=1e-12))
    True
    """
    return with_covariance(drawn, amount * covariance(middle))


def restricted(middle: Floats, drawn: Floats, amount: float) -> Floats:
    """Moves that leave means and covariances of the columns exactly as they were.

    Noise that is uncorrelated with the columns and has ``amount`` times their covariance is added; the sum is shrunk.
    """
    noise = with_covariance(without(drawn, middle), covariance(middle))
    moved = (middle + sqrt(amount) * noise) / sqrt(1.0 + amount)
    return np.asarray(moved - middle)


def block_sizes(rows: int) -> Ints:
    """How many records each rotation mixes.

    Examples
    --------
    >>> block_sizes(70).tolist(), block_sizes(5).tolist()
    ([35, 35], [5])
    """
    many = max(rows // BLOCK, 1)
    return np.array([rows // many + (i < rows % many) for i in range(many)], np.int64)


def rotated(middle: Floats, drawn: Floats, amount: float) -> Floats:
    """Moves by random orthogonal matrices that keep means, and with them covariances.

    Records stand block by block. Each block has a random basis of what is left when its mean is taken away, and turns
    by one angle in the planes of its first and second, third and fourth ... direction. ``amount`` is the square of the
    moves as a share of the variance: ``2 - 2 cos(angle)``. A last direction without a partner stays.
    """
    turn = 1.0 - amount / 2.0
    side = sqrt(max(1.0 - turn**2, 0.0))
    found = np.empty_like(middle)
    first = 0
    sizes = block_sizes(middle.shape[1])
    for size in np.unique(sizes)[::-1].tolist():  # the larger ones come first
        many = int((sizes == size).sum())
        rows = slice(first, first + many * size)
        first += many * size
        basis = _bases(drawn[: size - 1, rows].T.reshape(many, size, size - 1))
        along = np.einsum("bij,cbi->bjc", basis, middle[:, rows].reshape(-1, many, size))
        planes = (size - 1) // 2 * 2
        one, two = along[:, 0:planes:2], along[:, 1:planes:2]
        change = np.zeros_like(along)
        change[:, 0:planes:2] = (turn - 1.0) * one - side * two
        change[:, 1:planes:2] = side * one + (turn - 1.0) * two
        found[:, rows] = np.einsum("bij,bjc->cbi", basis, change).reshape(-1, many * size)
    return found


def _bases(drawn: Floats) -> Floats:
    """Orthonormal directions that add up to 0 over the rows of each block, made of draws."""
    many, size, _ = drawn.shape
    whole = np.concatenate((np.ones((many, size, 1)), drawn), axis=2)
    directions, lengths = np.linalg.qr(whole)
    signs = np.where(np.diagonal(lengths, axis1=1, axis2=2) < 0, -1.0, 1.0)
    return np.asarray(directions * signs[:, None, :])[:, :, 1:]


def hypercube(middle: Floats, drawn: Floats, amount: float, places: Floats) -> Floats:
    """Moves to a Latin hypercube sample of the columns' own distributions, with nearly the same rank correlations.

    Normal scores of the ranks get restricted noise; a record then takes the place that its new scores have, and the
    value that its column's distribution has somewhere in that place. ``places`` says where, from 0 up to 1. Records
    stand in an order of their own, which decides among equal values.
    """
    from scipy.special import ndtri

    records = middle.shape[1]
    order, rank = _ranked(middle)
    scores = np.ascontiguousarray(ndtri((rank + 0.5) / records))
    _, new = _ranked(scores + restricted(scores, drawn, amount))
    at = np.clip(new + places - 0.5, 0.0, records - 1.0)
    below = np.minimum(at.astype(np.int64), records - 2)
    ordered = np.take_along_axis(middle, order, axis=1)
    low, high = np.take_along_axis(ordered, below, axis=1), np.take_along_axis(ordered, below + 1, axis=1)
    return np.asarray(low + (at - below) * (high - low) - middle)


def _ranked(values: Floats) -> tuple[Ints, Ints]:
    """The order of each column's values from the least on, and the rank of each."""
    order = np.argsort(values, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(values.shape[1])[None, :], axis=1)
    return order, rank
