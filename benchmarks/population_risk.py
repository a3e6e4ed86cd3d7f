"""Population risk of samples: smoothing over neighbouring cells, and every quick model of a large sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.records import SEVEN_KEYS
from benchmarks.registry import Measure, Timing, apart, case, timed

SMOOTHING, ALL_MODELS = 5.0, 2.0
"""Seconds of processor to stay below."""
SHAPE, PERSONS, FRACTION = (2, 32, 14, 13), 60_000, 0.1


def smoothing() -> Timing:
    """A table with about 1,600 sample uniques, each with 125 neighbours and a quadratic in three keys."""
    import numpy as np

    from discreet.measures import smoothed_risk

    rng = np.random.default_rng(5)
    grid = np.meshgrid(*[np.linspace(-1, 1, size) for size in SHAPE], indexing="ij")
    log = sum(rng.normal() * x - rng.uniform(1, 3) * (x - rng.normal(0, 0.3)) ** 2 for x in grid)
    density = np.exp(log) * rng.gamma(1.2, 1, SHAPE)
    population = rng.multinomial(PERSONS, (density / density.sum()).ravel())
    sample = rng.multivariate_hypergeometric(population, int(FRACTION * PERSONS), method="marginals")
    alone = sample == 1
    true = int((population[alone] == 1).sum()), float((1 / population[alone]).sum())

    def run() -> Any:
        found = smoothed_risk(sample.reshape(SHAPE), FRACTION, [1, 2, 3]).estimate
        return found.sample_uniques, found.uniques, found.matches, *true

    return timed(run, lambda found: found, repeats=2)


def all_models(rows: int) -> Timing:
    """What :func:`discreet.measures.population_estimates` does, from codes of keys."""
    import numpy as np

    import discreet as ds
    from discreet.engine.record_set import read_record_set
    from discreet.measures import population_estimates
    from discreet.model.microdata import Microdata
    from discreet.rules.key_counts import key_codes

    people = ds.generate.census_population(rows).records.select(SEVEN_KEYS)
    keys = key_codes(read_record_set(Microdata(people, keys=list(SEVEN_KEYS))), SEVEN_KEYS)
    weight = np.round(1 + np.random.default_rng(1).gamma(4.0, 20.0, people.num_rows), 3)

    def run() -> Any:
        found = population_estimates(keys, weight)
        return found[0].sample_uniques, [(one.model.split(",")[0], round(one.matches)) for one in found]

    return timed(run, lambda found: found, repeats=2)


@case("population-risk")
def population_risk(scale: float) -> Sequence[Measure]:
    """The source took 2 to 3 CPU minutes for the smoothing, with a general optimiser."""
    rows = int(1_000_000 * scale)
    smoothed, models = apart(smoothing), apart(all_models, rows)
    uniques, unique, match, true_unique, true_match = smoothed.answer
    matches = ", ".join(f"{name} {many:,}" for name, many in models.answer[1])
    settings = [
        f"{uniques:,} sample uniques, 125 neighbours: {unique:.0f} population uniques and {match:.0f} matches "
        f"(true {true_unique} and {true_match:.0f}); first run {smoothed.cold_cpu:.1f} s",
        f"{rows:,} records, keys {', '.join(SEVEN_KEYS)}; {models.answer[0]:,} sample uniques; "
        f"matches by {matches}; first run {models.cold_cpu:.1f} s, {models.peak:.1f} GiB",
    ]
    return [
        Measure("smoothing, CPU s, against the limit", smoothed.warm_cpu, SMOOTHING, 1.0, settings[0]),
        Measure("all quick models, CPU s, against the limit", models.warm_cpu, ALL_MODELS, 1.0, settings[1]),
    ]
