"""Public files that say something else than the release, in every format, with all digests made anew."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as ds
from discreet.verify import check_folder
from tests.verify.test_mutations import reseal

FORMATS = ["csv", "px", "sdmx-csv", "sdmx-json", "jsonstat", "parquet", "xlsx"]
"""But for those that only a library in a process of its own can read back."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> dict[str, Path]:
    """A release that withholds cells and one that alters values, in every format."""
    table = ds.examples.small_table().assess(ds.PPercent(10), ds.MinContributors(3))
    made = {"withheld": ds.protect(table, ds.Suppress()), "altered": ds.protect(table, ds.Round(base=50, levels=False))}
    folders = {}
    for name, release in made.items():
        folders[name] = tmp_path_factory.mktemp(name) / "out"
        release.save(folders[name], formats=FORMATS)
        reseal(folders[name])
        assert check_folder(folders[name]).holds
    return folders


def refusals(folder: Path, tmp_path: Path, name: str, change: Callable[[Path], None]) -> list[str]:
    """What is refused once a file is changed and everything is sealed again."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = (copy / "public" / name).read_bytes()
    change(copy / "public" / name)
    assert (copy / "public" / name).read_bytes() != before
    reseal(copy)
    return [str(refusal) for refusal in check_folder(copy).refused]


def text(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        content = path.read_text(encoding="utf-8")
        assert re.search(old, content), old
        path.write_text(re.sub(old, new, content, count=1), encoding="utf-8")

    return change


def jsonstat(edit: Callable[[dict], None]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        edit(data)
        path.write_text(json.dumps(data), encoding="utf-8")

    return change


def parquet(edit: Callable[[dict], None]) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        found = pq.read_table(path)
        columns = found.to_pydict()
        edit(columns)
        pq.write_table(pa.table(columns, schema=found.schema), path)

    return change


def sheet(old: bytes, new: bytes) -> Callable[[Path], None]:
    """Exchange some bytes of the first sheet of a workbook."""

    def change(path: Path) -> None:
        with zipfile.ZipFile(path) as book:
            parts = {item.filename: book.read(item) for item in book.infolist()}
        first = "xl/worksheets/sheet1.xml"
        assert re.search(old, parts[first]), old
        parts[first] = re.sub(old, new, parts[first], count=1)
        with zipfile.ZipFile(path, "w") as book:
            for name, data in parts.items():
                book.writestr(name, data)

    return change


def shown(data: dict) -> str:
    """The place of the first withheld cell of a JSON-stat file."""
    return next(place for place, letter in data["status"].items() if letter == "X")


FORGERIES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "sdmx-json: a withheld cell counts as published": (
        "turnover.sdmx.json",
        jsonstat(lambda d: d["data"]["structures"][0]["attributes"]["observation"][0]["values"].reverse()),
    ),
    "px: a value": ("turnover.px", text("920", "921")),
    "px: a withheld cell is empty": ("turnover.px", text(r'"\.\."', '"."')),
    "px: a withheld cell is shown": ("turnover.px", text(r'"\.\."', "42")),
    "sdmx-csv: a value": ("turnover.sdmx.csv", text(r",920,", ",921,")),
    "sdmx-csv: a withheld cell is empty": ("turnover.sdmx.csv", text(r",,Q", ",,O")),
    "sdmx-csv: a withheld cell counts as published": ("turnover.sdmx.csv", text(r",,Q", ",,A")),
    "sdmx-csv: a published cell counts as withheld": ("turnover.sdmx.csv", text(r",920,A", ",920,Q")),
    "sdmx-csv: a withheld cell is shown": ("turnover.sdmx.csv", text(r",,Q", ",42,Q")),
    "jsonstat: a withheld cell is empty": (
        "turnover.jsonstat.json",
        jsonstat(lambda d: d["status"].__setitem__(shown(d), "E")),
    ),
    "jsonstat: a withheld cell counts as published": (
        "turnover.jsonstat.json",
        jsonstat(lambda d: d["status"].__setitem__(shown(d), "V")),
    ),
    "parquet: a withheld cell is empty": (
        "turnover.parquet",
        parquet(lambda c: c["status"].__setitem__(c["status"].index("X"), "E")),
    ),
    "parquet: a published cell counts as withheld": (
        "turnover.parquet",
        parquet(lambda c: c["status"].__setitem__(c["status"].index("V"), "X")),
    ),
    "parquet: a value": ("turnover.parquet", parquet(lambda c: c["value"].__setitem__(0, c["value"][0] + 1))),
    "parquet: a withheld cell is shown": (
        "turnover.parquet",
        parquet(lambda c: c["value"].__setitem__(c["status"].index("X"), 42)),
    ),
    "xlsx: a formula with the right value": (
        "turnover.xlsx",
        sheet(rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?>)<v>920</v>', rb"\1<f>900+20</f><v>920</v>"),
    ),
    "xlsx: a value": ("turnover.xlsx", sheet(rb"<v>920</v>", rb"<v>921</v>")),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_no_format_says_anything_else_than_the_release(saved, tmp_path, name):
    file, change = FORGERIES[name]
    found = refusals(saved["withheld"], tmp_path, file, change)
    assert any(file in refusal for refusal in found), found
    assert {refusal.split(":")[0] for refusal in found} == {"public"}


def test_every_format_has_a_forgery():
    """The csv file has its own tests."""
    assert len({file for file, _ in FORGERIES.values()}) == len(FORMATS) - 1


@pytest.mark.parametrize("letter", ["X", "E"])
def test_altered_cells_are_published_ones_in_every_format(saved, tmp_path, letter):
    """A whole table is altered; a cell that says otherwise tells that it was not."""
    change = parquet(lambda c: c["status"].__setitem__(2, letter))
    found = refusals(saved["altered"], tmp_path, "turnover.parquet", change)
    assert any("turnover.parquet" in refusal for refusal in found)
