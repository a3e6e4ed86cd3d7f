"""What masking did to columns of numbers: locations, scatters, regressions and distances, before and after.

The table of measures is that of Templ (2006); see ``docs/sources.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Floats
from discreet.model.custodian import RecordCustodian
from discreet.model.records import RecordSet

NORMAL = 1.4826
"""The median absolute deviation of normal numbers times this is their standard deviation."""
CLIPPED = 3 / 1.486
"""Values farther from the median than so many of these deviations are clipped by the one-step location."""


class ValuePair(NamedTuple):
    """Columns of numbers before and after, without records that are empty in any of them."""

    names: tuple[str, ...]
    before: Floats
    after: Floats


@dataclass(frozen=True)
class ValueLosses:
    """Losses of columns of numbers; each is 0 where nothing changed.

    Parameters
    ----------
    il1
        Mean distance of values, in units of the standard deviation times the root of two; not a number where the files
        have different numbers of records.
    mean, median, onestep, mad
        Sums over columns of relative changes of the mean, the median, the one-step location and the median absolute
        deviation. Columns in which these are zero are left out.
    covariance, correlation
        Sums of relative changes of covariances and of correlations, over twice the number of columns.
    variance
        Twice ``covariance``, as the source computes it; ``variances`` is what its name says.
    variances
        Sum over columns of relative changes of the variance.
    regression
        Sum of changes of the coefficients of the first column on the others, without a constant.
    loadings
        Sum of relative changes of the mean loadings of principal components.
    """

    il1: float
    mean: float
    median: float
    onestep: float
    mad: float
    covariance: float
    correlation: float
    variance: float
    variances: float
    regression: float
    loadings: float

    def to_dict(self) -> dict[str, float]:
        """The losses by name."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}


def altered_numbers(custodian: RecordCustodian) -> list[str]:
    """Columns that a step altered and that hold numbers before and after."""
    import pyarrow as pa

    altered = {name for step in custodian.steps for name in step.changed.column_names}

    def numbers(name: str) -> bool:
        kinds = (records[name].type for records in (custodian.original, custodian.released))
        return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)

    return [name for name in custodian.original.names if name in altered and numbers(name)]


def value_pair(original: RecordSet, released: RecordSet, columns: Sequence[str]) -> ValuePair:
    """Columns of two files that have the same records in the same order."""
    import pyarrow as pa

    pair = []
    for records in (original, released):
        found = []
        for name in columns:
            column = records[name]
            if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
                raise InputError(f"Column {name!r} holds {column.type}, not numbers.", hint="Leave it out.")
            values = np.array(column.fill_null(0).to_numpy(), np.float64)
            values[np.asarray(column.is_null().to_numpy(), np.bool_)] = np.nan
            found.append(values)
        pair.append(np.stack(found, axis=1))
    there = ~(np.isnan(pair[0]) | np.isnan(pair[1])).any(axis=1)
    return ValuePair(tuple(columns), pair[0][there], pair[1][there])


def value_losses(pair: ValuePair) -> ValueLosses:
    """All losses of columns of numbers.

    Examples
    --------
    >>> before = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]])
    >>> value_losses(ValuePair(("x", "y"), before, before)).il1
    0.0
    """
    if min(len(pair.before), len(pair.after)) < 2:
        raise InputError("Losses of numbers need two records without a gap.", hint="Leave out columns with many gaps.")
    before, after = pair.before, pair.after
    columns = before.shape[1]
    first, second = (np.atleast_2d(np.cov(values, rowvar=False)) for values in (before, after))
    covariance = _relative(first, second) / (2 * columns)
    return ValueLosses(
        il1=il1(pair) if before.shape == after.shape else float("nan"),
        mean=_each(np.mean, before, after),
        median=_each(np.median, before, after),
        onestep=_each(onestep, before, after),
        mad=_each(mad, before, after),
        covariance=covariance,
        correlation=_relative(_correlation(first), _correlation(second)) / (2 * columns),
        variance=2 * covariance,
        variances=_relative(np.diag(first), np.diag(second)),
        regression=float(np.abs(_coefficients(before) - _coefficients(after)).sum()),
        loadings=_relative(*_mean_loadings(_correlation(first), _correlation(second))),
    )


class EigenvalueChanges(NamedTuple):
    """Mean relative changes of the eigenvalues of the correlation matrix, and of that of ranks.

    A few outliers do not change the second.
    """

    plain: float
    ranks: float


def eigenvalue_changes(pair: ValuePair) -> EigenvalueChanges:
    """How much the eigenvalues of correlation matrices changed.

    Examples
    --------
    >>> before = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]])
    >>> eigenvalue_changes(ValuePair(("x", "y"), before, before)).plain
    0.0
    """
    if min(len(pair.before), len(pair.after)) < 2:
        raise InputError("Eigenvalues need two records without a gap.", hint="Leave out columns with many gaps.")
    plain, ranks = (
        [_correlation(np.atleast_2d(np.cov(way(values), rowvar=False))) for values in (pair.before, pair.after)]
        for way in (np.asarray, _ranks)
    )
    return EigenvalueChanges(_eigenvalue_change(*plain), _eigenvalue_change(*ranks))


def il1(pair: ValuePair) -> float:
    """Mean distance of values, in units of the standard deviation times the root of two; columns that vary count."""
    spread = pair.before.std(axis=0, ddof=1) if len(pair.before) > 1 else np.zeros(len(pair.names))
    varying = spread > 0
    if not varying.any():
        return 0.0
    moved = np.abs(pair.before - pair.after)[:, varying] / (np.sqrt(2) * spread[varying])
    return float(moved.mean())


def mad(values: Floats) -> float:
    """The median absolute deviation, in units of a standard deviation of normal numbers."""
    return float(NORMAL * np.median(np.abs(values - np.median(values))))


def onestep(values: Floats) -> float:
    """The mean of values that are clipped where they lie far from the median."""
    middle, reach = np.median(values), CLIPPED * mad(values)
    return float(np.clip(values, middle - reach, middle + reach).mean())


def _each(location: Callable[[Floats], float], before: Floats, after: Floats) -> float:
    """The sum over columns of relative changes of a number."""
    first, second = (np.array([float(location(column)) for column in values.T]) for values in (before, after))
    return _relative(first, second)


def _relative(first: Floats, second: Floats) -> float:
    there = np.abs(first) > 0
    return float((np.abs(first - second)[there] / np.abs(first)[there]).sum())


def _correlation(covariance: Floats) -> Floats:
    spread = np.sqrt(np.diag(covariance))
    scale = np.where(spread > 0, spread, 1.0)
    return np.asarray(covariance / scale / scale[:, None])


def _ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray(rankdata(values, axis=0), np.float64)


def _eigenvalue_change(first: Floats, second: Floats) -> float:
    """The mean relative change of eigenvalues; those that are zero but for rounding are left out."""
    before, after = np.linalg.eigvalsh(first)[::-1], np.linalg.eigvalsh(second)[::-1]
    there = before > 1e-12 * len(before)
    return float((np.abs(before - after)[there] / before[there]).mean()) if there.any() else 0.0


def _coefficients(values: Floats) -> Floats:
    if values.shape[1] < 2:
        return np.zeros(0)
    return np.asarray(np.linalg.lstsq(values[:, 1:], values[:, 0], rcond=None)[0])


def _mean_loadings(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Means of the loadings of each principal component; those after masking have the sign of those before."""
    before, after = (np.linalg.eigh(matrix)[1][:, ::-1] for matrix in (first, second))
    sign = np.sign((before * after).sum(axis=0))
    return before.mean(axis=0), (after * np.where(sign == 0, 1.0, sign)).mean(axis=0)
