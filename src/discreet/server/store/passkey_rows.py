"""Public keys of passkeys, and how often each was used: one that counts backwards was copied."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from discreet.server.store.database import read, written
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import PASSKEY

T = PASSKEY


@dataclass(frozen=True)
class PasskeyRow:
    """A passkey as it is kept."""

    credential: str
    principal_id: int
    public_key: bytes
    uses: int


class PasskeyRows(StorePart):
    """Passkeys of people."""

    def add(self, credential: str, principal_id: int, public_key: bytes, uses: int) -> None:
        """Enter a passkey."""
        values = {"credential": plain_text(credential, "credential", 2048), "principal_id": principal_id}
        entry = insert(T).values(**values, public_key=public_key, uses=uses, made=self.now())
        written(self.engine, lambda connection: connection.execute(entry))

    def of(self, principal_id: int) -> list[PasskeyRow]:
        """The passkeys of somebody."""
        asked = select(T.c.credential, T.c.principal_id, T.c.public_key, T.c.uses)
        asked = asked.where(T.c.principal_id == principal_id).order_by(T.c.credential)
        return [PasskeyRow(*row) for row in read(self.engine, lambda connection: connection.execute(asked).all())]

    def note_use(self, row: PasskeyRow, uses: int) -> bool:
        """Note how often a passkey says that it was used; false where another sign-in came in between."""

        def work(connection: Connection) -> bool:
            same = (T.c.credential == row.credential) & (T.c.uses == row.uses)
            return connection.execute(update(T).where(same).values(uses=uses)).rowcount == 1

        return written(self.engine, work)
