"""Sessions of browsers: a row for each, found by the digest of a token that only the browser has.

A session ends when it is not used for a while, after a day's work in any case, when the person signs in again, and when
a certificate that it is bound to is suspended or revoked.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hmac import compare_digest

from sqlalchemy import Connection, delete, insert, or_, select, update

from discreet.errors import ParameterError
from discreet.server.denied import who_are_you
from discreet.server.store.database import read, written
from discreet.server.store.part import StorePart, digest_of
from discreet.server.store.people import Person, person_in
from discreet.server.store.tables import SESSION

T = SESSION
IDLE, LONGEST = 30 * 60, 12 * 3600
"""Seconds without use, and in all."""
NOTED = 60
"""Seconds after which a further use is noted: not every request need write."""
SKEW = 300


@dataclass(frozen=True)
class SessionRow:
    """A session that holds."""

    person: Person
    fingerprint: str | None
    auth_level: int
    started: int
    last_used: int


def _held(connection: Connection, token: str, fingerprint: str | None, now: int) -> SessionRow:
    found = connection.execute(select(T).where(T.c.token_digest == _digest(token))).first()
    if found is None:
        raise who_are_you("no-session")
    if now - found.last_used > IDLE or now - found.started > LONGEST or now < found.started - SKEW:
        raise who_are_you("session-over")
    if found.fingerprint != fingerprint:
        raise who_are_you("other-certificate")
    person = person_in(connection, found.principal_id)
    if person is None or person.state != "active":
        raise who_are_you("not-active")
    return SessionRow(person, found.fingerprint, found.auth_level, found.started, found.last_used)


def _digest(token: str) -> str:
    return digest_of("session", token)


def csrf_token(token: str) -> str:
    """What forms of a session must send back; it cannot be worked out from what the database has."""
    return digest_of("csrf", token)


def csrf_holds(token: str, given: str) -> bool:
    """Whether a form sent the text that belongs to its session."""
    return compare_digest(csrf_token(token).encode(), given.encode("utf-8", "surrogatepass"))


class Sessions(StorePart):
    """Sessions of browsers."""

    def start(
        self, principal_id: int, auth_level: int, *, fingerprint: str | None = None, replaces: str | None = None
    ) -> str:
        """Begin a session at sign-in, with a new token, and end the one before; the token is kept nowhere else.

        Raises
        ------
        ParameterError
            When it claims the level of a certificate without one.
        """
        if not 0 <= auth_level <= 4 or (auth_level >= 3 and fingerprint is None):
            raise ParameterError(
                f"A session without a certificate cannot have level {auth_level}.", hint="Levels 3 and 4 need one."
            )
        token, now = secrets.token_urlsafe(32), self.now()

        def work(connection: Connection) -> None:
            person = person_in(connection, principal_id)
            if person is None or person.state != "active":
                raise who_are_you("not-active")
            if replaces is not None:
                connection.execute(delete(T).where(T.c.token_digest == _digest(replaces)))
            values = {"principal_id": principal_id, "fingerprint": fingerprint, "auth_level": auth_level}
            connection.execute(insert(T).values(token_digest=_digest(token), started=now, last_used=now, **values))

        written(self.engine, work)
        return token

    def find(self, token: str, fingerprint: str | None) -> SessionRow:
        """The session of a token that comes over a connection with this certificate, or with none.

        Raises
        ------
        Denied
            When there is none, it is over, it belongs to another certificate, or the person is not active.
        """
        now = self.now()
        row = read(self.engine, lambda connection: _held(connection, token, fingerprint, now))
        if now - row.last_used >= NOTED:
            later = update(T).where(T.c.token_digest == _digest(token)).values(last_used=now)
            if not written(self.engine, lambda connection: connection.execute(later).rowcount):
                raise who_are_you("no-session")  # it ended meanwhile
        return row

    def end(self, token: str) -> None:
        """End a session."""
        written(self.engine, lambda connection: connection.execute(delete(T).where(T.c.token_digest == _digest(token))))

    def end_all(self, principal_id: int) -> None:
        """End all sessions of somebody."""
        written(self.engine, lambda connection: connection.execute(delete(T).where(T.c.principal_id == principal_id)))

    def forget(self) -> int:
        """Remove sessions that are over; how many there were."""
        old = delete(T).where(or_(T.c.last_used < self.now() - IDLE, T.c.started < self.now() - LONGEST))
        return written(self.engine, lambda connection: connection.execute(old).rowcount)
