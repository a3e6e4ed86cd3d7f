"""What attackers know of every row, worked out a second time in plain Python, for small sets of tables at random.

The tables need not add up: what is known of a row follows from its own bounds and contributors, and from tables that
have the same cell. So counts, bounds and signs are drawn one by one, and whatever a release could state comes up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.custodian import TableCustodian
from discreet.model.table import NOBODY, CellStatus, Contributions, Holders
from discreet.verify.known import NEVER_SEEN, CommonKnowledge, Ground, RowContributors

ROWS, COLUMNS = ds.Hierarchy.flat(["r0", "r1"]), ds.Hierarchy.flat(["c0", "c1"])
DECIMALS = 2
"""Of the evidence; tables have fewer."""
SEEDS = range(40)


@dataclass
class Row:
    """One row as a table states it, with numbers in units of the evidence; nothing where it is not stated."""

    table: int
    codes: tuple[str, str]
    value: int
    low: int | None
    high: int | None
    count: int
    people: list[tuple[int, int]]
    negative: bool
    names: bool
    counts: bool


def at_random(rng: np.random.Generator, number: int, by: dict[str, ds.Hierarchy], value: str | None) -> ds.Table:
    """A table with whatever values, bounds and contributors."""
    spec = ds.TableSpec(by, value, name=f"t{number}", weight="w" if value == "weighted" else None)
    if value == "weighted":
        spec = spec.with_(value=None)
    codes = np.array(list(product(*(range(len(h)) for h in by.values()))), np.int32)
    size, width = len(codes), int(rng.integers(1, 4))
    listed = rng.integers(0, width + 1, size)
    identity, amount = np.full((size, width), NOBODY, np.int64), np.zeros((size, width), np.int64)
    for row, many in enumerate(listed.tolist()):
        identity[row, :many] = rng.choice(6, many, replace=False)
        amount[row, :many] = rng.integers(-6, 30, many)
    count = rng.integers(0, 4, size) if number % 2 else rng.integers(0, 2, size)
    none = np.zeros(size, np.int64)
    kind = rng.choice(["names", "counts", "nothing"])
    level = Contributions(count, none, np.zeros((size, 0), np.int64), rng.random(size) < 0.3)
    return ds.Table(
        spec=spec,
        codes=codes,
        value=rng.integers(-5, 40, size),
        decimals=int(rng.integers(0, DECIMALS + 1)),
        empty=np.zeros(size, np.bool_),
        contributions={"holding": level} if kind == "counts" or (rng.random() < 0.5 and kind == "names") else {},
        holders=Holders(rng.integers(0, 5, size), identity, amount) if kind == "names" else None,
        lower_bound=np.where(rng.random(size) < 0.4, rng.integers(-9, 9, size), NO_LOWER),
        upper_bound=np.where(rng.random(size) < 0.4, rng.integers(30, 60, size), NO_UPPER),
        from_records=bool(rng.random() < 0.5),
    )


@cache
def drawn(seed: int) -> tuple[Ground, list[Row]]:
    """A set of tables, as the checker reads it and row by row."""
    rng = np.random.default_rng(seed)
    both = {"row": ROWS, "column": COLUMNS}
    kinds = [both, {"row": ROWS}, {"column": COLUMNS}, both, both]
    values = ["v", "v", "v", "w" if seed % 2 else None, "weighted"]
    tables = [at_random(rng, i, by, value) for i, (by, value) in enumerate(zip(kinds, values, strict=True))]
    equations = ["w = v"] if seed % 2 else []
    status = tuple(np.full(len(table), CellStatus.SAFE, np.int8) for table in tables)
    ground = Ground(TableCustodian(ds.TableSet(tables, equations), status, (), {}))
    return ground, [row for i, table in enumerate(tables) for row in _rows(i, table)]


def _rows(number: int, table: ds.Table) -> Iterator[Row]:
    unit = 10 ** (DECIMALS - table.decimals)
    doubt = not table.from_records and bool((table.value < 0).any())
    for i in range(len(table)):
        named = dict(zip(table.variables, table.spec_codes(table.codes[i].tolist()), strict=True))
        value, low, high = (int(c[i]) for c in (table.value, table.lower_bound, table.upper_bound))
        level = table.contributions.get("holding")
        below = value < 0 or (level is not None and bool(level.negative[i]))
        natural = None if below else 0
        people, count = [], 0
        if table.holders is not None:
            held = zip(table.holders.identity[i].tolist(), table.holders.amount[i].tolist(), strict=True)
            people, count = [(who, own * unit) for who, own in held if who != NOBODY], int(table.holders.count[i])
        elif level is not None:
            count = int(level.count[i])
        yield Row(
            table=number,
            codes=(named.get("row", "Total"), named.get("column", "Total")),
            value=value * unit,
            low=low * unit if low > NO_LOWER else natural,
            high=high * unit if high < NO_UPPER else None,
            count=count,
            people=people,
            negative=below or doubt,
            names=table.holders is not None,
            counts=table.holders is not None or level is not None,
        )


def informed(ground: Ground, rows: list[Row]) -> list[Row]:
    """The rows with who is in them: what their own table says, else the last that names people, else that counts."""
    meaning = [ground.tables.tables[row.table].spec.identity for row in rows]
    said = []
    for row, same in zip(rows, meaning, strict=True):
        alike = [other for other, its in zip(rows, meaning, strict=True) if (its, other.codes) == (same, row.codes)]
        better = [o for o in alike if o.names] or [o for o in alike if o.counts]
        source = row if row.names or not better else better[-1]
        said.append(replace(row, count=max(source.count, len(source.people)), people=source.people))
    return said


def limit(amount: int | None) -> int:
    return NEVER_SEEN if amount is None else amount


@pytest.mark.parametrize("within", [None, Fraction(25), Fraction(7, 3)])
def test_how_far_everybody_lets_a_row_move(within):
    for seed in SEEDS:
        ground, rows = drawn(seed)
        known = CommonKnowledge.of(ground, DECIMALS, within)
        for i, row in enumerate(rows):
            rise = None if row.high is None else row.high - row.value
            fall = None if row.low is None else row.value - row.low
            if within is not None:
                off = int(abs(row.value) * within / 100)
                rise, fall = (off if one is None else min(one, off) for one in (rise, fall))
            assert (int(known.rise[i]), int(known.fall[i])) == (limit(rise), limit(fall)), (seed, row)


def test_unweighted_counts_move_by_whole_people():
    for seed in SEEDS:
        ground, rows = drawn(seed)
        known = CommonKnowledge.of(ground, DECIMALS, None)
        for i, row in enumerate(rows):
            plain = row.table == 3 and seed % 2 == 0
            assert int(known.step[i]) == (100 if plain else 0), (seed, row)
            assert bool(known.whole[i]) == plain


def test_who_is_listed_in_a_row_and_what_each_of_them_sees():
    for seed in SEEDS:
        ground, rows = drawn(seed)
        found = RowContributors.of(ground, DECIMALS)
        names = {}
        for i, row in enumerate(informed(ground, rows)):
            assert int(found.count[i]) == row.count, (seed, row)
            listed = [who for who in found.holder[i].tolist() if who >= 0]
            names |= dict(zip([who for who, _ in row.people], listed, strict=True))
            assert listed == [names[who] for who, _ in row.people]
            width = found.holder.shape[1]
            floor = 0 if row.low is None else min(row.low, 0)
            left = [limit(None if row.low is None else row.value - floor - max(own, 0)) for _, own in row.people]
            assert found.left[i].tolist() == left + [NEVER_SEEN] * (width - len(left)), (seed, row)
            assert found.own[i].tolist()[: len(left)] == [max(own, 0) for _, own in row.people]
            assert bool(found.floored[i]) == (row.low is not None)
            if row.low is not None:
                assert int(found.room[i]) == row.value - floor
            least = min((abs(own) for _, own in row.people), default=None)
            assert int(found.rest[i]) == limit(least)
            open_ = row.people and row.count > len(row.people) and row.low is not None
            assert int(found.general[i]) == (row.value - floor - least if open_ else NEVER_SEEN), (seed, row)
        assert len(set(names.values())) == len(names)
        assert max(names.values(), default=-1) < found.named


def test_the_largest_contributor_and_who_is_sure_that_nobody_is_below_zero():
    for seed in SEEDS:
        ground, rows = drawn(seed)
        found = RowContributors.of(ground, DECIMALS)
        for i, row in enumerate(informed(ground, rows)):
            most = max((abs(own) for _, own in row.people), default=0)
            place = next((k for k, (_, own) in enumerate(row.people) if abs(own) == most), None)
            assert int(found.largest[i]) == (-1 if place is None else int(found.holder[i, place]))
            assert bool(found.certain[i]) == (row.low is not None and row.low >= 0 and not row.negative), (seed, row)


def test_who_fills_a_row_alone():
    """Somebody listed, or somebody without a name: one person in rows that mean the same, in a whole and its parts."""
    for seed in SEEDS:
        ground, rows = drawn(seed)
        found = RowContributors.of(ground, DECIMALS)
        filled = informed(ground, rows)
        same = _joined(ground, filled)
        for i, row in enumerate(filled):
            alone = int(found.sole[i])
            assert (alone >= 0) == (row.count == 1)
            if row.people:
                assert alone == (int(found.holder[i].max()) if row.count == 1 else -1)
                assert int(found.parts.alone[i]) == -1
                continue
            assert int(found.parts.alone[i]) == alone
            for j, other in enumerate(filled[:i]):
                if row.count == other.count == 1 and not other.people:
                    assert alone >= found.named
                    assert (alone == int(found.sole[j])) == (same[i] == same[j]), (seed, row, other)


def _joined(ground: Ground, rows: list[Row]) -> list[int]:
    """For each row the first one of those that the same person without a name fills."""
    relations: dict[int, list[tuple[int, bool]]] = {}
    r = ground.relations
    for number, row, plus in zip(r.relation.tolist(), r.row.tolist(), r.positive.tolist(), strict=True):
        relations.setdefault(number, []).append((row, plus))
    group = list(range(len(rows)))

    def join(some: list[int]) -> None:
        old = {group[i] for i in some}
        group[:] = [min(old) if g in old else g for g in group]

    for cell in set(ground.cells.tolist()):
        join(np.flatnonzero(ground.cells == cell).tolist())
    for members in relations.values():
        sides = [[row for row, plus in members if plus is way] for way in (True, False)]
        wholes = [side[0] for side in sides if len(side) == 1]
        if any(rows[whole].count == 1 for whole in wholes) and all(rows[row].count <= 1 for row, _ in members):
            join([row for row, _ in members if rows[row].count == 1])
    return group


def plain(value: int, variable: str | None) -> Ground:
    """One cell."""
    spec = ds.TableSpec({"row": ROWS}, variable, name="t")
    table = ds.Table(spec, np.array([[0]], np.int32), np.array([value]), 0, np.zeros(1, np.bool_))
    return Ground(TableCustodian(ds.TableSet([table]), (np.zeros(1, np.int8),), (), {}))


@pytest.mark.parametrize("value", [2**61, -(2**61), 2**60, 0])
@pytest.mark.parametrize("decimals", [0, 3, 30])
def test_amounts_beyond_64_bits_stay_exact(value, decimals):
    ground = plain(value, "v")
    assert ground.scaled([ground.tables.tables[0].value], decimals).tolist() == [value * 10**decimals]


def test_units_that_64_bits_do_not_hold():
    """A floor of zero is known in any unit; a person is then more than any cell is seen to move by."""
    known = CommonKnowledge.of(plain(5, None), 30, None)
    assert (known.fall.tolist(), known.rise.tolist()) == ([NEVER_SEEN - 2], [NEVER_SEEN])
    assert known.step.tolist() == [NEVER_SEEN]
    assert CommonKnowledge.of(plain(0, None), 30, None).fall.tolist() == [0]
