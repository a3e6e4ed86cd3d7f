"""Who contributes most to each cell, and by which number the same contributor is known everywhere."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from discreet.engine.identities import identities_of
from discreet.errors import InputError
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Holders, Table
from discreet.verbs.tabulate import tabulate
from tests.engine.brute_force import identity_of

PLACES = Hierarchy.flat(["x", "y"])


@pytest.fixture(params=["memory", "duckdb-csv", "duckdb-parquet"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Tabulates columns with one of the engines."""

    def make(columns: dict[str, Any], **options: Any) -> Table:
        frame = pa.table(columns)
        if request.param == "memory":
            return tabulate(frame, **options)
        kind = request.param.removeprefix("duckdb-")
        file = tmp_path / f"records.{kind}"
        write = pa.csv.write_csv if kind == "csv" else pa.parquet.write_table
        write(frame, file)
        return tabulate(file, engine="duckdb", **options)

    return make


def at(table: Table, **codes: str) -> tuple[int, list[int], list[int]]:
    holders = table.holders
    assert isinstance(holders, Holders)
    row = table.row(**codes)
    return int(holders.count[row]), holders.identity[row].tolist(), holders.amount[row].tolist()


def test_a_contributor_is_summed_over_cells_before_it_is_compared(made):
    columns = {"place": ["x", "y", "x", "y", "y"], "firm": [7, 7, 3, 5, 2], "v": [30, 40, 60, 50, 1]}
    table = made(columns, by={"place": PLACES}, value="v", contributor="firm")
    assert at(table) == (4, [7, 3, 5], [70, 60, 50])
    assert at(table, place="x") == (2, [3, 7, -1], [60, 30, 0])
    assert at(table, place="y") == (3, [5, 7, 2], [50, 40, 1])


def test_the_smaller_number_goes_first_among_equals(made):
    columns = {"place": ["x"] * 5, "firm": [9, 4, 8, 1, 6], "v": [5, 5, 5, 5, 0]}
    table = made(columns, by={"place": PLACES}, value="v", contributor="firm")
    assert at(table) == (5, [1, 4, 8], [5, 5, 5])


def test_who_contributes_nothing_is_named_too(made):
    columns = {"place": ["x", "y"], "firm": [9, 4], "v": [0, 5]}
    table = made(columns, by={"place": PLACES}, value="v", contributor="firm")
    assert at(table) == (2, [4, 9, -1], [5, 0, 0])
    assert at(table, place="x") == (1, [9, -1, -1], [0, 0, 0])


def test_losses_count_by_their_size_and_keep_their_sign(made):
    columns = {"place": ["x"] * 4, "firm": [1, 2, 3, 3], "v": [10, -70, 40, -5]}
    for absolute in (True, False):
        table = made(columns, by={"place": PLACES}, value="v", contributor="firm", absolute=absolute)
        assert at(table) == (3, [2, 3, 1], [-70, 35, 10])


def test_amounts_are_those_of_the_value_with_the_weight_whatever_the_rules_look_at(made):
    columns = {"place": ["x", "x"], "firm": [1, 2], "v": [1.5, 2.0], "tax": [900, 1], "w": [4.5, 1.0]}
    table = made(columns, by={"place": PLACES}, value="v", shadow="tax", contributor="firm", weight="w")
    assert table.decimals == 2
    assert at(table) == (2, [1, 2, -1], [675, 200, 0])
    assert sum(at(table)[2]) == table.value[table.row()]


def test_of_a_count_it_is_the_number_of_records(made):
    columns = {"place": ["x", "x", "y"], "firm": ["b", "a", "b"]}
    table = made(columns, by={"place": PLACES}, contributor="firm")
    assert at(table) == (2, [identity_of("b"), identity_of("a"), -1], [2, 1, 0])


def test_a_difference_subtracts_what_a_contributor_has_there(made):
    trade = Hierarchy.flat(["export", "import"]).with_grouping("balance", ["export"], minus=["import"])
    columns = {"flow": ["export", "import", "import"], "firm": [1, 1, 2], "v": [10, 4, 7]}
    table = made(columns, by={"flow": trade}, value="v", contributor="firm")
    assert at(table, flow="balance") == (2, [2, 1, -1], [-7, 6, 0])


def test_a_record_without_contributor_is_known_by_its_place_in_the_file_whatever_the_filter(made):
    columns = {"place": ["x", "y", "x", "y"], "v": [1, 2, 3, 4], "year": [2023, 2024, 2024, 2024]}
    everything = made(columns, by={"place": PLACES}, value="v")
    assert at(everything) == (4, [3, 2, 1], [4, 3, 2])
    later = made(columns, by={"place": PLACES}, value="v", where=["year == 2024", "v != 3"])
    assert at(later) == (2, [3, 1, -1], [4, 2, 0])


def test_nobody_is_named_where_records_are_only_counted_or_nobody_asks(made):
    columns = {"place": ["x", "y"], "v": [1, 2], "firm": [1, 2]}
    assert made(columns, by={"place": PLACES}).holders is None
    assert made(columns, by={"place": PLACES}, value="v", contributor="firm", holders=False).holders is None


def test_holdings_are_named_although_the_rules_look_at_records(made):
    columns = {"place": ["x", "x", "x"], "v": [1, 2, 2], "firm": [1, 2, 1]}
    table = made(columns, by={"place": PLACES}, value="v", contributor="firm", levels=("record",))
    assert list(table.contributions) == ["record"]
    assert at(table) == (2, [1, 2, -1], [3, 2, 0])


def test_empty_cells_have_nobody(made):
    columns = {"place": ["x"], "firm": [1], "v": [3]}
    table = made(columns, by={"place": PLACES}, value="v", contributor="firm", cells="all")
    assert at(table, place="y") == (0, [-1, -1, -1], [0, 0, 0])


def test_records_of_a_large_csv_file_are_numbered_in_its_order(tmp_path):
    """Large enough for duckdb to read it with several threads."""
    size = 400_000
    value = np.random.default_rng(1).permutation(size)
    frame = pa.table({"place": ["x", "y"] * (size // 2), "v": value, "padding": ["-" * 40] * size})
    for kind, write in (("csv", pa.csv.write_csv), ("parquet", pa.parquet.write_table)):
        write(frame, tmp_path / f"large.{kind}")
        table = tabulate(tmp_path / f"large.{kind}", by={"place": PLACES}, value="v", where="v > 9", engine="duckdb")
        assert at(table)[1] == np.argsort(-value)[:3].tolist()


def test_a_parquet_column_that_hides_the_places_is_refused(tmp_path):
    file = tmp_path / "records.parquet"
    pa.parquet.write_table(pa.table({"place": ["x"], "v": [1], "file_row_number": [5]}), file)
    with pytest.raises(InputError, match=r"has a column 'file_row_number'.*Rename it"):
        tabulate(file, by={"place": PLACES}, value="v", engine="duckdb")
    assert tabulate(file, by={"place": PLACES}, value="v", engine="duckdb", holders=False).value[0] == 1


@pytest.mark.parametrize(
    ("values", "like"),
    [
        (pa.array([3, 0], pa.int8()), [3, 0]),
        (pa.array(["3", "0"]), [3, 0]),
        (pa.array([3.0, 0.0]), [3, 0]),
        (pa.array([Decimal("3.00"), Decimal("0.00")]), [3, 0]),
        (pa.array(["3", "0", "3"]).dictionary_encode(), [3, 0, 3]),
        (pa.array(["03", "a b", "é", "-1", "1e3"]), [identity_of(t) for t in ("03", "a b", "é", "-1", "1e3")]),
        (pa.array([-1, 10**18 - 1, 10**18]), [identity_of("-1"), 10**18 - 1, identity_of(str(10**18))]),
        (pa.array([2**64 - 1], pa.uint64()), [identity_of(str(2**64 - 1))]),
        (pa.array([2.5, 1e-7]), [identity_of("2.5"), identity_of("0.0000001")]),
        (pa.array([Decimal("2.50")]), [identity_of("2.5")]),
        (pa.array([True]), [identity_of("True")]),
        (pa.array([], pa.string()), []),
    ],
)
def test_the_same_code_is_the_same_contributor_however_it_is_written(values, like):
    found = identities_of(values)
    assert found.tolist() == like
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert (found < 2**62).all()
