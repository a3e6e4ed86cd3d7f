"""Building the system: cells of all tables numbered, their relations and levels, and what is known of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import LARGEST, NO_LOWER, NO_UPPER, Bools, Ints, pointers, ranges
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet, VariableEquation, as_set
from discreet.model.units import unit_text
from discreet.relations.equations import Equations, table_equations
from discreet.relations.identity import cell_identities, stands_alone
from discreet.relations.insiders import Insiders
from discreet.relations.relating import Relating, Relations
from discreet.relations.system import FIGURE, System

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.relations.variables import Places, VariableRows


FEW = 4_000
"""Entries or cells up to which a table is small."""


def build_system(tables: Table | TableSet, already: AlreadyPublished | None = None) -> System:
    """Cells and relations of a table or set, together with what is already published.

    Raises
    ------
    InputError
        When shared cells disagree or are to be published in one table and withheld in another.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table()
    >>> build_system(table).matrix.shape
    (8, 16)
    """
    now = as_set(tables)
    already = AlreadyPublished() if already is None else already
    tables = already.joined(now)
    of, size = cell_identities(tables)
    decimals = max(table.decimals for table in tables)
    scales = [10 ** (decimals - table.decimals) for table in tables]
    value = _common_values(tables, of, size, scales)

    relating = Relating(partial(_relations, tables, of, size, scales))
    if tables.equations:
        relating.found  # noqa: B018  # equations between variables that cannot be are refused at once
    protection = _protection(tables, of, size, scales, len(now))
    known, known_by = _known(already, now, of, protection["given"])
    system = System(
        tables=tables,
        of=tuple(of),
        relating=relating,
        decimals=decimals,
        value=value,
        present=len(now),
        already=already,
        figure_of=np.zeros(0, np.int64),
        known=known,
        known_by=known_by,
        parts={},
        **protection,
        insiders=Insiders(tables, of, size, scales, relating),
    )
    return _with_figures(system) if already.figures else system


def _relations(tables: TableSet, of: list[Ints], size: int, scales: list[int]) -> Relations:
    """All relations of tables and of equations between variables, each once."""
    parts = [_table_rows(number, *given) for number, given in enumerate(zip(tables, of, scales, strict=True))]
    if tables.equations:
        from discreet.relations.variables import places

        where = places(tables)
        parts += [_equation_rows(number, tables, of, scales, where) for number in range(len(tables.equations))]
    rows = parts[0] if len(parts) == 1 else _together(parts)
    matrix = _matrix(rows.row, rows.cell, rows.coefficient, (len(rows.origin), size))
    keep, slack = distinct_rows(matrix, rows.defining, rows.slack)
    return Relations(
        matrix if len(keep) == matrix.shape[0] else matrix[keep],
        rows.defining[keep],
        rows.origin[keep],
        rows.parent[keep],
        slack,
    )


def _matrix(row: Ints, cell: Ints, coefficient: Ints, shape: tuple[int, int]) -> csr_array:
    """The relations as rows of a matrix, cells in order; entries of the same cell are added up."""
    from scipy.sparse import coo_array, csr_array

    if len(row) <= FEW:  # the conversions of scipy take longer than all the rest then
        order = np.lexsort((cell, row))
        rows, cells = row[order], cell[order]
        twice = (rows[1:] == rows[:-1]) & (cells[1:] == cells[:-1])
        if not twice.any() and coefficient.all():
            start = pointers(np.bincount(rows, minlength=shape[0]))
            return csr_array((coefficient[order], cells, start), shape=shape)
    matrix = coo_array((coefficient, (row, cell)), shape=shape).tocsr()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def _known(
    already: AlreadyPublished, now: TableSet, of: list[Ints], given: Bools
) -> tuple[Bools, tuple[tuple[str, Ints], ...]]:
    """Cells that were published before, and by whom; those that only earlier tables hold and withhold are given."""
    if not already.tables and not already.known:
        return np.zeros(len(given), np.bool_), ()
    known_by = tuple((name, of[number][rows]) for name, number, rows in already.published_rows(now))
    known, before = np.zeros(len(given), np.bool_), np.zeros(len(given), np.bool_)
    for _, cells in known_by:
        known[cells] = True
    for cells in of[len(now) :]:
        before[cells] = True
    for cells in of[: len(now)]:
        before[cells] = False
    given[before & ~known] = True
    return known, known_by


def _with_figures(system: System) -> System:
    """The system with a cell and a relation for every sum that a figure tells something of."""
    from scipy.sparse import csr_array, vstack

    from discreet.relations.figures import hidden_sums

    sums = hidden_sums(
        system.already.figures, system.tables, system.of, system.value, system.known | system.empty, system.decimals
    )
    size, more = len(system), len(sums)
    entries = [(i, cell, n) for i, found in enumerate(sums) for cell, n in found.coefficient.items()]
    entries += [(i, size + i, -1) for i in range(more)]
    row, cell, coefficient = np.array(entries, np.int64).reshape(-1, 3).T
    relations = csr_array((coefficient, (row, cell)), shape=(more, size + more))
    old = system.matrix
    wider = csr_array((old.data, old.indices, old.indptr), shape=(old.shape[0], size + more))
    figure_of = np.array([found.figure for found in sums], np.int64)
    nothing = np.zeros(more, np.int64)
    origin = np.column_stack((nothing, nothing + FIGURE, figure_of, nothing))
    matrix = vstack([wider, relations]).tocsr()
    matrix.sort_indices()
    columns = {
        "value": np.array([found.value for found in sums], np.int64),
        "lower_bound": np.array([found.lower for found in sums], np.int64),
        "upper_bound": np.array([found.upper for found in sums], np.int64),
        "given": np.ones(more, np.bool_),  # nobody sees it, so it moves for free
        **{name: np.zeros(more, np.bool_) for name in ("empty", "unsafe", "forced", "known")},
        **dict.fromkeys(("lower_level", "upper_level", "sliding_level"), nothing),
    }
    changes: dict[str, Any] = {name: np.concatenate((getattr(system, name), c)) for name, c in columns.items()}
    wider_system = system.related(
        matrix=matrix,
        defining=np.concatenate((system.defining, np.ones(more, np.bool_))),
        origin=np.concatenate((system.origin, origin)),
        parent=np.concatenate((system.parent, nothing - 1)),
        slack=np.concatenate((system.slack, nothing)),
    )
    return replace(
        wider_system,
        figure_of=figure_of,
        insiders=replace(system.insiders, figures=more),
        **changes,
    )


class _Rows(NamedTuple):
    """Relations of one table or equation, before they are put together."""

    row: Ints
    cell: Ints
    coefficient: Ints
    origin: Ints
    defining: Bools
    parent: Ints
    slack: Ints


def _together(parts: list[_Rows]) -> _Rows:
    """The relations of several tables and equations, one after the other."""
    offsets = np.cumsum([0, *(len(part.origin) for part in parts)])
    shifted = [part._replace(row=part.row + offset) for part, offset in zip(parts, offsets, strict=False)]
    return _Rows(*(np.concatenate(columns) for columns in zip(*shifted, strict=True)))


def _table_rows(number: int, table: Table, cells: Ints, scale: int) -> _Rows:
    equations = table_equations(table)
    rows = len(equations.variable)
    origin = np.column_stack((np.full(rows, number), equations.variable, equations.grouping, equations.sample))
    # Cells above any finer cell are all there, so that the defining relations imply the others, exactly.
    complete = table.from_records or (table.slack is None and bool((equations.parent >= 0).all()))
    return _Rows(
        equations.row,
        cells[equations.cell],
        equations.coefficient,
        origin,
        equations.defining | (not complete),
        np.where(equations.parent >= 0, cells[equations.parent], -1),
        _slack(table, equations) * scale,
    )


def _equation_rows(number: int, tables: TableSet, of: list[Ints], scales: list[int], where: Places) -> _Rows:
    from discreet.relations.variables import variable_rows

    equation = tables.equations[number]
    found = variable_rows(equation, tables, of, where)
    rows = len(found.total)
    fixed = np.zeros(rows, np.int64)
    return _Rows(
        found.row,
        found.cell,
        found.coefficient,
        np.column_stack((fixed, fixed - 1, fixed + number, found.total)),
        np.ones(rows, np.bool_),
        found.total,
        _equation_slack(equation, found, tables, of, scales),
    )


def _equation_slack(
    equation: VariableEquation, found: VariableRows, tables: TableSet, of: list[Ints], scales: list[int]
) -> Ints:
    """Half a unit for each cell from a rounded table, and the largest slack that a table states as a number."""
    stated = 0
    doubled = np.zeros(max((int(cells.max(initial=-1)) for cells in of), default=-1) + 1, np.int64)
    variables = {variable for variable, _ in equation.terms()}
    for table, cells, scale in zip(tables, of, scales, strict=True):
        if table.spec.value in variables and table.slack is not None:
            stated = max(stated, table.slack * scale)
            if table.slack < 0:
                doubled[cells] = scale
    rounded = np.zeros(len(found.total), np.int64)
    np.add.at(rounded, found.row, doubled[found.cell])
    return stated + rounded // 2


def _slack(table: Table, equations: Equations) -> Ints:
    rows = len(equations.variable)
    if table.slack is None:
        return np.zeros(rows, np.int64)
    if table.slack < 0:  # every cell was rounded to its unit: half a unit for each cell of the relation
        return np.bincount(equations.row, minlength=rows) // 2
    return np.full(rows, table.slack, np.int64)


def _common_values(tables: TableSet, of: list[Ints], size: int, scales: list[int]) -> Ints:
    """Values in the common unit; shared cells must agree."""
    alone = stands_alone(tables, size)
    value = np.zeros(size, np.int64)
    for table, cells, scale in zip(tables, of, scales, strict=True):
        if float(max(table.value.max(initial=0), -float(table.value.min(initial=0)))) * scale >= LARGEST:
            raise InputError(
                f"Table {table.name!r} cannot be expressed in the finest unit of the set in 64 bits.",
                hint="Give all tables the same decimals=.",
            )
        if alone:
            return table.value * scale
        value[cells] = table.value * scale
    if size == sum(len(table) for table in tables):
        return value  # every cell stands in one place
    worst, gap = (0, 0), 0
    for number, (table, cells, scale) in enumerate(zip(tables, of, scales, strict=True)):
        difference = np.abs(value[cells] - table.value * scale)
        if len(difference) and int(difference.max()) > gap:
            gap, worst = int(difference.max()), (number, int(np.argmax(difference)))
    if gap:
        raise _disagreement(tables, of, worst, gap)
    return value


def _disagreement(tables: TableSet, of: list[Ints], worst: tuple[int, int], gap: int) -> InputError:
    """Name the worst cell and the place that it was compared with, the last one where it stands."""
    cell = of[worst[0]][worst[1]]
    last = max((number, row) for number, cells in enumerate(of) for row in np.flatnonzero(cells == cell).tolist())
    first, second = sorted((worst, last))
    one, two = tables.tables[first[0]], tables.tables[second[0]]
    decimals = max(table.decimals for table in tables)
    details = f"They differ by {unit_text(gap, decimals)}."
    if one is two:
        return InputError(
            f"Table {one.name!r} disagrees on cells that mean the same; the worst are {one.cell_name(first[1])} and "
            f"{two.cell_name(second[1])}.",
            hint="Their codes cover the same base codes, so give them the same value.",
            details=details,
        )
    return InputError(
        f"Tables disagree on cells that mean the same; the worst is {one.cell_name(first[1])} of table {one.name!r} "
        f"({two.cell_name(second[1])} of table {two.name!r}).",
        hint="Tabulate all tables from the same records, or give different universes, periods or weights.",
        details=details,
    )


def _protection(
    tables: TableSet, of: list[Ints], size: int, scales: list[int], present: int
) -> dict[str, NDArray[Any]]:
    """Statuses, levels and bounds of the distinct cells: the strictest of all places where a cell stands.

    What earlier tables force or withhold besides is over; their unsafe cells stay unsafe.
    """
    alone = stands_alone(tables, size)
    empty = np.ones(size, np.bool_)
    unsafe, forced, given = (np.zeros(size, np.bool_) for _ in range(3))
    levels = np.zeros((3, size), np.int64)
    lower, upper = (np.zeros(0, np.int64),) * 2 if alone else np.repeat([[NO_LOWER], [NO_UPPER]], size, axis=1)
    for number, (table, cells, scale) in enumerate(zip(tables, of, scales, strict=True)):
        mine = table.unsafe
        # One table may hold a cell under several names, so every row must count, not the last one.
        if alone:
            np.copyto(empty, table.empty)
        else:
            empty[cells[~table.empty]] = False
        unsafe[cells[mine]] = True
        if number < present:
            forced[cells[table.status == int(CellStatus.FORCED)]] = True
            given[cells[table.status == int(CellStatus.SECONDARY)]] = True
        low, up = table.attacker_bounds()
        if scale != 1:
            low = np.where(low > NO_LOWER, low * scale, NO_LOWER)
            up = np.where(up < NO_UPPER, up * scale, NO_UPPER)
        if alone:
            lower = low if table.lower_bound is None else np.maximum(low, NO_LOWER)
            upper = up if table.upper_bound is None else np.minimum(up, NO_UPPER)
        else:
            np.maximum.at(lower, cells, low)
            np.minimum.at(upper, cells, up)
        if table.assessment is not None and unsafe.any():
            a = table.assessment
            for i, level in enumerate((a.lower, a.upper, a.sliding)):
                np.maximum.at(levels[i], cells, np.where(mine, level * scale, 0))
    for table, cells in zip(tables, of, strict=True) if forced.any() else ():
        for hidden, how in ((unsafe, "unsafe"), (given, "withheld as secondary")):
            clash = forced[cells] & hidden[cells]
            if np.any(clash):
                raise InputError(
                    f"Cell {table.cell_name(int(np.argmax(clash)))} of table {table.name!r} is forced to be published "
                    f"in one place and {how} in another.",
                    hint="Mark it the same way in every table that holds it.",
                )
    return {
        "empty": empty,
        "unsafe": unsafe,
        "forced": forced,
        "given": given,
        "lower_level": levels[0],
        "upper_level": levels[1],
        "sliding_level": levels[2],
        "lower_bound": lower,
        "upper_bound": upper,
    }


def distinct_rows(matrix: csr_array, preferred: Bools, slack: Ints) -> tuple[Ints, Ints]:
    """One of all equal rows that say something, with the least slack that is stated for it.

    Rows are equal up to their sign; preferred ones stand for the others. Equal rows are found by random sums of
    their entries and compared entry by entry.
    """
    lengths = matrix.indptr[1:] - matrix.indptr[:-1]
    if not len(lengths):
        return np.zeros(0, np.int64), slack
    marks = _few_marks()[: matrix.shape[1]] if matrix.shape[1] <= FEW else _marks(matrix.shape[1])
    ordered = np.sort(np.abs(matrix @ marks[:, 0]))
    if np.all(ordered[1:] != ordered[:-1]):  # no two rows are equal, and at most one says nothing
        keep = np.flatnonzero(lengths)
        return keep, slack[keep]
    sums = (matrix @ marks).T
    sums = sums * np.where(sums[0] < 0, -1, 1)
    order = np.lexsort((np.arange(len(lengths)), ~preferred, sums[1], sums[0], lengths))
    alike = np.all(np.stack([np.diff(a[order]) == 0 for a in (sums[0], sums[1], lengths)]), axis=0)
    at = np.flatnonzero(alike)
    alike[at] = _same_entries(matrix, order[at], order[at + 1])
    group = np.concatenate(([0], np.cumsum(~alike)))[: len(order)]
    least = np.full(int(group.max(initial=-1)) + 1, LARGEST, np.int64)
    np.minimum.at(least, group, slack[order])
    first = np.flatnonzero(np.diff(group, prepend=-1))
    first = first[lengths[order[first]] > 0]
    place = np.argsort(order[first], kind="stable")
    return order[first][place], least[group[first]][place]


def _marks(size: int) -> Ints:
    """Two random numbers for each cell, always the same ones."""
    return np.random.default_rng(20240229).integers(-(2**31), 2**31, size=(size, 2), dtype=np.int64)


@cache
def _few_marks() -> Ints:
    """The first of them, kept for small tables."""
    return _marks(FEW)


def _same_entries(matrix: csr_array, one: Ints, two: Ints) -> Bools:
    """Whether pairs of rows of equal length are equal up to their sign."""
    lengths = np.diff(matrix.indptr)[one].astype(np.int64)
    result = np.ones(len(one), np.bool_)
    if not lengths.any():
        return result
    mine, other = (ranges(matrix.indptr[rows].astype(np.int64), lengths) for rows in (one, two))
    starts = pointers(lengths)[:-1]
    sign = np.ones(len(one), np.int64)
    some = lengths > 0
    sign[some] = matrix.data[mine[starts[some]]] * matrix.data[other[starts[some]]]
    wrong = (matrix.indices[mine] != matrix.indices[other]) | (
        matrix.data[mine] != matrix.data[other] * np.repeat(sign, lengths)
    )
    result[np.repeat(np.arange(len(one)), lengths)[wrong]] = False
    return result
