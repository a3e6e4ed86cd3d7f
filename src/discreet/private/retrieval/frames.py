"""Messages of private retrieval: a short head, and a body whose length depends on public numbers alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from discreet.private.problems import ProtocolError

MAGIC = b"DPIR"
VERSION = 1
HEAD = struct.Struct("<4sBBBB16s")
"""Magic, version, scheme, kind, number of look-ups, database."""
QUERY, ANSWER = 1, 2
SCHEMES = {"ko": 1, "stern": 2, "lipmaa": 3, "gr": 4, "xor": 5, "simplepir": 6, "sum": 7}
NO_DATABASE = bytes(16)
"""Stands for a database that has no identity, as in simulations."""
MOST_LOOKUPS = 64
"""Look-ups in one message."""


class Frame(NamedTuple):
    """A message that was taken apart."""

    scheme: str
    kind: int
    lookups: int
    database: bytes
    body: bytes


def pack(scheme: str, kind: int, body: bytes, lookups: int = 1, database: bytes = NO_DATABASE) -> bytes:
    """A message with its head."""
    return HEAD.pack(MAGIC, VERSION, SCHEMES[scheme], kind, lookups, database) + body


def unpack(message: bytes, kind: int, scheme: str | None = None) -> Frame:
    """Take a message apart; one that is not of this kind, scheme or version is refused.

    Raises
    ------
    ProtocolError
        ``wrong length``, ``wrong version`` or ``no such scheme``.
    """
    if len(message) < HEAD.size or message[:4] != MAGIC:
        raise ProtocolError(
            "wrong version",
            "This is not a message of private retrieval.",
            hint="Both sides must speak to discreet's own retrieval.",
        )
    _, version, number, found, lookups, database = HEAD.unpack_from(message)
    if version != VERSION:
        raise ProtocolError(
            "wrong version",
            f"The message has version {version}, this side speaks version {VERSION}.",
            hint="Use the same version of discreet on both sides.",
        )
    names = {code: name for name, code in SCHEMES.items()}
    if number not in names or (scheme is not None and names[number] != scheme):
        wanted = f"{scheme!r}" if scheme is not None else f"one of {', '.join(SCHEMES)}"
        raise ProtocolError("no such scheme", f"The message is of scheme number {number}; {wanted} is expected.")
    if found != kind or not 1 <= lookups <= MOST_LOOKUPS:
        raise ProtocolError(
            "wrong version",
            f"The message is of kind {found} with {lookups} look-ups.",
            hint=f"Kind {kind} with 1 to {MOST_LOOKUPS} look-ups is expected.",
        )
    return Frame(names[number], found, lookups, database, message[HEAD.size :])


def require_length(body: bytes, length: int, what: str) -> None:
    """Refuse a body of another length than the public numbers say."""
    if len(body) != length:
        raise ProtocolError(
            "wrong length",
            f"{what} has {len(body):,} bytes; {length:,} are expected.",
            hint="Both sides must have the same version of the database.",
        )


class Asked(NamedTuple):
    """A question: a message for each server, and what the client keeps to read the answers."""

    messages: tuple[bytes, ...]
    kept: Any = None


class Message(NamedTuple):
    """One message as it passed from one party to another."""

    sender: str
    receiver: str
    what: str
    body: bytes


@dataclass
class Transcript:
    """Every message of a run, in order: what each party saw of the others.

    Examples
    --------
    >>> seen = Transcript()
    >>> _ = seen.passed("client", "server 1", "query", b"abc")
    >>> seen.summary()
    'client -> server 1: query, 3 bytes'
    """

    messages: list[Message] = field(default_factory=list)

    def passed(self, sender: str, receiver: str, what: str, body: bytes) -> bytes:
        """Note a message, and hand it on."""
        self.messages.append(Message(sender, receiver, what, body))
        return body

    def seen_by(self, party: str) -> list[bytes]:
        """What a party received."""
        return [message.body for message in self.messages if message.receiver == party]

    def total(self, sender: str) -> int:
        """Bytes that a party sent."""
        return sum(len(message.body) for message in self.messages if message.sender == sender)

    def summary(self) -> str:
        """One line a message: who, to whom, what, how long."""
        return "\n".join(
            f"{one.sender} -> {one.receiver}: {one.what}, {len(one.body):,} bytes" for one in self.messages
        )


def joined(parts: Sequence[int], width: int) -> bytes:
    """Numbers of one width, one after the other."""
    return b"".join(int(part).to_bytes(width, "big") for part in parts)


def split(body: bytes, width: int) -> list[int]:
    """The numbers of :func:`joined`."""
    if len(body) % width:
        raise ProtocolError("wrong length", f"{len(body):,} bytes are no whole number of {width} bytes.")
    return [int.from_bytes(body[at : at + width], "big") for at in range(0, len(body), width)]
