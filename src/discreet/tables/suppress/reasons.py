"""Why accepted cells cannot be protected, as evidence: relations with multipliers that the checker can add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.model.evidence import DOWN, MOVES, Acceptance, Impossible, Weighted
from discreet.relations import System
from discreet.relations.system import FIGURE
from discreet.solve.bound import Bound
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.classes import Failure, furthest_move
from discreet.tables.suppress.families import Unprotected


def with_reasons(
    system: System,
    attackers: Attackers,
    unprotected: Mapping[int, Unprotected],
    failures: Sequence[Failure],
    taken: Sequence[Acceptance],
) -> list[Acceptance]:
    """Acceptances with what was found of their cells, and a proof where the cell cannot be protected."""
    by_cell = {failure.cell: failure for failure in failures}
    known: dict[int, Impossible | None] = {}
    result = []
    for acceptance in taken:
        cell = _cell(system, acceptance)
        failure = by_cell[cell]
        if cell not in known:
            found = unprotected.get(cell)
            proved = failure.kind != "undecided" and found is not None
            known[cell] = _reason(system, attackers, cell, found) if proved and found is not None else None
        result.append(replace(acceptance, kind=failure.kind, because=known[cell]))
    return result


def _cell(system: System, acceptance: Acceptance) -> int:
    names = [table.name for table in system.tables]
    number = names.index(acceptance.table)
    table = system.tables.tables[number]
    codes = [h.index[code] for h, code in zip(table.spec.hierarchies, acceptance.cell, strict=True)]
    row = int(np.flatnonzero((table.codes == np.array(codes)).all(axis=1))[0])
    return int(system.of[number][row])


def _reason(system: System, attackers: Attackers, cell: int, found: Unprotected) -> Impossible | None:
    """The proof in terms of tables and codes; nothing where it rests on figures or on a level that slides."""
    if found.use == MOVES:
        return None
    # A sliding level can be had in either direction, so that only what the direction itself needs counts.
    level = int((system.lower_level if found.use == DOWN else system.upper_level)[cell])
    bound = furthest_move(system, attackers, cell, -1 if found.use == DOWN else 1, level, set(found.insiders))
    if bound is None or bound.most >= level:
        return None
    relations = _relations(system, bound)
    insiders = tuple(_listed(system, who) for who in sorted(found.insiders))
    return None if relations is None else Impossible(found.use, relations, insiders)


def _relations(system: System, bound: Bound) -> tuple[Weighted, ...] | None:
    rows = np.flatnonzero(system.defining)[list(bound.relations)].tolist()
    result = []
    for row, times in zip(rows, bound.multipliers, strict=True):
        number, variable, grouping, sample = system.origin[row].tolist()
        if variable == FIGURE:
            return None
        if times == 0:
            continue
        if variable < 0:
            number, sample = system.home[sample].tolist()
        table = system.tables.tables[number]
        name = table.variables[variable] if variable >= 0 else ""
        result.append(Weighted(table.name, table.spec_codes(table.codes[sample].tolist()), name, grouping, times))
    return tuple(result)


def _listed(system: System, who: int) -> tuple[str, tuple[str, ...], int]:
    """A cell where a contributor is among the largest, and its place there; without a name, one that it fills alone."""
    for table, cells in zip(system.tables, system.of, strict=True):
        if who >= 0 and table.holders is not None:
            row, place = (at.tolist() for at in np.nonzero(table.holders.identity == who))
        else:
            row = np.flatnonzero(system.holder[cells, 0] == who).tolist() if table.holders is None else []
            place = [0] * len(row)
        if row:
            return table.name, table.spec_codes(table.codes[row[0]].tolist()), place[0]
    raise AssertionError(f"contributor {who} is in no cell")
