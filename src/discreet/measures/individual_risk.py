"""How likely a record of a sample is matched correctly with the population (Benedetti and Franconi 1998).

An intruder who has a register of the whole population finds in it everybody with the keys of a record, and picks one
of them. How many there are is not known to us: it is estimated from the weights of the records with these keys. Given
that the sample has ``f`` of them and that they stand for ``F`` persons, the population count is taken to follow a
negative binomial distribution with ``f`` successes of probability ``p = f / F``, and the risk is the mean of one over
that count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Bools, Floats, Ints

SERIES_BELOW = 0.5
"""The series converges quickly for unsampled shares ``q`` up to here, and recursion is stable above."""
CLOSED_ABOVE = 0.1
"""Closed forms lose digits for smaller ``q``."""
RECURSION_UP_TO = 12
"""Above this count the series takes few terms for every ``q``."""
LAST_TERM = 1e-17


def individual_risk(count: npt.ArrayLike, population: npt.ArrayLike) -> Floats:
    """The probability that a match of a record with a register of the population is right.

    Parameters
    ----------
    count
        How many records of the sample have the keys of a record, itself included.
    population
        The sum of their weights: how many persons these records stand for.

    Returns
    -------
    numpy.ndarray
        The mean of one over the population count, between ``1 / population`` and ``1 / count``.

    Raises
    ------
    InputError
        Where a count is below 1, or a sum of weights is below its count.

    Examples
    --------
    >>> individual_risk([1, 2, 3], [10, 20, 30]).round(6).tolist()
    [0.255843, 0.082684, 0.046368]
    >>> individual_risk(4, 4).tolist()
    0.25
    """
    counts, sums = np.broadcast_arrays(np.asarray(count, np.float64), np.asarray(population, np.float64))
    if not np.all((counts >= 1) & (counts == np.floor(counts)) & np.isfinite(counts)):
        raise InputError("Counts of records must be whole numbers from 1 on.", hint="Count each record itself, too.")
    wrong = int((~(sums >= counts * (1 - 1e-12)) | np.isinf(sums)).sum())
    if wrong:
        raise InputError(
            f"{counted(wrong, 'sum of weights', 'are')} below the number of records that it belongs to.",
            hint="Weights say how many persons a record stands for: at least 1 each.",
        )
    pairs = np.column_stack((counts.ravel(), sums.ravel()))
    risk = np.empty(len(pairs))
    _fill(risk, pairs[:, 0], np.minimum(pairs[:, 0] / np.maximum(pairs[:, 1], 1.0), 1.0))
    return risk.reshape(counts.shape)


def _fill(risk: Floats, f: Floats, p: Floats) -> None:
    """The risk by whichever way keeps all digits."""
    q = 1 - p
    closed = (f <= 3) & (q > CLOSED_ABOVE)
    recursive = (f > 3) & (f <= RECURSION_UP_TO) & (q > SERIES_BELOW)
    for chosen, way in ((closed | recursive, _recursion), (~(closed | recursive), _series)):
        at = np.flatnonzero(chosen)
        risk[at] = np.minimum(way(f[at], p[at], q[at]), 1 / f[at])  # rounding must not lead above what is possible


def _recursion(f: Floats, p: Floats, q: Floats) -> Floats:
    """From one record upwards: the risk for ``f`` is ``p / q`` times what ``1 / (f - 1)`` exceeds that for ``f - 1``.

    This is the closed form for two and three records, too. Errors grow by ``p / q`` a step.
    """
    risk = -p * np.log(p) / q
    odds = p / q
    for step in range(2, int(f.max(initial=1)) + 1):
        more = f >= step
        risk[more] = odds[more] * (1 / (step - 1) - risk[more])
    return risk


def _series(f: Floats, p: Floats, q: Floats) -> Floats:
    """``p / f`` times the sum of ``q**k`` over the binomial coefficient of ``f + k`` over ``k``: all terms positive."""
    total, term = np.ones(len(f)), np.ones(len(f))
    at, k = np.arange(len(f)), 0
    while len(at):
        k += 1
        term[at] *= q[at] * k / (f[at] + k)
        total[at] += term[at]
        at = at[term[at] > LAST_TERM * total[at]]
    return p / f * total


def household_risk(risk: npt.ArrayLike, household: npt.ArrayLike) -> Floats:
    """For every record the probability that at least one member of its household is matched correctly.

    Parameters
    ----------
    risk
        The risk of every record.
    household
        A number from 0 on for the household of every record.

    Examples
    --------
    >>> household_risk([0.5, 0.5, 0.1], [0, 0, 1]).round(6).tolist()
    [0.75, 0.75, 0.1]
    """
    own, home = np.asarray(risk, np.float64), np.asarray(household, np.int64)
    if own.shape != home.shape:
        raise ParameterError("Every record has one risk and one household.", hint="Give arrays of the same length.")
    with np.errstate(divide="ignore"):
        safe = np.bincount(home, np.log1p(-own))
    return np.asarray(-np.expm1(safe[home]), np.float64)


@dataclass(frozen=True)
class FileRisk:
    """What the risks of all records come to.

    ``expected`` is how many records an intruder is expected to match correctly, ``rate`` their share, ``above`` how
    many have a risk above ``threshold``, and ``largest`` is the highest risk.
    """

    records: int
    expected: float
    rate: float
    largest: float
    threshold: float
    above: int


def file_risk(risk: npt.ArrayLike, threshold: float = 0.1) -> FileRisk:
    """The risk of a file as a whole.

    Examples
    --------
    >>> file_risk([0.5, 0.25, 0.05, 0.0], threshold=0.1)
    FileRisk(records=4, expected=0.8, rate=0.2, largest=0.5, threshold=0.1, above=2)
    """
    values = _risks(risk)
    refuse_threshold(threshold)
    expected = float(values.sum())
    rate = expected / len(values) if len(values) else 0.0
    above = int((values > threshold).sum())
    return FileRisk(len(values), expected, rate, float(values.max(initial=0.0)), float(threshold), above)


def refuse_threshold(threshold: float) -> None:
    """Refuse a limit of the risk that is no probability."""
    if not 0 <= threshold <= 1:
        raise ParameterError(f"threshold={threshold} is not allowed.", hint="Use a number from 0 to 1.")


def threshold_for(risk: npt.ArrayLike, records: int) -> float:
    """The lowest threshold with at most so many records above it.

    Examples
    --------
    >>> threshold_for([0.5, 0.25, 0.25, 0.05], 1), threshold_for([0.5, 0.25, 0.25, 0.05], 2)
    (0.25, 0.25)
    """
    values = _risks(risk)
    if records < 0:
        raise ParameterError(f"records={records} is not allowed.", hint="Use a number of records from 0 on.")
    if records >= len(values):
        return 0.0
    return float(np.sort(values)[len(values) - 1 - records])


def threshold_for_rate(risk: npt.ArrayLike, rate: float) -> float:
    """The threshold above which records must be treated for the file to have at most this expected share of matches.

    Every record above it is taken to have no more than the threshold afterwards, as local suppression leaves it: the
    mean of the smaller of risk and threshold is at most ``rate``.

    Examples
    --------
    >>> round(threshold_for_rate([0.5, 0.25, 0.05, 0.0], 0.1), 6)
    0.175
    """
    values = np.sort(_risks(risk))
    if not 0 <= rate <= 1:
        raise ParameterError(f"rate={rate} is not allowed.", hint="Use a share from 0 to 1.")
    if not len(values) or values.mean() <= rate:
        return 1.0
    below = np.concatenate(([0.0], np.cumsum(values)))[:-1]
    left = np.arange(len(values), 0, -1)
    reached = (below + left * values) / len(values)  # the mean if the threshold were this risk
    at = int(np.searchsorted(reached, rate, side="right"))
    return float((rate * len(values) - below[at]) / left[at])


def high_beside_others(risk: npt.ArrayLike, least: float = 0.1) -> Bools:
    """Records whose risk lies above ``least`` and far above that of most others: by more than twice the deviation.

    Deviation is the median absolute deviation from the median, times 1.4826.

    Examples
    --------
    >>> high_beside_others([0.01, 0.02, 0.02, 0.03, 0.5]).tolist()
    [False, False, False, False, True]
    """
    values = _risks(risk)
    if not len(values):
        return np.zeros(0, np.bool_)
    middle = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - middle)))
    return (values > least) & (values > middle + 2 * spread)


def risk_classes(risk: npt.ArrayLike, edges: npt.ArrayLike) -> Ints:
    """How many records have a risk up to each edge and above the one before; risks above the last edge are left out.

    Examples
    --------
    >>> risk_classes([0.0, 0.05, 0.1, 0.6, 1.0], [0.1, 0.5, 1.0]).tolist()
    [3, 0, 2]
    """
    upper = np.asarray(edges, np.float64)
    place = np.searchsorted(upper, _risks(risk), side="left")
    return np.bincount(place, minlength=len(upper) + 1)[: len(upper)].astype(np.int64)


def _risks(risk: npt.ArrayLike) -> Floats:
    values = np.asarray(risk, np.float64).ravel()
    if not np.all((values >= 0) & (values <= 1)):
        raise InputError("Risks must be probabilities.", hint="Give numbers from 0 to 1, without gaps.")
    return values
