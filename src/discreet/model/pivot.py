"""Cells of a table as rows by columns, with their totals and statuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, counted, unknown_name
from discreet.model import doors
from discreet.model.arrays import Codes, Ints
from discreet.model.notebook import MEANING, Chip, classed, indented, page, sentence
from discreet.model.units import unit_text

ROWS, COLUMNS = 25, 12
"""So much of a table a notebook shows; the rest is counted."""
TEXT_ROWS, TEXT_WIDTH = 15, 100
"""So much of a pivot a terminal shows."""
SIGNS = {"X": "X", "E": "–"}
"""What stands for a value that is not shown."""
NO_CELL = -1


class PivotSide(NamedTuple):
    """Codes of a variable in the order of its tree: their words, and how deep each stands."""

    variable: str
    codes: Sequence[str]
    labels: Mapping[str, str]
    depth: Sequence[int]
    total: str | None = None

    def place(self, code: str) -> int:
        """Position of a code."""
        if code not in self.codes:
            raise ParameterError(unknown_name("code", code, self.codes, f"variable {self.variable!r}"))
        return list(self.codes).index(code)


@dataclass(frozen=True, eq=False)
class PivotSource:
    """What a pivot needs of a table, whichever kind of table it is.

    ``letters`` are the statuses; cells whose letter is in ``hidden`` have no value. ``zeros_left_out`` says that a cell
    that the table does not list was published as zero. ``why`` tells more of a cell, for whoever points at it.
    """

    name: str
    sides: tuple[PivotSide, ...]
    codes: Codes
    value: Ints
    decimals: int
    letters: NDArray[np.str_]
    hidden: str
    zeros_left_out: bool
    backend: str = "pyarrow"
    why: Callable[[int], str] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Pivot:
    """Cells as rows by columns. Made by ``table.pivot()`` and ``release.pivot()``.

    ``at`` says at which code the other variables stand. ``places`` holds for every row and column the number of the
    cell, or -1 where the table lists none. Where zeros were left out of a table with altered values, they are filled
    in, and ``filled`` counts them.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.examples.small_table().pivot("region", "trade").to_frame().column_names
    ['region', 'Total', 'retail', 'food', 'crafts']
    """

    source: PivotSource
    rows: PivotSide
    columns: PivotSide | None
    at: Mapping[str, str]
    places: Ints = field(repr=False)

    @property
    def filled(self) -> int:
        """How many zeros are shown that the table does not list."""
        return int((self.places == NO_CELL).sum()) if self.source.zeros_left_out else 0

    @cached_property
    def values(self) -> list[list[int | float | None]]:
        """Values row by row; None where none is shown."""
        return [[self._number(cell) for cell in line] for line in self.places.tolist()]

    @cached_property
    def statuses(self) -> list[list[str]]:
        """Status letters row by row; empty where the table has no such cell."""
        return [[self._letter(cell) for cell in line] for line in self.places.tolist()]

    def to_frame(self, backend: str | None = None, *, text: bool = False) -> Any:
        """One row per code, one column per code.

        Parameters
        ----------
        backend
            ``"pyarrow"``, ``"pandas"`` or ``"polars"``; by default what the data came in.
        text
            Values as they are shown, with the letters of their statuses, instead of numbers.

        Examples
        --------
        >>> import discreet as ds
        >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
        >>> release.pivot().to_frame(text=True)["South"].to_pylist()
        ['420', 'X', '150', 'X']
        """
        return doors.pivot_to_frame(self, backend, text=text)

    def frame_columns(self, text: bool = False) -> dict[str, list[Any]]:
        """Plain columns: the codes of the rows, and one column for every code across."""
        lines = self.places.tolist()
        made: dict[str, list[Any]] = {self.rows.variable: list(self.rows.codes)}
        for j, code in enumerate(self._heads):
            name = code if code != self.rows.variable else f"{code} "
            made[name] = [self._text(line[j]) if text else self._number(line[j]) for line in lines]
        return made

    def to_pandas(self, *, text: bool = False) -> Any:
        """The same as a pandas frame with the codes of the rows as its index."""
        return self.to_frame("pandas", text=text).set_index(self.rows.variable)

    # ---- single cells -------------------------------------------------------------------------------------

    @property
    def _heads(self) -> Sequence[str]:
        return ("value",) if self.columns is None else self.columns.codes

    def _letter(self, cell: int) -> str:
        if cell == NO_CELL:
            return "A" if self.source.zeros_left_out else ""
        return str(self.source.letters[cell])

    def _number(self, cell: int) -> int | float | None:
        if cell == NO_CELL:
            return 0 if self.source.zeros_left_out else None
        if self.source.letters[cell] in self.source.hidden:
            return None
        value = int(self.source.value[cell])
        return value if self.source.decimals == 0 else float(unit_text(value, self.source.decimals))

    def _bare(self, cell: int) -> str:
        """The value as it is shown, without its letter."""
        if cell == NO_CELL:
            return "0" if self.source.zeros_left_out else ""
        letter = str(self.source.letters[cell])
        if letter in self.source.hidden:
            return SIGNS.get(letter, letter)
        whole, point, rest = unit_text(abs(int(self.source.value[cell])), self.source.decimals).partition(".")
        return f"{'-' if self.source.value[cell] < 0 else ''}{int(whole):,}{point}{rest}"

    def _text(self, cell: int) -> str:
        letter = self._letter(cell)
        mark = f" {letter}" if letter in ("U", "M", "P") else ""
        return f"{self._bare(cell)}{mark}"

    # ---- showing ------------------------------------------------------------------------------------------

    def remarks(self) -> list[str]:
        """What to know beside the numbers."""
        said = []
        if self.at:
            where = ", ".join(f"{variable} = {code}" for variable, code in self.at.items())
            said.append(f"Other variables: {where}; pivot(at={{...}}) shows other codes.")
        if self.filled:
            said.append(
                f"{counted(self.filled, 'zero', 'are')} filled in: a table with altered values lists no zeros, whether "
                "a cell became zero or was empty."
            )
        return said

    def __repr__(self) -> str:
        depths = zip(self.rows.codes[:TEXT_ROWS], self.rows.depth, strict=False)
        width = max([len(self.rows.variable), *(len(code) + 2 * depth for code, depth in depths)])
        heads, lines = list(self._heads), self.places[:TEXT_ROWS].tolist()
        texts = [[self._text(cell) for cell in line] for line in lines]
        wide = [max([len(head), *(len(line[j]) for line in texts)]) for j, head in enumerate(heads)]
        fits = int(np.searchsorted(np.cumsum([w + 2 for w in wide]) + width, TEXT_WIDTH, side="right"))
        shown = max(fits, 1)
        across = "" if self.columns is None else f" by {self.columns.variable}"
        made = [f"{self.source.name}: {self.rows.variable}{across}"]
        made.append(_joined(self.rows.variable.ljust(width), heads[:shown], wide))
        for code, depth, line in zip(self.rows.codes, self.rows.depth, texts, strict=False):
            made.append(_joined(f"{'  ' * depth}{code}".ljust(width), line[:shown], wide))
        return "\n".join([*made, *(f"... {text}" for text in self._cut(len(lines), shown)), *self.remarks()])

    def _cut(self, rows: int, columns: int) -> list[str]:
        parts = [
            counted(number, f"more {noun}")
            for number, noun in ((len(self.rows.codes) - rows, "row"), (len(self._heads) - columns, "column"))
            if number > 0
        ]
        return [f"{' and '.join(parts)} (pivot().to_frame() shows all)"] if parts else []

    def grid_html(self) -> str:
        """The grid alone, cut where it is long, with the lines that say what is cut."""
        rows, columns = self.places[:ROWS, :COLUMNS].shape
        corner = self.rows.variable if self.columns is None else f"{self.rows.variable} \\ {self.columns.variable}"
        deep = [0] if self.columns is None else list(self.columns.depth)
        head = "".join(
            f"<th{classed('n sum' if deep[j] == 0 and self.columns else 'n')}>{escape(code)}</th>"
            for j, code in enumerate(self._heads[:columns])
        )
        body = "".join(self._row_html(i, columns) for i in range(rows))
        grid = (
            f'<div class="scroll"><table><thead><tr><th>{escape(corner)}</th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )
        return grid + "".join(sentence(text) for text in (*self._cut(rows, columns), *self.remarks()))

    def _row_html(self, i: int, columns: int) -> str:
        code, depth = self.rows.codes[i], self.rows.depth[i]
        cells = "".join(self._cell_html(int(cell), depth == 0) for cell in self.places[i, :columns])
        name = indented(code, self.rows.labels.get(code, ""), depth)
        return f"<tr><th{classed('sum' if depth == 0 else '')}>{name}</th>{cells}</tr>"

    def _cell_html(self, cell: int, total: bool) -> str:
        letter = self._letter(cell)
        tint, word = MEANING.get(letter, ("", ""))
        more = self.source.why(cell) if self.source.why is not None and cell != NO_CELL else ""
        title = f' title="{escape(more or word)}"' if word and letter not in ("V", "A", "?") else ""
        mark = f"<sup>{letter}</sup>" if letter in ("U", "M", "P") else ""
        # The whole of an altered table is altered: a tint on each cell would say nothing.
        kind = " ".join(part for part in ("n", "sum" if total else "", "" if letter == "A" else tint) if part)
        return f"<td{classed(kind)}{title}>{escape(self._bare(cell))}{mark}</td>"

    def _repr_html_(self) -> str:
        across = "" if self.columns is None else f" by {self.columns.variable}"
        return page(f"{self.source.name}: {self.rows.variable}{across}", self._legend(), self.grid_html())

    def _legend(self) -> list[Chip]:
        """What the letters mean that occur."""
        found = set(np.unique(self.source.letters[self.places[self.places != NO_CELL]]).tolist())
        return [Chip(f"{letter} {word}", tint) for letter, (tint, word) in MEANING.items() if letter in found and tint]


def _joined(first: str, cells: Sequence[str], wide: Sequence[int]) -> str:
    return "  ".join([first, *(cell.rjust(w) for cell, w in zip(cells, wide, strict=False))]).rstrip()


def pivoted(
    source: PivotSource,
    rows: str | None = None,
    columns: str | None = None,
    at: Mapping[str, str] | None = None,
) -> Pivot:
    """Cells as rows by columns; of the first two variables the longer one goes down unless told otherwise.

    Raises
    ------
    ParameterError
        When a variable or code is not known, or a variable is asked for twice.
    """
    sides = {side.variable: side for side in source.sides}
    for name in (rows, columns, *(at or {})):
        if name is not None and name not in sides:
            raise ParameterError(unknown_name("variable", name, sides, f"table {source.name!r}"))
    down, across = _spanned(source, rows, columns, at or {})
    fixed: dict[str, str] = {}
    keep = np.ones(len(source.value), np.bool_)
    for k, side in enumerate(source.sides):
        if side.variable in (down, across):
            continue
        code = (at or {}).get(side.variable, side.total if side.total is not None else side.codes[0])
        fixed[side.variable] = code
        keep &= source.codes[:, k] == side.place(code)
    names = [side.variable for side in source.sides]
    cells = np.flatnonzero(keep)
    y = source.codes[cells, names.index(down)].astype(np.int64)
    x = np.zeros(len(cells), np.int64) if across is None else source.codes[cells, names.index(across)].astype(np.int64)
    places = np.full((len(sides[down].codes), 1 if across is None else len(sides[across].codes)), NO_CELL, np.int64)
    places[y, x] = cells
    # Codes of an altered table are public, and their cells zeros where none is listed; others have no such cell.
    used = [np.arange(n) for n in places.shape] if source.zeros_left_out else [np.unique(y), np.unique(x)]
    return Pivot(
        source,
        _some(sides[down], used[0]),
        None if across is None else _some(sides[across], used[1]),
        fixed,
        places[np.ix_(used[0], used[1])],
    )


def _spanned(
    source: PivotSource, rows: str | None, columns: str | None, at: Mapping[str, str]
) -> tuple[str, str | None]:
    """The variables that span a pivot."""
    named = [name for name in (rows, columns, *at) if name is not None]
    if len(set(named)) < len(named):
        raise ParameterError(
            f"Variable {next(n for n in named if named.count(n) > 1)!r} is asked for twice.",
            hint="Give every variable one place: rows=, columns= or at=.",
        )
    free = [side.variable for side in source.sides if side.variable not in named]
    size = {side.variable: len(side.codes) for side in source.sides}
    if rows is None and columns is None and len(free) > 1 and size[free[1]] > size[free[0]]:
        free[0], free[1] = free[1], free[0]
    if rows is None:
        if not free:
            raise ParameterError("No variable is left for the rows.", hint="Name fewer variables in columns= and at=.")
        rows = free.pop(0)
    if columns is None and free:
        columns = free.pop(0)
    return rows, columns


def _some(side: PivotSide, used: Ints) -> PivotSide:
    """The codes that have cells; depths count from the highest of them."""
    kept = used.tolist()
    least = min((side.depth[i] for i in kept), default=0)
    return side._replace(codes=[side.codes[i] for i in kept], depth=[side.depth[i] - least for i in kept])
