"""Equations of a variable are numbered alike, whether many of the lines that can be are there or few."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.relations import kernels


def rows_of(codes: list[tuple[int, int]], lines: int) -> list[int]:
    """Rows of the equations along the first variable, whose code 0 is the sum of 1 and 2."""
    starts = np.array([0, 1, 2, 3])
    row, *_ = kernels.along(
        np.array(codes, np.int32),
        0,
        np.array([3, lines]),
        starts,
        np.zeros(3, np.int32),
        np.array([-1, 1, 1], np.int32),
        np.zeros(1, np.int32),
    )
    return row.tolist()


@pytest.mark.parametrize("lines", [8, 10_000])
def test_rows_are_numbered_by_line(lines: int) -> None:
    assert rows_of([(1, 3)], lines) == [0]
    assert rows_of([(1, 2), (1, 5)], lines) == [0, 1]
    assert rows_of([(1, 5), (2, 2), (0, 5), (0, 2), (1, 7)], lines) == [1, 0, 1, 0, 2]


def test_codes_in_no_grouping_make_no_row() -> None:
    nothing = np.zeros(0, np.int32)
    found = kernels.along(
        np.array([(1, 3)], np.int32),
        0,
        np.array([3, 9]),
        np.zeros(4, np.int64),
        nothing,
        nothing,
        np.zeros(1, np.int32),
    )
    assert [len(column) for column in found] == [0] * 6
