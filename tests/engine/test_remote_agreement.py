"""Tables made in duckdb and PostgreSQL through ibis are those of memory, in every column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

from discreet.engine.encode import read_records
from discreet.engine.protocol import open_records
from discreet.model.microdata import Microdata
from discreet.model.table import Table
from tests.engine.brute_force import assert_agrees, assert_same_table
from tests.engine.remotes import loaded, postgres_server
from tests.engine.strategies import Case, cases
from tests.server import postgres

ibis = pytest.importorskip("ibis", reason="ibis is not installed (discreet[engines])")

some = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
many = settings(some, max_examples=200)
"""Putting questions into SQL takes a third of a second each: the many examples are for ``make test-engines``."""


@pytest.fixture(scope="module")
def duck() -> Iterator[Any]:
    backend = ibis.duckdb.connect()
    backend.raw_sql("SET threads = 1")
    yield backend
    backend.disconnect()


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    if postgres.missing():
        pytest.skip(postgres.missing())
    with postgres_server() as server:
        backend = ibis.postgres.connect(host=str(server.folder), user="postgres", database="business")
        yield backend
        backend.disconnect()


def numbered(case: Case) -> pa.Table:
    """The records with numbers, by which those of a database are told apart where nobody else is named."""
    return case.frame.append_column("number", pa.array(range(len(case.records))))


def remote_table(backend: Any, case: Case) -> Table:
    data = Microdata(loaded(backend, numbered(case)), weight=case.weight, identifier="number", **case.roles)
    assert data.engine == "remote"
    with open_records(data, [case.spec], case.weight) as records:
        return records.table(case.spec)


def compared(backend: Any, case: Case) -> None:
    assume(not any(isinstance(record.get("firm"), float) for record in case.records))
    found = remote_table(backend, case)
    data = case.microdata(case.frame)
    assert_same_table(found, read_records(data, [case.spec], case.weight).table(case.spec))
    assert_agrees(found, case.universe, data, case.weight)


@some
@given(case=cases())
def test_duckdb_through_ibis_agrees_with_memory_and_brute_force(duck: Any, case: Case) -> None:
    compared(duck, case)


@some
@given(case=cases())
def test_postgresql_agrees_with_memory_and_brute_force(database: Any, case: Case) -> None:
    compared(database, case)


@pytest.mark.engines
@many
@given(case=cases())
def test_many_tables_of_duckdb_agree(duck: Any, case: Case) -> None:
    compared(duck, case)


@pytest.mark.engines
@many
@given(case=cases())
def test_many_tables_of_postgresql_agree(database: Any, case: Case) -> None:
    compared(database, case)
