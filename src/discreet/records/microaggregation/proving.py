"""Groups as they are found, part by part, with what proves how good they are."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.records.microaggregation.grouping import RecordGroups
from discreet.records.microaggregation.measured import within_groups

PRICE_UNIT = 10**12
"""Prices are whole numbers of this part of the square of a standard deviation."""


class FoundGroups:
    """The number of every record's group, -1 where it is in none; for all columns, or for each by itself."""

    def __init__(self, rows: int, columns: int) -> None:
        self.columns = columns
        self.effort: dict[str, int] = {}
        self.notes: list[str] = []
        self._group = np.full((columns, rows), -1, np.int64)
        self._next = [0] * columns
        self._price: Ints | None = None
        self._odd: list[list[int]] = []
        self._history: list[Floats] = []

    def add(self, place: int, rows: Ints, found: RecordGroups) -> None:
        """Add the groups of some rows."""
        self._group[place, rows] = found.group + self._next[place]
        self._next[place] += int(found.group.max()) + 1
        for what, number in found.effort.items():
            self.effort[what] = self.effort.get(what, 0) + number
        if found.note and found.note not in self.notes:
            self.notes.append(found.note)
        if found.history is not None:
            self._history.append(found.history)
        if found.prices is not None:
            if self._price is None:
                self._price = np.zeros(self._group.shape[1], np.int64)
            self._price[rows] = [floor(price * PRICE_UNIT) for price in found.prices.record.tolist()]
            for odd in found.prices.odd:
                members = sorted(rows[list(odd.members)].tolist())
                self._odd.append([ceil(odd.price * PRICE_UNIT), *members])

    def of(self, place: int) -> Ints:
        """Groups of a column."""
        return np.asarray(self._group[place if self.columns > 1 else 0])

    def sizes(self) -> Ints:
        """How many records each group has."""
        return np.concatenate([np.bincount(row[row >= 0]) for row in self._group])

    def parts(self) -> dict[str, Ints]:
        """The columns that the custodian keeps."""
        price = {} if self._price is None else {"price": self._price}
        return {f"group_{place}": row for place, row in enumerate(self._group)} | price

    def proof(self, points: Floats) -> dict[str, Any]:
        """What is stated beyond sizes and losses: how near to the best groups are, and how they were learnt."""
        if self._history:
            longest = max(len(run) for run in self._history)
            runs = [np.append(run, np.full(longest - len(run), run[-1])) for run in self._history]
            alone = within_groups(points, self.of(0)) - sum(float(run[-1]) for run in runs)
            # Parts of fewer than 2k records were one group from the beginning.
            shares = (np.sum(runs, axis=0) + alone) / max(float((points**2).sum()), 1e-300)
            falling = np.minimum.accumulate(shares)  # the last digit may rise where nothing changed
            return {"history": [float(share) for share in falling]}
        if self._price is None:
            return {}
        total = sum(self._price.tolist()) - sum(one[0] * ((len(one) - 1) // 2) for one in self._odd)
        within = within_groups(points, self.of(0))
        return {"within": within, "bound": max(total, 0) / PRICE_UNIT, "odd_sets": self._odd}
