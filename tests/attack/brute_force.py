"""Attackers by one linear program per cell and bound, and one attack for every insider."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from discreet.model.arrays import NO_LOWER, NO_UPPER


def outsider(system, withheld):
    """Bounds of every cell for somebody who is not in the data."""
    low = np.where(system.lower_bound <= NO_LOWER, -np.inf, system.lower_bound.astype(float))
    high = np.where(system.upper_bound >= NO_UPPER, np.inf, system.upper_bound.astype(float))
    value = system.value.astype(float)
    return np.where(withheld, low, value), np.where(withheld, high, value)


def insider(system, withheld, who):
    """Bounds of every cell for a contributor who knows its own contributions."""
    low, high = outsider(system, withheld)
    for cell in np.flatnonzero(withheld).tolist():
        holders = system.holder[cell].tolist()
        if system.contributors[cell] == 1 and holders[0] == who:
            low[cell] = high[cell] = system.value[cell]
        elif np.isfinite(low[cell]):
            named = [h for h in holders if h != -1]
            if who in named:
                own = system.own[cell, holders.index(who)]
            else:
                own = system.own[cell, len(named) - 1] if 0 < len(named) < system.contributors[cell] else 0
            floor = min(low[cell], 0) + max(own, 0)
            low[cell] = max(low[cell], min(floor, float(system.value[cell])))
    return low, high


def ends(system, bounds, cell):
    """Least and largest value of a cell."""
    matrix = system.matrix.toarray()
    low, high = bounds
    limits = [(a if np.isfinite(a) else None, b if np.isfinite(b) else None) for a, b in zip(low, high, strict=True)]
    found = []
    for sign in (1.0, -1.0):
        cost = np.zeros(len(system))
        cost[cell] = sign
        answer = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=limits)
        assert answer.status in (0, 3), answer.message
        found.append(-sign * np.inf if answer.status == 3 else sign * answer.fun)
    return found


def worst_insider(system, withheld, cell, full):
    """0 kept, 1 short or 2 recoverable: the worst of all insiders who do not fill the cell alone."""
    names = {-(10**9)} | {h for h in system.holder[withheld].ravel().tolist() if h != -1}
    value, outside = float(system.value[cell]), outsider(system, withheld)[0][cell]
    slip = 1e-5 * max(1.0, abs(value))
    worst = 0
    for who in names:
        if system.contributors[cell] == 1 and system.holder[cell, 0] == who:
            continue
        known = insider(system, withheld, who)
        low, high = ends(system, known, cell)
        if high - low <= 1e-6 * max(1.0, abs(value)):
            return 2
        if not full:
            continue
        level = float(system.lower_level[cell] or system.sliding_level[cell])
        leaves = value - known[0][cell]
        holders = system.holder[cell].tolist()
        spared = np.isfinite(outside) and who in holders and (who == holders[0] or leaves < level)
        if high < value + system.upper_level[cell] - slip:
            worst = 1
        if not spared and high - low < system.sliding_level[cell] - slip:
            worst = 1
        known[0][cell] = outside
        if not spared and ends(system, known, cell)[0] > value - system.lower_level[cell] + slip:
            worst = 1
    return worst


def pair(system, withheld, two, target):
    """Bounds of every cell for two contributors together; one who is not listed has no more than the last who is.

    Two who fill the target are no attackers of it, so that nobody pools what is known of it where it has two.
    """
    low, high = outsider(system, withheld)
    for cell in np.flatnonzero(withheld).tolist():
        count = int(system.contributors[cell])
        named = {h: max(int(o), 0) for h, o in zip(system.holder[cell], system.own[cell], strict=True) if h != -1}
        here = [who for who in two if who in named]
        strangers = min(2 - len(here), count - len(named)) if named else 0
        if cell == target and count == 2:
            together = max([named[who] for who in here], default=0)
            together = max(together, min(named.values())) if strangers and named else together
        elif len(here) + strangers == count and here and count:
            low[cell] = high[cell] = system.value[cell]
            continue
        else:
            together = sum(named[who] for who in here) + strangers * (min(named.values()) if named else 0)
        if np.isfinite(low[cell]):
            floor = min(low[cell], 0) + together
            low[cell] = max(low[cell], min(floor, float(system.value[cell])))
    return low, high


def worst_pair(system, withheld, cell, full):
    """0 kept, 1 short or 2 recoverable: the worst of all pairs who do not fill the cell, two strangers included."""
    names = [*sorted({h for h in system.holder[withheld].ravel().tolist() if h != -1}), 10**9, 10**9 + 1]
    value, outside = float(system.value[cell]), outsider(system, withheld)[0][cell]
    slip = 1e-5 * max(1.0, abs(value))
    holders = [h for h in system.holder[cell].tolist() if h != -1]
    count = int(system.contributors[cell])
    worst = 0
    for two in combinations(names, 2):
        if (count == 1 and holders[0] in two) or (count == 2 and set(two) == set(holders)):
            continue
        known = pair(system, withheld, two, cell)
        low, high = ends(system, known, cell)
        if high - low <= 1e-6 * max(1.0, abs(value)):
            return 2
        if not full:
            continue
        level = float(system.lower_level[cell] or system.sliding_level[cell])
        own = sum(max(int(o), 0) for h, o in zip(system.holder[cell], system.own[cell], strict=True) if h in two)
        room = value - min(outside, 0) - own
        spared = np.isfinite(outside) and (holders[0] in two or room < level)
        if high < value + system.upper_level[cell] - slip:
            worst = 1
        if not spared and high - low < system.sliding_level[cell] - slip:
            worst = 1
        known[0][cell] = outside
        if not spared and ends(system, known, cell)[0] > value - system.lower_level[cell] + slip:
            worst = 1
    return worst
