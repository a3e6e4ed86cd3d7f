"""Who contributes to the cells of a ready-made table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError

BY = {"region": ds.Hierarchy.flat(["N", "S"])}
CELLS: dict[str, Any] = {
    "region": ["Total", "N", "S"],
    "value": [100, 60, 40],
    "contributors": [4, 1, 3],
    "holder1": ["a", "a", "b"],
    "holder2": ["b", None, "c"],
    "holder3": ["c", "", "7"],
    "own1": [60, 60, 25],
    "own2": [25, None, 10],
    "own3": [10, None, 5],
}


def from_cells(changes: dict[str, Any], **options: Any) -> ds.Table:
    columns = {name: values for name, values in {**CELLS, **changes}.items() if values is not None}
    return ds.Table.from_cells(pa.table(columns), by=BY, **options)


def test_names_and_amounts_are_those_of_a_tabulated_table():
    firms = {"region": ["N", "S", "S", "S"], "firm": ["a", "b", "c", "7"], "value": [60, 25, 10, 5]}
    expected = ds.tabulate(pa.table(firms), by=BY, value="value", contributor="firm").holders
    found = from_cells({}).holders
    for name in ("count", "identity", "amount"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_numbers_and_text_name_the_same_contributor(tmp_path):
    file = tmp_path / "cells.csv"
    file.write_text(
        "region,value,contributors,holder1,own1,holder2,own2\nTotal,9,2,12,5,x,4\nN,5,1,12,5,,\nS,4,1,x,4,,\n"
    )
    text = ds.Table.from_cells(file, by=BY).holders.identity
    assert text[:2, 0].tolist() == [12, 12]
    assert text[0, 1] == text[2, 0]
    file.write_text("region,value,contributors,holder1,own1\nTotal,9,2,12,5\nN,5,1,12,5\nS,4,1,13,4\n")
    assert ds.Table.from_cells(file, by=BY).holders.identity[:, 0].tolist() == [12, 12, 13]


def test_amounts_are_the_largest_contributions_when_left_out():
    none = {"own1": None, "own2": None, "own3": None}
    tops = {"top1": [60, 60, 25.5], "top2": [25.5, 0, 10], "top3": [10, 0, 4.5]}
    table = from_cells({**none, **tops, "holder3": ["c", None, "7"]})
    assert table.decimals == 1
    assert table.holders.amount.tolist() == [[600, 255, 100], [600, 0, 0], [255, 100, 45]]
    with pytest.raises(InputError, match=r"'holder1' names contributors.*not known.*Add the column 'own1'\."):
        from_cells({**none, **tops}, shadow="tax")
    with pytest.raises(InputError, match=r"'holder1' names contributors.*Add the column 'own1' or 'top1'"):
        from_cells(none)


def test_equals_stand_in_the_order_of_their_numbers():
    table = from_cells({"holder2": ["b", None, "9"], "own2": [25, None, 5], "own3": [10, None, 5]})
    assert table.holders.identity[2, 1:].tolist() == [7, 9]


def test_without_names_nobody_is_known():
    none = dict.fromkeys(["holder1", "holder2", "holder3", "own1", "own2", "own3"])
    assert from_cells(none).holders is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"contributors": [4, 1, 2]}, r"1 cell names more holders than contributors, first in row 3"),
        ({"contributors": [4, 2, 3]}, r"1 cell does not name all of the largest contributors, first in row 2"),
        ({"contributors": None}, r"how many there are is not known.*Add the column contributors"),
        (
            {"own2": [None, None, 10]},
            r"1 cell names a contributor in 'holder2' and no amount in 'own2', first in row 1",
        ),
        ({"own2": [25, 1, 10]}, r"1 cell has an amount in 'own2' and nobody in 'holder2', first in row 2"),
        ({"holder2": ["b", None, "b"]}, r"1 cell names a contributor twice, first in row 3"),
        ({"holder1": ["a", None, "b"], "own1": [60, None, 25]}, r"not name all"),
        ({"holder2": ["b", None, None], "own2": [25, None, None]}, r"1 cell skips a holder, first in row 3"),
        ({"own1": [20, 60, 25]}, r"1 cell has own2 above own1, first in row 1"),
        ({"own1": [60, 61, 25]}, r"1 cell has holders with more than the value, first in row 2"),
        ({"holder2": None, "own2": None}, r"none is called 'holder2'"),
        ({"holder3": None}, r"'own3' says how much a contributor has, and column 'holder3' does not say which"),
    ],
)
def test_names_that_contradict_the_cells_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        from_cells(changes)


def finest(**changes: Any) -> dict[str, Any]:
    return {name: None if values is None else values[1:] for name, values in {**CELLS, **changes}.items()}


def test_computed_totals_name_the_largest_of_disjoint_cells():
    expected = from_cells({}).holders
    found = from_cells(finest(), compute_totals=True, disjoint=True).holders
    for name in ("count", "identity", "amount"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_computed_totals_name_no_more_than_is_known():
    """With the largest of each cell only, the second largest of the total may be any."""
    one = finest(holder2=None, holder3=None, own2=None, own3=None)
    total = from_cells(one, compute_totals=True, disjoint=True).holders
    assert total.count.tolist() == [4, 1, 3]
    assert (total.identity[0] >= 0).tolist() == [True, False, False]


def test_cells_that_share_a_contributor_are_not_disjoint():
    shared = finest(holder3=["c", None, "a"])
    with pytest.raises(InputError, match=r"1 contributor stands in several of the finest cells, against disjoint=True"):
        from_cells(shared, compute_totals=True, disjoint=True)
