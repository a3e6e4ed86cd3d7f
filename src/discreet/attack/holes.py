"""Intervals of cells of a published table from its published numbers alone: nobody knows the true ones.

Shown cells are known exactly, or within what is known of the method (rounding, bounded noise); the others within
bounds. Parts of the table that no relation ties together are looked at one after the other. Where values are whole
numbers, an end that no table of whole numbers has is found by an integer program instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.progress import checkpoint
from discreet.relations.components import components
from discreet.solve.program import PRIMAL, equations_model, started

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NODES = 10_000
"""Nodes of the search tree of one integer program."""
WHOLE = 1e-6


class Holes(NamedTuple):
    """Ends of the cells that were asked for. ``undecided``: no end could be found; ``contradictory``: nothing fits."""

    cells: Ints
    lower: Floats
    upper: Floats
    undecided: Bools
    contradictory: Bools


def hole_intervals(matrix: csr_array, lower: Floats, upper: Floats, asked: Bools, whole: bool = False) -> Holes:
    """Least and largest value of cells, given relations that sum to zero and bounds of every cell.

    Where values are ``whole`` numbers, both ends are taken by tables of whole numbers, or are undecided.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> relation = csr_array(np.array([[1, 1, 1, -1]]))
    >>> low, high = np.array([3.0, 0, 0, 10]), np.array([3.0, np.inf, np.inf, 10])
    >>> found = hole_intervals(relation, low, high, high == np.inf)
    >>> found.lower.tolist(), found.upper.tolist()
    ([0.0, 0.0], [7.0, 7.0])
    """
    cells = np.flatnonzero(asked)
    place = np.full(len(lower), -1, np.int64)
    place[cells] = np.arange(len(cells))
    found = Holes(
        cells,
        lower[cells].copy(),
        upper[cells].copy(),
        np.zeros(len(cells), np.bool_),
        np.zeros(len(cells), np.bool_),
    )
    open_cells = np.flatnonzero(lower < upper)
    fixed = np.where(lower < upper, 0.0, lower)
    right = -np.asarray(matrix @ fixed, np.float64)
    count, label = components(matrix, open_cells)
    by_row = matrix.tocsc()
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(count + 1))
    for number in range(count):
        checkpoint("Holes", number, count)
        members = open_cells[order[starts[number] : starts[number + 1]]]
        wanted = np.flatnonzero(asked[members])
        if len(wanted):
            part = by_row[:, members].tocsr()
            rows = np.flatnonzero(np.diff(part.indptr))
            model = _model(part[rows].tocsc(), right[rows], lower[members], upper[members])
            _fill(model, members, wanted, place, found, whole)
    return found


def _model(matrix: Any, right: Floats, lower: Floats, upper: Floats) -> Any:
    settings = {"simplex_strategy": PRIMAL, "mip_max_nodes": NODES, "mip_rel_gap": 0.0, "mip_abs_gap": 0.5}
    return started(equations_model(matrix, lower, upper, right), **settings)


def _fill(model: Any, members: Ints, wanted: Ints, place: Ints, found: Holes, whole: bool) -> None:
    """Both ends of the wanted members of one part."""
    import highspy

    status = highspy.HighsModelStatus
    model.run()
    if model.getModelStatus() != status.kOptimal:
        found.contradictory[place[members[wanted]]] = True
        return
    for k in wanted.tolist():
        at = int(place[members[k]])
        for sign, ends in ((1.0, found.lower), (-1.0, found.upper)):
            model.changeColCost(k, sign)
            reached, value = _solved(model)
            if whole and reached == status.kOptimal and not _is_whole(model):
                reached, value = _in_whole_numbers(model)
            if reached == status.kOptimal:
                ends[at] = sign * value
            elif reached in (status.kUnbounded, status.kUnboundedOrInfeasible):
                ends[at] = -sign * np.inf  # something fits, as was found before
            elif reached == status.kInfeasible:
                found.contradictory[at] = True
            else:
                found.undecided[at] = True
        model.changeColCost(k, 0.0)


def _solved(model: Any) -> tuple[Any, float]:
    model.run()
    return model.getModelStatus(), float(model.getInfo().objective_function_value)


def _is_whole(model: Any) -> bool:
    values = np.asarray(model.getSolution().col_value)
    return bool(np.abs(values - np.rint(values)).max(initial=0.0) <= WHOLE)


def _in_whole_numbers(model: Any) -> tuple[Any, float]:
    """Solve the same program in whole numbers."""
    import highspy

    size = model.getNumCol()
    every = np.arange(size, dtype=np.int32)
    model.changeColsIntegrality(size, every, np.full(size, highspy.HighsVarType.kInteger))
    found = _solved(model)
    model.changeColsIntegrality(size, every, np.full(size, highspy.HighsVarType.kContinuous))
    return found
