"""Columns of numbers before and after a step, in whole units, with their empty fields where they were."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import MissingRange
from discreet.verify.records.context import CheckedStep
from discreet.verify.records.counting import empty_fields
from discreet.verify.records.value_columns import whole_units


class ChangedColumn(NamedTuple):
    """A column before and after, in whole units; ``finer`` says how many decimals more the new ones have."""

    old: Ints
    new: Ints
    empty: Bools
    digits: int
    finer: int
    unknown: tuple[MissingRange, ...]

    @property
    def step(self) -> int:
        """The largest number that all old units are multiples of."""
        return max(int(np.gcd.reduce(self.old[~self.empty])), 1)

    def moved(self) -> Floats:
        """How far values moved, in old units."""
        if self.finer >= 0:
            return np.asarray((self.new - self.old * 10**self.finer) / 10.0**self.finer)
        return np.asarray((self.new * 10**-self.finer - self.old).astype(np.float64))

    def shown(self, rows: Ints, least: int) -> Floats:
        """New values in units of the old ones, from a number on."""
        if self.finer < 0:
            return np.asarray((self.new[rows] * 10**-self.finer - least).astype(np.float64))
        scale = 10**self.finer
        whole, rest = np.divmod(self.new[rows], scale)
        return np.asarray((whole - least) + rest / scale)


class LandedUnits(NamedTuple):
    """Published units, and how many were cut at zero and moved away from codes for "unknown"."""

    units: Ints
    cut: int
    codes: int


def changed_columns(step: CheckedStep, columns: list[str]) -> dict[str, ChangedColumn] | None:
    """All columns that a step changed, with the decimals that it states; none where one of them is refused."""
    stated = zip(columns, step.evidence.facts["decimals"], strict=True)
    found = {name: _changed_column(step, name, decimals) for name, decimals in stated}
    right = {name: column for name, column in found.items() if column is not None}
    return right if len(right) == len(columns) else None


def _changed_column(step: CheckedStep, name: str, decimals: Any) -> ChangedColumn | None:
    """A column before and after, where its empty fields stayed and its numbers are whole in the stated unit."""
    import pyarrow.compute as pc

    old, new, unknown = step.before[name], step.changed[name], step.original.about(name).missing
    whole = str(old.type) == "int64" and decimals == 0
    if str(old.type) not in ("int64", "double") or str(new.type) != ("int64" if whole else "double"):
        step.refuse("a column is not one of numbers, or not of the stated kind", name)
        return None
    empty = empty_fields(old, unknown)
    same = pc.fill_null(pc.equal(old.cast(new.type), new), False).to_numpy()
    gone = np.asarray(old.is_null().to_numpy(), np.bool_) & np.asarray(new.is_null().to_numpy(), np.bool_)
    if np.any(empty & ~(same | gone)) or np.any(empty_fields(new, unknown) & ~empty):
        step.refuse("an empty field changed, or a value became empty", name)
        return None
    before, after = (np.where(empty, 0, pc.fill_null(column, 0).to_numpy()) for column in (old, new))
    digits = next((d for d in range(10) if whole_units(before, d) is not None), None)
    if digits is None or decimals != (digits if step.method["decimals"] is None else step.method["decimals"]):
        step.refuse("the decimals of a column are not those that it had, or that the method says", name)
        return None
    one, two = whole_units(before, digits), whole_units(after, decimals)
    if one is None or two is None:
        step.refuse("the published numbers are not whole in the stated unit", name)
        return None
    return ChangedColumn(one, two, empty, digits, decimals - digits, unknown)
