"""Each test of the store runs on SQLite and on a real PostgreSQL that the tests start themselves."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from tests.server.postgres import Postgres, make_postgres, missing

NUMBERS = count()


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if why := missing():
        pytest.skip(why)
    pytest.importorskip("psycopg")
    server = make_postgres()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("template") / "server.db"
    migrate(path)
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres) -> str:
    postgres.sql("CREATE DATABASE template_of_ours")
    migrate(postgres.url("template_of_ours"))
    return "template_of_ours"


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request, tmp_path) -> Callable[[], str]:
    """Makes databases with all their tables and nothing in them."""

    def sqlite() -> str:
        path = tmp_path / f"server{next(NUMBERS)}.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        path.chmod(0o600)
        return f"sqlite:///{path}"

    def postgresql() -> str:
        server, template = request.getfixturevalue("postgres"), request.getfixturevalue("postgres_template")
        name = f"d{next(NUMBERS)}"
        server.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return server.url(name)

    if request.param == "postgresql":
        request.getfixturevalue("postgres")
    return sqlite if request.param == "sqlite" else postgresql


@pytest.fixture
def address(new_database) -> str:
    return new_database()


@pytest.fixture
def store(address, clock) -> Iterator[Store]:
    with Store.open(address, clock=clock) as opened:
        yield opened
