"""Where a log goes on: its last segment read again, and what a crash left at its end.

Whatever stands after the last signed head was acknowledged to nobody. It is cut off if it is what an interrupted write
leaves: entries that continue the chain, and the beginning of one more line. Anything else is damage or somebody's work,
and the writer does not sign on top of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from discreet.errors import InputError
from discreet.trust.log.lines import (
    ABOUT,
    FORMAT,
    UNREADABLE,
    EntryLine,
    LogIdentity,
    SegmentLine,
    SegmentStart,
    SignedHead,
    TreeHead,
    canonical,
    chained,
    segment_path,
)
from discreet.trust.log.tree import Frontier, leaf_hash

if TYPE_CHECKING:
    from discreet.trust.signature import PublicKey

_entry = msgspec.json.Decoder(EntryLine)
_head = msgspec.json.Decoder(SignedHead)
_segment = msgspec.json.Decoder(SegmentLine)
_identity = msgspec.json.Decoder(LogIdentity)
ENTRY_START, HEAD_START, SEGMENT_START = b'{"body":', b'{"head":', b'{"segment":'
TIME_LENGTH, SIGNATURE_LENGTH = 27, 128


class LogDamaged(InputError):
    """The files of a log are not as its writer left them; nothing is appended."""


@dataclass
class LogState:
    """The end of a log."""

    number: int
    """Of the last segment."""
    frontier: Frontier
    chain: bytes
    head: SignedHead | None
    bytes: int
    """Of the segment up to its last signed head."""
    entries: int
    """Of the segment, up to there."""


@dataclass
class LogEnd:
    """Where a log goes on, and what stands after it."""

    state: LogState
    cut: bytes
    """What an interrupted write left after the last signed head."""
    cut_entries: int
    newline: bool
    """Whether only the end of the last head's line is missing."""


def damaged(where: str, what: str) -> LogDamaged:
    """The error for files that the writer did not leave so."""
    return LogDamaged(
        f"The log is damaged: {where} {what}.",
        hint="Nothing was appended. Run: discreet log verify FOLDER. Keep the folder; begin a new log in another one.",
    )


def read_identity(folder: Path) -> LogIdentity:
    """Whose log it is."""
    try:
        data = (folder / ABOUT).read_bytes()
        identity = _identity.decode(data)
    except FileNotFoundError:
        raise InputError(f"There is no log in {folder.name!r}.", hint="Give the folder of a log.") from None
    except UNREADABLE:
        raise damaged(ABOUT, "cannot be read") from None
    if canonical(identity) + b"\n" != data or identity.format != FORMAT:
        raise damaged(ABOUT, "is not as the writer leaves it")
    return identity


def last_segment(folder: Path) -> int:
    """The number of the last segment; one that is missing in between is damage."""
    names = sorted(path.name for path in folder.iterdir() if path.name != ABOUT)
    if names != [segment_path(folder, number).name for number in range(1, len(names) + 1)] or not names:
        raise damaged("the folder", "lacks a segment, or has a file that does not belong there")
    return len(names)


def log_end(folder: Path, identity: LogIdentity, key: PublicKey, number: int) -> LogEnd:
    """Read a segment again, line by line, up to its end."""
    path = segment_path(folder, number)
    whole, newline, rest = path.read_bytes().rpartition(b"\n")
    lines = whole.split(b"\n") if newline else []
    state = LogState(number, Frontier(), b"", None, 0, 0)
    if not lines:
        torn = rest.rstrip(b"\0")
        if not (torn.startswith(SEGMENT_START) or SEGMENT_START.startswith(torn)):
            raise damaged(path.name, "does not begin as a segment")
        return LogEnd(state, rest, 0, False)
    start = _start(lines[0], path.name, identity, key, number)
    now = LogState(
        number,
        Frontier(start.first - 1, [bytes.fromhex(peak) for peak in start.frontier]),
        bytes.fromhex(start.chain),
        start.head,
        len(lines[0]) + 1,
        0,
    )
    group = start.head.head.group + 1 if start.head else 0
    for place, line in enumerate(lines[1:], 2):
        where = f"line {place} of {path.name}"
        now.bytes += len(line) + 1
        if line.startswith(ENTRY_START):
            _append(now, line, where)
        else:
            now.head = _signed(line, where, _expected(now, identity, group), key)
            group += 1
            state = LogState(number, now.frontier.copy(), now.chain, now.head, now.bytes, now.entries)
    return _ended(state, now, rest, path, _expected(now, identity, group), key)


def _start(line: bytes, name: str, identity: LogIdentity, key: PublicKey, number: int) -> SegmentStart:
    try:
        start = _segment.decode(line).segment
        frontier = Frontier(start.first - 1, [bytes.fromhex(peak) for peak in start.frontier])
    except (*UNREADABLE, ValueError):
        raise damaged(name, "does not begin as a segment") from None
    good = canonical(SegmentLine(start)) == line and start.number == number and start.log == identity.log
    if number == 1:
        good &= start.head is None and start.first == 1 and start.chain == identity.log
    elif start.head is None or not _verified(start.head, key):
        good = False
    else:
        head = start.head.head
        good &= (head.size, head.root, head.chain) == (start.first - 1, frontier.root().hex(), start.chain)
        good &= head.log == identity.log
    if not good:
        raise damaged(name, "does not go on where the segment before ends")
    return start


def _append(now: LogState, line: bytes, where: str) -> None:
    try:
        entry = _entry.decode(line)
    except UNREADABLE:
        raise damaged(where, "is no entry") from None
    made = chained(entry.body, now.frontier.size + 1, entry.time, now.chain)
    if made.line[:-1] != line:
        raise damaged(where, "does not continue the chain")
    now.frontier.append(leaf_hash(made.content))
    now.chain = made.hash
    now.entries += 1


def _expected(now: LogState, identity: LogIdentity, group: int) -> TreeHead:
    size, root = now.frontier.size, now.frontier.root().hex()
    return TreeHead(chain=now.chain.hex(), group=group, log=identity.log, root=root, size=size, time="")


def _signed(line: bytes, where: str, expected: TreeHead, key: PublicKey) -> SignedHead:
    try:
        head = _head.decode(line)
    except UNREADABLE:
        raise damaged(where, "is neither entry nor head") from None
    if msgspec.structs.replace(head.head, time="") != expected or canonical(head) != line or not _verified(head, key):
        raise damaged(where, "is no signed head of the entries before it")
    return head


def _verified(head: SignedHead, key: PublicKey) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.key.verify(bytes.fromhex(head.signature), head.head.signed_bytes())
    except (InvalidSignature, ValueError):
        return False
    return True


def _ended(state: LogState, now: LogState, rest: bytes, path: Path, expected: TreeHead, key: PublicKey) -> LogEnd:
    """What stands after the last head, if an interrupted write left it."""
    torn = rest.rstrip(b"\0")  # some file systems leave zeros where a write was cut off
    start = canonical(expected)[: -len(b'"}')]  # up to the time
    begun = b'{"head":' + start
    full = len(begun) + TIME_LENGTH + len(b'"},"signature":""}') + SIGNATURE_LENGTH
    where = f"the end of {path.name}"
    if len(torn) == full and torn.startswith(begun):
        now.head = _signed(torn, where, expected, key)
        now.bytes += full + 1
        return LogEnd(now, b"", 0, True)
    if torn.startswith(HEAD_START):
        left = (torn.startswith(begun) and len(torn) < full) or begun.startswith(torn)
    else:
        left = torn.startswith(ENTRY_START) or any(word.startswith(torn) for word in (ENTRY_START, HEAD_START))
    if not left:
        raise damaged(where, "is not what an interrupted write leaves")
    cut = path.read_bytes()[state.bytes :] if state.head else path.read_bytes()
    return LogEnd(state, cut, now.entries - state.entries, False)
