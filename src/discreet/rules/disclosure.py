"""Rules for counts that tell something about a whole group, and the request rule of foreign trade."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, unknown_name
from discreet.model.arrays import Bools, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.model.units import as_fraction
from discreet.rules.base import (
    Finding,
    Rule,
    combine,
    contributions_for,
    percent_of,
    refuse_negative,
    share_of,
    whole_number,
)
from discreet.rules.frequency import DEFAULT_RANGE


@dataclass(frozen=True)
class GroupDisclosure(Rule):
    """Unsafe when all of a group, but for at most ``k``, stand in one category of ``variable``.

    Whoever knows that a person belongs to the group then knows the category; with ``k`` greater than zero this
    holds for a coalition of ``k`` outsiders of the category. Withholding the category is not enough: the cells of
    the other categories tell the same. So one of them, the fullest, must seem to hold more than ``k``. Codes that stand
    for "unknown" are no secret and make no group.

    Parameters
    ----------
    variable
        Variable whose categories are the secret.
    k
        How many members of the group may put their knowledge together.
    unknown
        Take codes that stand for "unknown" as categories and groups as well.
    tables
        Names of the tables it is for; all when empty.

    Examples
    --------
    Everybody in the east has the illness:

    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> people = pa.table({"region": ["N", "N", "E", "E"], "ill": ["yes", "no", "yes", "yes"]})
    >>> region, ill = ds.Hierarchy.flat(["N", "E"]), ds.Hierarchy.flat(["yes", "no"])
    >>> table = ds.tabulate(people, by={"region": region, "ill": ill}, cells="all").assess(ds.GroupDisclosure("ill"))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['region=E, ill=yes', 'region=E, ill=no']
    """

    kind: ClassVar[str] = "group_disclosure"
    variable: str
    k: int = 0
    unknown: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        whole_number(self.k, "k", self.kind, least=0)
        if not isinstance(self.variable, str):
            raise ParameterError(f"{self.kind}: variable={self.variable!r} is not allowed.", hint="Give its name.")

    def evaluate(self, table: Table, profile: str) -> Finding:
        one = 10**table.decimals
        enough = (self.k + 1) * one
        rest = self._rest(table)
        full = (rest >= 0) & (rest <= self.k * one)
        witness, known = self._witnesses(table, np.flatnonzero(full), enough)
        full[known] = False
        lower = np.where(full, np.minimum(enough - rest, table.value), 0)
        upper = np.zeros(len(table), np.int64)
        upper[witness] = np.maximum(enough - table.value[witness], 0)
        return Finding(full | (upper > 0), lower, upper)

    def _rest(self, table: Table) -> Ints:
        """Members of the group outside the cell's category, -1 where the cell is no category of a group."""
        hierarchy, k = self._secret(table)
        whole = hierarchy.position(str(hierarchy.total))
        total = table.codes.copy()
        total[:, k] = whole
        at = table.find(total)
        category = (hierarchy.same_as[table.codes[:, k]] != hierarchy.same_as[whole]) & (table.value > 0)
        for j, other in enumerate(table.spec.hierarchies):  # a difference is no group of people
            category &= ~_subtracts(other)[table.codes[:, j]]
            if not self.unknown:
                category &= ~_unknown(other)[table.codes[:, j]]
        if (category & (at < 0)).any():
            raise NeedsError(f"Rule {self.kind!r} needs the totals of {self.variable!r} in table {table.name!r}.")
        return np.where(category, table.value[at] - table.value, -1)

    def _secret(self, table: Table) -> tuple[Hierarchy, int]:
        """The hierarchy of the variable and its place in the table."""
        if table.spec.value is not None:
            raise ParameterError(
                f"Rule {self.kind!r} is for counts; table {table.name!r} sums {table.spec.value!r}.",
                hint="Restrict it with tables=[...].",
            )
        if self.variable not in table.spec.by:
            raise ParameterError(unknown_name("variable", self.variable, table.variables, f"table {table.name!r}"))
        hierarchy = table.spec.by[self.variable]
        if hierarchy.total is None:
            raise NeedsError(
                f"Rule {self.kind!r} needs a total of {self.variable!r} to know the size of the groups.",
                hint="Please give its hierarchy a total.",
            )
        return hierarchy, table.variables.index(self.variable)

    def _witnesses(self, table: Table, rows: Ints, enough: int) -> tuple[Ints, Ints]:
        """Cells that must seem fuller, and rows whose secret everybody knows from the bounds of the other cells."""
        hierarchy, k = self._secret(table)
        room = table.attacker_bounds()[1]
        best = np.full(len(rows), -1, np.int64)
        listed, open_ = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
        for code in np.unique(table.codes[rows, k]).tolist():
            mine = np.flatnonzero(table.codes[rows, k] == code)
            for other in np.flatnonzero(_apart(hierarchy, code)).tolist():
                codes = table.codes[rows[mine]]
                codes[:, k] = other
                at = table.find(codes)
                there = at >= 0
                listed[mine] |= there
                open_[mine] |= there & (room[at] > table.value[at])
                so_far = best[mine]
                fuller = (so_far < 0) | (table.value[at] > table.value[so_far])
                # Among equals one that can be filled without filling cells above it that are empty, too.
                equal = there & (so_far >= 0) & (table.value[at] == table.value[so_far])
                fuller[equal] = _empty_above(table, at[equal]) < _empty_above(table, so_far[equal])
                best[mine] = np.where(there & (room[at] >= enough) & fuller, at, so_far)
        lost = ~listed | (open_ & (best < 0))
        if lost.any():
            raise NeedsError(
                f"Rule {self.kind!r} cannot protect {counted(int(lost.sum()), 'cell')} of table {table.name!r}: no "
                "cell of "
                f"another {self.variable!r} is there to be withheld, so the table tells that nobody has one.",
                hint="Please tabulate with cells='all'."
                if table.from_records
                else "Please give the cells that nobody is in, with value 0; with upper_bound 0 where nobody can be.",
                details=f"The first is {table.cell_name(int(rows[np.argmax(lost)]))}.",
            )
        return np.unique(best[best >= 0]), rows[best < 0]

    def words(self, table: Table, row: int) -> str:
        rest = self._rest(table)
        one = 10**table.decimals
        if 0 <= rest[row] <= self.k * one:
            return f"group disclosure: all but {rest[row] / one:g} of the group have the same {self.variable}"
        return f"group disclosure: it would tell that nearly all of the group have another {self.variable}"


def _apart(hierarchy: Hierarchy, code: int) -> Bools:
    """Codes that have no base code in common with this one and subtract nothing."""
    start, base, _ = hierarchy.cover
    shared = np.isin(base, base[start[code] : start[code + 1]])
    return ~_some(hierarchy, shared) & ~_subtracts(hierarchy)


def _unknown(hierarchy: Hierarchy) -> Bools:
    """Codes that stand for "unknown", or cover nothing else."""
    stands = np.array([code in hierarchy.missing for code in hierarchy.codes], np.bool_)
    return stands | ~_some(hierarchy, ~stands[hierarchy.cover[1]])


def _empty_above(table: Table, rows: Ints) -> Ints:
    """How many of the cells that contain each cell are empty, too: to fill it, they would have to seem fuller."""
    result = np.zeros(len(rows), np.int64)
    above: list[dict[int, list[int]]] = [
        {code: _containing(h, code) for code in np.unique(table.codes[rows, k]).tolist()}
        for k, h in enumerate(table.spec.hierarchies)
    ]
    for i in np.flatnonzero(table.value[rows] == 0).tolist():
        codes = [above[k][code] for k, code in enumerate(table.codes[rows[i]].tolist())]
        cells = np.array(list(product(*codes)), np.int32)
        at = table.find(cells)
        result[i] = int(((at >= 0) & (table.value[at] == 0)).sum())
    return result


def _containing(hierarchy: Hierarchy, code: int) -> list[int]:
    """The code and all others that cover what it covers."""
    start, base, _ = hierarchy.cover
    mine = base[start[code] : start[code + 1]]
    owner = np.repeat(np.arange(len(hierarchy)), np.diff(start))
    shared = np.bincount(owner[np.isin(base, mine)], minlength=len(hierarchy))
    return np.flatnonzero(shared == len(mine)).tolist()


def _subtracts(hierarchy: Hierarchy) -> Bools:
    """Codes that subtract some base code."""
    return _some(hierarchy, hierarchy.cover[2] < 0)


def _some(hierarchy: Hierarchy, chosen: Bools) -> Bools:
    """Codes of which some entry of the cover is chosen."""
    owner = np.repeat(np.arange(len(hierarchy)), np.diff(hierarchy.cover[0]))
    return np.greater(np.bincount(owner[chosen], minlength=len(hierarchy)), 0)


@dataclass(frozen=True)
class Request(Rule):
    """Request rule: protects those who asked for it.

    A cell is unsafe when a contributor with request code 1 holds more than ``p1`` per cent of it, or one with code 2
    more than ``p2`` per cent, or when somebody asked and the cell has fewer than ``n`` contributors.

    Parameters
    ----------
    p1, p2
        Percentages; without ``p2`` both codes have ``p1``.
    n
        Least number of contributors beside whom a request is safe.
    range
        Protection level in per cent of the value.
    level
        ``"holding"`` or ``"record"``.
    below_one
        Allow percentages below one.
    tables
        Names of the tables it is for; all when empty.

    Examples
    --------
    >>> import discreet as ds
    >>> import pyarrow as pa
    >>> firms = pa.table({"region": ["N", "N", "E", "E"], "sales": [50, 50, 90, 10], "asked": [0, 0, 1, 0]})
    >>> data = ds.Microdata(firms, request="asked")
    >>> table = ds.tabulate(data, by={"region": ds.Hierarchy.flat(["N", "E"])}, value="sales").assess(ds.Request(80))
    >>> [table.cell_name(row) for row in table.unsafe.nonzero()[0]]
    ['region=E']
    """

    kind: ClassVar[str] = "request"
    p1: float
    p2: float | None = None
    n: int = 1
    range: float = DEFAULT_RANGE
    level: str = "holding"
    below_one: bool = False
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        share_of(self.p1, "p1", self.kind, below_one=self.below_one)
        if self.p2 is not None:
            share_of(self.p2, "p2", self.kind, below_one=self.below_one)
        whole_number(self.n, "n", self.kind)
        share_of(self.range, "range", self.kind, high=1000, below_one=self.below_one)

    def evaluate(self, table: Table, profile: str) -> Finding:
        found = contributions_for(table, self.level, self)
        if found.requested is None:
            raise NeedsError(
                f"Rule {self.kind!r} needs to know who asked for protection in table {table.name!r}.",
                hint="Please give the column request= (0, 1 or 2) to Microdata and tabulate."
                if table.from_records
                else "Please tabulate from records with the column request= (0, 1 or 2): ready-made tables cannot say.",
            )
        asked = (found.requested >= 0).any(axis=1)
        refuse_negative(table, asked & found.negative, self)
        unsafe = asked & (found.count < self.n)
        for j, p in enumerate((self.p1, self.p1 if self.p2 is None else self.p2)):
            share = as_fraction(p) / 100
            excess = combine((share.denominator, found.requested[:, j]), (-share.numerator, found.total))
            unsafe |= (found.requested[:, j] >= 0) & (excess > 0).astype(np.bool_)
        level = np.where(unsafe, percent_of(table.value, self.range), 0)
        return Finding(unsafe, level, level)

    def words(self, table: Table, row: int) -> str:
        return "request: a contributor who asked for protection is too large here, or too few are with it"
