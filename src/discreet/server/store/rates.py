"""Limits on how fast somebody may ask: token buckets that all workers share."""

from __future__ import annotations

from math import ceil

from sqlalchemy import Connection, case, delete

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.store.database import insert_into, written
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import BUCKET

T = BUCKET


class Rates(StorePart):
    """Buckets that fill at a rate, up to a size."""

    def take(self, holder: str, *, rate: float, size: float, cost: float = 1.0) -> None:
        """Take tokens from the bucket of a holder, where it has so many.

        Parameters
        ----------
        holder
            Whose bucket: a person's or an address's, with what it is for.
        rate
            Tokens that come back each second.
        size
            Tokens of a full bucket.
        cost
            Tokens to take.

        Raises
        ------
        Denied
            When there are too few (429, with the seconds until there are enough).
        """
        plain_text(holder, "holder", 256)
        if not (rate > 0 and size >= cost > 0):
            raise ParameterError("A bucket cannot be so.", hint="Give a rate above 0, and a size of at least the cost.")
        now = self.clock()

        def work(connection: Connection) -> bool:
            entry = insert_into(connection, T).values(holder=holder, tokens=size - cost, filled=now)
            later = case((entry.excluded.filled > T.c.filled, entry.excluded.filled), else_=T.c.filled)
            grown = T.c.tokens + (later - T.c.filled) * rate  # a clock that goes back fills nothing
            full = case((grown > size, size), else_=grown)
            entry = entry.on_conflict_do_update(
                index_elements=[T.c.holder], set_={"tokens": full - cost, "filled": later}, where=full >= cost
            )
            return connection.execute(entry.returning(T.c.holder)).first() is not None

        if not written(self.engine, work):
            raise Denied(
                "too-fast",
                "You ask too fast.",
                hint="Wait, and ask again.",
                status=429,
                retry_after=max(1, ceil(cost / rate)),
            )

    def forget(self, seconds: float = 86_400.0) -> int:
        """Remove buckets that nobody used for so long; how many there were."""
        old = delete(T).where(T.c.filled < self.clock() - seconds)
        return written(self.engine, lambda connection: connection.execute(old).rowcount)
