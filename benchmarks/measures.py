"""All measures of information loss on a table of a million cells, against a fixed limit."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.registry import Measure, Timing, apart, case, timed

AREAS = 25_000
COLUMNS = 40
CPU_LIMIT = 10.0


def measured(areas: int, columns: int) -> Timing:
    """Time of all measures of counts rounded at random to base 3."""
    import numpy as np

    from discreet.measures import table_measures

    random = np.random.default_rng(1)
    true = random.poisson(random.gamma(0.5, 12, columns) * random.gamma(12, 1 / 12, (areas, 1)))
    rest = true % 3
    published = true - rest + 3 * (random.random(true.shape) < rest / 3)
    return timed(
        lambda: table_measures(true, published, base=3),
        lambda found: {name: measure.value for name, measure in found.items()},
        repeats=1,
    )


@case("measures")
def measures(scale: float) -> Sequence[Measure]:
    """Every measure of card 003-07 of 25,000 areas by 40 columns."""
    areas = max(2, round(AREAS * scale))
    timing = apart(measured, areas, COLUMNS)
    settings = f"{areas * COLUMNS:,} cells, {len(timing.answer)} measures; CPU s warm (cold) "
    settings += f"{timing.warm_cpu:.2f} ({timing.cold_cpu:.2f}); the peer is the limit"
    return [Measure("CPU s, all measures", timing.cold_cpu, CPU_LIMIT, 1.0, settings)]
