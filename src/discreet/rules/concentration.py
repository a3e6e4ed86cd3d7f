"""Rules against large contributors: dominance, p%, prior-posterior, maximum share.

X is the cell's total, x1 >= x2 >= ... its contributions; with waivers x1 gives way to the largest contributor
without a waiver. The exact inequalities and levels stand in docs/design/0002-rules.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NeedsError, ParameterError, counted
from discreet.model.arrays import Bools, Ints
from discreet.model.table import Contributions, Table
from discreet.model.units import as_fraction
from discreet.rules.base import (
    Finding,
    Rule,
    ceiling,
    combine,
    contributions_for,
    in_proportion,
    refuse_negative,
    share_of,
    whole_number,
)

WEIGHTS = ("once", "ignore")


class Excess(NamedTuple):
    """How far cells are beyond a limit: ``amount / per`` units. Cells at the limit count with ``something`` in them."""

    amount: NDArray[Any]
    per: int
    something: NDArray[Any]


@dataclass(frozen=True)
class Concentration(Rule):
    """What rules of concentration have in common: how they take weights, and what they say of the limit itself."""

    @property
    @abstractmethod
    def top(self) -> int:
        """How many of the largest contributions the rule looks at."""

    @abstractmethod
    def excess(self, found: Contributions) -> Excess:
        """How far cells of these contributions are beyond the limit, exactly."""

    def breaks(self, found: Contributions) -> Bools:
        """Which cells of these contributions break the rule, whether a table holds them or not.

        With ``inclusive`` a cell at its limit is unsafe too, if there is something in it.
        """
        return self._broken(found, self.excess(found))

    def _broken(self, found: Contributions, excess: Excess) -> Bools:
        unsafe = np.asarray(excess.amount > 0, np.bool_)
        if getattr(self, "inclusive", False):
            unsafe |= np.asarray((excess.amount == 0) & (excess.something > 0), np.bool_)
        if found.unwaived is not None:
            unsafe &= found.unwaived >= 0
        return unsafe

    def evaluate(self, table: Table, profile: str) -> Finding:
        """Unsafe where the limit is exceeded and somebody does not consent; the excess is the level.

        Absolute contributions are in units of the value: a level of theirs must not shrink where positive and negative
        contributions cancel out. Only a shadow variable and a sum without weights ask for a proportion.
        """
        found = self.look(table, self.top)
        excess = self.excess(found)
        refuse_negative(table, found.negative, self)
        unsafe = self._broken(found, excess)
        level = np.zeros(len(table), np.int64)
        rows = np.flatnonzero(unsafe)
        if table.spec.shadow is None and not (table.spec.weight and getattr(self, "weights", None) == "ignore"):
            level[rows] = np.maximum(ceiling(excess.amount[rows], excess.per), 1)
        else:
            level[rows] = in_proportion(table.value[rows], found.total[rows], excess.amount[rows], excess.per)
        return Finding(unsafe, level, level)

    def look(self, table: Table, top: int) -> Contributions:
        """The contributions that the rule looks at, as it takes weights."""
        found = contributions_for(table, str(getattr(self, "level", "holding")), self, top)
        weights = getattr(self, "weights", None)
        if weights is None or not table.spec.weight:
            return found
        if found.own is None or found.own_total is None:
            raise NeedsError(
                f"Rule {self.kind!r} with weights={weights!r} needs contributions without their weights in table "
                f"{table.name!r}.",
                hint="Please tabulate from records with weight=; ready-made tables cannot say.",
            )
        return replace(found, top=found.own, total=found.own_total if weights == "ignore" else found.total)

    def check_common(self) -> None:
        """Refuse what cannot be meant by ``weights``."""
        weights = getattr(self, "weights", None)
        if weights is not None and weights not in WEIGHTS:
            raise ParameterError(
                f"{self.kind}: weights={weights!r} is not allowed.",
                hint="Use 'once' (each contribution once, of the weighted sum), 'ignore' (no weights at all), or leave "
                "it out: a contribution counts as often as it weighs.",
            )


def protected_and_coalition(found: Contributions, others: int) -> tuple[Ints, Ints]:
    """The contribution to protect, and its sum with the ``others`` largest of the rest."""
    first = found.top[:, : others + 1].sum(axis=1)
    if found.unwaived is None:
        return found.top[:, 0], first
    largest = found.unwaived  # -1 where all have waived: such a cell is safe in any case
    in_list = largest >= found.top[:, others]
    return largest, np.where(in_list, first, largest + found.top[:, :others].sum(axis=1))


def _gap(found: Contributions, share: Fraction, others: int) -> Excess:
    """Too much where the rest of the cell is less than ``share`` of the protected contribution."""
    largest, together = protected_and_coalition(found, others)
    short = combine((share.numerator, largest), (share.denominator, together), (-share.denominator, found.total))
    return Excess(short, share.denominator, largest)


def _dominance(found: Contributions, share: Fraction, n: int) -> Excess:
    """Too much where the ``n`` largest hold more than ``share`` of the cell."""
    _, together = protected_and_coalition(found, n - 1)
    excess = combine((share.denominator, together), (-share.numerator, found.total))
    return Excess(excess, share.numerator, together)


@dataclass(frozen=True)
class PPercent(Concentration):
    """p% rule: unsafe when X - x1 - x2 < p/100 x1, so that the second can work out the first within p %.

    Parameters
    ----------
    p
        Percentage.
    coalition
        How many of the other contributors put their knowledge together.
    level
        ``"holding"`` or ``"record"``.
    inclusive
        Unsafe at exactly the limit, too.
    weights
        With sampling weights a contribution counts as often as it weighs. ``"once"`` takes each contribution once
        against the weighted sum; ``"ignore"`` leaves weights out of both.
    below_one
        Allow a percentage below one.
    tables
        Names of the tables it is for; all when empty.

    Examples
    --------
    >>> PPercent(10).record()
    {'kind': 'p_percent', 'p': 10, 'coalition': 1, 'level': 'holding'}
    """

    kind: ClassVar[str] = "p_percent"
    p: float
    coalition: int = 1
    level: str = "holding"
    inclusive: bool = False
    weights: str | None = None
    below_one: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        self.check_common()
        share_of(self.p, "p", self.kind, below_one=self.below_one)
        whole_number(self.coalition, "coalition", self.kind)

    @property
    def top(self) -> int:
        return self.coalition + 1

    @property
    def share(self) -> Fraction:
        """How closely others may come to a contribution, as a share of it."""
        return as_fraction(self.p) / 100

    def excess(self, found: Contributions) -> Excess:
        return _gap(found, self.share, self.coalition)

    def words(self, table: Table, row: int) -> str:
        found = self.look(table, self.top).at(np.array([row]))
        largest, together = protected_and_coalition(found, self.coalition)
        if int(found.count[0]) == 1:
            return f"p% rule: there is one contributor, and the cell's value is its contribution (limit {self.p:g} %)"
        rest = _percent(int(found.total[0]) - int(together[0]), int(largest[0]))
        who = (
            "the second largest contributor"
            if self.coalition == 1
            else f"{counted(self.coalition, 'contributor')} together"
        )
        return f"p% rule: {who} can work out the largest within {rest} (limit {self.p:g} %)"


@dataclass(frozen=True)
class PriorPosterior(Concentration):
    """(p, q) rule: unsafe when X - x1 - x2 < p/q x1, where everybody knew each contribution within q % before.

    ``inclusive``, ``weights`` and ``below_one`` are those of :class:`PPercent`.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PriorPosterior(10, 100))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['trade=retail, region=South']
    """

    kind: ClassVar[str] = "prior_posterior"
    p: float
    q: float = 100
    coalition: int = 1
    level: str = "holding"
    inclusive: bool = False
    weights: str | None = None
    below_one: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        self.check_common()
        share_of(self.q, "q", self.kind, high=10_000, below_one=self.below_one)
        share_of(self.p, "p", self.kind, high=10_000, below_one=self.below_one)
        whole_number(self.coalition, "coalition", self.kind)
        if self.p > self.q:
            raise ParameterError(
                f"prior_posterior: p={self.p} is larger than q={self.q}.",
                hint="Knowledge after publication (p) cannot be asked to be vaguer than before (q).",
            )

    @property
    def top(self) -> int:
        return self.coalition + 1

    @property
    def share(self) -> Fraction:
        """How closely others may come to a contribution, as a share of it, if nobody knew of the rest before."""
        return as_fraction(self.p) / as_fraction(self.q)

    def excess(self, found: Contributions) -> Excess:
        return _gap(found, self.share, self.coalition)

    def words(self, table: Table, row: int) -> str:
        found = self.look(table, self.top).at(np.array([row]))
        largest, together = protected_and_coalition(found, self.coalition)
        rest = _percent((int(found.total[0]) - int(together[0])) * as_fraction(self.q) / 100, int(largest[0]))
        return f"(p,q) rule: the largest contribution can be worked out within {rest} (limit {self.p:g} %)"


@dataclass(frozen=True)
class Dominance(Concentration):
    """(n, k) rule: unsafe when the n largest contributors hold more than k % of the cell (``inclusive``: k % or more).

    ``weights`` and ``below_one`` are those of :class:`PPercent`.

    Examples
    --------
    The largest firm of retail in the south has 180 of 200:

    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.Dominance(1, 75))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['trade=retail, region=South']
    """

    kind: ClassVar[str] = "dominance"
    n: int
    k: float
    level: str = "holding"
    inclusive: bool = False
    weights: str | None = None
    below_one: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.n, "n", self.kind)
        if isinstance(self.k, bool) or not isinstance(self.k, int | float) or not 0 < self.k < 100:
            raise ParameterError(f"dominance: k={self.k!r} is not allowed.", hint="Use more than 0, below 100.")
        share_of(self.k, "k", self.kind, below_one=self.below_one)
        self.check_common()

    @property
    def top(self) -> int:
        return self.n

    def excess(self, found: Contributions) -> Excess:
        return _dominance(found, as_fraction(self.k) / 100, self.n)

    def words(self, table: Table, row: int) -> str:
        found = self.look(table, self.top).at(np.array([row]))
        _, together = protected_and_coalition(found, self.n - 1)
        held = _percent(int(together[0]), int(found.total[0]))
        who = "the largest contributor holds" if self.n == 1 else f"the {self.n} largest contributors hold"
        return f"dominance: {who} {held} of the cell (limit {self.k:g} %)"


@dataclass(frozen=True)
class MaxShare(Concentration):
    """Maximum share: unsafe when one contributor holds more than this share (0 to 1) of the cell.

    ``inclusive`` and ``weights`` are those of :class:`PPercent`.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.MaxShare(0.75))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['trade=retail, region=South']
    """

    kind: ClassVar[str] = "max_share"
    share: float
    level: str = "holding"
    inclusive: bool = False
    weights: str | None = None
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        if not isinstance(self.share, int | float) or not 0 < self.share < 1:
            raise ParameterError(f"max_share: share={self.share!r} is not allowed.", hint="Use more than 0, below 1.")
        self.check_common()

    @property
    def top(self) -> int:
        return 1

    def excess(self, found: Contributions) -> Excess:
        return _dominance(found, as_fraction(self.share), 1)

    def words(self, table: Table, row: int) -> str:
        found = self.look(table, self.top).at(np.array([row]))
        largest, _ = protected_and_coalition(found, 0)
        held = _percent(int(largest[0]), int(found.total[0]))
        return f"maximum share: one contributor holds {held} of the cell (limit {100 * self.share:g} %)"


def _percent(part: int | Fraction, whole: int) -> str:
    return f"{100 * float(part) / whole:.1f} %" if whole else "0 %"
