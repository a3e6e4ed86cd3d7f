"""Tables made in duckdb and PostgreSQL through ibis are those of memory, in every column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings

import discreet as ds
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


CROWDED = {
    "c": ds.Hierarchy.from_nested({"A": ["a1", "a2"], "B": ["b1", "b2"]}),
    "d": ds.Hierarchy.flat(["p", "q"]).with_grouping("net", ["p"], minus=["q"]),
    "e": ds.Hierarchy.flat(["p", "q"]),
}


def crowd(seed: int, records: int = 600) -> pa.Table:
    """Cells with many contributors, of which many have the same amounts, all of one rest, zeros or less than zero."""
    draw = np.random.default_rng(seed)
    amounts = [
        draw.integers(0, 4, records),
        draw.integers(-30, 200, records) * 105,
        np.rint(draw.lognormal(3, 2, records)).astype(np.int64),
    ][seed % 3]
    firms = draw.integers(0, 150, records)
    return pa.table(
        {
            "c": draw.choice(CROWDED["c"].base_codes, records),
            "d": draw.choice(["p", "q"], records),
            "e": draw.choice(["p", "q"], records, p=[0.9, 0.1]),
            "x": amounts,
            "y": draw.integers(0, 99, records) / 8,
            "firm": firms if seed % 2 else [f"f{number}" for number in firms],
            "w": draw.integers(8, 30, records) / 8,
            "number": range(records),
        }
    )


@pytest.mark.parametrize("engine", ["duck", "database"])
@pytest.mark.parametrize(
    ("by", "roles", "question"),
    [
        ("ce", {"contributor": "firm"}, {}),
        ("ce", {"contributor": "firm"}, {"absolute": True, "top": 5}),
        ("ce", {"contributor": "firm"}, {"shadow": "y", "top": 1}),
        ("cd", {"contributor": "firm"}, {"levels": ("holding", "record")}),
        ("ce", {"contributor": "firm", "weight": "w"}, {"weight": "w", "top": 4}),
        ("ce", {}, {"top": 9}),
        ("ce", {}, {"shadow": "y"}),
    ],
)
def test_the_largest_of_many_contributors_are_those_of_memory(
    request: pytest.FixtureRequest, engine: str, by: str, roles: dict[str, Any], question: dict[str, Any]
) -> None:
    """Those that cannot be among the largest are left out before the others are put in order."""
    backend, variables = request.getfixturevalue(engine), {name: CROWDED[name] for name in by}
    for seed in range(3):
        frame = crowd(seed)
        one, other = (
            ds.tabulate(ds.Microdata(source, identifier="number", **roles), by=variables, value="x", **question)
            for source in (loaded(backend, frame), frame)
        )
        assert_same_table(one, other)


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
