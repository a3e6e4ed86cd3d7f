"""The custodian's page of releases with altered values, and the same by recipe."""

from __future__ import annotations

import pytest

import discreet as ds
from discreet.keys import VARIABLE, Key
from discreet.report import custodian_report, public_report
from tests.tables.adjust.test_adjust import marked

RECIPE = """
version = 1
[data]
file = "records.csv"
contributor = "holding"
[[tables]]
name = "turnover"
by = ["region", "trade"]
value = "turnover"
[[rules]]
kind = "p_percent"
p = 10
[[protect]]
{method}
[output]
directory = "out"
report = true
"""


@pytest.mark.parametrize(
    "method", [ds.Adjust(), ds.Round(100_000), ds.Round(5, levels=False), ds.Intervals(insecure_seed=1)], ids=repr
)
def test_the_page_tells_what_was_changed(method):
    release = ds.protect(marked(), method)
    page = custodian_report(release, audit=release.audit())
    assert "for the custodian only" in page
    assert "the claims below were proved" in page
    assert "No cell is withheld; published values are altered" in page
    assert "70,000" in page  # the true value of an unsafe cell
    public = public_report(release.public)
    assert "was altered to protect" in public


def test_the_page_warns_of_exact_moves_and_of_what_was_left_as_it_is():
    page = custodian_report(ds.protect(marked(), ds.Adjust(fixed="margins", most=1, zeros="movable")))
    assert "7 of 7 unsafe cells moved by exactly the level" in page
    assert "readers who know what was left as it is (all sums)" in page


@pytest.mark.parametrize(
    "method",
    [
        'method = "adjust"',
        'method = "round"\nbase = 1000000\nrule = "unbiased"\nkey_file = "secret.key"',
        'method = "intervals"\nkey_file = "secret.key"',
    ],
)
def test_recipes_alter_values_too(method, tmp_path, monkeypatch):
    from pyarrow import csv

    from tests.battery.cases import records

    monkeypatch.delenv(VARIABLE, raising=False)
    csv.write_csv(records().select(["region", "trade", "turnover", "holding"]), tmp_path / "records.csv")
    key = tmp_path / "secret.key"
    key.touch(mode=0o600)
    key.write_text(Key.from_seed(5).text)
    (tmp_path / "recipe.toml").write_text(RECIPE.format(method=method))
    done = ds.run_recipe(tmp_path / "recipe.toml")
    assert done.verdict.holds
    assert set(done.release.public.tables[0].status) == {"A"}
    assert not (tmp_path / "out" / "custodian" / "key.txt").exists()
    assert "altered" in (tmp_path / "out" / "custodian" / "report.html").read_text()
