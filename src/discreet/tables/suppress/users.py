"""Which unsafe cells need which secondaries: who has to be protected anew where one is given up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from discreet.model.arrays import Bools
from discreet.tables.suppress.families import Member

MANY = 300
"""A secondary with more users than this stays, and its users are not listed."""


class Users:
    """The users of every secondary, by the families of the unsafe cells; cells that are ``required`` are none.

    What a cell needs is worked out from its family when it is asked for: most cells are never asked.
    """

    def __init__(self, required: Bools) -> None:
        self._required = required
        self._families: Mapping[int, list[Member]] = {}
        self._needs: dict[int, set[int]] = {}
        self._users: dict[int, set[int]] = {}
        self._many: set[int] = set()

    def take(self, families: Mapping[int, list[Member]]) -> None:
        """List the users of all secondaries; the families are looked at again later, and change by :meth:`change`."""
        self._families, users = families, defaultdict(set)
        for target, family in families.items():
            for cell in self._in(family):
                if cell not in self._many:
                    users[cell].add(target)
                    if len(users[cell]) > MANY:
                        del users[cell]
                        self._many.add(cell)
        self._users = dict(users)

    def change(self, target: int, family: list[Member]) -> None:
        """Say that a cell has a new family; it is not in the families yet."""
        new = self._in(family)
        for cell in self.needs([target]) - new:
            self._users.get(cell, set()).discard(target)
        self._needs[target] = new
        for cell in new - self._many:
            self._users.setdefault(cell, set()).add(target)

    def of(self, cells: Iterable[int]) -> set[int] | None:
        """Users of any of some secondaries; none where they are too many."""
        cells = list(cells)
        users = set().union(*(self._users.get(cell, set()) for cell in cells))
        return None if len(users) > MANY or not self._many.isdisjoint(cells) else users

    def within(self, cell: int, users: set[int]) -> bool:
        """Whether a secondary has no other users than these."""
        return cell not in self._many and self._users.get(cell, set()) <= users

    def any(self, cell: int) -> bool:
        """Whether anybody needs a secondary."""
        return cell in self._many or bool(self._users.get(cell))

    def needs(self, users: Iterable[int]) -> set[int]:
        """Secondaries that some cells need."""
        needs: set[int] = set()
        for user in users:
            if user not in self._needs:
                self._needs[user] = self._in(self._families[user])
            needs |= self._needs[user]
        return needs

    def _in(self, family: list[Member]) -> set[int]:
        cells = np.concatenate([member.alternative.cells for member in family])
        return set(cells[~self._required[cells]].tolist())
