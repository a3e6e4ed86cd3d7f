"""Rules that classes of records must keep, asked of many classes at once while a generalisation is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import ParameterError, listed
from discreet.model.arrays import Bools, Ints
from discreet.model.records import RecordSet
from discreet.rules.anonymity import KAnonymity
from discreet.rules.class_values import ClassValues, SensitiveColumn, class_values, sensitive_column
from discreet.rules.diversity import SensitiveRule
from discreet.rules.population import DeltaPresence, KMap, PopulationCounts, PopulationRule
from discreet.rules.records import RecordRule


@dataclass(frozen=True, eq=False)
class ValuePairs:
    """Sensitive values of combinations: pairs of a combination and a value, each once, with the number of records."""

    owner: Ints
    value: Ints
    count: Ints


@dataclass(frozen=True, eq=False)
class ClassJudges:
    """Rules of one generalisation, by what they look at.

    ``least`` is the least number of records of a class, ``least_open`` that of one without an empty field; ``columns``
    are the sensitive columns, each once, and ``looks_at`` says which of them each of ``sensitive`` looks at.
    """

    rules: tuple[RecordRule, ...]
    least: int
    least_open: int
    sensitive: tuple[SensitiveRule, ...]
    columns: tuple[SensitiveColumn, ...]
    looks_at: tuple[int, ...]
    maps: tuple[KMap, ...]
    presences: tuple[DeltaPresence, ...]

    @property
    def strict(self) -> bool:
        """Whether some rule judges classes with empty fields, too."""
        return self.least > 1 or any(rule.missing == "category" for rule in self.sensitive)

    @property
    def population(self) -> PopulationCounts | None:
        """The population, where a rule has one."""
        of_people: tuple[PopulationRule, ...] = (*self.maps, *self.presences)
        return of_people[0].population if of_people else None

    @property
    def counts_only(self) -> bool:
        """Whether only the number of records of a class matters."""
        return not self.sensitive and not self.maps and not self.presences

    def enough(self, records: Ints, gapped: Bools) -> Bools:
        """Classes with enough records."""
        return np.where(gapped, records >= self.least, records >= max(self.least, self.least_open))

    def values_safe(self, values: Sequence[ClassValues], gapped: Bools) -> Bools:
        """Classes whose sensitive values keep the rules."""
        good = np.ones(len(gapped), np.bool_)
        for rule, place in zip(self.sensitive, self.looks_at, strict=True):
            safe = rule.safe(rule.scores(self.columns[place], values[place]))
            good &= safe | gapped if rule.missing == "exempt" else safe
        return good

    def suppressed_safe(self, records: int, pairs: Sequence[ValuePairs], gone: Bools) -> bool:
        """Whether all suppressed records together keep the rules that judge empty fields."""
        if records < self.least:
            return False
        for rule, place in zip(self.sensitive, self.looks_at, strict=True):
            if rule.missing == "exempt":
                continue
            mine, column = pairs[place], self.columns[place]
            there = gone[mine.owner]
            classes = class_values(
                np.zeros(int(there.sum()), np.int64), mine.value[there], len(column.known), mine.count[there]
            )
            if not bool(rule.safe(rule.scores(column, classes)).all()):
                return False
        return True


def judges_of(rules: Sequence[RecordRule], keys: Sequence[str], records: RecordSet) -> ClassJudges:
    """Rules ready to be asked; those that cannot be kept by generalising all keys at once are refused."""
    made = [_about(rule, keys, records) for rule in rules]
    counting = [rule for rule in made if isinstance(rule, KAnonymity)]
    sensitive = tuple(rule for rule in made if isinstance(rule, SensitiveRule))
    names = list(dict.fromkeys(str(rule.sensitive) for rule in sensitive))
    populations = [rule for rule in made if isinstance(rule, PopulationRule)]
    for rule in populations[1:]:
        if rule.population.plain() != populations[0].population.plain():
            raise ParameterError("Two rules have different populations.", hint="Give one population to all of them.")
    return ClassJudges(
        tuple(made),
        max((rule.k for rule in counting if rule.missing == "category"), default=1),
        max((rule.k for rule in counting), default=1),
        sensitive,
        tuple(sensitive_column(records, name) for name in names),
        tuple(names.index(str(rule.sensitive)) for rule in sensitive),
        tuple(rule for rule in populations if isinstance(rule, KMap)),
        tuple(rule for rule in populations if isinstance(rule, DeltaPresence)),
    )


def _about(rule: RecordRule, keys: Sequence[str], records: RecordSet) -> RecordRule:
    """A rule about the keys that are generalised."""
    stated = tuple(getattr(rule, "keys", ()))
    if stated and set(stated) != set(keys):
        raise ParameterError(
            f"A rule looks at {listed(stated)}, and {listed(keys)} are generalised.",
            hint="Leave keys= of the rule out, or generalise its keys.",
        )
    if isinstance(rule, KAnonymity):
        if rule.size is not None or rule.combinations or rule.weight or rule.household or rule.missing == "any":
            raise ParameterError(
                "Generalise counts records that agree in all keys: KAnonymity with size=, combinations=, weight=, "
                'household= or missing="any" is not for it.',
                hint="Give such a rule to protect(rules=...), or use LocalSuppress.",
            )
        return replace(rule, keys=tuple(keys)).resolved(records)
    if isinstance(rule, SensitiveRule):
        return replace(rule, keys=tuple(keys)).resolved(records)
    if isinstance(rule, PopulationRule):
        return replace(rule, keys=tuple(keys)).resolved(records)
    raise ParameterError(
        f"Generalise does not know how to keep the rule {type(rule).__name__}.",
        hint="Give it to protect(rules=...), which counts it in the end.",
    )
