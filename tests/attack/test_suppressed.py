"""Random sets of tables against attackers with programs and with lists of all tables; the full run is `make attack`."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from tests.attack.enumeration import all_tables
from tests.attack.programs import Programs
from tests.attack.publication import Shown, Tree, Unseen
from tests.attack.random_sets import SHAPES, RandomSet, random_set
from tests.attack.suppressed import attack, protect

SEEDS = {"cycle": (3, 9), "cube": (7, 8), "chain": (2, 14), "one": (0, 14), "star": (6, 24), "cube and margins": (5,)}
CASES = [(shape, seed) for shape in SHAPES for seed in SEEDS.get(shape, ())]


@pytest.mark.parametrize(("shape", "seed"), CASES)
def test_no_attacker_who_is_considered_comes_closer_than_the_level(shape: str, seed: int) -> None:
    case = random_set(seed, shape)
    release = protect(case)
    assert release is not None  # a set that is refused is not attacked
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


def _on_a_cycle() -> RandomSet:
    """A set whose relations alone leave a cell open that the table behind its cycle closes."""
    inner = ["122", "221", "211", "021", "112", "000", "212", "002", "110", "121", "012", "000", "200", "222"]
    trees = {v: Tree([f"{v}{i}" for i in range(3)], {"Total": [(f"{v}{i}", 1) for i in range(3)]}) for v in "ab"}
    trees["c"] = Tree(["c0", "c1", "c2"], {"Total": [("cG", 1), ("c2", 1)], "cG": [("c0", 1), ("c1", 1)]})
    return RandomSet(
        seed=0,
        shape="cycle",
        records={
            **{v: [f"{v}{codes[k]}" for codes in inner] for k, v in enumerate("abc")},
            "value": [3.65, 10.14, 13.9, 48.79, 21.21, 12.52, 31.6, 29.7, 5.1, 38.47, 12.07, 25.92, 34.94, 6.36],
            "firm": [f"f{i}" for i in (6, 9, 8, 7, 4, 5, 9, 1, 6, 10, 2, 10, 0, 4)],
            "w": [3.5, 3.5, 2.0, 3.5, 3.5, 2.0, 2.0, 1.0, 3.5, 2.0, 3.5, 3.5, 1.0, 3.5],
        },
        trees=trees,
        tables=[(table, "value") for table in SHAPES["cycle"]],
        weighted=True,
        decimals=2,
        rules=[ds.MinContributors(2), ds.PPercent(20)],
        method={"insiders": "nonzero"},
    )


def _silent(release: ds.Release) -> ds.Release:
    """The release without a word of what it leaves out."""
    admitted = release.custodian.evidence[0].claim
    object.__setattr__(release.custodian.evidence[0], "claim", type(admitted)(admitted.method, admitted.statement))
    return release


def test_a_release_made_before_its_tables_were_known_to_stand_on_one_would_be_found() -> None:
    case = _on_a_cycle()
    tables = ds.TableSet([table.with_(source=None) for table in case.assessed()])
    release = ds.protect(tables, ds.Suppress(**case.method))
    assert any("form a cycle" in text for text in release.verify().not_considered)
    assert [found for found in attack(case, _silent(release)) if found.attacker.startswith("somebody")]


@pytest.mark.parametrize(("seed", "shape", "forgotten"), [(24, None, "figures"), (3, "one", "earlier")])
def test_a_release_that_forgot_what_is_already_out_would_be_found(seed: int, shape: str | None, forgotten: str) -> None:
    case = random_set(seed, shape)
    assert forgotten in case.features
    release = ds.protect(case.assessed(), ds.Suppress(**case.method))
    assert [found for found in attack(case, _silent(release)) if found.attacker.startswith("somebody")]


def test_a_release_that_forgot_contributors_would_be_found() -> None:
    case = random_set(0, "one")
    assert case.method["insiders"]
    release = ds.protect(case.assessed(), ds.Suppress(**{**case.method, "insiders": None}))
    assert [found for found in attack(case, release) if found.attacker.startswith("firm")]
