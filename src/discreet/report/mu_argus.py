"""The report on a safe file with the sections of μ-ARGUS's own, in its order, for offices that file it with the data.

It is for the custodian: thresholds and numbers of suppressions are nobody else's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from discreet.files.records.argus import DESCRIPTION, SUFFIX, safe_metadata
from discreet.model.custodian import RecordCustodian, RecordStep
from discreet.model.records import HOUSEHOLD
from discreet.model.release import Release
from discreet.report.records_done import emptied_columns, recoded_columns
from discreet.report.repeat import versions

NAME = "mu_argus_report.html"
"""What the file is called in the custodian's folder."""
STYLE = "body{font-family:sans-serif;max-width:60em;margin:2em auto}td,th{text-align:left;padding:.2em 1em .2em 0}"
OWN_SECTIONS = ("local_suppress", "recode")
"""Methods that have a section of their own."""


def mu_argus_report(release: Release[RecordCustodian]) -> str:
    """A page on a safe file: files, keys, tables, related variables, recodings, risk, the rest, suppressions, layout.

    Examples
    --------
    >>> import pyarrow as pa, discreet as ds
    >>> people = ds.Microdata(pa.table({"age": ["20", "20", "30"]}), keys="age")
    >>> page = mu_argus_report(ds.protect(people, ds.LocalSuppress(2, missing="exempt")))
    >>> "<h2>Suppressions</h2>" in page
    True
    """
    custodian = release.custodian
    suppressing = [step for step in custodian.steps if step.evidence.claim.method == "local_suppress"]
    parts = [
        _files(custodian),
        _keys(release, suppressing),
        _tables(suppressing),
        _related(suppressing),
        _recodings(custodian),
        _risk(suppressing),
        _others(custodian),
        _suppressions(custodian, suppressing),
        _layout(release),
        f"<p>Written by discreet {escape(str(dict(versions()).get('discreet', '')))}.</p>",
    ]
    title = f"Safe file {escape(custodian.name)}"
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f"{head}</head><body><h1>{title}</h1>\n{''.join(parts)}</body></html>\n"


def _section(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], none: str = "") -> str:
    lines = ["".join(f"<td>{escape(str(one))}</td>" for one in row) for row in rows]
    if not lines:
        return f"<h2>{escape(none or title)}</h2>\n" if none else ""
    top = f"<tr>{''.join(f'<th>{escape(one)}</th>' for one in header)}</tr>" if header else ""
    return f"<h2>{escape(title)}</h2><table>{top}{''.join(f'<tr>{line}</tr>' for line in lines)}</table>\n"


def _files(custodian: RecordCustodian) -> str:
    inputs = [str(name) for name in custodian.log.get("inputs", {})]
    described = [name for name in inputs if name.lower().endswith((".rda", ".rds"))]
    data = [name for name in inputs if name.lower().endswith((".asc", ".dat", ".csv", ".sav", ".saf", ".parquet"))]
    rows = [
        ("Original data", data[0] if data else "records in memory"),
        ("Original metadata", described[0] if described else "none"),
        ("Records", f"{len(custodian.original):,}"),
        ("Safe data", f"{custodian.name}{SUFFIX}"),
        ("Safe metadata", f"{custodian.name}{DESCRIPTION}"),
    ]
    return _section("Files", (), rows)


def _method(step: RecordStep) -> dict[str, Any]:
    return dict(step.evidence.method)


def _used(suppressing: Sequence[RecordStep]) -> list[str]:
    return list(dict.fromkeys(str(name) for step in suppressing for name in step.evidence.facts["keys"]))


def _keys(release: Release[RecordCustodian], suppressing: Sequence[RecordStep]) -> str:
    public = release.public.records
    assert public is not None
    shared = {name for step in suppressing for name in _method(step).get("of_household", [])}
    described = {v.name: v for v in safe_metadata(public).variables}
    rows = []
    for name in _used(suppressing):
        if name in described:
            codes = len(public.columns[name].drop_null().unique())
            missing = len(described[name].missing)
            rows.append((name, f"{codes:,} ({missing})", "yes" if name in shared else ""))
    return _section("Identifying variables", ("Variable", "Codes (missing codes)", "Of the household"), rows)


def _tables(suppressing: Sequence[RecordStep]) -> str:
    """Tables that were counted, with the threshold at which μ-ARGUS calls a combination unsafe."""
    rows: list[Sequence[Any]] = []
    for step in suppressing:
        method, keys = _method(step), list(step.evidence.facts["keys"])
        for table in method["combinations"]:
            rows.append((int(table["k"]) - 1, " x ".join(table["keys"])))
        if not method["combinations"] and method["k"] is not None:
            size = method["size"]
            which = " x ".join(keys) if size is None else f"every {size} of {', '.join(keys)}"
            rows.append((int(method["k"]) - 1, which))
    return _section("Tables counted", ("Threshold", "Variables"), rows)


def _related(suppressing: Sequence[RecordStep]) -> str:
    pairs = {
        (one, other)
        for step in suppressing
        for one, others in _method(step).get("together", {}).items()
        for other in others
    }
    return _section("Related variables", ("Variable", "Suppressed with it"), sorted(pairs))


def _recodings(custodian: RecordCustodian) -> str:
    found = recoded_columns(custodian)
    if not found:
        return "<h2>No global recodings</h2>\n"
    parts = [_section(one.name, ("Code", "Categories"), [(c.code, c.old) for c in one.codes]) for one in found]
    return f"<h2>Global recodings</h2>{''.join(part.replace('h2>', 'h3>') for part in parts)}"


def _risk(suppressing: Sequence[RecordStep]) -> str:
    rows = [
        (" x ".join(step.evidence.facts["keys"]), _method(step)["risk"], f"{step.evidence.facts['unsafe']:,}")
        for step in suppressing
        if _method(step)["risk"] is not None
    ]
    return _section("Individual risk", ("Variables", "Highest risk", "Records above it before"), rows)


def _others(custodian: RecordCustodian) -> str:
    rows: list[Sequence[Any]] = []
    for step in custodian.steps:
        if step.evidence.claim.method not in OWN_SECTIONS:
            said = step.evidence.claim.statement
            rows.append((step.evidence.claim.method, ", ".join(step.changed.column_names), said))
    homes = custodian.original.with_role(HOUSEHOLD)
    if homes:
        rows.append(("safe file", homes[0], "households are numbered anew"))
    if not custodian.keeps_order:
        rows.append(("safe file", "all", "records stand in a random order"))
    return _section("Other changes", ("Method", "Variables", "Remarks"), rows, "No other changes")


def _suppressions(custodian: RecordCustodian, suppressing: Sequence[RecordStep]) -> str:
    entropy = any(_method(step)["cost"] == "entropy" for step in suppressing)
    rows: list[Sequence[Any]] = [
        (one.name, "by entropy" if entropy else one.importance, one.emptied) for one in emptied_columns(custodian)
    ]
    total = sum(column.null_count - old for column, old in _gaps(custodian))
    rows.append(("All", "", f"{total:,}"))
    return _section("Suppressions", ("Variable", "Priority", "Suppressions"), rows)


def _gaps(custodian: RecordCustodian) -> list[tuple[Any, int]]:
    """Columns after each suppression, and how many gaps they had before it."""
    found, now = [], {name: custodian.original[name] for name in custodian.original.names}
    for step in custodian.steps:
        changed = {name: step.changed[name] for name in step.changed.column_names}
        if step.evidence.claim.method == "local_suppress":
            found += [(column, now[name].null_count) for name, column in changed.items()]
        now |= changed
    return found


def _layout(release: Release[RecordCustodian]) -> str:
    public = release.public.records
    assert public is not None
    rows = [(v.name, v.start, v.length, v.decimals or 0) for v in safe_metadata(public).variables]
    return _section("Record layout of the safe file", ("Variable", "Starts at", "Length", "Decimals"), rows)
