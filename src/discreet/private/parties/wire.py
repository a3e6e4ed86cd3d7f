"""Frames on a line between a party and the coordinator: typed, of limited size, and never silent for long."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Literal, Protocol

import msgspec

from discreet.private.problems import ProtocolError

FRAME_VERSION = 1
MOST_BYTES = 2**30
"""Of one frame."""
PIECE = 2**18
ALIVE_EVERY = 1.0
"""Seconds between signs of life."""
SILENCE = 6.0
"""Seconds without any byte after which the other end counts as gone."""
NOT_LET_IN = b"not let in"
"""What the coordinator says to a party that is not expected, or is there already."""
FrameKind = Literal["hello", "start", "message", "alive", "done", "end", "stop"]


class WireFrame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What passes on a line.

    Parameters
    ----------
    kind
        ``hello`` of a party; ``start`` when all are there; ``message``; ``alive``; ``done`` of a party that has all
        it needs; ``end`` when all are done; ``stop`` when there will be no result.
    party
        To whom, or from whom; of ``stop``, who ended the run.
    number
        Of the round.
    body
        A sealed message; of ``stop``, the name of the problem.
    version
        Of the frames.
    """

    kind: FrameKind
    party: str = ""
    number: int = 0
    body: bytes = b""
    version: int = FRAME_VERSION


class LineLost(Exception):
    """The other end is gone, silent, or speaks something else."""


class Line(Protocol):
    """Where frames go to and come from."""

    async def send(self, frame: WireFrame) -> None:
        """Send a frame."""
        ...

    async def receive(self) -> WireFrame:
        """The next frame; raises :class:`LineLost`."""
        ...

    async def close(self) -> None:
        """End the line."""
        ...


class _LastingReader(asyncio.StreamReader):
    """A reader for which a broken connection ends like a closed one: what came before is still read."""

    def set_exception(self, exc: BaseException) -> None:
        """Note that nothing more will come."""
        self.feed_eof()


async def connected_line(host: str, port: int, context: ssl.SSLContext | None) -> StreamLine:
    """A line to whoever listens there."""
    loop = asyncio.get_running_loop()
    reader = _LastingReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    name = None if context is None else host
    transport, _ = await loop.create_connection(lambda: protocol, host, port, ssl=context, server_hostname=name)
    return StreamLine(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


class StreamLine:
    """A line over a stream, as TLS connections are; ``counts`` says whether the other's certificate still does."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        counts: Callable[[], bool] = lambda: True,
    ) -> None:
        self._reader, self._writer, self._turn, self._counts = reader, writer, asyncio.Lock(), counts

    async def send(self, frame: WireFrame) -> None:
        """Send a frame, piece by piece."""
        data = msgspec.msgpack.encode(frame)
        if len(data) > MOST_BYTES:
            raise ProtocolError(
                "too much work", f"A message has {len(data):,} bytes.", hint=f"At most {MOST_BYTES:,} can be sent."
            )
        try:
            async with self._turn:
                whole = len(data).to_bytes(8, "big") + data
                for at in range(0, len(whole), PIECE):
                    if self._writer.is_closing():
                        raise LineLost("closed")
                    self._writer.write(whole[at : at + PIECE])
                    await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise LineLost(type(error).__name__) from error

    async def receive(self) -> WireFrame:
        """The next frame; whoever sends nothing for a while is gone."""
        length = int.from_bytes(await self._bytes(8), "big")
        if length > MOST_BYTES:
            raise LineLost("too long")
        if not self._counts():
            raise LineLost("its certificate no longer counts")
        try:
            frame = msgspec.msgpack.decode(await self._bytes(length), type=WireFrame)
        except msgspec.MsgspecError as error:
            raise LineLost("no frame") from error
        if frame.version != FRAME_VERSION:
            raise ProtocolError(
                "wrong version",
                f"The other end speaks version {frame.version} of frames, this one {FRAME_VERSION}.",
                hint="Use the same version of discreet at all parties.",
            )
        return frame

    async def _bytes(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            try:
                piece = await asyncio.wait_for(self._reader.read(min(PIECE, count - len(found))), SILENCE)
            except (OSError, TimeoutError) as error:
                raise LineLost(type(error).__name__) from error
            if not piece:
                raise LineLost("closed")
            found += piece
        return bytes(found)

    async def close(self) -> None:
        """End the connection; what was sent goes out first."""
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):  # the other end may be gone
            await asyncio.wait_for(self._writer.wait_closed(), 1.0)


class MemoryLine:
    """One end of a line within a process."""

    def __init__(self, here: asyncio.Queue[WireFrame | None], there: asyncio.Queue[WireFrame | None]) -> None:
        self._here, self._there = here, there

    async def send(self, frame: WireFrame) -> None:
        """Send a frame."""
        await self._there.put(frame)

    async def receive(self) -> WireFrame:
        """The next frame."""
        frame = await self._here.get()
        if frame is None:
            raise LineLost("closed")
        return frame

    async def close(self) -> None:
        """End the line."""
        await self._there.put(None)


def memory_lines() -> tuple[MemoryLine, MemoryLine]:
    """Both ends of a line within a process."""
    one: asyncio.Queue[WireFrame | None] = asyncio.Queue()
    other: asyncio.Queue[WireFrame | None] = asyncio.Queue()
    return MemoryLine(one, other), MemoryLine(other, one)


@contextlib.asynccontextmanager
async def kept_alive(line: Line) -> AsyncIterator[None]:
    """Give signs of life while the block runs."""

    async def beat() -> None:
        with contextlib.suppress(LineLost):  # whoever reads the line sees it, too
            while True:
                await asyncio.sleep(ALIVE_EVERY)
                await line.send(WireFrame("alive"))

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def stopped_by(frame: WireFrame, done: bool = False) -> ProtocolError:
    """The error of all others when somebody ended the run; of a party that was done, nobody but the carrier says so."""
    why = frame.body.decode(errors="replace")
    if why == "party left":
        return ProtocolError(
            "party left",
            f"{frame.party} is gone; nobody has a result{', as the coordinator says' if done else ''}.",
            hint="Start again with all parties; without it, after sums were opened with it, its part would show.",
        )
    if why == "party unreachable":
        return ProtocolError("party unreachable", f"{frame.party} did not come.", hint="Start again when it is there.")
    if frame.body == NOT_LET_IN:
        return ProtocolError(
            "refused by a party",
            "This party is not let in: it is not expected there, or one of its name is there already.",
            hint="Compare names, and see whether an earlier command of yours still waits.",
        )
    return ProtocolError(
        "refused by a party", f"{frame.party} ended the run: {why}.", hint="Ask there; nobody has a result."
    )
