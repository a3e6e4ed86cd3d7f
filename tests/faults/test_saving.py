"""Savers and readers of one folder: one whole release or the other, and nothing left behind."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

import discreet as ds
from discreet import folders
from discreet.errors import InputError, OutputError
from discreet.files import sealing, whole_folder
from discreet.verify import folder as checker
from tests.faults.making import python


@pytest.fixture(scope="module")
def releases():
    table = ds.examples.small_table()
    one = ds.protect(table.assess(ds.PPercent(10)), ds.Suppress())
    other = ds.protect(table.assess(ds.PPercent(15)), ds.Suppress(cost="unity"))
    assert not one.to_frame().equals(other.to_frame())
    return one, other


def beside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir() if path != folder)


SAVER = """
import signal, sys
from pathlib import Path
from discreet.files.whole_folder import staged
with staged(Path(sys.argv[1])) as staging:
    for name in ("public", "custodian"):
        (staging / name).mkdir()
    print("writing", flush=True)
    signal.pause()
"""


def test_what_a_killed_saver_left_goes_with_the_next_save_and_a_live_saver_keeps_its_own(releases, tmp_path):
    out = tmp_path / "out"
    releases[0].save(out, replace=True)
    dead, alive = (python("-c", SAVER, out) for _ in range(2))
    assert [process.stdout.readline() for process in (dead, alive)] == ["writing\n", "writing\n"]
    assert len(beside(out)) == 2
    os.kill(dead.pid, signal.SIGKILL)
    dead.wait()
    releases[1].save(out, replace=True)
    left = beside(out)
    assert len(left) == 1, "the live saver's folder and nothing else"
    assert {path.name for path in (tmp_path / left[0]).iterdir()} == {"public", "custodian"}
    os.kill(alive.pid, signal.SIGKILL)
    alive.wait()
    releases[0].save(out, replace=True)
    assert beside(out) == []
    assert ds.check_folder(out).holds


def test_a_folder_of_somebody_else_with_such_a_name_is_left_alone(releases, tmp_path):
    mine = tmp_path / ".out.notes.partial"
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    releases[0].save(tmp_path / "out")
    assert (mine / "notes.txt").read_text() == "mine"


def test_an_old_release_that_was_moved_aside_by_a_saver_that_died_comes_back(releases, tmp_path):
    out = tmp_path / "out"
    releases[0].save(out, replace=True)
    aside = tmp_path / ".out.abc.previous"
    aside.mkdir(mode=0o700)
    out.rename(aside / "out")
    whole_folder.sweep(out)
    assert ds.check_folder(out).holds
    assert beside(out) == []


@pytest.mark.parametrize("reader", [ds.check_folder, ds.load])
def test_a_reader_sees_one_release_though_another_is_saved_in_the_middle(releases, tmp_path, monkeypatch, reader):
    out = tmp_path / "out"
    releases[0].save(out, replace=True)
    read = checker.read_with_intervals

    def saved_meanwhile(folder: Path):
        releases[1].save(out, replace=True)
        return read(folder)

    monkeypatch.setattr(checker, "read_with_intervals", saved_meanwhile)
    found = reader(out)
    assert found.holds if reader is ds.check_folder else found.to_frame().equals(releases[0].to_frame())
    monkeypatch.undo()
    assert ds.load(out).to_frame().equals(releases[1].to_frame())
    releases[0].save(out, replace=True)
    assert beside(out) == [], "the folder that was read meanwhile goes with the next save"


def test_without_locks_a_reader_reads_again_what_was_replaced_meanwhile(releases, tmp_path, monkeypatch):
    out = tmp_path / "out"
    releases[0].save(out, replace=True)
    read, saved = checker.read_with_intervals, []

    def saved_once(folder: Path):
        if not saved:
            saved.append(releases[1].save(out, replace=True))
        return read(folder)

    monkeypatch.setattr(folders, "locked", lambda *_, **__: None)
    monkeypatch.setattr(whole_folder, "locked", lambda *_, **__: None)
    monkeypatch.setattr(checker, "read_with_intervals", saved_once)
    assert ds.check_folder(out).holds
    monkeypatch.setattr(folders, "TRIES", 4)
    monkeypatch.setattr(
        checker, "read_with_intervals", lambda folder: (releases[0].save(out, replace=True), read(folder))[1]
    )
    with pytest.raises(InputError, match="replaced again and again"):
        ds.check_folder(out)


def test_a_folder_that_is_never_replaced_is_judged_as_it_is_without_locks_too(releases, tmp_path, monkeypatch):
    releases[0].save(tmp_path / "out")
    monkeypatch.setattr(folders, "locked", lambda *_, **__: None)
    path = tmp_path / "out" / "public" / f"{releases[0].public.tables[0].name}.csv"
    path.write_text(path.read_text().replace(",V", ",X", 1))
    assert not ds.check_folder(tmp_path / "out").holds


@pytest.mark.parametrize("exchange", [True, False])
def test_savers_at_once_leave_one_whole_release(releases, tmp_path, monkeypatch, exchange):
    out = tmp_path / "out"
    if not exchange:
        monkeypatch.setattr(whole_folder, "_exchange", lambda *_: False)
    seals: list[str] = []
    failed: list[BaseException] = []

    def save(number: int) -> None:
        try:
            seals.extend(releases[(number + k) % 2].save(out, replace=True) for k in range(4))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(seals) == 16
    assert ds.check_folder(out).holds
    assert (out / "custodian" / "manifest.sha256").read_text().strip() in seals
    releases[0].save(out, replace=True)
    assert beside(out) == []


@pytest.mark.parametrize("exchange", [True, False])
def test_many_quick_savers_at_once_never_fail(tmp_path, monkeypatch, exchange):
    out = tmp_path / "out"
    if not exchange:
        monkeypatch.setattr(whole_folder, "_exchange", lambda *_: False)
    failed: list[BaseException] = []

    def save() -> None:
        try:
            for _ in range(60):
                sealing.refuse_foreign(out)
                with whole_folder.staged(out) as staging:
                    (staging / "custodian").mkdir()
                    (staging / "custodian" / "manifest.json").write_text("{}")
                    whole_folder.put_in_place(staging, out)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert (out / "custodian" / "manifest.json").is_file()
    whole_folder.sweep(out)
    assert beside(out) == []


def test_what_another_saver_removes_first_is_nothing_to_sweep(tmp_path, monkeypatch):
    left = [tmp_path / f".out.{ending}" for ending in ("a.partial", "b.previous")]
    for path in left:
        path.mkdir()
    monkeypatch.setattr(whole_folder, "_own", lambda path: path.rmdir() or True)
    whole_folder.sweep(tmp_path / "out")
    assert beside(tmp_path / "out") == []


def test_a_folder_that_somebody_else_made_meanwhile_is_not_replaced(releases, tmp_path, monkeypatch):
    out = tmp_path / "out"
    seal = sealing._seal

    def taken(staging: Path) -> str:
        out.mkdir()
        (out / "thesis.txt").write_text("mine")
        return seal(staging)

    monkeypatch.setattr(sealing, "_seal", taken)
    with pytest.raises(OutputError, match="made by somebody else"):
        releases[0].save(out, replace=True)
    assert (out / "thesis.txt").read_text() == "mine"
    assert beside(out) == []


def test_what_was_exchanged_unseen_comes_back(releases, tmp_path, monkeypatch):
    out, staging = tmp_path / "out", tmp_path / "staging"
    for folder in (out, staging):
        (folder / "custodian").mkdir(parents=True)
        (folder / "custodian" / "manifest.json").write_text("{}")
    (out / "thesis.txt").write_text("mine")
    monkeypatch.setattr(whole_folder, "what_stands_at", lambda _: whole_folder.Place.OURS)
    with pytest.raises(OutputError, match="made by somebody else"):
        whole_folder.put_in_place(staging, out)
    assert (out / "thesis.txt").read_text() == "mine"


def test_every_file_reaches_the_disk_before_the_release_is_in_place(releases, tmp_path, monkeypatch):
    folder, before, after = tmp_path / "out", set(), set()

    def flushed(handle: int) -> None:
        (after if folder.exists() else before).add(os.fstat(handle).st_ino)

    monkeypatch.setattr(os, "fsync", flushed)
    releases[0].save(folder)
    assert {path.stat().st_ino for path in folder.rglob("*") if path.is_file()} <= before
    assert tmp_path.stat().st_ino in after


def test_the_umask_decides_who_may_open_public_and_it_is_said(releases, tmp_path):
    for umask, closed in ((0o077, True), (0o022, False)):
        before = os.umask(umask)
        try:
            releases[0].save(tmp_path / "out")
        finally:
            os.umask(before)
        assert ("chmod a+rx out/public" in sealing.closed_to_others(tmp_path / "out")) == closed
        assert (tmp_path / "out" / "custodian").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("form", ["xlsx", "sav", "dta", "parquet", "csv"])
@pytest.mark.parametrize("limit", [0, 100])
def test_a_disk_that_is_full_ends_every_format_with_an_error_of_ours(releases, tmp_path, form, limit):
    resource = pytest.importorskip("resource")
    release = releases[0]
    release.save(tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most[1]))
    try:
        with pytest.raises(OutputError):
            release.save(tmp_path / "out", formats=[form])
        with pytest.raises(OutputError):
            ds.write_public(release.public, tmp_path / f"table.{form}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before
    assert beside(tmp_path / "out") == []
