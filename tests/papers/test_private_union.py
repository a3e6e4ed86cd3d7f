"""Blind union of two files (003-23): a thousand random pairs against the union of plain sets."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("rbcl")

import discreet as ds


def pair(number: int) -> tuple[set[int], set[int]]:
    """Two random sets; every fifth pair lies at a border."""
    chance = random.Random(number)
    one = set(chance.sample(range(24), chance.randint(0, 10)))
    other = set(chance.sample(range(24), chance.randint(0, 10)))
    borders = {
        0: (one, set()),
        1: (one, one | other),
        2: (one | other, other),
        3: (one, other - one),
        4: (set(), other),
    }
    return borders[number // 5 % 5] if number % 5 == 0 else (one, other)


def file_of(persons: set[int], sign: int) -> dict[str, np.ndarray]:
    """Records whose data tell who brought them; columns of an empty file are of the same kind."""
    columns = {"id": [f"id{k}" for k in persons], "x": [f"{sign * (k + 1)}" for k in persons]}
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


@pytest.mark.parametrize("start", [0, pytest.param(25, marks=pytest.mark.paper)])
def test_the_data_of_the_union_are_those_of_the_initiator_and_of_whom_it_lacks(start):
    for number in range(start, 1000 if start else 25):
        one, other = pair(number)
        files = {"A": file_of(one, 1), "B": file_of(other, -1)}
        found = ds.private.unite(files, ["id"], ["x"], min_records=0)
        expected = [f"{k + 1}" for k in one] + [f"{-k - 1}" for k in other - one]
        assert sorted(row["x"] for row in found.rows) == sorted(expected)
        assert (found.union, found.shared) == (len(one | other), len(one & other))
