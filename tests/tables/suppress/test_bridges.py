"""Cuts that say what must be withheld beside a cell so that it can move."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.relations import build_system
from discreet.tables.suppress.bridges import VIOLATION, Bridges
from tests.tables.rounding.making import table


@pytest.fixture(scope="module")
def relations() -> np.ndarray:
    return build_system(table(np.arange(1, 10).reshape(3, 3))).matrix.toarray().astype(float)


def moves(relations: np.ndarray, cell: int, without: np.ndarray) -> bool:
    """Whether a cell can move where some others cannot."""
    free = np.setdiff1d(np.arange(relations.shape[1]), without)
    rest = np.setdiff1d(free, [cell])
    return bool(np.linalg.matrix_rank(relations[:, free]) == np.linalg.matrix_rank(relations[:, rest]))


def made(relations: np.ndarray) -> Bridges:
    from scipy.sparse import csc_array

    return Bridges(csc_array(relations))


def test_without_the_cells_of_a_cut_its_cell_cannot_move(relations):
    """Whatever the point is, a cut is true of every pattern, and missed by the point."""
    rng = np.random.default_rng(3)
    bridges, count = made(relations), 0
    for _ in range(60):
        x = np.where(rng.random(16) < 0.5, rng.choice([0.0, 0.01, 0.3, 0.6, 1.0], 16), 0.0)
        settled = rng.random(16) < 0.15
        x[settled] = rng.choice([0.0, 1.0], int(settled.sum()))
        for cut in bridges.cuts(x, settled):
            *others, cell = cut.cell.tolist()
            count += 1
            assert cut.coefficient.tolist() == [1.0] * len(others) + [-1.0]
            assert cut.right == 0.0
            assert not moves(relations, cell, np.array(others, np.int64))
            assert not settled[[cell, *others]].any()
            assert x[others].sum() <= x[cell] - VIOLATION
    assert count > 40


def test_every_cell_of_the_point_that_is_not_settled_is_looked_at(relations):
    bridges = made(relations)
    x, settled = np.zeros(16), np.zeros(16, np.bool_)
    x[5], x[6], x[7], x[8] = 0.5, VIOLATION, 1.0, 0.01
    settled[7] = True
    (cut,) = bridges.cuts(x, settled)
    assert bridges.solved == 1
    assert cut.cell[-1] == 5


def test_a_cell_that_moves_with_settled_ones_needs_no_cut(relations):
    settled = np.zeros(16, np.bool_)
    settled[[5, 6, 9]] = True
    x = np.where(settled, 1.0, 0.0)
    x[10] = 0.8
    assert made(relations).cuts(x, settled) == []
    settled[9], x[9] = False, 0.0
    assert [cut.cell[-1] for cut in made(relations).cuts(x, settled)] == [10]
