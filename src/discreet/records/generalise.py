"""The method ``Generalise``: broader codes for all keys at once, until rules hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from discreet.errors import NeedsError, ParameterError, ProtectionError, counted, listed, unknown_name
from discreet.keys import Key
from discreet.methods.base import RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.claims.generalised import generalised_claim
from discreet.model.evidence import Evidence
from discreet.model.records import KEY, RecordSet
from discreet.parameters import Number, Share
from discreet.records.class_judges import ClassJudges, judges_of
from discreet.records.node_losses import Metric
from discreet.rules.anonymity import KAnonymity
from discreet.rules.population import PopulationRule
from discreet.rules.records import RecordRule, record_rule_from_record


@dataclass(frozen=True)
class Generalise(RecordMethod):
    """Give the keys broader codes until rules hold, and lose as little as possible.

    Empty fields stay empty, and codes that stand for "unknown" stay as they are. Records that stand in the way may have
    all of their keys emptied. They are then one more class, which must keep the rules like every other; only rules with
    ``missing="exempt"`` leave them out.

    Parameters
    ----------
    k
        Every combination of keys is to occur so many times: short for ``rules=[KAnonymity(k)]``.
    rules
        Rules to be kept: ``KAnonymity``, ``LDiversity``, ``TCloseness``, ``BetaLikeness``, ``KMap``, ``DeltaPresence``.
    keys
        Columns by which somebody may be recognised; those with the role of keys where left out.
    algorithm
        ``"lattice"``: all values of a key go up to the same level of its hierarchy; of all combinations of levels the
        one is taken that loses least. ``"local"``: records are divided into classes, each with codes of its own, so
        that much less is lost; numbers become intervals, other codes the lowest code above those of the class.
    metric
        What is to be least: ``"loss"``, the mean share of a hierarchy's base codes that stand under a published code;
        ``"precision"``, the mean share of levels gone up; ``"entropy"``, bits lost per record; ``"discernibility"``,
        for every record how many look the same; ``"class_size"``, the mean number of records that look the same.
    outliers
        The greatest share of records whose keys may be emptied.
    ordered
        Keys of numbers that become intervals with ``algorithm="local"`` although they are text or have a hierarchy.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> towns = ds.Hierarchy.from_nested({"north": ["Aby", "Bro"], "south": ["Cam", "Dun"]}, total="all")
    >>> people = pa.table({"town": ["Aby", "Bro", "Cam", "Cam", "Dun", "Dun"], "sex": ["f", "f", "m", "m", "m", "m"]})
    >>> data = ds.Microdata(people, keys=["town", "sex"], hierarchies={"town": towns})
    >>> release = ds.protect(data, ds.Generalise(2, outliers=0), keep_order=True)
    >>> release.public.records.shown()["town"], release.verify().holds
    (['north', 'north', 'south', 'south', 'south', 'south'], True)
    >>> local = ds.protect(data, ds.Generalise(2, algorithm="local"), keep_order=True)
    >>> local.public.records.shown()["town"]
    ['north', 'north', 'Cam', 'Cam', 'Dun', 'Dun']
    """

    kind: ClassVar[str] = "generalise"
    k: Annotated[int, Number(least=2)] | None = None
    rules: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()
    algorithm: Literal["lattice", "local"] = "lattice"
    metric: Metric = "loss"
    outliers: Share = 0.05
    ordered: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rules", _made(self.rules))
        if self.k is None and not self.rules:
            raise ParameterError("Generalise does not say until when.", hint="Give k, or rules=[...].")
        if self.algorithm == "local" and self.metric != "loss":
            raise ParameterError(
                f'metric="{self.metric}" is for algorithm="lattice"; local recoding cuts where the loss falls most.',
                hint="Leave metric= out.",
            )
        if self.algorithm == "lattice" and self.ordered:
            raise ParameterError(
                'ordered= is for algorithm="local"; a lattice goes up the levels of hierarchies.',
                hint="Leave it out, and give numbers a hierarchy or recode them into intervals first.",
            )

    def with_files_read(self, find: Callable[[str], Path] = Path) -> Self:
        """The method with what the files say that its rules name."""
        return replace(self, rules=tuple(rule.with_files_read(find) for rule in self.rules))

    def record(self) -> dict[str, Any]:
        """The method as plain data."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"method": self.kind, **given, "rules": [rule.record() for rule in self.rules]}

    def run(self, records: RecordSet, key: Key | None = None) -> RecordOutcome:
        """Generalise the keys."""
        from discreet.records.generalising import local_recoding, same_levels

        keys = self.keys or records.with_role(KEY)
        self._refuse_keys(keys, records)
        wanted = ((KAnonymity(self.k),) if self.k is not None else ()) + self.rules
        judges = judges_of(wanted, keys, records)
        least = max(judges.least, judges.least_open)
        if least > len(records):
            raise ProtectionError(
                f"Every combination of keys is to occur {least} times, in {counted(len(records), 'record')}.",
                hint="Give more records or a smaller k.",
            )
        work = same_levels if self.algorithm == "lattice" else local_recoding
        changed, facts, effort, notes = work(self, records, keys, judges)
        rules = [_stated(rule, given) for rule, given in zip(judges.rules, wanted, strict=True)]
        outcome = self._outcome(changed, {**facts, "rules": rules}, effort, notes)
        self._refuse_unsafe(records.with_columns(outcome.changed), judges, facts)
        return outcome

    def _refuse_keys(self, keys: Sequence[str], records: RecordSet) -> None:
        if not keys:
            raise NeedsError(
                "Generalise needs to know by which columns somebody may be recognised.",
                hint="Give Microdata(keys=[...]), or Generalise(k, keys=[...]).",
            )
        for name in (*keys, *self.ordered):
            if name not in records.names:
                raise ParameterError(unknown_name("column", name, records.names, "the records"))
        for name in self.ordered:
            if name not in keys:
                raise ParameterError(unknown_name("key", name, keys, "ordered="))
        if len(set(keys)) < len(keys):
            raise ParameterError(f"keys={list(keys)} names a column twice.", hint="Name every key once.")
        if self.algorithm == "lattice" and not set(keys) & set(records.hierarchies):
            raise NeedsError(
                f"None of the keys {listed(keys)} has a hierarchy, so that there is nothing to go up.",
                hint="Give Microdata(hierarchies={key: hierarchy}), or use algorithm='local'.",
            )

    def _outcome(
        self, changed: Mapping[str, Any], facts: Mapping[str, Any], effort: Mapping[str, int], notes: Sequence[str]
    ) -> RecordOutcome:
        plain = self.record()
        evidence = Evidence(plain, generalised_claim(plain, facts), facts=dict(facts), effort=dict(effort))
        return RecordOutcome(dict(changed), evidence, tuple(notes))

    def _refuse_unsafe(self, after: RecordSet, judges: ClassJudges, facts: Mapping[str, Any]) -> None:
        """Count what is left: classes were judged by numbers of codes, and this is what readers will see."""
        from discreet.records.generalising import generalised_population

        for rule in judges.rules:
            if self.algorithm == "local" and isinstance(rule, PopulationRule):
                continue  # counted where the classes are known
            finding = generalised_population(rule, after, facts).evaluate(after)
            if finding.unsafe.any():
                raise ProtectionError(
                    f"The rules do not hold after generalisation: {finding.words}.",
                    hint="Nothing is published; please report it.",
                )


def _stated(rule: RecordRule, given: RecordRule) -> dict[str, Any]:
    """A rule as it is stated of the step: about the keys, with the population as it was given."""
    plain = rule.record()
    return {**plain, "population": given.record()["population"]} if isinstance(given, PopulationRule) else plain


def _made(given: Any) -> tuple[RecordRule, ...]:
    """Rules, from themselves or from plain data."""
    listing = given if isinstance(given, tuple | list) else (given,)
    made = tuple(record_rule_from_record(one) if isinstance(one, Mapping) else one for one in listing)
    for rule in made:
        if not isinstance(rule, RecordRule):
            raise ParameterError(
                f"{type(rule).__name__} is no rule for records.", hint="For example rules=[ds.KAnonymity(3)]."
            )
    return made
