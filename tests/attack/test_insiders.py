"""Insiders find what brute force over every contributor finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.attack import External, WorstInsider, attack_by_insiders
from discreet.model.arrays import NO_LOWER
from discreet.relations import build_system
from discreet.relations.insiders import Contributing
from tests.attack.brute_force import worst_insider


def survey(seed, records=60, dimensions=2, unit=1, codes=3):
    random = np.random.default_rng(seed)
    trees = [
        ds.Hierarchy.from_parents({"A": "T", "B": "T", "a1": "A", "a2": "A", "b1": "B", "b2": "B"}, total="T"),
        ds.Hierarchy.flat([f"x{i}" for i in range(codes)]),
        ds.Hierarchy.flat(["m", "n"]),
    ][:dimensions]
    by = {f"v{k}": tree for k, tree in enumerate(trees)}
    columns = {name: random.choice(tree.base_codes, records) for name, tree in by.items()}
    columns["value"] = np.rint(random.lognormal(3, 1.5, records)).astype(np.int64) * unit
    columns["firm"] = random.integers(0, records // 2, records)
    return ds.tabulate(ds.Microdata(pa.table(columns), contributor="firm"), by=by, value="value")


def protected(table, seed, share=0.5):
    """A random pattern around the unsafe cells."""
    system = build_system(table.assess(ds.PPercent(15)))
    random = np.random.default_rng(seed)
    withheld = system.unsafe | (random.random(len(system)) < share)
    return system, withheld & ~system.empty


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_worst_insider_is_found(seed, full, dimensions):
    system, withheld = protected(survey(seed, 40 * dimensions, dimensions), seed, 0.4)
    assert (system.contributors[withheld] > 0).all()
    attack = External(system, withheld)
    attack.run(False, seed)
    found = attack_by_insiders(attack, full, seed)
    assert (found >= 0).tolist() == system.unsafe[attack.cells].tolist()
    unsafe = np.flatnonzero(found >= 0)[:12]
    expected = [worst_insider(system, withheld, int(cell), full) for cell in attack.cells[unsafe]]
    assert found[unsafe].tolist() == expected


def test_insiders_of_signed_cells_know_only_the_cells_that_they_fill_alone():
    system, withheld = protected(survey(11), 11)
    system = replace(system, lower_bound=np.full(len(system), NO_LOWER))
    attack = External(system, withheld)
    attack.run(False, 0)
    found = attack_by_insiders(attack, True, 0)
    unsafe = np.flatnonzero(found >= 0)[:12]
    assert found[unsafe].tolist() == [worst_insider(system, withheld, int(c), True) for c in attack.cells[unsafe]]


def test_sliding_levels_hold_against_insiders_too():
    system, withheld = protected(survey(5), 5)
    none = np.zeros_like(system.upper_level)
    system = replace(system, upper_level=none, lower_level=none, sliding_level=system.value // 4)
    attack = External(system, withheld)
    attack.run(False, 0)
    found = attack_by_insiders(attack, True, 0)
    unsafe = np.flatnonzero(found >= 0)[:12]
    assert found[unsafe].tolist() == [worst_insider(system, withheld, int(c), True) for c in attack.cells[unsafe]]


def test_verdicts_do_not_depend_on_the_seed():
    system, withheld = protected(survey(3, 200), 3)
    found = []
    for seed in (0, 1):
        attack = External(system, withheld)
        attack.run(False, seed)
        found.append(attack_by_insiders(attack, True, seed).tolist())
    assert found[0] == found[1]


def singles(identity, count, amount):
    """Two cells in each of two rows and columns, withheld, all margins published."""
    row, column = ds.Hierarchy.flat(["r1", "r2"]), ds.Hierarchy.flat(["c1", "c2"])
    cells = pa.table({"row": ["r1", "r1", "r2", "r2"], "column": ["c1", "c2"] * 2, "value": [10, 20, 30, 40]})
    table = ds.Table.from_cells(cells, by={"row": row, "column": column}, compute_totals=True)
    inner = np.array([table.row(row=r, column=c) for r in ("r1", "r2") for c in ("c1", "c2")])
    system = build_system(table)
    size = len(system)
    holder, own = np.full((size, 1), -1), np.zeros((size, 1), np.int64)
    contributors = np.full(size, 9)
    holder[system.of[0][inner], 0] = identity
    own[system.of[0][inner], 0] = amount
    contributors[system.of[0][inner]] = count
    unsafe = np.zeros(size, np.bool_)
    unsafe[system.of[0][inner]] = True
    level = np.where(unsafe, 5, 0)
    insiders = replace(system.insiders)
    vars(insiders)["found"] = Contributing(contributors, holder, own)
    system = replace(system, insiders=insiders, unsafe=unsafe, upper_level=level, lower_level=level)
    attack = External(system, unsafe)
    attack.run(False, 0)
    found = attack_by_insiders(attack, True, 0)
    at = np.searchsorted(attack.cells, system.of[0][inner])
    return [WorstInsider(code) for code in found[at].tolist()]


def test_who_alone_fills_one_cell_of_a_square_knows_the_other_three():
    assert singles([7, -1, -1, -1], [1, 2, 2, 2], [10, 0, 0, 0]) == [
        WorstInsider.KEPT,
        WorstInsider.RECOVERABLE,
        WorstInsider.RECOVERABLE,
        WorstInsider.RECOVERABLE,
    ]


def test_who_contributes_to_a_cell_knows_how_far_the_others_can_move():
    """The first cell falls by 2 at most for its largest contributor; it is asked for no more of that cell itself."""
    kept, short = WorstInsider.KEPT, WorstInsider.SHORT
    assert singles([7, -1, -1, -1], [2, 2, 2, 2], [8, 0, 0, 0]) == [kept, short, short, short]
    assert singles([7, -1, -1, -1], [2, 2, 2, 2], [5, 0, 0, 0]) == [kept] * 4


def test_whoever_is_not_listed_may_contribute_as_much_as_the_last_who_is():
    short = WorstInsider.SHORT
    assert singles([7, -1, -1, -1], [3, 2, 2, 2], [8, 0, 0, 0]) == [WorstInsider.KEPT, short, short, short]
