"""Records and methods to releases of records."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from discreet.engine.draws import draws
from discreet.engine.protocol import refuse_left_out
from discreet.engine.record_set import read_record_set, refuse_no_columns, refuse_recognisable, with_identity
from discreet.errors import ParameterError, ProtectionError, listed
from discreet.keys import Key
from discreet.methods.base import Method, RecordMethod
from discreet.methods.outcome import RecordOutcome
from discreet.model.arrays import Ints
from discreet.model.condition import Condition
from discreet.model.custodian import RecordCustodian, RecordStep
from discreet.model.evidence import Evidence
from discreet.model.microdata import Microdata
from discreet.model.records import NEVER_PUBLIC, NUMERIC, RecordSet
from discreet.model.release import Release
from discreet.model.spec import TableSpec
from discreet.progress import steps as in_steps
from discreet.rules.records import RecordRule, assess_records, record_rule_from_record
from discreet.verbs.step_effects import StepEffects
from discreet.verbs.steps import (
    MADE_KEY,
    Earlier,
    Keys,
    installed_version,
    key_entry,
    refuse_exchanging_twice,
    refuse_for_records,
)

ORDER_MADE_KEY = (
    "The order of the public rows was drawn with a new secret key, which is saved with the release (custodian/key.txt)."
)


def protect_records(
    data: Microdata,
    methods: Sequence[Method],
    rules: Sequence[Any] = (),
    *,
    key: Key | None = None,
    keep_order: bool = False,
    name: str = "records",
) -> Release[RecordCustodian]:
    """A release of records; see :func:`discreet.protect`."""
    steps = refuse_for_records(methods)
    if not isinstance(keep_order, bool):
        raise ParameterError(f"keep_order={keep_order!r} is not allowed.", hint="Use True or False.")
    refuse_options_of_tables(data)
    wanted = _rules(data, rules)
    original = read_record_set(data, [name for method in steps for name in method.numbers])
    return release_of(original, steps, wanted, key=key, keep_order=keep_order, name=name)


def refuse_options_of_tables(data: Microdata) -> None:
    """Refuse what only tables look at: left aside in silence, codes would go out that were to be changed."""
    for option, instead in (("recode", "ds.Recode(column, map=...)"), ("missing", "missing_codes=")):
        if getattr(data, option):
            raise ParameterError(
                f"Microdata({option}=) is for tables, and records are to be published.", hint=f"Use {instead}."
            )


def release_of(
    original: RecordSet,
    methods: Sequence[RecordMethod],
    rules: Sequence[RecordRule],
    *,
    key: Key | None,
    keep_order: bool,
    name: str,
) -> Release[RecordCustodian]:
    """A release of records that were read already."""
    original = with_identity(original)
    refuse_no_columns(original)
    keys = Keys(key)
    records, done = original, list[RecordStep]()
    notes: list[str] = list(original.left_out)
    effects = StepEffects(rules, original)
    for method in in_steps("records", methods):
        _refuse_numbers_gone(method, original, records, done)
        outcome = method.run(records, keys.of(method))
        refuse_hidden(original, outcome.changed)
        refuse_exchanging_twice([step.evidence for step in done], outcome.evidence)
        before, records = records, records.with_columns(outcome.changed)
        done.append(step_of(outcome))
        effects.add(outcome.evidence.method, before, records, list(outcome.changed))
        notes += outcome.notes
    _refuse_stale_matrices(done)
    _refuse_stale_blankings(done)
    _refuse_stale_weights(done)
    notes += effects.notes
    refuse_recognisable(records)
    assessment, _ = assess_records(records, rules, original)
    if not assessment.holds:
        broken = [place for place, unsafe in enumerate(assessment.unsafe) if unsafe]
        by_keys = any(not rules[place].compares for place in broken)
        raise ProtectionError(
            f"The records are not safe yet: {'; '.join(assessment.words[place] for place in broken)}.",
            hint=f"{'Recode the keys further (ds.Recode)' if by_keys else 'Change numbers more'}, or ask for less.",
        )
    order = (
        np.arange(len(records))
        if keep_order
        else random_order(original, keys.any(), _release_digest(original, methods, assessment.rules, name))
    )
    log: dict[str, Any] = {
        "discreet": installed_version(),
        "protect": [method.record() for method in methods],
        "rules": [dict(rule) for rule in assessment.rules],
        "name": name,
        "keep_order": keep_order,
    }
    made = keys.used
    if made is not None:
        log["key"] = key_entry(made)
        if made.made:
            notes.append(MADE_KEY if any(method.secret for method in methods) else ORDER_MADE_KEY)
    log["notes"] = notes
    custodian = RecordCustodian(name, original, tuple(done), order, assessment.rules, log, keep_order, made)
    return Release(custodian.public(), custodian)


def _refuse_numbers_gone(
    method: RecordMethod, original: RecordSet, records: RecordSet, done: Sequence[RecordStep]
) -> None:
    """Refuse a step for numbers that an earlier one made codes of, by the names of both."""
    import pyarrow as pa

    asked = method.numbers or (records.with_role(NUMERIC) if "columns" in vars(method) else ())
    for name in (name for name in asked if name in original.names):
        before, now = original[name].type, records[name].type
        if before == now or not (pa.types.is_string(now) or pa.types.is_dictionary(now)):
            continue
        place = max(i for i, step in enumerate(done) if name in step.changed.column_names)
        first = done[place].evidence.method["method"]
        raise ParameterError(
            f"Step {len(done) + 1} ({method.kind}) needs the numbers of {name!r}, and step {place + 1} ({first}) made "
            "codes of them.",
            hint="Give the step for numbers first, or leave the column out of it.",
        )


def _refuse_stale_matrices(steps: Sequence[RecordStep]) -> None:
    """Refuse to publish transition matrices of columns, or of strata, that a later step changed: they fit no more."""
    for number, step in enumerate(steps):
        method, facts = step.evidence.method, step.evidence.facts
        if method["method"] != "pram" or not method["publish"]:
            continue
        later = {name for after in steps[number + 1 :] for name in after.changed.column_names}
        stale = sorted(later & {*method["publish"], *facts["within"]})
        if stale:
            raise ParameterError(
                f"The published transition matrices do not fit {listed(stale)}, changed by a later step.",
                hint="Give Pram last, or leave publish out.",
            )


def _refuse_stale_blankings(steps: Sequence[RecordStep]) -> None:
    """Refuse to publish probabilities and variances of columns that a later step changed: they fit no more."""
    for number, step in enumerate(steps):
        if step.evidence.method["method"] == "blank_values":
            later = {name for after in steps[number + 1 :] for name in after.changed.column_names}
            stale = sorted(later & set(step.evidence.facts["columns"]))
            if stale:
                raise ParameterError(
                    f"The published probabilities and variances do not fit {listed(stale)}, changed by a later step.",
                    hint="Give BlankValues last, and once for all its columns.",
                )


def _refuse_stale_weights(steps: Sequence[RecordStep]) -> None:
    """Refuse weights that were computed for a design that a later step changed."""
    for number, step in enumerate(steps):
        method = step.evidence.method
        if method["method"] == "reweight":
            later = {name for after in steps[number + 1 :] for name in after.changed.column_names}
            stale = sorted(later & {*method["by"], method["size"], *step.changed.column_names})
            if stale:
                raise ParameterError(
                    f"The new weights do not fit {listed(stale)}, changed by a later step.", hint="Give Reweight last."
                )


def refuse_hidden(records: RecordSet, changed: Collection[str]) -> None:
    """Refuse steps that change what no public file has: nobody would see it, and the checker would not have it."""
    for name in changed:
        role = records.about(name).role
        if role in NEVER_PUBLIC:
            raise ParameterError(
                f"Column {name!r} has the role {role}, and no public file of records has it.",
                hint="Leave the step out, or give the column another role.",
            )


def random_order(records: RecordSet, key: Key, release: str) -> Ints:
    """Rows in an order that depends on the key, the release and who they are, never on where they stood.

    In one order for all releases, the rows of any two would tell who is the same person.
    """
    assert records.identity is not None
    drawn = draws(key.secret, f"order of rows/{release}", 1, records.identity)
    return np.argsort(drawn, kind="stable").astype(np.int64)


def _release_digest(
    records: RecordSet, methods: Sequence[RecordMethod], rules: Sequence[Mapping[str, Any]], name: str
) -> str:
    """What tells a release from others of the same records: its columns, methods, rules and name, not its key."""
    key_of_method = ("key_file", "insecure_seed")
    done = [{k: v for k, v in method.record().items() if k not in key_of_method} for method in methods]
    said = json.dumps([records.names, done, list(rules), name], sort_keys=True, default=str)
    return blake2b(said.encode(), digest_size=16).hexdigest()


def step_of(outcome: RecordOutcome) -> RecordStep:
    """What a custodian keeps of a step."""
    import pyarrow as pa

    return RecordStep(outcome.evidence, pa.table(dict(outcome.changed)))


def _rules(data: Microdata, rules: Sequence[Any]) -> list[RecordRule]:
    """The rules that are given, or those that the records were assessed by."""
    for rule in rules:
        if not isinstance(rule, RecordRule):
            raise ParameterError(
                f"{type(rule).__name__} is no rule for records.", hint="For example rules=[ds.KAnonymity(3)]."
            )
    if rules or data.assessment is None:
        return list(rules)
    return [record_rule_from_record(record) for record in data.assessment.rules]


def changed_microdata(
    data: Microdata, methods: Sequence[Method], numeric: Collection[str], keys: Keys
) -> tuple[Microdata, Earlier]:
    """Records after some methods, ready to be tabulated, with the evidence of every step."""
    steps = refuse_for_records(methods)
    refuse_left_out(data)
    wanted = [data.waiver, data.request, data.record_key, *(name for method in steps for name in method.numbers)]
    records = read_record_set(data, [*numeric, *(name for name in wanted if name)])
    for method in steps:
        if method.kind == "blank_values":
            raise ParameterError(
                "BlankValues is for files of records, and tables are to be published: sums without the values that it "
                "empties would be too small.",
                hint="Leave it out, or publish the file.",
            )
        if method.record().get("publish"):
            raise ParameterError(
                f"{type(method).__name__}(publish=) is for files of records, and tables are to be published.",
                hint="Leave publish out.",
            )
    evidence: list[Evidence] = []
    for method in steps:
        outcome = method.run(records, keys.of(method))
        refuse_exchanging_twice(evidence, outcome.evidence)
        records = records.with_columns(outcome.changed)
        evidence.append(outcome.evidence)
    changed = data.with_(source=records.columns, engine="memory", encoded=None)
    return changed, Earlier(tuple(evidence), keys.used)


def numbers_of(specs: Sequence[TableSpec]) -> list[str]:
    """Columns of records that tables take numbers from."""
    named = (name for spec in specs for name in (spec.value, spec.shadow, spec.cost, spec.weight))
    return [*(name for name in named if isinstance(name, str)), *(n for spec in specs for n in compared(spec.where))]


def compared(conditions: Sequence[Condition]) -> list[str]:
    """Columns that are compared with numbers."""
    return [c.column for c in conditions if not any(isinstance(value, str) for value in c.values)]


def replayed(custodian: RecordCustodian, log: Mapping[str, Any]) -> Release[RecordCustodian]:
    """The same work on the same records."""
    from discreet.methods.registry import method_from_record

    methods = refuse_for_records([method_from_record(record) for record in log["protect"]])
    rules = [record_rule_from_record(record) for record in log["rules"]]
    key = custodian.key
    return release_of(custodian.original, methods, rules, key=key, keep_order=log["keep_order"], name=log["name"])
