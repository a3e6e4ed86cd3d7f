"""Alternative tables: exact, within all bounds, and there whenever one exists."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.relations import build_system
from discreet.solve.local import LocalPrograms
from discreet.solve.quick import FOUND, cheapest
from discreet.solve.small import Alternative, Part, SmallProgram, Solver


def programs_of(table: ds.Table, upper: np.ndarray | None = None, integral: bool = False) -> LocalPrograms:
    system = build_system(table)
    size = len(system)
    return LocalPrograms(
        system.matrix[np.flatnonzero(system.defining)],
        system.value,
        np.zeros(size, np.int64),
        np.full(size, NO_UPPER) if upper is None else upper,
        movable=~system.empty,
        required=np.zeros(size, np.bool_),
        cost=np.ones(size),
        integral=np.full(size, integral),
    )


def find(programs: LocalPrograms, target: int, direction: int, level: int) -> Alternative | None:
    """An alternative, where the target's own bounds leave room for it."""
    new = int(programs.value[target]) + direction * level
    return programs.find(target, direction, level) if 0 <= new <= programs.upper[target] else None


def small(values: list[int]) -> ds.Table:
    by = {v: ds.Hierarchy.flat([f"{v}1", f"{v}2"]) for v in ("a", "b")}
    codes = list(itertools.product(("a1", "a2"), ("b1", "b2")))
    frame = pa.table({"a": [c[0] for c in codes], "b": [c[1] for c in codes], "value": values})
    return ds.Table.from_cells(frame, by=by, compute_totals=True)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=4, max_size=4),
    st.integers(0, 8),
    st.sampled_from([1, -1]),
    st.integers(1, 7),
    st.lists(st.integers(0, 4), min_size=9, max_size=9),
)
def test_an_alternative_is_found_exactly_when_brute_force_finds_one(values, target, direction, level, room):
    table = small(values)
    upper = table.value + np.array(room)
    found = find(programs_of(table, upper, integral=True), target, direction, level)
    possible = False
    for inner in itertools.product(range(12), repeat=4):
        whole = _totals(inner)
        if (whole <= upper).all() and (whole[target] - table.value[target]) * direction == level:
            possible = True
            break
    assert (found is not None) == possible
    if found is not None:
        move = np.zeros(9, np.int64)
        move[found.cells] = found.amount
        assert found.denominator == 1
        assert not (build_system(table).matrix @ move).any()
        assert ((table.value + move >= 0) & (table.value + move <= upper)).all()
        assert move[target] == direction * level


def _totals(inner: tuple[int, ...]) -> np.ndarray:
    square = np.zeros((3, 3), np.int64)
    square[1:, 1:] = np.array(inner).reshape(2, 2)
    square[0, 1:] = square[1:, 1:].sum(axis=0)
    square[1:, 0] = square[1:, 1:].sum(axis=1)
    square[0, 0] = square[1:, 1:].sum()
    return square.ravel()


def three_way(counts: bool) -> ds.Table:
    """A three-way table whose linear programs have fractional vertices."""
    rng = np.random.default_rng(7)
    by = {v: ds.Hierarchy.flat([f"{v}{i}" for i in range(k)]) for v, k in zip("abc", (3, 4, 3), strict=True)}
    frame = pa.table({**{v: rng.choice(h.base_codes, 80) for v, h in by.items()}, "x": rng.integers(1, 1000, 80)})
    return ds.tabulate(frame, by=by, value=None if counts else "x")


def test_fractional_vertices_become_exact_certificates():
    table = three_way(counts=False)
    table = table.with_(upper_bound=table.value * 2).assess(ds.MinContributors(2, range=60))
    release = ds.protect(table, ds.Suppress(cost="unity", insiders=None))
    assert release.verify().holds
    assert release.audit().short == 0


def test_counts_get_whole_numbers_even_where_the_linear_program_is_fractional():
    table = three_way(counts=True)
    table = table.with_(upper_bound=np.maximum(table.value * 2, table.value + 1)).assess(ds.MinFrequency(2))
    release = ds.protect(table, ds.Suppress(cost="unity", insiders=None))
    assert (release.custodian.evidence[0].certificates.denominator == 1).all()
    assert release.verify().holds


def test_a_cell_that_cannot_fall_so_far_has_no_alternative():
    programs = programs_of(small([3, 4, 5, 6]))
    assert find(programs, 4, -1, 4) is None
    assert find(programs, 4, -1, 3) is not None


@pytest.mark.parametrize("size", [1, 10**6, 10**12, 10**15])
def test_size_does_not_matter(size):
    found = find(programs_of(small([3 * size, 4 * size, 5 * size, 6 * size])), 4, 1, size + 1)
    assert found is not None
    assert max(found.amount) >= size + 1


def test_a_cell_is_not_called_impossible_because_a_tighter_program_has_no_answer():
    """Counts of one in three dimensions: cells can fall to zero exactly, and not a little less."""
    survey = ds.generate.business_survey(150, seed=3, activities=(4, 8, 12), regions=(2, 5))
    by = {v: ds.Hierarchy.from_parents(survey.parents[v], "Total") for v in ("region", "activity", "size")}
    table = ds.tabulate(survey.records, by=by).assess(ds.MinFrequency(2))
    release = ds.protect(table, ds.Suppress(insiders=None, effort=1))
    assert release.verify().holds
    assert (release.custodian.evidence[0].certificates.denominator == 1).all()


def test_cells_that_move_by_next_to_nothing_are_not_taken_to_stand_still():
    """A cell has room for nearly all of the level; three with very little room give the rest, against one more."""
    level, little = 10**9, 80
    value = np.array([level, level - 3 * little, little, little, little, 9])
    cost = np.array([0.0, 0.1, 1.0, 1.0, 1.0, 1.0])
    start = np.array([0, 1, 2, 4, 6, 8, 9], np.int32)
    index = np.array([0, 0, 0, 1, 0, 1, 0, 1, 1], np.int32)
    known = (value, np.zeros(6, np.int64), np.full(6, NO_UPPER))
    cells, ones, nothing = np.arange(6, dtype=np.int32), np.ones(9, np.int64), np.zeros(6, np.bool_)
    part = Part(cells, start, index, ones, *known, cost, cost, nothing, nothing)
    found = SmallProgram(part, 0, 1, level, Solver()).best(np.inf, 1)
    assert found is not None
    assert [int(found.move(cell)) for cell in range(6)] == [level, 240 - level, -80, -80, -80, 240]


# ---- cells that stand in no relation ------------------------------------------------------------------------


def lonely(integral: bool = False) -> Part:
    """One cell without a relation."""
    one = np.ones(1)
    known = (np.array([5]), np.array([NO_LOWER]), np.array([NO_UPPER]))
    free = np.array([True])
    whole = np.array([integral])
    return Part(
        np.array([7], np.int32), np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), *known, one, one,
        free, whole,
    )  # fmt: skip


@pytest.mark.parametrize("level", [3, 2**61])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("integral", [True, False])
def test_a_cell_that_stands_in_no_relation_moves_alone(level, direction, integral):
    found = SmallProgram(lonely(integral), 7, direction, level, Solver()).best(np.inf, 1)
    assert found is not None
    assert found.cells.tolist() == [7]
    assert found.move(7) == direction * level
    assert found.cost == 0


def test_the_compiled_solver_knows_programs_without_relations():
    none, one, moves = np.zeros(0, np.int64), np.ones(1), np.zeros(1)
    start, index = np.zeros(2, np.int32), np.zeros(0, np.int32)
    assert cheapest(start, index, none, 0, 0, -1.0, one, one, one, one, moves, np.zeros(2, np.int64)) == FOUND
    assert moves.tolist() == [-1.0]
    table = ds.Table.from_cells(
        pa.table({"a": ["Total"], "value": [5]}), {"a": ds.Hierarchy.flat(["Total"], total=None)}
    )
    found = programs_of(table).find(0, 1, 3)
    assert found is not None
    assert (found.cells.tolist(), found.amount.tolist(), found.cost) == ([0], [3], 1.0)
