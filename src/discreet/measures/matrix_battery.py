"""Distances between two files of numbers by six matrices: values, covariances, correlations and principal components.

The battery is that of Kennickell and Lane (2006); see ``docs/sources.md``. It is hard to read: magnitudes depend on
units, and nothing says which are large. Changes of statistics that readers know say more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.measures.values import ValuePair
from discreet.model.arrays import Bools, Floats

MATRICES = {
    "X": "values",
    "V": "covariances",
    "R": "correlations",
    "RF": "correlations with principal components",
    "C": "shares explained by the first component",
    "F": "coefficients of component scores",
}
TIED = 0.02
"""Eigenvalues nearer to each other than this share of the larger one make components that turn at the least touch."""
NOTHING = 1e-12
"""Eigenvalues below this share of the sum are zero but for rounding: their components have no scores."""


class BatteryLine(NamedTuple):
    """Distances of one matrix; ``skipped`` entries were zero before and have no relative change."""

    matrix: str
    mse: float
    mae: float
    variation: float
    skipped: int


@dataclass(frozen=True)
class MatrixBattery:
    """Mean squared, mean absolute and mean relative distances of six matrices.

    Parameters
    ----------
    lines
        One for each matrix; that of the values themselves (``"X"``) is there where records are aligned.
    shares
        Share of the variance of each principal component of the original.
    columns
        Columns that vary in both files.
    left_out
        Columns that do not.
    unstable
        Whether eigenvalues of either file nearly tie, or a component of one file stands square on that of the other,
        so that nothing says which way it points: ``"RF"`` and ``"F"`` then mean little.
    """

    lines: tuple[BatteryLine, ...]
    shares: tuple[float, ...]
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    unstable: bool

    def __getitem__(self, matrix: str) -> BatteryLine:
        return next(line for line in self.lines if line.matrix == matrix)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "lines": [line._asdict() for line in self.lines],
            "shares": list(self.shares),
            "unstable": self.unstable,
        }


class Components(NamedTuple):
    """Principal components of a correlation matrix, largest first."""

    eigenvalues: Floats
    loadings: Floats
    scores: Floats


def matrix_battery(
    pair: ValuePair,
    *,
    aligned: bool = True,
    weights: tuple[Floats, Floats] | None = None,
    importance: Mapping[str, float] | None = None,
) -> MatrixBattery:
    """Compare two files of numbers matrix by matrix.

    Parameters
    ----------
    pair
        Columns of both files.
    aligned
        Whether row ``i`` of one is row ``i`` of the other; if not, values are not compared one by one.
    weights
        Weights of the records of each file, for all matrices but that of the values.
    importance
        How much columns count in means over entries, 1 where one is not named: an entry of a column by its own, one of
        two columns by the product.

    Examples
    --------
    >>> before = np.array([[1, 2, 4], [2, 1, 5], [3, 5, 9], [4, 4, 7], [5, 7, 12], [7, 6, 15]], float)
    >>> after = np.array([[1, 3, 4], [2, 1, 6], [2, 5, 9], [4, 5, 7], [6, 7, 11], [7, 6, 16]], float)
    >>> found = matrix_battery(ValuePair(("x", "y", "z"), before, after))
    >>> [(line.matrix, round(line.mse, 6)) for line in found.lines][:3]
    [('X', 0.388889), ('V', 1.148519), ('R', 0.013243)]
    """
    if aligned and pair.before.shape != pair.after.shape:
        raise InputError("Files of different sizes have no rows in common.", hint="Give aligned=False.")
    if min(len(pair.before), len(pair.after)) < 2:
        raise InputError("A battery of matrices needs two records without a gap in each file.")
    varying = _varying(pair)
    names = tuple(name for name, there in zip(pair.names, varying, strict=True) if there)
    if not names:
        raise InputError("No column varies in both files.", hint="Name columns that do.")
    before, after = pair.before[:, varying], pair.after[:, varying]
    own = weights or (np.ones(len(before)), np.ones(len(after)))
    spreads = [_covariance(values, weight) for values, weight in zip((before, after), own, strict=True)]
    correlations = [_correlation(spread) for spread in spreads]
    first, second = components(correlations[0]), components(correlations[1])
    second = aligned_components(first, second)
    shares = first.eigenvalues / first.eigenvalues.sum()
    upper, above = np.triu_indices(len(names)), np.triu_indices(len(names), 1)
    counts = np.array([1.0 if importance is None else importance.get(name, 1.0) for name in names])
    if not counts.any():
        raise InputError("No column of numbers counts.", hint="Give one of them an importance above 0.")
    both = np.outer(counts, counts)
    lines = [_line("X", before, after, counts)] if aligned else []
    lines.append(_line("V", spreads[0][upper], spreads[1][upper], both[upper]))
    if both[above].any():
        lines.append(_line("R", correlations[0][above], correlations[1][above], both[above]))
    lines.append(_line("RF", first.loadings, second.loadings, counts[:, None], shares))
    lines.append(_line("C", first.loadings[:, 0] ** 2, second.loadings[:, 0] ** 2, counts))
    lines.append(_line("F", first.scores, second.scores, counts[:, None], shares))
    return MatrixBattery(
        tuple(lines),
        tuple(shares.tolist()),
        names,
        tuple(name for name in pair.names if name not in names),
        _tied(first.eigenvalues) or _tied(second.eigenvalues) or _square(first, second),
    )


def components(correlation: Floats) -> Components:
    """Principal components: correlations with the columns, and coefficients of standardised scores."""
    values, vectors = np.linalg.eigh(correlation)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    there = values > NOTHING * len(values)
    roots = np.sqrt(np.where(there, values, 1.0))
    return Components(values, vectors * np.where(there, roots, 0.0), vectors * np.where(there, 1 / roots, 0.0))


def aligned_components(first: Components, second: Components) -> Components:
    """The second components, turned round where they point away from the first ones."""
    sign = np.where((first.loadings * second.loadings).sum(axis=0) < 0, -1.0, 1.0)
    return Components(second.eigenvalues, second.loadings * sign, second.scores * sign)


def _line(matrix: str, before: Floats, after: Floats, counts: Floats, shares: Floats | None = None) -> BatteryLine:
    """Mean distances of all entries by how much they count; columns of them by their shares where there are some."""
    gap = np.abs(before - after)
    entry = np.broadcast_to(counts, gap.shape)
    weight = entry if shares is None else entry * shares
    zero = before == 0
    relative = np.zeros_like(gap)
    np.divide(gap, np.abs(before), out=relative, where=~zero)
    used, every = float(entry[~zero].sum()), float(entry.sum())
    variation = float((weight * relative).sum()) / used if used else float("nan")
    mse, mae = float((weight * gap**2).sum()) / every, float((weight * gap).sum()) / every
    return BatteryLine(matrix, mse, mae, variation, int(zero.sum()))


def _varying(pair: ValuePair) -> Bools:
    found: Bools = (np.ptp(pair.before, axis=0) > 0) & (np.ptp(pair.after, axis=0) > 0)
    return found


def _covariance(values: Floats, weight: Floats) -> Floats:
    return np.atleast_2d(np.cov(values, rowvar=False, aweights=weight))


def _correlation(covariance: Floats) -> Floats:
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / spread / spread[:, None])


def _square(first: Components, second: Components) -> bool:
    """Whether a component that there is in both files has nothing in common with itself."""
    there = (first.eigenvalues > NOTHING) & (second.eigenvalues > NOTHING)
    size = np.sqrt(first.eigenvalues * second.eigenvalues)
    return bool((np.abs((first.loadings * second.loadings).sum(axis=0)) < TIED * size)[there].any())


def _tied(eigenvalues: Floats) -> bool:
    return bool((eigenvalues[:-1] - eigenvalues[1:] < TIED * eigenvalues[:-1]).any())
