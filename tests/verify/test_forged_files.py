"""The custodian's files are read strictly: each thing that may be wrong with them, alone, and the words for it."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.model.evidence import MOVES, UP
from discreet.verify.custodian import check_intervals, read_with_intervals
from discreet.verify.folder import _units, read_custodian
from discreet.verify.manifest import check_files, refuse_unsaved
from discreet.verify.verdict import Verdict
from tests.verify.forging import counts, made

KINDS: dict[str, Callable[[], ds.Release]] = {
    "withheld": lambda: ds.protect(counts(cells="all", n=25), ds.Suppress()),
    "intervals": lambda: made("intervals-linked"),
    "key": lambda: ds.protect(counts(), ds.DropAdd("id", rate=0.1)),
}
Tree = dict[str, Any]


@pytest.fixture(scope="module")
def true(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("true")
    for name, release in KINDS.items():
        release().save(place / name)
        read_custodian(place / name)
    return place


@pytest.fixture
def closed(true, tmp_path) -> Callable[[str], Path]:
    """The custodian's folder of a copy of a release."""
    return lambda kind: Path(shutil.copytree(true / kind, tmp_path / kind)) / "custodian"


def refuses(folder: Path, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_custodian(folder.parent)


def rewrite(path: Path, change: Callable[[Tree], object]) -> None:
    tree = json.loads(path.read_text(encoding="utf-8"))
    change(tree)
    path.write_text(json.dumps(tree), encoding="utf-8")


def cells(folder: Path, number: int, change: Callable[[list[list[str]]], list[list[str]]]) -> Path:
    """Change the lines of a cell file, its head among them."""
    path = folder / json.loads((folder / "tables.json").read_text())["tables"][number]["file"]
    with path.open(encoding="utf-8", newline="") as stream:
        lines = change(list(csv.reader(stream)))
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)
    return path


def without(*names: str) -> Callable[[list[list[str]]], list[list[str]]]:
    def change(lines: list[list[str]]) -> list[list[str]]:
        kept = [i for i, name in enumerate(lines[0]) if name not in names]
        assert len(kept) == len(lines[0]) - len(names)
        return [[line[i] for i in kept] for line in lines]

    return change


def with_field(name: str, text: str) -> Callable[[list[list[str]]], list[list[str]]]:
    """Something else in a column of the first cell."""

    def change(lines: list[list[str]]) -> list[list[str]]:
        lines[1][lines[0].index(name)] = text
        return lines

    return change


# ---- cell files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gone", [("published", "published_lower", "published_upper"), ("published_lower", "published_upper")]
)
def test_all_tables_are_altered_or_none(closed, gone):
    folder = closed("intervals")
    cells(folder, 1, without(*gone))
    refuses(folder, "Values of some tables of the release are altered and those of others are not.")


def test_decimals_of_altered_values_are_those_of_the_evidence(closed):
    for number in range(2):
        folder = closed("intervals")
        rewrite(folder / "tables.json", lambda tree, n=number: tree["tables"][n].update(published_decimals=1))
        cells(folder, number, lambda lines: [lines[0], *(_with_decimal(lines[0], line) for line in lines[1:])])
        refuses(folder, "The decimals of altered values are not those of the evidence.")
        shutil.rmtree(folder.parent)


def _with_decimal(head: list[str], line: list[str]) -> list[str]:
    return [f"{text}.0" if name.startswith("published") else text for name, text in zip(head, line, strict=True)]


def test_unaltered_tables_have_no_decimals_of_altered_values(closed):
    folder = closed("withheld")
    rewrite(folder / "tables.json", lambda tree: tree["tables"][0].update(published_decimals=0))
    refuses(folder, "The decimals of altered values are not those of the evidence.")


@pytest.mark.parametrize("name", ["a", "region"])
def test_a_cell_file_has_the_variables_of_its_table(closed, name):
    folder = closed("withheld")
    path = cells(folder, 0, lambda lines: [[name, *lines[0][1:]], *lines[1:]])
    refuses(folder, f"The cell file {path.name!r} has other variables than its description.")


def test_no_column_of_a_cell_file_stands_twice(closed):
    folder = closed("withheld")
    path = cells(folder, 0, lambda lines: [[*line, line[-1]] for line in lines])
    refuses(folder, f"The cell file {path.name!r} has other variables than its description.")


def test_columns_of_a_cell_file_stand_in_their_order(closed):
    folder = closed("withheld")
    path = cells(folder, 0, lambda lines: [[*line[:-2], line[-1], line[-2]] for line in lines])
    refuses(folder, f"The cell file {path.name!r} has other columns than its description says.")


def test_lines_of_a_cell_file_are_as_long_as_its_head(closed):
    folder = closed("withheld")
    path = cells(folder, 0, lambda lines: [*lines[:-1], lines[-1][:-1]])
    refuses(folder, f"The cell file {path.name!r} is not well formed")


@pytest.mark.parametrize("said", [{"weight_decimals": 1}, {"key_modulus": 10}, {"cost": "w"}])
def test_a_description_speaks_of_columns_that_are_there(closed, said):
    folder = closed("withheld")
    cells(folder, 0, without("key_sum"))
    rewrite(folder / "tables.json", lambda tree: tree["tables"][0].update(key_modulus=None))
    read_custodian(folder.parent)
    rewrite(folder / "tables.json", lambda tree: tree["tables"][0].update(said))
    refuses(folder, "speaks of columns that it does not have")


def test_a_cell_breaks_stated_rules_only(closed):
    folder = closed("withheld")
    path = cells(folder, 0, with_field("hits", "2"))
    refuses(folder, f"The cell file {path.name!r} says that a cell breaks a rule that is not stated.")


def test_codes_are_those_of_the_variable(closed):
    folder = closed("withheld")
    cells(folder, 0, with_field("area", "West"))
    refuses(folder, "A cell file has the code 'West', which variable 'area' does not know.")


def test_flags_are_zero_or_one(closed):
    folder = closed("withheld")
    cells(folder, 0, with_field("empty", "2"))
    refuses(folder, "Column 'empty' of a cell file holds something that is neither 0 nor 1.")


@pytest.mark.parametrize("text", ["", "01", "1.0", "-", "1e3", "+1"])
def test_numbers_are_written_in_one_way(closed, text):
    folder = closed("withheld")
    cells(folder, 0, with_field("value", text))
    refuses(folder, "Column 'value' of a cell file holds something that is not a number with 0 decimals.")


# ---- files of the evidence ----------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["the file", "a column"])
def test_evidence_says_no_more_than_its_columns(closed, of):
    folder = closed("withheld")
    path = folder / "evidence_0_entries.arrow"
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    told = {"note": "7391"}
    schema = table.schema.with_metadata(told)
    if of == "a column":
        schema = table.schema.set(0, table.schema.field(0).with_metadata(told))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.table(table.columns, schema=schema))
    refuses(folder, "The file 'evidence_0_entries.arrow' says more than its columns do.")


def columns(folder: Path, part: str, column: str, kind: pa.DataType, value: object) -> str:
    """Something else in all of a column of the evidence; gives the name of the file."""
    path = folder / f"evidence_0_{part}.arrow"
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    values = pa.array([value] * len(table), kind)
    table = table.set_column(table.schema.names.index(column), column, values)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path.name


@pytest.mark.parametrize(
    ("part", "column", "kind", "value"),
    [
        ("certificates", "both", pa.bool_(), None),
        ("certificates", "length", pa.bool_(), True),
        ("certificates", "denominator", pa.string(), None),
        ("certificates", "length", pa.string(), "1"),
        ("entries", "row", pa.int64(), None),
    ],
)
def test_columns_of_the_evidence_are_of_their_kind_and_without_gaps(closed, part, column, kind, value):
    folder = closed("withheld")
    name = columns(folder, part, column, kind, value)
    refuses(folder, f"Column {column!r} of {name!r} holds something else than it should.")


@pytest.mark.parametrize("length", [-1, 2**40])
def test_numbers_of_entries_are_such_as_a_file_can_hold(closed, length):
    folder = closed("withheld")
    columns(folder, "certificates", "length", pa.int64(), length)
    refuses(folder, "The evidence states a number of entries that cannot be.")


@pytest.mark.parametrize("use", [UP - 1, MOVES + 1])
def test_certificates_are_taken_for_something_that_is_known(closed, use):
    folder = closed("withheld")
    columns(folder, "proof_entries", "use", pa.int16(), use)
    refuses(folder, "The evidence takes a certificate for something that is not known.")


def test_evidence_that_is_no_arrow_file_is_named(closed):
    folder = closed("withheld")
    (folder / "evidence_0_proofs.arrow").write_bytes(b"ARROW1")
    refuses(folder, "The file 'evidence_0_proofs.arrow' is not well formed")


@pytest.mark.parametrize("change", [{"more": "evidence_0_more.arrow"}, {"entries": "evidence_0_proofs.arrow"}])
def test_files_of_the_evidence_are_named_as_they_must_be(closed, change):
    folder = closed("withheld")
    rewrite(folder / "tables.json", lambda tree: tree["evidence"][0]["files"].update(change))
    place = "tables.json.evidence[0].files"
    refuses(folder, f"{place} are not those" if "more" in change else f"{place}.entries is not named as it must be.")


@pytest.mark.parametrize("name", ["a.csv", "z.csv"])
def test_the_file_of_a_table_is_named_by_it(closed, name):
    folder = closed("withheld")
    rewrite(folder / "tables.json", lambda tree: tree["tables"][0].update(file=name))
    refuses(folder, f"tables.json: the file {name!r} is not")


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("by", [-1, 1])
def test_the_intervals_of_cell_files_are_those_of_the_evidence(true, side, by):
    custodian, stated = read_with_intervals(true / "withheld")
    verdict = Verdict()
    check_intervals(verdict, custodian, stated)
    assert verdict.holds
    row = int(np.flatnonzero(custodian.withheld(0))[0])
    stated[0][side][row] += by
    check_intervals(verdict, custodian, stated)
    name = f"{custodian.tables.tables[0].name}: {custodian.tables.tables[0].cell_name(row)}"
    message = "an attacker's interval is not what the evidence shows"
    assert [(refusal.message, refusal.where) for refusal in verdict.refused] == [(message, name)]


# ---- the log ------------------------------------------------------------------------------------------------


def test_the_log_says_what_the_release_was_made_together_with(closed):
    folder = closed("withheld")
    rewrite(folder / "log.json", lambda tree: tree.update(already_published=["last year"]))
    refuses(folder, "log.json.already_published is not what the release was made together with.")


def test_the_log_leaves_nothing_out_that_the_release_was_made_together_with(closed):
    folder = closed("withheld")

    def change(tree: Tree) -> None:
        known = {
            "source": "x.csv",
            "table": tree["tables"][0]["name"],
            "rows": [0],
            "fingerprint": "0" * 16,
            "ignored": 0,
        }
        tree["already_published"]["known"].append(known)

    rewrite(folder / "tables.json", change)
    refuses(folder, "log.json.already_published is not what the release was made together with.")


@pytest.mark.parametrize("forgotten", ["log", "made", "file"])
def test_the_log_says_whether_a_key_was_made(closed, forgotten):
    folder = closed("key")
    if forgotten == "file":
        (folder / "key.txt").unlink()
    else:
        rewrite(
            folder / "log.json",
            lambda tree: tree.pop("key") if forgotten == "log" else tree["key"].update(made=False),
        )
    refuses(folder, "The log does not say whether the key was made for the release, or the key is missing.")


@pytest.mark.parametrize("digit", ["0", "f"])
def test_the_log_has_the_fingerprint_of_the_key(closed, digit):
    folder = closed("key")
    rewrite(folder / "log.json", lambda tree: tree["key"].update(fingerprint=digit * 16))
    refuses(folder, "log.json.key.fingerprint is not that of the key.")


@pytest.mark.parametrize("part", ["rules", "profile", "options"])
def test_rules_are_stated_whole_or_not_at_all(closed, part):
    folder = closed("withheld")
    rewrite(folder / "tables.json", lambda tree: tree["tables"][0].update({part: None}))
    other = {"rules": [], "profile": "handbook", "options": {}}[part]
    rewrite(folder / "log.json", lambda tree: tree["assess"][0].update({part: other}))
    refuses(folder, "states rules, profile and options only in part.")


# ---- the list of files --------------------------------------------------------------------------------------


def listed(folder: Path) -> list[str]:
    verdict = Verdict()
    check_files(verdict, folder.parent, None, None)
    return [str(refusal) for refusal in verdict.refused]


def resealed(folder: Path, change: Callable[[Tree], object]) -> list[str]:
    """Refusals where the list of files was changed and sealed again."""
    manifest = folder / "manifest.json"
    rewrite(manifest, change)
    (folder / "manifest.sha256").write_text(hashlib.sha256(manifest.read_bytes()).hexdigest() + "\n")
    return listed(folder)


def test_a_true_list_is_accepted_and_one_without_its_seal_is_not(closed):
    folder = closed("withheld")
    assert listed(folder) == []
    rewrite(folder / "manifest.json", lambda tree: None)
    with (folder / "manifest.json").open("a") as stream:
        stream.write(" ")
    assert listed(folder) == ["files: the list of files is not the sealed one (custodian/manifest.json)"]


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sha256"])
def test_a_release_has_a_list_and_a_seal(closed, name):
    folder = closed("withheld")
    (folder / name).unlink()
    with pytest.raises(InputError, match="is not a saved release"):
        refuse_unsaved(folder.parent)


@pytest.mark.parametrize(("field", "value"), [("bytes", -1), ("bytes", 1), ("sha256", "0" * 64), ("sha256", "f" * 64)])
def test_files_are_as_long_as_listed_and_have_their_digest(closed, field, value):
    folder = closed("withheld")

    def change(tree: Tree) -> None:
        entry = tree["files"]["custodian/log.json"]
        entry[field] = entry[field] + value if field == "bytes" else value

    assert resealed(folder, change) == ["files: a file was changed after the release was sealed (custodian/log.json)"]


def test_a_listed_file_is_there(closed):
    folder = closed("withheld")
    (folder / "log.json").unlink()
    assert listed(folder) == ["files: a listed file is missing (custodian/log.json)"]


def test_folders_besides_do_not_belong_to_a_release(closed):
    folder = closed("withheld")
    (folder / "more").mkdir()
    assert listed(folder) == ["custodian: a custodian file does not belong to the release (more)"]


def test_a_file_in_the_place_of_a_folder_does_not_belong_to_a_release(closed):
    folder = closed("withheld")
    (folder.parent / "restricted").write_text("7391")
    assert listed(folder) == ["restricted: a restricted file does not belong to the release (restricted)"]


# ---- public numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "units"), [("0.00", 0), ("-1.05", -105), (f"{2**63 - 1}", 2**63 - 1)])
def test_public_numbers_are_read(text, units):
    assert _units(text, 2 if "." in text else 0, "t.csv") == units


@pytest.mark.parametrize(
    ("text", "decimals"), [("1", 2), ("1.0", 2), ("1.00", 0), (f"{2**63}", 0), ("\u0661", 0), ("+1", 0)]
)
def test_public_numbers_have_their_decimals_and_fit_into_64_bits(text, decimals):
    with pytest.raises(InputError, match=r"The public file 't\.csv' holds a value that is not a number with"):
        _units(text, decimals, "t.csv")


@pytest.mark.parametrize("number", [2, 4])
def test_a_release_of_another_format_is_not_judged(closed, number):
    folder = closed("withheld")
    with pytest.raises(InputError, match=f"The release has format '{number}'; this version reads 3"):
        resealed(folder, lambda tree: tree.update(format=number))
