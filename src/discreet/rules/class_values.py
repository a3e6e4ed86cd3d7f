"""Which sensitive values occur in each class of records that agree in their keys, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import InputError, ParameterError, counted, listed, unknown_codes
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import NUMBER, RecordSet, code_text, stands_for_unknown
from discreet.rules.class_kernels import gathered
from discreet.rules.key_counts import compacted


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """A sensitive column as numbers: 0 for an empty field, 1 and up for values.

    ``texts`` are the values as codes, from number 1 on; ``known`` says of each number, 0 included, whether it tells
    something; ``share`` is how common each is.
    """

    name: str
    codes: Ints
    texts: tuple[str, ...]
    known: Bools
    share: Floats


@dataclass(frozen=True, eq=False)
class ClassValues:
    """Values of classes: those of class ``c`` are ``value[start[c] : start[c + 1]]``, each once, with its count."""

    start: Ints
    value: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True, eq=False)
class ValueTree:
    """Ways between values: each node's parent, -1 at the top, and the length of the way there.

    The first nodes are the values of a column by their numbers; parents come after their children.
    """

    parent: Ints
    length: Floats


def sensitive_column(records: RecordSet, name: str) -> SensitiveColumn:
    """A sensitive column as numbers."""
    import pyarrow as pa

    encoded = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes: Ints = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64) + 1
    values = encoded.dictionary.to_pylist()
    unknown = records.about(name).missing
    known = np.array([False, *(not stands_for_unknown(value, unknown) for value in values)])
    if not known.any():
        raise InputError(
            f"Sensitive column {name!r} is empty in every record.", hint="Name a column that has values, or none."
        )
    share = np.bincount(codes, minlength=len(values) + 1) / max(len(codes), 1)
    return SensitiveColumn(name, codes, tuple(code_text(value) for value in values), known, share)


def class_values(group: Ints, value: Ints, size: int, weight: Ints | None = None) -> ClassValues:
    """Values of classes, from the class and the value of each record, or of each of some cells with its weight."""
    pair, many = compacted(group * size + value)
    count = np.bincount(pair, weight, many).astype(np.int64)
    first = np.zeros(many, np.int64)
    first[pair[::-1]] = np.arange(len(pair))[::-1]
    return gathered_values(group[first], value[first], count, int(group.max(initial=-1)) + 1)


def gathered_values(group: Ints, value: Ints, count: Ints, classes: int) -> ClassValues:
    """Values of classes, from pairs of a class and a value, each of which stands there once."""
    start = np.zeros(classes + 1, np.int64)
    value_of, count_of = np.empty(len(value), np.int64), np.empty(len(value), np.int64)
    gathered(group, value, count, start, value_of, count_of)
    return ClassValues(start, value_of, count_of)


def equal_tree(size: int) -> ValueTree:
    """All values are equally far from each other."""
    parent = np.full(size + 1, size, np.int64)
    parent[-1] = -1
    length = np.full(size + 1, 0.5)
    length[-1] = 0.0
    return ValueTree(parent, length)


def ordered_tree(column: SensitiveColumn, order: Sequence[str]) -> ValueTree:
    """Values lie on a line, all neighbours equally far apart, its ends at a distance of 1."""
    if column.share[0] or not column.known[1:].all():
        raise InputError(
            f"Sensitive column {column.name!r} has empty fields or codes for unknown, which have no place in an order.",
            hint='Use distance="equal", or recode them first.',
        )
    place = dict(zip(order, range(len(order)), strict=True)) if order else _numeric_places(column)
    strange = {text: 0 for text in column.texts if text not in place}
    if strange:
        for text, number in zip(column.texts, np.bincount(column.codes)[1:].tolist(), strict=True):
            if text in strange:
                strange[text] = number
        raise unknown_codes(column.name, strange)
    numbers = sorted(range(1, len(column.texts) + 1), key=lambda code: place[column.texts[code - 1]])
    # A line is a tree without branches; its nodes must come in the order of the way up, so that they are added last.
    size, line = len(column.texts) + 1, len(numbers)
    parent, length = np.full(size + line, -1, np.int64), np.zeros(size + line)
    for rank, code in enumerate(numbers):
        parent[code] = size + rank
        if rank + 1 < line:
            parent[size + rank], length[size + rank] = size + rank + 1, 1.0 / (line - 1)
    return ValueTree(parent, length)


def _numeric_places(column: SensitiveColumn) -> dict[str, float]:
    wrong = [text for text in column.texts if not NUMBER.fullmatch(text)]
    if wrong:
        raise ParameterError(
            f"Column {column.name!r} has {counted(len(wrong), 'value')} that are no numbers, so that nobody knows the "
            "order.",
            hint="State it: order=[...] from the lowest to the highest.",
        )
    return {text: float(text) for text in column.texts}


def hierarchical_tree(column: SensitiveColumn, above: Mapping[str, str]) -> ValueTree:
    """Values are as far from each other as the code above both is high, the top being at a distance of 1.

    Empty fields and codes for "unknown" that the hierarchy does not have stand right under the top.
    """
    codes = list(dict.fromkeys([*above, *above.values()]))
    tops = [code for code in codes if code not in above]
    lost = [text for code, text in enumerate(column.texts, 1) if text not in codes and column.known[code]]
    if lost or len(tops) != 1:
        counts = np.bincount(column.codes, minlength=len(column.texts) + 1)
        if lost:
            raise unknown_codes(column.name, {text: int(counts[column.texts.index(text) + 1]) for text in lost})
        raise InputError(
            f"The hierarchy of {column.name!r} has {len(tops)} codes at its top: {listed(tops, 5)}.",
            hint="Give one that has a total.",
        )
    height = _heights(above, tops[0])
    high = max(height[tops[0]], 1)
    inner = sorted(codes, key=lambda code: height[code])
    size = len(column.texts) + 1
    node = {code: size + place for place, code in enumerate(inner)}
    parent, length = np.full(size + len(inner), node[tops[0]], np.int64), np.full(size + len(inner), 0.5)
    for code, text in enumerate(column.texts, 1):
        if text in node:
            parent[code], length[code] = node[text], height[text] / (2 * high)
    for below, up in above.items():
        parent[node[below]], length[node[below]] = node[up], (height[up] - height[below]) / (2 * high)
    parent[node[tops[0]]], length[node[tops[0]]] = -1, 0.0
    return ValueTree(parent, length)


def _heights(above: Mapping[str, str], top: str) -> dict[str, int]:
    """The longest way down from each code."""
    height = dict.fromkeys([*above, top], 0)
    for code in above:
        steps, at = 0, code
        while at in above:
            steps, at = steps + 1, above[at]
            height[at] = max(height[at], steps)
            if steps > len(above):
                raise InputError("The hierarchy goes round in a circle.", hint="Give each code one parent above it.")
    return height
