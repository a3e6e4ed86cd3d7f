"""Signed requests are good once: their nonces are remembered for as long as their times are accepted."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from discreet.server.denied import Denied
from discreet.server.store.database import insert_into, written
from discreet.server.store.part import StorePart, digest_of, plain_text
from discreet.server.store.tables import NONCE

T = NONCE
SKEW = 300
"""Seconds that clocks may differ by."""
SHORTEST = 16
RESTORED = "restored"
"""Instead of a digest: when the database was put back from a copy that does not know all nonces."""


def _stale(message: str) -> Denied:
    return Denied("stale", message, hint="Set the clock, and sign it anew.", status=401)


class StoredNonces(StorePart):
    """StoredNonces that were seen."""

    def use(self, signer: str, nonce: str, signed_at: int) -> None:
        """Take a nonce of a signer (the fingerprint of the certificate); a second time is refused.

        Raises
        ------
        Denied
            When the request is too old, too new, or was here before.
        """
        now = self.now()
        if abs(now - signed_at) > SKEW:
            raise _stale(f"The request is signed with a time that is more than {SKEW} seconds off.")
        if len(nonce) < SHORTEST:
            raise Denied("nonce", "The nonce is too short.", hint=f"Draw {SHORTEST} characters or more.", status=400)
        plain_text(nonce, "nonce", 256)
        digest = digest_of("nonce", signer, nonce)
        values = {"digest": digest, "first_seen": now, "kept_until": max(now, signed_at) + SKEW + 1}

        def work(connection: Connection) -> bool:
            restored = connection.execute(select(T.c.first_seen).where(T.c.digest == RESTORED)).scalar()
            if restored is not None and signed_at <= restored:
                raise _stale("The request was signed before this server forgot what it had seen.")
            entry = insert_into(connection, T).values(values).on_conflict_do_nothing()
            return connection.execute(entry.returning(T.c.digest)).first() is not None

        if not written(self.engine, work):
            raise Denied("replay", "The request was here before.", hint="Sign a new one.", status=401)

    def forget(self) -> int:
        """Remove those whose time is refused anyway; how many there were."""
        old = delete(T).where(T.c.kept_until < self.now())
        return written(self.engine, lambda connection: connection.execute(old).rowcount)
