"""Numbers drawn from the regression of some columns on others, with what it says of them kept exactly where asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.model.arrays import Floats
from discreet.model.records import RecordSet
from discreet.records.value_columns import empty_rows
from discreet.rules.key_counts import codes_of

Variant = Literal["fit", "a", "b", "c"]
NO_DIRECTION = 1e-10
"""Directions of the given columns with a smaller share of the largest one are rounding, and none of the model."""
NO_VARIANCE = 1e-12
"""Eigenvalues of correlations below this are none."""
MOST_SIZE = 1e100
"""Numbers of given columns beyond would be infinite when squared, and the model would not see the column."""
MOST_COLUMNS = 100
"""A model has at most so many columns; more are a classification, which strata or broader codes are for."""


class RegressionFit(NamedTuple):
    """What a regression says of some columns, one column of the arrays for each.

    Parameters
    ----------
    basis
        Orthogonal directions of the model with length one, the constant among them.
    fitted, residual
        What the model says of the values, and what it leaves open; both add up to the values.
    spread
        Root of the mean square of what is left open.
    root
        The symmetric root of the correlations of what is left open.
    eigenvalues
        Those of the correlations, the smallest first.
    explained
        The share of the variance of each column that the model explains.
    """

    basis: Floats
    fitted: Floats
    residual: Floats
    spread: Floats
    root: Floats
    eigenvalues: Floats
    explained: Floats


def model_basis(columns: Floats) -> Floats:
    """Orthogonal directions of length one that the constant and some columns span.

    Columns that follow from others, as totals follow from their parts, would leave a direction of pure rounding: only
    directions of some size count, all columns in units of their standard deviation.

    Examples
    --------
    >>> part = np.array([1.0, 2.0, 4.0, 8.0])
    >>> model_basis(np.column_stack([part, part[::-1], part + part[::-1]])).shape
    (4, 3)
    """
    rows = len(columns)
    constant = np.full((rows, 1), rows**-0.5)
    centred = columns - columns.mean(axis=0)
    # Numbers of a column that never varies differ from their mean by rounding.
    length = np.sqrt((centred**2).sum(axis=0))
    varies = length > 1e-13 * np.sqrt((columns**2).sum(axis=0))
    if not varies.any():
        return constant
    directions, triangle = np.linalg.qr(centred[:, varies] / length[varies])
    turn, size, _ = np.linalg.svd(triangle)
    return np.concatenate([constant, directions @ turn[:, size > NO_DIRECTION * size[0]]], axis=1)


def regression_fit(values: Floats, basis: Floats) -> RegressionFit:
    """The regression of columns on what a basis spans."""
    centred = values - values.mean(axis=0)
    fitted = values - centred + basis @ (basis.T @ centred)
    residual = beyond(basis, values - fitted)
    fitted = values - residual
    spread = np.sqrt((residual**2).mean(axis=0))
    scaled = residual / np.where(spread > 0, spread, 1.0)
    eigenvalues, vectors = np.linalg.eigh(scaled.T @ scaled / len(values))
    used = np.where(eigenvalues > NO_VARIANCE, eigenvalues, 0.0)
    root = (vectors * np.sqrt(used)) @ vectors.T
    size = (centred**2).mean(axis=0)
    explained = 1 - spread**2 / np.where(size > 0, size, 1.0)
    return RegressionFit(basis, fitted, residual, spread, np.asarray(root), eigenvalues, explained)


def beyond(basis: Floats, values: Floats) -> Floats:
    """What a basis leaves of some columns; twice, so that no rounding of large numbers stays."""
    for _ in range(2):
        values = values - basis @ (basis.T @ values)
    return values


def synthetic_values(fit: RegressionFit, normals: Floats, variant: Variant) -> Floats:
    """New columns: what the model says, and new residuals made of standard normal draws.

    ``"fit"`` has none; ``"a"`` plain draws; ``"b"`` draws that the model explains nothing of, so that its coefficients
    stay; ``"c"`` those whose covariance is that of the old residuals, too.

    Examples
    --------
    >>> draw = np.random.default_rng(1)
    >>> x, y = draw.normal(size=(50, 2)), draw.normal(size=(50, 1))
    >>> fit = regression_fit(y, model_basis(x))
    >>> new = regression_fit(synthetic_values(fit, draw.normal(size=(50, 1)), "c"), fit.basis)
    >>> bool(np.allclose(new.fitted, fit.fitted)), bool(np.allclose(new.spread, fit.spread))
    (True, True)
    """
    if variant == "fit":
        return fit.fitted
    if variant == "c":
        directions, triangle = np.linalg.qr(beyond(fit.basis, normals))
        normals = directions * np.where(np.diag(triangle) < 0, -1.0, 1.0) * len(normals) ** 0.5
    residual = normals @ fit.root * fit.spread
    return fit.fitted + (residual if variant == "a" else beyond(fit.basis, residual))


class MomentChange(NamedTuple):
    """How far new columns are from exact ones, at most.

    ``fitted`` is the root mean square change of what the model says, in standard deviations of the column;
    ``residual`` the change of a covariance of residuals, in those of the residuals.
    """

    fitted: float
    residual: float


def moment_change(fit: RegressionFit, values: Floats, new: Floats) -> MomentChange:
    """What became of the regression in new columns."""
    moved = new - values
    projected = fit.basis @ (fit.basis.T @ moved)
    fitted = np.sqrt((projected**2).mean(axis=0)) / values.std(axis=0)
    left = beyond(fit.basis, fit.residual + moved)
    before, after = (one.T @ one / len(values) for one in (fit.residual, left))
    residual = np.abs(after - before) / np.outer(fit.spread, fit.spread)
    return MomentChange(float(fitted.max()), float(residual.max()))


def model_columns(records: RecordSet, names: Sequence[str]) -> Floats:
    """Columns of a model for columns of records: numbers as they are, one of 0 and 1 for each code.

    A gap, or a code that stands for "unknown", has a column of 0 and 1, too.
    """
    found: list[Floats] = []
    for name in names:
        found += _columns_of(records, name)
        if len(found) > MOST_COLUMNS:
            raise InputError(
                f"given= makes a model of more than {MOST_COLUMNS} columns: one for each code of {name!r}, besides "
                "the others.",
                hint="Recode it to broader codes, leave it out, or make it a stratum: Microdata(strata=[...]). Numbers "
                "of csv files are codes unless they are called numbers: Microdata(numeric=[...]).",
            )
    return np.column_stack(found) if found else np.zeros((len(records), 0))


def _columns_of(records: RecordSet, name: str) -> list[Floats]:
    import pyarrow as pa

    column, empty = records[name], empty_rows(records, name)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_boolean(kind):
        texts = column.cast(pa.string())
        codes, _ = codes_of(texts, records.about(name).missing)
        there, first = np.unique(codes, return_index=True)
        # By their texts and not as they come: sums in another order differ in their last bits.
        named = {int(code): texts[int(row)].as_py() or "" for code, row in zip(there, first, strict=True)}
        order = sorted(named, key=lambda code: (code > 0, named[code]))
        return [(codes == code).astype(np.float64) for code in order[: MOST_COLUMNS + 1]]
    whole = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}.get(str(kind), kind)
    values = np.asarray(column.cast(whole).fill_null(0).to_numpy())
    known = values[~empty]
    # Less the least one, which is exact: of large numbers beside each other the last digits would go.
    numbers = np.where(empty, 0, values - known.min() if len(known) else 0).astype(np.float64)
    if np.abs(numbers).max(initial=0.0) > MOST_SIZE:
        raise InputError(
            f"Column {name!r} in given= has numbers too large to be squared.",
            hint="Express the column in a larger unit, or leave it out.",
        )
    return [numbers, empty.astype(np.float64)] if empty.any() else [numbers]
