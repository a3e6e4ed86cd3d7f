"""Joint dominance: sums of withheld cells that the published ones give away must be safe under the rules too.

Where a relation has several withheld parts and a published total, everybody knows what the parts are together. One
contributor may stand behind all of them, or nearly so. Such a sum is treated as an unsafe cell of its own: more is
withheld until it can move to its level over all relations; then the next larger sum is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.model.arrays import NO_LOWER, NO_UPPER, Bools, Floats, Ints
from discreet.model.claims.suppression import sums_are_judged
from discreet.model.table import NOBODY, Contributions, Table
from discreet.progress import checkpoint
from discreet.relations import System
from discreet.relations.equations import table_equations
from discreet.rules.assess import assess_table
from discreet.rules.base import rule_from_record
from discreet.solve.local import LocalPrograms
from discreet.tables.suppress.attackers import Attackers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RULES = ("p_percent", "prior_posterior", "dominance", "max_share", "min_contributors")
"""Rules that say something of who stands behind a sum of cells."""


class Sum(NamedTuple):
    """Withheld cells of one table that are known together, and how far the sum must be able to move."""

    table: int
    cells: tuple[int, ...]
    down: int
    up: int


def protect_sums(
    system: System, cost: Floats, attackers: Attackers, withheld: Bools, widen: Callable[[Bools], Bools]
) -> tuple[Bools, list[Sum]]:
    """Withhold more until every sum that is given away is safe; also the sums for which nothing could be found.

    ``widen`` is applied to what is withheld in every round: the same cells in all value variables, for example.
    """
    stuck: dict[tuple[int, ...], Sum] = {}
    done = 0
    while True:
        withheld = widen(withheld)
        open_ = [found for found in unsafe_sums(system, withheld) if found.cells not in stuck]
        if not open_:
            return withheld, list(stuck.values())
        programs = _programs(system, cost, attackers, withheld, open_)
        for number, found in enumerate(open_):
            done += 1
            checkpoint("joint", done, done + len(open_) - number - 1)
            if not _moves(programs, len(system) + number, found):
                stuck[found.cells] = found
        withheld = programs.withheld[: len(system)]


def _moves(programs: LocalPrograms, target: int, found: Sum) -> bool:
    """Let the sum move to its levels, whatever that takes."""
    for direction, level in ((1, found.up), (-1, found.down)):
        alternative = programs.find(target, direction, level) if level else None
        if level and alternative is None:
            return False
        if alternative is not None:
            programs.withhold(alternative.cells)
    return True


def _programs(system: System, cost: Floats, attackers: Attackers, withheld: Bools, sums: list[Sum]) -> LocalPrograms:
    """The relations with a cell for every sum; what is withheld moves for free."""
    from discreet.tables.suppress.certified import movable_cells

    more = len(sums)
    value = [sum(int(system.value[c]) for c in found.cells) for found in sums]
    required = np.concatenate((withheld, np.ones(more, np.bool_)))
    return LocalPrograms(
        _with_sums(system, sums),
        np.concatenate((system.value, np.array(value, np.int64))),
        np.concatenate((attackers.lower, np.full(more, NO_LOWER))),
        np.concatenate((attackers.upper, np.full(more, NO_UPPER))),
        np.concatenate((movable_cells(system) | withheld, np.ones(more, np.bool_))),
        required,
        np.concatenate((cost, np.zeros(more))),
        np.concatenate((attackers.integral, np.zeros(more, np.bool_))),  # sums of counts are not judged
    )


def _with_sums(system: System, sums: list[Sum]) -> csr_array:
    from scipy.sparse import csr_array, vstack

    size, more = len(system), len(sums)
    entries = [(i, cell, 1) for i, found in enumerate(sums) for cell in found.cells]
    entries += [(i, size + i, -1) for i in range(more)]
    row, cell, coefficient = np.array(entries, np.int64).T
    old = system.matrix[np.flatnonzero(system.defining)]
    wider = csr_array((old.data, old.indices, old.indptr), shape=(old.shape[0], size + more))
    together: csr_array = vstack([wider, csr_array((coefficient, (row, cell)), shape=(more, size + more))]).tocsr()
    return together


# ---- which sums are known, and which of them are unsafe -----------------------------------------------------


def unsafe_sums(system: System, withheld: Bools) -> list[Sum]:
    """Sums of several withheld cells that the published ones give away and that break a rule, largest level first."""
    known: dict[int, list[tuple[int, ...]]] = {}
    for table, cells in dict.fromkeys(_known_sums(system, withheld)):
        known.setdefault(table, []).append(cells)
    found = [s for number, sums in known.items() for s in _judged(system, number, sums)]
    return sorted(found, key=lambda s: (-s.up, s.cells))  # no level down is larger than the one up


def _known_sums(system: System, withheld: Bools) -> Iterator[tuple[int, tuple[int, ...]]]:
    """What single relations give away, also where withheld totals are resolved into their withheld parts.

    Every table is looked at with all its own relations. The system keeps a relation that several tables have for the
    first of them only, but withheld margins have parts in the others, too.
    """
    for number, table in enumerate(system.tables.tables[: system.present]):
        if not sums_are_judged(table):
            continue
        for form in _known_in(table, system.of[number], withheld):
            distinct = tuple(sorted(set(form)))
            if 1 < len(form) == len(distinct) and system.unsafe[list(distinct)].any():
                yield number, distinct


def _known_in(table: Table, cells: Ints, withheld: Bools) -> Iterator[list[int]]:
    """Withheld cells of one table whose sum is known, in every way in which its withheld totals can be resolved."""
    equations = table_equations(table)
    cell = cells[equations.cell]
    plus, hidden = equations.coefficient > 0, withheld[cell]
    taken = np.bincount(equations.row[~plus], minlength=len(equations.variable))
    sides: dict[int, tuple[list[int], list[int]]] = {}
    for row, one, added in zip(
        equations.row[hidden].tolist(), cell[hidden].tolist(), plus[hidden].tolist(), strict=True
    ):
        sides.setdefault(row, ([], []))[0 if added else 1].append(one)
    part_of: dict[tuple[int, int], list[int]] = {}
    known: list[list[int]] = []
    for row in sorted(sides):
        parts, totals = sides[row]
        if not totals or not parts:
            known.append(parts or totals)
        if len(totals) == 1 and taken[row] == 1 and parts != totals:
            part_of.setdefault((int(equations.variable[row]), totals[0]), parts)
    variables = list(range(len(table.variables)))
    for given in known:
        yield given
        for some in (*([v] for v in variables), variables):
            yield _resolved(given, some, part_of)


def _resolved(cells: list[int], variables: list[int], part_of: dict[tuple[int, int], list[int]]) -> list[int]:
    """The cells with every withheld total replaced by its withheld parts, one variable after the other."""
    for variable in variables:
        result, waiting = [], list(reversed(cells))
        while waiting:
            cell = waiting.pop()
            parts = part_of.get((variable, cell))
            if parts is None:
                result.append(cell)
            else:
                waiting += reversed(parts)
        cells = result
    return cells


def _judged(system: System, number: int, sums: list[tuple[int, ...]]) -> list[Sum]:
    """Sums of a table that break one of its rules, with their levels in units of the system."""
    table = system.tables.tables[number]
    if table.assessment is None:
        return []
    row_of = np.full(len(system), -1, np.int64)
    row_of[system.of[number]] = np.arange(len(table))
    rows = [row_of[list(cells)] for cells in sums]
    rules = [rule_from_record(record) for record in table.assessment.rules if record["kind"] in RULES]
    judged = assess_table(table_of_sums(table, rows), rules, table.assessment.profile).assessment
    assert judged is not None
    scale = 10 ** (system.decimals - table.decimals)
    return [
        Sum(number, sums[i], int(judged.lower[i]) * scale, int(judged.upper[i]) * scale)
        for i in np.flatnonzero(judged.unsafe).tolist()
    ]


def table_of_sums(table: Table, rows: list[Ints]) -> Table:
    """A table whose cells are the sums of some rows of another, as the rules see them."""

    def summed(column: Ints | None) -> Ints | None:
        return None if column is None else np.array([column[r].sum() for r in rows], np.int64)

    return table.with_(
        codes=table.codes[[int(r[0]) for r in rows]],
        value=summed(table.value),
        empty=np.zeros(len(rows), np.bool_),
        records=summed(table.records),
        nonzero=summed(table.nonzero),
        weighted=summed(table.weighted),
        contributions={
            level: _by_holder(table, found, rows) if level == "holding" else _by_record(found, rows)
            for level, found in table.contributions.items()
        },
        **dict.fromkeys(("holders", "manual", "manual_lower", "manual_upper", "lower_bound", "upper_bound", "cost")),
        assessment=None,
        source=None,
    )


def _by_record(found: Contributions, rows: list[Ints]) -> Contributions:
    """Records are in one of the cells only."""
    top = [np.sort(found.top[r].ravel())[::-1][: found.top.shape[1]] for r in rows]
    some = None if found.nonzero is None else [int(found.nonzero[r].sum()) for r in rows]
    return _contributions(found, rows, [int(found.count[r].sum()) for r in rows], some, top)


def _by_holder(table: Table, found: Contributions, rows: list[Ints]) -> Contributions:
    """Whoever is in several of the cells counts with all that it has; nobody counts with less than it may have."""
    holders = table.holders
    assert holders is not None
    width = found.top.shape[1]
    counts, some, tops = [], [], []
    for r in rows:
        named: dict[int, int] = {}
        listed_in: dict[int, int] = {}
        unlisted = 0
        for identity, amount, count, value in zip(
            holders.identity[r].tolist(),
            holders.amount[r].tolist(),
            holders.count[r].tolist(),
            table.value[r].tolist(),
            strict=True,
        ):
            here = [(who, has) for who, has in zip(identity, amount, strict=True) if who != NOBODY]
            # Who is not listed has no more than the last who is.
            rest = 0 if count <= len(here) else here[-1][1] if here else value
            unlisted += rest
            for who, has in here:
                named[who] = named.get(who, 0) + has
                listed_in[who] = listed_in.get(who, 0) + rest
        most = [has + unlisted - listed_in[who] for who, has in named.items()] + [unlisted] * width
        counts.append(max(len(named), int(holders.count[r].max(initial=0))))
        if found.nonzero is not None:
            some.append(max(sum(has != 0 for has in named.values()), int(found.nonzero[r].max(initial=0))))
        tops.append(_at_most(sorted(most, reverse=True)[:width], int(table.value[r].sum())))
    return _contributions(found, rows, counts, some or None, tops)


def _at_most(top: list[int], total: int) -> Ints:
    """Contributions that together are no more than the whole."""
    result, left = [], total
    for amount in top:
        result.append(max(min(amount, left), 0))
        left -= result[-1]
    return np.array(result, np.int64)


def _contributions(
    found: Contributions, rows: list[Ints], counts: list[int], some: list[int] | None, tops: list[Ints]
) -> Contributions:
    return Contributions(
        np.array(counts, np.int64),
        np.array([int(found.total[r].sum()) for r in rows], np.int64),
        np.array(tops, np.int64).reshape(len(rows), found.top.shape[1]),
        np.array([bool(found.negative[r].any()) for r in rows], np.bool_),
        nonzero=None if some is None else np.array(some, np.int64),
    )
