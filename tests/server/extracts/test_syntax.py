"""Syntax files: codes as the data have them, and words of owners that no program takes for its own."""

from __future__ import annotations

import re

from discreet.server.extracts.codebook import CodebookVariable
from discreet.server.extracts.syntax import syntax_files

ODD = CodebookVariable(
    name="job",
    label='Work "now"; %let x=1; `shell rm` $HOME &amp',
    kind="text",
    values=["=1+1", "-2", "it's", 'say "x"', "&a"],
    names={"=1+1": "Sum'; run;", "-2": "Minus\nquit", "it's": "Own", 'say "x"': "Said", "&a": "And", "gone": "Old"},
)
WHOLE = CodebookVariable(name="age", label="", kind="whole", values=[1, 2], names={"1": "One"})


def test_words_cannot_end_a_quote_or_start_a_macro() -> None:
    files = syntax_files([ODD, WHOLE])
    assert set(files) == {"read.sps", "read.do", "read.sas", "read.R"}
    for text in files.values():
        for wrong in ("%let", "`shell", "$HOME", "; run;'", "\nquit", "gone"):
            assert wrong not in text
        assert "stratum" not in text
    assert "\n".join(syntax_files([], strata=True).values()).count("stratum") >= 4


def test_codes_are_written_as_in_the_data() -> None:
    files = syntax_files([ODD, WHOLE])
    assert '"\'=1+1"' in files["read.sps"]
    assert "'''=1+1'" in files["read.sas"]
    assert "'&a'" in files["read.sas"]  # between double quotes it would be a macro
    assert '"&a"' not in files["read.sas"]
    assert '"say ""x"""' in files["read.sps"]
    assert "`it's` = 'Own'" in files["read.R"]
    assert 'label define age_ 1 "One", add' in files["read.do"]


def test_quotes_of_every_line_are_closed() -> None:
    for name, sign in (("read.sps", '"'), ("read.do", '"')):
        for line in syntax_files([ODD, WHOLE])[name].splitlines():
            assert line.replace("'\"'", "").count(sign) % 2 == 0, line
    for line in syntax_files([ODD, WHOLE])["read.sas"].splitlines():
        assert re.sub(r'"[^"]*"', "", line).count("'") % 2 == 0, line
