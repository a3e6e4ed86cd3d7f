"""Columns that are synthesised: codes, or numbers in whole units with their gaps and the ends that are released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import InputError, ProtectionError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import CONTRIBUTOR, HOUSEHOLD, NUMBER, ColumnInfo, MissingRange, RecordSet, code_text
from discreet.model.units import detect_decimals
from discreet.records.value_columns import empty_rows
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CODES = 1000
"""A column of more codes tells too much of single records, and too little to models."""
FEW_NUMBERS = 50
"""Numbers that are this few, each shared by many records, are taken for codes."""
FINE = 5
"""A column with so many units for each of its values has room between them for others."""
MOST_UNITS = 2**53
TRIES = 1000
"""How far from a value another is looked for, in units."""


@dataclass(frozen=True, eq=False)
class CodesOfColumn:
    """A column of codes: the number of each record's, and what numbers stand for, a gap first where there is one."""

    name: str
    codes: Ints
    words: list[Any]
    type: Any

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.words)

    def written(self, codes: Ints) -> pa.ChunkedArray:
        """A column of other codes."""
        import pyarrow as pa

        return pa.chunked_array([pa.array(self.words, self.type).take(pa.array(codes))])


@dataclass(frozen=True, eq=False)
class UnitColumn:
    """A column of numbers, dates or times in whole units.

    Parameters
    ----------
    units
        Values between the ends that are released; 0 where there is none.
    state
        0 for a value, or the place in ``empties`` and 1 for a field that has none.
    empties
        Gaps, and codes that stand for "unknown".
    decimals, step
        Units are ``10 ** -decimals``; all values are multiples of ``step``.
    low, high
        Ends: at least ``min_leaf`` values lie beyond, or share, each of them.
    shared
        Values that at least ``min_leaf`` holders (records, households, companies) have, once those beyond the ends were
        moved to them.
    alone
        All other values, in their order.
    rare
        Values that fewer holders have, as they were.
    fine
        Whether there is room between values, so that none of the rare ones need ever be released.
    """

    name: str
    units: Ints
    state: Ints
    empties: list[Any]
    type: Any
    decimals: int
    step: int
    low: int
    high: int
    shared: Ints
    alone: Ints
    rare: Ints
    fine: bool
    unknown: tuple[tuple[float, float], ...] = ()

    @property
    def floats(self) -> Floats:
        """Values as models see them."""
        return self.units.astype(np.float64)

    def on_grid(self, values: Floats, chance: Floats) -> Ints:
        """Drawn numbers as units within the ends that no rare value, and no code for "unknown", stands for."""
        units = np.rint(values / self.step).astype(np.int64) * self.step
        units = np.clip(units, self.low, self.high)
        wrong = self._not_allowed(units)
        side = np.where(chance < 0.5, 1, -1)
        for away in range(1, TRIES):
            rows = np.flatnonzero(wrong)
            if not len(rows):
                return units
            for turned in (1, -1):
                there = rows[wrong[rows]]
                moved = units[there] + turned * side[there] * away * self.step
                good = (moved >= self.low) & (moved <= self.high) & ~self._not_allowed(moved)
                units[there[good]] = moved[good]
                wrong[there[good]] = False
        raise ProtectionError(
            f"Column {self.name!r} has no room for values that are not those of few records.",
            hint='Look at its codes for "unknown", or recode the column.',
        )

    def _not_allowed(self, units: Ints) -> Bools:
        wrong = np.zeros(len(units), np.bool_)
        if self.fine and len(self.rare):
            place = np.minimum(np.searchsorted(self.rare, units), len(self.rare) - 1)
            wrong |= self.rare[place] == units
        return wrong | _within(units, self.decimals, self.unknown)

    def written(self, units: Ints, state: Ints) -> pa.ChunkedArray:
        """A column of other units, empty in the stated way where a state is not 0."""
        import pyarrow as pa

        numbers = units if not pa.types.is_floating(self.type) else units / 10.0**self.decimals
        gaps = np.zeros(len(units), np.bool_)
        for place, empty in enumerate(self.empties, start=1):
            here = state == place
            gaps |= here & (empty is None)
            numbers = np.where(here, 0 if empty is None else empty, numbers)
        if pa.types.is_date32(self.type):
            return pa.chunked_array([pa.array(numbers.astype(np.int32), mask=gaps).cast(self.type)])
        return pa.chunked_array([pa.array(numbers, mask=gaps).cast(self.type)])


SynthesisColumn = CodesOfColumn | UnitColumn


class ValueHolders(NamedTuple):
    """Who values belong to: what they are called, and the number of each record's."""

    role: str
    number: Ints

    def once(self, values: Any, empty: Bools) -> Bools:
        """Rows of which each holder has one for each of its values: what all members share is one value of theirs."""
        rows, found = np.flatnonzero(~empty), np.zeros(len(values), np.bool_)
        place = np.unique(values[rows], return_inverse=True)[1].ravel()
        pair = place * (self.number.max(initial=0) + 1) + self.number[rows]
        found[rows[np.unique(pair, return_index=True)[1]]] = True
        return found


def holders_of(records: RecordSet) -> ValueHolders:
    """Companies where they are known, else households, else every record for itself."""
    for role in (CONTRIBUTOR, HOUSEHOLD):
        for name in records.with_role(role):
            number = codes_of(records[name])[0].astype(np.int64)
            nobody = np.asarray(records[name].is_null().to_numpy(), np.bool_)
            return ValueHolders(role, np.where(nobody, number.max(initial=0) + 1 + np.arange(len(number)), number))
    return ValueHolders("record", np.arange(len(records)))


def column_of(records: RecordSet, name: str, least: int, *, as_codes: bool) -> SynthesisColumn:
    """A column as it is synthesised: text, true/false, labelled numbers and few numbers that many share are codes."""
    import pyarrow as pa

    column, about = records[name], records.about(name)
    empty = empty_rows(records, name)
    if empty.all():
        raise InputError(
            f"Column {name!r} has no value in any record: there is nothing to make a model of.", hint="Leave it out."
        )
    plain = pa.types.is_string(column.type) or pa.types.is_boolean(column.type)
    if plain or as_codes or about.measure == "nominal":
        return _codes(column, name)
    counting = holders_of(records).once(_numbers(column), empty)
    if _coded(column, counting, about, least):
        return _codes(column, name)
    return _units(column, name, about.missing, empty, counting, least)


def _coded(column: pa.ChunkedArray, counting: Bools, about: ColumnInfo, least: int) -> bool:
    """Whether numbers are few and each is shared by many, or all have labels."""
    import pyarrow as pa

    found = column.filter(pa.array(counting)).value_counts()
    counts, values = found.field("counts").to_numpy(), found.field("values")
    if len(counts) <= FEW_NUMBERS and bool((counts >= least).all()):
        return True
    few = bool(about.value_labels) and len(counts) <= len(about.value_labels)
    return few and all(code_text(value) in about.value_labels for value in values.to_pylist())


def _codes(column: pa.ChunkedArray, name: str) -> CodesOfColumn:
    import pyarrow as pa

    found = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = found.chunk(0) if isinstance(found, pa.ChunkedArray) else found
    words = found.dictionary.to_pylist()
    if len(words) > MOST_CODES:
        raise InputError(
            f"Column {name!r} has {counted(len(words), 'code')}, and at most {MOST_CODES:,} can be synthesised.",
            hint="Recode it to fewer, or leave it out. Columns of csv files are text unless they are called numbers: "
            f"Microdata(numeric=[{name!r}]).",
        )
    # By their own order: rows may come in any.
    order = sorted(range(len(words)), key=lambda at: (words[at] is not None, words[at]))
    place = np.empty(len(words), np.int64)
    place[order] = np.arange(len(words))
    codes = place[np.asarray(found.indices.to_numpy(zero_copy_only=False), np.int64)]
    return CodesOfColumn(name, codes, [words[at] for at in order], column.type)


def _units(
    column: pa.ChunkedArray,
    name: str,
    missing: tuple[MissingRange, ...],
    empty: Bools,
    counting: Bools,
    least: int,
) -> UnitColumn:
    raw, kind = _numbers(column), column.type
    many = int(counting.sum())
    if many < 2 * least + 2:
        raise InputError(
            f"Column {name!r} has {counted(many, 'value')}, and min_leaf={least} needs at least "
            f"{2 * least + 2}: the largest and the smallest {least} are not shown.",
            hint="Give a smaller min_leaf=, or leave the column out. What all members of a household share is one "
            "value.",
        )
    decimals = _decimals(raw[~empty])
    known = _in_units(name, raw[~empty], decimals)
    apart = known[counting[~empty]]
    step = max(int(np.gcd.reduce(np.unique(known))), 1)
    distinct, often = np.unique(apart, return_counts=True)
    rare = distinct[often < least]
    numeric = tuple(one for one in (_numeric_range(*ends) for ends in missing) if one is not None)
    low, high = _ends(np.sort(apart), rare, least, step, lambda units: _within(units, decimals, numeric))
    moved, apart = np.clip(known, low, high), np.clip(apart, low, high)
    distinct, often = np.unique(apart, return_counts=True)
    shared = distinct[often >= least]
    alone = int(often[often < least].sum())
    if 0 < alone < least:  # too few to be told apart from each other: they are what most are
        moved, apart = _nearest(shared, moved), _nearest(shared, apart)
    units = np.zeros(len(raw), np.int64)
    units[~empty] = moved
    apart = np.sort(apart[~np.isin(apart, shared)])
    fine = (high - low) // step >= FINE * many
    empties, state = _empties(column, raw, empty)
    return UnitColumn(name, units, state, empties, kind, decimals, step, low, high, shared, apart, rare, fine, numeric)


def _in_units(name: str, values: Any, decimals: int) -> Ints:
    scaled = np.rint(values * 10.0**decimals) if values.dtype.kind == "f" else values
    if np.abs(scaled.astype(np.float64)).max() >= (MOST_UNITS if values.dtype.kind == "f" else 2**62):
        raise InputError(
            f"Column {name!r} has numbers too large to be held in units of {10.0**-decimals:g}.",
            hint="Express the column in a larger unit (thousands).",
        )
    return np.asarray(scaled, np.int64)


def _numbers(column: pa.ChunkedArray) -> Any:
    import pyarrow as pa

    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    values = np.asarray(column.fill_null(0).to_numpy())
    return values if values.dtype.kind == "f" else values.astype(np.int64)


def _decimals(values: Any) -> int:
    """Decimals that write all values; where none do, those that leave seven digits of what most values differ by."""
    if values.dtype.kind != "f":
        return 0
    found = detect_decimals(values)
    if found is not None:
        return found
    low, high = np.quantile(values, (0.05, 0.95))
    spread = float(high - low) or float(np.ptp(values)) or 1.0
    return int(np.clip(7 - np.ceil(np.log10(spread)), 0, 9))


def _ends(ordered: Ints, rare: Ints, least: int, step: int, unknown: Callable[[Ints], Bools]) -> tuple[int, int]:
    """Ends that nobody's value stands at: between the value at which ``least`` records are cut off and the next.

    Where that value is shared by as many records itself, it is the end. ``unknown`` says which units would be read as
    codes for "unknown".
    """
    found = []
    for values, sign in ((ordered, -1), (ordered[::-1], 1)):
        outer, inner = int(values[least - 1]), int(values[least])
        place = np.searchsorted(rare, outer)
        if place == len(rare) or rare[place] != outer:
            found.append(outer)
            continue
        middle, half = (outer + inner) // 2 // step * step, int(values[len(values) // 2])
        room = [middle + sign * away * step for away in range(TRIES) if sign * (outer - middle) >= away * step]
        room += [middle - sign * away * step for away in range(1, TRIES) if sign * (middle - half) >= away * step]
        known = np.array(room)[~unknown(np.array(room))]
        free = known[~np.isin(known, rare)]
        found.append(int((free if len(free) else known if len(known) else values[least:])[0]))
    return found[0], max(found[1], found[0])


def _nearest(shared: Ints, values: Ints) -> Ints:
    place = np.clip(np.searchsorted(shared, values), 1, max(len(shared) - 1, 1))
    below, above = shared[place - 1], shared[np.minimum(place, len(shared) - 1)]
    return np.where(values - below <= above - values, below, above)


def _empties(column: pa.ChunkedArray, raw: Any, empty: Bools) -> tuple[list[Any], Ints]:
    """Distinct ways to be empty, a gap first, and that of each record."""
    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
    codes = np.unique(raw[empty & ~gaps])
    empties = [*([None] if gaps.any() else []), *codes.tolist()]
    state = np.zeros(len(raw), np.int64)
    state[gaps] = 1
    coded = empty & ~gaps
    state[coded] = np.searchsorted(codes, raw[coded]) + 1 + int(gaps.any())
    return empties, state


def _within(units: Ints, decimals: int, ranges: tuple[tuple[float, float], ...]) -> Bools:
    """Which units lie in some range."""
    values, found = units / 10.0**decimals, np.zeros(len(units), np.bool_)
    for low, high in ranges:
        found |= (values >= low) & (values <= high)
    return found


def _numeric_range(low: Any, high: Any) -> tuple[float, float] | None:
    ends = [float(end) if not isinstance(end, str) or NUMBER.fullmatch(end) else None for end in (low, high)]
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def content_of(column: pa.ChunkedArray, rows: Ints) -> bytes:
    """All that a column holds, with rows in the given order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
    if not (pa.types.is_string(column.type) or pa.types.is_boolean(column.type)):
        return bytes(gaps[rows].tobytes() + _numbers(column)[rows].tobytes())
    text = column.cast(pa.string()).fill_null("")
    words = sorted(text.unique().to_pylist())
    codes = np.asarray(pc.index_in(text, pa.array(words, pa.string())).to_numpy(), np.int64)
    return gaps[rows].tobytes() + codes[rows].tobytes() + "\0".join(words).encode()
