"""Neighbourhoods along the hierarchies of a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.relations import build_system
from discreet.solve.lattice import LARGEST, OTHERS, Lattice

TREE = ds.Hierarchy.from_nested({"A": {"A1": ["a1", "a2"], "A2": ["a3", "a4"]}, "B": ["b1", "b2"]})
PLACE = ds.Hierarchy.from_nested({"N": ["n1", "n2", "n3"], "S": ["s1", "s2"]})


@pytest.fixture
def table():
    random = np.random.default_rng(3)
    base = [(t, p) for t in TREE.base_codes for p in PLACE.base_codes]
    value = random.integers(1, 1_000, len(base))
    cells = pa.table({"tree": [t for t, _ in base], "place": [p for _, p in base], "value": value})
    return ds.Table.from_cells(cells, by={"tree": TREE, "place": PLACE}, value="value", compute_totals=True)


def around(table, level, **codes):
    system = build_system(table)
    lattice = Lattice(system)
    movable = np.ones(len(system), np.bool_)
    target = int(system.of[0][table.row(**codes)])
    found = lattice.around(target, level, system.value.astype(np.float64), movable)
    assert found[0] == target
    assert len(set(found.tolist())) == len(found)
    rows = system.home[found, 1]
    return {table.spec_codes(table.codes[row].tolist()) for row in rows.tolist()}


def test_all_totals_between_the_cell_and_the_others_are_there(table):
    found = around(table, 1, tree="a1", place="n1")
    trees, places = {tree for tree, _ in found}, {place for _, place in found}
    assert found == {(tree, place) for tree in trees for place in places}
    parent = {"a1": "A1", "a2": "A1", "a3": "A2", "a4": "A2", "A1": "A", "A2": "A", "b1": "B", "b2": "B"}
    assert all(parent[tree] in trees for tree in trees if tree in parent)
    assert {"A1", "A", "Total"} <= trees
    assert {"N", "Total"} <= places


def test_the_cheapest_cells_that_reach_the_level_are_taken(table):
    line = {t: int(table.value[table.row(tree=t, place="n1")]) for t in TREE.base_codes if t != "a1"}
    level = sorted(line.values())[2]
    enough = {t for t, value in line.items() if value >= level}
    trees = {tree for tree, place in around(table, level, tree="a1", place="n1") if tree in TREE.base_codes}
    assert trees == enough | {"a1"}


def test_where_no_cell_reaches_the_level_the_largest_are_taken(table):
    trees = {tree for tree, _ in around(table, 10**9, tree="a1", place="n1")}
    assert set(TREE.base_codes) <= trees
    assert len(TREE.base_codes) <= OTHERS[2]


def test_a_total_comes_with_its_largest_parts(table):
    found = around(table, 1, tree="A", place="n1")
    assert sum(tree in ("a1", "a2", "a3", "a4") for tree, place in found if place == "n1") >= 3


def test_cells_that_cannot_move_are_left_out_and_others_stay(table):
    system = build_system(table)
    movable = np.ones(len(system), np.bool_)
    fixed = int(system.of[0][table.row(tree="A1", place="n1")])
    movable[fixed] = False
    target = int(system.of[0][table.row(tree="a1", place="n1")])
    found = Lattice(system).around(target, 1, system.value.astype(np.float64), movable)
    assert fixed not in found
    assert len(found) > 10


def test_a_cell_that_has_several_rows_is_there_once():
    tree = ds.Hierarchy.from_nested({"A": ["a1"], "B": {"B1": ["b1"]}, "C": ["c1", "c2"]})
    cells = pa.table({"tree": ["a1", "b1", "c1", "c2"] * 2, "place": ["n1"] * 4 + ["n2"] * 4, "value": range(10, 18)})
    table = ds.Table.from_cells(cells, by={"tree": tree, "place": PLACE}, value="value", compute_totals=True)
    around(table, 1, tree="a1", place="n1")


def test_too_many_combinations_are_none():
    flat = ds.Hierarchy.flat([f"c{i}" for i in range(3)])
    by = {f"v{k}": flat for k in range(8)}
    cells = pa.table({**{name: ["c0", "c1", "c2"] for name in by}, "value": [5, 6, 7]})
    table = ds.Table.from_cells(cells, by=by, value="value", compute_totals=True)
    system = build_system(table)
    movable, weight = np.ones(len(system), np.bool_), system.value.astype(np.float64)
    found = Lattice(system).around(0, 1, weight, movable)
    assert len(found) <= LARGEST
