"""The audit of business tables: against one linear program per bound, and against fixed limits of time.

The pattern is a quick one, no search's: cheap cells are withheld until the other withheld cells of every relation add
up to the level of each. It leaves some unsafe cells short, which cost an audit most, because that must be proved.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from benchmarks.registry import Measure, Timing, apart, case, timed

SIZES: dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    "10,000 cells": (300_000, (8, 26, 80, 160), (4, 12, 28)),
    "50,000 cells": (400_000, (15, 60, 180, 330), (6, 25, 100)),
}
NAIVE_BOUNDS = 40
SAMPLE = 2_000
LEVELS_LIMIT, INSIDERS_LIMIT, SAMPLE_LIMIT = 30.0, 30.0, 60.0


def marked_table(size: str, scale: float) -> Any:
    """A business table, assessed, with a quick pattern in its status column."""
    import numpy as np

    import discreet as ds
    from discreet.generate import business_survey
    from discreet.model.table import CellStatus
    from discreet.relations import build_system

    records, activities, regions = SIZES[size]
    survey = business_survey(max(1_000, int(records * scale)), activities=activities, regions=regions)
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(survey.records, contributor="holding"), by=by, value="turnover")
    table = table.assess(ds.PPercent(10))
    system = build_system(table)
    hidden = quick_pattern(system)[system.of[0]] & ~table.unsafe
    return table.with_(manual=np.where(hidden, CellStatus.SECONDARY, 0).astype(np.int8))


def quick_pattern(system: Any) -> Any:
    """Unsafe cells, and cheap cells besides until each relation alone could hide the levels of its cells."""
    import numpy as np

    random = np.random.default_rng(1)
    withheld, value = system.unsafe.copy(), system.value.astype(float)
    level = np.where(system.unsafe, np.maximum(system.upper_level, system.lower_level), 1).astype(float)
    rows, columns = system.matrix.tocsr(), system.matrix.tocsc()
    waiting = list(range(rows.shape[0]))
    queued = np.ones(rows.shape[0], np.bool_)

    def lacks(cells: Any) -> bool:
        hidden = cells[withheld[cells]]
        return bool(np.any(value[hidden].sum() - value[hidden] < level[hidden]))

    while waiting:
        row = waiting.pop()
        queued[row] = False
        cells = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        cells = cells[value[cells] > 0]
        others = cells[~withheld[cells]]
        for cell in others[np.argsort(value[others] * random.uniform(0.5, 2, len(others)), kind="stable")]:
            if not lacks(cells):
                break
            withheld[cell] = True
            touched = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]]
            waiting += touched[~queued[touched]].tolist()
            queued[touched] = True
    return withheld


def audited(size: str, scale: float, options: dict[str, Any]) -> Timing:
    """Time of one audit, and what it found."""
    import discreet as ds

    table = marked_table(size, scale)
    return timed(lambda: ds.audit(table, **options), lambda audit: audit.counts(), repeats=0)


def naive(size: str, scale: float, by_component: bool) -> float:
    """CPU seconds a bound of one scipy program each, over all withheld cells or over the component of the cell."""
    import numpy as np
    from scipy.optimize import linprog

    from discreet.relations import build_system
    from discreet.relations.components import components

    system = build_system(marked_table(size, scale))
    cells = np.flatnonzero(system.unsafe | system.given)
    _, label = components(system.matrix, cells)
    chosen = np.random.default_rng(0).choice(len(cells), min(NAIVE_BOUNDS // 2, len(cells)), replace=False)
    started = time.process_time()
    for at in chosen.tolist():
        mine = cells[label == label[at]] if by_component else cells
        part = system.matrix[:, mine]
        part = part[np.flatnonzero(np.diff(part.indptr))]
        cost = (mine == cells[at]).astype(float)
        fixed = part @ system.value[mine].astype(float)
        for sign in (1, -1):
            linprog(sign * cost, A_eq=part, b_eq=fixed, bounds=(0, None), method="highs")
    return (time.process_time() - started) / (2 * len(chosen))


@case("audit")
def audit(scale: float) -> Sequence[Measure]:
    """Intervals, levels and insiders of 10,000 cells, levels of 50,000 cells, and a sample of these with insiders."""
    small, large = SIZES
    exact = apart(audited, small, scale, {"insiders": None, "exact": True})
    peer, component = (apart(naive, small, scale, by_component) for by_component in (False, True))
    ends = 2 * exact.answer["withheld"]
    settings = (
        f"peer: scipy with HiGHS, one program per bound over all withheld cells, {NAIVE_BOUNDS} bounds "
        f"({1e3 * component:.2f} ms over the component of the cell); ours: all {ends:,} bounds"
    )
    measures = [Measure(f"CPU ms a bound, {small}", 1e3 * exact.cold_cpu / ends, 1e3 * peer, 0.1, settings)]
    limited = [
        (f"CPU s, levels, {small}", small, {"insiders": None, "exact": False}, LEVELS_LIMIT),
        (f"CPU s, levels and insiders, {small}", small, {"exact": False}, INSIDERS_LIMIT),
        (f"CPU s, levels, {large}", large, {"insiders": None, "exact": False}, LEVELS_LIMIT),
        (f"CPU s, {SAMPLE:,} sampled and insiders, {large}", large, {"sample": SAMPLE}, SAMPLE_LIMIT),
    ]
    for what, size, options, most in limited:
        timing = apart(audited, size, scale, options)
        found = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in timing.answer.items())
        measures.append(Measure(what, timing.cold_cpu, most, 1.0, f"{what}: {found}; the peer is the limit"))
    return measures
