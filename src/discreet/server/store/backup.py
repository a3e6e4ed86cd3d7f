"""Copies of the database, and what must happen when one is put back.

A copy knows nothing of what was answered after it was made. An account that forgets answers lets attackers average them
again: editions of a restored database are held until somebody says that nothing is missing.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, delete

from discreet.errors import InputError, OutputError, ParameterError
from discreet.files.new_file import new_file
from discreet.server.store.address import address_of, file_of, is_file, refuse_open_file
from discreet.server.store.database import engine_for, insert_into, written
from discreet.server.store.editions import hold_all
from discreet.server.store.failures import StoreError
from discreet.server.store.nonces import RESTORED, SKEW
from discreet.server.store.part import now_in_seconds
from discreet.server.store.schema import schema_of
from discreet.server.store.tables import NONCE, REVISIONS, SESSION

WITH_TOOLS = "Use pg_dump and pg_restore, and then: discreet server after-restore"


class RestoredStore(NamedTuple):
    """What became of a database that was put back."""

    sessions_ended: int
    editions_held: int


def backup(where: str | Path, file: Path) -> None:
    """Copy an SQLite database to a new file, while the server runs.

    Raises
    ------
    ParameterError
        When it is a PostgreSQL database, which has its own tools.
    OutputError
        When the file exists or cannot be written.
    """
    url = address_of(where)
    if not is_file(url):
        raise ParameterError("A PostgreSQL database is copied with its own tools.", hint=WITH_TOOLS)
    refuse_open_file(file_of(url))
    with new_file(file):
        _copied(file_of(url), file)


def restore(file: Path, where: str | Path, *, complete: bool = False) -> RestoredStore:
    """Make an SQLite database from a copy; see :func:`after_restore`.

    Parameters
    ----------
    file
        The copy.
    where
        The database; it must not be there.
    complete
        Whether nothing was answered after the copy was made.

    Raises
    ------
    OutputError
        When there is a database.
    InputError
        When the file is no copy of one.
    """
    url = address_of(where)
    if not is_file(url):
        raise ParameterError("A PostgreSQL database is restored with its own tools.", hint=WITH_TOOLS)
    target = file_of(url)
    if not file.is_file():
        raise InputError(f"There is no file {file.name!r}.", hint="Give a copy that `discreet server backup` made.")
    if target.exists():
        raise OutputError(
            f"There is a database {target.name!r}.", hint="Stop the server and move it away, with its -wal and -shm."
        )
    part = target.with_name(f"{target.name}.restoring")
    with new_file(part):
        _copied(file, part)
        done = after_restore(part, complete=complete)
        _folded(part)
    try:
        os.link(part, target)  # never over another, and whole
    except OSError as error:
        raise OutputError(f"Cannot write {target.name!r}: {error.strerror or error}.", hint="Choose another.") from None
    finally:
        part.unlink()
    return done


def after_restore(where: str | Path, *, complete: bool = False) -> RestoredStore:
    """Make a database safe to use that was put back from a copy.

    All sessions end, requests that were signed before now are refused, and editions are held: an owner lets them answer
    again with ``store.editions.reopen`` once it is known that their accounts are complete.

    Parameters
    ----------
    where
        The database.
    complete
        Whether nothing was answered after the copy was made: editions go on answering then.
    """
    engine = engine_for(address_of(where))

    def work(connection: Connection) -> RestoredStore:
        if schema_of(connection) not in REVISIONS:
            raise StoreError("The database has no schema that is known.", hint="Is it one of discreet?")
        ended = connection.execute(delete(SESSION)).rowcount
        now = now_in_seconds()
        mark = {"first_seen": now, "kept_until": now + 2 * SKEW}
        entry = insert_into(connection, NONCE).values(digest=RESTORED, **mark)
        connection.execute(entry.on_conflict_do_update(index_elements=[NONCE.c.digest], set_=mark))
        return RestoredStore(ended, 0 if complete else hold_all(connection))

    try:
        return written(engine, work)
    finally:
        engine.dispose()


def _copied(source: Path, target: Path) -> None:
    """Copy a database, and see that the copy is whole."""
    wrong = ""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=5)) as old,
            closing(sqlite3.connect(target, isolation_level=None)) as new,
        ):
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")
            if new.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                wrong = "is damaged"
            elif new.execute("PRAGMA foreign_key_check").fetchall():
                wrong = "contradicts itself"
            elif new.execute("SELECT version_num FROM alembic_version").fetchone()[0] not in REVISIONS:
                wrong = "has a schema that this version of discreet does not know"
    except (sqlite3.DatabaseError, TypeError):
        wrong = "cannot be read as a database of discreet, or there is no space for the copy"
    if wrong:
        raise InputError(f"The database {source.name!r} {wrong}.", hint="Use another copy.")


def _folded(path: Path) -> None:
    """Bring everything into one file, and that to the disk."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
