"""Unsafe cells that got no certificate: impossible with a reason, or undecided; and what an officer accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from discreet.errors import ParameterError, ProtectionError, counted, listed, unknown_name
from discreet.model.arrays import NO_LOWER, NO_UPPER
from discreet.model.evidence import DOWN, MOVES, Acceptance
from discreet.model.table import Table
from discreet.relations import System
from discreet.relations.system import FIGURE
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import movable_cells
from discreet.tables.suppress.families import Unprotected
from discreet.tables.suppress.joint import Sum

if TYPE_CHECKING:
    from discreet.solve.bound import Bound

MOST_CELLS = 200_000
"""Reasons are looked for in systems of at most so many cells."""
SHOWN = 5
NOTHING_TO_DO = "nothing that is withheld now can hide it again"
AGAINST_INSIDERS = (
    "{} only against contributors who know their own contribution, as where one person stands alone: merging costs "
    "detail; {}insiders=None gives up contributors altogether, who then may work out what others have; accept= "
    "gives up these cells alone. The claim of the release names each of them."
)
LEVEL_ONLY = (
    "insiders='nonzero' gives up the level against contributors, who then may not work out a cell exactly but come "
    "close to it; "
)
FIELDS = ("table", "cells", "class", "reason", "name")
CLASSES = ("impossible", "undecided", "revealed")


class Failure(NamedTuple):
    """An unsafe cell without a certificate: its class, the reason in words, and the way out.

    ``insiders`` is how many contributors together it cannot be protected against; 0 for outsiders.
    """

    cell: int
    kind: Literal["impossible", "undecided", "revealed"]
    reason: str
    way_out: str
    insiders: int = 0


def classify(
    system: System, attackers: Attackers, unprotected: Mapping[int, Unprotected], sums: Sequence[Sum] = ()
) -> list[Failure]:
    """Say of every cell without a certificate whether none exists, with a reason that can be checked.

    Cells that were published before are among them, whether they were looked at or not; and unsafe cells of sums that
    stay known.
    """
    failures = [_failure(system, attackers, cell, found) for cell, found in unprotected.items()]
    for cell in np.flatnonzero(system.unsafe & system.known).tolist():
        who = " and ".join(system.publishers(cell))
        failures.append(Failure(cell, "revealed", f"{who} published it", NOTHING_TO_DO))
    for found in sums:
        names = listed([system.cell_name(c) for c in found.cells], SHOWN)
        reason = f"the sum of {names} is known and unsafe itself, and nothing was found that hides it"
        inside = [c for c in found.cells if system.unsafe[c] and all(c != failure.cell for failure in failures)]
        failures += [Failure(c, "undecided", reason, "merge its category with another") for c in inside]
    return sorted(failures, key=lambda failure: failure.cell)


def _failure(system: System, attackers: Attackers, cell: int, found: Unprotected) -> Failure:
    # A sliding level can be had in either direction, so that only what the direction itself needs proves anything.
    down = found.use == DOWN
    direction, way = (-1, "downwards") if down else (1, "upwards")
    level = int(system.lower_level[cell] if down else system.upper_level[cell])
    whom = ("outsiders", "a contributor", "two contributors together")[len(found.insiders)]
    bound = (
        furthest_move(system, attackers, cell, direction, level, set(found.insiders)) if found.use != MOVES else None
    )
    if bound is not None and bound.most < level:
        before = _published_beside(system, bound)
        if before and _moves_without(system, attackers, cell, direction, level, set(found.insiders)):
            how = "exactly" if bound.most == 0 else "more closely than its level allows"
            reason = f"what is already published reveals it {how} to {whom}: {listed(before, SHOWN)}"
            return Failure(cell, "revealed", reason, NOTHING_TO_DO)
        names = [system.relation_name(int(np.flatnonzero(system.defining)[row])) for row in bound.relations]
        forced = _forced_beside(system, bound)
        because = listed(names, SHOWN) if names else "what everybody knows of it is closer than its level"
        reason = f"for {whom} it cannot move {way} to its level even if every cell that may be is withheld: {because}"
        way_out = f"let {listed(forced, 3)} be withheld" if forced else "merge its category with another"
        return Failure(cell, "impossible", reason, way_out, len(found.insiders))
    reason = f"no certificate {way} against {whom} was found"
    return Failure(cell, "undecided", reason, "merge its category with another", len(found.insiders))


def furthest_move(
    system: System, attackers: Attackers, cell: int, direction: int, level: int, insiders: set[int]
) -> Bound | None:
    """How far the cell can move at most for some insiders, or for outsiders."""
    if len(system) > MOST_CELLS:
        return None
    from discreet.solve.bound import Bound, furthest

    movable = movable_cells(system)
    matrix = system.matrix[np.flatnonzero(system.defining)]
    value, lower, upper = system.value, attackers.lower, attackers.upper
    limit = int(lower[cell]) if direction < 0 else int(upper[cell])
    if NO_LOWER < limit < NO_UPPER and abs(limit - int(value[cell])) < level:
        return Bound(Fraction(abs(limit - int(value[cell]))), (), ())
    if insiders:
        alone, cells, floor = attackers.knowledge(insiders)
        movable[alone[alone != cell]] = False
        # Only what these insiders are known to know: what is merely assumed of others proves nothing impossible.
        lower = attackers.lower.copy()
        lower[cells] = floor
        lower[cell] = attackers.lower[cell]
    return furthest(matrix, movable, value, lower, upper, cell, direction)


def _published_beside(system: System, bound: Bound) -> list[str]:
    """Who published cells in the relations of a reason, or figures that are among these relations."""
    rows = np.flatnonzero(system.defining)[list(bound.relations)]
    cells = np.unique(system.matrix[rows].indices) if len(rows) else np.zeros(0, np.int64)
    names = [name for name, known in system.known_by if np.isin(known, cells).any()]
    names += [system.relation_name(row) for row in rows[system.origin[rows, 1] == FIGURE].tolist()]
    return list(dict.fromkeys(names))


def _moves_without(
    system: System, attackers: Attackers, cell: int, direction: int, level: int, insiders: set[int]
) -> bool:
    """Whether a cell could move to its level if nothing had been published before."""
    nothing = np.zeros(len(system), np.bool_)
    defining = system.defining & (system.origin[:, 1] != FIGURE)
    bound = furthest_move(
        replace(system.related(defining=defining), known=nothing), attackers, cell, direction, level, insiders
    )
    return bound is None or bound.most >= level


def _forced_beside(system: System, bound: Bound) -> list[str]:
    """Forced cells in the relations of a reason."""
    rows = np.flatnonzero(system.defining)[list(bound.relations)]
    cells = np.unique(system.matrix[rows].indices) if len(rows) else np.zeros(0, np.int64)
    return [system.cell_name(int(c)) for c in cells[system.forced[cells]]]


def failures_error(system: System, failures: Sequence[Failure], insiders: str | None = "full") -> ProtectionError:
    """Nothing is published while cells are neither protected nor accepted; ways out are weaker than what was asked."""
    lines = [f"{system.cell_name(f.cell)} ({f.kind}: {f.reason}; {f.way_out})" for f in failures[:SHOWN]]
    more = f" and {len(failures) - SHOWN} more" if len(failures) > SHOWN else ""
    count = {kind: sum(f.kind == kind for f in failures) for kind in CLASSES}
    revealed = f"{count['revealed']} revealed by what is already published, " if count["revealed"] else ""
    hint = (
        "Nothing is published. Publish fewer cells by force, merge categories, leave detail out, or accept the cells "
        "by name (accept=), which stays in the evidence."
    )
    inside = sum(failure.insiders > 0 for failure in failures)
    if inside:
        fail = "fails" if inside == 1 else "fail"
        less = LEVEL_ONLY if insiders == "full" else ""
        hint = f"{hint} {AGAINST_INSIDERS.format(f'{inside} of them {fail}', less)}"
    return ProtectionError(
        f"{counted(len(failures), 'unsafe cell')} cannot be protected ({revealed}{count['impossible']} proved "
        f"impossible, {count['undecided']} undecided): {'; '.join(lines)}{more}.",
        hint=hint,
    )


def plain_acceptances(accept: Any) -> tuple[dict[str, Any], ...]:
    """Acceptances as plain data; incomplete and misspelt ones are refused."""
    result = []
    for entry in [accept] if isinstance(accept, Mapping) else accept:
        if not isinstance(entry, Mapping):
            raise ParameterError(
                f"An acceptance is a {type(entry).__name__}.",
                hint="Give mappings with cells or class, reason and name.",
            )
        for field in entry:
            if field not in FIELDS:
                raise ParameterError(unknown_name("field", str(field), FIELDS, "an acceptance"))
        for field in ("reason", "name"):
            if not str(entry.get(field, "")).strip():
                raise ParameterError(
                    f"An acceptance has no {field}.", hint="Say why the cells may go out, and who answers for it."
                )
        if ("cells" in entry) == ("class" in entry):
            raise ParameterError("An acceptance names either cells or a class.", hint="Give cells=[[codes]] or class=.")
        if entry.get("class", "impossible") not in CLASSES:
            raise ParameterError(unknown_name("class", str(entry["class"]), CLASSES))
        plain = dict(entry)
        if "cells" in entry:
            plain["cells"] = [dict(cell) if isinstance(cell, Mapping) else list(cell) for cell in entry["cells"]]
        result.append(plain)
    return tuple(result)


def accepted(
    system: System, failures: Sequence[Failure], accept: Sequence[Mapping[str, Any]]
) -> tuple[list[Failure], list[Acceptance]]:
    """Failures that nobody accepts, and the acceptances of the others."""
    left, taken = [], []
    for failure in failures:
        entry = next((e for e in accept if _covers(system, e, failure)), None)
        if entry is None:
            left.append(failure)
            continue
        for number, cells in enumerate(system.of):
            table = system.tables.tables[number]
            for row in np.flatnonzero((cells == failure.cell) & table.unsafe).tolist():
                codes = table.spec_codes(table.codes[row].tolist())
                taken.append(Acceptance(table.name, codes, str(entry["reason"]), str(entry["name"])))
    return left, taken


def _covers(system: System, entry: Mapping[str, Any], failure: Failure) -> bool:
    for number, cells in enumerate(system.of):
        table = system.tables.tables[number]
        if entry.get("table") not in (None, table.name):
            continue
        for row in np.flatnonzero(cells == failure.cell).tolist():
            codes = table.spec_codes(table.codes[row].tolist())
            if entry.get("class") == failure.kind or any(_names(c, table, codes) for c in entry.get("cells", ())):
                return True
    return False


def _names(cell: Mapping[str, str] | Sequence[str], table: Table, codes: Sequence[str]) -> bool:
    """Whether an accepted cell has these codes; variables that it leaves out stand at their total."""
    if not isinstance(cell, Mapping):
        return list(cell) == list(codes)
    totals = {variable: hierarchy.total for variable, hierarchy in table.spec.by.items()}
    return {**totals, **cell} == dict(zip(table.variables, codes, strict=True))
