"""Jobs that once did not end: many variables with few records, two deep trees, a large batch of hypercubes, memory.

``python -m benchmarks sparse-variables two-trees hypercube-repaired protect-memory``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.registry import Measure, apart, case

BY_NAME_ONLY = ("protect-memory",)

LIMIT, SMALL_LIMIT = 60.0, 10.0
TREES = {
    "about 900 cells": (12, (4, 3, 3), (3, 3), 3_000),
    "about 1,350 cells": (21, (4, 3, 3), (3, 3, 2), 3_000),
    "about 2,000 cells": (24, (3, 3, 2, 2), (3, 3, 2), 8_000),
}
"""Look-alikes: seed, branches of both trees level by level, records."""
SIZES = {
    "1,400 cells": (20_000, (6, 20, 60), (5, 15)),
    "10,600 cells": (100_000, (8, 40, 120), (6, 24, 60)),
    "49,200 cells": (300_000, (10, 50, 200, 400), (8, 30, 80)),
}
"""Tables whose memory is measured: records, activities and regions level by level."""


def _warm() -> Any:
    import discreet as ds

    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress()).verify()  # compile, import
    return ds


@case("sparse-variables")
def sparse_variables(scale: float) -> Sequence[Measure]:
    """Thirty records by twelve variables, counts and magnitudes, with the checker."""
    variables = max(4, round(12 * scale))
    result = []
    for value in (False, True):
        seconds, text = apart(_sparse, variables, value)
        what = f"30 records by {variables} variables, {'magnitudes' if value else 'counts'}, CPU s"
        result.append(Measure(what, seconds, LIMIT, 1.0, text))
    return result


def _sparse(variables: int, value: bool) -> tuple[float, str]:
    import numpy as np
    import pyarrow as pa

    ds = _warm()
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {f"v{k:02d}": rng.integers(0, 2 + k % 3, 30).astype(str) for k in range(variables)}
    by = {name: ds.Hierarchy.flat(sorted(set(codes.tolist()))) for name, codes in columns.items()}
    columns |= {"x": np.rint(rng.lognormal(5, 1.5, 30)) + 1, "firm": np.arange(30)}
    started = time.process_time()
    if value:
        table = ds.tabulate(pa.table(columns), by=by, value="x", contributor="firm").assess(
            ds.PPercent(10), ds.MinContributors(3)
        )
    else:
        table = ds.tabulate(pa.table(columns), by=by).assess(ds.MinContributors(3))
    release = ds.protect(table, ds.Suppress())
    made = time.process_time() - started
    release.verify().require()
    return (
        time.process_time() - started,
        f"{_said(release)}; the checker took {time.process_time() - started - made:.1f} s",
    )


def _said(release: Any) -> str:
    table, withheld = release.custodian.tables.tables[0], release.custodian.withheld(0)
    besides = withheld & ~table.unsafe
    return (
        f"{len(table):,} cells, {int(table.unsafe.sum()):,} unsafe, {int(besides.sum()):,} besides, "
        f"value {int(table.value[besides].sum()):,}"
    )


@case("two-trees")
def two_trees(scale: float) -> Sequence[Measure]:
    """Small tables with a deep tree on both sides, default settings."""
    result = []
    for name, (seed, activities, regions, records) in TREES.items():
        seconds, text = apart(_trees, seed, activities, regions, max(200, int(records * scale)))
        result.append(Measure(f"two trees, {name}, CPU s", seconds, SMALL_LIMIT, 1.0, text))
    return result


def _tree(branches: Sequence[int], letter: str, rng: Any) -> tuple[dict[str, str], list[str]]:
    """Parents of all codes of a tree, and its finest codes."""
    parents: dict[str, str] = {}
    level = ["Total"]
    for mean in branches:
        below = []
        for parent in level:
            for i in range(max(2, int(rng.poisson(mean)))):
                code = (letter if parent == "Total" else parent) + chr(97 + i)
                parents[code] = parent
                below.append(code)
        level = below
    return parents, level


def _trees(seed: int, activities: Sequence[int], regions: Sequence[int], records: int) -> tuple[float, str]:
    import numpy as np
    import pyarrow as pa

    ds = _warm()
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    by = {}
    trees = [(name, *_tree(branches, name[0], rng)) for name, branches in (("act", activities), ("reg", regions))]
    for (name, parents, codes), skew in zip(trees, (0.6, 0.8), strict=True):
        by[name] = ds.Hierarchy.from_parents(parents, total="Total")
        columns[name] = rng.choice(codes, records, p=rng.dirichlet(np.full(len(codes), skew)))
    columns["turnover"] = np.rint(np.exp(rng.normal(6, 2.4, records))) + 1
    columns["firm"] = rng.integers(0, records // 5, records)
    table = ds.tabulate(pa.table(columns), by=by, value="turnover", contributor="firm")
    table = table.assess(ds.PPercent(10), ds.MinContributors(3))
    started = time.process_time()
    release = ds.protect(table, ds.Suppress())
    return time.process_time() - started, _said(release)


@case("hypercube-repaired")
def hypercube_repaired(scale: float) -> Sequence[Measure]:
    """Hypercubes on a large table, completed in one pass; and what one pass costs where both can be had."""
    seconds, _, text = apart(_repaired, (int(60_000 * scale), (17, 60, 200, 330), (22, 96)), None)
    result = [Measure("hypercube, completed, 30,000 cells, CPU s", seconds, LIMIT, 1.0, text)]
    shape = (max(1_000, int(40_000 * scale)), (8, 30, 90), (5, 15, 30))
    full = apart(_repaired, shape, None)
    once = apart(_repaired, shape, 0)
    said = f"one pass {once[0]:.1f} CPU s, {once[2]}; in full {full[0]:.1f} CPU s, {full[2]}"
    result.append(Measure("one pass against full repair, value in millions", once[1] / 1e6, full[1] / 1e6, 2.0, said))
    return result


def _repaired(shape: tuple[int, Sequence[int], Sequence[int]], large: int | None) -> tuple[float, float, str]:
    from discreet.generate import business_survey
    from discreet.tables.suppress import proposed

    ds = _warm()
    if large is not None:
        proposed.LARGE = large
    records, activities, regions = shape
    table = _survey(ds, business_survey(records, activities=activities, regions=regions))
    started = time.process_time()
    release = ds.protect(table, ds.Suppress(algorithm="hypercube", repair=True))
    seconds = time.process_time() - started
    besides = release.custodian.withheld(0) & ~table.unsafe
    return seconds, float(table.value[besides].sum()), _said(release)


def _survey(ds: Any, made: Any) -> Any:
    by = {name: ds.Hierarchy.from_parents(made.parents[name], total="Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover")
    return table.assess(ds.PPercent(10), ds.MinContributors(3))


@case("protect-memory")
def protect_memory(scale: float) -> Sequence[Measure]:
    """What protecting takes, against the estimate that is compared with what the machine has (Linux only)."""
    result = []
    for kind in ("suppress", "adjust", "round"):
        for name, (records, activities, regions) in SIZES.items():
            taken, estimated, text = apart(_memory, kind, max(1_000, int(records * scale)), activities, regions)
            result.append(Measure(f"{kind}, {name}, MB", taken, estimated, 3.0, text))
    return result


def _memory(kind: str, records: int, activities: Sequence[int], regions: Sequence[int]) -> tuple[float, float, str]:
    from discreet.generate import business_survey
    from discreet.model.tableset import as_set
    from discreet.tables.memory import memory_needed

    ds = _warm()
    methods = {"suppress": ds.Suppress(effort=1), "adjust": ds.Adjust(), "round": ds.Round(base=5)}
    table = _survey(ds, business_survey(records, activities=activities, regions=regions))
    _clear_peak()
    before = _resident("VmRSS")
    ds.protect(table, methods[kind])
    taken = _resident("VmHWM") - before
    return taken / 1e6, memory_needed(as_set(table), kind) / 1e6, f"{len(table):,} cells"


def _clear_peak() -> None:
    """Let the peak of the resident set begin anew."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _resident(what: str) -> int:
    """Bytes of the resident set, now or at its peak."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))
