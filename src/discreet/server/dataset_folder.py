"""The folder of a data set, as much of it as tells whether it is the one that was built: no record is looked at.

What is checked when: at every start the signature of the manifest, the digests of all small files, which it names, and
the sizes of all columns, which they name; the digests of the columns themselves when somebody asks for them
(``open_dataset(check="hashes")``), because to read all records takes longer than a start may.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from discreet.engine.column_folder import read_manifest
from discreet.errors import InputError
from discreet.trust import PublicKey, read_signature

FORMAT = "discreet data set 1"
FILES = ("catalogue.json", "facts.json")
MANIFEST, SIGNATURE, COLUMNS = "dataset.json", "dataset.sig", "columns"


class DatasetManifest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a folder of a data set holds: digests of its files, and which key its record keys were made with."""

    format: str
    name: str
    edition: str
    key: str
    key_version: int
    files: dict[str, str]


def checked_manifest(folder: str | Path, *, signed_by: str | Path | None = None) -> DatasetManifest:
    """The manifest of a folder whose small files are as it says, and whose columns are all there in their sizes.

    Parameters
    ----------
    folder
        What ``build_dataset`` made.
    signed_by
        File of the public key that must have signed it.

    Raises
    ------
    InputError
        When a file is missing, changed or not signed by that key.
    """
    path = Path(folder)
    try:
        text = (path / MANIFEST).read_bytes()
        manifest = msgspec.json.decode(text, type=DatasetManifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise InputError(
            f"{path.name!r} is not the folder of a data set.", hint="Make one: discreet dataset build"
        ) from None
    if manifest.format != FORMAT:
        raise InputError(f"{path.name!r} was made by another version of discreet.", hint="Build the data set again.")
    if signed_by is not None:
        signature = path / SIGNATURE
        if not signature.is_file() or not PublicKey.from_file(signed_by).signed(text, read_signature(signature)):
            raise InputError(
                f"The data set {path.name!r} is not signed by that key.",
                hint="Build it with --sign, or give the public key of the office.",
            )
    wanted = {*FILES, f"{COLUMNS}/manifest.json"}
    for name in sorted(wanted):
        if manifest.files.get(name) != digest_of_file(path / name):
            raise InputError(f"{name} of the data set {path.name!r} has been changed.", hint="Build it again.")
    read_manifest(path / COLUMNS)
    return manifest


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file; empty where there is none."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
