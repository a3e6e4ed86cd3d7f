"""Least intervals by cuts: the same width as the program with a copy of the table for every need."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from discreet.relations import build_system
from discreet.solve.narrowest import Needs, narrowest
from tests.tables.rounding.making import table


def in_one_program(matrix: np.ndarray, most: np.ndarray, weight: np.ndarray, needs: Needs) -> float:
    """The least cost: room to rise and to fall, then the changes of all cells for each need."""
    relations, size = matrix.shape
    columns = 2 * size + len(needs) * size
    rows, equal, right = [], [], []
    limits = [(0.0, m) for m in most] + [(None, None)] * (columns - 2 * size)
    for number in range(len(needs)):
        span = slice(2 * size + number * size, 2 * size + (number + 1) * size)
        kept = np.zeros((relations, columns))
        kept[:, span] = matrix
        own = np.zeros((1, columns))
        own[0, span.start + needs.cell[number]] = 1.0
        equal += [kept, own]
        right += [np.zeros(relations), [needs.direction[number] * needs.distance[number]]]
        for sign, where in ((1.0, 0), (-1.0, size)):
            inside = np.zeros((size, columns))
            inside[:, span] = sign * np.eye(size)
            inside[:, where : where + size] = -np.eye(size)
            rows.append(inside)
    cost = np.concatenate((weight, weight, np.zeros(columns - 2 * size)))
    above = np.vstack(rows)
    done = linprog(cost, above, np.zeros(len(above)), np.vstack(equal), np.concatenate(right), limits)
    assert done.status == 0
    return float(done.fun)


@pytest.mark.parametrize(("shape", "seed"), [((3, 4), 1), ((4, 4), 2), ((3, 3, 2), 3)])
def test_cuts_reach_the_width_of_the_whole_program(shape, seed):
    rng = np.random.default_rng(seed)
    system = build_system(table(rng.integers(5, 60, shape)))
    matrix = csr_array(system.matrix[np.flatnonzero(system.defining)].astype(np.float64))
    chosen = rng.choice(len(system), 3, replace=False)
    needs = Needs(np.tile(chosen, 2), np.repeat([1, -1], 3), rng.integers(1, 9, 6).astype(float))
    weight = rng.uniform(0.5, 2.0, len(system))
    limit = np.full(len(system), 30.0)
    found = narrowest(matrix, limit, limit, weight, needs, grid=1e-6, programs=5_000)
    least = in_one_program(matrix.toarray(), np.tile(limit, 2), weight, needs)
    assert found.struck_at is None
    assert found.bound <= least * (1 + 1e-6)
    assert least * (1 - 1e-6) <= found.cost <= least * (1 + 1.1e-3)


def test_an_early_end_still_leaves_room_for_every_need_and_a_bound():
    rng = np.random.default_rng(5)
    system = build_system(table(rng.integers(5, 60, (3, 3, 2))))
    matrix = csr_array(system.matrix[np.flatnonzero(system.defining)].astype(np.float64))
    chosen = rng.choice(len(system), 4, replace=False)
    needs = Needs(np.tile(chosen, 2), np.repeat([1, -1], 4), rng.integers(1, 9, 8).astype(float))
    limit, weight = np.full(len(system), np.inf), np.ones(len(system))
    early, late = (narrowest(matrix, limit, limit, weight, needs, grid=1.0, programs=p) for p in (0, 5_000))
    assert early.struck_at is not None
    assert early.bound <= late.bound <= late.cost <= early.cost
    for room in (early, late):
        for cell, direction, distance in zip(needs.cell, needs.direction, needs.distance, strict=True):
            sides = list(zip(-room.fall, room.rise, strict=True))
            cost = np.zeros(len(system))
            cost[cell] = -direction
            done = linprog(cost, A_eq=matrix.toarray(), b_eq=np.zeros(matrix.shape[0]), bounds=sides)
            assert -done.fun >= distance - 1e-6


def test_what_no_room_can_reach_is_listed():
    matrix = csr_array(np.array([[1.0, 1.0, -1.0]]))
    needs = Needs(np.array([0, 0, 1]), np.array([1, -1, 1]), np.array([4.0, 2.0, 9.0]))
    room = np.array([5.0, 1.0, 2.0])
    found = narrowest(matrix, room, room, np.ones(3), needs, grid=1.0, programs=100)
    assert found.unreachable.tolist() == [0, 2]
    assert found.rise[0] == 0
    assert found.fall.tolist() == [2, 0, 2]
