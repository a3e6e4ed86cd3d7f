"""The worker that makes extracts: takes jobs under a lease, makes them whole or not at all, removes what is over."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from discreet.errors import DiscreetError, OutputError
from discreet.keys import Key
from discreet.server.denied import Denied
from discreet.server.extracts.definition import Definition, checked, read_definition, require_granted
from discreet.server.extracts.desk import SEALED
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.package import PackageOrder, SealedPackage, write_package
from discreet.server.extracts.taking import ExtractOrder
from discreet.server.store.editions import refuse_closed
from discreet.server.store.extracts import ExtractRow
from discreet.server.store.failures import StoreUnavailable
from discreet.server.store.store import Store
from discreet.trust import SigningKey
from discreet.trust.log.entries import AnswerGiven, LogEntry, QuestionRefused
from discreet.trust.log.writer import LogUnavailable
from discreet.trust.private_folder import alone_in, require_private_folder
from discreet.trust.sealed_file import RecipientKey

WORK = ".work-"
SAY_EVERY = 1.0
"""Seconds between two words that a job goes on, at least."""
STRAY = 3600.0
"""Seconds after which a sealed file that nobody knows of is removed."""


class SyncLog(Protocol):
    """Where entries go; one is written for good when ``append`` returns."""

    def append(self, entry: LogEntry) -> object:
        """Write an entry."""


@dataclass
class ExtractWorker:
    """Makes extracts, one at a time; several may work beside each other.

    Parameters
    ----------
    store
        The queue.
    files
        Files by name and edition, with the keys that they were built with.
    folder
        Where sealed extracts go, of mode 0700.
    signer
        Signs manifests.
    log
        The log: nothing can be fetched that is not in it.
    """

    store: Store
    files: Mapping[tuple[str, str], tuple[ExtractFile, Key]]
    folder: Path
    signer: SigningKey
    log: SyncLog
    say: Callable[[str], None] = field(default=lambda _: None)

    def __post_init__(self) -> None:
        require_private_folder(self.folder, "folder of extracts", "Make it: mkdir -m 700 extracts")

    def run(self, stopping: threading.Event, every: float = 1.0) -> None:
        """Work until told to stop."""
        while not stopping.is_set():
            try:
                if not self.run_once():
                    stopping.wait(every)
            except StoreUnavailable as error:
                self.say(error.message)
                stopping.wait(5 * every)

    def run_once(self) -> bool:
        """Remove what is over, and do one job; whether there was one."""
        self.tidy()
        job = self.store.extracts.lease()
        if job is None:
            return False
        work = Path(tempfile.mkdtemp(prefix=WORK, dir=self.folder))  # of mode 0700
        try:
            with alone_in(work):
                self._do(job, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return True

    def _do(self, job: ExtractRow, work: Path) -> None:
        """Do a job; whatever goes wrong, nothing of it can be fetched."""
        place = self.folder / f"{secrets.token_hex(24)}.sealed"
        done = False
        try:
            made = self._made(job, work, place)
            self.log.append(_answer(job, made))
            file = self.files[job.dataset, job.edition][0]
            expires = self.store.extracts.now() + 3600 * file.limits.link_hours
            self.store.extracts.ready(
                job, file=place.name, content=made.digest, size=made.size, rows=made.rows, expires=expires
            )
            done = True
            self.say(f"Extract {job.id} is ready: {made.rows:,} rows.")
        except LogUnavailable:
            self.store.extracts.give_back(job)
            self.say(f"Extract {job.id} waits: the log cannot be reached.")
        except Denied as error:
            if error.kind != "lease-over":
                self._end(job, f"{error.message} {error.hint}".strip(), error.kind, refused=True)
        except Exception as error:
            # The text of what nobody thought of may be about records: the operator gets its kind, nobody its words.
            words = error.message if isinstance(error, DiscreetError) else type(error).__name__
            self.say(f"Extract {job.id} was not made: {words}")
            self._end(job, "It could not be made. The office knows why.", "not-made")
        finally:
            if not done:
                place.unlink(missing_ok=True)

    def _end(self, job: ExtractRow, reason: str, rule: str, *, refused: bool = False) -> None:
        entry = QuestionRefused(
            action="extract.make", rule=rule, dataset=job.dataset, edition=job.edition, question=job.digest
        )
        self.log.append(entry)
        self.store.extracts.failed(job, reason, refused=refused)

    def _made(self, job: ExtractRow, work: Path, place: Path) -> SealedPackage:
        """Make a sealed extract under its name."""
        order, file, key = self._order(job)
        told = [0.0]

        def progress(share: float) -> None:
            now = time.monotonic()
            if now - told[0] >= SAY_EVERY:
                told[0] = now
                self.store.extracts.go_on(job, share)

        sealed = work / "sealed"
        try:
            with os.fdopen(os.open(sealed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                made = write_package(stream, file, order, key, work, progress)
                stream.flush()
                os.fsync(stream.fileno())
            sealed.rename(place)
        except OSError as error:
            raise OutputError(f"Cannot write: {error.strerror}.", hint="Look at the disk.") from None
        return made

    def _order(self, job: ExtractRow) -> tuple[PackageOrder, ExtractFile, Key]:
        """What a job is to make, where it still may be made: much may have happened since it was asked for."""
        found = self.files.get((job.dataset, job.edition))
        if found is None:
            raise Denied("unknown-edition", "The edition is not served any more.", hint="Ask for another.", status=410)
        refuse_closed(self.store.editions.find(job.dataset, job.edition))
        file, key = found
        wanted: Definition = checked(file, read_definition(job.definition.encode()))
        grant = self.store.projects.granted(job.project_id, job.requested_by, job.dataset, job.edition)
        require_granted(file, wanted, grant, ())
        row = self.store.applications.require_licence(job.project_id, job.requested_by)
        person = self.store.people.find(job.requested_by)
        if person is None or person.state != "active":
            raise Denied("not-active", "The user is not active.", hint="Ask the office.")
        order = PackageOrder(
            ExtractOrder(job.id, job.requested_by, wanted),
            person.name,
            row.project.name,
            RecipientKey.from_text(job.recipient),
            self.signer,
            datetime.fromtimestamp(self.store.extracts.now(), UTC).isoformat(),
        )
        return order, file, key

    def tidy(self) -> None:
        """Remove extracts that are over, and what workers left that ended in the middle."""
        self.store.applications.settle()
        for name in self.store.extracts.expired_files():
            if SEALED.fullmatch(name):
                (self.folder / name).unlink(missing_ok=True)
        known = self.store.extracts.kept_files()
        for path in self.folder.iterdir():
            if path.name.startswith(WORK) and path.is_dir():
                self._remove_left(path)
            elif SEALED.fullmatch(path.name) and path.name not in known and time.time() - path.stat().st_mtime > STRAY:
                path.unlink(missing_ok=True)

    @staticmethod
    def _remove_left(path: Path) -> None:
        """Remove the folder of a worker that is gone: one that lives holds it."""
        try:
            with alone_in(path):
                shutil.rmtree(path, ignore_errors=True)
        except (OutputError, OSError):
            return


def _answer(job: ExtractRow, made: SealedPackage) -> AnswerGiven:
    return AnswerGiven(
        action="extract.make",
        dataset=job.dataset,
        edition=job.edition,
        question=job.digest,
        answer=made.digest,
        method=f"extract {job.id}",
        purpose=f"principal {job.requested_by}, project {job.project_id}, {made.rows} rows",
    )
