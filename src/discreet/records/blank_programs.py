"""Linear and integer programs of local suppression: better patterns for small files, and a bound that can be checked.

How many records of each small cell go to each class is a variable, whether a class is used is another. The linear
program is solved in about a second for thousands of cells, and its least cost is close to the true one. Its dual prices
give every record a *share*: no group of records that could look alike costs less than their shares, so that nothing
costs less than all shares together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.arrays import Floats, Ints
from discreet.records.blank_cells import KeyCells, Keys, LargeEnough, least_costs
from discreet.records.blanking import ClassPattern, blank_prices
from discreet.solve.program import run_listening, started

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MOST_VARIABLES = 300_000
"""Programs with more variables are not solved."""
MOST_PLACES = 2_000_000
"""Small cells times sets of columns: where there are more, they are not even listed."""
MOST_GROUPED = 8_000_000
"""Cells times sets of columns: where there are more, shares are those that records have by themselves."""
UNIT = 1_000_000
"""Shares are whole numbers of millionths."""
LITTLE = 1e-6
NEAR = 4
"""The first integer program has so many classes for every cell, those that the linear program likes best."""


@dataclass(frozen=True, eq=False)
class BlankProgram:
    """Places that small cells may go to: for each the cell, its blank columns as bits, the class, the cost of a record.

    ``lacks`` is how many records each class needs that is used, beside those that look like it as they are.
    """

    cell: Ints
    bits: Ints
    class_at: Ints
    cost: Floats
    records: Ints
    lacks: Ints
    keys: Keys

    def some(self, chosen: Ints) -> BlankProgram:
        """Some of the places."""
        used, class_at = np.unique(self.class_at[chosen], return_inverse=True)
        return BlankProgram(
            self.cell[chosen],
            self.bits[chosen],
            class_at.astype(np.int64),
            self.cost[chosen],
            self.records,
            self.lacks[used],
            self.keys[used],
        )

    def matrix(self) -> csc_array:
        """Rows: all records of a cell go somewhere; a class that is used is large enough; nobody is in another."""
        from scipy.sparse import coo_array, csc_array

        cells, classes, places = len(self.records), len(self.lacks), len(self.cell)
        place, one = np.arange(places), np.ones(places)
        used = cells + classes + place
        rows = (self.cell, cells + self.class_at, cells + np.arange(classes), used, used)
        columns = (place, place, places + np.arange(classes), place, places + self.class_at)
        values = (one, one, -self.lacks.astype(np.float64), one, -self.records[self.cell].astype(np.float64))
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return csc_array(coo_array(entries, (cells + classes + places, places + classes)))

    def model(self) -> Any:
        """The linear program, for HiGHS."""
        import highspy

        matrix, places, classes = self.matrix(), len(self.cell), len(self.lacks)
        endless = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = np.concatenate((self.cost, np.zeros(classes)))
        model.col_lower_ = np.zeros(places + classes)
        model.col_upper_ = np.full(places + classes, endless)
        records = self.records.astype(np.float64)
        model.row_lower_ = np.concatenate((records, np.zeros(classes), np.full(places, -endless)))
        model.row_upper_ = np.concatenate((records, np.full(classes, endless), np.zeros(places)))
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
        model.a_matrix_.value_ = matrix.data
        return model


@dataclass(frozen=True, eq=False)
class BlankRelaxation:
    """What the linear program says: records of each place, what each place costs beyond need, and shares of cells."""

    program: BlankProgram
    amount: Floats
    beyond: Floats
    share: Floats
    least: float


def blank_program(pattern: ClassPattern) -> BlankProgram | None:
    """The program of a pattern; ``None`` where it would be too large or nothing is to be done."""
    cells = len(pattern.small)
    if not cells or cells * len(pattern.sets) > MOST_PLACES or pattern.enough.weight is not None:
        return None
    class_at, keys = pattern.every_class()
    have, _ = pattern.large_totals(keys)
    could = have.copy()
    row, column = np.nonzero(class_at >= 0)
    found = class_at[row, column]
    np.add.at(could, found, pattern.records[row])
    able = could[found] >= pattern.enough.always
    if len(np.unique(row[able])) != cells or able.sum() > MOST_VARIABLES:
        return None
    row, column, found = row[able], column[able], found[able]
    bits = np.array([one.bits for one in pattern.sets], np.int64)[column]
    cost = blank_prices(pattern.price, row, bits) / pattern.records[row]
    lacks = np.maximum(pattern.enough.always - have, 0)
    whole = BlankProgram(row, bits, found, cost, pattern.records, lacks, keys)
    return whole.some(np.arange(len(row)))


def relaxed(program: BlankProgram, listen: Any) -> BlankRelaxation | None:
    """The linear program, solved; ``None`` where the solver gives it up."""
    import highspy

    highs = started(program.model())
    run_listening(highs, listen)
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution, places = highs.getSolution(), len(program.cell)
    return BlankRelaxation(
        program,
        np.asarray(solution.col_value)[:places],
        np.asarray(solution.col_dual)[:places],
        np.asarray(solution.row_dual)[: len(program.records)],
        float(highs.getInfo().objective_function_value),
    )


def round_to_classes(pattern: ClassPattern, program: BlankProgram, amount: Floats) -> None:
    """Put every cell where most of it is, and what is then in a class that is too small, anew; keep what is cheaper."""
    kept, before = (pattern.choice.copy(), pattern.class_key.copy()), pattern.cost()
    order = np.argsort(amount, kind="stable")
    place = np.zeros(len(program.records), np.int64)
    place[program.cell[order]] = order
    own = program.class_at[place]
    total = np.bincount(own, program.records, len(program.lacks))
    good = total[own] >= program.lacks[own]
    pattern.place(np.where(good, program.bits[place], -1), program.keys[own])
    if pattern.cost() >= before:
        pattern.choice, pattern.class_key = kept


@dataclass(frozen=True, eq=False)
class Searched:
    """What integer programs came to.

    ``columns`` are the blank columns, as bits, of every record of the small cells (records of a cell stand together),
    ``None`` where nothing cheaper was found; ``cost`` is what is cheapest, ``bound`` what any way costs at least that
    leaves all other records as they are, and ``nodes`` how many were looked at.
    """

    columns: Ints | None
    cost: float
    bound: float
    nodes: int


def search_classes(
    pattern: ClassPattern, relaxation: BlankRelaxation, cost: float, nodes: int, *, proof: bool
) -> Searched:
    """Look for a cheaper pattern than one of a certain cost; records of one cell may be in different classes.

    The first program has the places that the linear program uses, or nearly, and those of the pattern. The second,
    where a proof is asked for, has all that could be part of something cheaper.
    """
    program = relaxation.program
    best = Searched(None, cost, relaxation.least, 0)
    useful = relaxation.amount > LITTLE
    useful |= program.bits == pattern.choice[program.cell]
    if proof:
        useful[np.argsort(relaxation.beyond, kind="stable")[: NEAR * len(program.records)]] = True
    best = _searched(best, program.some(np.flatnonzero(useful)), nodes)
    best = Searched(best.columns, best.cost, relaxation.least, best.nodes)  # so far only of these places
    if proof and best.cost - best.bound > LITTLE:
        within = relaxation.beyond <= best.cost - best.bound + LITTLE
        best = _searched(best, program.some(np.flatnonzero(within)), nodes)
    return best


def _searched(best: Searched, program: BlankProgram, nodes: int) -> Searched:
    """The better of what is there and what an integer program finds."""
    if len(np.unique(program.cell)) < len(program.records):
        return best
    amount, bound, used = _whole_numbers(program, nodes)
    columns, cost = best.columns, best.cost
    if amount is not None and float(amount @ program.cost) < cost - LITTLE:
        cost = float(amount @ program.cost)
        order = np.argsort(program.cell, kind="stable")
        columns = np.repeat(program.bits[order], amount[order])
    return Searched(columns, cost, max(best.bound, min(bound, cost)), best.nodes + used)


def _whole_numbers(program: BlankProgram, nodes: int) -> tuple[Ints | None, float, int]:
    """An integer program: records of each place where something was found, the bound, and nodes looked at."""
    import highspy

    model = program.model()
    model.integrality_ = [highspy.HighsVarType.kInteger] * model.num_col_
    highs = started(model, mip_max_nodes=nodes, mip_rel_gap=0.0, mip_abs_gap=LITTLE)
    highs.run()
    info = highs.getInfo()
    some = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    amount = _feasible(program, np.asarray(highs.getSolution().col_value)[: len(program.cell)]) if some else None
    bound = float(info.mip_dual_bound) if np.isfinite(info.mip_dual_bound) else -np.inf
    return amount, bound, max(int(info.mip_node_count), 0)


def _feasible(program: BlankProgram, found: Floats) -> Ints | None:
    """A solution in whole numbers, if it keeps all conditions exactly."""
    amount = np.rint(found).astype(np.int64)
    gone = np.bincount(program.cell, amount, len(program.records))
    total = np.bincount(program.class_at, amount, len(program.lacks))
    fits = bool((gone == program.records).all() and ((total == 0) | (total >= program.lacks)).all())
    return amount if fits and bool((amount >= 0).all()) else None


def shares_of(cells: KeyCells, enough: LargeEnough, pattern: ClassPattern, relaxation: BlankRelaxation | None) -> Ints:
    """For a record of each cell its share of the least cost, in millionths, so that they hold whatever is done.

    Those of the linear program leave out that records which occur often enough might lose codes to keep others company.
    So shares of groups that could look alike for less are lowered. They are not below what a record costs by itself.
    """
    simple = least_costs(cells, enough) / cells.records
    share = simple.copy()
    if relaxation is not None and len(share) << cells.part.shape[1] <= MOST_GROUPED:
        share[pattern.small] = np.maximum(relaxation.share, 0.0)
        _lower(cells, enough.always, share)
        if float(share @ cells.records) < float(simple @ cells.records):
            share = simple
    return np.asarray(np.floor(share * UNIT + 1e-6), np.int64)


def _lower(cells: KeyCells, k: int, share: Floats) -> None:
    """Lower shares until no group of ``k`` records or more costs less than their shares."""
    from discreet.records.share_kernels import lower_shares

    each = cells.price / cells.records[:, None]
    columns = cells.part.shape[1]
    blank = np.asarray((cells.codes == 0) @ (1 << np.arange(columns, dtype=np.int64)), np.int64)
    keys, who, cost = [], [], []
    for bits in range(1 << columns):
        chosen = [column for column in range(columns) if bits >> column & 1]
        able = np.flatnonzero(blank & bits == 0)
        keys.append(cells.key[able] - cells.part[able][:, chosen].sum(axis=1, dtype=np.uint64))
        who.append(able)
        cost.append(each[able][:, chosen].sum(axis=1))
    every = np.concatenate(keys)
    order = np.argsort(every, kind="stable")
    start = np.flatnonzero(np.concatenate(([True], np.diff(every[order]) > 0)))
    start = np.append(start, len(every)).astype(np.int64)
    lower_shares(start, np.concatenate(who)[order], np.concatenate(cost)[order], cells.records, share, k)
