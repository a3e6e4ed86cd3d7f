"""Independent pieces of work at the same time, with results that do not depend on how many threads there are."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from threading import Event
from typing import TypeVar

from discreet.errors import Cancelled
from discreet.progress import Step, reporting

Given = TypeVar("Given")
Made = TypeVar("Made")
LISTEN = 0.25
"""Seconds between two looks at whether somebody cancels."""


def in_order(
    work: Callable[[Given], Made], pieces: Sequence[Given], listen: Callable[[], None]
) -> Generator[Made, None, None]:
    """What every piece comes to, in the order of the pieces.

    The solver and the kernels let other threads run meanwhile. There are as many threads as numba has
    (``NUMBA_NUM_THREADS``, by default one a processor). ``listen`` is called now and then in the thread of the caller;
    when it raises, or whoever reads the results closes them early, pieces stop at their next step.
    """
    import numba

    threads = min(numba.get_num_threads(), len(pieces))
    if threads < 2:
        outside = copy_context()
        for piece in pieces:
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
        for future in [pool.submit(one, piece) for piece in pieces]:
            while not wait([future], timeout=LISTEN).done:
                listen()
            yield future.result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
