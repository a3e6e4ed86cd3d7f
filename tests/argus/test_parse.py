"""The batch language: every command, both forms, and errors with file, line, found and expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.argus.commands import (
    AprioriFile,
    Clear,
    Open,
    Protect,
    Read,
    RecodeCommand,
    SafetyRule,
    Say,
    Specify,
    WithoutEffect,
    Write,
)
from discreet.argus.parse import read_batch
from discreet.errors import InputError

WHOLE = r"""
// made by hand
<OPENMICRODATA> "my data.asc"
<OPENMETADATA>  meta.rda
<SPECIFYTABLE>  "Size""Region"|"Var2"|"Var3"|"Var1",0.5
<SAFETYRULE>    P(15,1)|P(10,100,2)|NK(3,75)|FREQ(3,30)|ZERO(10)|REQ(1,2,3,4)|WGT(1)|MIS(0)|MAN(25)
<specifytable>  "Size"|"<freq>"||-2
<SAFETYRULE>
<READMICRODATA>
<READTABLE> 1T
<RECODE> 1, Region, 2
<RECODE> 2, "Size", "size.grc"
<APRIORI> "a.hst",1,";",1,0
<APRIORY> "b.hst", 2, ","
<SUPPRESS> GH(1,100,0,1)
<SUPPRESS> MOD(0,5,1,1,1)
<SUPPRESS> RND(1,5,,10)
<SUPPRESS> CKM(1)"ptable.txt"
<WRITETABLE> (1,3,AS+SE-,"out\safe.txt")
<WRITETABLE> (1,2,,"plain.txt")
<SOLVER> CPLEX,"licence.ilm"
<LOGBOOK> "log.txt"
<VERSIONINFO> "version.txt"
<CLEAR>
<GOINTERACTIVE>
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "job.arb"
    path.write_text(text)
    return path


def test_the_whole_language_is_read(tmp_path: Path) -> None:
    found = read_batch(written(tmp_path, WHOLE))
    rules = (
        ("P", (15.0, 1.0)), ("P", (10.0, 100.0, 2.0)), ("NK", (3.0, 75.0)), ("FREQ", (3.0, 30.0)), ("ZERO", (10.0,)),
        ("REQ", (1.0, 2.0, 3.0, 4.0)), ("WGT", (1.0,)), ("MIS", (0.0,)), ("MAN", (25.0,)),
    )  # fmt: skip
    assert found.commands == (
        Open(3, "records", "my data.asc"),
        Open(4, "metadata", "meta.rda"),
        Specify(5, ("Size", "Region"), "Var2", "Var3", "Var1", 0.5),
        SafetyRule(6, rules),
        Specify(7, ("Size",), "", "", "-2"),
        SafetyRule(8, ()),
        Read(9, "records"),
        Read(10, "cells", "1T"),
        RecodeCommand(11, 1, "Region", 2),
        RecodeCommand(12, 2, "Size", "size.grc"),
        AprioriFile(13, "a.hst", 1, ";", True, False),
        AprioriFile(14, "b.hst", 2, ","),
        Protect(15, "GH", 1, (100.0, 0.0, 1.0)),
        Protect(16, "MOD", 0, (5.0, 1.0, 1.0, 1.0)),
        Protect(17, "RND", 1, (5.0, None, 10.0)),
        Protect(18, "CKM", 1, (), ("ptable.txt",)),
        Write(19, 1, 3, "AS+SE-", r"out\safe.txt"),
        Write(20, 1, 2, "", "plain.txt"),
        WithoutEffect(21, "<SOLVER> CPLEX , licence.ilm", "the solver is HiGHS, which needs no licence"),
        Say(22, "logbook", "log.txt"),
        Say(23, "version", "version.txt"),
        Clear(24),
        WithoutEffect(25, "<GOINTERACTIVE>", "there is no window to go on in"),
    )
    assert [command.line for command in found.commands] == list(range(3, 26))
    assert found.notes == ("job.arb, line 6: P(p,q,n) is not in the manual; it is taken as the prior-posterior rule.",)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("<SAFETYRULE> REQ(1,2,3)", "REQ has 3 numbers, as in the manual"),
        ('<SPECIFYTABLE> "a"|"b"||"c"|0.5', "lambda stands after a comma, as in the program"),
        ('<WRITETABLE> (1,2,3,"TestB.txt")', "the number 3 in place of options is of old versions"),
    ],
)
def test_forms_that_differ_are_accepted_with_a_note(tmp_path: Path, line: str, note: str) -> None:
    assert note in read_batch(written(tmp_path, line)).notes[0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hello", "found 'hello'; expected a line that begins with a command"),
        ("<SUPPRESSS> MOD(1)", "found '<SUPPRESSS>'; expected a command of batch files."),
        ("<OPENMICRODATA>", "found 'the end of the line'; expected a file in quotation marks."),
        ('<OPENMICRODATA> "a', "found '\"a'; expected a closing quotation mark"),
        ('<OPENMETADATA> "a" b', "found 'b'; expected nothing more on this line."),
        ('<SPECIFYTABLE> "a"', 'found \'<SPECIFYTABLE> "a"\'; expected "variable"'),
        ('<SPECIFYTABLE> "a""a"|"b"', "found 'a'; expected each variable once."),
        ('<SPECIFYTABLE> "a"|"b"||"c",x', "found 'x'; expected a lambda from 0 to 10."),
        ("<SAFETYRULE> Q(1)", "found 'Q'; expected a rule: P, NK, FREQ"),
        ("<SAFETYRULE> NK(3)", "found 'NK(3)'; expected NK(...) with 2 numbers of at least 0."),
        ("<SAFETYRULE> NK(3,1e999)", "found 'NK(3,1e999)'; expected NK(...) with 2 numbers"),
        ("<SAFETYRULE> NK(3,x)", "found 'NK(3,x)'; expected NK(...) with 2 numbers"),
        ("<READTABLE> 3", "found '3'; expected nothing, 0, 1, 1T or 2."),
        ("<RECODE> 1, a, 10", "found '10'; expected a level from 1 to 9."),
        ('<APRIORI> "a",1,"ab"', "found 'ab'; expected a separator of one character"),
        ('<APRIORI> "a",1,",",2', "found '2'; expected 1 to leave bad lines out, or 0 from 0 to 1."),
        ("<SUPPRESS> XYZ(1)", "found 'XYZ'; expected a method: GH, MOD, OPT, NET, RND, CTA, CKM."),
        ("<SUPPRESS> MOD 1", "found '1'; expected MOD(."),
        ("<SUPPRESS> NET(0)", "found 'NET(0...)'; expected linked tables (0) with GH or MOD only."),
        ("<SUPPRESS> CTA(1,2)", "found '<SUPPRESS> CTA(1,2)'; expected at most 1 numbers in CTA(...)."),
        ("<SUPPRESS> GH(1,x)", "found 'x'; expected a number of at least 0 in GH(...)."),
        ('<SUPPRESS> GH(1)"a"', "found 'a'; expected files after CKM only."),
        ('<WRITETABLE> (1,9,,"a")', "found '9'; expected a type of file from 1 to 7."),
        ('<WRITETABLE> (1,2,XX+,"a")', "found 'XX+'; expected options such as AS+SE-."),
        ('<WRITETABLE> 1,2,,"a"', "found '1'; expected (table,type,options,\"file\")."),
        ("// only a comment", "found 'no command'; expected <OPENMICRODATA> or <OPENTABLEDATA>."),
    ],
)
def test_bad_lines_name_file_line_found_and_expected(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_batch(written(tmp_path, f"// first\n{line}\n"))
    number = 1 if line.startswith("//") else 2
    assert caught.value.message.startswith(f"job.arb, line {number}: {message}")
