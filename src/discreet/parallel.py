"""Independent pieces of work in threads or processes, with results that do not depend on how many there are.

The solver and the kernels let other threads run meanwhile. Progress is reported in the thread of whoever asked: when
the listener there cancels, or the caller is interrupted, all pieces stop at their next step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Event
from typing import TypeVar

from discreet.errors import Cancelled, missing_extra
from discreet.progress import Step, checkpoint, onwards, reporting

Given = TypeVar("Given")
Made = TypeVar("Made")
LISTEN = 0.1
"""Seconds between two looks at how far the pieces are, and at whether somebody cancels."""


@contextmanager
def _pool(threads: int) -> Iterator[tuple[ThreadPoolExecutor, Event]]:
    """Threads, and the sign by which those that still work are told to stop."""
    stop = Event()
    pool = ThreadPoolExecutor(max(1, threads))
    try:
        yield pool, stop
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def in_order(
    work: Callable[[Given], Made], pieces: Sequence[Given], stage: str, before: int = 0, total: int | None = None
) -> Generator[Made, None, None]:
    """What every piece comes to, in the order of the pieces.

    There are as many threads as numba has (``NUMBA_NUM_THREADS``, by default one per processor). So many pieces are
    reported done of a ``total``, with those ``before`` these. When the results are closed early, pieces stop too.
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
    with _pool(threads) as (pool, stop):

        def heard(_: Step) -> None:
            if stop.is_set():
                raise Cancelled()

        def one(piece: Given) -> Made:
            with reporting(heard):
                return work(piece)

        for done, future in enumerate([pool.submit(one, piece) for piece in pieces]):  # noqa: B007
            listen()
            while not wait([future], timeout=LISTEN).done:
                listen()
            yield future.result()


def by_name(
    stage: str, work: Callable[[str, Given], Made], pieces: Mapping[str, Given], threads: int
) -> dict[str, Made]:
    """What every piece comes to, by name and in the order of the pieces; the listener hears of every piece."""
    heard: SimpleQueue[Step] = SimpleQueue()
    with _pool(min(threads, len(pieces))) as (pool, stop):

        def listen(step: Step) -> None:
            if stop.is_set():
                raise Cancelled()
            heard.put(step)

        def one(name: str, piece: Given) -> Made:
            with reporting(listen), onwards(f"{name}: "):
                checkpoint(stage, 0, 0)
                return work(name, piece)

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


def by_jobs(stage: str, work: Callable[[str, Given], Made], pieces: Mapping[str, Given], jobs: int) -> dict[str, Made]:
    """The same in processes of their own, through joblib: on this machine, or where its backend runs them.

    ``joblib.parallel_config(backend="dask")`` and others send the pieces to a cluster. What is sent is pickled.
    """
    try:
        from joblib import Parallel, delayed
    except ModuleNotFoundError:
        raise missing_extra("joblib", "jobs", "jobs=") from None
    checkpoint(stage, 0, len(pieces))
    found = Parallel(n_jobs=jobs)(delayed(work)(name, piece) for name, piece in pieces.items())
    checkpoint(stage, len(pieces), len(pieces))
    return dict(zip(pieces, found, strict=True))


def _tell(heard: SimpleQueue[Step]) -> None:
    """Report what was heard of the pieces since the last look."""
    while True:
        try:
            step = heard.get_nowait()
        except Empty:
            return
        checkpoint(*step)
