"""Codes that add up although nobody said so."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.model.spec import TableSpec
from discreet.model.table import Table
from discreet.relations import adding
from discreet.relations.adding import (
    SumFound,
    _candidates,
    _holds,
    _Screen,
    _subsets,
    found_sums,
    sum_of_all_others,
    undeclared_sums,
)

NAN = np.nan
HUGE = 3e12


def rows(*given: tuple[float, ...]) -> np.ndarray:
    return np.array(given, np.float64)


# ---- one sum ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "near", "lines"),
    [
        (rows((10, 7, 5), (4, 5, 5), (6, 2, 0)), 0, 2),  # where one part has everything, nothing is told
        (rows((-10,), (-4,), (-6,)), 0, 1),
        (rows((10, 7), (4, 5), (6, 3)), 0, 0),
        (rows((10, 9), (4, 5), (6, 3)), 0, 0),
        (rows((10, 7), (4, 5), (6, 3), (-1, 0)), 0, 0),
        (rows((10, 7), (4, 5), (6, NAN)), 0, 1),
        (rows((10, NAN), (4, 5), (6, 2)), 0, 1),
        (rows((10, 7), (4, 8), (6, NAN)), 0, 0),  # a part alone is more than the whole
        (rows((10, 7), (4, 8), (6, NAN), (-1, 0)), 0, 1),  # but not where values may be negative
        (rows((10, 8.5), (4, 5), (6, 2)), 0.5, 2),
        (rows((10, 8.6), (4, 5), (6, 2)), 0.5, 0),
        (rows((HUGE + 1,), (HUGE / 3,), (HUGE * 2 / 3,)), 0, 1),  # rounding errors of large numbers
        (rows((-HUGE + 1,), (-HUGE / 3,), (-HUGE * 2 / 3,)), 0, 1),
        (rows((0.0,), (0.3,), (-0.1 - 0.2,)), 0, 1),
    ],
)
def test_in_how_many_lines_a_sum_is_seen(values, near, lines):
    assert _holds(values, 0, np.array([1, 2]), near) == lines


def test_a_screen_lets_pass_what_may_be_the_sum():
    screen = _Screen(rows((HUGE, NAN), (0, 1), (-HUGE, 1), (7, 1)), 0.0)
    assert screen.lines.tolist() == [True, False]
    for parent, whole in ((0, HUGE), (1, 0.0), (2, -HUGE)):
        off = max(abs(whole) * 5e-10, 5e-17)
        assert screen.fits(np.array([whole - off, whole + off]), parent, 2).all()
    assert not screen.fits(np.array([6.0, 8.0]), 3, 2).any()
    near = _Screen(rows((7, 7), (1, 1)), 0.5)
    assert near.fits(np.array([11.0, 17.0, 10.9, 17.1]), 0, 2).tolist() == [True, True, False, False]


# ---- which codes may be the parts ---------------------------------------------------------------------------


def candidates(values: np.ndarray, parent: int, *others: int) -> list[tuple[list[int], bool]]:
    return [(parts.tolist(), whole) for parts, whole in _candidates(_Screen(values, 0.0), parent, np.array(others))]


def test_neighbours_are_tried_before_and_behind(monkeypatch):
    monkeypatch.setattr(adding, "SEARCHED", 0)
    below = rows((3, 5), (1, 2), (2, 3), (50, 7))
    assert candidates(below, 0, 1, 2, 3) == [([1, 2], False)]
    above = rows((50, 7), (1, 2), (2, 3), (3, 5))
    assert candidates(above, 3, 0, 1, 2) == [([2, 1], False)]
    gaps = rows((3, 5, NAN), (1, 2, 1), (2, 3, 1), (50, 7, 1))
    assert candidates(gaps, 0, 1, 2, 3) == [([1, 2], False)]


def test_all_that_are_left_are_tried_and_one_is_not_enough():
    assert candidates(rows((3,), (1,), (2,)), 0, 1, 2)[0] == ([1, 2], True)
    assert candidates(rows((3,), (3,)), 0, 1) == []


def test_any_codes_are_tried_where_there_are_few(monkeypatch):
    apart = rows((3, 5), (1, 2), (50, 7), (2, 3))
    monkeypatch.setattr(adding, "SEARCHED", 3)
    assert ([1, 3], False) in candidates(apart, 0, 1, 2, 3)
    monkeypatch.setattr(adding, "SEARCHED", 2)
    assert candidates(apart, 0, 1, 2, 3) == []


def subsets(values: np.ndarray, *others: int) -> list[list[int]]:
    return [parts.tolist() for parts in _subsets(values, 0, np.array(others or range(1, len(values))))]


def test_the_search_finds_all_codes_that_add_up():
    assert subsets(rows((3, 5), (1, 0), (9, 9), (2, 5))) == [[1, 3]]
    assert subsets(rows((3, 5), (1, 2), (2, 3), (2, 3))) == [[1, 2], [1, 3]]
    assert subsets(rows((3, 5), (1, 2), (2, 2))) == []
    assert subsets(rows((3, 5), (3, 5), (9, 9))) == []  # the same is no sum
    assert subsets(rows((3, 0), (1, 0), (2, 0), (0, 0))) == [[1, 2]]
    assert subsets(rows((HUGE, HUGE), (HUGE / 3, HUGE / 3), (HUGE * 2 / 3 + 1, HUGE * 2 / 3 + 1))) == [[1, 2]]


def test_codes_that_are_too_much_in_one_line_do_not_add_up():
    """5 + 5 would do in the first line, and 9 + 3 is more than the 10 of the second."""
    assert subsets(rows((10, 10), (5, 9), (5, 3), (6, 2), (4, 8))) == [[3, 4]]


def test_the_search_needs_two_lines_without_negative_values():
    assert subsets(rows((3,), (1,), (2,))) == []
    assert subsets(rows((3, 5), (1, 2), (2, 3), (-1, 0)), 1, 2) == []


def test_the_search_ends_after_a_number_of_tries(monkeypatch):
    monkeypatch.setattr(adding, "TRIES", 2)
    assert subsets(rows((3, 5), (1, 2), (2, 3))) == [[1, 2]]
    monkeypatch.setattr(adding, "TRIES", 1)
    assert subsets(rows((3, 5), (1, 2), (2, 3))) == []


def test_the_search_gives_up_where_the_rest_cannot_do(monkeypatch):
    """After the first code the ten small ones fill one line and not the other: their subsets are not tried."""
    monkeypatch.setattr(adding, "TRIES", 20)
    small = [(0.1, 0.01)] * 10
    assert subsets(rows((8, 8), (7, 7), (6, 6), (2, 2), *small)) == [[2, 3]]
    large = [(9, 0)] * 30  # none of them is tried at all
    assert subsets(rows((8, 8), (6, 6), (2, 2), *large)) == [[1, 2]]


# ---- all sums -----------------------------------------------------------------------------------------------


def test_sums_of_sums_are_found_whatever_their_sign():
    tree = rows((21, 42), (10, 20), (4, 8), (6, 12), (11, 22))
    for sign in (1, -1):
        assert found_sums(sign * tree) == [SumFound(1, (2, 3), 2), SumFound(0, (1, 4), 2)]


def test_a_total_may_be_the_last_code():
    assert found_sums(rows((4, 5), (6, 2), (10, 7))) == [SumFound(2, (0, 1), 2)]


def test_a_code_is_part_of_one_sum_only():
    """The second code is part of the first, though it would fit the fourth as well."""
    values = rows((3, 5), (1, 2), (2, 3), (11, 22), (10, 20))
    assert found_sums(values) == [SumFound(0, (1, 2), 2)]


def test_one_line_is_enough_for_the_sum_of_all_others_where_that_is_asked_for():
    whole = rows((3,), (1,), (2,))
    assert found_sums(whole) == [SumFound(0, (1, 2), 1)]
    assert found_sums(whole, once=False) == []
    assert found_sums(rows((3,), (1,), (2,), (50,))) == []
    assert found_sums(rows((3, 5), (1, 2), (2, 3)), once=False) == [SumFound(0, (1, 2), 2)]


def test_the_sum_of_all_others():
    assert sum_of_all_others(rows((4,), (10,), (6,))) == SumFound(1, (0, 2), 1)
    assert sum_of_all_others(rows((-4,), (-10,), (-6,))) == SumFound(1, (0, 2), 1)
    assert sum_of_all_others(rows((-1,), (-1,), (-2,)), near=1.0) == SumFound(2, (0, 1), 1)  # largest first
    assert sum_of_all_others(rows((4,), (11,), (6,))) is None
    assert sum_of_all_others(rows((4,), (4,))) is None
    assert (
        sum_of_all_others(
            rows(
                (0,),
            )
        )
        is None
    )


# ---- tables -------------------------------------------------------------------------------------------------


def table_of(values: np.ndarray, slack: int | None = None, code: ds.Hierarchy | None = None) -> Table:
    """A table by a code without a total and a line."""
    code = ds.Hierarchy.flat([f"c{i}" for i in range(len(values))], total=None) if code is None else code
    lines = ds.Hierarchy.flat([f"l{i}" for i in range(values.shape[1])], total=None)
    at = np.array([(i, j) for i in range(values.shape[0]) for j in range(values.shape[1])], np.int32)
    return Table(
        spec=TableSpec(by={"code": code, "line": lines}, value="v"),
        codes=at,
        value=values.ravel().astype(np.int64),
        decimals=0,
        empty=np.zeros(values.size, np.bool_),
        slack=slack,
    )


def test_sums_that_a_table_does_not_declare():
    values = rows((3, 5), (1, 2), (2, 3))
    assert undeclared_sums(table_of(values), 0, once=False) == [SumFound(0, (1, 2), 2)]
    assert undeclared_sums(table_of(rows((4, 5), (4, 5))), 0, once=False) == [SumFound(0, (1,), 2)]
    declared = ds.Hierarchy.flat(["c1", "c2"], total="c0")
    assert undeclared_sums(table_of(values, code=declared), 0, once=False) == []


@pytest.mark.parametrize(
    ("slack", "off", "found"), [(None, 1, 0), (0, 1, 0), (-1, 1, 1), (-1, 2, 0), (1, 3, 1), (1, 4, 0)]
)
def test_sums_of_rounded_tables_hold_within_their_slack(slack, off, found):
    values = rows((30 + off, 50), (10, 20), (20, 30))
    assert len(undeclared_sums(table_of(values, slack), 0, once=False)) == found


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (rows((4, 5), (4, 5)), 1),
        (rows((-4, -5), (-4, -5)), 1),
        (rows((4, 0), (4, 0)), 0),  # one line that tells something
        (rows((4, 5), (4, 6)), 0),
    ],
)
def test_codes_that_are_the_same_in_two_lines(values, found):
    assert len(undeclared_sums(table_of(values), 0, once=False)) == found
