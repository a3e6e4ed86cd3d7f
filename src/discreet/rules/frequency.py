"""Rules about numbers of contributors and about zeros."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import NeedsError, ParameterError
from discreet.model.arrays import Bools, Ints
from discreet.model.table import Table
from discreet.model.units import as_fraction
from discreet.rules.base import (
    Finding,
    Rule,
    ceiling,
    combine,
    contributions_for,
    percent_of,
    share_of,
    whole_number,
)

DEFAULT_RANGE = 30.0


def _is_count(table: Table) -> bool:
    return table.spec.value is None


def _few(table: Table, few: Bools, frequency: Ints, n: int, percent: float, profile: str) -> Finding:
    """Levels of cells with too few: a percentage of the value; in counts, far enough up to be safe.

    A weighted count is an estimate: one unit more says little of it, so the percentage counts there as well.
    """
    level = percent_of(table.value, percent)
    if not _is_count(table) or profile == "argus":
        return Finding(few, np.where(few, level, 0), np.where(few, level, 0))
    one = 10**table.decimals
    lower = np.full(len(table), one, np.int64)
    upper = np.maximum(lower, (n - frequency) * one)
    if table.spec.weight:
        lower, upper = np.maximum(lower, level), np.maximum(upper, level)
    return Finding(few, np.where(few, lower, 0), np.where(few, upper, 0))


@dataclass(frozen=True)
class MinContributors(Rule):
    """Unsafe when a cell has at least one but fewer than ``n`` distinct contributors.

    Parameters
    ----------
    n
        Least number of contributors.
    range
        Protection level in per cent of the value (magnitudes).
    level
        ``"holding"`` or ``"record"``.
    tables
        Names of the tables it is for; all when empty.
    """

    kind: ClassVar[str] = "min_contributors"
    n: int
    range: float = DEFAULT_RANGE
    level: str = "holding"
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.n, "n", self.kind)
        share_of(self.range, "range", self.kind, high=1000)

    def evaluate(self, table: Table, profile: str) -> Finding:
        found = contributions_for(table, self.level, self)
        few = (found.count > 0) & (found.count < self.n)
        if found.unwaived is not None:
            few &= found.unwaived >= 0
        return _few(table, few, found.count, self.n, self.range, profile)

    def words(self, table: Table, row: int) -> str:
        count = int(contributions_for(table, self.level, self).count[row])
        return f"too few contributors: {count} (at least {self.n} needed)"


@dataclass(frozen=True)
class MinFrequency(Rule):
    """Unsafe when a cell has at least one but fewer than ``n`` records (or weighted units).

    Parameters
    ----------
    n
        Least frequency.
    range
        Protection level in per cent of the value (magnitudes).
    weighted
        Look at the weighted count; the ``argus`` profile always does where there are weights.
    tables
        Names of the tables it is for; all when empty.
    """

    kind: ClassVar[str] = "min_frequency"
    n: int
    range: float = DEFAULT_RANGE
    weighted: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.n, "n", self.kind)
        share_of(self.range, "range", self.kind, high=1000)
        if not isinstance(self.weighted, bool):
            raise ParameterError(
                f"min_frequency: weighted={self.weighted!r} is not allowed.", hint="Use true or false."
            )

    def _frequency(self, table: Table, profile: str) -> tuple[Ints, int]:
        if table.weighted is not None and (self.weighted or profile == "argus"):
            return table.weighted, 10**table.weight_decimals
        if table.records is not None:
            return table.records, 1
        if _is_count(table):
            return table.value, 10**table.decimals
        if "holding" in table.contributions and not table.from_records:
            return table.contributions["holding"].count, 1
        raise NeedsError(
            f"Rule {self.kind!r} needs the number of records of each cell in table {table.name!r}.",
            hint="Please give from_cells a column 'contributors'.",
        )

    def evaluate(self, table: Table, profile: str) -> Finding:
        frequency, one = self._frequency(table, profile)
        few = (frequency > 0) & (frequency < self.n * one)
        return _few(table, few, frequency // one, self.n, self.range, profile)

    def words(self, table: Table, row: int) -> str:
        profile = "handbook" if table.assessment is None else table.assessment.profile
        frequency, one = self._frequency(table, profile)
        return f"low frequency: {frequency[row] / one:g} (at least {self.n} needed)"


@dataclass(frozen=True)
class ZeroUnsafe(Rule):
    """Unsafe when a cell with contributors has the value zero; in counts, when nobody is in it.

    A cell that everybody knows to be at most zero tells nothing new and is safe.

    Parameters
    ----------
    range
        How far above zero the cell must seem possible, in units of the value.
    tables
        Names of the tables it is for; all when empty.
    """

    kind: ClassVar[str] = "zero_unsafe"
    range: float = 1.0
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        share_of(self.range, "range", self.kind, high=1e15)

    def evaluate(self, table: Table, profile: str) -> Finding:
        if _is_count(table) and table.from_records and len(table) < math.prod(table.shape):
            raise NeedsError(
                f"Rule {self.kind!r} needs the cells that nobody is in; table {table.name!r} leaves them out, which "
                "tells that they are zero.",
                hint="Please tabulate with cells='all'.",
            )
        zero = (table.value == 0) & (~table.empty | _is_count(table)) & (table.attacker_bounds()[1] > 0)
        wanted = as_fraction(self.range) * 10**table.decimals
        level = ceiling(combine((wanted.numerator, np.ones(len(table), np.int64))), wanted.denominator)
        return Finding(zero, np.zeros(len(table), np.int64), np.where(zero, level, 0))

    def words(self, table: Table, row: int) -> str:
        if _is_count(table):
            return "zero cell: it tells that nobody is here"
        return "zero cell: it tells that every contributor has zero"
