"""A release is saved whole or not at all, and what was there before survives."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, OutputError, VerificationError
from discreet.files import sealing, table_folder, whole_folder


@pytest.fixture
def release() -> ds.Release:
    return ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())


@pytest.fixture
def other() -> ds.Release:
    return ds.protect(ds.examples.small_table().assess(ds.PPercent(12)), ds.Suppress(cost="unity"))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_release_survives_the_way_to_disk_and_back(release, tmp_path):
    release.save(tmp_path / "out")
    again = ds.load(tmp_path / "out")
    assert repr(again) == repr(release)
    again.save(tmp_path / "again")
    assert snapshot(tmp_path / "again") == snapshot(tmp_path / "out")


def test_a_release_can_be_moved(release, tmp_path):
    release.save(tmp_path / "out")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").rename(tmp_path / "elsewhere" / "moved")
    assert ds.load(tmp_path / "elsewhere" / "moved").verify().holds


def test_the_custodian_part_is_for_its_owner_only(release, tmp_path):
    release.save(tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out" / "custodian").stat().st_mode) == 0o700
    for path in (tmp_path / "out" / "custodian").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["custodian", "public"]


def test_a_release_of_ours_is_replaced(release, other, tmp_path):
    release.save(tmp_path / "out")
    other.save(tmp_path / "out", replace=True)
    other.save(tmp_path / "fresh")
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "fresh")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fresh", "out"]


def test_an_empty_folder_is_filled(release, tmp_path):
    (tmp_path / "out").mkdir()
    release.save(tmp_path / "out")
    assert ds.check_folder(tmp_path / "out").holds


def test_a_folder_that_is_not_ours_is_never_touched(release, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("precious")
    with pytest.raises(OutputError, match=r"'thesis' exists and is not a release.*'chapter.txt'.*another output"):
        release.save(tmp_path / "thesis")
    assert snapshot(tmp_path / "thesis") == {"chapter.txt": b"precious"}


def test_a_release_with_something_else_in_it_is_never_touched(release, other, tmp_path):
    release.save(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    before = snapshot(tmp_path / "out")
    with pytest.raises(OutputError, match="not a release"):
        other.save(tmp_path / "out", replace=True)
    assert snapshot(tmp_path / "out") == before


def test_a_file_in_the_place_of_the_folder_is_refused(release, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputError, match="is not a folder"):
        release.save(tmp_path / "out")


@pytest.mark.parametrize(
    ("room", "failing"),
    [(table_folder, "_publish"), (sealing, "write_json"), (sealing, "_seal"), (sealing, "put_in_place")],
)
def test_a_full_disk_leaves_the_old_release_as_it_was(release, other, tmp_path, monkeypatch, room, failing):
    release.save(tmp_path / "out")
    before = snapshot(tmp_path / "out")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(room, failing, full)
    with pytest.raises(OutputError, match=r"'out': No space left on device.*unchanged"):
        other.save(tmp_path / "out", replace=True)
    assert snapshot(tmp_path / "out") == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("room", "failing"), [(table_folder, "_publish"), (sealing, "_seal"), (sealing, "put_in_place")]
)
def test_an_interrupt_leaves_the_old_release_as_it_was(release, other, tmp_path, monkeypatch, room, failing):
    release.save(tmp_path / "out")
    before = snapshot(tmp_path / "out")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(room, failing, interrupt)
    with pytest.raises(KeyboardInterrupt):
        other.save(tmp_path / "out", replace=True)
    assert snapshot(tmp_path / "out") == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_without_an_atomic_exchange_the_old_release_still_survives_a_failure(release, other, tmp_path, monkeypatch):
    release.save(tmp_path / "out")
    monkeypatch.setattr(whole_folder, "_exchange", lambda *_: False)
    other.save(tmp_path / "out", replace=True)
    assert ds.check_folder(tmp_path / "out").holds
    before = snapshot(tmp_path / "out")
    rename = Path.rename

    def second_fails(source: Path, target: Path) -> Path:
        if source.suffix == ".partial" and list(tmp_path.glob(".out.*.previous/out")):
            raise OSError(errno.EIO, "I/O error")
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", second_fails)
    with pytest.raises(OutputError):
        release.save(tmp_path / "out")
    assert snapshot(tmp_path / "out") == before


def test_a_kill_while_saving_leaves_the_old_release_as_it_was(release, tmp_path):
    release.save(tmp_path / "out")
    before = snapshot(tmp_path / "out")
    program = (
        "import sys, time, discreet as ds\n"
        "from discreet.files import sealing\n"
        "release = ds.protect(ds.examples.small_table().assess(ds.PPercent(12)), ds.Suppress(cost='unity'))\n"
        "def stuck(*_):\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
        "sealing._seal = stuck\n"
        "release.save(sys.argv[1])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "out")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert snapshot(tmp_path / "out") == before
    assert ds.check_folder(tmp_path / "out").holds


def test_two_runs_at_once_in_separate_folders_do_not_meet(tmp_path):
    program = (
        "import sys, discreet as ds\n"
        "release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())\n"
        "print(release.save(sys.argv[1]))\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / name)], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    seals = {run.communicate(timeout=60)[0] for run in runs}
    assert len(seals) == 1
    assert ds.check_folder(tmp_path / "one").holds
    assert ds.check_folder(tmp_path / "two").holds


def test_a_folder_without_a_release_is_named(tmp_path):
    with pytest.raises(InputError, match=r"not a saved release.*public/ and custodian/"):
        ds.check_folder(tmp_path)


def test_a_changed_release_is_not_loaded(release, tmp_path):
    release.save(tmp_path / "out")
    path = tmp_path / "out" / "public" / "turnover.csv"
    path.write_text(path.read_text().replace("920", "921"))
    with pytest.raises(VerificationError, match=r"changed after the release was sealed.*turnover.csv"):
        ds.load(tmp_path / "out")


def test_a_pickled_release_is_its_public_part(release):
    copied = pickle.loads(pickle.dumps(release))
    assert not hasattr(copied, "custodian")
    assert repr(copied) == repr(release)
    hidden = release.custodian.withheld(0)
    assert not copied.tables[0].value[hidden].any()


def test_showing_a_release_shows_the_public_part(release):
    hidden = {str(v) for v in release.custodian.tables.tables[0].value[release.custodian.withheld(0)].tolist()}
    for text in (repr(release), str(release), release._repr_html_(), str(release.to_frame())):
        assert not any(f" {value} " in text or f">{value}<" in text for value in hidden)


def test_a_formula_in_a_code_is_written_as_text(tmp_path):
    region = ds.Hierarchy.flat(["=1+1", "@x", "plain, with comma", 'quote"d'])
    import pyarrow as pa

    cells = pa.table({"region": ["Total", *region.base_codes], "value": [10, 1, 2, 3, 4], "contributors": [9] * 5})
    table = ds.Table.from_cells(cells, by={"region": region}).assess(ds.MinContributors(3))
    ds.protect(table, ds.Suppress()).save(tmp_path / "out")
    text = (tmp_path / "out" / "public" / "value_by_region.csv").read_text()
    assert "'=1+1,1,V" in text
    assert "'@x,2,V" in text
    assert '"plain, with comma",3,V' in text
    assert '"quote""d",4,V' in text
    assert ds.check_folder(tmp_path / "out").holds
    assert repr(ds.load(tmp_path / "out")) == repr(ds.protect(table, ds.Suppress()))


def test_who_contributes_most_survives_the_way_to_disk_and_back(tmp_path):
    frame = pa.table(
        {
            "place": ["x", "x", "y", "y", "y", "z", "z", "z", "z"],
            "firm": ["a", "b", "a", "c", "d", "e", "f", "g", "12"],
            "v": [100.25, 2, 30, -20.5, 25, 40, 41, 42, 43],
        }
    )
    by = {"place": ds.Hierarchy.flat(["x", "y", "z"])}
    table = ds.tabulate(frame, by=by, value="v", contributor="firm").assess(ds.MinContributors(3))
    ds.protect(table, ds.Suppress()).save(tmp_path / "out")
    again = ds.load(tmp_path / "out").custodian.tables.tables[0]
    assert again.holders.identity[again.row(place="x")].tolist()[2] == -1
    assert 12 in again.holders.identity
    for name in ("count", "identity", "amount"):
        assert np.array_equal(getattr(again.holders, name), getattr(table.holders, name)), name
    text = (tmp_path / "out" / "custodian" / f"{table.name}.csv").read_text().splitlines()
    assert text[0].endswith("holders,holder1,own1,holder2,own2,holder3,own3")
    assert text[2].endswith(",,0.00")
