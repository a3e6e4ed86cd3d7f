"""Recodings of records that remove most risk for the least loss of information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf
from typing import Any, NamedTuple

import numpy as np

from discreet.engine.record_set import read_record_set
from discreet.errors import DiscreetError, NeedsError, ParameterError, counted, unknown_name
from discreet.model.arrays import Bools, Ints
from discreet.model.microdata import Microdata
from discreet.model.records import KEY, RecordSet
from discreet.progress import checkpoint
from discreet.records.recode import Recode
from discreet.rules.anonymity import KAnonymity
from discreet.rules.records import RecordRule, record_rule_from_record
from discreet.verbs.recode_candidates import ProposedKey, candidates, entropy, proposed_key

SHOWN = 12
"""Proposals in a printed table."""
NEARLY = 1e-12
PLAIN_RULE = {"kind", "k", "keys", "size", "missing"}
"""What k-anonymity may say to be counted by combinations; whatever says more is asked itself."""


@dataclass(frozen=True)
class RecodeProposal:
    """One recoding of one column, ready for ``protect``, with what it removes and what it costs.

    Parameters
    ----------
    method
        The recoding of the column as it came; it takes the place of earlier proposals for the same column.
    what
        The same in words.
    unsafe
        Unsafe records before and after it.
    loss
        The share of the column's information (entropy) that is lost.
    changed
        The share of records whose code changes.
    gain
        Unsafe records that it removes for each unit of loss that it adds.
    """

    method: Recode
    what: str
    unsafe: tuple[int, int]
    loss: float
    changed: float
    gain: float

    def __str__(self) -> str:
        before, after = self.unsafe
        return (
            f"{self.method.column}: {self.what}: unsafe records {before:,} to {after:,}, "
            f"loss {self.loss:.1%}, records changed {self.changed:.1%}"
        )


@dataclass(frozen=True)
class RecodeProposals:
    """Recodings of records, best first, and the sequence that takes the best one again and again.

    Parameters
    ----------
    records, unsafe
        Numbers of all records, and of those that are unsafe before anything is recoded.
    proposals
        Every recoding that was tried alone, those first that remove most for the least loss.
    steps
        The sequence: what each step removes after those before it.
    """

    records: int
    unsafe: int
    proposals: tuple[RecodeProposal, ...]
    steps: tuple[RecodeProposal, ...]

    @property
    def methods(self) -> list[Recode]:
        """The recodings of the sequence for ``protect``: one for each column, the last one that was proposed."""
        last = {step.method.column: step.method for step in self.steps}
        return list(last.values())

    @property
    def left(self) -> int:
        """Unsafe records after the sequence."""
        return self.steps[-1].unsafe[1] if self.steps else self.unsafe

    def summary(self) -> str:
        """The best proposals as a table, and the sequence."""
        lines = [f"{counted(self.unsafe, 'unsafe record')} of {self.records:,}."]
        rows = [("column", "recoding", "unsafe after", "loss", "changed")]
        rows += [
            (str(p.method.column), p.what, f"{p.unsafe[1]:,}", f"{p.loss:.1%}", f"{p.changed:.1%}")
            for p in self.proposals[:SHOWN]
        ]
        if len(rows) > 1:
            width = [max(len(row[i]) for row in rows) for i in range(5)]
            for row in rows:
                words = [text.ljust(width[i]) if i < 2 else text.rjust(width[i]) for i, text in enumerate(row)]
                lines.append("  ".join(words).rstrip())
        if len(self.proposals) > SHOWN:
            lines.append(f"and {len(self.proposals) - SHOWN} more")
        lines.append("In sequence:" if self.steps else "No recoding removes an unsafe record.")
        return "\n".join([*lines, *(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))])

    def __repr__(self) -> str:
        return self.summary()


class RecodedSoFar(NamedTuple):
    """Keys, what each is recoded by so far, and the share of information that each has lost."""

    chosen: Mapping[str, Recode]
    places: Mapping[str, Ints]
    loss: Mapping[str, float]
    unsafe: int


def propose_for_records(
    data: Microdata,
    rules: RecordRule | Sequence[RecordRule] = (),
    *,
    target: int = 0,
    most: int = 20,
    variables: Sequence[str] | None = None,
) -> RecodeProposals:
    """Proposals for records; see :func:`discreet.propose_recodes`."""
    records = read_record_set(data)
    wanted = _resolved(data, records, rules)
    names = list(dict.fromkeys(name for rule in wanted for name in getattr(rule, "keys", records.with_role(KEY))))
    for name in variables or ():
        if name not in names:
            raise ParameterError(unknown_name("key", name, names, "the rules"))
    keys = {name: proposed_key(records, name) for name in names}
    count = UnsafeCounter(records, wanted, keys)
    allowed = [name for name in names if variables is None or name in variables]
    plain = {name: np.arange(len(key.counts)) for name, key in keys.items()}
    start = now = RecodedSoFar({}, plain, dict.fromkeys(names, 0.0), count.before(plain))
    first: list[RecodeProposal] = []
    steps: list[RecodeProposal] = []
    while len(steps) < most and now.unsafe > target:
        checkpoint("redesign", len(steps), most)
        found = _tried(now, keys, allowed, count)
        first = first or [proposal for proposal, _ in found]
        better = [pair for pair in found if pair[0].unsafe[1] < now.unsafe]
        if not better:
            break
        step, now = better[0]
        steps.append(step)
    return RecodeProposals(len(records), start.unsafe, tuple(first), tuple(steps))


def _resolved(data: Microdata, records: RecordSet, rules: RecordRule | Sequence[RecordRule]) -> list[RecordRule]:
    given: list[Any] = list(rules) if isinstance(rules, Sequence) else [rules]
    for rule in given:
        if not isinstance(rule, RecordRule):
            raise ParameterError(
                f"{type(rule).__name__} is no rule for records.", hint="For example rules=ds.KAnonymity(3)."
            )
    if not given and data.assessment is not None:
        given = [record_rule_from_record(record) for record in data.assessment.rules]
    if not given:
        raise NeedsError(
            "propose_recodes needs a rule that says which records are unsafe.", hint="Give rules=ds.KAnonymity(3)."
        )
    return [rule.resolved(records) for rule in given]


def _tried(
    now: RecodedSoFar, keys: Mapping[str, ProposedKey], allowed: Sequence[str], count: UnsafeCounter
) -> list[tuple[RecodeProposal, RecodedSoFar]]:
    """Every recoding that costs something more than what is chosen so far, best first."""
    found = []
    for name in allowed:
        key, seen = keys[name], set[bytes]()
        for method, what in candidates(key, now.places[name]):
            try:
                places = key.places_after(method)
            except DiscreetError:
                continue  # what a recoding refuses is no proposal
            if places.tobytes() in seen:
                continue  # another way to the same groups
            seen.add(places.tobytes())
            left = entropy(np.bincount(places, weights=key.counts).astype(np.int64))
            loss = 1 - left / key.bits if key.bits else 0.0
            added = loss - now.loss[name]
            if added <= NEARLY:
                continue
            chosen = {**now.chosen, name: method}
            unsafe = count.unsafe({**now.places, name: places}, chosen)
            state = RecodedSoFar(chosen, {**now.places, name: places}, {**now.loss, name: loss}, unsafe)
            share = key.changed_records(method) / int(key.counts.sum())
            gain = (now.unsafe - unsafe) / added if added else inf
            found.append((RecodeProposal(method, what, (now.unsafe, unsafe), loss, share, gain), state))
    return sorted(found, key=lambda pair: (-pair[0].gain, pair[0].unsafe[1], str(pair[0].method.column), pair[0].what))


class UnsafeCounter:
    """Counts unsafe records: by combinations of keys where all rules are k-anonymity, on all records otherwise."""

    def __init__(self, records: RecordSet, rules: Sequence[RecordRule], keys: Mapping[str, ProposedKey]) -> None:
        self.records, self.rules, self.keys = records, rules, keys
        self.plain = [rule for rule in rules if type(rule) is KAnonymity and set(rule.record()) <= PLAIN_RULE]
        self.cells: dict[str, Ints] = {}
        self.many: Ints = np.zeros(0, np.int64)
        self.plain = [rule for rule in self.plain if rule.missing == "category"]
        if len(self.plain) == len(rules):
            combined = np.zeros(len(records), np.int64)
            for key in keys.values():
                _, combined = np.unique(combined * len(key.counts) + key.places, return_inverse=True)
            _, first, self.many = np.unique(combined, return_index=True, return_counts=True)
            self.cells = {name: key.places[first] for name, key in keys.items()}

    def before(self, places: Mapping[str, Ints]) -> int:
        """Unsafe records before anything is recoded, as the rules themselves count them.

        Where combinations give another number, a rule means something else by them: then it is asked every time.
        """
        told = self._on_records({})
        if self.unsafe(places, {}) != told:
            self.plain = []
        return told

    def unsafe(self, places: Mapping[str, Ints], chosen: Mapping[str, Recode]) -> int:
        """Unsafe records where keys have these places, which is what some recodings give."""
        if len(self.plain) < len(self.rules):
            return self._on_records(chosen)
        unsafe: Bools = np.zeros(len(self.many), np.bool_)
        for rule in self.plain:
            size = len(rule.keys) if rule.size is None else min(rule.size, len(rule.keys))
            for names in combinations(rule.keys, size):
                group = np.zeros(len(self.many), np.int64)
                for name in names:
                    mine = places[name][self.cells[name]]
                    _, group = np.unique(group * (int(mine.max(initial=0)) + 1) + mine, return_inverse=True)
                unsafe |= np.bincount(group, weights=self.many)[group] < rule.k
        return int(self.many[unsafe].sum())

    def _on_records(self, chosen: Mapping[str, Recode]) -> int:
        changed = self.records
        for method in chosen.values():
            changed = changed.with_columns(method.run(changed).changed)
        unsafe: Bools = np.zeros(len(changed), np.bool_)
        for rule in self.rules:
            unsafe |= rule.evaluate(changed).unsafe
        return int(unsafe.sum())
