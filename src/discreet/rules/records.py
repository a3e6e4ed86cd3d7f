"""Rules for records: which can be recognised, counted from their keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from discreet.errors import NeedsError, ParameterError, counted, listed, unknown_name
from discreet.model.arrays import Bools, Ints
from discreet.model.records import KEY, RecordAssessment, RecordSet
from discreet.parameters import AtLeastOne, Declared, Number

if TYPE_CHECKING:
    import pyarrow as pa

RECORD_RULES: dict[str, type[RecordRule]] = {}
DENSE = 2**24
"""Combinations of keys are counted in a table of up to so many places, and by sorting beyond."""
MOST_SUBSETS = 20_000


class RecordFinding(NamedTuple):
    """Records that break a rule, and what was counted, in words without any value."""

    unsafe: Bools
    words: str


@dataclass(frozen=True)
class RecordRule(Declared, ABC):
    """Base of rules for records. A rule is made with its parameters, which are checked at once."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            RECORD_RULES[cls.kind] = cls

    @abstractmethod
    def resolved(self, records: RecordSet) -> RecordRule:
        """The rule with the columns that it is about, where the roles of the records say them."""

    @abstractmethod
    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Which records break the rule."""

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"kind": self.kind, **{name: value for name, value in asdict(self).items() if value is not None}}


@dataclass(frozen=True)
class KAnonymity(RecordRule):
    """Every combination of values of the keys that occurs, occurs at least ``k`` times.

    Parameters
    ----------
    k
        The least number of records.
    keys
        Columns that readers may know; those with the role of keys where left out.
    size
        Readers know at most so many keys of a person: every combination of so many columns is counted. All keys at
        once where left out.
    missing
        What an empty field means: ``"category"``, a value of its own.

    Examples
    --------
    >>> KAnonymity(3, keys=["age", "sex"]).record()
    {'kind': 'k_anonymity', 'k': 3, 'keys': ('age', 'sex'), 'missing': 'category'}
    """

    kind: ClassVar[str] = "k_anonymity"
    k: Annotated[int, Number(least=2)]
    keys: tuple[str, ...] = ()
    size: AtLeastOne | None = None
    missing: Literal["category"] = "category"

    def resolved(self, records: RecordSet) -> KAnonymity:
        """The rule with the keys of the records, where it names none."""
        keys = self.keys or records.with_role(KEY)
        if not keys:
            raise NeedsError(
                "KAnonymity needs to know by which columns somebody may be recognised.",
                hint="Give Microdata(keys=[...]), or KAnonymity(k, keys=[...]).",
            )
        for name in keys:
            if name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, "the records (rule k_anonymity)"))
        return KAnonymity(self.k, keys, self.size, self.missing)

    def subsets(self) -> Iterator[tuple[str, ...]]:
        """The sets of columns that are counted; smaller ones occur at least as often."""
        return combinations(self.keys, self._known_at_once())

    def _known_at_once(self) -> int:
        """How many keys of a person readers know at most."""
        return len(self.keys) if self.size is None else min(self.size, len(self.keys))

    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Records in a combination that occurs fewer than ``k`` times."""
        rule = self.resolved(records)
        many = comb(len(rule.keys), rule._known_at_once())
        if many > MOST_SUBSETS:
            raise ParameterError(
                f"{len(rule.keys)} keys have {many:,} subsets of {rule.size}; at most {MOST_SUBSETS:,} are counted.",
                hint="Give fewer keys or a smaller size.",
            )
        codes = {name: code_places(records[name]) for name in rule.keys}
        unsafe = np.zeros(len(records), np.bool_)
        fewest = len(records)
        for chosen in rule.subsets():
            count = group_sizes([codes[name] for name in chosen])
            unsafe |= count < rule.k
            fewest = min(fewest, int(count.min(initial=fewest)))
        what = listed(rule.keys) if rule.size is None else f"any {rule.size} of {listed(rule.keys)}"
        words = (
            f"{counted(int(unsafe.sum()), 'record', 'have')} a combination of {what} that occurs fewer than {rule.k} "
            f"times; the rarest occurs {counted(fewest, 'time')}"
        )
        return RecordFinding(unsafe, words)


def code_places(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """The place of each value among the distinct ones, a gap as a value of its own, and how many there are."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64), len(encoded.dictionary)


def group_sizes(codes: Sequence[tuple[Ints, int]]) -> Ints:
    """For every record how many share its combination of codes."""
    group, many = codes[0]
    for place, distinct in codes[1:]:
        if many * distinct >= 2**62:
            found, group = np.unique(group, return_inverse=True)
            many = len(found)
        group, many = group * distinct + place, many * distinct
    if many <= max(DENSE, 4 * len(group)):
        return np.bincount(group, minlength=1)[group]
    _, inverse, count = np.unique(group, return_inverse=True, return_counts=True)
    result: Ints = count[inverse].astype(np.int64)
    return result


def assess_records(records: RecordSet, rules: Sequence[RecordRule]) -> tuple[RecordAssessment, Bools]:
    """What rules say of records, and which break any of them."""
    resolved = [rule.resolved(records) for rule in rules]
    found = [rule.evaluate(records) for rule in resolved]
    unsafe = np.zeros(len(records), np.bool_)
    for finding in found:
        unsafe |= finding.unsafe
    counts = tuple(int(finding.unsafe.sum()) for finding in found)
    plain = tuple(rule.record() for rule in resolved)
    return RecordAssessment(plain, counts, tuple(finding.words for finding in found)), unsafe


def record_rule_from_record(record: Mapping[str, Any]) -> RecordRule:
    """A rule for records from plain data; unknown kinds and parameters are errors."""
    given = dict(record)
    kind = str(given.pop("kind", ""))
    if kind not in RECORD_RULES:
        raise ParameterError(unknown_name("rule for records", kind, RECORD_RULES))
    cls = RECORD_RULES[kind]
    known = [f.name for f in fields(cls)]
    for name in given:
        if name not in known:
            raise ParameterError(unknown_name("parameter", name, known, f"rule {kind!r}"))
    missing = [f.name for f in fields(cls) if f.default is MISSING and f.name not in given]
    if missing:
        raise ParameterError(f"Rule {kind!r} needs {listed(missing)}.", hint=f"It takes {listed(known)}.")
    return cls(**given)
