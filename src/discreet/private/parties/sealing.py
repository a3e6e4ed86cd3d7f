"""Messages that only their addressee can read, in the one round that they are for.

Every pair of parties agrees on keys by X25519. A message is sealed by ChaCha20-Poly1305 and bound to the run, the
round, its kind, its sender and its receiver: one that was altered, held back or sent a second time is refused.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping

from discreet.private.parties.randomness import derived_key
from discreet.private.problems import ProtocolError

MAGIC = b"DPTY"
VERSION = 1
HEAD = struct.Struct("<4sBI")
"""Magic, version, number of the round."""
AGAIN = "Start the run again; if it happens again, look for who alters messages."


class Envelopes:
    """Seals and opens the messages of one party in one run.

    Parameters
    ----------
    me
        The party.
    private
        32 secret bytes.
    """

    def __init__(self, me: str, private: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self.me, self._private = me, X25519PrivateKey.from_private_bytes(private)
        self._secrets: dict[str, bytes] = {}
        self.session = b""

    @property
    def public(self) -> bytes:
        """What the others need to know."""
        return self._private.public_key().public_bytes_raw()

    def agree(self, session: bytes, publics: Mapping[str, bytes]) -> None:
        """Agree with all others on keys for this run."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        self.session = session
        for name, public in publics.items():
            try:
                shared = self._private.exchange(X25519PublicKey.from_public_bytes(public))
            except ValueError:
                raise ProtocolError(
                    "element outside the group", f"The public key of {name} is none.", hint=AGAIN
                ) from None
            self._secrets[name] = derived_key(shared, session, *sorted([self.me, name]))

    def pair_key(self, other: str, *purpose: str) -> bytes:
        """A key that this party and another share, for one purpose."""
        return derived_key(self._secrets[other], self.session, "pair", *sorted([self.me, other]), *purpose)

    def seal(self, to: str, number: int, what: str, body: bytes) -> bytes:
        """A message that only ``to`` can read, in this round."""
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        head = HEAD.pack(MAGIC, VERSION, number)
        key = derived_key(self._secrets[to], self.session, "message", self.me, to)
        return head + ChaCha20Poly1305(key).encrypt(_nonce(number), body, head + what.encode())

    def open(self, sender: str, number: int, what: str, message: bytes) -> bytes:
        """What ``sender`` said in this round.

        Raises
        ------
        ProtocolError
            ``wrong version``, ``replayed message`` or ``tampered``.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        require_version(message, sender)
        found = HEAD.unpack_from(message)[2]
        if found != number:
            raise ProtocolError(
                "replayed message",
                f"{sender} sent a message of round {found} in round {number}.",
                hint=AGAIN,
            )
        key = derived_key(self._secrets[sender], self.session, "message", sender, self.me)
        head, body = message[: HEAD.size], message[HEAD.size :]
        try:
            return ChaCha20Poly1305(key).decrypt(_nonce(number), body, head + what.encode())
        except InvalidTag:
            raise ProtocolError(
                "tampered", f"The message of {sender} in round {number} is not what it sent.", hint=AGAIN
            ) from None


def require_version(message: bytes, sender: str) -> None:
    """Refuse what is no message of this version."""
    if len(message) < HEAD.size or message[:4] != MAGIC:
        raise ProtocolError(
            "wrong version", f"{sender} sent something that is no message.", hint="Is it a party of discreet?"
        )
    version = HEAD.unpack_from(message)[1]
    if version != VERSION:
        raise ProtocolError(
            "wrong version",
            f"{sender} speaks version {version}, this party version {VERSION}.",
            hint="Use the same version of discreet at all parties.",
        )


def commitment(nonce: bytes, body: bytes) -> bytes:
    """A hash that binds to a message and hides it."""
    return hashlib.sha256(b"discreet commitment" + nonce + body).digest()


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")
