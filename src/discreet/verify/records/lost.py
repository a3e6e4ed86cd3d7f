"""What generalised keys lost, by several measures, worked out from the values before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING

import numpy as np

from discreet.verify.records.broader import Broader, counted_pairs
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.words import code_of, is_unknown

if TYPE_CHECKING:
    import pyarrow as pa


def losses(
    step: CheckedStep, after: Mapping[str, pa.ChunkedArray], suppressed: np.ndarray, broader: Sequence[Broader]
) -> dict[str, float]:
    """What was lost, by every measure that is stated of the algorithm."""
    rows, gone = len(step.original), int(suppressed.sum())
    width = height = bits = 0.0
    every = np.ones(rows, np.bool_)
    for one in broader:
        before = step.before[one.name]
        width += gone
        height += gone
        for old, new, count in counted_pairs(before, after[one.name], ~suppressed):
            width += one.width(old, new) * count
            if one.level and old is not None and not is_unknown(old, one.unknown):
                height += one.level / one.height * count
        if one.level is not None:
            bits += _bits(one, before, ~suppressed, every)
    found = {"loss": width / (rows * len(broader))}
    if step.method["algorithm"] != "lattice":
        return found
    kept = _classes(after, ~suppressed)
    return {
        **found,
        "precision": height / (rows * len(broader)),
        "entropy": bits / rows,
        "discernibility": float((kept.astype(np.float64) ** 2).sum() + float(gone) * rows),
        "class_size": rows / max(len(_classes(after, every)), 1),
    }


def _bits(one: Broader, before: pa.ChunkedArray, kept: np.ndarray, every: np.ndarray) -> float:
    """How many bits all records lose by one key: how much commoner a code is than the value that it stands for."""
    rows = len(before)
    own = {old: count for old, _, count in counted_pairs(before, before, every)}
    left = {old: count for old, _, count in counted_pairs(before, before, kept)}

    def broader(old: object) -> object:
        # Empty fields and codes for "unknown" stay apart, also from codes that are written alike.
        return old if old is None or is_unknown(old, one.unknown) else ("code", one.raised(code_of(old)))

    common: Counter[object] = Counter()
    for old, count in own.items():
        common[broader(old)] += count
    found = 0.0
    for old, count in own.items():
        stays = left.get(old, 0)
        found += stays * (log2(common[broader(old)]) - log2(count)) + (count - stays) * (log2(rows) - log2(count))
    return found


def _classes(columns: Mapping[str, pa.ChunkedArray], rows: np.ndarray) -> np.ndarray:
    import pyarrow as pa

    table = pa.table({str(place): column for place, column in enumerate(columns.values())}).filter(pa.array(rows))
    found = table.group_by(table.column_names).aggregate([([], "count_all")])
    return np.asarray(found["count_all"].to_numpy(), np.int64)
