"""What any safe pattern costs at least: never more than the cheapest one, and near it where relations say enough."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import discreet as ds
from discreet.generate import business_survey
from discreet.relations import System, build_system
from discreet.tables.suppress.bound import LeastCost, against_least, least_cost
from discreet.tables.suppress.certified import movable_cells


def least_of(system: System, cost: np.ndarray | None = None) -> tuple[LeastCost, np.ndarray]:
    """The bound of a system against outsiders, and the costs that it is of."""
    prepared = ds.Suppress(insiders=None)._prepared(system)
    cost = prepared.cost if cost is None else cost
    return least_cost(prepared.hidden, cost, prepared.attackers), cost


def reaches(system: System, withheld: np.ndarray, target: int, direction: int, level: int) -> bool:
    """Whether an outsider who knows that no value is negative must reckon with a cell at its level."""
    moving = withheld & movable_cells(system)
    bounds = [(-float(v), None) if m else (0.0, 0.0) for v, m in zip(system.value, moving, strict=True)]
    aim = np.zeros(len(system))
    aim[target] = -direction
    matrix = system.matrix.toarray()
    found = linprog(aim, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=bounds)
    return found.status == 3 or (found.status == 0 and -found.fun >= level - 1e-6)


def cheapest(system: System, cost: np.ndarray, protected: list[int]) -> float:
    """What the cheapest pattern costs that protects some cells, over all patterns."""
    found = cheapest_pattern(system, cost, protected)
    return np.inf if found is None else float(cost[found].sum())


def cheapest_pattern(system: System, cost: np.ndarray, protected: list[int]) -> list[int] | None:
    """The secondaries of the cheapest pattern that protects some cells, over all patterns."""
    free = np.flatnonzero(movable_cells(system) & ~system.unsafe)
    patterns = [c for size in range(len(free) + 1) for c in itertools.combinations(free.tolist(), size)]
    for chosen in sorted(patterns, key=lambda c: cost[list(c)].sum()):
        withheld = system.unsafe.copy()
        withheld[list(chosen)] = True
        asked = [(t, d, int(n[t])) for t in protected for d, n in ((1, system.upper_level), (-1, system.lower_level))]
        if all(reaches(system, withheld, *one) for one in asked if one[2]):
            return list(chosen)
    return None


def small_system(values: list[int], unsafe: list[int]) -> System:
    """A table of three by two with a total in each direction; some inner cells are unsafe by 40 per cent."""
    inner = np.array(values).reshape(3, 2)
    rows = [{"a": f"a{i}", "b": f"b{j}", "value": int(inner[i, j])} for i, j in np.ndindex(3, 2)]
    records = ds.Microdata(pa.Table.from_pylist(rows))
    system = build_system(ds.tabulate(records, by=["a", "b"], value="value").assess(ds.MinContributors(1)))
    level = np.zeros(len(system), np.int64)
    finest = [i for i in range(len(system)) if "Total" not in system.cell_name(i)]
    chosen = [finest[u] for u in unsafe if system.value[finest[u]] > 0]
    level[chosen] = np.maximum(system.value[chosen] * 2 // 5, 1)
    return replace(system, unsafe=level > 0, upper_level=level, lower_level=level, sliding_level=np.zeros_like(level))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=1, max_size=2),
    st.integers(0, 2**20),
)
def test_no_safe_pattern_of_all_there_are_is_cheaper(values: list[int], unsafe: set[int], seed: int) -> None:
    system = small_system(values, sorted(unsafe))
    cost = np.where(system.unsafe, 0.0, np.random.default_rng(seed).integers(0, 90, len(system)).astype(float))
    least, cost = least_of(system, cost)
    protected = np.flatnonzero(system.unsafe).tolist()
    assert least.proved() <= cheapest(system, cost, protected) + 1e-9
    if len(protected) > 1:
        assert least.proved(protected[:1]) <= cheapest(system, cost, protected[1:]) + 1e-9


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=6, max_size=6),
    st.sets(st.integers(0, 5), min_size=1, max_size=2),
    st.integers(0, 2**20),
)
def test_the_cheapest_pattern_withholds_nothing_that_is_too_dear(
    values: list[int], unsafe: set[int], seed: int
) -> None:
    system = small_system(values, sorted(unsafe))
    cost = np.where(system.unsafe, 0.0, np.random.default_rng(seed).integers(1, 90, len(system)).astype(float))
    least, cost = least_of(system, cost)
    found = cheapest_pattern(system, cost, np.flatnonzero(system.unsafe).tolist())
    if found is not None:
        assert not least.too_dear(float(cost[found].sum()) + 1.0)[found].any()


def test_dear_cells_are_ruled_out_where_the_bound_is_near() -> None:
    least, _ = least_of(build_system(survey_table()))
    assert least.too_dear(least.proved() * 1.01).any()
    assert not least.too_dear(1e15).any()


def test_the_bound_is_the_optimum_where_relations_say_everything() -> None:
    system = small_system([10, 50, 30, 40, 20, 60], [0])
    least, cost = least_of(system)
    assert least.proved() == pytest.approx(cheapest(system, cost, np.flatnonzero(system.unsafe).tolist()), rel=1e-4)


def survey_table(records: int = 1_200) -> ds.Table:
    survey = business_survey(records, activities=(3, 8), regions=(2, 5), seed=4)
    by = {name: ds.Hierarchy.from_parents(survey.parents[name], total="Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(survey.records, contributor="holding"), by=by, value="turnover")
    return table.assess(ds.PPercent(10))


def test_certified_patterns_meet_every_condition_and_cost_more() -> None:
    table = survey_table()
    release = ds.protect(table, ds.Suppress(insiders=None, joint=False))
    effort = release.custodian.evidence[0].effort
    optimum = ds.protect(table, ds.Suppress(insiders=None, joint=False, algorithm="optimal"))
    proved = optimum.custodian.evidence[0].effort
    assert 0 < effort["least_cost"] <= proved["cost"] <= effort["cost"]
    assert effort["least_cost"] >= 0.8 * proved["cost"]


def test_prices_are_not_trusted() -> None:
    least, _ = least_of(build_system(survey_table()))
    honest = least.proved()
    assert honest > 0
    assert replace(least, _price=least._price * 1.5).proved() <= honest
    assert replace(least, _price=-least._price).proved() <= honest


def test_a_release_says_how_far_it_is_from_the_proven_least() -> None:
    release = ds.protect(survey_table(), ds.Suppress())
    effort = release.custodian.evidence[0].effort
    [said] = [text for text in release.custodian.evidence[0].findings if "proven least" in text]
    assert f"{effort['cost'] / effort['least_cost']:.2f} times" in said
    assert against_least({"cost": 0, "least_cost": 0}) == ()
    assert "nothing could be proved" in against_least({"cost": 5, "least_cost": 0})[0]
