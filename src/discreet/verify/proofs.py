"""Proofs: every unsafe cell reaches its levels in the certificates named for it, whatever insiders can rule out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import NO_LOWER, Bools, Ints, Status
from discreet.model.evidence import DOWN, MOVES, UP, Proofs
from discreet.verify.certificates import CertificateEntries, integers, own, runs
from discreet.verify.known import NEVER_SEEN, Ground, RowContributors
from discreet.verify.rules import Recheck
from discreet.verify.verdict import Verdict

MOST = 20
"""So many cells are named for each thing that is wrong."""


class Targets(NamedTuple):
    """Proofs that name cells and certificates which are there.

    ``row`` is numbered through all tables, ``of`` is the proof that each entry belongs to, and proofs are ``waived``
    where the officer accepts the cell as it is.
    """

    row: Ints
    start: Ints
    certificate: Ints
    use: Status
    of: Ints
    waived: Bools


class ProofTargets(NamedTuple):
    """What is to be shown for each proof, in units of the evidence."""

    upper: NDArray[Any]
    lower: NDArray[Any]
    sliding: NDArray[Any]


class ProofDirections(NamedTuple):
    """How the certificates of proofs are taken, and for which proofs each direction is needed."""

    opposite: Bools
    needed: dict[int, Bools]


def read_proofs(verdict: Verdict, ground: Ground, p: Proofs, certificates: int, accepted: Ints) -> Targets | None:
    """The proofs, where there is exactly one for every unsafe cell that is not accepted."""
    good = (
        integers(p.table, p.row, p.certificate, p.use)
        and len(p.table) == len(p.row)
        and len(p.certificate) == len(p.use)
        and runs(p.start, len(p.table), len(p.certificate))
    )
    if not good:
        verdict.refuse("proofs", "the proofs are not well formed")
        return None
    there = bool(np.all((p.table >= 0) & (p.table < len(ground.tables)))) and bool(
        np.all((p.row >= 0) & (p.row < ground.sizes[p.table]))
    )
    there &= bool(np.all((p.certificate >= 0) & (p.certificate < certificates)))
    if not there or not bool(np.all((p.use >= UP) & (p.use <= MOVES))):
        verdict.refuse("proofs", "a proof names a cell or certificate that is not there")
        return None
    row = ground.first[p.table] + p.row
    times = np.bincount(row, minlength=len(ground.unsafe))
    wanted = ground.unsafe.copy()
    wanted[accepted] = False
    for rows, message in (
        ((times > 0) & ~ground.unsafe, "a proof is about a cell that is not unsafe"),
        (times > 1, "a cell has more than one proof"),
        (wanted & (times == 0), "an unsafe cell has no proof"),
        (wanted & ground.known, "an unsafe cell is known from what was published before, and nobody accepts that"),
        (wanted & ~ground.known & ~ground.hidden, "an unsafe cell is published in another table"),
    ):
        name_cells(verdict, ground, np.flatnonzero(rows), message)
    of = np.repeat(np.arange(len(row), dtype=np.int64), np.diff(p.start))
    return Targets(own(row), own(p.start), own(p.certificate), own(p.use, np.int8), of, np.isin(row, accepted))


def name_cells(verdict: Verdict, ground: Ground, rows: Ints, message: str, check: str = "proofs") -> None:
    """Refuse some cells by name."""
    for row in rows[:MOST].tolist():
        verdict.refuse(check, message, ground.name(row))


def levels_of(ground: Ground, rechecks: Sequence[Recheck], decimals: int, row: Ints) -> ProofTargets:
    """Levels of the cells that proofs are about."""
    columns: list[list[NDArray[Any]]] = [[], [], []]
    for table, recheck in zip(ground.tables, rechecks, strict=True):
        unit = 10 ** (decimals - table.decimals)
        assessment = table.assessment
        sliding = np.zeros(len(table), np.int64) if assessment is None else assessment.sliding
        for column, level in zip(columns, (recheck.upper, recheck.lower, sliding), strict=True):
            column.append(np.maximum(level.astype(object) * unit, 0))
    return ProofTargets(*(np.concatenate(column)[row] for column in columns))


def check_levels(
    verdict: Verdict,
    ground: Ground,
    entries: CertificateEntries,
    targets: Targets,
    levels: ProofTargets,
    moved: NDArray[Any],
) -> ProofDirections:
    """Every certificate reaches the level that it is named for, and every level has a certificate."""
    if moved.dtype != object:  # no certificate reaches what 64 bits cannot hold
        levels = ProofTargets(*(np.minimum(level, NEVER_SEEN).astype(np.int64) for level in levels))
    up, down = targets.use == UP, targets.use == DOWN
    opposite = np.asarray((up & (moved < 0)) | (down & (moved > 0)), np.bool_)
    # Whatever a certificate is named for, one that does not change the cell, or not that way, shows nothing.
    useless = np.asarray(moved == 0, np.bool_) | (opposite & ~entries.both[targets.certificate])
    reached = np.abs(moved) // entries.exact_denominator[targets.certificate]
    open_ = ~targets.waived
    for use, level, side in ((UP, levels.upper, "upper"), (DOWN, levels.lower, "lower")):
        mine = np.flatnonzero(targets.use == use)
        of = targets.of[mine]
        short = np.asarray(level > 0, np.bool_)
        short[of] = False
        short[of[useless[mine] | np.asarray(reached[mine] < level[of], np.bool_)]] = True
        missed = targets.row[short & open_]
        name_cells(verdict, ground, missed, f"the {side} protection level is not reached")
    still = targets.of[(targets.use == MOVES) & useless]
    idle = targets.row[np.unique(still[open_[still]])]
    name_cells(verdict, ground, idle, "a certificate that is to move a cell does not change it")
    needed = {use: np.asarray(level > 0, np.bool_) & open_ for use, level in ((UP, levels.upper), (DOWN, levels.lower))}
    for p in np.flatnonzero(np.asarray(levels.sliding > 0, np.bool_) & open_).tolist():
        _check_sliding(verdict, ground, entries, targets, p, int(levels.sliding[p]), moved, needed)
    return ProofDirections(opposite, needed)


def _check_sliding(
    verdict: Verdict,
    ground: Ground,
    entries: CertificateEntries,
    targets: Targets,
    p: int,
    level: int,
    moved: NDArray[Any],
    needed: dict[int, Bools],
) -> None:
    """The least moves up and down together reach the sliding level; directions without which they do not are needed."""
    least = {UP: Fraction(0), DOWN: Fraction(0)}
    for use in least:
        mine = [i for i in range(int(targets.start[p]), int(targets.start[p + 1])) if targets.use[i] == use]
        numbers = [int(targets.certificate[i]) for i in mine]
        moves = [
            Fraction(abs(int(moved[i])), int(entries.exact_denominator[c])) for i, c in zip(mine, numbers, strict=True)
        ]
        least[use] = min(moves, default=Fraction(0))
    if least[UP] + least[DOWN] < level:
        verdict.refuse("proofs", "the sliding protection level is not reached", ground.name(int(targets.row[p])))
    needed[DOWN][p] |= least[UP] < level
    needed[UP][p] |= least[DOWN] < level or not needed[DOWN][p]


def check_insiders(
    verdict: Verdict,
    ground: Ground,
    entries: CertificateEntries,
    targets: Targets,
    shown: ProofDirections,
    levels: ProofTargets,
    whole: Bools,
    insiders: RowContributors,
    full: bool,
) -> None:
    """No insider rules out all certificates of a cell: of each direction that is needed, or of all together."""
    from discreet.verify import kernels

    found, pairs = _ruled_out(entries, targets, shown.opposite, ground.cells, whole, insiders, full)
    lower = np.minimum(levels.lower, NEVER_SEEN).astype(np.int64)
    # Downwards the largest contributor is spared, and whoever knows that its own contribution leaves no room.
    spared = (insiders.largest[targets.row], np.where(insiders.certain[targets.row], lower, NO_LOWER))
    nobody = (np.full(len(lower), -1, np.int64), np.full(len(lower), NO_LOWER, np.int64))
    if full:
        rounds = [
            (UP, shown.needed[UP], nobody, " of the upper protection level"),
            (DOWN, shown.needed[DOWN], spared, " of the lower protection level"),
        ]
    else:
        rounds = [(-1, shown.needed[UP] | shown.needed[DOWN], nobody, "")]
    proofs = (targets.start, targets.certificate, targets.use, shown.opposite)
    who = (ground.cells, insiders.sole, insiders.holder, insiders.left)
    seen = np.zeros(insiders.number, np.int32)
    for use, needed, exempt, what in rounds:
        bad = np.zeros(len(targets.row), np.bool_)
        kernels.check_families(use, *proofs, needed, targets.row, *who, *exempt, found, pairs, seen, bad)
        if use == DOWN:
            for p in np.flatnonzero(bad).tolist():
                people = insiders.parts.spared(int(targets.row[p]), int(levels.lower[p]))
                bad[p] = not people or _some_insider(
                    p, targets, shown, ground.cells, insiders, *exempt, found, pairs, people
                )
        message = f"a contributor can rule out all certificates{what}"
        name_cells(verdict, ground, targets.row[bad], message, "insiders")


def _some_insider(
    p: int,
    targets: Targets,
    shown: ProofDirections,
    cells: Ints,
    insiders: RowContributors,
    largest: Ints,
    least: Ints,
    found: Ints,
    pairs: Ints,
    people: set[int],
) -> bool:
    """Whether somebody rules out all certificates of a lower level, apart from some people and those always spared."""
    from discreet.verify.kernels import EVERYBODY

    row = int(targets.row[p])
    ruling: set[int] | None = None
    for i in range(int(targets.start[p]), int(targets.start[p + 1])):
        if int(targets.use[i]) != DOWN:
            continue
        first, last = found[int(targets.certificate[i]), int(shown.opposite[i])].tolist()
        said = {who for who, spared in pairs[first:last].tolist() if spared != cells[row]}
        if EVERYBODY not in said:
            ruling = said if ruling is None else ruling & said
    if ruling is None:
        return True
    held = zip(insiders.holder[row].tolist(), insiders.left[row].tolist(), strict=True)
    tight = {who for who, left in held if who >= 0 and left < int(least[p])}
    return bool(ruling - people - tight - {int(insiders.sole[row]), int(largest[p])})


def _ruled_out(
    entries: CertificateEntries,
    targets: Targets,
    opposite: Bools,
    cells: Ints,
    whole: Bools,
    insiders: RowContributors,
    full: bool,
) -> tuple[Ints, Ints]:
    """Who rules each certificate out, in the sign that it is taken with: where lists begin and end, and the lists."""
    from discreet.verify import kernels

    wanted = np.zeros((len(entries.denominator), 2), np.bool_)
    wanted[targets.certificate, opposite.astype(np.int64)] = True
    narrow = wanted.copy()
    narrow[entries.wide] = False
    found = np.zeros((len(wanted), 2, 2), np.int64)
    who = (insiders.sole, insiders.holder, insiders.left, insiders.general)
    known: tuple[Any, ...] = (full, whole, cells, *who, found)
    empty = np.empty((1024, 2), np.int64)
    numbers: tuple[Any, ...] = (entries.start, entries.denominator, entries.row, entries.amount, narrow)
    pairs, count = cast(Any, kernels.rule_out)(*numbers, *known, empty, 0)
    if len(entries.wide):
        numbers = (entries.start, entries.wide_denominator, entries.row, entries.wide_amount, wanted & ~narrow)
        pairs, _ = cast(Any, kernels.rule_out).py_func(*numbers, *known, pairs, count)
    return found, pairs
