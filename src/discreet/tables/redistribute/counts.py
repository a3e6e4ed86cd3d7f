"""Maps of counts without small cells: units move in from richer cells close by (Lee, Choi and O'Keefe 2012)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from discreet.errors import InputError, ParameterError, ProtectionError, counted
from discreet.jit import kernel
from discreet.model.arrays import Bools, Ints
from discreet.tables.redistribute.flow import fewest_steps
from discreet.tables.redistribute.grid import FAR, Geometry
from discreet.tables.redistribute.transport import cheapest_shipment

Algorithm = Literal["nearest", "equal", "optimal"]
Outliers = Literal["suppress", "redistribute", "none"]


class MovedUnits(NamedTuple):
    """Units that moved: from which cell, to which, how many, how many steps each."""

    source: Ints
    target: Ints
    units: Ints
    steps: Ints

    @property
    def distance(self) -> int:
        """Steps of all units together (mu)."""
        return int((self.units * self.steps).sum())


class Redistributed(NamedTuple):
    """A map without small cells. ``before`` and ``after`` are counts of all cells, 0 where an outlier was.

    ``outlier`` are the cells handled as outliers, ``outlier_moves`` where their units went, ``lost`` what was
    suppressed.
    """

    before: Ints
    after: Ints
    moves: MovedUnits
    outlier: Bools
    outlier_moves: MovedUnits
    lost: int


def redistributed(
    counts: Ints,
    geometry: Geometry,
    *,
    threshold: int = 3,
    outlier_distance: int | None = None,
    outliers: Outliers = "suppress",
    algorithm: Algorithm = "nearest",
) -> Redistributed:
    """Fill every occupied cell up to the threshold.

    Parameters
    ----------
    counts
        Units of each cell, in the geometry's order; empty cells are no cells of the map.
    geometry
        Where the cells lie.
    threshold
        Least number of units of an occupied cell.
    outlier_distance
        A small cell, or two neighbouring ones, with nothing else within so many steps are outliers; the threshold
        when left out.
    outliers
        ``"suppress"`` removes them (their units are lost), ``"redistribute"`` moves them to the closest cells.
    algorithm
        ``"nearest"`` (Algorithm 1) takes from the nearest donor, ``"equal"`` (Algorithm 2) from all donors alike,
        ``"optimal"`` as few steps as possible.
    """
    _check(counts, geometry, threshold, outlier_distance, outliers, algorithm)
    there = np.flatnonzero(counts > 0)
    now = counts.astype(np.int64).copy()
    is_outlier = np.zeros(len(counts), np.bool_)
    outlier_moves, lost = _no_moves(), 0
    if outliers != "none":
        is_outlier = outlier_cells(now, geometry, threshold, outlier_distance)
        gone = np.flatnonzero(is_outlier)
        if outliers == "redistribute":
            outlier_moves = _moved_outliers(now, gone, there[~is_outlier[there]], geometry)
        else:
            lost = int(now[gone].sum())
        now[gone] = 0
        np.add.at(now, outlier_moves.target, outlier_moves.units)
    before = now.copy()
    left = np.flatnonzero(now > 0)
    if int(now.sum()) < threshold * len(left):
        raise ProtectionError(
            f"The map is too fine: {counted(len(left), 'cell', 'hold')} less than {threshold} units each on average.",
            hint="Use a coarser grid, or join neighbouring places.",
        )
    moves = _ALGORITHMS[algorithm](now, left, geometry, threshold)
    np.subtract.at(now, moves.source, moves.units)
    np.add.at(now, moves.target, moves.units)
    return Redistributed(before, now, moves, is_outlier, outlier_moves, lost)


def _check(
    counts: Ints, geometry: Geometry, threshold: int, outlier_distance: int | None, outliers: str, algorithm: str
) -> None:
    if len(counts) != len(geometry):
        raise InputError(f"{counted(len(geometry), 'cell', 'need')} as many counts, not {len(counts)}.")
    if np.asarray(counts).dtype.kind not in "iu" or (len(counts) and counts.min() < 0):
        raise InputError("Counts must be whole numbers of at least zero.")
    if threshold < 2:
        raise ParameterError(f"threshold={threshold} must be at least 2.")
    if outlier_distance is not None and outlier_distance < 1:
        raise ParameterError(f"outlier_distance={outlier_distance} must be at least 1.")
    if outliers not in ("suppress", "redistribute", "none"):
        raise ParameterError(f"outliers={outliers!r} is not known.", hint="Use suppress, redistribute or none.")
    if algorithm not in _ALGORITHMS:
        raise ParameterError(f"algorithm={algorithm!r} is not known.", hint=f"Use {', '.join(_ALGORITHMS)}.")


def _no_moves() -> MovedUnits:
    return MovedUnits(*(np.zeros(0, np.int64) for _ in range(4)))


# ---- outliers ----------------------------------------------------------------------------------------------------


def outlier_cells(counts: Ints, geometry: Geometry, threshold: int, outlier_distance: int | None = None) -> Bools:
    """Small cells with nothing within reach, and pairs of small neighbours with nothing else within reach of either.

    ``outlier_distance`` is how far cells reach; the threshold when left out.
    """
    reach = outlier_distance or threshold
    there = np.flatnonzero(counts > 0)
    small = there[counts[there] < threshold]
    near: dict[int, Ints] = {}
    for block in np.array_split(small, max(len(small) // 512, 1)):
        steps = geometry.distances(block, there)
        for cell, row in zip(block.tolist(), steps, strict=True):
            close = there[row <= reach]
            near[cell] = close[close != cell]
    found = [cell for cell, others in near.items() if len(others) == 0]
    for cell, others in near.items():
        if len(others) != 1:
            continue
        other = int(others[0])
        adjacent = int(geometry.distances(np.array([cell]), np.array([other]))[0, 0]) == 1
        if adjacent and other in near and near[other].tolist() == [cell]:
            found.append(cell)
    result = np.zeros(len(counts), np.bool_)
    result[found] = True
    return result


def _moved_outliers(now: Ints, gone: Ints, targets: Ints, geometry: Geometry) -> MovedUnits:
    """One unit of an outlier to each of its closest cells: by distance, larger counts, position; round again if few."""
    if len(gone) and not len(targets):
        raise ProtectionError("All cells of the map are outliers.", hint="Use a coarser grid or suppress them.")
    rows: list[tuple[int, int, int, int]] = []
    for cell in gone.tolist():
        steps = geometry.distances(np.array([cell]), targets)[0]
        order = np.lexsort((targets, -now[targets], steps))
        for unit in range(int(now[cell])):
            at = order[unit % len(order)]
            rows.append((cell, int(targets[at]), 1, int(steps[at])))
    return MovedUnits(*np.array(rows, np.int64).reshape(-1, 4).T)


# ---- filling up --------------------------------------------------------------------------------------------------


def _nearest(now: Ints, left: Ints, geometry: Geometry, threshold: int) -> MovedUnits:
    small = left[now[left] < threshold]
    donors = left[now[left] > threshold]
    small = small[np.lexsort((small, now[small]))]
    parts = [np.zeros((0, 4), np.int64)]
    count = now.copy()
    for block in np.array_split(small, max(len(small) // 512, 1)):
        steps = np.ascontiguousarray(geometry.distances(block, donors))
        parts.append(fill_up(block, donors, steps, count, threshold))
    found = np.concatenate(parts)
    if np.any(found[:, 3] >= FAR):
        raise ProtectionError("A small cell cannot be reached from any cell with units to spare.")
    return MovedUnits(*np.ascontiguousarray(found.T))


@kernel("i8[:,::1](i8[::1], i8[::1], i8[:,::1], i8[::1], i8)")
def fill_up(small: Ints, donors: Ints, steps: Ints, count: Ints, threshold: int) -> Ints:
    """Draw from the nearest donor, of several the largest, until the cell is full or the donor has none to spare."""
    moves = np.empty((len(small) * threshold, 4), np.int64)
    used = 0
    for k in range(len(small)):
        cell = small[k]
        while count[cell] < threshold:
            best = -1
            for d in range(len(donors)):
                if count[donors[d]] <= threshold:
                    continue
                if (
                    best < 0
                    or steps[k, d] < steps[k, best]
                    or (steps[k, d] == steps[k, best] and count[donors[d]] > count[donors[best]])
                ):
                    best = d
            units = min(threshold - count[cell], count[donors[best]] - threshold)
            count[cell] += units
            count[donors[best]] -= units
            moves[used, 0], moves[used, 1] = donors[best], cell
            moves[used, 2], moves[used, 3] = units, steps[k, best]
            used += 1
    return moves[:used].copy()


def _optimal(now: Ints, left: Ints, geometry: Geometry, threshold: int) -> MovedUnits:
    spare = np.zeros(len(now), np.int64)
    spare[left] = now[left] - threshold
    found = fewest_steps(geometry.network(), np.maximum(spare, 0), np.maximum(-spare, 0))
    return MovedUnits(*np.ascontiguousarray(found.T))


def _equal(now: Ints, left: Ints, geometry: Geometry, threshold: int) -> MovedUnits:
    count = now.copy()
    parts: list[MovedUnits] = []
    while True:
        small, donors = left[count[left] < threshold], left[count[left] > threshold]
        if not len(small):
            break
        part = _shipped(donors, small, np.ones(len(donors), np.int64), threshold - count[small], geometry)
        np.subtract.at(count, part.source, part.units)
        np.add.at(count, part.target, part.units)
        parts.append(part)
    return MovedUnits(*(np.concatenate([part[k] for part in parts] or [np.zeros(0, np.int64)]) for k in range(4)))


def _shipped(donors: Ints, small: Ints, supply: Ints, demand: Ints, geometry: Geometry) -> MovedUnits:
    if not len(small):
        return _no_moves()
    found = cheapest_shipment(lambda d, r: geometry.distances(donors[d], small[r]), supply, demand)
    away = np.array(
        [
            int(geometry.distances(donors[[d]], small[[r]])[0, 0])
            for d, r in zip(found.donor.tolist(), found.receiver.tolist(), strict=True)
        ],
        np.int64,
    )
    if np.any(away >= FAR):
        raise ProtectionError("A small cell cannot be reached from any cell with units to spare.")
    return MovedUnits(donors[found.donor], small[found.receiver], found.units, away)


_ALGORITHMS = {"nearest": _nearest, "equal": _equal, "optimal": _optimal}
