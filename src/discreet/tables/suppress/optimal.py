"""Optimal suppression: the cheapest pattern that meets all demands, or a proven gap.

A cut loop on HiGHS after Fischetti and Salazar: a 0-1 program over the cells, to which linear programs of the attackers
add inequalities. Source: research notes on tabular methods, part (c), Optimal.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from discreet.model.arrays import Bools, Floats, Ints
from discreet.parallel import shared
from discreet.relations.components import components
from discreet.tables.suppress.branching import BranchingSearch
from discreet.tables.suppress.cuts import Cut, CutPrograms, PatternDemands, rooms
from discreet.tables.suppress.master import SAFE
from discreet.tables.suppress.search import SearchLimits, impossible

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.tables.suppress.tree import TreeSearch

__all__ = ["Optimum", "PatternDemands", "optimal"]

MOST_NODES, MOST_ROUNDS = 200_000, 2_000


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best pattern that was found.

    Parameters
    ----------
    withheld
        The pattern; every demand is met.
    cost
        What its cells cost together.
    bound
        No pattern costs less than this.
    proven
        Whether cost and bound differ by no more than the gap that was asked for, or by no more than a millionth.
    effort
        Counts of what was done.
    struck_at
        After how many linear programs time or effort was up; None where they sufficed.
    """

    withheld: Bools
    cost: float
    bound: float
    proven: bool
    effort: dict[str, int]
    struck_at: int | None = None


def optimal(
    matrix: csr_array,
    value: Ints,
    lower: Ints,
    upper: Ints,
    movable: Bools,
    required: Bools,
    cost: Floats,
    demands: PatternDemands,
    start_pattern: Bools,
    *,
    gap: float = 0.0,
    max_nodes: int = MOST_NODES,
    max_rounds: int = MOST_ROUNDS,
    max_iterations: int | None = None,
    max_programs: int | None = None,
    time_limit: float | None = None,
    solver: Literal["highs", "scip"] = "highs",
    cuts: Sequence[Cut] = (),
    spread: bool = False,
) -> Optimum:
    """Withhold cells so that every demand is met, at the least cost.

    Parameters
    ----------
    matrix
        Relations, one row per equation; rows that follow from others may be left out.
    value, lower, upper
        Values and what everybody knows of them, in units.
    movable, required
        Cells that may be withheld, and those that are in any case.
    cost
        What withholding each cell costs, not below 0.
    demands
        What the pattern must allow.
    start_pattern
        A pattern that meets all demands; the answer is never dearer.
    gap
        Stop when the pattern is proved to cost at most this share more than the cheapest one.
    max_nodes, max_rounds
        Most nodes of all integer programs, and most rounds of cuts, of cells that hang together.
    max_iterations, max_programs
        Most iterations of all linear programs, and most programs, after which the best pattern so far is given.
    time_limit
        Most seconds by the clock; the answer then depends on the machine.
    solver
        ``"highs"``: integer programs again and again; ``"scip"``: one tree, with cuts added inside it.
    cuts
        Inequalities that are known to hold for all patterns that meet the demands.
    spread
        Whether several processes may share cells that do not hang together, as :func:`discreet.parallel.shared` has
        it; not where there is a limit of iterations, programs or time for all of them.

    Raises
    ------
    ValueError
        When a demand cannot be met even with every movable cell withheld; it is named by its number.

    Examples
    --------
    A table of two by two cells with its totals, in which the first cell must be able to rise by 3:

    >>> from scipy.sparse import csr_array
    >>> rows = [[1, 1, -1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, -1, 0, 0, 0], [1, 0, 0, 1, 0, 0, -1, 0, 0],
    ...         [0, 1, 0, 0, 1, 0, 0, -1, 0], [0, 0, 1, 0, 0, 1, 0, 0, -1]]
    >>> value = np.array([5, 20, 25, 10, 40, 50, 15, 60, 75])
    >>> demand = PatternDemands.external(np.array([0]), np.array([1]), np.array([3]))
    >>> every = np.ones(9, bool)
    >>> best = optimal(csr_array(np.array(rows)), value, 0 * value, 9 * value, every, np.arange(9) == 0,
    ...                value.astype(float), demand, every)
    >>> np.flatnonzero(best.withheld).tolist(), best.cost, best.bound, best.proven
    ([0, 1, 3, 4], 75.0, 75.0, True)
    """
    if solver == "scip":
        from discreet.tables.suppress.tree import refuse_without_scip

        refuse_without_scip()
    deadline = None if time_limit is None else time.monotonic() + time_limit
    limits = SearchLimits(gap, max_nodes, max_rounds, deadline, max_iterations, max_programs)
    mobile = _mobile(matrix, value, lower, upper, movable)
    cells = np.flatnonzero(mobile)
    label = np.full(len(value), -1, np.int64)
    label[cells] = components(matrix, cells)[1]
    wanted = np.flatnonzero(demands.level > 0)
    for k in wanted[label[demands.target[wanted]] < 0].tolist():
        raise impossible(k)

    def part(number: int) -> _Part:
        inside = np.flatnonzero(label == number)
        which = wanted[label[demands.target[wanted]] == number]
        place = np.full(len(value), -1, np.int64)
        place[inside] = np.arange(len(inside))
        return _Part(
            (matrix[:, inside], value[inside], lower[inside], upper[inside]),
            demands.on(place, which),
            cost[inside],
            required[inside],
            start_pattern[inside] | required[inside],
            which,
            [Cut(place[cut.cell], cut.coefficient, cut.right) for cut in cuts if np.all(place[cut.cell] >= 0)],
        )

    numbers = np.unique(label[demands.target[wanted]]).tolist()
    effort: Counter[str] = Counter()
    withheld = required.copy()
    bound = float(cost[required & ~np.isin(label, numbers)].sum())
    with closing(_searched(part, numbers, limits, solver, effort, spread=spread)) as parts:
        for number, found in zip(numbers, parts, strict=True):
            withheld[label == number] = found.best
            bound += found.bound
    return replace(_optimum(withheld, cost, required, bound, gap, effort), struck_at=limits.struck_at)


class _Part(NamedTuple):
    """Cells that hang together, with the demands on them, by their places among these cells."""

    known: tuple[csr_array, Ints, Ints, Ints]
    demands: PatternDemands
    cost: Floats
    required: Bools
    start: Bools
    names: Ints
    cuts: list[Cut]


class _Searched(NamedTuple):
    """The best pattern of a part, what none costs less than, and what was done for both."""

    best: Bools
    bound: float
    effort: Counter[str]


def _searched(
    part: Callable[[int], _Part],
    numbers: Sequence[int],
    limits: SearchLimits,
    solver: Literal["highs", "scip"],
    effort: Counter[str],
    *,
    spread: bool,
) -> Generator[_Searched, None, None]:
    """What is found of each part; ``effort`` counts what is done for all of them.

    Where parts have a limit in common, each has what those before it left.
    """
    if spread and not limits.common:
        with closing(shared(partial(_search, limits, solver), part, numbers, "optimum", threads=False)) as parts:
            for found in parts:
                effort.update(found.effort)
                yield found
    else:
        for number in numbers:
            found = _search(limits, solver, part(number), effort)
            effort.update(found.effort)
            yield found


def _search(
    limits: SearchLimits,
    solver: Literal["highs", "scip"],
    part: _Part,
    before: Mapping[str, int] = MappingProxyType({}),
) -> _Searched:
    kind: type[BranchingSearch] | type[TreeSearch] = BranchingSearch
    if solver == "scip":
        from discreet.tables.suppress.tree import TreeSearch as Tree

        kind = Tree
    attackers = CutPrograms(*part.known, part.demands)
    spent = {name: before.get(name, 0) for name in ("linear_programs", "simplex_iterations")}
    effort = Counter(spent)
    search = kind(attackers, part.cost, part.required, part.start, limits, effort, part.names, part.cuts)
    search.run()
    effort.subtract(spent)
    return _Searched(search.best, search.lower_bound, effort)


def _mobile(matrix: csr_array, value: Ints, lower: Ints, upper: Ints, movable: Bools) -> Bools:
    """Cells that can move at all: not those that a relation ties to cells that cannot."""
    up, down = rooms(value, lower, upper)
    mobile: Bools = movable & ((up > 0) | (down > 0))
    entries = abs(matrix.sign()).astype(np.int64)
    while True:
        alone = np.flatnonzero(entries @ mobile.astype(np.int64) == 1)
        tied = mobile & (entries[alone].sum(axis=0) > 0)
        if not tied.any():
            return mobile
        mobile &= ~tied


def _optimum(withheld: Bools, cost: Floats, required: Bools, bound: float, gap: float, effort: Counter[str]) -> Optimum:
    total, fixed = float(cost[withheld].sum()), float(cost[required].sum())
    if total < 2**53 and np.array_equal(cost, np.rint(cost)):
        bound = math.ceil(bound * (1 - 1e-12))
    bound = min(float(bound), total)
    proven = total - bound <= max(gap * total, 2 * SAFE * (total - fixed))
    names = ("linear_programs", "simplex_iterations", "rounds", "cuts", "nodes")
    return Optimum(withheld, total, bound, proven, {name: effort[name] for name in names})
