"""The judge of a log: reads every byte again, and shares no code with what wrote it.

It stops at the first entry or head that is not as its writer left it, and says which one and where. Heads that were
kept elsewhere show what the files cannot: that the end was cut off, or that another history was signed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, counted, missing_extra
from discreet.trust.log_verify.lines import NotALine, ReadEntry, ReadHead, as_json, is_digest, is_time, whole
from discreet.trust.log_verify.merkle import LogTree
from discreet.trust.log_verify.verdict import Fault, LogFault, LogVerdict
from discreet.trust.signature import PublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

IDENTITY_PARTS = {"created", "format", "key", "nonce"}
NONCE = re.compile(r"[0-9a-f]{32}")
SEGMENT = re.compile(r"segment-([0-9]{8})\.log")


class FirstFault(Exception):
    """The first fault."""

    def __init__(self, fault: Fault, where: str, message: str) -> None:
        self.fault = LogFault(fault, where, message)
        super().__init__(message)


@dataclass
class _Walk:
    """Where the judge stands."""

    log: str
    key: Ed25519PublicKey
    wanted: set[int]
    each: Callable[[ReadEntry], None] | None
    chain: str = ""
    tree: LogTree = field(default_factory=LogTree)
    groups: int = 0
    head: ReadHead | None = None
    roots: dict[int, str] = field(default_factory=dict)
    waiting: list[ReadEntry] = field(default_factory=list)
    backwards: int = 0
    time: str = ""

    def note_root(self) -> None:
        """Keep the root where a head that was kept elsewhere asks for it."""
        if self.tree.leaves in self.wanted:
            self.roots[self.tree.leaves] = self.tree.root()


def check_log(
    folder: str | Path,
    *,
    public_key: str | Path | None = None,
    heads: Iterable[bytes] = (),
    each: Callable[[ReadEntry], None] | None = None,
) -> LogVerdict:
    """Judge the log in a folder.

    Parameters
    ----------
    folder
        The folder of the log. It may be written meanwhile.
    public_key
        The key that is known to be the log's, from elsewhere.
    heads
        Signed heads that were kept elsewhere, as ``discreet log head`` printed them.
    each
        Called with every entry once a signed head covers it.
    """
    folder = Path(folder)
    verdict = LogVerdict()
    kept = list(heads)
    try:
        log, key = _identity(folder, public_key)
        verdict.log = log
        outside = [_kept(data, key) for data in kept]
        walk = _Walk(log, key, {head.size for head in outside}, each, chain=log)
        walk.note_root()
        try:
            _walk(folder, walk, verdict)
        finally:
            verdict.entries, verdict.heads = walk.head.size if walk.head else 0, walk.groups
    except FirstFault as found:
        verdict.faults.append(found.fault)
        return verdict
    for head in outside:
        _against(head, walk, verdict)
    if verdict.holds:
        _sum_up(verdict, walk, outside, public_key)
    return verdict


def log_key(data: bytes) -> tuple[str, Ed25519PublicKey]:
    """Id and public key of a log, from its ``log.json``."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey as Key
    except ModuleNotFoundError:
        raise missing_extra("cryptography", "sign", "Checking the signatures of a log") from None
    line, _, rest = data.partition(b"\n")
    value = whole(line)
    if rest or not data.endswith(b"\n") or set(value) != IDENTITY_PARTS or value["format"] != 1:
        raise NotALine("it has other parts than the description of a log")
    good = is_digest(value["key"]) and is_time(value["created"]) and type(value["format"]) is int
    if not good or not isinstance(value["nonce"], str) or not NONCE.fullmatch(value["nonce"]):
        raise NotALine("a part of it cannot be")
    log = hashlib.sha256(b"discreet log 1\0" + line).hexdigest()
    return log, Key.from_public_bytes(bytes.fromhex(value["key"]))


def _identity(folder: Path, public_key: str | Path | None) -> tuple[str, Ed25519PublicKey]:
    path = folder / "log.json"
    if not path.is_file():
        if any(SEGMENT.fullmatch(name) for name in _names(folder)):
            raise FirstFault("removed", path.name, "the file that says whose log it is, is not there")
        raise InputError(f"There is no log in {folder.name!r}.", hint="Give the folder of a log.")
    try:
        log, key = log_key(path.read_bytes())
    except NotALine as error:
        raise FirstFault("changed", path.name, str(error)) from None
    if public_key is not None and PublicKey(key).fingerprint != PublicKey.from_file(public_key).fingerprint:
        raise FirstFault("foreign", path.name, "the log has another key than the given one")
    return log, key


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        raise InputError(f"There is no log in {folder.name!r}.", hint="Give the folder of a log.") from None


def _kept(data: bytes, key: Ed25519PublicKey) -> ReadHead:
    try:
        return ReadHead.of(whole(data.rstrip(b"\r\n")), key)
    except NotALine as error:
        raise FirstFault("foreign", "a head kept elsewhere", str(error)) from None


def _walk(folder: Path, walk: _Walk, verdict: LogVerdict) -> None:
    written = _is_written(folder)  # asked before anything is read: what a writer does afterwards is not a fault
    names = [name for name in _names(folder) if name != "log.json"]
    expected = [f"segment-{number:08d}.log" for number in range(1, len(names) + 1)]
    strange = [name for name in names if not SEGMENT.fullmatch(name)]
    if strange:
        raise FirstFault("inserted", f"file {strange[0]!r}", "it does not belong to a log")
    if names != expected or not names:
        gone = next((name for name in expected if name not in names), "segment-00000001.log")
        raise FirstFault("removed", gone, "the segment is not there")
    for number, name in enumerate(names, 1):
        verdict.segments = number
        data = (folder / name).read_bytes()
        last = number == len(names)
        _segment(walk, data, number, name, last and written, partial(_later, folder, names[number:]))
        if last and written:
            verdict.asserted.append("what the running writer has written since the last signed head was not looked at")


def _is_written(folder: Path) -> bool:
    """Whether a writer has the log open."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False  # no locks there, so no writer either
    finally:
        os.close(handle)


def _later(folder: Path, names: list[str]) -> Iterator[bytes]:
    for name in names:
        yield from (folder / name).read_bytes().split(b"\n")


def _segment(
    walk: _Walk, data: bytes, number: int, name: str, written: bool, later: Callable[[], Iterator[bytes]]
) -> None:
    """Judge a segment: its first line, then groups of entries, each with its signed head."""
    lines = data.split(b"\n")
    rest = lines.pop()
    cut = len(lines)
    if written:  # a group that is being written is not there yet
        cut = next((k + 1 for k in range(len(lines) - 1, -1, -1) if lines[k].startswith(b'{"head":')), 0)
        if cut == 0:
            return
        lines, rest = lines[:cut], b""
    if lines:
        _first_line(walk, lines[0], number, name)
    ended = False
    for place, line in enumerate(lines[1:], 2):
        where = f"{name}, line {place}"

        def after(place: int = place) -> Iterator[bytes]:
            yield from lines[place:]
            yield from later()

        ended = line.startswith(b'{"head":')
        if ended:
            _head(walk, line, where, after)
        else:
            _entry(walk, line, where, after)
    if not ended or rest:
        loose = f"{counted(len(walk.waiting), 'entry')} and {counted(len(rest), 'byte')} of a line"
        raise FirstFault(
            "unsigned",
            f"{name}, after entry {walk.head.size if walk.head else 0:,}",
            f"no signed head covers the end ({loose}): it was cut, or a crash left it and the logger will repair it",
        )


def _first_line(walk: _Walk, line: bytes, number: int, name: str) -> None:
    start = {
        "chain": walk.chain,
        "first": walk.tree.leaves + 1,
        "frontier": walk.tree.frontier(),
        "head": walk.head.as_value() if walk.head else None,
        "log": walk.log,
        "number": number,
    }
    if line == as_json({"segment": start}):
        return
    where = f"{name}, line 1"
    try:
        told = whole(line).get("segment")
    except NotALine as error:
        raise FirstFault("changed", where, f"the beginning of the segment: {error}") from None
    if not isinstance(told, dict):
        raise FirstFault("removed", where, "the segment lacks its first line")
    first = told.get("first")
    if told.get("number") != number:
        raise FirstFault("reordered", where, f"another segment stands in the place of segment {number}")
    if type(first) is int and first > walk.tree.leaves + 1:
        missing = f"entries {walk.tree.leaves + 1:,} to {first - 1:,}"
        raise FirstFault("removed", f"before {where}", f"{missing} are missing")
    raise FirstFault("changed", where, "the segment does not go on where the one before ends")


def _entry(walk: _Walk, line: bytes, where: str, after: Callable[[], Iterator[bytes]]) -> None:
    expected = walk.tree.leaves + 1
    here = f"entry {expected:,} ({where})"
    try:
        value = whole(line)
        if "segment" in value:
            raise FirstFault("inserted", where, "the first line of a segment stands inside of one")
        entry = ReadEntry.of(value)
    except NotALine as error:
        raise FirstFault("changed", here, str(error)) from None
    if entry.seq > expected:
        mark = b',"seq":%d,"time":"' % expected
        if any(mark in line for line in after()):
            raise FirstFault("reordered", here, f"entry {entry.seq:,} stands in the place of entry {expected:,}")
        many = f"entries {expected:,} to {entry.seq - 1:,} are" if entry.seq - 1 > expected else "it is"
        raise FirstFault("removed", here, f"{many} missing; entry {entry.seq:,} follows")
    if entry.seq < expected:
        raise FirstFault("inserted", here, f"an entry {entry.seq:,} stands here a second time")
    if entry.previous != walk.chain:
        if expected == 1:
            raise FirstFault("changed", here, "it does not begin the chain of this log")
        raise FirstFault(
            "changed", f"entry {expected - 1:,} (before {where})", f"entry {expected:,} follows another one than this"
        )
    walk.tree.add(entry.content)
    walk.chain = entry.hash
    walk.waiting.append(entry)
    walk.backwards += entry.time < walk.time
    walk.time = entry.time
    walk.note_root()


def _head(walk: _Walk, line: bytes, where: str, after: Callable[[], Iterator[bytes]]) -> None:
    here = f"signed head {walk.groups:,} ({where})"
    try:
        head = ReadHead.of(whole(line), walk.key)
    except NotALine as error:
        raise FirstFault("changed", here, str(error)) from None
    size, before = walk.tree.leaves, walk.head.size if walk.head else 0
    if head.log != walk.log:
        raise FirstFault("foreign", here, "it is the head of another log")
    if head.group > walk.groups:
        mark = b',"group":%d,"log":"' % walk.groups
        if any(mark in line for line in after()):
            raise FirstFault("reordered", here, f"signed head {head.group:,} stands in its place")
        raise FirstFault("removed", here, f"it is missing; signed head {head.group:,} follows")
    if head.group < walk.groups:
        raise FirstFault("inserted", here, f"signed head {head.group:,} stands here a second time")
    if head.size > size:
        _entries_missing(walk, head, here, after)
    if head.size < size:
        raise FirstFault("inserted", f"entry {head.size + 1:,} (before {where})", "the signed head does not cover it")
    if head.chain != walk.chain or head.root != walk.tree.root():
        signed = f"entries {before + 1:,} to {size:,}" if size > before + 1 else f"entry {size:,}"
        raise FirstFault("changed", f"{signed} (before {where})", "another content was signed")
    walk.head, walk.groups = head, walk.groups + 1
    if walk.each is not None:
        for entry in walk.waiting:
            walk.each(entry)
    walk.waiting.clear()


def _entries_missing(walk: _Walk, head: ReadHead, here: str, after: Callable[[], Iterator[bytes]]) -> None:
    """A head that covers more than stands before it."""
    first = walk.tree.leaves + 1
    if any(b',"seq":%d,"time":"' % first in line for line in after()):
        raise FirstFault("reordered", here, f"it stands before entry {first:,}, which it covers")
    many = f"entries {first:,} to {head.size:,} are" if head.size > first else f"entry {first:,} is"
    raise FirstFault("removed", f"entry {first:,} (before {here})", f"{many} missing")


def _against(head: ReadHead, walk: _Walk, verdict: LogVerdict) -> None:
    """Compare the log with a head that was kept elsewhere."""
    where = f"the kept head of {counted(head.size, 'entry')}"
    size = walk.head.size if walk.head else 0
    if head.log != walk.log:
        verdict.faults.append(LogFault("foreign", where, "it is the head of another log"))
    elif head.size > size:
        gone = f"entries {size + 1:,} to {head.size:,} are" if head.size > size + 1 else f"entry {head.size:,} is"
        verdict.faults.append(LogFault("truncated", f"after entry {size:,}", f"{gone} missing at the end"))
    elif walk.roots[head.size] != head.root:
        verdict.faults.append(
            LogFault("fork", where, f"two histories of the first {counted(head.size, 'entry')} were signed")
        )


def _sum_up(verdict: LogVerdict, walk: _Walk, outside: list[ReadHead], public_key: Any) -> None:
    verdict.proved.append("no entry or head was changed, removed, inserted or moved before the last signed head")
    fingerprint = PublicKey(walk.key).fingerprint
    if public_key is not None:
        verdict.proved.append(f"every head was signed with the given key (fingerprint {fingerprint})")
    else:
        verdict.asserted.append(f"the key in log.json (fingerprint {fingerprint}) is the log's own: give --public-key")
    if outside:
        most = max(head.size for head in outside)
        verdict.proved.append(f"the log continues the kept heads: nothing is missing up to entry {most:,}")
        verdict.asserted.append(f"nothing was cut off after entry {most:,}, the last that a kept head covers")
    else:
        verdict.asserted.append("nothing was cut off at the end: only a head kept elsewhere can show it (--head)")
    if walk.backwards:
        verdict.asserted.append(
            f"the clock went backwards before {counted(walk.backwards, 'entry')}: times are as the machine told them"
        )
