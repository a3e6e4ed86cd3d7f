"""Signals: work stops cleanly, says truly what was written, and is never cut in the middle of one step.

SIGINT (Ctrl-C) and SIGTERM are treated alike. On the command line :func:`handled` turns them into :class:`Stopped`;
in Python they stay what the program makes of them. Either way they wait while :func:`uninterrupted` is in force, and
:func:`written` keeps a list of what was put in its place, so that whoever reports the stop does not guess.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""In the order in which they are given back: SIGINT, which comes from the keyboard and most often, last."""
_written: list[str] = []


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
    raise Stopped(number)


def install() -> None:
    """Let signals raise :class:`Stopped` from here to the end of the process."""
    _replaced(_stop)


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
    before = _replaced(lambda number, _: came.append(number))
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
