"""The numbers of a plot before noise: counts of bins, and sums of kernels on a grid, for any number of records.

Records are counted on a fine grid first (each shared by its two neighbours, as near as it lies to them), so that the
work grows with the grid and not with records times points. A record so counted is a mixture of kernels of one
bandwidth, which never has more influence than one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.report.safe_plots.request import FLAT, PlotRequest

FINE, FINE_FLAT = 64, 16
"""Fine steps a bandwidth."""
REACH = 8.5
"""Bandwidths beyond which a kernel is nothing."""
RUNG, RUNG_FLAT = 1.01, 1.05
"""Local bandwidths are rounded up to such steps above the least."""
BLOCK = 2_000_000
MOST_SQUARES = 2**30
"""Squares to each side of the middle that are told apart."""


def bin_edges(limits: tuple[float, float], width: float) -> Floats:
    """Limits of bins that fill the range: as wide as asked or a little narrower."""
    low, high = limits
    number = max(1, int(np.ceil((high - low) / width - 1e-9)))
    return np.linspace(low, high, number + 1)


def bin_counts(values: Floats, weights: Floats | None, edges: Floats) -> Floats:
    """Records (or weights) in every bin; what lies outside is in the outer bins."""
    number, low = len(edges) - 1, float(edges[0])
    step = (float(edges[-1]) - low) / number
    total = np.zeros(number)
    for at in range(0, len(values), BLOCK):
        part = values[at : at + BLOCK]
        place = np.clip(np.floor((np.clip(part, low, edges[-1]) - low) / step), 0, number - 1).astype(np.int64)
        total += np.bincount(place, None if weights is None else weights[at : at + BLOCK], number)
    return total


def grid_of(limits: tuple[float, float], points: int) -> Floats:
    """The points of a grid."""
    return np.linspace(*limits, points)


def kernel_sums(request: PlotRequest, width: tuple[float, ...], values: Floats, weights: Floats | None) -> Floats:
    """Sum of all kernels (N times the density) at the points of the grid, the largest left out where trimmed."""
    grids = [grid_of(limits, request.points) for limits in request.spans]
    least = np.array(width)
    flat = request.kind in FLAT
    total = np.zeros([request.points] * len(grids))
    rung = RUNG_FLAT if flat else RUNG
    values, weights = in_order(values, weights)
    largest = np.zeros((request.trim, *total.shape))
    for level, mine in _by_level(rungs(values, least, request.local, rung) if request.local else None):
        bandwidth = least * rung**level
        some = values[mine]
        many = None if weights is None else weights[mine]
        total += (
            _flat_sums(some, many, grids, bandwidth) if flat else _line_sums(some, many, grids[0], float(bandwidth[0]))
        )
        if request.trim:
            largest = _merge(largest, _largest(some, grids, bandwidth, request.trim))
    return total - largest.sum(axis=0) if request.trim else total


def in_order(values: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Records sorted by their values and then weights, so that equal ones stand together; -0 is 0."""
    columns = [values[:, place] + 0.0 for place in range(values.shape[1])]
    columns += [] if weights is None else [weights + 0.0]
    if len(columns) == 1:
        columns = [np.sort(columns[0])]
    elif not _rising(columns):
        order = np.lexsort(columns[::-1])
        columns = [column[order] for column in columns]
    number = values.shape[1]
    return np.column_stack(columns[:number]), None if weights is None else columns[number]


def _rising(columns: Sequence[Floats]) -> bool:
    """Whether rows are sorted already."""
    equal = np.ones(len(columns[0]) - 1, np.bool_)
    for column in columns:
        step = np.diff(column)
        if (step[equal] < 0).any():
            return False
        equal &= step == 0
    return True


def _by_level(step: Ints | None) -> Iterator[tuple[int, Ints | slice]]:
    """Each level with its records, which keep their order."""
    if step is None:
        yield 0, slice(None)
        return
    order = np.argsort(step, kind="stable")
    levels, begins = np.unique(step[order], return_index=True)
    yield from zip(levels.tolist(), np.split(order, begins[1:]), strict=True)


def rungs(values: Floats, least: Floats, factor: float, rung: float) -> Ints:
    """How many steps above the least each record's bandwidth lies: its factor times the distance to the nearest other.

    Axes are measured in their least bandwidths. Of equal records the distance is 0.
    """
    ratio = factor * nearest(values / least, 1 / factor)
    with np.errstate(divide="ignore"):
        found = np.ceil(np.log(np.maximum(ratio, 1.0)) / np.log(rung) - 1e-9)
    steps: Ints = found.astype(np.int64)
    return steps


def nearest(values: Floats, enough: float = 0.0) -> Floats:
    """Distance of every record to the nearest other: by order in one dimension, by a tree in two; never all pairs.

    Distances of at most ``enough`` may be told as 0: in two dimensions, most records of a crowd need no search then.
    """
    if values.shape[1] == 1:
        order = np.argsort(values[:, 0], kind="stable")
        gap = np.diff(values[order, 0])
        found: Floats = np.empty(len(values))
        found[order] = np.minimum(np.r_[np.inf, gap], np.r_[gap, np.inf])
        return found
    from scipy.spatial import cKDTree

    # Equal records stand together where they are in order; they would make one leaf that everybody looks through.
    place = _place_among_equals(values)
    points = values[place == 0]
    number = np.cumsum(place == 0) - 1
    distance = np.zeros(len(points))
    single = np.flatnonzero((np.bincount(number) == 1) & ~_crowded(points, enough))
    if len(points) == 1:
        distance[single] = np.inf
    elif len(single):
        distance[single] = np.asarray(cKDTree(points).query(points[single], k=2)[0])[:, 1]
    found = distance[number]
    return found


def _place_among_equals(values: Floats) -> Ints:
    """How many equal rows stand directly before each."""
    begins = np.ones(len(values), np.bool_)
    begins[1:] = (values[1:] != values[:-1]).any(axis=1)
    rows = np.arange(len(values))
    places: Ints = rows - np.maximum.accumulate(np.where(begins, rows, 0))
    return places


def _crowded(points: Floats, enough: float) -> Bools:
    """Which points share a square, of which no two points lie further apart than ``enough``."""
    found = np.zeros(len(points), np.bool_)
    if not enough > 0:
        return found
    square = np.floor(points / (enough / np.sqrt(2)))
    inside = np.flatnonzero((np.abs(square) < MOST_SQUARES).all(axis=1))
    across, along = (square[inside, axis].astype(np.int64) + MOST_SQUARES for axis in (0, 1))
    name = across * (2 * MOST_SQUARES) + along
    order = np.argsort(name)
    same = np.diff(name[order]) == 0
    found[inside[order]] = np.r_[False, same] | np.r_[same, False]
    return found


def _shared(values: Floats, start: float, step: float, number: int) -> tuple[Ints, Floats]:
    """The left neighbour of each value on the fine grid, and the share of the right one."""
    place = (values - start) / step
    left = np.clip(np.floor(place), 0, number - 2).astype(np.int64)
    return left, np.clip(place - left, 0.0, 1.0)


def _fine(grid: Floats, bandwidth: float, steps: int) -> tuple[float, float, int]:
    """Where the fine grid begins, its step, and how many points it has."""
    step = bandwidth / steps
    start = float(grid[0]) - REACH * bandwidth
    return start, step, int(np.ceil((float(grid[-1]) - float(grid[0]) + 2 * REACH * bandwidth) / step)) + 2


def _kernels(grid: Floats, at: Floats, bandwidth: float) -> Floats:
    """Gaussian kernels at some places, seen from the grid: one row a grid point."""
    found: Floats = np.exp(-0.5 * ((grid[:, None] - at[None, :]) / bandwidth) ** 2) / (np.sqrt(2 * np.pi) * bandwidth)
    return found


def _line_sums(values: Floats, weights: Floats | None, grid: Floats, bandwidth: float) -> Floats:
    start, step, number = _fine(grid, bandwidth, FINE)
    near = (values[:, 0] >= start) & (values[:, 0] <= start + step * (number - 1))
    x, w = (values[near, 0], None if weights is None else weights[near])
    fine = np.zeros(number)
    for at in range(0, len(x), BLOCK):
        left, right = _shared(x[at : at + BLOCK], start, step, number)
        one = 1.0 if w is None else w[at : at + BLOCK]
        fine += np.bincount(left, (1 - right) * one, number) + np.bincount(left + 1, right * one, number)
    used = np.flatnonzero(fine)
    total = np.zeros(len(grid))
    for at in range(0, len(used), 20_000):
        some = used[at : at + 20_000]
        total += _kernels(grid, np.float64(start) + step * some.astype(np.float64), bandwidth) @ fine[some]
    return total


def _flat_sums(values: Floats, weights: Floats | None, grids: list[Floats], bandwidth: Floats) -> Floats:
    from scipy import sparse

    fine = [_fine(g, float(h), FINE_FLAT) for g, h in zip(grids, bandwidth, strict=True)]
    near = np.ones(len(values), np.bool_)
    for axis, (start, step, number) in enumerate(fine):
        near &= (values[:, axis] >= start) & (values[:, axis] <= start + step * (number - 1))
    values, weights = values[near], None if weights is None else weights[near]
    rows, columns = fine[0][2], fine[1][2]
    counted = sparse.csr_array((rows, columns))
    for at in range(0, len(values), BLOCK):
        part = values[at : at + BLOCK]
        one = np.ones(len(part)) if weights is None else weights[at : at + BLOCK]
        (x, u), (y, v) = (_shared(part[:, axis], *fine[axis]) for axis in (0, 1))
        shares = np.concatenate([one * p * q for p in (1 - u, u) for q in (1 - v, v)])
        places = np.concatenate([x, x, x + 1, x + 1]), np.concatenate([y, y + 1, y, y + 1])
        counted = counted + sparse.coo_array((shares, places), shape=(rows, columns)).tocsr()
    across, along = (
        _kernels(g, start + step * np.arange(number, dtype=np.float64), float(h))
        for g, (start, step, number), h in zip(grids, fine, bandwidth, strict=True)
    )
    first = np.asarray(counted.T @ across.T, np.float64)
    found: Floats = first.T @ along.T
    return found


def _largest(values: Floats, grids: list[Floats], bandwidth: Floats, number: int) -> Floats:
    """The largest contributions of records of one bandwidth, in order, at every point: those of the nearest."""
    shape = [len(grid) for grid in grids]
    peak = float(np.prod(1 / (np.sqrt(2 * np.pi) * bandwidth)))
    found = np.zeros((number, int(np.prod(shape))))
    taken = min(number, len(values))
    if len(grids) == 1:
        distance = _nearest_on_line(values[:, 0], grids[0], taken) / bandwidth[0]
    else:
        from scipy.spatial import cKDTree

        points = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids)) / bandwidth
        kept = values[_place_among_equals(values) < taken]  # more equal ones than are taken change nothing
        # Few points look into a tree of many records, so it is the making that counts, not the balance.
        tree = cKDTree(kept / bandwidth, balanced_tree=False, compact_nodes=False)
        distance = np.asarray(tree.query(points, k=list(range(1, taken + 1)))[0]).T
    found[:taken] = peak * np.exp(-0.5 * distance**2)
    return found.reshape(number, *shape)


def _nearest_on_line(values: Floats, grid: Floats, taken: int) -> Floats:
    """Distances of each point to the nearest of some rising values, the nearest first: one row a neighbour."""
    beside = np.searchsorted(values, grid) + np.arange(-taken, taken)[:, None]
    there = (beside >= 0) & (beside < len(values))
    apart = np.where(there, np.abs(values[np.clip(beside, 0, len(values) - 1)] - grid), np.inf)
    found: Floats = np.sort(apart, axis=0)[:taken]
    return found


def _merge(one: Floats, two: Floats) -> Floats:
    both = np.concatenate([one, two])
    return -np.sort(-both, axis=0)[: len(one)]
