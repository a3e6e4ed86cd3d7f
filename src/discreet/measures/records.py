"""What changed between records before and after, and who stands out in them: pure functions of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.arrays import Ints
from discreet.model.records import RecordSet
from discreet.rules.key_counts import codes_of, key_codes, records_like

if TYPE_CHECKING:
    import pyarrow as pa


def rare_share(records: RecordSet, keys: Sequence[str], k: int) -> float:
    """Share of the records whose combination of keys occurs fewer than ``k`` times.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> from discreet.engine.record_set import read_record_set
    >>> records = read_record_set(ds.Microdata(pa.table({"x": ["a", "a", "b"]})))
    >>> round(rare_share(records, ["x"], 2), 3)
    0.333
    """
    if not len(records) or not keys:
        return 0.0
    return float((records_like(key_codes(records, keys)) < k).mean())


def changed_share(before: Mapping[str, pa.ChunkedArray], after: Mapping[str, pa.ChunkedArray]) -> float:
    """Share of all values that are not what they were; columns of another type count where their text differs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wrong = total = 0
    for name, old in before.items():
        new = after[name]
        if new.type != old.type:
            old, new = old.cast(pa.string()), new.cast(pa.string())
        same = pc.fill_null(pc.equal(old, new), False)
        both_empty = pc.and_(old.is_null(), new.is_null())
        total += len(old)
        wrong += len(old) - (pc.sum(pc.or_(same, both_empty)).as_py() or 0)
    return wrong / total if total else 0.0


def entropy_lost(before: Mapping[str, pa.ChunkedArray], after: Mapping[str, pa.ChunkedArray]) -> float:
    """Which share of what a column tells is lost, on average over the columns.

    That is what is uncertain of a value when the new one is known, over what is uncertain without it: 0 where every
    new value has one old one behind it, 1 where the column tells nothing any more.
    """
    lost = [_entropy_lost(old, after[name]) for name, old in before.items()]
    return float(np.mean(lost)) if lost else 0.0


def _entropy_lost(old: pa.ChunkedArray, new: pa.ChunkedArray) -> float:
    (place, _), (after, others) = codes_of(old), codes_of(new)
    own = _entropy(place)
    if own == 0:
        return 0.0
    _, pairs = np.unique(place * others + after, return_inverse=True)
    return max(0.0, min(1.0, (_entropy(pairs.astype(np.int64)) - _entropy(after)) / own))


def _entropy(place: Ints) -> float:
    share = np.bincount(place) / max(len(place), 1)
    share = share[share > 0]
    return float(-(share * np.log(share)).sum())
