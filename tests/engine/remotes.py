"""Engines that hold records of the tests: duckdb and PostgreSQL through ibis."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tests.server import postgres

TYPES = {
    pa.string(): "text",
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
}


def loaded(backend: Any, frame: pa.Table, name: str = "records") -> Any:
    """A table of an engine with the records of a frame, in any order."""
    if backend.name != "postgres":
        return backend.create_table(name, frame, overwrite=True)
    columns = ", ".join(f'"{field.name}" {TYPES[field.type]}' for field in frame.schema)
    with backend.con.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS "{name}"; CREATE TABLE "{name}" ({columns})')
        with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in zip(*(column.to_pylist() for column in frame.columns), strict=True):
                copy.write_row(row)
    return backend.table(name)


@contextmanager
def postgres_server() -> Iterator[postgres.Postgres]:
    server = postgres.make_postgres()
    try:
        server.sql("CREATE DATABASE business")
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)
