"""Risk and loss of post-randomisation (PRAM), from counts and transition matrices (de Wolf 2006).

Rows of matrices are original codes, columns published ones. ``moves`` counts records by both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError
from discreet.model.arrays import Bools, Floats
from discreet.model.transition import SINGULAR, TransitionMatrix, condition_of

Matrix = TransitionMatrix | npt.ArrayLike | None
"""A matrix of one variable; nothing where the variable was left alone."""
NONE = float("nan")


class PramRisk(NamedTuple):
    """``rare``: combinations that occur, but fewer times than the threshold; ``unsafe``: those that stay unsafe.

    ``chance`` is, for every combination, the chance that whoever is published with it truly has it; ``safe`` says
    which are safe.
    """

    rare: int
    unsafe: int
    chance: Floats
    safe: Bools


class PramLosses(NamedTuple):
    """What is lost: information (base-10 logarithms), counts, and what a regression on the codes tells.

    Parameters
    ----------
    expected_information, information
        Uncertainty of the original code given the published one: as expected of the published counts (EBIL), and of
        the pairs that were drawn (IL).
    difference, largest_difference, infinite
        Median and maximum of the relative error of corrected counts (RD), over codes that occur; how many codes that
        do not occur are estimated otherwise.
    variation, largest_variation
        Median and maximum of the coefficient of variation of corrected counts (CV).
    regression, largest_regression
        Median and maximum of the relative error of means by code (LRD); not a number without responses.
    """

    expected_information: float
    information: float
    difference: float
    largest_difference: float
    infinite: int
    variation: float
    largest_variation: float
    regression: float = NONE
    largest_regression: float = NONE


def along_axes(counts: npt.ArrayLike, matrices: Sequence[npt.ArrayLike | None]) -> Floats:
    """Counts times a matrix along each axis: ``sum_k counts[k] matrix[k, l]``, and nothing where there is none.

    The matrix of all combinations (the Kronecker product) is never built.
    """
    found = np.asarray(counts, np.float64)
    if found.ndim != len(matrices):
        raise InputError(
            f"Counts by {found.ndim} variables have {len(matrices)} matrices.",
            hint="Give one for each variable, None where it was left alone.",
        )
    for axis, matrix in enumerate(matrices):
        if matrix is None:
            continue
        square = np.asarray(matrix, np.float64)
        if square.ndim != 2 or square.shape[0] != found.shape[axis]:
            raise InputError(
                f"The matrix of variable {axis + 1} is for {len(square)} codes, and counts are by {found.shape[axis]}.",
                hint="Count all codes of the matrix, in its order.",
            )
        found = np.moveaxis(np.tensordot(found, square, axes=(axis, 0)), -1, axis)
    return found


def pram_risk(counts: npt.ArrayLike, matrices: Sequence[Matrix] | Matrix, threshold: float) -> PramRisk:
    """Which combinations of codes are unsafe after post-randomisation, by the rule of Bayes.

    A combination is safe where the chance that whoever is published with it truly has it is at most its count over
    the threshold: what the chance would be at the threshold without any randomisation. It depends on counts and
    matrices alone, never on what was drawn.

    Parameters
    ----------
    counts
        Original counts by one variable or several, one axis each. Leave out codes that stand for "unknown".
    matrices
        The matrix of each variable, ``None`` for one that was left alone.
    threshold
        Combinations that occur so often are safe as they are.

    Notes
    -----
    Source: de Wolf (2006).

    Examples
    --------
    >>> risk = pram_risk([[40, 900], [60, 1000]], [None, [[0.8, 0.2], [0.2, 0.8]]], 100)
    >>> risk.rare, risk.unsafe
    (2, 0)
    """
    times = np.asarray(counts, np.float64)
    if not np.isfinite(times).all() or times.min(initial=0) < 0:
        raise InputError("Counts must be numbers of at least 0.", hint="Count the records of each combination.")
    chances = [None if m is None else _square(m) for m in _listed(matrices)]
    expected = along_axes(times, chances)
    stay = np.ones(())
    for axis, matrix in enumerate(chances):
        diagonal = np.ones(times.shape[axis]) if matrix is None else np.diag(matrix)
        stay = np.multiply.outer(stay, diagonal)
    return judged(times, stay * times, expected, threshold)


def judged(times: Floats, kept: Floats, expected: Floats, threshold: float) -> PramRisk:
    """Which combinations are safe, from their counts, and the expected ones of those that stay and of all published."""
    if not threshold > 0:
        raise InputError("The threshold must lie above 0.")
    occurs = times > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.where(expected > 0, kept / expected, 0.0)
    safe = ~occurs | (threshold * kept <= times * expected) | (times >= threshold)
    return PramRisk(int((occurs & (times < threshold)).sum()), int((~safe).sum()), chance, safe)


def back_chances(matrix: Matrix, counts: npt.ArrayLike) -> Floats:
    """Chances of the original codes (columns) given the published one (rows), by the rule of Bayes.

    Examples
    --------
    >>> back_chances([[0.9, 0.1], [0.1, 0.9]], [110, 90]).round(3).tolist()
    [[0.917, 0.083], [0.12, 0.88]]
    """
    joint = _square(matrix) * np.asarray(counts, np.float64)[:, None]
    published = joint.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(published[:, None] > 0, joint.T / published[:, None], 0.0)
    return found


def information_loss(matrix: Matrix, counts: npt.ArrayLike) -> float:
    """The information that is lost on average over all draws, in base-10 logarithms: expected IL and EBIL alike.

    Examples
    --------
    >>> round(information_loss([[0.9, 0.1], [0.1, 0.9]], [3_653_000, 2_584_000]))
    866111
    """
    times = np.asarray(counts, np.float64)
    return _surprise(_square(matrix) * times[:, None], back_chances(matrix, times))


def estimate_variance(matrix: Matrix, counts: npt.ArrayLike) -> Floats:
    """Covariances of corrected counts, given the original ones: ``(P^-1)' diag(P'T) P^-1 - diag(T)``.

    Examples
    --------
    >>> estimate_variance([[0.9, 0.1], [0.1, 0.9]], [110, 90]).round(3).tolist()
    [[28.125, -28.125], [-28.125, 28.125]]
    """
    chances, times = _square(matrix), np.asarray(counts, np.float64)
    inverse = np.linalg.inv(chances)
    found: Floats = inverse.T @ np.diag(times @ chances) @ inverse - np.diag(times)
    return found


def relative_difference(counts: npt.ArrayLike, estimates: npt.ArrayLike) -> tuple[float, float, int]:
    """Median and maximum of the relative error over cells that occur, and how many empty ones are estimated otherwise.

    Examples
    --------
    >>> relative_difference([10, 20, 0, 0], [11, 20, 0, 3])
    (0.05, 0.1, 1)
    """
    times, guessed = (np.asarray(values, np.float64).ravel() for values in (counts, estimates))
    occurs = times != 0
    error = np.abs(times[occurs] - guessed[occurs]) / np.abs(times[occurs])
    return (*_middle_and_top(error), int((guessed[~occurs] != 0).sum()))


def pram_losses(
    matrix: Matrix, moves: npt.ArrayLike, responses: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
) -> PramLosses:
    """All losses of one variable after post-randomisation.

    Parameters
    ----------
    matrix
        Its transition matrix. Losses that need the inverse are not numbers where it is singular.
    moves
        How many records went from each original code (rows) to each published one (columns).
    responses
        Sums of a response by original and by published code, for the loss of a regression on the codes.

    Notes
    -----
    Source: de Wolf (2006). Logarithms are of base 10.

    Examples
    --------
    >>> losses = pram_losses([[0.9, 0.1], [0.1, 0.9]], [[99, 11], [9, 81]])
    >>> round(losses.information, 2), round(losses.difference, 12), round(losses.largest_variation, 3)
    (28.08, 0.0, 0.059)
    """
    chances, drawn = _square(matrix), np.asarray(moves, np.float64)
    if drawn.shape != chances.shape or drawn.min(initial=0) < 0:
        raise InputError("moves must count records by original and published code, like the matrix.")
    times, published = drawn.sum(axis=1), drawn.sum(axis=0)
    back = back_chances(chances, times)
    known = _surprise(drawn, back), _surprise(published[None, :] * back.T, back)
    if condition_of(chances) > SINGULAR:
        return PramLosses(known[1], known[0], NONE, NONE, 0, NONE, NONE)
    inverse = np.linalg.inv(chances)
    estimates = published @ inverse
    variance = np.maximum(np.diag(estimate_variance(chances, times)), 0)
    occurs = times > 0
    variation = _middle_and_top(np.sqrt(variance[occurs]) / times[occurs])
    regression = (NONE, NONE)
    if responses is not None:
        before, after = (np.asarray(sums, np.float64) for sums in responses)
        regression = _regression_loss(before, after @ inverse, times, estimates)
    return PramLosses(known[1], known[0], *relative_difference(times, estimates), *variation, *regression)


def _regression_loss(before: Floats, after: Floats, times: Floats, estimates: Floats) -> tuple[float, float]:
    """Median and maximum of the relative error of means by code; means of zero are left out."""
    there = (times > 0) & (before != 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, guessed = before[there] / times[there], after[there] / estimates[there]
    return _middle_and_top(np.abs(mean - guessed) / np.abs(mean))


def _surprise(weights: Floats, back: Floats) -> float:
    """Minus the sum of weights (original by published) times base-10 logarithms of the chances back."""
    some = weights > 0
    with np.errstate(divide="ignore"):
        found = -(weights[some] * np.log10(back.T[some])).sum()
    return float(found) + 0.0


def _middle_and_top(values: Floats) -> tuple[float, float]:
    return (float(np.median(values)), float(values.max())) if len(values) else (NONE, NONE)


def _listed(matrices: Sequence[Matrix] | Matrix) -> list[Matrix]:
    """One matrix for each axis; a single one may stand by itself."""
    if isinstance(matrices, TransitionMatrix) or np.ndim(matrices[0]) == 1:  # type: ignore[index, arg-type]
        return [matrices]  # type: ignore[list-item]
    return list(matrices)  # type: ignore[arg-type]


def _square(matrix: Matrix) -> Floats:
    found = np.asarray(matrix.chances if isinstance(matrix, TransitionMatrix) else matrix, np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise InputError("A transition matrix has as many rows as columns.", hint="Rows are the original codes.")
    return found
