"""How well a model tells released records from original ones: the propensity score of Woo, Reiter, Oganian and Karr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.measures.propensity_terms import BLOCK, Terms, count_terms, standard
from discreet.measures.values import ValuePair
from discreet.model.arrays import Floats

MOST_STEPS, SETTLED, RIDGE = 100, 1e-12, 1e-9
MOST_TERMS = 500
CURVED = 150_000
"""The curve of the likelihood is summed over about so many records; its slope always over all."""


@dataclass(frozen=True)
class Propensity:
    """What a model makes of the question whether a record is an original or a released one.

    Parameters
    ----------
    total
        Sum over all records of the squared difference between the propensity and the share of originals; smaller is
        better. A quarter of the records where the model tells all of them apart.
    records
        Number of records, both files together.
    terms
        Number of coefficients besides the constant; of a tree, the number of its leaves less one.
    share
        Share of originals among the records.
    separated
        Whether the model tells (nearly) all records apart.
    model
        ``"logistic"`` or ``"tree"``.
    shuffled
        Totals of the same model after originals and releases were mixed at random, where that was done.
    weighted
        Of a logistic model with weights: how many terms without weights would vary as much on average, and how many
        by the square of their spread. Weights that differ make every score vary more.
    """

    total: float
    records: int
    terms: int
    share: float
    separated: bool
    model: str = "logistic"
    shuffled: tuple[float, ...] = ()
    weighted: tuple[float, float] | None = None

    @property
    def mean(self) -> float:
        """The mean over records (pMSE), which files of different size can be compared by."""
        return self.total / self.records if self.records else 0.0

    @property
    def expected(self) -> float:
        """What the total is on average for two independent samples of one distribution."""
        if self.shuffled:
            return float(np.mean(self.shuffled))
        return (self.weighted or (self.terms,))[0] * self.share * (1 - self.share)

    @property
    def expected_synthetic(self) -> float:
        """The same where the released file was drawn from a model that was fitted to the original one."""
        return self.expected * self.share

    @property
    def spread(self) -> float:
        """The standard deviation of the total for two independent samples of one distribution."""
        if len(self.shuffled) > 1:
            return float(np.std(self.shuffled, ddof=1))
        return float(np.sqrt(2 * (self.weighted or (0, self.terms))[1])) * self.share * (1 - self.share)

    @property
    def ratio(self) -> float:
        """The total over what it is for two independent samples."""
        return self.total / self.expected if self.expected else 0.0

    @property
    def z(self) -> float:
        """How many standard deviations the total lies above that of two independent samples."""
        return (self.total - self.expected) / self.spread if self.spread else 0.0


def propensity(pair: ValuePair, degree: int = 3, weights: tuple[Floats, Floats] | None = None) -> Propensity:
    """How well a logistic model of all monomials up to a degree tells released records from original ones.

    Parameters
    ----------
    pair
        Columns of both files; they may have different numbers of records.
    degree
        Degree of the polynomial.
    weights
        Weights of the records of each file. They are scaled to a mean of 1 in each file, so that a file counts by its
        number of records.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> before = draw.normal(size=(200, 2))
    >>> same, far = (propensity(ValuePair(("x", "y"), before, after)) for after in (before, before + 1000))
    >>> round(same.total, 6), round(far.mean, 2), far.separated
    (0.0, 0.25, True)
    """
    if degree < 1:
        raise InputError(f"degree={degree} is not allowed.", hint="Give a whole number of at least 1.")
    numbers = standard(np.vstack([pair.before, pair.after]).T)
    many = count_terms(len(numbers), (), degree)
    if many > MOST_TERMS:
        raise InputError(
            f"A polynomial of degree {degree} in {len(numbers)} columns has {many:,} terms; at most {MOST_TERMS} are "
            "fitted.",
            hint="Name fewer columns, or a lower degree.",
        )
    return fitted_propensity(Terms(numbers, (), degree), len(pair.before), scaled_weights(pair, weights))


def scaled_weights(pair: ValuePair, weights: tuple[Floats, Floats] | None) -> Floats | None:
    """Weights of both files, one after the other, with a mean of 1 in each; refused where they do not fit."""
    if weights is None:
        return None
    scaled = []
    for values, weight in zip((pair.before, pair.after), weights, strict=True):
        own = np.asarray(weight, np.float64)
        if own.shape != (len(values),) or not np.all(np.isfinite(own) & (own >= 0)):
            raise InputError(
                "Every record of both files needs a weight from 0 on.", hint="Correct the weights, or leave them out."
            )
        scaled.append(mean_one(own))
    return np.concatenate(scaled)


def mean_one(weight: Floats) -> Floats:
    """Weights with a mean of 1."""
    total = float(weight.sum())
    if len(weight) and total <= 0:
        raise InputError("The weights of a file are all 0.", hint="Correct the weights, or leave them out.")
    return np.asarray(weight * (len(weight) / total), np.float64) if len(weight) else weight


def fitted_propensity(terms: Terms, originals: int, weight: Floats | None = None) -> Propensity:
    """The score of a logistic model of some terms; the first records are the originals.

    Weights have a mean of 1 in each file: the likelihood, the score and the mean of it count records by them.
    """
    records = terms.records
    share = originals / max(records, 1)
    labels = _Labels(np.repeat([1.0, 0.0], [originals, records - originals]), weight)
    apart = (_logistic(_fitted(terms, labels)) - share) ** 2
    total = float((apart if weight is None else apart * weight).sum())
    separated = bool(total > 0.999 * records * share * (1 - share))
    like = None if weight is None else _terms_like(terms, weight)
    return Propensity(total, records, len(terms), share, separated, weighted=like)


def _terms_like(terms: Terms, weight: Floats) -> tuple[float, float]:
    """The trace of what scores vary by under weights, over what they would vary by without, and that of its square.

    For two samples of one distribution the score is a quadratic form of sums of weighted terms around their means.
    """
    size = len(terms) + 1
    plain, twice = np.zeros((size, size)), np.zeros((size, size))
    for rows, made in terms.blocks():
        once = made * weight[rows]
        plain += once @ made.T
        twice += once @ once.T
    mean = plain[1:, 0] / plain[0, 0]
    around = np.hstack([-mean[:, None], np.eye(size - 1)])
    ratio = np.linalg.pinv(around @ plain @ around.T, hermitian=True) @ (around @ twice @ around.T)
    return float(np.trace(ratio)), float(np.trace(ratio @ ratio))


class _Labels(NamedTuple):
    """Which records are originals, and by how much each counts."""

    source: Floats
    weight: Floats | None

    def of(self, rows: slice) -> _Labels:
        return _Labels(self.source[rows], None if self.weight is None else self.weight[rows])

    def times(self, values: Floats) -> Floats:
        return values if self.weight is None else values * self.weight

    def likelihood(self, score: Floats) -> float:
        return float(self.times(self.source * score - np.logaddexp(0.0, score)).sum())


class _Standing(NamedTuple):
    """A point of the climb: the predictors of all records, their likelihood, its slope and its curve."""

    score: Floats
    likelihood: float
    slope: Floats
    curve: Floats


def _fitted(terms: Terms, labels: _Labels) -> Floats:
    """Predictors of a logistic model, by Newton's steps that are halved while the likelihood falls.

    Whole steps run away on skewed data, and would make any two files look told apart. One pass over the records moves
    them by the step and sums slope and curve at the new place.
    """
    now = _moved(terms, labels, np.zeros(terms.records), np.zeros(len(terms) + 1))
    for _ in range(MOST_STEPS):
        curve = now.curve + RIDGE * max(1.0, float(np.trace(now.curve))) * np.eye(len(now.slope))
        step: Floats = np.asarray(np.linalg.solve(curve, now.slope), np.float64)
        if float(step @ now.slope) / 2 <= SETTLED * max(1.0, abs(now.likelihood)):
            break
        there = _moved(terms, labels, now.score, step)
        if there.likelihood < now.likelihood:
            size = _halved(now.score, there.score - now.score, labels, now.likelihood)
            if size == 0:
                break
            there = _moved(terms, labels, now.score, size * step)
        gain = there.likelihood - now.likelihood
        now = there
        if gain <= SETTLED * max(1.0, abs(now.likelihood)):
            break
    return now.score


def _moved(terms: Terms, labels: _Labels, start: Floats, step: Floats) -> _Standing:
    """The point after a step."""
    score, slope = np.empty(terms.records), np.zeros(len(step))
    curve, likelihood, curved = np.zeros((len(step), len(step))), 0.0, 0
    every = max(1, terms.records // CURVED)
    for number, (rows, made) in enumerate(terms.blocks()):
        score[rows] = start[rows] + step @ made
        own = labels.of(rows)
        likelihood += own.likelihood(score[rows])
        chance = _logistic(score[rows])
        slope += made @ own.times(own.source - chance)
        if number % every == 0:
            curve += (made * own.times(chance * (1 - chance))) @ made.T
            curved += made.shape[1]
    return _Standing(score, likelihood, slope, curve * (terms.records / max(curved, 1)))


def _halved(start: Floats, along: Floats, labels: _Labels, least: float) -> float:
    """The largest of 1/2, 1/4, ... of a step that does not lower the likelihood; 0 where none is found."""
    size = 0.5
    while size > 1e-10:
        moved = start + size * along
        pieces = [slice(at, at + BLOCK) for at in range(0, len(moved), BLOCK)]
        if sum(labels.of(rows).likelihood(moved[rows]) for rows in pieces) >= least:
            return size
        size /= 2
    return 0.0


def _logistic(score: Floats) -> Floats:
    found: Floats = 1.0 / (1.0 + np.exp(-np.clip(score, -700, 700)))
    return found
