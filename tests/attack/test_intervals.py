"""The attacker's intervals are what a linear program over the whole table says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.attack import External, attack_intervals
from discreet.attack.moves import PossibleMoves, tighten
from discreet.attack.settle import SettledLevels, settle
from discreet.errors import Cancelled
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.progress import reporting
from discreet.relations import build_system
from tests.attack.brute_force import ends, outsider
from tests.attack.test_insiders import protected, survey


def pattern(values: list[int], letters: str, sides: tuple[int, int] = (3, 3)) -> ds.Table:
    region = ds.Hierarchy.flat([f"r{i}" for i in range(sides[0])])
    trade = ds.Hierarchy.flat([f"t{i}" for i in range(sides[1])])
    rows = [(r, t) for r in region.base_codes for t in trade.base_codes]
    cells = {"region": [r for r, _ in rows], "trade": [t for _, t in rows], "value": values, "status": list(letters)}
    return ds.Table.from_cells(pa.table(cells), by={"region": region, "trade": trade}, compute_totals=True)


def agrees(system, withheld, found, some=None):
    bounds = outsider(system, withheld)
    for at in range(len(found.cells)) if some is None else some:
        cell = int(found.cells[at])
        low, high = ends(system, bounds, cell)
        slip = 1e-6 * max(1.0, abs(float(system.value[cell])))
        assert found.lower[at] == pytest.approx(low, abs=slip)
        assert found.upper[at] == pytest.approx(high, abs=slip)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=9, max_size=9), st.text("VM", min_size=9, max_size=9))
def test_intervals_agree_with_an_independent_solver(values, letters):
    table = pattern(values, letters)
    system = build_system(table)
    withheld = (table.status == 3) & ~table.empty
    agrees(system, withheld, attack_intervals(system, withheld))


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_hierarchical_tables_agree(seed, dimensions):
    system, withheld = protected(survey(seed, 60, dimensions), seed)
    found = attack_intervals(system, withheld)
    agrees(system, withheld, found, range(0, len(found.cells), 3))


@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_cells_with_given_bounds_or_none_agree(seed):
    system, withheld = protected(survey(seed), seed)
    random = np.random.default_rng(seed)
    near = system.value // 5
    lower = np.where(random.random(len(system)) < 0.5, NO_LOWER, system.value - near)
    upper = np.where(random.random(len(system)) < 0.5, NO_UPPER, system.value + near)
    system = replace(system, lower_bound=lower, upper_bound=upper)
    found = attack_intervals(system, withheld)
    agrees(system, withheld, found, range(0, len(found.cells), 2))


def test_cells_without_bounds_are_unlimited_unless_relations_say_more():
    system, withheld = protected(survey(1), 1)
    system = replace(system, value=-system.value, lower_bound=np.full(len(system), NO_LOWER))
    found = attack_intervals(system, withheld)
    assert np.isinf(found.upper).any()
    agrees(system, withheld, found, range(0, len(found.cells), 2))


@pytest.mark.parametrize("seed", range(3))
def test_levels_without_ends_give_the_same_verdicts(seed):
    system, withheld = protected(survey(seed, 150, codes=8), seed)
    exact, quick = (attack_intervals(system, withheld, exact=exact) for exact in (True, False))
    other = attack_intervals(system, withheld, exact=False, seed=9)
    assert quick.short.any()
    for found in (quick, other):
        assert found.short.tolist() == exact.short.tolist()
        assert found.recoverable.tolist() == exact.recoverable.tolist()
        assert (found.lower >= exact.lower - 1e-6).all()
        assert (found.upper <= exact.upper + 1e-6).all()


def test_values_of_1e15_are_judged_as_small_ones_are():
    verdicts = []
    for unit in (1, 10**12):
        system, withheld = protected(survey(4, 100, unit=unit, codes=8), 4)
        found = attack_intervals(system, withheld)
        verdicts.append((found.short.tolist(), found.recoverable.tolist()))
    assert float(system.value.max()) > 1e15
    assert any(verdicts[0][0])
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize(("level", "short"), [(3, False), (4, True)])
def test_a_small_level_beside_huge_cells_is_judged_exactly(level, short):
    """The first cell can rise by 3, the smaller of its neighbours, and no further."""
    system = build_system(pattern([10**15, 3, 10**15, 4, 10**15, 5, 10**15, 6, 7], "UMVMMVVVV"))
    system = replace(system, upper_level=np.where(system.unsafe, level, 0))
    assert attack_intervals(system, system.unsafe | system.given).short.any() == short


def test_sliding_levels_count_both_directions_together():
    system, withheld = protected(survey(5), 5)
    none = np.zeros_like(system.upper_level)
    wide = attack_intervals(system, withheld)
    width = (wide.upper - wide.lower)[system.unsafe[wide.cells]]
    level = np.zeros_like(none)
    level[system.unsafe] = np.where(np.arange(len(width)) % 2, np.floor(width), np.ceil(width) + 1).astype(np.int64)
    system = replace(system, upper_level=none, lower_level=none, sliding_level=level)
    for exact in (True, False):
        short = attack_intervals(system, withheld, exact=exact).short[system.unsafe[wide.cells]]
        assert short.tolist() == [i % 2 == 0 for i in range(len(width))]


def test_the_square_of_card_003_04():
    """Acceptance check 8: 10 20 / 30 40, all four withheld, margins published."""
    columns = ds.audit(pattern([10, 20, 30, 40], "MMMM", (2, 2)).assess()).columns()
    found = dict(zip(columns["value"], zip(columns["lower"], columns["upper"], strict=True), strict=True))
    assert found == {10: (0, 30), 20: (0, 30), 30: (10, 40), 40: (30, 60)}


@pytest.mark.parametrize("seed", range(3))
def test_the_full_table_leaves_no_more_room_than_a_part_of_it(seed):
    """Acceptance check 5 of card 003-04: fewer relations, wider intervals."""
    system, withheld = protected(survey(seed, 100), seed)
    full = attack_intervals(system, withheld)
    some = np.random.default_rng(seed).random(system.matrix.shape[0]) < 0.5
    part = system.related(matrix=system.matrix[np.flatnonzero(some)], defining=np.ones(int(some.sum()), np.bool_))
    wide = attack_intervals(part, withheld)
    assert (wide.lower <= full.lower + 1e-6).all()
    assert (wide.upper >= full.upper - 1e-6).all()
    assert ((wide.upper - wide.lower) > (full.upper - full.lower) + 1).any()


def test_a_few_cells_of_very_many_are_settled_in_their_surroundings(monkeypatch):
    system, withheld = protected(survey(2, 300, codes=12), 2)
    whole = attack_intervals(system, withheld, exact=False)
    monkeypatch.setattr("discreet.attack.settle.HUGE", 0)
    monkeypatch.setattr("discreet.attack.settle.SPARSE", 0)
    monkeypatch.setattr(SettledLevels, "sizes", (4, 16))
    near = attack_intervals(system, withheld, exact=False)
    assert near.short.tolist() == whole.short.tolist()
    assert near.recoverable.tolist() == whole.recoverable.tolist()


def test_only_wanted_cells_are_looked_at():
    system, withheld = protected(survey(2, 300, codes=12), 2)
    whole = attack_intervals(system, withheld, exact=False)
    wanted = np.arange(int(withheld.sum())) % 3 == 0
    attack = External(system, withheld, wanted)
    attack.run(False, 0)
    found = attack.intervals(False)
    assert found.looked_at.tolist() == wanted.tolist()
    assert found.short.tolist() == (whole.short & wanted).tolist()


def test_a_listener_stops_a_program_that_is_running(monkeypatch):
    """Nothing is reported between two programs here, so that the stop comes from within one."""
    monkeypatch.setattr("discreet.solve.program.LISTEN", 0.0)
    random = np.random.default_rng(0)
    table = pattern(random.integers(1, 99, 900).tolist(), "M" * 900, (30, 30))
    attack = External(build_system(table), build_system(table).given)
    cells, matrix = next(attack.bundles())

    def stop() -> None:
        raise Cancelled

    moves = PossibleMoves(matrix, attack.room[:, cells], attack.possible[:, cells], stop)
    level = np.ones_like(moves.room)
    with pytest.raises(Cancelled):
        settle(moves, SettledLevels(level, level, level[0], level), 0, lambda count: None)
    moves = PossibleMoves(matrix, attack.room[:, cells], attack.possible[:, cells])
    settle(moves, SettledLevels(level, level, level[0], level), 0, lambda count: None)
    assert (moves.shown >= 1).all()


def test_progress_goes_from_nothing_to_everything():
    steps = []
    with reporting(steps.append):
        ds.audit(survey(2, 300, codes=12).assess(ds.PPercent(10)))
    audit = [step for step in steps if step.stage == "audit"]
    assert audit[0].done == 0
    assert audit[-1].done == audit[-1].total
    assert all(0 <= step.done <= step.total for step in steps)


def test_lone_cells_of_relations_are_known_one_after_the_other():
    system = build_system(pattern([5, 6, 7, 8, 9, 10, 11, 12, 13], "MMVVMMVVM"))
    cells = np.flatnonzero(system.given)
    possible = np.stack((np.full(len(cells), np.inf), system.value[cells].astype(float)))
    tighten(system.matrix[:, cells].tocsr(), possible)
    assert possible.sum() == 0


def test_a_lone_withheld_cell_is_recoverable():
    audit = ds.audit(pattern([5, 6, 7, 8, 9, 10, 11, 12, 13], "MVVVVVVVV").assess())
    assert audit.recoverable == 1
    assert audit.columns()["verdict"] == ["recoverable"]
    assert audit.columns()["lower"] == [5.0]


def test_a_square_of_withheld_cells_hides_within_its_smallest():
    audit = ds.audit(pattern([5, 6, 7, 8, 9, 10, 11, 12, 13], "MMVMMVVVV").assess())
    assert audit.recoverable == 0
    assert audit.columns()["lower"] == pytest.approx([0, 0, 2, 4])
    assert audit.columns()["upper"] == pytest.approx([11, 11, 13, 15])
