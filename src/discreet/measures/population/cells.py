"""Combinations of keys that occur in a sample, with how many records have each and how many persons these stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, NeedsError, ParameterError, counted, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.rules.key_counts import KeyCodes, compacted

ROWS_NAMED = 5


@dataclass(frozen=True, eq=False)
class SampleCells:
    """The cells of a table of keys that occur in a sample; empty cells are not held.

    Parameters
    ----------
    names
        The keys.
    codes
        For each key the code of every cell, from 0.
    sizes
        For each key how many codes there are.
    count
        How many records each cell has.
    population
        How many persons these stand for: the sum of their weights.
    weighted
        Whether weights were given, and not one sampling fraction for all.
    cell
        For every record the number of its cell.
    """

    names: tuple[str, ...]
    codes: tuple[Ints, ...]
    sizes: tuple[int, ...]
    count: Ints
    population: Floats
    weighted: bool
    cell: Ints

    @property
    def records(self) -> int:
        """How many records the sample has."""
        return int(self.count.sum())

    @property
    def persons(self) -> float:
        """How many persons the population has."""
        return float(self.population.sum())

    @property
    def fraction(self) -> float:
        """The share of the population that is in the sample."""
        return min(1.0, self.records / self.persons)

    @property
    def fractions(self) -> Floats:
        """The same in every cell."""
        return np.minimum(1.0, self.count / self.population)

    @property
    def alone(self) -> Bools:
        """Which cells have one record."""
        return self.count == 1

    @property
    def uniques(self) -> int:
        """How many records nobody in the sample shares all keys with."""
        return int(self.alone.sum())

    def class_sizes(self) -> tuple[Ints, Ints]:
        """The sizes of cells that occur, and how many cells have each."""
        sizes, many = np.unique(self.count, return_counts=True)
        return sizes, many.astype(np.int64)


def sample_cells(
    keys: KeyCodes, weight: npt.ArrayLike | None = None, fraction: npt.ArrayLike | None = None
) -> SampleCells:
    """Count the combinations of keys of a sample.

    Parameters
    ----------
    keys
        Keys of the records as codes; 0 is an empty field, and counts as a value of its own.
    weight
        How many persons each record stands for, at least 1.
    fraction
        Instead of weights: the share of the population that is in the sample.

    Raises
    ------
    InputError
        Where there are no records, a key is empty in all of them, or a weight is missing or below 1.

    Examples
    --------
    >>> keys = KeyCodes(("age", "sex"), (np.array([1, 1, 2]), np.array([1, 1, 2])), (3, 3))
    >>> found = sample_cells(keys, fraction=0.1)
    >>> found.count.tolist(), found.population.tolist(), found.uniques
    ([2, 1], [20.0, 10.0], 1)
    """
    _refuse_keys(keys)
    if (weight is None) == (fraction is None):
        raise NeedsError(
            "How much of the population the sample is must be known once.",
            hint="Give either weights of the records, or the sampling fraction.",
        )
    group, many = compacted(keys.groups()[0])
    count = np.bincount(group, minlength=many).astype(np.int64)
    if weight is None:
        population = count / sampling_fraction(fraction)
    else:
        population = np.bincount(group, _weights(weight, len(keys)), many)
    first = np.zeros(many, np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    codes, sizes = zip(*(_dense(column[first]) for column in keys.columns), strict=True)
    return SampleCells(keys.names, codes, sizes, count, population, weight is not None, group)


def sampling_fraction(fraction: npt.ArrayLike | None) -> float:
    """One sampling fraction, above 0 and at most 1."""
    value = np.asarray(fraction, np.float64)
    if value.ndim or not 0 < float(value) <= 1:
        raise ParameterError(
            f"fraction={fraction} is not allowed.", hint="Give the share of the population, above 0 and at most 1."
        )
    return float(value)


def _refuse_keys(keys: KeyCodes) -> None:
    if not keys.names:
        raise NeedsError("There are no keys.", hint="Name the columns by which somebody may be recognised.")
    if not len(keys):
        raise InputError("There are no records.", hint="Give a sample with at least one record.")
    empty = [name for name, codes in zip(keys.names, keys.columns, strict=True) if not codes.any()]
    if empty:
        raise InputError(
            f"Key {listed(map(repr, empty))} is empty in every record.",
            hint="Leave it out, or correct how the file is read.",
        )


def _weights(weight: npt.ArrayLike, records: int) -> Floats:
    values = np.asarray(weight, np.float64)
    if values.shape != (records,):
        raise InputError(
            f"There are {counted(records, 'record')} and {counted(values.size, 'weight')}.",
            hint="Give every record one weight.",
        )
    return refuse_weights(values)


def refuse_weights(values: Floats) -> Floats:
    """Weights as they are; refused where one is missing or below 1, because a record stands at least for itself."""
    wrong = np.flatnonzero(~(values >= 1) | np.isinf(values))
    if len(wrong):
        rows = ", ".join(str(row + 1) for row in wrong[:ROWS_NAMED].tolist())
        more = " and more" if len(wrong) > ROWS_NAMED else ""
        raise InputError(
            f"{counted(len(wrong), 'record', 'have')} no weight or one below 1 (row {rows}{more}).",
            hint="A record stands for at least one person: correct the weights, or give the sampling fraction instead.",
        )
    return values


def _dense(column: Ints) -> tuple[Ints, int]:
    """Codes from 0 without gaps, in their order, and how many there are."""
    there = np.bincount(column) > 0
    return (np.cumsum(there) - 1)[column].astype(np.int64), int(there.sum())


def numbered_cells(codes: Sequence[Ints], sizes: Sequence[int], cells: int) -> Ints:
    """The place of each cell in the table of some of its keys."""
    place = np.zeros(cells, np.int64)
    for column, size in zip(codes, sizes, strict=True):
        place = place * size + column
    return place
