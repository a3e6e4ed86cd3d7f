"""What every model of the population ends with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

from discreet.errors import InputError, counted

NORMAL = 1.959963984540054
"""Deviations on both sides that hold 95 of 100 outcomes."""


@dataclass(frozen=True)
class PopulationEstimate:
    """How many uniques of a sample are unique in the population by one model, and how many a register gets right.

    Parameters
    ----------
    model
        Name of the model.
    records
        How many records the sample has.
    sample_uniques
        How many of them nobody in the sample shares all keys with.
    uniques
        How many of these are expected to be unique in the population, too; not a number where the model was not fitted.
    matches
        How many of the sample uniques somebody with a register of everybody is expected to match correctly: the sum of
        one over the population counts.
    uniques_deviation, matches_deviation
        Standard deviation of the true numbers around these if the model and its fit are right. Where the model is
        wrong the error is larger.
    uniques_bias, matches_bias
        How far too high the two numbers are by the error estimates of Skinner and Shlomo (2008); too low if negative.
    fitted
        Whether the model could be fitted; if not, ``notes`` say why.
    notes
        What to know before using the numbers.

    Examples
    --------
    >>> found = PopulationEstimate("weights", records=100, sample_uniques=20, uniques=2.0, matches=5.1)
    >>> found
    weights: of 20 sample uniques 2.0 are expected to be unique in the population, and 5.1 to be matched correctly.
    """

    model: str
    records: int
    sample_uniques: int
    uniques: float
    matches: float
    uniques_deviation: float | None = None
    matches_deviation: float | None = None
    uniques_bias: float | None = None
    matches_bias: float | None = None
    fitted: bool = True
    notes: tuple[str, ...] = ()
    knows: ClassVar[str] = "register"

    def __post_init__(self) -> None:
        if not self.fitted:
            return
        slack = 1e-9 * max(1, self.sample_uniques)
        inside = -slack <= self.uniques <= self.matches + slack and self.matches <= self.sample_uniques + slack
        if not (isfinite(self.uniques) and isfinite(self.matches) and inside):
            raise InputError(
                f"{self.model}: {self.uniques:g} population uniques and {self.matches:g} matches of "
                f"{counted(self.sample_uniques, 'sample unique')} contradict each other.",
                hint="Population uniques are matched for certain, and nobody else is: uniques <= matches <= sample.",
            )

    @property
    def unique_share(self) -> float:
        """The share of sample uniques that are expected to be unique in the population."""
        return self.uniques / self.sample_uniques if self.sample_uniques else 0.0

    @property
    def match_share(self) -> float:
        """The share of sample uniques that are expected to be matched correctly."""
        return self.matches / self.sample_uniques if self.sample_uniques else 0.0

    @property
    def uniques_interval(self) -> tuple[float, float] | None:
        """Where the true number of population uniques lies in 95 of 100 cases if the model and its fit are right."""
        return self._interval(self.uniques, self.uniques_deviation)

    @property
    def matches_interval(self) -> tuple[float, float] | None:
        """The same for correct matches."""
        return self._interval(self.matches, self.matches_deviation)

    def _interval(self, middle: float, deviation: float | None) -> tuple[float, float] | None:
        if deviation is None or not self.fitted:
            return None
        low, high = middle - NORMAL * deviation, middle + NORMAL * deviation
        return max(0.0, low), min(float(self.sample_uniques), high)

    def with_notes(self, *notes: str) -> PopulationEstimate:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def summary(self) -> str:
        """The numbers in one line, and notes below it."""
        who = f"of {counted(self.sample_uniques, 'sample unique')}"
        if not self.fitted:
            line = f"{self.model}: not fitted {who}."
        else:
            line = (
                f"{self.model}: {who} {self.uniques:,.1f} are expected to be unique in the population, "
                f"and {self.matches:,.1f} to be matched correctly."
            )
        return "\n".join([line, *(f"note: {note}" for note in self.notes)])

    __repr__ = summary


def not_fitted(model: str, records: int, sample_uniques: int, why: str) -> PopulationEstimate:
    """What a model ends with that says nothing about a sample, and why."""
    nothing = float("nan")
    return PopulationEstimate(model, records, sample_uniques, nothing, nothing, fitted=False, notes=(why,))


def without_uniques(model: str, records: int) -> PopulationEstimate:
    """What every model says of a sample in which nobody is unique."""
    return PopulationEstimate(model, records, 0, 0.0, 0.0, 0.0, 0.0)
