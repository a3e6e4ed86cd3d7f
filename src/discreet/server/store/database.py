"""Connections and transactions, for SQLite and PostgreSQL alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine, Insert, Select, Table, create_engine, event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL

from discreet.errors import missing_extra
from discreet.server.store.address import is_file
from discreet.server.store.failures import StoreBusy, StoreUnavailable, in_our_words

T = TypeVar("T")

PATIENCE = 5.0
"""Seconds to wait for a lock or a connection."""
TRIES = 8
"""How often a transaction is tried that others came in between of."""
WRITES = "discreet_writes"
MOST_KEPT = 10_000
"""What one statement found for so many different questions is kept."""


def engine_for(url: URL, patience: float = PATIENCE) -> Engine:
    """An engine whose connections keep what they are told, and wait a bounded time."""
    if is_file(url):
        engine = create_engine(url, connect_args={"timeout": patience}, pool_timeout=patience)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    milliseconds = int(patience * 1000)
    settings = f"-c lock_timeout={milliseconds} -c statement_timeout={4 * milliseconds} -c client_encoding=utf8"
    try:
        return create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            pool_timeout=patience,
            connect_args={
                "connect_timeout": max(2, int(patience)),
                "options": settings,
                "application_name": "discreet",
                "keepalives_idle": 30,
                "tcp_user_timeout": 4 * milliseconds,
            },
        )
    except ImportError:
        raise missing_extra("psycopg", "postgresql", "A PostgreSQL database") from None


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own; see _begin_sqlite
    cursor = connection.cursor()
    for line in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
        cursor.execute(f"PRAGMA {line}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that will write takes its lock before it reads: what it read then still holds when it writes.
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def read(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Do work in one transaction that only reads."""

    def transaction() -> T:
        with engine.connect() as connection, connection.begin():
            return work(connection)

    return in_our_words(transaction)


def rows_of(engine: Engine, statement: Select[Any], given: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """Rows of one statement, which is a transaction by itself: for what every request looks up.

    In a file it takes a tenth of the time of :func:`read`, for it is put into words once.
    """
    if engine.dialect.name != "sqlite":
        return read(engine, lambda connection: connection.execute(statement, given).all())
    words, names = _in_words(engine, statement)

    def look_up() -> Sequence[Sequence[Any]]:
        lent = engine.raw_connection()
        try:
            found: list[tuple[Any, ...]] = lent.cursor().execute(words, [given[name] for name in names]).fetchall()
        except sqlite3.Error as error:
            raise exc.OperationalError(words, None, error) from None
        finally:
            lent.close()
        return found

    return in_our_words(look_up)


class OwnConnection:
    """A connection to a file that is kept for one statement, and never writes; elsewhere one of all is lent.

    Parameters
    ----------
    engine, statement
        Where to look, and for what.
    """

    def __init__(self, engine: Engine, statement: Select[Any]) -> None:
        self._engine = engine
        self._statement = statement
        self._connection: Any = None
        self._lock = Lock()

    def rows(self, given: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """What the statement finds now.

        Raises
        ------
        StoreError
            When the database does not answer.
        """
        if self._engine.dialect.name != "sqlite":
            return rows_of(self._engine, self._statement, given)
        words, names = _in_words(self._engine, self._statement)
        wanted = tuple(given[name] for name in names)
        with self._lock:
            return in_our_words(lambda: self._looked_up(words, wanted))

    def _looked_up(self, words: str, wanted: tuple[Any, ...]) -> Sequence[Sequence[Any]]:
        try:
            found: list[tuple[Any, ...]] = self._connected().execute(words, wanted).fetchall()
            return found
        except sqlite3.Error as error:
            self._let_go()
            raise exc.OperationalError(words, None, error) from None

    def _connected(self) -> Any:
        if self._connection is None:
            lent = self._engine.raw_connection()
            self._connection = lent.driver_connection
            lent.detach()
        return self._connection

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class KeptRows(OwnConnection, Generic[T]):
    """What one statement finds, kept as long as nothing at all was written to the database.

    In a file, ``PRAGMA data_version`` proves it at every look-up: it is another number as soon as any connection of any
    process has committed anything. The connection that asks is our own, and never writes. Elsewhere every look-up is a
    query.

    Parameters
    ----------
    engine, statement
        Where to look, and for what.
    made
        What is made of the rows.
    """

    def __init__(self, engine: Engine, statement: Select[Any], made: Callable[[Sequence[Sequence[Any]]], T]) -> None:
        super().__init__(engine, statement)
        self._made = made
        self._version: int | None = None
        self._kept: dict[tuple[Any, ...], T] = {}

    def find(self, given: Mapping[str, Any]) -> T:
        """What the statement finds now.

        Raises
        ------
        StoreError
            When the database does not answer; nothing is kept then.
        """
        if self._engine.dialect.name != "sqlite":
            return self._made(rows_of(self._engine, self._statement, given))
        words, names = _in_words(self._engine, self._statement)
        wanted = tuple(given[name] for name in names)
        with self._lock:
            return in_our_words(lambda: self._found(words, wanted))

    def _found(self, words: str, wanted: tuple[Any, ...]) -> T:
        try:
            version = self._connected().execute("PRAGMA data_version").fetchone()[0]
            if version != self._version or len(self._kept) >= MOST_KEPT:
                self._kept.clear()
                self._version = version
            if wanted not in self._kept:  # read after the number: never older than it says
                self._kept[wanted] = self._made(self._connection.execute(words, wanted).fetchall())
            return self._kept[wanted]
        except sqlite3.Error as error:
            self._let_go()
            raise exc.OperationalError(words, None, error) from None

    def _let_go(self) -> None:
        self._version = None
        self._kept.clear()
        super()._let_go()


@lru_cache(maxsize=64)
def _in_words(engine: Engine, statement: Select[Any]) -> tuple[str, tuple[str, ...]]:
    """A statement as the file's own engine reads it, and the names of what is to be given in their order."""
    made = statement.compile(dialect=engine.dialect)
    return str(made), tuple(made.positiontup or ())


def written(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Do work in one transaction that writes, again where another came in between; all of it, or nothing.

    What must not run beside itself locks a row first; SQLite has one writer at a time anyway.
    """

    def transaction() -> T:
        with engine.connect() as connection:
            writer = connection.execution_options(**{WRITES: True})
            with writer.begin():
                return work(writer)

    for _ in range(TRIES):
        with suppress(StoreBusy):
            return in_our_words(transaction)
    raise StoreUnavailable(f"The database was too busy, {TRIES} times.", hint="Nothing was entered. Try again.")


def insert_into(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insertion that may say what to do where the entry is there already."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def new_id(connection: Connection, insertion: Insert) -> int:
    """Insert one row and give its number."""
    key = connection.execute(insertion).inserted_primary_key
    assert key is not None
    return int(key[0])
