"""Which sums of withheld cells are known, and what is known of who stands behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.table import Contributions
from discreet.relations import System, build_system
from discreet.solve.small import Alternative
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.joint import Sum, _at_most, _known_sums, _moves, _programs, table_of_sums, unsafe_sums

TREE = ds.Hierarchy.from_parents({"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "a": "T", "b": "T"})
FLAT = ds.Hierarchy.flat(["x", "y", "z"], total="all")
RECORD = ("act", "reg", "h", "v")


def tabulated(rows: Iterable[tuple[str, str, str, int]], **by: ds.Hierarchy) -> ds.Table:
    data = pa.table(dict(zip(RECORD, map(list, zip(*rows, strict=True)), strict=True)))
    return ds.tabulate(ds.Microdata(data, contributor="h"), by=by, value="v")


def every_cell(**by: ds.Hierarchy) -> ds.Table:
    """One record in every cell, each of a holding of its own."""
    acts = by["act"].base_codes if "act" in by else ["a1"]
    regs = by["reg"].base_codes if "reg" in by else ["x"]
    return tabulated([(a, r, a + r, 10) for a in acts for r in regs], **by)


def known(table: ds.Table, withheld: str, unsafe: str, system: System | None = None) -> set[frozenset[str]]:
    """Known sums where some cells are withheld, each written as its codes with a slash between."""
    names = ["/".join(table.spec_codes(codes)) for codes in table.codes.tolist()]
    system = build_system(table) if system is None else system
    cells = dict(zip(names, system.of[0].tolist(), strict=True))
    hidden, bad = (np.zeros(len(system), np.bool_) for _ in range(2))
    hidden[[cells[name] for name in withheld.split()]] = True
    bad[[cells[name] for name in unsafe.split()]] = True
    found = _known_sums(replace(system, unsafe=bad), hidden)
    name_of = {cell: name for name, cell in reversed(cells.items())}
    return {frozenset(name_of[cell] for cell in sum_) for _, sum_ in found}


def sums(*given: str) -> set[frozenset[str]]:
    return {frozenset(one.split()) for one in given}


@pytest.mark.parametrize(
    ("withheld", "unsafe", "expected"),
    [
        ("a1 a2", "a1", ["a1 a2"]),
        ("a1 a2", "", []),  # nothing of it is a secret
        ("a1 a2", "a1 a2", ["a1 a2"]),
        ("a1", "a1", []),  # the cell itself, not a sum
        ("a1 a2 b1 b2", "b2", ["b1 b2"]),
        ("a a1 b b1", "a1", ["a1 b1"]),
        ("a b a1 b1", "a", ["a b"]),  # as the relation says it, whether or not it can be resolved
        ("a a1 a2 b", "a1", ["a1 a2"]),  # b is known from its parts, therefore a is, therefore a1 + a2
    ],
)
def test_sums_of_one_variable(withheld, unsafe, expected):
    assert known(every_cell(act=TREE), withheld, unsafe) == sums(*expected)


def test_a_total_that_its_parts_tell_tells_its_parts_in_the_other_variable():
    by = {"act": TREE, "reg": FLAT}
    assert known(every_cell(**by), "a/all a/x a/y", "a/x") >= sums("a/x a/y")


def test_totals_are_resolved_in_one_variable_although_they_vanish_in_all():
    """All that is withheld is known from its regions; as a sum of activities it has to be judged all the same."""
    withheld = "a/all b/all a1/all a2/all b1/all b2/all"
    found = known(every_cell(act=TREE, reg=FLAT), withheld, withheld)
    inner = "a1/all a2/all b1/all b2/all"
    assert found == sums("a/all b/all", inner, inner[:13], inner[14:])


def test_totals_are_resolved_in_all_variables_one_after_the_other():
    acts, regs = ("a", "b", "a1", "a2", "b1", "b2"), ("all", "x", "y")
    withheld = " ".join(f"{act}/{reg}" for act in acts for reg in regs)
    found = known(every_cell(act=TREE, reg=FLAT), withheld, "a1/x")
    assert sums(" ".join(f"{act}/{reg}" for act in ("a1", "a2", "b1", "b2") for reg in ("x", "y"))) <= found


def test_a_total_of_one_part_alone_is_the_same_cell():
    tree = ds.Hierarchy.from_parents({"a1": "a", "b1": "b", "b2": "b", "a": "T", "b": "T"})
    assert known(every_cell(act=tree), "a a1 b b1", "b1") == sums("a b1")


def test_a_difference_is_no_total():
    """From 'net = A - B' nobody learns that B is made up of A."""
    codes = ds.Hierarchy.flat(["A", "B", "C"]).with_grouping("net", ["A"], minus=["B"]).with_grouping("BC", ["B", "C"])
    table = tabulated([("A", "x", "p", 30), ("B", "x", "q", 20), ("C", "x", "r", 5)], act=codes)
    assert known(table, "A B C", "A B C") == sums("A B C", "B C")


def test_relations_of_tables_that_are_not_published_now_are_left_out():
    table = every_cell(act=TREE)
    other = every_cell(reg=FLAT).with_(spec=every_cell(reg=FLAT).spec.with_(name="other", value="w"))
    both = ds.TableSet([table, other])
    assert known(table, "a1 a2", "a1", replace(build_system(both), present=1)) == sums("a1 a2")
    turned = build_system(ds.TableSet([other, table]))
    hidden = np.zeros(len(turned), np.bool_)
    hidden[turned.of[1][[table.row(act="a1"), table.row(act="a2")]]] = True
    assert list(_known_sums(replace(turned, unsafe=hidden, present=1), hidden)) == []
    assert {number for number, _ in _known_sums(replace(turned, unsafe=hidden), hidden)} == {1}


def test_equations_between_variables_give_no_sums_of_one_table():
    parts = [every_cell(act=TREE).with_(spec=every_cell(act=TREE).spec.with_(name=n, value=n)) for n in ("h", "e")]
    total = parts[0].with_(spec=parts[0].spec.with_(name="t", value="t"), value=parts[0].value * 2)
    system = build_system(ds.TableSet([total, *parts], equations=["t = h + e"]))
    hidden = np.zeros(len(system), np.bool_)
    hidden[[system.of[1][0], system.of[2][0]]] = True
    assert list(_known_sums(replace(system, unsafe=hidden), hidden)) == []


# ---- who stands behind a sum --------------------------------------------------------------------------------


def together(*cells: dict[str, int], nonzero: bool = True) -> Contributions:
    """What is known of the contributors of a sum of cells, each given by what everybody has in it."""
    rows = [(f"a{i}", "x", who, has) for i, cell in enumerate(cells) for who, has in cell.items()]
    codes = ds.Hierarchy.flat([f"a{i}" for i in range(len(cells))])
    table = tabulated(rows, act=codes)
    if not nonzero:
        held = table.contributions["holding"]
        table = table.with_(contributions={"holding": replace(held, nonzero=None)})
    summed = table_of_sums(table, [np.array([table.row(act=f"a{i}") for i in range(len(cells))])])
    return summed.contributions["holding"]


def test_who_is_in_several_cells_counts_with_all():
    found = together({"s": 50, "t": 20, "u": 10}, {"s": 40, "v": 30, "w": 5})
    assert found.top.tolist() == [[90, 30, 20]]
    assert (found.count.tolist(), found.total.tolist()) == ([5], [155])
    assert found.nonzero is not None
    assert found.nonzero.tolist() == [5]


def test_whoever_is_not_listed_may_have_as_much_as_the_last_who_is():
    """In the first cell a fourth may have 10, and may be anybody of the other."""
    found = together({"s": 50, "t": 20, "u": 10, "x": 1}, {"v": 30, "w": 5})
    assert found.top.tolist() == [[50, 40, 20]]
    assert found.count.tolist() == [5]


def test_many_contributors_of_one_cell_are_contributors_of_the_sum():
    many = {f"p{i}": 1 + (i < 3) for i in range(8)}
    found = together(many, {"p0": 3})
    assert found.count.tolist() == [8]
    assert found.nonzero is not None
    assert found.nonzero.tolist() == [8]


def test_zeros_are_no_values_and_negative_amounts_are():
    found = together({"s": 0, "t": 4, "u": -3}, {"v": 0, "w": 6})
    assert found.nonzero is not None
    assert (found.count.tolist(), found.nonzero.tolist(), found.negative.tolist()) == ([5], [3], [True])
    assert together({"s": 1}, {"t": 2}).negative.tolist() == [False]


def test_what_a_table_does_not_say_is_not_said_of_its_sums():
    assert together({"s": 1}, {"t": 2}, nonzero=False).nonzero is None


@pytest.mark.parametrize(
    ("top", "total", "expected"),
    [([60, 50, 40], 100, [60, 40, 0]), ([3, 2], 10, [3, 2]), ([5, -2], 4, [4, 0]), ([-5, -6], 4, [0, 0])],
)
def test_all_together_have_no_more_than_the_whole(top, total, expected):
    assert _at_most(top, total).tolist() == expected


def test_sums_that_need_most_come_first():
    rows = [("a1", "x", "s", 50), ("a2", "x", "s", 10), ("b1", "x", "t", 500), ("b2", "x", "t", 400)]
    others = [("a3", "x", who, 300) for who in "klmn"]
    table = tabulated([*rows, *others], act=TREE).assess(ds.PPercent(10))
    system = build_system(table)
    hidden = np.zeros(len(system), np.bool_)
    hidden[system.of[0][[table.row(act=code) for code in ("a1", "a2", "b1", "b2")]]] = True
    first, second = unsafe_sums(system, hidden)
    assert (first.up, second.up) == (90, 6)
    assert (first.down, second.down) == (90, 6)


# ---- how they are protected ---------------------------------------------------------------------------------


class Programs:
    """Finds an alternative in some directions only."""

    def __init__(self, *directions: int) -> None:
        self.directions = directions
        self.asked: list[tuple[int, int]] = []
        self.hidden: list[list[int]] = []

    def find(self, target: int, direction: int, level: int) -> Alternative | None:
        self.asked.append((direction, level))
        if direction not in self.directions:
            return None
        return Alternative(np.array([direction + 1, 7], np.int32), np.array([1, -1]), 1, 0.0)

    def withhold(self, cells: np.ndarray) -> None:
        self.hidden.append(cells.tolist())


@pytest.mark.parametrize(
    ("directions", "down", "up", "moves", "asked"),
    [
        ((1, -1), 3, 5, True, [(1, 5), (-1, 3)]),
        ((1,), 3, 5, False, [(1, 5), (-1, 3)]),
        ((-1,), 3, 5, False, [(1, 5)]),
        ((1,), 0, 5, True, [(1, 5)]),
        ((-1,), 3, 0, True, [(-1, 3)]),
    ],
)
def test_a_sum_must_move_each_way_by_its_level(directions, down, up, moves, asked):
    programs: Any = Programs(*directions)
    assert _moves(programs, 9, Sum(0, (0, 1), down, up)) is moves
    assert programs.asked == asked
    assert programs.hidden == [[direction + 1, 7] for direction, _ in asked if direction in directions]


def test_what_is_withheld_may_move_and_what_is_forced_may_not():
    table = every_cell(act=TREE).marked({("a1",): "U", ("a3",): "P", ("b1",): "P"}).assess()
    system = build_system(table)
    attackers = Attackers(system, None, None, np.zeros(len(system), np.bool_))
    cell = {code: int(system.of[0][table.row(act=code)]) for code in TREE.codes}
    hidden = np.zeros(len(system), np.bool_)
    hidden[[cell["a1"], cell["a2"], cell["b1"]]] = True
    pair = Sum(0, (cell["a1"], cell["a2"]), 1, 1)
    programs = _programs(system, np.ones(len(system)), attackers, hidden, [pair])
    assert programs.movable[[cell["a2"], cell["a"], cell["b1"], len(system)]].all()
    assert not programs.movable[cell["a3"]]
    assert programs.value[-1] == 20
