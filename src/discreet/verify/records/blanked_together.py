"""Fields that are emptied together: of related columns, and of all members of a household."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields

if TYPE_CHECKING:
    import pyarrow as pa

Flags = NDArray[np.bool_]
NEVER = ("identifier", "household", "weight")
"""Columns with these roles are not emptied."""


def columns_besides(step: CheckedStep, keys: Sequence[str]) -> list[str] | None:
    """Columns that are emptied with keys and are none; nothing where what is stated of them cannot be."""
    method, strata = step.method, step.evidence.facts["strata"]
    related: dict[str, list[str]] = {str(one): list(others) for one, others in method.get("together", {}).items()}
    taken = [name for others in related.values() for name in others]
    good = set(related) <= {*keys, *taken} and set(taken) <= set(step.before) - set(strata)
    good = good and not any(step.original.about(name).role in NEVER for name in taken)
    good = good and set(method.get("of_household", [])) <= set(keys)
    if good and method.get("of_household"):
        good = any(step.original.about(name).role == "household" for name in step.original.names)
    if not good:
        step.refuse("fields are said to go together that cannot")
        return None
    return [name for name in dict.fromkeys(taken) if name not in keys]


def check_together(step: CheckedStep, keys: Sequence[str], besides: Sequence[str], newly: Flags) -> None:
    """Whatever goes together was emptied together, and columns that are no keys for no other reason."""
    method = step.method
    gone = {name: newly[:, place] for place, name in enumerate(keys)}
    for name in besides:
        gone[name] = _emptied(step, name)
    full = {name: ~empty_fields(step.before[name], step.original.about(name).missing) for name in gone}
    if method["missing"] == "category":  # there, codes that stand for "unknown" are values of keys like others
        full |= {name: _filled(step.before[name]) for name in keys}
    related = {str(one): list(others) for one, others in method.get("together", {}).items()}
    for one, others in related.items():
        for other in others:
            if (gone[one] & full[other] & ~gone[other]).any():
                step.refuse("a field stayed that goes together with one that was emptied", other)
    for name in besides:
        reasons = [gone[one] for one, others in related.items() if name in others]
        if (gone[name] & ~np.any(reasons, axis=0)).any():
            step.refuse("a field was emptied of a column that only goes together with others", name)
    for name in method.get("of_household", []):
        if _only_some(step, gone[name], full[name]):
            step.refuse("a field of a household was emptied for some of its members only", name)
    numbers = [int(gone[name].sum()) for name in besides]
    stated: Any = step.evidence.facts.get("together", [])
    if stated != numbers:
        step.refuse("the numbers of fields that went along are not those that are counted")


def _filled(column: pa.ChunkedArray) -> Flags:
    return np.asarray(column.is_valid().to_numpy(), np.bool_)


def _emptied(step: CheckedStep, name: str) -> Flags:
    """Which fields of a column are newly empty; all others must be as they were."""
    old = step.before[name].combine_chunks()
    if name not in step.changed:
        return np.zeros(len(old), np.bool_)
    new = step.changed[name].combine_chunks()
    empty = np.asarray(new.is_null().to_numpy(zero_copy_only=False), np.bool_)
    kept = np.flatnonzero(~empty)
    if not new.take(kept).equals(old.take(kept)):
        step.refuse("a field that is not empty has another value than before", name)
    return np.asarray(empty & np.asarray(old.is_valid().to_numpy(zero_copy_only=False), np.bool_), np.bool_)


def _only_some(step: CheckedStep, gone: Flags, full: Flags) -> bool:
    """Whether a household lost a field in one record and has it in another."""
    name = next(name for name in step.original.names if step.original.about(name).role == "household")
    homes = step.before[name].to_pylist()
    lost = {home for home, here in zip(homes, gone, strict=True) if here and home is not None}
    return any(home in lost for home, here in zip(homes, full & ~gone, strict=True) if here)
