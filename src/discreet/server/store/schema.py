"""Which schema a database has, and how it gets the newest."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.engine import URL

from discreet.server.store.address import address_of, file_of, is_file, make_file, refuse_open_file
from discreet.server.store.database import engine_for, read, written
from discreet.server.store.failures import StoreError
from discreet.server.store.tables import NEWEST, REVISIONS

LOCK = 0x64697363726565
"""Number of the lock that whoever changes the schema of a PostgreSQL database holds."""


def schema_of(connection: Connection) -> str | None:
    """The schema of a database; ``None`` where it has none of ours."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    return str(found[0]) if len(found) == 1 else ""


def refuse_other_schema(engine: Engine) -> None:
    """Refuse a database that this version of the package does not know how to use.

    Raises
    ------
    StoreError
        When its schema is missing, older or newer.
    """
    found = read(engine, schema_of)
    if found == NEWEST:
        return
    migrate_hint = "Make a backup, then: discreet server migrate"
    if found is None:
        raise StoreError("The database has no tables of discreet.", hint="Make them with: discreet server migrate")
    if found in REVISIONS:
        raise StoreError(f"The database has schema {found}, and {NEWEST} is needed.", hint=migrate_hint)
    raise StoreError(
        f"The database has a schema that this version of discreet does not know; it knows {REVISIONS[0]} to {NEWEST}.",
        hint="Use the newer version of discreet that made it, or restore a backup that is older.",
    )


def migrate(where: str | Path, *, to: str = NEWEST) -> tuple[str | None, str]:
    """Bring a database to a schema, an empty one to all its tables; all steps, or none.

    Returns
    -------
    The schema that it had and the one that it has.

    Raises
    ------
    StoreError
        When its schema is newer than this version of the package knows.
    """
    url = address_of(where)
    if is_file(url):
        make_file(file_of(url))
        refuse_open_file(file_of(url))
    engine = engine_for(url)
    try:
        return written(engine, lambda connection: _migrated(connection, to))
    finally:
        engine.dispose()


def _migrated(connection: Connection, to: str) -> tuple[str | None, str]:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK})
    before = schema_of(connection)
    if before is not None and before not in REVISIONS:
        raise StoreError(
            "The database has a schema that this version of discreet does not know.",
            hint="Use the newer version of discreet that made it.",
        )
    if before is not None and REVISIONS.index(before) >= REVISIONS.index(to):
        return before, before
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "discreet.server:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, to)
    return before, to


def opened(url: URL) -> Engine:
    """An engine for a database whose schema is the newest."""
    if is_file(url):
        refuse_open_file(file_of(url))
    engine = engine_for(url)
    try:
        refuse_other_schema(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine
