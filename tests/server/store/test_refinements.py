"""The account in the database: the same as the one in memory, and nobody overspends it, whoever races or dies."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from discreet.errors import InputError, ParameterError
from discreet.server.denied import Denied
from discreet.server.store.failures import StoreUnavailable
from discreet.server.store.store import Store
from tests.server.accounts import Entry, Geography, MemoryAccount, Refusal

PARENTS = {"a1": "a", "a2": "a", "a11": "a1", "b1": "b"}
PLACES = ["", "a", "b", "a1", "a2", "a11", "b1"]
LAND = Geography(PARENTS)
WHOLE = Geography({})
NUMBERS = count()


def registered(store: Store, dataset: str = "census") -> str:
    edition = f"e{next(NUMBERS)}"
    store.editions.register(dataset, edition, key_fingerprint="ab", key_version=1)
    return edition


class CountedByHand:
    """What each place was told, one place at a time; a charge for a place reaches everything that lies in it."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], float] = {}

    def within(self, place: str, scope: str) -> bool:
        while place != scope and place:
            place = PARENTS.get(place, "")
        return place == scope

    def told(self, margin: str, place: str) -> float:
        return sum(v for (m, scope, _), v in self.rows.items() if m == margin and self.within(place, scope))

    def takes(self, entries: list[Entry], room: dict[str, float]) -> bool:
        new = [entry for entry in entries if tuple(entry[:3]) not in self.rows]
        for entry in new:
            reached = [place for place in PLACES if self.within(place, entry.scope)]
            if max(self.told(entry.margin, place) for place in reached) + entry.precision > room[entry.margin]:
                return False
        self.rows.update({tuple(entry[:3]): entry.precision for entry in new})
        return True


eighths = st.integers(0, 12).map(lambda n: n / 8)
charges = st.tuples(
    st.sampled_from(PLACES), st.integers(0, 5).map("t{}".format), st.dictionaries(st.sampled_from("xyz"), eighths)
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(charges, max_size=10), room=st.lists(st.integers(0, 24), min_size=3, max_size=3))
def test_it_is_the_account_in_memory_and_the_one_counted_by_hand(store, asked, room):
    edition, memory, by_hand = registered(store), MemoryAccount(), CountedByHand()
    rooms = dict(zip("xyz", (n / 8 for n in room), strict=True))
    for scope, table, told in asked:
        entries = [Entry(margin, scope, f"{scope} {table}", precision) for margin, precision in told.items()]
        taken = []
        for account in (store.account, memory):
            try:
                account.charge("census", edition, entries, rooms, LAND)
                taken.append(True)
            except Refusal:
                taken.append(False)
        assert taken == [by_hand.takes(entries, rooms)] * 2
    sums: dict[tuple[str, str], float] = {}
    for (margin, scope, _), precision in by_hand.rows.items():
        sums[margin, scope] = sums.get((margin, scope), 0.0) + precision
    assert store.account.told("census", edition) == sums


def test_what_was_charged_once_is_free_after_a_restart(store, address):
    edition = registered(store)
    entries = [Entry("age:1", "", "t1", 0.75), Entry("", "", "t1", 0.5)]
    store.account.charge("census", edition, entries, {"age:1": 1.0, "": 1.0}, WHOLE)
    store.close()
    with Store.open(address) as again:
        again.account.charge("census", edition, entries, {"age:1": 0.0, "": 0.0}, WHOLE)
        with pytest.raises(Refusal):
            again.account.charge("census", edition, [Entry("age:1", "", "t2", 0.5)], {"age:1": 1.0}, WHOLE)
        assert again.account.told("census", edition) == {("age:1", ""): 0.75, ("", ""): 0.5}


def test_a_refused_table_charges_none_of_its_margins(store):
    edition = registered(store)
    entries = [Entry("x", "", "t1", 0.5), Entry("y", "", "t1", 0.5)]
    with pytest.raises(Refusal):
        store.account.charge("census", edition, entries, {"x": 1.0, "y": 0.25}, WHOLE)
    assert store.account.told("census", edition) == {}


def test_editions_have_accounts_of_their_own(store):
    one, other = registered(store), registered(store, "survey")
    store.account.charge("census", one, [Entry("x", "", "t", 1.0)], {"x": 1.0}, WHOLE)
    store.account.charge("survey", other, [Entry("x", "", "t", 1.0)], {"x": 1.0}, WHOLE)
    assert store.account.told("survey", other) == {("x", ""): 1.0}


@pytest.mark.parametrize("precision", [-0.1, math.nan, math.inf])
def test_a_charge_that_is_no_number_is_refused(store, precision):
    with pytest.raises(ParameterError, match="no number from 0 on"):
        store.account.charge("census", registered(store), [Entry("x", "", "t", precision)], {"x": 1.0}, WHOLE)


def test_editions_that_nobody_registered_or_that_are_closed_are_not_charged(store):
    with pytest.raises(InputError, match="not registered"):
        store.account.charge("census", "none", [Entry("x", "", "t", 0.1)], {"x": 1.0}, WHOLE)
    edition, entries = registered(store), [Entry("x", "", "t", 0.1)]
    store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)
    store.editions.withdraw("census", edition)
    with pytest.raises(Denied) as caught:  # not even what was free
        store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)
    assert (caught.value.kind, caught.value.status) == ("withdrawn", 410)


@pytest.mark.parametrize("scopes", [[""], ["", "a", "a11", "b1"]], ids=["whole", "areas"])
def test_two_who_race_with_fifty_charges_each_never_exceed_the_room(store, address, scopes):
    edition, start = registered(store), Barrier(2)

    def asks(name: str) -> list[tuple[str, float]]:
        given_ = []
        with Store.open(address) as mine:
            start.wait(timeout=30)
            for number in range(50):
                scope = scopes[number % len(scopes)]
                try:
                    entries = [Entry("x", scope, f"{name}{number}", 0.25), Entry("y", scope, f"{name}{number}", 0.125)]
                    mine.account.charge("census", edition, entries, {"x": 5.0, "y": 9.0}, LAND)
                    given_.append((scope, 0.25))
                except Refusal:
                    pass
        return given_

    with ThreadPoolExecutor(2) as both:
        one, other = both.map(asks, ["one", "other"])
    told = store.account.told("census", edition)
    by_hand: dict[tuple[str, str], float] = {}
    for scope, precision in one + other:
        by_hand["x", scope] = by_hand.get(("x", scope), 0.0) + precision
        by_hand["y", scope] = by_hand.get(("y", scope), 0.0) + precision / 2
    assert told == by_hand
    most = max(told.get(("x", ""), 0) + told.get(("x", "a"), 0) + told.get(("x", "a11"), 0), told.get(("x", ""), 0))
    assert most == 5.0  # all of the room, and no more


KILLED = """
import os, random, signal, sys
from discreet.server.store.store import Store
from discreet.server.store.refinements import Refinements  # once, before all forks
from discreet.server.account import Entry, Geography

where, edition = sys.argv[1:]
rng = random.Random(7)
for run in range(6):
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with Store.open(where) as store:
            for number in range(100_000):
                entries = [Entry(margin, "", f"r{run}-{number}", 0.5) for margin in "xyz"]
                store.account.charge("census", edition, entries, dict.fromkeys("xyz", 1e6), Geography({}))
                os.write(writes, b"%d " % number)
    os.close(writes)
    told = b""
    while told.count(b" ") < rng.randrange(1, 12):
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
    each = text("SELECT table_digest, count(*), sum(precision) FROM refinement GROUP BY table_digest")
    with store.engine.connect() as connection:
        found = connection.execute(each).all()
    assert {(number, total) for _, number, total in found} == {(3, 1.5)}  # whole, each of them
    names = {name for name, _, _ in found}
    acknowledged = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(acknowledged) == 6
    for run, last in acknowledged:
        mine = {name for name in names if name.startswith(f"r{run}-")}
        assert {f"r{run}-{number}" for number in range(last + 1)} <= mine
        assert len(mine) <= last + 2
    store.account.charge("census", edition, [Entry("x", "", "after", 0.5)], {"x": 1e6}, WHOLE)  # no lock is left


def test_a_lost_server_gives_no_charge_and_a_retry_is_safe(postgres, request, clock):
    template = request.getfixturevalue("postgres_template")
    postgres.sql(f"CREATE DATABASE lost TEMPLATE {template}")
    with Store.open(postgres.url("lost"), clock=clock) as store:
        edition, entries = registered(store), [Entry("x", "", "t", 0.75)]
        postgres.stop("immediate")
        try:
            with pytest.raises(StoreUnavailable) as caught:
                store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)
            assert str(postgres.folder) not in str(caught.value)
        finally:
            postgres.start()
        assert store.account.told("census", edition) == {}
        for _ in range(2):
            store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)
        assert store.account.told("census", edition) == {("x", ""): 0.75}


def test_a_connection_that_is_cut_within_the_charge_gives_none(postgres, request, clock, monkeypatch):
    from discreet.server.store import refinements

    template = request.getfixturevalue("postgres_template")
    postgres.sql(f"CREATE DATABASE cut TEMPLATE {template}")
    with Store.open(postgres.url("cut"), clock=clock) as store:
        edition, entries = registered(store), [Entry("x", "", "t", 0.75)]
        checked = refinements.check_room

        def cut(*args):
            checked(*args)
            postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut'")

        monkeypatch.setattr(refinements, "check_room", cut)
        with pytest.raises(StoreUnavailable):
            store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)
        monkeypatch.undo()
        assert store.account.told("census", edition) == {}
        store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)


def test_a_locked_file_gives_no_charge(sqlite_template, tmp_path):
    import shutil
    import sqlite3

    from discreet.server.store.address import address_of
    from discreet.server.store.database import engine_for

    path = tmp_path / "server.db"
    shutil.copy(sqlite_template, path)
    store = Store(engine_for(address_of(path), patience=0.05))
    edition, entries = registered(store), [Entry("x", "", "t", 0.75)]
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="cannot be used now"):
        store.account.charge("census", edition, entries, {"x": 1.0}, WHOLE)
    other.execute("ROLLBACK")
    other.close()
    assert store.account.told("census", edition) == {}
    store.close()
