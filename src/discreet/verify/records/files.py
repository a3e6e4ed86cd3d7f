"""The custodian's files of a release of records, read strictly, and its public files written a second time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import InputError
from discreet.keys import Key
from discreet.model.evidence import Evidence
from discreet.model.layout import claim_from, hierarchy_from
from discreet.model.records import ColumnInfo, RecordSet
from discreet.model.release import RecordCustodian, RecordStep
from discreet.verify.formats.parquet import as_stated
from discreet.verify.formats.shown import Different, field, inert
from discreet.verify.jsonfile import parse_json
from discreet.verify.records.check import check_claims
from discreet.verify.records.descriptions import check_record_descriptions, files_of, public_name
from discreet.verify.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

LINES = 200_000
"""Lines of a public csv file that are compared at a time."""


def is_of_records(files: frozenset[str]) -> bool:
    """Whether the files of a release are those of one of records."""
    return "custodian/records.json" in files


def check_record_folder(verdict: Verdict, folder: Path, files: frozenset[str]) -> None:
    """Check the claims of a saved release of records, and every public file."""
    description, log = read_record_descriptions(folder)
    belong = {f"custodian/{name}" for name in (*files_of(description), "key.txt", "report.html")}
    for name in sorted(files):
        if name.startswith("custodian/") and name not in belong:
            verdict.refuse("files", "a custodian file is not one that the release speaks of", name)
        elif name.startswith("restricted/"):
            verdict.refuse("files", "a release of records has no restricted files", name)
    custodian = _custodian(folder, description, log)
    public = check_claims(verdict, custodian)
    if public is None:
        return
    info = _public_info(custodian)
    name = public_name(str(description["name"]))
    if f"public/{name}.csv" not in files:
        verdict.refuse("public", "the public file is missing", f"{name}.csv")
    for file in sorted(file for file in files if file.startswith("public/")):
        _check_public(verdict, folder / file, name, public, info)
    verdict.asserted.append("names and labels of the columns of the public files")


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
        )
        for column in description["columns"]
    }
    hierarchies = {name: hierarchy_from(found) for name, found in description["hierarchies"].items()}
    steps = []
    for entry in description["steps"]:
        changed = {column["name"]: column["type"] for column in entry["columns"]}
        evidence = Evidence(
            method=dict(entry["method"]),
            claim=claim_from(entry["claim"]),
            effort=entry["effort"],
            facts=dict(entry["facts"]),
            findings=tuple(entry["findings"]),
        )
        steps.append(RecordStep(evidence, _read_arrow(closed / entry["file"], changed, rows)))
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


# ---- public files -------------------------------------------------------------------------------------------


def _public_info(custodian: RecordCustodian) -> dict[str, dict[str, str]]:
    """What a Parquet file says of each column."""
    altered = {name for step in custodian.steps for name in step.changed.column_names}
    found: dict[str, dict[str, str]] = {}
    for name in custodian.original.names:
        about = custodian.original.about(name)
        words = {"label": about.label}
        if name not in altered and about.role != "household" and about.value_labels:
            words["value_labels"] = json.dumps(dict(about.value_labels), ensure_ascii=False, sort_keys=True)
        if about.role != "household" and about.missing:
            words["missing"] = json.dumps([list(ends) for ends in about.missing], ensure_ascii=False)
        found[name] = {key: text for key, text in words.items() if text}
    return found


def _check_public(
    verdict: Verdict, path: Path, name: str, public: pa.Table, info: Mapping[str, Mapping[str, str]]
) -> None:
    """A public file is what the release gives, and nothing else."""
    ending = next((suffix for suffix in CHECKS if path.name == f"{name}{suffix}"), None)
    if ending is None:
        verdict.refuse("public", "a public file is not one that the checker can read back", path.name)
        return
    try:
        CHECKS[ending](path, public, info)
    except Different as error:
        verdict.refuse("public", str(error), path.name)
        return
    verdict.proved.append(f"{path.name} holds the published records, byte for byte")


def _check_csv(path: Path, public: pa.Table, _info: Mapping[str, Mapping[str, str]]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [_fields(public[name]) for name in public.column_names]
    expected = (",".join(field(inert(name)) for name in public.column_names) + "\n").encode()
    with path.open("rb") as stream:
        if stream.read(len(expected)) != expected:
            raise Different("the names of the columns are not those of the release")
        for start in range(0, public.num_rows, LINES):
            parts = [column.slice(start, LINES) for column in columns]
            lines = pc.binary_join_element_wise(*parts, pa.scalar(","))
            expected = "\n".join([*lines.to_pylist(), ""]).encode()
            if stream.read(len(expected)) != expected:
                raise Different(f"one of the lines from {start + 2:,} on is not what the release gives")
        if stream.read(1):
            raise Different("the file has more lines than there are records")


def _fields(column: pa.ChunkedArray) -> pa.Array:
    """Values as csv fields, by the distinct ones."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    return pa.array([_field(value) for value in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return field(inert(value)) if value else '""'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e16 else repr(value)
    if hasattr(value, "hour"):
        return str(value.isoformat(sep=" ", timespec="microseconds"))
    return str(value)


def _check_parquet(path: Path, public: pa.Table, info: Mapping[str, Mapping[str, str]]) -> None:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(f.name, f.type, metadata=dict(info[f.name]) or None) for f in public.schema]
    expected = pa.table([public[f.name].combine_chunks() for f in public.schema], schema=pa.schema(fields))
    sink = io.BytesIO()
    pq.write_table(expected, sink, compression="zstd")
    if as_stated(sink.getvalue()) != path.read_bytes():
        raise Different("the file is not byte for byte what the release gives")


CHECKS: dict[str, Callable[[Path, Any, Mapping[str, Mapping[str, str]]], None]] = {
    ".csv": _check_csv,
    ".parquet": _check_parquet,
}
"""How public files of records end, and what compares them with what the release gives."""
