"""Checking a release against its records: what a checker of cells can only take for granted."""

from __future__ import annotations

import numpy as np

from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, NeedsError
from discreet.keys import Key, find_key
from discreet.methods.base import Method, publisher_from_record
from discreet.methods.registry import method_from_record
from discreet.model.custodian import RecordCustodian
from discreet.model.microdata import Microdata
from discreet.model.release import Release
from discreet.model.table import Table
from discreet.model.tableset import TableSet, as_set
from discreet.verbs.protect_records import changed_microdata, numbers_of
from discreet.verbs.steps import Keys
from discreet.verbs.tabulate import tabulate
from discreet.verify import Verdict

CHECK = "records"


def check_with_records(verdict: Verdict, release: Release, data: Microdata) -> Verdict:
    """Add to a verdict what only the records can show.

    The tables are made anew and must be the custodian's; what the method took from the records (cell keys, inner
    cells, sums of altered records) is taken again and must be what the evidence holds.
    """
    before = len(verdict.refused)
    tables = release.custodian.tables
    steps = [method_from_record(evidence.method) for evidence in release.custodian.evidence[:-1]]
    if steps:
        key = next((_key(step, release) for step in steps if step.secret), None)
        data, made = changed_microdata(data, steps, numbers_of([table.spec for table in tables]), Keys(key))
        claims = zip(made.evidence, release.custodian.evidence[:-1], strict=True)
        if any(mine.claim != theirs.claim for mine, theirs in claims):
            verdict.refuse(CHECK, "what is claimed of the records before tables were made is not what they give")
            return verdict
    again = as_set(tabulate(data, specs=[table.spec for table in tables]))
    for mine, theirs in zip(again, tables, strict=True):
        same = len(mine) == len(theirs) and np.array_equal(mine.codes, theirs.codes)
        if not same or mine.decimals != theirs.decimals or not np.array_equal(mine.value, theirs.value):
            verdict.refuse(CHECK, "the custodian's cells are not those of the records", theirs.name)
    if len(verdict.refused) > before:
        return verdict
    for mine, theirs in zip(again, tables, strict=True):
        if _same_contributions(mine, theirs):
            verdict.shown_by_records("cells", f"table {theirs.name}: ")
        elif data.contributor is not None:
            verdict.refuse(CHECK, "who contributes to the custodian's cells is not what the records say", theirs.name)
    verdict.prove("the custodian's cells are those of the records", before)
    for evidence in release.custodian.evidence[-1:]:
        if not evidence.parts:
            continue
        method = publisher_from_record(evidence.method)
        try:
            taken = method.supply(_assessed_like(again, tables), _key(method, release))
        except NeedsError as error:
            verdict.asserted.append(f"what {evidence.claim.method} took from the records: {error.args[0]}")
            continue
        for name, columns in taken.items():
            stored = evidence.parts.get(name, {})
            if any(c not in stored or not np.array_equal(stored[c], column) for c, column in columns.items()):
                verdict.refuse(CHECK, f"what the method took from the records ({name}) is not what they give")
        verdict.prove(f"what {evidence.claim.method} took from the records is what they give", before)
        if len(verdict.refused) == before:
            verdict.shown_by_records("method")
    return verdict


def _same_contributions(mine: Table, theirs: Table) -> bool:
    """Whether two tables have the same contributors: how many, the largest contributions, and whose they are."""
    if theirs.nonzero is not None and (mine.nonzero is None or not np.array_equal(theirs.nonzero, mine.nonzero)):
        return False
    for level, found in theirs.contributions.items():
        other = mine.contributions.get(level)
        if other is None:
            return False
        for column, again in zip(found.columns, other.columns, strict=True):
            if column is not None and not np.array_equal(column, again):
                return False
    if theirs.holders is None:
        return True
    return mine.holders is not None and all(
        np.array_equal(getattr(mine.holders, name), getattr(theirs.holders, name))
        for name in ("identity", "amount", "count")
    )


def _assessed_like(again: TableSet, tables: TableSet) -> TableSet:
    """Tables made anew, with the assessment of the custodian's and where their places lie."""
    pairs = zip(again, tables, strict=True)
    return tables.replaced([mine.with_(assessment=theirs.assessment, spec=theirs.spec) for mine, theirs in pairs])


def _key(method: Method, release: Release) -> Key | None:
    """The key of the release: kept with it, or the one at hand, which must be the same."""
    if not method.secret:
        return None
    key = release.custodian.key
    if key is None:
        key = find_key(getattr(method, "key_file", None), getattr(method, "insecure_seed", None))
    if key.fingerprint != dict(release.custodian.log.get("key", {})).get("fingerprint"):
        raise InputError(
            "The release was drawn with another key than the one at hand.",
            hint="Give the same key file or environment variable as before.",
        )
    return key


def check_original(verdict: Verdict, custodian: RecordCustodian, data: Microdata) -> Verdict:
    """Add to a verdict whether the custodian's original records are the ones at hand."""
    before = len(verdict.refused)
    stored = custodian.original.columns
    found = read_record_set(data, [f.name for f in stored.schema if str(f.type) in ("int64", "double")]).columns
    if not found.schema.equals(stored.schema) or not found.equals(stored):
        verdict.refuse(CHECK, "the custodian's original records are not these records")
        return verdict
    verdict.shown_by_records("cells")
    verdict.prove("the custodian's original records are these records", before)
    return verdict
