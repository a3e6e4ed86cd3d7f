"""Tables and rules to unsafe cells and their protection levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from discreet.errors import NeedsError, ParameterError, unknown_name
from discreet.model.microdata import Microdata
from discreet.model.records import RecordAssessment
from discreet.model.table import Table
from discreet.model.tableset import TableSet, as_set
from discreet.rules.assess import MANUAL_RANGE, assess_table
from discreet.rules.base import Rule

if TYPE_CHECKING:
    from discreet.rules.records import RecordRule


@overload
def assess(
    tables: Table,
    *rules: Rule | Sequence[Rule],
    profile: str = ...,
    missing_safe: bool = ...,
    manual_range: float = ...,
    unrelated: Sequence[str] = ...,
) -> Table: ...


@overload
def assess(
    tables: TableSet,
    *rules: Rule | Sequence[Rule],
    profile: str = ...,
    missing_safe: bool = ...,
    manual_range: float = ...,
    unrelated: Sequence[str] = ...,
) -> TableSet: ...


@overload
def assess(tables: Microdata, *rules: RecordRule | Sequence[RecordRule]) -> Microdata: ...


def assess(
    tables: Table | TableSet | Microdata,
    *rules: Rule | RecordRule | Sequence[Rule] | Sequence[RecordRule],
    profile: str = "handbook",
    missing_safe: bool = False,
    manual_range: float = MANUAL_RANGE,
    unrelated: Sequence[str] = (),
) -> Table | TableSet | Microdata:
    """Find the unsafe cells and how much protection each needs, or the unsafe records.

    All rules are evaluated; a cell's level is the largest over those it breaks. Statuses set by hand stay.

    Parameters
    ----------
    tables
        A table or a set; or records, which are given back with what the rules say of them (``data.assessment``).
    *rules
        Rules such as ``ds.PPercent(10)`` for tables, ``ds.KAnonymity(3)`` for records; a list of rules will do, too.
    profile
        ``"handbook"``, or ``"argus"`` for the order of tests and the symmetric levels of that program.
    missing_safe
        Leave cells alone whose code stands for "unknown".
    manual_range
        Level of cells marked unsafe by hand, in per cent of their value.
    unrelated
        Variables without a total of which one code is the sum of others by coincidence. Where it is no coincidence, the
        sum is a relation that readers know: declare it in the hierarchy.

    Examples
    --------
    >>> import discreet as ds
    >>> table = ds.examples.small_table().assess(ds.PPercent(10))
    >>> int(table.unsafe.sum())
    1
    """
    single = [rule for given in rules for rule in (given if isinstance(given, Sequence) else [given])]
    if isinstance(tables, Microdata):
        _refuse_options_of_tables(profile, missing_safe, manual_range, unrelated)
        return _assessed_records(tables, single)
    return _assessed_tables(tables, _of_kind(Rule, single), profile, missing_safe, manual_range, unrelated)


def _of_kind(kind: Any, rules: Sequence[object]) -> list[Any]:
    """The rules, all of which are for tables, or all for records."""
    subject, example = ("tables", "ds.PPercent(10)") if kind is Rule else ("records", "ds.KAnonymity(3)")
    for rule in rules:
        if not isinstance(rule, kind):
            raise _no_rule(subject, rule, example)
    return list(rules)


def _no_rule(subject: str, given: Any, example: str) -> ParameterError:
    """Error for something that is no rule; a class is one without its parameters."""
    if isinstance(given, type):
        return ParameterError(
            f"assess takes rules for {subject}, and {given.__name__} is a class.",
            hint=f"Give its parameters: ds.{given.__name__}(...), for example {example}.",
        )
    return ParameterError(
        f"assess takes rules for {subject}, not a {type(given).__name__}.", hint=f"For example {example}."
    )


def _refuse_options_of_tables(profile: str, missing_safe: bool, manual_range: float, unrelated: Sequence[str]) -> None:
    """Records have no use for them, and what has no effect is not ignored."""
    given = {
        "profile": profile != "handbook",
        "missing_safe": missing_safe,
        "manual_range": manual_range != MANUAL_RANGE,
        "unrelated": bool(unrelated),
    }
    wrong = [name for name, is_given in given.items() if is_given]
    if wrong:
        raise ParameterError(
            f"assess takes {wrong[0]}= for tables, not for records.",
            hint="Leave it out, or tabulate the records first.",
        )


def _assessed_records(data: Microdata, rules: Sequence[object]) -> Microdata:
    # Tables need none of this: it brings all formats of records.
    from discreet.engine.record_set import read_record_set
    from discreet.rules.records import RecordRule, assess_records

    if data.engine == "remote":
        return data.with_(assessment=_counted_where_they_lie(data, _of_kind(RecordRule, rules)))
    assessment, _ = assess_records(read_record_set(data), _of_kind(RecordRule, rules))
    return data.with_(assessment=assessment)


def _counted_where_they_lie(data: Microdata, rules: Sequence[RecordRule]) -> RecordAssessment:
    """What rules say of records that stay in their engine: combinations of keys come back, and how often each occurs.

    Rules that need more than that are refused by name.
    """
    from discreet.engine.key_cells import key_cells
    from discreet.rules.anonymity import KAnonymity

    asked = []
    for rule in rules:
        options = [name for name in ("weight", "household") if getattr(rule, name, None) is not None]
        if options or not isinstance(rule, KAnonymity):
            what = f"{type(rule).__name__}({options[0]}=)" if options else type(rule).__name__
            raise NeedsError(
                f"{what} needs single records, and these stay in their engine: only combinations of keys and their "
                "numbers leave it, which KAnonymity of records is satisfied with.",
                hint="Where they may leave, take them out: data.on('memory').",
            )
        asked.append(rule)
    cells, times = key_cells(data, {name for rule in asked for name in rule.named or data.keys})
    resolved = [rule.resolved(cells) for rule in asked]
    found = [rule.counted_in_cells(cells, times) for rule in resolved]
    counts = tuple(int(times[finding.unsafe].sum()) for finding in found)
    return RecordAssessment(
        tuple(rule.record() for rule in resolved), counts, tuple(finding.words for finding in found)
    )


def _assessed_tables(
    tables: Table | TableSet,
    rules: Sequence[Rule],
    profile: str,
    missing_safe: bool,
    manual_range: float,
    unrelated: Sequence[str],
) -> Table | TableSet:
    _refuse_unknown_tables(rules, [table.name for table in as_set(tables)])
    variables = dict.fromkeys(v for table in as_set(tables) for v in table.variables)
    for name in [unrelated] if isinstance(unrelated, str) else unrelated:
        if name not in variables:
            raise ParameterError(unknown_name("variable", name, variables, "what is assessed"))
    judged = [assess_table(t, rules, profile, missing_safe, manual_range, unrelated) for t in as_set(tables)]
    return tables.replaced(judged) if isinstance(tables, TableSet) else judged[0]


def _refuse_unknown_tables(rules: Sequence[Rule], names: Sequence[str]) -> None:
    """A rule meant for a table that is not there would silently apply to nothing."""
    for rule in rules:
        for name in getattr(rule, "tables", ()):
            if name not in names:
                raise ParameterError(unknown_name("table", name, names, f"what is assessed (rule {rule.kind!r})"))
