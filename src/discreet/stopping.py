"""Signals: work stops cleanly, says truly what was written, and is never cut in the middle of one step.

SIGINT (Ctrl-C) and SIGTERM are treated alike. On the command line :func:`handled` turns them into :class:`Stopped`;
in Python they stay what the program makes of them. Either way they wait while :func:`uninterrupted` is in force, and
:func:`written` keeps a list of what was put in its place, so that whoever reports the stop does not guess.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""In the order in which they are given back: SIGINT, which comes from the keyboard and most often, last."""
PATIENCE = 10.0
"""Seconds that compiled code has to come to its end after a signal."""
_written: list[str] = []
_taken: list[int] = []
"""Signals that were taken up: raised, or put off until a step is done."""


class Stopped(BaseException):
    """A signal asked to stop. No error, so that nothing that handles errors takes it for one."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}")

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that a signal ended."""
        return 128 + self.number


def _stop(number: int, _: FrameType | None) -> NoReturn:
    _taken.append(number)
    raise Stopped(number)


def install() -> None:
    """Let signals raise :class:`Stopped` from here to the end of the process.

    Python handles signals between its own steps. Where compiled code does not come to its end, a thread ends the
    process: at the second signal, or when the first has waited for too long.
    """
    _replaced(_stop)
    heard, told = os.pipe()
    for end in (heard, told):
        os.set_blocking(end, end == heard)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=[heard], daemon=True).start()


def _watch(heard: int) -> None:
    """End the process when a signal is not taken up; a release that was begun is removed by the next save."""
    while True:
        before = len(_taken)
        number = _next(heard, None)
        end = time.monotonic() + PATIENCE
        while number is not None and len(_taken) == before:
            if _next(heard, 0.1) is not None:
                end = min(end, time.monotonic() + PATIENCE / 10)
            if time.monotonic() > end:
                os.write(2, f"{sentence(Stopped(number))}\n".encode())
                os._exit(128 + number)


def _next(heard: int, patience: float | None) -> int | None:
    """The next of our signals, within some seconds."""
    while select.select([heard], [], [], patience)[0]:
        number = os.read(heard, 1)[0]
        if number in SIGNALS:
            return number
    return None


@contextmanager
def handled() -> Iterator[None]:
    """Let signals raise :class:`Stopped` inside the block; those that the parent had us ignore stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _replaced(_stop)
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals wait until the end of the block, for steps that must be done whole or not at all; keep them short."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread only
        return
    came: list[int] = []

    def put_off(number: int, _: FrameType | None) -> None:
        _taken.append(number)
        came.append(number)

    before = _replaced(put_off)
    try:
        yield
    finally:
        _restore(before)
        if came:
            signal.raise_signal(signal.Signals(came[0]))


def ignore() -> None:
    """Ignore further signals: the process has said what there was to say and is about to end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _replaced(handler: Any) -> dict[signal.Signals, Any]:
    before: dict[signal.Signals, Any] = {}
    for number in SIGNALS:
        # None was set by other code than Python's and could not be given back.
        if signal.getsignal(number) not in (None, signal.SIG_IGN):
            before[number] = signal.signal(number, handler)
    return before


def _restore(before: dict[signal.Signals, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


def written(path: Path) -> None:
    """Note that a file or folder stands in its place, complete."""
    _written.append(str(path))


def forget_written() -> None:
    """Begin a new list of what was written."""
    _written.clear()


def sentence(stop: Stopped) -> str:
    """What is true after a stop."""
    done = ", ".join(repr(Path(path).name) for path in what_was_written())
    name = signal.Signals(stop.number).name
    if not done:
        return f"Stopped by {name}. Nothing was written; what was there before is unchanged."
    return (
        f"Stopped by {name}, after {done} had been written. What is there is complete; check a release again before "
        "you publish it: discreet verify FOLDER"
    )


def what_was_written() -> tuple[str, ...]:
    """What was put in its place since the list began, in order."""
    return tuple(dict.fromkeys(_written))
