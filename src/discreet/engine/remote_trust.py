"""What an engine must be like for its tables to be exact: decimals, UTF-8, and text that is equal only to itself."""

from __future__ import annotations

import re
from typing import Any

from discreet.errors import NeedsError

EXACT = ("postgres", "duckdb", "pyspark", "bigquery", "snowflake", "trino", "clickhouse")
"""Engines with decimals of 38 digits that tell all texts apart; others are refused."""
PLAIN_COLLATIONS = re.compile(r'COLLATE\s+"?(?:binary|C|POSIX)\b', re.I)


def refuse_inexact(backend: Any, table: Any, name: str) -> None:
    """Refuse a table whose engine would round sums, or would take two codes or contributors for one."""
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
    loose = LOOSE.get(engine, _none)(backend, table)
    if loose:
        raise NeedsError(
            f"The table {name!r} has text that {engine} compares loosely ({loose}): it would take codes or "
            "contributors that differ, such as 'a' and 'A', for one.",
            hint="Make a view whose columns of text are compared by their bytes.",
        )


def _none(_: Any, __: Any) -> str:
    return ""


def _in_postgres(backend: Any, table: Any) -> str:
    """Columns whose collation finds different texts equal."""
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    if not texts:
        return ""
    quoted = [name.replace('"', '""') for name in texts]
    asked = ", ".join(f'pg_collation_for("{name}")' for name in quoted)
    # A row without values is asked of where there are no records.
    words = f"SELECT {asked} FROM (SELECT 1) AS one LEFT JOIN ({backend.compile(table)}) AS records ON true LIMIT 1"
    loose = "SELECT collname FROM pg_collation WHERE NOT collisdeterministic"
    with backend.con.cursor() as cursor:
        found = cursor.execute(words.encode()).fetchone()
        if backend.con.info.server_version < 120000:
            return ""
        names = {str(row[0]) for row in cursor.execute(loose).fetchall()}
    for name, collation in zip(texts, found, strict=True):
        if collation is not None and collation.rpartition(".")[2].strip('"').replace('""', '"') in names:
            return f"column {name!r}"
    return ""


def _in_duckdb(backend: Any, _: Any) -> str:
    """Collations of the connection, and of whatever table or view it has: which one a column has, nobody tells."""
    default = str(backend.raw_sql("SELECT current_setting('default_collation')").fetchone()[0])
    if default.lower() not in ("", "binary", "c", "posix"):
        return "default_collation"
    made = "SELECT sql FROM duckdb_tables() UNION ALL SELECT sql FROM duckdb_views() WHERE NOT internal"
    said = [str(row[0]) for row in backend.raw_sql(made).fetchall()]
    return "COLLATE" if any(re.search("COLLATE", PLAIN_COLLATIONS.sub("", one), re.I) for one in said) else ""


def _in_spark(backend: Any, table: Any) -> str:
    """Columns that have another collation than that of bytes."""
    for field in backend.raw_sql(backend.compile(table)).schema.fields:
        if getattr(field.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY":
            return f"column {field.name!r}"
    return ""


LOOSE = {"postgres": _in_postgres, "duckdb": _in_duckdb, "pyspark": _in_spark}
"""Where an engine tells what text it compares loosely."""
