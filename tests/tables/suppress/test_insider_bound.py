"""What contributors force a pattern to withhold: never more than the cheapest safe pattern, over all patterns."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import discreet as ds
from discreet.relations import System, build_system
from discreet.tables.suppress.bound import LeastCost, least_cost
from discreet.tables.suppress.certified import movable_cells
from tests.tables.suppress.test_bound import survey_table

TABLES, MORE_TABLES = 6, 100


def bound_of(system: System, insiders: str | None) -> tuple[LeastCost, np.ndarray]:
    prepared = ds.Suppress(insiders=insiders)._prepared(system)  # type: ignore[arg-type]
    return least_cost(prepared.hidden, prepared.cost, prepared.attackers), prepared.cost


def tiny_table(seed: int) -> ds.Table:
    """Up to three by three cells of few firms, some of which belong together."""
    random = np.random.default_rng(seed)
    rows, columns = int(random.integers(2, 4)), int(random.integers(2, 4))
    count = int(random.integers(rows * columns, 4 * rows * columns))
    firms = pa.table(
        {
            "r": [f"r{i}" for i in random.integers(0, rows, count)],
            "c": [f"c{i}" for i in random.integers(0, columns, count)],
            "v": np.ceil(np.exp(random.normal(2.5, 1.3, count))).astype(np.int64),
            "holding": random.integers(0, max(3, count // 2), count),
        }
    )
    by = {name: ds.Hierarchy.flat([f"{name}{i}" for i in range(n)]) for name, n in (("r", rows), ("c", columns))}
    table = ds.tabulate(ds.Microdata(firms, contributor="holding"), by=by, value="v")
    return table.assess(ds.PPercent(15))


class Judge:
    """Says whether a pattern is safe, by linear programs over all cells for every attacker."""

    def __init__(self, table: ds.Table, insiders: str) -> None:
        self.system, self.insiders = build_system(table), insiders
        self.matrix = self.system.matrix.toarray()
        self.movable = movable_cells(self.system)
        holders = table.holders
        assert holders is not None
        self.has: list[dict[int, int]] = [{} for _ in range(len(self.system))]
        self.count = np.zeros(len(self.system), np.int64)
        for row, cell in enumerate(self.system.of[0].tolist()):
            names = zip(holders.identity[row].tolist(), holders.amount[row].tolist(), strict=True)
            self.count[cell] = holders.count[row]
            self.has[cell] = {who: amount for who, amount in names if who != -1}
        self.people = sorted({who for has in self.has for who in has})

    def reach(self, withheld: np.ndarray, cell: int, direction: int, who: int | None, exact: bool = True) -> float:
        """How far a cell can move as an outsider, or somebody in it, must reckon."""
        bounds = []
        for c, value in enumerate(self.system.value.tolist()):
            alone = self.count[c] == 1 and who in self.has[c]
            if not (withheld[c] and self.movable[c]) or (alone and c != cell):
                bounds.append((0.0, 0.0))
                continue
            known = 0 if who is None or not exact or c == cell else self.has[c].get(who, 0)
            bounds.append((float(known - value), 10.0 * float(self.system.value.max())))
        aim = np.zeros(len(self.system))
        aim[cell] = -direction
        found = linprog(aim, A_eq=self.matrix, b_eq=np.zeros(len(self.matrix)), bounds=bounds)
        return 0.0 if found.status != 0 else -found.fun

    def protected(self, withheld: np.ndarray, cell: int) -> bool:
        up, down = int(self.system.upper_level[cell]), int(self.system.lower_level[cell])
        close = 1e-6
        if self.reach(withheld, cell, 1, None) < up - close or self.reach(withheld, cell, -1, None) < down - close:
            return False
        has = self.has[cell]
        largest = next(iter(has), None)
        for who in self.people:
            if self.count[cell] == 1 and who in has:
                continue
            if self.insiders == "nonzero":
                moves = max(self.reach(withheld, cell, way, who, exact=False) for way in (1, -1))
                if moves < close:
                    return False
                continue
            if self.reach(withheld, cell, 1, who) < up - close:
                return False
            spared = who == largest or has.get(who, 0) > self.system.value[cell] - down
            if not spared and self.reach(withheld, cell, -1, who) < down - close:
                return False
        return True

    def safe(self, withheld: np.ndarray, cells: list[int]) -> bool:
        """Whether a pattern protects all of some cells."""
        return all(self.protected(withheld, cell) for cell in cells)

    def cheaper(self, cost: np.ndarray, least: float) -> list[np.ndarray]:
        """All patterns that cost less than what is said to be the least."""
        free = np.flatnonzero(self.movable & ~self.system.unsafe).tolist()
        patterns = []
        for size in range(len(free) + 1):
            for chosen in itertools.combinations(free, size):
                if cost[list(chosen)].sum() < least * (1 - 1e-9):
                    withheld = self.system.unsafe.copy()
                    withheld[list(chosen)] = True
                    patterns.append(withheld)
        return patterns


@pytest.mark.parametrize("tables", [TABLES, pytest.param(MORE_TABLES, marks=pytest.mark.paper)])
@pytest.mark.parametrize("insiders", ["nonzero", "full"])
def test_no_pattern_that_is_cheaper_than_the_bound_is_safe(insiders: str, tables: int) -> None:
    beyond = looked_at = 0
    for seed in range(tables):
        table = tiny_table(seed)
        judge = Judge(table, insiders)
        unsafe = np.flatnonzero(judge.system.unsafe & (judge.system.upper_level > 0)).tolist()
        everything = judge.system.unsafe | judge.movable
        can = [cell for cell in unsafe if judge.protected(everything, cell)]
        least, cost = bound_of(judge.system, insiders)
        left_out = sorted(set(unsafe) - set(can))
        proved, outside = least.proved(left_out), bound_of(judge.system, None)[0].proved(left_out)
        beyond += proved > outside * 1.05
        for withheld in judge.cheaper(cost, proved) if can else ():
            looked_at += 1
            assert not judge.safe(withheld, can), f"seed {seed}"
    assert beyond
    assert looked_at > tables


@pytest.mark.parametrize("insiders", ["nonzero", "full"])
def test_certified_patterns_cost_no_less_than_the_bound_that_knows_insiders(insiders: str) -> None:
    release = ds.protect(survey_table(600), ds.Suppress(insiders=insiders, joint=False))  # type: ignore[arg-type]
    effort = release.custodian.evidence[0].effort
    outside = bound_of(build_system(survey_table(600)), None)[0].proved()
    assert outside <= effort["least_cost"] * 1.001 + 1
    assert effort["least_cost"] <= effort["cost"]


def test_prices_of_what_insiders_force_are_not_trusted() -> None:
    from dataclasses import replace

    least, _ = bound_of(build_system(survey_table(600)), "full")
    assert replace(least, _price=least._price * 1.5).proved() <= least.proved()
    assert replace(least, _price=-least._price).proved() <= least.proved()
