"""The files of a saved release: sealed, all listed, none besides, none elsewhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.model.layout import FORMAT
from discreet.trust import PublicKey, read_signature
from discreet.verify.jsonfile import parse_json
from discreet.verify.shapes import by_name, record, text, whole
from discreet.verify.verdict import Verdict

FOLDERS = ("public", "restricted", "custodian")
MANIFEST, SEAL, SIGNATURE = "manifest.json", "manifest.sha256", "manifest.sig"
LISTING = record(
    {
        "format": whole(),
        "files": by_name(
            record({"sha256": text("[0-9a-f]{64}"), "bytes": whole()}),
            names=text(rf"({'|'.join(FOLDERS)})/[^/\\\x00-\x1f]+", most=1000),
        ),
    }
)


class NoRelease(InputError):
    """A folder that holds no release, or one that this version cannot read."""


def refuse_unsaved(folder: Path) -> None:
    """Refuse a place that is no saved release."""
    if not all((folder / "custodian" / name).is_file() for name in (MANIFEST, SEAL)):
        raise NoRelease(
            f"{folder.name!r} is not a saved release: custodian/{MANIFEST} or custodian/{SEAL} is missing.",
            hint="Give the folder that holds public/ and custodian/.",
        )


def check_files(verdict: Verdict, folder: Path, seal: str | None, key: PublicKey | None) -> frozenset[str]:
    """Check seal, signature, list, digests and that no other file is there; the answer is the names of all files."""
    refuse_unsaved(folder)
    manifest, own = folder / "custodian" / MANIFEST, folder / "custodian" / SEAL
    data = manifest.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if own.read_bytes() != f"{found}\n".encode():
        verdict.refuse("files", "the list of files is not the sealed one", f"custodian/{MANIFEST}")
    elif seal is not None and found != seal:
        verdict.refuse("seal", "the release is not the one that the given seal is of", f"custodian/{MANIFEST}")
    elif key is not None:
        _check_signature(verdict, folder / "custodian" / SIGNATURE, data, key)
    if verdict.refused:
        return frozenset()
    listing = parse_json(data, MANIFEST)
    if isinstance(listing, Mapping) and "format" in listing and listing["format"] != FORMAT:
        raise NoRelease(
            f"The release has format {str(listing['format'])[:20]!r}; this version reads {FORMAT}.",
            hint="Make it anew, or check it with the version that wrote it.",
        )
    LISTING(listing, MANIFEST)
    _check_listed(verdict, folder, listing["files"])
    _check_nothing_else(verdict, folder, listing["files"])
    if seal is not None:
        verdict.proved.append("the release is the one that the given seal is of")
    if key is not None:
        verdict.proved.append(f"the release was signed with the key whose fingerprint is {key.fingerprint}")
    return frozenset(listing["files"])


def _check_signature(verdict: Verdict, path: Path, data: bytes, key: PublicKey) -> None:
    where = f"custodian/{SIGNATURE}"
    if not path.is_file():
        verdict.refuse("signature", "the release is not signed", where)
    elif not key.signed(data, read_signature(path)):
        verdict.refuse("signature", "the release was not signed with this key, or was changed afterwards", where)


def _check_listed(verdict: Verdict, folder: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    for name, entry in files.items():
        path = folder / name
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file() or path.name in (".", ".."):
            verdict.refuse("files", "a listed file is missing", name)
        elif path.stat().st_size != entry["bytes"] or _digest(path) != entry["sha256"]:
            verdict.refuse("files", "a file was changed after the release was sealed", name)


def _check_nothing_else(verdict: Verdict, folder: Path, files: Mapping[str, Any]) -> None:
    """A file that is not listed could say anything; so could one that lies beside the folders of a release."""
    unlisted = {f"custodian/{name}" for name in (MANIFEST, SEAL, SIGNATURE)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        place = name.partition("/")[0]
        if name in FOLDERS and path.is_dir():
            continue
        if name not in files and name not in unlisted:
            check = place if place in FOLDERS else "files"
            kind = f"{place} file" if place in FOLDERS else "file"
            verdict.refuse(check, f"a {kind} does not belong to the release", path.name)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def as_seal(given: str) -> str:
    """A seal as it was kept: 64 hexadecimal digits."""
    seal = given.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", seal):
        raise InputError(
            f"A seal has 64 hexadecimal digits; {len(seal)} characters were given.",
            hint="Give what save returned, or what stands in custodian/manifest.sha256 of a copy that you trust.",
        )
    return seal
