"""The coordinator: carries sealed messages between parties, and ends the run at all of them when one is gone.

It reads no message. What it sees are names, rounds and lengths.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from discreet.private.parties.together import CARRIER
from discreet.private.parties.wire import NOT_LET_IN, Line, LineLost, WireFrame, kept_alive, stopped_by
from discreet.private.problems import KINDS, ProtocolError
from discreet.private.retrieval.frames import Transcript

PATIENCE = 600.0
"""Seconds to wait for all parties."""


class Relay:
    """One run between parties.

    Parameters
    ----------
    parties
        Who must come.
    record
        Takes down what passes.
    """

    def __init__(self, parties: Sequence[str], record: Transcript | None = None) -> None:
        self.parties, self._record = tuple(parties), record
        self._lines: dict[str, Line] = {}
        self._done: set[str] = set()
        self._started = self._decided = False
        self._outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def member(self, name: str, line: Line) -> None:
        """Serve one party until the end of the run; one that is not expected, or is there already, is sent away."""
        if name not in self.parties or name in self._lines or self._outcome.done():
            await told(line, WireFrame("stop", CARRIER, body=NOT_LET_IN))
            return
        self._lines[name] = line
        try:
            async with kept_alive(line):
                if len(self._lines) == len(self.parties):
                    self._started = True
                    await self._tell_all(WireFrame("start"))
                while not self._outcome.done():
                    await self._carry(name, await line.receive())
        except LineLost:
            await self.stop(name, "party left")
        except ProtocolError as error:
            await self.stop(name, error.kind)

    async def _carry(self, name: str, frame: WireFrame) -> None:
        if frame.kind == "message":
            if frame.party not in self._lines or frame.party == name or not self._started:
                raise ProtocolError("tampered", f"{name} writes to nobody.")
            if self._record is not None:
                what = f"sealed for {frame.party}" if frame.number else f"greeting for {frame.party}"
                self._record.passed(name, CARRIER, what, frame.body)
            with contextlib.suppress(LineLost):  # who serves that party sees it, too
                await self._lines[frame.party].send(WireFrame("message", name, frame.number, frame.body))
        elif frame.kind == "done":
            self._done.add(name)
            if len(self._done) == len(self.parties) and not self._outcome.done():
                self._decided = True  # whoever leaves from here on leaves the others their results
                await self._tell_all(WireFrame("end"))
                self._finish(None)
        elif frame.kind == "stop":
            why = frame.body.decode(errors="replace")
            await self.stop(name, why if why in KINDS else "refused by a party")
        elif frame.kind != "alive":
            raise ProtocolError("tampered", f"{name} says what parties do not say.")

    async def stop(self, name: str, why: str) -> None:
        """End the run at all parties; the first reason counts."""
        if self._outcome.done() or self._decided:
            return
        frame = WireFrame("stop", name, body=why.encode())
        self._finish(stopped_by(frame))
        await self._tell_all(frame)

    async def _tell_all(self, frame: WireFrame) -> None:
        await asyncio.gather(*(told(line, frame) for line in self._lines.values()))

    def _finish(self, error: ProtocolError | None) -> None:
        if self._outcome.done():
            return
        if error is None:
            self._outcome.set_result(None)
        else:
            self._outcome.set_exception(error)

    async def outcome(self, patience: float = PATIENCE) -> None:
        """Wait for the end of the run.

        Raises
        ------
        ProtocolError
            When it ended without results.
        """
        try:
            await asyncio.wait_for(self._all_there(), patience)
        except TimeoutError:
            missing = [name for name in self.parties if name not in self._lines]
            await self.stop(missing[0], "party unreachable")
        await self._outcome

    async def _all_there(self) -> None:
        while not self._started and not self._outcome.done():
            await asyncio.sleep(0.02)


async def told(line: Line, frame: WireFrame) -> None:
    """Send, unless the other end is gone."""
    with contextlib.suppress(LineLost):
        await line.send(frame)
