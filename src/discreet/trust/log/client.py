"""Clients of the logger. An entry that is not acknowledged raises, and what depends on it must not happen.

An append is never sent twice: a logger that went away may have written it. Clients connect anew for the next one.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import TypeVar, cast

from discreet.errors import DiscreetError, ParameterError
from discreet.trust.log.entries import EntryRefused, LogEntry
from discreet.trust.log.lines import UNREADABLE, Receipt, SignedHead
from discreet.trust.log.reader import LogConsistency, LogInclusion
from discreet.trust.log.wire import (
    FRAME,
    LARGEST_REPLY,
    AppendEntry,
    AskConsistency,
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
    reply_decoder,
)
from discreet.trust.log.writer import LogUnavailable

TIMEOUT = 2.0
T = TypeVar("T")


class LogClient:
    """Appends to the log through the logger, and waits until the entry is on disk. Threads may share it.

    Parameters
    ----------
    path
        The logger's socket.
    timeout
        For how many seconds to wait for an acknowledgement.
    """

    def __init__(self, path: str | Path, *, timeout: float = TIMEOUT) -> None:
        self._path = str(path)
        self._timeout = timeout
        self._socket: socket.socket | None = None
        self._number = 0
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> LogClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, entry: LogEntry) -> Receipt:
        """Write an entry.

        Raises
        ------
        LogUnavailable
            When the logger is down, fails or does not acknowledge in time: withhold the answer.
        EntryRefused
            When the log does not take such an entry.
        """
        return _given(self._ask(AppendEntry(entry)), EntryWritten).receipt

    def head(self) -> SignedHead:
        """The last signed head."""
        return _given(self._ask(AskHead()), HeadTold).head

    def inclusion(self, seq: int, size: int | None = None) -> LogInclusion:
        """The proof that an entry is in the log, against the last head or the one of so many entries."""
        return _given(self._ask(AskInclusion(seq, size)), InclusionTold).proof

    def consistency(self, first: int, second: int | None = None) -> LogConsistency:
        """The proof that the last head, or the one of so many entries, continues the one of ``first`` entries."""
        return _given(self._ask(AskConsistency(first, second)), ConsistencyTold).proof

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _ask(self, request: LogRequest) -> LogReply:
        with self._one_at_a_time:
            self._number = (self._number + 1) % 2**32
            end = time.monotonic() + self._timeout
            try:
                link = self._connected(end)
                link.sendall(frame(self._number, request))
                length, number = FRAME.unpack(_received(link, FRAME.size, end))
                if length > LARGEST_REPLY or number != self._number:
                    raise ConnectionError("not an answer of ours")
                return _decoded(_received(link, length, end))
            except (OSError, ConnectionError) as error:
                self.close()  # a late answer must not be taken for the next one's
                raise not_acknowledged(error) from None
            except BaseException:
                self.close()
                raise

    def _connected(self, end: float) -> socket.socket:
        if self._socket is not None and _ended(self._socket):
            self.close()
        if self._socket is None:
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                link.settimeout(_left(end))
                link.connect(self._path)
            except BaseException:
                link.close()
                raise
            self._socket = link
        self._socket.settimeout(_left(end))
        return self._socket


class AsyncLogClient:
    """The same for asyncio: many appends may wait at once on one connection.

    Parameters
    ----------
    path
        The logger's socket.
    timeout
        For how many seconds to wait for an acknowledgement.
    """

    def __init__(self, path: str | Path, *, timeout: float = TIMEOUT) -> None:
        self._path = str(path)
        self._timeout = timeout
        self._number = 0
        self._link: _Link | None = None
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> AsyncLogClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def append(self, entry: LogEntry) -> Receipt:
        """Write an entry; raises as :meth:`LogClient.append` does."""
        return _given(await self._ask(AppendEntry(entry)), EntryWritten).receipt

    async def head(self) -> SignedHead:
        """The last signed head."""
        return _given(await self._ask(AskHead()), HeadTold).head

    async def inclusion(self, seq: int, size: int | None = None) -> LogInclusion:
        """The proof that an entry is in the log."""
        return _given(await self._ask(AskInclusion(seq, size)), InclusionTold).proof

    async def consistency(self, first: int, second: int | None = None) -> LogConsistency:
        """The proof that a head continues an earlier one."""
        return _given(await self._ask(AskConsistency(first, second)), ConsistencyTold).proof

    async def close(self) -> None:
        """End the connection; who still waits is told."""
        if self._link is not None:
            self._link.end(ConnectionError("closed"))
        self._link = None

    async def _ask(self, request: LogRequest) -> LogReply:
        number = self._number = (self._number + 1) % 2**32
        end = asyncio.get_running_loop().time() + self._timeout
        link = self._link
        try:
            if link is None or link.ended:
                async with asyncio.timeout_at(end):
                    link = await self._connected()
            return await link.ask(number, request, end)
        except (OSError, ConnectionError, TimeoutError) as error:
            raise not_acknowledged(error) from None

    async def _connected(self) -> _Link:
        async with self._connecting:
            if self._link is None or self._link.ended:
                loop = asyncio.get_running_loop()
                _, self._link = await loop.create_unix_connection(_Link, self._path)
            return self._link


class _Link(asyncio.Protocol):
    """A connection to the logger, and who waits for which answer."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[LogReply]] = {}
        self.ended = False
        self._bytes = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(exc or ConnectionError("ended"))

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        at = 0
        while len(self._bytes) - at >= FRAME.size:
            length, number = FRAME.unpack_from(self._bytes, at)
            if length > LARGEST_REPLY:
                self.end(ConnectionError("not an answer of ours"))
                return
            if len(self._bytes) - at < FRAME.size + length:
                break
            at += FRAME.size
            self._answer(number, bytes(self._bytes[at : at + length]))
            at += length
        del self._bytes[:at]

    def _answer(self, number: int, data: bytes) -> None:
        future = self.waiting.pop(number, None)
        if future is None or future.done():
            return  # it came too late; whoever asked was told that nothing is certain
        try:
            future.set_result(_decoded(data))
        except ConnectionError as error:
            future.set_exception(error)

    async def ask(self, number: int, request: LogRequest, end: float) -> LogReply:
        """Send a request and wait for its answer, up to a time of the loop's clock."""
        if self.ended or self._transport is None:
            raise ConnectionError("ended")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[LogReply] = loop.create_future()
        self.waiting[number] = future
        late = loop.call_at(end, _too_late, future)
        try:
            self._transport.write(frame(number, request))
            return await future
        finally:
            late.cancel()
            self.waiting.pop(number, None)

    def end(self, error: Exception) -> None:
        """Tell everybody who waits."""
        self.ended = True
        if self._transport is not None:
            self._transport.abort()
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(error if isinstance(error, ConnectionError) else ConnectionError("ended"))
        self.waiting.clear()


def _too_late(future: asyncio.Future[LogReply]) -> None:
    if not future.done():
        future.set_exception(TimeoutError())


def not_acknowledged(error: BaseException) -> LogUnavailable:
    """The error for an entry that nobody says is written."""
    late = isinstance(error, TimeoutError)
    what = "did not answer in time" if late else "cannot be reached, or went away"
    return LogUnavailable(
        f"The logger {what}; the entry was not acknowledged.",
        hint="Withhold what depends on it. See that the logger runs.",
    )


def _given(reply: LogReply, kind: type[T]) -> T:
    """The answer that was asked for, or the error that it tells."""
    if isinstance(reply, kind):
        return reply
    if isinstance(reply, RequestFailed):
        error: type[DiscreetError] = {"entry": EntryRefused, "proof": ParameterError}.get(reply.code, LogUnavailable)
        raise error(reply.message, hint=reply.hint or "Withhold what depends on it.")
    raise not_acknowledged(ConnectionError("another answer"))


def _decoded(data: bytes) -> LogReply:
    try:
        reply: LogReply = reply_decoder.decode(data)
    except UNREADABLE:
        raise ConnectionError("not an answer of ours") from None
    return reply


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _received(link: socket.socket, length: int, end: float) -> bytes:
    data = b""
    while len(data) < length:
        link.settimeout(_left(end))
        more = link.recv(length - len(data))
        if not more:
            raise ConnectionError("ended")
        data += more
    return data


def _ended(link: socket.socket) -> bool:
    """Whether the other end of an idle connection is gone, or says what nobody asked for."""
    link.setblocking(False)
    try:
        link.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
