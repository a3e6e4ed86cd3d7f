"""Which records of a folder of columns belong to a universe: spans of areas, and bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from discreet.engine.column_files import Columns
from discreet.errors import InputError, ParameterError
from discreet.files.frames import condition_mask, no_record_left
from discreet.model.arrays import Ints
from discreet.model.condition import Condition

MOST_UNIVERSES = 1024
"""Universes that are kept; those of one area are small."""
MOST_MASKS = 64
BLOCK = 2**16
"""Records of a block, which is filled with cell numbers and stays in the cache."""

Where = tuple[Condition, ...]


class Span(NamedTuple):
    """Some consecutive records, and which of them belong to the universe where not all do."""

    span: slice
    inside: Ints | None

    def of(self, column: Any) -> Any:
        """What a column has for these records."""
        found = column[self.span]
        return found if self.inside is None else found[self.inside]

    def __len__(self) -> int:
        return self.span.stop - self.span.start if self.inside is None else len(self.inside)


@dataclass(eq=False)
class Selected:
    """Records of a universe, in spans; ``bits`` says which of them where not all do."""

    spans: list[tuple[int, int]]
    bits: Any
    records: int
    kept: dict[Any, Any] = field(default_factory=dict)
    """What was worked out of these records before."""

    def parts(self, size: int = 0) -> Iterator[Span]:
        """All records in blocks."""
        size = size or BLOCK
        for begin, end in self.spans:
            for at in range(begin, end, size):
                stop = min(at + size, end)
                if self.bits is None:
                    yield Span(slice(at, stop), None)
                    continue
                first = at // 8
                bits = np.unpackbits(self.bits[first : -(-stop // 8)], bitorder="little")[
                    at - 8 * first : stop - 8 * first
                ]
                inside = np.flatnonzero(bits)
                if len(inside):
                    yield Span(slice(at, stop), inside)


def universe_of(columns: Columns, where: Where) -> Selected:
    """The records that meet all conditions.

    Raises
    ------
    InputError
        When no record does, or a condition is about a column that is not there.
    """
    kept: dict[Where, Selected] = columns.kept.setdefault("universes", {})
    found = kept.get(where)
    if found is None:
        found = _made(columns, where)
        kept[where] = found
        while len(kept) > MOST_UNIVERSES:
            kept.pop(list(kept)[0], None)  # noqa: RUF015  (at one go: threads enter others meanwhile)
    return found


def _made(columns: Columns, where: Where) -> Selected:
    from discreet.engine.column_kernels import count_bits

    geography = columns.manifest.geography
    area = None if geography is None else geography.variable
    mine = [c for c in where if c.column == area and columns.mask(c) is None and not columns.codes_part(area).changed]
    spans = [(0, len(columns))]
    for condition in mine:
        spans = _common(spans, _spans_of(columns, str(area), condition))
    others = tuple(c for c in where if c not in mine)
    bits = _bits(columns, others) if others else None
    if bits is None:
        records = sum(end - begin for begin, end in spans)
    else:
        records = sum(count_bits(bits, begin, end) for begin, end in spans)
    if not records:
        raise no_record_left(where)
    return Selected(spans, bits, records)


def _spans_of(columns: Columns, area: str, condition: Condition) -> list[tuple[int, int]]:
    """Where the records of some areas lie; areas beside each other are one span."""
    starts = columns.starts
    index = columns.kept.get("areas")
    if index is None:
        index = columns.kept["areas"] = {code: i for i, code in enumerate(columns.base_codes(area))}
    text = columns.codes_part(area).source == "text" and all(isinstance(v, str) for v in condition.values)
    if text and condition.operator in ("==", "in"):
        chosen = sorted({index[code] for code in condition.values if code in index})
    else:
        chosen = np.flatnonzero(_codes_that_meet(columns, area, condition)).tolist()
    spans: list[tuple[int, int]] = []
    for number in chosen:
        begin, end = int(starts[number]), int(starts[number + 1])
        if spans and spans[-1][1] == begin:
            spans[-1] = (spans[-1][0], end)
        elif begin < end:
            spans.append((begin, end))
    return spans


def _common(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that two lists share."""
    found = []
    for begin, end in one:
        for other, last in two:
            low, high = max(begin, other), min(end, last)
            if low < high:
                found.append((low, high))
    return sorted(found)


def _bits(columns: Columns, where: Where) -> Any:
    """Bits of the records that meet all conditions."""
    kept: dict[Where, Any] = columns.kept.setdefault("bits", {})
    if where not in kept:
        found = None
        for condition in where:
            bits = columns.mask(condition)
            bits = _found_bits(columns, condition) if bits is None else bits
            found = bits if found is None else found & bits
        kept[where] = found
        while len(kept) > MOST_MASKS:
            kept.pop(list(kept)[0], None)  # noqa: RUF015  (as above)
    return kept[where]


def _found_bits(columns: Columns, condition: Condition) -> Any:
    """Bits of a condition that nobody thought of when the columns were written."""
    name, manifest = condition.column, columns.manifest
    if name in manifest.codes and (manifest.codes[name].source == "text" or name not in manifest.numbers):
        if manifest.codes[name].changed:
            raise InputError(
                f"Codes of {name!r} were changed when the columns {columns.folder.name!r} were written, so that the "
                f"filter '{condition}' cannot be asked of them.",
                hint="Write the columns again with this filter among the universes.",
            )
        meets = _codes_that_meet(columns, name, condition)
        column = columns.codes(name)
        blocks: Iterator[Any] = (meets[column[at : at + 8 * BLOCK]] for at in range(0, len(column), 8 * BLOCK))
    else:
        blocks = _numbers_that_meet(columns, condition)
    return np.concatenate([np.packbits(block, bitorder="little") for block in blocks])


def _codes_that_meet(columns: Columns, name: str, condition: Condition) -> Any:
    """Which base codes of a variable meet a condition, as what they were in the records."""
    import pyarrow as pa

    codes, source = columns.base_codes(name), columns.codes_part(name).source
    if condition.operator in ("is null", "is not null"):
        return np.full(len(codes), condition.operator == "is not null")
    if source == "text":
        values = pa.array(codes, pa.string())
    elif source in ("whole", "number"):
        try:
            values = pa.array(codes, pa.string()).cast(pa.int64() if source == "whole" else pa.float64())
        except pa.ArrowInvalid:
            raise _not_comparable(name, condition) from None
    else:
        raise _not_comparable(name, condition)
    mask = condition_mask(pa.table({name: values}), condition)
    return np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)


def _not_comparable(name: str, condition: Condition) -> ParameterError:
    return ParameterError(
        f"The filter '{condition}' cannot be asked of the codes of {name!r}.",
        hint="Write the columns again with this filter among the universes.",
    )


def _numbers_that_meet(columns: Columns, condition: Condition) -> Iterator[Any]:
    import pyarrow as pa

    name = condition.column
    part, column = columns.numbers_part(name), columns.numbers(name)
    for at in range(0, len(column), 8 * BLOCK):
        block = column[at : at + 8 * BLOCK]
        values = block / 10.0**part.decimals if part.source in ("number", "decimal") else block
        mask = condition_mask(pa.table({name: values}), condition)
        yield np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)


def known_columns(columns: Columns, names: Sequence[str]) -> None:
    """Refuse columns that a folder does not have."""
    for name in names:
        if name not in columns.manifest.names:
            raise columns.unknown(name, columns.manifest.names)
