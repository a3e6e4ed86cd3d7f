"""The account of refinements in the database: one for all users and workers, and it survives them.

What is charged is there when ``charge`` returns, and never goes. Where anything fails on the way, nothing is charged,
or all of it is and no answer is given: asking again is safe in both cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, insert, select

from discreet.errors import ParameterError
from discreet.server.account import EVERYWHERE, Entry, Geography, check_room
from discreet.server.refinement import Margin
from discreet.server.store.database import read, written
from discreet.server.store.editions import edition_in, refuse_closed
from discreet.server.store.part import StorePart
from discreet.server.store.tables import REFINEMENT

T = REFINEMENT
MANY = 200
"""Digests of tables in one statement."""


@dataclass(frozen=True)
class Refinements(StorePart):
    """What has been told of each margin of each edition. It is an ``Account``."""

    _inner: dict[int, tuple[Geography, frozenset[str]]] = field(default_factory=dict, repr=False)

    def charge(
        self, dataset: str, edition: str, entries: Iterable[Entry], room: Mapping[Margin, float], geography: Geography
    ) -> None:
        """Enter charges that are not there yet, or refuse where a margin has no room for them.

        Raises
        ------
        Refusal
            When a margin would be told too precisely; nothing is charged then.
        StoreUnavailable
            When the database did not confirm; then no answer may be given. Asking again is safe.
        """
        wanted = list(entries)
        for entry in wanted:
            if not entry.precision >= 0 or entry.precision == float("inf"):
                raise ParameterError("A charge is no number from 0 on.", hint="Charge what the table tells.")
        # Charges never go: that all are there needs no lock to be true.
        if read(self.engine, lambda connection: _new(connection, _answering(connection, dataset, edition), wanted)):
            written(
                self.engine, lambda connection: self._charged(connection, (dataset, edition), wanted, room, geography)
            )

    def _charged(
        self,
        connection: Connection,
        edition: tuple[str, str],
        wanted: list[Entry],
        room: Mapping[Margin, float],
        geography: Geography,
    ) -> None:
        number = _answering(connection, *edition, lock=True)  # from here on nobody else charges this edition
        new = _new(connection, number, wanted)
        if not new:
            return
        check_room(self._told(connection, number, new, geography), new, room, geography)
        last = {entry[:3]: entry for entry in new}
        rows = [dict(zip(NAMES, (number, *entry), strict=True)) for entry in last.values()]
        connection.execute(insert(T), rows)

    def _told(
        self, connection: Connection, edition_id: int, new: list[Entry], geography: Geography
    ) -> dict[Margin, dict[str, float]]:
        """Per margin and scope what was charged, of those scopes that matter to the new charges."""
        scopes = {entry.scope for entry in new}
        asked = (
            select(T.c.margin, T.c.scope, func.sum(T.c.precision))
            .where(T.c.edition_id == edition_id, T.c.margin.in_({entry.margin for entry in new}))
            .group_by(T.c.margin, T.c.scope)
        )
        if not scopes & self._inner_of(geography):  # nothing lies in them: only they and what is above matter
            asked = asked.where(T.c.scope.in_({area for scope in scopes for area in geography.chain(scope)}))
        told: dict[Margin, dict[str, float]] = {}
        for margin, scope, precision in connection.execute(asked):
            told.setdefault(margin, {})[scope] = precision
        return told

    def _inner_of(self, geography: Geography) -> frozenset[str]:
        """Areas that others lie in, and the whole."""
        known = self._inner.get(id(geography))
        if known is None or known[0] is not geography:
            if len(self._inner) >= 64:
                self._inner.clear()
            known = (geography, frozenset(geography.parents.values()) | {EVERYWHERE})
            self._inner[id(geography)] = known
        return known[1]

    def told(self, dataset: str, edition: str) -> dict[tuple[Margin, str], float]:
        """What has been told, per margin and scope; for reports."""

        def work(connection: Connection) -> dict[tuple[Margin, str], float]:
            mine = T.c.edition_id == edition_in(connection, dataset, edition).id
            asked = select(T.c.margin, T.c.scope, func.sum(T.c.precision)).where(mine)
            found = connection.execute(asked.group_by(T.c.margin, T.c.scope))
            return {(margin, scope): precision for margin, scope, precision in found}

        return read(self.engine, work)


NAMES = ("edition_id", "margin", "scope", "table_digest", "precision")


def _answering(connection: Connection, dataset: str, edition: str, *, lock: bool = False) -> int:
    """The number of an edition that answers."""
    row = edition_in(connection, dataset, edition, lock=lock)
    refuse_closed(row)
    return row.id


def _new(connection: Connection, edition_id: int, wanted: list[Entry]) -> list[Entry]:
    """Charges that are not there yet."""
    tables = sorted({entry.table for entry in wanted})
    there: set[tuple[str, str, str]] = set()
    for first in range(0, len(tables), MANY):
        some = T.c.table_digest.in_(tables[first : first + MANY])
        asked = select(T.c.margin, T.c.scope, T.c.table_digest).where(T.c.edition_id == edition_id, some)
        there.update((margin, scope, table) for margin, scope, table in connection.execute(asked))
    return [entry for entry in wanted if entry[:3] not in there]
