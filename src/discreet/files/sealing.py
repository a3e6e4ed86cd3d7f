"""A release as a folder: ``public/`` for the world, ``custodian/`` for the house, written all or nothing and sealed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutputError, listed
from discreet.files.replacing import refuse_another
from discreet.files.whole_folder import Place, put_in_place, staged, what_stands_at
from discreet.keys import Key
from discreet.model.evidence import Evidence
from discreet.model.layout import FORMAT, acceptance_description, claim_description
from discreet.progress import checkpoint
from discreet.trust import SigningKey

MANIFEST, SEAL, SIGNATURE = "manifest.json", "manifest.sha256", "manifest.sig"
KEY_FILE = "key.txt"
"""A key that was made for the release; keys from elsewhere are not copied."""


def write_sealed(
    folder: Path, fill: Callable[[Path], None], key: Key | None, sign: SigningKey | None, replace: bool
) -> str:
    """Write a release into ``folder`` and return its seal.

    Everything is written beside the folder first and put in its place in one step, so that a full disk, an
    interrupt or a crash leaves the old release as it was. A folder that is not a release is never replaced.

    Parameters
    ----------
    folder
        Where the release goes.
    fill
        Writes all files into the folder that it is given.
    key
        The key that was drawn with; a release that was drawn from a seed is not written.
    sign
        The office's key, which signs the list of files.
    replace
        Whether another release may be replaced; the same one, made again, always is.
    """
    folder = Path.cwd() / folder
    refuse_foreign(folder)
    if key is not None and key.insecure:
        raise OutputError(
            "The release was drawn from insecure_seed=, so that anybody could undo it; it is not written.",
            hint="Leave insecure_seed out, or give key_file=.",
        )
    try:
        with staged(folder) as staging:
            checkpoint("save", 0, 1)
            fill(staging)
            seal = _seal(staging)
            if sign is not None:
                _sign(staging, sign)
            if not replace:
                refuse_another(staging, folder)
            checkpoint("save", 1, 1)  # the last moment to cancel: afterwards it is written
            put_in_place(staging, folder)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return seal


def write_besides(staging: Path, log: Mapping[str, Any], key: Key | None, extra: Mapping[str, str]) -> None:
    """The log, a key that was made, and further text files by their paths inside the release."""
    closed = staging / "custodian"
    write_json(closed / "log.json", log)
    if key is not None and key.made:
        (closed / KEY_FILE).write_text(key.text + "\n", encoding="ascii")
    for name, text in extra.items():
        (staging / name).write_text(text, encoding="utf-8")


def refuse_foreign(folder: Path) -> None:
    """Refuse a place that holds something other than a release of ours."""
    try:
        if what_stands_at(folder) is not Place.TAKEN:
            return
        held = sorted(item.name for item in folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else None
    except FileNotFoundError:
        return  # another saver is just putting its release there; whoever puts a folder in place looks again
    if held is not None:
        raise OutputError(
            f"The folder {folder.resolve().name!r} exists and is not a release of ours (it holds {listed(held, 4)}).",
            hint="Choose another output folder, or empty this one yourself.",
        )
    if os.path.lexists(folder):
        raise OutputError(f"{folder.name!r} exists and is not a folder.", hint="Choose another output folder.")


def closed_to_others(folder: Path) -> str:
    """A sentence for a release whose public part nobody but its owner can open; empty where others can."""
    public = folder / "public"
    if public.stat().st_mode & 0o005 == 0o005:
        return ""
    return (
        f"{folder.name}/public is closed to others, because the umask said so when it was made. "
        f"To open it: chmod a+rx {folder.name}/public"
    )


def write_json(path: Path, data: Any) -> None:
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
    write_json(manifest, {"format": FORMAT, "files": digests})
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


def write_evidence(closed: Path, number: int, evidence: Evidence) -> dict[str, Any]:
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
