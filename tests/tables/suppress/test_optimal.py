"""Optimal suppression: against all patterns of tiny tables, published examples, and what it promises of larger ones."""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array

import discreet as ds
from discreet.generate import business_survey
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.relations import build_system
from discreet.tables.suppress import branching
from discreet.tables.suppress.branching import BranchingSearch
from discreet.tables.suppress.cuts import CutPrograms, capacity_cuts
from discreet.tables.suppress.optimal import Optimum, PatternDemands, optimal
from discreet.tables.suppress.tree import TreeSearch


def cube(inner: np.ndarray) -> tuple[csr_array, np.ndarray]:
    """Relations and values of a table with one total in each dimension."""
    value = inner
    for axis in range(inner.ndim):
        value = np.concatenate((value, value.sum(axis=axis, keepdims=True)), axis=axis)
    number = np.arange(value.size).reshape(value.shape)
    rows = []
    for axis in range(value.ndim):
        for line in np.moveaxis(number, axis, -1).reshape(-1, value.shape[axis]):
            row = np.zeros(value.size, np.int64)
            row[line], row[line[-1]] = 1, -1
            rows.append(row)
    return csr_array(np.array(rows)), value.ravel()


def _box(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Corners of a box: cells that can move together."""
    sides = [rng.choice(size + 1, 2, replace=False) for size in shape]
    return np.ravel_multi_index(np.array(list(itertools.product(*sides))).T, tuple(size + 1 for size in shape))


class Case:
    """A random small problem: few movable cells, bounds of all kinds, one to three targets, insiders among them."""

    def __init__(self, shape: tuple[int, ...], seed: int) -> None:
        rng = np.random.default_rng(seed)
        low = -20 if seed % 3 == 0 else 0
        self.matrix, self.value = cube(rng.integers(low, 30, shape))
        n = len(self.value)
        self.lower = self.value - rng.integers(3, 25, n)
        self.upper = self.value + rng.integers(3, 40, n)
        self.lower[rng.random(n) < 0.3] = NO_LOWER
        self.upper[rng.random(n) < 0.5] = NO_UPPER
        boxes = [_box(shape, rng) for _ in range(2 if len(shape) == 3 else 4)]
        targets = np.unique([box[0] for box in boxes[: int(rng.integers(1, 3))]])
        self.required = np.isin(np.arange(n), targets)
        self.movable = np.isin(np.arange(n), np.concatenate(boxes))
        self.movable[rng.permutation(n)[:2]] = True
        self.cost = rng.integers(0, 50, n).astype(np.float64)
        count = 2 * len(targets)
        known = [rng.choice(n, int(rng.integers(0, 3)), replace=False) for _ in range(count)]
        cell = np.concatenate(known).astype(np.int64)
        self.demands = PatternDemands(
            np.repeat(targets, 2),
            np.tile([1, -1], len(targets)),
            rng.integers(0, 9, count),
            np.concatenate(([0], np.cumsum([len(cells) for cells in known]))),
            cell,
            self.value[cell] - rng.integers(0, 5, len(cell)),
            self.value[cell] + rng.integers(0, 5, len(cell)),
        )

    def met(self, k: int, withheld: np.ndarray) -> bool:
        """Whether a demand is met, by another linear program."""
        d = self.demands
        if d.level[k] == 0:
            return True
        lower, upper = self.lower.copy(), self.upper.copy()
        span = slice(d.start[k], d.start[k + 1])
        lower[d.cell[span]] = np.maximum(lower[d.cell[span]], d.lower[span])
        upper[d.cell[span]] = np.minimum(upper[d.cell[span]], d.upper[span])
        bounds = [
            (None if low <= NO_LOWER else low - v, None if up >= NO_UPPER else up - v) if hidden else (0, 0)
            for low, up, v, hidden in zip(lower, upper, self.value, withheld, strict=True)
        ]
        wish = np.zeros(len(self.value))
        wish[d.target[k]] = -d.direction[k]
        answer = linprog(wish, A_eq=self.matrix, b_eq=np.zeros(self.matrix.shape[0]), bounds=bounds)
        return answer.status == 3 or -answer.fun >= d.level[k] - 1e-7

    def feasible(self, withheld: np.ndarray) -> bool:
        return all(self.met(k, withheld) for k in range(len(self.demands)))

    def solve(self, start: np.ndarray | None = None, **options: float) -> Optimum:
        return optimal(
            self.matrix,
            self.value,
            self.lower,
            self.upper,
            self.movable,
            self.required,
            self.cost,
            self.demands,
            self.movable if start is None else start,
            **options,
        )

    def cheaper_pattern(self, limit: float) -> np.ndarray | None:
        """A feasible pattern that costs less, found by looking at all of them."""
        optional = np.flatnonzero(self.movable & ~self.required)
        bits = 1 << np.arange(len(optional))
        masks = np.arange(1 << len(optional))
        costs = ((masks[:, None] & bits) > 0) @ self.cost[optional] + self.cost[self.required].sum()
        masks = masks[costs < limit - 1e-9]
        # Larger patterns first: what does not do with more cells does not do with fewer.
        masks = masks[np.argsort([-int(m).bit_count() for m in masks], kind="stable")]
        while len(masks):
            withheld = self.required.copy()
            withheld[optional[(masks[0] & bits) > 0]] = True
            if self.feasible(withheld):
                return withheld
            masks = masks[(masks & ~masks[0]) != 0]
        return None


@pytest.mark.parametrize(("shape", "seeds"), [((2, 3), 25), ((3, 3), 25), ((3, 4), 25), ((2, 2, 2), 8), ((2, 3, 2), 5)])
def test_no_pattern_of_a_tiny_table_is_cheaper(shape, seeds):
    found = 0
    for seed in range(seeds):
        case = Case(shape, seed)
        unmet = [k for k in range(len(case.demands)) if not case.met(k, case.movable)]
        if unmet:
            with pytest.raises(ValueError, match=r"Demand \d+ cannot be met") as error:
                case.solve()
            assert int(str(error.value).split()[1]) in unmet
            continue
        answer = case.solve()
        assert case.feasible(answer.withheld)
        assert answer.proven
        assert answer.bound <= answer.cost == case.cost[answer.withheld].sum()
        assert np.all(case.required <= answer.withheld)
        assert np.all(answer.withheld <= case.movable)
        assert case.cheaper_pattern(answer.cost) is None
        found += answer.withheld.sum() > case.required.sum()
    assert found >= 2


def test_the_published_pattern_of_the_investment_table_is_optimal_for_the_intervals_that_it_leaves():
    """Fischetti and Salazar (2001), first example: 22 is known to lie between 5 and 30."""
    matrix, value = cube(np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    target = np.flatnonzero(value == 22)
    every = np.ones(16, np.bool_)
    demands = PatternDemands.external(np.repeat(target, 2), np.array([1, -1]), np.array([8, 17]))
    answer = optimal(
        matrix, value, 0 * value, 0 * value + NO_UPPER, every, value == 22, value.astype(float), demands, every
    )
    assert sorted(value[answer.withheld].tolist()) == [8, 12, 17, 22]
    assert answer.cost == answer.bound == 59
    assert answer.proven


def test_an_insider_makes_a_dearer_pattern_necessary():
    matrix, value = cube(np.full((3, 3), 10) + np.eye(3, dtype=np.int64))
    every, required = np.ones(16, np.bool_), np.arange(16) == 0
    cost = np.ones(16)
    cost[[1, 4, 5]] = 0.5

    def best(known: np.ndarray) -> Optimum:
        demands = PatternDemands(
            np.array([0]), np.array([1]), np.array([4]), np.array([0, len(known)]), known, value[known], value[known]
        )
        return optimal(matrix, value, 0 * value, 9 * value, every, required, cost, demands, every)

    outside, inside = best(np.zeros(0, np.int64)), best(np.array([5]))
    assert np.flatnonzero(outside.withheld).tolist() == [0, 1, 4, 5]
    assert inside.cost > outside.cost
    assert not inside.withheld[5]


def made(records: int, seed: int) -> tuple:
    """Arguments for a generated table, with every cell withheld to start from."""
    made = business_survey(records, seed=seed, activities=(3, 8), regions=(2, 6))
    by = {name: ds.Hierarchy.from_parents(made.parents[name], "Total") for name in ("activity", "region")}
    table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover")
    system = build_system(table.assess(ds.PPercent(10)))
    unsafe = np.flatnonzero(system.unsafe)
    level = np.concatenate((system.upper_level[unsafe], system.lower_level[unsafe]))
    demands = PatternDemands.external(np.tile(unsafe, 2), np.repeat([1, -1], len(unsafe)), level)
    movable = ~system.empty
    rows = system.matrix[np.flatnonzero(system.defining)]
    bounds = (system.value, system.lower_bound, system.upper_bound)
    return rows, *bounds, movable, system.unsafe, system.cost("value"), demands, movable


@pytest.fixture(scope="module")
def survey():
    return made(300, 1)


@pytest.fixture(scope="module")
def survey_answer(survey):
    return optimal(*survey)


def test_a_generated_table_is_solved_and_every_demand_met(survey, survey_answer):
    rows, value, lower, upper, _, unsafe, cost, demands, start = survey
    assert unsafe.sum() >= 5
    assert survey_answer.proven
    assert survey_answer.bound <= survey_answer.cost < cost[start].sum()
    case = Case((2, 2), 0)
    case.matrix, case.value, case.lower, case.upper, case.demands = rows, value, lower, upper, demands
    assert case.feasible(survey_answer.withheld)


def test_the_same_question_has_the_same_answer(survey, survey_answer):
    again = optimal(*survey)
    assert np.array_equal(again.withheld, survey_answer.withheld)
    assert again.effort == survey_answer.effort


def test_a_good_start_is_never_made_dearer_and_limits_leave_a_valid_bound(survey, survey_answer):
    hurried = optimal(*survey, max_rounds=2)
    assert survey_answer.cost <= hurried.cost
    assert hurried.bound <= survey_answer.cost
    assert not hurried.proven
    from_best = optimal(*survey[:-1], survey_answer.withheld, max_rounds=1)
    assert from_best.cost == survey_answer.cost
    late = optimal(*survey, time_limit=0.0)
    assert late.bound <= survey_answer.cost <= late.cost


def test_a_gap_that_is_allowed_is_kept(survey, survey_answer):
    answer = optimal(*survey, gap=0.1)
    assert answer.proven
    assert answer.cost * 0.9 <= answer.bound <= survey_answer.cost


def test_large_values_have_the_same_pattern(survey, survey_answer):
    rows, value, lower, upper, movable, unsafe, cost, d, start = survey
    times = 10**15 // int(value.max())
    lower, upper = (np.where(np.abs(b) >= NO_UPPER, b, b * times) for b in (lower, upper))
    demands = PatternDemands.external(d.target, d.direction, d.level * times)
    answer = optimal(rows, value * times, lower, upper, movable, unsafe, cost * times, demands, start)
    assert np.isclose(answer.cost, survey_answer.cost * times, rtol=1e-9)
    assert answer.proven


def test_tables_that_do_not_hang_together_are_solved_apart():
    one, two = (Case((3, 3), seed) for seed in _solvable((3, 3), 2))
    for case in (one, two):
        case.demands = PatternDemands.external(case.demands.target, case.demands.direction, case.demands.level)
    n = len(one.value)
    whole = Case((2, 2), 0)
    whole.matrix = csr_array(block_diag((one.matrix, two.matrix)))
    for name in ("value", "lower", "upper", "movable", "required", "cost"):
        setattr(whole, name, np.concatenate((getattr(one, name), getattr(two, name))))
    d, e = one.demands, two.demands
    whole.demands = PatternDemands.external(
        np.concatenate((d.target, e.target + n)),
        np.concatenate((d.direction, e.direction)),
        np.concatenate((d.level, e.level)),
    )
    assert whole.solve().cost == one.solve().cost + two.solve().cost


def _solvable(shape: tuple[int, ...], count: int) -> list[int]:
    seeds = range(200)
    return [s for s in seeds if (case := Case(shape, s)).feasible(case.movable) and case.demands.level.all()][:count]


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_cuts_from_any_point_hold_for_all_feasible_patterns(shape):
    checked = sum(_cuts_checked(Case(shape, seed), seed) for seed in range(5))
    assert checked > 10


def _cuts_checked(case: Case, seed: int) -> int:
    """Look for cuts at random points, compare them with random patterns; says how many there were."""
    checked = 0
    attackers = CutPrograms(case.matrix, case.value, case.lower, case.upper, case.demands)
    rng = np.random.default_rng(seed)
    optional = np.flatnonzero(case.movable & ~case.required)
    patterns = [case.required.copy() for _ in range(60)]
    for pattern in patterns:
        pattern[rng.permutation(optional)[: rng.integers(0, len(optional) + 1)]] = True
    for k in np.flatnonzero(case.demands.level).tolist():
        good = [pattern for pattern in patterns if case.met(k, pattern)]
        for _ in range(10):
            x = np.where(case.required, 1.0, rng.random(len(case.value)) * case.movable)
            attack = attackers.attack(k, x, least=1e-5)
            if attack.reached:
                continue
            for cut in capacity_cuts(attack.given, case.required, x, -np.inf):
                checked += bool(good)
                assert all(cut.missing(pattern.astype(np.float64)) <= 1e-7 for pattern in good)
    return checked


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 2)])
def test_moves_for_one_demand_are_said_to_meet_only_others_that_are_met(shape):
    others = 0
    for seed in range(12):
        case, rng = Case(shape, seed), np.random.default_rng(seed)
        targets = rng.permutation(len(case.value))[:6]
        own = case.demands.on(np.arange(len(case.value)), np.arange(len(case.demands)))
        outside = PatternDemands.external(np.repeat(targets, 2), np.tile([1, -1], 6), rng.integers(1, 9, 12))
        case.demands = PatternDemands(
            np.concatenate((own.target, outside.target)),
            np.concatenate((own.direction, outside.direction)),
            np.concatenate((own.level, outside.level)),
            np.concatenate((own.start, np.full(12, own.start[-1]))),
            own.cell,
            own.lower,
            own.upper,
        )
        attackers = CutPrograms(case.matrix, case.value, case.lower, case.upper, case.demands)
        withheld = rng.random(len(case.value)) < 0.8
        for k in np.flatnonzero(case.demands.level).tolist():
            attack = attackers.attack(k, withheld.astype(np.float64))
            if attack.reached:
                met = np.flatnonzero(attackers.also_met(k, withheld.astype(np.float64), attack.moves))
                assert k in met
                assert all(case.met(other, withheld) for other in met.tolist())
                others += len(met) - 1
    assert others > 20


def test_cells_that_cost_nothing_are_withheld_only_where_they_serve():
    matrix, value = cube(np.full((4, 4), 10))
    every, required = np.ones(25, np.bool_), np.arange(25) == 0
    demands = PatternDemands.external(np.array([0]), np.array([1]), np.array([4]))
    answer = optimal(matrix, value, 0 * value, 9 * value, every, required, np.zeros(25), demands, every)
    assert answer.cost == 0
    assert answer.withheld.sum() < 25


# ---- cuts inside the tree -----------------------------------------------------------------------------------

scip = pytest.mark.skipif(find_spec("pyscipopt") is None, reason="the extra scip is not installed")


@pytest.mark.parametrize("solver", ["highs", pytest.param("scip", marks=scip)])
@pytest.mark.parametrize("relaxed", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (2, 2, 2)])
def test_cuts_inside_the_tree_find_the_optimum(shape, relaxed, solver, monkeypatch):
    """Also where the tree starts without a single cut, so that all come from its own points."""
    if not relaxed:
        kind = TreeSearch if solver == "scip" else BranchingSearch
        monkeypatch.setattr(kind, "_relax", lambda *_, **__: None)
        monkeypatch.setattr(kind, "_started", lambda self, start: np.ones(len(self.cost), np.bool_))
    compared = nodes = 0
    for seed in range(12 if len(shape) == 2 else 4):
        case = Case(shape, seed)
        if not case.feasible(case.movable):
            continue
        found = case.solve(solver=solver)
        assert case.feasible(found.withheld)
        assert found.proven
        assert found.bound <= found.cost == case.cost[found.withheld].sum()
        assert case.cheaper_pattern(found.cost) is None
        compared += 1
        nodes += found.effort["nodes"]
    assert compared >= 2
    assert relaxed or nodes >= 2


@scip
@pytest.mark.parametrize("seed", [3, 6])
def test_the_tree_forgets_cuts_without_losing_the_optimum(seed, monkeypatch):
    """Relaxations that lost cuts have lower bounds than the nodes above them."""
    made = business_survey(300, seed=seed, activities=(4,), regions=(5,))
    by = {name: ds.Hierarchy.from_parents(made.parents[name], "Total") for name in ("activity", "region", "size")}
    table = ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover")
    system = build_system(table.assess(ds.PPercent(10)))
    unsafe = np.flatnonzero(system.unsafe)
    level = np.concatenate((system.upper_level[unsafe], system.lower_level[unsafe]))
    movable = ~system.forced & ~(system.empty & ~system.unsafe)
    question = (
        system.matrix[np.flatnonzero(system.defining)], system.value, system.lower_bound, system.upper_bound, movable,
        system.unsafe | system.given, system.cost("value"),
        PatternDemands.external(np.tile(unsafe, 2), np.repeat([1, -1], len(unsafe)), level), movable,
    )  # fmt: skip
    monkeypatch.setattr(branching, "IDLE", 1)
    monkeypatch.setattr(branching, "SEPARATED", 2)
    monkeypatch.setattr(branching, "CANDIDATES", 2)
    own, other = optimal(*question), optimal(*question, solver="scip")
    assert own.effort["nodes"] > 10
    assert own.proven
    assert own.cost == other.cost


@scip
def test_the_method_takes_the_solver_and_says_so():
    table = ds.examples.small_table().assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress(algorithm="optimal", solver="scip", insiders=None))
    assert release.verify().holds
    evidence = release.custodian.evidence[0]
    assert evidence.method["solver"] == "scip"
    other = ds.protect(table, ds.Suppress(algorithm="optimal", insiders=None))
    assert evidence.effort["cost"] == other.custodian.evidence[0].effort["cost"]


@scip
def test_an_error_inside_the_tree_is_raised_and_not_lost(monkeypatch):
    def broken(*_: object) -> bool:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr(TreeSearch, "_relax", lambda *_, **__: None)
    monkeypatch.setattr("discreet.tables.suppress.tree._Tree.missed", broken)
    case = next(c for c in (Case((3, 3), seed) for seed in range(4, 20)) if c.feasible(c.movable))
    with pytest.raises(ZeroDivisionError, match="inside"):
        case.solve(solver="scip")


def test_a_missing_solver_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr("discreet.tables.suppress.tree.find_spec", lambda name: None)
    table = ds.examples.small_table().assess(ds.PPercent(10))
    with pytest.raises(ds.DiscreetError, match=r"pip install 'discreet\[scip\]'"):
        ds.protect(table, ds.Suppress(algorithm="optimal", solver="scip"))


@pytest.mark.parametrize("wrong", [{"solver": "cplex", "algorithm": "optimal"}, {"solver": "scip"}, {"solver": None}])
def test_a_solver_that_is_none_is_refused(wrong):
    with pytest.raises(ds.DiscreetError, match="solver"):
        ds.Suppress(**wrong)


def test_a_limit_of_iterations_leaves_a_pattern_that_meets_all_demands():
    """The limit counts; the bound stays true, and more iterations never make the pattern dearer than everything."""
    cases = [case for case in (Case((3, 4), seed) for seed in range(10)) if case.feasible(case.movable)]
    assert len(cases) > 2
    for case in cases:
        hasty, whole = case.solve(max_iterations=0), case.solve()
        assert case.feasible(hasty.withheld)
        assert hasty.bound <= whole.cost <= hasty.cost
        assert hasty.effort["simplex_iterations"] <= whole.effort["simplex_iterations"]
    assert any(case.solve(max_iterations=0).effort["rounds"] < case.solve().effort["rounds"] for case in cases)


def test_a_limit_of_programs_leaves_a_pattern_that_meets_all_demands():
    cases = [case for case in (Case((3, 4), seed) for seed in range(10)) if case.feasible(case.movable)]
    stopped = 0
    for case in cases:
        whole = case.solve()
        assert whole.struck_at is None
        hasty = case.solve(max_programs=whole.effort["linear_programs"] // 2)
        assert case.feasible(hasty.withheld)
        assert hasty.bound <= whole.cost <= hasty.cost
        stopped += hasty.struck_at is not None and hasty.effort["linear_programs"] < whole.effort["linear_programs"]
    assert stopped > 1


@pytest.mark.parametrize(("effort", "struck", "proven"), [(0, 0, 0), (5, 5, 0), (20, 21, 0), (100, None, 1)])
def test_effort_limits_the_search_for_the_optimum(effort, struck, proven):
    """Thirteen programs make the certified pattern, 26 more prove that it is the cheapest; effort= was not asked."""
    table = ds.examples.small_table().assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress(algorithm="optimal", effort=effort))
    assert release.verify().holds
    found = release.custodian.evidence[0].effort
    assert (found.get("limit_struck_at"), found["proven"]) == (struck, proven)
    assert found["least_cost"] <= found["cost"] == 230


def test_a_replay_stops_where_the_time_struck(monkeypatch):
    """The clock strikes in the search for the optimum; the replay counts linear programs."""
    table = ds.examples.small_table().assess(ds.PPercent(10))
    ticks = itertools.count(0, 150)
    with monkeypatch.context() as clock:
        clock.setattr("discreet.tables.suppress.search.time.monotonic", lambda: float(next(ticks)))
        release = ds.protect(table, ds.Suppress(algorithm="optimal", time_limit=1000.0))
    struck = release.custodian.evidence[0].effort
    assert struck["limit_struck_at"] > struck["linear_programs"]
    assert not struck["proven"]
    again = ds.replay(release)
    assert again.custodian.evidence[0].effort == struck
