"""What emptying fields costs at least under the weaker meanings of an empty field, whatever is done.

``"exempt"``: emptying fields of others only makes a combination rarer. So a record must break all of its rare
combinations itself, and costs at least the cheapest columns that have one in common with each of them.

``"any"``: a few empty records may serve all others, so that only single records bound the cost: a *witness* needs so
many that agree with it, and each of them disagrees with it in some columns, which one of the two must lose. Records of
different strata do not serve each other, so that witnesses of several strata add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.records.blank_cells import MOST_KEYS, BlankPrices, LargeEnough, cells_of
from discreet.records.blank_families import ColumnTable

MANY, FEW_WITNESSES, MOST_WITNESSES = 100_000, 3, 8
"""So many records of a stratum are tried as witnesses, few where it has many: each is compared with all others."""


@dataclass(frozen=True, eq=False)
class WeakProblem:
    """Codes of all keys but those of strata (0 is empty), tables of them, prices, and when a group is large enough."""

    codes: Ints
    tables: Sequence[ColumnTable]
    prices: BlankPrices
    enough: LargeEnough

    def rows(self, chosen: Ints) -> WeakProblem:
        """The same for some records."""
        return WeakProblem(self.codes[chosen], self.tables, self.prices.rows(chosen), self.enough.rows(chosen))

    @property
    def price(self) -> Floats:
        """What each field costs."""
        weight = np.ones(len(self.codes)) if self.prices.weight is None else self.prices.weight
        return self.prices.of(self.codes, weight)


def exempt_least(problem: WeakProblem) -> float:
    """The least cost where a record with an empty field is not judged; 0 where there are too many keys to say."""
    if problem.codes.shape[1] > MOST_KEYS or not problem.tables:
        return 0.0
    cells, _ = cells_of(problem.codes, problem.prices, LargeEnough.of(2))
    rare = np.stack([_rare(cells.codes, cells.records, columns, k) for columns, k in problem.tables], axis=1)
    who = np.flatnonzero(rare.any(axis=1))
    if not len(who):
        return 0.0
    return float(breaking_costs(rare[who], cells.price[who], [columns for columns, _ in problem.tables]).sum())


def risky_exempt_least(problem: WeakProblem, unsafe: Bools) -> float:
    """The same where records at risk must not be: each of them loses its cheapest field at least."""
    price = np.where(problem.codes > 0, problem.price, np.inf)[unsafe]
    return float(price.min(axis=1, initial=np.inf).sum()) if len(price) else 0.0


def _rare(codes: Ints, records: Ints, columns: Sequence[int], k: int) -> Bools:
    """Cells without a gap in some columns of which fewer than ``k`` records have the same codes."""
    judged = (codes[:, list(columns)] > 0).all(axis=1)
    group = np.zeros(len(codes), np.int64)
    for column in columns:
        size = int(codes[:, column].max(initial=0)) + 1
        if int(group.max(initial=0)) * size > 2**24:
            _, group = np.unique(group, return_inverse=True)
        group = group * size + codes[:, column]
    if int(group.max(initial=0)) > 2**24:
        _, group = np.unique(group, return_inverse=True)
    count = np.bincount(group[judged], records[judged], int(group.max(initial=0)) + 1)
    return np.asarray(judged & (count[group] < k), np.bool_)


def breaking_costs(rare: Bools, price: Floats, tables: Sequence[Sequence[int]]) -> Floats:
    """For each record the cheapest columns that have one in common with each of its rare tables."""
    bits = np.array([sum(1 << column for column in columns) for columns in tables], np.int64)
    packed = np.packbits(rare, axis=1)
    kinds, first, kind = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(kind.ravel(), minlength=len(kinds))))
    sets = np.arange(1 << price.shape[1], dtype=np.int64)
    found = np.empty(len(rare))
    for number in range(len(kinds)):
        mine = order[ends[number] : ends[number + 1]]
        wanted = _innermost(bits[rare[first[number]]])
        able = sets[np.all((sets[:, None] & wanted) != 0, axis=1)]
        choice = _innermost(able)
        used = (choice[:, None] >> np.arange(price.shape[1])) & 1
        found[mine] = (price[mine] @ used.T).min(axis=1)
    return found


def _innermost(sets: Ints) -> Ints:
    """Sets, as bits, without those that hold another one."""
    kept: list[int] = []
    for one in sorted(set(sets.tolist()), key=int.bit_count):
        if not any(other & one == other for other in kept):
            kept.append(one)
    return np.array(kept, np.int64)


# ---- an empty field agrees with everything -----------------------------------------------------------------------


def agreeing_least(problem: WeakProblem, lacking: Ints) -> tuple[float, int]:
    """The least cost of one stratum, and the record that shows it, -1 where none does.

    ``lacking`` are records that lack company.
    """
    best, witness = 0.0, -1
    if problem.codes.shape[1] > MOST_KEYS or not len(lacking):
        return best, witness
    price = problem.price
    cheapest = np.where(problem.codes > 0, price, np.inf).min(axis=0)
    cheapest[np.isinf(cheapest)] = 0.0
    tried = min(len(lacking), MOST_WITNESSES if len(problem.codes) <= MANY else FEW_WITNESSES)
    for row in lacking[:: len(lacking) // tried][:tried].tolist():
        cost = max(_serving(problem, price[row], cheapest, row, table) for table in problem.tables)
        if cost > best:
            best, witness = cost, row
    return best, witness


def _serving(problem: WeakProblem, price: Floats, cheapest: Floats, row: int, table: ColumnTable) -> float:
    """What it costs at least that enough records agree with one in the columns of a table."""
    chosen, k = list(table[0]), table[1]
    pattern = np.zeros(len(problem.codes), np.int64)
    for place, column in enumerate(chosen):
        codes = problem.codes[:, column]
        if codes[row] > 0:
            pattern += ((codes != codes[row]) & (codes > 0)).astype(np.int64) << place
    count = np.bincount(pattern, minlength=1 << len(chosen))
    weight = problem.enough.weight
    mass = np.asarray(np.bincount(pattern, weight, 1 << len(chosen)), np.float64)
    served = _missing_records(k) if weight is None else _one_more(problem.enough)
    own = np.where(problem.codes[row, chosen] > 0, price[chosen], np.inf)
    return least_service(count, mass, cheapest[chosen], own, served)


def least_service(count: Ints, mass: Floats, cheapest: Floats, own: Floats, served: Callable[..., float]) -> float:
    """The least over all columns that a record may lose itself, of their cost and of what others then lose.

    ``count`` and ``mass`` are the records and their weight by the columns in which they disagree, as bits.
    """
    sets = np.arange(len(count), dtype=np.int64)
    columns = (sets[:, None] >> np.arange(len(own))) & 1
    price_of = columns @ cheapest
    best = np.inf
    for gone in sets[np.argsort(columns @ np.where(np.isinf(own), 0.0, own), kind="stable")].tolist():
        mine = float(own[columns[gone] == 1].sum())
        if mine >= best:
            continue
        there = count > 0
        best = min(best, mine + served(count[there], mass[there], price_of[sets[there] & ~gone], sets[there] & ~gone))
    return float(best)


def _missing_records(k: int) -> Callable[..., float]:
    """So many records as are missing lose fields, those that lose least."""

    def served(count: Ints, _: Floats, price: Floats, left: Ints) -> float:
        lacks = k - int(count[left == 0].sum())
        if lacks <= 0:
            return 0.0
        order = np.argsort(price[left > 0], kind="stable")
        amount, each = count[left > 0][order], price[left > 0][order]
        taken = np.minimum(amount, np.maximum(lacks - (np.cumsum(amount) - amount), 0))
        return float((taken * each).sum()) if int(taken.sum()) == lacks else np.inf

    return served


def _one_more(enough: LargeEnough) -> Callable[..., float]:
    """One more record loses fields at least, where those that agree stand for too few."""

    def served(count: Ints, mass: Floats, price: Floats, left: Ints) -> float:
        there = left == 0
        number = np.minimum(np.array([count[there].sum()]), enough.always)
        if bool(enough.holds(number, np.array([mass[there].sum()]))[0]):
            return 0.0
        return float(price[~there].min(initial=np.inf))

    return served
