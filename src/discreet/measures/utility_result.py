"""What is left of a file of records after its release: as text, frame, page and plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from discreet.errors import ParameterError, counted, unknown_name
from discreet.files.frames import to_frame
from discreet.measures.file_pair import ColumnStanding
from discreet.measures.margins import Association, Margin, TableDistance
from discreet.measures.matrix_battery import MATRICES, MatrixBattery
from discreet.measures.model_changes import ModelChange
from discreet.measures.propensity import Propensity
from discreet.measures.propensity_tree import TreePropensity
from discreet.measures.statistic_changes import ChangeLimits, StatisticChange
from discreet.measures.values import EigenvalueChanges, ValueLosses
from discreet.model.display import text_of_columns
from discreet.model.notebook import Chip, items, listing, page, sentence

if TYPE_CHECKING:
    from discreet.measures.public_utility import PublicUtility

UtilityPart = Literal[
    "findings", "columns", "statistics", "models", "tables", "margins", "pairs", "propensity", "battery", "losses",
    "checks",
]  # fmt: skip
PARTS: tuple[UtilityPart, ...] = get_args(UtilityPart)
SHOWN = 12
FEWEST_COLUMNS = 6
"""A file with fewer columns that can be analysed validly is not interesting (Winkler's words)."""
CORRELATION_KEPT, TABLE_KEPT = 0.1, 0.05
"""Changes of correlations, and of shares of tables, that leave a file valid."""


@dataclass(frozen=True)
class UtilityFinding:
    """One number about two files, where it is worst, and how to read it."""

    measure: str
    value: float
    what: str
    worst: str
    read: str


@dataclass(frozen=True, eq=False, repr=False)
class RecordUtility:
    """What analysts lose who have the released file in place of the original. It holds statistics of true values.

    Parameters
    ----------
    records
        How many records each file has.
    aligned
        Whether record ``i`` of one is record ``i`` of the other.
    weighted
        The column of weights, or nothing.
    columns
        What each column is in both files, and how it was compared.
    statistics
        Means, medians and others before and after, in all and by group.
    models
        Coefficients of models before and after.
    tables, failed_tables
        Distances of named tables, and why others have none.
    margins, pairs
        Distances of every column, and of every pair.
    logistic, tree
        How well a logistic model and a tree tell the files apart.
    battery, losses, eigenvalues
        Of the numbers: six matrices, robust locations and scatters, and eigenvalues.
    limits
        Which changes of statistics are called close, and which moved.
    notes
        What to know before using the numbers.
    importance
        How much columns count in findings and in the battery; 1 where one is not named.
    """

    records: tuple[int, int]
    aligned: bool
    weighted: str
    columns: tuple[ColumnStanding, ...]
    statistics: tuple[StatisticChange, ...] = ()
    models: tuple[ModelChange, ...] = ()
    tables: tuple[TableDistance, ...] = ()
    failed_tables: tuple[str, ...] = ()
    margins: tuple[Margin, ...] = ()
    pairs: tuple[Association, ...] = ()
    logistic: Propensity | None = None
    tree: TreePropensity | None = None
    battery: MatrixBattery | None = None
    losses: ValueLosses | None = None
    eigenvalues: EigenvalueChanges | None = None
    limits: ChangeLimits = field(default_factory=ChangeLimits)
    notes: tuple[str, ...] = ()
    importance: Mapping[str, float] = field(default_factory=dict)

    def counts(self, *columns: str) -> float:
        """How much columns count together: the product of their importance."""
        return float(np.prod([self.importance.get(name, 1.0) for name in columns]))

    def with_notes(self, notes: Sequence[str]) -> RecordUtility:
        """The same with further notes."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    # ---- findings ---------------------------------------------------------------------------------------------

    @property
    def findings(self) -> tuple[UtilityFinding, ...]:
        """The numbers to read, those that answer the user's own questions first."""
        makers = (self._of_models, self._of_statistics, self._of_tables, self._of_scores, self._of_distributions)
        return tuple(found for maker in makers for found in maker())

    def __getitem__(self, measure: str) -> float:
        """A finding by its name."""
        for one in self.findings:
            if one.measure == measure:
                return one.value
        raise ParameterError(unknown_name("measure", measure, [one.measure for one in self.findings]))

    def _of_models(self) -> list[UtilityFinding]:
        fitted = [model for model in self.models if model.lines]
        worst = min((model.least for model in fitted if model.least), key=lambda line: line.overlap, default=None)
        found = []
        if worst is not None:
            mean = float(np.nanmean([model.overlap for model in fitted]))
            where = f"{worst.model}: {worst.term} ({worst.overlap:.2f})"
            read = "1: an analyst draws the same conclusions; 0: intervals of 95 % are apart."
            what = f"Mean overlap of confidence intervals ({counted(len(fitted), 'model')})"
            found.append(UtilityFinding("overlap", mean, what, where, read))
        failed = [model for model in self.models if model.failed]
        if failed:
            what, read = "Models that could not be fitted", "An analyst cannot do this with the released file."
            found.append(UtilityFinding("failed_models", float(len(failed)), what, failed[0].model, read))
        return found

    def _of_statistics(self) -> list[UtilityFinding]:
        defined = [one for one in self.statistics if not np.isnan(one.percent) and self.counts(one.quantity)]
        worst = max(defined, key=lambda one: abs(one.percent) * self.counts(one.quantity), default=None)
        if worst is None:
            return []
        where = f"{worst.statistic} of {worst.quantity}, {worst.group} ({worst.percent:+.1f} %)"
        weight = [self.counts(one.quantity) for one in self.statistics]
        far = float(np.average([one.flag == "far" for one in self.statistics], weights=weight))
        read = f"Per cent of the original; above {self.limits.moved:g} is far."
        mean = []
        if self.importance:
            changes, own = [abs(one.percent) for one in defined], [self.counts(one.quantity) for one in defined]
            what = "Mean change of statistics by the importance of their columns, per cent"
            mean = [UtilityFinding("mean_percent", float(np.average(changes, weights=own)), what, "", read)]
        return [
            *mean,
            UtilityFinding("percent", abs(worst.percent), "Largest change of a statistic, per cent", where, read),
            UtilityFinding(
                "far", 100 * far, f"Statistics that moved by more than {self.limits.moved:g} %, per cent", "", ""
            ),
        ]

    def _of_tables(self) -> list[UtilityFinding]:
        worst = max(self.tables, key=lambda one: one.variation, default=None)
        found = []
        if worst is not None:
            read = "Share of the records that stand in another cell than they should; 0 is the same table."
            what = "Largest distance of a named table"
            found.append(UtilityFinding("table", worst.variation, what, worst.table, read))
        return found

    def _of_scores(self) -> list[UtilityFinding]:
        found = []
        for score, name in (
            (self.logistic, "a logistic model"),
            (None if self.tree is None else self.tree.score, "a tree"),
        ):
            if score is None:
                continue
            read = "1: as like as another sample of the same people; 0: the same file; far above 1: told apart."
            what = f"How well {name} tells the files apart, times that of two samples"
            where = "told apart wholly" if score.separated else f"pMSE {score.mean:.2g}, z {score.z:.1f}"
            found.append(UtilityFinding(f"propensity_{score.model}", score.ratio, what, where, read))
        return found

    def _of_distributions(self) -> list[UtilityFinding]:
        found = []
        counting = [one for one in self.margins if self.counts(one.column)]
        worst = max(counting, key=lambda one: one.variation * self.counts(one.column), default=None)
        if worst is not None:
            weight = [self.counts(one.column) for one in counting]
            mean = float(np.average([one.variation for one in counting], weights=weight))
            where = f"{worst.column} ({worst.variation:.3f})"
            read = "Share of the records in another class of a column."
            found.append(UtilityFinding("margins", mean, "Mean distance of single columns", where, read))
        moved = [one for one in self.pairs if not np.isnan(one.difference) and self.counts(one.first, one.second)]
        if moved:
            pair = max(moved, key=lambda one: abs(one.difference) * self.counts(one.first, one.second))
            where = f"{pair.first}, {pair.second} ({pair.measure} {pair.difference:+.3f})"
            what = "Largest change of a correlation or Cramér's V"
            found.append(UtilityFinding("association", abs(pair.difference), what, where, "0: associations are kept."))
        if self.losses is not None and not np.isnan(self.losses.il1) and self.aligned:
            read = "In standard deviations times the root of two."
            found.append(UtilityFinding("il1", self.losses.il1, "Mean distance of values (IL1s)", "", read))
        if self.eigenvalues is not None:
            what = "Mean change of eigenvalues"
            found.append(UtilityFinding("eigenvalues", self.eigenvalues.plain, what, "", "0: correlations are kept."))
        return found

    @property
    def not_compared(self) -> tuple[ColumnStanding, ...]:
        """Columns that one file lacks, or that hold other things in it."""
        return tuple(one for one in self.columns if one.differs)

    # ---- frames -----------------------------------------------------------------------------------------------

    def columns_of(self, part: UtilityPart = "findings") -> dict[str, list[Any]]:
        """A part as plain columns."""
        if part not in PARTS:
            raise ParameterError(unknown_name("part", part, PARTS))
        if part in ("propensity", "losses", "checks", "findings", "battery"):
            return _plain(getattr(self, f"_{part}_rows")(), _HEADS[part])
        if part == "models":
            return _plain([line._asdict() for model in self.models for line in model.lines], _HEADS[part])
        if part == "pairs":
            return _plain([one._asdict() | {"difference": one.difference} for one in self.pairs], _HEADS[part])
        rows: Sequence[Any] = getattr(self, part)
        return _plain([row._asdict() for row in rows], _HEADS[part])

    def to_frame(self, part: UtilityPart = "findings", backend: str = "pyarrow") -> Any:
        """A part as a data frame.

        Parameters
        ----------
        part
            ``"findings"``, ``"columns"``, ``"statistics"``, ``"models"``, ``"tables"``, ``"margins"``, ``"pairs"``,
            ``"propensity"``, ``"battery"``, ``"losses"`` or ``"checks"``.
        backend
            ``"pyarrow"``, ``"pandas"``, ``"polars"`` or ``"duckdb"``.
        """
        return to_frame(self.columns_of(part), backend)

    def _findings_rows(self) -> list[dict[str, Any]]:
        return [vars(one) for one in self.findings]

    def _propensity_rows(self) -> list[dict[str, Any]]:
        scores = [self.logistic, None if self.tree is None else self.tree.score]
        return [
            {
                "model": one.model,
                "total": one.total,
                "pmse": one.mean,
                "expected": one.expected,
                "ratio": one.ratio,
                "z": one.z,
                "ratio_synthetic": one.total / one.expected_synthetic if one.expected_synthetic else 0.0,
                "terms": one.terms,
                "records": one.records,
                "separated": one.separated,
            }
            for one in scores
            if one is not None
        ]

    def _battery_rows(self) -> list[dict[str, Any]]:
        lines = () if self.battery is None else self.battery.lines
        return [{**line._asdict(), "what": MATRICES[line.matrix]} for line in lines]

    def _losses_rows(self) -> list[dict[str, Any]]:
        rows = [] if self.losses is None else list(self.losses.to_dict().items())
        if self.eigenvalues is not None:
            rows += [("eigenvalues", self.eigenvalues.plain), ("rank_eigenvalues", self.eigenvalues.ranks)]
        return [{"measure": name, "value": value} for name, value in rows]

    def _checks_rows(self) -> list[dict[str, Any]]:
        return [{"check": name, "holds": holds, "why": why} for name, holds, why in self.checks()]

    def checks(self) -> list[tuple[str, bool, str]]:
        """Whether the file is analytically valid and interesting, as far as it was compared (Winkler's definitions).

        Valid: means in all groups within the limits, correlations within 0.1, named tables within 0.05. Interesting: at
        least six columns are so.
        """
        means = {
            one.quantity for one in self.statistics if one.statistic == "mean" and one.flag in ("far", "from zero")
        }
        pairs = [one for one in self.pairs if abs(one.difference) > CORRELATION_KEPT]
        tables = [one.table for one in self.tables if one.variation > TABLE_KEPT] + [*self.failed_tables]
        off = [f"mean of {name}" for name in sorted(means)]
        off += [f"{one.measure} of {one.first} and {one.second}" for one in pairs] + [f"table {one}" for one in tables]
        compared = [one.name for one in self.columns if one.compared]
        odd = means | {one.column for one in self.margins if one.variation > TABLE_KEPT}
        kept = [name for name in compared if name not in odd]
        found = ("analytically valid", not off, "; ".join(off[:5]) or "means, correlations and tables are kept")
        words = f"{counted(len(kept), 'column')} of {len(compared)} keep their distribution and means"
        return [found, ("analytically interesting", not off and len(kept) >= FEWEST_COLUMNS, words)]

    # ---- showing ----------------------------------------------------------------------------------------------

    def _heading(self) -> str:
        compared = sum(bool(one.compared) for one in self.columns)
        rows = "the same records" if self.aligned else "records not matched"
        both = f"{counted(self.records[1], 'released record')} beside {counted(self.records[0], 'original one')}"
        weights = f", weighted by {self.weighted}" if self.weighted else ""
        return f"Utility of {both}: {counted(compared, 'column')} compared, {rows}{weights}"

    def _short_findings(self) -> dict[str, list[Any]]:
        return {
            "": [one.what for one in self.findings],
            "value": [_short(one.value) for one in self.findings],
            "worst": [one.worst for one in self.findings],
        }

    def _first(self) -> str:
        """Which number to read first."""
        if not self.findings:
            return "Nothing was measured."
        first = self.findings[0]
        asked = "" if self.models or self.tables else " Name models= and tables= that your readers use: these say more."
        return f"Read first: {first.what[0].lower()}{first.what[1:]}. {first.read}{asked}"

    def _warnings(self) -> list[str]:
        lines = [f"Column {one.name!r} was not compared. {one.note}" for one in self.not_compared]
        lines += [f"Model {model.model!r}: {model.failed}" for model in self.models if model.failed]
        turned = [(model.model, term) for model in self.models for term in model.turned]
        lines += [f"Model {model!r}: the coefficient of {term} has the other sign, clearly." for model, term in turned]
        return [*lines, *(f"Table {words}" for words in self.failed_tables)]

    def _notes(self) -> list[str]:
        own = [f"{note}" for model in self.models for note in model.notes]
        own += [f"{one.name}: {one.note}" for one in self.columns if one.compared and one.note]
        return [*own, *self.notes]

    def summary(self) -> str:
        """The findings, what could not be compared, and notes as text."""
        findings = self._short_findings()
        lines = [self._heading(), "", text_of_columns(findings, len(findings[""])), "", self._first()]
        lines += [f"{name}: {'yes' if holds else 'no'} ({why})" for name, holds, why in self.checks()]
        lines += [f"WARNING: {words}" for words in self._warnings()]
        lines += [f"note: {note}" for note in self._notes()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        chips = [
            Chip(f"{name}: {'yes' if holds else 'no'}", "good" if holds else "m") for name, holds, _ in self.checks()
        ]
        findings = {name or "what": entries for name, entries in self._short_findings().items()}
        return page(
            self._heading(),
            chips,
            listing(findings),
            sentence(self._first(), soft=False),
            items("Warnings", self._warnings(), "warn"),
            items("Notes", self._notes()),
            sentence(f"to_frame(part) has all numbers; parts are {', '.join(PARTS)}."),
        )

    def to_html(self) -> str:
        """A page that stands alone: all parts, bars of changes by group. For the custodian."""
        from discreet.measures.utility_page import utility_page

        return utility_page(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data; numbers that are not defined are ``None``."""
        return {
            "records": list(self.records),
            "aligned": self.aligned,
            "weighted": self.weighted or None,
            "first": self._first(),
            "parts": {part: _rows(self.columns_of(part)) for part in PARTS},
            "importance": {} if self.tree is None else self.tree.importance,
            "failed": [{"model": model.model, "why": model.failed} for model in self.models if model.failed],
            "warnings": self._warnings(),
            "notes": self._notes(),
        }

    def public(self, least: int = 10) -> PublicUtility:
        """What may be told to everybody: classes of changes, and no statistic of the original.

        Parameters
        ----------
        least
            Groups with fewer original records are left out.
        """
        from discreet.measures.public_utility import public_utility

        return public_utility(self, least)


_HEADS: dict[str, tuple[str, ...]] = {
    "findings": ("measure", "value", "what", "worst", "read"),
    "columns": ColumnStanding._fields,
    "statistics": StatisticChange._fields,
    "models": (
        *("model", "term", "original", "released", "original_error", "released_error"),
        *("overlap", "percent", "error_percent", "inverse_mse"),
    ),
    "tables": TableDistance._fields,
    "margins": Margin._fields,
    "pairs": (*Association._fields, "difference"),
    "propensity": (
        *("model", "total", "pmse", "expected", "ratio", "z", "ratio_synthetic"),
        *("terms", "records", "separated"),
    ),
    "battery": ("matrix", "what", "mse", "mae", "variation", "skipped"),
    "losses": ("measure", "value"),
    "checks": ("check", "holds", "why"),
}
"""Columns of each part, so that an empty part has them too."""


def _plain(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [_defined(row[name]) for row in rows] for name in names}


def _defined(entry: Any) -> Any:
    """Nothing in place of what is not a number; infinity is what it is."""
    return None if isinstance(entry, float) and np.isnan(entry) else entry


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Rows of plain data; JSON has no infinity, so that an inverse square of nothing is said in a word."""
    names = list(columns)
    return [
        {name: "identical" if entry == float("inf") else entry for name, entry in zip(names, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


def _short(number: float) -> float:
    return float(f"{number:.3g}")
