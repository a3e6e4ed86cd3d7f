"""Independent pieces of work at the same time, with results that do not depend on how many threads there are."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def in_order(work: Callable[[Given], Made], pieces: Sequence[Given]) -> Generator[Made, None, None]:
    """What every piece comes to, in the order of the pieces.

    The solver and the kernels let other threads run meanwhile. There are as many threads as numba has
    (``NUMBA_NUM_THREADS``, by default one a processor). Whoever closes it early leaves the rest undone.
    """
    import numba

    threads = min(numba.get_num_threads(), len(pieces))
    if threads < 2:
        yield from map(work, pieces)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(work, pieces)
    finally:
        pool.shutdown(cancel_futures=True)
