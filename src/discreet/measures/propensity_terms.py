"""The terms of a propensity model, made block by block: products of columns, each with mean 0 and deviation 1.

A design of a million records and some hundred terms does not fit into memory; its blocks do, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from discreet.model.arrays import Floats, Ints

BLOCK = 4096
"""Records of a block: all of its terms stay near the processor."""
VARIES = 1e-12


@dataclass(frozen=True, eq=False)
class Indicators:
    """A column of codes, of which some have a term: 1 where a record has the code, 0 elsewhere."""

    name: str
    codes: Ints
    chosen: tuple[int, ...]


class Terms:
    """Products of standardised numbers and of indicators of codes.

    Parameters
    ----------
    numbers
        One row per column, standardised; gaps are 0, the mean.
    indicators
        Columns of codes.
    degree
        Products of up to so many numbers.
    crossed
        Whether there are products of an indicator with a number, and with an indicator of another column.
    """

    def __init__(self, numbers: Floats, indicators: Sequence[Indicators], degree: int, crossed: bool = False) -> None:
        self.numbers, self.indicators = numbers, tuple(indicators)
        self.records = numbers.shape[1]
        self._base: list[tuple[int, int]] = [(-1, number) for number in range(len(numbers))]
        self._base += [(at, code) for at, one in enumerate(self.indicators) for code in one.chosen]
        self._made = _products([which for which, _ in self._base], len(numbers), degree, crossed)
        self._kept = np.arange(len(self._made))
        self.mean, self.spread = np.zeros(len(self._made)), np.ones(len(self._made))
        self._standardise()

    def __len__(self) -> int:
        return len(self._kept)

    def _standardise(self) -> None:
        """Means and deviations of all terms; those that never vary are left out."""
        if not self._made or not self.records:
            self._kept = np.zeros(0, np.int64)
            return
        sums = squares = np.zeros(len(self._made))
        for low in range(0, self.records, BLOCK):
            plain = self._plain(low)
            sums, squares = sums + plain.sum(axis=1), squares + np.einsum("ij,ij->i", plain, plain)
        mean = sums / self.records
        # A second sum around the mean would be more exact; standardised columns and their products do not need it.
        spread = np.sqrt(np.maximum(squares / self.records - mean**2, 0.0))
        self._kept = np.flatnonzero(spread > VARIES * np.maximum(1.0, np.abs(mean)) * 1e4)
        self.mean, self.spread = mean[self._kept], spread[self._kept]

    def _plain(self, low: int) -> Floats:
        """All products of a block, one row each."""
        high = min(low + BLOCK, self.records)
        made = np.empty((len(self._made), high - low))
        for row, (before, base) in enumerate(self._made):
            which, at = self._base[base]
            if before < 0:
                made[row] = self.numbers[at, low:high] if which < 0 else self.indicators[which].codes[low:high] == at
            else:
                np.multiply(made[before], made[base], out=made[row])
        return made

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Records of each block, and its terms below a row of ones."""
        for low in range(0, self.records, BLOCK):
            yield self.block(low)

    def block(self, low: int) -> tuple[slice, Floats]:
        """The block that begins at a record."""
        made = np.ones((len(self._kept) + 1, min(BLOCK, self.records - low)))
        if len(self._kept):
            plain = self._plain(low)
            chosen = plain if len(self._kept) == len(plain) else plain[self._kept]
            np.subtract(chosen, self.mean[:, None], out=made[1:])
            made[1:] /= self.spread[:, None]
        return slice(low, low + made.shape[1]), made


def _products(column: Sequence[int], numbers: int, degree: int, crossed: bool) -> list[tuple[int, int]]:
    """For every term the term before and the base factor that it is multiplied by; base factors come first.

    ``column`` says of each base factor which column of codes it belongs to, or -1 for a number.
    """
    made = [(-1, base) for base in range(len(column))]
    place: dict[tuple[int, ...], int] = {(base,): base for base in range(len(column))}
    for size in range(2, degree + 1):
        for chosen in combinations_with_replacement(range(numbers), size):
            place[chosen] = len(made)
            made.append((place[chosen[:-1]], chosen[-1]))
    if crossed:
        for second in range(numbers, len(column)):
            made += [(first, second) for first in range(second) if column[first] != column[second]]
    return made


def count_terms(numbers: int, chosen: Sequence[int], degree: int, crossed: bool = False) -> int:
    """How many terms there would be; ``chosen`` are the numbers of indicators of each column of codes.

    Examples
    --------
    >>> count_terms(2, [], 3), count_terms(2, [3, 2], 1, crossed=True)
    (9, 23)
    """
    total, ways = sum(chosen), 1
    for size in range(1, degree + 1):
        ways = ways * (numbers + size - 1) // size
        total += ways
    if crossed:
        total += sum(chosen) * numbers + (sum(chosen) ** 2 - sum(many**2 for many in chosen)) // 2
    return total


def standard(values: Floats) -> Floats:
    """Rows of numbers with mean 0 and deviation 1, gaps filled with 0; rows that never vary are left out."""
    kept = []
    for row in values:
        there = ~np.isnan(row)
        known = row[there]
        spread = float(known.std()) if len(known) else 0.0
        if spread > 0:
            kept.append(np.where(there, (row - known.mean()) / spread, 0.0))
    return np.array(kept) if kept else np.zeros((0, values.shape[1]))
