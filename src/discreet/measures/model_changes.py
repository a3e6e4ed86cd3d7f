"""What became of the coefficients of a model: how far confidence intervals overlap, and changes in per cent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.measures.overlap import interval_overlap, inverse_mean_square, percent_difference
from discreet.model.arrays import Floats

WIDE = 1.959963984540054
"""Standard errors on either side of a coefficient, for 95 %."""


class FittedModel(NamedTuple):
    """Coefficients of a model of one file, their standard errors, and the records it was fitted to."""

    terms: tuple[str, ...]
    coefficients: Floats
    errors: Floats
    records: int


class CoefficientChange(NamedTuple):
    """One coefficient before and after; not-a-number where one file has none of it.

    ``overlap`` is the mean share that both 95 % intervals have in common: 1 where they are the same, 0 where they are
    apart. ``percent`` and ``error_percent`` are changes of coefficient and standard error, 100 · (original − released)
    / original; ``inverse_mse`` is one over the squared difference of coefficients.
    """

    model: str
    term: str
    original: float
    released: float
    original_error: float
    released_error: float
    overlap: float
    percent: float
    error_percent: float
    inverse_mse: float


@dataclass(frozen=True)
class ModelChange:
    """A model that was fitted to both files, or why it could not be.

    Parameters
    ----------
    model
        The formula.
    lines
        Its coefficients before and after; none where a fit failed.
    failed
        What went wrong, and in which file.
    notes
        What to know before using the numbers.
    """

    model: str
    lines: tuple[CoefficientChange, ...] = ()
    failed: str = ""
    notes: tuple[str, ...] = ()

    @property
    def overlap(self) -> float:
        """The mean overlap of all coefficients that both files have; not a number where there are none."""
        there = [line.overlap for line in self.lines if not np.isnan(line.overlap)]
        return float(np.mean(there)) if there else float("nan")

    @property
    def least(self) -> CoefficientChange | None:
        """The coefficient whose intervals overlap least."""
        there = [line for line in self.lines if not np.isnan(line.overlap)]
        return min(there, key=lambda line: line.overlap, default=None)

    @property
    def turned(self) -> tuple[str, ...]:
        """Terms whose coefficient is clear of zero on one side before and on the other after."""
        return tuple(
            line.term
            for line in self.lines
            if line.original * line.released < 0
            and abs(line.original) > WIDE * line.original_error
            and abs(line.released) > WIDE * line.released_error
        )


def model_change(model: str, before: FittedModel, after: FittedModel, notes: Sequence[str] = ()) -> ModelChange:
    """Coefficients of a model of two files, term by term.

    Examples
    --------
    >>> fits = [FittedModel(("x",), np.array([b]), np.array([0.5]), 100) for b in (1.0, 1.98)]
    >>> round(model_change("y ~ x", *fits).overlap, 4)
    0.5
    """
    lines = []
    for term in dict.fromkeys((*before.terms, *after.terms)):
        sides = [_of(fit, term) for fit in (before, after)]
        lines.append(_line(model, term, *sides))
    return ModelChange(model, tuple(lines), notes=tuple(notes))


def _of(fit: FittedModel, term: str) -> tuple[float, float]:
    if term not in fit.terms:
        return float("nan"), float("nan")
    at = fit.terms.index(term)
    return float(fit.coefficients[at]), float(fit.errors[at])


def _line(model: str, term: str, before: tuple[float, float], after: tuple[float, float]) -> CoefficientChange:
    both = np.array([before, after])
    if np.isnan(both).any():
        nothing = float("nan")
        return CoefficientChange(model, term, before[0], after[0], before[1], after[1], *[nothing] * 4)
    ends = np.stack([both[:, 0] - WIDE * both[:, 1], both[:, 0] + WIDE * both[:, 1]], axis=1)
    return CoefficientChange(
        model,
        term,
        before[0],
        after[0],
        before[1],
        after[1],
        float(interval_overlap(ends[:1], ends[1:])[0]),
        float(percent_difference(before[0], after[0])),
        float(percent_difference(before[1], after[1])),
        inverse_mean_square(before[0], after[0]),
    )
