"""What a reader who knows the noise tables can tell of the values behind cell keys."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet.attack.whole import whole_steps
from discreet.methods.outcome import Whole
from discreet.model.arrays import NO_UPPER, Bools, Floats, Ints, pointers
from discreet.model.noise_table import NoiseTable
from discreet.relations import System
from discreet.tables.perturb.magnitude_noise import MagnitudeNoise

SAME_KEY = "what the equal or different noise of a sum and of its parts tells of more than one part together"
CONTRIBUTIONS = "readers who know how large the largest contributions are, or how many there are"
BOTH_SIGNS = (
    "contributions of both signs can be larger than their sum, so that no share of a value bounds the noise of "
    "magnitudes that may be negative"
)
FEWEST_OF_NONE = 10**9
"""Stands for noise tables that are not for counts."""
NEVER_BELOW = 1e-9
"""Floating-point slip of the size of noise, as a share."""


class Origins(NamedTuple):
    """For every cell the counts that it can have: the least, the largest, and all of them where there are gaps."""

    lower: Ints
    upper: Ints
    start: Ints
    values: Ints


def origins(low: Ints, high: Ints, noise: NoiseTable, threshold: int = 0) -> Origins:
    """Counts whose noise can lead to a result between two ends.

    Parameters
    ----------
    low, high
        Ends of the result of every cell.
    noise
        The noise table.
    threshold
        Results below it became 0.

    Examples
    --------
    >>> table = NoiseTable.from_probabilities({1: {-1: 0.5, 2: 0.5}, 2: {0: 1}})
    >>> found = origins(np.array([0, 3]), np.array([0, 3]), table)
    >>> found.lower.tolist(), found.upper.tolist(), found.values.tolist()
    ([0, 1], [1, 3], [1, 3])
    """
    ends, which = np.unique(np.stack((low, high), axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    down, up = int(noise.least), int(noise.largest)
    changes = np.zeros((len(noise), up - down + 1), np.bool_)
    changes[np.repeat(np.arange(len(noise)), np.diff(noise.start)), noise.change - down] = True
    found: list[Ints] = []
    for least, most in ends.tolist():
        last = max(most, threshold - 1) if least <= 0 else most
        count = np.arange(max(0, least - up), last - down + 1)
        result = count[:, None] + np.arange(down, up + 1)
        result = np.where(result < threshold, 0, result)
        fits = changes[noise.rows_of(count)] & (result >= least) & (result <= most)
        found.append(count[fits.any(axis=1)])
    none = [np.zeros(0, np.int64) if len(mine) == 0 or _plain(mine) else mine for mine in found]
    lower = np.array([mine[0] if len(mine) else 0 for mine in found], np.int64)
    upper = np.array([mine[-1] if len(mine) else -1 for mine in found], np.int64)
    chosen = [none[k] for k in which.tolist()]
    start = pointers(np.array([len(mine) for mine in chosen], np.int64))
    return Origins(lower[which], upper[which], start, np.concatenate([*chosen, np.zeros(0, np.int64)]).astype(np.int64))


def fewest_origins(noise: NoiseTable, threshold: int = 0) -> int:
    """The fewest counts that can lie behind a value as which a count of 1 or 2 may be published."""
    change = [noise.at(int(row)).change for row in noise.rows_of(np.array([1, 2]))]
    results = {0 if r < threshold else int(r) for n, mine in zip((1, 2), change, strict=True) for r in n + mine}
    if noise.step != 1:
        return FEWEST_OF_NONE
    ends = np.array(sorted(results), np.int64)
    found = origins(ends, ends, noise, threshold)
    sizes = np.diff(found.start)
    return int(np.where(sizes > 0, sizes, found.upper - found.lower + 1).min())


def _plain(values: Ints) -> bool:
    return int(values[-1] - values[0]) == len(values) - 1


class Told(NamedTuple):
    """Bounds of all cells, and which numbers they can be."""

    lower: Ints
    upper: Ints
    whole: Whole


class Publication(NamedTuple):
    """Published values in units of the system, and how far at most they were moved after the noise."""

    low: Ints
    high: Ints

    @classmethod
    def of(cls, system: System, published: Ints, decimals: int, moved: str) -> Publication:
        """What the noise had led to, in units of the system: between two ends."""
        finer = 10 ** (decimals - system.decimals)
        off = int(Fraction(moved) * 10**decimals)
        return cls(-(-(published - off) // finer), (published + off) // finer)


def read_counts(
    system: System, cells: Ints, shown: Publication, noise: NoiseTable, threshold: int, exact: bool
) -> Told:
    """What is told of counts of records; ``exact`` where nothing was moved after the noise."""
    unit = 10**system.decimals
    found = origins(-(-shown.low[cells] // unit), shown.high[cells] // unit, noise, threshold)
    lower, upper = system.lower_bound.copy(), system.upper_bound.copy()
    lower[cells] = np.maximum(lower[cells], found.lower * unit)
    upper[cells] = np.minimum(upper[cells], found.upper * unit)
    if exact:
        there = surely_there(system, shown.low)
        lower[there] = np.maximum(lower[there], unit)
    sizes = np.zeros(len(system), np.int64)
    sizes[cells] = np.diff(found.start)
    start = pointers(sizes)
    values = np.zeros(int(start[-1]), np.int64)
    for at in np.flatnonzero(np.diff(found.start)).tolist():
        mine = found.values[found.start[at] : found.start[at + 1]] * unit
        values[start[cells[at]] : start[cells[at] + 1]] = mine
    return Told(lower, upper, Whole(whole_steps(system), start, values))


def surely_there(system: System, published: Ints) -> Bools:
    """Cells that cannot be empty, because a sum and its only other part are published differently.

    Where a part is empty, the sum has the same records as the other part, hence the same key and the same noise.
    """
    result = np.zeros(len(system), np.bool_)
    matrix = system.matrix
    for row in np.flatnonzero(np.diff(matrix.indptr) == 3).tolist():
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, sign = matrix.indices[span], matrix.data[span]
        if abs(int(sign.sum())) != 1:
            continue
        whole = cells[sign == -np.sign(sign.sum())]
        parts = cells[sign == np.sign(sign.sum())]
        if len(whole) != 1 or len(parts) != 2:
            continue
        for one, other in (parts, parts[::-1]):
            if published[whole[0]] != published[one]:
                result[other] = True
    return result


def read_weighted(
    system: System, cells: Ints, shown: Publication, noise: NoiseTable, threshold: int, decimals: int
) -> Told:
    """What is told of weighted counts: the factor by which the number of records changed lies between two ends."""
    least, most = _factors(noise, threshold)
    lower, upper = system.lower_bound.copy(), system.upper_bound.copy()
    half = (10 ** (system.decimals - decimals) + 1) // 2
    low = np.floor((shown.low[cells] - half) / most * (1 - NEVER_BELOW)).astype(np.int64)
    lower[cells] = np.maximum(lower[cells], low)
    if least > 0:
        high = np.ceil((shown.high[cells] + half) / least * (1 + NEVER_BELOW)).astype(np.int64)
        # A cell published as nothing may have any weight.
        high = np.where(shown.low[cells] <= 0, NO_UPPER, high)
        upper[cells] = np.minimum(upper[cells], high)
    return Told(lower, upper, Whole(whole_steps(system)))


def _factors(noise: NoiseTable, threshold: int) -> tuple[float, float]:
    """The least and largest ratio of a number of records after and before the noise, where something is left."""
    last = int(noise.values[-1]) + noise.cycle + threshold + int(noise.largest - noise.least) + 1
    ratios = [1.0]
    for count in range(1, last + 1):
        change = noise.at(int(noise.rows_of(np.array([count]))[0])).change
        result = count + change
        ratios += (result[(result > 0) & (result >= threshold)] / count).tolist()
    return min(ratios), max(ratios)


def read_magnitudes(system: System, cells: Ints, shown: Publication, noise: MagnitudeNoise, unit: float) -> Told:
    """What is told of magnitudes that are not negative: noise is at most a share of the value, which keeps its sign."""
    lower, upper, mine = system.lower_bound.copy(), system.upper_bound.copy(), cells
    scale = 10.0**-system.decimals
    rise, fall = _largest_noise(noise)
    # The noise was rounded to units of the table.
    half = 0.5 * unit
    low: Floats = shown.low[mine].astype(np.float64) * scale - half
    high: Floats = shown.high[mine].astype(np.float64) * scale + half
    least = _invert(lambda v: v + rise(v), low, up=False)
    most = np.full(len(mine), np.inf)
    if _share_at_last(noise) < 1:
        most = _invert(lambda v: np.maximum(v - fall(v), 0.0), high, up=True)
    low_units = np.maximum(np.floor(least / scale * (1 - NEVER_BELOW)) - 1, 0).astype(np.int64)
    endless = ~np.isfinite(most) | (most / scale > NO_UPPER / 4)
    high_units = np.where(endless, NO_UPPER, np.ceil(np.where(endless, 0.0, most) / scale * (1 + NEVER_BELOW)) + 1)
    zero = (shown.low[mine] > 0) & (low_units < 1)
    lower[mine] = np.maximum(lower[mine], np.where(zero, 1, low_units))
    upper[mine] = np.minimum(upper[mine], high_units.astype(np.int64))
    return Told(lower, upper, Whole(whole_steps(system)))


def _largest_noise(noise: MagnitudeNoise) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """How far noise can raise and lower a value at most, as functions of the value."""
    tables = [table for table in (noise.noise, noise.odd, noise.small_noise) if isinstance(table, NoiseTable)]
    up = max(max(table.largest for table in tables), 0.0) + noise.extra
    down = max(max(-table.least for table in tables), 0.0) + noise.extra
    scaling = noise.scaling
    fixed = 1.0 if noise.separation else 0.0

    def size(value: Floats) -> Floats:
        """Steps of all parts together: the j-th largest contribution is at most a j-th of the value."""
        total = np.zeros(len(value))
        for j in range(1, noise.top + 1):
            part = value / j
            step = part * scaling.small
            if scaling.flex_point is not None:
                step = np.where(part <= scaling.flex_point, step, _peak(noise, part))
            total += step
        return total + fixed

    return (lambda v: size(v) * up), (lambda v: size(v) * down)


def _share_at_last(noise: MagnitudeNoise) -> float:
    """The largest share of a very large value by which noise can lower it."""
    tables = [table for table in (noise.noise, noise.odd, noise.small_noise) if isinstance(table, NoiseTable)]
    down = max(max(-table.least for table in tables), 0.0) + noise.extra
    share = noise.small if noise.large is None else noise.large
    return share * down * sum(1.0 / j for j in range(1, noise.top + 1))


def _peak(noise: MagnitudeNoise, most: Floats) -> Floats:
    """The largest step of any contribution up to a size, where shares fall with the size."""
    scaling = noise.scaling
    assert scaling.flex_point is not None
    grid = scaling.flex_point * np.geomspace(1.0, 1e9, 4_000)
    step = np.maximum.accumulate(grid * scaling.share(grid))
    # The next point of the grid bounds all between.
    at = np.minimum(np.searchsorted(grid, most, side="left"), len(grid) - 1)
    beyond = most > grid[-1]
    result: Floats = np.where(beyond, most * scaling.small, step[at])
    return result


def _invert(function: Callable[[Floats], Floats], target: Floats, *, up: bool) -> Floats:
    """Where a function that does not fall reaches a target: the least such number, or the largest with ``up``."""
    low, high = np.zeros(len(target)), np.full(len(target), 1.0)
    open_ = np.ones(len(target), np.bool_)
    for _ in range(70):
        open_ = (function(high) <= target) if up else (function(high) < target)
        if not open_.any():
            break
        high = np.where(open_, high * 4, high)
    for _ in range(120):
        middle = (low + high) / 2
        inside = (function(middle) <= target) if up else (function(middle) < target)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(open_, np.inf, high if up else low)
