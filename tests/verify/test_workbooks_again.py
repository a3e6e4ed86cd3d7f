"""Workbooks of public tables, which the writer and the checker each write with code of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet.files.published.heading import Heading
from discreet.files.published.xlsx import write_xlsx
from discreet.model.public import PublicTable
from discreet.verify.formats.shown import Different, ShownTable, Words
from discreet.verify.formats.xlsx import check_xlsx

CODES = ("Total", "a", "b")
Tree = tuple[Sequence[str], Sequence[int]]


def table(*trees: Tree | Sequence[str], **labels: Mapping[str, str]) -> PublicTable:
    """A table with every combination of some codes, which stand under others where that is told beside them.

    Labels are those of the variables ``v0``, ``v1`` and so on.
    """
    both = [tree if isinstance(tree[0], tuple) else (tuple(tree), [-1] * len(tree)) for tree in trees]
    lists = tuple(tuple(codes) for codes, _ in both)
    codes = np.array(list(product(*(range(len(one)) for one in lists))), np.int32)
    size = len(codes)
    return PublicTable(
        name="t",
        variables=tuple(f"v{k}" for k in range(len(lists))),
        code_lists=lists,
        labels=tuple(labels.get(f"v{k}", {}) for k in range(len(lists))),
        codes=codes,
        value=np.arange(size) + 10,
        decimals=0,
        shown=np.ones(size, np.bool_),
        empty=np.zeros(size, np.bool_),
        parents=tuple(tuple(above) for _, above in both),
    )


CHAIN = (tuple(f"c{i}" for i in range(19)), [-1, *range(18)])
"""Codes that stand one under the other, deeper than a workbook can show."""
UNEVEN = (("Total", "a", "a1", "a2", "b"), [-1, 0, 1, 1, 0])
FLAT = table(CODES, CODES)
SOME = FLAT.value.copy()


def with_values(*values: int) -> PublicTable:
    return replace(FLAT, value=np.array([*values, *SOME.tolist()[len(values) :]]))


TABLES = {
    "plain": FLAT,
    "one variable": table(CODES),
    "no name": replace(FLAT, name=""),
    "a period and a measure": replace(FLAT, period="2020", measure="turnover"),
    "lower ends alone": replace(FLAT, lower=SOME - 1),
    "upper ends alone": replace(FLAT, upper=SOME + 1),
    "both ends": replace(FLAT, lower=SOME - 1, upper=SOME + 1),
    "deep codes down": table(CHAIN, CODES),
    "some labels down": table(CODES, CODES, v0={"a": "apples"}),
    "all labels down": table(CODES, CODES, v0={"Total": "all", "a": "apples", "b": "pears"}),
    "some labels across": table(CODES, CODES, v1={"a": "apples"}),
    "no sum across": table(CODES, ("a", "b"), v1={"a": "apples", "b": "pears"}),
    "no labels across": table(CODES, ("a", "b")),
    "uneven codes across": table(CODES, UNEVEN),
    "uneven codes across, with labels": table(CODES, UNEVEN, v1={"b": "pears", "a1": "one"}),
    "fifteen digits": with_values(10**15 - 1, 1 - 10**15, 123456789012345),
    "sixteen digits": with_values(10**15, 5),
    "sixteen digits below zero": with_values(-(10**15), 5),
    "digits behind the point": replace(with_values(10**15, 10**14, -1, 0), decimals=3),
    "withheld and empty": replace(FLAT, shown=SOME > 12, empty=SOME < 11),
}


def written(public: PublicTable, folder: Path) -> bytes:
    path = folder / "t.xlsx"
    write_xlsx(path, public, Heading())
    return path.read_bytes()


@pytest.mark.parametrize("name", TABLES)
def test_the_checker_writes_what_the_writer_wrote(name, tmp_path):
    """Byte for byte, on the same machine."""
    assert check_xlsx(written(TABLES[name], tmp_path), ShownTable(TABLES[name], Words())) is None


NEARLY = {
    "a name": ("plain", "no name", "xl/sharedStrings.xml"),
    "a label": ("some labels down", "plain", "xl/worksheets/sheet1.xml"),
    "a heading": ("no sum across", "no labels across", "xl/worksheets/sheet1.xml"),
    "a digit lost": ("sixteen digits", "fifteen digits", "xl/worksheets/sheet1.xml"),
}


@pytest.mark.parametrize("name", NEARLY)
def test_a_workbook_of_another_table_is_refused(name, tmp_path):
    true, forged, member = NEARLY[name]
    with pytest.raises(Different) as caught:
        check_xlsx(written(TABLES[forged], tmp_path), ShownTable(TABLES[true], Words()))
    assert str(caught.value) == f"the member {member!r} is not what the published cells give"


def test_ends_that_are_not_published_are_refused(tmp_path):
    with pytest.raises(Different) as caught:
        check_xlsx(written(TABLES["both ends"], tmp_path), ShownTable(FLAT, Words()))
    assert str(caught.value) == "the member 'xl/worksheets/sheet3.xml' is not one that the release has"


def test_a_text_that_the_library_would_take_for_markup_is_refused(tmp_path):
    """The workbook could hold anything there: what stands between the signs is written as it is."""
    marked = table(("<r><t>Ann</t></r>", "b"), CODES)
    with pytest.raises(Different) as caught:
        check_xlsx(written(FLAT, tmp_path), ShownTable(marked, Words()))
    assert str(caught.value) == "the format cannot hold a text that stands between <r> and </r>"
