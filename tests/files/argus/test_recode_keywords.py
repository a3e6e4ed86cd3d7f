"""Keywords of ``.grc`` files as μ-ARGUS writes and reads them.

The syntax is that of the public sources of μ-ARGUS 5.1 (``MetaReader.readGrc`` and ``MetaWriter.writeGrc``) and of its
manual, section on global recoding: ``<MISSING>`` with one or two codes, quoted or not; ``<CODELIST>`` with one file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import InputError
from discreet.files.argus.recodes import RecodeFile, read_recode, recode_text


def read(tmp_path: Path, text: str) -> RecodeFile:
    (tmp_path / "a.grc").write_text(text, encoding="utf-8")
    return read_recode(tmp_path / "a.grc")


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("<MISSING> 9", ("9",)),
        ("<MISSING> 9 8", ("9", "8")),
        ("<MISSING> 9 ", ("9",)),  # as it is written where there is no second one
        ('<MISSING> "9" "no answer"', ("9", "no answer")),
        ('<missing> "9"', ("9",)),
    ],
)
def test_codes_for_unknown(tmp_path, line, codes):
    assert read(tmp_path, f"1: 1-3\n2: 4-\n\n{line}\n").missing == codes


@pytest.mark.parametrize("line", ["<MISSING>", "<MISSING> 7 8 9", "<MISSING> 7\n<MISSING> 8"])
def test_other_numbers_of_codes_for_unknown_are_refused_with_their_line(tmp_path, line):
    with pytest.raises(InputError, match="expected <MISSING> with one or two codes, in one line"):
        read(tmp_path, f"1: 1-3\n{line}\n")


@pytest.mark.parametrize("line", ['<CODELIST> "new.cdl"', "<CODELIST> new.cdl"])
def test_labels_of_the_new_codes(tmp_path, line):
    assert read(tmp_path, f"1: 1-3\n{line}\n").codelist == "new.cdl"


def test_other_keywords_are_refused(tmp_path):
    with pytest.raises(InputError, match="line 2: found '<TITLE> x'"):
        read(tmp_path, "1: 1-3\n<TITLE> x\n")


def test_what_is_written_is_read_again(tmp_path):
    first = read(tmp_path, '1: 1-3\n2: 4-\n<MISSING> 9 8\n<CODELIST> "new.cdl"\n')
    assert read(tmp_path, recode_text(first)) == first
