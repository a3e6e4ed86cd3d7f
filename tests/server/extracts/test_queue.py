"""Requests, the queue and its leases, fetching and expiry; on both databases."""

from __future__ import annotations

import asyncio
import csv
import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from discreet.errors import InputError, ProtectionError
from discreet.server.denied import Denied
from discreet.server.extracts.definition import Definition, read_definition
from discreet.server.extracts.file import ExtractFile
from discreet.server.extracts.package import open_package
from discreet.server.extracts.working import WORK
from discreet.server.store.extracts import LEASE, MOST_ATTEMPTS
from discreet.server.store.store import Store
from discreet.trust.log.writer import LogUnavailable
from tests.server.extracts.desk import Desk
from tests.server.extracts.made import PLACE


@pytest.fixture
def desk(store: Store, extract_file: ExtractFile, tmp_path: Path) -> Desk:
    return Desk(store, extract_file, tmp_path)


def test_from_cart_to_opened_file(desk: Desk, tmp_path: Path) -> None:
    number = desk.ask(desk.active(), "age", "sex", "income", where=["age >= 30"])
    assert desk.worker.run_once()
    row = desk.store.extracts.find(number)
    assert (row.state, row.progress) == ("ready", 1.0)
    path = desk.fetch(number)
    assert path.stat().st_mode & 0o777 == 0o600
    manifest = open_package(path, tmp_path / "mine", desk.secret, desk.signer.public)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "mine" / "data.csv").read_text())))
    assert len(rows) == manifest.rows == row.rows
    assert min(int(one["age"]) for one in rows) >= 30
    assert (manifest.user, manifest.project) == ("Ada", "Wages")
    kinds = [(one.action, getattr(one, "decision", "answer")) for one in desk.log.entries]
    assert kinds == [("extract.request", "granted"), ("extract.make", "answer"), ("extract.fetch", "granted")]
    assert desk.log.entries[1].answer == row.content == desk.log.entries[2].content
    assert not desk.worker.run_once()
    assert [one.name for one in desk.folder.iterdir()] == [row.file]


def test_a_changed_package_is_found(desk: Desk, tmp_path: Path) -> None:
    """Check 9, first half: neither manifest nor data nor seal can be changed, and nothing stays of what was."""
    from discreet.trust import SigningKey, make_keys

    number = desk.ask(desk.active(), "age")
    desk.worker.run_once()
    path = desk.fetch(number)
    make_keys(tmp_path / "other.key")
    other = SigningKey.from_file(tmp_path / "other.key").public
    with pytest.raises(InputError, match="not signed"):
        open_package(path, tmp_path / "a", desk.secret, other)
    content = bytearray(path.read_bytes())
    content[-40] ^= 1
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(InputError, match="changed or cut"):
        open_package(tmp_path / "bad", tmp_path / "b", desk.secret, desk.signer.public)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def refused(desk: Desk, rule: str, project: int, *variables: str, name: str = "Ada", **more: Any) -> Denied:
    """What somebody is told whose request is refused; it is in the log, and nothing is queued."""
    before = len(desk.log.entries)
    with pytest.raises(Denied) as error:
        desk.ask(project, *variables, name=name, **more)
    assert error.value.kind == rule
    assert [one.rule for one in desk.log.entries[before:] if one.decision == "denied"] == [rule]
    assert desk.log.entries[-1].action == "extract.request"
    return error.value


def test_what_is_refused_is_logged(desk: Desk, clock: Any) -> None:
    """Check 7: no approval, not granted, suspended, expired; nobody else's."""
    refused(desk, "other-project", 99, "age")
    refused(desk, "project-over", desk.approved("Not accepted"), "age")
    project = desk.active(variables=["age", "region"], finest_geography=1)
    refused(desk, "not-granted", project, "age", "income")
    refused(desk, "not-granted", project, "age", where=["income > 100"])
    refused(desk, "other-project", project, "age", name="Ben")
    refused(desk, "geography", project, "age", strata=True)
    fine = desk.active("Fine", variables=["age", "district"], finest_geography=1)
    refused(desk, "geography", fine, "district")
    desk.store.applications.act(project, desk.ids["Mara"], "suspend")
    refused(desk, "project-over", project, "age")
    desk.store.applications.act(project, desk.ids["Mara"], "reinstate")
    clock.time += 400 * 86_400
    refused(desk, "project-over", project, "age")
    low = Definition(**PLACE, variables=["age"])
    with pytest.raises(Denied, match="certificate"):
        asyncio.run(desk.desk.request(desk.who("Ada", level=1), project, low, "r"))
    with pytest.raises(Denied, match="roles"):
        asyncio.run(desk.desk.request(desk.who("Rita"), project, low, "r"))


def test_bad_definitions_are_refused(desk: Desk) -> None:
    project = desk.active()
    assert refused(desk, "unknown-edition", project, "age", edition="2001").status == 404
    refused(desk, "unknown-variable", project, "person")
    refused(desk, "unknown-variable", project, "../../etc/passwd")
    refused(desk, "unknown-variable", project, "_household")
    refused(desk, "unknown-variable", project, "age", where=["_household < 10"])
    refused(desk, "twice", project, "age", "age")
    refused(desk, "no-variables", project)
    refused(desk, "share", project, "age", share=0.0)
    refused(desk, "share", project, "age", share=float("nan"))
    refused(desk, "conditions", project, "age", where=["age >= 'x'"])
    refused(desk, "conditions", project, "age", where=["nonsense"])
    refused(desk, "conditions", project, "age", where=["age > 1"] * 50)
    refused(desk, "empty", project, "age", where=["age > 300"])
    desk.store.editions.withdraw(**PLACE)
    assert refused(desk, "withdrawn", project, "age").status == 410


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 5_000, b'{"dataset": "a"}', b"\xff", b"x" * 100_000])
def test_what_is_no_definition_is_refused(content: bytes) -> None:
    with pytest.raises(Denied):
        read_definition(content)


def test_a_definition_is_small_and_the_same_however_it_is_written() -> None:
    one = Definition(**PLACE, variables=["age", "sex"], where=["age >= 18", "sex in ['F']"])
    other = Definition(**PLACE, variables=["sex", "age"], where=["sex == 'F'", "age >= 18"])
    assert one.digest == other.digest
    assert read_definition(one.text.encode()) == one
    assert len(one.text) < 400


def test_variables_that_may_not_be_combined_are_not_in_two_extracts_either(desk: Desk) -> None:
    project = desk.active()
    refused(desk, "combination", project, "occupation", "birth")
    refused(desk, "combination", project, "occupation", where=["birth == 'other'"])
    first = desk.ask(project, "age", "occupation")
    refused(desk, "combination", project, "age", "birth")
    other = desk.active("Another", "Ben")
    desk.ask(other, "birth", name="Ben")
    desk.store.projects.add_member(other, desk.ids["Ada"])  # together, Ada would have both
    refused(desk, "combination", other, "birth", name="Ben")
    desk.store.extracts.withdraw(first)  # never made
    assert desk.ask(other, "birth", name="Ben") > 0


def test_the_licence_is_never_overdrawn_by_two_at_once(desk: Desk) -> None:
    project = desk.active()
    rows = desk.desk.looked_at(desk.who("Ada"), project, Definition(**PLACE, variables=["age"]))[1].rows
    room = desk.file.limits.project_rows // rows

    def one(number: int) -> str:
        try:
            desk.ask(project, "age", where=[f"age != {200 + number}"])
            return "queued"
        except Denied as error:
            return error.kind

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(room + 3)))
    assert found.count("queued") == room
    assert found.count("licence-rows") == 3


def test_a_worker_that_is_gone_loses_its_job_and_cannot_finish_it(desk: Desk, clock: Any) -> None:
    number = desk.ask(desk.active(), "age")
    lost = desk.store.extracts.lease()
    assert lost is not None
    assert desk.store.extracts.lease() is None
    desk.store.extracts.go_on(lost, 0.3)
    clock.time += LEASE + 1
    assert desk.worker.run_once()
    assert desk.store.extracts.find(number).state == "ready"
    for late in (
        lambda: desk.store.extracts.go_on(lost, 0.5),
        lambda: desk.store.extracts.ready(lost, file="x", content="y", size=1, rows=1, expires=1),
        lambda: desk.store.extracts.failed(lost, "late"),
    ):
        with pytest.raises(Denied, match="another worker"):
            late()
    assert desk.store.extracts.find(number).file != "x"


def test_workers_beside_each_other_take_different_jobs(desk: Desk) -> None:
    project = desk.active()
    numbers = [desk.ask(project, "age", share=0.1) for _ in range(6)]
    with ThreadPoolExecutor(3) as pool:
        taken = [job.id for job in pool.map(lambda _: desk.store.extracts.lease(), range(6)) if job is not None]
    assert sorted(taken) == numbers


def test_a_job_that_kills_its_workers_is_given_up(desk: Desk, clock: Any) -> None:
    number = desk.ask(desk.active(), "age")
    for _ in range(MOST_ATTEMPTS):
        assert desk.store.extracts.lease() is not None
        clock.time += LEASE + 1
    assert desk.store.extracts.lease() is None
    assert desk.store.extracts.find(number).state == "failed"


def test_what_a_killed_worker_left_is_removed_and_the_job_done_again(desk: Desk, clock: Any) -> None:
    number = desk.ask(desk.active(), "age")
    child = os.fork()
    if child == 0:  # dies in the middle, with buckets on the disk
        desk.store.engine.dispose(close=False)

        def die(*_: Any, **__: Any) -> None:
            os._exit(9)

        desk.worker.log.append = die  # type: ignore[method-assign]
        desk.worker.run_once()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = list(desk.folder.iterdir())
    assert any(path.name.startswith(WORK) for path in left)
    assert desk.store.extracts.find(number).state == "running"
    clock.time += LEASE + 1
    for path in left:
        os.utime(path, (1, 1))
    assert desk.worker.run_once()
    row = desk.store.extracts.find(number)
    assert (row.state, row.attempts) == ("ready", 2)
    assert [path.name for path in desk.folder.iterdir()] == [row.file]


def test_without_a_log_nothing_can_be_fetched(desk: Desk) -> None:
    number = desk.ask(desk.active(), "age")

    class Gone:
        def append(self, entry: Any) -> None:
            raise LogUnavailable("gone")

    worker = desk.new_worker()
    worker.log = Gone()
    worker.run_once()
    assert desk.store.extracts.find(number).state == "queued"
    assert list(desk.folder.iterdir()) == []
    desk.worker.run_once()
    assert desk.store.extracts.find(number).state == "ready"


def test_what_changed_since_the_request_counts_when_it_is_made(desk: Desk) -> None:
    project = desk.active()
    first, second = desk.ask(project, "age"), desk.ask(project, "sex")
    desk.store.applications.act(project, desk.ids["Mara"], "suspend")
    desk.worker.run_once()
    assert desk.store.extracts.find(first).state == "refused"
    assert desk.last().rule == "project-over"
    desk.store.applications.act(project, desk.ids["Mara"], "reinstate")
    desk.store.people.set_state(desk.ids["Ada"], "suspended")
    desk.worker.run_once()
    assert desk.store.extracts.find(second).state == "refused"


def test_links_end_with_time_project_edition_and_destruction(desk: Desk, clock: Any) -> None:
    project = desk.active()
    numbers = [desk.ask(project, "age", share=0.1) for _ in range(4)]
    while desk.worker.run_once():
        pass
    assert len(list(desk.folder.iterdir())) == 4
    with pytest.raises(Denied, match="not yours"):
        desk.fetch(numbers[0], "Ben")
    asyncio.run(desk.desk.destroyed(desk.who("Ada"), desk.store.extracts.find(numbers[0]), "r"))
    assert desk.store.extracts.find(numbers[0]).destroyed == int(clock.time)
    asyncio.run(desk.desk.withdraw(desk.who("Ada"), desk.store.extracts.find(numbers[1]), "r"))
    for number in numbers[:2]:
        with pytest.raises(Denied, match="any more"):
            desk.fetch(number)
    assert len(list(desk.folder.iterdir())) == 2
    desk.store.applications.act(project, desk.ids["Mara"], "suspend")
    with pytest.raises(Denied, match="not active"):
        desk.fetch(numbers[2])
    desk.store.applications.act(project, desk.ids["Mara"], "reinstate")
    desk.fetch(numbers[2])
    clock.time += 73 * 3600
    with pytest.raises(Denied, match="any more"):
        desk.fetch(numbers[2])
    desk.worker.run_once()
    assert list(desk.folder.iterdir()) == []
    assert {desk.store.extracts.find(number).state for number in numbers} == {"expired"}


@pytest.mark.parametrize("name", ["../server.db", "/etc/passwd", "a" * 48 + ".sealed/../x", "", "A" * 48 + ".sealed"])
def test_a_name_in_the_database_leads_nowhere_else(desk: Desk, name: str) -> None:
    number = desk.ask(desk.active(), "age")
    desk.worker.run_once()
    with desk.store.engine.begin() as connection:
        connection.execute(text("UPDATE extract SET file = :name"), {"name": name})
    with pytest.raises(Denied, match="any more"):
        desk.fetch(number)


def test_no_value_of_anybody_is_in_database_log_or_messages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.server.extracts import package

    number = desk.ask(desk.active(), "age", "income")

    def fail(*_: Any) -> None:
        raise ProtectionError("CANARY 4711", hint="CANARY")

    monkeypatch.setattr(package, "licence_text", fail)
    desk.worker.run_once()
    row = desk.store.extracts.find(number)
    assert row.state == "failed"
    assert "CANARY" not in repr(row)
    assert "CANARY" not in repr(desk.log.entries)
    assert list(desk.folder.iterdir()) == []


def test_without_a_key_there_is_no_extract(desk: Desk) -> None:
    with desk.store.engine.begin() as connection:
        connection.execute(text("DELETE FROM recipient_key"))
    refused(desk, "no-key", desk.active(), "age")
