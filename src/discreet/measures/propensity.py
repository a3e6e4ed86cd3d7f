"""How well a model tells released records from original ones: the propensity score of Woo, Reiter, Oganian and Karr."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from discreet.errors import InputError
from discreet.measures.values import ValuePair
from discreet.model.arrays import Floats

MOST_STEPS, SETTLED, RIDGE = 100, 1e-8, 1e-9
MOST_TERMS = 500


@dataclass(frozen=True)
class Propensity:
    """What a logistic model makes of the question whether a record is an original or a released one.

    Parameters
    ----------
    total
        Sum over all records of the squared difference between the propensity and the share of originals; smaller is
        better. A quarter of the records where the model tells all of them apart.
    records
        Number of records, both files together.
    terms
        Number of coefficients besides the constant.
    share
        Share of originals among the records.
    separated
        Whether the model tells (nearly) all records apart.
    """

    total: float
    records: int
    terms: int
    share: float
    separated: bool

    @property
    def mean(self) -> float:
        """The mean over records (pMSE), which files of different size can be compared by."""
        return self.total / self.records

    @property
    def expected(self) -> float:
        """What the total is on average for two independent samples of one distribution."""
        return self.terms * self.share * (1 - self.share)

    @property
    def ratio(self) -> float:
        """The total over what it is for two independent samples."""
        return self.total / self.expected if self.expected else 0.0


def propensity(pair: ValuePair, degree: int = 3) -> Propensity:
    """How well a logistic model of all monomials up to a degree tells released records from original ones.

    Parameters
    ----------
    pair
        Columns of both files; they may have different numbers of records.
    degree
        Degree of the polynomial.

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
    first, second = pair.before, pair.after
    stacked = _standard(np.vstack([first, second]))
    terms = _monomials(stacked, degree)
    source = np.repeat([1.0, 0.0], [len(first), len(second)])
    share = len(first) / max(len(stacked), 1)
    design = np.column_stack([np.ones(len(stacked)), terms])
    chance = _fitted(design, source)
    total = float(((chance - share) ** 2).sum())
    separated = total > 0.999 * len(stacked) * share * (1 - share)
    return Propensity(total, len(stacked), terms.shape[1], share, separated)


def _standard(values: Floats) -> Floats:
    spread = values.std(axis=0)
    varying = spread > 0
    return np.asarray((values[:, varying] - values[:, varying].mean(axis=0)) / spread[varying])


def _monomials(values: Floats, degree: int) -> Floats:
    """Products of up to so many columns, standardised again; those that never vary are left out."""
    columns = values.shape[1]
    chosen = [c for size in range(1, degree + 1) for c in combinations_with_replacement(range(columns), size)]
    if len(chosen) > MOST_TERMS:
        raise InputError(
            f"A polynomial of degree {degree} in {columns} columns has {len(chosen):,} terms; at most {MOST_TERMS} are "
            "fitted.",
            hint="Name fewer columns, or a lower degree.",
        )
    if not chosen:
        return np.zeros((len(values), 0))
    return _standard(np.stack([values[:, list(places)].prod(axis=1) for places in chosen], axis=1))


def _fitted(design: Floats, source: Floats) -> Floats:
    """Chances of a logistic model, by Newton's steps that are halved while the likelihood falls.

    Whole steps run away on skewed data, and would make any two files look told apart.
    """
    beta = np.zeros(design.shape[1])
    best = _likelihood(design @ beta, source)
    for _ in range(MOST_STEPS):
        chance = _logistic(design @ beta)
        weight = chance * (1 - chance)
        hessian = design.T @ (design * weight[:, None])
        hessian += RIDGE * max(1.0, float(np.trace(hessian))) * np.eye(len(beta))
        step = np.linalg.solve(hessian, design.T @ (source - chance))
        size, found = 1.0, -np.inf
        while size > 1e-10:
            found = _likelihood(design @ (beta + size * step), source)
            if found >= best:
                break
            size /= 2
        if found - best <= SETTLED * max(1.0, abs(best)) * 1e-3:
            break
        beta, best = beta + size * step, found
    return _logistic(design @ beta)


def _likelihood(score: Floats, source: Floats) -> float:
    return float((source * score - np.logaddexp(0.0, score)).sum())


def _logistic(score: Floats) -> Floats:
    found: Floats = 1.0 / (1.0 + np.exp(-np.clip(score, -700, 700)))
    return found
