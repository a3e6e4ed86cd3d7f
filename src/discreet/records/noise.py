"""Multiplicative noise on records: each company moves one way, each record by a factor of its own.

Tables of the changed records are additive and agree with each other; a cell of one company always changes by a known
share, while the noise of many companies cancels (Evans, Zayatz and Slanta; Massell, Zayatz and Funk 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, counted
from discreet.jit import kernel
from discreet.model.arrays import Bools, Floats, Ints, Status, pointers
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
    drawn = draws(key, _purpose("noise/factor", variable), version, record)
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


class NoisyValues(NamedTuple):
    """What records contribute to tables: with noise, and without; how many were cut at zero."""

    noisy: Floats
    plain: Floats
    clipped: int


def noisy_contributions(value: Floats, weight: Floats, multiplier: Floats) -> NoisyValues:
    """Contributions with noise: the respondent's own share is multiplied, what he stands for by his weight is not.

    ``value * (multiplier + weight - 1)`` instead of ``value * weight``. Zero stays zero.

    Raises
    ------
    InputError
        For values below zero and weights that are not positive.
    """
    if len(value) and (not np.isfinite(value).all() or value.min() < 0):
        raise InputError("Values must be numbers of at least zero.", hint="Values with signs need another method.")
    if len(weight) and (not np.isfinite(weight).all() or weight.min() <= 0):
        raise InputError(f"{int((~(weight > 0)).sum())} weights are not positive.")
    plain = value * weight
    noisy = value * (multiplier + weight - 1)
    below = noisy < 0
    return NoisyValues(np.maximum(noisy, 0.0), plain, int(below.sum()))


class CellNoise(NamedTuple):
    """Per cell: estimate before and after, largest two companies, number of companies, protection needed.

    ``needed`` is the change that the extended p% rule asks for; above zero the cell is sensitive.
    """

    plain: Floats
    noisy: Floats
    first: Floats
    second: Floats
    companies: Ints
    needed: Floats

    @property
    def sensitive(self) -> Bools:
        """Cells that the rule calls sensitive."""
        found: Bools = self.needed > 0
        return found

    @property
    def change(self) -> Floats:
        """How far each estimate moved."""
        moved: Floats = np.abs(self.noisy - self.plain)
        return moved

    @property
    def unprotected(self) -> Bools:
        """Sensitive cells that moved less than they must."""
        found: Bools = self.sensitive & (self.change < self.needed * (1 - 1e-12))
        return found

    def too_noisy(self, limit: float) -> Bools:
        """Cells that moved by more than a share of their value, to be flagged."""
        found: Bools = self.change > limit * np.abs(self.plain)
        return found


def needed_protection(
    plain: Floats, first: Floats, second: Floats, *, p: float, round_unit: float | None = None
) -> Floats:
    """The change that the extended p% rule asks for; zero or less where a cell is safe.

    Parameters
    ----------
    plain
        Weighted estimate of each cell.
    first, second
        The two largest companies, with the weights that users know.
    p
        Per cent.
    round_unit
        Unit that publication rounds to, which protects too.

    Examples
    --------
    >>> needed_protection(np.array([3.4e6]), np.array([3e6]), np.array([3.5e5]), p=10, round_unit=1e6).tolist()
    [150000.0]
    """
    if not 0 < p < 100:
        raise ParameterError(f"p={p} must lie between 0 and 100.")
    if round_unit is not None and round_unit <= 0:
        raise ParameterError(f"round_unit={round_unit} must be greater than zero.")
    rest = plain - first - second
    if round_unit is not None:
        half = round_unit / 2
        rest = rest + np.abs(half - np.abs(plain - round_unit * np.floor(plain / round_unit + 0.5)))
    result: Floats = p / 100 * first - rest
    return result


def cell_noise(
    cell: Ints,
    company: Ints,
    value: Floats,
    weight: Floats,
    multiplier: Floats,
    *,
    p: float,
    known_weight: Floats | None = None,
    round_unit: float | None = None,
    cells: int | None = None,
) -> CellNoise:
    """What noise did to the cells of one table, and what the extended p% rule asks for.

    Parameters
    ----------
    cell
        Number of each record's cell.
    company, value, weight, multiplier
        Columns of the records.
    p, round_unit
        See :func:`needed_protection`.
    known_weight
        Product of the weights that users know; 1 when left out.
    cells
        How many cells there are; the largest number and one when left out.
    """
    size = int(cell.max(initial=-1)) + 1 if cells is None else cells
    contributions = noisy_contributions(value, weight, multiplier)
    known = value if known_weight is None else value * known_weight
    order = np.lexsort((company, cell))
    sorted_cell, sorted_company = cell[order], company[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(sorted_cell) != 0) | (np.diff(sorted_company) != 0)
    starts = np.flatnonzero(new)
    held = np.add.reduceat(known[order], starts) if len(starts) else np.zeros(0)
    first, second = np.zeros(size), np.zeros(size)
    largest_two(sorted_cell[starts], held, first, second)
    plain = _sums(cell, contributions.plain, size)
    return CellNoise(
        plain,
        _sums(cell, contributions.noisy, size),
        first,
        second,
        np.bincount(sorted_cell[starts], minlength=size),
        needed_protection(plain, first, second, p=p, round_unit=round_unit),
    )


@kernel("void(i8[::1], f8[::1], f8[::1], f8[::1])")
def largest_two(cell: Ints, held: Floats, first: Floats, second: Floats) -> None:
    """The two largest amounts of each cell."""
    for i in range(len(cell)):
        c, amount = cell[i], held[i]
        if amount > first[c]:
            second[c] = first[c]
            first[c] = amount
        elif amount > second[c]:
            second[c] = amount


def surely_protected(zone: NoiseZone, p: float, weight: Floats, known_weight: Floats | None = None) -> Bools:
    """Records of which a cell of their company alone is sure to move as far as the p% rule asks.

    True where ``a - 1 >= (1 + p / 100) * known_weight - weight``; with unknown weights of at least 1 and
    ``a >= 1 + p / 100`` that is every record.
    """
    known = np.ones(len(weight)) if known_weight is None else known_weight
    result: Bools = zone.a - 1 >= (1 + p / 100) * known - weight - 1e-12
    return result


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
