"""The logger: the only process that writes a log, behind a socket of this machine.

It takes entries from whoever the system says is the same user, or a member of one group, checks them, and writes them
in groups: at most one group in :data:`INTERVAL` seconds unless :data:`GROUP` entries wait. Nobody is told that an entry
is written before it is on disk. While a group is written, entries that come wait in their sockets: they are the next
group, and no thread hands anything to another. Proofs are made by a thread of their own, so that entries do not wait
for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import struct
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from discreet.errors import DiscreetError, NeedsError, OutputError, ParameterError
from discreet.trust.log.entries import LogEntry, refused_entry
from discreet.trust.log.lines import UNREADABLE
from discreet.trust.log.reader import LogReader
from discreet.trust.log.wire import (
    FRAME,
    LARGEST_REQUEST,
    AppendEntry,
    AskHead,
    AskInclusion,
    ConsistencyTold,
    EntryWritten,
    HeadTold,
    InclusionTold,
    LogReply,
    LogRequest,
    RequestFailed,
    frame,
    request_decoder,
)
from discreet.trust.log.writer import LogUnavailable, LogWriter

INTERVAL = 0.002
GROUP = 50
MOST_WAITING = 10_000
MOST_CLIENTS = 512
PATH_LIMIT = 100
"""Bytes of a socket's path; systems allow little more."""


@dataclass
class Waiting:
    """An entry that is not written yet, and who waits for it."""

    entry: LogEntry
    client: LogConnection
    number: int


class LogConnection(asyncio.Protocol):
    """One client: cuts its bytes into frames, and is cut off when it sends what is none."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._bytes = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let in whom the system names as one of ours."""
        peer = transport.get_extra_info("socket")
        if len(self._logger.clients) >= MOST_CLIENTS or not self._logger.admits(peer):
            cast(asyncio.Transport, transport).abort()
            return
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._logger.clients.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client; what it asked for is written nevertheless."""
        self._transport = None
        self._logger.clients.discard(self)

    def data_received(self, data: bytes) -> None:
        """Take every whole frame."""
        if self._transport is None:
            return
        self._bytes += data
        at = 0
        while len(self._bytes) - at >= FRAME.size:
            length, number = FRAME.unpack_from(self._bytes, at)
            if length > LARGEST_REQUEST:
                self.tell(number, RequestFailed("entry", f"A request has at most {LARGEST_REQUEST:,} bytes."))
                self._transport.close()
                return
            if len(self._bytes) - at < FRAME.size + length:
                break
            at += FRAME.size
            self._logger.take(self, number, bytes(self._bytes[at : at + length]))
            at += length
        del self._bytes[:at]

    def tell(self, number: int, reply: LogReply) -> None:
        """Answer a request, if the client is still there."""
        self.send(frame(number, reply))

    def send(self, frames: bytes) -> None:
        """Send answers, if the client is still there."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frames)

    def close(self) -> None:
        """Send what is to be sent, and end."""
        if self._transport is not None:
            self._transport.close()


class Logger:
    """Takes entries from its clients and lets the writer write them in groups.

    Parameters
    ----------
    writer
        The writer of the log.
    group
        The group of the system whose members may connect besides this user.
    interval, most
        At most one group in so many seconds, unless so many entries wait.
    """

    def __init__(
        self, writer: LogWriter, *, group: int | None = None, interval: float = INTERVAL, most: int = GROUP
    ) -> None:
        self.clients: set[LogConnection] = set()
        self._writer = writer
        self._group = group
        self._pace = interval, most
        self._waiting: deque[Waiting] = deque()
        self._wake = asyncio.Event()
        self._full = asyncio.Event()
        self._stopping = False
        self._proofs = ThreadPoolExecutor(1, "log-proofs")
        self._reader: LogReader | None = None
        self._asked: set[asyncio.Task[None]] = set()

    def admits(self, peer: Any) -> bool:
        """Whether the process at the other end runs as this user or with the group."""
        _, user, group = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return user == os.geteuid() or (self._group is not None and group == self._group)

    def take(self, client: LogConnection, number: int, data: bytes) -> None:
        """Take a request: an entry waits for the next group, the rest is answered."""
        try:
            request: LogRequest = request_decoder.decode(data)
        except msgspec.ValidationError as error:
            refused = refused_entry(error)
            client.tell(number, RequestFailed("entry", refused.message, refused.hint))
            return
        except UNREADABLE:
            client.tell(number, RequestFailed("entry", "The request cannot be read."))
            client.close()
            return
        if isinstance(request, AskHead):
            client.tell(number, HeadTold(self._writer.head))
        elif not isinstance(request, AppendEntry):
            task = asyncio.get_running_loop().create_task(self._prove(client, number, request))
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)
        elif self._stopping or not self._writer.usable or len(self._waiting) >= MOST_WAITING:
            client.tell(number, RequestFailed("unavailable", "The logger takes no entries now."))
        else:
            self._waiting.append(Waiting(request.entry, client, number))
            self._wake.set()
            if len(self._waiting) >= self._pace[1]:
                self._full.set()

    def stop(self) -> None:
        """Take no more entries; those that wait are still written."""
        self._stopping = True
        self._wake.set()
        self._full.set()

    async def run(self) -> None:
        """Write groups until told to stop, or until the disk fails."""
        loop = asyncio.get_running_loop()
        last = -self._pace[0]
        while self._writer.usable:
            if not self._waiting:
                if self._stopping:
                    break
                self._wake.clear()
                await self._wake.wait()
                continue
            rest = last + self._pace[0] - loop.time()
            if rest > 0 and len(self._waiting) < self._pace[1] and not self._stopping:
                self._full.clear()
                timer = loop.call_later(rest, self._full.set)
                await self._full.wait()
                timer.cancel()
            last = loop.time()
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._pace[1]))]
            self._write(group)
            await asyncio.sleep(0)  # what came in the meantime is taken before the next group is begun
        self._stopping = True
        for one in self._waiting:
            one.client.tell(one.number, RequestFailed("unavailable", "The log's disk failed."))
        self._waiting.clear()

    def _write(self, group: list[Waiting]) -> None:
        """Write a group, and then tell each client of all its entries at once."""
        try:
            receipts = self._writer.commit([one.entry for one in group])
        except LogUnavailable as error:
            for one in group:
                one.client.tell(one.number, RequestFailed("unavailable", error.message, error.hint))
            return
        told: dict[LogConnection, list[bytes]] = {}
        for one, receipt in zip(group, receipts, strict=True):
            told.setdefault(one.client, []).append(frame(one.number, EntryWritten(receipt)))
        for client, frames in told.items():
            client.send(b"".join(frames))

    async def _prove(self, client: LogConnection, number: int, request: LogRequest) -> None:
        loop = asyncio.get_running_loop()
        try:
            reply: LogReply = await loop.run_in_executor(self._proofs, self._proof, request)
        except DiscreetError as error:
            reply = RequestFailed("proof", error.message, error.hint)
        client.tell(number, reply)

    def _proof(self, request: LogRequest) -> LogReply:
        if self._reader is None:
            self._reader = LogReader(self._writer.folder)
        if isinstance(request, AskInclusion):
            return InclusionTold(self._reader.inclusion(request.seq, request.size))
        assert not isinstance(request, AppendEntry | AskHead)
        return ConsistencyTold(self._reader.consistency(request.first, request.second))

    async def end(self) -> None:
        """Let clients and threads go, once every proof that was asked for is given."""
        await asyncio.gather(*self._asked)
        for client in list(self.clients):
            client.close()
        self._proofs.shutdown()
        await asyncio.sleep(0)


def listening(path: Path, group: int | None) -> socket.socket:
    """A socket that only this user, or the group too, can open."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise NeedsError(
            "This system does not say who is at the other end of a socket.", hint="Run the logger on Linux."
        )
    if len(os.fsencode(path)) > PATH_LIMIT:
        raise ParameterError(
            f"The path of the socket {path.name!r} is too long.", hint=f"Use at most {PATH_LIMIT} bytes."
        )
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_old(path)
        made.bind(os.fspath(path))
        if group is not None:
            os.chown(path, -1, group)
            path.chmod(0o660)
    except OSError as error:
        made.close()
        raise OutputError(
            f"Cannot listen at {path.name!r}: {error.strerror}.", hint="Check the folder of the socket."
        ) from None
    finally:
        os.umask(before)
    made.setblocking(False)
    return made


def _remove_old(path: Path) -> None:
    """Remove a socket that an ended logger left; one where somebody listens stays."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise OutputError(f"{path.name!r} exists and is no socket.", hint="Give another path for the socket.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OutputError(f"Somebody listens at {path.name!r}.", hint="Stop the other logger, or give another path.")


async def serve_log(
    writer: LogWriter,
    path: Path,
    *,
    group: int | None = None,
    interval: float = INTERVAL,
    most: int = GROUP,
    ready: Callable[[], None] = lambda: None,
    parent: int | None = None,
) -> None:
    """Listen at a socket until a signal comes, the disk fails, or ``parent`` (a pipe) ends.

    Raises
    ------
    LogUnavailable
        When the disk failed: the log must be opened anew.
    """
    logger = Logger(writer, group=group, interval=interval, most=most)
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: LogConnection(logger), sock=listening(path, group), backlog=128)
    inode = path.stat().st_ino
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, logger.stop)
    if parent is not None:
        loop.add_reader(parent, _parent_spoke, loop, parent, logger.stop)
    try:
        ready()
        await logger.run()
    finally:
        server.close()
        with contextlib.suppress(FileNotFoundError):
            if path.lstat().st_ino == inode:
                path.unlink()
        await logger.end()
    if not writer.usable:
        raise LogUnavailable("The disk of the log failed.", hint="Look after the disk, and start the logger again.")


def _parent_spoke(loop: asyncio.AbstractEventLoop, parent: int, stop: Callable[[], None]) -> None:
    """Stop when the process that started us has ended."""
    if not os.read(parent, 4096):
        loop.remove_reader(parent)
        stop()
