"""What readers of a release have lost, measure by measure and level by level."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from discreet.engine.cells import all_cells, cells_above
from discreet.errors import InputError, ParameterError, counted, unknown_name
from discreet.files.frames import to_frame
from discreet.measures.grid import Grid
from discreet.measures.imputation import Imputation, check_imputation, imputed
from discreet.measures.suite import GROUPS, SMALL, Measure, table_measures
from discreet.model.arrays import Bools, Codes, Floats, Ints
from discreet.model.custodian import TableCustodian
from discreet.model.notebook import Chip, items, listing, page, sentence
from discreet.model.public import PublicTable, in_rows_of
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.model.tableset import TableSet, as_set
from discreet.model.units import from_units
from discreet.verify import check_release

FINEST = "finest"


class UtilityLine(NamedTuple):
    """One measure of one level of one table."""

    table: str
    level: str
    measure: Measure


@dataclass(frozen=True)
class Utility:
    """Measures of a release. It holds statistics of true values: for the custodian.

    ``refused`` says why the evidence of the release does not hold, where that is so.
    """

    lines: tuple[UtilityLine, ...]
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> float:
        """A measure of the finest level of the first table."""
        first = self.lines[0].table
        for line in self.lines:
            if line.table == first and line.level == FINEST and line.measure.name == name:
                return line.measure.value
        raise ParameterError(unknown_name("measure", name, dict.fromkeys(line.measure.name for line in self.lines)))

    def columns(self) -> dict[str, list[Any]]:
        """One row per table, level and measure."""
        plain = [line.measure for line in self.lines]
        return {
            "table": [line.table for line in self.lines],
            "level": [line.level for line in self.lines],
            "measure": [m.name for m in plain],
            "value": [_or_none(m.value) for m in plain],
            "original": [_or_none(m.original) for m in plain],
            "published": [_or_none(m.published) for m in plain],
            "left_out": [m.skipped for m in plain],
            "note": [m.note for m in plain],
        }

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """All measures as a data frame."""
        return to_frame(self.columns(), backend)

    def summary(self) -> str:
        """The finest level of every table in a few lines; a release that does not verify says so first."""
        lines = []
        if self.refused:
            lines.append(f"NOT VERIFIED: the evidence of this release does not hold ({self.refused[0]}).")
        for line in self.lines:
            if line.level == FINEST:
                note = f" ({line.measure.note})" if line.measure.note else ""
                lines.append(f"{line.table}: {line.measure.name} {_said(line.measure.value)}{note}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = summary

    def _repr_html_(self) -> str:
        finest = [line for line in self.lines if line.level == FINEST]
        columns: dict[str, list[Any]] = {
            "table": [line.table for line in finest],
            "measure": [line.measure.name for line in finest],
            "value": [_said(line.measure.value) for line in finest],
            "note": [line.measure.note for line in finest],
        }
        return page(
            "What readers lose, at the finest level",
            [Chip(f"not verified: {self.refused[0]}", "u")] if self.refused else [],
            listing(columns),
            items("Notes", self.notes),
            sentence("to_frame() has every level."),
        )


def _said(number: float) -> str:
    return "not defined" if np.isnan(number) else f"{number:.6g}"


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def table_utility(
    release: Release[TableCustodian],
    tables: Table | TableSet | None = None,
    *,
    imputation: Imputation | None = None,
    rows: str | None = None,
    base: int | None = None,
    groups: int = GROUPS,
    small: Collection[int] = SMALL,
    levels: bool = True,
) -> Utility:
    """Measure what a release of tables has cost its readers.

    Parameters
    ----------
    release
        Any release of tables. One whose evidence does not verify is measured too, and flagged.
    tables
        The true tables, where they are not those of the release; they must have the same cells.
    imputation
        How a reader fills withheld cells: ``"zero"``, ``"row_mean"`` or ``"weighted"``. Must be chosen where cells are
        withheld.
    rows
        The variable whose codes are the rows (areas); by default the first of each table.
    base
        Of rounding, for the exact test of bias.
    groups, small
        As in :func:`discreet.measures.table_measures`.
    levels
        Measure every combination of levels of the hierarchies, and not only the finest cells.

    Returns
    -------
    Utility
        A tidy frame by table, level and measure, and a summary.

    Raises
    ------
    ParameterError
        When cells are withheld and no imputation is chosen.
    InputError
        When the tables are not those of the release.

    Notes
    -----
    Sources: Shlomo and Young (2006) and Langsrud (2021).

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> release.utility(imputation="row_mean")["totals_absolute"]
    0.0
    """
    truth = release.custodian.tables if tables is None else as_set(tables)
    pairs = _matched(truth, release.public.tables)
    check_imputation(imputation, sum(int((~public.shown & ~public.empty).sum()) for _, public in pairs))
    verdict = check_release(release.custodian, release.public)
    found: list[UtilityLine] = []
    notes: list[str] = []
    for table, public in pairs:
        finest = _finest(table)
        own = _Filling(table, public, _row_variable(table, rows), imputation, finest)
        for level, mask in _levels(table, finest, levels):
            grid = own.grid(mask)
            measures = table_measures(grid, base=base, groups=groups, small=small)
            everything = [*own.withheld_there(mask), *measures.values()]
            found += [UtilityLine(table.name, level, measure) for measure in everything]
        notes += own.notes()
    return Utility(tuple(found), tuple(str(refusal) for refusal in verdict.refused), tuple(notes))


def finest_measures(release: Release, imputation: Imputation | None, rows: str | None) -> list[dict[str, Measure]]:
    """Measures of the finest cells of every table of a release, without a look at its evidence."""
    pairs = _matched(release.custodian.tables, release.public.tables)
    check_imputation(imputation, sum(int((~public.shown & ~public.empty).sum()) for _, public in pairs))
    found = []
    for table, public in pairs:
        finest = _finest(table)
        variable = _row_variable(table, rows if rows in table.variables else None)
        found.append(table_measures(_Filling(table, public, variable, imputation, finest).grid(finest)))
    return found


def _matched(truth: TableSet, published: tuple[PublicTable, ...]) -> list[tuple[Table, PublicTable]]:
    """Tables with their published versions; refuses those of different cells."""
    names = [table.name for table in truth]
    if names != [public.name for public in published]:
        raise InputError(
            f"The release has the tables {[public.name for public in published]}, not {names}.",
            hint="Compare a release with the tables that it was made from.",
        )
    return [(table, in_rows_of(table, public)) for table, public in zip(truth, published, strict=True)]


def _row_variable(table: Table, rows: str | None) -> int:
    if rows is None:
        return 0
    if rows not in table.variables:
        raise ParameterError(unknown_name("variable", rows, table.variables, f"table {table.name!r}"))
    return table.variables.index(rows)


def _finest(table: Table) -> Bools:
    """Cells of base codes only."""
    finest: Bools = np.ones(len(table), np.bool_)
    for k, hierarchy in enumerate(table.spec.hierarchies):
        finest &= hierarchy.base[table.codes[:, k]]
    if not finest.any():
        raise InputError(f"Table {table.name!r} has no finest cells.", hint="Give the cells down to the base codes.")
    return finest


def _levels(table: Table, finest: Bools, every: bool) -> Iterator[tuple[str, Bools]]:
    """Names of levels and the cells that stand at each."""
    yield FINEST, finest
    if not every:
        return
    hierarchies = table.spec.hierarchies
    depth = np.column_stack([h.depth[table.codes[:, k]] for k, h in enumerate(hierarchies)])
    for level in product(*(np.unique(h.depth).tolist() for h in hierarchies)):
        mask = np.all(depth == level, axis=1)
        if mask.any() and not np.array_equal(mask, finest):
            yield ", ".join(f"{v} {d}" for v, d in zip(table.variables, level, strict=True)), mask


class _Filling:
    """A table before and after: withheld finest cells are filled by rows, others by adding these up."""

    def __init__(self, table: Table, public: PublicTable, rows: int, way: Imputation | None, finest: Bools) -> None:
        self.table, self.rows, self.way = table, rows, way
        self.original = table.values
        self.withheld = ~public.shown & ~public.empty
        self.published = np.where(self.withheld, np.nan, from_units(public.value, public.decimals))
        self.estimated = 0
        self.short = 0
        self.filled = self._everywhere(np.flatnonzero(finest)) if self.withheld.any() else self.published

    def grid(self, mask: Bools) -> Grid:
        """The cells at one level as rows and columns."""
        at = np.flatnonzero(mask)
        row, column, rows, columns = self._places(at)
        return Grid(row, column, self.original[at], self.filled[at], rows, columns)

    def _places(self, at: Ints) -> tuple[Ints, Ints, int, int]:
        """Row and column of cells, and how many there are of each."""
        codes = self.table.codes[at]
        _, row = np.unique(codes[:, self.rows], return_inverse=True)
        others = np.delete(codes, self.rows, axis=1)
        key = np.zeros(len(at), np.int64)
        for k, size in enumerate(np.delete(np.array(self.table.shape), self.rows).tolist()):
            key = key * size + others[:, k]
        _, column = np.unique(key, return_inverse=True)
        row, column = row.astype(np.int64), column.astype(np.int64)
        return row, column, int(row.max()) + 1, int(column.max()) + 1

    def _everywhere(self, finest: Ints) -> Floats:
        """All cells, the withheld ones filled."""
        if self.way == "zero":
            return np.where(self.withheld, 0.0, self.published)
        result = self.published.copy()
        result[finest] = self._filled(finest)
        coarse = np.flatnonzero(np.isnan(result))
        if len(coarse):
            hierarchies, leaves = self.table.spec.hierarchies, self.table.keys[finest]
            keys = np.union1d(all_cells(leaves, hierarchies, every=False), self.table.keys)
            above = cells_above(leaves, keys, hierarchies)
            parts = np.repeat(result[finest], np.diff(above.start)) * above.sign
            sums = np.bincount(above.cell, parts, len(keys))
            result[coarse] = sums[np.searchsorted(keys, self.table.keys[coarse])]
        return result

    def withheld_there(self, mask: Bools) -> list[Measure]:
        """How much is withheld at a level: cells, their value and, where known, their contributors."""
        hidden = mask & self.withheld
        found = [
            Measure("withheld_cells", int(hidden.sum())),
            Measure("withheld_value", float(np.abs(self.original[hidden]).sum())),
        ]
        main = self.table.contributions.get("holding")
        if main is not None:
            found.append(Measure("withheld_contributors", int(main.count[hidden].sum())))
        return found

    def _filled(self, at: Ints) -> Floats:
        """Finest cells, the withheld ones filled by rows."""
        row, column, rows, columns = self._places(at)
        hidden, value = self.withheld[at], self.published[at]
        if not hidden.any():
            return value
        assert self.way is not None
        codes = self.table.codes[at]
        total = self._margin(codes, row, rows, keep=True)
        total = self._estimated(total, row, hidden)
        seen = self._margin(codes, column, columns, keep=False)
        shown = np.bincount(column, ~hidden, columns)
        mean = np.bincount(column, np.where(hidden, 0.0, value), columns) / np.maximum(shown, 1)
        weight = np.where(np.isnan(seen), mean, seen / rows)
        filled = imputed(np.where(hidden, 0.0, value), hidden, row, total, self.way, weight[column])
        self.short += filled.short
        return filled.value

    def _margin(self, codes: Codes, part: Ints, size: int, *, keep: bool) -> Floats:
        """Published totals of rows (``keep``) or columns; not a number where there is none or it is withheld."""
        result = np.full(size, np.nan)
        wanted = codes.copy()
        for k, hierarchy in enumerate(self.table.spec.hierarchies):
            if (k == self.rows) != keep:
                if hierarchy.total is None:
                    return result
                wanted[:, k] = hierarchy.position(hierarchy.total)
        found = self.table.find(wanted)
        there = found >= 0
        result[part[there]] = self.published[found[there]]
        return result

    def _estimated(self, total: Floats, row: Ints, hidden: Bools) -> Floats:
        """Row totals with those that are withheld estimated: equal parts of what is left of the whole."""
        needed = np.isnan(total) & (np.bincount(row, hidden, len(total)) > 0)
        if not needed.any():
            return total
        codes = np.array([[h.position(h.total) if h.total else -1 for h in self.table.spec.hierarchies]], np.int32)
        whole = int(self.table.find(codes)[0]) if (codes >= 0).all() else -1
        if whole < 0 or self.withheld[whole]:
            raise InputError(
                f"Rows of table {self.table.name!r} have withheld cells and no published total, nor is there a total "
                "of all to estimate it from.",
                hint="Choose imputation='zero'.",
            )
        self.estimated += int(needed.sum())
        missing = np.isnan(total)
        left = max(float(self.published[whole]) - float(total[~missing].sum()), 0.0) / int(missing.sum())
        return np.where(missing, left, total)

    def notes(self) -> list[str]:
        """What the reader of the measures must know of the filling."""
        found = []
        if self.estimated:
            found.append(f"{self.table.name}: {self.estimated:,} row totals are withheld and were estimated")
        if self.short:
            found.append(f"{self.table.name}: {counted(self.short, 'row', 'leave')} nothing for withheld cells")
        return found
