"""Purses: cells of the day's budget that a worker took ahead, so that not every small table is written down.

What is taken is gone for the day, used or not: a worker that ends loses what is left in its purses. So a person never
gets more than the budget, and at most :data:`SHARE` of it less for each worker that answers them.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from discreet.server.denied import Denied

SHARE = 200
"""A purse holds up to one part in so many of the budget."""
MOST = 100_000
"""Purses that a worker keeps; the one unused for longest goes first."""


class DailyCells(Protocol):
    """Where cells are counted per day, for all workers."""

    def reserve(self, holder: str, cells: int, most: int) -> None:
        """Take cells, or refuse."""

    def day(self) -> str:
        """The day that counts now."""


@dataclass
class Purses:
    """Takes cells from the budgets in larger pieces, and hands them out.

    Parameters
    ----------
    budgets
        The budgets of all workers.
    """

    budgets: DailyCells
    _left: OrderedDict[tuple[str, str, int], int] = field(default_factory=OrderedDict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reserve(self, holder: str, cells: int, most: int) -> None:
        """Take cells from the purse of a holder, which is filled where it does not suffice.

        Raises
        ------
        Denied
            When the budget of today does not suffice (429).
        """
        with self._lock:
            place = (holder, self.budgets.day(), most)  # what was taken yesterday is for yesterday
            left = self._left.pop(place, 0)
            try:
                if left < cells:
                    left += self._taken(holder, cells, most)
                left -= cells
            finally:
                if left:
                    self._left[place] = left
                while len(self._left) > MOST:
                    self._left.popitem(last=False)

    def at_hand(self, holder: str, cells: int, most: int) -> bool:
        """Take cells from the purse as it is, and wait for nothing; whether it had them."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            place = (holder, self.budgets.day(), most)
            enough = self._left.get(place, 0) >= cells
            if enough:
                self._left[place] -= cells
            return enough
        finally:
            self._lock.release()

    def _taken(self, holder: str, cells: int, most: int) -> int:
        """Take a purse full of cells, or as many as are needed where there is no purse full any more."""
        if cells < most // SHARE:
            with suppress(Denied):
                self.budgets.reserve(holder, most // SHARE, most)
                return most // SHARE
        self.budgets.reserve(holder, cells, most)
        return cells


@dataclass
class PaidAhead:
    """Questions whose cells were taken from the budget when somebody only looked: who asks then pays no second time."""

    most: int = 100_000
    _paid: OrderedDict[tuple[str, str], None] = field(default_factory=OrderedDict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def put(self, holder: str, question: str) -> None:
        """Keep that somebody paid for a question; of too many the oldest is forgotten, and paid again."""
        with self._lock:
            self._paid[holder, question] = None
            while len(self._paid) > self.most:
                self._paid.popitem(last=False)

    def take(self, holder: str, question: str) -> bool:
        """Whether somebody paid for a question; it is forgotten then."""
        with self._lock:
            return self._paid.pop((holder, question), self) is None
