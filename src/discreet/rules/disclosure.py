"""Rules for counts that tell something about a whole group, and the request rule of foreign trade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import NeedsError, ParameterError, unknown_name
from discreet.model.arrays import Ints
from discreet.model.table import Table
from discreet.model.units import as_fraction
from discreet.rules.base import Finding, Rule, combine, contributions_for, percent_of, share_of, whole_number
from discreet.rules.frequency import DEFAULT_RANGE


@dataclass(frozen=True)
class GroupDisclosure(Rule):
    """Unsafe when all of a group, but for at most ``k``, stand in one category of ``variable``.

    Whoever knows that a person belongs to the group then knows the category; with ``k`` greater than zero this
    holds for a coalition of ``k`` outsiders of the category.

    Parameters
    ----------
    variable
        Variable whose categories are the secret.
    k
        How many members of the group may put their knowledge together.
    tables
        Names of the tables it is for; all when empty.
    """

    kind: ClassVar[str] = "group_disclosure"
    variable: str
    k: int = 0
    tables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        whole_number(self.k, "k", self.kind, least=0)

    def _rest(self, table: Table) -> Ints:
        """Members of the group outside the cell's category, -1 where the cell is no category of a group."""
        if table.spec.value is not None:
            raise ParameterError(f"Rule {self.kind!r} is for counts; table {table.name!r} sums {table.spec.value!r}.")
        if self.variable not in table.spec.by:
            raise ParameterError(unknown_name("variable", self.variable, table.variables, f"table {table.name!r}"))
        hierarchy = table.spec.by[self.variable]
        if hierarchy.total is None:
            raise NeedsError(f"Rule {self.kind!r} needs a total of {self.variable!r} to know the size of the groups.")
        k = table.variables.index(self.variable)
        total = table.codes.copy()
        total[:, k] = hierarchy.position(hierarchy.total)
        at = table.find(total)
        group = np.where(at >= 0, table.value[np.maximum(at, 0)], 0)
        whole = hierarchy.same_as[hierarchy.position(hierarchy.total)]
        category = (hierarchy.same_as[table.codes[:, k]] != whole) & (table.value > 0)
        return np.where(category, group - table.value, -1)

    def evaluate(self, table: Table, profile: str) -> Finding:
        one = 10**table.decimals
        rest = self._rest(table)
        unsafe = (rest >= 0) & (rest <= self.k * one)
        level = np.minimum((self.k + 1) * one - rest, table.value)
        return Finding(unsafe, np.where(unsafe, level, 0), np.zeros(len(table), np.int64))

    def words(self, table: Table, row: int) -> str:
        outside = self._rest(table)[row] / 10**table.decimals
        return f"group disclosure: all but {outside:g} of the group have the same {self.variable}"


@dataclass(frozen=True)
class Request(Rule):
    """Request rule: protects those who asked for it.

    A cell is unsafe when a contributor with request code j holds more than ``p1`` or ``p2`` per cent of it, or
    when somebody asked and the cell has fewer than ``n`` contributors.
    """

    kind: ClassVar[str] = "request"
    p1: float
    p2: float = 100
    n: int = 1
    range: float = DEFAULT_RANGE
    level: str = "holding"
    tables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        share_of(self.p1, "p1", self.kind)
        share_of(self.p2, "p2", self.kind)
        whole_number(self.n, "n", self.kind)
        share_of(self.range, "range", self.kind, high=1000)

    def evaluate(self, table: Table, profile: str) -> Finding:
        found = contributions_for(table, self.level, self)
        if found.requested is None:
            raise NeedsError(
                f"Rule {self.kind!r} needs to know who asked for protection in table {table.name!r}.",
                hint="Give the column request= (0, 1 or 2) to Microdata.",
            )
        asked = (found.requested >= 0).any(axis=1)
        unsafe = asked & (found.count < self.n)
        for j, p in enumerate((self.p1, self.p2)):
            share = as_fraction(p) / 100
            excess = combine((share.denominator, found.requested[:, j]), (-share.numerator, found.total))
            unsafe |= (found.requested[:, j] >= 0) & (excess > 0).astype(np.bool_)
        level = np.where(unsafe, percent_of(table.value, self.range), 0)
        return Finding(unsafe, level, level)

    def words(self, table: Table, row: int) -> str:
        return "request: a contributor who asked for protection is too large here, or too few are with it"
