"""Random sets of tables against attackers with programs and with lists of all tables; the full run is `make attack`."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from tests.attack.enumeration import all_tables
from tests.attack.programs import Programs
from tests.attack.publication import Shown, Tree, Unseen
from tests.attack.random_sets import SHAPES, random_set
from tests.attack.suppressed import attack, protect

SEEDS = {"cycle": (1, 3, 9), "cube": (4, 7), "chain": (2,), "one": (8, 11), "star": (6,), "cube and margins": (5,)}
CASES = [(shape, seed) for shape in SHAPES for seed in SEEDS.get(shape, ())]


@pytest.mark.parametrize(("shape", "seed"), CASES)
def test_no_attacker_who_is_considered_comes_closer_than_the_level(shape: str, seed: int) -> None:
    case = random_set(seed, shape)
    release = protect(case)
    if release is not None:
        assert not [str(found) for found in attack(case, release)]


def _unseen(cells: dict[tuple[str, ...], float | None]) -> tuple[Unseen, Shown]:
    trees = {v: Tree([f"{v}0", f"{v}1"], {"Total": [(f"{v}0", 1), (f"{v}1", 1)]}) for v in "ab"}
    shown = Shown("t", ("a", "b"), None, cells, [["Total", f"{v}0", f"{v}1"] for v in "ab"])
    return Unseen(trees, [shown]), shown


FOUR = {("a0", "b0"): None, ("a0", "b1"): None, ("a1", "b0"): None, ("a1", "b1"): None}
MARGINS = {("a0", "Total"): 3, ("a1", "Total"): 4, ("Total", "b0"): 2, ("Total", "b1"): 5, ("Total", "Total"): 7}


def test_the_attacker_with_programs_finds_what_margins_leave_open() -> None:
    unseen, shown = _unseen(FOUR | MARGINS)
    programs = Programs(unseen, np.zeros(4), unit=1.0)
    assert programs.ends(unseen.row(shown, ("a0", "b0"))) == (0.0, 2.0)
    assert programs.ends(unseen.row(shown, ("a1", "b1"))) == (2.0, 4.0)


def test_the_attacker_who_lists_all_tables_finds_the_same() -> None:
    unseen, shown = _unseen(FOUR | MARGINS)
    tables = all_tables(unseen, np.zeros(4), 7)
    assert len(tables) == 3
    assert sorted((tables @ unseen.row(shown, ("a0", "b0"))).tolist()) == [0, 1, 2]


def test_a_withheld_cell_that_margins_give_away_is_found() -> None:
    unseen, shown = _unseen(FOUR | {("a0", "b1"): 2} | MARGINS)
    assert Programs(unseen, np.zeros(4), unit=1.0).ends(unseen.row(shown, ("a0", "b0"))) == (1.0, 1.0)


def test_a_release_made_before_its_tables_were_known_to_stand_on_one_would_be_found() -> None:
    """The set's relations alone leave a cell open that the table behind its cycle closes."""
    case = random_set(71, "cycle")
    tables = ds.TableSet([table.with_(source=None) for table in case.assessed()])
    release = ds.protect(tables, ds.Suppress(**case.method))
    assert any("form a cycle" in text for text in release.verify().not_considered)
    admitted = release.custodian.evidence[0].claim
    silent = type(admitted)(admitted.method, admitted.statement)
    object.__setattr__(release.custodian.evidence[0], "claim", silent)
    assert [found for found in attack(case, release) if found.attacker.startswith("somebody")]
