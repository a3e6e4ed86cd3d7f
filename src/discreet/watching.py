"""Progress on a terminal: one line that moves while the work goes on, and is gone afterwards.

Commands show it, and so do scripts: verbs that may take long are :func:`watched`. Where nobody sits at a terminal
nothing is shown, and :func:`show_progress` or ``DISCREET_PROGRESS=off`` switches it off.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from threading import Event, Thread
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from discreet.phases import Phases, Standing
from discreet.progress import Listener, Step, listened_to, reporting

Given = ParamSpec("Given")
Made = TypeVar("Made")
VARIABLE = "DISCREET_PROGRESS"
OFF = ("0", "no", "off", "false", "never")
PATIENCE = 1.0
"""Seconds before anything is shown: what is quick needs no bar."""
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_FRAMES = "|/-\\"
REDRAWN = 0.12
"""Seconds between two frames."""
QUIET = 10.0
"""Seconds between two lines about the same phase in a log."""
_asked: list[bool] = []
"""What :func:`show_progress` was told last."""


def show_progress(shown: bool = True) -> None:
    """Show progress of long work in this process, or do not.

    Scripts show it on a terminal unless told otherwise here or by the environment (``DISCREET_PROGRESS=off``).

    Examples
    --------
    >>> import discreet as ds
    >>> ds.show_progress(False)
    """
    _asked[:] = [shown]


def wanted() -> bool:
    """Whether progress is shown where it can be."""
    if _asked:
        return _asked[0]
    return os.environ.get(VARIABLE, "").strip().lower() not in OFF


def watched(verb: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let a verb show its progress, unless whoever calls it listens already."""

    @wraps(verb)
    def shown(*args: Given.args, **options: Given.kwargs) -> Made:
        with nullcontext() if listened_to() or not wanted() else display():
            return verb(*args, **options)

    return shown


def display() -> AbstractContextManager[None]:
    """Show the progress of the block where somebody can see it: on a terminal, and nowhere else."""
    return moving_line(sys.stderr) if can_move(sys.stderr) else nullcontext()


def can_move(stream: Any) -> bool:
    """Whether a line can be drawn anew on a stream: a terminal that knows how to."""
    return bool(stream) and stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


@contextmanager
def moving_line(stream: Any) -> Iterator[None]:
    """A line that is drawn anew by a thread, so that it moves while a long step does not report."""
    line = _MovingLine(stream)
    line.start()
    try:
        with reporting(line.hear):
            yield
    finally:
        line.stop()


class _MovingLine:
    def __init__(self, stream: Any) -> None:
        self._stream, self._phases, self._ended = stream, Phases(), Event()
        self._standing: Standing | None = None
        self._thread = Thread(target=self._draw, daemon=True)
        unicode = "utf" in (getattr(stream, "encoding", None) or "").lower()
        self._frames = FRAMES if unicode else PLAIN_FRAMES

    def hear(self, step: Step) -> None:
        self._standing = self._phases.hear(step)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _draw(self) -> None:
        if self._ended.wait(PATIENCE):
            return
        drawn = 0
        try:
            while not self._ended.is_set():
                if self._standing is not None:
                    text = f"{self._frames[drawn % len(self._frames)]} {self._standing}"
                    width = shutil.get_terminal_size().columns - 1
                    self._stream.write(f"\r\x1b[2K{text[:width]}")
                    self._stream.flush()
                    drawn += 1
                self._ended.wait(REDRAWN)
            if drawn:
                self._stream.write("\r\x1b[2K")
                self._stream.flush()
        except (OSError, ValueError):
            return  # the terminal is gone or closed: the work does not depend on being watched


def log_lines(write: Callable[[str], None], clock: Callable[[], float] = monotonic) -> Listener:
    """A listener for logs: a line when a phase begins, and now and then while it lasts."""
    phases = Phases(clock)
    last: dict[str, tuple[float, int]] = {}

    def listen(step: Step) -> None:
        standing, now = phases.hear(step), clock()
        quarter = int(4 * (standing.share or 0))
        if standing.phase not in last:
            write(standing.phase)
        else:
            then, before = last[standing.phase]
            if quarter <= before or now - then < QUIET:
                return
            write(str(standing))
        last[standing.phase] = (now, quarter)

    return listen
