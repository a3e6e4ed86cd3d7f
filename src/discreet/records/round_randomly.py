"""The method ``RoundRandomly``: values of records are rounded up or down by chance, so that their expectation stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from discreet.engine.draws import draws, fractions
from discreet.errors import InputError, ParameterError, listed
from discreet.keys import Key
from discreet.methods.base import Keyed, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.claims.random_rounding import randomly_rounded_claim
from discreet.model.evidence import Evidence
from discreet.model.records import IDENTIFIER, RecordSet
from discreet.parallel import by_rows
from discreet.progress import steps as in_steps
from discreet.records.exact_columns import FLOAT_LIMIT, WHOLE_LIMIT, ExactColumn
from discreet.records.money_columns import (
    MovedColumn,
    added_up,
    checked_codes,
    checked_totals,
    money_column,
    term_of,
    without_totals,
    written_column,
)
from discreet.records.number_columns import exact
from discreet.records.value_columns import refuse_repeated, value_columns

Bases = tuple[tuple[float, float], ...]
MONEY: Bases = ((1_000_000, 10_000), (10_000, 1_000), (1_000, 100), (0, 10))
"""From which size on values are rounded to multiples of what."""
MOST_DECIMALS = 9


@dataclass(frozen=True)
class RoundRandomly(Keyed, RecordMethod):
    """Round values of records to one of the two multiples of a base next to them, by chance and without bias.

    1,222,221 with base 10,000 becomes 1,230,000 with probability 0.2221, and 1,220,000 otherwise. Multiples, and so
    zeros, stay, and so do empty fields, codes that stand for "unknown", and the codes in ``keep``. The same value of
    the same record is rounded the same way whenever the key is the same: releases cannot be averaged.

    Parameters
    ----------
    columns
        Columns of numbers; those with the role ``numeric`` where left out.
    bases
        Pairs of a size and a base, the largest size first and the last size 0: a value whose size (without its sign)
        reaches the first is rounded to multiples of the first base, and so on. A single number is one base for all.
    bases_of
        Columns that have bases of their own, such as ``{"acres": 5}``; they are rounded, too.
    keep
        Numbers that are codes (-9) and stay. A code that lies among the values of its column is refused.
    totals
        Totals and their parts, such as ``{"wealth": ["assets", "-debts"]}``: they are not rounded but added up anew.
        Totals that are not named here are rounded by themselves, and no longer add up.
    version
        Version of the draws.
    key_file
        File of the secret key; the variable ``DISCREET_KEY`` or a new key otherwise.
    insecure_seed
        A number in place of a key, for tests and simulations; such a release cannot be saved.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> table = pa.table({"id": [1, 2, 3, 4], "wage": [61_350, 0, 2_000_000, -9]})
    >>> people = ds.Microdata(table, identifier="id", numeric="wage")
    >>> release = ds.protect(people, ds.RoundRandomly(keep=[-9], insecure_seed=1), keep_order=True)
    >>> release.public.records.shown()["wage"]
    [61000, 0, 2000000, -9]
    """

    kind: ClassVar[str] = "round_randomly"
    secret: ClassVar[bool] = True
    columns: tuple[str, ...] = ()
    bases: float | Bases = MONEY
    bases_of: Mapping[str, float | Bases] = field(default_factory=dict)
    keep: tuple[float, ...] = ()
    totals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_repeated(self.columns)
        own = {name: checked_bases(f"bases_of[{name!r}]", given) for name, given in self.bases_of.items()}
        object.__setattr__(self, "bases", checked_bases("bases", self.bases))
        object.__setattr__(self, "bases_of", own)
        object.__setattr__(self, "keep", checked_codes(self.keep))
        object.__setattr__(self, "totals", checked_totals(self.totals))
        without_totals((), self.totals, (*self.columns, *self.bases_of))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that it takes numbers from."""
        parts = (term_of(part)[1] for named in self.totals.values() for part in named)
        return tuple(dict.fromkeys((*self.columns, *self.bases_of, *self.totals, *parts)))

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Round the columns, and add totals up."""
        assert key is not None
        own = tuple(self.bases_of)
        chosen = self.columns or tuple(n for n in records.with_role("numeric") if n not in own) or own
        names = without_totals(value_columns(records, (*chosen, *own), "RoundRandomly"), self.totals, ())
        names = list(dict.fromkeys(names))
        moved: dict[str, MovedColumn] = {}
        for name in in_steps("records", names):
            moved[name] = self._rounded(records, name, key)
        both = {**moved, **added_up(records, self.totals, moved, self.keep)}
        changed = {name: written_column(records, name, column, self.keep) for name, column in both.items()}
        facts: dict[str, Any] = {
            "columns": names,
            "rounded": [int((moved[name].new != moved[name].old).sum()) for name in names],
            "identified": bool(records.with_role(IDENTIFIER)),
            "insecure": key.insecure,
        }
        plain = self.record()
        still = [name for name, many in zip(names, facts["rounded"], strict=True) if not many]
        notes = (f"Every value of {listed(still)} was a multiple of its base already.",) if still else ()
        return RecordOutcome(changed, Evidence(plain, randomly_rounded_claim(plain, facts), facts=facts), notes)

    def _rounded(self, records: RecordSet, name: str, key: Key) -> MovedColumn:
        assert records.identity is not None
        given = self.bases_of.get(name, self.bases)
        assert isinstance(given, tuple)
        column, bases, decimals = in_units(money_column(records, name, self.keep), given, name)
        values = np.asarray(records[name].fill_null(0).to_numpy(), np.float64)
        drawn = draws(
            key.secret,
            self.purpose(f"random rounding/{name}"),
            self.version,
            records.identity,
            (values + 0.0).view(np.uint64),
        )
        new = np.concatenate(by_rows(partial(_rounded, bases), column.units, column.gaps, fractions(drawn)))
        return MovedColumn(column.units, new, column.gaps, decimals, column.whole)


def _rounded(bases: Sequence[tuple[int, int]], units: Ints, gaps: Bools, chance: Floats) -> Ints:
    """Every value at the multiple below it, or above it where its draw says so; gaps stay."""
    base = base_of(units, bases)
    rest = units % base
    up = chance * base < rest
    result: Ints = np.where(gaps, units, units - rest + np.where(up, base, 0))
    return result


def checked_bases(argument: str, given: Any) -> Bases:
    """Sizes and bases as pairs, the largest size first and the last one 0."""
    if _is_number(given):
        given = ((0, given),)
    pairs = isinstance(given, tuple | list) and given
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in given):
        raise ParameterError(f"{argument}={given!r} is not allowed.", hint=_hint(argument))
    if not all(_is_number(number) for pair in given for number in pair):
        raise ParameterError(f"{argument}={given!r} holds what is no number.", hint=_hint(argument))
    small = [base for _, base in given if base <= 0]
    if small:
        raise ParameterError(
            f"{argument} has the base {small[0]:g}.", hint="Give bases above 0; 1 keeps whole numbers."
        )
    sizes = [size for size, _ in given]
    if any(upper <= lower for upper, lower in pairwise(sizes)):
        raise ParameterError(f"{argument}: the sizes {sizes} do not fall.", hint="Give the largest size first.")
    if sizes[-1] != 0:
        raise ParameterError(
            f"{argument} does not say how values below {sizes[-1]:g} are rounded.",
            hint="End with the size 0, such as (0, 10).",
        )
    finest = min(_decimals(number) for pair in given for number in pair)
    if finest < 0:
        raise ParameterError(f"{argument}={given!r} has more than nine decimals.", hint="Give fewer.")
    return tuple((size, base) for size, base in given)


def _hint(argument: str) -> str:
    return f"Give pairs of a size and a base, {argument}=[(10_000, 1_000), (0, 100)], or one base."


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and isfinite(given)


def _decimals(number: float) -> int:
    """Decimals that write a number exactly; -1 where nine do not."""
    return next((d for d in range(MOST_DECIMALS + 1) if (exact(number) * 10**d).denominator == 1), -1)


def in_units(
    column: ExactColumn, bases: Sequence[tuple[float, float]], name: str
) -> tuple[ExactColumn, list[tuple[int, int]], int]:
    """A column, and sizes and bases, in units that write all of them exactly."""
    finest = max(_decimals(base) for _, base in bases)
    if column.whole and finest:
        raise ParameterError(
            f"Column {name!r} holds whole numbers, and its bases have decimals.", hint="Give whole numbers."
        )
    decimals = max(column.decimals, finest)
    units = [(_ceiling(exact(size) * 10**decimals), int(exact(base) * 10**decimals)) for size, base in bases]
    factor = 10 ** (decimals - column.decimals)
    largest = int(np.abs(column.units).max(initial=0)) * factor + max(base for _, base in units)
    if largest >= (WHOLE_LIMIT if column.whole else FLOAT_LIMIT) or max(base for _, base in units) >= FLOAT_LIMIT:
        raise InputError(
            f"Column {name!r} holds numbers too large to be rounded exactly to its bases.",
            hint="Express the column in a larger unit (thousands), or give smaller bases.",
        )
    finer = ExactColumn(column.units * factor, column.gaps, decimals, column.whole)
    return finer, units, decimals


def _ceiling(number: Fraction) -> int:
    return -((-number.numerator) // number.denominator)


def base_of(units: Ints, bases: Sequence[tuple[int, int]]) -> Ints:
    """The base of every value, by its size before it is rounded."""
    size = np.abs(units)
    found = np.full(len(units), bases[-1][1], np.int64)
    for least, base in reversed(bases[:-1]):
        found[size >= min(least, WHOLE_LIMIT)] = base
    return found
