"""Processes that are killed, a disk that is full, a clock that jumps: a sample of ``make soak``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("uvicorn")

from discreet.trust import SigningKey
from discreet.trust.log import writer as module
from discreet.trust.log_verify import check_log
from tests.server.operations.running import TABLE, Office, running, told
from tests.server.postgres import Postgres
from tests.soak.server import full_disk, killed_at_random
from tests.trust.log_making import key_in, question


def failures(found: Counter[str]) -> dict[str, int]:
    return {name: number for name, number in found.items() if name.startswith("FAILED") and number}


def test_kills_lose_no_entry_and_bend_no_answer(tmp_path: Path) -> None:
    found = killed_at_random(tmp_path, 5, seed=7, kinds=("worker", "clock", "logger"), workers=2)
    assert failures(found) == {}
    assert found["answers"] >= 20
    assert found["entries of answers"] >= found["answers"]


def test_a_database_that_is_killed_loses_no_charge(tmp_path: Path, postgres: Postgres) -> None:
    found = killed_at_random(tmp_path, 3, seed=9, kinds=("database",), workers=1, postgres=postgres)
    assert failures(found) == {}
    assert found["answers"] >= 15


def test_a_full_disk_of_the_log_withholds_answers_until_there_is_room(tmp_path: Path) -> None:
    found = full_disk(tmp_path, 2, seed=3)
    if found["no file system could be mounted"]:
        pytest.skip("no file system can be mounted here")
    assert failures(found) == {}
    assert found["refused with 503"] >= 6


def test_a_stop_ends_idle_connections_and_a_worker_leaves_no_core(tmp_path: Path) -> None:
    office = Office(tmp_path)
    with running(office.with_certificates("optional")) as server:
        idle = office.connection("Ada")
        assert told(idle, f"{TABLE}?variables=sex")[0] == 200
        (worker,) = server.of_kind("discreet.server.worker_process")
        limits = Path(f"/proc/{worker}/limits").read_text().splitlines()
        assert next(line for line in limits if line.startswith("Max core file size")).split()[4:6] == ["0", "0"]
        assert server.stop() == 0
    assert check_log(tmp_path / "log").holds
    assert "Traceback" not in "".join(server.lines)
    assert not (tmp_path / "run" / "log.sock").exists()


@pytest.mark.parametrize("now", ["2001-01-01T00:00:00.000000Z", "2101-01-01T00:00:00.000000Z"])
def test_a_clock_that_jumps_loses_no_entry_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    key = SigningKey.from_file(key_in(tmp_path))
    module.create_log(tmp_path / "log", key)
    with module.LogWriter(tmp_path / "log", key) as writer:
        writer.commit([question(1)])
        monkeypatch.setattr(module, "utc_now", lambda: now)
        writer.commit([question(2)])
        monkeypatch.undo()
        writer.commit([question(3)])
    there: list[object] = []
    verdict = check_log(tmp_path / "log", each=lambda entry: there.append(entry.body["question"]))
    assert verdict.holds
    assert len(there) == 3
    assert "backwards" in str(verdict)
