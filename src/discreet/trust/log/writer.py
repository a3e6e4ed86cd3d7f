"""The one writer of a log: groups of entries with one signature and one fsync each.

Nothing that :meth:`LogWriter.commit` returns is lost by a crash: receipts are made once the group, ended by its signed
head, is on disk. A group that does not get there is taken back, or the writer writes no more.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, InputError, OutputError
from discreet.trust.log.entries import LoggedAct, LogRepaired
from discreet.trust.log.lines import (
    ABOUT,
    FORMAT,
    LogIdentity,
    Receipt,
    SegmentLine,
    SegmentStart,
    SignedHead,
    TreeHead,
    canonical,
    chained,
    segment_path,
    sign_head,
    utc_now,
)
from discreet.trust.log.recovery import LogEnd, LogState, damaged, last_segment, log_end, read_identity
from discreet.trust.log.tree import Frontier, leaf_hash

if TYPE_CHECKING:
    from discreet.trust.signature import SigningKey

SEGMENT_ENTRIES = 100_000
SEGMENT_BYTES = 64 * 2**20
OPEN = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC


class LogUnavailable(OutputError):
    """An entry was not acknowledged: it may not be in the log, and what depends on it must not happen."""


class LogBusy(OutputError):
    """Another process writes this log."""


def create_log(folder: str | Path, key: SigningKey) -> str:
    """Make an empty log with its first signed head; gives its id.

    The folder appears whole or not at all. It is closed to others.

    Raises
    ------
    OutputError
        When something lies there already, or the folder cannot be written.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    folder = Path(folder)
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise OutputError(f"{folder.name!r} exists; a log is never replaced.", hint="Choose another folder.")
    raw = key.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    now = utc_now()
    identity = LogIdentity(created=now, format=FORMAT, key=raw.hex(), nonce=secrets.token_hex(16))
    log, frontier = identity.log, Frontier()
    head = sign_head(
        TreeHead(chain=log, group=0, log=log, root=frontier.root().hex(), size=0, time=now),
        key,
    )
    start = SegmentStart(chain=log, first=1, frontier=[], head=None, log=log, number=1)
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _write_new(made / ABOUT, canonical(identity) + b"\n")
            _write_new(segment_path(made, 1), canonical(SegmentLine(start)) + b"\n" + canonical(head) + b"\n")
            _sync_folder(made)
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        _sync_folder(folder.parent)
    except OSError as error:
        raise OutputError(
            f"Cannot make the log {folder.name!r}: {error.strerror}.", hint="Check space and permissions."
        ) from None
    return log


class LogWriter:
    """Appends to a log; only one writer has it open at a time.

    Parameters
    ----------
    folder
        The folder of the log, made by :func:`create_log`.
    key
        The log's signing key.
    segment_entries, segment_bytes
        A new segment begins when the last one has so many.
    kept
        A head that was kept elsewhere: a log that does not have it any more is not continued.
    patience
        For how many seconds to wait for another writer to end.

    Raises
    ------
    LogBusy
        When another writer has the log open.
    LogDamaged
        When its last segment is not as a writer leaves it, or the kept head is not of this log.
    """

    def __init__(
        self,
        folder: str | Path,
        key: SigningKey,
        *,
        segment_entries: int = SEGMENT_ENTRIES,
        segment_bytes: int = SEGMENT_BYTES,
        kept: SignedHead | None = None,
        patience: float = 0.0,
    ) -> None:
        self.folder = Path(folder)
        self._key = key
        self._most = segment_entries, segment_bytes
        self._file: int | None = None
        self._broken = False
        self._state = LogState(0, Frontier(), b"", None, 0, 0)
        self._lock: int | None = _locked(self.folder, patience)
        try:
            self.identity = read_identity(self.folder)
            self._check_key()
            end = self._end()
            if kept is not None:
                self._check_kept(kept, end.state)
            self._repair(end)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> SignedHead:
        """The last signed head: everything that was acknowledged."""
        assert self._state.head is not None, "a log begins with a signed head"
        return self._state.head

    @property
    def usable(self) -> bool:
        """Whether entries can still be appended."""
        return self._file is not None and not self._broken

    def close(self) -> None:
        """Let go of the log; nothing is waiting to be written."""
        for handle in (self._file, self._lock):
            if handle is not None:
                os.close(handle)
        self._file = self._lock = None

    def commit(self, entries: Sequence[LoggedAct]) -> list[Receipt]:
        """Append a group of entries with one signature and one fsync.

        Returns
        -------
        list of Receipt
            One for each entry. They are on disk.

        Raises
        ------
        LogUnavailable
            When the group could not be written; none of it may be relied on.
        """
        if not entries:
            return []
        if not self.usable:
            raise _unavailable("the writer stopped after a failure of the disk")
        before = self._state
        turn = before.entries >= self._most[0] or before.bytes >= self._most[1]
        after = LogState(before.number, before.frontier.copy(), before.chain, None, before.bytes, before.entries)
        parts, leaves, now = [], [], utc_now()
        if turn:
            after.number, after.bytes, after.entries = before.number + 1, 0, 0
            parts.append(self._segment_line(after.number))
        for entry in entries:
            made = chained(entry, after.frontier.size + 1, now, after.chain)
            leaf = leaf_hash(made.content)
            after.frontier.append(leaf)
            after.chain = made.hash
            parts.append(made.line)
            leaves.append(leaf)
        after.head = self._signed(after, now)
        parts.append(canonical(after.head) + b"\n")
        data = b"".join(parts)
        self._put(data, after.number if turn else None)
        after.bytes += len(data)
        after.entries += len(entries)
        self._state = after
        first = before.frontier.size + 1
        return [Receipt(seq=first + k, leaf=leaf.hex(), head=after.head) for k, leaf in enumerate(leaves)]

    def _signed(self, state: LogState, now: str) -> SignedHead:
        head = TreeHead(
            chain=state.chain.hex(),
            group=self.head.head.group + 1,
            log=self.identity.log,
            root=state.frontier.root().hex(),
            size=state.frontier.size,
            time=now,
        )
        return sign_head(head, self._key)

    def _segment_line(self, number: int) -> bytes:
        state = self._state
        start = SegmentStart(
            chain=state.chain.hex(),
            first=state.frontier.size + 1,
            frontier=[peak.hex() for peak in state.frontier.peaks],
            head=state.head,
            log=self.identity.log,
            number=number,
        )
        return canonical(SegmentLine(start)) + b"\n"

    def _put(self, data: bytes, new: int | None) -> None:
        """Write and sync; what cannot be written is taken back."""
        handle = self._file
        try:
            if new is not None:
                path = segment_path(self.folder, new)
                handle = os.open(path, OPEN | os.O_CREAT | os.O_EXCL, 0o600)
            assert handle is not None
            _write_all(handle, data)
        except OSError as error:
            self._take_back(handle, new)
            raise _unavailable(f"the disk refused ({error.strerror})") from None
        try:
            os.fsync(handle)
            if new is not None:
                _sync_folder(self.folder)
        except OSError as error:
            # After a failed fsync nobody knows what is on disk: only reading everything again tells.
            self._broken = True
            raise _unavailable(f"the disk failed ({error.strerror})") from None
        if new is not None:
            os.close(self._file or 0)
            self._file = handle

    def _take_back(self, handle: int | None, new: int | None) -> None:
        try:
            if new is None:
                assert handle is not None
                os.ftruncate(handle, self._state.bytes)
            elif handle is not None and handle != self._file:
                os.close(handle)
                segment_path(self.folder, new).unlink()
        except OSError:
            self._broken = True

    def _check_key(self) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        raw = self._key.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        if raw.hex() != self.identity.key:
            raise InputError(
                f"The log {self.folder.name!r} was begun with another key.",
                hint="Give the key that it was begun with, or begin a new log in another folder.",
            )

    def _end(self) -> LogEnd:
        """Where the log goes on; a last segment that never got its first signed head goes."""
        number = last_segment(self.folder)
        end = log_end(self.folder, self.identity, self._key.public, number)
        if end.state.head is not None:
            return end
        if number == 1:
            raise damaged("the first segment", "has no signed head")
        before = log_end(self.folder, self.identity, self._key.public, number - 1)
        if before.cut or before.newline or before.state.head is None:
            raise damaged("the last segment but one", "does not end with a signed head")
        segment_path(self.folder, number).unlink()
        _sync_folder(self.folder)
        return LogEnd(before.state, end.cut, end.cut_entries, False)

    def _check_kept(self, kept: SignedHead, state: LogState) -> None:
        from discreet.trust.log.reader import LogReader

        size = kept.head.size
        if kept.head.log != self.identity.log:
            raise InputError("The kept head is of another log.", hint="Give a head of this log.")
        if size > state.frontier.size:
            missing = size - state.frontier.size
            raise damaged("the end", f"is cut off: {missing:,} of the entries that a kept head covers are not there")
        if LogReader(self.folder).root(size) != kept.head.root:
            raise damaged("the beginning", f"is not the one that a kept head of {size:,} entries signs")

    def _repair(self, end: LogEnd) -> None:
        """Open the last segment at the place where it goes on."""
        self._state = end.state
        path = segment_path(self.folder, end.state.number)
        self._file = os.open(path, OPEN)
        if end.newline:
            os.ftruncate(self._file, end.state.bytes - 1)
            _write_all(self._file, b"\n")
            os.fsync(self._file)
        elif path.stat().st_size > end.state.bytes:
            os.ftruncate(self._file, end.state.bytes)
            os.fsync(self._file)
        if end.cut:
            from hashlib import sha256

            content = sha256(end.cut).hexdigest()
            self.commit([LogRepaired(entries=end.cut_entries, bytes=len(end.cut), content=content)])


def _unavailable(what: str) -> LogUnavailable:
    return LogUnavailable(
        f"The entry was not written to the log: {what}.",
        hint="What depends on it must not happen. Look after the disk of the log, and start the logger again.",
    )


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _write_new(path: Path, data: bytes) -> None:
    handle = os.open(path, OPEN | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _locked(folder: Path, patience: float) -> int:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        raise InputError(f"There is no log in {folder.name!r}.", hint="Give the folder of a log.") from None
    end = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise OutputError(
                        f"The file system of {folder.name!r} has no locks.", hint="Keep the log on a local disk."
                    ) from None
            if time.monotonic() >= end:
                raise LogBusy(
                    f"Another process writes the log {folder.name!r}.", hint="One logger writes a log; stop the other."
                )
            time.sleep(0.02)
    except DiscreetError:
        os.close(handle)
        raise
