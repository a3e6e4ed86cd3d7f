"""Algorithms side by side."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.errors import OutputError, ParameterError
from discreet.progress import Step, reporting
from tests.battery.cases import hierarchical, linked
from tests.battery.cases import one_hierarchy as sparse

ALL = ("certified", "hypercube", "modular", "network", "gauss")


def test_the_frame_says_what_each_algorithm_withholds_and_leaves_open():
    table = sparse()
    found = ds.compare_algorithms(table, [*ALL, ds.Suppress(algorithm="gauss", repair=True)])
    rows = {row["algorithm"]: row for row in found.totals}
    assert list(rows) == [*ALL, "gauss, repaired"]
    release = ds.protect(table, ds.Suppress())
    assert rows["certified"]["short"] == rows["certified"]["short_insiders"] == 0
    secondary = release.audit().withheld_cells
    assert rows["certified"]["secondaries"] + rows["certified"]["unsafe"] == len(secondary)
    assert rows["gauss"]["short"] > 0
    assert "PS1*" not in rows["gauss"]["standards"].split()
    assert rows["gauss, repaired"]["short"] == 0
    assert rows["gauss"]["secondaries"] < rows["gauss, repaired"]["secondaries"]
    assert all(row["cpu_seconds"] >= 0 for row in rows.values())


def test_levels_of_a_variable_add_up_to_the_rows_of_the_table():
    table = sparse()
    frame = ds.compare_algorithms(table, ["hypercube"]).to_frame("pandas")
    for variable in table.variables:
        mine = frame[frame["variable"] == variable]
        assert mine["cells"].sum() == len(table)
        assert mine["unsafe"].sum() == table.unsafe.sum()


def test_an_algorithm_that_cannot_take_the_tables_does_not_stop_the_others():
    found = ds.compare_algorithms(hierarchical(), ["network", "gauss"])
    network, gauss = found.totals
    assert network["status"].startswith("not applicable: algorithm='network' takes one variable with a hierarchy")
    assert network["secondaries"] is None
    assert gauss["status"] == "done"
    assert "network: not applicable" in found.summary()


def test_linked_tables_are_counted_once_and_by_table():
    found = ds.compare_algorithms(linked(), ["modular"])
    names = {row["table"] for row in found.rows}
    assert names == {None, "region_trade", "region_size"}
    assert found.totals[0]["cells"] < sum(r["cells"] for r in found.rows if r["variable"] == "region")


def test_the_image_names_every_algorithm_that_was_done(tmp_path):
    pytest.importorskip("matplotlib")
    found = ds.compare_algorithms(hierarchical(), ["network", "gauss", "hypercube"])
    found.plot(tmp_path / "image.svg")
    drawing = (tmp_path / "image.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawing.replace("xlink:href", "href"))
    assert "gauss" in drawing
    assert "hypercube" in drawing
    assert "network" not in drawing
    with pytest.raises(OutputError, match=r"image\.svg"):
        found.plot(tmp_path / "image.svg")


def test_names_of_ones_own_and_bad_ones():
    table = ds.examples.small_table().assess(ds.PPercent(10))
    own = {"zero": ds.Suppress(algorithm="hypercube", settings={"variant": "hyper0"}), "plain": "hypercube"}
    assert [row["algorithm"] for row in ds.compare_algorithms(table, own).totals] == ["zero", "plain"]
    with pytest.raises(ParameterError, match="same name"):
        ds.compare_algorithms(table, ["gauss", ds.Suppress(algorithm="gauss", cost="unity")])
    with pytest.raises(ParameterError, match="no algorithm 'modulor'"):
        ds.compare_algorithms(table, ["modulor"])
    with pytest.raises(ParameterError, match="no algorithms"):
        ds.compare_algorithms(table, [])


def test_progress_never_goes_back():
    seen: list[Step] = []
    with reporting(seen.append):
        ds.compare_algorithms(sparse(), ["certified", "modular"])
    for stage in {step.stage for step in seen}:
        mine = [step for step in seen if step.stage == stage]
        assert [s.done for s in mine] == sorted(s.done for s in mine)
        assert mine[-1].done == mine[-1].total


def test_the_command_compares_the_tables_of_a_recipe(tmp_path: Path):
    pytest.importorskip("matplotlib")
    from pyarrow import csv

    from tests.battery.cases import records

    csv.write_csv(records(60).select(["region", "trade", "turnover", "holding"]), tmp_path / "firms.csv")
    (tmp_path / "recipe.toml").write_text(
        'version = 1\n[data]\nfile = "firms.csv"\ncontributor = "holding"\n'
        '[[tables]]\nname = "t"\nby = ["region", "trade"]\nvalue = "turnover"\n'
        '[[rules]]\nkind = "p_percent"\np = 10\n'
        '[[protect]]\nmethod = "suppress"\ncost = "unity"\n[output]\ndirectory = "out"\n',
        encoding="utf-8",
    )
    recipe = str(tmp_path / "recipe.toml")
    files = ["--output", str(tmp_path / "levels.csv"), "--plot", str(tmp_path / "image.svg")]
    done = CliRunner().invoke(main, ["compare-suppression", recipe, *files])
    assert done.exit_code == 0, done.output
    assert "network:" in done.output
    assert csv.read_csv(tmp_path / "levels.csv").num_rows > 5
    assert (tmp_path / "image.svg").exists()
    assert not (tmp_path / "out").exists()
    again = CliRunner().invoke(main, ["compare-suppression", recipe, *files])
    assert again.exit_code != 0
    one = CliRunner().invoke(main, ["compare-suppression", recipe, "--algorithm", "gauss", "--json"])
    assert {row["algorithm"] for row in json.loads(one.output)} == {"gauss"}
