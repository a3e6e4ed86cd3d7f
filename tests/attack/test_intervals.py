"""The attacker's intervals are what a linear program over the whole table says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import discreet as ds
from discreet.attack import attack_intervals
from discreet.relations import build_system


def pattern(values: list[int], letters: str) -> ds.Table:
    region = ds.Hierarchy.flat([f"r{i}" for i in range(3)])
    trade = ds.Hierarchy.flat([f"t{i}" for i in range(3)])
    rows = [(r, t) for r in region.base_codes for t in trade.base_codes]
    cells = {"region": [r for r, _ in rows], "trade": [t for _, t in rows], "value": values, "status": list(letters)}
    return ds.Table.from_cells(pa.table(cells), by={"region": region, "trade": trade}, compute_totals=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=9, max_size=9), st.text("VM", min_size=9, max_size=9))
def test_intervals_agree_with_an_independent_solver(values, letters):
    table = pattern(values, letters)
    system = build_system(table)
    withheld = (table.status == 3) & ~table.empty
    found = attack_intervals(system, withheld)
    dense = system.matrix.toarray()
    bounds = [(0, None) if w else (v, v) for v, w in zip(system.value, withheld, strict=True)]
    for cell, low, high in zip(found.cells, found.lower, found.upper, strict=True):
        cost = np.zeros(len(system))
        cost[cell] = 1
        least = linprog(cost, A_eq=dense, b_eq=np.zeros(len(dense)), bounds=bounds)
        most = linprog(-cost, A_eq=dense, b_eq=np.zeros(len(dense)), bounds=bounds)
        assert low == pytest.approx(least.fun, abs=1e-6)
        assert high == (np.inf if most.status == 3 else pytest.approx(-most.fun, abs=1e-6))


def test_a_lone_withheld_cell_is_recoverable():
    audit = ds.audit(pattern([5, 6, 7, 8, 9, 10, 11, 12, 13], "MVVVVVVVV"))
    assert audit.recoverable == 1
    assert audit.columns()["verdict"] == ["recoverable"]
    assert audit.columns()["lower"] == [5.0]


def test_a_square_of_withheld_cells_hides_within_its_smallest():
    audit = ds.audit(pattern([5, 6, 7, 8, 9, 10, 11, 12, 13], "MMVMMVVVV"))
    assert audit.recoverable == 0
    assert audit.columns()["lower"] == pytest.approx([0, 0, 2, 4])
    assert audit.columns()["upper"] == pytest.approx([11, 11, 13, 15])


def test_an_unsafe_cell_short_of_its_level_is_named():
    table = pattern([50, 1, 70, 1, 90, 10, 11, 12, 13], "UMVMMVVVV").assess(manual_range=20)
    audit = ds.audit(table)
    assert audit.short == 1
    assert audit.columns()["verdict"][0] == "short"
    assert "short of their level: 1" in audit.summary()


def test_the_audit_of_a_pattern_equals_that_of_the_release_it_came_from():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    columns = release.audit().columns()
    assert columns["verdict"] == ["kept"] * 4
    assert columns["required_upper"][1] == 208


def test_a_cell_published_in_one_table_is_known_in_the_other():
    """The same region totals, withheld in one table and published in the other."""
    region = ds.Hierarchy.flat(["N", "S"])
    size = ds.Hierarchy.flat(["small", "big"])
    one = pa.table({"region": ["Total", "N", "S"], "value": [10, 4, 6], "status": ["V", "M", "M"]})
    frame = pa.table({"region": ["N", "N", "S", "S"], "size": ["small", "big"] * 2, "value": [1, 3, 2, 4]})
    first = ds.Table.from_cells(one, by={"region": region}, name="first")
    second = ds.Table.from_cells(frame, by={"region": region, "size": size}, compute_totals=True, name="second")
    assert len(ds.audit(first).intervals.cells) == 2
    assert len(ds.audit(ds.TableSet([first, second])).intervals.cells) == 0


def test_only_releases_and_tables_can_be_audited():
    with pytest.raises(ds.DiscreetError, match="Cannot audit a list"):
        ds.audit([1, 2])
