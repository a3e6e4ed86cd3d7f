"""Who contributes how much to a cell, where it is easy to get wrong."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engine import contributions
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
