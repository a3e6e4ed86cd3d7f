"""The lines of a log's files, as its writer makes them: canonical JSON, one object a line.

============  =========================================================================================
first line    ``{"segment": {chain, first, frontier, head, log, number}}``: where the segment goes on
entry         ``{"body": {...}, "hash", "previous", "seq", "time"}``
signed head   ``{"head": {chain, group, log, root, size, time}, "signature"}``: ends every group of entries
============  =========================================================================================

``hash`` is SHA-256 of :data:`CHAIN`, the previous hash and the canonical JSON of body, seq and time; the leaf of the
tree is the hash of the same JSON. The first ``previous`` is the log's id: the digest of ``log.json``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from discreet.trust.log.entries import Count, Digest, LoggedAct

if TYPE_CHECKING:
    from discreet.trust.signature import SigningKey

IDENTITY = b"discreet log 1\0"
CHAIN = b"discreet log entry 1\0"
HEAD = b"discreet log head 1\0"
"""Signed with every head, so that a signature on something else with the same key is none on a head."""
ABOUT = "log.json"
"""The file that says whose log it is."""
FORMAT = 1
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading bytes raises that are none of ours."""
Signature = Annotated[str, Meta(pattern=r"\A[0-9a-f]{128}\Z")]
Time = Annotated[str, Meta(pattern=r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z\Z")]


class TreeHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of a log: how many entries, the root of their tree, the end of their chain."""

    chain: Digest
    group: Count
    log: Digest
    root: Digest
    size: Count
    time: Time

    def signed_bytes(self) -> bytes:
        """What is signed."""
        return HEAD + canonical(self)


class SignedHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A head with the log's signature; kept elsewhere, it shows that nothing was cut off or exchanged."""

    head: TreeHead
    signature: Signature

    def to_json(self) -> bytes:
        """The head as ``discreet log verify --head`` reads it."""
        return canonical(self) + b"\n"


class Receipt(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client has in hand once its entry is on disk: its number, its leaf, and a signed head that covers it."""

    seq: Count
    leaf: Digest
    head: SignedHead

    def to_json(self) -> bytes:
        """The receipt as ``discreet log prove --receipt`` reads it."""
        return canonical(self) + b"\n"


class LogIdentity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose log it is: the public key of its heads, and what tells it from other logs of the same key."""

    created: Time
    format: int
    key: Digest
    nonce: str

    @property
    def log(self) -> str:
        """The log's id."""
        return sha256(IDENTITY + canonical(self)).hexdigest()


class SegmentStart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a segment goes on: the head before it, the chain and the tree."""

    chain: Digest
    first: Count
    frontier: list[Digest]
    head: SignedHead | None
    log: Digest
    number: Count


class SegmentLine(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a segment."""

    segment: SegmentStart


class EntryLine(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry as it stands in the file."""

    body: msgspec.Raw
    hash: Digest
    previous: Digest
    seq: Count
    time: Time


class ChainedEntry(NamedTuple):
    """An entry in its place."""

    line: bytes
    hash: bytes
    content: bytes


_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: object) -> bytes:
    """JSON without blanks, keys in order, in UTF-8."""
    return _encoder.encode(value)


def utc_now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def chained(body: LoggedAct | msgspec.Raw, seq: int, time: str, previous: bytes) -> ChainedEntry:
    """An entry as a line that follows the one with the given hash."""
    text = canonical(body)
    end = b',"seq":%d,"time":"%s"}' % (seq, time.encode())
    content = b'{"body":' + text + end
    digest = sha256(CHAIN + previous + content).digest()
    middle = b',"hash":"%s","previous":"%s"' % (digest.hex().encode(), previous.hex().encode())
    return ChainedEntry(b'{"body":' + text + middle + end + b"\n", digest, content)


def sign_head(head: TreeHead, key: SigningKey) -> SignedHead:
    """A head with the log's signature."""
    return SignedHead(head=head, signature=key.key.sign(head.signed_bytes()).hex())


def segment_path(folder: Path, number: int) -> Path:
    """The file of a segment, counted from 1."""
    return folder / f"segment-{number:08d}.log"
