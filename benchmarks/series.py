"""Linking files of series: dynamic time warping of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

WARPED = 20.0
"""Seconds of processor to stay below, for all pairs of 3,003 series of 10 times."""
SERIES, TIMES, CHECKED = 3003, 10, 40


def _files(many: int) -> tuple[Any, Any]:
    """Series of levels and steps of their own, and the same with noise."""
    import numpy as np

    rng = np.random.default_rng(3003)
    level, steps = rng.lognormal(6.0, 0.8, (many, 1)), rng.normal(0.02, 0.06, (many, TIMES))
    original = level * np.exp(steps.cumsum(axis=1))
    return original, original * np.exp(rng.normal(0.0, 0.02, original.shape))


def _plain_nearest(original: Any, released: Any) -> int:
    """The nearest released series by warping, in plain Python."""

    def warped(x: Any, v: Any) -> float:
        before = [(0.0, 0)] + [(float("inf"), 0)] * len(v)
        for a in x:
            row = [(float("inf"), 0)]
            for j, b in enumerate(v):
                cost, steps = min(before[j], before[j + 1], row[j])
                row.append((cost + (a - b) ** 2, steps + 1))
            before = row
        cost, steps = before[-1]
        return float(cost**0.5 / steps)

    far = [warped(original, one) for one in released]
    return far.index(min(far))


def linkage(many: int) -> Timing:
    """All pairs, and some of the links compared with plain Python."""
    import discreet as ds

    original, released = _files(many)

    def digest(found: Any) -> tuple[float, int]:
        before, after = (ds.attack.normalised_series(file) for file in (original, released))
        rows = range(0, many, max(1, many // CHECKED))
        same = all(_plain_nearest(before[row].tolist(), after.tolist()) == found.links[row] for row in rows)
        if not same:
            raise AssertionError("links differ from those of plain Python")
        return found.right, len(rows)

    return timed(lambda: ds.attack.link_series(original, released, "dtw"), digest, repeats=2)


@case("series-linkage")
def series_linkage(scale: float) -> Sequence[Measure]:
    """3,003 series of 10 times, each taken for the nearest of 3,003 others by dynamic time warping."""
    many = max(50, int(SERIES * scale))
    found = apart(linkage, many)
    right, checked = found.answer
    settings = (
        f"{many:,} series of {TIMES} times, pooled scales, one thread; {right:,.0f} right; {checked} links compared "
        f"with plain Python; cold {found.cold_cpu:.1f} s, {found.peak:.1f} GiB"
    )
    return [Measure("all pairs by warping, CPU s, against the limit", found.warm_cpu, WARPED, 1.0, settings)]
