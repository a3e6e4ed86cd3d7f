"""Who contributes how much to a cell, where it is easy to get wrong."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engine import contributions
from discreet.errors import InputError
from discreet.model.hierarchy import Hierarchy
from discreet.model.table import Table
from discreet.rules import MinContributors, PPercent, assess_table
from discreet.verbs.tabulate import tabulate


def table_of(columns: dict[str, Any], **options: Any) -> Table:
    found = tabulate(pa.table(columns), **options)
    assert isinstance(found, Table)
    return found


@pytest.fixture
def shared_holding() -> dict[str, Any]:
    """Ten cells of 94, 3 and 3, where the 94 belong to one holding in all of them."""
    leaves = [f"L{i}" for i in range(10)]
    return {
        "leaf": [leaf for leaf in leaves for _ in range(3)],
        "amount": [94, 3, 3] * 10,
        "holding": [who for i in range(10) for who in ("H", f"{i}a", f"{i}b")],
    }


def test_a_holding_in_many_cells_is_one_contributor_above_them(shared_holding: dict[str, Any]) -> None:
    leaf = Hierarchy.flat([f"L{i}" for i in range(10)])
    table = table_of(shared_holding, by={"leaf": leaf}, value="amount", contributor="holding", top=3)
    found = table.contributions["holding"]
    total = table.row()
    assert found.count[total] == 21
    assert found.total[total] == 1000
    assert found.top[total].tolist() == [940, 3, 3]
    assert found.count[1:].tolist() == [3] * 10
    assert found.top[1:].tolist() == [[94, 3, 3]] * 10
    # 1000 - 940 - 3 = 57 is less than 10 % of 940; from merged lists it would seem to be 1000 - 94 - 94.
    assert assess_table(table, [PPercent(10)]).unsafe[total]


def test_as_records_the_same_cells_look_different(shared_holding: dict[str, Any]) -> None:
    leaf = Hierarchy.flat([f"L{i}" for i in range(10)])
    table = table_of(
        shared_holding, by={"leaf": leaf}, value="amount", contributor="holding", levels=("holding", "record")
    )
    found = table.contributions["record"]
    assert found.count[table.row()] == 30
    assert found.top[table.row()].tolist() == [94, 94, 94]
    assert not assess_table(table, [PPercent(10, level="record")]).unsafe[table.row()]


def test_a_contribution_stands_as_often_as_its_weight() -> None:
    table = table_of(
        {"c": ["a", "a"], "amount": [100, 10], "w": [4, 7]},
        by={"c": Hierarchy.flat(["a"])},
        value="amount",
        weight="w",
    )
    assert table.value.tolist() == [470, 470]
    assert table.contributions["holding"].total.tolist() == [470, 470]
    assert table.contributions["holding"].top.tolist() == [[100, 100, 100]] * 2


def test_fractional_weights_share_a_place() -> None:
    table = table_of(
        {"c": ["a", "a"], "amount": [100, 10], "w": [1.5, 2.25]},
        by={"c": Hierarchy.flat(["a"])},
        value="amount",
        weight="w",
        top=4,
    )
    # 1 x 100; half of 100 and half of 10; 10; three quarters of 10
    assert table.shadow_decimals == 2
    assert table.contributions["holding"].top[0].tolist() == [10000, 5500, 1000, 750]


def test_weights_below_one_need_more_than_the_largest_few() -> None:
    table = table_of(
        {"c": ["a"] * 6, "amount": [60, 50, 40, 30, 20, 10], "w": [0.5] * 6},
        by={"c": Hierarchy.flat(["a"])},
        value="amount",
        weight="w",
        top=2,
    )
    assert table.contributions["holding"].top[0].tolist() == [550, 350]


def test_contributions_left_out_of_the_list_are_taken_as_large_as_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributions, "MOST_KEPT", 2)
    table = table_of(
        {"c": ["a"] * 4, "amount": [60, 50, 40, 30], "w": [0.5] * 4},
        by={"c": Hierarchy.flat(["a"])},
        value="amount",
        weight="w",
        top=2,
    )
    assert table.contributions["holding"].top[0].tolist() == [550, 500]


def test_ties_do_not_depend_on_the_order_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributions, "MOST_KEPT", 2)
    weights = [0.25, 0.5, 0.75, 2.0]
    found = {
        str(
            table_of(
                {"c": ["a"] * 4, "amount": [50, 50, 50, 40], "w": list(order)},
                by={"c": Hierarchy.flat(["a"])},
                value="amount",
                weight="w",
                top=2,
            )
            .contributions["holding"]
            .top.tolist()
        )
        for order in permutations(weights)
        if order[3] == 2.0
    }
    assert len(found) == 1


def test_a_weighted_count_has_as_many_ones_as_the_weights_say() -> None:
    table = table_of({"c": ["a", "b", "b"], "w": [2.5, 0.5, 0.25]}, by={"c": Hierarchy.flat(["a", "b"])}, weight="w")
    assert table.contributions["holding"].top.tolist() == [[100, 100, 100], [100, 100, 50], [75, 0, 0]]


def test_who_withholds_consent_counts_with_a_negative_sum_too() -> None:
    table = table_of(
        {"c": ["a", "a"], "amount": [5, -7], "agrees": [True, False], "asks": [0, 1], "firm": [1, 2]},
        by={"c": Hierarchy.flat(["a"])},
        value="amount",
        contributor="firm",
        waiver="agrees",
        request="asks",
    )
    found = table.contributions["holding"]
    assert found.unwaived is not None
    assert found.requested is not None
    assert found.unwaived.tolist() == [0, 0]
    assert found.requested.tolist() == [[0, -1], [0, -1]]
    assert assess_table(table, [MinContributors(3)]).unsafe.all()


def test_a_difference_has_negative_contributions() -> None:
    trade = Hierarchy.flat(["export", "import"]).with_grouping("balance", ["export"], minus=["import"])
    columns = {"flow": ["export", "import", "import"], "firm": [1, 1, 2], "amount": [10, 4, 5]}
    table = table_of(columns, by={"flow": trade}, value="amount", contributor="firm", top=2)
    row = table.row(flow="balance")
    found = table.contributions["holding"]
    assert (table.value[row], table.records is not None and table.records[row]) == (1, 3)
    assert (found.count[row], found.top[row].tolist(), bool(found.negative[row])) == (2, [6, 0], True)
    count = table_of(columns, by={"flow": trade}, top=2)
    as_records = count.contributions["holding"]
    assert (count.value[row], as_records.top[row].tolist(), bool(as_records.negative[row])) == (-1, [1, 0], True)


def test_sums_of_record_keys_stay_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.engine import cells, encode

    columns = {"c": ["a"] * 40, "key": [0.9] * 40}
    options: dict[str, Any] = {"by": {"c": Hierarchy.flat(["a", "b"])}, "record_key": "key"}
    dense = table_of(columns, **options)
    monkeypatch.setattr(cells, "DENSE_CELLS", 0)
    monkeypatch.setattr(encode, "BLOCK", 3)
    sparse = table_of(columns, **options)
    for table in (dense, sparse):
        assert table.key_modulus == 10**15
        np.testing.assert_array_equal(table.key_sum, [0, 0])


def test_whole_record_keys_are_added_up() -> None:
    table = table_of(
        {"c": ["a", "a", "b"], "key": [2**31 - 1, 5, 7]}, by={"c": Hierarchy.flat(["a", "b"])}, record_key="key"
    )
    assert table.key_modulus == 0
    np.testing.assert_array_equal(table.key_sum, [2**31 + 11, 2**31 + 4, 7])


def test_absolute_contributions_are_those_of_the_holding_not_of_its_records(tmp_path):
    """Records of one holding that cancel out contribute nothing: the rest of the cell is not made to look larger."""
    frame = pa.table(
        {"place": ["x"] * 6, "holding": ["a", "b", "c", "c", "d", "d"], "profit": [100, 5, 25, -25, 30, -30]}
    )
    for engine, data in (("memory", frame), ("duckdb", parquet(frame, tmp_path))):
        by = {"place": Hierarchy.flat(["x"])}
        table = tabulate(data, by=by, value="profit", contributor="holding", absolute=True, engine=engine)
        found = table.contributions["holding"]
        assert found.top[0].tolist() == [100, 5, 0]
        assert found.total[0] == 105
        assert assess_table(table, [PPercent(10)]).unsafe[0]


def test_absolute_contributions_of_a_net_loss_count_by_their_size():
    frame = pa.table({"place": ["x", "x", "y"], "holding": ["a", "b", "a"], "profit": [-70, 20, 60]})
    by = {"place": Hierarchy.flat(["x", "y"])}
    table = tabulate(frame, by=by, value="profit", contributor="holding", absolute=True)
    found = table.contributions["holding"]
    assert found.total.tolist() == [30, 90, 60]
    assert found.top[:, 0].tolist() == [20, 70, 60]
    assert found.negative.tolist() == [True, True, False]  # the floor of a cell depends on it
    assert table.value.tolist() == [10, -50, 60]


def test_a_holding_with_both_requests_counts_under_both():
    frame = pa.table({"place": ["x", "x", "x"], "holding": ["a", "a", "b"], "x": [50, 20, 90], "ask": [1, 2, 0]})
    by = {"place": Hierarchy.flat(["x"])}
    table = tabulate(frame, by=by, value="x", contributor="holding", request="ask")
    assert table.contributions["holding"].requested[0].tolist() == [70, 70]


def test_decimal_numbers_beyond_floating_point_are_exact_in_memory_and_refused_by_duckdb(tmp_path):
    amounts = [Decimal("1000000000000000.01"), Decimal("2.02")]
    frame = pa.table({"place": ["x", "y"], "x": pa.array(amounts, pa.decimal128(20, 2))})
    by = {"place": Hierarchy.flat(["x", "y"])}
    assert tabulate(frame, by=by, value="x").value.tolist() == [100000000000000203, 100000000000000001, 202]
    with pytest.raises(InputError, match=r"more than 15 digits.*engine='memory'"):
        tabulate(parquet(frame, tmp_path), by=by, value="x", engine="duckdb")


def test_decimal_numbers_agree_between_the_engines(tmp_path):
    rng = np.random.default_rng(4)
    amounts = [Decimal(int(n)).scaleb(-3) for n in rng.integers(0, 10**9, 500)]
    frame = pa.table({"place": rng.choice(["x", "y"], 500), "x": pa.array(amounts, pa.decimal128(20, 3))})
    by = {"place": Hierarchy.flat(["x", "y"])}
    one = tabulate(frame, by=by, value="x")
    other = tabulate(parquet(frame, tmp_path), by=by, value="x", engine="duckdb")
    assert one.decimals == other.decimals == 3
    assert one.value.tolist() == other.value.tolist()
    assert one.value[0] == sum(int(a.scaleb(3)) for a in amounts)


def parquet(frame: pa.Table, folder: Path) -> Path:
    pq.write_table(frame, folder / "records.parquet")
    return folder / "records.parquet"
