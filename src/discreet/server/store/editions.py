"""Editions of data sets: whether they answer, and with which key. One edition has one key for ever.

Two keys for the same records would be two readings of the same cells, which average out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection, bindparam, select, update

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.store.database import KeptRows, insert_into, read, written
from discreet.server.store.failures import StoreConflict
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import DATASET_EDITION

T = DATASET_EDITION


@dataclass(frozen=True)
class EditionRow:
    """An edition as it is kept."""

    id: int
    dataset: str
    edition: str
    state: str
    key_fingerprint: str
    key_version: int


COLUMNS = (T.c.id, T.c.dataset, T.c.edition, T.c.state, T.c.key_fingerprint, T.c.key_version)


FOUND = select(*COLUMNS).where(T.c.dataset == bindparam("name"), T.c.edition == bindparam("number"))
LOCKED = FOUND.with_for_update()


def unregistered() -> InputError:
    """Error for an edition that nobody entered."""
    return InputError("The edition of the data set is not registered.", hint="Register it before it answers.")


def edition_in(connection: Connection, dataset: str, edition: str, *, lock: bool = False) -> EditionRow:
    """An edition within a transaction; locked, no other transaction that locks it goes on before this one ends.

    Raises
    ------
    InputError
        When nobody registered it.
    """
    found = connection.execute(LOCKED if lock else FOUND, {"name": dataset, "number": edition}).first()
    if found is None:
        raise unregistered()
    return EditionRow(*tuple(found))


HELD_FOR = 3600
"""Seconds after which one may ask again for an edition that is held: people must look at it first."""


def refuse_closed(row: EditionRow) -> None:
    """Refuse an edition that does not answer.

    Raises
    ------
    Denied
        When it was withdrawn, or is held since the database was restored.
    """
    if row.state == "withdrawn":
        raise Denied("withdrawn", "This edition was withdrawn.", hint="Ask for a newer one.", status=410)
    if row.state != "open":
        raise Denied(
            "held",
            "This edition does not answer at present.",
            hint="Its owner must say first whether its account is complete.",
            status=503,
            retry_after=HELD_FOR,
        )


class Editions(StorePart):
    """Editions of data sets."""

    def register(self, dataset: str, edition: str, *, key_fingerprint: str, key_version: int) -> EditionRow:
        """Enter an edition that answers with a key, or see that it is entered with this one.

        Raises
        ------
        StoreConflict
            When it is there with another key or version of it.
        """
        plain_text(dataset, "name of the data set", 64)
        plain_text(edition, "edition", 64)
        plain_text(key_fingerprint, "fingerprint of the key", 256)

        def work(connection: Connection) -> EditionRow:
            values = {
                "dataset": dataset,
                "edition": edition,
                "state": "open",
                "key_fingerprint": key_fingerprint,
                "key_version": key_version,
                "registered": self.now(),
            }
            connection.execute(insert_into(connection, T).values(values).on_conflict_do_nothing())
            return edition_in(connection, dataset, edition)

        row = written(self.engine, work)
        if (row.key_fingerprint, row.key_version) != (key_fingerprint, key_version):
            raise StoreConflict(
                f"Edition {edition!r} of {dataset!r} answers with version {row.key_version} of its key, and never with "
                "another.",
                hint="Make a new edition for a new key: two keys for one edition average out.",
            )
        return row

    def find(self, dataset: str, edition: str) -> EditionRow:
        """An edition, whatever its state."""
        return read(self.engine, lambda connection: edition_in(connection, dataset, edition))

    def refuse_closed(self, dataset: str, edition: str) -> None:
        """Refuse an edition that does not answer now; for every request, kept answers too.

        Raises
        ------
        Denied
            When it was withdrawn, or is held since the database was restored.
        InputError
            When nobody registered it.
        """
        row = self._rows.find({"name": dataset, "number": edition})
        if row is None:
            raise unregistered()
        refuse_closed(row)

    @cached_property
    def _rows(self) -> KeptRows[EditionRow | None]:
        return KeptRows(self.engine, FOUND, lambda rows: EditionRow(*rows[0]) if rows else None)

    def close(self) -> None:
        """Let go of what looks editions up."""
        self._rows.close()

    def listed(self) -> list[EditionRow]:
        """All editions, whatever their state."""
        asked = select(*COLUMNS).order_by(T.c.dataset, T.c.id)
        return [
            EditionRow(*tuple(row)) for row in read(self.engine, lambda connection: connection.execute(asked).all())
        ]

    def withdraw(self, dataset: str, edition: str) -> None:
        """Let an edition answer no more, for ever."""
        self._set(dataset, edition, "withdrawn", ("open", "held"))

    def reopen(self, dataset: str, edition: str) -> None:
        """Let an edition answer that was held, once its account is known to be complete."""
        self._set(dataset, edition, "open", ("held",))

    def _set(self, dataset: str, edition: str, state: str, before: tuple[str, ...]) -> None:
        def work(connection: Connection) -> None:
            row = edition_in(connection, dataset, edition, lock=True)
            if row.state == state:
                return
            if row.state not in before:
                raise StoreConflict(
                    f"The edition is {row.state}, and cannot become {state}.", hint="Make a new edition instead."
                )
            connection.execute(update(T).where(T.c.id == row.id).values(state=state))

        written(self.engine, work)


def hold_all(connection: Connection) -> int:
    """Hold all editions that answer; how many there were."""
    return connection.execute(update(T).where(T.c.state == "open").values(state="held")).rowcount
