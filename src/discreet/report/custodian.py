"""The custodian's report: what was unsafe, why, what was withheld, what it cost, what can be deduced, how to repeat."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.attack import Audit
from discreet.errors import ParameterError, counted
from discreet.model.arrays import Ints
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet
from discreet.relations import build_system
from discreet.report import findings, plots
from discreet.report.altered import altered_page
from discreet.report.cells import CellLine, CellList, cell_lines, secondary_cells, unsafe_cells
from discreet.report.compared import map_context
from discreet.report.deduction import Deduction, deductions
from discreet.report.heatmap import Heat
from discreet.report.levels import WITHHELD, LevelLine, loss_by_level, rule_heads, unsafe_by_level
from discreet.report.numbers import CodeShare, TableNumbers
from discreet.report.page import render
from discreet.report.patterns import pattern_heat
from discreet.report.repeat import log_text, python_steps, versions
from discreet.report.riskmap import RiskMap
from discreet.report.structure import structure_part
from discreet.report.words import parameters
from discreet.verify import Verdict, check_release

EXAMPLES_EACH = 3
CODES = 12
BARS = 15
TABLES_IN_IMAGE = 12
REFUSALS = 20


def custodian_report(
    release: Release,
    *,
    audit: Audit | None = None,
    recipe: str = "",
    verdict: Verdict | None = None,
    title: str = "",
    most_cells: int = 50,
    comparison: RiskMap | None = None,
) -> str:
    """A report on a release as one HTML page that needs nothing else. It holds confidential values.

    Parameters
    ----------
    release
        The release.
    audit
        The audit of the same release; without one the report shows what the certificates prove. So it does where the
        audit is of a sample, and says how much of it was looked at.
    recipe
        Text of the recipe that made the release.
    verdict
        Outcome of a check of the release; it is checked anew when left out.
    title
        Heading; the names of the tables when left out.
    most_cells
        How many unsafe and how many secondary cells of each table are listed.
    comparison
        What other methods would have done: ``ds.compare(...).risk_map``.

    Returns
    -------
    str
        The page. The same release gives the same text.

    Raises
    ------
    NeedsError
        When jinja2 or matplotlib is not installed.
    ParameterError
        When the audit is of another release.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> page = custodian_report(release, audit=ds.audit(release))
    >>> "for the custodian only" in page
    True
    """
    if isinstance(most_cells, bool) or not isinstance(most_cells, int) or most_cells < 0:
        raise ParameterError(f"most_cells={most_cells!r} is not allowed.", hint="Give a whole number of at least 0.")
    custodian = release.custodian
    checked = check_release(custodian, release.public) if verdict is None else verdict
    common = _common(release, audit, recipe, title, checked)
    common |= {"map": None} if comparison is None else map_context(comparison)
    if custodian.published is not None:
        return altered_page(custodian, checked, audit, most_cells, common)
    deduced = deductions(release, audit)
    numbers = [TableNumbers(t, s) for t, s in zip(custodian.tables, custodian.status, strict=True)]
    pictured = numbers[:TABLES_IN_IMAGE]
    caption = findings.status_caption(pictured)
    return render(
        "custodian.html",
        verdict=checked,
        state=findings.state(checked, deduced, audit),
        headline=findings.headline(numbers, deduced, checked, audit),
        answers=findings.answers(numbers, deduced, checked, bool(recipe), audit),
        tables=[ReportTable(n, d, most_cells) for n, d in zip(numbers, deduced, strict=True)],
        shared=_shared(custodian.tables, audit),
        loss_names=[name for name, _ in WITHHELD],
        equations=[str(equation) for equation in custodian.tables.equations],
        one_pattern=custodian.tables.one_pattern,
        status_image=plots.status_image(pictured, caption),
        status_caption=caption,
        images_left_out=len(numbers) - len(pictured),
        **common,
    )


def _common(release: Release, audit: Audit | None, recipe: str, title: str, verdict: Verdict) -> dict[str, Any]:
    """What every page of a custodian has: heading, refusals, audit, and how to repeat the work."""
    custodian = release.custodian
    return {
        "title": title or f"Disclosure control of {_names(custodian.tables)}",
        "refusals": verdict.refused[:REFUSALS],
        "refusals_more": max(len(verdict.refused) - REFUSALS, 0),
        "bounds": findings.bounds_words(custodian.tables.tables),
        "several": len(custodian.tables) > 1,
        "audited": audit is not None and not audit.not_audited and (audit.complete or custodian.published is not None),
        "not_audited": "" if audit is None else audit.not_audited,
        "audit": _audit_numbers(audit),
        "methods": [_method(e.method, e.claim.statement, e.effort) for e in custodian.evidence],
        "python": python_steps(custodian.tables, custodian.log),
        "log": log_text(custodian.log),
        "made_with": str(custodian.log.get("discreet", "unknown")),
        "recipe": recipe,
        "structure": structure_part(build_system(custodian.tables)),
        "versions": versions(),
    }


@dataclass(frozen=True, eq=False)
class ReportTable:
    """One table on the page: its numbers, lists and images, made when the template asks for them."""

    numbers: TableNumbers
    deduction: Deduction
    most: int

    @property
    def table(self) -> Table:
        """The table."""
        return self.numbers.table

    @property
    def what(self) -> str:
        """What the cells hold."""
        return "number of records" if self.table.spec.value is None else self.table.spec.value

    @cached_property
    def reasons(self) -> list[tuple[str, Any]]:
        """Every reason in words, with its counts."""
        return [(findings.reason_words(reason), reason) for reason in self.numbers.reasons]

    @cached_property
    def heat(self) -> Heat:
        """The pattern of the table as an image."""
        return pattern_heat(self.table, self.numbers.status)

    @property
    def rule_names(self) -> list[str]:
        """Heads of the columns of unsafe cells by rule."""
        return rule_heads(len(self.numbers.by_reason))

    @cached_property
    def by_level(self) -> list[LevelLine]:
        """Unsafe cells of each rule at each level."""
        return unsafe_by_level(self.table, self.numbers.by_reason, self.numbers.status)

    @cached_property
    def loss(self) -> list[LevelLine]:
        """What users lose at each level."""
        hidden = np.isin(self.numbers.status, (CellStatus.UNSAFE, CellStatus.SECONDARY))
        return loss_by_level(self.table, self.table.value, self.table.decimals, hidden, WITHHELD)

    @cached_property
    def examples(self) -> tuple[CellLine, ...]:
        """Some unsafe cells for every reason."""
        return cell_lines(self.table, self.deduction, self.numbers.examples(EXAMPLES_EACH).tolist())

    @cached_property
    def unsafe_cells(self) -> CellList:
        """Unsafe cells, largest first."""
        return unsafe_cells(self.numbers, self.deduction, self.most)

    @cached_property
    def secondary_cells(self) -> CellList:
        """Secondary cells, largest first."""
        return secondary_cells(self.numbers, self.deduction, self.most)

    @cached_property
    def codes(self) -> tuple[CodeShare, ...]:
        """Codes of the first variable of which most is withheld."""
        return self.numbers.largest_shares(CODES)

    @property
    def deduced(self) -> str:
        """What holds for the withheld cells, in words."""
        return findings.deduced_words(self.deduction)

    @cached_property
    def tightest(self) -> Ints:
        """The unsafe cells that the image of intervals shows."""
        return self.deduction.tightest(BARS)

    @cached_property
    def captions(self) -> dict[str, str]:
        """The finding that each image shows."""
        return {
            "levels": findings.level_caption(self.numbers),
            "widths": findings.width_caption(self.deduction),
            "intervals": findings.interval_caption(self.deduction, self.tightest),
        }

    @property
    def level_image(self) -> str:
        """Shares withheld by level."""
        return plots.level_image(self.numbers, self.captions["levels"])

    @property
    def width_image(self) -> str:
        """Widths of the intervals."""
        return plots.width_image(self.deduction, self.captions["widths"])

    @property
    def interval_image(self) -> str:
        """Required and remaining intervals."""
        return plots.interval_image(self.table, self.deduction, self.tightest, self.captions["intervals"])

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What the table is about, for the notes."""
        spec = self.table.spec
        shown = self.table.decimals if spec.decimals is None else spec.decimals
        return [
            ("Variables", ", ".join(f"{v} ({counted(len(h.codes), 'code')})" for v, h in spec.by.items())),
            ("Value", self.what),
            ("Universe", " and ".join(str(condition) for condition in spec.where) or "all records"),
            ("Weight", spec.weight or "none"),
            ("Period", spec.period or "not stated"),
            ("Decimals", f"{shown} published, {self.table.decimals} inside"),
            ("Source", "tabulated from records" if self.table.from_records else "ready-made cells"),
            ("Rules look at", _looked_at(self.table)),
            ("Additivity", _additivity(self.table)),
        ]


def _looked_at(table: Table) -> str:
    variable = table.spec.shadow or table.spec.value or "records"
    return f"absolute contributions of {variable}" if table.spec.absolute else f"contributions of {variable}"


def _additivity(table: Table) -> str:
    if not table.slack:
        return "all sums hold exactly"
    return "sums hold up to rounding" if table.slack < 0 else f"sums hold up to {table.slack} of the smallest unit"


def _names(tables: TableSet) -> str:
    names = [table.name for table in tables]
    return (
        ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {counted(len(names) - 3, 'more table')}"
    )


def _shared(tables: TableSet, audit: Audit | None) -> list[tuple[str, str, int]]:
    if len(tables) == 1:
        return []
    return (build_system(tables) if audit is None else audit.system).shared()


def _audit_numbers(audit: Audit | None) -> dict[str, Any]:
    if audit is None:
        return {}
    cells = audit.withheld_cells
    looked_at, unsafe = audit.sampled
    rows = []
    if audit.insiders is not None:
        rows += [("a contributor", audit.short_insiders, audit.recoverable_insiders)]
    if audit.together is not None:
        rows += [("two contributors together", audit.short_together, audit.recoverable_together)]
    return {
        "sampled": looked_at < unsafe,
        "looked_at": looked_at,
        "insiders": rows,
        "withheld": len(cells),
        "unsafe": int(audit.system.unsafe[cells].sum()),
        "recoverable": audit.recoverable,
        "short": audit.short,
        "attackers": audit.attackers,
        "told": None if audit.certain is None else (audit.told, audit.certain[1]),
        "undecided": audit.undecided,
        "not_considered": audit.not_considered,
    }


def _method(record: Any, statement: str, effort: Any) -> dict[str, str]:
    return {
        "name": str(record.get("method", "")),
        "parameters": parameters(record, leave_out=("method",)),
        "statement": statement,
        "effort": ", ".join(f"{name.replace('_', ' ')}: {number:,}" for name, number in effort.items())
        or "none counted",
    }
