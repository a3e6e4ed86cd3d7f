"""The cheapest pattern, or a proven gap: the cut loop, started from the certified pattern and certified again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from discreet.errors import counted
from discreet.model.arrays import Bools, Floats
from discreet.relations import System
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.bound import LeastCost
from discreet.tables.suppress.certified import (
    CertifiedPattern,
    certify,
    movable_cells,
    needed_levels,
    price,
)
from discreet.tables.suppress.effort import EffortLimits
from discreet.tables.suppress.optimal import MOST_NODES, MOST_ROUNDS, Optimum, PatternDemands, optimal

MERGE_NODES, MERGE_ROUNDS, MERGE_ITERATIONS = 500, 40, 100_000
"""Effort at most when patterns are merged: a few seconds."""

BEYOND = "beyond_outsiders"
"""How many cells are withheld that the optimum against outsiders alone publishes."""


def improve_to_optimum(
    system: System,
    cost: Floats,
    attackers: Attackers,
    start: CertifiedPattern,
    limits: EffortLimits,
    solver: Literal["highs", "scip"] = "highs",
) -> CertifiedPattern:
    """The cheaper of a certified pattern and the optimum against outsiders, completed for insiders and certified.

    What the first pattern took counts for the limits, too; where they struck meanwhile, it is kept. The effort says
    what the cheapest pattern costs at least (``least_cost``, in whole units of the cost), what this one costs
    (``cost``), and whether the optimum against outsiders was proven (``proven``).
    """
    spent = start.effort["linear_programs"]
    if "limit_struck_at" not in start.effort and not limits.struck(spent):
        with limits.may_be_left():
            return _improved(system, cost, attackers, start, limits, solver, spent)
    price_now = int(np.ceil(price(system, cost, start)))
    said = {"least_cost": 0, "cost": price_now, "proven": 0, BEYOND: 0, "limit_struck_at": spent}
    return replace(start, effort={**said, **start.effort})


def _improved(
    system: System,
    cost: Floats,
    attackers: Attackers,
    start: CertifiedPattern,
    limits: EffortLimits,
    solver: Literal["highs", "scip"],
    spent: int,
) -> CertifiedPattern:
    """The optimum against outsiders, certified, or the first pattern, which took so many programs."""
    left = None if limits.effort is None else limits.effort - spent
    required = system.unsafe | system.given
    found = _optimum(
        system,
        cost,
        attackers,
        start,
        required,
        movable_cells(system),
        seconds=limits.seconds_left,
        solver=solver,
        max_programs=left,
        spread=True,
    )
    if found.struck_at is not None:
        left = 0
    elif left is not None:
        left = max(left - found.effort["linear_programs"], 0)
    best = _certified(system, cost, attackers, found, start, left)
    effort = {
        **best.effort,
        **{f"optimal_{name}": number for name, number in found.effort.items()},
        "least_cost": int(max(found.bound, 0.0)),
        "cost": int(np.ceil(price(system, cost, best))),
        "proven": int(found.proven),
        BEYOND: int((best.withheld & ~found.withheld & ~required).sum()),
    }
    effort.pop("limit_struck_at", None)
    if found.struck_at is not None:
        effort["limit_struck_at"] = spent + found.struck_at
    return replace(best, effort=effort)


def merged(
    system: System, cost: Floats, attackers: Attackers, patterns: Sequence[CertifiedPattern]
) -> CertifiedPattern:
    """The cheapest pattern that withholds what all of some patterns do, and nothing that none of them does.

    It is looked for within limits of effort, and is at least as cheap as the cheapest of them.
    """
    best = min(patterns, key=lambda p: price(system, cost, p))
    withheld = np.stack([pattern.withheld for pattern in patterns])
    required = (system.unsafe | system.given | withheld.all(axis=0)) & movable_cells(system)
    among = movable_cells(system) & withheld.any(axis=0)
    found = _optimum(
        system,
        cost,
        attackers,
        best,
        required,
        among,
        max_nodes=MERGE_NODES,
        max_rounds=MERGE_ROUNDS,
        max_iterations=MERGE_ITERATIONS,
    )
    return _certified(system, cost, attackers, found, best)


def closed(
    system: System, cost: Floats, attackers: Attackers, start: CertifiedPattern, least: LeastCost, iterations: int
) -> CertifiedPattern:
    """The optimum among the cells that a bound leaves open, or what was found of it; at most as dear as the first one.

    Whatever costs less than the first pattern withholds none of the others, so that the bound of this search holds for
    all patterns.
    """
    paid = price(system, cost, start)
    among = movable_cells(system) & ~least.too_dear(paid, start.unprotected)
    found = _optimum(
        system,
        cost,
        attackers,
        start,
        system.unsafe | system.given,
        among | start.withheld,
        max_nodes=MERGE_NODES,
        max_rounds=MERGE_ROUNDS,
        max_iterations=iterations,
    )
    best = _certified(system, cost, attackers, found, start)
    return replace(best, effort={**start.effort, "least_cost": int(min(found.bound, paid))})


def _certified(
    system: System, cost: Floats, attackers: Attackers, found: Optimum, start: CertifiedPattern, left: int | None = None
) -> CertifiedPattern:
    """The pattern of an optimum against outsiders, certified against everybody; or the first one, if cheaper.

    ``left`` linear programs may be spent on it.
    """
    # Within the optimum first; where that is not enough for insiders, with its cells for free.
    for allowed, charged in ((found.withheld, cost), (None, np.where(found.withheld, 0.0, cost))):
        pattern = certify(system, charged, attackers, EffortLimits(left), allowed)
        if not set(pattern.unprotected) - set(start.unprotected):
            return min(start, pattern, key=lambda p: price(system, cost, p))
    return start


def _optimum(
    system: System,
    cost: Floats,
    attackers: Attackers,
    start: CertifiedPattern,
    required: Bools,
    movable: Bools,
    *,
    seconds: float | None = None,
    solver: Literal["highs", "scip"] = "highs",
    max_nodes: int = MOST_NODES,
    max_rounds: int = MOST_ROUNDS,
    max_iterations: int | None = None,
    max_programs: int | None = None,
    spread: bool = False,
) -> Optimum:
    targets = np.array(sorted(start.families), np.int64)
    up, down = needed_levels(system)
    target = np.concatenate((targets[up[targets] > 0], targets[down[targets] > 0]))
    direction = np.concatenate(
        (np.ones((up[targets] > 0).sum(), np.int64), -np.ones((down[targets] > 0).sum(), np.int64))
    )
    level = np.where(direction > 0, up[target], down[target])
    return optimal(
        system.matrix[np.flatnonzero(system.defining)],
        system.value,
        attackers.lower,
        attackers.upper,
        movable,
        required,
        np.where(required, 0.0, cost),
        PatternDemands.external(target, direction, level),
        start.withheld,
        time_limit=seconds,
        solver=solver,
        max_nodes=max_nodes,
        max_rounds=max_rounds,
        max_iterations=max_iterations,
        max_programs=max_programs,
        spread=spread,
    )


def beyond_optimum(effort: Mapping[str, int], for_sums: int) -> str:
    """What was withheld besides the cheapest pattern against outsiders, which is what an optimum is elsewhere."""
    if not effort["least_cost"] and "limit_struck_at" in effort:
        return "the limit struck before the optimum was looked for"
    kind = "the optimum" if effort["proven"] else "the best pattern found"
    more = effort[BEYOND] + for_sums
    if not more:
        return f"{kind} against outsiders alone needed no further cell"
    return (
        f"{kind} against outsiders alone was completed by {counted(more, 'further cell')}: {effort[BEYOND]:,} against "
        f"contributors, {for_sums:,} for sums of withheld cells"
    )
