"""A time-stamping authority of our own (RFC 3161, CMS), written from the standards with a few lines of DER."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime(2026, 11, 18, 6, 0, tzinfo=UTC)


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def oid(text: str) -> bytes:
    first, second, *rest = map(int, text.split("."))
    content = bytes([first * 40 + second])
    for number in rest:
        digits = [number & 127]
        while number := number >> 7:
            digits.append(128 | number & 127)
        content += bytes(reversed(digits))
    return der(6, content)


def integer(number: int) -> bytes:
    return der(2, number.to_bytes(number.bit_length() // 8 + 1))


def sequence(*parts: bytes) -> bytes:
    return der(0x30, *parts)


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject: str, key: Any, issuer: str, by: Any, *, ca: bool, purpose: Any = None) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=30))
        .not_valid_after(NOW + timedelta(days=300))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if purpose is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=True)
    return builder.sign(by, hashes.SHA256())


@dataclass
class StampingAuthority:
    """Stamps what it is asked for, with a certificate for a purpose."""

    purpose: Any = ExtendedKeyUsageOID.TIME_STAMPING
    time: datetime = NOW

    def __post_init__(self) -> None:
        root_key, self._key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.root = certificate("Root of time", root_key, "Root of time", root_key, ca=True)
        self.leaf = certificate("Clock", self._key, "Root of time", root_key, ca=False, purpose=self.purpose)

    @property
    def pem(self) -> bytes:
        """The root, for those who trust it."""
        return self.root.public_bytes(Encoding.PEM)

    def answer(self, imprint: bytes, nonce: int, *, status: int = 0) -> bytes:
        """The response to a request with this SHA-256 and nonce."""
        sha256 = sequence(oid("2.16.840.1.101.3.4.2.1"), der(5))
        info = sequence(
            integer(1),
            oid("1.3.6.1.4.1.99999.1"),
            sequence(sha256, der(4, imprint)),
            integer(7),
            der(0x18, self.time.strftime("%Y%m%d%H%M%SZ").encode()),
            integer(nonce),
        )
        content = oid("1.2.840.113549.1.9.16.1.4")
        raw = self.leaf.public_bytes(Encoding.DER)
        certificate_id = sequence(sequence(sequence(der(4, hashlib.sha256(raw).digest()))))
        attributes = sorted(
            [
                sequence(oid("1.2.840.113549.1.9.3"), der(0x31, content)),
                sequence(oid("1.2.840.113549.1.9.4"), der(0x31, der(4, hashlib.sha256(info).digest()))),
                sequence(oid("1.2.840.113549.1.9.16.2.47"), der(0x31, certificate_id)),
            ]
        )
        signature = self._key.sign(der(0x31, *attributes), ec.ECDSA(hashes.SHA256()))
        signer = sequence(
            integer(1),
            sequence(self.leaf.issuer.public_bytes(), integer(self.leaf.serial_number)),
            sha256,
            der(0xA0, *attributes),
            sequence(oid("1.2.840.10045.4.3.2")),
            der(4, signature),
        )
        signed = sequence(
            integer(3),
            der(0x31, sha256),
            sequence(content, der(0xA0, der(4, info))),
            der(0xA0, raw),
            der(0x31, signer),
        )
        token = sequence(oid("1.2.840.113549.1.7.2"), der(0xA0, signed))
        return sequence(sequence(integer(status)), token)
