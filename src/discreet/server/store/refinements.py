"""The account of readings in the database: one for all users and workers, and it survives them.

What is charged is there when ``charge`` returns, and never goes. Where anything fails on the way, nothing is charged,
or all of it is and no answer is given: asking again is safe in both cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isfinite

from sqlalchemy import Connection, bindparam, func, select

from discreet.errors import ParameterError
from discreet.server.account import MarginReading, check_room
from discreet.server.store.database import OwnConnection, insert_into, read, written
from discreet.server.store.editions import COLUMNS, EditionRow, edition_in, refuse_closed, unregistered
from discreet.server.store.part import StorePart
from discreet.server.store.tables import CHARGED_TABLE, DATASET_EDITION, REFINEMENT

T, C, E = REFINEMENT, CHARGED_TABLE, DATASET_EDITION
MANY = 200
"""Readings in one statement."""

# Statements are put together once: that takes longer than to run them.
HAS = (
    select(*COLUMNS, C.c.table_digest)
    .select_from(E.outerjoin(C, (C.c.edition_id == E.c.id) & (C.c.table_digest == bindparam("table"))))
    .where(E.c.dataset == bindparam("dataset"), E.c.edition == bindparam("edition"))
)
MARGINS = T.c.margin.in_(bindparam("margins", expanding=True))
THERE = select(T.c.margin, T.c.read_by).where(
    T.c.edition_id == bindparam("number"), MARGINS, T.c.read_by.in_(bindparam("by", expanding=True))
)
TOLD = (
    select(T.c.margin, func.sum(T.c.precision))
    .where(T.c.edition_id == bindparam("number"), MARGINS)
    .group_by(T.c.margin)
)


class Refinements(StorePart):
    """What has been told of each margin of each edition. It is an ``Account``."""

    def has(self, dataset: str, edition: str, table: str) -> bool:
        """Whether a table was charged before.

        Raises
        ------
        Denied
            When the edition does not answer any more.
        """
        found = self._has.rows({"dataset": dataset, "edition": edition, "table": table})
        if not found:
            raise unregistered()
        refuse_closed(EditionRow(*found[0][:6]))
        return found[0][6] is not None

    @cached_property
    def _has(self) -> OwnConnection:
        return OwnConnection(self.engine, HAS)

    def close(self) -> None:
        """Let go of what looks charged tables up."""
        self._has.close()

    def charge(
        self, dataset: str, edition: str, table: str, readings: Sequence[MarginReading], room: Mapping[str, float]
    ) -> None:
        """Enter the readings that are not there yet, or refuse where a margin has no room for them.

        Raises
        ------
        QuestionRefusal
            When a margin would be told too precisely; nothing is charged then.
        StoreUnavailable
            When the database did not confirm; then no answer may be given. Asking again is safe.
        """
        _refuse_no_numbers(readings)

        def work(connection: Connection) -> None:
            number = _answering(connection, dataset, edition, lock=True)  # until the end nobody else charges it
            new = _new(connection, number, readings)
            _refuse_overfull(connection, number, readings, new, room)
            rows = {reading[:2]: dict(zip(NAMES, (number, *reading), strict=True)) for reading in readings}
            if rows:  # all of them, those that are there too: how long it takes must not tell which are new
                entry = insert_into(connection, T)
                same = {"precision": T.c.precision}
                entry = entry.on_conflict_do_update(index_elements=list(KEY), set_=same)
                connection.execute(entry, list(rows.values()))
            charged = insert_into(connection, C).values(edition_id=number, table_digest=table)
            again = {"table_digest": C.c.table_digest}
            connection.execute(charged.on_conflict_do_update(index_elements=["edition_id", "table_digest"], set_=again))

        written(self.engine, work)

    def check(self, dataset: str, edition: str, readings: Sequence[MarginReading], room: Mapping[str, float]) -> None:
        """Refuse what :meth:`charge` would refuse now, and enter nothing.

        Raises
        ------
        QuestionRefusal
            When a margin would be told too precisely.
        """
        _refuse_no_numbers(readings)

        def work(connection: Connection) -> None:
            number = _answering(connection, dataset, edition)
            _refuse_overfull(connection, number, readings, _new(connection, number, readings), room)

        read(self.engine, work)

    def told(self, dataset: str, edition: str) -> dict[str, float]:
        """What has been told of each margin; for reports."""

        def work(connection: Connection) -> dict[str, float]:
            mine = T.c.edition_id == edition_in(connection, dataset, edition).id
            asked = select(T.c.margin, func.sum(T.c.precision)).where(mine).group_by(T.c.margin)
            return {row[0]: row[1] for row in connection.execute(asked)}

        return read(self.engine, work)


NAMES = ("edition_id", "margin", "read_by", "precision")
KEY = NAMES[:3]


def _refuse_no_numbers(readings: Sequence[MarginReading]) -> None:
    for _, _, precision in readings:
        if not isfinite(precision) or precision < 0:
            raise ParameterError("A charge is no number from 0 on.", hint="Charge what the table tells.")


def _answering(connection: Connection, dataset: str, edition: str, *, lock: bool = False) -> int:
    """The number of an edition that answers."""
    row = edition_in(connection, dataset, edition, lock=lock)
    refuse_closed(row)
    return row.id


def _new(connection: Connection, number: int, readings: Sequence[MarginReading]) -> list[MarginReading]:
    """Readings that are not there yet."""
    there: set[tuple[str, str]] = set()
    for first in range(0, len(readings), MANY):
        some = readings[first : first + MANY]
        given = {"number": number, "margins": sorted({one[0] for one in some}), "by": sorted({one[1] for one in some})}
        there.update((margin, by) for margin, by in connection.execute(THERE, given))
    return [reading for reading in readings if reading[:2] not in there]


def _refuse_overfull(
    connection: Connection,
    number: int,
    readings: Sequence[MarginReading],
    new: Sequence[MarginReading],
    room: Mapping[str, float],
) -> None:
    """Refuse where all readings of a margin, with the new ones, would come to more than there is room for.

    Margins of all readings are looked up, so that the work is the same whichever of them are new.
    """
    told: dict[str, float] = {}
    names = sorted({reading.margin for reading in readings})
    for first in range(0, len(names), MANY):
        given = {"number": number, "margins": names[first : first + MANY]}
        told.update((margin, precision) for margin, precision in connection.execute(TOLD, given))
    check_room(told, new, room)
