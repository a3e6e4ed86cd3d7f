"""Fair comparison: non-negative least squares and proportional fitting, against fixed limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.registry import Measure, Timing, apart, case, timed

SMALL = (50, 10, 100)
SMALL_MARGINS = ((0, 1), (1, 2), (0, 2), (0,), (1,), (2,), ())
LARGE = (250, 40, 10, 10)
LARGE_MARGINS = ((0, 1, 2), (1, 2, 3), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0,), (1,), (2,), (3,), ())


class Size(NamedTuple):
    """Inner cells and published cells of a problem, and what its answer misses."""

    inner: int
    published: int
    missed: float


def problem(shape: Sequence[int], margins: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """A sparse cover of published by inner cells, and published counts with noise of cell keys."""
    import numpy as np
    from scipy.sparse import csr_array, hstack

    size = int(np.prod(shape))
    places = np.indices(shape).reshape(len(shape), -1)
    blocks = []
    for kept in margins:
        key = np.zeros(size, np.int64)
        for axis in kept:
            key = key * shape[axis] + places[axis]
        blocks.append(csr_array((np.ones(size), (np.arange(size), key)), shape=(size, int(key.max()) + 1)))
    cover = csr_array(hstack(blocks).tocsr())
    random = np.random.default_rng(1)
    true = cover.T @ random.poisson(random.gamma(0.3, 1.0, size))
    noise = np.rint(random.normal(0, 1.7, len(true))) * (true > 0)
    return cover, np.maximum(true + noise, 0)


def restoring(shape: Sequence[int], margins: Sequence[Sequence[int]]) -> Timing:
    """Time of non-negative least squares."""
    from discreet.solve.nonnegative import NonNegative, nonnegative_least_squares

    cover, published = problem(shape, margins)

    def digest(found: NonNegative) -> Size:
        return Size(*cover.shape, found.violation)

    return timed(lambda: nonnegative_least_squares(published, cover), digest, repeats=0)


def fitting(shape: Sequence[int], margins: Sequence[Sequence[int]]) -> Timing:
    """Time of expected inner frequencies of true sums."""
    import numpy as np

    from discreet.solve.additive import expected_inner

    cover, _ = problem(shape, margins)
    random = np.random.default_rng(2)
    additive = cover.T @ random.poisson(random.gamma(0.3, 1.0, cover.shape[0])).astype(np.float64)

    def digest(inner: Any) -> Size:
        return Size(*cover.shape, float(np.abs(cover.T @ inner - additive).max()))

    return timed(lambda: expected_inner(additive, cover), digest, repeats=0)


@case("fair")
def fair(scale: float) -> Sequence[Measure]:
    """Restoring a table of some 7,000 cells and one of 100,000 with a million inner cells; fitting the latter."""
    large = (max(2, round(LARGE[0] * scale)), *LARGE[1:])
    runs = [
        ("restoring 7,000 cells", restoring, SMALL, SMALL_MARGINS, 2.0),
        ("restoring 100,000 cells", restoring, large, LARGE_MARGINS, 300.0),
        ("fitting 1,000,000 inner cells", fitting, large, LARGE_MARGINS, 120.0),
    ]
    measures = []
    for what, run, shape, margins, limit in runs:
        timing = apart(run, shape, margins)
        size: Size = timing.answer
        settings = (
            f"{what}: {size.inner:,} inner and {size.published:,} published cells, missed by {size.missed:.1e}; "
            f"clock s {timing.cold:.1f}; the peer is the limit"
        )
        measures.append(Measure(f"CPU s, {what}", timing.cold_cpu, limit, 1.0, settings))
    return measures
