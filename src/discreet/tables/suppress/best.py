"""The cheapest pattern, or a proven gap: the cut loop, started from the certified pattern and certified again."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from discreet.model.arrays import Floats
from discreet.relations import System
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import Limits, Pattern, certify, movable_cells, needed_levels
from discreet.tables.suppress.optimal import Demand, Optimum, optimal


def improve_to_optimum(
    system: System,
    cost: Floats,
    attackers: Attackers,
    start: Pattern,
    seconds: float | None,
    solver: Literal["highs", "scip"] = "highs",
) -> Pattern:
    """The cheaper of a certified pattern and the optimum against outsiders, completed for insiders and certified.

    The effort says what the cheapest pattern costs at least (``least_cost``, in whole units of the cost), what this one
    costs (``cost``), and whether the optimum against outsiders was proven (``proven``).
    """
    found = _optimum(system, cost, attackers, start, seconds, solver)
    best = start
    # Within the optimum first; where that is not enough for insiders, with its cells for free.
    for allowed, charged in ((found.withheld, cost), (None, np.where(found.withheld, 0.0, cost))):
        pattern = certify(system, charged, attackers, Limits(), allowed)
        if not set(pattern.unprotected) - set(start.unprotected):
            best = min(best, pattern, key=lambda p: _price(system, cost, p))
            break
    effort = {
        **best.effort,
        **{f"optimal_{name}": number for name, number in found.effort.items()},
        "least_cost": int(max(found.bound, 0.0)),
        "cost": int(np.ceil(_price(system, cost, best))),
        "proven": int(found.proven),
    }
    return replace(best, effort=effort)


def _price(system: System, cost: Floats, pattern: Pattern) -> float:
    return float(cost[pattern.withheld & ~system.unsafe & ~system.given].sum())


def _optimum(
    system: System,
    cost: Floats,
    attackers: Attackers,
    start: Pattern,
    seconds: float | None,
    solver: Literal["highs", "scip"],
) -> Optimum:
    targets = np.array(sorted(start.families), np.int64)
    up, down = needed_levels(system)
    target = np.concatenate((targets[up[targets] > 0], targets[down[targets] > 0]))
    direction = np.concatenate(
        (np.ones((up[targets] > 0).sum(), np.int64), -np.ones((down[targets] > 0).sum(), np.int64))
    )
    level = np.where(direction > 0, up[target], down[target])
    required = system.unsafe | system.given
    return optimal(
        system.matrix[np.flatnonzero(system.defining)],
        system.value,
        attackers.lower,
        attackers.upper,
        movable_cells(system),
        required,
        np.where(required, 0.0, cost),
        Demand.external(target, direction, level),
        start.withheld,
        time_limit=seconds,
        solver=solver,
    )
