"""Cells a day: how much one person, or one address, may ask for. Reserved before the work, never given back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, delete, select

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.store.database import insert_into, read, written
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import BUDGET

T = BUDGET
LARGEST = 2**62


class Budgets(StorePart):
    """Cells that were asked for, per holder and day (UTC)."""

    def reserve(self, holder: str, cells: int, most: int) -> None:
        """Take cells from what a holder has today; with several workers at once never more than ``most`` in all.

        Raises
        ------
        Denied
            When fewer are left (429, with the seconds until there are new ones).
        """
        plain_text(holder, "holder", 256)
        if not 0 <= cells <= LARGEST or not 0 <= most <= LARGEST:
            raise ParameterError("A budget is a number of cells.", hint="Give whole numbers from 0 on.")
        day, left = self._day()

        def work(connection: Connection) -> bool:
            entry = insert_into(connection, T).values(holder=holder, day=day, cells=cells)
            entry = entry.on_conflict_do_update(
                index_elements=[T.c.holder, T.c.day],
                set_={"cells": T.c.cells + entry.excluded.cells},
                where=T.c.cells + entry.excluded.cells <= most,
            )
            return connection.execute(entry.returning(T.c.day)).first() is not None

        if cells > most or not written(self.engine, work):
            raise Denied(
                "budget",
                f"The {most:,} cells of today do not suffice for this table of {cells:,}.",
                hint="Ask for a smaller table, or go on tomorrow (UTC).",
                status=429,
                retry_after=left,
            )

    def day(self) -> str:
        """The day that counts now."""
        return self._day()[0]

    def used(self, holder: str) -> int:
        """Cells that a holder asked for today."""
        asked = select(T.c.cells).where(T.c.holder == holder, T.c.day == self._day()[0])
        return read(self.engine, lambda connection: int(connection.execute(asked).scalar() or 0))

    def forget(self, days: int = 400) -> int:
        """Remove what is older than so many days; how many rows there were."""
        oldest = (self._time() - timedelta(days=days)).date().isoformat()
        return written(self.engine, lambda connection: connection.execute(delete(T).where(T.c.day < oldest)).rowcount)

    def _time(self) -> datetime:
        return datetime.fromtimestamp(self.clock(), UTC)

    def _day(self) -> tuple[str, int]:
        """The day and the seconds until the next."""
        now = self._time()
        midnight = datetime(now.year, now.month, now.day, tzinfo=UTC) + timedelta(days=1)
        return now.date().isoformat(), max(1, int((midnight - now).total_seconds()))
