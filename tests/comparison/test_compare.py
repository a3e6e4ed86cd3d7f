"""Methods side by side: rows, failures, releases, random runs, cancellation, map and pages."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.comparison.naming import method_name
from discreet.errors import Cancelled, NeedsError, OutputError, ParameterError
from discreet.keys import Key
from discreet.methods.base import TableMethod
from discreet.model.release import Release
from discreet.model.table import CellStatus
from discreet.progress import Step, checkpoint, reporting
from discreet.recipe.schema import read_recipe, recipe_schema
from discreet.report.riskmap import Axis, Point, RiskMap, Spot
from tests.battery.cases import counts, linked
from tests.recipe.test_recipe import RECIPE, folder  # noqa: F401

ROUND = ds.Round(base=7, rule="unbiased", levels=False)


@pytest.fixture(scope="module")
def table():
    return ds.examples.small_table().assess(ds.PPercent(10))


@pytest.fixture(scope="module")
def broken(table) -> Release:
    """A release that publishes one of the cells it should withhold besides."""
    good = ds.protect(table, ds.Suppress())
    status = good.custodian.status[0].copy()
    status[np.flatnonzero(status == CellStatus.SECONDARY)[0]] = CellStatus.SAFE
    custodian = replace(good.custodian, status=(status,))
    return Release(custodian.public(), custodian)


@dataclass(frozen=True)
class Falls(TableMethod):
    """Falls over in ways that a test chooses."""

    with_: Exception

    def run(self, system, key=None):
        raise self.with_


@dataclass(frozen=True)
class Endless(TableMethod):
    """Never ends, but listens."""

    def run(self, system, key=None):
        for step in range(10**9):
            checkpoint("endless", step, 0)


# ---- what is measured ---------------------------------------------------------------------------------------


def test_risk_and_loss_of_a_suppression_are_those_counted_by_hand(table):
    found = ds.compare(table, [ds.Suppress()])
    (row,) = found.rows
    hidden = ds.protect(table, ds.Suppress()).custodian.withheld(0)
    assert (row["risk"], row["short"], row["exact"], row["insiders"]) == (0.0, 0.0, 0.0, 0.0)
    assert row["withheld"] == row["relative"] == hidden.sum() / 16
    assert row["withheld_value"] == pytest.approx(table.value[hidden].sum() / table.value.sum())
    assert row["absolute"] == pytest.approx(table.value[hidden].sum() / 16)
    assert row["near"] is row["missing"] is None
    assert 0 < row["guess"] < 1


def test_an_unsafe_cell_that_is_published_is_at_risk(table, broken):
    (row,) = ds.compare(table, {"hole": broken}).rows
    assert (row["risk"], row["exact"], row["guess"]) == (1.0, 1.0, 1.0)


def test_altered_values_are_measured_against_the_truth(table):
    (row,) = ds.compare(table, [ROUND], seed=4).rows
    release = ds.protect(table, ROUND, key=Key.from_seed(4))
    after = release.public.tables[0].value
    change = np.abs(after - table.value)
    assert row["relative"] == pytest.approx(float((change / table.value).mean()))
    assert row["absolute"] == pytest.approx(float(change.mean()))
    assert row["changed"] == float((change > 0).mean())
    level = int(table.assessment.upper[7])
    assert row["near"] == float(change[7] < level)
    assert row["risk"] >= row["near"]
    assert row["missing"] == pytest.approx(max(0.0, 1 - change[7] / level))
    assert row["insiders"] is None


def test_linked_tables_count_shared_cells_once():
    tables = linked()
    (row,) = ds.compare(tables, [ds.Suppress()]).rows
    found = ds.protect(tables, ds.Suppress()).audit()
    cells = int((found.system.now & ~found.system.empty).sum())
    assert row["withheld"] == pytest.approx(len(found.withheld_cells) / cells)


def test_a_table_without_unsafe_cells_has_no_risk():
    (row,) = ds.compare(ds.examples.small_table().assess(ds.MinContributors(2)), [ds.Suppress()]).rows
    assert (row["risk"], row["short"], row["withheld"]) == (0.0, 0.0, 0.0)


def test_without_attack_only_what_needs_none_is_told(table):
    suppress, rounded = ds.compare(table, [ds.Suppress(), ROUND], attack=False).rows
    assert suppress["risk"] is suppress["guess"] is None
    assert rounded["near"] in (0.0, 1.0)
    assert suppress["relative"] == 0.25


def test_a_sample_of_cells_can_be_attacked():
    table = counts()
    (row,) = ds.compare(table, [ds.Suppress()], sample=2).rows
    assert row["status"] == "done"
    assert row["short"] == row["risk"] == 0.0


def test_the_risk_of_a_sample_is_that_of_the_cells_that_were_looked_at():
    table = counts()
    method = ds.Round(base=10, rule="conventional", levels=False)
    every, some = (ds.compare(table, [method], sample=size).rows[0] for size in (None, 10_000))
    assert some["risk"] == every["risk"]
    assert 0.2 < every["risk"] < 0.8
    sampled = [ds.compare(table, [method], sample=3, seed=seed).rows[0]["risk"] for seed in range(30)]
    assert {round(3 * risk, 6) for risk in sampled} <= {0.0, 1.0, 2.0, 3.0}
    # Three of so few cells lie about 0.23 from the mean, thirty such draws about 0.04.
    assert np.mean(sampled) == pytest.approx(every["risk"], abs=0.1)
    assert len(set(sampled)) > 1


def test_records_are_tabulated_and_assessed():
    firms = pa.table({"region": ["N", "N", "S", "S", "S"], "turnover": [50, 7, 9, 8, 7], "firm": [1, 2, 3, 4, 5]})
    spec = ds.TableSpec(by={"region": ds.Hierarchy.flat(["N", "S"])}, value="turnover")
    data = ds.Microdata(firms, contributor="firm")
    found = ds.compare(data, [ds.Suppress()], tables=[spec], rules=[ds.PPercent(10)])
    direct = ds.tabulate(data, specs=[spec]).assess(ds.PPercent(10))
    assert found.rows == ds.compare(direct, [ds.Suppress()]).rows


# ---- what goes wrong ----------------------------------------------------------------------------------------


def test_one_that_fails_does_not_stop_the_others_and_says_why(table):
    methods = {
        "needs": Falls(NeedsError("It needs record keys.")),
        "known": ds.Round(base=10, rule="conventional"),
        "unknown": Falls(ValueError("8217 is a secret")),
        "good": ds.Suppress(),
    }
    found = ds.compare(table, methods)
    ended = {row["method"]: row["status"] for row in found.rows}
    assert ended["needs"] == "not applicable: It needs record keys."
    assert ended["known"].startswith("failed: 1 unsafe cell cannot be protected by rounding")
    assert ended["unknown"].startswith("failed: ValueError")
    assert "8217" not in str(found.rows)
    assert ended["good"] == "done"
    assert list(found.frontier()) == ["good"]
    assert "needs: not applicable" in found.summary()
    assert found.to_frame("pandas").set_index("method").loc["needs", "risk":].isna().all()


def test_cancelling_stops_a_method_that_would_never_end(table):
    heard: list[Step] = []

    def listen(step: Step) -> None:
        heard.append(step)
        if step.stage == "endless one: endless" and step.done > 100:
            raise Cancelled()

    with pytest.raises(Cancelled), reporting(listen):
        ds.compare(table, {"endless one": Endless(), "another": Endless()}, threads=2)
    assert {"compare", "endless one: endless"} <= {step.stage for step in heard}


def test_cancelling_an_algorithm_stops_the_comparison_of_algorithms(table):
    def listen(step: Step) -> None:
        if step.stage.startswith("certified: "):
            raise Cancelled()

    with pytest.raises(Cancelled), reporting(listen):
        ds.compare_algorithms(table, ["certified", "gauss"])


def test_a_release_of_other_tables_is_refused(table):
    other = ds.protect(table.with_(value=table.value * 2).assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(ParameterError, match="another table 'turnover'"):
        ds.compare(table, {"mine": ds.Suppress(), "other": other})
    named = ds.protect(table.with_(spec=table.spec.with_(name="jobs")), ds.Suppress())
    with pytest.raises(ParameterError, match="'jobs' instead of 'turnover'"):
        ds.compare(table, {"other": named})


def test_a_release_by_other_rules_is_refused(table):
    other = ds.protect(ds.examples.small_table().assess(ds.PPercent(15)), ds.Suppress())
    with pytest.raises(ParameterError, match="assessed by other rules"):
        ds.compare(table, {"other": other})


def test_a_release_that_does_not_verify_is_measured_and_flagged_at_the_top(table, broken):
    found = ds.compare(table, {"good": ds.Suppress(), "broken": broken})
    rows = {row["method"]: row for row in found.rows}
    assert rows["good"]["flag"] == ""
    assert rows["broken"]["status"] == "done"
    assert rows["broken"]["relative"] < rows["good"]["relative"]
    assert found.flags[0].startswith("broken: its evidence does not verify: ")
    assert found.summary().startswith("BEWARE: broken: its evidence does not verify")
    page = found.page()
    assert 0 < page.index("Beware: evidence that does not verify") < page.index('id="map"')


def test_a_saved_release_is_measured_as_it_lies(table, tmp_path):
    ds.protect(table, ds.Suppress()).save(tmp_path / "out")
    file = tmp_path / "out" / "public" / "turnover.csv"
    assert ds.compare(table, [tmp_path / "out"]).rows[0]["flag"] == ""
    file.write_text(file.read_text().replace(",V", ",X", 1))
    (row,) = ds.compare(table, [tmp_path / "out"]).rows
    assert row["method"] == "out"
    assert "does not verify" in row["flag"]
    assert row["withheld"] == 0.25


@pytest.mark.parametrize(
    ("methods", "options", "message"),
    [
        ([], {}, "no methods"),
        (ds.Suppress(), {}, "no methods"),
        (["Suppress", 3], {}, "Cannot compare a int"),
        ([ds.Suppress(), ds.Suppress()], {}, "Several methods are called 'Suppress\\(\\)'"),
        ([ds.Suppress()], {"runs": 0}, "runs=0"),
        ([ds.Suppress()], {"threads": True}, "threads=True"),
        ([ds.Suppress()], {"jobs": 0}, "jobs=0"),
        ([ds.Suppress()], {"tables": []}, "tables= goes with records"),
        ([ds.Suppress()], {"rules": [ds.PPercent(10)]}, "assessed already"),
    ],
)
def test_mistakes_are_named(table, methods, options, message):
    with pytest.raises(ParameterError, match=message):
        ds.compare(table, methods, **options)


def test_records_without_tables_and_tables_without_rules_are_refused():
    with pytest.raises(ParameterError, match="alone"):
        ds.compare(pa.table({"x": [1]}), [ds.Suppress()])
    with pytest.raises(NeedsError, match="has not been assessed"):
        ds.compare(ds.examples.small_table(), [ds.Suppress()])


# ---- random methods -----------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_frame_whatever_the_threads(table):
    methods = [ds.Suppress(), ROUND, ds.Round(base=10, rule="fifty_fifty"), ds.Adjust()]
    one = ds.compare(table, methods, runs=6, seed=3, threads=1)
    two = ds.compare(table, methods, runs=6, seed=3, threads=3)
    assert one.to_frame().equals(two.to_frame())
    assert one.rows == two.rows
    assert one.rows != ds.compare(table, methods, runs=6, seed=11).rows


def test_the_same_seed_gives_the_same_frame_whatever_the_jobs(table):
    """Processes of their own share the runs; a release that was made before is measured here."""
    methods = {"round": ROUND, "suppress": ds.Suppress(), "made": ds.protect(table, ds.Suppress())}
    one = ds.compare(table, methods, runs=4, seed=3, threads=1)
    for jobs in (1, 2):
        assert ds.compare(table, methods, runs=4, seed=3, jobs=jobs).rows == one.rows


def test_without_joblib_the_extra_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(NeedsError, match=r"discreet\[jobs\]"):
        ds.compare(table, [ds.Suppress()], jobs=2)


def test_runs_have_keys_of_their_own_and_an_interval(table):
    found = ds.compare(table, [ROUND, ds.Suppress()], runs=20)
    runs = found.to_frame("pandas", each_run=True)
    assert (runs["method"] == "Suppress()").sum() == 1
    mine = runs[runs["method"] != "Suppress()"]["relative"]
    assert len(mine) == 20
    assert mine.nunique() > 1
    line = found.to_frame("pandas").set_index("method").loc[method_name(ROUND)]
    assert line["relative"] == pytest.approx(mine.mean())
    assert (line["relative_low"], line["relative_high"]) == pytest.approx(tuple(np.percentile(mine, (2.5, 97.5))))
    assert line["runs"] == 20


def test_a_key_that_a_method_names_is_not_used(table):
    assert ds.compare(table, [ROUND]).rows == ds.compare(table, [replace(ROUND, insecure_seed=9)]).rows


# ---- map, images, page --------------------------------------------------------------------------------------


def _map(**at: tuple[float, float]) -> RiskMap:
    axes = (Axis("risk", "the risk", "risk"), Axis("relative", "the loss", "loss"))
    spots = {name: {"risk": Spot(x, x, x), "relative": Spot(y, y, y)} for name, (x, y) in at.items()}
    return RiskMap(axes, tuple(Point(name, "done", "", 1, spot) for name, spot in spots.items()))


def test_the_frontier_is_what_nobody_beats():
    found = _map(a=(0.0, 0.9), b=(0.5, 0.5), c=(0.6, 0.5), d=(1.0, 0.0), e=(0.5, 0.5), f=(0.7, 0.8))
    assert [point.name for point in found.frontier("risk", "relative")] == ["a", "b", "e", "d"]


def test_the_map_on_a_terminal_puts_letters_where_the_methods_are():
    lines = _map(safe=(0.0, 0.4), open=(1.0, 0.0)).text().splitlines()
    assert lines[1].startswith("| A")
    assert lines[-4].endswith("B") or lines[-5].endswith("B")
    assert lines[-2:] == ["  A  safe (frontier) 0 %, 40.00 %", "  B  open (frontier) 100.00 %, 0 %"]


def test_a_map_without_points_says_so():
    axes = (Axis("risk", "the risk", "risk"), Axis("relative", "the loss", "loss"))
    found = RiskMap(axes, (Point("x", "failed: no", "", 0, {}),))
    assert found.text().startswith("No method has both measures")
    assert found.frontier("risk", "relative") == []


def test_an_axis_that_is_not_there_is_named(table):
    found = ds.compare(table, [ds.Suppress()], attack=False)
    with pytest.raises(ParameterError, match="no risk 'relative'"):
        found.map("relative")
    with pytest.raises(ParameterError, match="Did you mean 'hellinger'"):
        found.plot(loss="helinger")


def test_the_map_is_written_as_svg_and_png_and_nothing_is_overwritten(table, tmp_path):
    found = ds.compare(table, [ds.Suppress(), ROUND])
    found.plot(tmp_path / "map.svg")
    found.plot(tmp_path / "map.png", "guess", "hellinger")
    assert "Suppress()" in "".join(ElementTree.parse(tmp_path / "map.svg").getroot().itertext())
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "map.png").stat().st_mode & 0o077 == 0
    with pytest.raises(OutputError, match=r"map\.svg"):
        found.plot(tmp_path / "map.svg")
    with pytest.raises(ParameterError, match=r"Cannot draw a \.pdf"):
        found.plot(tmp_path / "map.pdf")


def test_names_on_the_page_are_text_and_the_policy_allows_our_scripts_only(table):
    name = "</script><script>alert(1)</script>"
    page = ds.compare(table, {name: ds.Suppress()}).page()
    assert name not in page
    assert page.count("<script") == 3  # what the map shows, what draws it, and what sorts tables
    assert len(re.findall(r"script-src 'sha256-[^']+' 'sha256-[^']+';", page)) == 1
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_names_of_methods_tell_what_was_given():
    assert method_name(ds.Suppress(algorithm="hypercube")) == "Suppress(algorithm='hypercube')"
    assert method_name(ds.Round(base=5, insecure_seed=3)) == "Round(base=5)"
    assert method_name(ds.Adjust()) == "Adjust()"


# ---- recipe and command line --------------------------------------------------------------------------------

COMPARE = """
[[compare]]
method = "suppress"

[[compare]]
name = "rounded"
method = "round"
rule = "unbiased"
levels = false
vary = { base = [100, 1000] }

[[compare]]
method = "round"
name = "conventional"
rule = "conventional"
base = 10
"""


def discreet(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_discreet_compare_prints_lines_and_map_and_writes_files(folder):  # noqa: F811
    (folder / "recipe.toml").write_text(RECIPE + COMPARE)
    files = ["--output", folder / "f.csv", "--plot", folder / "m.png", "--report", folder / "r.html"]
    done = discreet("compare", folder / "recipe.toml", "--runs", 3, *files)
    assert done.exit_code == 0, done.output
    assert "conventional: failed: " in done.stdout
    assert "rounded, base=100: risk" in done.stdout
    assert "(frontier)" in done.stdout
    assert "Comparing methods" in done.stderr
    assert len((folder / "f.csv").read_text().splitlines()) == 1 + 1 + 3 + 3 + 1
    assert all((folder / name).stat().st_mode & 0o077 == 0 for name in ("f.csv", "m.png", "r.html"))
    assert discreet("compare", folder / "recipe.toml", *files).exit_code == 6
    assert not (folder / "out").exists()


def test_discreet_compare_measures_a_saved_release_and_ends_with_5_where_it_does_not_verify(folder):  # noqa: F811
    (folder / "recipe.toml").write_text(RECIPE + '[[compare]]\nmethod = "suppress"\n')
    discreet("run", folder / "recipe.toml")
    done = discreet("compare", folder / "recipe.toml", "--release", folder / "out", "--json", "--no-attack")
    assert done.exit_code == 0, done.output
    mine, saved = json.loads(done.stdout)
    assert (saved["method"], saved["relative"]) == ("out", mine["relative"])
    path = folder / "out" / "public" / "turnover.csv"
    path.write_text(path.read_text().replace(",V", ",X", 1))
    done = discreet("compare", folder / "recipe.toml", "--release", folder / "out", "--no-attack")
    assert done.exit_code == 5
    assert done.stdout.startswith("BEWARE: out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "compares nothing"),
        ('[[compare]]\nmethod = "sup-press"\n', "Did you mean 'suppress'"),
        ('[[compare]]\nmethod = "round"\nbase = 5\nvary = { base = [3] }\n', "both gives and varies 'base'"),
        ('[[compare]]\nmethod = "round"\nvary = { base = 3 }\n', "vary that cannot be used"),
        ('[[compare]]\nmethod = "round"\nvary = { bases = [3] }\n', "Did you mean 'base'"),
    ],
)
def test_mistakes_in_compare_of_a_recipe_are_named(folder, text, message):  # noqa: F811
    (folder / "recipe.toml").write_text(RECIPE + text)
    done = discreet("compare", folder / "recipe.toml")
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_schema_allows_names_and_lists_in_compare():
    assert len(read_recipe(RECIPE + COMPARE).compare) == 3
    items = recipe_schema()["$defs"]["Recipe"]["properties"]["compare"]["items"]["oneOf"]
    assert all({"name", "vary"} <= set(item["properties"]) for item in items)
