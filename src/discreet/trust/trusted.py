"""Whom a server or client trusts: authorities of both levels, and their lists of revoked certificates.

The lists are part of it, not an option: without a current list of every authority there is nothing to trust.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.trust.authority_folder import AUTHORITIES, PUBLIC, REVOKED, ROOT_KEY, utc_now
from discreet.trust.certificates import HOLD, SKEW, require_cryptography, unreadable
from discreet.trust.holders import Purpose
from discreet.trust.peer import PeerCertificate, purposes_of
from discreet.trust.private_folder import read_bounded
from discreet.trust.refusals import TrustRefusal, WhyRefused

if TYPE_CHECKING:
    from cryptography import x509

LARGEST_BUNDLE = 1024 * 1024
LARGEST_LISTS = 128 * 1024 * 1024
MOST_AUTHORITIES = 64
MAKE = "Make and copy new ones: discreet ca crl FOLDER --output PUBLIC_FOLDER"


@dataclass(frozen=True)
class KnownList:
    """The list of what one authority has revoked."""

    crl: x509.CertificateRevocationList = field(repr=False)
    this_update: datetime
    next_update: datetime
    reasons: Mapping[int, str] = field(repr=False)
    """Of each serial number on it, why."""


@dataclass(frozen=True)
class TrustedAuthorities:
    """Authorities and lists that were read at one moment, and checked against each other."""

    authorities: Mapping[str, x509.Certificate]
    """By their whole name."""
    lists: Mapping[str, KnownList]
    """The list of each, by the same name."""

    @classmethod
    def read(
        cls, authorities: str | Path, crls: str | Path | None = None, now: datetime | None = None
    ) -> TrustedAuthorities:
        """Read authorities and lists.

        Parameters
        ----------
        authorities
            The folder ``public`` of an authority or a copy of it, or a file with certificates (PEM).
        crls
            A file with the lists (PEM); needed where ``authorities`` is a file.
        now
            The time; the clock's when left out.

        Raises
        ------
        TrustRefusal
            When the root's key lies there, a certificate cannot be used, or the list of an authority is missing,
            forged, or not current.
        """
        require_cryptography("TLS with certificates of one's own")
        bundle, lists = _places(Path(authorities), Path(crls) if crls is not None else None)
        now = now or utc_now()
        data = read_bounded(bundle, "bundle of authorities", LARGEST_BUNDLE)
        try:
            known = _read_authorities(data, now)
        except unreadable():
            raise _bad("The bundle of authorities cannot be read.") from None
        if lists is None or not lists.exists():
            raise TrustRefusal(WhyRefused.NO_CRL, "There is no list of revoked certificates.", hint=MAKE)
        data = read_bounded(lists, "list of revoked certificates", LARGEST_LISTS)
        try:
            return cls(known, _read_lists(data, known, now))
        except unreadable():
            raise TrustRefusal(
                WhyRefused.NO_CRL, "The lists of revoked certificates cannot be read.", hint=MAKE
            ) from None

    @property
    def pem(self) -> bytes:
        """Certificates and lists, as OpenSSL reads them."""
        from cryptography.hazmat.primitives.serialization import Encoding

        certificates = [one.public_bytes(Encoding.PEM) for one in self.authorities.values()]
        return b"".join([*certificates, *(one.crl.public_bytes(Encoding.PEM) for one in self.lists.values())])

    def refusal(
        self, certificate: x509.Certificate, purpose: Purpose, now: datetime | None = None
    ) -> WhyRefused | None:
        """Why a certificate does not count for a purpose; ``None`` when it does.

        For certificates that come without a handshake: those of signed requests, and one's own.
        """
        try:
            name, purposes = certificate.issuer.rfc4514_string(), purposes_of(certificate)
            valid = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
        except unreadable():
            return WhyRefused.UNKNOWN_AUTHORITY
        issuer = self.authorities.get(name)
        if issuer is None or issuer.subject == issuer.issuer or not _issued_by(certificate, issuer):
            return WhyRefused.UNKNOWN_AUTHORITY
        if purpose not in purposes:
            return WhyRefused.WRONG_PURPOSE
        return self._state(name, certificate.serial_number, valid, now or utc_now())

    def peer_refusal(self, peer: PeerCertificate, now: datetime | None = None) -> WhyRefused | None:
        """Why the certificate of an open connection no longer counts; ``None`` when it does.

        Cheap, for every request: a handshake proved the rest when the connection was opened.
        """
        return self._state(peer.issuer, int(peer.serial, 16), (peer.not_before, peer.not_after), now or utc_now())

    def _state(self, issuer: str, serial: int, valid: tuple[datetime, datetime], now: datetime) -> WhyRefused | None:
        above = self.authorities.get(issuer)
        if above is None:
            return WhyRefused.UNKNOWN_AUTHORITY
        for name, number, begin, end in ((issuer, serial, *valid), _as_link(above)):
            if now < begin or now > end:
                return WhyRefused.EXPIRED if now > end else WhyRefused.NOT_YET_VALID
            known = self.lists.get(name)
            if known is None:
                return WhyRefused.NO_CRL
            if now > known.next_update:
                return WhyRefused.CRL_EXPIRED
            if number in known.reasons:
                return WhyRefused.SUSPENDED if known.reasons[number] == HOLD else WhyRefused.REVOKED
        return None


@lru_cache(maxsize=MOST_AUTHORITIES)
def _as_link(authority: x509.Certificate) -> tuple[str, int, datetime, datetime]:
    """Who issued an authority, its serial number, and from when to when it is valid."""
    begin, end = authority.not_valid_before_utc, authority.not_valid_after_utc
    return authority.issuer.rfc4514_string(), authority.serial_number, begin, end


def _places(authorities: Path, crls: Path | None) -> tuple[Path, Path | None]:
    """The files of authorities and lists; refused where a root's key lies beside them."""
    folder = authorities if authorities.is_dir() else authorities.parent
    above = folder.resolve().parent if folder.resolve().name == PUBLIC else folder
    if any(os.path.lexists(place / ROOT_KEY) for place in (folder, above)):
        raise TrustRefusal(
            WhyRefused.ROOT_KEY_PRESENT,
            "The root key of the authority lies on this machine.",
            hint="Split it (discreet ca split), and give servers a copy of the folder 'public' only.",
        )
    if not authorities.is_dir():
        return authorities, crls
    if not (authorities / AUTHORITIES).exists() and (authorities / PUBLIC).is_dir():
        authorities = authorities / PUBLIC
    return authorities / AUTHORITIES, crls or authorities / REVOKED


def _read_authorities(data: bytes, now: datetime) -> dict[str, x509.Certificate]:
    from cryptography import x509

    found = x509.load_pem_x509_certificates(data)
    if b"PRIVATE KEY" in data:
        raise _bad("The bundle of authorities holds a private key.")
    if len(found) > MOST_AUTHORITIES:
        raise _bad(f"The bundle has more than {MOST_AUTHORITIES} authorities.")
    current = [one for one in found if one.not_valid_before_utc <= now <= one.not_valid_after_utc]
    roots = [one for one in current if one.subject == one.issuer and _issued_by(one, one)]
    below = [one for one in current if one.subject != one.issuer]
    if not roots or not all(_is_authority(one) for one in current) or len(roots) + len(below) < len(current):
        raise _bad("The bundle has no root that is valid now, or holds what is no authority.")
    if not all(any(_issued_by(one, root) for root in roots) for one in below):
        raise _bad("An authority of the bundle was not made by a root of it.")
    known = {one.subject.rfc4514_string(): one for one in current}
    if len(known) < len(current):
        raise _bad("Two authorities of the bundle have the same name.")
    return known


def _read_lists(data: bytes, authorities: Mapping[str, x509.Certificate], now: datetime) -> dict[str, KnownList]:
    """The latest list of every authority; each must be there, its own, and current."""
    known: dict[str, KnownList] = {}
    for crl in _split_lists(data):
        name = crl.issuer.rfc4514_string()
        issuer = authorities.get(name)
        if issuer is None:
            continue  # of an authority that has expired
        if not crl.is_signature_valid(issuer.public_key()):  # type: ignore[arg-type]
            raise TrustRefusal(WhyRefused.CRL_FORGED, "A list of revoked certificates was not signed by its authority.")
        one = _known(crl)
        if name not in known or one.this_update > known[name].this_update:
            known[name] = one
    for name in authorities:
        if name not in known:
            raise TrustRefusal(WhyRefused.NO_CRL, f"There is no list of revoked certificates of {name}.", hint=MAKE)
        if now > known[name].next_update:
            raise TrustRefusal(
                WhyRefused.CRL_EXPIRED, f"The list of revoked certificates of {name} expired.", hint=MAKE
            )
        if now + SKEW < known[name].this_update:
            raise TrustRefusal(
                WhyRefused.CRL_NOT_YET_VALID, f"The list of revoked certificates of {name} is of the future.", hint=MAKE
            )
    return known


def _split_lists(data: bytes) -> list[x509.CertificateRevocationList]:
    from cryptography import x509

    end = b"-----END X509 CRL-----"
    return [x509.load_pem_x509_crl(part + end) for part in data.split(end)[:-1]]


def _known(crl: x509.CertificateRevocationList) -> KnownList:
    from cryptography import x509

    reasons: dict[int, str] = {}
    for one in crl:
        try:
            reason = one.extensions.get_extension_for_class(x509.CRLReason).value.reason.value
        except x509.ExtensionNotFound:
            reason = "unspecified"
        reasons[one.serial_number] = str(reason)
    if crl.next_update_utc is None:
        raise TrustRefusal(WhyRefused.CRL_EXPIRED, "A list of revoked certificates does not say how long it counts.")
    return KnownList(crl, crl.last_update_utc, crl.next_update_utc, reasons)


def _issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(issuer)
    except unreadable(InvalidSignature):
        return False
    return True


def _is_authority(certificate: x509.Certificate) -> bool:
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _bad(message: str) -> TrustRefusal:
    return TrustRefusal(WhyRefused.BAD_AUTHORITIES, message, hint=MAKE)
