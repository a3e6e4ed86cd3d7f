"""The desk where extracts are asked for and fetched: every request is checked, counted and logged before it is kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import BoundedSemaphore

from discreet.errors import DiscreetError, InputError, unknown_name
from discreet.server.denied import Denied
from discreet.server.extracts.definition import Definition, checked, require_granted, used_variables
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.taking import SizeEstimate, estimate, require_few_alone, too_many
from discreet.server.identity import Identity
from discreet.server.problems import problem_of
from discreet.server.roles import Subject, allowed
from discreet.server.service import Log, log_fields
from discreet.server.store.applications import ApplicationRow
from discreet.server.store.editions import refuse_closed
from discreet.server.store.extracts import ExtractRequest, ExtractRow
from discreet.server.store.projects import GrantRow
from discreet.server.store.store import Store
from discreet.trust.log.entries import DecisionTaken
from discreet.trust.sealed_file import RecipientKey

SEALED = re.compile(r"[0-9a-f]{48}\.sealed")
"""Names of sealed files: drawn, never given."""
LARGEST_NUMBER = 2**63 - 1
"""Of extracts and projects: databases have no larger ones."""
PATIENCE = 10.0
"""Seconds to wait for others whose extracts are looked at: each reads the whole file."""


@dataclass(frozen=True)
class ExtractDesk:
    """What pages and programs ask of extracts.

    Parameters
    ----------
    files
        Opened files by name and edition.
    store
        Applications, the queue, and who has what.
    log
        Where decisions are written first.
    folder
        Where sealed extracts lie.
    """

    files: Mapping[tuple[str, str], ExtractFile]
    store: Store
    log: Log
    folder: Path
    _places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(2), repr=False)

    def file(self, dataset: str, edition: str) -> ExtractFile:
        """A file that is served.

        Raises
        ------
        Denied
            When it is unknown (404), or was withdrawn (410).
        """
        found = self.files.get((dataset, edition))
        if found is None:
            known = [f"{name}/{one}" for name, one in self.files]
            place = f"{dataset[:64]}/{edition[:32]}"
            raise Denied("unknown-edition", unknown_name("file", place, known), hint="See the list.", status=404)
        refuse_closed(self.store.editions.find(dataset, edition))
        return found

    def open_files(self) -> list[ExtractFile]:
        """Files that extracts can be asked of now."""
        found = []
        for (dataset, edition), file in sorted(self.files.items()):
            if self.store.editions.find(dataset, edition).state == "open":
                found.append(file)
        return found

    # ---- what is one's own ----------------------------------------------------------------------------------

    def own_projects(self, who: Identity) -> list[ApplicationRow]:
        """Applications of one's own projects, in every state; projects without extracts are none."""
        found = []
        for project in self.store.projects.of(known(who)):
            try:
                found.append(self.store.applications.find(project.id))
            except InputError:
                continue
        return found

    def own_project(self, who: Identity, number: int) -> tuple[ApplicationRow, ExtractFile]:
        """One's own project that may ask for extracts now, and its file.

        Raises
        ------
        Denied
            When it is not one's own, is over, or its file is not served.
        """
        principal = known(who)
        allowed(who, "extract.request", Subject(belongs_to=frozenset({principal}))).required()
        try:
            row = self.store.applications.find(number) if number <= LARGEST_NUMBER else None
        except InputError:
            row = None
        if row is None or principal not in row.project.members:
            raise Denied("other-project", "You do not work on this project.", hint="Ask its head to add you.")
        self.grant_of(number, principal, row.dataset, row.edition)
        return row, self.file(row.dataset, row.edition)

    def own_extracts(self, who: Identity) -> list[ExtractRow]:
        """Extracts of one's own projects, the last first."""
        return self.store.extracts.of([row.project.id for row in self.own_projects(who)])

    def own_extract(self, who: Identity, number: int) -> ExtractRow:
        """An extract of one's own project; others are not told whether it is there.

        Raises
        ------
        Denied
            When it is not.
        """
        principal = known(who)
        with suppress(InputError):
            row = self.store.extracts.find(number) if number <= LARGEST_NUMBER else None
            if row is not None and principal in self.store.projects.find(row.project_id).members:
                return row
        raise Denied("not-yours", "This is not yours.", hint="See your own extracts.")

    def own_key(self, who: Identity) -> RecipientKey | None:
        """The public key that one's own extracts are sealed to."""
        text = self.store.extracts.key_of(known(who))
        return None if text is None else RecipientKey.from_text(text)

    async def use_key(self, who: Identity, text: str, number: str) -> RecipientKey:
        """Let one's own extracts be sealed to a key from now on; in the log before it counts.

        Raises
        ------
        DiscreetError
            When it is no public key.
        """
        principal = known(who)
        allowed(who, "extract.request", Subject(belongs_to=frozenset({principal}))).required()
        key = RecipientKey.from_text(text)
        about = f"key:{key.fingerprint}"
        entry = DecisionTaken(
            **log_fields(who, number), action="extract.key", decision="granted", about=about, signed=who.signed
        )
        await self.log.append(entry)
        await asyncio.to_thread(self.store.extracts.set_key, principal, key.text)
        return key

    # ---- asking ---------------------------------------------------------------------------------------------

    def looked_at(self, who: Identity, project: int, wanted: Definition) -> tuple[ExtractFile, SizeEstimate]:
        """How large an extract would be, where it may be asked for; nothing is kept.

        Raises
        ------
        Denied
            When it may not.
        """
        file, grant = self._granted(who, project, wanted)
        require_granted(file, wanted, grant, ())
        if not self._places.acquire(timeout=PATIENCE):
            raise Denied("busy", "Too many others ask.", hint="Ask again in a moment.", status=503, retry_after=5)
        try:
            found = estimate(file, wanted)
        finally:
            self._places.release()
        if found.rows > file.limits.most_rows:
            raise too_many(file)
        if found.looked_at >= found.rows:
            require_few_alone(file, found.alone, found.rows)
        return file, found

    def _granted(self, who: Identity, project: int, wanted: Definition) -> tuple[ExtractFile, GrantRow]:
        number = who.principal_id
        allowed(who, "extract.request", Subject(belongs_to=frozenset({number or 0}))).required()
        assert number is not None
        file = self.file(wanted.dataset, wanted.edition)
        checked(file, wanted)
        grant = self.grant_of(project, number, wanted.dataset, wanted.edition)
        self.store.applications.require_licence(project, number)
        return file, grant

    def grant_of(self, project: int, principal: int, dataset: str, edition: str) -> GrantRow:
        """What a project was granted; whether there is one of this number is nobody else's business.

        Raises
        ------
        Denied
            When it is not one's own, is over, or has no grant.
        """
        with suppress(InputError):
            if project <= LARGEST_NUMBER:
                return self.store.projects.granted(project, principal, dataset, edition)
        raise Denied("other-project", "You do not work on this project.", hint="Ask its head to add you.")

    async def request(self, who: Identity, project: int, wanted: Definition, number: str) -> int:
        """Queue an extract; its number. Refusals are logged, too.

        Raises
        ------
        Denied
            When it may not be had.
        """
        try:
            file, size = await asyncio.to_thread(self.looked_at, who, project, wanted)
            grant = await asyncio.to_thread(
                self.grant_of, project, who.principal_id or 0, wanted.dataset, wanted.edition
            )
            entry = ExtractRequest(
                project=project,
                principal=who.principal_id or 0,
                dataset=wanted.dataset,
                edition=wanted.edition,
                definition=wanted.text,
                digest=wanted.digest,
                variables=used_variables(wanted),
                rows=size.rows,
            )

            def work() -> int:
                return self.store.extracts.request(
                    entry,
                    most=file.limits.project_rows,
                    check=lambda before: require_granted(file, wanted, grant, before),
                )

            await self._log(who, "extract.request", True, project, wanted, number)
            return await asyncio.to_thread(work)
        except Exception as error:
            rule = error.kind if isinstance(error, Denied) else problem_of(error).kind
            await self._log(who, "extract.request", False, project, wanted, number, rule)
            raise

    # ---- fetching -------------------------------------------------------------------------------------------

    async def fetch(self, who: Identity, row: ExtractRow, number: str) -> Path:
        """The sealed file of an extract, for who asked for it; logged before it leaves.

        Raises
        ------
        Denied
            When it is not theirs, not ready or over, or the project or its licence is.
        """
        try:
            path = await asyncio.to_thread(self._fetched, who, row)
        except Exception as error:
            rule = error.kind if isinstance(error, Denied) else problem_of(error).kind
            await self._log_row(who, "extract.fetch", False, row, number, rule)
            raise
        await self._log_row(who, "extract.fetch", True, row, number)
        return path

    def _fetched(self, who: Identity, row: ExtractRow) -> Path:
        allowed(who, "extract.fetch", Subject(belongs_to=frozenset({row.requested_by}))).required()
        over = Denied("over", "This extract cannot be fetched any more.", hint="Ask for it again.", status=410)
        if row.state in ("queued", "running"):
            raise Denied("not-ready", "The extract is not ready yet.", hint="Look again later.", status=409)
        if row.state != "ready" or row.file is None or (row.link_expires or 0) <= self.store.extracts.now():
            raise over
        refuse_closed(self.store.editions.find(row.dataset, row.edition))
        self.grant_of(row.project_id, row.requested_by, row.dataset, row.edition)
        self.store.applications.require_licence(row.project_id, row.requested_by)
        if not SEALED.fullmatch(row.file):
            raise over
        path = self.folder / row.file
        if path.is_symlink() or not path.is_file():
            raise over
        return path

    async def withdraw(self, who: Identity, row: ExtractRow, number: str) -> None:
        """Let an extract not be made, or not be fetched."""
        allowed(who, "extract.fetch", Subject(belongs_to=frozenset({row.requested_by}))).required()
        await self._log_row(who, "extract.withdraw", True, row, number)
        await asyncio.to_thread(lambda: self.remove(self.store.extracts.withdraw(row.id)))

    async def destroyed(self, who: Identity, row: ExtractRow, number: str) -> None:
        """Take somebody's statement that they destroyed an extract."""
        allowed(who, "extract.fetch", Subject(belongs_to=frozenset({row.requested_by}))).required()
        await self._log_row(who, "extract.destroyed", True, row, number)
        await asyncio.to_thread(lambda: self.remove(self.store.extracts.destroyed(row.id)))

    def remove(self, name: str | None) -> None:
        """Remove a sealed file."""
        if name is not None and SEALED.fullmatch(name):
            (self.folder / name).unlink(missing_ok=True)

    # ---- the log --------------------------------------------------------------------------------------------

    async def _log(
        self,
        who: Identity,
        action: str,
        granted: bool,
        project: int,
        wanted: Definition,
        number: str,
        rule: str | None = None,
    ) -> None:
        known = (wanted.dataset, wanted.edition) in self.files
        entry = DecisionTaken(
            **log_fields(who, number),
            action=action,
            decision="granted" if granted else "denied",
            about=f"project:{max(0, project)}",
            dataset=wanted.dataset if known else None,
            edition=wanted.edition if known else None,
            content=_digest(wanted),
            rule=rule,
            signed=who.signed,
        )
        await self.log.append(entry)

    async def _log_row(
        self, who: Identity, action: str, granted: bool, row: ExtractRow, number: str, rule: str | None = None
    ) -> None:
        entry = DecisionTaken(
            **log_fields(who, number),
            action=action,
            decision="granted" if granted else "denied",
            about=f"extract:{row.id}",
            dataset=row.dataset,
            edition=row.edition,
            content=row.content or row.digest,
            rule=rule,
            signed=who.signed,
        )
        await self.log.append(entry)

    async def log_denied(self, action: str, error: Denied, number: str, serial: str | None) -> None:
        """Log that a proof of identity, or a signature, did not hold."""
        await self.log.append(
            DecisionTaken(action=action, decision="denied", rule=error.kind, request=number, serial=serial)
        )


def known(who: Identity) -> int:
    """The number of somebody who is known.

    Raises
    ------
    Denied
        When they are not (401).
    """
    if who.principal_id is None:
        raise Denied("nobody", "This needs somebody who is known.", hint="Sign in.", status=401)
    return who.principal_id


def _digest(wanted: Definition) -> str | None:
    """The digest of a definition; one whose conditions cannot be read has none."""
    try:
        return wanted.digest
    except DiscreetError:
        return None
