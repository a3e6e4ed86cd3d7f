"""No text of a csv file begins a formula: neither a code, nor the name of a variable in the header."""

from __future__ import annotations

import csv

import pyarrow as pa
import pytest

import discreet as ds

NAMES = ["=1+1", "+x", "-x", "@x", "\tx", "'=1+1", "''-x"]
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_that_looks_like_a_formula_is_text(name, tmp_path):
    codes = ["=2+2", "'=2+2", "a"]
    frame = pa.table({name: codes * 9, "sex": ["m", "f", "m"] * 9})
    by = {name: ds.Hierarchy.flat(codes), "sex": ds.Hierarchy.flat(["m", "f"])}
    release = ds.protect(ds.tabulate(frame, by=by, name="t").assess(ds.MinFrequency(2)), ds.Suppress())
    release.save(tmp_path / "out")
    for place in ("public", "custodian"):
        with (tmp_path / "out" / place / "t.csv").open(newline="", encoding="utf-8") as stream:
            head, *lines = csv.reader(stream)
        assert not head[0].startswith(FORMULA)
        assert head[0].removeprefix("'") == name
        assert not any(line[0].startswith(FORMULA) for line in lines)
        assert len({line[0] for line in lines}) == 4  # no two codes are written alike
    assert ds.check_folder(tmp_path / "out").holds
    assert ds.load(tmp_path / "out").public.tables[0].columns() == release.public.tables[0].columns()


def test_a_pattern_file_keeps_such_names(tmp_path):
    frame = pa.table({"=x": ["a", "b", "c"] * 3 + ["a"], "sex": ["m", "f"] * 5})
    by = {"=x": ds.Hierarchy.flat(["a", "b", "c"]), "sex": ds.Hierarchy.flat(["m", "f"])}
    pattern = ds.protect(ds.tabulate(frame, by=by, name="t").assess(ds.MinFrequency(2)), ds.Suppress()).pattern()
    pattern.write(tmp_path / "pattern.csv")
    assert (tmp_path / "pattern.csv").read_text().startswith("table,'=x,sex,")
    assert ds.read_pattern(tmp_path / "pattern.csv").digest == pattern.digest
