"""Releases of records to what attackers get out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.attack.linkage import ALL_WAYS, link_all_ways
from discreet.attack.record_attack import RecordAttack
from discreet.attack.record_audit import NotRun, RecordAudit
from discreet.attack.synthetic.asked import ATTEMPTS
from discreet.attack.synthetic.battery import attack_synthetic
from discreet.attack.value_intervals import interval_disclosure
from discreet.errors import InputError, NeedsError, ParameterError, listed
from discreet.measures.values import altered_numbers
from discreet.model.custodian import RecordCustodian
from discreet.model.records import KEY, NEVER_PUBLIC, NUMERIC, SENSITIVE
from discreet.model.release import Release
from discreet.progress import checkpoint
from discreet.verbs.recoded_knowledge import OWN_CODES, as_recoded, coded_by_class

if TYPE_CHECKING:
    import pyarrow as pa

TRIED = 20_000
"""So many records are tried where nobody says otherwise: their share lies within 1 % of that of all."""
REPORTED = 20_000
"""Files of at most so many records are audited for their report without asking."""
Found = tuple[list[RecordAttack], list[NotRun]]
MIXED_WAYS = ("nearest", "pooled", "original", "range", "probabilistic")
"""Ways that compare codes, too."""
PUBLISHED_SHARES = ("rank_swap",)
"""Methods whose share of ranks an intruder may read in the description of the file."""


def audit_records(
    release: Release[RecordCustodian],
    columns: Sequence[str] | None = None,
    *,
    sample: int | None = None,
    most: float | None = None,
    holdout: Any = None,
    seed: int = 0,
) -> RecordAudit:
    """What attackers who have original values get out of a release of records.

    Parameters
    ----------
    release
        A release of records.
    columns
        Columns of which an intruder has the original values; keys, and numbers that were altered, where left out.
    sample
        So many records are tried, drawn by a public hash of what they hold; 20,000 where left out.
    most
        The largest share of right guesses that is allowed.
    holdout
        Records that were not used to make the file: what attacks on synthetic files find of them is the baseline.
    seed
        Which conditions are tried for singling out.
    """
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int) or sample < 1):
        raise ParameterError(f"sample={sample!r} is not allowed.", hint="Give a number of records, at least 1.")
    if most is not None and not 0 <= most < 1:
        raise ParameterError(f"most={most!r} is not allowed.", hint="Give a share, at least 0 and below 1.")
    custodian = release.custodian
    files = _AuditedFiles(custodian, _known(custodian, columns), TRIED if sample is None else sample)
    found: list[RecordAttack] = []
    left_out: list[NotRun] = []
    runs: tuple[Callable[[], Found], ...] = (files.linkage, files.intervals, lambda: files.unlinked(holdout, seed))
    for stage, run in enumerate(runs):
        checkpoint("attacks on records", stage, len(runs))
        attacks, missing = run()
        found += attacks
        left_out += missing
    by_class = [name for name in coded_by_class(custodian) if name in files.known]
    notes = (f"{listed(by_class)}: {OWN_CODES}",) if by_class else ()
    return RecordAudit(len(custodian.original), tuple(found), tuple(left_out), most, notes)


def audit_for_report(release: Release[RecordCustodian]) -> RecordAudit | None:
    """The audit that a report shows; nothing of large files, and where nobody says what an intruder has."""
    if len(release.custodian.original) > REPORTED or not known_columns(release.custodian):
        return None
    return audit_records(release)


def known_columns(custodian: RecordCustodian, keys: Sequence[str] = ()) -> tuple[str, ...]:
    """Columns of which an intruder is taken to have the original values: keys, and numbers that have the role or were
    altered."""
    original = custodian.original
    roles = {*keys, *original.with_role(KEY, NUMERIC), *altered_numbers(custodian)}
    return tuple(n for n in original.names if n in roles and original.about(n).role not in NEVER_PUBLIC)


def _known(custodian: RecordCustodian, columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns that were named, or those that an intruder is taken to have."""
    names = (columns,) if isinstance(columns, str) else columns
    found = known_columns(custodian) if names is None else tuple(names)
    for name in found:
        custodian.original[name]  # refuses what is not there
    if not found:
        raise NeedsError(
            "An audit of records needs to know which columns an intruder has.",
            hint="Give columns=[...], or Microdata(keys=[...], numeric=[...]).",
        )
    return found


class _AuditedFiles:
    """The original as an intruder has it, and the released file, by the columns that can be compared."""

    def __init__(self, custodian: RecordCustodian, known: Sequence[str], tried: int) -> None:
        self.custodian, self.tried = custodian, tried
        self.before, self.after = as_recoded(custodian), custodian.released
        shown = [name for name in self.after.names if self.after.about(name).role not in NEVER_PUBLIC]
        self.same = [name for name in shown if self._alike(name)]
        self.known = [name for name in known if name in self.same]
        self.other = [name for name in known if name not in self.same]

    def _alike(self, name: str) -> bool:
        """Whether a column holds numbers in both files or in none, and anything at all."""
        before, after = self.before[name], self.after[name]
        return is_number(before) == is_number(after) and after.null_count < len(after)

    def linkage(self) -> Found:
        """Every way to link the records with the original ones; ways for numbers alone within codes that stayed."""
        missing = [NotRun(f"linkage by {name!r}", "its released values are of another kind") for name in self.other]
        if not self.known:
            return [], missing
        numbers = [name for name in self.known if is_number(self.before[name])]
        stayed = [n for n in self.known if n not in numbers and self.before[n].equals(self.after[n])]
        rank = self._published_share()
        asked: list[tuple[list[str], Sequence[str], list[str], float | None]] = [(self.known, MIXED_WAYS, [], None)]
        if numbers:
            asked.append((numbers, [way for way in ALL_WAYS if way not in MIXED_WAYS], stayed, rank))
        attacks: list[RecordAttack] = []
        for columns, ways, blocking, share in asked:
            try:
                found = link_all_ways(
                    self.before, self.after, columns, ways=ways, blocking=blocking, share=share, sample=self.tried
                )
            except InputError as error:
                missing.append(NotRun("linkage", error.message))
                continue
            # Codes that stayed are read in the released file: whoever does not have it guesses among all records.
            attacks += [replace(way, baseline=1 / len(self.after)) for way in found.attacks]
            missing += found.not_run
        return attacks, missing

    def _published_share(self) -> float | None:
        """The share of ranks of an exchange that an intruder may have read about."""
        steps = [e for e in self.custodian.evidence if e.claim.method in PUBLISHED_SHARES]
        return float(steps[0].method["share"]) if len(steps) == 1 else None

    def intervals(self) -> Found:
        """How closely numbers are known once a record is found."""
        numbers = [name for name in altered_numbers(self.custodian) if name in self.known]
        try:
            return ([interval_disclosure(self.before, self.after, numbers)] if numbers else []), []
        except InputError as error:
            return [], [NotRun("intervals of values", error.message)]

    def unlinked(self, holdout: Any, seed: int) -> Found:
        """What the file tells of people without naming a record."""
        if len(self.same) < 2:
            return [], [NotRun("attacks on synthetic files", "two columns of the same kind in both files are needed")]
        secret = [name for name in self.before.with_role(SENSITIVE) if name in self.same]
        keys = [name for name in self.known if name not in secret]
        try:
            found = attack_synthetic(
                self.before,
                self.after,
                holdout,
                keys=keys or None,
                secret=secret or None,
                columns=self.same,
                attempts=min(self.tried, ATTEMPTS),
                seed=seed,
            )
        except InputError as error:
            return [], [NotRun("attacks on synthetic files", error.message)]
        return list(found.attacks), [NotRun("attacks on synthetic files", why) for why in found.not_run]


def is_number(column: pa.ChunkedArray) -> bool:
    """Whether a column holds numbers."""
    import pyarrow as pa

    return bool(pa.types.is_integer(column.type) or pa.types.is_floating(column.type))
