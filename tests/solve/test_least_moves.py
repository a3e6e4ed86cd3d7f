"""Least moves by prices agree with linear and quadratic programs, and say when there are none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.sparse import block_diag, csr_array, hstack

import discreet as ds
from discreet.parallel import sharing
from discreet.relations import build_system
from discreet.solve.least_moves import in_blocks, least_absolute, least_squares
from tests.tables.rounding.making import table


def problem(shape: tuple[int, ...], seed: int):
    """Relations of a table, limits that ask a fifth of its inner cells to move, and weights."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(1, 500, shape)
    system = build_system(table(inner))
    matrix = csr_array(system.matrix[np.flatnonzero(system.defining)].astype(np.float64))
    value = system.value.astype(np.float64)
    lower, upper = -value, np.full(len(value), 1e15)
    asked = rng.choice(np.flatnonzero(value < 500), inner.size // 5, replace=False)
    up = rng.random(len(asked)) < 0.5
    level = np.ceil(0.2 * value[asked])
    lower[asked] = np.where(up, level, -value[asked])
    upper[asked] = np.where(up, 1e15, -level)
    return matrix, lower, upper, rng.uniform(0.5, 2, len(value))


def simplex(matrix, lower, upper, weight) -> float:
    both = hstack([matrix, -matrix])
    rise = [(max(lo, 0), None if hi > 1e14 else max(hi, 0)) for lo, hi in zip(lower, upper, strict=True)]
    fall = [(max(-hi, 0), max(-lo, 0)) for lo, hi in zip(lower, upper, strict=True)]
    found = linprog(np.tile(weight, 2), A_eq=both, b_eq=np.zeros(matrix.shape[0]), bounds=rise + fall)
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize(("shape", "seed"), [((6, 7), 1), ((4, 5, 6), 2), ((5, 5, 5), 3), ((3, 3, 3, 3), 4)])
def test_absolute_moves_cost_what_the_simplex_method_says(shape, seed):
    matrix, lower, upper, weight = problem(shape, seed)
    found = least_absolute(matrix, lower, upper, weight)
    least = simplex(matrix, lower, upper, weight)
    assert found.kept
    assert found.cost == pytest.approx(least, rel=2e-4)
    assert found.bound <= least * (1 + 1e-9)
    assert found.gap <= 1e-4
    assert np.all((found.move >= lower) & (found.move <= upper))
    assert np.abs(matrix @ found.move).max() < 1e-3


def test_squared_moves_agree_with_a_general_solver():
    matrix, lower, upper, weight = problem((3, 4), 5)
    found = least_squares(matrix, lower, upper, weight)
    dense = matrix.toarray()
    other = minimize(
        lambda y: weight @ y**2,
        found.move + 1,
        jac=lambda y: 2 * weight * y,
        bounds=list(zip(lower, np.minimum(upper, 1e6), strict=True)),
        constraints={"type": "eq", "fun": lambda y: dense @ y, "jac": lambda y: dense},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert found.kept
    assert found.cost == pytest.approx(other.fun, rel=1e-6)
    assert found.bound == pytest.approx(found.cost, rel=1e-5)


def test_components_solved_in_threads_are_the_answer_of_the_whole():
    parts = [problem((4, 4, 4), 6), problem((3, 5), 7), problem((5, 4), 8)]
    whole = csr_array(block_diag([p[0] for p in parts]))
    lower, upper, weight = (np.concatenate([p[k] for p in parts]) for k in (1, 2, 3))
    for solve in (least_squares, least_absolute):
        found = in_blocks(solve, whole, lower, upper, weight)
        alone = [solve(*p) for p in parts]
        assert found.kept
        assert found.cost == pytest.approx(sum(one.cost for one in alone))
        assert np.abs(whole @ found.move).max() < 1e-3


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_components_shared_out_have_the_same_answer_to_the_last_bit(backend):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed (discreet[jobs])")
    parts = [problem((4, 4, 4), 6), problem((3, 5), 7), problem((5, 4), 8)]
    whole = csr_array(block_diag([p[0] for p in parts]))
    given = [np.concatenate([p[k] for p in parts]) for k in (1, 2, 3)]
    here = in_blocks(least_absolute, whole, *given, gap=1e-3)
    with joblib.parallel_config(backend=backend), sharing(2):
        there = in_blocks(least_absolute, whole, *given, gap=1e-3)
    assert here.move.tobytes() == there.move.tobytes()
    assert here.price.tobytes() == there.price.tobytes()
    assert (here.cost, here.bound, here.kept, here.steps) == (there.cost, there.bound, there.kept, there.steps)


def test_tables_that_nothing_ties_together_are_adjusted_by_jobs_as_without(monkeypatch):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed (discreet[jobs])")
    monkeypatch.setattr("discreet.tables.adjust.programs.SIMPLEX_UP_TO", 0)
    rng = np.random.default_rng(8)
    tables = []
    for name in ("t", "u"):
        made = table(rng.integers(20, 900, (6, 6, 6)))
        by = dict(zip(made.variables, made.spec.hierarchies, strict=True))
        made = ds.Table.from_cells(made.to_frame(), by=by, name=name, period=name)
        unsafe = {(f"a{i}", f"b{i}", f"c{i}"): "U" for i in range(4)}
        tables.append(made.marked(unsafe, protection=(30, 30)).assess())
    both, pieces = ds.TableSet(tables), []

    def parallel(**options):
        run = joblib.parallel.Parallel(**options)

        def counted(calls):
            listed = list(calls)
            pieces.append(len(listed))
            return run(listed)

        return counted

    alone = ds.protect(both, ds.Adjust(algorithm="directions"))
    monkeypatch.setattr(joblib, "Parallel", parallel)
    with joblib.parallel_config(backend="threading"):
        shared = ds.protect(both, ds.Adjust(algorithm="directions"), jobs=2)
    assert set(pieces) == {2}
    assert shared.custodian.evidence[0].facts == alone.custodian.evidence[0].facts
    for mine, theirs in zip(alone.public.tables, shared.public.tables, strict=True):
        assert np.array_equal(mine.value, theirs.value)


def test_where_there_are_no_moves_it_says_so():
    relation = csr_array(np.array([[1.0, 1.0, -1.0]]))
    lower, upper = np.array([5.0, 0, 0]), np.array([9.0, 0, 0])
    assert not least_squares(relation, lower, upper, np.ones(3)).kept
    assert not least_absolute(relation, lower, upper, np.ones(3)).kept


def test_nothing_asked_moves_nothing():
    matrix, lower, upper, weight = problem((3, 3), 7)
    found = least_absolute(matrix, np.minimum(lower, 0), np.maximum(upper, 0), weight)
    assert found.kept
    assert not found.move.any()


def test_adjustment_of_a_large_table_by_prices_costs_what_the_simplex_method_finds(monkeypatch):
    rng = np.random.default_rng(8)
    inner = rng.integers(20, 900, (8, 8, 8))
    made = table(inner)
    for i, j, k in np.argwhere(rng.random(inner.shape) < 0.1).tolist():
        made = made.marked({(f"a{i}", f"b{j}", f"c{k}"): "U"}, protection=(30, 30))
    given = made.assess()
    wanted = ds.Adjust(algorithm="directions")
    one = ds.protect(given, wanted)
    monkeypatch.setattr("discreet.tables.adjust.programs.SIMPLEX_UP_TO", 0)
    two = ds.protect(given, wanted)
    assert two.verify().holds
    cost = [float(r.custodian.evidence[0].facts["sum_of_moves"]) for r in (one, two)]
    assert cost[1] <= 1.15 * cost[0]  # by prices no cells are flipped afterwards
    squares = ds.protect(given, ds.Adjust(objective="l2", algorithm="directions"))
    assert squares.verify().holds
    assert squares.custodian.evidence[0].facts["l2"] > 0
