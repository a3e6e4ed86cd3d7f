"""Rules about numbers of contributors and about zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.errors import NeedsError
from discreet.model.arrays import Bools, Ints
from discreet.model.table import Contributions, Table
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
    with_value,
)
from discreet.rules.concentration import PPercent, PriorPosterior, protected_and_coalition

DEFAULT_RANGE = 30.0
"""Protection level of a cell with too few, in per cent of its value."""


def _is_count(table: Table) -> bool:
    return table.spec.value is None


def _too_few(everybody: Ints, some: Ints, least: int) -> Bools:
    """Where there are too few, or too few who have something; where nobody has anything, all of them count."""
    return (everybody > 0) & (some < least) & ((some > 0) | (everybody < least))


def _few(table: Table, few: Bools, frequency: Ints, n: int, percent: float, profile: str) -> Finding:
    """Levels of cells with too few: a percentage of the value; in counts, far enough up to be safe.

    A weighted count is an estimate: one unit more says little of it, so the percentage counts there as well.
    """
    level = percent_of(table.value, percent)
    if not _is_count(table) or profile == "argus":
        return Finding(few, np.where(few, level, 0), np.where(few, level, 0))
    one = 10**table.decimals
    lower = np.full(len(table), one, np.int64)
    upper = (n - frequency) * one  # at least one where there are too few
    if table.spec.weight:
        lower, upper = np.maximum(lower, level), np.maximum(upper, level)
    return Finding(few, np.where(few, lower, 0), np.where(few, upper, 0))


@dataclass(frozen=True)
class MinContributors(Rule):
    """Unsafe when a cell has at least one but fewer than ``n`` distinct contributors.

    In magnitudes those count whose contribution is not zero: what one has beside many zeros is that one's.

    Parameters
    ----------
    n
        Least number of contributors.
    range
        Protection level in per cent of the value (magnitudes). Left out, it agrees with a p% or (p, q) rule that is
        asked of the same table and the same kind of contributor: p % of the largest contribution, what that rule asks
        of a cell with one contributor. Without such a rule it is 30 % of the value, as it is with weights, with a
        shadow variable and in the profile ``"argus"``.
    zeros
        Count contributors of magnitudes whose contribution is zero, too, as some programs do.
    level
        ``"holding"`` or ``"record"``.
    below_one
        Allow a range below one per cent.
    tables
        Names of the tables it is for; all when empty.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> firms = pa.table({"region": ["N", "N", "N", "E"], "sales": [5, 6, 7, 9]})
    >>> table = ds.tabulate(firms, by={"region": ds.Hierarchy.flat(["N", "E"])}, value="sales")
    >>> table = table.assess(ds.MinContributors(3))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['region=E']
    """

    kind: ClassVar[str] = "min_contributors"
    n: int
    range: float | None = None
    zeros: bool = False
    level: str = "holding"
    below_one: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.n, "n", self.kind)
        if self.range is not None:
            share_of(self.range, "range", self.kind, high=1000, below_one=self.below_one)

    def breaks(self, found: Contributions) -> Bools:
        """Which cells of these contributions have too few, whether a table holds them or not."""
        return self._broken(found, found.count if self.zeros else with_value(found))

    def _broken(self, found: Contributions, some: Ints) -> Bools:
        few = _too_few(found.count, some, self.n)
        return few if found.unwaived is None else few & (found.unwaived >= 0)

    def _counted(self, table: Table) -> tuple[Ints, Ints]:
        """All contributors, and those that count."""
        found = contributions_for(table, self.level, self)
        return found.count, found.count if self.zeros or _is_count(table) else with_value(found)

    def evaluate(self, table: Table, profile: str) -> Finding:
        return self.evaluate_beside(table, profile, ())

    def evaluate_beside(self, table: Table, profile: str, others: Sequence[Rule]) -> Finding:
        found = contributions_for(table, self.level, self)
        few = self._broken(found, self._counted(table)[1])
        share = self._share(table, profile, others)
        if share is None:
            return _few(table, few, found.count, self.n, DEFAULT_RANGE if self.range is None else self.range, profile)
        largest, _ = protected_and_coalition(contributions_for(table, self.level, self, top=1), 0)
        level = np.maximum(ceiling(combine((share.numerator, largest)), share.denominator), 1)
        return Finding(few, np.where(few, level, 0), np.where(few, level, 0))

    def _share(self, table: Table, profile: str, others: Sequence[Rule]) -> Fraction | None:
        """How closely others may come to a contribution, as the strictest p% or (p, q) rule beside this one says it.

        None where a range was given, or where no such rule looks at the contributions as they stand: with weights one
        contributor counts as several, and of a shadow variable nothing follows for the value.
        """
        if self.range is not None or profile == "argus" or _is_count(table):
            return None
        if table.spec.weight or table.spec.shadow is not None:
            return None
        beside = (rule for rule in others if isinstance(rule, PPercent | PriorPosterior) and rule.level == self.level)
        return max((rule.share for rule in beside), default=None)

    def words(self, table: Table, row: int) -> str:
        everybody, some = (int(column[row]) for column in self._counted(table))
        besides = f" with a value, of {everybody}" if some < everybody else ""
        return f"too few contributors: {some}{besides} (at least {self.n} needed)"


@dataclass(frozen=True)
class MinFrequency(Rule):
    """Unsafe when a cell has at least one but fewer than ``n`` records (or weighted units).

    In magnitudes records count whose value is not zero. A weighted count is one of all records.

    Parameters
    ----------
    n
        Least frequency.
    range
        Protection level in per cent of the value (magnitudes).
    weighted
        Look at the weighted count; the ``argus`` profile always does where there are weights.
    zeros
        Count records of magnitudes whose value is zero, too, as some programs do.
    below_one
        Allow a range below one per cent.
    tables
        Names of the tables it is for; all when empty.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> people = pa.table({"region": ["N", "N", "N", "E"]})
    >>> table = ds.tabulate(people, by={"region": ds.Hierarchy.flat(["N", "E"])}).assess(ds.MinFrequency(3))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['region=E']
    """

    kind: ClassVar[str] = "min_frequency"
    n: int
    range: float = DEFAULT_RANGE
    weighted: bool = False
    zeros: bool = False
    below_one: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.n, "n", self.kind)
        share_of(self.range, "range", self.kind, high=1000, below_one=self.below_one)

    def _frequency(self, table: Table, profile: str) -> tuple[Ints, Ints, int]:
        """All records, those that count, and what one of them is."""
        if table.weighted is not None and (self.weighted or profile == "argus"):
            return table.weighted, table.weighted, 10**table.weight_decimals
        if table.records is not None:
            return table.records, table.records if self.zeros or table.nonzero is None else table.nonzero, 1
        if _is_count(table):
            return table.value, table.value, 10**table.decimals
        if "holding" in table.contributions and not table.from_records:
            found = table.contributions["holding"]
            return found.count, found.count if self.zeros else with_value(found), 1
        raise NeedsError(
            f"Rule {self.kind!r} needs the number of records of each cell in table {table.name!r}.",
            hint="Please give from_cells a column 'contributors'.",
        )

    def evaluate(self, table: Table, profile: str) -> Finding:
        frequency, some, one = self._frequency(table, profile)
        few = _too_few(frequency, some, self.n * one)
        return _few(table, few, frequency // one, self.n, self.range, profile)

    def words(self, table: Table, row: int) -> str:
        profile = "handbook" if table.assessment is None else table.assessment.profile
        frequency, some, one = self._frequency(table, profile)
        besides = f" with a value, of {frequency[row] / one:g}" if some[row] < frequency[row] else ""
        return f"low frequency: {some[row] / one:g}{besides} (at least {self.n} needed)"


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

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> firms = pa.table({"region": ["N", "E"], "sales": [5, 0]})
    >>> table = ds.tabulate(firms, by={"region": ds.Hierarchy.flat(["N", "E"])}, value="sales").assess(ds.ZeroUnsafe())
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['region=E']
    """

    kind: ClassVar[str] = "zero_unsafe"
    range: float = 1.0
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        share_of(self.range, "range", self.kind, high=1e15, below_one=True)  # in units, not per cent

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
