"""Compiled distances between all series of two files: rows are series, columns are times, a gap is not a number.

Where a pair has gaps, times at which either is empty are left out, and the sum is scaled to all times, so that pairs
with few times in common do not look near. Pairs with too few of them are infinitely far apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.jit import kernel

SLIGHT = 1e-14
"""Correlations that fall short of 1 by less than this do so by rounding."""


@kernel("void(f8[:,::1], f8[:,::1], i8, b1, f8[:,::1])")
def minkowski_block(left: Any, right: Any, q: int, signed: bool, found: Any) -> None:
    """Minkowski distances; ``signed`` sums powers with their signs, as the source prints it."""
    times = left.shape[1]
    for a in range(left.shape[0]):
        for b in range(right.shape[0]):
            largest, shared = 0.0, 0
            for k in range(times):
                apart = abs(left[a, k] - right[b, k])
                if apart == apart:
                    shared += 1
                    largest = max(largest, apart)
            if shared == 0:
                found[a, b] = np.inf
                continue
            if largest == 0.0:
                found[a, b] = 0.0
                continue
            total = 0.0
            for k in range(times):
                apart = (left[a, k] - right[b, k]) / largest  # shares of the largest, so that powers stay finite
                if apart == apart:
                    if not signed:
                        apart = abs(apart)
                    power = apart
                    for _ in range(q - 1):
                        power *= apart
                    total += power
            total = abs(total) * times / shared
            found[a, b] = largest * (np.sqrt(total) if q == 2 else total ** (1.0 / q))


@kernel("void(f8[:,::1], f8[:,::1], f8[::1], f8[:,::1])")
def slopes_block(left: Any, right: Any, times: Any, found: Any) -> None:
    """Distances between slopes from each time to the next that both series have (short time series)."""
    many = len(times)
    for a in range(left.shape[0]):
        for b in range(right.shape[0]):
            total, pairs, before = 0.0, 0, -1
            for k in range(many):
                x, v = left[a, k], right[b, k]
                if x != x or v != v:
                    continue
                if before >= 0:
                    apart = ((v - right[b, before]) - (x - left[a, before])) / (times[k] - times[before])
                    total += apart * apart
                    pairs += 1
                before = k
            found[a, b] = np.sqrt(total * (many - 1) / pairs) if pairs > 0 else np.inf


@kernel("f8(f8[::1], f8[::1], i8)")
def correlation(x: Any, v: Any, least: int) -> float:
    """The correlation of two series over the times that both have; 0 where one does not vary there, 2 for too few."""
    shared = 0
    mean_x, mean_v = 0.0, 0.0
    low_x, high_x, low_v, high_v = np.inf, -np.inf, np.inf, -np.inf
    for k in range(len(x)):
        if x[k] == x[k] and v[k] == v[k]:
            shared += 1
            mean_x += x[k]
            mean_v += v[k]
            low_x, high_x = min(low_x, x[k]), max(high_x, x[k])
            low_v, high_v = min(low_v, v[k]), max(high_v, v[k])
    if shared < least:
        return 2.0
    if low_x == high_x or low_v == high_v:
        return 0.0
    mean_x /= shared
    mean_v /= shared
    wide_x, wide_v = high_x - low_x, high_v - low_v  # products of shares of them do not vanish
    both, own, other = 0.0, 0.0, 0.0
    for k in range(len(x)):
        if x[k] == x[k] and v[k] == v[k]:
            moved_x, moved_v = (x[k] - mean_x) / wide_x, (v[k] - mean_v) / wide_v
            both += moved_x * moved_v
            own += moved_x * moved_x
            other += moved_v * moved_v
    scale = np.sqrt(own) * np.sqrt(other)
    r = both / scale
    return r if abs(r) < 1.0 - SLIGHT else (1.0 if r > 0 else -1.0)


@kernel("void(f8[:,::1], f8[:,::1], f8, b1, f8[:,::1])")
def correlation_block(left: Any, right: Any, beta: float, literal: bool, found: Any) -> None:
    """Distances by correlation; ``literal`` takes sums of products for it, as the source prints it."""
    for a in range(left.shape[0]):
        for b in range(right.shape[0]):
            r = correlation(left[a], right[b], 2)
            if r == 2.0:
                found[a, b] = np.inf
                continue
            if literal:
                r *= left.shape[1] - 1
            below = 1.0 + r
            found[a, b] = np.inf if below == 0.0 else ((1.0 - r) / below) ** beta


@kernel("f8(f8[::1], i8, f8[::1], i8, i8, f8[::1], i8[::1])")
def warp(x: Any, n: int, v: Any, m: int, band: int, cost: Any, steps: Any) -> float:
    """The least sum of squares over all ways to warp one series onto another; ``steps[m]`` is its shortest path.

    ``band`` is how far apart places of a step may lie, -1 for any. ``cost`` and ``steps`` have a place more than the
    second series.
    """
    reach = n + m if band < 0 else max(band, abs(n - m))
    for j in range(m + 1):
        cost[j] = np.inf
        steps[j] = 0
    cost[0] = 0.0
    for i in range(1, n + 1):
        first, last = max(1, i - reach), min(m, i + reach)
        slant, slant_steps = cost[first - 1], steps[first - 1]
        cost[first - 1] = np.inf
        beside, beside_steps = np.inf, np.int64(0)
        value = x[i - 1]
        for j in range(first, last + 1):
            above, above_steps = cost[j], steps[j]
            best, length = slant, slant_steps
            if above < best or (above == best and above_steps < length):
                best, length = above, above_steps
            if beside < best or (beside == best and beside_steps < length):
                best, length = beside, beside_steps
            apart = value - v[j - 1]
            beside, beside_steps = best + apart * apart, length + 1
            cost[j], steps[j] = beside, beside_steps
            slant, slant_steps = above, above_steps
    return cost[m]  # type: ignore[no-any-return]


@kernel("void(f8[:,::1], i8[::1], f8[:,::1], i8[::1], i8, b1, f8, f8[:,::1])")
def warping_block(
    left: Any, lengths: Any, right: Any, other_lengths: Any, band: int, per_step: bool, beta: float, found: Any
) -> None:
    """Distances by dynamic time warping; values stand at the beginning of rows, ``lengths`` says how many."""
    cost, steps = np.empty(right.shape[1] + 1), np.empty(right.shape[1] + 1, np.int64)
    for a in range(left.shape[0]):
        for b in range(right.shape[0]):
            n, m = lengths[a], other_lengths[b]
            if n == 0 or m == 0:
                found[a, b] = np.inf
                continue
            total = warp(left[a], n, right[b], m, band, cost, steps)
            if per_step:
                total = np.sqrt(total) / steps[m]
            found[a, b] = total if beta == 1.0 else total**beta
