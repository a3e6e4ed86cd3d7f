"""A database has the schema that this version knows, or it is refused with what to do."""

from __future__ import annotations

import stat
from itertools import count

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, NullPool, create_engine, text

from discreet.errors import InputError, ParameterError
from discreet.server.store.address import address_of, file_of, make_file
from discreet.server.store.failures import StoreError, StoreUnavailable
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.server.store.tables import METADATA, NEWEST, REVISIONS


@pytest.fixture
def empty(request, new_database, tmp_path) -> str:
    """A database without tables."""
    if "sqlite" in request.node.name:
        return f"sqlite:///{tmp_path / 'empty.db'}"
    server, name = request.getfixturevalue("postgres"), f"empty{next(NUMBERS)}"
    server.sql(f"CREATE DATABASE {name}")
    return server.url(name)


NUMBERS = count()


def engine(where: str) -> Engine:
    return create_engine(address_of(where), poolclass=NullPool)


def test_revisions_are_those_of_the_steps():
    config = Config()
    config.set_main_option("script_location", "discreet.server:migrations")
    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(steps)) == REVISIONS


def test_all_steps_lead_to_the_tables_of_the_code(address):
    with engine(address).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_the_first_schema_is_upgraded_with_what_is_in_it(empty):
    assert migrate(empty, to="0001") == (None, "0001")
    with engine(empty).begin() as connection:
        connection.execute(
            text("INSERT INTO principal (name, email, state, made) VALUES ('Ada', 'ada@example.org', 'active', 1)")
        )
        edition = "INSERT INTO dataset_edition (dataset, edition, state, key_fingerprint, key_version, registered)"
        connection.execute(text(f"{edition} VALUES ('census', '1', 'open', 'ab', 1, 1)"))
        told = "INSERT INTO refinement (edition_id, margin, read_by, precision)"
        connection.execute(text(f"{told} SELECT id, '|age:1', 'sex', 0.25 FROM dataset_edition"))
    with pytest.raises(StoreError, match=rf"schema 0001, and {NEWEST} is needed. .*migrate"):
        Store.open(empty)
    assert migrate(empty) == ("0001", NEWEST)
    with Store.open(empty) as store:
        ada = store.people.named("Ada")
        assert ada is not None
        store.people.link_outside(ada.id, "https://id.example.org", "77")  # a table of the second schema
        assert store.people.known_outside("https://id.example.org", "77") == ada
        with store.engine.connect() as connection:
            assert connection.execute(text("SELECT precision FROM refinement")).scalar() == 0.25
    assert migrate(empty) == (NEWEST, NEWEST)


def test_a_database_without_tables_is_refused_with_what_to_do(empty):
    if empty.startswith("sqlite"):
        make_file(file_of(address_of(empty)))
    with pytest.raises(StoreError, match=r"no tables of discreet.*discreet server migrate"):
        Store.open(empty)


def test_a_newer_schema_is_refused_by_both(address):
    with engine(address).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match=f"does not know; it knows 0001 to {NEWEST}"):
        Store.open(address)
    with pytest.raises(StoreError, match="does not know"):
        migrate(address)


def test_a_step_that_fails_leaves_the_schema_as_it_was(empty):
    migrate(empty, to="0001")
    with engine(empty).begin() as connection:
        connection.execute(text("CREATE TABLE bucket (holder TEXT)"))  # what the second step is to make, last
    with pytest.raises(StoreError):
        migrate(empty)
    with engine(empty).connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "0001"
        with pytest.raises(Exception, match="passkey"):
            connection.execute(text("SELECT * FROM passkey"))


def test_a_new_file_is_its_owners(tmp_path):
    path = tmp_path / "server.db"
    migrate(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o604)
    with pytest.raises(InputError, match="Everybody on this machine"):
        Store.open(path)


def test_a_file_that_is_not_there_is_not_made_by_opening_it(tmp_path):
    with pytest.raises(InputError, match=r"There is no database 'server.db'.*migrate"):
        Store.open(tmp_path / "server.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "where",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory",
        "mysql://me:hunter2@h/d",
        "postgresql://me:hunter2@h:port/d",
    ],
)
def test_other_databases_are_refused_without_repeating_the_password(where):
    with pytest.raises(ParameterError) as caught:
        Store.open(where)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None


def test_sqlite_keeps_what_it_is_told(sqlite_template):
    with Store.open(sqlite_template) as store, store.engine.connect() as connection:
        found = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
        assert found == ["wal", 2]
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 5000


def test_an_unreachable_server_is_said_without_address_and_password():
    with pytest.raises(StoreUnavailable) as caught:
        Store.open("postgresql://me:hunter2@127.0.0.1:1/private_name")
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    for secret in ("hunter2", "private_name", "127.0.0.1", "SELECT"):
        assert secret not in f"{error!s} {error.details}"
