"""Certified suppression: one exact alternative table for every unsafe cell and direction."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.errors import ProtectionError, listed
from discreet.model.arrays import Bools, Floats, Ints, pointers
from discreet.model.evidence import Certificates, Proofs
from discreet.progress import steps
from discreet.relations import System
from discreet.relations.identity import cell_identities
from discreet.solve.alternative import Alternative, AlternativeModel


def certify(system: System, cost: Floats) -> tuple[Bools, Certificates, Proofs, dict[str, int]]:
    """Withhold cells until every unsafe one has its alternatives; largest level first.

    Raises
    ------
    ProtectionError
        When some cell cannot reach its level even if every other cell were withheld.
    """
    withheld = system.unsafe | system.given
    model = AlternativeModel(
        system.matrix,
        system.defining,
        system.value,
        system.lower_bound,
        system.upper_bound,
        movable=~system.forced & ~(system.empty & ~system.unsafe),
        cost=cost,
        integral=_integral(system),
    )
    found: list[Alternative] = []
    reached: dict[tuple[int, int], tuple[Fraction, int]] = {}
    up, down = _needed(system)
    impossible: list[int] = []
    targets = np.flatnonzero(system.unsafe)
    order = targets[np.lexsort((targets, -np.maximum(up[targets], down[targets])))]
    for target in steps("protect", order.tolist()):
        for direction, level in ((1, int(up[target])), (-1, int(down[target]))):
            if level == 0 or reached.get((target, direction), (Fraction(0), -1))[0] >= level:
                continue
            alternative = model.find(target, direction, level, withheld)
            if alternative is None:
                impossible.append(target)
                break
            withheld[alternative.cells] = True
            _remember(reached, alternative, len(found))
            found.append(alternative)
    if impossible:
        raise _impossible(system, impossible)
    withheld = _one_pattern(system, withheld)
    effort = {"linear_programs": len(found), "simplex_iterations": model.iterations}
    return withheld, _certificates(system, found), _proofs(system, up, down, reached), effort


def _needed(system: System) -> tuple[Ints, Ints]:
    """Upper and lower levels; a sliding level that they do not reach together is asked of the upper side."""
    missing = np.maximum(system.sliding_level - system.upper_level - system.lower_level, 0)
    return system.upper_level + missing, system.lower_level


def _integral(system: System) -> Bools:
    """Cells that everybody knows to be whole numbers of units: unweighted counts."""
    result = np.zeros(len(system), np.bool_)
    for table, cells in zip(system.tables, system.of, strict=True):
        if table.spec.value is None and not table.spec.weight and table.decimals == system.decimals:
            result[cells] = True
    return result


def _remember(reached: dict[tuple[int, int], tuple[Fraction, int]], alternative: Alternative, number: int) -> None:
    """A certificate may serve every cell that it moves."""
    for cell, amount in zip(alternative.cells.tolist(), alternative.amount, strict=True):
        key = (cell, 1 if amount > 0 else -1)
        move = abs(Fraction(amount, alternative.denominator))
        if move > reached.get(key, (Fraction(0), -1))[0]:
            reached[key] = (move, number)


def _one_pattern(system: System, withheld: Bools) -> Bools:
    """Withhold the same cells in all value variables, where that was asked."""
    if not system.tables.one_pattern:
        return withheld
    places, size = cell_identities(system.tables, by_value=False)
    hidden = np.zeros(size, np.bool_)
    for place, cells in zip(places, system.of, strict=True):
        hidden[place[withheld[cells]]] = True
    result = withheld.copy()
    for place, cells in zip(places, system.of, strict=True):
        result[cells[hidden[place] & ~system.empty[cells]]] = True
    clash = result & system.forced
    if clash.any():
        raise ProtectionError(
            f"Cell {system.cell_name(int(np.argmax(clash)))} must be published but is withheld in another variable.",
            hint="Do not force it, or do not ask for one pattern.",
        )
    return result


def _impossible(system: System, cells: list[int]) -> ProtectionError:
    names = [system.cell_name(cell) for cell in cells]
    return ProtectionError(
        f"{len(cells)} unsafe cells cannot be protected, even if every other cell that may be withheld were: "
        f"{listed(names, 5)}.",
        hint="Publish fewer cells by force, merge categories, or leave detail out; nothing is published.",
    )


def _certificates(system: System, found: list[Alternative]) -> Certificates:
    """Alternatives by table and row: every place where a changed cell stands."""
    if not found:
        return Certificates.none()
    lengths = np.array([len(a.cells) for a in found], np.int64)
    cells = np.concatenate([a.cells for a in found])
    amounts = [amount for a in found for amount in a.amount]
    number = np.repeat(np.arange(len(found), dtype=np.int64), lengths)
    place_start, place_table, place_row = _places(system)
    count = np.diff(place_start)[cells]
    entry = np.repeat(np.arange(len(cells), dtype=np.int64), count)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
    at = place_start[cells][entry] + offset
    wide = max((abs(a) for a in amounts), default=0) >= 2**62
    amount = np.array(amounts, dtype=object if wide else np.int64)[entry]
    return Certificates(
        start=pointers(np.bincount(number[entry], minlength=len(found))),
        denominator=np.array([a.denominator for a in found], dtype=object if wide else np.int64),
        entry_table=place_table[at],
        entry_row=place_row[at],
        amount=amount,
    )


def _places(system: System) -> tuple[Ints, Ints, Ints]:
    """For every cell the tables and rows where it stands."""
    cells = np.concatenate(system.of)
    table = np.repeat(np.arange(len(system.of)), [len(of) for of in system.of]).astype(np.int64)
    row = np.concatenate([np.arange(len(of), dtype=np.int64) for of in system.of])
    order = np.argsort(cells, kind="stable")
    return pointers(np.bincount(cells, minlength=len(system))), table[order], row[order]


def _proofs(system: System, up: Ints, down: Ints, reached: dict[tuple[int, int], tuple[Fraction, int]]) -> Proofs:
    tables, rows, ups, downs = [], [], [], []
    for number, (table, cells) in enumerate(zip(system.tables, system.of, strict=True)):
        for row in np.flatnonzero(table.unsafe).tolist():
            cell = int(cells[row])
            tables.append(number)
            rows.append(row)
            ups.append(reached[cell, 1][1] if up[cell] else -1)
            downs.append(reached[cell, -1][1] if down[cell] else -1)
    return Proofs(*(np.array(column, np.int64) for column in (tables, rows, ups, downs)))
