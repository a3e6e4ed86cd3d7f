"""The supervisor: starts the logger and the workers, watches them, and stops them in order. It holds nothing secret."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from discreet.errors import OutputError
from discreet.server.config import SOCKET, ServerConfig, answering_key, read_config, refuse_untrusted
from discreet.server.dataset_folder import DatasetManifest, checked_manifest
from discreet.server.store.failures import StoreConflict
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.trust.log.process import LoggerProcess, start_logger

if TYPE_CHECKING:
    from discreet.server.extracts.file import ExtractFile

START_WITHIN = 300.0
"""Seconds that a worker may take to open its data sets and compile."""
STOP_WITHIN = 30.0
LOGGER_AGAIN_WITHIN = 30.0
"""Seconds that a logger may take that is started again; nothing else is looked after meanwhile."""
LOOK_EVERY = 0.2
AGAIN_AFTER = 0.2
"""Seconds before a process that ended is started again."""


@dataclass
class Supervisor:
    """A running server.

    Parameters
    ----------
    path
        The file of settings.
    say
        Where to tell what happens.
    """

    path: Path
    say: Callable[[str], None] = print
    config: ServerConfig = field(init=False)
    _workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _logger: LoggerProcess | None = None
    _listening: socket.socket | None = None
    _stopping: bool = False

    def __post_init__(self) -> None:
        self.config = read_config(self.path)

    @property
    def address(self) -> str:
        """Where it answers."""
        assert self._listening is not None
        host, port = self._listening.getsockname()[:2]
        scheme = "http" if self.config.tls is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    @property
    def workers(self) -> list[int]:
        """Numbers of the worker processes."""
        return [worker.pid for worker in self._workers]

    @property
    def logger(self) -> int | None:
        """Number of the logger process."""
        return None if self._logger is None else self._logger.process.pid

    def start(self) -> None:
        """Start everything, and return when questions are answered.

        Workers load what they need while the settings, folders and the store are looked after. They answer nothing,
        and open no store, before they are told to go; where anything is wrong they are ended before that.

        Raises
        ------
        DiscreetError
            When something is missing, damaged or not safe; nothing runs then.
        """
        config = self.config
        refuse_untrusted(config)
        run = config.path(config.run)
        run.mkdir(mode=0o700, parents=True, exist_ok=True)
        refuse_shared(run, config.listen.user)
        for left in run.glob("metrics.*"):
            left.unlink()
        try:
            self._listening = listening(config.listen.host, config.listen.port)
            self._workers = [self._started_worker() for _ in range(config.listen.workers)]
            register(config, checked_manifests(config))
            self._logger = self._started_logger(START_WITHIN)  # it loads beside the workers
            for worker in self._workers:
                _let_go(worker)
            for worker in self._workers:
                _await_ready(worker)
        except BaseException:
            self.stop()
            raise

    def _started_logger(self, within: float = LOGGER_AGAIN_WITHIN) -> LoggerProcess:
        config = self.config
        return start_logger(
            config.path(config.log.folder),
            config.path(config.log.key),
            config.path(config.run) / SOCKET,
            create=True,
            group=_group_of(config.listen.user),
            timeout=within,
        )

    def _started_worker(self) -> subprocess.Popen[bytes]:
        assert self._listening is not None
        number = self._listening.fileno()
        words = [sys.executable, "-m", "discreet.server.worker_process", str(self.path), "--fd", str(number)]
        user = self.config.listen.user
        more: dict[str, Any] = {} if user is None else {"user": user, "group": _group_of(user), "extra_groups": []}
        found: subprocess.Popen[bytes] = subprocess.Popen(
            words, pass_fds=[number], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more
        )
        return found

    def watch(self, seconds: float | None = None) -> None:
        """Start again what ended, until told to stop, or for some seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self._stopping and (end is None or time.monotonic() < end):
            self.look()
            time.sleep(LOOK_EVERY)

    def look(self) -> None:
        """Start again what ended, once."""
        if self._logger is not None and not self._logger.alive:
            self.say("The logger ended; it is started again. Nothing is answered without it.")
            self._logger.stop(timeout=1.0)
            time.sleep(AGAIN_AFTER)
            try:
                self._logger = self._started_logger()
            except OutputError as error:
                self.say(f"{error.message} It is tried again.")
        for place, worker in enumerate(self._workers):
            if worker.poll() is not None:
                self.say(f"A worker ended with {worker.returncode}; it is started again.")
                _close(worker)
                time.sleep(AGAIN_AFTER)
                self._workers[place] = self._started_worker()  # the others answer, and a logger may have to start
                _let_go(self._workers[place])

    def reload(self) -> None:
        """Let workers read the lists of revoked certificates now."""
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGHUP)

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT; SIGHUP reads the lists of revoked certificates again."""

        def stop(_number: int, _frame: FrameType | None) -> None:
            self._stopping = True

        def reload(_number: int, _frame: FrameType | None) -> None:
            self.reload()

        wakeup = signal.set_wakeup_fd(-1)  # what watches other commands would not wait for workers to end
        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, reload)
        try:
            self.start()
            self.say(f"Listening on {self.address}")
            self.watch()
        finally:
            self.stop()
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)

    def stop(self) -> None:
        """Let workers end what they have in hand, then the logger."""
        self._stopping = True
        for worker in self._workers:
            if worker.poll() is None:
                worker.terminate()
        end = time.monotonic() + STOP_WITHIN
        for worker in self._workers:
            try:
                worker.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            _close(worker)
        self._workers = []
        if self._logger is not None:
            self._logger.stop()
            self._logger = None
        if self._listening is not None:
            self._listening.close()
            self._listening = None


def checked_manifests(config: ServerConfig) -> list[DatasetManifest]:
    """Manifests of all data sets of the settings, each with its signature and its files looked at.

    Raises
    ------
    InputError
        When a data set is not as it was built.
    """
    return [
        checked_manifest(
            config.path(part.folder), signed_by=None if part.signed_by is None else config.path(part.signed_by)
        )
        for part in config.datasets
    ]


def register(config: ServerConfig, manifests: Iterable[DatasetManifest]) -> None:
    """Bring the store to its newest schema where it is new, and tell it the editions.

    Raises
    ------
    DiscreetError
        When an edition comes with another key than before: two kinds of noise for the same records average out.
    """
    place = config.store if "://" in config.store else config.path(config.store)
    if isinstance(place, Path) and not place.exists():
        migrate(place)
        if config.listen.user is not None:
            shutil.chown(place, config.listen.user, _group_of(config.listen.user))
    drawn = answering_key(config)
    with Store.open(place) as store:
        for manifest in manifests:
            store.editions.register(
                manifest.name,
                manifest.edition,
                key_fingerprint=manifest.key or ("none" if drawn is None else drawn.fingerprint),
                key_version=manifest.key_version,
            )
        if config.extracts is not None:
            from discreet.server.worker import opened_files  # what opens them takes its time to load

            for file in opened_files(config).values():
                register_file(store, file)


def register_file(store: Store, file: ExtractFile) -> None:
    """Tell the store an edition of a file for extracts.

    Raises
    ------
    StoreConflict
        When another edition of the same records was drawn with another key: who has extracts of both sees which
        households were exchanged.
    """
    for row in store.editions.listed():
        if row.dataset == file.name and row.key_fingerprint != file.manifest.key:
            raise StoreConflict(
                f"Edition {row.edition!r} of {file.name!r} was drawn with another key.",
                hint="Build all editions of the same records with one key; give other records another name.",
            )
    store.editions.register(file.name, file.edition, key_fingerprint=file.manifest.key, key_version=1)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises
    ------
    OutputError
        When the address is taken or not ours.
    """
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(kind, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise OutputError(
            f"The server cannot listen on {host}:{port} ({error.strerror or 'refused'}).",
            hint="Choose another port, or stop what listens there.",
        ) from None
    found.listen(1024)
    return found


def refuse_shared(folder: Path, user: str | None) -> None:
    """Refuse a folder for sockets that others can write to; the workers' own user may look into it.

    Raises
    ------
    OutputError
        When others can.
    """
    if user is not None:
        folder.chmod(0o770)
        os.chown(folder, -1, _group_of(user) or -1)
    mode = folder.stat().st_mode
    if mode & (0o007 if user is not None else 0o077):
        raise OutputError(f"Others may use the folder {folder.name!r}.", hint=f"Run: chmod 700 {folder.name}")


def _group_of(user: str | None) -> int | None:
    if user is None:
        return None
    import pwd

    return pwd.getpwnam(user).pw_gid


def _await_ready(worker: subprocess.Popen[bytes]) -> None:
    """Wait until a worker says that it answers."""
    assert worker.stdout is not None
    end = time.monotonic() + START_WITHIN
    heard = b""
    while b"ready\n" not in heard:
        left = end - time.monotonic()
        if worker.poll() is not None:
            raise OutputError(
                f"A worker did not start: it ended with code {worker.returncode}.",
                hint="Its own message on standard error says why.",
            )
        if left <= 0:
            raise OutputError(
                f"A worker was not ready after {START_WITHIN:.0f} seconds.",
                hint="Is the machine busy with something else, or the disk of the data set slow?",
            )
        if select.select([worker.stdout], [], [], min(left, 0.5))[0]:
            part = os.read(worker.stdout.fileno(), 1024)
            heard += part
            if not part and worker.poll() is None:
                time.sleep(0.05)


def _let_go(worker: subprocess.Popen[bytes]) -> None:
    """Tell a worker that the store is ready; one that ended already is noticed by who waits for it."""
    assert worker.stdin is not None
    with suppress(BrokenPipeError):
        worker.stdin.write(b"go\n")
        worker.stdin.flush()


def _close(worker: subprocess.Popen[bytes]) -> None:
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            stream.close()
