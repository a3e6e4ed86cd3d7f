"""File names of tables: none hides another, and none is that of a file of the release itself."""

from __future__ import annotations

import pytest

from discreet.files.table_folder import file_names

RESERVED = ("tables", "log", "manifest", "report", "key")


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("around", ["{}", ".{}", "{}.", " {} "])
def test_no_table_takes_the_name_of_a_file_of_the_release(name, around):
    given = around.format(name)
    assert file_names([given])[given] not in RESERVED


def test_names_differ_even_where_case_does_not_count():
    names = ["Turnover", "turnover", "TURNOVER", "turn over", "turn/over", "turn_over", "", "..", "key", "key_"]
    found = file_names(names)
    assert set(found) == set(names)
    assert len({file.lower() for file in found.values()}) == len(names)


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/b", "..", "a\\b", "a\nb", "=cmd"])
def test_no_name_leads_out_of_the_folder(name):
    (file,) = file_names([name]).values()
    assert not set(file) & set("/\\\n=")
    assert file.strip(".")
