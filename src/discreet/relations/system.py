"""One system of cells and relations for any table or set of tables.

Every table method works on this: a value vector and a sparse matrix whose rows sum to zero. Linked tables,
several hierarchies, signed sums and equations between variables are all rows of the same matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, NeedsError, counted, listed
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import LARGEST, Bools, Floats, Ints
from discreet.model.evidence import Parts
from discreet.model.table import Table
from discreet.model.tableset import TableSet
from discreet.model.units import unit_text
from discreet.relations.filling import Filling, parts_filled_alone
from discreet.relations.insiders import Insiders
from discreet.relations.relating import Relating

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FIGURE = -2
"""Stands for the variable of a relation that a figure makes."""


def known_bounds(system: System, within: float | None) -> tuple[Ints, Ints]:
    """Bounds of every cell for everybody, who may know it to within some per cent of its value."""
    lower, upper = system.lower_bound, system.upper_bound
    if within is None:
        return lower, upper
    share = Fraction(str(within)) / 100
    size = np.abs(system.value).astype(object) * share.numerator // share.denominator
    off = np.minimum(size, 2**61).astype(np.int64)
    return np.maximum(lower, system.value - off), np.minimum(upper, system.value + off)


@dataclass(frozen=True, eq=False)
class System:
    """Distinct cells of a set of tables, their relations, and what protection they need.

    Parameters
    ----------
    tables
        The tables, as a set.
    of
        For every table the number of each row's cell in the system.
    relating
        Relations between the cells: ``matrix``, ``defining``, ``origin``, ``parent`` and ``slack`` ask it.
    decimals
        Decimals of the common unit of all values, levels and bounds.
    unsafe, forced, given
        Cells that must be withheld, that must be published, and that a given pattern withholds.
    insiders
        Who is in the cells: ``contributors``, ``holder`` and ``own`` ask it.
    present
        How many of the tables are to be published now; those behind them are of earlier releases.
    known, known_by
        Cells that were published before, and who published which.
    already
        All that is already published.
    figure_of
        Which of its figures each of the last cells belongs to: these stand in no table and are never published.
    parts
        What a method needs besides the cells, as it supplied it (see ``Method.supply``).
    """

    tables: TableSet
    of: tuple[Ints, ...]
    relating: Relating
    decimals: int
    value: Ints
    empty: Bools
    unsafe: Bools
    forced: Bools
    given: Bools
    lower_level: Ints
    upper_level: Ints
    sliding_level: Ints
    lower_bound: Ints
    upper_bound: Ints
    insiders: Insiders
    present: int
    known: Bools
    known_by: tuple[tuple[str, Ints], ...]
    already: AlreadyPublished
    figure_of: Ints
    parts: Parts = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def matrix(self) -> csr_array:
        """Relations: one row per equation, one column per cell; ``matrix @ value`` is zero."""
        return self.relating.found.matrix

    @property
    def defining(self) -> Bools:
        """Rows that imply all others where tables are complete down to their base codes."""
        return self.relating.found.defining

    @property
    def origin(self) -> Ints:
        """For every row (table, variable, grouping, sample row); variable -1 is an equation between variables."""
        return self.relating.found.origin

    @property
    def parent(self) -> Ints:
        """For every row the cell that it explains by others, -1 where that is not there."""
        return self.relating.found.parent

    @property
    def slack(self) -> Ints:
        """How far each row may be from adding up, in units."""
        return self.relating.found.slack

    def related(self, **changes: Any) -> System:
        """The same cells with other relations."""
        changed = replace(self.relating.found, **changes)
        return replace(self, relating=Relating(lambda: changed))

    @property
    def contributors(self) -> Ints:
        """How many contributors a cell has; 0 where nothing is known."""
        return self.insiders.found.contributors

    @property
    def holder(self) -> Ints:
        """The largest contributors of a cell, -1 where there is none.

        A cell with one contributor of unknown identity has a holder below -1 of its own.
        """
        return self.insiders.found.holder

    @property
    def own(self) -> Ints:
        """What the largest contributors contribute."""
        return self.insiders.found.own

    @cached_property
    def without_negative(self) -> Bools:
        """Cells that are known to have no negative contribution, so that who is in one knows what the others leave."""
        result = self.lower_bound >= 0
        for table, cells in zip(self.tables, self.of, strict=True):
            result[cells[~table.without_negative()]] = False
        return result

    @cached_property
    def filling(self) -> Filling:
        """Who must be in a cell, because it is the only contributor of a part of it and the tables name nobody."""
        found = self.insiders.found
        sole = np.where(found.contributors == 1, found.holder[:, 0], -1)
        if not (sole < -1).any() or not self.matrix.shape[0]:
            return Filling.nobody(len(self))
        exact = (self.slack == 0) & (self.origin[:, 1] != FIGURE) & (abs(self.matrix) @ ~self.without_negative == 0)
        asked = self.unsafe & (found.contributors > 1) & (self.value > 0)
        level = np.maximum(self.lower_level, self.sliding_level)[asked] / self.value[asked]
        least = min(0.5, 1.0 - float(level.max(initial=0.0)))
        return parts_filled_alone(self.matrix, exact, self.value, sole, least * (1 - 1e-9))

    @cached_property
    def home(self) -> Ints:
        """For every cell the table and row where it first appears."""
        return homes(self.of, len(self))

    @property
    def in_tables(self) -> Bools:
        """Cells that stand in a table; the others belong to figures."""
        return np.arange(len(self)) < len(self) - len(self.figure_of)

    @cached_property
    def now(self) -> Bools:
        """Cells of the tables that are to be published now."""
        result = np.zeros(len(self), np.bool_)
        for cells in self.of[: self.present]:
            result[cells] = True
        return result

    def withheld(self, hidden: Sequence[Bools]) -> Bools:
        """Cells that nobody is told, where these rows of the tables that are published now are hidden."""
        told = self.known.copy()
        for cells, mine in zip(self.of[: self.present], hidden, strict=True):
            # A cell that is published anywhere is known everywhere.
            told[cells[~mine]] = True
        return ~told

    def publishers(self, cell: int) -> list[str]:
        """Who published a cell before."""
        return list(dict.fromkeys(name for name, cells in self.known_by if cell in cells))

    def cell_name(self, cell: int) -> str:
        """A cell in words, with its table where there are several."""
        if cell >= len(self) - len(self.figure_of):
            return str(self.already.figures[int(self.figure_of[cell - len(self)])])
        number, row = self.home[cell].tolist()
        table = self.tables.tables[number]
        return table.cell_name(row) if len(self.tables) == 1 else f"{table.name}: {table.cell_name(row)}"

    def relation_name(self, row: int) -> str:
        """A relation in words: the sum and the codes of the other variables."""
        number, variable, grouping, sample = self.origin[row].tolist()
        if variable == FIGURE:
            return str(self.already.figures[grouping])
        if variable < 0:
            return f"'{self.tables.equations[grouping]}' at {self.cell_name(sample)}"
        table = self.tables.tables[number]
        hierarchy = table.spec.hierarchies[variable]
        codes = table.spec_codes(table.codes[sample].tolist())
        others = ", ".join(
            f"{v}={c}" for j, (v, c) in enumerate(zip(table.variables, codes, strict=True)) if j != variable
        )
        text = f"{table.variables[variable]}: {hierarchy.groupings[grouping]}"
        return f"'{text}'{' at ' + others if others else ''} in table {table.name!r}"

    def cost(self, kind: str) -> Floats:
        """What withholding each cell costs: ``value``, ``count``, ``unity``, ``log``, ``variable`` or ``distance``.

        The last is how many relations away the nearest unsafe cell is. Cells that are not published now cost nothing.
        """
        if kind == "distance":
            from discreet.relations.distance import distance_in_relations

            return np.where(self.now, distance_in_relations(self.matrix, np.flatnonzero(self.unsafe)), 0.0)
        result = np.zeros(len(self), np.float64)
        for table, of in list(zip(self.tables, self.of, strict=True))[: self.present]:
            np.maximum.at(result, of, _table_cost(table, kind, 10.0 ** (self.decimals - table.decimals)))
        return result

    @cached_property
    def residual(self) -> Ints:
        """How far each relation is from holding, exactly (at most ``LARGEST``)."""
        figures = len(self.figure_of)
        matrix = self.matrix[: self.matrix.shape[0] - figures] if figures else self.matrix
        exact = np.zeros(figures, np.int64)  # figures hold as their sums were computed
        longest = int((matrix.indptr[1:] - matrix.indptr[:-1]).max(initial=0))
        if longest * float(np.abs(self.value).max(initial=0)) < LARGEST:
            found = np.asarray(matrix @ self.value, dtype=np.int64)
        else:
            high, low = (matrix @ part for part in np.divmod(self.value, 2**32))
            high = np.clip(high, -(2**30 + 2**25), 2**30 + 2**25)  # beyond LARGEST, whatever the low parts add
            found = np.clip(high * 2**32 + low, -LARGEST, LARGEST).astype(np.int64)
        return np.concatenate((found, exact)) if figures else found

    def check_additive(self) -> None:
        """Raise with the worst relation named when the tables do not add up within their stated slack."""
        residual = self.residual
        excess = np.abs(residual) - self.slack
        if not (excess > 0).any():
            return
        worst = int(np.argmax(excess))
        raise InputError(
            f"{counted(int((excess > 0).sum()), 'relation', 'do')} not add up; the worst is "
            f"{self.relation_name(worst)}.",
            hint="Correct the cells, compute the totals anew (compute_totals=True), or state the slack of "
            "rounded or weighted tables (slack=).",
            details=f"The parts less the total give {unit_text(int(residual[worst]), self.decimals)}.",
        )

    def check_bounds(self) -> None:
        """Raise with the cells named when what everybody is said to know of a cell is not true of it."""
        wrong = np.flatnonzero((self.value < self.lower_bound) | (self.value > self.upper_bound))
        if len(wrong):
            names = [self.cell_name(cell) for cell in wrong.tolist()]
            raise InputError(
                f"{counted(len(wrong), 'cell', 'lie')} outside the bounds that everybody knows: {listed(names, 5)}.",
                hint="Correct the bounds (lower_bound, upper_bound) or the values.",
            )

    def shared(self) -> list[tuple[str, str, int]]:
        """Which tables share cells, and how many."""
        found = []
        for i, one in enumerate(self.of):
            for j in range(i + 1, len(self.of)):
                common = len(np.intersect1d(one, self.of[j]))
                if common:
                    found.append((self.tables.tables[i].name, self.tables.tables[j].name, common))
        return found


def homes(of: Sequence[Ints], size: int) -> Ints:
    """Table and row where each cell first appears."""
    result = np.full((size, 2), -1, np.int64)
    for number in range(len(of) - 1, -1, -1):
        cells = of[number][::-1]
        result[cells, 0] = number
        result[cells, 1] = np.arange(len(cells) - 1, -1, -1)
    return result


def _table_cost(table: Table, kind: str, scale: float) -> Floats:
    if table.cost is not None and kind == "variable":
        bad = np.flatnonzero(~(np.isfinite(table.cost) & (table.cost >= 0)))
        if len(bad):
            raise InputError(
                f"The cost of {counted(len(bad), 'cell')} of table {table.name!r} is not a number of at least 0, "
                "first of "
                f"{table.cell_name(int(bad[0]))}.",
                hint="Give a cost that is never below 0; 0 makes a cell free.",
            )
        return table.cost
    if kind in ("value", "log"):
        absolute = np.abs(table.value.astype(np.float64)) * scale
        return absolute if kind == "value" else np.log1p(absolute)
    if kind == "count":
        if table.records is not None:
            return table.records.astype(np.float64)
        if "holding" in table.contributions:
            return table.contributions["holding"].count.astype(np.float64)
    if kind == "unity":
        return np.ones(len(table), np.float64)
    raise NeedsError(
        f"Table {table.name!r} has nothing to compute the cost {kind!r} from.",
        hint="Use cost='value', 'log' or 'unity', or give the table a cost column or contributor counts.",
    )
