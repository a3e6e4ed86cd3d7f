"""Means of published sums and counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.files.published.heading import notes
from discreet.model.public import PublicTable
from discreet.server.means import means_of

SUMS = PublicTable(
    name="income",
    variables=("area", "sex"),
    code_lists=(("a", "b", "c"), ("f", "m")),
    labels=({}, {}),
    codes=np.array([[0, 0], [0, 1], [1, 0], [2, 1]], np.int32),
    value=np.array([100, 250, 70, 9]),
    decimals=0,
    shown=np.ones(4, bool),
    empty=np.zeros(4, bool),
    altered=True,
)
COUNTS = replace(
    SUMS,
    name="persons",
    code_lists=(("b", "a"), ("f", "m")),  # c has sums, but its counts are not answered
    codes=np.array([[1, 0], [1, 1], [0, 1]], np.int32),
    value=np.array([3, 4, 5]),
    shown=np.ones(3, bool),
    empty=np.zeros(3, bool),
)


def test_a_mean_is_a_sum_by_a_count_and_a_cell_without_a_count_has_none():
    made = means_of(SUMS, COUNTS)
    columns = made.columns()
    cells = dict(zip(zip(columns["area"], columns["sex"], strict=True), columns["value"], strict=True))
    assert cells == {
        ("a", "f"): 33.33,
        ("a", "m"): 62.5,
        ("b", "f"): None,  # a sum, and no person was counted
        ("b", "m"): 0,  # five persons, and a sum of zero that is not listed
        ("c", "f"): None,
        ("c", "m"): None,
    }
    assert not any("stand for zero" in note for note in notes(made))


def test_halves_go_up():
    one = means_of(replace(SUMS, value=np.array([1, 1, 1, 1])), replace(COUNTS, value=np.array([8, 200, 3])))
    assert one.columns()["value"][:2] == [0.13, 0.01]
