"""What an attacker can still deduce of the withheld cells of a table: from an audit, or as far as proofs show it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.attack import Audit
from discreet.attack.intervals import TOLERANCE
from discreet.errors import ParameterError
from discreet.files.table_folder import proven_interval
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.custodian import TableCustodian
from discreet.model.release import Release
from discreet.model.table import CellStatus

WIDTH_CLASSES = (
    "known exactly",
    "up to 10 %",
    "10 to 20 %",
    "20 to 50 %",
    "50 to 100 %",
    "100 to 200 %",
    "more than 200 %",
    "no limit",
    "value is zero",
)
_ENDS = np.array((0.1, 0.2, 0.5, 1.0, 2.0))


@dataclass(frozen=True, eq=False)
class Deduction:
    """Intervals of the withheld cells of one table, in units of the table.

    Parameters
    ----------
    rows
        Rows of the withheld cells.
    unsafe
        Which of them are unsafe.
    value
        Their values.
    lower, upper
        The attacker's interval (``realised``), or what the certificates show to be possible; may be infinite.
    need_below, need_above
        Protection levels: distances from the value that must stay possible; zero for secondary cells.
    realised
        Whether an audit computed the intervals; otherwise the true ones may be wider.
    kind
        What the cells are called: ``withheld``, or ``unsafe`` where nothing is withheld.
    """

    rows: Ints
    unsafe: Bools
    value: Floats
    lower: Floats
    upper: Floats
    need_below: Floats
    need_above: Floats
    realised: bool
    kind: str = "withheld"

    @property
    def _tolerance(self) -> Floats:
        return TOLERANCE * np.maximum(1.0, np.abs(self.value))

    @property
    def exact(self) -> Bools:
        """Cells whose interval is a single value."""
        return (self.upper - self.lower) <= self._tolerance

    @property
    def short(self) -> Bools:
        """Unsafe cells whose interval misses their level."""
        below = self.need_below - (self.value - self.lower) > self._tolerance
        above = self.need_above - (self.upper - self.value) > self._tolerance
        return self.unsafe & (below | above)

    @cached_property
    def margin(self) -> Floats:
        """How many times the required distance the attacker's interval reaches on its tighter side.

        Infinite where no distance is required.
        """
        result = np.full(len(self.rows), np.inf)
        for need, reach in ((self.need_below, self.value - self.lower), (self.need_above, self.upper - self.value)):
            asked = need > 0
            result[asked] = np.minimum(result[asked], reach[asked] / need[asked])
        return result

    @cached_property
    def width_class(self) -> Ints:
        """For every cell the number of its class in ``WIDTH_CLASSES``: width of the interval against the value."""
        nonzero = self.value != 0
        width = self.upper - self.lower
        relative = np.where(nonzero, width / np.where(nonzero, np.abs(self.value), 1.0), 0.0)
        result = np.searchsorted(_ENDS, relative, side="left").astype(np.int64) + 1
        result[~nonzero] = WIDTH_CLASSES.index("value is zero")
        result[np.isinf(width)] = WIDTH_CLASSES.index("no limit")
        result[self.exact] = 0
        return result

    def width_counts(self) -> list[tuple[str, int, int]]:
        """For every width class that occurs: its name, unsafe cells, secondary cells."""
        size = len(WIDTH_CLASSES)
        unsafe = np.bincount(self.width_class[self.unsafe], minlength=size).tolist()
        others = np.bincount(self.width_class[~self.unsafe], minlength=size).tolist()
        names = [self.exact_name, *WIDTH_CLASSES[1:]]
        return [(n, u, o) for n, u, o in zip(names, unsafe, others, strict=True) if u or o or n != "value is zero"]

    @property
    def exact_name(self) -> str:
        """What a single value means: known to the attacker, or only not shown to be otherwise."""
        return WIDTH_CLASSES[0] if self.realised else "no freedom shown"

    def tightest(self, most: int) -> Ints:
        """Positions of the unsafe cells with the smallest margins, at most ``most``; none of value zero."""
        unsafe = np.flatnonzero(self.unsafe & (self.value != 0))
        return unsafe[np.argsort(self.margin[unsafe], kind="stable")][:most]


def deductions(release: Release, audit: Audit | None) -> list[Deduction]:
    """What can be deduced of every table of a release: from a complete audit, or as far as certificates show it.

    Raises
    ------
    ParameterError
        When the audit is of other tables or of another pattern.
    """
    custodian = release.custodian
    if audit is not None:
        _refuse_other(custodian, audit)
    # An audit that left cells or ends of intervals out says nothing of them; the certificates do.
    whole = audit if audit is not None and audit.complete else None
    return [_of_table(custodian, number, whole) for number in range(len(custodian.tables))]


def altered_deduction(custodian: TableCustodian, number: int, audit: Audit | None) -> Deduction | None:
    """What can be deduced of the unsafe cells of a table with altered values; None where no audit tells it."""
    if audit is None or not audit.intervals.exact:
        return None
    table = custodian.tables.tables[number]
    rows = np.flatnonzero(table.unsafe)
    found = table.assessment
    looked_at = np.isin(audit.system.of[number][rows], audit.intervals.cells[audit.intervals.looked_at])
    if found is None or not len(rows) or not looked_at.all():
        return None
    lower, upper = _audited(audit, number, rows, table.decimals)
    return Deduction(
        rows=rows,
        unsafe=np.ones(len(rows), np.bool_),
        value=table.value[rows].astype(np.float64),
        lower=lower,
        upper=upper,
        need_below=found.lower[rows].astype(np.float64),
        need_above=found.upper[rows].astype(np.float64),
        realised=True,
        kind="unsafe",
    )


def _of_table(custodian: TableCustodian, number: int, audit: Audit | None) -> Deduction:
    table = custodian.tables.tables[number]
    rows = np.flatnonzero(custodian.withheld(number))
    if audit is None:
        proven = proven_interval(custodian, number)
        lower, upper = (bound[rows].astype(np.float64) for bound in proven)
    else:
        lower, upper = _audited(audit, number, rows, table.decimals)
    unsafe = custodian.status[number][rows] == CellStatus.UNSAFE
    found = table.assessment
    none = np.zeros(len(table), np.int64)
    below, above = (none, none) if found is None else (found.lower, found.upper)
    return Deduction(
        rows=rows,
        unsafe=unsafe,
        value=table.value[rows].astype(np.float64),
        lower=lower,
        upper=upper,
        need_below=np.where(unsafe, below[rows], 0).astype(np.float64),
        need_above=np.where(unsafe, above[rows], 0).astype(np.float64),
        realised=audit is not None,
    )


def _audited(audit: Audit, number: int, rows: Ints, decimals: int) -> tuple[Floats, Floats]:
    """Intervals of some rows of a table; a cell that another table publishes is known exactly."""
    system, found = audit.system, audit.intervals
    cells = system.of[number][rows]
    scale = 10.0 ** (system.decimals - decimals)
    lower = system.value[cells].astype(np.float64)
    upper = lower.copy()
    if len(found.cells):
        at = np.minimum(np.searchsorted(found.cells, cells), len(found.cells) - 1)
        there = found.cells[at] == cells
        lower[there], upper[there] = found.lower[at[there]], found.upper[at[there]]
    return lower / scale, upper / scale


def _refuse_other(custodian: TableCustodian, audit: Audit) -> None:
    """The audit must be of the same cells and of the same withheld ones."""
    mine, theirs = custodian.whole.tables, audit.system.tables.tables
    same = [t.name for t in mine] == [t.name for t in theirs] and all(
        np.array_equal(a.value, b.value) and np.array_equal(a.codes, b.codes) for a, b in zip(mine, theirs, strict=True)
    )
    if same:
        hidden = audit.system.withheld([custodian.withheld(number) for number in range(len(custodian.tables))])
        same = np.array_equal(np.flatnonzero(hidden), audit.intervals.cells)
    if not same:
        raise ParameterError(
            "The audit is of another release: its tables or its withheld cells differ.",
            hint="Give the audit of this release: ds.audit(release).",
        )
