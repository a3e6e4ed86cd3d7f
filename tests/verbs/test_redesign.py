"""Merged codes: contributors are counted anew, or not claimed to be known."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, NeedsError, ParameterError


def ten_leaves() -> ds.Table:
    """Ten leaves of 94, 3 and 3; one holding is the largest in all of them."""
    rows = [(f"L{i}", who, x) for i in range(10) for who, x in (("H", 94), (f"a{i}", 3), (f"b{i}", 3))]
    frame = pa.table({"leaf": [r[0] for r in rows], "holding": [r[1] for r in rows], "x": [r[2] for r in rows]})
    by = {"leaf": ds.Hierarchy.flat([f"L{i}" for i in range(10)])}
    return ds.tabulate(frame, by=by, value="x", contributor="holding")


def test_merging_all_leaves_gives_the_holding_its_full_weight():
    merged = ten_leaves().recode("leaf", {f"L{i}": "all" for i in range(10)})
    row = merged.row(leaf="all")
    assert merged.contributions["holding"].count[row] == 21
    assert merged.contributions["holding"].top[row].tolist() == [940, 3, 3]
    assert merged.assess(ds.PPercent(10)).unsafe[row]


def test_merging_equals_tabulating_the_recoded_records():
    merged = ten_leaves().recode("leaf", {"L0": "low", "L1": "low", "L2": "low"})
    again = merged.recode("leaf", {"low": "lower", "L3": "lower"})
    assert again.value[again.row(leaf="lower")] == 400
    assert again.contributions["holding"].top[again.row(leaf="lower")].tolist() == [376, 3, 3]
    assert "low" not in again.spec.by["leaf"].codes


def ready_made() -> ds.Table:
    cells = pa.table(
        {
            "region": ["Total", "N", "S", "W"],
            "value": [100, 60, 30, 10],
            "contributors": [40, 20, 15, 5],
            "top1": [20, 15, 8, 4],
            "top2": [12, 10, 6, 3],
        }
    )
    return ds.Table.from_cells(cells, by={"region": ds.Hierarchy.flat(["N", "S", "W"])})


def test_a_ready_made_table_refuses_to_recompute_rules_and_says_why():
    merged = ready_made().recode("region", {"S": "SW", "W": "SW"})
    assert merged.values.tolist() == [100, 60, 40]
    with pytest.raises(NeedsError, match=r"min_contributors.*region was recoded: contributors of merged cells"):
        merged.assess(ds.MinContributors(3))


def test_codes_of_different_parents_need_a_hierarchy():
    region = ds.Hierarchy.from_nested({"N": ["N1", "N2"], "S": ["S1"]})
    frame = pa.table({"region": ["N1", "N2", "S1"], "x": [1, 2, 3]})
    table = ds.tabulate(frame, by={"region": region}, value="x")
    with pytest.raises(InputError, match=r"'mid' would stand under 2 parents: N, S.*hierarchy="):
        table.recode("region", {"N2": "mid", "S1": "mid"})
    new = ds.Hierarchy.flat(["N1", "mid"])
    assert table.recode("region", {"N2": "mid", "S1": "mid"}, new).values.tolist() == [6, 1, 5]


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match=r"no variable 'regionn'.*mean 'region'"):
        ready_made().recode("regionn", {})
    with pytest.raises(InputError, match=r"no base code 'X'"):
        ready_made().recode("region", {"X": "Y"})


def test_merging_names_the_largest_contributors_anew():
    table = ten_leaves()
    merged = table.recode("leaf", {"L0": "low", "L1": "low"})
    row = merged.row(leaf="low")
    assert merged.holders.count[row] == 5
    assert merged.holders.amount[row].tolist() == [188, 3, 3]
    assert merged.holders.identity[row, 0] == table.holders.identity[table.row(), 0]


def test_a_ready_made_table_does_not_know_any_more_who_contributes():
    cells = pa.table(
        {
            "region": ["Total", "N", "S", "W"],
            "value": [100, 60, 30, 10],
            "contributors": [3, 1, 1, 1],
            "holder1": ["a", "a", "b", "c"],
            "own1": [60, 60, 30, 10],
        }
    )
    table = ds.Table.from_cells(cells, by={"region": ds.Hierarchy.flat(["N", "S", "W"])})
    assert table.holders is not None
    assert table.recode("region", {"S": "SW", "W": "SW"}).holders is None
