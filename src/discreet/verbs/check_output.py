"""Output checking: what a published table of any origin gives away, and whether it keeps what its true cells need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.attack.holes import Holes, hole_intervals
from discreet.errors import InputError, ParameterError, counted, listed
from discreet.files.foreign import MARKS, ForeignCells, read_published
from discreet.files.frames import to_frame
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import CellStatus, Table
from discreet.relations import System, build_system
from discreet.verbs.audit import audit
from discreet.verbs.output_page import Page, decimals_of
from discreet.verbs.published_sums import Inferred, infer_codes
from discreet.verify.verdict import Verdict
from discreet.watching import watched

NEAR = 1e-6
"""Share of a value (at least one) that ends in floating point may be off."""
EVERY_CELL = 2_000
"""Up to so many cells, shown cells that are only known within something are looked at too."""
OUTSIDER = "external: knows this publication, all relations between its cells{}"
NAMED = 5
UNSAFE_SUMS = "sums of withheld cells that are unsafe themselves"


@dataclass(frozen=True, eq=False)
class OutputCheck:
    """What was found of a published table: a verdict, and intervals of the cells that were looked at.

    ``cells`` names them, ``value`` is the true value (not a number where nobody gave it).
    """

    verdict: Verdict
    cells: tuple[str, ...]
    lower: Floats
    upper: Floats
    recomputed: Bools
    value: Floats

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the publication."""
        return self.verdict.holds

    def columns(self) -> dict[str, list[Any]]:
        """One row per cell that was looked at."""
        return {
            "cell": list(self.cells),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "recomputed": self.recomputed.tolist(),
            "true_value": [None if np.isnan(v) else v for v in self.value.tolist()],
        }

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """All intervals as a data frame: confidential where cells can be recomputed."""
        return to_frame(self.columns(), backend)

    def summary(self) -> str:
        """The verdict in words; it names cells, and none of their values."""
        first, *rest = str(self.verdict).splitlines()
        return "\n".join(["Nothing was found against this publication." if self.holds else first, *rest])

    __repr__ = summary


@watched
def check_output(
    published: Any,
    by: Mapping[str, Hierarchy | None] | Sequence[str],
    value: str = "value",
    *,
    true: Table | None = None,
    counts: bool = False,
    within: float | Literal["rounded"] = 0.0,
    smallest: int | None = None,
    signed: bool = False,
    missing: Literal["zero", "withheld"] = "zero",
    total: str | None = "Total",
    classes: bool = False,
    withheld: Sequence[str] = MARKS,
    delimiter: str = ",",
    sheet: str | None = None,
) -> OutputCheck:
    """Check a published table with holes, whoever made it.

    Parameters
    ----------
    published
        A csv or xlsx file or a frame: code columns and values, or a cross of two variables. Withheld cells are empty or
        hold one of the marks in ``withheld``.
    by
        Variable to hierarchy. Without a hierarchy, totals and subtotals are found by adding up, or by ``total`` and
        other usual names; what was taken for a total stands in the verdict.
    value
        Column of values.
    true
        The true cells, where the checker has them; assessed, so that unsafe cells and their levels are known.
    counts
        Whether values are whole numbers.
    within
        How far true values may lie from shown ones: 0, the base less one for rounding to a base, the largest change of
        bounded noise, or ``"rounded"`` for half a unit of the last decimal.
    smallest
        Counts from 1 to one less than this must not be shown; without it the verdict says how many 1 and 2 are.
    signed
        Whether values may be negative; otherwise everybody knows that they are not.
    missing
        What finest cells are that the table does not list: known to be ``"zero"``, which is the stronger attacker, or
        ``"withheld"`` too. Totals that are not listed are withheld.
    total
        Code of totals where there is no hierarchy. ``None`` says that the table shows no totals; otherwise a table with
        holes in which none is found is refused, because what can be worked out of it is not known.
    classes
        Whether groups of counts must not stand wholly in one category; without it the verdict says how many do.
    withheld, delimiter, sheet
        Marks of withheld cells; separator of a csv file; sheet of an xlsx file.

    Returns
    -------
    OutputCheck
        A verdict that says what was found, against whom, and what was not considered; and all intervals.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = pa.table({"region": ["Total", "N", "S", "W"], "value": ["10", "4", "x", "3"]})
    >>> found = check_output(cells, ["region"])
    >>> found.holds, found.columns()["lower"]
    (False, [3.0])
    """
    _refuse(within, missing, smallest)
    read, hierarchies, inferred = _read(published, by, value, total, withheld, delimiter, sheet)
    page = Page.of(read, hierarchies, value, counts, missing, true)
    check = _Check(page, within, counts, signed, true)
    verdict = check.verdict
    check.file(read)
    check.publication(smallest)
    check.relations(inferred)
    check.additivity()
    check.other_names()
    check.classes(classes)
    found = check.intervals()
    if true is not None:
        check.against_truth(found)
    else:
        verdict.not_considered.append("which cells are unsafe: no true cells were given")
    verdict.not_considered.append("other publications")
    names = [check.system.cell_name(cell) for cell in found.cells.tolist()]
    known_true = check.truth[found.cells] if true is not None else np.full(len(found.cells), np.nan)
    again = check.recomputed(found)
    # Holes that stand elsewhere under another name are known.
    rows, cells = check.elsewhere, check.system.of[0][check.elsewhere]
    names += [page.table.cell_name(row) for row in rows.tolist()]
    return OutputCheck(
        verdict,
        tuple(names),
        np.concatenate((found.lower, check.lower[cells])),
        np.concatenate((found.upper, check.upper[cells])),
        np.concatenate((again, np.ones(len(rows), np.bool_))),
        np.concatenate((known_true, check.truth[cells] if true is not None else np.full(len(rows), np.nan))),
    )


def published_hierarchies(
    published: Any,
    by: Mapping[str, Hierarchy | None] | Sequence[str],
    value: str = "value",
    *,
    total: str | None = "Total",
    withheld: Sequence[str] = MARKS,
    delimiter: str = ",",
    sheet: str | None = None,
) -> dict[str, Hierarchy]:
    """The hierarchies of a published table; where none is given, as its codes add up."""
    return _read(published, by, value, total, withheld, delimiter, sheet)[1]


def _read(
    published: Any,
    by: Mapping[str, Hierarchy | None] | Sequence[str],
    value: str,
    total: str | None,
    withheld: Sequence[str],
    delimiter: str,
    sheet: str | None,
) -> tuple[ForeignCells, dict[str, Hierarchy], dict[str, Inferred]]:
    given = dict(by) if isinstance(by, Mapping) else dict.fromkeys(by)
    if not given:
        raise ParameterError("There is no variable.", hint="Name the columns of codes.")
    lists = {name: h.codes for name, h in given.items() if h is not None}
    known = lists if len(lists) == len(given) else None
    read = read_published(
        published, list(given), value, code_lists=known, withheld=withheld, delimiter=delimiter, sheet=sheet
    )
    inferred = {
        name: infer_codes(read, k, total, _half_unit(read)) for k, (name, h) in enumerate(given.items()) if h is None
    }
    return read, {name: h or inferred[name].hierarchy for name, h in given.items()}, inferred


def _refuse(within: object, missing: object, smallest: object) -> None:
    if within != "rounded" and not (isinstance(within, int | float) and not isinstance(within, bool) and within >= 0):
        raise ParameterError(f"within={within!r} is not allowed.", hint="Give a distance of at least 0, or 'rounded'.")
    if missing not in ("zero", "withheld"):
        raise ParameterError(f"missing={missing!r} is not allowed.", hint="Use 'zero' or 'withheld'.")
    if smallest is not None and (isinstance(smallest, bool) or not isinstance(smallest, int) or smallest < 2):
        raise ParameterError(f"smallest={smallest!r} is not allowed.", hint="Give a whole number of at least 2.")


def _half_unit(read: ForeignCells) -> float:
    """Half a unit of the last decimal that is shown: sums of rounded numbers are found, too."""
    return 0.5 * 10.0 ** -max([0, *(decimals_of(v) for v in read.values if v is not None)])


class _Check:
    """The publication as a system of cells with what a reader knows of each."""

    def __init__(
        self, page: Page, within: float | Literal["rounded"], counts: bool, signed: bool, true: Table | None
    ) -> None:
        self.page, self.whole, self.true = page, counts, true
        self.system: System = build_system(page.table)
        self.verdict = Verdict()
        size = len(self.system)
        self.shown: Bools = np.zeros(size, np.bool_)
        self.shown[self.system.of[0][page.shown]] = True
        self.value = self.system.value / 10.0**page.decimals
        self.within = 0.5 * 10.0**-page.decimals if within == "rounded" else float(within)
        floor = -np.inf if signed else 0.0
        self.lower: Floats = np.where(self.shown, np.maximum(self.value - self.within, floor), floor)
        self.upper: Floats = np.where(self.shown, self.value + self.within, np.inf)
        if not signed and np.any(self.value[self.shown] < 0):
            raise InputError("The table shows negative values.", hint="Give signed=True.")
        self.truth: Floats = np.zeros(size)
        if true is not None:
            row = true.find(page.table.codes)
            there = row >= 0
            self.truth[self.system.of[0][there]] = true.values[row[there]]
        known = "" if signed else ", and that no value is negative"
        known += f", and that true values lie within {self.within:g} of shown ones" if self.within else ""
        self.verdict.attackers.append(OUTSIDER.format(known))

    def file(self, read: ForeignCells) -> None:
        """What the file holds besides the table."""
        for what in read.given_away:
            self.verdict.refuse("file", what, "take it out of the file")
        self.verdict.not_considered += [f"in the file: {what}" for what in read.not_read]

    def relations(self, inferred: Mapping[str, Inferred]) -> None:
        """Which sums were taken for known, and variables of which none is."""
        number, holes = self._relations().shape[0], int((~self.shown & self._listed()).sum())
        self.verdict.proved.append(f"{counted(number, 'relation', 'were')} used, between {len(self.system):,} cells")
        for variable, found in inferred.items():
            self.verdict.asserted += [f"that in {variable} {text}" for text in found.said]
            if found.found or not holes:
                continue
            if found.denied:
                self.verdict.asserted.append(f"that no code of {variable} is the total of others")
            else:
                self.verdict.refuse(
                    "relations",
                    f"no code of {variable} was found to be the sum of the others, so what holes tell is not known",
                    "give its hierarchy, or total= its code; total=None says that the table shows no totals",
                )

    def _listed(self) -> Bools:
        result = np.zeros(len(self.system), np.bool_)
        result[self.system.of[0][self.page.listed]] = True
        return result

    @property
    def elsewhere(self) -> Ints:
        """Rows that are withheld and shown under another name: a code with a single part, or two alike."""
        told = self.shown[self.system.of[0]]
        return np.flatnonzero(self.page.listed & ~self.page.shown & told)

    def other_names(self) -> None:
        """Holes that are shown under another name."""
        rows = self.elsewhere
        if len(rows):
            names = listed([self.page.table.cell_name(row) for row in rows.tolist()], NAMED)
            what = f"{counted(len(rows), 'withheld cell', 'are')} shown under another name that covers the same"
            self.verdict.refuse("recomputed", what, names)

    def classes(self, refuse: bool) -> None:
        """Groups of counts that stand wholly in one category: who knows a member knows its category."""
        if not self.whole:
            return
        matrix = self._relations().tocsr()
        full = []
        for row in range(matrix.shape[0]):
            cells, signs = (part[matrix.indptr[row] : matrix.indptr[row + 1]] for part in (matrix.indices, matrix.data))
            parent = cells[signs < 0] if (signs < 0).sum() == 1 else cells[signs > 0]
            if len(parent) != 1 or len(cells) < 3 or not self.shown[parent[0]] or self.value[parent[0]] <= 0:
                continue
            full += [
                int(cell)
                for cell in cells
                if cell != parent[0] and self.shown[cell] and self.value[cell] == self.value[parent[0]]
            ]
        cells = np.unique(np.array(full, np.int64))
        if refuse:
            self._against("classes", cells, "hold a whole group, which tells the category of everybody in it")
        else:
            number = counted(len(cells), "cell", "hold")
            self.verdict.not_considered.append(f"groups in one category (classes=True was not asked for): {number} one")

    def _names(self, cells: Ints) -> str:
        return listed([self.system.cell_name(cell) for cell in cells.tolist()], NAMED)

    def _against(self, check: str, cells: Ints, what: str) -> None:
        if len(cells):
            self.verdict.refuse(check, counted(len(cells), "cell", what), self._names(cells))

    def publication(self, smallest: int | None) -> None:
        """What the shown values are by themselves."""
        holes = int((~self.shown).sum())
        self.verdict.proved.append(
            f"{counted(int(self.shown.sum()), 'cell', 'are')} shown, {holes:,} withheld or not listed"
        )
        if smallest is not None:
            small = self.shown & (self.value > 0) & (self.value < smallest)
            self._against("small counts", np.flatnonzero(small), f"show counts below {smallest}")
        elif self.whole:
            few = int((self.shown & (self.value > 0) & (self.value < 3)).sum())
            self.verdict.not_considered.append(
                f"small counts (smallest= was not given): {counted(few, 'cell', 'show')} 1 or 2"
            )

    def additivity(self) -> None:
        """Relations between shown cells that do not hold."""
        matrix = self._relations()
        hidden = np.asarray(abs(matrix) @ (~self.shown).astype(np.int64))
        gap = np.abs(np.asarray(matrix @ np.where(self.shown, self.value, 0.0)))
        room = self.within * np.asarray(abs(matrix) @ np.ones(len(self.system)))
        wrong = np.flatnonzero((hidden == 0) & (gap > room + NEAR * np.maximum(1.0, gap)))
        if len(wrong):
            self.verdict.refuse(
                "additivity",
                f"{counted(len(wrong), 'sum of shown cells', 'do')} not add up",
                "give within= for a rounded or noisy table, or correct it",
            )

    def _relations(self) -> Any:
        """Relations, but those whose parts are not listed."""
        matrix = self.system.matrix
        return matrix[np.flatnonzero(np.diff(matrix.indptr) > 1)]

    def intervals(self) -> Holes:
        """What can be told of every hole; and of shown cells, where these are not the true values."""
        asked = ~self.shown
        if self.within and len(self.system) <= EVERY_CELL:
            asked = np.ones(len(self.system), np.bool_)
        if self.true is not None:
            asked = asked | self._unsafe()
        elif self.within and len(self.system) > EVERY_CELL:
            self.verdict.not_considered.append("shown cells: the table is too large to look at all of them")
        found = hole_intervals(self._relations(), self.lower, self.upper, asked, self.whole)
        if self.whole:
            found = found._replace(lower=np.ceil(found.lower - NEAR) + 0.0, upper=np.floor(found.upper + NEAR) + 0.0)
        self._against(
            "contradiction",
            found.cells[found.contradictory],
            "have no value that fits the rest (missing='withheld' if finest cells are left out, within= if values are "
            "rounded)",
        )
        self._against("undecided", found.cells[found.undecided], "could not be bounded, which counts as disclosed")
        since = len(self.verdict.refused)
        again = self.recomputed(found)
        self._against("recomputed", found.cells[again], "can be worked out exactly although withheld or altered")
        if not (found.contradictory.any() or found.undecided.any()):
            self.verdict.prove("no withheld or altered cell can be worked out exactly", since)
        return found

    def recomputed(self, found: Holes) -> Bools:
        """Cells whose ends meet. Shown cells that are known to be true are no news."""
        with np.errstate(invalid="ignore"):
            met = found.upper - found.lower <= NEAR * np.maximum(1.0, np.abs(found.lower))
        news = ~self.shown[found.cells] | (self.within > 0)
        result: Bools = met & news & ~found.contradictory & ~found.undecided
        return result

    def _unsafe(self) -> Bools:
        return self._per_cell(self._true().unsafe.astype(np.float64)) > 0

    def _per_cell(self, column: Floats) -> Floats:
        """A column of the true table on the cells of the publication."""
        row = self._true().find(self.page.table.codes)
        there = row >= 0
        result = np.zeros(len(self.system))
        np.maximum.at(result, self.system.of[0][there], column[row[there]])
        return result

    def _true(self) -> Table:
        assert self.true is not None
        return self.true

    def against_truth(self, found: Holes) -> None:
        """Shown values, unsafe cells and their levels, against the true cells."""
        true, verdict = self._true(), self.verdict
        since = len(verdict.refused)
        half = 0.5 * 10.0**-self.page.decimals
        gap = np.abs(self.value - self.truth)
        wrong = self.shown & (gap > self.within + half + NEAR * np.maximum(1.0, np.abs(self.truth)))
        self._against("values", np.flatnonzero(wrong), "show other values than the true ones")
        verdict.prove("shown values are the true ones, as far as stated", since)
        if not true.judged:
            verdict.not_considered.append("which cells are unsafe: no rule and no mark says it of the true table")
            return
        unsafe = self._unsafe()
        inside = np.zeros(len(true), np.bool_)
        row = true.find(self.page.table.codes)
        inside[row[row >= 0]] = True
        if np.any(true.unsafe & ~inside):
            verdict.asserted.append(
                f"{counted(int((true.unsafe & ~inside).sum()), 'unsafe cell', 'stand')} nowhere in the table"
            )
        if not self.within:
            self._against("published", np.flatnonzero(unsafe & self.shown), "are unsafe and shown")
        self._levels(found, unsafe)
        self._insiders(unsafe)

    def _levels(self, found: Holes, unsafe: Bools) -> None:
        true, since = self._true(), len(self.verdict.refused)
        assert true.assessment is not None
        unit = 10.0**true.decimals
        down, up, both = (
            self._per_cell(level / unit)
            for level in (true.assessment.lower, true.assessment.upper, true.assessment.sliding)
        )
        cells, value = found.cells, self.truth[found.cells]
        near = NEAR * np.maximum(1.0, np.abs(value))
        outside = (value < found.lower - near) | (value > found.upper + near)
        self._against(
            "bounds", cells[outside & ~found.contradictory], "have a true value outside what readers conclude"
        )
        with np.errstate(invalid="ignore"):
            short = (found.lower > value - down[cells] + near) | (found.upper < value + up[cells] - near)
            short |= found.upper - found.lower < both[cells] - near
        short &= unsafe[cells] & ~(self.shown[cells] & (self.within == 0)) & ~found.contradictory
        self._against("levels", cells[short], "are unsafe and known more closely than the level allows")
        if (
            not found.contradictory.any()
            and not found.undecided.any()
            and (self.within or not np.any(unsafe & self.shown))
        ):
            self.verdict.prove("every unsafe cell keeps its level against the outsider", since)

    def _insiders(self, unsafe: Bools) -> None:
        """Contributors who know their own contributions, and who stands behind sums of withheld cells.

        Where the shown values are the true ones and unsafe cells are not shown.
        """
        true, verdict = self._true(), self.verdict
        if self.within or np.any(unsafe & self.shown) or not true.contributions:
            verdict.not_considered += ["contributors who know their own contributions", UNSAFE_SUMS]
            return
        row = true.find(self.page.table.codes)
        there = row >= 0
        hidden = np.zeros(len(true), np.bool_)
        hidden[row[there]] = ~self.shown[self.system.of[0][there]]
        manual = np.zeros(len(true), np.int8) if true.manual is None else true.manual.copy()
        manual[hidden & ~true.unsafe & ~true.empty] = CellStatus.SECONDARY
        since = len(verdict.refused)
        found = audit(true.with_(manual=manual), exact=False)
        if found.short_insiders or found.recoverable_insiders:
            verdict.refuse(
                "insiders", f"{counted(found.short_insiders, 'unsafe cell', 'are')} short of the level against one"
            )
        if found.sums is None:
            verdict.not_considered.append(UNSAFE_SUMS)
        elif found.sums:
            what = f"{counted(len(found.sums), 'sum of withheld cells', 'are')} given away and unsafe"
            verdict.refuse("sums", what, "; ".join(found.sums[:NAMED]))
        if found.why_no_insiders:
            verdict.not_considered.append(f"contributors ({found.why_no_insiders})")
        verdict.attackers.extend(found.attackers[1:])
        verdict.prove("every unsafe cell keeps its level against the named attackers", since)
