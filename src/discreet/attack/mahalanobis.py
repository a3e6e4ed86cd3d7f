"""Distances that know how masking errs: large errors of one direction count little, small ones of another much.

Torra, Abowd and Domingo-Ferrer (2006); see ``docs/sources.md``. Their two covariances are named here as they were
computed: the one that finds most needs to know which record is whose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from discreet.attack.linkage_columns import LinkageColumns
from discreet.attack.record_attack import Knowledge
from discreet.errors import InputError, counted
from discreet.model.arrays import Floats, Ints

Covariance = Literal["zero", "aligned", "links", "iterative", "regression"]
WHAT_IT_NEEDS: dict[Covariance, Knowledge] = {
    "zero": "records",
    "iterative": "records",
    "links": "some links",
    "aligned": "all links",
    "regression": "all links",
}
NO_SPREAD = 1e-10
"""Directions with a smaller share of the largest variance do not vary."""
NO_ERROR = 1e-12
"""Error variances below this share of the variance count as this share: such a direction decides before all others."""
STEPS = 40
"""The most rounds of linking and learning from the links."""

Search = Callable[[Floats, Floats], Ints]
"""From both files to the released row that each original one is linked with; -1 for none."""


class Whitened(NamedTuple):
    """Both files in coordinates in which plain distances are the wanted ones, and what to know of them."""

    before: Floats
    after: Floats
    notes: tuple[str, ...]


def whitened_pair(
    columns: LinkageColumns, covariance: Covariance, truth: Ints, known: Ints, search: Search
) -> Whitened:
    """Both files in coordinates of one covariance."""
    columns.numbers_only("the Mahalanobis distance")
    if not columns.names:
        return Whitened(np.zeros((len(columns.before), 1)), np.zeros((len(columns.after), 1)), ())
    start = _without_covariance(columns)
    if covariance == "zero":
        return start
    pairs = _complete_pairs(columns, np.flatnonzero(truth >= 0) if covariance != "links" else known, truth)
    if covariance == "iterative":
        return _learned(columns, start, search)
    if covariance == "regression":
        return _predicted(start, pairs, truth)
    _refuse_few(len(pairs), 1, start.before.shape[1], covariance)
    errors = start.before[pairs] - start.after[truth[pairs]]
    return _by_errors(start, errors, errors.mean(axis=0))


def _without_covariance(columns: LinkageColumns) -> Whitened:
    """Coordinates in which the variances of both files add up to one in every direction."""
    from discreet.attack.nearest_kernels import mapped

    complete = columns.complete
    if min(int(rows.sum()) for rows in complete) < 2:
        raise InputError(
            "A covariance needs two records without a gap in both files.", hint="Leave out columns with many gaps."
        )
    middle = columns.before[complete[0]].mean(axis=0)
    files = [columns.before - middle, columns.after - middle]
    spread = np.sqrt(sum(values[rows].var(axis=0, ddof=1) for values, rows in zip(files, complete, strict=True)))
    spread = np.where(spread > 0, spread, 1.0)
    total = sum(_covariance(values[rows] / spread) for values, rows in zip(files, complete, strict=True))
    sizes, directions = np.linalg.eigh(total)
    kept = sizes > NO_SPREAD * sizes[-1]
    matrix = np.ascontiguousarray((directions[:, kept] / np.sqrt(sizes[kept])) / spread[:, None])
    lost = int((~kept).sum())
    notes = (f"The columns vary in {int(kept.sum())} of {len(kept)} directions only: some follow from others.",)
    return Whitened(mapped(files[0], matrix), mapped(files[1], matrix), notes if lost else ())


def _by_errors(start: Whitened, errors: Floats, shift: Floats) -> Whitened:
    """Coordinates in which errors have variance one, with what they are on the whole taken off."""
    from discreet.attack.nearest_kernels import mapped

    sizes, directions = np.linalg.eigh(_covariance(errors))
    exact = int((sizes < NO_ERROR).sum())
    matrix = np.ascontiguousarray(directions / np.sqrt(np.maximum(sizes, NO_ERROR)))
    notes = start.notes
    if exact:
        notes += (
            f"The covariance of errors is singular: in {exact} of {counted(len(sizes), 'direction')} the released "
            "values are the original ones. These directions decide before all others.",
        )
    return Whitened(mapped(start.before - shift, matrix), mapped(start.after, matrix), notes)


def _learned(columns: LinkageColumns, start: Whitened, search: Search) -> Whitened:
    """Link, learn the errors from the links, right or wrong, and link again until nothing changes."""
    now, links = start, np.full(len(start.before), -1)
    for _ in range(STEPS):
        found = search(now.before, now.after)
        if (found == links).all():
            break
        links = found
        pairs = _complete_pairs(columns, np.flatnonzero(links >= 0), links)
        _refuse_few(len(pairs), 1, start.before.shape[1], "iterative")
        errors = start.before[pairs] - start.after[links[pairs]]
        now = _by_errors(start, errors, np.zeros(errors.shape[1]))  # wrong links say little of the mean error
    return now


def _predicted(start: Whitened, pairs: Ints, truth: Ints) -> Whitened:
    """What the released values are expected to be, by a regression on the original ones, beside what they are."""
    from discreet.attack.nearest_kernels import mapped

    width = start.before.shape[1]
    design = np.column_stack([np.ones(len(start.before)), start.before])
    rank = int(np.linalg.matrix_rank(design[pairs])) if len(pairs) else 0
    _refuse_few(len(pairs), rank, width, "regression")
    slopes = np.linalg.lstsq(design[pairs], start.after[truth[pairs]], rcond=None)[0]
    expected = mapped(design, np.ascontiguousarray(slopes))
    errors = expected[pairs] - start.after[truth[pairs]]
    return _by_errors(start._replace(before=expected), errors, np.zeros(width))


def _refuse_few(pairs: int, rank: int, columns: int, covariance: str) -> None:
    if pairs <= rank + columns:
        raise InputError(
            f'covariance="{covariance}" has {counted(pairs, "pair")} of records without a gap to learn the errors of '
            f"{counted(columns, 'direction')} from; it needs {rank + columns + 1} at least.",
            hint='Give more records or links, fewer columns, or covariance="zero".',
        )


def _complete_pairs(columns: LinkageColumns, rows: Ints, links: Ints) -> Ints:
    """Rows of the original that have no gap, and whose released record has none."""
    before, after = columns.complete
    return rows[before[rows] & after[links[rows]]]


def _covariance(values: Floats) -> Floats:
    return np.atleast_2d(np.cov(values, rowvar=False))
