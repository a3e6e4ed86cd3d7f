"""Families of rounded cells: their bundles are the published cells with the same members."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.arrays import pointers
from discreet.tables.perturb.families import LEAST, families_of, two_kinds


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 9), st.integers(1, 4))
def test_bundles_have_the_cells_with_the_same_members_of_a_family(seed, count, size, kinds):
    rng = np.random.default_rng(seed)
    contains = rng.random((count, size)) < 0.4
    contains[:, 0] = True
    group = rng.integers(0, kinds, count)
    cells = np.concatenate([np.flatnonzero(row) for row in contains]).astype(np.int32)
    draw = rng.integers(0, 2**64, count, dtype=np.uint64)
    found = families_of(group, draw, pointers(contains.sum(axis=1)), cells, size)
    assert sorted(found.order.tolist()) == list(range(count))
    for family in range(len(found.start) - 1):
        places = range(found.start[family], found.start[family + 1])
        members = found.order[found.start[family] : found.start[family + 1]]
        assert set(members.tolist()) == set(np.flatnonzero(group == group[members[0]]).tolist())
        wanted: dict[frozenset[int], set[int]] = {}
        for cell in range(size):
            inside = frozenset(int(i) for i in members if contains[i, cell])
            if inside:
                wanted.setdefault(inside, set()).add(cell)
        bundles = range(found.bundle_start[family], found.bundle_start[family + 1])
        seen = {
            frozenset(found.order[found.members[found.member_start[b] : found.member_start[b + 1]]].tolist()): set(
                found.cells[found.cell_start[b] : found.cell_start[b + 1]].tolist()
            )
            for b in bundles
        }
        assert seen == wanted
        for k in places:
            own = found.own[found.own_start[k] : found.own_start[k + 1]].tolist()
            assert own == [b for b in bundles if k in found.members[found.member_start[b] : found.member_start[b + 1]]]


def test_the_first_kind_holds_the_widest_variable_fixed_and_the_second_what_the_first_lets_vary():
    area, sex, age = (part.ravel() for part in np.meshgrid(np.arange(500), np.arange(2), np.arange(5)))
    first, second = two_kinds([sex, age, area])
    assert same_partition(first, area)
    assert same_partition(second, sex * 5 + age)


def test_families_are_large_as_long_as_variables_allow():
    codes = np.meshgrid(*[np.arange(7)] * 5)
    first, second = two_kinds([part.ravel() for part in codes])
    for kind in (first, second):
        assert 7 < len(np.unique(kind)) <= 7**5 / LEAST
    small = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    assert len(np.unique(two_kinds(small)[1])) == 1


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = {(int(a), int(b)) for a, b in zip(one, other, strict=True)}
    return len(pairs) == len(np.unique(one)) == len(np.unique(other))
