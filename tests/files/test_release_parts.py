"""What is written of a release besides its public files, and what is refused before anything is written."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import OutputError, ParameterError
from discreet.files import sealing
from discreet.files.sealing import _narrow, closed_to_others, refuse_foreign, sign_release
from discreet.files.table_folder import file_names, proven_interval, write_tables
from discreet.keys import Key
from discreet.model.already import AlreadyPublished, EarlierTable
from discreet.model.custodian import TableCustodian
from tests.files.test_release_folder import TARGET, case, written
from tests.verify.by_hand import box


def altered() -> TableCustodian:
    """A release of altered values beside a table of an earlier one."""
    custodian = case().custodian()
    (table,) = custodian.tables
    before = table.with_(spec=table.spec.with_(name="before", period="2020"))
    already = AlreadyPublished(tables=(EarlierTable("old", "before", before, custodian.status[0]),))
    published, ends = table.value + 5, (table.value - 2, table.value + 7)
    return replace(custodian, published=(published,), intervals=(ends,), already=already, evidence=())


def test_altered_values_and_intervals_stand_beside_those_of_the_release_only(tmp_path):
    custodian = altered()
    folder = tmp_path / "out"
    write_tables(folder, custodian.public(), custodian)
    mine, before = (
        (folder / "custodian" / f"{name}.csv").read_text().split("\n")[0].split(",") for name in ("t", "before")
    )
    assert {"published", "published_lower", "published_upper"} <= set(mine)
    assert not {"published", "published_lower", "published_upper"} & set(before)


def test_where_nothing_is_proved_the_truth_and_what_is_published_are_the_ends():
    custodian = altered()
    value = custodian.tables.tables[0].value
    low, high = proven_interval(custodian, 0)
    assert (low.tolist(), high.tolist()) == (value.tolist(), (value + 5).tolist())
    low, high = proven_interval(custodian, 1)
    assert low.tolist() == high.tolist() == value.tolist()


def test_a_published_value_below_the_truth_is_the_lower_end():
    custodian = altered()
    value = custodian.tables.tables[0].value
    low, high = proven_interval(replace(custodian, published=(value - 5,)), 0)
    assert (low.tolist(), high.tolist()) == ((value - 5).tolist(), value.tolist())


@pytest.mark.parametrize(
    ("times", "denominator", "reach"),
    [
        (2**70, 1, 2**62 - 1),  # no further than 64 bits
        (10 * 2**70, 2**70, 30),
        (2**62, 2**62, 21),
        (2**62 - 1, 2**62 - 1, 21),
    ],
)
def test_amounts_and_denominators_may_be_wide(times, denominator, reach):
    certificate = box(0, 0, 1, 1, times=times, denominator=denominator, both=True)
    custodian = case(certificates=[certificate]).custodian()
    low, high = proven_interval(custodian, 0)
    row = case().row(TARGET)
    assert (low[row], high[row]) == (20 - 2**62 if reach > 2**61 else 40 - reach, reach)


def test_ends_are_never_what_stands_for_no_bound():
    certificate = box(0, 0, 1, 1, times=2**70, denominator=1, both=True)
    for sign, end in ((1, 2**62 - 1), (-1, 1 - 2**62)):
        given = case(certificates=[certificate])
        custodian = replace(given, value=sign * given.value).custodian()
        assert proven_interval(custodian, 0)[sign > 0][given.row(TARGET)] == end


def test_a_move_of_one_unit_is_a_move():
    certificate = box(0, 0, 1, 1, times=1, denominator=1, both=False)
    low, high = proven_interval(case(certificates=[certificate]).custodian(), 0)
    rises, falls = case().row(TARGET), case().row((0, 1))
    assert (low[rises], high[rises]) == (20, 21)
    assert (low[falls], high[falls]) == (29, 30)


def test_units_finer_than_the_table_count_in_the_denominator():
    """A certificate in hundredths of the table's unit, with numbers that leave no room for the hundred."""
    certificate = box(0, 0, 1, 1, times=10**18, denominator=10**17, both=False)
    custodian = case(certificates=[certificate]).custodian()
    finer = replace(custodian, evidence=(replace(custodian.evidence[0], decimals=2),))
    assert proven_interval(finer, 0)[1][case().row(TARGET)] == 20
    assert proven_interval(custodian, 0)[1][case().row(TARGET)] == 30


def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path):
    custodian = case().custodian()
    with pytest.raises(ParameterError, match="There is no format of restricted files 'pdf'"):
        write_tables(tmp_path / "out", custodian.public(), custodian, restricted=("pdf",))
    guessed = replace(custodian, key=Key(bytes(32), insecure=True))
    with pytest.raises(OutputError, match="drawn from insecure_seed="):
        write_tables(tmp_path / "out", guessed.public(), guessed)
    assert list(tmp_path.iterdir()) == []


def test_nobody_else_reads_what_the_custodian_keeps(tmp_path):
    closed = written(tmp_path, case().custodian()) / "custodian"
    modes = {path.name: path.stat().st_mode & 0o777 for path in closed.iterdir()}
    assert {"manifest.json", "manifest.sha256", "tables.json"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_a_disk_that_gives_up_is_no_saved_release(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sealing, "put_in_place", full)
    with pytest.raises(OutputError, match="No space left on device"):
        written(tmp_path, case().custodian())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("made", [True, False])
def test_a_key_that_was_made_for_the_release_is_kept_with_it(tmp_path, made):
    key = Key(bytes(range(32)), made=made)
    folder = written(tmp_path, replace(case().custodian(), key=key))
    found = [path for path in (folder / "custodian").iterdir() if key.text in path.read_text(errors="replace")]
    assert len(found) == int(made)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([-128, 127], pa.int8()),
        ([-129, 127], pa.int16()),
        ([-128, 128], pa.int16()),
        ([-(2**15), 2**15 - 1], pa.int16()),
        ([2**63 - 1], pa.int64()),
        ([2**63], pa.string()),
        ([], pa.int8()),
        ([True, False], pa.bool_()),
    ],
)
def test_columns_are_no_wider_than_they_must_be(values, kind):
    wide = any(abs(v) > 2**62 for v in values)
    given = np.array(values, object if wide else np.bool_ if True in values else np.int64)
    found = _narrow(given)
    assert found.type == kind
    assert [int(v) for v in found.to_pylist()] == values


class Signer:
    """Signs with a word."""

    def signature(self, data: bytes) -> str:
        return "signed\n"


def test_only_a_saved_release_is_signed(tmp_path, monkeypatch):
    folder = written(tmp_path, case().custodian())
    key: Any = Signer()
    with pytest.raises(OutputError, match="'nowhere' is not a saved release"):
        sign_release(tmp_path / "nowhere", key)
    sign_release(folder, key)
    assert any(path.read_text(errors="replace") == "signed\n" for path in (folder / "custodian").iterdir())

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sealing, "_sync", full)
    with pytest.raises(OutputError, match="Cannot write the release to 'out': No space left on device"):
        sign_release(folder, key)


def test_a_link_to_a_folder_is_no_folder(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "letter.txt").write_text("mine")
    (tmp_path / "link").symlink_to("there")
    with pytest.raises(OutputError, match="'link' exists and is not a folder"):
        refuse_foreign(tmp_path / "link")
    with pytest.raises(OutputError, match=r"'there' exists and is not a release of ours \(it holds 'letter.txt'\)"):
        refuse_foreign(tmp_path / "there")


@pytest.mark.parametrize(
    ("mode", "closed"), [(0o755, False), (0o705, False), (0o750, True), (0o751, True), (0o754, True)]
)
def test_a_public_part_that_others_cannot_open_is_said(tmp_path: Path, mode, closed):
    (tmp_path / "public").mkdir()
    (tmp_path / "public").chmod(mode)
    assert ("is closed to others" in closed_to_others(tmp_path)) is closed


def test_names_of_files():
    assert file_names(["%%%", "a/b", "Table", "log", "LOG_"]) == {
        "%%%": "table",
        "a/b": "a_b",
        "Table": "Table_",
        "log": "log_",
        "LOG_": "LOG",
    }


def test_two_tables_are_never_written_to_one_file(tmp_path):
    custodian = case().custodian()
    public = custodian.public()
    twice = replace(public, tables=public.tables * 2)
    with pytest.raises(OutputError, match=r"Two tables would be written to 't\.csv'"):
        write_tables(tmp_path / "out", twice, custodian)
