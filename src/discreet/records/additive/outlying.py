"""How far records lie out: three measures, each as a share of the limit beyond which a record is an outlier.

Tables have one row for each record.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.model.arrays import Floats
from discreet.records.additive.moments import covariance

MAD = 1.4826
"""Turns the median distance from the median into the standard deviation of normal values."""
POWERS = np.arange(-8, 9) / 4.0
"""Powers that are tried to make a column symmetric (Box-Cox); 0 is the logarithm."""
PIECE = 2**16


class NoSpread(Exception):
    """More than half of the values of a column are equal; ``place`` says of which one."""

    def __init__(self, place: int) -> None:
        super().__init__(f"more than half of the values of column {place} are equal")
        self.place = place


def by_distance(values: Floats, beyond: float) -> Floats:
    """Robust Mahalanobis distances, with the covariance of Gnanadesikan and Kettenring made orthogonal.

    Limits are those of normal data, moved so that the median distance is what it should be.
    """
    from scipy.special import chdtri

    columns = values.shape[1]
    straight = _standardised(values)
    alike = np.eye(columns)
    for j in range(columns):
        for k in range(j):
            both = [_spread(straight[:, j] + sign * straight[:, k]) ** 2 for sign in (1, -1)]
            alike[j, k] = alike[k, j] = (both[0] - both[1]) / 4
    turned = np.ascontiguousarray(straight @ np.linalg.eigh(alike)[1])
    squares = (_standardised(turned) ** 2).sum(axis=1)
    limit = chdtri(columns, 1 - beyond) * np.median(squares) / chdtri(columns, 0.5)
    return np.asarray(np.sqrt(squares / limit))


def by_influence(values: Floats, beyond: float) -> Floats:
    """How much larger a record makes the first two eigenvalues of the standardised columns (jackknife).

    Every record is left out once. What it adds to an eigenvalue is compared with what a normal record adds.
    """
    from scipy.special import chdtri

    rows = len(values)
    middle = values - values.mean(axis=0)
    straight = middle / np.sqrt((middle**2).sum(axis=0) / (rows - 1))
    whole = covariance(np.ascontiguousarray(straight.T))
    most = np.linalg.eigvalsh(whole)[::-1][:2]
    found = np.empty(rows)
    for first in range(0, rows, PIECE):
        piece = straight[first : first + PIECE]
        out = ((rows - 1) * whole - (rows / (rows - 1)) * piece[:, :, None] * piece[:, None, :]) / (rows - 2)
        gain = most - np.linalg.eigvalsh(out)[:, ::-1][:, :2]
        found[first : first + PIECE] = (gain * (rows - 2) / most + 1.0).max(axis=1)
    return np.asarray(np.sqrt(np.maximum(found, 0.0) / chdtri(1, 1 - beyond)))


def by_limits(values: Floats, beyond: float) -> Floats:
    """The farthest that a record lies from the median of a column, in robust standard deviations.

    Columns of positive numbers are first made symmetric by the best of a few powers; others are taken as they are.
    """
    from scipy.special import ndtri

    straight = np.column_stack([_symmetric(column) for column in values.T])
    limit = float(ndtri((1 + beyond) / 2))
    return np.asarray(np.abs(_standardised(straight)).max(axis=1) / limit)


MEASURES: dict[str, Callable[[Floats, float], Floats]] = {
    "distance": by_distance,
    "influence": by_influence,
    "limits": by_limits,
}
"""How far a record lies out, by name; 1 is the limit."""


def _spread(values: Floats) -> float:
    return float(MAD * np.median(np.abs(values - np.median(values))))


def _standardised(values: Floats) -> Floats:
    """Columns less their medians, in robust standard deviations."""
    spread = np.array([_spread(column) for column in values.T])
    if not np.all(spread > 0):
        raise NoSpread(int(np.argmin(spread)))
    return np.asarray((values - np.median(values, axis=0)) / spread)


def _symmetric(values: Floats) -> Floats:
    """A column to the power that makes it most like a normal one; the geometric mean is 1 before."""
    if not values.min() > 0:
        return values
    logs = np.log(values)
    logs = logs - logs.mean()
    best, least = values, np.inf
    for power in POWERS.tolist():
        with np.errstate(over="ignore", invalid="ignore"):
            made = logs if power == 0 else np.expm1(power * logs) / power
            variance = float(made.var())
        if variance < least:
            best, least = made, variance
    return np.asarray(best)


def reach(outlying: Floats) -> Floats:
    """What noise is multiplied by: 0 within the limit, and as far as a record lies out beyond it."""
    return np.where(outlying > 1.0, outlying, 0.0)


def noise_factor(measure: str, values: Floats, beyond: float) -> Floats:
    """What the noise of every record is multiplied by."""
    return reach(MEASURES[measure](values, beyond))
