"""Releases of records to what attackers get out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attack.linkage import ALL_WAYS, link_all_ways
from discreet.attack.linkage_columns import true_links
from discreet.attack.record_attack import RecordAttack
from discreet.attack.record_audit import NotRun, RecordAudit
from discreet.attack.synthetic.asked import ATTEMPTS
from discreet.attack.synthetic.battery import attack_synthetic
from discreet.attack.value_intervals import interval_disclosure
from discreet.engine.record_set import with_identity
from discreet.errors import InputError, NeedsError, ParameterError, listed
from discreet.measures.values import altered_numbers
from discreet.model.arrays import Ints
from discreet.model.custodian import RecordCustodian
from discreet.model.records import IDENTIFIER, KEY, NEVER_PUBLIC, NUMERIC, SENSITIVE, RecordSet
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
MANY_NUMBERS = 20
"""Text that is all numbers, with more different ones than this, is pointed out."""
NUMBER = r"^\s*[-+]?[0-9]+([.,][0-9]+)?\s*$"
NOBODY_SAYS = (
    "nobody says which record is whose; name a column of both files that does (truth), or say that both have the same "
    "order (same_order)"
)
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
    before, after = as_recoded(custodian), custodian.released
    rows, tried = np.arange(len(before)), TRIED if sample is None else sample
    files = _AuditedFiles(before, after, _known(custodian, columns), tried, rows)
    found, left_out = _all_attacks(
        lambda: files.linkage(_published_share(custodian)),
        lambda: files.intervals(altered_numbers(custodian)),
        lambda: files.unlinked(holdout, seed),
    )
    by_class = [name for name in coded_by_class(custodian) if name in files.known]
    notes = (f"{listed(by_class)}: {OWN_CODES}",) if by_class else ()
    return RecordAudit(len(custodian.original), tuple(found), tuple(left_out), most, notes)


def audit_two_files(
    original: RecordSet,
    released: RecordSet,
    known: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    truth: str | Sequence[int] | None = None,
    same_order: bool = False,
    sample: int = TRIED,
) -> RecordAudit:
    """What attackers who have original values get out of any other file of records.

    Parameters
    ----------
    original, released
        Both files.
    known
        Columns of which an intruder has the original values.
    sensitive
        Columns that the intruder guesses; those with that role where left out.
    truth
        Which record is whose: a column of both files, or for each original row the released one, -1 for none. Where
        left out, an identifier that both files have.
    same_order
        Whether row ``i`` of one file is row ``i`` of the other.
    sample
        So many records are tried.
    """
    if same_order and truth is not None:
        raise ParameterError("Both truth= and same_order=True say which record is whose.", hint="Give one of them.")
    shared = [n for n in original.with_role(IDENTIFIER) if n in released.with_role(IDENTIFIER)]
    given = truth if truth is not None or same_order or not shared else shared[0]
    links = true_links(original, released, given) if given is not None or same_order else None
    files = _AuditedFiles(with_identity(original), with_identity(released), known, sample, links)
    numbers = [name for name in files.known if is_number(original[name])]
    found, left_out = _all_attacks(
        files.linkage, lambda: files.intervals(numbers), lambda: files.unlinked(None, 0, sensitive)
    )
    return RecordAudit(len(original), tuple(found), tuple(left_out), None, tuple(_text_of_numbers(files)))


def _all_attacks(*runs: Callable[[], Found]) -> Found:
    found: list[RecordAttack] = []
    left_out: list[NotRun] = []
    for stage, run in enumerate(runs):
        checkpoint("attacks on records", stage, len(runs))
        attacks, missing = run()
        found += attacks
        left_out += missing
    return found, left_out


def _published_share(custodian: RecordCustodian) -> float | None:
    """The share of ranks of an exchange that an intruder may have read about."""
    steps = [e for e in custodian.evidence if e.claim.method in PUBLISHED_SHARES]
    return float(steps[0].method["share"]) if len(steps) == 1 else None


def _text_of_numbers(files: _AuditedFiles) -> Iterator[str]:
    """Columns of text that hold nothing but numbers: as codes they match only where they are equal."""
    for name in files.known:
        column = files.before[name]
        if not is_number(column) and _all_numbers(column):
            yield (
                f"{name!r} is text that holds numbers, and was compared as codes: values that moved by little do not "
                "match. Name it among the numeric columns to compare it by distance."
            )


def _all_numbers(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return False
    values = column.unique().drop_null()
    return len(values) > MANY_NUMBERS and bool(pc.all(pc.match_substring_regex(values, NUMBER)).as_py())


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

    def __init__(
        self, before: RecordSet, after: RecordSet, known: Sequence[str], tried: int, links: Ints | None
    ) -> None:
        self.before, self.after, self.tried, self.links = before, after, tried, links
        shown = [name for name in after.names if name in before.names and after.about(name).role not in NEVER_PUBLIC]
        self.same = [name for name in shown if self._alike(name)]
        self.known = [name for name in known if name in self.same]
        self.other = [name for name in known if name not in self.same]

    def _alike(self, name: str) -> bool:
        """Whether a column holds numbers in both files or in none, and anything at all."""
        before, after = self.before[name], self.after[name]
        return is_number(before) == is_number(after) and after.null_count < len(after)

    def linkage(self, share: float | None = None) -> Found:
        """Every way to link the records with the original ones; ways for numbers alone within codes that stayed.

        ``share`` is that of ranks of an exchange that an intruder may have read about.
        """
        missing = [NotRun(f"linkage by {name!r}", self._why_not(name)) for name in self.other]
        if self.links is None:
            return [], [*missing, NotRun("linkage", NOBODY_SAYS)]
        if not self.known:
            return [], missing
        numbers = [name for name in self.known if is_number(self.before[name])]
        stayed = [n for n in self.known if n not in numbers and self._stayed(n)]
        asked: list[tuple[list[str], Sequence[str], list[str], float | None]] = [(self.known, MIXED_WAYS, [], None)]
        if numbers:
            asked.append((numbers, [way for way in ALL_WAYS if way not in MIXED_WAYS], stayed, share))
        attacks: list[RecordAttack] = []
        for columns, ways, blocking, rank in asked:
            options: dict[str, Any] = {"blocking": blocking, "share": rank, "sample": self.tried, "truth": self.links}
            try:
                found = link_all_ways(self.before, self.after, columns, ways=ways, **options)
            except InputError as error:
                missing.append(NotRun("linkage", error.message))
                continue
            # Codes that stayed are read in the released file: whoever does not have it guesses among all records.
            attacks += [replace(way, baseline=1 / len(self.after)) for way in found.attacks]
            missing += found.not_run
        return attacks, missing

    def _why_not(self, name: str) -> str:
        for records, which in ((self.before, "original"), (self.after, "released file")):
            if name not in records.names:
                return f"the {which} has no such column"
        return "its released values are of another kind"

    def _stayed(self, name: str) -> bool:
        """Whether every record that is in both files has the code that it had."""
        import pyarrow as pa

        assert self.links is not None
        there = np.flatnonzero(self.links >= 0)
        before, after = self.before[name].take(pa.array(there)), self.after[name].take(pa.array(self.links[there]))
        return bool(before.equals(after))

    def intervals(self, altered: Sequence[str]) -> Found:
        """How closely numbers are known once a record is found."""
        numbers = [name for name in altered if name in self.known]
        truth: Any = self.links
        if truth is None or not numbers:
            return [], []
        try:
            return [interval_disclosure(self.before, self.after, numbers, truth=truth)], []
        except InputError as error:
            return [], [NotRun("intervals of values", error.message)]

    def unlinked(self, holdout: Any, seed: int, sensitive: Sequence[str] = ()) -> Found:
        """What the file tells of people without naming a record."""
        if len(self.same) < 2:
            return [], [NotRun("attacks on synthetic files", "two columns of the same kind in both files are needed")]
        secret = [name for name in sensitive or self.before.with_role(SENSITIVE) if name in self.same]
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
