"""The work of a release, repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import InputError
from discreet.methods.base import TablePublisher, publisher_from_record
from discreet.model.custodian import RecordCustodian
from discreet.model.release import Release
from discreet.rules.base import rule_from_record
from discreet.tables.suppress.method import Suppress
from discreet.verbs.already import gather
from discreet.verbs.assess import assess
from discreet.verbs.protect import protect_tables
from discreet.verbs.protect_records import replayed
from discreet.verbs.steps import Earlier
from discreet.watching import watched


@watched
def replay(release: Release[Any], log: Mapping[str, Any] | None = None) -> Release[Any]:
    """Repeat the work of a release from its cells and its log; the result must be the same.

    Examples
    --------
    >>> import discreet as ds
    >>> release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    >>> ds.replay(release).pattern().digest == release.pattern().digest
    True
    """
    steps = release.custodian.log if log is None else log
    if isinstance(release.custodian, RecordCustodian):
        same = replayed(release.custodian, steps)
        _refuse_other_key(steps, same)
        return same
    tables = []
    for table, entry in zip(release.custodian.tables, steps["assess"], strict=True):
        rules = [rule_from_record(record) for record in entry["rules"]]
        tables.append(assess(table.with_(assessment=None), *rules, profile=entry["profile"], **entry["options"]))
    custodian = release.custodian
    parts = {name: part for evidence in custodian.evidence for name, part in evidence.parts.items()}
    whole = custodian.tables.replaced(tables)
    # What was done to the records before is in the cells already.
    *_, last = steps["protect"]
    publisher = _as_it_struck(last, steps["effort"])
    drawn = None if publisher.secret else steps.get("key")
    again = protect_tables(
        whole,
        publisher,
        gather(whole, custodian.already),
        key=custodian.key,
        parts=parts,
        earlier=Earlier(custodian.evidence[:-1], custodian.key, drawn),
    )
    _refuse_other_key(steps, again)
    if "pattern" not in steps:
        return again
    # The cells of the given pattern stand in the tables as they were marked; the log says which pattern it was.
    found = again.custodian
    return Release(again.public, found.with_log({**found.log, "pattern": steps["pattern"]}))


def _refuse_other_key(steps: Mapping[str, Any], again: Release[Any]) -> None:
    before, now = (dict(found.get("key", {})).get("fingerprint") for found in (steps, again.custodian.log))
    if before != now:
        raise InputError(
            "The release was drawn with another key than the one at hand.",
            hint="Give the same key file or environment variable as before.",
        )


def _as_it_struck(record: Mapping[str, Any], effort: Mapping[str, int]) -> TablePublisher:
    """A method that a limit of time or somebody stopped ends at the effort that it had made by then."""
    if "limit_struck_at" in effort:
        publisher = publisher_from_record(record)
        if isinstance(publisher, Suppress):
            return publisher.as_it_ended(effort["limit_struck_at"])
        if record.get("time_limit") is not None:
            return publisher_from_record({**record, "time_limit": None, "effort": effort["limit_struck_at"]})
    return publisher_from_record(record)
