"""Releases to disk, checked, repeated and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import InputError, counted
from discreet.files.frames import to_frame as frame_of
from discreet.files.published import Heading
from discreet.files.release_folder import refuse_foreign, sign_release, write_release
from discreet.model.microdata import Microdata
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.relations import build_system
from discreet.report import custodian_report
from discreet.rules.base import rule_from_record
from discreet.tables.method import method_from_record
from discreet.trust import SigningKey
from discreet.verbs.assess import assess
from discreet.verbs.protect import protect
from discreet.verbs.with_records import check_with_records
from discreet.verify import Verdict, check_folder, check_release


def save(
    release: Release,
    folder: str | Path,
    *,
    report: bool | str = False,
    formats: Sequence[str] = ("csv",),
    restricted: Sequence[str] = (),
    heading: Heading | None = None,
    sign: str | Path | None = None,
) -> str:
    """Write a release: ``public/`` for the world, ``custodian/`` (mode 0700) for the house.

    All or nothing: what was in the folder before stays until the new release is complete, and a folder that is
    not a release of ours is never touched.

    Parameters
    ----------
    release
        The release.
    folder
        Where it goes.
    report
        Write ``custodian/report.html`` too; a text is taken as the page.
    formats
        Formats of the public files: ``"csv"`` (always), ``"xlsx"``, ``"jsonstat"``, ``"sdmx-csv"``, ``"sdmx-json"``,
        ``"px"``, ``"parquet"``, ``"sav"``, ``"dta"``.
    restricted
        Transmissions to offices that may see confidential values, in ``restricted/`` (mode 0700): ``"sdmx-csv"`` or
        ``"sdmx-json"`` with true values and ``CONF_STATUS``.
    heading
        Agency, units, source and time that some formats state.
    sign
        File of the office's signing key (``discreet signing-key`` makes one): the release is signed with it, so that
        nobody else can change it unnoticed.

    Returns
    -------
    str
        The seal: the digest of the list of all files. Keep it elsewhere: whoever may write into the folder can change
        files and seal them anew, and ``discreet verify --seal`` finds that out.
    """
    refuse_foreign(Path(folder))
    key = None if sign is None else SigningKey.from_file(sign)
    page = custodian_report(release) if report is True else report
    extra = {"custodian/report.html": page} if page else {}
    return write_release(Path(folder), release.public, release.custodian, extra, formats, restricted, heading, key)


def sign(folder: str | Path, key: str | Path) -> None:
    """Sign a saved release with an office's key; one that does not prove its claims is not signed.

    Parameters
    ----------
    folder
        The release.
    key
        File of the signing key, in PEM; ``discreet signing-key`` makes one.
    """
    signing = SigningKey.from_file(key)
    check_folder(folder).require()
    sign_release(Path(folder), signing)


def verify(release: Release, data: Microdata | None = None) -> Verdict:
    """Re-check every claim of a release with the independent checker.

    Parameters
    ----------
    release
        The release.
    data
        The records: the cells, and what the method took from the records, are then made anew and compared.
    """
    verdict = check_release(release.custodian, release.public)
    return verdict if data is None else check_with_records(verdict, release, data)


def replay(release: Release, log: Mapping[str, Any] | None = None) -> Release:
    """Repeat the work of a release from its cells and its log; the result must be the same."""
    steps = release.custodian.log if log is None else log
    tables = []
    for table, entry in zip(release.custodian.tables, steps["assess"], strict=True):
        rules = [rule_from_record(record) for record in entry["rules"]]
        tables.append(assess(table.with_(assessment=None), *rules, profile=entry["profile"], **entry["options"]))
    methods = [method_from_record(_as_it_struck(record, steps["effort"])) for record in steps["protect"]]
    custodian = release.custodian
    parts = {name: part for evidence in custodian.evidence for name, part in evidence.parts.items()}
    again = protect(
        custodian.tables.replaced(tables),
        *methods,
        already_published=custodian.already,
        key=custodian.key,
        parts=parts,
    )
    before, now = (dict(found.get("key", {})).get("fingerprint") for found in (steps, again.custodian.log))
    if before != now:
        raise InputError(
            "The release was drawn with another key than the one at hand.",
            hint="Give the same key file or environment variable as before.",
        )
    if "pattern" not in steps:
        return again
    # The cells of the given pattern stand in the tables as they were marked; the log says which pattern it was.
    found = again.custodian
    return Release(again.public, found.with_log({**found.log, "pattern": steps["pattern"]}))


def _as_it_struck(record: Mapping[str, Any], effort: Mapping[str, int]) -> dict[str, Any]:
    """A method whose time limit struck stops at the effort that it had made by then."""
    if record.get("time_limit") is None or "limit_struck_at" not in effort:
        return dict(record)
    return {**record, "time_limit": None, "effort": effort["limit_struck_at"]}


def to_frame(release: Release, table: str | None = None, backend: str | None = None) -> Any:
    """The public part of a release as a data frame: codes, value, status.

    Parameters
    ----------
    release
        The release.
    table
        Which table, where there are several.
    backend
        ``"pyarrow"``, ``"pandas"`` or ``"polars"``; by default what the records came in.
    """
    chosen = release.public.tables[0] if table is None else release.public[table]
    source = getattr(release.custodian.tables.tables[0].source, "source", None)
    kind = type(source).__module__.split(".")[0]
    return frame_of(chosen.columns(), backend or (kind if kind in ("pandas", "polars") else "pyarrow"))


def summary(release: Release) -> str:
    """What was done, in a few lines, without confidential values."""
    lines = []
    for number, table in enumerate(release.custodian.tables):
        status = release.custodian.status[number]
        count = {s: int((status == s).sum()) for s in CellStatus}
        if release.custodian.published is not None:
            shown = release.custodian.published[number] != table.value * 10 ** (
                release.custodian.decimals - table.decimals
            )
            lines.append(
                f"{table.name}: {counted(len(table), 'cell')}, {count[CellStatus.UNSAFE]:,} unsafe, none withheld, "
                f"{int(shown.sum()):,} changed, all published as altered"
            )
            hidden = len(table) - len(release.public.tables[number])
            if hidden:
                lines.append(
                    f"  {counted(hidden, 'cell', 'are')} published as zero and not listed, just as empty cells are; "
                    "cells='all' lists every combination of codes"
                )
            continue
        published = count[CellStatus.SAFE] + count[CellStatus.FORCED]
        lines.append(
            f"{table.name}: {counted(len(table), 'cell')}, {count[CellStatus.UNSAFE]:,} unsafe, "
            f"{count[CellStatus.SECONDARY]:,} withheld besides, {published:,} published"
        )
    if len(release.custodian.tables) > 1:
        shared = build_system(release.custodian.tables).shared()
        lines += [f"{one} and {other} share {counted(cells, 'cell')}" for one, other, cells in shared]
    for evidence in release.custodian.evidence:
        lines.append(f"{evidence.claim.method}: {evidence.claim.statement}")
        lines += [f"  against {attacker}" for attacker in evidence.claim.attackers]
        lines += [f"  together with {text}" for text in evidence.claim.together_with]
        lines += [f"  not considered: {text}" for text in evidence.claim.not_considered]
        lines += [f"  {text}" for text in evidence.findings]
    lines += [f"note: {text}" for text in release.custodian.log.get("notes", ())]
    return "\n".join(lines)


def table_to_frame(table: Table, backend: str = "pyarrow") -> Any:
    """The cells of a table as a data frame; for the custodian's eyes."""
    return frame_of(table.columns(), backend)
