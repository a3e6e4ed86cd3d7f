"""Certified suppression of dense and of sparse tables: where programs are hard, and where contributors know much.

The shapes are those of tables of real surveys that took long: a weighted count by four variables with a fifth of its
cells unsafe (12,985 cells, 2,608 unsafe), a weighted business table by three with two fifths (4,974 and 1,926), and a
sparse one by two with more than half (8,442 and 4,849), of which each kind of insider is priced against outsiders alone
and against the proven least.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, apart, case
from benchmarks.suppression import audited

BY_NAME_ONLY = ("suppression-dense", "suppression-insiders")
LIMIT = 60.0
"""CPU seconds for each of the dense tables."""
DEARER = {"nonzero": 1.2, "full": 1.5}
"""Most that a kind of insider costs, as a multiple of what outsiders alone do."""


def four_way(scale: float) -> Any:
    """A weighted count of people by area, age, education and sex; fewer than three people are too few."""
    import numpy as np
    import pyarrow as pa

    import discreet as ds
    from discreet.generate import census_population

    people = census_population(max(500, int(12_800 * scale)), areas=18, seed=1)
    weight = np.exp(np.random.default_rng(1).normal(0.5, 0.4, people.records.num_rows)).round(2)
    variables = ("area", "age_group", "education", "sex")
    by = {name: ds.Hierarchy.from_parents(people.parents[name], total="Total") for name in variables}
    records = people.records.append_column("weight", pa.array(weight))
    return ds.tabulate(ds.Microdata(records, weight="weight"), by=by).assess(ds.MinFrequency(3))


def three_way(scale: float) -> Any:
    """Weighted turnover by activity, region and size."""
    import discreet as ds

    table = _business(int(4_700 * scale), (6, 20, 40), (4, 20), ("activity", "region", "size"), weight="weight")
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


def sparse(scale: float) -> Any:
    """Turnover by activity and region of few firms."""
    import discreet as ds

    table = _business(int(13_500 * scale), (6, 20, 60, 150), (5, 20, 52), ("activity", "region"))
    return table.assess(ds.PPercent(10))


def _business(
    records: int, activities: Sequence[int], regions: Sequence[int], variables: Sequence[str], **roles: str
) -> Any:
    import discreet as ds
    from discreet.generate import business_survey

    survey = business_survey(max(500, records), activities=activities, regions=regions)
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in variables}
    return ds.tabulate(ds.Microdata(survey.records, contributor="holding", **roles), by=by, value="turnover")


def protected(make: Any, scale: float, insiders: str | None) -> tuple[float, float, float, str]:
    """CPU seconds, what the secondaries cost, what any pattern costs at least, and what came out."""
    import discreet as ds
    from discreet.relations import build_system

    table = make(scale)
    system = build_system(table)
    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())  # compile, import
    started = time.process_time()
    release = ds.protect(table, ds.Suppress(insiders=insiders, joint=False))  # type: ignore[arg-type]
    seconds = time.process_time() - started
    effort = release.custodian.evidence[0].effort
    said = f"{len(system):,} distinct cells, {int(system.unsafe.sum()):,} unsafe; {audited(release)}"
    return seconds, float(effort["cost"]), float(effort["least_cost"]), said


@case("suppression-dense")
def suppression_dense(scale: float) -> Sequence[Measure]:
    """CPU seconds of the dense tables."""
    measures = []
    for name, make in (("4-D weighted count", four_way), ("3-D weighted turnover", three_way)):
        seconds, cost, least, said = apart(protected, make, scale, "nonzero")
        text = f"{name}: {said}; cost {cost:,.0f}, at least {least:,.0f}"
        measures.append(Measure(f"{name}, nonzero, CPU s", seconds, LIMIT, 1.0, text))
    return measures


@case("suppression-insiders")
def suppression_insiders(scale: float) -> Sequence[Measure]:
    """What each kind of insider costs on a sparse table, against outsiders alone; the proven least stands beside it."""
    found = {kind: apart(protected, sparse, scale, kind) for kind in (None, *DEARER)}
    _, outside, outside_least, _ = found[None]
    measures = []
    for kind, dearer in DEARER.items():
        seconds, cost, least, said = found[kind]
        text = (
            f"2-D sparse, {kind}: {said}; {seconds:.1f} CPU s; cost {cost:,.0f}, at least {least:,.0f}; "
            f"outsiders alone {outside:,.0f}, at least {outside_least:,.0f}"
        )
        measures.append(Measure(f"2-D sparse, {kind} against outsiders", cost, outside, dearer, text))
    return measures
