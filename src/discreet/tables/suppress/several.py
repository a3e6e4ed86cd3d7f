"""Small systems are searched several times: where the first pattern leads decides more than any improvement does.

The first pattern of each further search is made with other costs; then the patterns are merged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.model.arrays import Floats
from discreet.progress import as_part
from discreet.relations import System
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.bound import LeastCost
from discreet.tables.suppress.certified import STRUCK, CertifiedPattern, certify, price
from discreet.tables.suppress.effort import EffortLimits

LEAST, TRIED = 2, 3
"""Fewer searches than the first number are not worth it, and more than the second only where they differ."""
ALIKE = 1e-3
"""Patterns whose costs differ by less than this share are alike."""
SMALL = 2_000
"""Cells of systems that are searched several times."""
SPREAD = 0.3
"""The second search starts from true costs. Costs of each further one are multiplied by numbers whose logarithms have a
standard deviation that grows by this: patterns that differ more leave more to choose from when they are merged."""
DISCOUNT = 0.1
"""A cell that any cheap pattern must withhold costs this share of its cost in the first pattern."""
FEW = 1
"""So few secondaries are not worth another search."""
AN_ATTACK = 1_000
"""Iterations that one attack takes at the beginning of the search for the optimum, which attacks every unsafe cell."""


def certify_often(
    system: System, cost: Floats, attackers: Attackers, limits: EffortLimits, least: LeastCost | None = None
) -> CertifiedPattern:
    """A certified pattern; without limits of effort or time the best that several searches lead to.

    ``least`` says how much of each cell is necessary: that much of it is cheap in the first pattern. In systems that
    are searched once, secondaries are then given up by what they cost beyond it; in others with few unsafe cells the
    optimum is looked for among the cells that it leaves open.
    """
    proposed = None if least is None else cost * (1.0 - (1.0 - DISCOUNT) * least.share)
    proved = 0.0 if least is None else least.proved()
    beyond = least.share if least is not None and len(system) > SMALL else None
    first = certify(system, cost, attackers, limits, first_cost=proposed, share=beyond, least=proved)
    secondaries = int((first.withheld & ~system.unsafe & ~system.given).sum())
    starts = min(limits.care.starts, limits.care.searching // max(first.effort["simplex_iterations"], 1))
    if limits.stopped:
        return _as_it_is(first)
    if limits.limited or len(system) > SMALL or secondaries <= FEW or starts < LEAST:
        return first
    with limits.may_be_left():
        return _searched_again(system, cost, attackers, limits, least, first, starts)
    return _as_it_is(first)


def _as_it_is(first: CertifiedPattern) -> CertifiedPattern:
    """The first pattern, with the effort after which nothing more was done."""
    return replace(first, effort={STRUCK[0]: first.effort["linear_programs"], **first.effort})


def _searched_again(
    system: System,
    cost: Floats,
    attackers: Attackers,
    limits: EffortLimits,
    least: LeastCost | None,
    first: CertifiedPattern,
    starts: int,
) -> CertifiedPattern:
    """The best that several searches lead to, of which the first is done."""
    from discreet.tables.suppress.best import closed, merged  # brings all of the optimal search

    patterns, prices = [first], [price(system, cost, first)]
    for number in range(1, starts):
        if number >= TRIED and max(prices) - min(prices) <= ALIKE * min(prices):
            break
        random = np.random.default_rng(number)
        with as_part("search again", number - 1, starts):
            other = cost * np.exp(random.normal(0.0, SPREAD * (number - 1), len(cost)))
            patterns.append(certify(system, cost, attackers, EffortLimits(care=limits.care), first_cost=other))
        prices.append(price(system, cost, patterns[-1]))
    good = [pattern for pattern in patterns if set(pattern.unprotected) <= set(first.unprotected)]
    with as_part("search again", starts - 1, starts):
        best = merged(system, cost, attackers, good)
        effort = {name: sum(p.effort.get(name, 0) for p in patterns) for name in first.effort}
        best = replace(best, effort={**effort, "searches": len(patterns)})
        attacks = int((system.upper_level > 0).sum() + (system.lower_level > 0).sum())
        if least is not None and AN_ATTACK * attacks <= limits.care.searching:
            best = closed(system, cost, attackers, best, least, limits.care.searching)
    return best
