"""Ed25519 signatures with an office's key, through the package ``cryptography``."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, OutputError, ParameterError, missing_extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PURPOSE = b"discreet release 1\0"
"""Signed with every text, so that a signature on something else with the same key is none on a release."""
LARGEST = 100_000
"""Files of keys and signatures are far smaller."""


@dataclass(frozen=True)
class PublicKey:
    """The key that tells whether a signature is an office's; anybody may have it."""

    key: Ed25519PublicKey

    @classmethod
    def from_file(cls, path: str | Path) -> PublicKey:
        """A public key from a PEM file."""
        serialization, ed25519 = _cryptography()
        data = _read(Path(path), "public key")
        try:
            key = serialization.load_pem_public_key(data)
        except ValueError:
            key = None
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise InputError(
                f"The file {Path(path).name!r} holds no Ed25519 public key.",
                hint="Give the .pub file that stands beside the signing key, in PEM.",
            )
        return cls(key)

    @property
    def fingerprint(self) -> str:
        """What tells keys apart: the beginning of the key's digest."""
        serialization, _ = _cryptography()
        raw = self.key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return hashlib.sha256(raw).hexdigest()[:16]

    def signed(self, data: bytes, signature: bytes) -> bool:
        """Whether the holder of the signing key signed these bytes as a release."""
        from cryptography.exceptions import InvalidSignature

        try:
            self.key.verify(signature, PURPOSE + data)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class SigningKey:
    """The key that an office signs with; whoever has it signs in the office's name."""

    key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def from_file(cls, path: str | Path) -> SigningKey:
        """A signing key from a PEM file without a password; one that others may read is refused."""
        serialization, ed25519 = _cryptography()
        path = Path(path)
        data = _read(path, "signing key")
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise InputError(f"Others may read the signing key {path.name!r}.", hint=f"Run: chmod 600 {path.name}")
        try:
            key = serialization.load_pem_private_key(data, password=None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise InputError(
                f"The file {path.name!r} holds no Ed25519 signing key without a password.",
                hint=f"Make one: discreet signing-key {path.name}",
            )
        return cls(key)

    @property
    def public(self) -> PublicKey:
        """The public key that belongs to it."""
        return PublicKey(self.key.public_key())

    def signature(self, data: bytes) -> str:
        """The signature of a release's list of files, as text."""
        return base64.b64encode(self.key.sign(PURPOSE + data)).decode() + "\n"


def read_signature(path: Path) -> bytes:
    """A signature from its file; one that is not well formed signs nothing."""
    try:
        return base64.b64decode(_read(path, "signature").strip(), validate=True)
    except binascii.Error:
        return b""


def make_keys(path: str | Path) -> PublicKey:
    """Make a signing key in a new file that only its owner may read, and its public key beside it (``.pub``).

    Raises
    ------
    OutputError
        When one of the two files is there already, or cannot be written.
    """
    serialization, ed25519 = _cryptography()
    path = Path(path)
    beside = path.with_name(f"{path.name}.pub")
    for other in (path, beside):
        if os.path.lexists(other):
            raise OutputError(f"{other.name!r} exists; keys are never replaced.", hint="Choose another name.")
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    open_ = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secret)
        beside.write_bytes(open_)
    except OSError as error:
        raise OutputError(f"Cannot write {path.name!r}: {error.strerror}.", hint="Check the folder.") from None
    return PublicKey(key.public_key())


def _read(path: Path, what: str) -> bytes:
    if not path.is_file():
        raise InputError(f"There is no {what} {path.name!r}.", hint="Check the name of the file.")
    if path.stat().st_size > LARGEST:
        raise ParameterError(f"The file {path.name!r} is too large to be a {what}.", hint="Give another file.")
    return path.read_bytes()


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise missing_extra("cryptography", "sign", "Signing releases and checking signatures") from None
    return serialization, ed25519
