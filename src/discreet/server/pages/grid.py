"""A protected table as a grid: headings, numbers, shares, a page of rows. Every number is one that was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.public import PublicTable
from discreet.server.pages.layout import TableLayout, name_of
from discreet.server.quality import ErrorCurve
from discreet.server.question import QuestionRefusal

MOST_COLUMNS = 120
CELLS = 3_000
CELLS_BESIDE = 1_000
"""Cells on one page, and beside a drawing."""
MOST_GRID = 4_000_000
MOST_BARS, MOST_COLOURS = 40, 8
"""Rows and columns that a chart can tell apart."""


class GridHeading(NamedTuple):
    """A heading of a row or of a group of columns."""

    words: str
    depth: int = 0
    total: bool = False
    span: int = 1


class GridRow(NamedTuple):
    """A row: its headings, its numbers as text, and marks of those that are worth little."""

    headings: tuple[GridHeading, ...]
    cells: tuple[str, ...]
    marks: tuple[str, ...] = ()
    """A star for each limit that the relative standard error of a count reaches; empty where errors are not known."""


class Bar(NamedTuple):
    """A number of a chart or map: of a row, and of a column."""

    row: str
    column: str
    value: float


@dataclass(frozen=True)
class TableGrid:
    """What a page shows of a table."""

    row_names: tuple[str, ...]
    head: tuple[tuple[GridHeading, ...], ...]
    """Lines of headings above the columns; empty where there are none."""
    rows: tuple[GridRow, ...]
    number: int
    """Rows of the whole table that are shown, on all pages."""
    hidden: int
    pages: int
    page: int
    bars: tuple[Bar, ...]
    areas: tuple[tuple[str, float], ...] = ()
    cut: str = ""
    """What a chart leaves out, in words."""


class _Axis(NamedTuple):
    """Variables of rows, columns or layers: places in the table, and which combinations of their codes are kept."""

    places: tuple[int, ...]
    codes: tuple[tuple[int, ...], ...]


class QualityMarks(NamedTuple):
    """How relative standard errors of published counts are found, and the percents from which on they are marked."""

    curve: ErrorCurve
    limits: tuple[float, ...]

    def of(self, counts: Floats) -> list[str]:
        """A star for each limit that is reached; none where there is no error."""
        percent = np.nan_to_num(self.curve.percent(counts), nan=-1.0)
        return ["*" * int(number) for number in (percent[:, None] >= np.array(self.limits)).sum(axis=1)]


def grid_of(
    table: PublicTable,
    layout: TableLayout,
    totals: Mapping[str, str],
    words: Mapping[str, str],
    geography: str | None,
    quality: QualityMarks | None = None,
) -> TableGrid:
    """Lay a table out.

    Parameters
    ----------
    table
        What the server answered, with its totals.
    layout
        What goes where.
    totals
        The code of the total of each variable.
    words
        The label of each variable.
    geography
        The variable of areas.
    quality
        How counts are marked that are worth little.

    Raises
    ------
    QuestionRefusal
        When it is too wide to be looked at.
    """
    size = [len(codes) for codes in table.code_lists]
    if prod(size) > MOST_GRID:
        raise QuestionRefusal(
            "too-wide", "The table is too large to be laid out here.", hint="Download it, or leave a variable out."
        )
    value: Ints = np.zeros(size, np.int64)
    shown: Bools = np.full(size, table.altered, np.bool_)
    where = tuple(table.codes.T)
    value[where], shown[where] = table.value, table.shown
    cube = _Laid(table, layout, totals, value, shown, quality)
    return cube.grid(words, geography)


class _Laid:
    def __init__(
        self,
        table: PublicTable,
        layout: TableLayout,
        totals: Mapping[str, str],
        value: Ints,
        shown: Bools,
        quality: QualityMarks | None,
    ) -> None:
        self.table, self.layout, self.totals, self.quality = table, layout, totals, quality
        self.value, self.shown = value, shown
        self.total = {name: table.code_lists[k].index(totals[name]) for k, name in enumerate(table.variables)}
        self.rows, self.columns = self._axis(layout.rows), self._axis(layout.columns)
        self.layer = self._layer()

    def _place(self, name: str) -> int:
        return self.table.variables.index(name)

    def _axis(self, items: Sequence[str]) -> _Axis:
        names = [name_of(item) for item in items]
        lists = []
        for name in names:
            codes = range(len(self.table.code_lists[self._place(name)]))
            keep = self.layout.totals == "yes"
            lists.append([code for code in codes if keep or code != self.total[name]])
        return _Axis(tuple(map(self._place, names)), tuple(product(*lists)))

    def _layer(self) -> dict[int, int]:
        """The code of each layer that is shown."""
        found = {}
        for item in self.layout.layers:
            name = name_of(item)
            codes = self.table.code_lists[self._place(name)]
            code = self.layout.at.get(name, self.totals[name])
            if code not in codes:
                raise QuestionRefusal(
                    "unknown-code",
                    f"{name!r} has no code {code[:40]!r} here.",
                    hint="Choose another layer.",
                    status=404,
                )
            found[self._place(name)] = codes.index(code)
        return found

    def _at(self, row: Sequence[int], column: Sequence[int]) -> tuple[int, ...]:
        found = dict(self.layer)
        found.update(zip(self.rows.places, row, strict=True))
        found.update(zip(self.columns.places, column, strict=True))
        return tuple(found[k] for k in range(len(self.table.variables)))

    def grid(self, words: Mapping[str, str], geography: str | None) -> TableGrid:
        if len(self.columns.codes) > MOST_COLUMNS:
            raise QuestionRefusal(
                "too-wide",
                f"The table would have {len(self.columns.codes):,} columns, and {MOST_COLUMNS} can be looked at.",
                hint="Move a variable from columns to rows or layers, or download the table.",
            )
        kept = self._kept()
        cells = CELLS if self.layout.view == "table" else CELLS_BESIDE
        per_page = max(20, cells // len(self.columns.codes))
        pages = max(1, -(-len(kept) // per_page))
        page = min(self.layout.page, pages)
        some = kept[(page - 1) * per_page : page * per_page]
        rows = tuple(GridRow(self._headings(self.rows, row), self._cells(row), self._marks(row)) for row in some)
        (bars, cut), areas = self._bars(kept), self._areas(geography)
        names = tuple(words[name_of(item)] for item in self.layout.rows)
        gone = len(self.rows.codes) - len(kept)
        return TableGrid(names, self._head(), rows, len(kept), gone, pages, page, bars, areas, cut)

    def _kept(self) -> list[tuple[int, ...]]:
        """Rows to be shown; an empty one is empty in all columns and all layers, not only in what is seen now."""
        if self.layout.empty == "show":
            return list(self.rows.codes)
        others = tuple(k for k in range(self.value.ndim) if k not in self.rows.places)
        there = ((self.value != 0) & self.shown).any(axis=others) if others else (self.value != 0) & self.shown
        order = sorted(self.rows.places)
        return [row for row in self.rows.codes if there[tuple(row[self.rows.places.index(k)] for k in order)]]

    def _words(self, place: int, code: int) -> str:
        text = self.table.code_lists[place][code]
        return self.table.labels[place].get(text, text)

    def _heading(self, place: int, code: int, span: int = 1) -> GridHeading:
        parents = self.table.parents[place] if self.table.parents else ()
        depth, above = 0, code
        while parents and parents[above] >= 0 and depth < 9:
            depth, above = depth + 1, parents[above]
        total = code == self.total[self.table.variables[place]]
        return GridHeading(self._words(place, code), depth, total, span)

    def _headings(self, axis: _Axis, codes: Sequence[int]) -> tuple[GridHeading, ...]:
        return tuple(self._heading(place, code) for place, code in zip(axis.places, codes, strict=True))

    def _head(self) -> tuple[tuple[GridHeading, ...], ...]:
        """Lines of headings; equal neighbours of all but the last variable share one."""
        lines = []
        for level, place in enumerate(self.columns.places):
            line: list[GridHeading] = []
            before: tuple[int, ...] | None = None
            for codes in self.columns.codes:
                if codes[: level + 1] == before:
                    line[-1] = line[-1]._replace(span=line[-1].span + 1)
                else:
                    line.append(self._heading(place, codes[level]))
                before = codes[: level + 1]
            lines.append(tuple(line))
        return tuple(lines)

    def _cells(self, row: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._text(row, column) for column in self.columns.codes)

    def _marks(self, row: Sequence[int]) -> tuple[str, ...]:
        if self.quality is None:
            return ()
        places = [self._at(row, column) for column in self.columns.codes]
        counts = np.array([self.value[at] if self.shown[at] else 0 for at in places]) / 10.0**self.table.decimals
        return tuple(self.quality.of(counts))

    def _text(self, row: Sequence[int], column: Sequence[int]) -> str:
        at = self._at(row, column)
        if not self.shown[at]:
            return "·"
        if self.layout.percent == "none":
            return f"{int(self.value[at]) / 10**self.table.decimals:,.{self.table.decimals}f}"
        share = self._share(at, row, column)
        return "·" if share is None else f"{100 * share:.1f} %"

    def _share(self, at: tuple[int, ...], row: Sequence[int], column: Sequence[int]) -> float | None:
        """A share of a published total; none where that is nothing."""
        rows = [self.total[self.table.variables[k]] for k in self.rows.places]
        columns = [self.total[self.table.variables[k]] for k in self.columns.places]
        percent = self.layout.percent
        whole = self._at(
            rows if percent in ("column", "all") else row, columns if percent in ("row", "all") else column
        )
        if not self.shown[whole] or self.value[whole] <= 0:
            return None
        return float(self.value[at] / self.value[whole])

    def _number(self, row: Sequence[int], column: Sequence[int]) -> float | None:
        at = self._at(row, column)
        if not self.shown[at]:
            return None
        if self.layout.percent == "none":
            return float(int(self.value[at]) / 10**self.table.decimals)
        share = self._share(at, row, column)
        return None if share is None else 100 * share

    def _finest(self, axis: _Axis, codes: Sequence[int]) -> bool:
        """Whether no code is a total or stands above others."""
        for place, code in zip(axis.places, codes, strict=True):
            parents = self.table.parents[place] if self.table.parents else ()
            if code == self.total[self.table.variables[place]] or code in parents:
                return False
        return True

    def _bars(self, kept: Sequence[tuple[int, ...]]) -> tuple[tuple[Bar, ...], str]:
        """Numbers of a chart: the finest rows and columns, as many as can be told apart; and what is left out."""
        if self.layout.view != "chart":
            return (), ""
        all_rows = [row for row in kept if self._finest(self.rows, row)]
        all_columns = [column for column in self.columns.codes if self._finest(self.columns, column)]
        rows, columns = all_rows[:MOST_BARS], all_columns[:MOST_COLOURS]
        cut = [
            f"the first {len(some)} of {len(every):,} {what}"
            for some, every, what in ((rows, all_rows, "rows"), (columns, all_columns, "columns"))
            if len(some) < len(every)
        ]
        found = []
        for row, column in product(rows, columns):
            number = self._number(row, column)
            names = [
                " · ".join(h.words for h in self._headings(*pair))
                for pair in ((self.rows, row), (self.columns, column))
            ]
            if number is not None:
                found.append(Bar(names[0], names[1], number))
        return tuple(found), f"It has {' and '.join(cut)}; the table has all." if cut else ""

    def _areas(self, geography: str | None) -> tuple[tuple[str, float], ...]:
        """Areas and their numbers, everything else at its total: for a map."""
        if self.layout.view != "map" or geography not in self.table.variables:
            return ()
        place = self._place(geography)
        at = [self.layer.get(k, self.total[name]) for k, name in enumerate(self.table.variables)]
        parents = set(self.table.parents[place]) if self.table.parents else set()
        found = []
        for code in range(len(self.table.code_lists[place])):
            at[place] = code
            if code not in parents and code != self.total[geography] and self.shown[tuple(at)]:
                found.append((self._words(place, code), float(self.value[tuple(at)]) / 10**self.table.decimals))
        return tuple(found)
