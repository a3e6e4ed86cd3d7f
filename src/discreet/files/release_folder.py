"""A release as a folder: ``public/`` for the world, ``custodian/`` for the house, written all or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutputError, ParameterError, listed, unknown_name
from discreet.files.celltext import code_text_columns, column_text, write_text_columns
from discreet.files.published import FORMATS, Heading, check_formats
from discreet.files.published.sdmx import csv_text, json_text, restricted_observations
from discreet.files.whole_folder import holds_release, put_in_place, staged
from discreet.model.already import AlreadyPublished
from discreet.model.arrays import LARGEST, NO_LOWER, NO_UPPER, Ints
from discreet.model.evidence import Evidence
from discreet.model.layout import FORMAT, acceptance_description, cell_columns, claim_description, table_description
from discreet.model.public import PublicRelease
from discreet.model.release import Custodian
from discreet.progress import checkpoint
from discreet.trust import SigningKey

MANIFEST, SEAL, SIGNATURE = "manifest.json", "manifest.sha256", "manifest.sig"
KEY_FILE = "key.txt"
"""A key that was made for the release; keys from elsewhere are not copied."""
RESTRICTED = {"sdmx-csv": lambda found, heading: csv_text(found, heading).encode(), "sdmx-json": json_text}
"""Formats of transmissions that carry confidentiality flags."""


def write_release(
    folder: Path,
    public: PublicRelease,
    custodian: Custodian,
    extra: Mapping[str, str] | None = None,
    formats: Sequence[str] = ("csv",),
    restricted: Sequence[str] = (),
    heading: Heading | None = None,
    sign: SigningKey | None = None,
) -> str:
    """Write a release into ``folder`` and return its seal.

    Everything is written beside the folder first and put in its place in one step, so that a full disk, an
    interrupt or a crash leaves the old release as it was. A folder that is not a release is never replaced.

    Parameters
    ----------
    folder
        Where the release goes.
    public, custodian
        The two parts.
    extra
        Further text files (path inside the release to its text), for example a report.
    formats
        Formats of the public files, of :data:`~discreet.files.published.FORMATS`; csv is always among them.
    restricted
        Formats of transmissions with true values and confidentiality flags, in ``restricted/``.
    heading
        What some formats state besides the table.
    sign
        The office's key, which signs the list of files.
    """
    formats, heading = check_formats(formats), heading or Heading()
    for name in restricted:
        if name not in RESTRICTED:
            raise ParameterError(unknown_name("format of restricted files", name, RESTRICTED))
    folder = Path.cwd() / folder
    refuse_foreign(folder)
    if custodian.key is not None and custodian.key.insecure:
        raise OutputError(
            "The release was drawn from insecure_seed=, so that anybody could undo it; it is not written.",
            hint="Leave insecure_seed out, or give key_file=.",
        )
    try:
        with staged(folder) as staging:
            _publish(staging, public, custodian, formats, heading)
            _transmit(staging, custodian, restricted, heading)
            seal = _fill(staging, custodian, extra or {}, heading)
            if sign is not None:
                _sign(staging, sign)
            checkpoint("save", 1, 1)
            put_in_place(staging, folder)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return seal


def refuse_foreign(folder: Path) -> None:
    """Refuse a place that holds something other than a release of ours."""
    if not os.path.lexists(folder) or holds_release(folder):
        return
    if not folder.is_dir() or folder.is_symlink():
        raise OutputError(f"{folder.name!r} exists and is not a folder.", hint="Choose another output folder.")
    raise OutputError(
        f"The folder {folder.name!r} exists and is not a release of ours (it holds "
        f"{listed(sorted(item.name for item in folder.iterdir()), 4)}).",
        hint="Choose another output folder, or empty this one yourself.",
    )


def closed_to_others(folder: Path) -> str:
    """A sentence for a release whose public part nobody but its owner can open; empty where others can."""
    public = folder / "public"
    if public.stat().st_mode & 0o005 == 0o005:
        return ""
    return (
        f"{folder.name}/public is closed to others, because the umask said so when it was made. "
        f"To open it: chmod a+rx {folder.name}/public"
    )


def _publish(
    staging: Path, public: PublicRelease, custodian: Custodian, formats: Sequence[str], heading: Heading
) -> None:
    """The public files: every table in every format."""
    names = file_names([table.name for table in custodian.whole])
    folder = staging / "public"
    folder.mkdir(mode=0o755)
    for shown in public.tables:
        for name in formats:
            path = folder / f"{names[shown.name]}{FORMATS[name].suffix}"
            if path.exists():
                raise OutputError(f"Two tables would be written to {path.name!r}.", hint="Rename one of the tables.")
            FORMATS[name].write(path, shown, heading)


def _transmit(staging: Path, custodian: Custodian, formats: Sequence[str], heading: Heading) -> None:
    """Files for partner offices that may see confidential values, with their flags."""
    if not formats:
        return
    folder = staging / "restricted"
    folder.mkdir(mode=0o700)
    names = file_names([table.name for table in custodian.whole])
    for number, table in enumerate(custodian.tables):
        found = restricted_observations(custodian, number)
        for name in formats:
            (folder / f"{names[table.name]}{FORMATS[name].suffix}").write_bytes(RESTRICTED[name](found, heading))


def _fill(staging: Path, custodian: Custodian, extra: Mapping[str, str], heading: Heading) -> str:
    closed = staging / "custodian"
    closed.mkdir(mode=0o700)
    names = file_names([table.name for table in custodian.whole])
    present = len(custodian.tables)
    for number, (table, status) in enumerate(zip(custodian.whole, custodian.whole_status, strict=True)):
        lower, upper = proven_interval(custodian, number)
        mine = custodian.published[number] if custodian.published is not None and number < present else None
        ends = custodian.intervals[number] if custodian.intervals is not None and number < present else None
        columns = cell_columns(table, status, lower, upper, mine, custodian.decimals, ends)
        codes = code_text_columns(table.codes, [h.codes for h in table.spec.hierarchies])
        write_text_columns(
            closed / f"{names[table.name]}.csv",
            [*table.variables, *(column.name for column in columns)],
            [*codes, *(column_text(column) for column in columns)],
        )
    altered = {} if custodian.published is None else {"published_decimals": custodian.decimals}
    description = {
        "format": FORMAT,
        "heading": vars(heading),
        "tables": [{"file": f"{names[t.name]}.csv", **table_description(t), **altered} for t in custodian.tables],
        "equations": [str(equation) for equation in custodian.tables.equations],
        "one_pattern": custodian.tables.one_pattern,
        "evidence": [_write_evidence(closed, i, e) for i, e in enumerate(custodian.evidence)],
        "already_published": _already_description(custodian.already, names),
    }
    _write_json(closed / "tables.json", description)
    _write_json(closed / "log.json", custodian.log)
    if custodian.key is not None and custodian.key.made:
        (closed / KEY_FILE).write_text(custodian.key.text + "\n", encoding="ascii")
    for name, text in extra.items():
        (staging / name).write_text(text, encoding="utf-8")
    return _seal(staging)


def _already_description(already: AlreadyPublished, names: Mapping[str, str]) -> dict[str, Any]:
    """What was published before or elsewhere, as JSON-ready data; the cells of its tables lie in files of their own."""
    return {
        "tables": [
            {
                "file": f"{names[earlier.table.name]}.csv",
                "release": earlier.release,
                "original": earlier.original,
                **table_description(earlier.table),
            }
            for earlier in already.tables
        ],
        "equations": [str(equation) for equation in already.equations],
        "known": [{**vars(known), "rows": known.rows.tolist()} for known in already.known],
        "figures": [
            {
                "formula": figure.formula,
                "value": figure.value,
                "decimals": figure.decimals,
                "cells": [[table, list(codes)] for table, codes in figure.cells],
            }
            for figure in already.figures
        ],
        "set_apart": list(already.set_apart),
    }


def file_names(names: list[str]) -> dict[str, str]:
    """A file name for every table name: letters, digits, dot, dash and underscore; never two the same."""
    result: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._") or "table"
        plain = f"{plain}_" if plain in ("tables", "log", "manifest", "report", "key") else plain
        while plain.lower() in {used.lower() for used in result.values()}:
            plain += "_"
        result[name] = plain
    return result


def proven_interval(custodian: Custodian, number: int) -> tuple[Ints, Ints]:
    """What an attacker cannot rule out of each withheld cell, as far as the certificates show it.

    Published cells are known exactly; of a withheld cell an attacker knows at best the interval given here. Where
    values are altered and nothing is proved of a cell, it is what lies between the true and the published value.
    """
    table = custodian.whole.tables[number]
    lower, upper = table.value.copy(), table.value.copy()
    if custodian.published is not None and number < len(custodian.tables):
        shown, step = custodian.published[number], 10 ** (custodian.decimals - table.decimals)
        lower, upper = np.minimum(lower, shown // step), np.maximum(upper, -(-shown // step))
    for evidence in custodian.evidence:
        c = evidence.certificates
        mine = np.flatnonzero(c.entry_table == number)
        row, which = c.entry_row[mine], np.repeat(np.arange(len(c)), np.diff(c.start))[mine]
        unit = 10 ** (evidence.decimals - table.decimals)
        wide = c.amount.dtype == object or int(c.denominator.max(initial=1)) * unit > LARGEST
        kind: Any = object if wide else np.int64
        divisor = c.denominator[which].astype(kind) * unit
        most = np.minimum(np.abs(c.amount[mine].astype(kind)) // divisor, NO_UPPER).astype(np.int64)
        rises, falls = (np.asarray(way, np.bool_) | c.both[which] for way in (c.amount[mine] > 0, c.amount[mine] < 0))
        np.maximum.at(upper, row[rises], table.value[row[rises]] + most[rises])
        np.minimum.at(lower, row[falls], table.value[row[falls]] - most[falls])
    return np.maximum(lower, NO_LOWER + 1), np.minimum(upper, NO_UPPER - 1)


def _write_evidence(closed: Path, number: int, evidence: Evidence) -> dict[str, Any]:
    import pyarrow as pa

    c, p = evidence.certificates, evidence.proofs
    parts: dict[str, dict[str, NDArray[Any]]] = {
        "certificates": {"length": np.diff(c.start), "denominator": c.denominator, "both": c.both},
        "entries": {"table": c.entry_table, "row": c.entry_row, "amount": c.amount},
        "proofs": {"table": p.table, "row": p.row, "length": np.diff(p.start)},
        "proof_entries": {"certificate": p.certificate, "use": p.use},
    }
    files = {}
    for name, columns in {**parts, **evidence.parts}.items():
        table = pa.table({column: _narrow(values) for column, values in columns.items()})
        files[name] = f"evidence_{number}_{name}.arrow"
        with pa.OSFile(str(closed / files[name]), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return {
        "method": dict(evidence.method),
        "claim": claim_description(evidence.claim),
        "decimals": evidence.decimals,
        "effort": dict(evidence.effort),
        "accepted": [acceptance_description(a) for a in evidence.accepted],
        "facts": dict(evidence.facts),
        "findings": list(evidence.findings),
        "files": files,
        "parts": {name: list(columns) for name, columns in evidence.parts.items()},
    }


def _narrow(values: NDArray[Any]) -> Any:
    """A column for Arrow: flags, integers of as few bits as suffice, or decimal text where 64 do not."""
    import pyarrow as pa

    if values.dtype == np.bool_:
        return pa.array(values)
    ends = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    for kind in (np.int8, np.int16, np.int32, np.int64):
        limits = np.iinfo(kind)
        if limits.min <= ends[0] and ends[1] <= limits.max:
            return pa.array(values.astype(kind))
    return pa.array([str(value) for value in values], pa.string())


def _write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def _seal(staging: Path) -> str:
    """Digests of all files, and the digest of that list; files reach the disk first."""
    digests: dict[str, dict[str, Any]] = {}
    for path in sorted(staging.rglob("*")):
        if path.is_file():
            relative = path.relative_to(staging).as_posix()
            path.chmod(0o644 if relative.startswith("public/") else 0o600)
            digests[relative] = {"sha256": file_digest(path), "bytes": path.stat().st_size}
            _sync(path)
    manifest = staging / "custodian" / MANIFEST
    _write_json(manifest, {"format": FORMAT, "files": digests})
    seal = file_digest(manifest)
    (staging / "custodian" / SEAL).write_text(seal + "\n", encoding="ascii")
    for name in (MANIFEST, SEAL):
        (staging / "custodian" / name).chmod(0o600)
        _sync(staging / "custodian" / name)
    staging.chmod(0o755)
    return seal


def sign_release(folder: Path, key: SigningKey) -> None:
    """Sign the list of files of a saved release; what was signed before is signed anew."""
    if not (folder / "custodian" / MANIFEST).is_file():
        raise OutputError(f"{folder.name!r} is not a saved release.", hint="Give the folder that holds custodian/.")
    try:
        _sign(folder, key)
    except OSError as error:
        raise _cannot_write(folder, error) from error


def _sign(folder: Path, key: SigningKey) -> None:
    closed = folder / "custodian"
    text = key.signature((closed / MANIFEST).read_bytes())
    with tempfile.NamedTemporaryFile("w", dir=folder.parent, prefix=f".{folder.name}.", delete=False) as stream:
        stream.write(text)
    place = Path(stream.name)  # readable by its owner only, and put in its place in one step
    _sync(place)
    place.replace(closed / SIGNATURE)


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _cannot_write(folder: Path, error: OSError) -> OutputError:
    return OutputError(
        f"Cannot write the release to {folder.name!r}: {error.strerror or error}.",
        hint="Free space or choose another folder; what was there before is unchanged.",
    )
