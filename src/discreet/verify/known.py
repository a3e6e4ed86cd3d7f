"""What attackers know of every row: how far everybody lets it rise and fall, and who contributes to it.

Rows are numbered through all tables; amounts are in units of the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Codes, Ints
from discreet.model.custodian import TableCustodian
from discreet.model.table import NOBODY, CellStatus
from discreet.verify.bounds import bounds_of, without_negative
from discreet.verify.relations import Meaning, RowRelations
from discreet.verify.sole_parts import SoleParts

NEVER_SEEN = 2**62
"""How far a cell can move where nobody knows a limit."""


class Ground:
    """All rows of a release and of earlier ones, numbered through their tables, with what does not depend on a method.

    ``withheld`` says which rows their own release withholds, ``known`` which ones were published before or elsewhere,
    and ``hidden`` which ones nobody is told, in whatever table they stand. Where values are altered, no true value is
    told; ``published`` are the altered ones in units of ``decimals``. The first ``present`` tables are those of this
    release.
    """

    def __init__(self, custodian: TableCustodian) -> None:
        self.already = custodian.already
        self.tables = custodian.whole
        self.present = len(custodian.tables)
        self.meaning = Meaning(self.tables)
        self.relations = RowRelations(self.tables, self.meaning)
        self.first = self.relations.first
        self.sizes = np.array([len(table) for table in self.tables], np.int64)
        self.status = np.concatenate(custodian.whole_status)
        self.withheld: Bools = np.isin(self.status, (CellStatus.UNSAFE, CellStatus.SECONDARY))
        self.unsafe: Bools = self.status == CellStatus.UNSAFE
        rows = int(self.sizes.sum())
        self.now: Bools = np.arange(rows) < int(self.sizes[: self.present].sum())
        self.decimals = custodian.decimals
        self.published: Ints | None = None
        self.intervals: tuple[Ints, Ints] | None = None
        if custodian.published is not None:
            self.published = np.concatenate(custodian.published)
            if len(self.published) != int(self.now.sum()) or self.published.dtype.kind != "i":
                raise InputError("The altered values are not one whole number for every cell of the release.")
            if custodian.intervals is not None:
                low, high = (np.concatenate([pair[i] for pair in custodian.intervals]) for i in range(2))
                if {len(low), len(high)} != {len(self.published)} or {low.dtype.kind, high.dtype.kind} != {"i"}:
                    raise InputError("The intervals are not two whole numbers for every cell of the release.")
                self.intervals = (low, high)
            self.withheld[self.now] = ~np.concatenate([table.empty for table in custodian.tables])
        before = ~self.withheld & ~self.now
        for number, known in self._known_rows():
            before[self.first[number] + known] = True
        self.known = self._wherever(before)
        self.hidden = ~(self.known | self._wherever(~self.withheld & self.now))

    def _known_rows(self) -> list[tuple[int, Ints]]:
        """Rows that files of others publish, by number of the table."""
        names = [table.name for table in self.tables]
        found = []
        for known in self.already.known:
            rows = known.rows
            number = names.index(known.table) if known.table in names else -1
            if (
                number < 0
                or rows.dtype.kind != "i"
                or (len(rows) and not 0 <= rows.min() <= rows.max() < self.sizes[number])
            ):
                raise InputError(f"The cells that file {known.source!r} publishes are not cells of the release.")
            found.append((number, rows))
        return found

    def _wherever(self, rows: Bools) -> Bools:
        """Rows whose cell is among some rows in any table."""
        marked = np.zeros(int(self.cells.max(initial=-1)) + 1, np.bool_)
        marked[self.cells[rows]] = True
        return marked[self.cells]

    @property
    def cells(self) -> Ints:
        """One number for each row; it agrees exactly where cells mean the same."""
        return self.meaning.cells

    @cached_property
    def twin(self) -> Ints:
        """For each row the next one that means the same, in a ring."""
        order = np.argsort(self.cells, kind="stable")
        new = np.diff(self.cells[order], prepend=-1) != 0
        following = np.roll(order, -1)
        following[np.roll(new, -1)] = order[new]
        result = np.empty(len(order), np.int64)
        result[order] = following
        return result

    @property
    def finest(self) -> int:
        """Decimals of the table with most of them."""
        return max(table.decimals for table in self.tables)

    def _number(self, row: int) -> int:
        """Number of the table that a row stands in; tables without rows begin where the next one does."""
        return int(np.searchsorted(self.first, row, side="right")) - 1

    def exact(self, row: int) -> Fraction:
        """The value of a row."""
        table, first = self.tables.tables[self._number(row)], int(self.first[self._number(row)])
        return Fraction(int(table.value[row - first]), 10**table.decimals)

    def name(self, row: int) -> str:
        """A row in words."""
        number = self._number(row)
        table = self.tables.tables[number]
        return f"{table.name}: {table.cell_name(row - int(self.first[number]))}"

    def row(self, name: str, codes: tuple[str, ...]) -> int:
        """The row of a cell by the name of its table and its codes; -1 where there is none."""
        for table, first in zip(self.tables, self.first.tolist(), strict=True):
            known = [h.index.get(code, -1) for h, code in zip(table.spec.hierarchies, codes, strict=False)]
            if table.name == name and len(codes) == len(table.variables) and min(known) >= 0:
                found = np.flatnonzero((table.codes == np.array(known)).all(axis=1))
                return first + int(found[0]) if len(found) else -1
        return -1

    def scaled(self, columns: list[NDArray[Any]], decimals: int) -> NDArray[Any]:
        """A column of all tables in units of ``10 ** -decimals``; wide integers where 64 bits may not suffice."""
        scales = [10 ** (decimals - table.decimals) for table in self.tables]
        # A unit that 64 bits cannot hold is too large for them even where all amounts are zero.
        size = max(float(np.abs(c.astype(np.float64)).max(initial=1)) * s for c, s in zip(columns, scales, strict=True))
        kind: Any = object if size >= 2**61 else np.int64
        return np.concatenate([c.astype(kind) * s for c, s in zip(columns, scales, strict=True)])


@dataclass(frozen=True, eq=False)
class CommonKnowledge:
    """What everybody knows of each row.

    Parameters
    ----------
    rise, fall
        How far it can move; ``NEVER_SEEN`` where there is no limit.
    step
        How many units rows are known to move by, or a multiple of that: one person or firm for unweighted counts,
        0 where a row may move by any amount.
    """

    rise: Ints
    fall: Ints
    step: Ints

    @property
    def whole(self) -> Bools:
        """Rows that are known to be whole numbers."""
        return self.step > 0

    @classmethod
    def of(cls, ground: Ground, decimals: int, within: Fraction | None) -> CommonKnowledge:
        """From the bounds of the tables, and what everybody knows besides, in per cent of the value."""
        tables = ground.tables.tables
        value = ground.scaled([table.value for table in tables], decimals)
        bounds = [bounds_of(table) for table in tables]
        floored = np.concatenate([low > NO_LOWER for low, _ in bounds])
        capped = np.concatenate([high < NO_UPPER for _, high in bounds])
        low = ground.scaled([np.where(low > NO_LOWER, low, 0) for low, _ in bounds], decimals)
        high = ground.scaled([np.where(high < NO_UPPER, high, 0) for _, high in bounds], decimals)
        fall, rise = _limited(value - low, floored), _limited(high - value, capped)
        if within is not None:
            share = within / 100
            off = np.abs(value).astype(object) * share.numerator // share.denominator
            known = _limited(off, np.ones(len(off), np.bool_))
            fall, rise = np.minimum(fall, known), np.minimum(rise, known)
        one = min(10**decimals, NEVER_SEEN)
        step = [one if table.spec.value is None and not table.spec.weight else 0 for table in tables]
        return cls(rise, fall, np.repeat(step, ground.sizes).astype(np.int64))


def _limited(room: NDArray[Any], known: Bools) -> Ints:
    """Room in 64 bits; what is beyond them counts as a little less than no limit at all."""
    limited = np.asarray(np.clip(room, -(2**62), NEVER_SEEN - 2)).astype(np.int64)
    return np.where(known, limited, NEVER_SEEN)


@dataclass(frozen=True, eq=False)
class RowContributors:
    """Who contributes to each row, with contributors numbered from zero.

    Parameters
    ----------
    number, named
        How many contributors there are, and how many of them, the first ones, have a name.
    sole
        The only contributor of a row, -1 where there are more or none.
    holder, left
        The largest contributors, and how far the row can fall before each sees it: to what it contributes itself.
    general
        How far it can fall before a contributor might who is not listed, and has no more than the last one listed.
    largest
        The first of the largest contributors, -1 where nobody is listed.
    certain
        Rows with contributions that cannot be negative, so that a holder is sure of ``left``.
    count
        How many contributors there are.
    room, own, rest
        How far a row can fall for everybody, what its listed contributors have of that, and what one who is not listed
        has at most; exact where 64 bits do not suffice.
    floored
        Rows of which everybody knows that they cannot fall without limit.
    parts
        Who must be in a row because it fills a part of it alone.
    """

    number: int
    named: int
    sole: Ints
    holder: Codes
    left: Ints
    general: Ints
    largest: Ints
    certain: Bools
    count: Ints
    room: NDArray[Any]
    own: NDArray[Any]
    rest: NDArray[Any]
    floored: Bools
    parts: SoleParts

    @classmethod
    def of(cls, ground: Ground, decimals: int) -> RowContributors:
        """From the holders and contributor counts of the tables."""
        count, identity, own = _listed(ground, decimals)
        names, compact = np.unique(identity, return_inverse=True)
        here = identity != NOBODY
        holder = np.where(here, compact.reshape(identity.shape), -1).astype(np.int32)
        listed = here.sum(axis=1)
        count = np.maximum(count, listed)
        alone = np.where(listed > 0, holder.max(axis=1), len(names) + _unnamed(ground, count))
        tables = ground.tables.tables
        bounds = [bounds_of(table)[0] for table in tables]
        sure = np.concatenate([without_negative(table) for table in tables])
        low = np.concatenate(bounds)
        value = ground.scaled([table.value for table in tables], decimals)
        # Others contribute nothing or more; where cells can be negative, at least what the cell is known to be.
        floor = ground.scaled([np.where(low > NO_LOWER, np.minimum(low, 0), 0) for low in bounds], decimals)
        room = (value - floor)[:, None] - np.maximum(own, 0)
        left = _limited(room, np.repeat((low > NO_LOWER)[:, None], own.shape[1], axis=1) & here)
        first = np.argmax(np.where(here, np.abs(own), -1), axis=1)
        smallest = np.where(here, np.abs(own), NEVER_SEEN).min(axis=1)
        unlisted = (count > listed) & (listed > 0) & (low > NO_LOWER)
        sole = np.where(count == 1, alone, -1).astype(np.int64)
        certain = (low >= 0) & sure
        unnamed = np.where(listed > 0, -1, sole)
        return cls(
            number=len(names) + len(ground.cells),
            named=len(names),
            sole=sole,
            holder=np.ascontiguousarray(holder),
            left=np.ascontiguousarray(left),
            general=_limited(value - floor - np.where(unlisted, smallest, 0), unlisted),
            largest=holder[np.arange(len(holder)), first].astype(np.int64),
            certain=certain,
            count=count,
            room=value - floor,
            own=np.maximum(own, 0),
            rest=smallest,
            floored=low > NO_LOWER,
            parts=SoleParts(ground.relations, ground.cells, certain, unnamed, value),
        )


def _listed(ground: Ground, decimals: int) -> tuple[Ints, Ints, NDArray[Any]]:
    """Contributors of each row: how many, who is listed, and what they contribute.

    A table that names nobody, or does not even count them, has what another one says of the same cell.
    """
    tables = ground.tables.tables
    width = max((t.holders.identity.shape[1] for t in tables if t.holders is not None), default=1)
    count = np.zeros(int(ground.sizes.sum()), np.int64)
    identity = np.full((len(count), width), NOBODY, np.int64)
    amounts = []
    for table, first in zip(tables, ground.first.tolist(), strict=True):
        rows = slice(first, first + len(table))
        amount = np.zeros((len(table), width), np.int64)
        if table.holders is not None:
            known = table.holders.identity.shape[1]
            count[rows], identity[rows, :known] = table.holders.count, table.holders.identity
            amount[:, :known] = table.holders.amount
        elif "holding" in table.contributions:
            count[rows] = table.contributions["holding"].count
        amounts.append(amount)
    own = ground.scaled(amounts, decimals)
    naming = np.repeat([table.holders is not None for table in tables], ground.sizes)
    counting = np.repeat(["holding" in table.contributions for table in tables], ground.sizes) & ~naming
    source = np.full(len(count), -1, np.int64)
    for knows in (counting, naming):
        source[ground.cells[knows]] = np.flatnonzero(knows)
    taken = np.flatnonzero(~naming & (source[ground.cells] >= 0))
    given = source[ground.cells[taken]]
    count[taken], identity[taken], own[taken] = count[given], identity[given], own[given]
    return count, identity, own


def _unnamed(ground: Ground, count: Ints) -> Ints:
    """A number for the contributor that fills a row alone and is not named.

    It fills no other cell alone, but for cells that mean the same, and where a whole has one contributor: then it is
    also the only one in its parts.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    r = ground.relations
    sides = [np.bincount(r.relation[side], minlength=len(r)) for side in (~r.positive, r.positive)]
    whole = np.where(r.positive, sides[1][r.relation], sides[0][r.relation]) == 1
    counts = count[r.row]
    single, mixed = np.zeros(len(r), np.bool_), np.zeros(len(r), np.bool_)
    single[r.relation[whole & (counts == 1)]] = True
    mixed[r.relation[counts > 1]] = True
    used = np.flatnonzero((single & ~mixed)[r.relation] & (counts == 1))
    cells = ground.cells
    size = len(r) + len(cells)
    edges = (np.ones(len(used), np.int8), (r.relation[used], len(r) + cells[r.row[used]]))
    labels = connected_components(coo_array(edges, shape=(size, size)), directed=False)[1]
    return np.unique(labels[len(r) + cells], return_inverse=True)[1].astype(np.int64)
