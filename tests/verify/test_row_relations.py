"""The checker's own relations: which sums there are, what they are called, and how far they may be off."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import discreet as ds
from discreet.verify.relations import Meaning, RowRelations

AREA = ds.Hierarchy.flat(["n", "s", "w"])
KIND = ds.Hierarchy.flat(["x", "y"]).with_grouping("x less y", ["x"], minus=["y"])


def table(name: str, value: str | None, by: dict[str, ds.Hierarchy], slack: int | None = None, decimals: int = 0):
    """A table of ones, all cells there."""
    shape = [len(h) for h in by.values()]
    codes = np.array(list(np.ndindex(*shape)), np.int32)
    size = len(codes)
    spec = ds.TableSpec(by, value, name=name)
    return ds.Table(spec, codes, np.ones(size, np.int64), decimals, np.zeros(size, np.bool_), slack=slack)


def relations(*tables: ds.Table, equations: tuple[str, ...] = ()) -> RowRelations:
    together = ds.TableSet(tables, equations)
    return RowRelations(together, Meaning(together))


BOTH = {"area": AREA, "kind": KIND}
SET = (
    table("v", "v", BOTH),
    table("u", "u", BOTH, slack=2, decimals=1),
    table("w", "w", {"area": AREA}, slack=-1),
    table("t", "t", BOTH),
    table("count", None, {"area": AREA}),
)
EQUATIONS = ("v = u + t", "t = v - u")


def entries(found: RowRelations) -> dict[int, list[tuple[int, bool]]]:
    """Rows and signs of every relation."""
    result = defaultdict(list)
    for number, row, plus in zip(found.relation.tolist(), found.row.tolist(), found.positive.tolist(), strict=True):
        result[number].append((row, plus))
    return {number: sorted(members) for number, members in result.items()}


def by_hand(tables: tuple[ds.Table, ...]) -> list[tuple[tuple[str, str, int], list[tuple[int, bool]], int]]:
    """Every sum of every table: its name, its rows with their signs, and how far it may be off in the finest unit."""
    found, first, finest = [], 0, max(t.decimals for t in tables)
    for one in tables:
        lines = [one.spec_codes(codes) for codes in one.codes.tolist()]
        for k, (variable, hierarchy) in enumerate(one.spec.by.items()):
            for number, grouping in enumerate(hierarchy.groupings):
                signs = {grouping.parent: False} | {code: sign > 0 for code, sign in grouping.parts}
                for rest in sorted({line[:k] + line[k + 1 :] for line in lines}):
                    members = [
                        (first + row, signs[line[k]])
                        for row, line in enumerate(lines)
                        if line[:k] + line[k + 1 :] == rest and line[k] in signs
                    ]
                    unit, slack = 10 ** (finest - one.decimals), one.slack or 0
                    off = (len(members) + 1) // 2 if slack < 0 else slack
                    found.append(((one.name, variable, number), sorted(members), off * unit))
        first += len(one)
    return found


def test_every_sum_of_every_table_with_its_name_and_what_it_may_be_off():
    found = relations(*SET)
    wanted = by_hand(SET)
    members = entries(found)
    assert sorted(members.values()) == sorted(rows for _, rows, _ in wanted)
    assert len(found) == len(wanted)
    assert found.table_sum.all()
    for number, rows in members.items():
        name, off = next((name, off) for name, same, off in wanted if same == rows)
        assert int(found.allowed[number]) == off
        called = [(t.name, v, n) for t in SET for v in BOTH for n in range(3) if found.is_named(number, t.name, v, n)]
        assert called == [name]
        signed = any(sign < 0 for _, sign in SET[0].spec.by[name[1]].groupings[name[2]].parts)
        slack = next(t.slack for t in SET if t.name == name[0])
        assert bool(found.exactly_added[number]) == (slack is None and not signed)


def test_equations_between_variables():
    """At every cell of the three tables, with the total taken away, and by their number without a variable."""
    found = relations(*SET, equations=EQUATIONS)
    sums = len(by_hand(SET))
    members = entries(found)
    v, u, t = (int(found.first[i]) for i in (0, 1, 3))
    first = [sorted([(v + i, False), (u + i, True), (t + i, True)]) for i in range(len(SET[0]))]
    second = [sorted([(v + i, True), (u + i, False), (t + i, False)]) for i in range(len(SET[0]))]
    assert sorted(members[i] for i in range(sums, len(found))) == sorted([*first, *second])
    assert not found.table_sum[sums:].any()
    assert found.table_sum[:sums].all()
    assert not found.exactly_added[sums:].any()
    for i in range(sums, len(found)):
        assert found.equation(i) == EQUATIONS[i >= sums + len(first)]
        called = [
            (name, variable, number)
            for name in ("", "v", "u")
            for variable in ("", "area")
            for number in range(-1, 3)
            if found.is_named(i, name, variable, number)
        ]
        assert called == [(name, "", int(i >= sums + len(first))) for name in ("", "v", "u")]


def test_equations_hold_where_the_total_stands_whatever_names_come_first():
    """The total's name is neither the first nor the last, and a count stands beside it."""
    parts = [table(name, name, {"area": AREA}) for name in ("a", "z")]
    whole, count = table("m", "m", {"area": AREA}), table("count", None, {"area": AREA})
    found = relations(parts[0], whole, count, parts[1], equations=("m = a + z",))
    size = len(whole)
    wanted = [sorted([(i, True), (size + i, False), (3 * size + i, True)]) for i in range(size)]
    members = entries(found)
    assert sorted(members[i] for i in range(4, len(found))) == wanted


def test_a_variable_without_a_total_of_which_another_table_knows_nothing():
    """What the other table sums over is unknown, so that none of its cells is one of the first table."""
    tables = ds.TableSet(
        [
            table("fine", "v", {"area": AREA, "kind": ds.Hierarchy.flat(["x", "y"], total=None)}),
            table("coarse", "v", {"area": AREA}),
        ]
    )
    cells = Meaning(tables).cells
    assert len(set(cells.tolist())) == len(cells) == 12


# ---- sums beyond 64 bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("part", [2**62, 2**61, 2**60])
def test_sums_beyond_64_bits_do_not_wrap_around(sign, part):
    """Four parts of 2 ** 62 are 2 ** 64, which 64 bits take for nothing."""
    tree = ds.Hierarchy.flat(["a", "b", "c", "d"])
    found = relations(table("t", "v", {"area": tree}))
    parts = [sign * part] * 4
    assert found.broken(np.array([0, *parts])) == [0]
    assert found.broken(np.array([sum(parts), *parts], object)) == []
    assert found.broken(np.array([sum(parts) + 1, *parts], object)) == [0]


def test_sums_are_off_by_no_more_than_is_stated():
    tree = ds.Hierarchy.flat(["a", "b"])
    for slack, most in ((None, 0), (3, 3), (-1, 2)):
        found = relations(table("t", "v", {"area": tree}, slack=slack))
        for off in range(-5, 6):
            assert found.broken(np.array([20 + off, 10, 10])) == ([] if abs(off) <= most else [0])
