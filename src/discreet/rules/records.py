"""What a rule for records is, and what rules say of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.errors import ParameterError, listed, unknown_name
from discreet.lazy import Registry
from discreet.model.arrays import Bools
from discreet.model.records import RecordAssessment, RecordSet
from discreet.parameters import Declared

RECORD_RULES: Registry[RecordRule] = Registry()
RECORD_RULES.add_homes(
    {
        "k_anonymity": "discreet.rules.anonymity",
        "l_diversity": "discreet.rules.diversity",
        "t_closeness": "discreet.rules.diversity",
        "beta_likeness": "discreet.rules.diversity",
        "k_map": "discreet.rules.population",
        "delta_presence": "discreet.rules.population",
        "max_linked": "discreet.rules.linkage",
    }
)


class RecordFinding(NamedTuple):
    """Records that break a rule, and what was counted, in words without any value."""

    unsafe: Bools
    words: str


@dataclass(frozen=True)
class RecordRule(Declared, ABC):
    """Base of rules for records. A rule is made with its parameters, which are checked at once."""

    kind: ClassVar[str]
    compares: ClassVar[bool] = False
    """Whether it looks at the original beside the release."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            RECORD_RULES.add(cls.kind, cls)

    @property
    def countable(self) -> bool:
        """Whether all that it counts is there; a population may be too large to be kept in plain data."""
        return True

    def with_files_read(self, find: Callable[[str], Path] = Path) -> Self:
        """The rule with what the files say that it names; ``find`` turns a name into a path."""
        return self

    @abstractmethod
    def resolved(self, records: RecordSet) -> RecordRule:
        """The rule with the columns that it is about, where the roles of the records say them."""

    @abstractmethod
    def evaluate(self, records: RecordSet) -> RecordFinding:
        """Which records break the rule."""

    def compared(self, original: RecordSet, released: RecordSet) -> RecordFinding:
        """Which records of a release break the rule."""
        return self.evaluate(released)

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"kind": self.kind, **{name: value for name, value in asdict(self).items() if value is not None}}


def assess_records(
    records: RecordSet, rules: Sequence[RecordRule], original: RecordSet | None = None
) -> tuple[RecordAssessment, Bools]:
    """What rules say of records, and which break any of them; ``original`` is what they were made of."""
    resolved = [rule.resolved(records) for rule in rules]
    found = [rule.evaluate(records) if original is None else rule.compared(original, records) for rule in resolved]
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
    needed = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
    missing = [name for name in needed if name not in given]
    if missing:
        raise ParameterError(f"Rule {kind!r} needs {listed(missing)}.", hint=f"It takes {listed(known)}.")
    return cls(**given)
