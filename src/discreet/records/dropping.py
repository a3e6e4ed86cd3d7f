"""Drop/add-up-to-q: answers of a table server in which a few records of every cell are dropped or doubled.

The random choices are fixed by permanent random numbers of the records in the cell, in all its margins and in its
universe. The same question has the same answer, but two universes that differ by one record get other noise everywhere,
which defeats subtracting one table from the other (Li and Krenzke 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from discreet.engine.draws import Draws, draws
from discreet.errors import InputError, ParameterError, ProtectionError, counted
from discreet.jit import kernel
from discreet.model.arrays import Floats, Ints, Status

MOST_CELLS = 50_000_000
AVERAGING = (
    "The noise depends on the margins: the same cell in different tables has different noise, which averages out. "
    "Limit how many tables may contain a cell."
)
EQUAL_WEIGHTS = (
    "All weights are equal, or all records of each cell stand for the same: adjustment and calibration undo the noise, "
    "and weighted estimates are the original ones. Publish perturbed counts times the weight instead."
)


@dataclass(frozen=True)
class DropAddRule:
    """How many records may change, and what is refused.

    Parameters
    ----------
    rate
        Share of a cell's records: at most q = rate times their number, rounded up, are dropped or doubled.
    rounding
        ``"ceil"`` rounds up (198 records at 0.01 give 2, 200 give 2); ``"above"`` takes the smallest whole number
        above (200 give 3).
    min_cell, min_margin, min_universe
        Questions with a smaller cell, margin or universe are refused; cells that are empty do not count.
    """

    rate: float | Fraction = Fraction(1, 100)
    rounding: Literal["ceil", "above"] = "ceil"
    min_cell: int = 1
    min_margin: int = 1
    min_universe: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.rate < Fraction(1, 2):
            raise ParameterError(f"rate={self.rate} must lie between 0 and 0.5.")
        if self.rounding not in ("ceil", "above"):
            raise ParameterError(f"rounding={self.rounding!r} is not known.", hint="Use 'ceil' or 'above'.")

    @property
    def exact_rate(self) -> Fraction:
        """The rate as the number that was written."""
        return Fraction(str(self.rate)) if isinstance(self.rate, float) else Fraction(self.rate)

    def caps(self, count: Ints) -> Ints:
        """The largest number of records that may change in cells of so many, exactly.

        Examples
        --------
        >>> DropAddRule(0.07).caps(np.array([0, 1, 100])).tolist()
        [0, 1, 7]
        """
        share = self.exact_rate
        top, bottom = share.numerator, share.denominator
        product = count * top
        result: Ints = -(-product // bottom) if self.rounding == "ceil" else product // bottom + 1
        return np.where(count > 0, result, 0)


class DropAddTable(NamedTuple):
    """The answer: perturbed counts of all cells, additive; and, for the operator, what was done.

    Arrays have one axis a variable. ``moved`` is how many records were added (above zero) or dropped, ``cap`` the most
    that could have been, ``seeds`` the two seeds of every cell, ``notes`` what users should be told.
    """

    counts: Ints
    moved: Ints
    cap: Ints
    seeds: Draws
    notes: tuple[str, ...]

    def margin(self, *axes: int) -> Ints:
        """Counts by some of the variables: sums of the perturbed cells."""
        drop = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        result: Ints = self.counts.sum(axis=drop)
        return result


def permanent_numbers(record: Ints, key: bytes, *, version: int = 1) -> Draws:
    """Permanent random numbers of records, by keyed hash of their identity."""
    return draws(key, "drop_add/record", version, record)


def dropped_and_added(
    codes: Ints,
    shape: tuple[int, ...],
    numbers: Draws,
    key: bytes,
    rule: DropAddRule | None = None,
    *,
    weighted: bool = False,
    version: int = 1,
) -> DropAddTable:
    """Counts of a table with up to q records of every cell dropped or added.

    Parameters
    ----------
    codes
        Code of every record of the universe, one column per variable, from 0.
    shape
        Number of codes of each variable.
    numbers
        Permanent random numbers of the records.
    key
        The server's secret of 32 bytes.
    rule
        Rate and refusals.
    weighted
        Keep at least one record in every cell, as weighted estimates need.
    version
        Version of the seeds.
    """
    rule = rule or DropAddRule()
    flat = _flat(codes, shape, numbers)
    size = int(np.prod(shape))
    count, total = np.zeros(size, np.int64), np.zeros(size, np.uint64)
    sum_numbers(flat, numbers, count, total)
    return dropped_and_added_in(count.reshape(shape), total.reshape(shape), key, rule, weighted, version)


def dropped_and_added_in(
    counts: Ints, sums: Draws, key: bytes, rule: DropAddRule, weighted: bool = False, version: int = 1
) -> DropAddTable:
    """The same from the number of records of every cell and the sum of their permanent numbers modulo 2**64.

    These are all that counts depend on, so that whoever holds the records need not give them away.
    """
    shape, count = counts.shape, counts.ravel()
    _refuse_small(counts, rule, weighted)
    seeds = _seeds(sums, key, version)
    cap = rule.caps(count)
    # Uniform on -q .. q: the upper 32 bits of the first seed, spread over 2q + 1 outcomes.
    wide = (2 * cap + 1).astype(np.uint64)
    moved = (((seeds[0] >> np.uint64(32)) * wide) >> np.uint64(32)).astype(np.int64) - cap
    moved = np.maximum(moved, -np.maximum(count - 1, 0) if weighted else -count)
    return DropAddTable(
        (count + moved).reshape(shape), moved.reshape(shape), cap.reshape(shape), seeds.reshape(2, *shape), (AVERAGING,)
    )


def _flat(codes: Ints, shape: tuple[int, ...], numbers: Draws) -> Ints:
    if codes.ndim != 2 or codes.shape[1] != len(shape) or not len(shape):
        raise InputError(f"Records need one code for each of {counted(len(shape), 'variable')}.")
    if len(numbers) != len(codes):
        raise InputError(f"There are {counted(len(codes), 'record')} and {len(numbers)} permanent numbers.")
    if np.asarray(numbers).dtype != np.uint64:
        raise InputError("Permanent numbers must be unsigned 64-bit integers.", hint="Make them once and store them.")
    refuse_many_codes(shape)
    flat = np.zeros(len(codes), np.int64)
    for axis, size in enumerate(shape):
        column = codes[:, axis]
        if len(column) and (column.min() < 0 or column.max() >= size):
            raise InputError(f"A code of variable {axis + 1} lies outside 0 .. {size - 1}.")
        flat = flat * size + column
    return flat


def refuse_many_codes(shape: tuple[int, ...]) -> None:
    """Refuse tables whose cells, empty ones too, do not fit into memory."""
    if float(np.prod(np.array(shape, np.float64))) > MOST_CELLS:
        raise InputError(f"The table would have more than {MOST_CELLS:,} cells.", hint="Ask for fewer variables.")


def _refuse_small(count: Ints, rule: DropAddRule, weighted: bool) -> None:
    """Refuse the whole question; nothing of a refused table is answered."""
    least_cell = max(rule.min_cell, 2) if weighted else rule.min_cell
    checks = [("universe", np.array([count.sum()]), rule.min_universe), ("cell", count.ravel(), least_cell)]
    for axes in _margins(count.ndim):
        drop = tuple(axis for axis in range(count.ndim) if axis not in axes)
        checks.append(("margin", count.sum(axis=drop).ravel(), rule.min_margin))
    for what, sizes, least in checks:
        small = (sizes < least) & ((sizes > 0) | (what == "universe"))
        if small.any():
            raise ProtectionError(
                f"The question is refused: {int(small.sum())} {what}{'s' * (what != 'universe')} of the table "
                f"have less than {least} records.",
                hint="Ask for a larger universe or for coarser codes.",
            )


def _margins(dimensions: int) -> list[tuple[int, ...]]:
    """Axes of every proper margin."""
    return [axes for number in range(1, dimensions) for axes in combinations(range(dimensions), number)]


def _seeds(sums: Draws, key: bytes, version: int) -> Draws:
    """Two seeds of every cell from the different sums among its own, those of its margins and that of the universe.

    A sum that occurs twice counts once: a variable named twice, or one that parts nothing, gives no new noise, which
    could be averaged out. Nor does the order of variables, because the draws of all sums are added up.
    """
    shape = sums.shape
    columns = [sums.ravel(), np.full(sums.size, sums.sum(dtype=np.uint64), np.uint64)]
    for axes in _margins(sums.ndim):
        drop = tuple(axis for axis in range(sums.ndim) if axis not in axes)
        columns.append(np.broadcast_to(sums.sum(axis=drop, keepdims=True, dtype=np.uint64), shape).ravel())
    ordered = np.sort(np.stack(columns), axis=0)
    together = draws(key, "drop_add/sum", version, ordered[0])
    for before, here in pairwise(ordered):
        together += np.where(here == before, np.uint64(0), draws(key, "drop_add/sum", version, here))
    return np.stack([draws(key, f"drop_add/seed{k}", version, sums.ravel(), together) for k in (1, 2)])


@kernel("void(i8[::1], u8[::1], i8[::1], u8[::1])")
def sum_numbers(cell: Ints, numbers: Draws, count: Ints, total: Draws) -> None:
    """Count records and sum their numbers modulo 2**64, in any order the same."""
    for i in range(len(cell)):
        count[cell[i]] += 1
        total[cell[i]] += numbers[i]


class DropAddWeights(NamedTuple):
    """Weights of the records after dropping and adding: final ones, how often each record counts, cell factors."""

    weight: Floats
    times: Status
    factor: Floats
    replicates: Floats | None
    notes: tuple[str, ...]


def perturbed_weights(
    codes: Ints,
    table: DropAddTable,
    numbers: Draws,
    weight: Floats,
    key: bytes,
    *,
    replicates: Floats | None = None,
    version: int = 1,
    emptied: bool = False,
) -> DropAddWeights:
    """Weights for estimates of any kind that match a perturbed table.

    Dropped records count 0 times, added ones twice; the cell's weights are scaled by its original number of records
    over the new one, which keeps expectations, and then all are calibrated to the original sum of the universe.

    Parameters
    ----------
    codes, numbers, key, version
        As for :func:`dropped_and_added`, which must have been called with ``weighted=True``.
    table
        Its answer.
    weight
        Weights of the records.
    replicates
        Replicate weights, one column each; calibrated each to its own sum.
    emptied
        Whether cells may have lost all their records, as in tables of plain counts.
    """
    shape = table.counts.shape
    flat = _flat(codes, shape, numbers)
    if len(weight) != len(flat) or (len(weight) and (not np.isfinite(weight).all() or weight.min() < 0)):
        raise InputError("Every record needs a weight of at least zero.")
    moved = table.moved.ravel()
    before = table.counts.ravel() - moved
    if not emptied and np.any((before > 0) & (before + moved < 1)):
        raise ParameterError("A cell has lost all its records.", hint="Make the table with weighted=True.")
    seed = table.seeds[1].ravel()
    order = draws(key, "drop_add/which", version, seed[flat], numbers)
    times = chosen(flat, order, moved)
    factor = before / np.maximum(before + moved, 1)
    adjusted = weight * times * factor[flat]
    notes = [AVERAGING]
    if len(weight) and weight.min() == weight.max():
        notes.insert(0, EQUAL_WEIGHTS)
    return DropAddWeights(
        _calibrated(adjusted, weight),
        times,
        factor.reshape(shape),
        None
        if replicates is None
        else np.stack(
            [_calibrated(column * times * factor[flat], column) for column in np.asarray(replicates).T], axis=1
        ),
        tuple(notes),
    )


def _calibrated(adjusted: Floats, original: Floats) -> Floats:
    total = float(adjusted.sum())
    result: Floats = adjusted * (float(original.sum()) / total) if total > 0 else adjusted
    return result


@kernel("i1[::1](i8[::1], u8[::1], i8[::1])")
def chosen(cell: Ints, order: Draws, moved: Ints) -> Status:
    """How often each record counts: in every cell those with the lowest draws are dropped or doubled."""
    start = np.zeros(len(moved) + 1, np.int64)
    for c in range(len(moved)):
        start[c + 1] = start[c] + abs(moved[c])
    lowest = np.full(start[-1], -1, np.int64)
    held = np.zeros(len(moved), np.int64)
    for i in range(len(cell)):
        c = cell[i]
        room = abs(moved[c])
        if room == 0:
            continue
        at = held[c]
        if at == room:
            if order[i] >= order[lowest[start[c] + at - 1]]:
                continue
            at -= 1
        else:
            held[c] += 1
        while at > 0 and order[lowest[start[c] + at - 1]] > order[i]:
            lowest[start[c] + at] = lowest[start[c] + at - 1]
            at -= 1
        lowest[start[c] + at] = i
    times = np.ones(len(cell), np.int8)
    for c in range(len(moved)):
        for at in range(start[c], start[c] + held[c]):
            times[lowest[at]] = 0 if moved[c] < 0 else 2
    return times


class Interval(NamedTuple):
    """An estimate with its standard error and confidence interval."""

    estimate: Floats
    error: Floats
    lower: Floats
    upper: Floats


def replicate_interval(
    estimate: Floats, replicates: Floats, *, scale: float | None = None, level: float = 0.95
) -> Interval:
    """Variance from replicate estimates in the usual way, and the interval.

    Parameters
    ----------
    estimate
        Estimates with the full weights.
    replicates
        The same estimates with each replicate's weights, one row a replicate.
    scale
        Factor of the sum of squares: 1/R for balanced repeated replication (the default), (R - 1)/R for the jackknife.
    level
        Coverage of the interval.
    """
    if not 0 < level < 1:
        raise ParameterError(f"level={level} must lie between 0 and 1.")
    factor = 1 / len(replicates) if scale is None else scale
    error = np.sqrt(factor * ((replicates - estimate) ** 2).sum(axis=0))
    reach = NormalDist().inv_cdf((1 + level) / 2) * error
    return Interval(estimate, error, estimate - reach, estimate + reach)


def dropped(numbers: Draws, q: int, key: bytes, *, version: int = 1) -> Status:
    """Drop-q subsampling: exactly q records of a universe are left out, always the same ones for the same universe.

    Examples
    --------
    >>> int(dropped(np.arange(10, dtype=np.uint64), 3, bytes(32)).sum())
    7
    """
    if isinstance(q, bool) or q < 0:
        raise ParameterError(f"q={q} must be a whole number of at least 0.")
    if q >= len(numbers):
        raise ParameterError(f"q={q} would drop all {counted(len(numbers), 'record')}.", hint="Give a smaller q.")
    universe = np.full(len(numbers), numbers.sum(dtype=np.uint64), np.uint64)
    order = draws(key, "drop_q/which", version, universe, numbers)
    return chosen(np.zeros(len(numbers), np.int64), order, np.array([-q]))
