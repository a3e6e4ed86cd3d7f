"""Certified suppression of business tables: within fixed limits of time, and against the modular engine of τ-ARGUS.

The peer is the one of :mod:`benchmarks.peer`. Its pattern is taken as it is, although it leaves unsafe cells short in
the table as a whole. Values are of secondaries, each cell once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.peer import MISSING, OPTIMUM, SETTINGS, interpreter, suppressed_by_peer
from benchmarks.registry import Measure, apart, case, scratch


class Shape(NamedTuple):
    """A table: records, activities, regions, variables, limit of CPU seconds, most of the modular engine's value."""

    records: int
    activities: tuple[int, ...]
    regions: tuple[int, ...]
    by: tuple[str, ...]
    limit: float
    dearer: float | None
    above: float | None = None
    """Most of what any pattern costs at least, where that is worked out."""
    optimised: float | None = None
    """Most of what the optimising engine finds in a minute."""


SHAPES = {
    "2-D, 1,000 cells, few unsafe": Shape(35_000, (6, 13, 27, 56), (3, 8), ("activity", "region"), 1.0, 1.02, 1.02),
    "2-D, 1,000 cells, many unsafe": Shape(8_000, (6, 13, 27, 56), (3, 8), ("activity", "region"), 10.0, 1.1, 1.1, 1.0),
    "2-D, 10,000 cells": Shape(200_000, (6, 20, 60, 100), (5, 15, 36), ("activity", "region"), 30.0, 1.1),
    "3-D, 5,500 cells": Shape(45_000, (6, 20, 40), (4, 12), ("activity", "region", "size"), 30.0, None),
}


def assessed(shape: Shape, scale: float) -> Any:
    """The table of a shape, assessed with p% = 10 on holdings."""
    import discreet as ds
    from discreet.generate import business_survey

    survey = business_survey(max(1_000, int(shape.records * scale)), activities=shape.activities, regions=shape.regions)
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in shape.by}
    return ds.tabulate(ds.Microdata(survey.records, contributor="holding"), by=by, value="turnover").assess(
        ds.PPercent(10)
    )


def ours(shape: Shape, scale: float, insiders: str) -> tuple[float, float, str]:
    """CPU seconds, value of the secondaries, and what came out."""
    import discreet as ds
    from discreet.relations import build_system

    table = assessed(shape, scale)
    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())  # compile, import
    started = time.process_time()
    release = ds.protect(table, ds.Suppress(insiders=insiders, joint=insiders == "full"))  # type: ignore[arg-type]
    seconds = time.process_time() - started
    checked = audited(release)
    system = build_system(table)
    value = value_of(system, release.custodian.withheld(0))
    return seconds, value, f"{len(system):,} distinct cells, {int(system.unsafe.sum()):,} unsafe, {checked}"


def audited(release: Any) -> str:
    """Verify a release and audit it over the full relations: all unsafe cells, or 2,000 of a table above 50,000."""
    import discreet as ds

    release.verify().require()
    cells = sum(len(table) for table in release.custodian.tables)
    found = ds.audit(release, sample=None if cells <= 50_000 else 2_000)
    accepted = len(release.custodian.evidence[0].accepted)
    if found.short > accepted:
        raise AssertionError(f"{found.short} unsafe cells are short of their level in the audit")
    return f"all certificates verified, {found.short} of {'all' if cells <= 50_000 else '2,000'} audited cells short"


def value_of(system: Any, hidden: Any) -> float:
    """Value of the secondaries of a pattern over a table's rows, each distinct cell once."""
    import numpy as np

    withheld = np.zeros(len(system), np.bool_)
    withheld[system.of[0][hidden]] = True
    return float(system.value[withheld & ~system.unsafe].sum())


def least(shape: Shape, scale: float) -> float:
    """Value that the secondaries of any pattern have at least: what a minute of the search for the optimum proves."""
    import discreet as ds

    method = ds.Suppress(algorithm="optimal", insiders=None, joint=False, time_limit=60)
    return float(ds.protect(assessed(shape, scale), method).custodian.evidence[0].effort["least_cost"])


def by_peer(shape: Shape, scale: float, folder: str, settings: str = SETTINGS) -> tuple[float, float]:
    """CPU seconds and value of the peer's pattern."""
    from discreet.relations import build_system

    table = assessed(shape, scale)
    seconds, hidden = suppressed_by_peer(table, Path(folder), settings)
    return seconds, value_of(build_system(table), hidden)


@case("suppression")
def suppression(scale: float) -> Sequence[Measure]:
    """CPU seconds against the limits, value against the modular engine, with both kinds of insiders."""
    measures = []
    peer_there = interpreter() is not None
    for name, shape in SHAPES.items():
        seconds, value, text = apart(ours, shape, scale, "nonzero")
        full_seconds, full_value, _ = apart(ours, shape, scale, "full")
        settings = f"{name}: {text}; value {value:,.0f}; insiders full: {full_value:,.0f} in {full_seconds:.1f} s"
        measures.append(Measure(f"{name}, nonzero, CPU s", seconds, shape.limit, 1.0, settings))
        if shape.above is not None:
            said = f"{name}: no pattern has less, after a minute of the search for the optimum"
            bound = apart(least, shape, scale)
            measures.append(Measure(f"{name}, value, proven least", value / 1e6, bound / 1e6, shape.above, said))
        engines = [(SETTINGS, shape.dearer), (OPTIMUM, shape.optimised)]
        for engine, dearer in engines if peer_there else ():
            if dearer is not None:
                with scratch() as folder:
                    peer_seconds, peer_value = apart(by_peer, shape, scale, str(folder), engine)
                said = f"{name}: pytauargus {engine} in {peer_seconds:.1f} CPU s, without regard to insiders"
                measures.append(Measure(f"{name}, value, {engine}", value / 1e6, peer_value / 1e6, dearer, said))
    if not peer_there:
        print(f"  {MISSING}")
    return measures
