"""What emptying fields costs at least where an empty field is no value of its own, or where risks are judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from discreet.verify.records.blank_risk import risk_of_groups

Numbers = NDArray[np.int64]
Prices = NDArray[np.float64]
Flags = NDArray[np.bool_]
HALVINGS = 60
LITTLE = 1e-9


class RiskLimits:
    """Whether groups are large and heavy enough that nobody in them has a risk above a limit.

    The risk falls with the number of records and with their weight: it is the integral of (1 + x W / f) ** -f over
    positive x, and that power falls in both. So a group that is not enough has no part that is.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.least: dict[int, float] = {}

    def enough(self, records: Numbers, weight: Prices) -> Flags:
        """Whether each group is enough."""
        self._learn(np.unique(records))
        wanted = np.zeros(int(records.max(initial=0)) + 1)
        for f, one in self.least.items():
            if f < len(wanted):
                wanted[f] = one
        return np.asarray((weight >= wanted[records]) & (records > 0), np.bool_)

    def _learn(self, records: Numbers) -> None:
        """For numbers of records the least weight with which their risk is not above the limit, a little below it."""
        limit = self.limit
        asked = np.array([f for f in records.tolist() if 0 < f * limit < 1 and f not in self.least], np.float64)
        if not len(asked):
            return
        low, high = asked.copy(), np.maximum(asked, 1 / limit) * 2
        while (above := risk_of_groups(asked, high, limit) > limit).any():
            low, high = np.where(above, high, low), np.where(above, 2 * high, high)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            good = risk_of_groups(asked, middle, limit) <= limit
            low, high = np.where(good, low, middle), np.where(good, middle, high)
        self.least |= {int(f): float(weight) * (1 - LITTLE) for f, weight in zip(asked, low, strict=True)}


def cheapest_breaks(rare: Flags, price: Prices, tables: Sequence[Sequence[int]]) -> Prices:
    """For each record the cheapest columns with one in each of the tables in which it is rare."""
    columns = range(price.shape[1])
    found = np.zeros(len(rare))
    kinds, kind = np.unique(rare, axis=0, return_inverse=True)
    place = np.argsort(kind.ravel(), kind="stable")
    parts = np.split(place, np.cumsum(np.bincount(kind.ravel()))[:-1])
    every = [frozenset(one) for one in chain.from_iterable(combinations(columns, n) for n in range(len(columns) + 1))]
    for wanted, mine in zip(kinds, parts, strict=True):
        asked = {frozenset(table) for table, judged in zip(tables, wanted, strict=True) if judged}
        if not asked:
            continue
        best = np.full(len(mine), np.inf)
        enough: list[frozenset[int]] = []
        for one in every:  # smaller sets first: what holds a set that suffices costs more
            if any(other <= one for other in enough) or not all(one & table for table in asked):
                continue
            enough.append(one)
            best = np.minimum(best, price[mine][:, sorted(one)].sum(axis=1))
        found[mine] = best
    return found


def witness_cost(
    codes: Sequence[Numbers], price: Prices, row: int, enough: Callable[[Flags], tuple[bool, int]]
) -> float:
    """What it costs at least that enough records agree with one, an empty field (-1) with everything.

    ``enough`` says of the records that agree whether they are enough, and how many more there must be at least. Whoever
    is to agree loses, or makes the one lose, every column in which both have another value; a column costs at least as
    much as the cheapest value that it has.
    """
    many = len(codes)
    differ = [(column >= 0) & (column[row] >= 0) & (column != column[row]) for column in codes]
    least = [float(price[:, i][codes[i] >= 0].min(initial=np.inf)) for i in range(many)]
    own = [place for place in range(many) if codes[place][row] >= 0]
    best = np.inf
    for gone in chain.from_iterable(combinations(own, size) for size in range(len(own) + 1)):
        cost = float(sum(price[row, place] for place in gone))
        if cost >= best:
            continue
        others = np.zeros(len(codes[0]))
        agrees = np.ones(len(codes[0]), np.bool_)
        for place in set(range(many)) - set(gone):
            others += np.where(differ[place], least[place], 0.0)
            agrees &= ~differ[place]
        good, more = enough(agrees)
        if not good:
            company = others[~agrees]
            if len(company) < more:
                continue
            cost += float(np.partition(company, more - 1)[:more].sum())
        best = min(best, cost)
    return best
