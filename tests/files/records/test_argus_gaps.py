"""Empty fields of public files for μ-ARGUS have a missing code that nothing else has, and come back as empty."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.engine.record_set import read_record_set
from discreet.files.argus.rda import read_metadata
from discreet.files.records import RECORD_FORMATS
from discreet.model.records import PublicColumn, PublicRecords
from discreet.verify.records.argus import argus_files
from discreet.verify.records.published import GivenRecords


def written(folder: Path, columns: dict, **words) -> Path:
    """The public file, after the checker wrote all its files a second time and found them the same."""
    table = pa.table(columns)
    info = {name: PublicColumn(**words) for name in table.column_names}
    path = folder / "records.asc"
    RECORD_FORMATS["asc"].write(path, PublicRecords("records", table, info))
    files = argus_files("records", GivenRecords("records", table, info))
    assert {file.name for file in folder.iterdir()} == set(files)
    assert all((folder / name).read_bytes() == content for name, content in files.items())
    return path


@pytest.mark.parametrize(
    ("codes", "missing", "labels", "line", "empty"),
    [
        (["1", None], (), {}, "9", "9"),
        (["1", "9", None], (), {}, "X", "X"),
        (["1", None], (), {"9": "none of these"}, "X", "X"),
        (["1", "9", None], (("9", "9"),), {}, "X", "X"),
        (["10", "7", None], (), {}, "99", "99"),
        (["9", "X", "Z", "#", "?", None], (), {}, "99", "99"),
        (["1", "8", "9", None, "2"], (("8", "8"), ("9", "9")), {}, "", ""),
        (["1", "9"], (("9", "9"),), {}, "", ""),
        (["1", "2"], (), {}, "", "9"),
        (["1", None], ((5, 1000),), {}, "X", "X"),
    ],
)
def test_gaps_have_the_first_code_that_is_free(tmp_path, codes, missing, labels, line, empty):
    path = written(tmp_path, {"x": codes}, missing=missing, value_labels=labels)
    described = read_metadata(path.with_suffix(".rda"))["x"]
    assert described.empty == empty
    assert not empty or empty in described.missing
    if None in codes:
        assert path.read_text(encoding="utf-8").split("\n")[codes.index(None)].strip() == line
    back = read_record_set(ds.read_argus(path, records=True).microdata)
    assert back.columns["x"].to_pylist() == codes
    assert empty not in {code for code, _ in back.about("x").missing}


def test_a_field_is_wide_enough_for_its_missing_codes(tmp_path):
    path = written(tmp_path, {"x": [1, 2]}, missing=((999999, 999999),))
    assert path.read_text(encoding="utf-8") == "     1\n     2\n"
    assert read_metadata(path.with_suffix(".rda"))["x"].length == 6


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(st.none(), st.text("9XZ#?1ä", min_size=1, max_size=3)), min_size=1, max_size=12),
    st.lists(st.text("9XZ1", min_size=1, max_size=3), max_size=3, unique=True),
)
def test_gaps_and_codes_come_back_as_they_were(tmp_path_factory, codes, unknown):
    folder = tmp_path_factory.mktemp("gaps")
    columns = {"x": pa.array(codes, pa.string()), "n": list(range(len(codes)))}
    path = written(folder, columns, missing=tuple((code, code) for code in unknown))
    back = read_record_set(ds.read_argus(path, records=True).microdata)
    assert back.columns["x"].to_pylist() == codes
    used = {code for code in codes if code in unknown}
    assert used <= {code for code, _ in back.about("x").missing} <= set(unknown)
