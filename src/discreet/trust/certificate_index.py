"""The index of an authority: every request and certificate, what became of it, and who did it.

One file, replaced whole, begins with a digest of the rest: damage is noticed before anything is read out of it. Who
may write into the folder can write a new digest, too; against them only the folder's mode and its backups help.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from discreet.errors import InputError
from discreet.trust.holders import Holder, Purpose
from discreet.trust.private_folder import read_bounded, replace_file

NAME = "index.json"
HEAD = b"discreet certificates 1 sha256 "
LARGEST = 256 * 1024 * 1024
"""Bytes of an index: about two hundred thousand certificates."""
State = Literal["valid", "suspended", "revoked"]


class IndexEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that was done to a certificate, when, and by whom."""

    time: datetime
    what: str
    by: str
    reason: str = ""


class CertificateRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A request that a registration officer approved; it waits for somebody else to issue."""

    number: int
    purpose: Purpose
    holder: Holder
    days: int
    approved_by: str
    approved: datetime
    key: bytes = b""
    """The public key of a certificate request; empty where the key is made when it is issued."""
    serial: str = ""
    """Of the certificate that was issued."""


class IndexedCertificate(msgspec.Struct, forbid_unknown_fields=True):
    """A certificate that was issued."""

    serial: str
    request: int
    issuer: int
    purpose: Purpose
    holder: Holder
    not_before: datetime
    not_after: datetime
    fingerprint: str
    key_digest: str
    der: bytes
    state: State = "valid"
    reason: str = ""
    since: datetime | None = None
    """When it was suspended or revoked."""
    events: list[IndexEvent] = []


class LevelList(msgspec.Struct, forbid_unknown_fields=True):
    """What the last revocation list of an authority was, so that the next one is later and has the next number."""

    number: int = 0
    this_update: datetime | None = None
    next_update: datetime | None = None


class IssuingLevel(msgspec.Struct, forbid_unknown_fields=True):
    """An authority that issues, below the root."""

    number: int
    der: bytes
    key: str
    """Name of its key file in the folder, or a ``pkcs11:`` URI."""
    not_after: datetime
    state: State = "valid"
    reason: str = ""
    since: datetime | None = None
    crl: LevelList = msgspec.field(default_factory=LevelList)


class CertificateIndex(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that an authority knows."""

    version: Literal[1]
    name: str
    root: bytes
    root_crl: LevelList
    crl_url: str = ""
    shares: str = ""
    """How the root key was split, in words; empty while it lies in the folder or a token."""
    root_key: str = "root.key"
    """Name of the root's key file, or a ``pkcs11:`` URI."""
    issuing: list[IssuingLevel] = []
    requests: list[CertificateRequest] = []
    certificates: list[IndexedCertificate] = []
    events: list[IndexEvent] = []

    @property
    def current(self) -> IssuingLevel:
        """The authority that issues at present: the latest that was not revoked."""
        valid = [level for level in self.issuing if level.state == "valid"]
        if not valid:
            raise InputError(
                "Every issuing authority was revoked.", hint="Make a new one: discreet ca new-issuing FOLDER"
            )
        return valid[-1]

    def request(self, number: int) -> CertificateRequest:
        """A request by its number.

        Raises
        ------
        InputError
            When there is none.
        """
        for one in self.requests:
            if one.number == number:
                return one
        raise InputError(f"There is no request number {number}.", hint="List them: discreet ca list FOLDER")

    def certificate(self, serial: str) -> IndexedCertificate:
        """A certificate by its serial number, in hexadecimal digits.

        Raises
        ------
        InputError
            When there is none.
        """
        plain = serial.strip().lower().replace(":", "").lstrip("0")
        for one in self.certificates:
            if one.serial == plain:
                return one
        raise InputError("There is no certificate with this serial number.", hint="List them: discreet ca list FOLDER")


def read_index(folder: Path) -> CertificateIndex:
    """The index of an authority's folder.

    Raises
    ------
    InputError
        When it is missing, damaged, or does not agree with itself.
    """
    data = read_bounded(folder / NAME, "index of certificates", LARGEST, secret=True)
    head, _, body = data.partition(b"\n")
    if not head.startswith(HEAD):
        raise _damaged("it does not begin as one")
    if head[len(HEAD) :] != hashlib.sha256(body).hexdigest().encode():
        raise _damaged("its digest is another")
    try:
        index = msgspec.json.decode(body, type=CertificateIndex)
    except (msgspec.DecodeError, RecursionError):
        raise _damaged("its fields are not those of an index") from None
    _check(index)
    return index


def write_index(folder: Path, index: CertificateIndex) -> None:
    """Put the index in its place, whole."""
    body = msgspec.json.format(msgspec.json.encode(index), indent=1)
    replace_file(folder / NAME, HEAD + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def _check(index: CertificateIndex) -> None:
    """Refuse an index that does not agree with itself."""
    levels = {level.number for level in index.issuing}
    numbers = {request.number for request in index.requests}
    serials = {one.serial for one in index.certificates}
    if len(levels) < len(index.issuing) or len(numbers) < len(index.requests):
        raise _damaged("numbers occur twice")
    if len(serials) < len(index.certificates):
        raise _damaged("a serial number occurs twice")
    for one in index.certificates:
        if one.issuer not in levels or one.request not in numbers:
            raise _damaged("a certificate has no issuer or no request")
        if hashlib.sha256(one.der).hexdigest() != one.fingerprint:
            raise _damaged("a certificate is not the one that it should be")
        if (one.state == "valid") != (one.since is None):
            raise _damaged("a certificate's state has no date")
    if any(request.serial and request.serial not in serials for request in index.requests):
        raise _damaged("a certificate that was issued is missing")


def _damaged(why: str) -> InputError:
    return InputError(
        f"The index of certificates is damaged: {why}.",
        hint="Restore the folder from its latest backup, and compare it with the lists of revoked certificates.",
    )
