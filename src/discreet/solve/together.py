"""Independent pieces of work at the same time, with results that do not depend on how many threads there are."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event
from typing import TypeVar

from discreet.errors import Cancelled
from discreet.progress import Step, checkpoint, reporting

Given = TypeVar("Given")
Made = TypeVar("Made")
LISTEN = 0.25
"""Seconds between two looks at whether somebody cancels."""


def in_order(
    work: Callable[[Given], Made], pieces: Sequence[Given], stage: str, before: int = 0, total: int | None = None
) -> Generator[Made, None, None]:
    """What every piece comes to, in the order of the pieces.

    The solver and the kernels let other threads run meanwhile. There are as many threads as numba has
    (``NUMBA_NUM_THREADS``, by default one a processor). Progress is reported in the thread of the caller: so many
    pieces are done of a ``total``, with those ``before`` these. Whoever hears it may cancel; then, and when the results
    are closed early, pieces stop at their next step.
    """
    import numba

    done = 0

    def listen() -> None:
        checkpoint(stage, before + done, len(pieces) if total is None else total)

    threads = min(numba.get_num_threads(), len(pieces))
    if threads < 2:
        outside = copy_context()
        for done, piece in enumerate(pieces):  # noqa: B007
            listen()
            with reporting(lambda _: outside.run(listen)):
                made = work(piece)
            yield made
        return
    stop = Event()

    def heard(_: Step) -> None:
        if stop.is_set():
            raise Cancelled()

    def one(piece: Given) -> Made:
        with reporting(heard):
            return work(piece)

    pool = ThreadPoolExecutor(threads)
    try:
        for done, future in enumerate([pool.submit(one, piece) for piece in pieces]):  # noqa: B007
            listen()
            while not wait([future], timeout=LISTEN).done:
                listen()
            yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
