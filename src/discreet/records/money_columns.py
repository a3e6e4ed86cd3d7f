"""Columns of money: numbers, codes among them that stand for something else, and totals that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed
from discreet.model.arrays import Bools, Ints
from discreet.model.records import RecordSet
from discreet.records.exact_columns import WHOLE_LIMIT, ExactColumn, refuse_large
from discreet.records.value_columns import NO_VALUES, exact_column, unknown_by_accident, with_units

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class MovedColumn:
    """A column before and after, in units of ``10 ** -decimals``; ``gaps`` are empty fields and codes, which stay."""

    old: Ints
    new: Ints
    gaps: Bools
    decimals: int
    whole: bool

    def in_decimals(self, decimals: int, name: str) -> tuple[Ints, Ints]:
        """The same in finer units, 0 for gaps."""
        factor = 10 ** (decimals - self.decimals)
        largest = max((int(np.abs(part).max(initial=0)) for part in (self.old, self.new)), default=0)
        if largest * factor >= WHOLE_LIMIT:
            raise InputError(
                f"Column {name!r} holds numbers too large to be added up with {counted(decimals, 'decimal')}.",
                hint="Express the column in a larger unit (thousands), or round it.",
            )
        return np.where(self.gaps, 0, self.old) * factor, np.where(self.gaps, 0, self.new) * factor


def checked_codes(given: Any) -> tuple[float, ...]:
    """Codes that stay: finite numbers, each once."""
    codes = (given,) if isinstance(given, int | float) and not isinstance(given, bool) else given
    good = isinstance(codes, tuple | list) and all(
        isinstance(code, int | float) and not isinstance(code, bool) and isfinite(code) for code in codes
    )
    if not good or len(set(codes)) < len(codes):
        raise ParameterError(f"keep={given!r} is not allowed.", hint="Give numbers in a list, each once: keep=[-9].")
    return tuple(codes)


def money_column(records: RecordSet, name: str, keep: Sequence[float]) -> ExactColumn:
    """A column in its smallest unit; codes for "unknown", and those that are kept, count as gaps."""
    column = exact_column(records, name)
    for code in keep:
        number = code * 10**column.decimals
        here = (column.units == int(number)) & ~column.gaps if number == int(number) else np.zeros(0, np.bool_)
        if not here.any():
            continue
        others = column.units[~column.gaps & ~here]
        if len(others) and others.min() < int(number) < others.max():
            raise InputError(
                f"The code {code:g} of column {name!r} lies among its values, and nobody can tell the two apart.",
                hint=f"Recode the values below it first (ds.Recode({name!r}, bottom=0)), or choose a code outside.",
            )
        column = replace(column, gaps=column.gaps | here, units=np.where(here, 0, column.units))
    return column


def unmoved(column: ExactColumn) -> MovedColumn:
    """A column that stays as it is."""
    return MovedColumn(column.units, column.units, column.gaps, column.decimals, column.whole)


def written_column(records: RecordSet, name: str, moved: MovedColumn, keep: Sequence[float]) -> pa.ChunkedArray:
    """The column with its new values; one that reads as a code is refused."""
    column = ExactColumn(moved.old, moved.gaps, moved.decimals, moved.whole)
    refuse_large(moved.new, moved.whole and moved.decimals == 0, moved.decimals, name)
    made = with_units(records[name], moved.new, column, moved.decimals, name)
    kept = np.isin(np.asarray(made.fill_null(0).to_numpy()), list(keep)) & ~moved.gaps
    changed = moved.new != moved.old
    if np.any(kept & changed) or unknown_by_accident(made, moved.gaps, records.about(name).missing):
        raise InputError(
            f"A new value of column {name!r} would read as one of its codes.",
            hint="Choose codes that no value comes near to (-9, 99999998), or empty the fields that hold them first.",
        )
    return made


def term_of(text: str) -> tuple[int, str]:
    """The sign and the column of a part of a total: ``"-debt"`` is subtracted."""
    return (-1, text[1:]) if text.startswith("-") else (1, text)


def checked_totals(given: Mapping[Any, Any]) -> dict[str, tuple[str, ...]]:
    """Totals and the columns that they are made of."""
    kept: dict[str, tuple[str, ...]] = {}
    for total, parts in given.items():
        named = (parts,) if isinstance(parts, str) else parts
        good = isinstance(named, tuple | list) and named and all(isinstance(p, str) and p.strip("-") for p in named)
        columns = [term_of(part)[1] for part in named] if good else []
        if not isinstance(total, str) or not columns or len(set(columns)) < len(columns) or total in columns:
            raise ParameterError(
                f"totals={{{total!r}: {parts!r}}} is not allowed.",
                hint='Name the parts of each total, each once: totals={"wealth": ["assets", "-debts"]}.',
            )
        kept[total] = tuple(named)
    totals_in_order(kept)
    return kept


def totals_in_order(totals: Mapping[str, Sequence[str]]) -> list[str]:
    """Totals such that each comes after those that it is made of."""
    order: list[str] = []
    while len(order) < len(totals):
        ready = [
            total
            for total, parts in totals.items()
            if total not in order and all(term_of(p)[1] in order or term_of(p)[1] not in totals for p in parts)
        ]
        if not ready:
            raise ParameterError(
                f"totals= goes in a circle: {listed(t for t in totals if t not in order)}.",
                hint="Name the parts of each total, none of which is made of the total itself.",
            )
        order += ready
    return order


def without_totals(names: Sequence[str], totals: Mapping[str, Sequence[str]], named: Sequence[str]) -> list[str]:
    """Columns that are changed themselves: a total follows from its parts."""
    both = [name for name in named if name in totals]
    if both:
        raise ParameterError(
            f"{listed(both)} {'is' if len(both) == 1 else 'are'} to be changed and to be added up.",
            hint="Leave it out of columns=, or out of totals=.",
        )
    return [name for name in names if name not in totals]


def added_up(
    records: RecordSet, totals: Mapping[str, Sequence[str]], moved: Mapping[str, MovedColumn], keep: Sequence[float]
) -> dict[str, MovedColumn]:
    """Totals of new values; a total that is not the sum of its parts in the first place is refused."""
    known = dict(moved)
    for total in totals_in_order(totals):
        parts = [term_of(part) for part in totals[total]]
        if not any(name in known for _, name in parts):
            raise ParameterError(
                f"No part of the total {total!r} is changed: {listed(name for _, name in parts)}.",
                hint="Leave the total out of totals=.",
            )
        for name in (total, *(name for _, name in parts)):
            records[name]  # refuses what is not there
            if records.about(name).role in NO_VALUES:
                raise ParameterError(
                    f"Column {name!r} has the role {records.about(name).role}, and is no part of a total.",
                    hint="Leave it out.",
                )
            if name not in known:
                known[name] = unmoved(money_column(records, name, keep))
        known[total] = _added(total, known[total], [(sign, name, known[name]) for sign, name in parts])
    return {total: known[total] for total in totals}


def _added(total: str, before: MovedColumn, parts: Sequence[tuple[int, str, MovedColumn]]) -> MovedColumn:
    decimals = max(before.decimals, *(part.decimals for _, _, part in parts))
    stated, _ = before.in_decimals(decimals, total)
    old, new = np.zeros_like(stated), np.zeros_like(stated)
    for sign, name, part in parts:
        first, second = part.in_decimals(decimals, name)
        if max(int(np.abs(old).max(initial=0)), int(np.abs(new).max(initial=0))) >= WHOLE_LIMIT:
            raise InputError(f"The parts of {total!r} are too large to be added up.", hint="Use a larger unit.")
        old, new = old + sign * first, new + sign * second
    wrong = int(((old != stated) & ~before.gaps).sum())
    if wrong:
        raise InputError(
            f"{counted(wrong, 'record', 'have')} another total in {total!r} than the sum of its parts "
            f"({listed(name for _, name, _ in parts)}).",
            hint="Name all its parts (those to be subtracted as '-debts'), or leave it out of totals=.",
        )
    return MovedColumn(stated, np.where(before.gaps, 0, new), before.gaps, decimals, before.whole)
