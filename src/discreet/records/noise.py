"""Multiplicative noise on records: each company moves one way, each record by a factor of its own.

Tables of the changed records are additive and agree with each other; a cell of one company always changes by a known
share, while the noise of many companies cancels (Evans, Zayatz and Slanta; Massell, Zayatz and Funk 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, counted
from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints, Status, pointers
from discreet.model.units import as_fraction

Shape = Literal["triangular", "uniform", "ramp"]
SHAPES: tuple[Shape, ...] = ("triangular", "uniform", "ramp")


@dataclass(frozen=True)
class NoiseZone:
    """Where multipliers lie: in [2 - b, 2 - a] and [a, b], symmetric about 1.

    Parameters
    ----------
    a, b
        Ends of the zone, 1 < a < b < 2.
    shape
        ``"triangular"``: most likely near a, falling to nothing at b (split triangular); ``"uniform"``; ``"ramp"``:
        rising from nothing at a.
    """

    a: float
    b: float
    shape: Shape = "triangular"

    def __post_init__(self) -> None:
        if not 1 < self.a < self.b < 2:
            raise ParameterError(f"a={self.a} and b={self.b} must satisfy 1 < a < b < 2.")
        if self.shape not in SHAPES:
            raise ParameterError(f"shape={self.shape!r} is not known.", hint=f"Use one of {', '.join(SHAPES)}.")

    def distances(self, uniform: Floats) -> Floats:
        """Distances of multipliers from 1, from numbers in [0, 1)."""
        low, width = self.a - 1, self.b - self.a
        found: Floats
        if self.shape == "triangular":
            found = low + width * (1 - np.sqrt(1 - uniform))
        elif self.shape == "uniform":
            found = low + width * uniform
        else:
            found = low + width * np.sqrt(uniform)
        return found

    @property
    def mean_distance(self) -> float:
        """Expected distance of a multiplier from 1."""
        share = {"triangular": 1 / 3, "uniform": 1 / 2, "ramp": 2 / 3}[self.shape]
        return self.a - 1 + (self.b - self.a) * share

    @property
    def deviation(self) -> float:
        """Standard deviation of a multiplier."""
        first, second = {"triangular": (1 / 3, 1 / 6), "uniform": (1 / 2, 1 / 3), "ramp": (2 / 3, 1 / 2)}[self.shape]
        low, width = self.a - 1, self.b - self.a
        return float(np.sqrt(low**2 + 2 * low * width * first + width**2 * second))


def directions(company: Ints, key: bytes, *, version: int = 1, variable: str | None = None) -> Status:
    """Direction of every record's company, +1 or -1: the same in every file and wave, for one variable or for all."""
    drawn = draws(key, _purpose("noise/direction", variable), version, company)
    result: Status = np.where(drawn >> np.uint64(63), 1, -1).astype(np.int8)
    return result


def _purpose(drawn: str, variable: str | None) -> str:
    """What a draw is for; variables have nothing to do with each other where each has draws of its own."""
    return drawn if variable is None else f"{drawn}/{variable}"


def multipliers(
    company: Ints,
    record: Ints,
    key: bytes,
    zone: NoiseZone,
    *,
    version: int = 1,
    direction: Status | None = None,
    variable: str | None = None,
) -> Floats:
    """Multiplier of every record.

    Parameters
    ----------
    company
        Identity of each record's company; a record without one has an identity of its own.
    record
        Identity of each record.
    key
        The secret key of 32 bytes.
    zone
        Where multipliers lie.
    version
        Version of the draws.
    direction
        Directions of the records, such as :func:`balanced_directions` gives; left out, drawn by company.
    variable
        Draw for this variable alone; left out, all variables of a record have the same multiplier.

    Examples
    --------
    >>> m = multipliers(np.array([1, 1, 2]), np.array([1, 2, 3]), bytes(32), NoiseZone(1.1, 1.2))
    >>> bool((m[0] > 1) == (m[1] > 1)), bool(np.all((abs(m - 1) >= 0.1) & (abs(m - 1) <= 0.2)))
    (True, True)
    """
    if len(company) != len(record):
        raise InputError(f"There are {counted(len(company), 'company')} and {counted(len(record), 'record')}.")
    sign = directions(company, key, version=version, variable=variable) if direction is None else direction
    if not np.isin(sign, (-1, 1)).all():
        raise ParameterError("Directions must be +1 or -1.")
    # Two files with the same draws in different zones could be solved for the values: a zone has draws of its own.
    purpose = f"noise/factor/{zone.a!r}/{zone.b!r}/{zone.shape}"
    drawn = draws(key, _purpose(purpose, variable), version, record)
    result: Floats = 1 + sign * zone.distances(fractions(drawn))
    return result


def whole_moves(own: Ints, multiplier: Floats, zone: NoiseZone) -> Ints:
    """How far values in whole units move: up to the next whole unit, so that none moves less than its factor says.

    Rounded to the nearest unit, a small value would stay where it is and a cell of one company be published as it is.

    Parameters
    ----------
    own
        Values of at least zero; zero does not move.
    multiplier
        Their multipliers.
    zone
        Where multipliers lie: what floating point gets wrong at its ends is put right.

    Examples
    --------
    >>> whole_moves(np.array([0, 1, 10, 101]), np.array([1.1, 0.9, 1.15, 0.85]), NoiseZone(1.1, 1.2)).tolist()
    [0, -1, 2, -16]
    """
    far = np.ceil(own * np.abs(multiplier - 1)).astype(np.int64)
    least, most = (_ceiling(own, as_fraction(end) - 1) for end in (zone.a, zone.b))
    result: Ints = np.where(multiplier < 1, -1, 1) * np.clip(far, least, most)
    return result


def _ceiling(own: Ints, share: Fraction) -> Ints:
    """A share of whole numbers, exactly, rounded up."""
    if int(own.max(initial=0)) * share.numerator < 2**63:
        result: Ints = -(-own * share.numerator // share.denominator)
        return result
    return np.array([-(-x * share.numerator // share.denominator) for x in own.tolist()], np.int64)


def balanced_directions(
    company: Ints,
    cell: Ints,
    amount: Floats,
    key: bytes,
    *,
    version: int = 1,
    kept: dict[int, int] | None = None,
    variable: str | None = None,
) -> Status:
    """Directions that let noise cancel in chosen cells: large companies first, each against what is already there.

    A cell of one company moves as far as ever; cells of many move less. Every company still has one direction,
    and ties are drawn.

    Parameters
    ----------
    company
        Identity of each record's company.
    cell
        Number of the cell in which each record's noise shall cancel.
    amount
        Value of each record.
    key
        The secret key of 32 bytes.
    version
        Version of the draws.
    kept
        Directions of companies from earlier waves; they are not changed.
    variable
        Draw ties for this variable alone.
    """
    identity, number = np.unique(company, return_inverse=True)
    drawn = directions(identity, key, version=version, variable=variable)
    # Sums in floating point depend on their order; this one depends on the contents only.
    by_company = np.lexsort((amount, cell, number))
    total = _sums(number[by_company], amount[by_company], len(identity))
    # Equal sizes are ordered by draw, so that the order of the file is nothing.
    order = np.lexsort((draws(key, _purpose("noise/order", variable), version, identity), -total))
    start = pointers(np.bincount(number, minlength=len(identity)))
    fixed = np.zeros(len(identity), np.int8)
    for known, sign in (kept or {}).items():
        if sign not in (-1, 1):
            raise ParameterError(f"The direction {sign} of an earlier wave is neither +1 nor -1.")
        at = int(np.searchsorted(identity, known))
        if at < len(identity) and identity[at] == known:
            fixed[at] = sign
    size = _sums(cell[by_company], amount[by_company], int(cell.max(initial=0)) + 1)
    result: Status = balance(order, start, by_company, cell, amount, size, drawn, fixed)[number]
    return result


def _sums(group: Ints, amount: Floats, groups: int) -> Floats:
    return np.bincount(group, amount, groups).astype(np.float64)


@kernel("i1[::1](i8[::1], i8[::1], i8[::1], i8[::1], f8[::1], f8[::1], i1[::1], i1[::1])")
def balance(
    order: Ints,
    start: Ints,
    by_company: Ints,
    cell: Ints,
    amount: Floats,
    size: Floats,
    drawn: Status,
    fixed: Status,
) -> Status:
    """Give companies directions in turn; those that are fixed count first."""
    sign = fixed.copy()
    noise = np.zeros(len(size))
    for phase in range(2):
        for k in order:
            if (fixed[k] != 0) != (phase == 0):
                continue
            if phase == 1:
                pull = 0.0
                for at in range(start[k], start[k + 1]):
                    i = by_company[at]
                    if size[cell[i]] > 0:
                        pull += noise[cell[i]] * amount[i] / size[cell[i]] ** 2
                sign[k] = drawn[k] if pull == 0.0 else (-1 if pull > 0 else 1)
            for at in range(start[k], start[k + 1]):
                i = by_company[at]
                noise[cell[i]] += sign[k] * amount[i]
    return sign
