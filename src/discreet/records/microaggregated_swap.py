"""The method ``MicroaggregatedSwap``: values change records within cells, and weighted means of cells stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, ProtectionError, counted, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.microaggregated_swap import microaggregated_swap_claim
from discreet.model.evidence import Evidence
from discreet.model.records import HOUSEHOLD, NEVER_PUBLIC, WEIGHT, RecordSet
from discreet.parameters import Number
from discreet.progress import steps as in_steps
from discreet.records.cell_pieces import grid_unit, piece_sums, shares_of, whole_weights
from discreet.records.exact_columns import ExactColumn
from discreet.records.ordered_values import order_of
from discreet.records.value_columns import (
    empty_rows,
    exact_column,
    refuse_repeated,
    rows_by_kind,
    unknown_by_accident,
    value_columns,
)
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

FINE, LEAST_FINE = 2**16, 2**4
"""Into how many steps a unit is divided for dither, and at least."""
LARGEST_SPAN, LARGEST_FINE = 2**52, 2**61
HEAVY = 30
"""A record with a larger percentage of its cell's weight is hardly hidden in it."""
NAMED = 3
"""So many cells are named in a message."""


@dataclass(frozen=True)
class MicroaggregatedSwap(Keyed, RecordMethod):
    """Let values change records within cells so that the weighted mean of every cell stays, with weights as they are.

    Values of a cell are laid end to end from the smallest to the largest, each as long as its weight; the line is cut
    anew into pieces as long as the weights in a random order, and every record gets the mean of the piece that is as
    long as its own weight.

    Parameters
    ----------
    columns
        Columns of numbers; those with the role ``numeric`` where left out.
    cells
        Columns whose combinations make the cells, besides the strata of the records.
    weight
        Column of weights; the one with that role where left out, and all records alike where there is none.
    least
        Fewest values that a cell may have.
    dither
        Width of the uniform noise that breaks the grid of the values up before; the unit of each column where left
        out. Without it (0), values that lie on a grid can often be worked out again.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"rent": [300, 450, 520, 610, 700, 480], "w": [120.5, 80.0, 95.25, 110.0, 70.0, 130.0]})
    >>> homes = ds.Microdata(table, numeric="rent", weight="w")
    >>> release = ds.protect(homes, ds.MicroaggregatedSwap(least=5, insecure_seed=1))
    >>> shown = release.public.records.shown()
    >>> f"{sum(w * y for w, y in zip(shown['w'], shown['rent'])):.3f}"
    '300180.000'
    """

    kind: ClassVar[str] = "microaggregated_swap"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    weight: str | None = None
    least: Annotated[int, Number(least=2)] = 10
    dither: Annotated[float, Number(least=0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        if len(set(self.cells)) < len(self.cells):
            raise ParameterError("cells= names a column twice.", hint="Name each once.")
        self._refuse_both(self.columns)

    def _refuse_both(self, names: Sequence[str]) -> None:
        both = [name for name in names if name in (*self.cells, self.weight)]
        if both:
            raise ParameterError(
                f"{listed(both)} cannot change and be a cell or a weight, too.", hint="Take it out of one of the two."
            )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        return (*self.columns, *((self.weight,) if self.weight else ()))

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Let values change records."""
        assert key is not None
        assert records.identity is not None
        names = value_columns(records, self.columns, "MicroaggregatedSwap")
        by = tuple(dict.fromkeys([*self.cells, *records.strata]))
        self._refuse_both(names)
        weight = self._weight(records)
        cells = _cells(records, by)
        changed: dict[str, pa.ChunkedArray] = {}
        parts: dict[str, Ints] = {}
        notes, facts = list[str](), _Facts()
        for place in in_steps("records", range(len(names))):
            name = names[place]
            column = exact_column(records, name)
            plan = self._plan(name, column)
            self._refuse_cells(records, by, cells, column, name)
            notes += self._notes(name, column, plan)
            new, piece, added, sizes = self._masked(records, key, name, column, plan, weight, cells)
            changed[name] = _with_numbers(records[name], new, column.gaps, name)
            if unknown_by_accident(changed[name], column.gaps, records.about(name).missing):
                raise InputError(
                    f'A new value of column {name!r} is a code for "unknown".',
                    hint="Give another version= or dither=, or empty the fields that hold such codes first.",
                )
            parts[f"piece_{place}"], parts[f"added_{place}"] = piece, added
            facts.add(plan, column, sizes)
        notes += _heavy(weight, cells)
        stated = {
            "columns": list(names),
            "by": list(by),
            "weight": self._weight_name(records) or "",
            **facts.stated(),
            "insecure": key.insecure,
        }
        plain = self.record()
        claim = microaggregated_swap_claim(stated)
        return RecordOutcome(changed, Evidence(plain, claim, facts=stated, parts={"records": parts}), tuple(notes))

    def _weight_name(self, records: RecordSet) -> str | None:
        return self.weight or next(iter(records.with_role(WEIGHT)), None)

    def _weight(self, records: RecordSet) -> NDArray[Any]:
        """Weights of all records as whole numbers."""
        import pyarrow as pa

        name = self._weight_name(records)
        if name is None:
            return np.ones(len(records), np.int64)
        column = records[name]
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise InputError(f"Weight {name!r} holds {column.type}, not numbers.", hint=f"Give numeric=[{name!r}].")
        values = column.fill_null(0).to_numpy()
        wrong = int((empty_rows(records, name) | ~(values > 0)).sum())
        if wrong:
            raise InputError(
                f"Weight {name!r} is not above 0 in {counted(wrong, 'record')}.",
                hint="Every record needs a weight; leave out those that stand for nobody.",
            )
        return whole_weights(values)

    def _plan(self, name: str, column: ExactColumn) -> _Plan:
        """How a column is dithered."""
        there = column.units[~column.gaps]
        unit = grid_unit(there)
        width = Fraction(unit) if self.dither is None else Fraction(str(self.dither)) * 10**column.decimals
        if not width:
            return _Plan(unit, 1, 0)
        most, fine = int(np.abs(there).max(initial=0)) + ceil(width), FINE
        while fine > LEAST_FINE and (most * fine >= LARGEST_FINE or width * fine >= LARGEST_SPAN):
            fine //= 2
        if most * fine >= LARGEST_FINE or width * fine >= LARGEST_SPAN:
            raise InputError(
                f"Column {name!r} holds numbers too large to be dithered.",
                hint="Express the column in a larger unit (thousands), or give a smaller dither=.",
            )
        return _Plan(unit, fine, ceil(width * fine))

    def _refuse_cells(
        self, records: RecordSet, by: Sequence[str], cells: Sequence[Ints], column: ExactColumn, name: str
    ) -> None:
        """Refuse cells that are too small, and cells whose values are all the same."""
        small, same = list[str](), list[str]()
        for rows in cells:
            values = column.units[rows[~column.gaps[rows]]]
            if not len(values):
                continue
            where = ", ".join(f"{one} {records[one][int(rows[0])].as_py()!r}" for one in by) or "the whole file"
            if len(values) < self.least:
                small.append(f"{where} ({len(values)})")
            elif values.min() == values.max():
                same.append(where)
        if small:
            raise ProtectionError(
                f"{counted(len(small), 'cell', 'have')} fewer than {self.least} values of {name!r}: {_some(small)}.",
                hint="Merge cells (fewer columns in cells=, or Recode them first), or give a smaller least=.",
            )
        if same:
            raise ProtectionError(
                f"All values of {name!r} are the same in {counted(len(same), 'cell')}, and would be published as they "
                f"are: {_some(same)}.",
                hint="Merge cells (fewer columns in cells=, or Recode them first), or leave the column out.",
            )
        if column.gaps.all():
            raise InputError(f"There is no value in {name!r}.", hint="Name columns that hold numbers.")

    def _notes(self, name: str, column: ExactColumn, plan: _Plan) -> list[str]:
        unit = plan.unit / 10**column.decimals
        notes = []
        if plan.span < plan.unit * plan.fine:
            notes.append(
                f"Values of {name!r} lie on a grid of {unit:g}, and dither is smaller: readers who try orders of the "
                "weights may work values of small cells out."
            )
        if column.gaps.any():
            notes.append(f"{counted(int(column.gaps.sum()), f'field of {name!r}', 'are')} empty and stayed so.")
        return notes

    def _masked(
        self,
        records: RecordSet,
        key: Key,
        name: str,
        column: ExactColumn,
        plan: _Plan,
        weight: NDArray[Any],
        cells: Sequence[Ints],
    ) -> tuple[Floats, Ints, Ints, Ints]:
        """New numbers, the piece and the dither of every record, and how many values each cell has."""
        assert records.identity is not None
        many = len(records)
        chance = self._fractions(key, "microaggregated swap", name, records.identity)
        added = np.zeros(many, np.int64)
        if plan.span:
            noise = self._fractions(key, "microaggregated swap dither", name, records.identity, _or_none(self.dither))
            added[~column.gaps] = (noise[~column.gaps] * plan.span).astype(np.int64) - plan.span // 2
        new, piece, sizes = np.zeros(many), np.full(many, -1, np.int64), []
        for rows in cells:
            there = rows[~column.gaps[rows]]
            if not len(there):
                continue
            piece[there[order_of(chance[there])]] = np.arange(len(there))
            sums = piece_sums(column.units[there] * plan.fine + added[there], weight[there], piece[there])
            moved = int((weight[there].astype(object) * added[there]).sum()) if plan.span else 0
            new[there] = shares_of(sums, weight[there], moved, plan.fine * 10**column.decimals)
            sizes.append(len(there))
        return new, piece, added, np.array(sizes, np.int64)

    def _fractions(self, key: Key, what: str, name: str, identity: Ints, *told: float | None) -> Floats:
        return fractions(draws(key.secret, self.purpose(f"{what}/{name}", *told), self.version, identity))


def _or_none(number: float | None) -> float | None:
    return None if number is None else float(number)


class _Plan(NamedTuple):
    """The unit of a column, how many steps its smallest unit is divided into, and the width of dither in them."""

    unit: int
    fine: int
    span: int


class _Facts:
    """What is stated of every column, and of all cells."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int]] = {"decimals": [], "units": [], "fine": [], "spans": []}
        self.sizes: list[Ints] = []

    def add(self, plan: _Plan, column: ExactColumn, sizes: Ints) -> None:
        for what, value in zip(self.columns, (column.decimals, *plan), strict=True):
            self.columns[what].append(int(value))
        self.sizes.append(sizes)

    def stated(self) -> dict[str, Any]:
        sizes = np.concatenate(self.sizes)
        count = max(len(one) for one in self.sizes)
        return {**self.columns, "cells": count, "smallest": int(sizes.min()), "largest": int(sizes.max())}


def _cells(records: RecordSet, by: Sequence[str]) -> list[Ints]:
    """Rows of each cell, in the order of who they are."""
    assert records.identity is not None
    order, kind = order_of(records.identity), np.zeros(len(records), np.int64)
    for name in by:
        if records.about(name).role in (*NEVER_PUBLIC, HOUSEHOLD):
            raise ParameterError(
                f"Column {name!r} is of the role {records.about(name).role!r}, which makes no cells.",
                hint="Take it out of cells=.",
            )
        codes, size = codes_of(records[name])
        kind = np.unique(kind * size + codes, return_inverse=True)[1].ravel()
    return [order[rows] for rows in rows_by_kind(kind[order])]


def _heavy(weight: NDArray[Any], cells: Sequence[Ints]) -> list[str]:
    heavy = sum(int(weight[rows].max()) * 100 > HEAVY * int(weight[rows].sum()) for rows in cells)
    if not heavy:
        return []
    return [f"In {counted(heavy, 'cell')} one record has more than {HEAVY}% of the weight, and is hardly hidden."]


def _some(names: Sequence[str]) -> str:
    shown = "; ".join(names[:NAMED])
    return f"{shown}; and {len(names) - NAMED} more" if len(names) > NAMED else shown


def _with_numbers(old: pa.ChunkedArray, new: Floats, gaps: Bools, name: str) -> pa.ChunkedArray:
    """New numbers where there were some; empty fields, and codes that stand for "unknown", stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        kept = old.cast(pa.float64())
    except pa.ArrowInvalid:
        raise InputError(
            f"Column {name!r} holds whole numbers, or codes, too large to stand beside numbers with decimals.",
            hint="Express the column in a larger unit, or give smaller codes.",
        ) from None
    return pc.if_else(pa.chunked_array([pa.array(~gaps)]), pa.chunked_array([pa.array(new)]), kept)
