"""Copies are whole, and a database that was put back does not pretend to know what was answered since."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.errors import InputError, OutputError, ParameterError
from discreet.server.denied import Denied
from discreet.server.roles import Role
from discreet.server.store.backup import after_restore, backup, restore
from discreet.server.store.editions import refuse_closed
from discreet.server.store.failures import StoreError
from discreet.server.store.people import Founder
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.server.store.tables import NEWEST


@pytest.fixture
def database(tmp_path) -> Path:
    path = tmp_path / "server.db"
    migrate(path)
    fill(str(path))
    return path


def fill(where: str) -> None:
    with Store.open(where) as store:
        people = store.people.found([Founder(name, f"{name}@example.org", Role.OFFICER) for name in "abc"])
        store.sessions.start(people[0], 0)
        store.editions.register("census", "1", key_fingerprint="ab", key_version=1)
        store.editions.register("census", "2", key_fingerprint="cd", key_version=2)
        store.editions.withdraw("census", "1")
        store.budgets.reserve("x", 77, most=100)


def state(where: str | Path, edition: str) -> str:
    with Store.open(where) as store:
        return store.editions.find("census", edition).state


def test_a_copy_is_put_back_with_its_editions_held(database, tmp_path):
    copy, new = tmp_path / "copy.db", tmp_path / "new.db"
    backup(database, copy)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert restore(copy, new) == (1, 1)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "new" in path.name) == ["new.db"]
    assert [state(new, "1"), state(new, "2")] == ["withdrawn", "held"]
    with Store.open(new) as store:
        assert store.budgets.used("x") == 77
        with pytest.raises(Denied) as caught:
            refuse_closed(store.editions.find("census", "2"))
        assert (caught.value.kind, caught.value.status, caught.value.retry_after) == ("held", 503, 3600)
        store.editions.reopen("census", "2")
        refuse_closed(store.editions.find("census", "2"))


def test_a_complete_copy_goes_on_answering_without_its_sessions(database, tmp_path):
    backup(database, tmp_path / "copy.db")
    assert restore(tmp_path / "copy.db", tmp_path / "new.db", complete=True) == (1, 0)
    assert state(tmp_path / "new.db", "2") == "open"


def test_requests_signed_before_a_restore_are_refused_and_later_ones_taken(database, tmp_path):
    backup(database, tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "new.db")
    with sqlite3.connect(tmp_path / "new.db") as connection:
        (moment,) = connection.execute("SELECT first_seen FROM nonce WHERE digest = 'restored'").fetchone()
    connection.close()
    with Store.open(tmp_path / "new.db", clock=lambda: moment + 10.0) as store:
        store.nonces.forget()
        with pytest.raises(Denied, match="signed before"):
            store.nonces.use("print", "n" * 16, moment)
        store.nonces.use("print", "n" * 16, moment + 1)


def test_nothing_is_written_over(database, tmp_path):
    copy = tmp_path / "copy.db"
    backup(database, copy)
    before = copy.read_bytes()
    with pytest.raises(OutputError, match="exists"):
        backup(database, copy)
    assert copy.read_bytes() == before
    with pytest.raises(OutputError, match="There is a database"):
        restore(copy, database)
    assert state(database, "2") == "open"


@pytest.mark.parametrize("kind", ["empty", "text", "torn", "other", "newer", "missing"])
def test_what_is_no_copy_is_refused_and_leaves_nothing(database, tmp_path, kind):
    copy = tmp_path / "copy.db"
    backup(database, copy)
    if kind == "empty":
        copy.write_bytes(b"")
    elif kind == "text":
        copy.write_text("hello" * 2000)
    elif kind == "torn":
        raw = bytearray(copy.read_bytes())
        raw[8192:12288] = os.urandom(4096)
        copy.write_bytes(raw)
    elif kind == "missing":
        copy.unlink()
    else:
        with sqlite3.connect(copy) as connection:
            change = "DROP TABLE alembic_version" if kind == "other" else "UPDATE alembic_version SET version_num = '9'"
            connection.execute(change)
        connection.close()
    with pytest.raises(InputError):
        restore(copy, tmp_path / "new.db")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("new")] == []


def test_a_copy_made_while_others_write_is_whole(database, tmp_path):
    stop = threading.Event()

    def writes() -> None:
        with Store.open(database) as store:
            number = 0
            while not stop.is_set():
                number += 1
                store.people.add(f"person {number}", f"p{number}@example.org")

    thread = threading.Thread(target=writes)
    thread.start()
    try:
        for number in range(3):
            backup(database, tmp_path / f"copy{number}.db")
    finally:
        stop.set()
        thread.join(timeout=30)
    for number in range(3):
        restore(tmp_path / f"copy{number}.db", tmp_path / f"new{number}.db")
        Store.open(tmp_path / f"new{number}.db").close()


def test_postgresql_goes_by_its_own_tools(postgres, postgres_template):
    postgres.sql(f"CREATE DATABASE live TEMPLATE {postgres_template}")
    postgres.sql("CREATE DATABASE again")
    fill(postgres.url("live"))
    with pytest.raises(ParameterError, match="pg_dump"):
        backup(postgres.url("live"), Path("copy.db"))
    with pytest.raises(ParameterError, match="pg_restore"):
        restore(Path("copy.db"), postgres.url("again"))
    dump = str(postgres.folder / "copy.dump")
    postgres.run("pg_dump", "--format=custom", f"--file={dump}", "live")
    postgres.run("pg_restore", "--dbname=again", dump)
    assert after_restore(postgres.url("again")) == (1, 1)
    assert [state(postgres.url("again"), "1"), state(postgres.url("again"), "2")] == ["withdrawn", "held"]
    with Store.open(postgres.url("again")) as store:
        assert store.budgets.used("x") == 77
        store.people.add("new", "new@example.org")  # numbers go on where they were


def test_a_strange_database_is_not_settled(tmp_path):
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(StoreError, match="no schema"):
        after_restore(tmp_path / "other.db")


def run(*words: str, **environment: str):
    return CliRunner().invoke(main, ["server", *words], env=environment)


def test_the_commands_from_nothing_to_a_restored_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = run("migrate", "--database", "server.db")
    assert (first.exit_code, first.output) == (0, f"Made, with schema {NEWEST}.\n")
    assert run("migrate", DISCREET_DATABASE="server.db").output == f"Schema {NEWEST} was there.\n"
    fill("server.db")
    assert run("backup", "--database", "server.db", "copy.db").output == "Copied to copy.db.\n"
    taken = run("restore", "--database", "server.db", "copy.db")
    assert taken.exit_code == 6
    done = run("restore", "--database", "new.db", "copy.db")
    assert done.exit_code == 0
    assert done.output.startswith("Restored. 1 session ended; 1 edition is held.\n")
    assert run("reopen", "--database", "new.db", "census", "2").exit_code == 0
    assert state("new.db", "2") == "open"
    again = json.loads(run("after-restore", "--database", "new.db", "--json").output)
    assert again == {"sessions_ended": 0, "editions_held": 1}
    missing = run("reopen", "--database", "new.db", "census", "7")
    assert missing.exit_code == 3


def test_commands_say_no_password():
    done = run("after-restore", "--database", "postgresql://me:hunter2@127.0.0.1:1/secret_name")
    assert done.exit_code == 10
    assert "cannot be used now" in done.output
    assert "hunter2" not in done.output
    assert "secret_name" not in done.output
