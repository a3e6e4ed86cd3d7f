"""What is withheld, or was true before it was altered, does not decide how public files are written."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.model.public import least_decimals, public_table
from tests.attack.forging import SUFFIXES

FORMATS = [name for name in SUFFIXES if name not in ("sav", "dta")]


def table(secret: float, decimals: int | None = None) -> ds.Table:
    """Cells of which all but the secret ones are whole numbers; the margins are not published either."""
    codes = {"trade": ["a", "b", "Total"] * 3, "region": [r for r in ("N", "S", "Total") for _ in range(3)]}
    inner = np.array([[secret, 200 - secret], [300 - secret, 400 + secret]])
    full = np.zeros((3, 3))
    full[:2, :2] = inner.T
    full[2], full[:, 2] = full.sum(axis=0), full.sum(axis=1)
    full[2, 2] = inner.sum()
    by = {"trade": ds.Hierarchy.flat(["a", "b"]), "region": ds.Hierarchy.flat(["N", "S"])}
    frame = pa.table({**codes, "value": np.round(full, 4).ravel()})
    made = ds.Table.from_cells(frame, by=by, name="t")
    if decimals is not None:
        made = made.with_(spec=replace(made.spec, decimals=decimals, fewest=False))
    return made.marked({("a", "N"): "U"}, protection=(20, 20)).assess()


@pytest.mark.parametrize("secret", [100.5, 100.25, 100.125])
def test_public_files_do_not_tell_how_many_decimals_withheld_values_have(secret, tmp_path):
    for name, value in (("whole", 100), ("broken", secret)):
        ds.protect(table(value), ds.Suppress()).save(tmp_path / name, formats=FORMATS)
        assert ds.check_folder(tmp_path / name).holds
    one, other = (sorted((tmp_path / name / "public").iterdir()) for name in ("whole", "broken"))
    assert [path.name for path in one] == [path.name for path in other]
    for mine, theirs in zip(one, other, strict=True):
        assert mine.read_bytes() == theirs.read_bytes(), mine.name


def test_declared_decimals_are_kept(tmp_path):
    ds.protect(table(100.25, decimals=3), ds.Suppress()).save(tmp_path / "out")
    with (tmp_path / "out" / "public" / "t.csv").open(newline="") as stream:
        values = {line["value"] for line in csv.DictReader(stream)}
    assert len(values) > 3
    assert all(not value or value.endswith(".000") for value in values)
    assert ds.check_folder(tmp_path / "out").holds


def test_altered_tables_have_the_decimals_of_what_they_show():
    rounded = ds.protect(table(100.25), ds.Round(base=50, levels=False)).public.tables[0]
    assert rounded.decimals == 0
    declared = ds.protect(table(100.25, decimals=2), ds.Round(base=50, levels=False)).public.tables[0]
    assert declared.decimals == 2
    assert declared.columns()["value"] == [value * 1.0 for value in rounded.columns()["value"]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=9, max_size=9), st.integers(0, 4), st.data())
def test_decimals_follow_from_the_published_values_alone(units, decimals, data):
    given_table = table(100)
    given_table = given_table.with_(spec=replace(given_table.spec, decimals=None))
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=9, max_size=9)))
    value = np.array(units, np.int64)
    made = public_table(given_table.with_(value=value, decimals=decimals), hidden)
    other = np.where(hidden, data.draw(st.integers(-(10**9), 10**9)), value)
    again = public_table(given_table.with_(value=other, decimals=decimals), hidden)
    assert made.decimals == again.decimals <= decimals
    assert made.value.tolist() == again.value.tolist()
    exact = value[~hidden] * 10 ** (4 - decimals) == made.value[~hidden] * 10 ** (4 - made.decimals)
    assert exact.all()
    assert made.decimals == 0 or (made.value % 10).any()


def test_no_values_need_no_decimals():
    assert least_decimals(np.zeros(0, np.int64), 5) == 0
    assert least_decimals(np.array([10, 5]), 1) == 1


def weighted(secret: float, decimals: int | None = None) -> ds.Table:
    """Records of which all but those of withheld cells are whole numbers, and so are all totals; weights are not."""
    inner = {("a", "N"): secret, ("b", "N"): 200 - secret, ("a", "S"): 300 - secret, ("b", "S"): 400 + secret}
    rows = [(*codes, value) for codes, value in inner.items()]
    rows += [("c", "N", 1001.0), ("c", "S", 37.0)]
    trade, region, value = (list(column) for column in zip(*rows, strict=True))
    data = ds.Microdata(pa.table({"trade": trade, "region": region, "v": value, "w": [1.5] * len(rows)}), weight="w")
    by = {"trade": ds.Hierarchy.flat(["a", "b", "c"]), "region": ds.Hierarchy.flat(["N", "S"])}
    made = ds.tabulate(data, by=by, value="v", name="t", decimals=decimals)
    return made.marked({("a", "N"): "U"}, protection=(20, 20)).assess()


@pytest.mark.parametrize("secret", [100.5, 100.25])
def test_weighted_tables_do_not_tell_how_many_decimals_withheld_values_have(secret, tmp_path):
    for name, value in (("whole", 100), ("broken", secret)):
        release = ds.protect(weighted(value), ds.Suppress(insiders=None))
        assert release.custodian.withheld(0).sum() == 4
        release.save(tmp_path / name, formats=FORMATS)
        assert ds.check_folder(tmp_path / name).holds
    for path in sorted((tmp_path / "whole" / "public").iterdir()):
        assert path.read_bytes() == (tmp_path / "broken" / "public" / path.name).read_bytes(), path.name


def test_weighted_tables_have_the_declared_decimals():
    shown = ds.protect(weighted(100.25, decimals=2), ds.Suppress(insiders=None)).public.tables[0]
    assert shown.decimals == 2
    assert 1501.5 in shown.columns()["value"]


def test_the_checker_refuses_weighted_sums_with_decimals_that_nobody_declared():
    table_of = weighted(100.25, decimals=2)
    found = table_of.with_(spec=replace(table_of.spec, fewest=True))
    verdict = ds.protect(found, ds.Suppress(insiders=None)).verify()
    assert [str(r) for r in verdict.refused] == [
        "public: weighted sums are rounded to decimals that nobody declared (t)"
    ]
