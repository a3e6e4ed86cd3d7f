"""Controlled rounding of very large tables in parts, which are rounded at the same time.

Blocks that no sum ties together are rounded each for itself. Where all is tied together, a table is cut into families
of codes: first the sums of all lines (see ``families``) are rounded together with the totals that they make up, a much
smaller table; then each family is rounded under these sums, by exchanges within lines, which leave them as they are. At
last single cells of the whole table go where it costs less. The worst violation is the worst of all parts. Nothing
depends on the number of threads.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.model.arrays import Floats, Ints, pointers
from discreet.parallel import in_order, shared
from discreet.relations.components import components
from discreet.relations.interior import Interior
from discreet.tables.rounding import exchanges
from discreet.tables.rounding.controlled import (
    Rounding,
    RoundingSteps,
    SearchEffort,
    cheaper,
    least_possible,
    round_controlled,
)
from discreet.tables.rounding.families import Lines

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_UNITS = 2**62
SCHEDULE = ((20.0, 0.3, 60), (1.0, 0.05, 200))
"""Annealing from one temperature to another in so many exchanges a cell; the second where the first leaves a violation
of more than one step, because with many parts one of them keeps one nearly always."""


class _Block(NamedTuple):
    """A block that no sum ties to others: its cells, where it starts, how much may be searched, and its seed."""

    problem: RoundingSteps
    start: Ints
    effort: int | None
    seed: int


def _rounded(block: _Block) -> tuple[Rounding, int]:
    """A block by itself, and the nodes that it took."""
    search = SearchEffort(block.effort)
    return round_controlled(block.problem, block.start, search, block.seed), search.nodes


def round_blocks(problem: RoundingSteps, start: Ints, search: SearchEffort, seed: int) -> Rounding | None:
    """The rounding of a problem that falls into independent blocks, ``None`` where it does not."""
    totals = np.ones(len(problem.floor), np.bool_)
    totals[problem.interior.cells] = False
    count, block = components(problem.interior.sums[totals], np.arange(len(start)))
    if count < 2:
        return None
    order = np.argsort(block, kind="stable")
    columns = np.split(order, np.flatnonzero(np.diff(block[order])) + 1)
    of_row = np.full(len(problem.floor), -1, np.int64)
    some = np.flatnonzero(np.diff(problem.interior.sums.indptr))
    of_row[some] = block[problem.interior.sums.indices[problem.interior.sums.indptr[some]]]
    by_block = np.argsort(of_row, kind="stable")
    begin = np.searchsorted(of_row[by_block], np.arange(count + 1))
    value = np.zeros(len(problem.floor), np.int64)
    effort = search.effort
    if search.seconds is not None:
        # A clock would strike each block at another place, and no replay could tell where: they are annealed only.
        effort = 0
        search.strike(0)

    def rows_of(number: int) -> Ints:
        return by_block[begin[number] : begin[number + 1]]

    def alone(number: int) -> _Block:
        mine = columns[number]
        return _Block(_restricted(problem, rows_of(number), mine), start[mine], effort, seed + number)

    worst = bound = 0
    objective, least = 0.0, 0.0
    with closing(shared(_rounded, alone, range(count), "round parts")) as results:
        for number, (found, nodes) in enumerate(results):
            value[rows_of(number)] = found.value
            worst, bound = max(worst, found.worst), max(bound, found.bound)
            objective, least = objective + found.objective, least + found.least
            search.nodes += nodes
    return Rounding(value, worst, bound, objective, least)


def _restricted(problem: RoundingSteps, rows: Ints, columns: Ints) -> RoundingSteps:
    """A problem with some of the cells only."""
    inner = problem.interior
    place = np.full(len(problem.floor), -1, np.int64)
    place[rows] = np.arange(len(rows))
    finest = place[inner.finest]
    sums = inner.sums[rows][:, columns]
    return replace(
        problem,
        interior=Interior(finest[finest >= 0], place[inner.cells[columns]], sums),
        floor=problem.floor[rows],
        ceil=problem.ceil[rows],
        weight=problem.weight[rows],
        lowest=None if problem.lowest is None else problem.lowest[rows],
    )


def round_families(
    problem: RoundingSteps, parts: Lines, true: Ints, step: int, search: SearchEffort, seed: int, drawn: Floats | None
) -> Rounding | None:
    """The rounding of a problem by families of codes, ``None`` where other sums than whole lines tie them together.

    Parameters
    ----------
    problem
        Cells and neighbouring multiples.
    parts
        The lines of all free cells, and their families.
    true, step
        The true values of the free cells and the base, both in units.
    search
        Limits of the integer programs.
    seed
        Of the annealing.
    drawn
        A number from 0 to 1 for each free cell, from which lines are drawn without bias; without it they go to the
        nearest multiple where they can.
    """
    from scipy.sparse import csr_array

    inner = problem.interior
    totals = np.ones(len(problem.floor), np.bool_)
    totals[inner.cells] = False
    rows = np.flatnonzero(totals & (np.diff(inner.sums.indptr) > 0))
    sums = inner.sums[rows]
    count = len(parts.part)
    size = np.bincount(parts.line, minlength=count)
    onto = csr_array((np.ones(len(parts.line), np.int64), parts.line, np.arange(len(parts.line) + 1)))
    crossing = csr_array(sums @ onto)
    row = np.repeat(np.arange(len(rows)), np.diff(crossing.indptr))
    partly = np.bincount(row[crossing.data != size[crossing.indices]], minlength=len(rows)) > 0
    first = parts.part[crossing.indices[crossing.indptr[:-1]]]
    if problem.beyond or int(np.abs(true).max()) > MOST_UNITS // int(size.max()):
        return None
    if np.any(sums.data != 1) or np.any(partly[row] & (parts.part[crossing.indices] != first[row])):
        return None
    linked = crossing[~partly]
    linked.data[:] = 1
    lines = _line_sums(problem, parts, (csr_array(onto.T), true, step), (linked, rows[~partly]), search, seed, drawn)
    x = _under(problem, parts, lines)
    _exchanged(problem, parts, x, (sums[partly], rows[partly], first[partly]), seed)
    x = cheaper(problem, x, problem.violation(np.asarray(inner.sums @ x, np.int64)), seed)
    value = np.asarray(inner.sums @ x, np.int64)
    return Rounding(value, problem.violation(value), 0, problem.objective(value), least_possible(problem))


def _line_sums(
    problem: RoundingSteps,
    parts: Lines,
    exact: tuple[csr_array, Ints, int],
    links: tuple[csr_array, Ints],
    search: SearchEffort,
    seed: int,
    drawn: Floats | None,
) -> Ints:
    """The rounded sums of all lines: a problem whose free cells are the lines and whose sums are the linking totals."""
    from scipy.sparse import csr_array, eye_array, vstack

    onto, true, step = exact
    linked, rows = links
    least, most = (np.asarray(onto @ limit, np.int64) for limit in problem.limits)
    floor, above = np.divmod(np.asarray(onto @ true, np.int64), step)
    share = above / step
    # The draw of a line is made of those of its cells, so that it follows from what the line holds.
    up = 2 * above >= step if drawn is None else np.mod(onto @ drawn, 1.0) < share
    floor, ceil = (np.clip(side, least, most) for side in (floor, floor + (above > 0)))
    weight = np.where(ceil > floor, 1.0 - 2.0 * (share if drawn is None else up), 0.0)
    cells = np.arange(len(parts.part))
    coarse = RoundingSteps(
        Interior(cells, cells, csr_array(vstack([eye_array(len(cells), dtype=np.int64), linked]))),
        np.concatenate((floor, problem.floor[rows])),
        np.concatenate((ceil, problem.ceil[rows])),
        np.concatenate((weight, np.zeros(len(rows)))),
    )
    return round_controlled(coarse, floor + up, search, seed).value[: len(cells)]


def _under(problem: RoundingSteps, parts: Lines, lines: Ints) -> Ints:
    """Free cells that add up to the sums of their lines: those go up that cost least."""
    low, high = problem.limits
    need = lines - np.bincount(parts.line, low, len(lines)).astype(np.int64)
    movable = np.flatnonzero(high > low)
    order = movable[np.lexsort((movable, problem.weight[problem.interior.cells[movable]], parts.line[movable]))]
    mine = parts.line[order]
    begin = pointers(np.bincount(mine, minlength=len(lines)))
    x = low.copy()
    x[order[np.arange(len(order)) - begin[mine] < need[mine]]] += 1
    return x


def _exchanged(problem: RoundingSteps, parts: Lines, x: Ints, local: tuple[csr_array, Ints, Ints], seed: int) -> None:
    """Search the least worst violation of every part by exchanges within its lines, in place."""
    sums, rows, part_of_row = local
    low, high = problem.limits
    columns = sums.tocsc()
    start, row = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
    z = np.asarray(sums @ x, np.int64)
    floor, ceil = problem.floor[rows].copy(), problem.ceil[rows].copy()
    movable = np.flatnonzero(high > low)
    of_part = parts.part[parts.line[movable]]
    member = movable[np.lexsort((movable, parts.line[movable], of_part))]
    # Lines of a part stand together, so that those of all cells of a part do.
    renumbered = np.empty(len(parts.part), np.int64)
    renumbered[np.lexsort((np.arange(len(parts.part)), parts.part))] = np.arange(len(parts.part))
    line = renumbered[parts.line]
    begin = pointers(np.bincount(line[member], minlength=len(parts.part)))
    count = int(parts.part.max()) + 1
    cells = np.split(member, np.cumsum(np.bincount(of_part, minlength=count))[:-1])
    order = np.argsort(part_of_row, kind="stable")
    mine_rows = np.split(order, np.cumsum(np.bincount(part_of_row, minlength=count))[:-1])

    def searched(number: int) -> int:
        mine = cells[number]
        state = np.array([(seed + number) * 2 + 1], np.uint64)
        worst = 0
        for hot, cold, each in SCHEDULE:
            worst = exchanges.exchange(
                each * len(mine), state, start, row, x, low, line, begin, member, mine, mine_rows[number],
                z, floor, ceil, hot, cold,
            )  # fmt: skip
            if worst <= 1:
                break
        return worst

    with closing(in_order(searched, range(count), "round parts")) as results:
        for _ in results:
            pass
