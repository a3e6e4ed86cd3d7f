"""Keys as ladders of ever broader codes, from the values of records up to the top of their hierarchies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import InputError, counted, listed, unknown_codes
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.hierarchy import Hierarchy
from discreet.model.records import RecordSet, code_text, stands_for_unknown


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """A key as numbers: 0 for an empty field, 1 and up for values.

    ``values`` are these values and ``texts`` their codes, from number 1 on; ``unknown`` says of each number, 0
    included, whether it is empty or stands for "unknown".
    """

    name: str
    codes: Ints
    values: tuple[Any, ...]
    texts: tuple[str, ...]
    unknown: Bools

    @property
    def size(self) -> int:
        """How many numbers there are, 0 included."""
        return len(self.texts) + 1

    @cached_property
    def counts(self) -> Ints:
        """How many records have each number."""
        return np.bincount(self.codes, minlength=self.size).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Rung:
    """One level of a ladder: what each value becomes.

    ``code`` is a number for every value of the key (0 stays empty), ``texts`` says what the numbers from 1 on are
    called, and ``loss`` what each of them loses: base codes under it but one, as a share of all but one.
    """

    code: Ints
    texts: tuple[str, ...]
    loss: Floats
    unknown: Bools


@dataclass(frozen=True, eq=False)
class Ladder:
    """All levels of a key; level 0 holds the values as they are."""

    column: KeyColumn
    rungs: tuple[Rung, ...]

    def __len__(self) -> int:
        return len(self.rungs)

    def step(self, level: int) -> Ints:
        """What the numbers of a level become on the next one."""
        here, above = self.rungs[level], self.rungs[level + 1]
        found = np.zeros(len(here.texts) + 1, np.int64)
        found[here.code] = above.code
        return found


def key_column(records: RecordSet, name: str, more: Sequence[str] = ()) -> KeyColumn:
    """A key as numbers; a key that is empty throughout is refused.

    ``more`` are codes that only a population has; an empty one stands for its empty fields, which agree with nothing.
    """
    import pyarrow as pa

    encoded = records[name].combine_chunks().dictionary_encode()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes: Ints = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64) + 1
    values = encoded.dictionary.to_pylist()
    if not values:
        raise InputError(f"Key {name!r} is empty in every record.", hint="Take it out of the keys.")
    missing = records.about(name).missing
    unknown = np.array([True, *(stands_for_unknown(value, missing) for value in values)])
    texts = [code_text(value) for value in values]
    new = [text for text in dict.fromkeys(more) if text not in set(texts)]
    strange = [text == "" or stands_for_unknown(text, missing) for text in new]
    unknown = np.append(unknown, strange).astype(np.bool_)
    return KeyColumn(name, codes, (*values, *new), (*texts, *new), unknown)


def ladder(column: KeyColumn, hierarchy: Hierarchy | None) -> Ladder:
    """The levels of a key: one for every level of its hierarchy, or the values alone where it has none."""
    if hierarchy is None:
        size = column.size
        return Ladder(column, (Rung(np.arange(size), column.texts, np.zeros(size), column.unknown),))
    path = paths(hierarchy)
    refuse_unknown(column, path)
    under = base_codes_under(hierarchy, path)
    deepest = max(len(line) for line in path.values()) - 1
    return Ladder(column, tuple(_rung(column, path, under, deepest - up) for up in range(deepest + 1)))


def _rung(column: KeyColumn, path: dict[str, list[str]], under: dict[str, int], depth: int) -> Rung:
    """Codes deeper than a depth become the code above them there."""
    numbers: dict[tuple[str, bool], int] = {}
    code = np.zeros(column.size, np.int64)
    loss, unknown = [0.0], [True]
    every = max(under.values())
    for number, text in enumerate(column.texts, 1):
        strange = bool(column.unknown[number])
        line = path.get(text, [text])
        new = text if strange else line[min(depth, len(line) - 1)]
        if (new, strange) not in numbers:
            numbers[new, strange] = len(numbers) + 1
            loss.append(0.0 if strange or every == 1 else (under[new] - 1) / (every - 1))
            unknown.append(strange)
        code[number] = numbers[new, strange]
    return Rung(code, tuple(text for text, _ in numbers), np.array(loss), np.array(unknown))


def refuse_unknown(column: KeyColumn, path: dict[str, list[str]]) -> None:
    """Refuse codes that a hierarchy does not have."""
    strange = {
        text: int(column.counts[number])
        for number, text in enumerate(column.texts, 1)
        if text not in path and not column.unknown[number]
    }
    if strange and not any(strange.values()):
        raise InputError(
            f"The population has {counted(len(strange), 'code')} of {column.name!r} that its hierarchy does not have: "
            f"{listed(list(strange), 10)}.",
            hint="Add them to the hierarchy, or correct the population.",
        )
    if strange:
        raise unknown_codes(column.name, {code: many for code, many in strange.items() if many})


def paths(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """For every code the codes from the top down to it."""
    found: dict[str, list[str]] = {}
    waiting: list[int] = []
    up: Sequence[int] = hierarchy.parents.tolist()
    for place in range(len(hierarchy.codes)):
        at = place
        while at >= 0 and hierarchy.codes[at] not in found:
            waiting.append(at)
            at = up[at]
        while waiting:
            at = waiting.pop()
            found[hierarchy.codes[at]] = [*(found[hierarchy.codes[up[at]]] if up[at] >= 0 else []), hierarchy.codes[at]]
    return found


def base_codes_under(hierarchy: Hierarchy, path: dict[str, list[str]]) -> dict[str, int]:
    """How many base codes stand under each code; a base code under itself.

    Where there is no total, all base codes are counted under an empty name, so that shares have a whole.
    """
    found = dict.fromkeys(hierarchy.codes, 0)
    for code in hierarchy.base_codes:
        for above in path[code]:
            found[above] += 1
    return {**found, "": len(hierarchy.base_codes)}
