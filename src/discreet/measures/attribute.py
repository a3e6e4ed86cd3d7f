"""How well somebody who knows some variables of a person guesses another one: from inner tables of any method.

Tables of different methods are compared through their expected inner frequencies, see ``solve/additive.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Bools, Floats, Ints

SURE = 1e-8


class Guesses(NamedTuple):
    """Per combination of known variables: how sure the best guess is (not a number for nobody), and which it is."""

    probability: Floats
    category: Ints

    @property
    def exact(self) -> Bools:
        """Whether the guess is certain."""
        sure: Bools = np.abs(self.probability - 1) < SURE
        return sure


class AttributeRisk(NamedTuple):
    """Exact disclosures: ``original`` a, ``perturbed`` b (somebody is there), ``correct`` c in both, same guess.

    Combinations of known variables are counted, or the persons in them.
    """

    original: int
    perturbed: int
    correct: int
    beta: float

    @property
    def nothing(self) -> bool:
        """Whether there is no exact disclosure before or after, so that a risk of 0 says little."""
        return not self.original and not self.perturbed

    @property
    def recall(self) -> float:
        """Share of the true disclosures that the perturbed table still has."""
        return self.correct / self.original if self.original else 0.0

    @property
    def precision(self) -> float:
        """Share of the disclosures of the perturbed table that are true."""
        return self.correct / self.perturbed if self.perturbed else 0.0

    @property
    def risk(self) -> float:
        """Weighted harmonic mean of precision and recall; 0 when nothing is disclosed."""
        if not self.correct:
            return 0.0
        weight = self.beta**2
        return (1 + weight) * self.correct / (weight * self.original + self.perturbed)


def best_guesses(inner: Floats, *, self_removal: bool = False) -> Guesses:
    """The best guess of the first variable for each combination of the others.

    Parameters
    ----------
    inner
        Frequencies, one row a category of the guessed variable, one column a combination of known variables.
    self_removal
        The intruder is one of the persons and takes himself out: the best he can get over all categories.
    """
    table = np.asarray(inner, np.float64)
    if table.ndim != 2 or not np.isfinite(table).all() or table.min(initial=0.0) < 0:
        raise InputError("Frequencies must be a table of numbers of at least zero.")
    probability, category = _guess(table)
    if not self_removal:
        return Guesses(probability, category)
    best = np.full(table.shape[1], np.nan)
    guessed = category
    for removed in range(len(table)):
        rest = table.copy()
        rest[removed] -= np.minimum(1.0, rest[removed])
        here, which = _guess(rest)
        better = (~np.isnan(here)) & (np.isnan(best) | (here > best)) & (table[removed] > 0)
        best = np.where(better, here, best)
        guessed = np.where(better, which, guessed)
    return Guesses(best, guessed)


def _guess(table: Floats) -> tuple[Floats, Ints]:
    total = table.sum(axis=0)
    probability = np.full(table.shape[1], np.nan)
    np.divide(table.max(axis=0), total, out=probability, where=total > SURE)
    return probability, np.argmax(table, axis=0).astype(np.int64)


def attribute_risk(
    original: Floats, perturbed: Floats, *, beta: float = 0.5, self_removal: bool = False, by_units: bool = False
) -> AttributeRisk:
    """How many exact disclosures of the original table survive in the perturbed one.

    Parameters
    ----------
    original, perturbed
        Inner frequencies: one row a category of the guessed variable, one column a combination of known variables.
    beta
        Weight of recall against precision.
    self_removal
        The intruder is one of the persons and takes himself out.
    by_units
        Count the persons of a combination instead of the combination: correct attribution probability.

    Examples
    --------
    >>> original = np.array([[2, 1], [0, 3]])
    >>> attribute_risk(original, np.array([[2, 2], [0, 2]])).risk
    1.0
    """
    if np.shape(original) != np.shape(perturbed):
        raise InputError(f"The tables have the shapes {np.shape(original)} and {np.shape(perturbed)}.")
    if not (np.isfinite(beta) and beta > 0):
        raise ParameterError(f"beta={beta} must be a number greater than zero.")
    before, after = (best_guesses(t, self_removal=self_removal) for t in (original, perturbed))
    units = np.asarray(original).sum(axis=0)
    there = units > 0
    counted = np.where(there, units if by_units else 1, 0)
    both = before.exact & after.exact & (before.category == after.category)
    a, b, c = (round(float(counted[found].sum())) for found in (before.exact, after.exact, both))
    return AttributeRisk(a, b, c, beta)
