"""Lines of a log as its judge reads them: every byte must be the one that the meaning of the line calls for."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

DIGEST = re.compile(r"[0-9a-f]{64}")
SIGNATURE = re.compile(r"[0-9a-f]{128}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
HEAD_PARTS = {"chain", "group", "log", "root", "size", "time"}
LARGEST = 10**15


class NotALine(Exception):
    """A line is not what a log has; the text says why."""


def as_json(value: object) -> bytes:
    """The one way in which a log spells a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def whole(line: bytes) -> dict[str, Any]:
    """The object of a line that is spelt in the one way."""
    try:
        value = json.loads(line.decode("utf-8"))
        same = as_json(value) == line
    except (ValueError, RecursionError):
        raise NotALine("it cannot be read") from None
    if not isinstance(value, dict) or not same:
        raise NotALine("it is not spelt as the log spells it")
    return value


def is_digest(value: object) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def is_count(value: object) -> bool:
    """Whether this is a number of things."""
    return type(value) is int and 0 <= value <= LARGEST


def is_time(value: object) -> bool:
    """Whether this is a time as the log spells it."""
    return isinstance(value, str) and TIME.fullmatch(value) is not None


@dataclass(frozen=True)
class ReadEntry:
    """An entry, its hash not yet compared with its place."""

    seq: int
    time: str
    body: dict[str, Any]
    previous: str
    hash: str
    content: bytes

    @classmethod
    def of(cls, value: dict[str, Any]) -> ReadEntry:
        """The entry of a line, whose own hash is the one that it states."""
        if set(value) != {"body", "hash", "previous", "seq", "time"}:
            raise NotALine("it has other parts than an entry")
        body, seq, time = value["body"], value["seq"], value["time"]
        good = isinstance(body, dict) and isinstance(body.get("kind"), str) and is_count(seq) and is_time(time)
        if not (good and is_digest(value["hash"]) and is_digest(value["previous"])):
            raise NotALine("a part of it cannot be")
        content = as_json({"body": body, "seq": seq, "time": time})
        digest = hashlib.sha256(b"discreet log entry 1\0" + bytes.fromhex(value["previous"]) + content).hexdigest()
        if digest != value["hash"]:
            raise NotALine("its hash is not that of its content")
        return cls(seq, time, body, value["previous"], value["hash"], content)


@dataclass(frozen=True)
class ReadHead:
    """A head whose signature holds."""

    chain: str
    group: int
    log: str
    root: str
    size: int
    time: str
    signature: str

    @classmethod
    def of(cls, value: object, key: Ed25519PublicKey) -> ReadHead:
        """The head of a line or a file, if the key signed it."""
        from cryptography.exceptions import InvalidSignature

        if not isinstance(value, dict) or set(value) != {"head", "signature"}:
            raise NotALine("it has other parts than a head")
        head, signature = value["head"], value["signature"]
        if not isinstance(head, dict) or set(head) != HEAD_PARTS:
            raise NotALine("it has other parts than a head")
        good = all(is_digest(head[part]) for part in ("chain", "log", "root")) and is_time(head["time"])
        if not (good and is_count(head["group"]) and is_count(head["size"])):
            raise NotALine("a part of it cannot be")
        if not isinstance(signature, str) or not SIGNATURE.fullmatch(signature):
            raise NotALine("it has no signature")
        try:
            key.verify(bytes.fromhex(signature), b"discreet log head 1\0" + as_json(head))
        except InvalidSignature:
            raise NotALine("the log's key did not sign it") from None
        return cls(**head, signature=signature)

    def as_value(self) -> dict[str, Any]:
        """The head as it stands in files."""
        return {"head": {part: getattr(self, part) for part in HEAD_PARTS}, "signature": self.signature}
