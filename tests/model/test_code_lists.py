"""Codes as users have them: with gaps, as nested lists, as frames, as files of R packages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError


@pytest.mark.parametrize(
    "codes",
    [["a", None], ["a", np.nan], pd.Series(["a", None], dtype="string"), pl.Series(["a", None]), pa.array(["a", None])],
)
def test_a_gap_is_no_code(codes):
    with pytest.raises(InputError, match="The list of codes has 1 missing value in it"):
        ds.Hierarchy.flat(codes)


def test_what_stands_for_nothing_by_name_is_a_code():
    assert ds.Hierarchy.flat(["nan", "None"]).base_codes == ("nan", "None")


def test_a_list_within_a_list_is_no_code():
    with pytest.raises(InputError, match=r"Under 'Total' stands a list where a code is expected.*'North'"):
        ds.Hierarchy.from_nested([["a", "b"]])
    with pytest.raises(InputError, match="What stands under 'x' has 1 missing value"):
        ds.Hierarchy.from_nested({"x": ["a", None]})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_level_columns_may_be_a_frame(kind):
    frame = kind({"section": ["A", "A", "B"], "division": ["A1", None, "B1"]})
    assert ds.Hierarchy.from_columns(frame).codes == ("Total", "A", "A1", "B", "B1")


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("levels,codes\n@,All\n@@,A\n@@@,A01\n@@,B\n", ("All", "A", "A01", "B")),
        ('"","levels","codes"\n"1","@","All"\n"2","@@","A"\n"3","@@","B"\n', ("All", "A", "B")),
        ("level;name\n1;All\n2;A\n2;B\n", ("All", "A", "B")),
        ("levels,codes\n@,A\n@@,A1\n@,B\n", ("Total", "A", "A1", "B")),
    ],
)
def test_levels_and_codes_of_r_packages_are_read(tmp_path, text, codes):
    (tmp_path / "nace.csv").write_text(text)
    assert ds.read_hierarchy(tmp_path / "nace.csv").codes == codes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code,parent\nA,Total\n", "is a csv file with columns 'code', 'parent', which is no hierarchy"),
        ("levels,codes\n@,All\nx,A\n", "nace.csv, line 3: a level .* and a code are expected"),
        ("levels,codes\n@,All\n@@@,A\n", "nace.csv, line 3: code 'A' is 1 level deep"),
        ("levels,codes\n", "has no codes"),
    ],
)
def test_other_csv_files_are_refused(tmp_path, text, message):
    (tmp_path / "nace.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        ds.read_hierarchy(tmp_path / "nace.csv")


def test_codes_with_commas_stay_codes_of_an_hrc_file(tmp_path):
    (tmp_path / "nace.hrc").write_text("a,b\n@a,c\n")
    assert ds.read_hierarchy(tmp_path / "nace.hrc").codes == ("Total", "a,b", "a,c")


def test_tables_are_found_by_place_or_told_how_many_there_are():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    assert release.custodian.tables[0] is release.custodian.tables.tables[0]
    assert release.public[-1] is release.public.tables[0]
    with pytest.raises(ds.DiscreetError, match=r"no table number 1 in the set. It has 1 table, from 0 on"):
        release.custodian.tables[1]
