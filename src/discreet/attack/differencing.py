"""Differencing: what several releases about overlapping or nested populations tell of the parts between them.

Populations are made of regions: those of an area and of the area without a strip share one region, and the strip is the
other. Every release tells, cell by cell, the sum over its regions, exactly or within what is known of its method.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.model.arrays import Bools, Floats
from discreet.progress import steps
from discreet.solve.program import started

if TYPE_CHECKING:
    from scipy.sparse import csr_array

CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class RegionDifferences:
    """What is known of every cell of every region: one row per region, one column per cell."""

    regions: tuple[str, ...]
    lower: Floats
    upper: Floats

    def __getitem__(self, region: str) -> tuple[Floats, Floats]:
        """Bounds of the cells of one region."""
        if region not in self.regions:
            raise ParameterError(unknown_name("region", region, self.regions))
        at = self.regions.index(region)
        return self.lower[at], self.upper[at]

    @property
    def known(self) -> Bools:
        """Cells that are known exactly."""
        return self.upper - self.lower <= CLOSE * np.maximum(1.0, np.abs(self.lower))

    def narrower(self, width: float) -> Bools:
        """Cells that are known to less than a width."""
        found: Bools = self.upper - self.lower < width
        return found

    def small(self, most: float) -> Bools:
        """Cells that hold somebody, and surely no more than so many."""
        found: Bools = (self.upper <= most + CLOSE) & (self.lower > 0)
        return found


def difference_releases(
    universes: Mapping[str, Collection[str]],
    published: Mapping[str, npt.ArrayLike],
    *,
    within: float | Mapping[str, float] = 0.0,
    relations: csr_array | None = None,
    whole: bool = True,
    floor: float = 0.0,
) -> RegionDifferences:
    """Bounds of the cells of every region from all releases together.

    Parameters
    ----------
    universes
        For every release the regions that its population is made of.
    published
        For every release its cells, in one order; not a number where a cell is withheld.
    within
        How far true values may lie from published ones: 0 for true values, the base less one for rounding to a base,
        the largest change for bounded noise; one number, or one a release.
    relations
        Relations between the cells of a table, one row per relation that sums to zero; they hold in every region.
    whole
        Whether values are whole numbers.
    floor
        What every cell is known to be at least.

    Raises
    ------
    InputError
        When releases contradict each other.

    Examples
    --------
    >>> found = difference_releases(
    ...     {"town": ["core", "strip"], "core only": ["core"]}, {"town": [36, 45], "core only": [35, 45]}
    ... )
    >>> found["strip"][0].tolist(), found["strip"][1].tolist()
    ([1.0, 0.0], [1.0, 0.0])
    """
    names = list(universes)
    if sorted(names) != sorted(published):
        raise InputError(f"There are universes of {names}, and releases {list(published)}.", hint="Name both alike.")
    regions = tuple(dict.fromkeys(region for name in names for region in universes[name]))
    if not regions or not all(len(universes[name]) for name in names):
        raise InputError("A universe has no regions.", hint="Say which regions each population is made of.")
    values = [np.asarray(published[name], np.float64).ravel() for name in names]
    if len({len(v) for v in values}) != 1:
        raise InputError("The releases have different numbers of cells.", hint="Give the same cells in the same order.")
    slack = [_within(within, name) for name in names]
    low = np.array([np.where(np.isnan(v), -np.inf, v - s) for v, s in zip(values, slack, strict=True)])
    high = np.array([np.where(np.isnan(v), np.inf, v + s) for v, s in zip(values, slack, strict=True)])
    member = np.array([[region in universes[name] for region in regions] for name in names], np.float64)
    if relations is None:
        lower, upper = _cell_by_cell(member, low, high, floor)
    else:
        lower, upper = _together(member, low, high, relations, floor)
    if whole:
        lower, upper = np.ceil(lower - CLOSE), np.floor(upper + CLOSE)
    return RegionDifferences(regions, lower + 0.0, upper + 0.0)


def _within(within: float | Mapping[str, float], name: str) -> float:
    if not isinstance(within, Mapping):
        found = within
    elif name in within:
        found = within[name]
    else:
        raise ParameterError(f"within= says nothing of the release {name!r}.", hint="Give one number for each.")
    if not found >= 0:
        raise ParameterError(f"within={found!r} is not allowed.", hint="Give a distance of at least 0.")
    return float(found)


def _cell_by_cell(member: Floats, low: Floats, high: Floats, floor: float) -> tuple[Floats, Floats]:
    """Cells do not depend on each other; those with the same published values have the same answer."""
    distinct, which = np.unique(np.vstack((low, high)), axis=1, return_inverse=True)
    releases, regions = member.shape
    lower, upper = np.empty((regions, distinct.shape[1])), np.empty((regions, distinct.shape[1]))
    model = _model(member, regions, floor)
    rows = np.arange(releases, dtype=np.int32)
    for k in steps("Cells", range(distinct.shape[1])):
        ends = distinct[:, k]
        for row in rows.tolist():
            model.changeRowBounds(row, ends[row], ends[releases + row])
        _refuse_contradiction(model)
        for region in range(regions):
            lower[region, k], upper[region, k] = _ends(model, region)
    which = which.ravel()
    return lower[:, which], upper[:, which]


def _together(member: Floats, low: Floats, high: Floats, relations: csr_array, floor: float) -> tuple[Floats, Floats]:
    """All cells of all regions in one program, with the relations of the table in every region."""
    from scipy.sparse import csr_array, eye_array, kron, vstack

    cells, regions = low.shape[1], member.shape[1]
    if relations.shape[1] != cells:
        raise InputError(f"The relations are of {counted(relations.shape[1], 'cell')}, the releases have {cells}.")
    sums = kron(csr_array(member), eye_array(cells))
    within = kron(eye_array(regions), relations)
    matrix = vstack([sums, within]).tocsr()
    zero = np.zeros(within.shape[0])
    model = _model(matrix, matrix.shape[1], floor)
    ends = np.concatenate((low.ravel(), zero)), np.concatenate((high.ravel(), zero))
    for row in range(matrix.shape[0]):
        model.changeRowBounds(row, ends[0][row], ends[1][row])
    _refuse_contradiction(model)
    lower, upper = np.empty(matrix.shape[1]), np.empty(matrix.shape[1])
    for k in steps("Cells", range(matrix.shape[1])):
        lower[k], upper[k] = _ends(model, k)
    return lower.reshape(regions, cells), upper.reshape(regions, cells)


def _model(matrix: Any, columns: int, floor: float) -> Any:
    import highspy
    from scipy.sparse import csc_array

    found = csc_array(matrix)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = found.shape
    model.col_cost_ = np.zeros(columns)
    model.col_lower_, model.col_upper_ = np.full(columns, floor), np.full(columns, highspy.kHighsInf)
    model.row_lower_ = np.full(found.shape[0], -highspy.kHighsInf)
    model.row_upper_ = np.full(found.shape[0], highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = found.indptr, found.indices
    model.a_matrix_.value_ = found.data.astype(np.float64)
    return started(model)


def _refuse_contradiction(model: Any) -> None:
    """Refuse releases that no values fit."""
    import highspy

    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise InputError(
            "The releases contradict each other.", hint="Check the universes, and what is known of each method."
        )


def _ends(model: Any, column: int) -> tuple[float, float]:
    """Least and largest value of one unknown."""
    import highspy

    ends = []
    for sign in (1.0, -1.0):
        model.changeColCost(column, sign)
        model.run()
        status = model.getModelStatus()
        if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            ends.append(-sign * np.inf)  # something fits, as was found before
        elif status == highspy.HighsModelStatus.kOptimal:
            ends.append(sign * float(model.getInfo().objective_function_value))
        else:
            raise InputError("A bound could not be found.", hint="Give values in a larger unit.")
    model.changeColCost(column, 0.0)
    return ends[0], ends[1]
