"""Models that look at nothing but how many cells of a sample hold one record, two, three and so on.

They are for samples of which no key has an order and no pair of keys can be trusted: Pitman's model (Hoshino 2001),
that of Zayatz (1991) and the shifted negative binomial distribution (Chen and Keller-McNulty 1998); :func:`choose`
is the rule of Dankar and others (2012) for choosing among them, as ARX has it. Every sample unique gets the same risk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError
from discreet.measures.population.cells import sampling_fraction
from discreet.measures.population.estimate import PopulationEstimate, not_fitted, without_uniques
from discreet.model.arrays import Floats

SMALL_SAMPLE = 0.1
"""Up to this sampling fraction Pitman's model is chosen."""
STEPS = 400
FAR = 18.0
"""A parameter whose logarithm goes beyond this runs away: the data do not tell it."""
NO_TAIL = -9.0
"""Below this logit Pitman's second parameter is taken for 0: the likelihood is flat from there on."""
EWENS = 1e-7
"""Below it Pitman's second parameter is taken for 0, where its formulas divide by it."""


class ClassSizes(NamedTuple):
    """Sizes of classes with the same keys, how many classes have each, and the sampling fraction."""

    size: Floats
    many: Floats
    fraction: float

    @property
    def records(self) -> float:
        """How many records there are."""
        return float(self.size @ self.many)

    @property
    def classes(self) -> float:
        """How many classes there are."""
        return float(self.many.sum())

    @property
    def uniques(self) -> int:
        """How many classes have one record."""
        return int(self.many[self.size == 1].sum())

    @property
    def persons(self) -> float:
        """How many persons the population has."""
        return max(self.records, self.records / self.fraction)


def class_sizes(counts: npt.ArrayLike, fraction: float) -> ClassSizes:
    """Count how often each size of a class occurs."""
    values = np.asarray(counts)
    whole = values.astype(np.int64)
    if not len(whole) or whole.ndim != 1 or np.any(whole != values) or whole.min() < 1:
        raise InputError("Counts of records must be whole numbers from 1 on.", hint="Leave empty cells out.")
    sizes, many = np.unique(whole, return_counts=True)
    return ClassSizes(sizes.astype(np.float64), many.astype(np.float64), sampling_fraction(fraction))


def pitman(counts: npt.ArrayLike, fraction: float) -> PopulationEstimate:
    """Population uniques by Pitman's model, which fits samples that are a small part of a population.

    Parameters
    ----------
    counts
        How many records each combination of keys has, 1 or more.
    fraction
        The share of the population that is in the sample.

    Examples
    --------
    >>> found = pitman([1] * 60 + [2] * 15 + [3] * 5 + [5] * 4 + [11] * 2, 0.05)
    >>> round(found.uniques, 1), round(found.matches, 1)
    (10.3, 20.0)
    """
    return _pitman(class_sizes(counts, fraction))


def zayatz(counts: npt.ArrayLike, fraction: float) -> PopulationEstimate:
    """Population uniques if classes of the population were as large as those of the sample (Zayatz 1991).

    That they are larger is left out, so that small samples give far too many.

    Parameters
    ----------
    counts, fraction
        As in :func:`pitman`.

    Examples
    --------
    >>> found = zayatz([1] * 60 + [2] * 15 + [3] * 5 + [5] * 4 + [11] * 2, 0.5)
    >>> round(found.uniques, 1), round(found.matches, 1)
    (46.1, 52.4)
    """
    return _zayatz(class_sizes(counts, fraction))


def shifted_negative_binomial(counts: npt.ArrayLike, fraction: float) -> PopulationEstimate:
    """Population uniques if a class has one person and further ones of a negative binomial distribution.

    Both parameters are those of highest likelihood given which classes are in the sample.

    Parameters
    ----------
    counts, fraction
        As in :func:`pitman`.

    Examples
    --------
    >>> found = shifted_negative_binomial([1] * 60 + [2] * 15 + [3] * 5 + [5] * 4 + [11] * 2, 0.5)
    >>> found.fitted, 0 < found.uniques < found.matches < 60
    (True, True)
    """
    return _shifted(class_sizes(counts, fraction))


MODELS = ("Pitman", "Zayatz", "shifted negative binomial")


def superpopulation(counts: npt.ArrayLike, fraction: float) -> tuple[PopulationEstimate, ...]:
    """All three models, the one that the rule of Dankar and others (2012) chooses first.

    Parameters
    ----------
    counts, fraction
        As in :func:`pitman`.

    Examples
    --------
    >>> [found.model for found in superpopulation([1] * 60 + [2] * 15 + [3] * 5 + [5] * 4 + [11] * 2, 0.05)]
    ['Pitman', 'Zayatz', 'shifted negative binomial']
    """
    return superpopulation_of(class_sizes(counts, fraction))


def superpopulation_of(sizes: ClassSizes) -> tuple[PopulationEstimate, ...]:
    """The same from sizes of classes that were counted already."""
    found = (_pitman(sizes), _zayatz(sizes), _shifted(sizes))
    best = choose(found, sizes.fraction)
    first = found[best].with_notes("Chosen among superpopulation models by the rule of Dankar and others (2012).")
    return (first, *(one for place, one in enumerate(found) if place != best))


def choose(found: Sequence[PopulationEstimate], fraction: float) -> int:
    """Which of Pitman, Zayatz and shifted negative binomial to believe.

    Pitman's where at most a tenth of the population is sampled; else the smaller of the other two; Zayatz where the
    model that is wanted could not be fitted.
    """
    if fraction <= SMALL_SAMPLE:
        return 0 if found[0].fitted else 1
    return 2 if found[2].fitted and found[2].uniques <= found[1].uniques else 1


# ---- Pitman ----------------------------------------------------------------------------------------------------


def _pitman(sizes: ClassSizes) -> PopulationEstimate:
    name, records, uniques = MODELS[0], int(sizes.records), sizes.uniques
    if not uniques:
        return without_uniques(name, records)
    if sizes.classes == sizes.records:
        return not_fitted(name, records, uniques, "Every record is unique: nothing tells how many share keys.")
    best = _highest(lambda at: _pitman_likelihood(sizes, *_pitman_parameters(at)), ((0.0, 0.0), (4.0, -2.0)))
    notes: tuple[str, ...] = ()
    if best is None or best[1] < NO_TAIL:
        theta, alpha, notes = _ewens(sizes), 0.0, ("Pitman's second parameter is 0: the model is that of Ewens.",)
    else:
        theta, alpha = _pitman_parameters(best)
    unique, match = pitman_risk(theta, alpha, sizes.records, sizes.persons)
    return PopulationEstimate(name, records, uniques, uniques * unique, uniques * match, notes=notes)


def _ewens(sizes: ClassSizes) -> float:
    """The first parameter where the second is 0: the expected number of classes is that of the sample."""
    from scipy.optimize import brentq
    from scipy.special import digamma

    def beyond(log_theta: float) -> float:
        theta = np.exp(log_theta)
        return float(theta * (digamma(theta + sizes.records) - digamma(theta)) - sizes.classes)

    # with few classes the sum is 1 at least, with many it nears the number of records from below
    return float(np.exp(brentq(beyond, -3 * FAR, np.log(sizes.records) * 2 + 3)))


def _pitman_parameters(at: Floats) -> tuple[float, float]:
    alpha = float(1 / (1 + np.exp(-at[1])))
    return float(np.exp(at[0])) - alpha, alpha


def _pitman_likelihood(sizes: ClassSizes, theta: float, alpha: float) -> float:
    from scipy.special import gammaln

    classes, records = sizes.classes, sizes.records
    opened = (classes - 1) * np.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
    seated = gammaln(theta + records) - gammaln(theta + 1)
    joined = float(sizes.many @ (gammaln(sizes.size - alpha) - gammaln(1 - alpha)))
    return float(opened - seated + joined)


def pitman_risk(theta: float, alpha: float, records: float, persons: float) -> tuple[float, float]:
    """The chance of a sample unique to stay unique up to the whole population, and the mean of one over its count.

    Of the persons after the sample each joins the class of a sample unique with a probability that is beta
    distributed, so the count is one plus a beta-binomial number. Both are closed forms of gamma functions.
    """
    from scipy.special import betaln, digamma, gammaln

    others = persons - records
    a, b = 1 - alpha, theta + records - 1 + alpha
    unique = float(np.exp(betaln(a, b + others) - betaln(a, b)))
    if alpha < EWENS:
        mean = b * (digamma(b + others + 1) - digamma(b))
    else:
        last = gammaln(a + b) - gammaln(b) + gammaln(b + others + 1) - gammaln(a + b + others)
        mean = (np.exp(last) - (a + b - 1)) / alpha
    return unique, float(np.clip(mean / (others + 1), unique, 1.0))


# ---- Zayatz ----------------------------------------------------------------------------------------------------


def _zayatz(sizes: ClassSizes) -> PopulationEstimate:
    name, records, uniques = MODELS[1], int(sizes.records), sizes.uniques
    if not uniques:
        return without_uniques(name, records)
    chance = sizes.many * _one_of(sizes.size, sizes.records, sizes.persons)
    total = chance.sum()
    unique = float(chance[sizes.size == 1].sum() / total)
    match = float((chance / sizes.size).sum() / total)
    note = "It takes classes of the population to be as large as those of the sample: far too many for small samples."
    return PopulationEstimate(name, records, uniques, uniques * unique, uniques * match, notes=(note,))


def _one_of(size: Floats, records: float, persons: float) -> Floats:
    """The chance that a sample without replacement holds exactly one of so many persons."""
    from scipy.special import gammaln

    rest = persons - records - size + 1  # persons outside the class who are left out, one less
    possible = rest >= 0
    left = np.where(possible, rest, 0.0)
    logs = gammaln(persons - size + 1) - gammaln(records) - gammaln(left + 1)
    whole = gammaln(persons + 1) - gammaln(records + 1) - gammaln(persons - records + 1)
    return np.where(possible, size * np.exp(logs - whole), 0.0)


# ---- shifted negative binomial ---------------------------------------------------------------------------------


def _shifted(sizes: ClassSizes) -> PopulationEstimate:
    name, records, uniques = MODELS[2], int(sizes.records), sizes.uniques
    if not uniques:
        return without_uniques(name, records)
    if sizes.fraction == 1:
        return PopulationEstimate(name, records, uniques, float(uniques), float(uniques))
    best = _highest(lambda at: _shifted_likelihood(sizes, *np.exp(at)), ((0.0, 0.0), (-2.0, 3.0)))
    if best is None:
        return not_fitted(name, records, uniques, "No parameters have the highest likelihood: they run away.")
    shape, odds = np.exp(best)  # odds = (1 - p) / p, the mean of further persons over the shape
    pi = sizes.fraction
    none = float(-shape * np.log1p(pi * odds))  # log of the chance that no further person is sampled
    further = shape * pi * odds / (1 + pi * odds)
    one = pi + (1 - pi) * further  # the chance of one in the sample, over exp(none)
    unique = float(pi * np.exp(-shape * np.log1p(odds) - none) / one)
    match = float(max(unique, pi / one))
    return PopulationEstimate(name, records, uniques, uniques * unique, uniques * match)


def _shifted_likelihood(sizes: ClassSizes, shape: float, odds: float) -> float:
    """Of sizes in the sample, given that a class is there."""
    pi, thinned = sizes.fraction, sizes.fraction * odds
    here = np.logaddexp(
        np.log(pi) + _log_nb(sizes.size - 1, shape, thinned), np.log1p(-pi) + _log_nb(sizes.size, shape, thinned)
    )
    absent = np.exp(np.log1p(-pi) - shape * np.log1p(thinned))
    return float(sizes.many @ here - sizes.classes * np.log1p(-absent))


def _log_nb(count: Floats, shape: float, odds: float) -> Floats:
    from scipy.special import gammaln

    chosen = gammaln(count + shape) - gammaln(count + 1) - gammaln(shape)
    return np.asarray(chosen + count * np.log(odds) - (count + shape) * np.log1p(odds), np.float64)


# ---- the highest likelihood --------------------------------------------------------------------------------------


def _highest(likelihood: Callable[[Floats], float], starts: Sequence[tuple[float, float]]) -> Floats | None:
    """Both parameters where a likelihood is highest, from several starts; nothing where they run away."""
    from scipy.optimize import minimize

    def low(at: Floats) -> float:
        if np.abs(at).max() > 2 * FAR:
            return np.inf
        with np.errstate(all="ignore"):
            value = likelihood(at)
        return -value if np.isfinite(value) else np.inf

    options = {"maxfev": STEPS, "xatol": 1e-6, "fatol": 1e-9}
    found = [minimize(low, np.array(start), method="Nelder-Mead", options=options) for start in starts]
    best = min(found, key=lambda one: float(one.fun))
    runs_away = not np.isfinite(best.fun) or np.abs(best.x).max() > FAR
    return None if runs_away else np.asarray(best.x, np.float64)
