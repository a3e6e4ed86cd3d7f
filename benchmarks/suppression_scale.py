"""Certified suppression from tens of thousands to millions of cells: what it costs against a proven bound.

Called by name only: ``python -m benchmarks suppression-scale`` runs all rows, ``suppression-scale-state-p`` one.
Tables of the turnover-tax shape have fewer regions where they are smaller, so that they are as dense as the whole.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from benchmarks.engines import SIZES, proposed
from benchmarks.registry import CASES, Measure, apart, case
from benchmarks.suppression import Shape, assessed, value_of
from benchmarks.suppression_large import ACCEPT, SHAPES, tax_table

RANDOM, LARGEST = 2_000, 500
"""Unsafe cells that are attacked: so many at random, and those with the largest levels."""


class Row(NamedTuple):
    """A table, and what its secondaries may cost: value of modular's in millions where known, and limits.

    ``records`` is the share of the turnover-tax records, with ``regions``; another table is given by its ``shape``.
    """

    records: float = 0.0
    regions: tuple[int, ...] = ()
    shape: Shape | None = None
    both: bool = False
    seed: int = 2004
    insiders: Literal["nonzero", "full"] = "nonzero"
    modular: float | None = None
    dearer: float | None = None
    above: float | None = None
    share: float | None = None
    seconds: float = 240.0
    memory: float = 1.0


SMALL = Row(1 / 64, (1, 2, 8, 78), modular=52.86, dearer=1.15, above=1.7, seconds=90.0)
STATE = Row(1 / 16, (1, 2, 25, 310), modular=180.2, dearer=1.18, above=2.0)
FULL = Row(1.0, (16, 38, 400, 4_957), share=0.08, above=2.0, seconds=1_800.0, memory=6.0)
ROWS = {
    "small-p": SMALL,
    "state-p": STATE,
    "state-both": STATE._replace(both=True, modular=207.3, dearer=1.3),
    "small-p-full": SMALL._replace(insiders="full"),
    "state-p-full": STATE._replace(insiders="full"),
    "200000": Row(shape=SIZES["200,000"], modular=44_980.0, dearer=1.2),
    "3d": Row(shape=SHAPES["3-D, 70,000 cells"], modular=26_230.0, dearer=1.0, seconds=120.0),
    "quarter-p": Row(1 / 4, (4, 10, 100, 1_240), modular=454.2, dearer=1.3, seconds=600.0, memory=2.0),
    "full-p": FULL,
    "full-both": FULL._replace(both=True),
    **{f"small-p-{seed}": SMALL._replace(seed=seed, modular=None) for seed in (2005, 2006)},
    **{f"state-p-{seed}": STATE._replace(seed=seed, modular=None) for seed in (2005, 2006)},
}
"""What modular's secondaries hold was measured on seed 2004; where a limit but no value is given, modular is run.

The value that stands for the three-way table is that of an earlier certified pattern."""


class Found(NamedTuple):
    """What the search came to: seconds of processor, peak memory in GiB, values of secondaries, and all in words."""

    seconds: float
    memory: float
    value: float
    least: float
    whole: float
    text: str


def table_of(row: Row, scale: float) -> Any:
    """The table of a row, assessed."""
    if row.shape is not None:
        return assessed(row.shape, scale)
    return tax_table(row.records * scale, row.regions, both=row.both, seed=row.seed)


def searched(row: Row, scale: float) -> Found:
    """Protect the table of a row; verify all certificates, and attack a sample over all relations."""
    import discreet as ds
    from discreet.relations import build_system

    table = table_of(row, scale)
    ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())  # compile, import
    method = ds.Suppress(insiders=row.insiders, joint=False, accept=ACCEPT)
    started = time.process_time()
    release = ds.protect(table, method)
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    release.verify().require()
    system = build_system(table)
    hidden, evidence = release.custodian.withheld(0), release.custodian.evidence[0]
    value, whole = value_of(system, hidden), float(system.value[~system.empty].sum())
    least = float(evidence.effort["least_cost"])
    text = (
        f"{len(system):,} distinct cells, {int(system.unsafe.sum()):,} unsafe, value of secondaries {value / 1e6:,.1f} "
        f"million, {value / whole:.2%} of that of all cells; at least {least / 1e6:,.1f} million are proved; peak "
        f"{memory:.2f} GiB; all certificates verified, {len(evidence.accepted)} cells without one, "
        f"{attacked(method, system, hidden, len(evidence.accepted))}; {evidence.effort}"
    )
    return Found(seconds, memory, value, least, whole, text)


def attacked(method: Any, system: Any, hidden: Any, accepted: int) -> str:
    """How many unsafe cells of a sample are short of their level, and known to an insider, in words."""
    from dataclasses import replace

    import numpy as np

    withheld = np.zeros(len(system), np.bool_)
    withheld[system.of[0][hidden]] = True
    unsafe = np.flatnonzero(system.unsafe)
    level = np.maximum(system.upper_level, system.lower_level)[unsafe]
    random = np.random.default_rng(1).choice(unsafe, min(RANDOM, len(unsafe)), replace=False)
    largest = unsafe[np.argsort(-level, kind="stable")[:LARGEST]]
    said = []
    for name, cells in (("random", random), ("largest", largest)):
        sample = np.zeros(len(system), np.bool_)
        sample[cells] = True
        found = method.attacked(replace(system, unsafe=sample), withheld).counts()
        short, known = found["short"], found["recoverable_insiders"]
        if max(short, known) > accepted:
            raise AssertionError(f"{short} of {len(cells)} {name} unsafe cells are short, {known} known to an insider")
        said.append(f"{short} of {len(cells):,} {name} ones short, {known} known to an insider")
    return ", ".join(said)


def modular_value(row: Row, scale: float) -> float:
    """Value of modular's secondaries."""
    return proposed("modular", table_of(row, scale)).value


def measures_of(name: str, scale: float) -> Sequence[Measure]:
    """The figures of a row against its limits."""
    row = ROWS[name]
    found = apart(searched, row, scale)
    measures = [
        Measure(f"{name}, CPU s", found.seconds, row.seconds, 1.0, f"{name}: {found.text}"),
        Measure(f"{name}, peak memory in GiB", found.memory, row.memory, 1.0),
    ]
    if row.dearer is not None:
        given = row.modular is not None and scale == 1
        modular = row.modular * 1e6 if row.modular is not None and given else apart(modular_value, row, scale)
        measures.append(Measure(f"{name}, value, modular", found.value / 1e6, modular / 1e6, row.dearer))
    if row.above is not None:
        measures.append(Measure(f"{name}, value, proven least", found.value / 1e6, found.least / 1e6, row.above))
    if row.share is not None:
        measures.append(Measure(f"{name}, value, of all cells", found.value / 1e6, found.whole / 1e6, row.share))
    return measures


for _name in ROWS:
    CASES[f"suppression-scale-{_name}"] = partial(measures_of, _name)


@case("suppression-scale")
def suppression_scale(scale: float) -> Sequence[Measure]:
    """All rows."""
    return [measure for name in ROWS for measure in measures_of(name, scale)]


BY_NAME_ONLY = ("suppression-scale", *(f"suppression-scale-{name}" for name in ROWS))
