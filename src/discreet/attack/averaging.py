"""Averaging attacks: noise that is drawn anew, or does not add up, is worn down by taking many numbers together."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Floats, Ints
from discreet.progress import steps

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE = 3_000
"""Up to so many published cells all errors are found at once."""


class Averaged(NamedTuple):
    """Estimates of cells, their standard errors, and how likely the nearest whole number is the true one.

    Errors are not a number where all answers were the same: noise that is fixed for a cell cannot be averaged away.
    """

    estimate: Floats
    error: Floats
    chance: Floats


def average_answers(answers: npt.ArrayLike) -> Averaged:
    """Mean of several answers to the same question, cell by cell.

    Parameters
    ----------
    answers
        One row per answer, one column per cell.

    Examples
    --------
    >>> average_answers([[4, 7], [6, 7], [5, 7]]).estimate.tolist()
    [5.0, 7.0]
    """
    given = np.asarray(answers, np.float64)
    if given.ndim != 2 or len(given) < 2 or not np.isfinite(given).all():
        raise InputError("Averaging needs at least two answers, each with all cells.")
    spread = given.std(axis=0, ddof=1)
    error = np.where(spread > 0, spread / np.sqrt(len(given)), np.nan)
    return Averaged(given.mean(axis=0), error, _chance(error))


def answers_needed(deviation: float, confidence: float = 0.95) -> int:
    """How many independent answers suffice to find a count with this confidence.

    Examples
    --------
    >>> answers_needed(1.732)
    47
    """
    from scipy.stats import norm

    if not deviation >= 0 or not 0 < confidence < 1:
        raise ParameterError("A deviation is at least 0, and a confidence lies between 0 and 1.")
    return max(1, ceil((norm.ppf((1 + confidence) / 2) * deviation / 0.5) ** 2))


def least_squares_attack(
    published: npt.ArrayLike, cover: csr_array, variance: float | npt.ArrayLike, cells: npt.ArrayLike | None = None
) -> Averaged:
    """Best linear estimates of published cells from all published cells together, where noise does not add up.

    Every total tells something of its parts and the other way round. Noise that is independent between cells, as that
    of cell keys, is worn down by this; the errors say how far.

    Parameters
    ----------
    published
        Published numbers with independent noise of mean zero.
    cover
        Inner by published cells, 1 where one is part of the other.
    variance
        Of the noise: one number, or one a published cell.
    cells
        Which published cells to estimate; all when left out, which needs a table of at most 3,000.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> cover = csr_array(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> least_squares_attack([3, 4, 10], cover, 2.0).error.round(3).tolist()
    [1.155, 1.155, 1.155]
    """
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import lsmr

    values = np.asarray(published, np.float64)
    noise = np.broadcast_to(np.asarray(variance, np.float64), values.shape)
    if cover.shape[1] != len(values):
        raise InputError(
            f"The matrix has {counted(cover.shape[1], 'published cell')}, {counted(len(values), 'value', 'are')} given."
        )
    if not np.isfinite(values).all() or noise.min(initial=1.0) <= 0:
        raise InputError("The attack needs all published values, and variances above zero.")
    if cells is None and len(values) > DENSE:
        raise ParameterError(
            f"All errors of {counted(len(values), 'cell')} take too long.", hint="Choose some with cells=."
        )
    asked: Ints = np.arange(len(values)) if cells is None else np.asarray(cells, np.int64)
    scale = np.sqrt(noise)
    design = csr_array(diags_array(1 / scale) @ cover.T)

    def projected(right: Floats) -> Floats:
        found: Floats = design @ lsmr(design, right, atol=1e-12, btol=1e-12, maxiter=10_000)[0]
        return found

    estimate = scale * projected(values / scale)
    if len(values) <= DENSE:
        basis, sizes, _ = np.linalg.svd(design.toarray(), full_matrices=False)
        basis = basis[:, sizes > 1e-10 * sizes.max(initial=0.0)]
        share = (basis[asked] ** 2).sum(axis=1)
    else:
        share = np.empty(len(asked))
        for k, cell in enumerate(steps("Cells", asked.tolist())):
            unit = np.zeros(len(values))
            unit[cell] = 1.0
            share[k] = projected(unit)[cell]
    error = scale[asked] * np.sqrt(np.maximum(share, 0.0))
    return Averaged(estimate[asked], error, _chance(error))


def _chance(error: Floats) -> Floats:
    """Chance that the nearest whole number is right, for normal errors."""
    from scipy.stats import norm

    known = ~np.isnan(error)
    chance = np.full(len(error), np.nan)
    with np.errstate(divide="ignore"):
        chance[known] = 2 * norm.cdf(0.5 / error[known]) - 1
    return chance
