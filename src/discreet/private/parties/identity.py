"""How parties prove their names to each other: by certificates of an authority that all of them trust."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.private.problems import ProtocolError
from discreet.trust.certificates import unreadable
from discreet.trust.holders import Purpose
from discreet.trust.peer import PeerCertificate
from discreet.trust.private_folder import read_bounded
from discreet.trust.tls import LARGEST, CheckedContext, client_context, server_context
from discreet.trust.trusted import TrustedAuthorities

SIGNED = b"discreet party greeting 1\0"
"""Signed with every greeting, so that a signature on something else is none on it."""


@dataclass(frozen=True)
class PartyCredentials:
    """Certificate of a party, and whom it trusts.

    Parameters
    ----------
    certificate, key
        Files with its certificate (PEM; its name is the party's) and its key.
    authorities
        The folder ``public`` of the authority, or a copy; or a file with certificates.
    crls
        File with the lists of revoked certificates, where ``authorities`` is a file.

    Examples
    --------
    >>> import discreet as ds
    >>> ds.private.PartyCredentials("a.pem", "a.key", "public").crls is None
    True
    """

    certificate: str | Path
    key: str | Path
    authorities: str | Path
    crls: str | Path | None = None

    def client(self) -> CheckedContext:
        """TLS for a party that connects."""
        return client_context(self.authorities, self.crls, certificate=self.certificate, key=self.key)

    def server(self) -> CheckedContext:
        """TLS for whoever is connected to."""
        return server_context(self.certificate, self.key, self.authorities, self.crls)

    def identity(self) -> CertificateIdentity:
        """What signs greetings, and checks those of others."""
        return CertificateIdentity(self)


class CertificateIdentity:
    """Signs greetings with the key of a certificate.

    Parameters
    ----------
    credentials
        Of the party.

    Raises
    ------
    ProtocolError
        ``refused by a party`` when the party's own certificate does not count.
    """

    def __init__(self, credentials: PartyCredentials) -> None:
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

        pem = read_bounded(Path(credentials.certificate), "certificate", LARGEST)
        secret = read_bounded(Path(credentials.key), "key", LARGEST, secret=True)
        self._trusted = TrustedAuthorities.read(credentials.authorities, credentials.crls)
        try:
            own = x509.load_pem_x509_certificates(pem)[0]
            self._key: Any = load_pem_private_key(secret, password=None)
            if own.public_key() != self._key.public_key():
                raise ValueError("another key")
        except unreadable(TypeError):
            raise ProtocolError(
                "refused by a party", "Certificate and key cannot be used together.", hint="Give those made together."
            ) from None
        self._own = own.public_bytes(Encoding.DER)
        self.name = PeerCertificate.from_der(self._own).name

    def certificate(self) -> bytes:
        """What others check it by."""
        return self._own

    def sign(self, data: bytes) -> bytes:
        """A signature."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            return self._key.sign(SIGNED + data, ec.ECDSA(hashes.SHA256()))
        return bytes(self._key.sign(SIGNED + data))

    def check(self, name: str, certificate: bytes, signature: bytes, data: bytes) -> None:
        """Refuse the greeting of another party unless its certificate has its name, counts, and signed it.

        Raises
        ------
        ProtocolError
            ``refused by a party`` or ``tampered``.
        """
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519

        try:
            found = x509.load_der_x509_certificate(certificate[:LARGEST])
            peer = PeerCertificate.from_der(certificate)
        except unreadable():
            raise _refused(name, "it cannot be read") from None
        purpose: Purpose = min(peer.purposes, default="user")
        why = self._trusted.refusal(found, purpose)
        if why is not None:
            raise _refused(name, why.value)
        if peer.name != name:
            raise _refused(name, "it is of somebody else")
        public = found.public_key()
        try:
            if isinstance(public, ec.EllipticCurvePublicKey):
                public.verify(signature, SIGNED + data, ec.ECDSA(hashes.SHA256()))
            elif isinstance(public, ed25519.Ed25519PublicKey):
                public.verify(signature, SIGNED + data)
            else:
                raise _refused(name, "its key does not sign")
        except InvalidSignature:
            raise ProtocolError("tampered", f"The greeting of {name} was not signed by it.") from None


def _refused(name: str, why: str) -> ProtocolError:
    return ProtocolError(
        "refused by a party",
        f"The certificate of {name} does not count: {why}.",
        hint="The party needs a current certificate with its name, of an authority that all trust.",
    )
