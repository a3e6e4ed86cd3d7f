"""Public, restricted and foreign files of saved tables, each forged alone and sealed anew, and the words for it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as ds
from discreet.verify import folder as folder_checks
from tests.attack.forging import reseal
from tests.verify.forging import counts, made

Edit = Callable[[list[str]], list[str]]


@pytest.fixture(scope="module")
def true(tmp_path_factory) -> Path:
    place: Path = tmp_path_factory.mktemp("true")
    withheld = ds.protect(counts(cells="all", n=25), ds.Suppress())
    withheld.save(place / "withheld", formats=["xlsx"])
    withheld.save(place / "sent", restricted=["sdmx-csv", "sdmx-json"])
    made("intervals").save(place / "intervals")
    made("round-conventional").save(place / "rounded")
    return place


@pytest.fixture
def copy(true, tmp_path) -> Callable[[str], Path]:
    return lambda kind: Path(shutil.copytree(true / kind, tmp_path / kind))


def refused(folder: Path) -> list[str]:
    reseal(folder)
    return [str(refusal) for refusal in ds.check_folder(folder).refused]


def public_csv(folder: Path) -> Path:
    (path,) = (folder / "public").glob("*.csv")
    return path


def edited(folder: Path, edit: Edit) -> list[str]:
    """What is refused of a folder whose public csv file has other lines, the name of the file left out."""
    path = public_csv(folder)
    path.write_text("\n".join([*edit(path.read_text(encoding="utf-8").splitlines()), ""]), encoding="utf-8")
    return [text.replace(path.name, "csv") for text in refused(folder)]


@pytest.mark.parametrize("kind", ["withheld", "sent", "intervals", "rounded"])
def test_true_releases_hold(copy, kind):
    assert refused(copy(kind)) == []


# ---- lines of public csv files ----------------------------------------------------------------------------------


def line(number: int, edit: Callable[[list[str]], list[str]]) -> Edit:
    """Edit the fields of a line; the first one below the head is number 2."""

    def change(lines: list[str]) -> list[str]:
        fields = edit(lines[number - 1].split(","))
        return [*lines[: number - 1], ",".join(fields), *lines[number:]]

    return change


def first(lines: list[str], ending: str) -> int:
    return next(number for number, text in enumerate(lines, start=1) if number > 1 and text.endswith(ending))


@pytest.mark.parametrize(
    "edit",
    [
        line(1, lambda fields: [*fields, "note"]),
        line(1, lambda fields: fields[:-1]),
        line(1, lambda fields: [fields[1], fields[0], *fields[2:]]),
        lambda lines: [],
    ],
)
def test_a_public_file_with_another_head(copy, edit):
    message = "public: a public file has other columns than codes, value and status (csv)"
    assert edited(copy("withheld"), edit) == [message]


@pytest.mark.parametrize(
    "edit",
    [
        lambda fields: fields[:-1],
        lambda fields: [*fields, "x"],
        lambda fields: ["nowhere", *fields[1:]],
        lambda fields: [*fields[:-1], "U"],
        lambda fields: [*fields[:-1], ""],
        lambda fields: [*fields[:-1], "X"],
        lambda fields: [*fields[:-2], "", fields[-1]],
    ],
)
def test_a_line_that_is_no_cell(copy, edit):
    folder = copy("withheld")
    shown = first(public_csv(folder).read_text().splitlines(), ",V")
    assert edited(folder, line(shown, edit)) == [f"public: line {shown} is not a cell of the table (csv)"]


def test_a_value_where_one_is_withheld(copy):
    folder = copy("withheld")
    hidden = first(public_csv(folder).read_text().splitlines(), ",X")
    forge = line(hidden, lambda fields: [*fields[:-2], "3", "X"])
    assert edited(folder, forge) == [f"public: line {hidden} is not a cell of the table (csv)"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda fields: [*fields[:-3], "", fields[-2], fields[-1]],
        lambda fields: [*fields[:-2], "", fields[-1]],
        lambda fields: [*fields[:-4], "", *fields[-3:-1], "E"],
        lambda fields: [fields[0], "nothing", *fields[2:]],
    ],
)
def test_half_an_interval_or_one_without_a_value(copy, edit):
    folder = copy("intervals")
    lines = public_csv(folder).read_text().splitlines()
    assert lines[0].endswith("value,lower,upper,status")
    wide = next(number for number, text in enumerate(lines, start=1) if number > 1 and text.split(",")[-2])
    assert edited(folder, line(wide, edit)) == [f"public: line {wide} is not a cell of the table (csv)"]


@pytest.mark.parametrize(("text", "error"), [(b'"a"b,x\n', "Error"), (b"\xff\n", "UnicodeDecodeError")])
def test_a_public_file_that_is_no_csv_file(copy, text, error):
    folder = copy("withheld")
    path = public_csv(folder)
    path.write_bytes(path.read_bytes() + text)
    assert refused(folder) == [f"public: a public file cannot be read back ({error}) ({path.name})"]


# ---- files ------------------------------------------------------------------------------------------------------


def test_a_public_file_that_is_missing(copy):
    folder = copy("withheld")
    name = public_csv(folder).name
    public_csv(folder).unlink()
    assert refused(folder) == [f"files: The public file {name!r} is missing."]


@pytest.mark.parametrize("name", ["notes.txt", "other.xlsx", "other.csv", "notes.json"])
def test_a_public_file_that_no_release_has(copy, name):
    folder = copy("withheld")
    (folder / "public" / name).write_text("cell 3 holds 7391")
    assert refused(folder) == [f"public: a public file is not one that the checker can read back ({name})"]


def test_a_file_of_the_custodian_that_no_release_has(copy):
    folder = copy("withheld")
    (folder / "custodian" / "more.csv").write_text("x\n")
    assert refused(folder) == ["files: a custodian file is not one that the release speaks of (custodian/more.csv)"]


def test_a_public_file_that_cannot_be_checked_here(copy, monkeypatch):
    folder = copy("withheld")
    monkeypatch.setattr(folder_checks, "find_spec", lambda name: None)
    (reason,) = refused(folder)
    assert "a public file cannot be checked here: run pip install 'discreet[xlsx]'" in reason


@pytest.mark.parametrize("name", ["notes.txt", "other.sdmx.csv", "t.sdmx.csv.txt"])
def test_a_restricted_file_that_no_release_has(copy, name):
    folder = copy("sent")
    (folder / "restricted" / name).write_text("x\n")
    assert refused(folder) == [f"restricted: a restricted file is not one that the checker can read back ({name})"]


def test_true_values_beside_altered_ones(copy):
    folder = copy("rounded")
    name = public_csv(folder).name.replace(".csv", ".sdmx.csv")
    (folder / "restricted").mkdir()
    (folder / "restricted" / name).write_text("x\n")
    assert refused(folder) == [f"restricted: a restricted file is not one that the checker can read back ({name})"]


@pytest.mark.parametrize("ending", [".sdmx.csv", ".sdmx.json"])
def test_a_restricted_file_that_says_something_else(copy, ending):
    folder = copy("sent")
    (path,) = (folder / "restricted").glob(f"*{ending}")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("F", "D", 1), encoding="utf-8")
    (reason,) = refused(folder)
    assert reason.startswith("restricted: ")
    assert reason.endswith(f"({path.name})")
