"""Risk and utility of maps whose units have moved, by the count that a cell had (Lee, Choi and O'Keefe 2012)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Ints


class ByCount(NamedTuple):
    """For one original count u: cells, R1 (one over the variance of the change), R2 (share unchanged), U1, U3.

    R1 is ``None`` for a single cell and infinite where all cells changed alike. U1 is the mean change in per cent of u,
    U3 half the steps of all units that left or entered such cells.
    """

    cells: int
    r1: float | None
    r2: float
    u1: float
    u3: float


class MapMeasures(NamedTuple):
    """Measures by original count; the sum and the mean of absolute changes; the number of cells."""

    by_count: dict[int, ByCount]
    change_sum: int
    change_mean: float
    cells: int


def map_measures(before: Ints, after: Ints, source: Ints, target: Ints, units: Ints, steps: Ints) -> MapMeasures:
    """R1, R2, U1, U2 and U3 of a map from its counts and its moves."""
    there = before > 0
    change = after - before
    walked = np.zeros(len(before))
    np.add.at(walked, source, units * steps / 2)
    np.add.at(walked, target, units * steps / 2)
    found: dict[int, ByCount] = {}
    for u in np.unique(before[there]).tolist():
        here = before == u
        p = change[here]
        variance = float(p.var())
        r1 = None if len(p) == 1 else (np.inf if variance == 0 else 1 / variance)
        found[u] = ByCount(
            int(here.sum()), r1, float((p == 0).mean()), float(100 * (np.abs(p) / u).mean()), float(walked[here].sum())
        )
    total = int(np.abs(change[there]).sum())
    cells = int(there.sum())
    return MapMeasures(found, total, total / cells if cells else 0.0, cells)
