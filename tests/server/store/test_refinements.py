"""The account in the database: the same as the one in memory, and nobody overspends it, whoever races or dies."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from discreet.errors import InputError, ParameterError
from discreet.server.account import MarginReading, MemoryAccount
from discreet.server.denied import Denied
from discreet.server.question import QuestionRefusal
from discreet.server.store.failures import StoreUnavailable
from discreet.server.store.store import Store

NUMBERS = count()


def registered(store: Store, dataset: str = "census") -> str:
    edition = f"e{next(NUMBERS)}"
    store.editions.register(dataset, edition, key_fingerprint="ab", key_version=1)
    return edition


class CountedByHand:
    """A list of all readings that were given, gone through from its beginning each time."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str, float]] = []
        self.tables: list[str] = []

    def takes(self, table: str, readings: list[MarginReading], room: dict[str, float]) -> bool:
        new = [one for one in readings if not any(one[:2] == old[:2] for old in self.given)]
        for margin in {one.margin for one in new}:
            total = sum(old[2] for old in self.given if old[0] == margin)
            if total + sum(one.precision for one in new if one.margin == margin) > room[margin]:
                return False
        self.given += [tuple(one) for one in new]
        self.tables.append(table)
        return True


eighths = st.integers(0, 12).map(lambda n: n / 8)
readings_of = st.dictionaries(st.tuples(st.sampled_from("xyz"), st.sampled_from("abcd")), eighths, max_size=6)
charges = st.tuples(st.integers(0, 5).map("t{}".format), readings_of)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(charges, max_size=10), room=st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_it_is_the_account_in_memory_and_the_one_counted_by_hand(store, asked, room):
    edition, memory, by_hand = registered(store), MemoryAccount(), CountedByHand()
    rooms = dict(zip("xyz", (n / 8 for n in room), strict=True))
    for table, told in asked:
        readings = [MarginReading(margin, by, precision) for (margin, by), precision in told.items()]
        taken = []
        for account in (store.account, memory):
            # a look first, which changes nothing and says what comes
            looked = partial(account.check, "census", edition)
            charged = partial(account.charge, "census", edition, table)
            for ask in (looked, charged):
                try:
                    ask(readings, rooms)
                    taken.append("")
                except QuestionRefusal as error:
                    taken.append(error.message)
        assert len(set(taken)) == 1
        assert (taken[0] == "") == by_hand.takes(table, readings, rooms)
        for name in ("t0", "t1", table):
            there = name in by_hand.tables
            assert [store.account.has("census", edition, name), memory.has("census", edition, name)] == [there, there]
    sums: dict[str, float] = {}
    for margin, _, precision in by_hand.given:
        sums[margin] = sums.get(margin, 0.0) + precision
    assert store.account.told("census", edition) == sums


def test_what_was_charged_is_there_after_a_restart(store, address):
    edition = registered(store)
    readings = [MarginReading("|age:1", "sex", 0.75), MarginReading("|", "sex", 0.5)]
    store.account.charge("census", edition, "t1", readings, {"|age:1": 1.0, "|": 1.0})
    store.close()
    with Store.open(address) as again:
        assert again.account.has("census", edition, "t1")
        again.account.charge("census", edition, "t1", readings, {"|age:1": 0.0, "|": 0.0})  # free
        with pytest.raises(QuestionRefusal, match="age"):
            again.account.charge("census", edition, "t2", [MarginReading("|age:1", "tenure", 0.5)], {"|age:1": 1.0})
        assert not again.account.has("census", edition, "t2")
        assert again.account.told("census", edition) == {"|age:1": 0.75, "|": 0.5}


def test_a_check_enters_nothing_and_refuses_what_is_no_charge(store):
    edition = registered(store)
    readings = [MarginReading("x", "a", 0.5)]
    store.account.check("census", edition, readings, {"x": 1.0})
    with pytest.raises(QuestionRefusal):
        store.account.check("census", edition, readings, {"x": 0.25})
    assert store.account.told("census", edition) == {}
    with pytest.raises(ParameterError, match="no number"):
        store.account.check("census", edition, [MarginReading("x", "a", float("nan"))], {"x": 1.0})
    with pytest.raises(InputError, match="not registered"):
        store.account.check("census", "e-none", readings, {"x": 1.0})


def test_a_refused_table_charges_none_of_its_margins(store):
    edition = registered(store)
    readings = [MarginReading("x", "a", 0.5), MarginReading("y", "a", 0.5)]
    with pytest.raises(QuestionRefusal):
        store.account.charge("census", edition, "t", readings, {"x": 1.0, "y": 0.25})
    assert store.account.told("census", edition) == {}
    assert not store.account.has("census", edition, "t")


def test_a_table_of_very_many_readings_is_charged_whole(store):
    edition = registered(store)
    readings = [MarginReading(f"m{number % 450}", f"b{number}", 0.5) for number in range(900)]
    room = {f"m{number}": 1.0 for number in range(450)}
    for _ in range(2):
        store.account.charge("census", edition, "t", readings, room)
    assert store.account.told("census", edition) == room
    with pytest.raises(QuestionRefusal):
        store.account.charge("census", edition, "u", [*readings, MarginReading("m449", "one more", 0.125)], room)


def test_editions_have_accounts_of_their_own(store):
    one, other = registered(store), registered(store, "survey")
    store.account.charge("census", one, "t", [MarginReading("x", "a", 1.0)], {"x": 1.0})
    assert not store.account.has("survey", other, "t")
    store.account.charge("survey", other, "t", [MarginReading("x", "a", 1.0)], {"x": 1.0})
    assert store.account.told("survey", other) == {"x": 1.0}


@pytest.mark.parametrize("precision", [-0.1, math.nan, math.inf])
def test_a_charge_that_is_no_number_is_refused(store, precision):
    with pytest.raises(ParameterError, match="no number from 0 on"):
        store.account.charge("census", registered(store), "t", [MarginReading("x", "a", precision)], {"x": 1.0})


def test_room_that_is_no_number_is_no_room(store):
    with pytest.raises(QuestionRefusal):
        store.account.charge("census", registered(store), "t", [MarginReading("x", "a", 0.5)], {"x": math.nan})


def test_editions_that_nobody_registered_or_that_are_closed_are_not_charged(store):
    readings = [MarginReading("x", "a", 0.1)]
    with pytest.raises(InputError, match="not registered"):
        store.account.charge("census", "none", "t", readings, {"x": 1.0})
    edition = registered(store)
    store.account.charge("census", edition, "t", readings, {"x": 1.0})
    store.editions.withdraw("census", edition)
    for work in (store.account.has, lambda *args: store.account.charge(*args, readings, {"x": 1.0})):
        with pytest.raises(Denied) as caught:  # not even what was free
            work("census", edition, "t")
        assert (caught.value.kind, caught.value.status) == ("withdrawn", 410)


def test_two_who_race_with_fifty_charges_each_never_exceed_the_room(store, address):
    edition, start = registered(store), Barrier(2)

    def asks(name: str) -> list[str]:
        taken = []
        with Store.open(address) as mine:
            start.wait(timeout=30)
            for number in range(50):
                table = f"{name}{number}"
                readings = [MarginReading("x", table, 0.25), MarginReading("y", table, 0.125)]
                try:
                    mine.account.charge("census", edition, table, readings, {"x": 5.0, "y": 9.0})
                    taken.append(table)
                except QuestionRefusal:
                    pass
        return taken

    with ThreadPoolExecutor(2) as both:
        one, other = both.map(asks, ["one", "other"])
    assert len(one) + len(other) == 20  # all of the room, and no more
    assert store.account.told("census", edition) == {"x": 5.0, "y": 2.5}
    assert all(store.account.has("census", edition, table) for table in one + other)


def test_two_who_race_with_the_same_tables_charge_each_once(store, address):
    edition, start = registered(store), Barrier(2)

    def asks(_: int) -> int:
        with Store.open(address) as mine:
            start.wait(timeout=30)
            for number in range(50):
                mine.account.charge(
                    "census", edition, f"t{number}", [MarginReading("x", f"t{number}", 0.125)], {"x": 6.25}
                )
        return 50

    with ThreadPoolExecutor(2) as both:
        assert list(both.map(asks, [1, 2])) == [50, 50]
    assert store.account.told("census", edition) == {"x": 6.25}


KILLED = """
import os, random, signal, sys
from discreet.server.account import MarginReading
from discreet.server.store.refinements import Refinements  # once, before all forks
from discreet.server.store.store import Store

where, edition = sys.argv[1:]
rng = random.Random(7)
for run in range(4):
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with Store.open(where) as store:
            for number in range(100_000):
                table = f"r{run}-{number}"
                readings = [MarginReading(margin, table, 0.5) for margin in "xyz"]
                store.account.charge("census", edition, table, readings, dict.fromkeys("xyz", 1e6))
                os.write(writes, b"%d " % number)
    os.close(writes)
    told, enough = b"", rng.randrange(1, 12)
    while told.count(b" ") < enough:
        told += os.read(reads, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reads, 4096):
        told += more
    print(run, told.split()[-1].decode())
"""


def test_a_process_that_is_killed_leaves_whole_charges_and_all_that_it_was_told_of(store, address):
    edition = registered(store)
    command = [sys.executable, "-c", KILLED, address, edition]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    each = text("SELECT read_by, count(*), sum(precision) FROM refinement GROUP BY read_by")
    with store.engine.connect() as connection:
        found = connection.execute(each).all()
        charged = set(connection.execute(text("SELECT table_digest FROM charged_table")).scalars())
    assert {(number, total) for _, number, total in found} == {(3, 1.5)}  # whole, each of them
    names = {name for name, _, _ in found}
    assert names == charged
    acknowledged = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(acknowledged) == 4
    for run, last in acknowledged:
        mine = {name for name in names if name.startswith(f"r{run}-")}
        assert {f"r{run}-{number}" for number in range(last + 1)} <= mine
        assert len(mine) <= last + 2
    store.account.charge("census", edition, "after", [MarginReading("x", "after", 0.5)], {"x": 1e6})  # no lock is left


def test_a_lost_server_gives_no_charge_and_a_retry_is_safe(postgres, request, clock):
    template = request.getfixturevalue("postgres_template")
    postgres.sql(f"CREATE DATABASE lost TEMPLATE {template}")
    with Store.open(postgres.url("lost"), clock=clock) as store:
        edition, readings = registered(store), [MarginReading("x", "a", 0.75)]
        postgres.stop("immediate")
        try:
            with pytest.raises(StoreUnavailable) as caught:
                store.account.charge("census", edition, "t", readings, {"x": 1.0})
            assert str(postgres.folder) not in str(caught.value)
        finally:
            postgres.start()
        assert store.account.told("census", edition) == {}
        for _ in range(2):
            store.account.charge("census", edition, "t", readings, {"x": 1.0})
        assert store.account.told("census", edition) == {"x": 0.75}


def test_a_connection_that_is_cut_within_the_charge_gives_none(postgres, request, clock, monkeypatch):
    from discreet.server.store import refinements

    template = request.getfixturevalue("postgres_template")
    postgres.sql(f"CREATE DATABASE cut TEMPLATE {template}")
    with Store.open(postgres.url("cut"), clock=clock) as store:
        edition, readings = registered(store), [MarginReading("x", "a", 0.75)]
        checked = refinements._refuse_overfull

        def cut(*args):
            checked(*args)
            postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'")

        monkeypatch.setattr(refinements, "_refuse_overfull", cut)
        with pytest.raises(StoreUnavailable):
            store.account.charge("census", edition, "t", readings, {"x": 1.0})
        monkeypatch.undo()
        assert store.account.told("census", edition) == {}
        store.account.charge("census", edition, "t", readings, {"x": 1.0})


def test_a_locked_file_gives_no_charge(sqlite_template, tmp_path):
    import shutil
    import sqlite3

    from discreet.server.store.address import address_of
    from discreet.server.store.database import engine_for

    path = tmp_path / "server.db"
    shutil.copy(sqlite_template, path)
    store = Store(engine_for(address_of(path), patience=0.05))
    edition, readings = registered(store), [MarginReading("x", "a", 0.75)]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="cannot be used now"):
        store.account.charge("census", edition, "t", readings, {"x": 1.0})
    other.execute("ROLLBACK")
    other.close()
    assert store.account.told("census", edition) == {}
    store.close()


def test_charging_what_is_there_already_takes_the_same_statements(store: Store) -> None:
    """Whoever asks second must not notice: nothing is left out because it is there."""
    edition = registered(store)
    readings = [MarginReading(f"|v{k}:1", f"|v{k}:1,w{j}:1@all", 0.25) for k in range(5) for j in range(4)]
    room = {reading.margin: 10.0 for reading in readings}
    seen: list[list[tuple[str, int]]] = []

    def listen(_connection, _cursor, statement, parameters, _context, many):
        seen[-1].append((statement, len(parameters) if many else 1))

    event.listen(store.engine, "before_cursor_execute", listen)
    for _ in range(3):
        seen.append([])
        store.account.charge("census", edition, "t", readings, room)
    assert seen[0] == seen[1] == seen[2]
    assert any(statement.startswith("INSERT INTO refinement") for statement, _ in seen[0])
    assert store.account.told("census", edition) == dict.fromkeys(room, 1.0)
