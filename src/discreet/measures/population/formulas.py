"""The risk of a record when the mean of its cell, its spread and the sampling fraction are known.

The population count of a cell is Poisson with a mean that is gamma distributed with shape ``1 / a``; the sample takes
each person with probability ``fraction``, and ``mean`` persons of the cell on average. Given the sample count ``f`` the
persons who were not sampled are negative binomial. Spread 0 is the Poisson model, infinite spread the model of the
weights alone (Rinott and Shlomo 2006; Benedetti and Franconi 1998).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError
from discreet.model.arrays import Floats

NO_SPREAD = 1e-8
"""Below this spread the model is Poisson to all digits; above one over it, the model of the weights alone."""
PANELS, NODES = 60, 12
"""Integrals are taken over so many panels, each half as wide as the next, with so many points each."""


class CellRisk(NamedTuple):
    """Of records with unique keys in the sample: the chance to be unique in the population, and to be matched.

    ``square`` is the mean of one over the squared population count, from which the spread of matches follows.
    """

    unique: Floats
    match: Floats
    square: Floats

    def deviations(self) -> tuple[float, float]:
        """Standard deviations of the numbers of population uniques and of matches, cells being independent."""
        of_uniques = float((self.unique * (1 - self.unique)).sum())
        of_matches = float(np.maximum(self.square - self.match**2, 0.0).sum())
        return of_uniques**0.5, of_matches**0.5


def unique_risk(mean: npt.ArrayLike, spread: npt.ArrayLike, fraction: npt.ArrayLike) -> CellRisk:
    """Risk of records that are unique in a sample.

    Parameters
    ----------
    mean
        How many persons of the cell a sample has on average.
    spread
        One over the shape of the gamma distribution: 0 for Poisson, ``inf`` for weights alone.
    fraction
        The probability of a person in the cell to be sampled.

    Raises
    ------
    InputError
        Where a mean or spread is negative, or a fraction is not in (0, 1].

    Examples
    --------
    >>> found = unique_risk([0.4, 0.05], [0.5, 2.0], 0.1)
    >>> found.unique.round(8).tolist(), found.match.round(8).tolist()
    ([0.064, 0.40789092], [0.28, 0.63159593])
    """
    mu, a, pi = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (mean, spread, fraction)))
    refuse_fractions(pi)
    if not np.all((mu >= 0) & (a >= 0) & np.isfinite(mu)):
        raise InputError("Means and spreads of cells must not be negative.", hint="Give numbers from 0 on.")
    unique, match, square = (np.ones(mu.shape) for _ in range(3))
    poisson = (pi < 1) & (a <= NO_SPREAD)
    weights = (pi < 1) & ~poisson & ((a >= 1 / NO_SPREAD) | (mu == 0))
    between = (pi < 1) & ~poisson & ~weights
    for chosen, way in ((poisson, _poisson), (weights, _weights_alone), (between, _negative_binomial)):
        if chosen.any():
            unique[chosen], match[chosen], square[chosen] = way(mu[chosen], a[chosen], pi[chosen])
    match = np.asarray(np.clip(match, unique, 1.0))  # rounding must not lead above what is possible
    return CellRisk(unique, match, np.asarray(np.clip(square, match**2, match)))


def refuse_fractions(fraction: Floats) -> None:
    """Refuse what is no sampling fraction."""
    if not np.all((fraction > 0) & (fraction <= 1)):
        raise InputError(
            "Sampling fractions must be above 0 and at most 1.",
            hint="Give the share of the population that is in the sample, such as 0.1.",
        )


def _poisson(mu: Floats, a: Floats, pi: Floats) -> tuple[Floats, Floats, Floats]:
    unseen = mu * (1 - pi) / pi
    unique = np.exp(-unseen)
    with np.errstate(divide="ignore", invalid="ignore"):
        match = np.where(unseen > 0, -np.expm1(-unseen) / unseen, 1.0)
    return unique, match, _inverse_square(unseen)


def _inverse_square(unseen: Floats) -> Floats:
    """The mean of one over ``(1 + X)**2`` for Poisson ``X``: ``exp(-v) (Ei(v) - log v - Euler's constant) / v``."""
    from scipy.special import expi

    v = np.asarray(unseen, np.float64)
    found = 1 - 0.75 * v
    some = (v > 1e-6) & (v < 500)
    at = v[some]
    found[some] = np.exp(-at) * (expi(at) - np.log(at) - np.euler_gamma) / at
    far = v >= 500
    found[far] = (1 + 3 / v[far]) / v[far] ** 2
    return found


def _weights_alone(mu: Floats, a: Floats, pi: Floats) -> tuple[Floats, Floats, Floats]:
    from scipy.special import spence

    q = 1 - pi
    # sum over h of q**h / (1 + h)**2 is the dilogarithm of q over q
    return pi.copy(), -pi * np.log(pi) / q, pi * spence(1 - q) / q


def _negative_binomial(mu: Floats, a: Floats, pi: Floats) -> tuple[Floats, Floats, Floats]:
    shape = 1 / a
    log_rho = np.log1p((mu - mu / pi) / (mu / pi + shape))
    rho = np.exp(log_rho)
    rest = -np.expm1(log_rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        match = np.where(rest > 0, rho * -np.expm1(shape * log_rho) / (shape * rest), 1.0)
    square = _integral(np.ones(len(mu)), shape + 1, log_rho, squared=True)
    return np.exp((1 + shape) * log_rho), match, square


def cell_risk(count: npt.ArrayLike, mean: npt.ArrayLike, spread: npt.ArrayLike, fraction: npt.ArrayLike) -> Floats:
    """The mean of one over the population count for any sample count: the risk of records that share their keys.

    Parameters
    ----------
    count
        How many records of the sample have these keys.
    mean, spread, fraction
        As in :func:`unique_risk`.

    Examples
    --------
    >>> cell_risk([1, 2, 5], 2.0, 0.5, 0.25).round(6).tolist()
    [0.28, 0.176, 0.103603]
    """
    given = (np.asarray(one, np.float64) for one in (count, mean, spread, fraction))
    f, mu, a, pi = (np.array(one, np.float64).ravel() for one in np.broadcast_arrays(*given))
    refuse_fractions(pi)
    if not np.all((f >= 1) & (f == np.floor(f))):
        raise InputError("Counts of records must be whole numbers from 1 on.", hint="Leave empty cells out.")
    if not np.all((mu >= 0) & (a >= 0) & np.isfinite(mu)):
        raise InputError("Means and spreads of cells must not be negative.", hint="Give numbers from 0 on.")
    shape = 1 / np.clip(a, NO_SPREAD, 1 / NO_SPREAD)
    log_rho = np.where(pi < 1, np.log1p((mu - mu / pi) / (mu / pi + shape)), 0.0)
    found = _integral(f, shape + f, log_rho, squared=False)
    alone = f == 1
    found[alone] = unique_risk(mu[alone], a[alone], pi[alone]).match
    found = np.minimum(found, 1 / f)
    return found.reshape(np.broadcast(count, mean, spread, fraction).shape)


def _integral(f: Floats, power: Floats, log_rho: Floats, squared: bool) -> Floats:
    """The mean of one over ``f + X`` (or its square) for negative binomial ``X``, as an integral from 0 to 1.

    It is that of ``t**(f - 1)`` times the generating function, ``(rho / (1 - (1 - rho) t))**power`` (times ``-log t``
    for the square). All its mass may lie next to ``t = 1``, and the logarithm grows next to 0.
    """
    points, weights = np.polynomial.legendre.leggauss(NODES)
    total = np.zeros(len(f))
    rho, rest = np.exp(log_rho), -np.expm1(log_rho)
    for low, high, from_one in _panels():
        place = (high + low) / 2 + (high - low) / 2 * points
        beside = place if from_one else 1 - place
        log_t = (np.log1p(-place) if from_one else np.log(place))[None, :]
        # 1 - (1 - rho)(1 - y) is rho + (1 - rho) y, without cancellation
        growth = -np.log1p(rest[:, None] * beside[None, :] / rho[:, None])
        value = np.exp((f[:, None] - 1) * log_t + power[:, None] * growth)
        total += (value * (-log_t if squared else 1.0)) @ weights * (high - low) / 2
    return total


def _panels() -> list[tuple[float, float, bool]]:
    """Panels between 0 and 1, half as wide each towards both ends, and whether they are measured from 1."""
    ends = [0.5**k for k in range(1, PANELS + 1)]
    return [
        (low, high, from_one) for from_one in (True, False) for high, low in zip(ends, [*ends[1:], 0.0], strict=True)
    ]
