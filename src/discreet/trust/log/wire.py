"""What clients and the logger say to each other: frames of a length, a number and a typed message."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
from msgspec import Struct

from discreet.trust.log.entries import Count, LogEntry
from discreet.trust.log.lines import Receipt, SignedHead
from discreet.trust.log.reader import LogConsistency, LogInclusion

FRAME = struct.Struct(">II")
"""Length of the message, number of the request."""
LARGEST_REQUEST = 16_384
LARGEST_REPLY = 65_536


class AppendEntry(Struct, frozen=True, forbid_unknown_fields=True, tag_field="ask", tag="append"):
    """Write an entry."""

    entry: LogEntry


class AskHead(Struct, frozen=True, forbid_unknown_fields=True, tag_field="ask", tag="head"):
    """Tell the last signed head."""


class AskInclusion(Struct, frozen=True, forbid_unknown_fields=True, tag_field="ask", tag="inclusion"):
    """Prove that an entry is in the log."""

    seq: Count
    size: Count | None = None


class AskConsistency(Struct, frozen=True, forbid_unknown_fields=True, tag_field="ask", tag="consistency"):
    """Prove that a head continues an earlier one."""

    first: Count
    second: Count | None = None


class RequestFailed(Struct, frozen=True, forbid_unknown_fields=True, tag_field="told", tag="failed"):
    """Why something was not done."""

    code: str
    message: str
    hint: str = ""


class EntryWritten(Struct, frozen=True, forbid_unknown_fields=True, tag_field="told", tag="written"):
    """The entry is on disk."""

    receipt: Receipt


class HeadTold(Struct, frozen=True, forbid_unknown_fields=True, tag_field="told", tag="head"):
    """The last signed head."""

    head: SignedHead


class InclusionTold(Struct, frozen=True, forbid_unknown_fields=True, tag_field="told", tag="inclusion"):
    """The proof that an entry is in the log."""

    proof: LogInclusion


class ConsistencyTold(Struct, frozen=True, forbid_unknown_fields=True, tag_field="told", tag="consistency"):
    """The proof that a head continues an earlier one."""

    proof: LogConsistency


LogRequest = AppendEntry | AskHead | AskInclusion | AskConsistency
LogReply = EntryWritten | HeadTold | InclusionTold | ConsistencyTold | RequestFailed

_encoder = msgspec.msgpack.Encoder()
request_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(LogRequest)
reply_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(LogReply)


def frame(number: int, message: LogRequest | LogReply) -> bytes:
    """A message as bytes."""
    data = _encoder.encode(message)
    return FRAME.pack(len(data), number) + data
