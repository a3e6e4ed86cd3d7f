"""Things that are good once and for minutes: states of a sign-in, challenges of passkeys. Kept by digest."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, delete, insert

from discreet.server.store.database import written
from discreet.server.store.part import StorePart, digest_of
from discreet.server.store.tables import ONE_TIME

T = ONE_TIME
LASTS = 600
"""Seconds."""


class OneTimes(StorePart):
    """Secrets that are good once."""

    def make(self, purpose: str, payload: str) -> str:
        """Draw a secret that stands for a payload until it is used, or ten minutes have passed."""
        secret = secrets.token_urlsafe(32)
        values = {"digest": digest_of("once", purpose, secret), "purpose": purpose, "payload": payload}
        entry = insert(T).values(**values, kept_until=self.now() + LASTS)
        written(self.engine, lambda connection: connection.execute(entry))
        return secret

    def use(self, purpose: str, secret: str) -> str | None:
        """The payload of a secret, which is gone from then on; ``None`` where it is unknown, used or too old."""

        def work(connection: Connection) -> tuple[str, int] | None:
            gone = delete(T).where(T.c.digest == digest_of("once", purpose, secret))
            found = connection.execute(gone.returning(T.c.payload, T.c.kept_until)).first()
            return None if found is None else (found[0], found[1])

        found = written(self.engine, work)
        return None if found is None or found[1] < self.now() else found[0]

    def forget(self) -> int:
        """Remove what is too old; how many there were."""
        old = delete(T).where(T.c.kept_until < self.now())
        return written(self.engine, lambda connection: connection.execute(old).rowcount)
