"""Optimal suppression of seeded two-way tables: seconds to the proof, and the gap that hard tables are left with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from benchmarks.registry import Measure, apart, case

ACTIVITIES, REGIONS = (6, 16, 46), (4, 14)
RECORDS = 60_000
TABLES = 20
HARD: dict[str, tuple[int, int, tuple[int, ...], tuple[int, ...]]] = {
    "hard table 1": (15_000, 1, ACTIVITIES, REGIONS),
    "hard table 2": (15_000, 2, ACTIVITIES, REGIONS),
    "dominated table": (8_000, 1, (6, 13, 27, 56), (3, 8)),
}
"""Few records leave many dominated cells unsafe; the last is the table of the suppression cases with many of them."""
SOLVERS = ("highs", "scip")
CPU_LIMIT = 60.0
GAP_LIMIT = 0.10
PROVEN = 1e-5
"""A table counts as solved below this gap, which is what is left of the solver's tolerances."""


class Solved(NamedTuple):
    """What a table is like, what its optimum took, and how good the first pattern was."""

    cells: int
    unsafe: int
    seconds: float
    cost: float
    gap: float
    start: float
    effort: dict[str, int]


def question(records: int, seed: int, activities: Sequence[int], regions: Sequence[int]) -> dict[str, Any]:
    """The arguments of ``optimal`` for a generated survey, p% = 10 on holdings, cost by value."""
    import numpy as np

    import discreet as ds
    from discreet.generate import business_survey
    from discreet.relations import build_system
    from discreet.tables.suppress.attackers import Attackers
    from discreet.tables.suppress.complete import complete
    from discreet.tables.suppress.effort import EffortLimits
    from discreet.tables.suppress.optimal import PatternDemands

    made = business_survey(records, seed=seed, activities=activities, regions=regions)
    by = {name: ds.Hierarchy.from_parents(made.parents[name], "Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover")
    system = build_system(table.assess(ds.PPercent(10)))
    cost = system.cost("value")
    unsafe = np.flatnonzero(system.unsafe)
    attackers = Attackers(system, None, None, np.zeros(len(system), np.bool_))
    level = np.concatenate((system.upper_level[unsafe], system.lower_level[unsafe]))
    return {
        "matrix": system.matrix[np.flatnonzero(system.defining)],
        "value": system.value,
        "lower": system.lower_bound,
        "upper": system.upper_bound,
        "movable": ~system.forced & ~(system.empty & ~system.unsafe),
        "required": system.unsafe | system.given,
        "cost": cost,
        "demands": PatternDemands.external(np.tile(unsafe, 2), np.repeat([1, -1], len(unsafe)), level),
        "start_pattern": complete(system, cost, attackers, EffortLimits()).withheld,
    }


def solved(
    records: int,
    seed: int,
    time_limit: float | None,
    solver: str = "highs",
    activities: Sequence[int] = ACTIVITIES,
    regions: Sequence[int] = REGIONS,
) -> Solved:
    """Solve one table with one of the two solvers."""
    from discreet.tables.suppress.optimal import optimal

    asked = question(records, seed, activities, regions)
    started = time.process_time()
    answer = optimal(**asked, time_limit=time_limit, solver=solver)
    seconds = time.process_time() - started
    unsafe = len(set(asked["demands"].target.tolist()))
    start = float(asked["cost"][asked["start_pattern"]].sum())
    gap = 1 - answer.bound / answer.cost if answer.cost else 0.0
    return Solved(len(asked["value"]), unsafe, seconds, answer.cost, gap, start, answer.effort)


def described(name: str, one: Solved) -> str:
    """A line for the reader."""
    return (
        f"{name}: {one.cells} cells, {one.unsafe} unsafe; {one.seconds:.1f} CPU s, cost {one.cost:,.0f} "
        f"({one.cost / one.start - 1:+.1%} against the first pattern), gap {one.gap:.2g}; "
        + ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in one.effort.items())
    )


@case("optimal")
def optimal_tables(scale: float) -> Sequence[Measure]:
    """Twenty tables to the proof, one at a time, and hard ones for a minute; the peer is the limit."""
    measures = []
    for seed in range(1, max(2, round(TABLES * scale) + 1)):
        one = apart(solved, RECORDS, seed, None)
        text = described(f"table {seed}", one)
        measures.append(Measure(f"CPU s, table {seed}", one.seconds, CPU_LIMIT, 1.0, text))
        measures.append(Measure(f"gap, table {seed}", one.gap, PROVEN, 1.0, text))
    for name, (records, seed, activities, regions) in HARD.items():
        for solver in SOLVERS if find_spec("pyscipopt") else SOLVERS[:1]:
            one = apart(solved, records, seed, CPU_LIMIT, solver, activities, regions)
            text = described(f"{name} with {solver}, stopped after {CPU_LIMIT:g} s", one)
            measures.append(Measure(f"gap, {name}, {solver}", one.gap, GAP_LIMIT, 1.0, text))
    return measures
