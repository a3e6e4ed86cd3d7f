"""Small systems are searched several times: where the first pattern leads decides more than any improvement does.

The first pattern of each further search is made with other costs; then the patterns are merged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.model.arrays import Bools, Floats
from discreet.progress import as_part
from discreet.relations import System
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import CertifiedPattern, certify, price
from discreet.tables.suppress.effort import EffortLimits

LEAST, TRIED = 2, 3
"""Fewer searches than the first number are not worth it, and more than the second only where they differ."""
ALIKE = 1e-3
"""Patterns whose costs differ by less than this share are alike."""
SMALL, MOST = 2_000, 250_000
"""Cells of systems that are searched several times, and iterations of all searches: merging takes longest."""
SPREAD = 0.3
"""Costs of each further search are multiplied by numbers whose logarithms have a standard deviation that grows by this:
patterns that differ more leave more to choose from when they are merged."""
PROPOSED, DISCOUNT = 15_000, 0.1
"""Systems of more cells start from a proposal: what it holds costs this share of its cost in the first pattern."""
FEW = 1
"""So few secondaries are not worth another search."""


def certify_often(
    system: System, cost: Floats, attackers: Attackers, limits: EffortLimits, likely: Bools | None = None
) -> CertifiedPattern:
    """A certified pattern; without limits of effort or time the best that several searches lead to.

    In large systems cells that a cheap pattern ``likely`` withholds are cheap in the first pattern.
    """
    proposed = None if likely is None or len(system) <= PROPOSED else np.where(likely, DISCOUNT * cost, cost)
    first = certify(system, cost, attackers, limits, first_cost=proposed)
    secondaries = int((first.withheld & ~system.unsafe & ~system.given).sum())
    starts = min(limits.care.starts, MOST // max(first.effort["simplex_iterations"], 1))
    if limits.limited or len(system) > SMALL or secondaries <= FEW or starts < LEAST:
        return first
    from discreet.tables.suppress.best import merged  # brings all of the optimal search

    patterns, prices = [first], [price(system, cost, first)]
    for number in range(1, starts):
        if number >= TRIED and max(prices) - min(prices) <= ALIKE * min(prices):
            break
        random = np.random.default_rng(number)
        with as_part("search again", number - 1, starts):
            other = cost * np.exp(random.normal(0.0, SPREAD * number, len(cost)))
            patterns.append(certify(system, cost, attackers, EffortLimits(), first_cost=other))
        prices.append(price(system, cost, patterns[-1]))
    good = [pattern for pattern in patterns if set(pattern.unprotected) <= set(first.unprotected)]
    with as_part("search again", starts - 1, starts):
        best = merged(system, cost, attackers, good)
    effort = {name: sum(p.effort.get(name, 0) for p in patterns) for name in first.effort}
    return replace(best, effort={**effort, "searches": len(patterns)})
