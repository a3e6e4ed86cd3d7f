"""Entries of a count table that its published margins fix: all whole tables with these margins agree in them.

Linear programs alone can call an entry free that is not, so that what they leave open goes to integer programs. Where a
limit strikes, the entry is unknown, never safe. Source: Onn (2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.errors import InputError, ParameterError
from discreet.model.arrays import Bools, Floats, Ints, Status
from discreet.progress import checkpoint
from discreet.solve.program import started

NEAR = 1e-6
"""How far an answer in floating point may lie from the whole number that it stands for."""
EFFORT = 10_000
"""Nodes of the search tree of one integer program."""
EVERY_ENTRY = -1


class Entry(IntEnum):
    """What the margins say of an entry."""

    VARIES = 0
    UNIQUE = 1
    UNKNOWN = 2
    NOT_ASKED = 3


Margins = Mapping[tuple[int, ...], npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class EntryBounds:
    """What margins tell of the entries of a table.

    ``status`` holds an :class:`Entry` for each; ``lower`` and ``upper`` what is known of it: exact where ``exact``, and
    otherwise a range that surely holds the exact one where the linear program was solved.
    """

    status: Status
    lower: Ints
    upper: Ints
    exact: Bools
    solves: int

    @property
    def unique(self) -> int:
        """How many entries are disclosed."""
        return int((self.status == Entry.UNIQUE).sum())

    @property
    def unknown(self) -> int:
        """How many entries could not be decided within the effort: they must count as disclosed."""
        return int((self.status == Entry.UNKNOWN).sum())


def unique_entries(
    table: npt.ArrayLike | None = None,
    family: Sequence[Sequence[int]] | None = None,
    *,
    margins: Margins | None = None,
    shape: Sequence[int] | None = None,
    entries: Bools | None = None,
    bounds: bool = False,
    effort: int = EFFORT,
) -> EntryBounds:
    """Which entries of a count table its published margins disclose.

    Parameters
    ----------
    table
        The true counts; or give ``margins`` and ``shape``.
    family
        The published margins as sets of axes, for instance ``[(0, 1), (1, 2)]``; all pairs of axes when left out.
    margins, shape
        Published margins by their axes, and the shape of the table, where the counts are not at hand.
    entries
        Which entries to look at; all when left out.
    bounds
        Find the least and largest whole number of every entry, and not only whether they differ.
    effort
        Nodes of the search tree of one integer program; entries that need more are ``UNKNOWN``.

    Raises
    ------
    InputError
        When margins contradict each other, or no table of whole numbers has them.

    Examples
    --------
    >>> unique_entries([[2, 0], [1, 0]], [(0,), (1,)]).status.tolist()
    [[1, 1], [1, 1]]
    """
    given = _Margins.of(table, family, margins, shape)
    wanted = np.ones(given.shape, np.bool_) if entries is None else np.asarray(entries, np.bool_)
    if wanted.shape != given.shape:
        raise InputError(f"entries= has the shape {wanted.shape}, the table {given.shape}.")
    if isinstance(effort, bool) or not isinstance(effort, int) or effort < 1:
        raise ParameterError(f"effort={effort!r} is not allowed.", hint="Give a whole number of at least 1.")
    closed = _decomposable(given)
    if closed is not None:
        lower, upper = closed
        status = np.where(lower == upper, Entry.UNIQUE, Entry.VARIES).astype(np.int8)
        return EntryBounds(status, lower, upper, np.ones(given.shape, np.bool_), 0)
    search = _EntryPrograms(given, effort)
    return search.run(wanted.ravel(), bounds)


def attainable_values(
    cell: Sequence[int],
    table: npt.ArrayLike | None = None,
    family: Sequence[Sequence[int]] | None = None,
    *,
    margins: Margins | None = None,
    shape: Sequence[int] | None = None,
    effort: int = EFFORT,
) -> list[int]:
    """All values that an entry has in some table with the published margins; there may be gaps between them.

    Raises
    ------
    InputError
        Also when a value could not be decided within the effort.
    """
    given = _Margins.of(table, family, margins, shape)
    search = _EntryPrograms(given, effort)
    place = int(np.ravel_multi_index(tuple(cell), given.shape))
    one = np.zeros(int(np.prod(given.shape)), np.bool_)
    one[place] = True
    found = search.run(one, True)
    if found.status.ravel()[place] == Entry.UNKNOWN:
        raise InputError("The range of the entry could not be found.", hint="Give a larger effort=.")
    low, high = int(found.lower.ravel()[place]), int(found.upper.ravel()[place])
    return [v for v in range(low, high + 1) if search.has(place, v)]


class _Margins(NamedTuple):
    """Margins of a table, without those that others contain."""

    shape: tuple[int, ...]
    margins: dict[tuple[int, ...], Ints]
    table: Ints | None

    @classmethod
    def of(
        cls,
        table: npt.ArrayLike | None,
        family: Sequence[Sequence[int]] | None,
        margins: Margins | None,
        shape: Sequence[int] | None,
    ) -> _Margins:
        """What was given, checked."""
        if (table is None) == (margins is None):
            raise ParameterError("Give the table and a family, or margins and a shape.")
        if table is not None:
            counts = _whole(table, "The table")
            pairs = list(combinations(range(counts.ndim), 2)) if family is None else family
            kept = _maximal(pairs, counts.ndim)
            sums = {axes: counts.sum(axis=_others(axes, counts.ndim)) for axes in kept}
            return cls(counts.shape, sums, counts)
        if shape is None or margins is None or family is not None:
            raise ParameterError("Margins need a shape= and say themselves which family they are.")
        size = tuple(int(n) for n in shape)
        every = {tuple(axes): _whole(values, f"The margin {tuple(axes)}") for axes, values in margins.items()}
        for axes, values in every.items():
            _refuse_axes(axes, len(size))
            if values.shape != tuple(size[axis] for axis in axes):
                raise InputError(f"The margin {axes} has the shape {values.shape}, which does not fit {size}.")
        _refuse_contradiction(every)
        kept = _maximal(every, len(size))
        return cls(size, {tuple(sorted(axes)): _in_order(axes, every[axes]) for axes in every if _is(axes, kept)}, None)


def _is(axes: tuple[int, ...], kept: Sequence[tuple[int, ...]]) -> bool:
    return tuple(sorted(axes)) in kept


def _in_order(axes: tuple[int, ...], values: Ints) -> Ints:
    return values.transpose(np.argsort(axes))


def _whole(values: npt.ArrayLike, what: str) -> Ints:
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or np.any(array != np.rint(array)) or array.min(initial=0) < 0:
        raise InputError(f"{what} must hold whole numbers of at least 0.", hint="Use linear bounds for other tables.")
    return array.astype(np.int64)


def _others(axes: Sequence[int], dimensions: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(dimensions) if axis not in axes)


def _refuse_axes(axes: Sequence[int], dimensions: int) -> None:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < dimensions for axis in axes):
        raise ParameterError(f"The margin {tuple(axes)} does not fit {dimensions} axes.", hint="Count axes from 0.")


def _maximal(family: Iterable[Sequence[int]], dimensions: int) -> list[tuple[int, ...]]:
    """The sets of axes that no other contains."""
    sets = []
    for axes in family:
        _refuse_axes(axes, dimensions)
        sets.append(tuple(sorted(axes)))
    if not sets:
        raise ParameterError("There is no published margin.", hint="Give at least one, for instance [(0,), (1,)].")
    distinct = sorted(set(sets))
    return [axes for axes in distinct if not any(set(axes) < set(other) for other in distinct)]


def _refuse_contradiction(margins: Mapping[tuple[int, ...], Ints]) -> None:
    """Two margins must agree in what both contain."""
    for (one, first), (two, second) in combinations(margins.items(), 2):
        common = set(one) & set(two)
        sums = []
        for axes, values in ((one, first), (two, second)):
            left = values.sum(axis=tuple(k for k, axis in enumerate(axes) if axis not in common))
            sums.append(np.asarray(left).transpose(np.argsort([axis for axis in axes if axis in common]).astype(int)))
        if not np.array_equal(sums[0], sums[1]):
            raise InputError(f"The margins {one} and {two} contradict each other.", hint="Correct one of them.")


def _decomposable(given: _Margins) -> tuple[Ints, Ints] | None:
    """Exact bounds in closed form where the family hangs together as a tree, and nothing otherwise."""
    cliques = list(given.margins)
    tree = [set(cliques[0])]
    waiting, separators = [set(c) for c in cliques[1:]], []
    while waiting:
        _, k, s = max((len(w & t), k, s) for k, w in enumerate(waiting) for s, t in enumerate(tree))
        separators.append(tuple(sorted(waiting[k] & tree[s])))
        tree.append(waiting.pop(k))
    covered = set().union(*map(set, cliques))
    if sum(map(len, cliques)) - sum(map(len, separators)) != len(covered):
        return None
    ends = {axes: _spread(values, axes, given.shape) for axes, values in given.margins.items()}
    upper = _least(given)
    lower = np.zeros(given.shape, np.int64)
    if all(axis in covered or size == 1 for axis, size in enumerate(given.shape)):
        lower = np.sum([np.broadcast_to(v, given.shape) for v in ends.values()], axis=0)
        for separator in separators:
            holder = next(axes for axes in given.margins if set(separator) <= set(axes))
            over = tuple(k for k, axis in enumerate(holder) if axis not in separator)
            lower = lower - _spread(given.margins[holder].sum(axis=over), separator, given.shape)
        lower = np.maximum(lower, 0)
    return lower.astype(np.int64), upper


def _least(given: _Margins) -> Ints:
    """For every entry the least margin that contains it."""
    found = np.full(given.shape, np.iinfo(np.int64).max)
    for axes, values in given.margins.items():
        found = np.minimum(found, _spread(values, axes, given.shape))
    return found


def _spread(values: Ints, axes: tuple[int, ...], shape: tuple[int, ...]) -> Ints:
    """A margin as a table whose other axes have one place."""
    return np.asarray(values).reshape([shape[axis] if axis in axes else 1 for axis in range(len(shape))])


class _EntryPrograms:
    """Programs over the entries that no zero margin fixes."""

    def __init__(self, given: _Margins, effort: int) -> None:
        self.given, self.effort = given, effort
        self.solves = 0
        self.cap = _least(given).ravel()
        self.free = np.flatnonzero(self.cap > 0)
        self.place = np.full(len(self.cap), -1, np.int64)
        self.place[self.free] = np.arange(len(self.free))
        self.row, self.right = self._relations()
        self.model = self._model()
        self.first = self._first()

    def _relations(self) -> tuple[list[Ints], Ints]:
        """For every margin the row of each free entry, and the right sides of all rows."""
        where = np.unravel_index(self.free, self.given.shape)
        rows, right, offset = [], [], 0
        for axes, values in self.given.margins.items():
            key = np.zeros(len(self.free), np.int64)
            for axis in axes:
                key = key * self.given.shape[axis] + where[axis]
            rows.append(key + offset)
            right.append(values.ravel())
            offset += values.size
        return rows, np.concatenate(right)

    def _model(self) -> Any:
        import highspy

        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = len(self.right), len(self.free)
        model.col_cost_ = np.zeros(len(self.free))
        model.col_lower_, model.col_upper_ = np.zeros(len(self.free)), self.cap[self.free].astype(np.float64)
        model.row_lower_ = model.row_upper_ = self.right.astype(np.float64)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        each = len(self.row)
        model.a_matrix_.start_ = np.arange(len(self.free) + 1) * each
        model.a_matrix_.index_ = np.sort(np.column_stack(self.row), axis=1).ravel()
        model.a_matrix_.value_ = np.ones(len(self.free) * each)
        return started(model, mip_max_nodes=self.effort, mip_rel_gap=0.0, mip_abs_gap=0.5)

    def _first(self) -> Ints:
        """A whole table with the margins."""
        if self.given.table is not None:
            return self.given.table.ravel()
        if not len(self.free):
            if self.right.any():
                raise InputError("No table has these margins.", hint="Correct the margins.")
            return np.zeros(len(self.cap), np.int64)
        found = self._solve(EVERY_ENTRY, 1.0, whole=True)
        if found.table is None:
            what = "could be found within the effort" if found.limited else "of whole numbers has these margins"
            raise InputError(f"No table {what}.", hint="Correct the margins, or give a larger effort=.")
        return found.table

    def run(self, wanted: Bools, bounds: bool) -> EntryBounds:
        """Decide entries one by one; tables found on the way decide others."""
        low, high = self.first.copy(), self.first.copy()
        outer_low, outer_high = np.zeros_like(self.cap), self.cap.copy()
        known_low, known_high = self.cap == 0, self.cap == 0
        ask = np.flatnonzero(wanted & (self.cap > 0))
        for number, entry in enumerate(ask.tolist()):
            checkpoint("Entries", number, len(ask))
            for upwards in (True, False):
                if not bounds and low[entry] < high[entry]:
                    break
                found = self._end(entry, upwards, outer_low, outer_high)
                for table in found.tables:
                    np.minimum(low, table, out=low)
                    np.maximum(high, table, out=high)
                (known_high if upwards else known_low)[entry] = found.decided
        varies = low < high
        status = np.where(wanted, Entry.UNKNOWN, Entry.NOT_ASKED).astype(np.int8)
        status[known_low & known_high & ~varies] = Entry.UNIQUE
        status[varies] = Entry.VARIES
        exact = known_low & known_high
        shape = self.given.shape
        return EntryBounds(
            status.reshape(shape),
            np.where(known_low, low, outer_low).reshape(shape),
            np.where(known_high, high, outer_high).reshape(shape),
            exact.reshape(shape),
            self.solves,
        )

    def _end(self, entry: int, upwards: bool, outer_low: Ints, outer_high: Ints) -> _End:
        """One end of an entry: by a linear program, and by an integer one where that leaves it open."""
        start = int(self.first[entry])
        if not upwards and start == 0:
            return _End(True, [])
        linear = self._solve(entry, 1.0 if upwards else -1.0, whole=False)
        if linear.value is None:
            return _End(False, [])
        if upwards:
            outer_high[entry] = min(outer_high[entry], int(np.floor(linear.value + NEAR)))
        else:
            outer_low[entry] = max(outer_low[entry], int(np.ceil(linear.value - NEAR)))
        end = outer_high[entry] if upwards else outer_low[entry]
        if end == start:
            return _End(True, [])
        if linear.table is not None and linear.table[entry] == end:
            return _End(True, [linear.table])
        whole = self._solve(entry, 1.0 if upwards else -1.0, whole=True)
        return _End(not whole.limited and whole.table is not None, [] if whole.table is None else [whole.table])

    def has(self, entry: int, value: int) -> bool:
        """Whether some whole table has this value in an entry."""
        at = int(self.place[entry])
        if at < 0:
            return value == 0
        self.model.changeColBounds(at, float(value), float(value))
        found = self._solve(EVERY_ENTRY, 1.0, whole=True)
        self.model.changeColBounds(at, 0.0, float(self.cap[entry]))
        if found.limited and found.table is None:
            raise InputError("A value could not be decided.", hint="Give a larger effort=.")
        return found.table is not None

    def _solve(self, entry: int, sign: float, *, whole: bool) -> _Found:
        import highspy

        kind = highspy.HighsVarType.kInteger if whole else highspy.HighsVarType.kContinuous
        size = len(self.free)
        every = np.arange(size, dtype=np.int32)
        self.model.changeColsIntegrality(size, every, np.full(size, kind))
        costs = np.zeros(size)
        if entry != EVERY_ENTRY:
            costs[self.place[entry]] = -sign
        self.model.changeColsCost(size, every, costs)
        self.solves += 1
        self.model.run()
        status = self.model.getModelStatus()
        done = status == highspy.HighsModelStatus.kOptimal
        limited = not done and status != highspy.HighsModelStatus.kInfeasible
        solution = self.model.getSolution()
        table = self._checked(np.asarray(solution.col_value)) if done or (limited and solution.value_valid) else None
        value = None
        if done and entry != EVERY_ENTRY:
            value = float(solution.col_value[int(self.place[entry])])
        return _Found(table, value, limited)

    def _checked(self, values: Floats) -> Ints | None:
        """An answer as a table of whole numbers, if it is one and has the margins exactly."""
        near = np.rint(values)
        if len(values) != len(self.free) or np.abs(values - near).max(initial=0.0) > NEAR or near.min(initial=0) < 0:
            return None
        counts = near.astype(np.int64)
        sums = np.zeros(len(self.right), np.int64)
        for row in self.row:
            np.add.at(sums, row, counts)
        if not np.array_equal(sums, self.right):
            return None
        table = np.zeros(len(self.cap), np.int64)
        table[self.free] = counts
        return table


class _Found(NamedTuple):
    """A whole table, where the answer is one; the value of the entry asked for; whether a limit struck."""

    table: Ints | None
    value: float | None
    limited: bool


class _End(NamedTuple):
    """Whether an end is known for certain, and tables that were found on the way."""

    decided: bool
    tables: list[Ints]
