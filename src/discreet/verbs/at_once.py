"""Pieces of work at the same time, with progress and cancellation in the thread of whoever asked for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from threading import Event
from typing import TypeVar

from discreet.errors import Cancelled
from discreet.progress import Step, checkpoint, onwards, reporting

Given = TypeVar("Given")
Made = TypeVar("Made")
LISTEN = 0.1
"""Seconds between two looks at how far the pieces are."""


def at_once(
    stage: str, work: Callable[[str, Given], Made], pieces: Mapping[str, Given], threads: int
) -> dict[str, Made]:
    """What every piece comes to, by name and in the order of the pieces, however many threads there are.

    The solver and the kernels let other threads run meanwhile. The listener of the caller hears of every piece, and
    when it cancels, or the caller is interrupted, all pieces stop at their next step.
    """
    heard: SimpleQueue[Step] = SimpleQueue()
    stop = Event()

    def listen(step: Step) -> None:
        if stop.is_set():
            raise Cancelled()
        heard.put(step)

    def one(name: str, piece: Given) -> Made:
        with reporting(listen), onwards(f"{name}: "):
            checkpoint(stage, 0, 0)
            return work(name, piece)

    pool = ThreadPoolExecutor(max(1, min(threads, len(pieces))))
    try:
        futures = {name: pool.submit(one, name, piece) for name, piece in pieces.items()}
        waiting: set[Future[Made]] = set(futures.values())
        checkpoint(stage, 0, len(pieces))
        while waiting:
            done, waiting = wait(waiting, timeout=LISTEN)
            _tell(heard)
            for future in done:
                future.result()
            if done:
                checkpoint(stage, len(pieces) - len(waiting), len(pieces))
        return {name: future.result() for name, future in futures.items()}
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _tell(heard: SimpleQueue[Step]) -> None:
    """Report what was heard of the pieces since the last look."""
    while True:
        try:
            step = heard.get_nowait()
        except Empty:
            return
        checkpoint(*step)
