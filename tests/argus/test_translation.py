"""Batches that cannot be carried out as they stand, each refused with its line; and what becomes of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.argus.parse import read_batch
from discreet.argus.translate import Translation, translate
from discreet.errors import DiscreetError

RECORDS = """Size 1 2
 <RECODEABLE>
Region 4 2
 <RECODEABLE>
Var2 7 9
 <NUMERIC>
 <DECIMALS> 2
Name 20 4
Zip 26 2
 <NUMERIC>
"""
CELLS = '<SEPARATOR> ";"\nSize\n <RECODEABLE>\nVar2\n <NUMERIC>\n <DECIMALS> 2\n'
OPEN = '<OPENMICRODATA> "records.asc"\n<OPENMETADATA> "records.rda"\n'
OPEN_CELLS = '<OPENTABLEDATA> "cells.tab"\n<OPENMETADATA> "cells.rda"\n'
ONE = '<SPECIFYTABLE> "Size""Region"|"Var2"||\n'
RULE = "<SAFETYRULE> P(10,1)\n"
READ = "<READMICRODATA>\n"
SUPPRESS = "<SUPPRESS> MOD(1)\n"
START = OPEN + ONE + RULE + READ


def translated(folder: Path, text: str, **options: Any) -> Translation:
    (folder / "records.rda").write_text(RECORDS)
    (folder / "records.asc").write_text(" 1  2     12.50\n 2 11    200.00\n")
    (folder / "cells.rda").write_text(CELLS)
    (folder / "cells.tab").write_text("1;2\n2;3\n")
    (folder / "size.grc").write_text("1:1,2\n")
    (folder / "job.arb").write_text(text)
    return translate(read_batch(folder / "job.arb"), folder, **options)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (OPEN, 2, "a table and <SUPPRESS>"),
        (ONE, 1, "<OPENMETADATA> before it"),
        ('<OPENMICRODATA> "gone.asc"\n', 1, "gone.asc"),
        (START + OPEN, 6, "a file opened after the data were read"),
        ('<OPENMETADATA> "records.rda"\n', 1, "<OPENMICRODATA> or <OPENTABLEDATA> before it"),
        (OPEN + '<OPENMETADATA> "records.rda"\n', 3, "<OPENMICRODATA> or <OPENTABLEDATA> before it"),
        (OPEN + '<OPENMICRODATA> "records.asc"\n', 3, "one file of records, or several of tables"),
        (OPEN + '<OPENTABLEDATA> "cells.tab"\n', 3, "one file of records, or several of tables"),
        (OPEN_CELLS + '<OPENMICRODATA> "records.asc"\n', 3, "one file of records, or several of tables"),
        ('<OPENTABLEDATA> "cells.tab"\n<OPENTABLEDATA> "cells.tab"\n', 2, "<OPENMETADATA> for the one before it"),
        (START + ONE, 6, "<SPECIFYTABLE> after the data were read"),
        ('<OPENMICRODATA> "records.asc"\n' + ONE, 2, "<OPENMETADATA> before it"),
        (OPEN_CELLS + '<OPENTABLEDATA> "cells.tab"\n' + ONE, 4, "<OPENMETADATA> before it"),
        (OPEN + '<SPECIFYTABLE> "Size""size"|"Var2"||\n', 3, "each variable once, whatever its capitals"),
        (OPEN + '<SPECIFYTABLE> "Size""Name"|"Var2"||\n', 3, "Name as a spanning variable"),
        (OPEN + '<SPECIFYTABLE> "Size"|"Name"||\n', 3, "Name as a response, shadow or cost"),
        (OPEN + '<SPECIFYTABLE> "Size"|"Var2"|"Name"|\n', 3, "Name as a response, shadow or cost"),
        (OPEN + '<SPECIFYTABLE> "Size"|"Var2"||"-7"\n', 3, "cost -7"),
        (OPEN + RULE, 3, "<SPECIFYTABLE> before it"),
        (START + RULE, 6, "<SAFETYRULE> after the data were read"),
        (OPEN + ONE + RULE + RULE, 5, "a second <SAFETYRULE>"),
        (OPEN + READ, 3, "<SPECIFYTABLE> before them"),
        (OPEN + ONE + RULE + "<READTABLE> 1\n", 5, "the other command for reading"),
        (OPEN + ONE + READ, 3, "<SPECIFYTABLE> without <SAFETYRULE>"),
        (OPEN + ONE + RULE + SUPPRESS, 5, "a command about a table"),
        (START + "<SUPPRESS> MOD(2)\n", 6, "a table from 1 to 1"),
        (
            OPEN_CELLS + '<SPECIFYTABLE> "Size"|"Var2"||\n' + RULE + '<READTABLE> 1\n<RECODE> 1,"Size",1\n',
            6,
            "<RECODE> of a ready",
        ),
        (START + '<RECODE> 1,"Zip","size.grc"\n', 6, "a variable of the table: Size, Region"),
        (START + '<SUPPRESS> CKM(1)"a.txt"|"b.txt"|"1"|"2"\n', 6, "CKM of magnitudes takes two noise tables"),
    ],
)
def test_what_a_batch_may_not_do_is_refused_with_its_line(tmp_path, text, line, said):
    with pytest.raises(DiscreetError) as caught:
        translated(tmp_path, text)
    assert f"job.arb, line {line}:" in str(caught.value)
    assert said in str(caught.value)


TWO = (
    OPEN
    + '<SPECIFYTABLE> "Size"|"Var2"||{one}\n'
    + RULE
    + '<SPECIFYTABLE> "Size""Region"|"Var2"||{two}\n'
    + RULE
    + READ
)
LINKED = "<SUPPRESS> MOD(0)\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TWO.format(one="", two="") + '<RECODE> 1,"Size","size.grc"\n' + LINKED,
            "Size recoded in one of the linked tables only",
        ),
        (
            TWO.format(one="", two="") + '<RECODE> 2,"Size","size.grc"\n' + LINKED,
            "Size recoded in one of the linked tables only",
        ),
        (TWO.format(one="", two='"-1"') + LINKED, "linked tables with different costs"),
        (TWO.format(one='"-2"', two='"-2"').replace('-2"\n', '-2",0\n') + LINKED, "lambda 0 (the logarithm)"),
    ],
)
def test_linked_tables_have_the_same_codes_and_costs(tmp_path, text, said):
    with pytest.raises(DiscreetError) as caught:
        translated(tmp_path, text)
    assert said in str(caught.value)


def test_linked_tables_that_are_recoded_alike_are_taken(tmp_path):
    both = '<RECODE> 1,"Size","size.grc"\n<RECODE> 2,"size","size.grc"\n'
    (job,) = translated(tmp_path, TWO.format(one="", two="") + both + LINKED).jobs
    assert [part["recode"] for part in job.recipe["tables"]] == [{"Size": "size.grc"}] * 2


@pytest.mark.parametrize(
    ("rest", "part", "cost"),
    [
        ("|", {}, "value"),
        ('"Var2"|', {}, "value"),
        ('"Zip"|', {"shadow": "Zip"}, "value"),
        ('|"Var2"', {}, "value"),
        ('|"Zip"', {"cost": "Zip"}, "variable"),
        ('|"-1"', {}, "count"),
        ('|"-2"', {}, "unity"),
    ],
)
def test_shadow_and_cost_are_named_where_they_are_not_the_response(tmp_path, rest, part, cost):
    text = OPEN + f'<SPECIFYTABLE> "Size""Region"|"Var2"|{rest}\n' + RULE + READ + SUPPRESS
    (job,) = translated(tmp_path, text).jobs
    (table,) = job.recipe["tables"]
    assert table["decimals"] == 2
    assert {name: table[name] for name in ("shadow", "cost") if name in table} == part
    assert job.recipe["protect"][0]["cost"] == cost


def test_any_other_variable_may_be_shadow_or_cost(tmp_path):
    text = OPEN + '<SPECIFYTABLE> "Size"|"Zip"|"Var2"|"Var2"\n' + RULE + READ + SUPPRESS
    (job,) = translated(tmp_path, text).jobs
    assert job.recipe["tables"][0]["shadow"] == job.recipe["tables"][0]["cost"] == "Var2"


def test_ready_made_tables_keep_the_decimals_of_their_file(tmp_path):
    text = OPEN_CELLS + '<SPECIFYTABLE> "Size"|"Var2"||\n' + RULE + "<READTABLE> 1\n" + SUPPRESS
    (job,) = translated(tmp_path, text).jobs
    assert "decimals" not in job.recipe["tables"][0]
    whole = START.replace('"Var2"', '"Zip"')
    (job,) = translated(tmp_path, whole + SUPPRESS).jobs
    assert "decimals" not in job.recipe["tables"][0]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("out.tab", "out.tab"),
        ("C:\\\\work\\\\out.tab", "out.tab"),
        ("\\\\\\\\server\\\\out.tab", "out.tab"),
        ("sub\\\\out.tab", "sub/out.tab"),
    ],
)
def test_output_files_lie_below_the_batch(tmp_path, name, place):
    text = START + SUPPRESS + f'<WRITETABLE> (1,5,,"{name}")\n'.replace("\\\\", "\\")
    (job,) = translated(tmp_path, text).jobs
    assert job.files == [place]


@pytest.mark.parametrize(
    ("name", "said"),
    [("..\\out.tab", "lies outside the folder of the batch"), ("C:\\work\\", "a file, not a folder")],
)
def test_output_files_elsewhere_are_refused(tmp_path, name, said):
    with pytest.raises(DiscreetError, match=said):
        translated(tmp_path, START + SUPPRESS + f'<WRITETABLE> (1,5,,"{name}")\n')


def test_input_files_elsewhere_are_refused_unless_allowed(tmp_path):
    folder = tmp_path / "batch"
    folder.mkdir()
    (tmp_path / "other.asc").write_text(" 1  2     12.50\n")
    text = START.replace('"records.asc"', '"../other.asc"') + SUPPRESS
    with pytest.raises(DiscreetError, match=r"line 1: '../other.asc' lies outside the folder of the batch"):
        translated(folder, text)
    assert translated(folder, text, allow_outside=True).jobs
