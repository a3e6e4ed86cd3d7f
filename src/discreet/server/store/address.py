"""Where the database is: a file (SQLite) or an address (PostgreSQL)."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from discreet.errors import InputError, ParameterError

ALLOWED = "Give a file (server.db), sqlite:///server.db, or postgresql://user@host/name."


def address_of(where: str | Path) -> URL:
    """The address of a database, from a URL or the path of a file.

    Raises
    ------
    ParameterError
        When it is neither, or a database in memory, which forgets.
    """
    text = str(where)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    url: URL | None = None
    with suppress(ArgumentError, ValueError):  # their error repeats the address, password and all
        url = make_url(text)
    if url is None:
        raise ParameterError("The address of the database cannot be read.", hint=ALLOWED)
    kind = url.get_backend_name()
    if kind == "sqlite":
        if not url.database or url.database == ":memory:" or "mode=memory" in text or url.database.startswith("file:"):
            raise ParameterError("A database in memory forgets what was told.", hint=ALLOWED)
        return URL.create("sqlite", database=url.database)
    if kind == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise ParameterError(f"Databases of the kind {kind!r} are not used.", hint=ALLOWED)


def is_file(url: URL) -> bool:
    """Whether the database is a file of SQLite."""
    return url.get_backend_name() == "sqlite"


def file_of(url: URL) -> Path:
    """The file of an SQLite database."""
    return Path(str(url.database))


def refuse_open_file(path: Path) -> None:
    """Refuse a file that others than its owner and group may read or write.

    Raises
    ------
    InputError
        When it is not there, or open to everybody.
    """
    if not path.is_file():
        raise InputError(
            f"There is no database {path.name!r}.", hint="Make it with: discreet server migrate --database FILE"
        )
    if stat.S_IMODE(path.stat().st_mode) & 0o007:
        raise InputError(
            f"Everybody on this machine may open the database {path.name!r}.", hint="Take that away: chmod o-rwx FILE"
        )


def make_file(path: Path) -> None:
    """Make an empty file that only its owner may open, unless it is there."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputError(
            f"The database {path.name!r} cannot be made: {error.strerror or error}.",
            hint="Choose a folder that is there and may be written to.",
        ) from None
