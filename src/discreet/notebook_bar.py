"""A progress bar below the cell of a notebook, for work that takes more than a moment."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from importlib import import_module
from threading import Lock
from time import monotonic
from typing import Any, Protocol

from discreet.progress import Step, listen_by_default

PATIENCE = 0.8
"""Seconds of work before a bar appears: quick answers have none."""
PAUSE = 0.25
"""Seconds between two pictures of the bar."""


class Shown(Protocol):
    """Something on the screen that can be exchanged."""

    def update(self, content: Any) -> None:
        """Show this instead."""


class NotebookBar:
    """Shows the steps of the work of one cell after the other; ``end`` takes the bar away.

    Parameters
    ----------
    show
        Puts markup on the screen and gives back what can be exchanged there.
    clock
        The seconds now.
    """

    def __init__(self, show: Callable[[str], Shown], clock: Callable[[], float] = monotonic) -> None:
        self._show, self._clock, self._lock = show, clock, Lock()
        self._began: float | None = None
        self._drawn, self._shown = 0.0, None

    _shown: Shown | None

    def __call__(self, step: Step) -> None:
        """Draw a step, unless the bar was drawn a moment ago."""
        if not self._lock.acquire(blocking=False):
            return  # another thread draws
        try:
            now = self._clock()
            if self._began is None:
                self._began = now
            if now - self._began < PATIENCE or (self._shown is not None and now - self._drawn < PAUSE):
                return
            self._drawn = now
            markup = bar_markup(step, now - self._began)
            if self._shown is None:
                self._shown = self._show(markup)
            else:
                self._shown.update(markup)
        finally:
            self._lock.release()

    def end(self, *_result: object) -> None:
        """The cell has run: take the bar away, and wait for the next."""
        with self._lock:
            if self._shown is not None:
                self._shown.update("")
            self._began, self._shown = None, None


def bar_markup(step: Step, seconds: float) -> str:
    """A step as a bar, its name, its share and the time since the work began."""
    since = f"{seconds:.0f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    if not step.total:
        return f"<div><progress></progress> {escape(step.stage)} &middot; {since}</div>"
    share = min(step.done / step.total, 1.0)
    return f'<div><progress value="{share:.4f}"></progress> {escape(step.stage)}: {share:.0%} &middot; {since}</div>'


def watch() -> bool:
    """Show progress where this process is the kernel of a notebook; says whether it is."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:
        return False
    display = import_module("IPython.display")

    class Markup:
        """Markup on the screen of the notebook."""

        def __init__(self, markup: str) -> None:
            self._handle = display.display(display.HTML(markup), display_id=True)

        def update(self, content: Any) -> None:
            self._handle.update(display.HTML(content))

    bar = NotebookBar(Markup)
    shell.events.register("post_run_cell", bar.end)  # type: ignore[union-attr]
    listen_by_default(bar)
    return True
