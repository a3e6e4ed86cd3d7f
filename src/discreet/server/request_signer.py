"""Signing the requests of a client, so that the office can prove what was asked, for what, and by whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import InputError, ParameterError
from discreet.trust.certificates import require_cryptography, unreadable
from discreet.trust.peer import PeerCertificate
from discreet.trust.private_folder import read_bounded
from discreet.trust.requests import HEADER, new_request, sign_request

LARGEST = 65_536
"""Bytes of a certificate or key."""


@dataclass(frozen=True)
class RequestSigner:
    """Signs requests with the key of a signing certificate.

    Parameters
    ----------
    certificate
        The certificate, PEM.
    key
        Its key.
    user
        E-mail address or URI in the certificate.
    purpose
        What the requests are for.
    """

    certificate: bytes = field(repr=False)
    key: Any = field(repr=False)
    user: str
    purpose: str

    @classmethod
    def from_files(cls, certificate: str | Path, key: str | Path, purpose: str) -> RequestSigner:
        """A signer from files of a certificate and its key.

        Raises
        ------
        InputError
            When a file cannot be read or used.
        ParameterError
            When there is no purpose.
        """
        require_cryptography("Signing requests")
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

        if not purpose.strip():
            raise ParameterError("Signed requests say what they are for.", hint='Give purpose="…": the project.')
        text = read_bounded(Path(certificate), "certificate", LARGEST)
        secret = read_bounded(Path(key), "key", LARGEST, secret=True)
        try:
            own = x509.load_pem_x509_certificates(text)[0]
            held = load_pem_private_key(secret, None)
        except unreadable():
            raise InputError(
                "Certificate and key for signing cannot be read.",
                hint="Give PEM files, the key without a password: discreet ca issue … --output signing.pem",
            ) from None
        shown = PeerCertificate.from_der(own.public_bytes(Encoding.DER))
        if own.public_key() != held.public_key():
            raise InputError("The key is not the one of the certificate.", hint="Give key and certificate of one pair.")
        return cls(text, held, shown.email or next(iter(shown.uris), ""), purpose)

    def header(self, method: str, path: str, body: bytes, data: str) -> dict[str, str]:
        """The header of a signed request; good once, and for some minutes.

        Parameters
        ----------
        method, path, body
            Of the request; the path as it is sent.
        data
            Data set and edition that it is about: ``"census/2021.1"``.
        """
        request = new_request(method, path, body, user=self.user, dataset=data, purpose=self.purpose)
        return {HEADER: sign_request(request, self.key, self.certificate)}
