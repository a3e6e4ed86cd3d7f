"""Components: which cells relations tie together."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import discreet as ds
from discreet import Table
from discreet.relations import build_system
from discreet.relations.components import components
from tests.relations.random_tables import tables


def by_search(matrix: np.ndarray, cells: list[int]) -> list[int]:
    """Labels in order of first appearance, by going from cell to cell."""
    label: dict[int, int] = {}
    for cell in cells:
        if cell in label:
            continue
        number, waiting = len(set(label.values())), [cell]
        while waiting:
            one = waiting.pop()
            label[one] = number
            tied = {c for row in matrix if row[one] for c in cells if row[c]}
            waiting += [c for c in tied if c not in label]
    return [label[cell] for cell in cells]


@settings(deadline=None, max_examples=80)
@given(tables((1, 2)), st.data())
def test_components_are_those_of_a_search(table: Table, data: st.DataObject):
    system = build_system(table)
    cells = data.draw(st.lists(st.integers(0, len(system) - 1), unique=True))
    count, label = components(system.matrix, np.array(cells, np.int64))
    wanted = by_search(system.matrix.toarray(), cells)
    assert label.tolist() == wanted
    assert count == len(set(wanted))


def test_published_cells_tie_nothing_together():
    system = build_system(ds.examples.small_table())
    corners = np.array([5, 6, 9, 10])
    assert components(system.matrix, corners)[0] == 1
    assert components(system.matrix, np.array([5, 10]))[1].tolist() == [0, 1]


def test_a_cell_in_no_relation_is_alone():
    assert components(csr_array((0, 3), dtype=np.int64), np.array([2, 0]))[1].tolist() == [0, 1]


def test_no_cells_have_no_components():
    count, label = components(build_system(ds.examples.small_table()).matrix, np.zeros(0, np.int64))
    assert (count, len(label)) == (0, 0)


def test_a_long_relation_takes_memory_like_its_cells():
    """Pairs of cells in one relation are not looked at, or this would need 100 GB."""
    size = 200_000
    matrix = csr_array((np.ones(size, np.int64), (np.zeros(size, np.int64), np.arange(size))), shape=(1, size))
    count, label = components(matrix, np.arange(size))
    assert count == 1
    assert not label.any()
