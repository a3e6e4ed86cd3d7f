"""Independent pieces of work in threads or processes, with results that do not depend on how many there are.

The solver and the kernels let other threads run meanwhile. Progress is reported in the thread of whoever asked: when
the listener there cancels, or the caller is interrupted, all pieces stop at their next step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, NamedTuple, TypeVar

from discreet.errors import Cancelled, DiscreetError, ParameterError, missing_extra
from discreet.progress import Step, checkpoint, onwards, reporting

Given = TypeVar("Given")
Made = TypeVar("Made")
Piece = TypeVar("Piece")
LISTEN = 0.1
"""Seconds between two looks at how far the pieces are, and at whether somebody cancels."""
ROWS = 100_000
"""Rows that :func:`by_rows` shares out together."""
_jobs: ContextVar[int | None] = ContextVar("discreet_jobs", default=None)


@contextmanager
def sharing(jobs: int | None) -> Iterator[None]:
    """Let so many processes share the independent pieces of all work inside the block; ``None`` changes nothing."""
    if jobs is None:
        yield
        return
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ParameterError(f"jobs={jobs!r} is not allowed.", hint="Give a whole number of at least 1.")
    if jobs > 1:
        _joblib()  # missing, it is named before the work begins
    token = _jobs.set(jobs)
    try:
        yield
    finally:
        _jobs.reset(token)


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


def shared(
    work: Callable[[Given], Made],
    given: Callable[[Piece], Given],
    pieces: Sequence[Piece],
    stage: str,
    before: int = 0,
    total: int | None = None,
    *,
    threads: bool = True,
) -> Generator[Made, None, None]:
    """What every piece comes to, in the order of the pieces, by as many processes as :func:`sharing` asked for.

    They run where joblib's backend runs them (``joblib.parallel_config(backend="dask")``, ``"ray"``, ``"spark"``), and
    get nothing but ``work``, which is a function of a module or a method of plain parameters, and what ``given`` makes
    here of a piece shortly before its turn. Neither may hold a key. Without them it is done by :func:`in_order`, or in
    this thread.

    Progress is reported, and cancelling heard, after every piece, or after the last where a backend gives all results
    at once; processes are ended then, threads of a backend end their pieces.
    """
    jobs = _jobs.get() or 1
    if jobs > 1 and len(pieces) > 1:
        yield from _elsewhere(work, given, pieces, (stage, before, len(pieces) if total is None else total), jobs)
    elif threads:
        with closing(in_order(lambda piece: work(given(piece)), pieces, stage, before, total)) as results:
            yield from results
    else:
        whole = len(pieces) if total is None else total
        for done, piece in enumerate(pieces, start=1):
            made = work(given(piece))
            if whole > 1:
                checkpoint(stage, before + done, whole)
            yield made


def by_rows(work: Callable[..., Made], *columns: Any) -> list[Made]:
    """What becomes of rows each for itself, part by part in their order, shared out as :func:`shared` does it.

    Where :func:`sharing` did not ask for several processes, or rows are few, there is one part, and it is worked on
    here. Neither ``work`` nor the columns, which are arrays of numpy, may hold a key: what is drawn for rows is given
    as a column.
    """
    rows = len(columns[0])
    if (_jobs.get() or 1) < 2 or rows <= ROWS:
        return [work(*columns)]
    parts = [slice(first, first + ROWS) for first in range(0, rows, ROWS)]

    def given(part: slice) -> tuple[Any, ...]:
        return tuple(column[part] for column in columns)

    with closing(shared(partial(_spread, work), given, parts, "rows")) as results:
        return list(results)


def _spread(work: Callable[..., Made], columns: tuple[Any, ...]) -> Made:
    return work(*columns)


class _Failed(NamedTuple):
    """An error of a piece: it comes back as a value, so that no log of a cluster shows what it says."""

    error: Exception


def _tried(work: Callable[[Given], Made], given: Given | _Failed) -> Made | _Failed:
    """What a piece comes to, in whichever process; it is not shared out any further."""
    if isinstance(given, _Failed):
        return given
    token = _jobs.set(None)
    try:
        return work(given)
    except Exception as error:
        return _Failed(error.with_traceback(None))
    finally:
        _jobs.reset(token)


def _elsewhere(
    work: Callable[[Given], Made],
    given: Callable[[Piece], Given],
    pieces: Sequence[Piece],
    told: tuple[str, int, int],
    jobs: int,
) -> Generator[Made, None, None]:
    """The same through joblib."""
    joblib = _joblib()

    def sent(piece: Piece) -> Given | _Failed:
        try:
            return given(piece)
        except Exception as error:  # joblib asks in threads of its own, where an error would not be heard
            return _Failed(error)

    stage, before, total = told
    # Nothing is laid down in files on the way (max_nbytes): it is confidential.
    options: dict[str, Any] = {"n_jobs": jobs, "max_nbytes": None}
    try:
        parallel = joblib.Parallel(**options, return_as="generator")
    except ValueError:  # the backend has lists only
        parallel = joblib.Parallel(**options)
    checkpoint(stage, before, total)
    calls = (joblib.delayed(_tried)(work, sent(piece)) for piece in pieces)
    with closing(_heard(parallel, calls)) as results:
        for done, found in enumerate(results, start=1):
            if isinstance(found, _Failed):
                raise found.error from None
            checkpoint(stage, before + done, total)
            yield found


def _heard(parallel: Any, calls: Iterator[Any]) -> Generator[Any, None, None]:
    """What joblib brings back; what it raises itself is told without what it says, which may hold values."""
    results: Any = ()
    try:
        results = parallel(calls)
        for found in results:  # noqa: UP028  # it would close it out of reach of what follows
            yield found
    except Exception as error:
        raise DiscreetError(
            f"A process that shared the work did not finish ({type(error).__name__}); nothing was made.",
            hint="Look whether its memory was enough and whether discreet is installed there; or leave jobs= out.",
        ) from None
    finally:
        if isinstance(results, Generator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib advises to end loops earlier
                results.close()


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
    """The same in processes of their own, as :func:`shared` has them. What is sent is pickled."""
    with sharing(jobs), closing(shared(partial(_named, work), _as_it_is, list(pieces.items()), stage)) as results:
        return dict(zip(pieces, results, strict=True))


def _named(work: Callable[[str, Given], Made], pair: tuple[str, Given]) -> Made:
    return work(*pair)


def _as_it_is(piece: Piece) -> Piece:
    return piece


def _joblib() -> Any:
    try:
        import joblib
    except ModuleNotFoundError:
        raise missing_extra("joblib", "jobs", "jobs=") from None
    return joblib


def _tell(heard: SimpleQueue[Step]) -> None:
    """Report what was heard of the pieces since the last look."""
    while True:
        try:
            step = heard.get_nowait()
        except Empty:
            return
        checkpoint(*step)
