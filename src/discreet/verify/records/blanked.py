"""Emptied fields: nothing else changed, every combination is counted anew, and so is the least that it could cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from math import isclose
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import counted
from discreet.model.claims.records import blanked_claim
from discreet.verify.records.context import CheckedStep

if TYPE_CHECKING:
    import pyarrow as pa

NEARLY = 1e-9
MOST_COLUMNS = 12
"""The least cost of more columns is not worked out again; then it may not be stated."""


def check_blanked(step: CheckedStep) -> None:
    """Fields of keys were emptied, and what is left of the keys occurs often enough."""
    method, facts, before = step.method, step.evidence.facts, len(step.verdict.refused)
    keys = [str(name) for name in facts["keys"]]
    stated = [str(name) for name in method["keys"]] or [
        name for name in step.original.names if step.original.about(name).role == "key"
    ]
    if keys != stated or not keys or len(set(keys)) < len(keys) or not set(keys) <= set(step.before):
        step.refuse("the keys are not those that the method names, or that the records have")
        return
    if not set(step.changed) <= set(keys):
        step.refuse("other columns changed than keys")
        return
    blanks, touched = _blanks(step, keys)
    if list(facts["blanks"]) != blanks or facts["records"] != touched or facts["rows"] != len(step.original):
        step.refuse("the numbers of emptied fields and records are not those that are counted")
    k, size = int(method["k"]), len(keys) if method["size"] is None else min(int(method["size"]), len(keys))
    after = {name: step.changed.get(name, step.before[name]) for name in keys}
    for chosen in combinations(keys, size):
        few = int((_counts(after, chosen) < k).sum())
        if few:
            step.refuse(f"{counted(few, 'combination', 'occur')} fewer than {k} times", ", ".join(chosen))
    _check_cost(step, keys, size, k)
    claim = blanked_claim(method, facts)
    step.claims(claim)
    step.verdict.prove(claim.statement, before)


def _blanks(step: CheckedStep, keys: Sequence[str]) -> tuple[list[int], int]:
    """How many fields of each key are newly empty, and in how many records; whatever else changed is refused."""
    touched = np.zeros(len(step.original), np.bool_)
    numbers = []
    for name in keys:
        if name not in step.changed:
            numbers.append(0)
            continue
        old, new = step.before[name].combine_chunks(), step.changed[name].combine_chunks()
        empty = np.asarray(new.is_null().to_numpy(zero_copy_only=False), np.bool_)
        kept = np.flatnonzero(~empty)
        if not new.take(kept).equals(old.take(kept)):  # another type is another value, too
            step.refuse("a field that is not empty has another value than before", name)
        newly = empty & np.asarray(old.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        numbers.append(int(newly.sum()))
        touched |= newly
    return numbers, int(touched.sum())


def _counts(columns: Mapping[str, pa.ChunkedArray], chosen: Sequence[str]) -> np.ndarray:
    """How often each combination occurs; an empty field is a value of its own."""
    import pyarrow as pa

    table = pa.table({str(place): columns[name] for place, name in enumerate(chosen)})
    found = table.group_by(table.column_names).aggregate([([], "count_all")])
    return np.asarray(found["count_all"].to_numpy(), np.int64)


def _check_cost(step: CheckedStep, keys: Sequence[str], size: int, k: int) -> None:
    """The cost is that of the emptied fields, and nobody does it for less than what is stated as the least."""
    weight = {name: float(step.method["importance"].get(name, 1.0)) for name in keys}
    if not set(step.method["importance"]) <= set(keys) or min(weight.values()) <= 0:
        step.refuse("importance is stated of a column that is no key, or is not above zero")
        return
    cost, least = float(step.evidence.facts["cost"]), float(step.evidence.facts["least"])
    counted_cost = sum(n * weight[name] for name, n in zip(keys, step.evidence.facts["blanks"], strict=True))
    if not isclose(cost, counted_cost, rel_tol=NEARLY, abs_tol=NEARLY):
        step.refuse("the cost is not that of the emptied fields")
    if least == 0:
        return
    if size > MOST_COLUMNS:
        step.refuse("a least cost is stated that this checker cannot work out")
        return
    found = np.zeros(len(step.original))
    for chosen in combinations(keys, size):
        found = np.maximum(found, _least(step.before, chosen, weight, k))
    if not 0 <= least <= float(found.sum()) * (1 + NEARLY):
        step.refuse("it can be done for less than what is stated as the least cost")


def _least(
    columns: Mapping[str, pa.ChunkedArray], chosen: Sequence[str], weight: Mapping[str, float], k: int
) -> np.ndarray:
    """For each record the cheapest set of fields to empty after which ``k`` records agree with it in the others."""
    import pyarrow as pa

    codes, size = {}, {}
    for name in chosen:
        column = columns[name].combine_chunks().dictionary_encode()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        codes[name] = np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        size[name] = len(column.dictionary) + 1
    empty = {name: codes[name] < 0 for name in chosen}
    least = np.full(len(columns[chosen[0]]), np.inf)
    every = chain.from_iterable(combinations(chosen, number) for number in range(len(chosen) + 1))
    for gone in sorted(every, key=lambda names: sum(weight[name] for name in names)):
        price = sum(weight[name] for name in gone)
        # Fields that were empty before are not counted, nor can they be emptied; all others are kept or gone.
        able = np.isinf(least) & ~np.any([empty[name] for name in gone], axis=0) if gone else np.isinf(least)
        if not able.any():
            continue
        kept = [name for name in chosen if name not in gone]
        patterns = np.zeros(len(least), np.int64)
        for place, name in enumerate(kept):
            patterns |= empty[name].astype(np.int64) << place
        for pattern in np.unique(patterns[able]).tolist():
            mine = np.flatnonzero(able & (patterns == pattern))
            names = [name for place, name in enumerate(kept) if not pattern >> place & 1]
            agree = _agreeing([codes[name] for name in names], [size[name] for name in names], len(least))
            least[mine[agree[mine] >= k]] = price
    return np.where(np.isinf(least), 0.0, least)


def _agreeing(codes: Sequence[np.ndarray], sizes: Sequence[int], rows: int) -> np.ndarray:
    """For every record how many have the same codes."""
    group = np.zeros(rows, np.int64)
    for code, size in zip(codes, sizes, strict=True):
        _, group = np.unique(group * size + code, return_inverse=True)
    return np.bincount(group, minlength=1)[group]
