"""The page on rules and the tests keep to each other."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__)
PAGE = HERE.parents[2] / "docs" / "design" / "0002-rules.md"


def names_of_tests():
    """Every test of rules for tables."""
    others = (HERE.name, *(path.name for path in HERE.parent.glob("test_record_*.py")))
    files = [path for path in HERE.parent.glob("test_*.py") if path.name not in others]
    return [name for path in files for name in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)]


def test_every_test_that_the_page_names_exists_and_every_test_has_a_line():
    named = re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8"))
    assert sorted(set(named)) == sorted(names_of_tests())


def test_no_two_tests_share_a_name():
    assert len(set(names_of_tests())) == len(names_of_tests())
