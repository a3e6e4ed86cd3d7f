"""Noise on the cells of a table in floating point, as the papers write it: what the exact method is compared with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.records.noise import NoiseZone


class NoisyValues(NamedTuple):
    """What records contribute to tables: with noise, and without; how many were cut at zero."""

    noisy: Floats
    plain: Floats
    clipped: int


def noisy_contributions(value: Floats, weight: Floats, multiplier: Floats) -> NoisyValues:
    """``value * (multiplier + weight - 1)``: the respondent's own share moves, what he stands for does not."""
    noisy = value * (multiplier + weight - 1)
    return NoisyValues(np.maximum(noisy, 0.0), value * weight, int((noisy < 0).sum()))


class CellNoise(NamedTuple):
    """Per cell: estimate before and after, largest two companies, number of companies, protection needed."""

    plain: Floats
    noisy: Floats
    first: Floats
    second: Floats
    companies: Ints
    needed: Floats

    @property
    def sensitive(self) -> Bools:
        return self.needed > 0

    @property
    def change(self) -> Floats:
        return np.abs(self.noisy - self.plain)

    @property
    def unprotected(self) -> Bools:
        """Sensitive cells that moved less than they must."""
        return self.sensitive & (self.change < self.needed * (1 - 1e-12))


def needed_protection(plain: Floats, first: Floats, second: Floats, *, p: float, round_unit: float = 0.0) -> Floats:
    """The change that the extended p% rule asks for; zero or less where a cell is safe."""
    rest = plain - first - second
    if round_unit:
        rest = rest + np.abs(round_unit / 2 - np.abs(plain - round_unit * np.floor(plain / round_unit + 0.5)))
    return p / 100 * first - rest


def cell_noise(
    cell: Ints,
    company: Ints,
    value: Floats,
    weight: Floats,
    multiplier: Floats,
    *,
    p: float,
    known_weight: Floats | None = None,
) -> CellNoise:
    """What noise did to the cells of one table, and what the extended p% rule asks for."""
    size = int(cell.max(initial=-1)) + 1
    records = noisy_contributions(value, weight, multiplier)
    known = value if known_weight is None else value * known_weight
    held = np.zeros((size, max(2, int(company.max(initial=-1)) + 1)))
    np.add.at(held, (cell, company), known)
    second, first = np.sort(held, axis=1)[:, -2:].T
    plain, noisy = (np.bincount(cell, amount, size) for amount in (records.plain, records.noisy))
    companies = (held > 0).sum(axis=1)
    return CellNoise(plain, noisy, first, second, companies, needed_protection(plain, first, second, p=p))


def surely_protected(zone: NoiseZone, p: float, weight: Floats, known_weight: float = 1.0) -> Bools:
    """Records of which a cell of their company alone is sure to move as far as the p% rule asks.

    With unknown weights of at least 1 and ``a >= 1 + p / 100`` that is every record.
    """
    return zone.a - 1 >= (1 + p / 100) * known_weight - weight - 1e-12
