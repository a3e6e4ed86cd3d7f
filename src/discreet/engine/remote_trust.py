"""What an engine must be like for its tables to be exact: decimals, UTF-8, and text that is equal only to itself."""

from __future__ import annotations

import re
from typing import Any

from discreet.errors import NeedsError

EXACT = ("postgres", "duckdb", "pyspark", "bigquery", "snowflake", "trino", "clickhouse")
"""Engines with decimals of 38 digits that tell all texts apart; others are refused."""
PLAIN_TYPES = ("text", "character varying", "character", "name", "uuid")
"""Types of PostgreSQL that are text in joins and equal only to themselves; citext and lists of words are not."""
PLAIN_COLLATIONS = re.compile(r'COLLATE\s+"?(?:binary|C|POSIX)\b', re.I)


def refuse_inexact(backend: Any, name: str) -> None:
    """Refuse an engine that would round sums, or that reads texts otherwise."""
    engine = str(backend.name)
    if engine not in EXACT:
        raise NeedsError(
            f"Tables of {engine} would not be exact: it has no decimal numbers of 38 digits, or takes texts such as "
            "'a' and 'A' for one.",
            hint=f"Exact are {', '.join(EXACT)}. Copy the table {name!r} into one of them, or into a Parquet file.",
        )
    if engine == "postgres" and backend.con.info.parameter_status("server_encoding") != "UTF8":
        # Texts are known by the hash of their UTF-8 bytes.
        raise NeedsError(
            f"The database of table {name!r} is not in UTF-8.",
            hint="Copy the table into a database that was made with ENCODING 'UTF8'.",
        )


def refuse_loose_text(backend: Any, table: Any, column: str, name: str) -> None:
    """Refuse a column of text of which the engine would take two codes or contributors for one."""
    engine = str(backend.name)
    loose = LOOSE[engine](backend, table, column) if engine in LOOSE else ""
    if loose:
        raise NeedsError(
            f"{engine} compares column {column!r} of table {name!r} loosely, or not as text ({loose}): it could take "
            "codes or contributors that differ, such as 'a' and 'A', for one.",
            hint="Make a view in which text is compared by its bytes.",
        )


def _in_postgres(backend: Any, table: Any, column: str) -> str:
    """A type or collation that finds different texts equal, or that is no text for joins."""
    quoted = '"' + column.replace('"', '""') + '"'
    # A row of nothing is asked where there are no records.
    source = f"FROM (SELECT 1) AS one LEFT JOIN ({backend.compile(table)}) AS records ON true LIMIT 1"
    loose = "SELECT collname FROM pg_collation WHERE NOT collisdeterministic"
    with backend.con.cursor() as cursor:
        kind = str(cursor.execute(f"SELECT pg_typeof({quoted})::text {source}".encode()).fetchone()[0])
        if kind not in PLAIN_TYPES:
            return kind
        if kind == "uuid" or backend.con.info.server_version < 120000:
            return ""
        collation = str(cursor.execute(f"SELECT pg_collation_for({quoted}) {source}".encode()).fetchone()[0])
        found = {str(row[0]) for row in cursor.execute(loose).fetchall()}
    return collation if collation.rpartition(".")[2].strip('"').replace('""', '"') in found else ""


def _in_duckdb(backend: Any, _: Any, __: str) -> str:
    """Collations of the connection, and of whatever table or view it has: which one a column has, nobody tells."""
    default = str(backend.raw_sql("SELECT current_setting('default_collation')").fetchone()[0])
    if default.lower() not in ("", "binary", "c", "posix"):
        return default
    made = "SELECT sql FROM duckdb_tables() UNION ALL SELECT sql FROM duckdb_views() WHERE NOT internal"
    said = [str(row[0]) for row in backend.raw_sql(made).fetchall()]
    return "COLLATE" if any(re.search("COLLATE", PLAIN_COLLATIONS.sub("", one), re.I) for one in said) else ""


def _in_spark(backend: Any, table: Any, column: str) -> str:
    """Another collation than that of bytes."""
    kinds = [field.dataType for field in backend.raw_sql(backend.compile(table)).schema.fields if field.name == column]
    collation = str(getattr(kinds[0], "collation", "UTF8_BINARY")) if kinds else "UTF8_BINARY"
    return "" if collation == "UTF8_BINARY" else collation


LOOSE = {"postgres": _in_postgres, "duckdb": _in_duckdb, "pyspark": _in_spark}
"""Where an engine tells what text it compares loosely."""
