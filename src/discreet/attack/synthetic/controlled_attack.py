"""Attacks that are also tried on people who are not in the file: the rest is what it gives away of its own."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from discreet.attack.record_attack import CONFIDENCE, RecordAttack, ShareInterval
from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class ControlledAttack(RecordAttack):
    """An attack on the records that a file was made from, beside the same attack on records that were held out.

    What is right for both follows from the file as a whole (anybody like that has such an income) and is its purpose.
    What is right more often for the original records was taken over from them. See Giomi et al. (2023).

    Parameters
    ----------
    attack, what, knows, rows, chance, baseline, columns, notes, of_records
        As those of :class:`RecordAttack`.
    control
        The attack on records that were held out.
    scale
        What the share of the control is multiplied by, where the hold-out file has another size and that matters.

    Examples
    --------
    >>> import numpy as np
    >>> held = RecordAttack("inference", "guess it", "records", np.arange(4), np.array([1, 0, 0, 0.0]), 0.1)
    >>> found = ControlledAttack(
    ...     "inference", "guess it", "records", np.arange(4), np.array([1, 1, 0.5, 0]), 0.1, control=held
    ... )
    >>> found.share, found.control_share, found.risk
    (0.625, 0.25, 0.5)
    """

    control: RecordAttack | None = None
    scale: float = 1.0

    @property
    def control_share(self) -> float | None:
        """The share of right guesses about records that were held out; none without such records."""
        return None if self.control is None or not self.control.tried else min(self.control.share * self.scale, 1.0)

    @property
    def risk(self) -> float:
        """The share of right guesses beyond those of the control, of all that are beyond; from 0 to 1.

        Without a hold-out file it is the whole share; NaN where all guesses of the control are right, and nothing can
        be told.
        """
        control = self.control_share
        if control is None:
            return self.share
        return nan if control >= 1 else max((self.share - control) / (1 - control), 0.0)

    def risk_interval(self, confidence: float = CONFIDENCE) -> ShareInterval:
        """The interval of the risk: errors of both shares by Wilson (1927), and what they make of the risk."""
        if not self.tried:
            return ShareInterval(0.0, 1.0)
        rate, error = success_rate(self.right, self.tried, confidence)
        if self.control is None or not self.control.tried:
            return ShareInterval(max(rate - error, 0.0), min(rate + error, 1.0))
        other, other_error = success_rate(self.control.right, self.control.tried, confidence)
        other, other_error = other * self.scale, other_error * self.scale
        if other >= 1:
            return ShareInterval(0.0, 1.0)
        middle = (rate - other) / (1 - other)
        reach = sqrt((error / (1 - other)) ** 2 + (other_error * (1 - rate) / (1 - other) ** 2) ** 2)
        risk = middle if isnan(self.risk) else self.risk  # the plain risk is not the middle, and lies within
        return ShareInterval(max(min(middle - reach, risk), 0.0), min(max(middle + reach, risk, 0.0), 1.0))

    def summary(self) -> str:
        """The numbers in one line, the control in another, and notes below them."""
        first, *others = super().summary().split("\n")
        control = self.control_share
        if control is None:
            return "\n".join([first, *others])
        risk, (low, high) = self.risk, self.risk_interval()
        held = 0 if self.control is None else self.control.tried
        said = "the risk cannot be told" if isnan(risk) else f"risk {risk:.1%} ({low:.1%} to {high:.1%})"
        return "\n".join([first, f"held out: {control:.1%} of {held:,}; {said}.", *others])

    __repr__ = summary


def success_rate(right: float, tried: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The middle of the interval of a share by Wilson (1927), and how far it reaches to both sides.

    Examples
    --------
    >>> rate, error = success_rate(90, 100)
    >>> round(rate, 4), round(error, 4)
    (0.8852, 0.0596)
    """
    from scipy.special import ndtri

    if not 0 < confidence < 1:
        raise ParameterError(f"confidence={confidence!r} is not allowed.", hint="Give a number between 0 and 1.")
    if tried < 1 or not 0 <= right <= tried:
        raise InputError(f"{right:g} right guesses of {tried:,} make no share.", hint="Give at least one guess.")
    z = float(ndtri(0.5 * (1 + confidence)))
    whole = tried + z * z
    return (right + z * z / 2) / whole, z / whole * sqrt(right * (tried - right) / tried + z * z / 4)


def one_in_sample(found: Ints | Floats, size: int, sample: int) -> Floats:
    """The chance that exactly one of ``found`` records is among ``sample`` records drawn from a file of ``size``.

    Examples
    --------
    >>> import numpy as np
    >>> one_in_sample(np.array([0, 1, 2]), 4, 2).round(4).tolist()
    [0.0, 0.5, 0.6667]
    """
    from scipy.special import gammaln

    if sample >= size:
        return np.asarray(found == 1, np.float64)
    many = np.asarray(found, np.float64)
    others = size - many
    possible = (many >= 1) & (others >= sample - 1)
    k, rest = np.where(possible, many, 1.0), np.where(possible, others, size)

    def ways(n: Floats | float, m: float) -> Floats:
        return np.asarray(gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0))

    chance = np.exp(np.log(k) + ways(rest, sample - 1.0) - ways(float(size), float(sample)))
    return np.where(possible, chance, 0.0)
