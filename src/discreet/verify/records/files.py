"""The custodian's files of a release of records, read strictly; its public files are those that these give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.keys import Key
from discreet.model.custodian import RecordCustodian, RecordStep
from discreet.model.evidence import Evidence, Parts
from discreet.model.layout import claim_from, hierarchy_from
from discreet.model.records import ColumnInfo, RecordSet
from discreet.verify.jsonfile import parse_json
from discreet.verify.records.blanked_values import public_blankings
from discreet.verify.records.check import check_claims
from discreet.verify.records.descriptions import check_record_descriptions, files_of, public_name, rows_file
from discreet.verify.records.public_files import check_public_files
from discreet.verify.records.published import GivenRecords
from discreet.verify.records.randomised import public_matrices
from discreet.verify.records.words import expected_words
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa


def is_of_records(files: frozenset[str]) -> bool:
    """Whether the files of a release are those of one of records."""
    return "custodian/records.json" in files


def check_record_folder(verdict: Verdict, folder: Path, files: frozenset[str]) -> None:
    """Check the claims of a saved release of records, and every public file."""
    description, log = read_record_descriptions(folder)
    belong = {
        f"custodian/{name}" for name in (*files_of(description), "key.txt", "report.html", "mu_argus_report.html")
    }
    for name in sorted(files):
        if name.startswith("custodian/") and name not in belong:
            verdict.refuse("files", "a custodian file is not one that the release speaks of", name)
        elif name.startswith("restricted/"):
            verdict.refuse("files", "a release of records has no restricted files", name)
    custodian = _custodian(folder, description, log)
    public = check_claims(verdict, custodian)
    if public is None:
        return
    name = public_name(str(description["name"]))
    words = expected_words(custodian, public)
    try:
        matrices = public_matrices([step.evidence for step in custodian.steps])
        blankings = public_blankings([step.evidence for step in custodian.steps])
    except (AttributeError, LookupError, TypeError):
        matrices, blankings = [], []  # evidence of which the check of its step says what is wrong
    shown = GivenRecords(str(description["name"]), public, words, matrices, blankings)
    check_public_files(verdict, folder, files, name, shown)
    verdict.asserted.append("what the public files call their columns: names, labels, formats, codes for 'unknown'")


def read_record_custodian(folder: Path) -> RecordCustodian:
    """The custodian's part of a saved release of records."""
    return _custodian(folder, *read_record_descriptions(folder))


def read_record_descriptions(folder: Path) -> tuple[Any, Any]:
    """What records.json and log.json say, every field looked at."""
    closed = folder / "custodian"
    description, log = (parse_json((closed / name).read_bytes(), name) for name in ("records.json", "log.json"))
    check_record_descriptions(description, log)
    return description, log


def _custodian(folder: Path, description: Mapping[str, Any], log: Mapping[str, Any]) -> RecordCustodian:
    closed = folder / "custodian"
    rows = int(description["rows"])
    types = {column["name"]: column["type"] for column in description["columns"]}
    columns = _read_arrow(closed / "original.arrow", types, rows)
    info = {
        column["name"]: ColumnInfo(
            column["role"],
            column["label"],
            column["value_labels"],
            tuple((low, high) for low, high in column["missing"]),
            column["format"],
            column["measure"],
        )
        for column in description["columns"]
    }
    hierarchies = {name: hierarchy_from(found) for name, found in description["hierarchies"].items()}
    steps = []
    for number, entry in enumerate(description["steps"]):
        changed = {column["name"]: column["type"] for column in entry["columns"]}
        evidence = Evidence(
            method=dict(entry["method"]),
            claim=claim_from(entry["claim"]),
            effort=entry["effort"],
            facts=dict(entry["facts"]),
            findings=tuple(entry["findings"]),
            parts=_rows(closed / rows_file(number), entry.get("rows", ()), rows),
        )
        steps.append(RecordStep(evidence, _read_arrow(closed / entry["file"], changed, rows if changed else 0)))
    order = _read_arrow(closed / "order.arrow", {"row": "int64"}, rows)["row"]
    key = closed / "key.txt"
    found = replace(Key.from_file(key), made=True) if key.is_file() else None
    stated = log.get("key")
    if (found is not None) != (stated is not None and stated["made"]):
        raise InputError("The log does not say whether the key was made for the release, or the key is missing.")
    if found is not None and stated is not None and stated["fingerprint"] != found.fingerprint:
        raise InputError("The fingerprint in the log is not that of the key.")
    return RecordCustodian(
        name=description["name"],
        original=RecordSet(columns, info, hierarchies=hierarchies, strata=tuple(description["strata"])),
        steps=tuple(steps),
        order=np.asarray(order.to_numpy(), np.int64),
        rules=tuple(description["rules"]),
        log=log,
        keeps_order=description["keeps_order"],
        key=found,
    )


def _rows(path: Path, names: Sequence[str], rows: int) -> Parts:
    """What a step says of every row in whole numbers."""
    if not names:
        return {}
    table = _read_arrow(path, dict.fromkeys(names, "int64"), rows)
    if any(table[name].null_count for name in names):
        raise InputError(f"The file {path.name!r} has gaps.")
    return {"records": {name: np.asarray(table[name].to_numpy(), np.int64) for name in names}}


def _read_arrow(path: Path, types: Mapping[str, str], rows: int) -> pa.Table:
    """Columns of an Arrow file, of the stated types and length; its data must be as large as they are in memory."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            schema = reader.schema
            if {f.name: str(f.type) for f in schema} != dict(types) or list(schema.names) != list(types):
                raise InputError(f"The file {path.name!r} has other columns than the release says.")
            if schema.metadata or any(f.metadata for f in schema):
                raise InputError(f"The file {path.name!r} says more than its columns do.")
            table = reader.read_all()
            table.validate(full=True)
            if table.nbytes > path.stat().st_size or table.num_rows != rows:
                raise InputError(f"The file {path.name!r} has other rows than the release says.")
            if path.name == "order.arrow" and table["row"].null_count:
                raise InputError(f"The file {path.name!r} has gaps.")
            return pa.table({name: table[name] for name in types})
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"The file {path.name!r} is not well formed ({type(error).__name__}).") from None
