"""The audit log: CPU of an entry in the writer and through the logger process, its tree, and its judge."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.registry import Measure, apart, case, scratch

ENTRIES = 200_000
THROUGH_THE_LOGGER = 10_000
GROUP = 50
ENTRY_LIMIT = 0.15
"""Milliseconds of CPU an entry."""
TREE_LIMIT, JUDGE_LIMIT = 2.0, 20.0
"""Seconds of CPU for all entries."""


def answer(number: int) -> object:
    """An entry as the server makes it."""
    from discreet.trust.log.entries import AnswerGiven

    return AnswerGiven(
        subject="Ann Example",
        serial="5f3a9c",
        role="researcher",
        action="table",
        dataset="census",
        edition="2021.1",
        question=f"{number:064x}",
        answer=f"{number + 1:064x}",
        method="cell_key D=5 V=3",
        budget_after=number,
    )


def written(folder: Path, count: int) -> dict[str, float]:
    """CPU seconds of writing, of the tree alone, and of judging; the bytes of the log."""
    from discreet.trust import SigningKey, make_keys
    from discreet.trust.log.tree import Tree, leaf_hash
    from discreet.trust.log.writer import LogWriter, create_log
    from discreet.trust.log_verify import check_log

    make_keys(folder / "log.pem")
    key = SigningKey.from_file(folder / "log.pem")
    create_log(folder / "log", key)
    groups = [[answer(k + j) for j in range(GROUP)] for k in range(0, count, GROUP)]
    with LogWriter(folder / "log", key) as writer:
        started = time.process_time()
        for group in groups:
            writer.commit(group)  # type: ignore[arg-type]
        writing = time.process_time() - started
    started = time.process_time()
    tree = Tree()
    for number in range(count):
        tree.append(leaf_hash(b"%d" % number))
    tree.root(count)
    growing = time.process_time() - started
    started = time.process_time()
    verdict = check_log(folder / "log").require()
    judging = time.process_time() - started
    size = sum(path.stat().st_size for path in (folder / "log").iterdir())
    return {"write": writing, "tree": growing, "judge": judging, "bytes": size, "entries": verdict.entries}


def served(folder: Path, count: int) -> dict[str, float]:
    """CPU seconds of the logger process while clients append, and how many groups it made."""
    from discreet.trust import make_keys
    from discreet.trust.log.client import AsyncLogClient
    from discreet.trust.log.process import start_logger

    make_keys(folder / "served.pem")
    logger = start_logger(folder / "served", folder / "served.pem", folder / "socket", create=True)

    async def append() -> float:
        async with AsyncLogClient(folder / "socket", timeout=60) as client:
            waits = []

            async def one(number: int) -> None:
                for k in range(number, count, 2 * GROUP):
                    begun = time.perf_counter()
                    await client.append(answer(k))  # type: ignore[arg-type]
                    waits.append(time.perf_counter() - begun)

            await asyncio.gather(*(one(number) for number in range(2 * GROUP)))
            heads = (await client.head()).head.group
            waits.sort()
            medians.append(waits[len(waits) // 2])
            return heads

    medians: list[float] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    groups = asyncio.run(append())
    logger.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "groups": groups, "wait": medians[0]}


def starting(folder: Path) -> float:
    """CPU seconds of a logger that is started and stopped."""
    from discreet.trust import make_keys
    from discreet.trust.log.process import start_logger

    make_keys(folder / "idle.pem")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start_logger(folder / "idle", folder / "idle.pem", folder / "idle-socket", create=True).stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@case("log")
def log(scale: float) -> Sequence[Measure]:
    """Entries of 600 bytes in groups of fifty; the peers are limits."""
    count, through = max(GROUP, round(ENTRIES * scale)), max(GROUP, round(THROUGH_THE_LOGGER * scale))
    with scratch() as folder:
        plain = apart(written, folder, count)
        idle = apart(starting, folder)
        process = apart(served, folder, through)
    writer = 1000 * plain["write"] / plain["entries"]
    logger = 1000 * (process["cpu"] - idle) / through
    settings = (
        f"{count:,} entries in groups of {GROUP}, {plain['bytes'] / count:.0f} bytes each with heads; one fsync and "
        "one signature a group; CPU of the writer's thread, disk included"
    )
    socket = (
        f"{through:,} entries from {2 * GROUP} callers on one connection, {process['groups']:,.0f} groups, median wait "
        f"{1000 * process['wait']:.1f} ms by the clock; CPU of the logger process without its start ({idle:.2f} s)"
    )
    return [
        Measure("CPU ms an entry, writer", writer, ENTRY_LIMIT, 1.0, settings),
        Measure("CPU ms an entry, logger process", logger, ENTRY_LIMIT, 1.0, socket),
        Measure("CPU s, tree of all entries", plain["tree"], TREE_LIMIT * scale, 1.0, settings),
        Measure("CPU s, judge of all entries", plain["judge"], JUDGE_LIMIT * scale, 1.0, settings),
    ]
