"""Recodings that make sense for a column: higher levels, fewer digits, intervals, tails, rare codes put together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.records import ColumnInfo, RecordSet
from discreet.records.code_changes import CodedColumn, code_of, coded_column
from discreet.records.recode import Recode

if TYPE_CHECKING:
    import pyarrow as pa

QUANTILES = (0.99, 0.95, 0.9)
"""Shares of records at which tops are proposed, and bottoms at the other end."""
MOST_INTERVALS, FEWEST_INTERVALS = 50, 3
MOST_NEIGHBOURS = 12
"""Neighbours are put together among at most so many groups: of more, regular intervals are easier to read."""
RARE = 0.01
"""Codes of a smaller share of the records are put together as one other."""
OTHER = "other"
DIGIT_CODE = re.compile(r"[A-Za-z]{0,2}[0-9]{2,}")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


class ProposedKey(NamedTuple):
    """A key as its distinct values, an empty field as the last one where there is any."""

    name: str
    column: CodedColumn
    about: ColumnInfo
    hierarchy: Hierarchy | None
    places: Ints
    values: pa.Array
    counts: Ints

    @property
    def known(self) -> list[tuple[Any, str, int]]:
        """Values, codes and numbers of records, without empty fields and codes for "unknown"."""
        rows = zip(self.column.values, self.column.codes, self.column.counts, strict=True)
        return [row for row in rows if not self.column.is_unknown(row[0])]

    @property
    def numbers(self) -> list[tuple[float, int]] | None:
        """Numbers and how often they occur, in order; nothing where some value is no number."""
        found = []
        for value, code, many in self.known:
            if isinstance(value, bool) or not NUMBER.fullmatch(code):
                return None
            found.append((float(code), many))
        return sorted(found) or None

    @property
    def bits(self) -> float:
        """The entropy of the column."""
        return entropy(self.counts)

    def after(self, method: Recode) -> pa.ChunkedArray:
        """What a recoding makes of the distinct values."""
        import pyarrow as pa

        trees = {} if self.hierarchy is None else {self.name: self.hierarchy}
        records = RecordSet(pa.table({self.name: self.values}), {self.name: self.about}, None, trees)
        return method.run(records).changed[self.name]

    def places_after(self, method: Recode) -> Ints:
        """The place of every distinct value among those that a recoding leaves."""
        import pyarrow as pa

        encoded = self.after(method).combine_chunks().dictionary_encode(null_encoding="encode")
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)

    def changed_records(self, method: Recode) -> int:
        """How many records get another code."""
        pairs = zip(self.values.to_pylist(), self.after(method).to_pylist(), self.counts.tolist(), strict=True)
        return sum(many for old, new, many in pairs if old is not None and code_of(old) != code_of(new))


def proposed_key(records: RecordSet, name: str) -> ProposedKey:
    """A key of some records."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = coded_column(records, name)
    values = pa.array(column.values, records[name].type)
    places = pc.fill_null(column.places.cast(pa.int64()), len(column.values))
    counts = list(column.counts)
    if column.places.null_count:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        counts.append(column.places.null_count)
    return ProposedKey(
        name,
        column,
        records.about(name),
        records.hierarchies.get(name),
        np.asarray(places.to_numpy(zero_copy_only=False), np.int64),
        values,
        np.array(counts, np.int64),
    )


def entropy(counts: Ints) -> float:
    """The entropy of a column in bits, from how often each value occurs.

    Examples
    --------
    >>> entropy(np.array([5, 5])), entropy(np.array([9]))
    (1.0, 0.0)
    """
    share: Floats = counts[counts > 0] / counts.sum()
    return float(-(share * np.log2(share)).sum()) + 0.0


def candidates(key: ProposedKey, places: Ints) -> Iterator[tuple[Recode, str]]:
    """Recodings of a column with words for each; ``places`` says which distinct values are together so far."""
    yield from _levels(key)
    yield from _digits(key)
    numbers = key.numbers
    if numbers is not None:
        yield from _intervals(key, numbers)
        yield from _tails(key, numbers)
    yield from _neighbours(key, places)
    if numbers is None:
        yield from _rare(key)


def _levels(key: ProposedKey) -> Iterator[tuple[Recode, str]]:
    tree = key.hierarchy
    if tree is None or not all(code in tree.index for _, code, _ in key.known):
        return
    depth = tree.depth
    deepest = max((int(depth[tree.index[code]]) for _, code, _ in key.known), default=0)
    for level in range(deepest - 1, 0, -1):
        yield Recode(key.name, level=level), f"level {level} of its hierarchy"


def _digits(key: ProposedKey) -> Iterator[tuple[Recode, str]]:
    codes = [code for value, code, _ in key.known if isinstance(value, str)]
    lengths = {len(code) for code in codes}
    if len(codes) < len(key.known) or len(lengths) != 1 or not all(DIGIT_CODE.fullmatch(code) for code in codes):
        return
    for digits in range(lengths.pop() - 1, 0, -1):
        if 1 < len({code[:digits] for code in codes}) < len(codes):
            yield Recode(key.name, digits=digits), f"first {digits} characters"


def _intervals(key: ProposedKey, numbers: Sequence[tuple[float, int]]) -> Iterator[tuple[Recode, str]]:
    """Intervals of round widths: 1, 2 or 5 times a power of ten."""
    low, high = numbers[0][0], numbers[-1][0]
    if high <= low:
        return
    whole = all(number == int(number) for number, _ in numbers)
    power = floor(log10((high - low) / MOST_INTERVALS))
    for width in (factor * 10.0**exponent for exponent in range(power, power + 4) for factor in (1, 2, 5)):
        first = floor(low / width) + 1
        begins = [_tidy(n * width) for n in range(first, floor(high / width) + 1)]
        if (whole and width <= 1) or not FEWEST_INTERVALS - 1 <= len(begins) < MOST_INTERVALS:
            continue
        yield Recode(key.name, intervals=tuple(begins)), f"intervals of {width:g}"


def _tidy(number: float) -> float:
    tidy = float(f"{number:.12g}")
    return int(tidy) if tidy == int(tidy) else tidy


def _tails(key: ProposedKey, numbers: Sequence[tuple[float, int]]) -> Iterator[tuple[Recode, str]]:
    """Tops and bottoms at quantiles, as plain limits."""
    if key.about.missing:
        numbers = [row for row in numbers if not key.column.is_unknown(row[0])]
    values, upto = [row[0] for row in numbers], np.cumsum([row[1] for row in numbers])
    for quantile in QUANTILES:
        top = values[int(np.searchsorted(upto, quantile * upto[-1] - 1e-9))]
        bottom = values[int(np.searchsorted(upto, (1 - quantile) * upto[-1] + 1e-9, side="right"))]
        if values[0] < top < values[-1]:
            yield Recode(key.name, top=_tidy(top)), f"top {top:g}, quantile {quantile:g}"
        if values[0] < bottom < values[-1]:
            yield Recode(key.name, bottom=_tidy(bottom)), f"bottom {bottom:g}, quantile {1 - quantile:.2g}"


def _neighbours(key: ProposedKey, places: Ints) -> Iterator[tuple[Recode, str]]:
    """Two neighbours of ordered codes put together, on top of those that are together already."""
    groups = _ordered_groups(key, dict(zip(key.column.codes, places.tolist(), strict=False)))
    if groups is None or not 2 < len(groups) <= MOST_NEIGHBOURS:
        return
    for place, (one, other) in enumerate(pairwise(groups)):
        now = [*groups[:place], [*one, *other], *groups[place + 2 :]]
        what = f"{_together(one)} and {_together(other)} together"
        if key.numbers is not None and len(key.known) > MOST_NEIGHBOURS:
            yield Recode(key.name, intervals=tuple(_tidy(float(group[0])) for group in now[1:])), what
            continue
        names = [_together(group) for group in now]
        if len({*names, *_other_codes(key)}) < len(names) + len(_other_codes(key)):
            continue  # a new name would be that of another code
        codes = {code: name for group, name in zip(now, names, strict=True) for code in group if len(group) > 1}
        yield Recode(key.name, map=codes), what


def _other_codes(key: ProposedKey) -> set[str]:
    """Codes that stand for "unknown"."""
    return {c for v, c in zip(key.column.values, key.column.codes, strict=True) if key.column.is_unknown(v)}


def _ordered_groups(key: ProposedKey, places: Mapping[str, int]) -> list[list[str]] | None:
    """Ordered codes in the groups that they stand in so far; nothing where they have no order."""
    if key.numbers is not None:
        ordered = sorted((code for _, code, _ in key.known), key=float)
    elif key.about.measure == "ordinal":
        ordered = sorted(code for _, code, _ in key.known)
    else:
        return None
    groups: dict[int, list[str]] = {}
    for code in ordered:
        groups.setdefault(places[code], []).append(code)
    return list(groups.values())


def _together(group: Sequence[str]) -> str:
    if len(group) == 1:
        return group[0]
    return f"{group[0]}-{group[-1]}" if NUMBER.fullmatch(group[0]) else "+".join(group)


def _rare(key: ProposedKey) -> Iterator[tuple[Recode, str]]:
    """Codes that few records have, as one code."""
    total = int(key.counts.sum())
    rare = [code for _, code, many in key.known if many < RARE * total]
    if 2 <= len(rare) < len(key.known) and OTHER not in key.column.codes:
        yield Recode(key.name, map=dict.fromkeys(rare, OTHER)), f"{len(rare)} rare codes together"
