"""What readers of rank-swapped records can tell of the values before, where they know how far ranks went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, NeedsError, listed
from discreet.model.arrays import Bools, Floats, Ints
from discreet.model.custodian import RecordCustodian
from discreet.model.records import MissingRange
from discreet.model.release import Release
from discreet.rules.key_counts import codes_of

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class RankBounds:
    """Intervals that hold the values before an exchange of ranks, one for each public record and column.

    Parameters
    ----------
    columns
        The columns that were exchanged.
    intervals
        The least and the most that the value of each public row was (columns ``NAME from`` and ``NAME to``); empty
        where there is no value.
    widths
        How wide the intervals of each column are; days of dates, microseconds of times.
    """

    columns: tuple[str, ...]
    intervals: pa.Table
    widths: Mapping[str, Floats]

    def median(self, column: str) -> float:
        """How wide half of the intervals of a column are at most."""
        return float(np.median(self.widths[column]))

    def least(self, column: str) -> float:
        """How wide the narrowest interval of a column is; 0 says that a value is known exactly."""
        return float(self.widths[column].min())

    def known(self, column: str) -> int:
        """How many values of a column are known exactly."""
        return int((self.widths[column] == 0).sum())

    def __str__(self) -> str:
        lines = ["A reader who knows share= knows every value before the exchange to within an interval."]
        for name in self.columns:
            lines.append(
                f"{name}: median width {self.median(name):,.6g}, least {self.least(name):,.6g}, "
                f"known exactly {self.known(name):,} of {len(self.widths[name]):,}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def rank_bounds(release: Release[RecordCustodian]) -> RankBounds:
    """What a reader who knows ``share=`` of :class:`discreet.RankSwap` can tell of the values before.

    The published value of a record has some rank; the value before had one that is at most the share away. Readers are
    taken to know the strata.

    Raises
    ------
    NeedsError
        Where no ranks were exchanged.
    InputError
        Where a later step changed an exchanged column: readers do not see what the exchange left.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> firms = ds.Microdata(pa.table({"sales": [3, 8, 5, 9, 1, 7, 20, 50]}), numeric="sales")
    >>> release = ds.protect(firms, ds.RankSwap(share=0.25, insecure_seed=1))
    >>> bounds = ds.attack.rank_bounds(release)
    >>> bounds.median("sales"), bounds.least("sales")
    (11.0, 4.0)
    """
    custodian = release.custodian
    found = [n for n, step in enumerate(getattr(custodian, "steps", ())) if step.evidence.claim.method == "rank_swap"]
    if not found:
        raise NeedsError("No ranks were exchanged in this release.", hint="Bounds are for releases of ds.RankSwap.")
    ends: dict[str, pa.ChunkedArray] = {}
    widths: dict[str, Floats] = {}
    for number in found:
        _refuse_later_changes(custodian, number)
        for name, one in _bounded(custodian, number).items():
            ends[f"{name} from"], ends[f"{name} to"] = one.ends(custodian.order)
            widths[name] = one.widths()
    import pyarrow as pa

    return RankBounds(tuple(widths), pa.table(ends), widths)


@dataclass(frozen=True, eq=False)
class _Bounded:
    """A column after the exchange: its numbers, where it is empty, and the rows that hold the ends of each interval."""

    column: pa.Array
    numbers: NDArray[Any]
    empty: Bools
    low: Ints
    high: Ints

    def ends(self, order: Ints) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        return self._at(self.low[order], order), self._at(self.high[order], order)

    def _at(self, rows: Ints, order: Ints) -> pa.ChunkedArray:
        import pyarrow as pa

        return pa.chunked_array([self.column.take(pa.array(rows, mask=self.empty[order]))])

    def widths(self) -> Floats:
        there = ~self.empty
        return np.asarray(self.numbers[self.high[there]] - self.numbers[self.low[there]], np.float64)


def _refuse_later_changes(custodian: RecordCustodian, number: int) -> None:
    mine = set(custodian.steps[number].changed.column_names)
    later = {name for step in custodian.steps[number + 1 :] for name in step.changed.column_names}
    if mine & later:
        raise InputError(
            f"{listed(sorted(mine & later))} changed again after the exchange, and readers do not see what it left.",
            hint="Ask for the bounds of a release in which the exchange comes last.",
        )


def _bounded(custodian: RecordCustodian, number: int) -> dict[str, _Bounded]:
    """Every column of a step with the rows that hold the ends."""
    step, original = custodian.steps[number], custodian.original
    columns = {name: original.columns[name] for name in original.names}
    for earlier in custodian.steps[:number]:
        columns.update({name: earlier.changed[name] for name in earlier.changed.column_names})
    share = Fraction(str(step.evidence.method["share"]))
    kinds = _kinds([columns[name] for name in original.strata], len(original))
    found: dict[str, _Bounded] = {}
    window: RankWindow | None = None
    for name in step.evidence.facts["columns"]:
        column = step.changed[name].combine_chunks()
        empty = _empty(step.changed[name], original.about(name).missing)
        numbers = _numbers(column)
        if window is None or not step.evidence.method["joint"]:
            window = RankWindow(numbers, empty, kinds, share)
            low, high = window.ends()
        else:
            low, high = window.extremes(numbers)
        found[name] = _Bounded(column, numbers, empty, low, high)
    return found


class RankWindow:
    """For every row the rows whose rank is within reach, stratum by stratum."""

    def __init__(self, numbers: NDArray[Any], empty: Bools, kinds: Sequence[Ints], share: Fraction) -> None:
        self.many = len(numbers)
        self.parts: list[tuple[Ints, Ints, Ints]] = []
        for rows in kinds:
            there = rows[~empty[rows]]
            order = there[np.argsort(numbers[there], kind="stable")]
            ordered, reach = numbers[order], int(share * len(order))
            # Of equal values nobody sees which rank is whose.
            first = np.searchsorted(ordered, ordered, side="left") - reach
            last = np.searchsorted(ordered, ordered, side="right") - 1 + reach
            least, most = ordered[np.maximum(first, 0)], ordered[np.minimum(last, len(order) - 1)]
            # A value at the end of the window may be that of any row that has it.
            first, last = np.searchsorted(ordered, least, "left"), np.searchsorted(ordered, most, "right") - 1
            self.parts.append((order, first, last))

    def ends(self) -> tuple[Ints, Ints]:
        """The rows of the least and the greatest value in reach of each row."""
        low, high = np.zeros(self.many, np.int64), np.zeros(self.many, np.int64)
        for order, first, last in self.parts:
            low[order], high[order] = order[first], order[last]
        return low, high

    def extremes(self, numbers: NDArray[Any]) -> tuple[Ints, Ints]:
        """The same by the values of another column that was exchanged together with the first."""
        low, high = np.zeros(self.many, np.int64), np.zeros(self.many, np.int64)
        for order, first, last in self.parts:
            place = np.argsort(np.argsort(numbers[order], kind="stable"), kind="stable")
            back = order[np.argsort(place, kind="stable")]
            low[order] = back[-_largest(-place, first, last)]
            high[order] = back[_largest(place, first, last)]
        return low, high


def _largest(values: Ints, first: Ints, last: Ints) -> Ints:
    """The largest of the values from one place to another, both included."""
    found = np.empty(len(values), np.int64)
    length, size, best = last - first + 1, 1, values  # the largest of so many values from each place on
    while size <= len(values):
        mine = np.flatnonzero((length >= size) & (length < 2 * size))
        found[mine] = np.maximum(best[first[mine]], best[last[mine] - size + 1])
        best = np.maximum(best[:-size], best[size:])
        size *= 2
    return found


def _kinds(strata: Sequence[pa.ChunkedArray], many: int) -> list[Ints]:
    kind = np.zeros(many, np.int64)
    for column in strata:
        codes, size = codes_of(column)
        kind = np.unique(kind * size + codes, return_inverse=True)[1].ravel()
    return [np.flatnonzero(kind == one) for one in range(int(kind.max(initial=0)) + 1)]


def _empty(column: pa.ChunkedArray, unknown: Sequence[MissingRange]) -> Bools:
    gaps = np.asarray(column.is_null().to_numpy(), np.bool_)
    return codes_of(column, unknown)[0] == 0 if unknown else gaps


def _numbers(column: pa.Array) -> NDArray[Any]:
    import pyarrow as pa

    kinds = {"date32[day]": pa.int32(), "timestamp[us]": pa.int64()}
    plain = column.cast(kinds.get(str(column.type), column.type)).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(plain, np.float64 if plain.dtype.kind == "f" else np.int64)
