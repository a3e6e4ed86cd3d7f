"""What a public table is made of: rows, codes and decimals, and what they must not tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError, ProtectionError
from discreet.model.arrays import LARGEST
from discreet.model.public import (
    PublicRelease,
    PublicTable,
    altered_table,
    in_rows_of,
    least_decimals,
    public_table,
    rounded_units,
)
from discreet.model.spec import TableSpec
from discreet.model.table import Table

TREE = ds.Hierarchy.from_parents(
    {"a": "A", "b": "A", "c": "B", "A": "T", "B": "T"}, labels={"a": "apples", "c": "cars"}
)
"""T, A, a, b, B, c in this order."""


def table_of(*value: int, cells: str = "nonempty", decimals: int = 0, rows: list[int] | None = None, **spec) -> Table:
    """A table by the codes of the tree, or some of them."""
    at = np.arange(len(value)) if rows is None else np.array(rows)
    return Table(
        spec=TableSpec(by={"code": TREE}, name="t", value="v", cells=cells, **spec),
        codes=at.astype(np.int32)[:, None],
        value=np.array(value, np.int64),
        decimals=decimals,
        empty=np.array(value) == 0,
    )


def codes(public: PublicTable) -> dict[str, int]:
    listed = [public.code_lists[0][i] for i in public.codes[:, 0].tolist()]
    return dict(zip(listed, public.value.tolist(), strict=True))


FULL = (12, 7, 3, 4, 5, 5)


# ---- rows and codes of altered tables -----------------------------------------------------------------------


def test_zeros_and_codes_without_cells_are_left_out_but_what_stands_above_a_cell_stays():
    table = table_of(*FULL)
    shown = altered_table(table, np.array([12, 0, 3, 0, 0, 0]), 0)
    assert codes(shown) == {"T": 12, "a": 3}
    assert shown.code_lists == (("T", "A", "a"),)
    assert shown.labels == ({"a": "apples"},)
    assert shown.parents == ((-1, 0, 1),)


def test_an_end_of_an_interval_that_is_not_zero_lists_its_cell():
    table = table_of(*FULL)
    ends = (np.array([12, 0, 0, 0, 0, 0]), np.array([12, 0, 2, 0, 0, 0]))
    below = (np.array([12, -2, 0, 0, 0, 0]), np.array([12, 0, 0, 0, 0, 0]))
    assert codes(altered_table(table, np.array([12, 0, 0, 0, 0, 0]), 0, below)) == {"T": 12, "A": 0}
    shown = altered_table(table, np.array([12, 0, 0, 0, 0, 5]), 0, ends)
    assert codes(shown) == {"T": 12, "a": 0, "c": 5}
    assert (shown.lower.tolist(), shown.upper.tolist()) == ([12, 0, 0], [12, 2, 0])


def test_where_all_cells_were_asked_for_all_are_listed():
    whole = table_of(*FULL, cells="all")
    assert len(altered_table(whole, np.array([12, 0, 3, 0, 0, 0]), 0)) == 6
    # Not all combinations are there after all: then a cell that is listed tells that it is there.
    less = table_of(12, 7, 3, cells="all")
    assert codes(altered_table(less, np.array([12, 0, 3]), 0)) == {"T": 12, "a": 3}
    assert len(altered_table(table_of(*FULL), np.array([12, 0, 3, 0, 0, 0]), 0)) == 2


def test_the_grand_total_is_listed_and_something_must_be():
    assert codes(altered_table(table_of(*FULL), np.zeros(6, np.int64), 0)) == {"T": 0}
    without = table_of(3, 4, rows=[2, 3])
    with pytest.raises(ProtectionError, match="All cells of table 't' would be published as zero"):
        altered_table(without, np.zeros(2, np.int64), 0)
    assert altered_table(without, np.array([0, 4]), 0).code_lists == (("T", "A", "b"),)
    assert len(altered_table(table_of(), np.zeros(0, np.int64), 0)) == 0
    flat = without.with_(spec=without.spec.with_(by={"code": ds.Hierarchy.flat(TREE.codes, total=None)}))
    assert codes(altered_table(flat, np.array([0, 4]), 0)) == {"b": 4}


def test_public_rows_find_their_places_in_the_original():
    table = table_of(*FULL)
    shown = altered_table(table, np.array([12, 0, 3, 0, 0, 0]), 0)
    back = in_rows_of(table, shown)
    assert back.value.tolist() == [12, 0, 3, 0, 0, 0]
    assert back.code_lists == (TREE.codes,)
    same = public_table(table, np.zeros(6, np.bool_))
    assert in_rows_of(table, same) is same


@pytest.mark.parametrize(
    "change",
    [
        {"variables": ("other",)},
        {"variables": ("another",)},
        {"code_lists": (("T", "A", "z"),)},
        {"altered": False},
        {"codes": np.array([[0], [2]], np.int32), "code_lists": (("T", "A", "b"),)},
    ],
)
def test_other_variables_codes_or_cells_are_refused(change):
    table = table_of(12, 7, 3)
    shown = altered_table(table, np.array([12, 0, 3]), 0)
    with pytest.raises(InputError, match="Table 't' has other variables, codes or cells in the release"):
        in_rows_of(table, replace(shown, **change))


def test_true_values_with_other_code_lists_are_refused_though_the_numbers_are_the_same():
    table = table_of(12, 7, 3)
    shown = public_table(table, np.zeros(3, np.bool_))
    with pytest.raises(InputError, match="has other variables, codes or cells"):
        in_rows_of(table, replace(shown, code_lists=(("A", "T", *TREE.codes[2:]),)))
    with pytest.raises(InputError, match="has other variables, codes or cells"):
        in_rows_of(table, replace(shown, codes=shown.codes[::-1]))


# ---- values -------------------------------------------------------------------------------------------------


def test_withheld_and_empty_cells_are_not_shown():
    table = table_of(12, 7, 0, 7, 5, 5)
    shown = public_table(table, np.array([False, True, False, False, False, True]))
    assert shown.status == ["V", "X", "E", "V", "V", "X"]
    assert np.flatnonzero(shown.empty).tolist() == [2]
    assert shown.measure == "v"
    assert public_table(table.with_(spec=table.spec.with_(value=None)), table.empty).measure == ""
    assert shown.value.tolist() == [12, 0, 0, 7, 5, 0]
    assert "2 withheld" in repr(shown)
    both = public_table(table, np.array([False, True, True, False, False, True]))
    assert both.status == ["V", "X", "X", "V", "V", "X"]


@pytest.mark.parametrize(
    ("declared", "fewest", "decimals"), [(None, True, 1), (2, True, 1), (2, False, 2), (1, False, 1)]
)
def test_decimals_are_those_that_published_values_need_unless_declared(declared, fewest, decimals):
    """The withheld value alone would need two."""
    table = table_of(1250, 725, 300, decimals=2, rows=[0, 1, 2])
    table = table.with_(value=np.array([1250, 721, 300]), spec=table.spec.with_(decimals=declared, fewest=fewest))
    shown = public_table(table, np.array([False, True, False]))
    assert (shown.decimals, shown.value.tolist()) == (
        decimals,
        [125 * 10 ** (decimals - 1), 0, 30 * 10 ** (decimals - 1)],
    )


def test_altered_values_are_written_exactly_with_as_few_decimals_as_they_need():
    table = table_of(*FULL)
    published = np.array([1250, 700, 300, 400, 500, 550])
    assert altered_table(table, published, 2).decimals == 1
    assert altered_table(table, published, 2).value.tolist() == [125, 70, 30, 40, 50, 55]
    ends = (published, published + 1)
    assert altered_table(table, published, 2, ends).decimals == 2
    declared = table.with_(spec=table.spec.with_(decimals=3, fewest=False))
    assert altered_table(declared, published, 2).value.tolist() == (10 * published).tolist()


def test_least_decimals():
    assert [least_decimals(np.array(v), 2) for v in ([100, 200], [110, 200], [111, 200], [0])] == [0, 1, 2, 0]
    assert least_decimals(np.array([7]), 0) == 0


def test_values_are_rounded_half_to_even():
    value = np.array([5, 15, 25, 14, 16, -5, -15, -25, -14, -16])
    assert rounded_units(value, 1, 0).tolist() == [0, 2, 2, 1, 2, 0, -2, -2, -1, -2]
    assert rounded_units(value, 1, 1).tolist() == value.tolist()
    assert rounded_units(value, 1, 2).tolist() == (10 * value).tolist()


def test_values_that_do_not_fit_with_more_decimals_are_refused():
    most = LARGEST // 10
    assert rounded_units(np.array([most, -most]), 0, 1).tolist() == [10 * most, -10 * most]
    assert rounded_units(np.array([LARGEST]), 0, 0).tolist() == [LARGEST]
    with pytest.raises(ParameterError, match="too large to be written exactly with 0 decimals"):
        rounded_units(np.array([LARGEST + 1]), 0, 0)
    for value in (most + 1, -most - 1):
        with pytest.raises(ParameterError, match="too large to be written exactly with 1 decimal"):
            rounded_units(np.array([value]), 0, 1)


# ---- columns and means --------------------------------------------------------------------------------------


def test_ends_of_intervals_stand_where_they_differ():
    shown = altered_table(table_of(12, 7, cells="all", rows=[0, 1]), np.array([12, 7]), 0)
    assert "lower" not in shown.columns()
    wide = replace(shown, lower=np.array([12, 5]), upper=np.array([12, 9]))
    assert wide.columns()["lower"] == [None, 5]
    assert wide.columns()["upper"] == [None, 9]
    assert "lower" not in replace(wide, upper=None).columns()
    assert "lower" not in replace(wide, lower=None).columns()


def release(total: PublicTable, count: PublicTable) -> PublicRelease:
    return PublicRelease((replace(total, name="total"), replace(count, name="count")))


def test_means_are_of_what_is_published():
    total = public_table(table_of(12, 7, 0, 5), np.array([False, True, False, False]))
    count = public_table(table_of(4, 2, 0, 5), np.zeros(4, np.bool_))
    found = release(total, count).means("total", "count")
    assert found == {"code": ["T", "A", "a", "b"], "mean": [3.0, None, None, 1.0]}


def test_means_need_the_cells_of_the_counts_unless_zeros_are_not_listed():
    count = public_table(table_of(4, 2, 3), np.zeros(3, np.bool_))
    total = public_table(table_of(12, 7), np.zeros(2, np.bool_))
    with pytest.raises(ParameterError, match="Table 'total' has no cell a, which 'count' has"):
        release(total, count).means("total", "count")
    empty = public_table(table_of(4, 2, 0), np.zeros(3, np.bool_))
    assert release(total, empty).means("total", "count")["mean"] == [3.0, 3.5, None]
    altered = altered_table(table_of(12, 7, 3), np.array([12, 6, 0]), 0)
    assert release(altered, count).means("total", "count")["mean"] == [3.0, 3.0, 0.0]
    for other in ("other", "another"):
        with pytest.raises(ParameterError, match="do not have the same cells"):
            release(replace(total, variables=(other,)), count).means("total", "count")


def test_a_table_that_is_not_in_the_release_is_named():
    only = PublicRelease((public_table(table_of(*FULL), np.zeros(6, np.bool_)),))
    assert only["t"] is only.tables[0]
    with pytest.raises(ParameterError, match="There is no table 'u' in the release"):
        only["u"]
