"""Additive tables nearest to published numbers, and the inner cells that they suggest.

Inner cells are those of the finest cross-classification, zero cells included. ``cover`` is a sparse matrix with one row
for each inner and one column for each published cell, 1 where the published cell contains the inner one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, counted
from discreet.model.arrays import Bools, Floats
from discreet.solve.nonnegative import nonnegative_least_squares

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

ZeroRule = Literal["cascade", "negatives_only", "nnls", "none"]
LIMIT = 1e-10
CYCLES = 1000
LAST_CYCLES = 50_000
DENSE = 4_000_000
STEPS, EXACT = 10_000, 1e-12
"""Steps of conjugate gradients at most, and the share of the first gaps in the relations at which they stop."""
SUPPORT_CELLS = 20_000
"""Up to so many inner cells, those that must be zero are found by a linear program where fitting creeps."""


class Restored(NamedTuple):
    """An additive table without negative values, and which inner cells it leaves room for."""

    value: Floats
    possible: Bools
    rounds: int


def checked_cover(cover: csr_array, published: Floats) -> csr_array:
    """The matrix in row order; an error where it does not fit the published cells."""
    from scipy.sparse import csr_array

    rows = csr_array(cover)
    if rows.shape[1] != len(published):
        raise InputError(
            f"The matrix has {counted(rows.shape[1], 'published cell')}, {counted(len(published), 'value', 'are')} "
            "given."
        )
    if not np.isfinite(published).all():
        raise InputError("A published value is missing.", hint="Withheld cells cannot be restored here.")
    if np.any(rows.data != 1):
        raise InputError(
            "The matrix says of a published cell that it holds an inner one several times, or a part of it.",
            hint="Give 1 where a published cell contains an inner one, and 0 elsewhere.",
        )
    if np.any(np.diff(rows.indptr) == 0):
        raise InputError(
            "An inner cell lies in no published cell.", hint="Leave such cells out, or publish a total over them."
        )
    if np.any(np.bincount(rows.indices, minlength=rows.shape[1]) == 0):
        raise InputError("A published cell has no inner cell.", hint="Complete the inner table with its zero cells.")
    return rows


def restored(
    published: Floats,
    cover: csr_array,
    *,
    rule: ZeroRule = "cascade",
    limit: float = LIMIT,
    relations: csr_array | None = None,
) -> Restored:
    """The additive table nearest to published numbers by least squares, without negative values.

    Parameters
    ----------
    published
        Published numbers, additive or not.
    cover
        Inner by published cells.
    rule
        What happens to fits below ``limit``. ``"cascade"``: they become zero, and so does every published zero, with
        all inner cells below them, and the rest is fitted again, until nothing falls below the limit.
        ``"negatives_only"``: only the fits become zero. ``"nnls"``: inner cells are not negative. ``"none"``: the
        plain fit.
    limit
        Fits below it are taken for zero.
    relations
        Relations by published cells, where all inner cells are published and these relations are all that ties
        published cells to each other. The same fit is then found much faster.

    Notes
    -----
    Source: Langsrud (2021).
    """
    if rule not in ("cascade", "negatives_only", "nnls", "none"):
        raise ParameterError(f"rule={rule!r} is not known.", hint="Use cascade, negatives_only, nnls or none.")
    rows = checked_cover(cover, published)
    every = np.ones(rows.shape[0], np.bool_)
    if rule == "nnls":
        found = nonnegative_least_squares(published, rows)
        return Restored(found.fitted, found.possible, 1)
    everywhere = np.ones(len(published), np.bool_)
    fit = _least_squares(published, rows, every, everywhere, relations)
    if rule == "none" or not np.any(fit < limit):
        return Restored(fit, every, 1)
    zero = published == 0 if rule == "cascade" else np.zeros(len(published), np.bool_)
    rounds = 1
    while np.any((fit < limit) & ~zero) or rounds == 1:
        zero |= fit < limit
        possible = rows @ zero.astype(np.float64) == 0
        fit = _least_squares(published, rows, possible, ~zero, relations)
        zero |= possible.astype(np.float64) @ rows == 0
        rounds += 1
    return Restored(np.maximum(fit, 0.0), rows @ zero.astype(np.float64) == 0, rounds)


def _least_squares(
    published: Floats, rows: csr_array, possible: Bools, left: Bools, relations: csr_array | None
) -> Floats:
    """Projection of the published numbers that are left on what possible inner cells can add up to; 0 elsewhere."""
    fit = np.zeros(len(published))
    if not possible.any():
        return fit
    if relations is not None:
        there = np.flatnonzero(left & (possible.astype(np.float64) @ rows > 0))
        fit[there] = _related(published[there], relations[:, there])
        return fit
    there = np.flatnonzero(left)
    fit[there] = _added_up(published[there], rows[np.flatnonzero(possible)][:, there])
    return fit


def _added_up(published: Floats, rows: csr_array) -> Floats:
    """The nearest numbers that inner cells can add up to."""
    from scipy.sparse.linalg import lsmr

    design = rows.T.tocsr()
    if design.shape[0] * design.shape[1] <= DENSE and design.shape[0] <= 2000:
        dense = design.toarray()
        fitted: Floats = dense @ np.linalg.lstsq(dense, published, rcond=None)[0]
        return fitted
    inner = lsmr(design, published, atol=1e-13, btol=1e-13, maxiter=10_000)[0]
    fitted = design @ inner
    return fitted


def _related(published: Floats, relations: csr_array) -> Floats:
    """The nearest numbers for which relations hold, by conjugate gradients for the multipliers of the relations.

    A relation has a few cells and a cell stands in a few relations: some 170 steps did on 15,000 cells. The sums
    over inner cells say the same, but the largest of them hold all inner cells, and steps are many and dear.
    """
    matrix = relations[np.flatnonzero(np.diff(relations.indptr))].astype(np.float64)
    turned = matrix.T.tocsr()
    fit = published.astype(np.float64)
    rest = matrix @ fit
    step = rest.copy()
    size = float(rest @ rest)
    enough = EXACT**2 * size
    for _ in range(STEPS):
        if size <= enough:
            break
        move = turned @ step
        length = size / float(move @ move)
        fit -= length * move
        rest -= length * (matrix @ move)
        before, size = size, float(rest @ rest)
        step = rest + (size / before) * step
    return fit


def expected_inner(additive: Floats, cover: csr_array, possible: Bools | None = None) -> Floats:
    """Expected inner frequencies of an additive table, by iterative proportional fitting from ones.

    Parameters
    ----------
    additive
        Published numbers that add up.
    cover
        Inner by published cells.
    possible
        Which inner cells can be above zero, as :func:`restored` says. Where some cannot though all their published
        cells are above zero, fitting must be told, or it creeps towards zero without end.

    Raises
    ------
    InputError
        When no inner table adds up to the numbers; ``rule="nnls"`` gives numbers that one adds up to.
    """
    rows = checked_cover(cover, additive)
    if additive.min(initial=0.0) < 0:
        raise InputError("The additive table has negative values.", hint="Restore it first.")
    inner: Floats = (rows @ (additive == 0).astype(np.float64) == 0).astype(np.float64)
    if possible is not None:
        inner *= possible
    fitted, fits = _fitted(additive, rows, inner, CYCLES)
    if not fits and rows.shape[0] <= SUPPORT_CELLS:
        fitted, fits = _fitted(additive, rows, inner * _support(additive, rows), LAST_CYCLES)
    if not fits:
        raise InputError(
            "No inner table without negative cells adds up to these numbers, or too many of its cells must be zero.",
            hint="Restore the table with rule='nnls' first.",
        )
    return fitted


def _fitted(additive: Floats, rows: csr_array, start: Floats, cycles: int) -> tuple[Floats, bool]:
    """Proportional fitting from a start, and whether it adds up."""
    from discreet.solve.proportional import fit_until_still

    columns: csc_array = rows.tocsc()
    inner = start.copy()
    worst = fit_until_still(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), additive, inner, cycles)
    return inner, worst <= 1e-8 * max(1.0, float(additive.max(initial=0.0)))


def _support(additive: Floats, rows: csr_array) -> Bools:
    """Inner cells that are above zero in some table that adds up to the numbers, or to a multiple of them.

    A multiple, because every such cell can then reach one at the same time; all where no table adds up.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    size, cells = rows.shape
    nothing = csr_array((cells, size), dtype=np.float64)
    sums: Any = hstack([csr_array(rows.T), nothing, csr_array(-additive[:, None])])
    below: Any = hstack([-eye_array(size), eye_array(size), csr_array((size, 1), dtype=np.float64)])
    ends: Any = np.zeros((2 * size + 1, 2))
    ends[:, 1] = np.inf
    ends[size : 2 * size, 1] = 1
    ends[-1, 0] = 1
    cost = np.concatenate((np.zeros(size), -np.ones(size), [0.0]))
    found: Any = linprog(cost, A_ub=below, b_ub=np.zeros(size), A_eq=sums, b_eq=np.zeros(cells), bounds=ends)
    if found.status != 0:
        return np.ones(size, np.bool_)
    reached: Bools = np.asarray(found.x)[size : 2 * size] > 0.5
    return reached
