"""That no groups of two and three records lie closer together than a bound, shown by prices.

Every record has a price, and so has every listed set of records. No pair or triple may have a sum of squares below the
prices of its records less those of the sets that hold two of them or more. Of a set of ``s`` records at most ``s // 2``
groups can hold two or more, so that all groups together have at least the prices of all records less those of all sets,
each ``s // 2`` times. What single groups fall short of is taken off for as many groups as there can be.

Where all three pairs of a triple have their prices, the triple has them too: its sum of squares is a third of the three
squared distances, and half of them are at least twice the prices of the three. So only triples with a pair that falls
short without the prices of sets are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PRICE_UNIT = 10**12
LINES = 256
"""So many records are compared with all others at once."""
CLOSE = 1e-6
"""Pairs are looked at exactly when their distances, worked out quickly, are short of their prices by less than this."""

Numbers = NDArray[np.float64]
Rows = NDArray[np.int64]


def proved_bound(points: Numbers, kinds: Any, price: Any, sets: Sequence[Sequence[int]]) -> float | None:
    """What all groups together have at least; none where the prices are none.

    Groups lie within ``kinds``; a set is its price and its rows.
    """
    if not all(_proper(one, len(points)) for one in sets):
        return None
    paid = [float(one[0]) / PRICE_UNIT for one in sets]
    holding: dict[int, list[int]] = {}
    for number, one in enumerate(sets):
        for row in one[1:]:
            holding.setdefault(row, []).append(number)
    asked = np.asarray(price, np.float64) / PRICE_UNIT
    members = [np.array(one[1:], np.int64) for one in sets]
    short = 0.0
    for kind in np.unique(kinds).tolist():
        rows = np.flatnonzero(kinds == kind)
        short = max(short, _largest_shortage(points, rows, asked, holding, members, paid))
    total = sum(int(one) for one in price.tolist()) - sum(one[0] * ((len(one) - 1) // 2) for one in sets)
    return max(total / PRICE_UNIT - short * len(points) / 2, 0.0)


def _proper(one: Any, rows: int) -> bool:
    """Whether a set has a price that is not negative and rows that are there, each once."""
    if not isinstance(one, list) or len(one) < 2 or not all(type(number) is int for number in one):
        return False
    inside = one[1:]
    return one[0] >= 0 and len(set(inside)) == len(inside) and min(inside) >= 0 and max(inside) < rows


def _largest_shortage(
    points: Numbers,
    rows: Rows,
    asked: Numbers,
    holding: dict[int, list[int]],
    members: list[Rows],
    paid: list[float],
) -> float:
    """By how much a pair or triple of some rows falls short of its prices at most."""
    short = 0.0
    for one, other in _short_pairs(points, rows, asked):
        ours, theirs = holding.get(one, []), holding.get(other, [])
        both = sum((paid[number] for number in set(ours) & set(theirs)), 0.0)
        apart = ((points[one] - points[other]) ** 2).sum()
        short = max(short, asked[one] + asked[other] - both - apart / 2)
        # With any third record of the kind.
        held = np.full(len(points), both)
        for number in set(ours) ^ set(theirs):
            held[members[number]] += paid[number]
        far = ((points[rows] - points[one]) ** 2).sum(axis=1) + ((points[rows] - points[other]) ** 2).sum(axis=1)
        third = asked[one] + asked[other] + asked[rows] - held[rows] - (apart + far) / 3
        third[(rows == one) | (rows == other)] = 0.0
        short = max(short, float(third.max()))
    return float(short)


def _short_pairs(points: Numbers, rows: Rows, asked: Numbers) -> list[tuple[int, int]]:
    """Pairs whose prices exceed their sum of squares."""
    inside, price = points[rows], asked[rows]
    length = (inside**2).sum(axis=1)
    found = []
    for start in range(0, len(rows), LINES):
        part = slice(start, start + LINES)
        apart = length[part, None] + length - 2 * inside[part] @ inside.T
        room = CLOSE * (1 + length[part, None] + length)
        one, other = np.nonzero(price[part, None] + price > apart / 2 - room)
        one = one + start
        one, other = one[one < other], other[one < other]
        exact = ((inside[one] - inside[other]) ** 2).sum(axis=1) / 2
        short = price[one] + price[other] > exact
        found += list(zip(rows[one[short]].tolist(), rows[other[short]].tolist(), strict=True))
    return found
