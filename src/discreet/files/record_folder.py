"""Releases of records as folders: which files they have, and what stands in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.files.blankings import blanking_texts
from discreet.files.records import RECORD_FORMATS, check_record_formats
from discreet.files.sealing import write_besides, write_json, write_sealed
from discreet.files.table_folder import file_names
from discreet.files.transition_matrices import SUFFIX, matrices_text
from discreet.model.custodian import RecordCustodian, RecordStep
from discreet.model.layout import FORMAT, claim_description, hierarchy_description
from discreet.model.public import PublicRelease
from discreet.trust import SigningKey

if TYPE_CHECKING:
    import pyarrow as pa

ORIGINAL, ORDER = "original.arrow", "order.arrow"


def write_records(
    folder: Path,
    public: PublicRelease,
    custodian: RecordCustodian,
    extra: Mapping[str, str] | None = None,
    formats: Sequence[str] = ("csv",),
    sign: SigningKey | None = None,
    *,
    replace: bool = False,
) -> str:
    """Write a release of records into ``folder`` and return its seal.

    Parameters
    ----------
    folder
        Where the release goes.
    public, custodian
        The two parts.
    extra
        Further text files (path inside the release to its text), for example a report.
    formats
        Formats of the public files, of :data:`~discreet.files.records.RECORD_FORMATS`; csv is always among them.
    sign
        The office's key, which signs the list of files.
    """
    formats = check_record_formats(formats)
    records = public.records
    assert records is not None

    def fill(staging: Path) -> None:
        shown = staging / "public"
        shown.mkdir(mode=0o755)
        name = file_names([records.name])[records.name]
        for format in formats:
            RECORD_FORMATS[format].write(shown / f"{name}{RECORD_FORMATS[format].suffix}", records)
        if records.matrices:
            (shown / f"{name}{SUFFIX}").write_text(matrices_text(records.matrices), encoding="utf-8")
        for file, text in blanking_texts(name, records.blankings).items():
            (shown / file).write_text(text, encoding="utf-8")
        _fill(staging, custodian, extra or {})

    return write_sealed(folder, fill, custodian.key, sign, replace)


def _fill(staging: Path, custodian: RecordCustodian, extra: Mapping[str, str]) -> None:
    import pyarrow as pa

    closed = staging / "custodian"
    closed.mkdir(mode=0o700)
    original = custodian.original
    _write_arrow(closed / ORIGINAL, original.columns)
    _write_arrow(closed / ORDER, pa.table({"row": custodian.order}))
    description = {
        "format": FORMAT,
        "kind": "records",
        "name": custodian.name,
        "rows": len(original),
        "keeps_order": custodian.keeps_order,
        "columns": [
            {
                "name": name,
                "type": str(original.columns[name].type),
                "role": original.about(name).role,
                "label": original.about(name).label,
                "value_labels": dict(original.about(name).value_labels),
                "missing": [list(ends) for ends in original.about(name).missing],
                "format": original.about(name).format,
                "measure": original.about(name).measure,
            }
            for name in original.names
        ],
        "hierarchies": {name: hierarchy_description(h) for name, h in original.hierarchies.items()},
        "strata": list(original.strata),
        "rules": [dict(rule) for rule in custodian.rules],
        "steps": [_write_step(closed, number, step) for number, step in enumerate(custodian.steps)],
    }
    write_json(closed / "records.json", description)
    write_besides(staging, custodian.log, custodian.key, extra)


def _write_step(closed: Path, number: int, step: RecordStep) -> dict[str, Any]:
    import pyarrow as pa

    file = f"step_{number}.arrow"
    _write_arrow(closed / file, step.changed)
    evidence = step.evidence
    rows = evidence.parts.get("records", {})
    if rows:
        _write_arrow(closed / f"step_{number}_rows.arrow", pa.table(dict(rows)))
    return {
        "method": dict(evidence.method),
        "claim": claim_description(evidence.claim),
        "effort": dict(evidence.effort),
        "facts": dict(evidence.facts),
        "findings": list(evidence.findings),
        "columns": [{"name": field.name, "type": str(field.type)} for field in step.changed.schema],
        "file": file,
        **({"rows": list(rows)} if rows else {}),
    }


def _write_arrow(path: Path, table: pa.Table) -> None:
    """Columns as they are, uncompressed, so that a reader knows from its size what a file holds."""
    import pyarrow as pa

    plain = table.replace_schema_metadata(None)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, plain.schema) as writer:
        writer.write_table(plain)
