"""Damaged binary files never crash or hang: they are read, or refused by name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.files.frames import read_columns
from tests.files.fuzz_binary import READ, REFUSED, damaged_files, is_fine, outcome, seeds


def test_damaged_binary_files_are_read_or_refused(tmp_path: Path) -> None:
    made = seeds(tmp_path)
    ends: Counter[int] = Counter()
    for damaged in damaged_files(made, 150, seed=3):
        path = tmp_path / f"damaged{damaged.suffix}"
        path.write_bytes(damaged.content)
        ended = outcome(path)
        assert is_fine(damaged.suffix, ended), (damaged.suffix, ended)
        ends[ended] += 1
    assert ends[READ] > 10
    assert ends[REFUSED] > 30


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".sas7bdat", ".parquet"])
def test_a_file_that_was_cut_off_is_refused_by_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(seeds(tmp_path)[suffix][:300])
    with pytest.raises(InputError, match=f"cut[.]{suffix[1:]}"):
        read_columns(path, ["value"], text=[])


def test_a_workbook_with_a_damaged_sheet_is_refused_by_name(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "damaged.xlsx"
    (tmp_path / "good.xlsx").write_bytes(seeds(tmp_path)[".xlsx"])
    with zipfile.ZipFile(tmp_path / "good.xlsx") as good, zipfile.ZipFile(path, "w") as bad:
        for item in good.infolist():
            content = good.read(item)
            bad.writestr(item, content[: len(content) // 2] if "sheet1" in item.filename else content)
    with pytest.raises(InputError, match=r"'damaged\.xlsx' is not an xlsx file that can be read"):
        ds.check_output(path, ["trade", "region"])
