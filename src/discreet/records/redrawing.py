"""Values drawn anew within bounds, from straight-line models of each column by the others on a signed-log scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError, counted
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.records import RecordSet
from discreet.records.exact_columns import ExactColumn
from discreet.records.value_columns import empty_rows
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa

FOLLOWS = 1e-6
"""A column of a model follows from those before it where this share of it, or less, is left."""
LOOKED_AROUND = 5
"""Of so many grains on both sides, some are as round as the first."""
NO_CHANCE = 1e-200
"""Chances below are not computed with."""


def signed_log(values: Floats) -> Floats:
    """Numbers on a scale on which ratios of large ones are differences, and 0 stays 0."""
    found: Floats = np.sign(values) * np.log1p(np.abs(values))
    return found


def reach(units: Ints, share: Floats | float) -> Ints:
    """How many units a share of each value is, at most."""
    return np.floor(share * np.abs(units).astype(np.float64)).astype(np.int64)


def grains(units: Ints, most: Ints) -> Ints:
    """How round values are: the largest of 1, 2, 5, 10, 20, ... that divides each and is not above ``most``.

    Examples
    --------
    >>> grains(np.array([50_000, 1_234, 1_235, 7]), np.array([5_000, 123, 123, 1])).tolist()
    [5000, 2, 5, 1]
    """
    found = np.ones(len(units), np.int64)
    for step in (digit * 10**power for power in range(18) for digit in (1, 2, 5)):
        found[(units % step == 0) & (step <= most)] = step
    return found


@dataclass(frozen=True, eq=False)
class Redrawn:
    """New units of some fields of a column, and which of them lie at a bound because the model rules out the rest."""

    units: Ints
    clipped: Bools


def redrawn(units: Ints, model: FieldModels, scale: float, bound: Floats, least: float, chance: Floats) -> Redrawn:
    """Normal draws under the condition that they fall within bounds, as if drawn again and again until they do.

    They become numbers that are as round as the value was, and none is the old value. Where the model gives the
    bounds no chance that can be computed, the value moves to the bound that is nearer to what the model says.

    Parameters
    ----------
    units
        Values in whole units, none of them 0.
    model
        What the models say of each.
    scale
        Units in 1.
    bound, least
        The share that each value may move by, and the least that such a share is.
    chance
        A fraction for each value.
    """
    grain, most = grains(units, reach(units, least)), reach(units, bound)
    ends = [signed_log((units + side * most) / scale) for side in (-1, 1)]
    place, ruled_out = _within(model, ends[0], ends[1], chance)
    aim = np.sign(place) * np.expm1(np.abs(place)) * scale
    side = np.where(model.mean > signed_log(units / scale), 1, -1)
    aim = np.where(ruled_out, units + side * most, aim)
    return Redrawn(_as_round(units, aim, grain, most, reach(units, least)), ruled_out)


def _as_round(units: Ints, aim: Floats, grain: Ints, most: Ints, limit: Ints) -> Ints:
    """The values next to some numbers that are new, within bounds, and as round as the old ones, no more and no less.

    There always is one: the old value and its neighbours go through all kinds of roundness within a few grains.
    """
    steps = np.floor((aim - units) / grain).astype(np.int64)
    best, nearest = units.copy(), np.full(len(units), np.inf)
    near = [steps + shift for shift in range(-LOOKED_AROUND, LOOKED_AROUND + 2)]
    for tried in (*near, *(np.full(len(units), step) for step in (-2, -1, 1, 2))):
        value = units + tried * grain
        good = (tried != 0) & (np.abs(tried) * grain <= most)
        good &= grains(np.where(good, value, units), limit) == grain
        apart = np.where(good, np.abs(value - aim), np.inf)
        best, nearest = np.where(apart < nearest, value, best), np.minimum(apart, nearest)
    return best


@dataclass(frozen=True, eq=False)
class FieldModels:
    """What models say of some fields on the signed-log scale, and the standard deviation of what they leave open."""

    mean: Floats
    spread: Floats


def _within(model: FieldModels, low: Floats, high: Floats, chance: Floats) -> tuple[Floats, Bools]:
    """Normal draws between two ends, and where those have no chance."""
    from scipy.special import ndtr, ndtri

    spread = np.where(model.spread > 0, model.spread, 1.0)
    a, b = (low - model.mean) / spread, (high - model.mean) / spread
    # Chances of the upper tail lose their digits beside 1: it is looked at from the other side.
    mirrored = a > 0
    a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    below, above = ndtr(a), ndtr(b)
    ruled_out = (model.spread <= 0) | (above - below < NO_CHANCE)
    share = np.where(mirrored, 1.0 - chance, chance)
    drawn = ndtri(np.where(ruled_out, 0.5, below + share * (above - below)))
    place = model.mean + spread * np.where(mirrored, -drawn, drawn)
    return np.clip(np.where(ruled_out, low, place), low, high), ruled_out


class MoneyModels:
    """Models of columns of money by each other and by further columns, within strata.

    Values that were drawn anew take the place of the old ones in the models of the columns after them.
    """

    def __init__(
        self, records: RecordSet, money: Mapping[str, ExactColumn], predictors: Sequence[str], kinds: Sequence[Ints]
    ) -> None:
        assert records.identity is not None
        # Sums in another order differ in their last bits: rows stand in the order of who they are.
        self._kinds = [rows[np.argsort(records.identity[rows], kind="stable")] for rows in kinds]
        self._names = list(money)
        self._old = {name: signed_log(column.units / 10.0**column.decimals) for name, column in money.items()}
        self._new = {name: values.copy() for name, values in self._old.items()}
        self._gaps = {name: column.gaps for name, column in money.items()}
        self._besides = [block for name in predictors for block in predictor_columns(records, name)]

    def put(self, name: str, rows: Ints, values: Floats) -> None:
        """Take new values for some records of a column."""
        self._new[name][rows] = signed_log(values)

    def of(self, name: str, wanted: Ints) -> FieldModels:
        """What models say of a column in some records."""
        here = np.zeros(len(self._old[name]), np.bool_)
        here[wanted] = True
        mean, spread = np.zeros(len(here)), np.zeros(len(here))
        for rows in self._kinds:
            mine = rows[here[rows]]
            if len(mine):
                mean[mine], spread[mine] = self._fitted(name, rows, mine)
        return FieldModels(mean[wanted], spread[wanted])

    def _fitted(self, name: str, rows: Ints, mine: Ints) -> tuple[Floats, float]:
        fit = rows[~self._gaps[name][rows] & (self._old[name][rows] != 0)]
        before, after = self._columns(name, fit, mine)
        response = self._old[name][fit]
        centre = float(response.mean())
        _refuse_few(name, len(fit), before.shape[1] + 1)
        if not before.shape[1]:
            return np.full(len(mine), centre), float(np.sqrt(((response - centre) ** 2).sum() / (len(fit) - 1)))
        weights = np.linalg.lstsq(before, response - centre, rcond=None)[0]
        rest = response - centre - before @ weights
        return centre + after @ weights, float(np.sqrt((rest**2).sum() / (len(fit) - before.shape[1] - 1)))

    def _columns(self, name: str, fit: Ints, mine: Ints) -> tuple[Floats, Floats]:
        """Columns of the model that do not follow from others, for the records it is made of and those it is for."""
        kept: list[tuple[Floats, Floats]] = []
        basis: list[Floats] = []
        others = [other for other in self._names if other != name]
        for old, new in [*((self._filled(o, fit)) for o in others), *((b, b) for b in self._besides)]:
            centre, size = float(old[fit].mean()), float(old[fit].std())
            if size <= FOLLOWS * max(1.0, abs(centre)):
                continue  # the same in all records that the model is made of
            left = scaled = (old[fit] - centre) / size
            for _ in range(2):
                for direction in basis:
                    left = left - direction * (direction @ left)
            length = float(np.sqrt(left @ left))
            if length <= FOLLOWS * np.sqrt(len(fit)):
                continue
            basis.append(left / length)
            kept.append((scaled, (new[mine] - centre) / size))
        if not kept:
            return np.zeros((len(fit), 0)), np.zeros((len(mine), 0))
        return np.stack([old for old, _ in kept], axis=1), np.stack([new for _, new in kept], axis=1)

    def _filled(self, name: str, fit: Ints) -> tuple[Floats, Floats]:
        """A column before and after draws; fields without a value lie at the mean."""
        known = fit[~self._gaps[name][fit]]
        middle = float(self._old[name][known].mean()) if len(known) else 0.0
        gaps = self._gaps[name]
        return np.where(gaps, middle, self._old[name]), np.where(gaps, middle, self._new[name])


def _refuse_few(name: str, rows: int, columns: int) -> None:
    if rows <= columns:
        raise InputError(
            f"The model of column {name!r} has {counted(columns, 'column')}, and there "
            f"{'is' if rows == 1 else 'are'} {counted(rows, 'record')} to make it of.",
            hint="Name fewer columns or predictors, or merge strata.",
        )


def predictor_columns(records: RecordSet, name: str) -> list[Floats]:
    """Columns of a model for one that is not drawn anew: numbers as they are, a column of 0 and 1 for every code."""
    import pyarrow as pa

    column = records[name]
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = np.asarray(column.fill_null(0).to_numpy(), np.float64)
        gaps = empty_rows(records, name)
        found = [np.where(gaps, np.sort(values[~gaps]).mean() if not gaps.all() else 0.0, values)]
    else:
        codes, size = codes_of(column.cast(pa.string()))
        often = np.bincount(codes, minlength=size)
        # The most frequent code is what the others are compared with; equal ones go by their text.
        texts = _texts(column, codes, size)
        order = sorted(np.flatnonzero(often).tolist(), key=lambda code: (-int(often[code]), texts[code]))
        found = [(codes == code).astype(np.float64) for code in order[1:]]
    if all(np.ptp(values) == 0 for values in found):
        raise InputError(
            f"Predictor {name!r} has the same value in all records, and says nothing of them.", hint="Leave it out."
        )
    return found


def _texts(column: pa.ChunkedArray, codes: Ints, size: int) -> list[str]:
    texts: list[Any] = [""] * size
    _, first = np.unique(codes, return_index=True)
    for row in first.tolist():
        texts[int(codes[row])] = column[row].as_py()
    return ["" if text is None else str(text) for text in texts]
