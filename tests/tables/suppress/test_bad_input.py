"""Inputs at the edge: each goes all the way, or fails with the cells named and what to do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ProtectionError
from tests.tables.test_suppress import square

ONE = ds.Hierarchy.flat(["Total"], total=None)


def no_pattern(table: ds.Table) -> ds.Pattern:
    """A pattern that withholds nothing."""
    return ds.Pattern((table.pattern().tables[0].at(np.zeros(len(table), np.bool_)),), "nothing")


def test_no_unsafe_cell_means_nothing_is_withheld():
    table = ds.examples.small_table().assess(ds.PPercent(1))
    for release in (ds.protect(table, ds.Suppress()), ds.repair(table, no_pattern(table)).release):
        assert release.public.tables[0].shown.all()
        assert "0 unsafe, 0 withheld besides" in release.summary()
        assert "the unsafe cells (0 of 16)" in str(release.verify().require())


def test_all_cells_unsafe_means_nothing_is_published():
    table = ds.examples.small_table().assess(ds.MinContributors(100))
    done = ds.repair(table, no_pattern(table))
    assert not done.release.public.tables[0].shown.any()
    assert "unsafe cells that are published: 16" in done.summary()
    assert "16 cells are withheld besides (16 unsafe, 0 others)" in done.summary()
    assert done.release.verify().holds


@pytest.mark.parametrize("status", ["V", "U"])
def test_one_cell(status):
    cells = pa.table({"region": ["Total"], "value": [5], "status": [status]})
    table = ds.Table.from_cells(cells, by={"region": ONE}).assess()
    done = ds.repair(table, no_pattern(table))
    assert done.release.public.tables[0].status == ["V" if status == "V" else "X"]
    assert done.held == (status == "V")
    assert done.release.verify().holds


def test_one_cell_that_everybody_knows_is_impossible_to_protect():
    cells = pa.table({"region": ["Total"], "value": [5], "status": ["U"], "lower_bound": [5], "upper_bound": [5]})
    table = ds.Table.from_cells(cells, by={"region": ONE}).assess()
    with pytest.raises(ProtectionError, match=r"region=Total \(impossible: .*what everybody knows of it is closer"):
        ds.protect(table, ds.Suppress())


def test_a_table_that_does_not_add_up_is_refused_with_the_relation():
    table = square([10] * 9, 0, (2, 2))
    value = table.value.copy()
    value[table.row(region="r1", trade="t1")] += 1
    message = r"relations do not add up; the worst is '.*' at .* in table .*compute_totals=True.*slack="
    for broken in (lambda t: ds.protect(t, ds.Suppress()), lambda t: ds.repair(t, no_pattern(t))):
        with pytest.raises(InputError, match=message):
            broken(table.with_(value=value))


def test_protection_above_the_value_is_met_upwards_and_as_far_as_it_goes_downwards():
    table = square([5] * 9, 4, (50, 50))
    release = ds.protect(table, ds.Suppress())
    assert release.verify().holds
    audit = release.audit().columns()
    at = audit["unsafe"].index(True)
    assert audit["upper"][at] >= 55
    assert audit["lower"][at] == 0


def test_protection_beyond_what_the_bounds_allow_is_impossible_and_says_so():
    table = square([5] * 9, 4, (5, 50))
    bounded = table.with_(upper_bound=np.where(table.unsafe, table.value + 49, 2**62))
    with pytest.raises(ProtectionError, match=r"region=r1, trade=t1 \(impossible: .*upwards.*merge its category"):
        ds.protect(bounded, ds.Suppress())


@pytest.mark.parametrize(("side", "off"), [("lower_bound", 1), ("upper_bound", -1)])
def test_bounds_that_exclude_the_value_are_refused_with_the_cell(side, off):
    table = square([5] * 9, 4, (1, 1))
    at = table.row(region="r2", trade="t0")
    none = -(2**62) if side == "lower_bound" else 2**62
    bound = np.where(np.arange(len(table)) == at, table.value + off, none)
    with pytest.raises(InputError, match=r"1 cell lies outside the bounds.*'region=r2, trade=t0'.*Correct the bounds"):
        ds.protect(table.with_(**{side: bound}), ds.Suppress())


def test_linked_tables_that_disagree_name_the_shared_cell():
    region, size = ds.Hierarchy.flat(["N", "S"]), ds.Hierarchy.flat(["1", "2"])
    one = pa.table({"region": ["N", "S"], "value": [30, 41]})
    two = pa.table({"region": ["N", "N", "S", "S"], "size": ["1", "2", "1", "2"], "value": [10, 20, 30, 10]})
    options = {"compute_totals": True, "variable": "x"}
    tables = ds.TableSet(
        [
            ds.Table.from_cells(one, by={"region": region}, name="a", **options),
            ds.Table.from_cells(two, by={"region": region, "size": size}, name="b", **options),
        ]
    ).assess(ds.ZeroUnsafe())
    message = r"disagree on cells.*the worst is region=.* of table 'a' \(region=.*, size=Total of table 'b'\)"
    with pytest.raises(InputError, match=message) as caught:
        ds.protect(tables, ds.Suppress())
    assert "41" not in str(caught.value)


def test_linked_tables_with_contradicting_statuses_name_the_shared_cell():
    region, size = ds.Hierarchy.flat(["N", "S"]), ds.Hierarchy.flat(["1", "2"])
    two = pa.table({"region": ["N", "N", "S", "S"], "size": ["1", "2", "1", "2"], "value": [10, 20, 30, 10]})
    one = pa.table({"region": ["N", "S"], "value": [30, 40]})
    options = {"compute_totals": True, "variable": "x"}
    tables = ds.TableSet(
        [
            ds.Table.from_cells(one, by={"region": region}, name="a", **options),
            ds.Table.from_cells(two, by={"region": region, "size": size}, name="b", **options),
        ]
    ).assess(ds.ZeroUnsafe())
    frozen = pa.table(
        {"table": ["a", "b"], "region": ["N", "N"], "size": ["", "Total"], "status": ["forced", "secondary"]}
    )
    pattern = ds.read_pattern(frozen, variables=["region", "size"])
    with pytest.raises(
        InputError, match=r"region=N.* is forced to be published in one place and withheld as secondary"
    ):
        ds.repair(tables, pattern)
