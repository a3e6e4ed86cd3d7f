"""Certificates: each changes withheld cells only, keeps what is known of them, and keeps every relation, exactly."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from discreet.model.arrays import Bools, Ints, pointers
from discreet.model.evidence import Certificates
from discreet.progress import checkpoint
from discreet.verify.known import CommonKnowledge, Ground
from discreet.verify.verdict import Verdict

AT_ONCE = 2**21
"""So many entries are checked between two reports of progress."""
NARROW = 2**61
"""Sums of absolute amounts below this are checked in 64 bits."""


class CertificateEntries(NamedTuple):
    """Well-formed certificates, with rows numbered through all tables.

    ``amount`` and ``denominator`` are in 64 bits; certificates for which these do not suffice are ``wide``, stand there
    as zeros, and have their numbers in ``wide_amount`` and ``wide_denominator``.
    """

    start: Ints
    row: Ints
    both: Bools
    amount: Ints
    denominator: Ints
    wide: Ints
    wide_amount: NDArray[Any]
    wide_denominator: NDArray[Any]

    @property
    def exact_denominator(self) -> NDArray[Any]:
        """Denominators of all certificates, as wide integers only where it must be."""
        return self.wide_denominator if len(self.wide) else self.denominator


def integers(*columns: NDArray[Any]) -> bool:
    """Whether columns hold integers of at most 64 bits."""
    return all(column.dtype.kind == "i" and column.ndim == 1 for column in columns)


def own(column: NDArray[Any], kind: Any = np.int64) -> NDArray[Any]:
    """A column as compiled loops take it."""
    return np.require(column, kind, ["C", "W"])


def runs(start: Ints, count: int, total: int) -> bool:
    """Whether ``start`` cuts ``total`` entries into ``count`` runs."""
    return (
        integers(start)
        and len(start) == count + 1
        and int(start[0]) == 0
        and int(start[-1]) == total
        and bool(np.all(np.diff(start) >= 0))
    )


def read_certificates(verdict: Verdict, ground: Ground, c: Certificates) -> CertificateEntries | None:
    """The certificates, where they are well formed."""
    lengths = {len(c.amount), len(c.entry_row), len(c.entry_table)}
    wide_ok = all(column.dtype.kind == "i" or _whole_objects(column) for column in (c.amount, c.denominator))
    good = (
        wide_ok
        and integers(c.entry_table, c.entry_row)
        and len(lengths) == 1
        and c.both.dtype == np.bool_
        and len(c.both) == len(c.denominator)
        and runs(c.start, len(c.denominator), len(c.amount))
        and bool(np.all((c.entry_table >= 0) & (c.entry_table < len(ground.tables))))
        and bool(np.all((c.entry_row >= 0) & (c.entry_row < ground.sizes[c.entry_table])))
    )
    if not good:
        verdict.refuse("certificates", "the certificates are not well formed")
        return None
    if not bool(np.all(np.asarray(c.denominator > 0, np.bool_))):
        verdict.refuse("certificates", "a certificate has a denominator that is not positive")
        return None
    row = ground.first[c.entry_table] + c.entry_row
    wide = _wide(c)
    amount, denominator = c.amount, c.denominator
    if len(wide):
        hidden = np.repeat(np.isin(np.arange(len(c)), wide), np.diff(c.start))
        amount = np.where(hidden, 0, amount)
        denominator = np.where(np.isin(np.arange(len(c)), wide), 1, denominator)
    return CertificateEntries(
        start=own(c.start),
        row=own(row),
        both=own(c.both, np.bool_),
        amount=own(amount.astype(np.int64, copy=False)),
        denominator=own(denominator.astype(np.int64, copy=False)),
        wide=wide,
        wide_amount=c.amount.astype(object) if len(wide) else np.zeros(0, object),
        wide_denominator=c.denominator.astype(object) if len(wide) else np.zeros(0, object),
    )


def _whole_objects(column: NDArray[Any]) -> bool:
    return column.dtype == object and all(type(number) is int for number in column.tolist())


def _wide(c: Certificates) -> Ints:
    """Certificates whose sums or denominators may not fit into 64 bits."""
    longest = int(np.diff(c.start).max(initial=0))
    largest = max((abs(int(end)) for end in (c.amount.min(), c.amount.max())), default=0) if len(c.amount) else 0
    if largest * longest < NARROW and int(c.denominator.max(initial=1)) < NARROW:
        return np.zeros(0, np.int64)
    size = np.abs(np.clip(c.amount, -NARROW, NARROW).astype(np.float64))
    total = np.zeros(len(c), np.float64)
    np.add.at(total, np.repeat(np.arange(len(c)), np.diff(c.start)), size)
    # Rounding of floating-point sums is far below the factor of two between this limit and that of 64 bits.
    return np.flatnonzero((total >= NARROW) | np.asarray(c.denominator >= NARROW, np.bool_)).astype(np.int64)


def check_certificates(
    verdict: Verdict,
    ground: Ground,
    entries: CertificateEntries,
    knowledge: CommonKnowledge,
    certificate: Ints,
    row: Ints,
) -> NDArray[Any]:
    """Check all certificates; the answer is how far the given ones change the given rows, times their denominators."""
    from discreet.verify import kernels

    order = np.argsort(certificate, kind="stable")
    asked_start = pointers(np.bincount(certificate, minlength=len(entries.denominator)))
    asked_row = own(row[order])
    rows = (own(ground.hidden, np.bool_), knowledge.step, knowledge.rise, knowledge.fall, ground.twin)
    relations = (ground.relations.start, ground.relations.relation, ground.relations.positive)
    stamp = np.full(len(ground.hidden), -1, np.int64)
    problems = np.zeros((6 * kernels.MOST, 2), np.int64)
    count = 0

    def run(function: Any, begin: int, end: int, amount: Any, denominator: Any, *answers: Any) -> int:
        certificates = (entries.start, denominator, entries.row, amount, entries.both)
        at, sums, moved = answers
        scratch = (stamp, at, sums, asked_start, asked_row, moved, problems, count)
        return int(function(begin, end, *certificates, *rows, *relations, *scratch))

    answers = [np.zeros(size, np.int64) for size in (len(stamp), len(ground.relations), len(row))]
    for begin, end in _parts(entries.start):
        checkpoint("verify", begin, len(entries.denominator))
        count = run(kernels.check_certificates, begin, end, entries.amount, entries.denominator, *answers)
    if len(entries.wide):
        answers = [answer.astype(object) for answer in answers]
        stamp[:] = -1
        interpreted = cast(Any, kernels.check_certificates).py_func
        for c in entries.wide.tolist():
            count = run(interpreted, c, c + 1, entries.wide_amount, entries.wide_denominator, *answers)
    _refuse(verdict, ground, problems[:count])
    moved = np.empty_like(answers[2])
    moved[order] = answers[2]
    return moved


def _parts(start: Ints) -> list[tuple[int, int]]:
    """Certificates in parts of about as many entries."""
    cuts = np.searchsorted(start, np.arange(AT_ONCE, int(start[-1]), AT_ONCE))
    ends = np.unique(np.concatenate(([0], cuts, [len(start) - 1])))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def _refuse(verdict: Verdict, ground: Ground, problems: Ints) -> None:
    from discreet.verify.kernels import BOUND, PUBLISHED, RELATION, TWICE, TWIN, WHOLE

    words = {
        TWICE: "a certificate changes a cell twice",
        PUBLISHED: "a published cell changes in a certificate",
        BOUND: "a certificate leaves what is known of a cell",
        WHOLE: "a certificate of a count is not in whole numbers",
        TWIN: "cells that mean the same change differently",
    }
    for kind, where in sorted(problems.tolist()):
        if kind != RELATION:
            verdict.refuse("certificates", words[kind], ground.name(where))
            continue
        equation = ground.relations.equation(where)
        if equation is None:
            verdict.refuse("certificates", "a certificate breaks a relation", ground.relations.text(where))
        else:
            cell = ground.name(ground.relations.sample(where))
            verdict.refuse("certificates", f"a certificate breaks '{equation}'", cell)
