"""Where a table of records lies in a database: an address that keeps its secrets to itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from discreet.errors import ParameterError, unknown_name

SCHEMES = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "duckdb": "duckdb",
    "bigquery": "bigquery",
    "snowflake": "snowflake",
    "trino": "trino",
    "clickhouse": "clickhouse",
}
"""First words of addresses, and what ibis calls the engine."""
FRAMES = ("ibis.", "pyspark.")
"""Modules whose frames stay in their engine."""


class Hidden(str):
    """Text that is not shown where somebody looks at a variable, as in the frames of an error.

    Examples
    --------
    >>> {"password": Hidden("secret")}
    {'password': '...'}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'...'"


@dataclass(frozen=True, eq=False)
class Address:
    """A table of a database, as in ``postgres://user:secret@host:5432/database/table``.

    Between the database and the table a schema may stand. Words and errors name the table, and never the rest. A copy
    that is pickled leaves the user, the password and the settings behind: who loads it gives the address again.

    Examples
    --------
    >>> Address.parse("postgres://ann:secret@db/business/firms")
    Address(postgres, table='firms')
    """

    engine: str
    database: str
    schema: str | None
    table: str
    place: Hidden
    """Everything between ``//`` and the database."""
    query: Hidden

    @classmethod
    def parse(cls, url: str) -> Address:
        """Take an address apart; what is wrong with it is said without repeating it."""
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            parts = None
        if parts is None:
            raise _not_an_address()
        place, query = Hidden(parts.netloc), Hidden(parts.query)
        scheme = parts.scheme.lower()
        if scheme not in SCHEMES:
            raise ParameterError(
                unknown_name("kind of address", f"{scheme}://", [f"{name}://" for name in SCHEMES], "discreet"),
                hint="Give an ibis table or a Spark frame for other engines.",
            )
        if SCHEMES[scheme] == "duckdb":
            database, _, table = parts.path.rpartition("/")
            if not database or not table:
                raise _not_an_address()
            return cls("duckdb", unquote(database), None, unquote(table), place, query)
        segments = [unquote(segment) for segment in parts.path.split("/")[1:]]
        if len(segments) not in (2, 3) or not all(segments):
            raise _not_an_address()
        schema = segments[1] if len(segments) == 3 else None
        return cls(SCHEMES[scheme], segments[0], schema, segments[-1], place, query)

    @property
    def name(self) -> str:
        """The table, with its schema where one is named."""
        return self.table if self.schema is None else f"{self.schema}.{self.table}"

    def settings(self) -> dict[str, Any]:
        """What a driver needs to connect; holds the secret, hidden from whoever looks at it by chance."""
        parts = urlsplit(f"//{self.place}")
        found: dict[str, Any] = {"host": parts.hostname, "port": parts.port, "database": self.database}
        found |= {"user": unquote(parts.username or ""), "password": Hidden(unquote(parts.password or ""))}
        asked = {name: Hidden(value) for name, value in parse_qsl(self.query)}
        return {name: value for name, value in found.items() if value} | asked

    def database_url(self) -> Hidden:
        """The address without its table, for drivers that take addresses."""
        within = "/".join(quote(part, safe="") for part in (self.database, self.schema) if part)
        return Hidden(f"{self.engine}://{self.place}/{within}" + (f"?{self.query}" if self.query else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        host = self.place.rpartition("@")[2]
        return Address, (self.engine, self.database, self.schema, self.table, Hidden(host), Hidden(""))

    def __repr__(self) -> str:
        return f"Address({self.engine}, table={self.name!r})"


def _not_an_address() -> ParameterError:
    return ParameterError(
        "This is no address of a table.",
        hint="Write postgres://user:password@host:5432/database/table, or /database/schema/table; "
        "duckdb:///folder/file.duckdb/table for a file. Signs such as @ and / in a password are written %40 and %2F.",
    )


def stays_in_its_engine(source: Any) -> bool:
    """Whether records lie in an engine that makes tables itself: an address, an ibis table, a Spark frame."""
    return isinstance(source, Address) or type(source).__module__.startswith(FRAMES)
