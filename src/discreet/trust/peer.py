"""Who is at the other end of a connection: what its certificate says, once the handshake has proved it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError
from discreet.trust.certificates import DOCUMENT_SIGNING, require_cryptography, unreadable
from discreet.trust.holders import Purpose

if TYPE_CHECKING:
    from cryptography import x509

EXTENSION = "tls"
"""Where the ASGI scope holds what the connection proved."""
LARGEST = 65_536
"""Bytes of a certificate."""


@dataclass(frozen=True)
class PeerCertificate:
    """A certificate as a server needs it: who, for what, how long.

    Parameters
    ----------
    serial
        Serial number, in hexadecimal digits.
    subject
        The whole name (RFC 4514).
    issuer
        The whole name of the authority that issued it.
    name
        The common name.
    email
        E-mail address; empty where there is none.
    uris, hosts
        The other names.
    fingerprint
        SHA-256 of the certificate, in hexadecimal digits.
    purposes
        What it may be used for: ``"user"``, ``"server"``, ``"signing"``.
    not_before, not_after
        From when to when it is valid.
    der
        The certificate itself.
    """

    serial: str
    subject: str
    issuer: str
    name: str
    email: str
    uris: tuple[str, ...]
    hosts: tuple[str, ...]
    fingerprint: str
    purposes: frozenset[Purpose]
    not_before: datetime
    not_after: datetime
    der: bytes = field(repr=False)

    @classmethod
    def from_der(cls, der: bytes) -> PeerCertificate:
        """Read a certificate; who made it and whether it counts is not looked at here.

        Raises
        ------
        InputError
            When it cannot be read.
        """
        require_cryptography("Reading a certificate")
        from cryptography import x509
        from cryptography.x509.oid import NameOID

        if len(der) > LARGEST:
            raise InputError("The certificate is too large.", hint=f"At most {LARGEST:,} bytes are read.")
        try:
            certificate = x509.load_der_x509_certificate(der)
            names = _alternative_names(certificate)
            common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
            emails = names.get_values_for_type(x509.RFC822Name) if names else []
            uris = names.get_values_for_type(x509.UniformResourceIdentifier) if names else []
            hosts = [str(one) for one in names.get_values_for_type(x509.IPAddress)] if names else []
            hosts += names.get_values_for_type(x509.DNSName) if names else []
            return cls(
                serial=f"{certificate.serial_number:x}",
                subject=certificate.subject.rfc4514_string(),
                issuer=certificate.issuer.rfc4514_string(),
                name=str(common[0].value) if common else "",
                email=emails[0] if emails else "",
                uris=tuple(uris),
                hosts=tuple(hosts),
                fingerprint=hashlib.sha256(der).hexdigest(),
                purposes=purposes_of(certificate),
                not_before=certificate.not_valid_before_utc,
                not_after=certificate.not_valid_after_utc,
                der=der,
            )
        except unreadable():
            raise InputError("The certificate cannot be read.", hint="Give one that an authority made.") from None


def peer(scope: Mapping[str, Any]) -> PeerCertificate | None:
    """The certificate that the client of a request has proved to hold; ``None`` without one.

    Only what the TLS layer left in the scope counts. Headers, which anybody can write, do not.

    Examples
    --------
    >>> peer({"type": "http", "headers": [(b"x-client-cert", b"anything")]}) is None
    True
    """
    extension = (scope.get("extensions") or {}).get(EXTENSION) or {}
    found = extension.get("peer")
    return found if isinstance(found, PeerCertificate) else None


def purposes_of(certificate: x509.Certificate) -> frozenset[Purpose]:
    """What a certificate may be used for; one that says nothing is for nothing, and so is an authority's."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    known: dict[x509.ObjectIdentifier, Purpose] = {
        ExtendedKeyUsageOID.CLIENT_AUTH: "user",
        ExtendedKeyUsageOID.SERVER_AUTH: "server",
        x509.ObjectIdentifier(DOCUMENT_SIGNING): "signing",
    }
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset() if basic.ca else frozenset(known[one] for one in usage if one in known)


def _alternative_names(certificate: x509.Certificate) -> x509.SubjectAlternativeName | None:
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None
