"""Families of alternatives as evidence: certificates by table and row, and what each unsafe cell takes from them."""

from __future__ import annotations

import numpy as np

from discreet.model.arrays import LARGEST, Ints, pointers, ranges
from discreet.model.evidence import Certificates, Proofs
from discreet.relations import System
from discreet.solve.small import Alternative
from discreet.tables.suppress.families import Member


def certificates_and_proofs(
    system: System, families: dict[int, list[Member]], unit: Ints
) -> tuple[Certificates, Proofs]:
    """The evidence for all unsafe cells, in the order of the tables' rows; amounts are multiplied by ``unit``."""
    listed, number = _distinct(families)
    reverse = {number[id(m.alternative)] for family in families.values() for m in family if m.sign < 0}
    return _certificates(system, listed, reverse, unit), _proofs(system, families, number)


def has_fractions(system: System, certificates: Certificates) -> bool:
    """Whether certificates move cells by fractions of the last decimal that their table has."""
    finer = [10 ** (system.decimals - table.decimals) for table in system.tables]
    largest = max(finer) * max(certificates.denominator.tolist(), default=1)
    if largest == 1:
        return False
    kind = object if largest >= LARGEST else np.int64
    of = np.repeat(np.arange(len(certificates), dtype=np.int64), np.diff(certificates.start))
    step = certificates.denominator.astype(kind)[of] * np.array(finer, kind)[certificates.entry_table]
    return bool(np.any(certificates.amount % step))


def _distinct(families: dict[int, list[Member]]) -> tuple[list[Alternative], dict[int, int]]:
    """All alternatives, each once, and the number of each by its identity."""
    number: dict[int, int] = {}
    listed: list[Alternative] = []
    for target in sorted(families):
        for member in families[target]:
            if id(member.alternative) not in number:
                number[id(member.alternative)] = len(listed)
                listed.append(member.alternative)
    return listed, number


def _certificates(system: System, found: list[Alternative], reverse: set[int], unit: Ints) -> Certificates:
    """Alternatives by table and row: every place where a changed cell stands."""
    if not found:
        return Certificates.none()
    lengths = np.array([len(a.cells) for a in found], np.int64)
    cells = np.concatenate([a.cells for a in found]).astype(np.int64)
    times = unit[cells]
    largest = max((int(np.abs(a.amount).max(initial=0)) for a in found if a.amount.dtype != object), default=0)
    wide = any(a.amount.dtype == object for a in found) or largest * int(times.max(initial=1)) >= LARGEST
    kind = object if wide else np.int64
    amount = np.concatenate([a.amount.astype(kind) for a in found]) * times
    place_start, place_table, place_row = _places(system)
    count = np.diff(place_start)[cells]
    entry = np.repeat(np.arange(len(cells), dtype=np.int64), count)
    at = ranges(place_start[cells], count)
    number = np.repeat(np.arange(len(found), dtype=np.int64), lengths)
    both = np.zeros(len(found), np.bool_)
    both[sorted(reverse)] = True
    return Certificates(
        start=pointers(np.bincount(number[entry], minlength=len(found))),
        denominator=np.array([a.denominator for a in found], dtype=kind),
        both=both,
        entry_table=place_table[at],
        entry_row=place_row[at],
        amount=amount[entry],
    )


def _places(system: System) -> tuple[Ints, Ints, Ints]:
    """For every cell the tables and rows where it stands."""
    cells = np.concatenate(system.of)
    table = np.repeat(np.arange(len(system.of)), [len(of) for of in system.of]).astype(np.int64)
    row = np.concatenate([np.arange(len(of), dtype=np.int64) for of in system.of])
    order = np.argsort(cells, kind="stable")
    return pointers(np.bincount(cells, minlength=len(system))), table[order], row[order]


def _proofs(system: System, families: dict[int, list[Member]], number: dict[int, int]) -> Proofs:
    tables, rows, lengths, certificates, uses = [], [], [], [], []
    for place, (table, cells) in enumerate(zip(system.tables, system.of, strict=True)):
        for row in np.flatnonzero(table.unsafe).tolist():
            family = families.get(int(cells[row]), [])
            tables.append(place)
            rows.append(row)
            lengths.append(len(family))
            certificates += [number[id(member.alternative)] for member in family]
            uses += [member.use for member in family]
    return Proofs(
        np.array(tables, np.int64),
        np.array(rows, np.int64),
        pointers(np.array(lengths, np.int64)),
        np.array(certificates, np.int64),
        np.array(uses, np.int8),
    )
