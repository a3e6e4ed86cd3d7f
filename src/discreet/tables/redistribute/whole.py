"""Repaired maps of magnitudes in whole units: rounding may break the rules that the repair has just kept."""

from __future__ import annotations

import numpy as np

from discreet.errors import ProtectionError
from discreet.model.arrays import Floats, Ints
from discreet.model.units import as_fraction
from discreet.tables.redistribute.magnitudes import MapRules

SMALLER_UNITS = "State values in smaller units, use a coarser grid, or weaker rules."


def breaks(values: list[int], rules: MapRules) -> bool:
    """Whether whole values of contributors, one each, break a rule, exactly.

    Examples
    --------
    >>> breaks([8, 1, 1], MapRules(max_share=0.5)), breaks([5, 3, 2], MapRules(max_share=0.5))
    (True, False)
    """
    held = sorted((v for v in values if v > 0), reverse=True)
    total = sum(held)
    if not held:
        return False
    if len(held) < rules.threshold:
        return True
    if rules.max_share is not None and held[0] > as_fraction(rules.max_share) * total:
        return True
    if rules.dominance is not None and sum(held[: rules.dominance[0]]) >= as_fraction(rules.dominance[1]) * total:
        return True
    return rules.p is not None and sum(held[2:]) < as_fraction(rules.p) / 100 * held[0]


def in_whole_units(place: Ints, value: Floats, total: int, rules: MapRules) -> Ints:
    """Whole values near the repaired ones that keep every rule in every place, and the total.

    Parameters
    ----------
    place, value
        Place and repaired value of each contribution, one a contributor and place.
    total
        What they add up to.
    rules
        What no place may break.

    Raises
    ------
    ProtectionError
        Where whole units are too coarse for the rules.

    Examples
    --------
    >>> in_whole_units(np.zeros(3, int), np.array([2.5, 1.4, 1.1]), 5, MapRules(max_share=0.5)).tolist()
    [2, 2, 1]
    """
    whole = np.maximum(np.rint(value).astype(np.int64), value > 0)
    rows: dict[int, list[int]] = {}
    for row, where in enumerate(place.tolist()):
        rows.setdefault(where, []).append(row)
    for mine in rows.values():
        while breaks(whole[mine].tolist(), rules):
            largest = max(mine, key=lambda row: (whole[row], -row))
            if whole[largest] <= 1:
                raise ProtectionError("A place of the map cannot be repaired in whole units.", hint=SMALLER_UNITS)
            whole[largest] -= 1
    over = total - int(whole.sum())
    # The richest places feel a unit least; their small contributors get what is missing, which breaks no rule there.
    order = sorted(rows, key=lambda where: (-int(whole[rows[where]].sum()), where))
    while over:
        step = 1 if over > 0 else -1
        if not any(_moved(whole, rows[where], step, rules) for where in order):
            raise ProtectionError("Whole units do not keep the total of the map and its rules.", hint=SMALLER_UNITS)
        over -= step
    return whole


def _moved(whole: Ints, rows: list[int], step: int, rules: MapRules) -> bool:
    """Give a unit to the smallest contributor of a place or take one from the largest, unless that breaks a rule."""
    chosen = min(rows, key=lambda row: (step * whole[row], row))
    if whole[chosen] + step < 1:
        return False
    whole[chosen] += step
    if breaks(whole[rows].tolist(), rules):
        whole[chosen] -= step
        return False
    return True
