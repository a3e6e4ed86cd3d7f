"""Distances between cells, counted in relations."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import discreet as ds
from discreet.relations import build_system
from discreet.relations.distance import distance_in_relations


def by_walking(matrix: np.ndarray, sources: list[int]) -> list[int]:
    """The same, one cell and relation after the other."""
    distance = dict.fromkeys(sources, 0)
    frontier, step = list(sources), 0
    while frontier:
        step += 1
        found = {
            int(other)
            for cell in frontier
            for row in np.flatnonzero(matrix[:, cell])
            for other in np.flatnonzero(matrix[row])
        }
        frontier = [cell for cell in found if cell not in distance]
        distance.update(dict.fromkeys(frontier, step))
    far = max(distance.values(), default=0) + 1
    return [distance.get(cell, far) for cell in range(matrix.shape[1])]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_distances_are_those_of_a_walk(data):
    rows, cells = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 10))
    entries = data.draw(st.lists(st.sampled_from([-1, 0, 0, 0, 1]), min_size=rows * cells, max_size=rows * cells))
    matrix = np.array(entries).reshape(rows, cells)
    sources = sorted(data.draw(st.sets(st.integers(0, cells - 1), max_size=3)))
    found = distance_in_relations(csr_array(matrix), np.array(sources, np.int64))
    assert found.tolist() == by_walking(matrix, sources)


def test_cells_beside_an_unsafe_one_are_nearer_than_cells_across():
    table = ds.examples.small_table().assess(ds.PPercent(10))
    cost = build_system(table).cost("distance")
    assert cost[table.row(trade="retail", region="South")] == 0
    assert cost[table.row(trade="retail", region="North")] == 1
    assert cost[table.row(trade="food", region="South")] == 1
    assert cost[table.row(trade="food", region="North")] == 2


def test_without_an_unsafe_cell_all_are_alike():
    table = ds.examples.small_table().assess()
    assert set(build_system(table).cost("distance").tolist()) == {1.0}
