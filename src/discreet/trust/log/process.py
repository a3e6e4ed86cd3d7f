"""The logger as a process of its own: ``python -m discreet.trust.log``, and how a server starts it."""

from __future__ import annotations

import argparse
import asyncio
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from discreet.errors import DiscreetError, OutputError
from discreet.trust.log.lines import UNREADABLE, SignedHead
from discreet.trust.log.logger import GROUP, INTERVAL, serve_log
from discreet.trust.log.writer import SEGMENT_BYTES, SEGMENT_ENTRIES, LogWriter, create_log
from discreet.trust.signature import SigningKey

READY = b"ready\n"
PATIENCE = 2.0
"""Seconds to wait for another logger, or somebody who verifies, to let go of the folder."""


@dataclass(frozen=True)
class LoggerProcess:
    """A running logger. It ends when it is told to, and with the process that started it."""

    process: subprocess.Popen[bytes]
    path: Path
    """Its socket."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def stop(self, timeout: float = 10.0) -> int:
        """Let it write what waits, and end it; gives its exit code."""
        self.process.terminate()
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        return code


def start_logger(
    folder: str | Path,
    key: str | Path,
    path: str | Path,
    *,
    create: bool = False,
    group: int | None = None,
    interval: float = INTERVAL,
    most: int = GROUP,
    segment_entries: int = SEGMENT_ENTRIES,
    segment_bytes: int = SEGMENT_BYTES,
    kept: str | Path | None = None,
    timeout: float = 30.0,
) -> LoggerProcess:
    """Start the logger of a log, and wait until it listens.

    Parameters
    ----------
    folder
        The folder of the log.
    key
        File of the log's signing key (``discreet signing-key``); the new process reads it, not this one.
    path
        The socket where it is to listen.
    create
        Begin the log where there is none yet.
    group
        Number of a group of the system whose members may connect besides this user.
    interval, most
        At most one group of entries in so many seconds, unless so many wait.
    segment_entries, segment_bytes
        A new segment begins when the last one has so many.
    kept
        File of a head that was kept elsewhere: a log that lost some of it is not continued.
    timeout
        For how many seconds to wait for it.

    Raises
    ------
    OutputError
        When it does not come up; its own message is on standard error.
    """
    words = [sys.executable, "-m", "discreet.trust.log", str(folder), str(key), str(path), "--tied"]
    words += ["--interval", str(interval), "--most", str(most)]
    words += ["--segment-entries", str(segment_entries), "--segment-bytes", str(segment_bytes)]
    words += ["--create"] if create else []
    words += ["--group", str(group)] if group is not None else []
    words += ["--kept", str(kept)] if kept is not None else []
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    started = LoggerProcess(process, Path(path))
    if not _said_ready(process, timeout):
        started.stop(timeout=1.0)
        raise OutputError("The logger did not start.", hint="Its own message on standard error says why.")
    return started


def _said_ready(process: subprocess.Popen[bytes], timeout: float) -> bool:
    assert process.stdout is not None
    end, said = time.monotonic() + timeout, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while said != READY:
            if not selector.select(max(0.0, end - time.monotonic())):
                return False
            more = os.read(process.stdout.fileno(), len(READY))
            if not more:
                return False
            said += more
    return True


def main(given: list[str]) -> int:
    """Run the logger until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m discreet.trust.log", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("path", type=Path)
    parser.add_argument("--create", action="store_true")
    parser.add_argument("--group", type=int)
    parser.add_argument("--interval", type=float, default=INTERVAL)
    parser.add_argument("--most", type=int, default=GROUP)
    parser.add_argument("--segment-entries", type=int, default=SEGMENT_ENTRIES)
    parser.add_argument("--segment-bytes", type=int, default=SEGMENT_BYTES)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--tied", action="store_true", help="end when standard input ends")
    options = parser.parse_args(given)
    try:
        _run(options)
    except DiscreetError as error:
        sys.stderr.write(f"Logger: {error}\n")
        return error.exit_code
    return 0


def _run(options: argparse.Namespace) -> None:
    key = SigningKey.from_file(options.key)
    folder: Path = options.folder
    if options.create and (not folder.exists() or not any(folder.iterdir())):
        create_log(folder, key)
    kept = None if options.kept is None else read_head(options.kept)
    with (
        LogWriter(
            folder,
            key,
            segment_entries=options.segment_entries,
            segment_bytes=options.segment_bytes,
            kept=kept,
            patience=PATIENCE,
        ) as writer,
        asyncio.Runner(loop_factory=_loop_factory()) as runner,
    ):
        runner.run(
            serve_log(
                writer,
                options.path,
                group=options.group,
                interval=options.interval,
                most=options.most,
                ready=_say_ready,
                parent=0 if options.tied else None,
            )
        )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The loop that servers of ours run on where it is installed: it takes half of the time of Python's own."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


def _say_ready() -> None:
    os.write(1, READY)


def read_head(path: Path) -> SignedHead:
    """A head from the file that ``discreet log head`` wrote."""
    from discreet.errors import InputError

    try:
        return msgspec.json.decode(path.read_bytes(), type=SignedHead)
    except (OSError, *UNREADABLE):
        raise InputError(
            f"The file {path.name!r} holds no signed head.", hint="Make one: discreet log head FOLDER > head.json"
        ) from None
