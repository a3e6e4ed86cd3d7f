"""Certified suppression at scale: tens of thousands to millions of cells, linked tables, and the turnover-tax shape.

Called by name only, because together they take more than an hour: ``python -m benchmarks suppression-large``,
``suppression-linked`` and ``turnover-tax``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.peer import SETTINGS, interpreter
from benchmarks.registry import Measure, apart, case, scratch
from benchmarks.suppression import Shape, audited, by_peer, ours

BY_NAME_ONLY = ("suppression-large", "suppression-linked", "turnover-tax")

SHAPES = {
    "2-D, 50,000 cells": Shape(100_000, (12, 60, 200, 300), (9, 60, 80), ("activity", "region"), 120.0, 1.2),
    "2-D, 200,000 cells": Shape(650_000, (21, 95, 330, 746), (9, 60, 392), ("activity", "region"), 300.0, 1.3),
    "3-D, 70,000 cells": Shape(300_000, (10, 60, 150, 250), (6, 30), ("activity", "region", "size"), 300.0, None),
}
LINKED = Shape(150_000, (21, 90, 300, 590), (4, 15), ("activity", "region", "size"), 120.0, 1.15)


@case("suppression-large")
def suppression_large(scale: float) -> Sequence[Measure]:
    """CPU seconds against the limits, and value against the modular engine where it can take the table."""
    measures = []
    peer_there = interpreter() is not None
    for name, shape in SHAPES.items():
        seconds, value, text = apart(ours, shape, scale, "nonzero")
        full_seconds, full_value, _ = apart(ours, shape, scale, "full")
        settings = f"{name}: {text}; value {value:,.0f}; insiders full: {full_value:,.0f} in {full_seconds:.1f} s"
        measures.append(Measure(f"{name}, nonzero, CPU s", seconds, shape.limit, 1.0, settings))
        if peer_there and shape.dearer is not None:
            with scratch() as folder:
                peer_seconds, peer_value = apart(by_peer, shape, scale, str(folder))
            said = f"{name}: pytauargus {SETTINGS} in {peer_seconds:.1f} CPU s"
            measures.append(Measure(f"{name}, value in millions", value / 1e6, peer_value / 1e6, shape.dearer, said))
    return measures


@case("suppression-linked")
def suppression_linked(scale: float) -> Sequence[Measure]:
    """Two tables that share their activities, protected together, against the sum of both protected alone."""
    seconds, together, alone, text = apart(linked, scale)
    return [
        Measure("two linked tables, nonzero, CPU s", seconds, LINKED.limit, 1.0, text),
        Measure("two linked tables, value in millions", together / 1e6, alone / 1e6, 1.15, "sum of both alone"),
    ]


def linked(scale: float) -> tuple[float, float, float, str]:
    """CPU seconds and value of the secondaries of the set, value of both tables alone, and what came out."""
    import numpy as np

    import discreet as ds
    from discreet.generate import business_survey
    from discreet.relations import build_system

    survey = business_survey(
        max(1_000, int(LINKED.records * scale)), activities=LINKED.activities, regions=LINKED.regions
    )
    firms = ds.Microdata(survey.records, contributor="holding")
    trees = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in LINKED.by}
    tables = [
        ds.tabulate(firms, by={v: trees[v] for v in ("activity", other)}, value="turnover", name=other).assess(
            ds.PPercent(10)
        )
        for other in ("region", "size")
    ]
    method = ds.Suppress(insiders="nonzero", joint=False)
    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())  # compile, import

    def value(subject: Any) -> tuple[float, float, Any]:
        started = time.process_time()
        release = ds.protect(subject, method)
        seconds = time.process_time() - started
        audited(release)
        system = build_system(subject)
        withheld = np.zeros(len(system), np.bool_)
        for number, cells in enumerate(system.of):
            withheld[cells[release.custodian.withheld(number)]] = True
        return seconds, float(system.value[withheld & ~system.unsafe].sum()), system

    seconds, together, system = value(ds.TableSet(tables))
    alone = sum(value(table)[1] for table in tables)
    shared = sum(count for _, _, count in system.shared())
    text = f"{len(system):,} distinct cells, {shared:,} shared, {int(system.unsafe.sum()):,} unsafe"
    return seconds, together, alone, text


@case("turnover-tax")
def turnover_tax(scale: float) -> Sequence[Measure]:
    """The shape of the German turnover-tax table: minutes by the clock and memory."""
    minutes, memory, text = apart(tax, scale)
    return [
        Measure("turnover-tax shape, nonzero, minutes by the clock", minutes, 60.0, 1.0, text),
        Measure("turnover-tax shape, nonzero, peak memory in GiB", memory, 12.0, 1.0, ""),
    ]


def tax_table(
    scale: float, regions: tuple[int, ...] = (16, 38, 400, 4_957), *, both: bool = True, seed: int = 2004
) -> Any:
    """2.9 million taxpayers, 1,134 x 5,412 codes; two thirds of the cells unsafe, most of them with one contributor.

    With p% alone unless ``both`` rules are asked; fewer records on fewer ``regions`` are as dense as the whole.
    """
    import numpy as np
    import pyarrow as pa

    import discreet as ds
    from discreet.generate import business_survey

    parents = business_survey(1_000, activities=(17, 60, 120, 200, 300, 436), regions=regions).parents
    random = np.random.default_rng(seed)
    count = int(2_900_000 * scale)
    columns: dict[str, Any] = {}
    for name, exponent in (("activity", 1.0), ("region", 0.7)):
        codes = sorted(set(parents[name]) - set(parents[name].values()))
        share = random.permutation(1.0 / np.arange(1, len(codes) + 1) ** exponent)
        drawn = random.choice(len(codes), count, p=share / share.sum())
        columns[name] = pa.DictionaryArray.from_arrays(drawn.astype(np.int32), codes)
    columns["turnover"] = np.ceil(np.exp(random.normal(4.0, 2.0, count))).astype(np.int64)
    columns["firm"] = np.arange(count)
    by = {name: ds.Hierarchy.from_parents(parents[name], total="Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(pa.table(columns), contributor="firm"), by=by, value="turnover")
    rules = (ds.PPercent(12), ds.MinContributors(3)) if both else (ds.PPercent(12),)
    return table.with_(source=None).assess(*rules)


def tax(scale: float) -> tuple[float, float, str]:
    """Minutes, peak memory in GiB, and what came out."""
    import discreet as ds

    table = tax_table(scale)
    started, started_cpu = time.perf_counter(), time.process_time()
    release = ds.protect(table, ds.Suppress(insiders="nonzero", joint=False, accept=ACCEPT))
    minutes, cpu = (time.perf_counter() - started) / 60, (time.process_time() - started_cpu) / 60
    text = audited(release)
    hidden = release.custodian.withheld(0)
    secondary = hidden & ~table.unsafe
    left = len(release.custodian.evidence[0].accepted)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (
        minutes,
        memory,
        f"{len(table):,} cells, {int(table.unsafe.sum()):,} unsafe, {int(secondary.sum()):,} secondaries with "
        f"{table.value[secondary].sum() / table.value.sum():.1%} of the value summed over all cells, {left} cells "
        f"without a certificate, {cpu:.1f} CPU minutes, {text}",
    )


ACCEPT = tuple(
    {"class": kind, "reason": "measured: the benchmark counts them", "name": "benchmark"}
    for kind in ("impossible", "undecided")
)
