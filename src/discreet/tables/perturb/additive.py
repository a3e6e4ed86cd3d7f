"""Additivity after noise: the nearest table whose relations hold, by least squares or in whole units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import NeedsError, ProtectionError
from discreet.model.arrays import LARGEST, Floats, Ints
from discreet.relations import System
from discreet.relations.interior import Interior, interior
from discreet.solve.additive import restored

MORE_DECIMALS = 6
"""Least squares gives fractions; so many more decimals are published, where they fit into 64 bits."""
NODES = 1000
"""Nodes of the search in whole units; where it stops there, the table adds up but another may be nearer."""


class Additive(NamedTuple):
    """Values that add up, in units of ``10 ** -decimals``, the effort of finding them, and whether none are nearer."""

    value: Ints
    decimals: int
    nodes: int
    nearest: bool = True


def by_least_squares(system: System, noisy: Ints) -> Additive:
    """The additive table nearest by least squares that has no negative values (the cascade rule of Langsrud 2021)."""
    from scipy.sparse import csr_array

    if np.any(system.lower_bound < 0) or np.any(noisy < 0):
        raise NeedsError("Least squares restores values of at least zero.", hint="Use additive='integer'.")
    found = _plain_interior(system)
    keep = ~system.empty[found.cells]
    cover = found.sums[:, np.flatnonzero(keep)].T.tocsr()
    there = np.bincount(cover.indices, minlength=len(system)) > 0
    fit = np.zeros(len(system))
    cells = np.flatnonzero(there)
    fit[there] = restored(
        noisy[there].astype(np.float64), cover[:, cells], relations=csr_array(system.matrix[:, cells])
    ).value
    largest = max(float(np.abs(fit).max(initial=0.0)), 1.0)
    more = MORE_DECIMALS
    while more and largest * 10.0**more * 4 > LARGEST:
        more -= 1
    inner = np.where(keep, np.rint(fit[found.cells] * 10.0**more), 0).astype(np.int64)
    return Additive(np.asarray(found.sums @ inner, np.int64), system.decimals + more, 0)


def by_whole_units(system: System, noisy: Ints) -> Additive:
    """The additive table in whole units nearest by the sum of absolute moves, without negative values for counts."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, hstack

    found = interior(system)
    free = np.flatnonzero(~system.empty)
    matrix = csr_array(system.matrix[:, free].astype(np.float64))
    start = noisy[free].astype(np.float64)
    floor = np.where(system.lower_bound[free] >= 0, 0.0, -np.inf)
    down = np.where(np.isfinite(floor), np.maximum(start, 0.0), np.inf)
    target = -(matrix @ start)
    answer = milp(
        np.ones(2 * len(free)),
        integrality=np.ones(2 * len(free), np.int64),
        bounds=Bounds(np.zeros(2 * len(free)), np.concatenate((np.full(len(free), np.inf), down))),
        constraints=LinearConstraint(hstack([matrix, -matrix]).tocsc(), target, target),
        options={"node_limit": NODES},
    )
    if answer.x is None:
        raise ProtectionError(
            "No additive table in whole units was found near the noisy one.",
            hint="Use additive='least_squares', or publish without additivity.",
        )
    value = np.zeros(len(system), np.int64)
    moved: Floats = answer.x[: len(free)] - answer.x[len(free) :]
    value[free] = noisy[free] + np.rint(moved).astype(np.int64)
    value = np.asarray(found.sums @ value[found.cells], np.int64)
    if np.any(value[system.empty]) or np.any((value < 0) & (system.lower_bound >= 0)):
        raise ProtectionError(
            "The additive table in whole units has a negative cell or fills an empty one.",
            hint="Use additive='least_squares', or publish without additivity.",
        )
    return Additive(value, system.decimals, int(answer.mip_node_count or 0), answer.status == 0)


def _plain_interior(system: System) -> Interior:
    """Interior cells, where every other cell is a plain sum of them."""
    found = interior(system)
    if found.sums.nnz and found.sums.data.min() < 0:
        raise NeedsError(
            "Least squares without negative values needs sums only; differences tie these tables to each other.",
            hint="Use additive='integer', or protect the tables one by one.",
        )
    return found
