"""Controlled rounding: additive, and with the worst sum as near as possible to its own neighbouring multiples.

First the worst violation is made small (annealing, then an integer program), then the values near or random as asked,
with the violation fixed: two solves, never one with weights of different size.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.progress import checkpoint
from discreet.relations.interior import Interior
from discreet.tables.rounding import kernels

SCHEDULE = ((20.0, 0.3, 60), (1.0, 0.05, 600))
"""Annealing from one temperature to another in so many steps a cell; the second where the first leaves something."""
COOLING = (0.5, 0.02, 200)
"""The same for weights, in shares of the largest, once the violation is fixed."""
FEWEST_STEPS, MOST_STEPS = 300_000, 40_000_000
PROGRAM_UP_TO = 6_000
"""Integer programs are tried up to so many free cells,"""
PROGRAM_ENTRIES = 150_000
"""and up to so many entries of the sums."""
NETWORK_UP_TO, NETWORK_ENTRIES = 200_000, 2_000_000
"""The same for networks, which need linear programs only."""
NO_PRESOLVE_UP_TO = 2_000
"""Presolving a linear program costs more than it saves up to so many free cells."""
WHOLE = 1e-6
"""Values of linear programs that are nearer to a whole number are that number."""
LEVELS = (1, 10, 100, 1_000, 10_000)
"""Nodes of the integer programs: each level starts from what the last one found."""
DEFAULT_EFFORT = 1_000


@dataclass
class SearchEffort:
    """How far integer programs may go, and how far they went."""

    effort: int | None = None
    seconds: float | None = None
    nodes: int = 0
    struck_at: int | None = None

    def __post_init__(self) -> None:
        self._end = None if self.seconds is None else monotonic() + self.seconds

    def levels(self) -> list[int]:
        """Numbers of nodes to try, one after the other."""
        most = DEFAULT_EFFORT if self.effort is None else self.effort
        return sorted({min(level, most) for level in LEVELS if most > 0})

    @property
    def left(self) -> float | None:
        """Seconds that are left."""
        return None if self._end is None else max(self._end - monotonic(), 0.0)

    def strike(self, level: int) -> None:
        """The time is over; the work up to a level counts."""
        if self.struck_at is None:
            self.struck_at = level


@dataclass(frozen=True, eq=False)
class Rounding:
    """Rounded values of all cells in steps of the base, and how good they are.

    ``worst`` is the worst violation in steps, ``bound`` what it must be at least, ``objective`` the sum of weights of
    the cells that go up and ``least`` what that must be at least.
    """

    value: Ints
    worst: int
    bound: int
    objective: float
    least: float


@dataclass(frozen=True, eq=False)
class RoundingSteps:
    """Cells in steps of a base: neighbouring multiples, and how far cells may go beyond them.

    ``weight`` is what going up from ``floor`` to ``ceil`` costs in each of the finest cells, and with ``everywhere`` in
    all other cells too. Where relations are a ``network``, corners of the linear program are whole numbers.
    """

    interior: Interior
    floor: Ints
    ceil: Ints
    weight: Floats
    beyond: int = 0
    lowest: Ints | None = None
    everywhere: bool = False
    network: bool = False

    @property
    def small(self) -> bool:
        """Whether integer programs are tried, or in networks linear ones."""
        cells, entries = len(self.interior.cells), self.interior.sums.nnz
        if self.network and cells <= NETWORK_UP_TO and entries <= NETWORK_ENTRIES:
            return True
        return cells <= PROGRAM_UP_TO and entries <= PROGRAM_ENTRIES

    @property
    def counted(self) -> Ints:
        """The cells whose weights count."""
        return np.arange(len(self.floor)) if self.everywhere else self.interior.finest

    @property
    def limits(self) -> tuple[Ints, Ints]:
        """Least and most of the free cells."""
        cells = self.interior.cells
        low, high = self.floor[cells] - self.beyond, self.ceil[cells] + self.beyond
        if self.lowest is not None:
            low = np.minimum(np.maximum(low, self.lowest[cells]), self.floor[cells])
        return low, high

    def violation(self, value: Ints) -> int:
        """The worst violation of values of all cells."""
        return int(np.maximum(self.floor - value, value - self.ceil).max(initial=0))

    def objective(self, value: Ints) -> float:
        """Sum of weights of the cells that go up; steps beyond the neighbouring multiples cost one each."""
        cells = self.counted
        x, low, high = value[cells], self.floor[cells], self.ceil[cells]
        inside = np.clip(x, low, high) - low
        return float(self.weight[cells] @ inside + np.maximum(low - x, 0).sum() + np.maximum(x - high, 0).sum())


def round_at_once(problem: RoundingSteps, search: SearchEffort) -> Rounding | None:
    """The best rounding without any violation, where the linear program has it in a corner, and ``None`` otherwise.

    It mostly has in small tables, and always in networks: that spares annealing and integer programs.
    """
    model = _model(problem, 0, with_violation=False)
    model.integrality_ = []
    options = {} if len(problem.interior.cells) > NO_PRESOLVE_UP_TO else {"presolve": "off"}
    answer, least, done, _, _ = _solve(model, np.empty(0), 0, search.left, **options)
    if answer is None or not done:
        return None
    x = np.rint(answer).astype(np.int64)
    if np.abs(answer - x).max(initial=0.0) > WHOLE:
        return None
    value = np.asarray(problem.interior.sums @ x, np.int64)
    if problem.violation(value) > 0:
        return None
    objective = problem.objective(value)
    fixed = problem.weight[problem.counted] @ problem.floor[problem.counted]
    return Rounding(value, 0, 0, objective, min(float(least - fixed), objective))


def round_controlled(problem: RoundingSteps, start: Ints, search: SearchEffort, seed: int) -> Rounding:
    """The best rounding that was found: least worst violation first, then least weight.

    Parameters
    ----------
    problem
        Cells and neighbouring multiples.
    start
        Multiples of the free cells to begin with.
    search
        Limits of the integer programs.
    seed
        Of the annealing; it decides on nothing but which of many good answers is found.
    """
    low, high = problem.limits
    x = np.clip(start, low, high)
    sums = problem.interior.sums
    value = np.asarray(sums @ x, np.int64)
    small = problem.small
    if problem.violation(value) > 0:
        x = _annealed(problem, x, low, high, seed)
        value = np.asarray(sums @ x, np.int64)
    checkpoint("round", 1, 3)
    worst, bound = problem.violation(value), 0
    if worst > 0 and small:
        x, bound = _least_violation(problem, x, worst, search)
        value = np.asarray(sums @ x, np.int64)
        worst = problem.violation(value)
    checkpoint("round", 2, 3)
    least = least_possible(problem)
    proved = -np.inf
    if small:
        x, proved = _least_weight(problem, x, worst, search)
        least = max(least, proved)
    if np.isinf(proved):
        x = cheaper(problem, x, worst, seed)
    value = np.asarray(sums @ x, np.int64)
    checkpoint("round", 3, 3)
    return Rounding(value, problem.violation(value), bound, problem.objective(value), least)


def least_possible(problem: RoundingSteps) -> float:
    """What the objective is at least, whatever the sums: every cell that counts goes where it costs less."""
    cells = problem.counted
    return float(np.minimum(problem.weight[cells] * (problem.ceil - problem.floor)[cells], 0.0).sum())


def _free_weights(problem: RoundingSteps) -> Floats:
    """What a step of each free cell costs in all cells that count."""
    weight = np.zeros(len(problem.weight))
    weight[problem.counted] = problem.weight[problem.counted]
    return np.asarray(problem.interior.sums.T @ weight, np.float64)


def _columns(problem: RoundingSteps) -> tuple[Ints, Ints, Ints, Ints]:
    """Sums that matter for violations (all but the free cells themselves): where each free cell stands, with sign."""
    rows = np.ones(problem.interior.sums.shape[0], np.bool_)
    rows[problem.interior.cells] = problem.beyond > 0
    chosen = np.flatnonzero(rows)
    by_column = problem.interior.sums[chosen].tocsc()
    return (
        chosen,
        by_column.indptr.astype(np.int64),
        by_column.indices.astype(np.int64),
        by_column.data.astype(np.int64),
    )


def _annealed(problem: RoundingSteps, x: Ints, low: Ints, high: Ints, seed: int) -> Ints:
    """The best of several runs, each from where the last one ended best."""
    chosen, start, row, times = _columns(problem)
    movable = np.flatnonzero(high > low).astype(np.int64)
    floor, ceil = problem.floor[chosen].copy(), problem.ceil[chosen].copy()
    state = np.array([seed * 2 + 1], np.uint64)
    best = x.copy()
    for hot, cold, each in SCHEDULE:
        steps = int(np.clip(each * len(movable), FEWEST_STEPS, MOST_STEPS))
        z = np.asarray(problem.interior.sums[chosen] @ best, np.int64)
        now, found = best.copy(), best.copy()
        worst = kernels.anneal(
            steps, state, start, row, times, now, low, high, movable, z, floor, ceil, hot, cold, found
        )
        best = found
        # A violation of one step is left in tables that are too large for a full second run.
        if worst == 0 or (worst == 1 and SCHEDULE[-1][2] * len(movable) > MOST_STEPS):
            break
    return best


def cheaper(problem: RoundingSteps, x: Ints, worst: int, seed: int) -> Ints:
    """Annealed by single moves towards less weight, where no program was run to its end."""
    chosen, start, row, times = _columns(problem)
    cells = problem.interior.cells
    now, z = x.copy(), np.asarray(problem.interior.sums[chosen] @ x, np.int64)
    weight = np.ascontiguousarray(_free_weights(problem) if problem.everywhere else problem.weight[cells])
    scale = float(np.abs(weight).max(initial=0.0))
    if scale == 0.0:
        return now
    low, high = problem.floor[cells], problem.ceil[cells]
    movable = np.flatnonzero((high > low) & (x >= low) & (x <= high)).astype(np.int64)
    hot, cold, each = COOLING
    steps = int(np.clip(each * len(movable), FEWEST_STEPS, MOST_STEPS))
    state = np.array([seed * 2 + 1], np.uint64)
    ends = np.concatenate((problem.floor[chosen], problem.ceil[chosen]))
    kernels.cheaper(
        steps, state, start, row, times, now, low, movable, z, ends, weight, worst, hot * scale, cold * scale
    )
    return now


# ---- integer programs ---------------------------------------------------------------------------------------


def _model(problem: RoundingSteps, worst: int, with_violation: bool) -> Any:
    """Free cells as whole numbers; sums within their multiples and ``worst``, or a violation that is a variable."""
    import highspy
    from scipy.sparse import csr_array, hstack, vstack

    cells = problem.interior.cells
    low, high = problem.limits
    rows = np.ones(problem.interior.sums.shape[0], np.bool_)
    rows[cells] = False
    chosen = np.flatnonzero(rows & (np.diff(problem.interior.sums.indptr) > 0))
    sums = problem.interior.sums[chosen]
    floor, ceil = problem.floor[chosen].astype(np.float64), problem.ceil[chosen].astype(np.float64)
    infinite = highspy.kHighsInf
    model = highspy.HighsLp()
    if with_violation:
        one = csr_array(np.ones((len(chosen), 1)))
        matrix = csr_array(vstack([hstack([sums, one]), hstack([sums, -one])]))
        model.row_lower_ = np.concatenate((floor, np.full(len(chosen), -infinite)))
        model.row_upper_ = np.concatenate((np.full(len(chosen), infinite), ceil))
        model.col_cost_ = np.concatenate((np.zeros(len(cells)), [1.0]))
        model.col_lower_ = np.concatenate((low.astype(np.float64), [0.0]))
        model.col_upper_ = np.concatenate((high.astype(np.float64), [float(worst)]))
    else:
        matrix = sums
        model.row_lower_, model.row_upper_ = floor - worst, ceil + worst
        model.col_cost_ = _free_weights(problem)
        if problem.beyond == 0:
            model.col_lower_, model.col_upper_ = low.astype(np.float64), high.astype(np.float64)
        else:  # further steps are never cheaper than none
            model.col_lower_ = np.maximum(low, problem.floor[cells]).astype(np.float64)
            model.col_upper_ = np.minimum(high, problem.ceil[cells]).astype(np.float64)
    model.num_row_, model.num_col_ = matrix.shape
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    if not problem.network:
        model.integrality_ = [highspy.HighsVarType.kInteger] * matrix.shape[1]
    return model


def _solve(
    model: Any, start: Floats, level: int, seconds: float | None, **more: Any
) -> tuple[Floats | None, float, bool, int, bool]:
    """One integer program: answer, bound, whether it is the best, nodes, and whether the time struck."""
    import highspy

    from discreet.solve.program import started

    whole = len(model.integrality_) > 0
    if whole:
        more |= {"mip_max_nodes": level, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-6}
    if seconds is not None:
        more["time_limit"] = seconds
    highs = started(model, **more)
    if whole:
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        highs.setSolution(solution)
    highs.run()
    info, status = highs.getInfo(), highs.getModelStatus()
    done = status == highspy.HighsModelStatus.kOptimal
    late = status == highspy.HighsModelStatus.kTimeLimit
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    answer = np.array(highs.getSolution().col_value) if found else None
    if not whole:
        return answer, float(info.objective_function_value) if done else -np.inf, done, 0, late
    bound = float(info.mip_dual_bound if np.isfinite(info.mip_dual_bound) else -np.inf)
    return answer, bound, done, int(info.mip_node_count), late


def _least_violation(problem: RoundingSteps, x: Ints, worst: int, search: SearchEffort) -> tuple[Ints, int]:
    """Free cells with the least worst violation that was found, and what it must be at least."""
    bound, size = 0, len(x)
    for level in search.levels():
        model = _model(problem, worst, with_violation=True)
        answer, least, done, nodes, late = _solve(model, np.append(x, worst).astype(np.float64), level, search.left)
        if late:
            search.strike(level // 10)
            break
        search.nodes += nodes
        if np.isfinite(least):
            bound = max(bound, int(np.ceil(least - 1e-6)))
        if answer is not None:
            tried = np.rint(answer[:size]).astype(np.int64)
            reached = problem.violation(np.asarray(problem.interior.sums @ tried, np.int64))
            if reached < worst:
                x, worst = tried, reached
        if done or bound >= worst:
            return x, worst
    return x, bound


def _least_weight(problem: RoundingSteps, x: Ints, worst: int, search: SearchEffort) -> tuple[Ints, float]:
    """Free cells with the least weight that was found for a violation, and what the weight must be at least."""
    least = -np.inf
    fixed = problem.weight[problem.counted] @ problem.floor[problem.counted]
    model = _model(problem, worst, with_violation=False)
    inside = bool(np.all((x >= np.array(model.col_lower_)) & (x <= np.array(model.col_upper_))))
    if not inside:
        return x, least
    best = problem.objective(np.asarray(problem.interior.sums @ x, np.int64))
    for level in search.levels():
        answer, bound, done, nodes, late = _solve(model, x.astype(np.float64), level, search.left)
        if late:
            search.strike(level // 10)
            break
        search.nodes += nodes
        if np.isfinite(bound):
            least = float(bound - fixed)
        if answer is not None:
            tried = np.rint(answer).astype(np.int64)
            value = np.asarray(problem.interior.sums @ tried, np.int64)
            if problem.violation(value) <= worst and problem.objective(value) < best - 1e-9:
                x, best = tried, problem.objective(value)
        if done:
            break
    return x, least
