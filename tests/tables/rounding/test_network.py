"""Rounding in networks without a program, against the linear program on the same table."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.relations import build_system
from discreet.tables.rounding import method
from discreet.tables.rounding.network import network, round_cheaply
from tests.tables.rounding.making import inside, table

TREE = ds.Hierarchy.from_nested({"A": ["A1", "A2", "A3"], "B": {"B1": ["B1a", "B1b"], "B2": None}})
FLAT = ds.Hierarchy.flat(["x", "y", "z"])


def tables(random: np.random.Generator, counts: bool = True) -> list[ds.Table]:
    """One-way and two-way tables, one variable hierarchical, with zeros and now and then with negative values."""
    made = [table(random.integers(-20, 40, (4, 3)))]
    for shape in ((7,), (1, 5), (6, 4), (9, 9)):
        made.append(table(np.where(random.random(shape) < 0.8, random.integers(0, 40, shape), 0), counts=counts))
    made.append(table(random.integers(0, 30, (6, 3)), hierarchies=(TREE, FLAT)))
    made.append(table(random.integers(0, 30, (3, 6)), hierarchies=(FLAT, TREE)))
    return made


@pytest.mark.parametrize("objective", ["nearest", "total", "random", "none"])
def test_no_program_finds_a_better_rounding(monkeypatch, objective):
    random = np.random.default_rng(8)
    for number in range(6):
        base = int(random.choice([2, 3, 5, 10, 100]))
        seed = number if objective == "random" else None
        how = ds.Round(base, objective=objective, levels=False, insecure_seed=seed)
        for made in tables(random):
            found = []
            for at_once in (method.AT_ONCE, 0):
                monkeypatch.setattr(method, "AT_ONCE", at_once)
                release = ds.protect(made.assess(), how)
                assert release.verify().holds
                found.append(release.custodian.evidence[0].facts)
                monkeypatch.undo()
            ours, program = found
            assert ours["worst_violation"] == program["worst_violation"] == 0
            assert ours["objective"] == pytest.approx(program["objective"])
            assert 0 <= ours["objective"] - ours["least_objective"] < 1e-6


def test_unsafe_cells_that_may_go_one_way_only_do(monkeypatch):
    random = np.random.default_rng(9)
    for _ in range(10):
        made = table(random.integers(1, 40, (5, 4)), counts=True).assess(ds.MinFrequency(6))
        found = []
        for at_once in (method.AT_ONCE, 0):
            monkeypatch.setattr(method, "AT_ONCE", at_once)
            try:
                found.append(ds.protect(made, ds.Round(10)).custodian.evidence[0].facts["objective"])
            except ds.errors.ProtectionError as error:
                found.append(str(error))
            monkeypatch.undo()
        assert found[0] == (found[1] if isinstance(found[1], str) else pytest.approx(found[1]))


def test_cells_without_a_choice_can_leave_no_rounding():
    made = table([[1, 1], [1, 1]])
    system = build_system(made)
    net = network(system)
    assert net is not None
    rest = system.value % 3
    low = np.zeros(len(system), np.int64)
    high = np.where(rest > 0, 3, 0)
    weight = np.where(rest > 0, 3 - 2 * rest, 0)
    assert round_cheaply(net, rest, 3, low, high, weight) is not None
    both_up = low.copy()
    both_up[[made.row(v0="a0", v1=code) for code in ("b0", "b1")]] = 3  # their sum lies between 0 and 3
    assert round_cheaply(net, rest, 3, both_up, high, weight) is None


def test_values_too_large_for_exact_weights_are_left_to_the_program():
    base = 2**55
    made = table(np.random.default_rng(10).integers(0, 2**56, (9, 9)))
    release = ds.protect(made.assess(), ds.Round(base, levels=False))
    assert release.verify().holds
    assert np.all(inside(release, (9, 9)) % base == 0)


def test_three_way_tables_and_crossed_hierarchies_are_no_networks():
    assert network(build_system(table(np.ones((2, 2, 2), int)))) is None
    assert network(build_system(table(np.ones((6, 6), int), hierarchies=(TREE, TREE)))) is None
    assert network(build_system(table(np.ones((6, 3), int), hierarchies=(TREE, FLAT)))) is not None
