"""What microaggregation did to records, measured: how much was lost, and how far members of a group lie apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Bools, Floats, Ints
from discreet.records.exact_columns import ExactColumn
from discreet.records.microaggregation.locations import batches

POWERS = np.arange(-20, 21) / 10
"""Powers that are tried for a column by Box and Cox."""


def from_least(column: ExactColumn) -> Floats:
    """How far the units of a column lie above the least one: exact where the numbers themselves are too large."""
    there = column.units[~column.gaps]
    return np.asarray((column.units - (there.min() if len(there) else 0)).astype(np.float64))


def standardised(columns: Sequence[Floats], gaps: Sequence[Bools]) -> Floats:
    """Columns with mean 0 and variance 1 over what they have; 0 where they have nothing, or never vary."""
    found = np.zeros((len(columns[0]), len(columns)))
    for place, (values, empty) in enumerate(zip(columns, gaps, strict=True)):
        there = ~empty
        if not there.any():
            continue
        known = np.sort(values[there])  # sums of the same numbers in another order differ in the last bit
        middle, spread = known.mean(), known.std()
        found[there, place] = (values[there] - middle) / spread if spread > 0 else 0.0
    return found


def symmetric(column: ExactColumn, name: str, transform: str) -> Floats:
    """A column by its logarithm, or by the power of Box and Cox that makes it most like a normal one."""
    there = ~column.gaps
    if np.any(column.units[there] <= 0):
        raise InputError(
            f'Column {name!r} has values of 0 or less, and transform="{transform}" takes logarithms.',
            hint='Name other columns, shift the column first, or leave it as it is: transform="none".',
        )
    logs = np.log(np.where(there, column.units, 1).astype(np.float64))
    if transform == "log" or not there.any():
        return np.asarray(logs)
    known = np.sort(logs[there])
    best = max(POWERS.tolist(), key=lambda power: _likelihood(known, power))
    return logs if best == 0 else np.asarray(np.expm1(best * logs) / best)


def _likelihood(logs: Floats, power: float) -> float:
    """The logarithm of the likelihood that a power makes numbers normal, from their logarithms."""
    middle = logs - logs.mean()  # another unit changes all likelihoods alike
    made = middle if power == 0 else np.expm1(power * middle) / power
    spread = made.var()
    return -np.inf if not spread > 0 else float(power * middle.sum() - len(logs) / 2 * np.log(spread))


def loss(column: ExactColumn, new: Ints, finer: int) -> float:
    """The share of the variation of a column that is lost."""
    there = ~column.gaps
    old = from_least(column)[there]
    if not len(old) or not old.std() > 0:
        return 0.0
    least = int(column.units[there].min())
    moved = new[there] - least * 10**finer if finer >= 0 else new[there] * 10**-finer - least
    moved = moved / 10.0 ** max(finer, 0)
    return float(((old - moved) ** 2).sum() / ((old - old.mean()) ** 2).sum())


def widest(points: Floats, group: Ints) -> float:
    """The largest distance between two members of a group."""
    most = 0.0
    for batch in batches(group):
        inside = points[batch.rows]
        for step in range(1, inside.shape[1]):
            most = max(most, float(((inside[:, step:] - inside[:, :-step]) ** 2).sum(axis=2).max()))
    return float(np.sqrt(most))


def within_groups(points: Floats, group: Ints) -> float:
    """The sum of squared distances of records from the middles of their groups."""
    total = 0.0
    for batch in batches(group):
        inside = points[batch.rows]
        total += float(((inside - inside.mean(axis=1, keepdims=True)) ** 2).sum())
    return total
