"""Sums of withheld cells: which are known, and who stands behind each, worked out by hand and in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

import discreet as ds
from discreet.model.custodian import TableCustodian
from discreet.model.table import NOBODY, CellStatus, Contributions, Holders
from discreet.verify.joint import _added_up, _known
from discreet.verify.known import Ground

FLAT = ds.Hierarchy.flat("abcde")
OVERLAP = FLAT.with_grouping("ab", "ab").with_grouping("abc", "abc").with_grouping("abe", "abe")
OVERLAP = OVERLAP.with_grouping("all", ["abc", "abe"], minus=["ab"])
"""A sum of two that overlap, less what they have in common."""


def sums(tree: ds.Hierarchy, unsafe: str, secondary: str = "") -> set[str]:
    """Sums that are known where some cells of a table by one variable are withheld."""
    size = len(tree.codes)
    spec = ds.TableSpec({"area": tree}, "v", name="t")
    codes = np.arange(size, dtype=np.int32)[:, None]
    table = ds.Table(spec, codes, np.ones(size, np.int64), 0, np.zeros(size, np.bool_))
    status = np.full(size, CellStatus.SAFE, np.int8)
    for names, kind in ((unsafe, CellStatus.UNSAFE), (secondary, CellStatus.SECONDARY)):
        status[[tree.index[code] for code in names.split()]] = kind
    ground = Ground(TableCustodian(ds.TableSet([table]), (status,), (), {}))
    return {" ".join(sorted(tree.codes[row] for row in rows)) for rows in _known(ground, 0)}


def test_a_sum_in_which_a_cell_counts_twice_is_no_sum_of_cells():
    """Two sums are known together; in their parts, a and b would stand twice."""
    assert sums(OVERLAP, "Total abc abe a b c d e") == {"abc abe", "a b"}


def test_a_part_that_is_subtracted_is_no_total():
    """All but e is shown: e is the total less that, and the total is e and others, and so on without an end."""
    tree = FLAT.with_grouping("but e", ["Total"], minus=["e"]).with_grouping("de", "de")
    assert sums(tree, "Total d e") == {"d e"}


def test_sums_of_cells_of_which_none_is_unsafe_are_not_judged():
    assert sums(FLAT, "", "a b") == set()
    assert sums(FLAT, "a", "b") == {"a b"}


# ---- who stands behind a sum ------------------------------------------------------------------------------------

WIDTH = 3
ROWS = 6


def made(rng: np.random.Generator) -> ds.Table:
    """Cells with whatever contributors; some list fewer than they have, and some nobody."""
    listed = rng.integers(0, WIDTH, ROWS)
    identity, amount = np.full((ROWS, WIDTH), NOBODY, np.int64), np.zeros((ROWS, WIDTH), np.int64)
    for row, many in enumerate(listed.tolist()):
        identity[row, :many] = rng.choice(5, many, replace=False)
        amount[row, :many] = np.sort(rng.integers(-4, 40, many))[::-1]
    top = np.sort(rng.integers(0, 40, (ROWS, 2)), axis=1)[:, ::-1]
    level = {
        name: Contributions(
            rng.integers(0, 6, ROWS),
            rng.integers(0, 99, ROWS),
            top,
            rng.random(ROWS) < 0.3,
            nonzero=rng.integers(0, 5, ROWS) if rng.random() < 0.7 else None,
        )
        for name in ("holding", "record")
    }
    spec = ds.TableSpec({"area": ds.Hierarchy.flat([f"r{i}" for i in range(ROWS - 1)])}, "v", name="t")
    decimals = int(rng.integers(0, 3))
    return ds.Table(
        spec,
        np.arange(ROWS, dtype=np.int32)[:, None],
        rng.integers(-3, 60, ROWS),
        decimals,
        np.zeros(ROWS, np.bool_),
        shadow_decimals=decimals + int(rng.integers(0, 2)),
        contributions=level,
        holders=Holders(rng.integers(0, 5, ROWS), identity, amount),
        records=rng.integers(0, 9, ROWS),
    )


def people(table: ds.Table, row: int) -> dict[int, int]:
    held = zip(table.holders.identity[row].tolist(), table.holders.amount[row].tolist(), strict=True)
    return {who: own for who, own in held if who != NOBODY}


def not_listed(table: ds.Table, row: int) -> int:
    """The most that somebody has who is not listed in a row: no more than the last who is, or else the whole."""
    found = people(table, row)
    if int(table.holders.count[row]) <= len(found):
        return 0
    return min(found.values()) if found else int(table.value[row])


def behind(table: ds.Table, rows: Sequence[int], width: int) -> tuple[int, list[int]]:
    """How many contributors a sum has at least, and the most that the largest can have of it, in finer units."""
    lists = [people(table, row) for row in rows]
    rest = [not_listed(table, row) for row in rows]
    known = {who for found in lists for who in found}
    most = [sum(found.get(who, more) for found, more in zip(lists, rest, strict=True)) for who in known]
    left, shares = sum(int(table.value[row]) for row in rows), []
    for amount in sorted([*most, *[sum(rest)] * width], reverse=True)[:width]:
        share = min(max(amount, 0), left)
        shares.append(share * 10 ** (table.shadow_decimals - table.decimals))
        left -= share
    return max([len(known), *(int(table.holders.count[row]) for row in rows)]), shares


def with_something(table: ds.Table, rows: Sequence[int]) -> int:
    has: Counter[int] = Counter()
    for row in rows:
        has.update(people(table, row))
    return sum(1 for own in has.values() if own)


@pytest.mark.parametrize("seed", range(60))
def test_sums_as_the_rules_see_them(seed):
    rng = np.random.default_rng(seed)
    table = made(rng)
    groups = [tuple(sorted(rng.choice(ROWS, size, replace=False).tolist())) for size in (2, 2, 3, 4)]
    found = _added_up(table, groups)
    assert found.value.tolist() == [sum(table.value[list(g)].tolist()) for g in groups]
    assert found.records.tolist() == [sum(table.records[list(g)].tolist()) for g in groups]
    assert found.holders is None
    for name, level in table.contributions.items():
        judged = found.contributions[name]
        for i, group in enumerate(map(list, groups)):
            assert int(judged.total[i]) == int(level.total[group].sum())
            assert bool(judged.negative[i]) == any(level.negative[group].tolist())
            if name == "record":
                count, top = int(level.count[group].sum()), sorted(level.top[group].ravel().tolist(), reverse=True)[:2]
                some = 0 if level.nonzero is None else int(level.nonzero[group].sum())
            else:
                count, top = behind(table, group, 2)
                more = [] if level.nonzero is None else level.nonzero[group].tolist()
                some = max([with_something(table, group), *more])
            assert (int(judged.count[i]), judged.top[i].tolist()) == (count, top)
            assert judged.nonzero is None if level.nonzero is None else int(judged.nonzero[i]) == some


def test_contributions_in_coarser_units_than_the_values():
    """Where contributions have fewer decimals than values, shares of a sum are in units of the value."""
    table = made(np.random.default_rng(3)).with_(decimals=2, shadow_decimals=0)
    level = _added_up(table, [(0, 1)]).contributions["holding"]
    assert level.top.tolist() == [behind(table.with_(shadow_decimals=2), (0, 1), 2)[1]]
