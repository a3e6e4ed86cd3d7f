"""A party on a line: works in a thread of its own, so that signs of life go on while it computes."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from discreet.errors import DiscreetError
from discreet.private.parties.rounds import Heard, SealedRound, SealedTalk
from discreet.private.parties.wire import Line, LineLost, WireFrame, kept_alive, stopped_by
from discreet.private.problems import ProtocolError
from discreet.progress import checkpoint

T = TypeVar("T")
MOST_WAITING = 1024
"""Messages of later rounds that are kept."""
LAST_WORD = 1.0
"""Seconds to wait for the reason when a line breaks."""


def line_gone() -> ProtocolError:
    """The error of a party whose line breaks without a word."""
    return ProtocolError(
        "party left", "The coordinator is gone; nobody has a result.", hint="Start again when it is there."
    )


def end_not_heard() -> ProtocolError:
    """The error of a party that was done, as all were, and was not told that the run is over."""
    return ProtocolError(
        "end not heard",
        "All parties were done when the coordinator left; others may have their result, here is none.",
        hint="Do the same again with the same records: it gives the same result and shows nothing more. A union needs "
        "another purpose, on which both agree.",
    )


class _Finished(Generic[T]):
    """What a talk ended with."""

    def __init__(self, value: T) -> None:
        self.value = value


class PartyMember(Generic[T]):
    """Runs the talk of one party over a line.

    Parameters
    ----------
    me
        The party.
    talk
        What it does.
    line
        To the coordinator.
    """

    def __init__(self, me: str, talk: SealedTalk[T], line: Line) -> None:
        self.me, self._talk, self._line = me, talk, line
        self._inbox: dict[tuple[int, str], bytes] = {}
        self._now = -1
        self._news = asyncio.Event()
        self._started, self._ended = asyncio.Event(), asyncio.Event()
        self._done = False

    async def run(self) -> T:
        """Work to the end of the run, which is when all parties are done and the coordinator has said so.

        Nobody has a result before all are done. When the coordinator leaves while it says so, some may have heard it;
        all others end with ``end not heard``, and never with a name that means that nobody has a result.

        Raises
        ------
        ProtocolError
            When this party, another one or the line ends the run; there is no result then.
        """
        async with kept_alive(self._line):
            reading = asyncio.create_task(self._read())
            working = asyncio.create_task(self._work())
            try:
                await asyncio.wait({reading, working}, return_when=asyncio.FIRST_COMPLETED)
                if working.done() and isinstance(working.exception(), LineLost):
                    await asyncio.wait({reading}, timeout=LAST_WORD)  # it may say why
                if reading.done():
                    reading.result()
                return await working
            except LineLost:
                raise self._gone() from None
            except DiscreetError as error:
                await self._leave(error)
                raise
            finally:
                for task in (reading, working):
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError, DiscreetError, LineLost):
                        await task

    async def _leave(self, error: DiscreetError) -> None:
        """Tell the others the name of the problem, and nothing else of it."""
        why = error.kind if isinstance(error, ProtocolError) else "refused by a party"
        with contextlib.suppress(LineLost):
            await self._line.send(WireFrame("stop", body=why.encode()))

    async def _work(self) -> T:
        await self._line.send(WireFrame("hello", self.me))
        await self._started.wait()
        step = await in_thread(lambda: _step(self._talk, None))
        while not isinstance(step, _Finished):
            self._now = step.number
            for to, body in step.says.items():
                await self._line.send(WireFrame("message", to, step.number, body))
            heard = await self._heard(step)
            step = await in_thread(lambda heard=heard: _step(self._talk, heard))  # type: ignore[misc]
        self._done = True  # from here on the coordinator may end the run, and others have their results
        await self._line.send(WireFrame("done"))
        await self._ended.wait()
        value: T = step.value
        return value

    async def _heard(self, step: SealedRound) -> Heard:
        wanted = {(step.number, name) for name in step.hears}
        while not wanted <= self._inbox.keys():
            checkpoint("parties", 0, 1)
            self._news.clear()
            await self._news.wait()
        self._now = step.number + 1
        return {name: self._inbox.pop((step.number, name)) for name in step.hears}

    async def _read(self) -> None:
        try:
            while True:
                frame = await self._line.receive()
                if frame.kind == "message":
                    self._keep(frame)
                elif frame.kind == "start":
                    self._started.set()
                elif frame.kind == "end":
                    if not self._done:
                        raise ProtocolError(
                            "tampered",
                            "The coordinator ended the run before this party was done.",
                            hint="Nothing of it is used; look for who alters messages.",
                        )
                    self._ended.set()
                    return
                elif frame.kind == "stop":
                    raise stopped_by(frame, done=self._done)
        except LineLost:
            raise self._gone() from None

    def _gone(self) -> ProtocolError:
        return end_not_heard() if self._done else line_gone()

    def _keep(self, frame: WireFrame) -> None:
        key = (frame.number, frame.party)
        if key in self._inbox or frame.number < self._now or len(self._inbox) >= MOST_WAITING:
            raise ProtocolError(
                "replayed message",
                f"{frame.party} sent a message of round {frame.number} again, or too many.",
                hint="Start the run again; if it happens again, look for who alters messages.",
            )
        self._inbox[key] = frame.body
        self._news.set()


def _step(talk: SealedTalk[T], heard: Heard | None) -> SealedRound | _Finished[T]:
    try:
        return next(talk) if heard is None else talk.send(heard)
    except StopIteration as stop:
        return _Finished(stop.value)


async def in_thread(work: Callable[[], T]) -> T:
    """Run some work in a thread that nobody waits for when the run is over."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = copy_context()  # whoever listens to progress hears of the thread's

    def settle(value: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value, failed = None, None
        try:
            value = context.run(work)
        except BaseException as error:  # handed on to whoever waits
            failed = error
        with contextlib.suppress(RuntimeError):  # the run is over, and its loop closed
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=run, daemon=True, name="discreet party").start()
    found: T = await done
    return found
