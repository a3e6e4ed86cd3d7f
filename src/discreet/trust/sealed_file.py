"""Files that only one person can read: a key of their own (X25519), HPKE for the file's key, and parts in order.

A file may be larger than memory. Its key is drawn anew, sealed by HPKE (RFC 9180) to the recipient, and its content
goes through ChaCha20-Poly1305 in parts whose nonce counts them and marks the last one: a file that was cut, stirred or
glued to another does not open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from discreet.errors import InputError, OutputError, missing_extra
from discreet.trust.private_folder import read_bounded, write_new_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

MAGIC = b"discreet sealed file 1\n"
PART = 2**20
"""Bytes of content in a part."""
TAG = 16
LENGTH = struct.Struct(">I")
FIXED = 7
"""Bytes of a nonce that are the same in all parts; four count, one marks the last."""
MOST_KEY = 4096
PREFIX = "discreet-recipient-1:"


@dataclass(frozen=True)
class RecipientKey:
    """The public key that files are sealed to; anybody may have it.

    Examples
    --------
    >>> from discreet.trust.sealed_file import RecipientSecret
    >>> mine = RecipientSecret.new()
    >>> RecipientKey.from_text(mine.public.text) == mine.public
    True
    """

    raw: bytes

    @classmethod
    def from_text(cls, text: str) -> RecipientKey:
        """A public key as it is written in one line.

        Raises
        ------
        InputError
            When it is none, or one that would seal to everybody.
        """
        wrong = InputError("This is no public key for extracts.", hint="Paste the one line that begins with " + PREFIX)
        line = text.strip()
        if not line.startswith(PREFIX) or len(line) > 200:
            raise wrong
        try:
            raw = base64.b64decode(line.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            raise wrong from None
        if len(raw) != 32:
            raise wrong
        try:
            _primitives()[0].X25519PrivateKey.generate().exchange(cls(raw).key)  # a point of small order has no secret
        except ValueError:
            raise wrong from None
        return cls(raw)

    @property
    def key(self) -> X25519PublicKey:
        """As ``cryptography`` has it."""
        found: X25519PublicKey = _primitives()[0].X25519PublicKey.from_public_bytes(self.raw)
        return found

    @property
    def text(self) -> str:
        """One line."""
        return PREFIX + base64.b64encode(self.raw).decode()

    @property
    def fingerprint(self) -> str:
        """What tells keys apart."""
        return hashlib.sha256(PREFIX.encode() + self.raw).hexdigest()[:32]


@dataclass(frozen=True)
class RecipientSecret:
    """The key that opens files; it never leaves its owner."""

    key: X25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls) -> RecipientSecret:
        """A new key."""
        return cls(_primitives()[0].X25519PrivateKey.generate())

    @classmethod
    def from_file(cls, path: str | Path) -> RecipientSecret:
        """A key from its PEM file; one that others may read is refused."""
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        x25519 = _primitives()[0]
        data = read_bounded(Path(path), "key for extracts", MOST_KEY, secret=True)
        try:
            key = load_pem_private_key(data, None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, x25519.X25519PrivateKey):
            raise InputError(
                f"The file {Path(path).name!r} holds no key for extracts.",
                hint="Give the file that `discreet extracts key` made.",
            )
        return cls(key)

    @property
    def public(self) -> RecipientKey:
        """The key that others seal with."""
        return RecipientKey(self.key.public_key().public_bytes_raw())


def make_recipient_keys(path: str | Path) -> RecipientKey:
    """Make a key in a new file that only its owner may read, and its public line beside it (``.pub``).

    Raises
    ------
    OutputError
        When one of the two files is there already.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = Path(path)
    beside = path.with_name(f"{path.name}.pub")
    if os.path.lexists(beside):
        raise OutputError(f"{beside.name!r} exists; keys are never replaced.", hint="Choose another name.")
    secret = RecipientSecret.new()
    write_new_file(path, secret.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    write_new_file(beside, f"{secret.public.text}\n".encode(), 0o644)
    return secret.public


class SealedWriter:
    """A stream that seals what is written to it; ``close`` writes the last part, without which nothing opens.

    Parameters
    ----------
    stream
        Where the sealed bytes go.
    recipient
        Who can read them.
    about
        What the file is; whoever opens it must say the same.
    """

    def __init__(self, stream: IO[bytes], recipient: RecipientKey, about: bytes) -> None:
        secret = secrets.token_bytes(32)
        sealed = _suite().encrypt(secret, recipient.key, _info(about))
        self._stream, self._buffer, self._number = stream, bytearray(), 0
        self._head = MAGIC + LENGTH.pack(len(sealed)) + sealed
        self._nonce = secrets.token_bytes(FIXED)
        self._cipher = _primitives()[1](secret)
        self._digest = hashlib.sha256()
        self._size = 0
        self.closed = False
        self._out(self._head + self._nonce)

    @property
    def digest(self) -> str:
        """SHA-256 of the sealed bytes so far."""
        return self._digest.hexdigest()

    @property
    def size(self) -> int:
        """Sealed bytes so far."""
        return self._size

    def write(self, data: Any) -> int:
        """Take bytes."""
        view = memoryview(data).cast("B")
        self._buffer += view
        while len(self._buffer) > PART:
            self._seal(bytes(self._buffer[:PART]), last=False)
            del self._buffer[:PART]
        return len(view)

    def flush(self) -> None:
        """Nothing: parts go out when they are full."""

    def close(self) -> None:
        """Write the last part."""
        if not self.closed:
            self._seal(bytes(self._buffer), last=True)
            self._buffer.clear()
            self._stream.flush()
            self.closed = True

    def _seal(self, part: bytes, *, last: bool) -> None:
        self._out(self._cipher.encrypt(_nonce(self._nonce, self._number, last), part, self._head))
        self._number += 1

    def _out(self, data: bytes) -> None:
        self._stream.write(data)
        self._digest.update(data)
        self._size += len(data)


def open_sealed(source: IO[bytes], target: IO[bytes], secret: RecipientSecret, about: bytes) -> None:
    """Write what was sealed to a key; whoever calls throws ``target`` away when this raises.

    Raises
    ------
    InputError
        When it was not sealed to this key or for this purpose, or was changed or cut.
    """
    from cryptography.exceptions import InvalidTag

    head = _exactly(source, len(MAGIC) + LENGTH.size)
    if not head.startswith(MAGIC):
        raise InputError("This is no sealed extract.", hint="Give the file as it was downloaded.")
    length = LENGTH.unpack(head[len(MAGIC) :])[0]
    if not 32 < length <= 1024:
        raise _changed()
    sealed = _exactly(source, length)
    try:
        key = _suite().decrypt(sealed, secret.key, _info(about))
    except (InvalidTag, ValueError):
        raise InputError(
            "The file was not sealed to this key, or has been changed.", hint="Use the key whose public line you gave."
        ) from None
    cipher, fixed, number = _primitives()[1](key), _exactly(source, FIXED), 0
    part = source.read(PART + TAG)
    while True:
        following = source.read(PART + TAG)
        try:
            target.write(cipher.decrypt(_nonce(fixed, number, not following), part, head + sealed))
        except InvalidTag:
            raise _changed() from None
        if not following:
            return
        part, number = following, number + 1


def _exactly(source: IO[bytes], length: int) -> bytes:
    found = source.read(length)
    if len(found) != length:
        raise _changed()
    return found


def _changed() -> InputError:
    return InputError("The sealed file was changed or cut.", hint="Download it again.")


def _nonce(fixed: bytes, number: int, last: bool) -> bytes:
    return fixed + number.to_bytes(4, "big") + bytes([last])


def _info(about: bytes) -> bytes:
    return b"discreet extract\0" + about


def _suite() -> Any:
    from cryptography.hazmat.primitives import hpke

    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


def _primitives() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    except ModuleNotFoundError:
        raise missing_extra("cryptography", "sign", "Sealed files") from None
    return x25519, ChaCha20Poly1305
