"""The queue of extracts: requests that count against a licence, leases that end, files that expire. No records here."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, insert, or_, select, update

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.store.database import insert_into, new_id, read, written
from discreet.server.store.editions import edition_in, refuse_closed
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import DATASET_EDITION, EXTRACT, PROJECT, PROJECT_MEMBER, RECIPIENT_KEY

T, M = EXTRACT, PROJECT_MEMBER
LEASE = 60
"""Seconds that a worker holds a job without saying that it goes on."""
MOST_ATTEMPTS = 3
COUNTED = ("queued", "running", "ready", "expired")
"""States of extracts that count against a licence, and for what their project has."""
COLUMNS = (
    T.c.id,
    T.c.project_id,
    DATASET_EDITION.c.dataset,
    DATASET_EDITION.c.edition,
    DATASET_EDITION.c.state.label("edition_state"),
    T.c.requested_by,
    T.c.definition,
    T.c.digest,
    T.c.variables,
    T.c.rows,
    T.c.recipient,
    T.c.state,
    T.c.progress,
    T.c.attempts,
    T.c.lease,
    T.c.lease_until,
    T.c.reason,
    T.c.requested,
    T.c.file,
    T.c.content,
    T.c.size,
    T.c.link_expires,
    T.c.destroyed,
)


@dataclass(frozen=True)
class ExtractRow:
    """An extract as it is kept."""

    id: int
    project_id: int
    dataset: str
    edition: str
    edition_state: str
    requested_by: int
    definition: str
    digest: str
    variables: str
    rows: int
    recipient: str
    state: str
    progress: float
    attempts: int
    lease: str | None
    lease_until: int | None
    reason: str
    requested: int
    file: str | None
    content: str | None
    size: int | None
    link_expires: int | None
    destroyed: int | None

    @property
    def variable_names(self) -> frozenset[str]:
        """Variables that it tells of."""
        return frozenset(json.loads(self.variables))


@dataclass(frozen=True)
class ExtractRequest:
    """An extract that was checked and may be queued."""

    project: int
    principal: int
    dataset: str
    edition: str
    definition: str
    digest: str
    variables: frozenset[str]
    rows: int


Check = Callable[[list[frozenset[str]]], None]
"""Looks at the variables that members of a project have, and refuses what must not come together."""


class Extracts(StorePart):
    """Extracts, from request to destruction."""

    # ---- keys of recipients ---------------------------------------------------------------------------------

    def set_key(self, principal_id: int, public_key: str) -> None:
        """Let extracts of somebody be sealed to a key from now on."""
        values = {"principal_id": principal_id, "public_key": plain_text(public_key, "key", 200), "added": self.now()}
        change = {"public_key": public_key, "added": self.now()}

        def work(connection: Connection) -> None:
            entry = insert_into(connection, RECIPIENT_KEY).values(values)
            connection.execute(entry.on_conflict_do_update(index_elements=[RECIPIENT_KEY.c.principal_id], set_=change))

        written(self.engine, work)

    def key_of(self, principal_id: int) -> str | None:
        """The public key of somebody."""
        asked = select(RECIPIENT_KEY.c.public_key).where(RECIPIENT_KEY.c.principal_id == principal_id)
        return read(self.engine, lambda connection: connection.execute(asked).scalar())

    # ---- requests -------------------------------------------------------------------------------------------

    def request(self, wanted: ExtractRequest, *, most: int, check: Check) -> int:
        """Queue an extract; its number. Of two at once that only one has room for, one is refused.

        Parameters
        ----------
        wanted
            The extract.
        most
            Rows of all extracts that the project may have of the edition.
        check
            Called with what all members of the project have of the data set, within the same transaction.

        Raises
        ------
        Denied
            When it is too much, comes together with what it must not, has no key to be sealed to, or the edition is
            closed.
        """

        def work(connection: Connection) -> int:
            # All who ask for extracts of this data set wait here: what is read below holds when it is written.
            row = edition_in(connection, wanted.dataset, wanted.edition, lock=True)
            refuse_closed(row)
            connection.execute(select(PROJECT.c.id).where(PROJECT.c.id == wanted.project).with_for_update())
            check(_had(connection, wanted.project, wanted.dataset))
            mine = (T.c.project_id == wanted.project) & (T.c.edition_id == row.id) & T.c.state.in_(COUNTED)
            used = int(connection.execute(select(func.coalesce(func.sum(T.c.rows), 0)).where(mine)).scalar_one())
            if used + wanted.rows > most:
                raise Denied(
                    "licence-rows",
                    "The extract has more rows than your licence has left.",
                    hint="Ask for a smaller share of the households, or for fewer cases.",
                    status=413,
                )
            key = connection.execute(
                select(RECIPIENT_KEY.c.public_key).where(RECIPIENT_KEY.c.principal_id == wanted.principal)
            ).scalar()
            if key is None:
                raise Denied("no-key", "There is no key to seal the extract to.", hint="Give your public key first.")
            values = {
                "project_id": wanted.project,
                "edition_id": row.id,
                "requested_by": wanted.principal,
                "definition": wanted.definition,
                "digest": wanted.digest,
                "variables": json.dumps(sorted(wanted.variables)),
                "rows": wanted.rows,
                "recipient": key,
                "state": "queued",
                "progress": 0.0,
                "attempts": 0,
                "reason": "",
                "requested": self.now(),
            }
            return new_id(connection, insert(T).values(values))

        return written(self.engine, work)

    def find(self, number: int) -> ExtractRow:
        """An extract.

        Raises
        ------
        InputError
            When there is none of this number.
        """
        return read(self.engine, lambda connection: _row(connection, number))

    def of(self, projects: list[int]) -> list[ExtractRow]:
        """Extracts of some projects, the last first."""
        asked = _asked().where(T.c.project_id.in_(projects)).order_by(T.c.id.desc())
        return [ExtractRow(*tuple(row)) for row in read(self.engine, lambda c: c.execute(asked).all())]

    def all_of(self, dataset: str, edition: str) -> list[ExtractRow]:
        """Extracts of an edition, the first first."""
        asked = _asked().where(DATASET_EDITION.c.dataset == dataset, DATASET_EDITION.c.edition == edition)
        found = asked.order_by(T.c.id)
        return [ExtractRow(*tuple(row)) for row in read(self.engine, lambda c: c.execute(found).all())]

    # ---- the worker's side ----------------------------------------------------------------------------------

    def lease(self, lasts: int = LEASE) -> ExtractRow | None:
        """Take the next job: one that waits, or whose worker has not been heard of; ``None`` where there is none."""

        def work(connection: Connection) -> ExtractRow | None:
            now = self.now()
            waiting = or_(T.c.state == "queued", (T.c.state == "running") & (T.c.lease_until <= now))
            asked = select(T.c.id, T.c.attempts).where(waiting).order_by(T.c.id).limit(1)
            found = connection.execute(asked.with_for_update(skip_locked=True)).first()
            if found is None:
                return None
            if found.attempts >= MOST_ATTEMPTS:
                over = {"state": "failed", "reason": "It was tried too often.", "lease": None, "lease_until": None}
                connection.execute(update(T).where(T.c.id == found.id).values(over))
                return work(connection)
            change = {"state": "running", "lease": secrets.token_hex(16), "lease_until": now + lasts, "progress": 0.0}
            connection.execute(update(T).where(T.c.id == found.id).values(**change, attempts=found.attempts + 1))
            return _row(connection, found.id)

        return written(self.engine, work)

    def go_on(self, job: ExtractRow, progress: float, lasts: int = LEASE) -> None:
        """Say that a job goes on.

        Raises
        ------
        Denied
            When it was given to another worker, or withdrawn: stop then, and throw away what was made.
        """
        self._change(job, {"progress": min(1.0, max(0.0, progress)), "lease_until": self.now() + lasts})

    def ready(self, job: ExtractRow, *, file: str, content: str, size: int, rows: int, expires: int) -> None:
        """Let an extract be fetched."""
        change = {"state": "ready", "progress": 1.0, "lease": None, "lease_until": None, "rows": rows}
        self._change(job, {**change, "file": file, "content": content, "size": size, "link_expires": expires})

    def failed(self, job: ExtractRow, reason: str, *, refused: bool = False) -> None:
        """Let a job end without an extract; it no longer counts."""
        change = {"state": "refused" if refused else "failed", "lease": None, "lease_until": None}
        self._change(job, {**change, "reason": plain_text(reason, "reason")})

    def give_back(self, job: ExtractRow) -> None:
        """Let another worker take a job."""
        self._change(job, {"state": "queued", "lease": None, "lease_until": None, "progress": 0.0})

    def _change(self, job: ExtractRow, change: dict[str, object]) -> None:
        """Change a job that is still this worker's."""
        mine = (T.c.id == job.id) & (T.c.state == "running") & (T.c.lease == job.lease)
        if not written(self.engine, lambda c: c.execute(update(T).where(mine).values(change)).rowcount):
            raise Denied("lease-over", "The job was given to another worker, or withdrawn.", hint="Stop.", status=409)

    def expired_files(self) -> list[str]:
        """Let extracts expire whose time is over, whose edition was withdrawn or whose project ended; their files."""

        def work(connection: Connection) -> list[str]:
            now = self.now()
            over = or_(
                T.c.link_expires <= now,
                DATASET_EDITION.c.state == "withdrawn",
                PROJECT.c.state.in_(("suspended", "closed")),
                PROJECT.c.expires <= now,
            )
            asked = select(T.c.id, T.c.file).join(DATASET_EDITION).join(PROJECT).where(T.c.state == "ready", over)
            found = connection.execute(asked).all()
            for number, _ in found:
                connection.execute(update(T).where(T.c.id == number).values(state="expired", file=None))
            return [str(name) for _, name in found if name]

        return written(self.engine, work)

    def kept_files(self) -> set[str]:
        """Names of all files that can be fetched."""
        asked = select(T.c.file).where(T.c.file.is_not(None))
        return {str(name) for name in read(self.engine, lambda c: c.execute(asked).scalars().all())}

    # ---- the user's side ------------------------------------------------------------------------------------

    def withdraw(self, number: int) -> str | None:
        """Let an extract not be made, or not be fetched any more; its file. What was fetched counts on."""

        def work(connection: Connection) -> str | None:
            row = _row(connection, number, lock=True)
            if row.state not in ("queued", "running", "ready"):
                raise Denied("state", f"An extract that is {row.state} is not for this.", hint="See its state.")
            state = "expired" if row.state == "ready" else "withdrawn"
            change = {"state": state, "lease": None, "lease_until": None, "file": None}
            connection.execute(update(T).where(T.c.id == number).values(change))
            return row.file

        return written(self.engine, work)

    def destroyed(self, number: int) -> str | None:
        """Enter that the user destroyed an extract; the file that is still here, where there is one."""

        def work(connection: Connection) -> str | None:
            row = _row(connection, number, lock=True)
            if row.state not in ("ready", "expired") or row.destroyed is not None:
                raise Denied("state", "There is nothing to destroy, or it was stated.", hint="See its state.")
            change = {"state": "expired", "destroyed": self.now(), "file": None}
            connection.execute(update(T).where(T.c.id == number).values(change))
            return row.file

        return written(self.engine, work)


def _had(connection: Connection, project: int, dataset: str) -> list[frozenset[str]]:
    """Variables of every extract of a data set, any edition, that members of a project have through any project."""
    members = select(M.c.principal_id).where(M.c.project_id == project)
    projects = select(M.c.project_id).where(M.c.principal_id.in_(members))
    asked = (
        select(T.c.variables)
        .join(DATASET_EDITION)
        .where(T.c.project_id.in_(projects), DATASET_EDITION.c.dataset == dataset, T.c.state.in_(COUNTED))
    )
    return [frozenset(json.loads(text)) for text in connection.execute(asked).scalars()]


def _asked() -> Select[Any]:
    return select(*COLUMNS).join(DATASET_EDITION)


def _row(connection: Connection, number: int, *, lock: bool = False) -> ExtractRow:
    if lock:
        connection.execute(select(T.c.id).where(T.c.id == number).with_for_update())
    found = connection.execute(_asked().where(T.c.id == number)).first()
    if found is None:
        raise InputError(f"There is no extract number {number}.", hint="See the list of extracts.")
    return ExtractRow(*tuple(found))
