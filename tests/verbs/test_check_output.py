"""Output checking: files of any origin, what can be worked out of them, and the true cells behind them."""

from __future__ import annotations

import json
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.cli import main
from discreet.errors import InputError, ParameterError

BY = {"trade": ds.Hierarchy.flat(["retail", "food", "crafts"]), "region": ds.Hierarchy.flat(["North", "East", "South"])}


def true_table() -> ds.Table:
    return ds.examples.small_table().assess(ds.PPercent(10))


@pytest.fixture(scope="module")
def release():
    return ds.protect(true_table(), ds.Suppress())


def test_a_certified_release_passes(release):
    found = ds.check_output(release.to_frame(), BY, true=true_table())
    assert found.holds
    assert "every unsafe cell keeps its level against the named attackers" in found.verdict.proved
    assert any(text.startswith("insiders") for text in found.verdict.attackers)
    assert len(found.cells) == 4


def test_intervals_are_those_of_the_audit(release):
    mine = ds.check_output(release.to_frame(), BY).to_frame("pandas").set_index("cell")
    theirs = ds.audit(release, exact=True).to_frame("pandas").set_index("cell")
    for end in ("lower", "upper"):
        assert mine[end].to_dict() == pytest.approx(theirs[end].to_dict())


def test_without_true_cells_the_verdict_says_what_it_does_not_know(release):
    found = ds.check_output(release.to_frame(), BY)
    assert found.holds
    assert found.summary().startswith("Nothing was found against")
    assert "no true cells" in found.verdict.not_considered[0]


def columns(release) -> dict[str, list]:
    return release.to_frame().to_pydict()


def test_a_hole_too_few_gives_the_others_away(release):
    cells = columns(release)
    true = true_table()
    hole = cells["status"].index("X")
    cells["value"][hole] = int(true.value[hole])
    found = ds.check_output(pa.table(cells), BY, true=true)
    assert not found.holds
    assert {refusal.check for refusal in found.verdict.refused} >= {"recomputed"}
    assert found.recomputed.sum() == 3
    frame = found.to_frame("pandas")
    assert (frame.lower[frame.recomputed] == frame.true_value[frame.recomputed]).all()
    assert "200" not in found.summary()


def test_an_unsafe_cell_that_is_shown_is_found(release):
    cells = columns(release)
    true = true_table()
    cells["value"] = true.value.tolist()
    found = ds.check_output(pa.table(cells), BY, true=true)
    assert [refusal.check for refusal in found.verdict.refused] == ["published"]


def test_a_level_that_is_missed_is_found():
    """Both holes of a row and a column are withheld, but their sum is small."""
    cells = {"r": ["Total", "a", "b", "c"], "value": [1000, 100, 3, 897]}
    by = {"r": ds.Hierarchy.flat(["a", "b", "c"])}
    true = ds.Table.from_cells(
        pa.table({**cells, "status": ["V", "U", "V", "V"], "upper_protection": [0, 20, 0, 0]}), by
    )
    shown = pa.table({"r": cells["r"], "value": ["1000", "x", "x", "897"]})
    found = ds.check_output(shown, by, true=true.assess())
    assert "levels" in {refusal.check for refusal in found.verdict.refused}


def test_other_values_than_the_true_ones_are_found(release):
    cells = columns(release)
    cells["value"] = true_table().value.tolist()
    for row in (0, 1, 4, 5):
        cells["value"][row] += 5
    found = ds.check_output(pa.table(cells), BY, true=true_table())
    assert "values" in {refusal.check for refusal in found.verdict.refused}


def test_sums_that_do_not_add_up_are_found():
    shown = pa.table({"r": ["Total", "a", "b"], "value": [10, 4, 5]})
    assert [r.check for r in ds.check_output(shown, ["r"]).verdict.refused] == ["additivity"]
    assert ds.check_output(shown, ["r"], within=1).holds


def test_numbers_that_contradict_each_other_are_no_pass():
    shown = pa.table({"r": ["Total", "a", "b"], "value": ["10", "14", "x"]})
    found = ds.check_output(shown, ["r"])
    assert [r.check for r in found.verdict.refused] == ["contradiction"]
    assert not found.recomputed.any()


def test_rounded_values_can_give_the_true_ones_away():
    """Four cells of 0, 0, 0 and a total of 8 to base 3: rounding up and down leaves one table."""
    shown = pa.table({"r": ["Total", "a", "b"], "value": [9, 3, 3]})
    found = ds.check_output(shown, ["r"], counts=True, within=1)
    exact = dict(zip(found.cells, zip(found.lower.tolist(), found.upper.tolist(), strict=True), strict=True))
    assert exact == {"r=Total": (8, 8), "r=a": (4, 4), "r=b": (4, 4)}
    assert found.recomputed.all()
    assert not found.holds


def test_totals_that_are_not_listed_are_withheld_and_cells_zero():
    shown = pa.table({"a": ["x", "x", "y"], "b": ["u", "v", "u"], "value": ["3", "4", "c"]})
    found = ds.check_output(shown, ["a", "b"])
    frame = found.to_frame("pandas").set_index("cell")
    assert frame.lower["a=x, b=Total"] == frame.upper["a=x, b=Total"] == 7
    assert frame.upper["a=y, b=u"] == np.inf
    open_cells = ds.check_output(shown, ["a", "b"], missing="withheld").to_frame("pandas").set_index("cell")
    assert open_cells.upper["a=y, b=v"] == np.inf


def test_small_counts_are_found():
    shown = pa.table({"r": ["Total", "a", "b"], "value": [10, 8, 2]})
    assert [r.check for r in ds.check_output(shown, ["r"], counts=True, smallest=3).verdict.refused] == ["small counts"]


@given(st.integers(0, 100_000))
@settings(max_examples=25, deadline=None)
def test_holes_of_counts_have_the_bounds_of_all_tables(seed):
    random = np.random.default_rng(seed)
    inner = np.bincount(random.integers(0, 8, random.integers(0, 6)), minlength=8).reshape(2, 2, 2)
    full = inner
    for axis in range(3):
        full = np.concatenate((full.sum(axis=axis, keepdims=True), full), axis=axis)
    hidden = random.random(full.shape) < 0.5
    hidden[0, 0, 0] = False
    codes = list(product(range(3), repeat=3))
    word = ["Total", "p", "q"]
    table = {name: [word[c[k]] for c in codes] for k, name in enumerate("abc")}
    table["value"] = ["x" if hidden[c] else str(full[c]) for c in codes]
    by = {name: ds.Hierarchy.flat(["p", "q"]) for name in "abc"}
    found = ds.check_output(pa.table(table), by, counts=True)
    every = []
    for units in combinations_with_replacement(range(8), int(full[0, 0, 0])):
        other = np.bincount(np.array(units, int), minlength=8).reshape(2, 2, 2)
        for axis in range(3):
            other = np.concatenate((other.sum(axis=axis, keepdims=True), other), axis=axis)
        if np.array_equal(other[~hidden], full[~hidden]):
            every.append(other)
    low, up = np.min(every, axis=0), np.max(every, axis=0)
    for name, lower, upper in zip(found.cells, found.lower, found.upper, strict=True):
        at = tuple(word.index(part.split("=")[1]) for part in name.split(", "))
        assert (lower, upper) == (low[at], up[at])


def test_files_csv_and_xlsx_long_and_crossed(tmp_path, release):
    from openpyxl import Workbook

    cells = columns(release)
    rows = list(zip(cells["trade"], cells["region"], cells["value"], strict=True))
    long = tmp_path / "long.csv"
    long.write_text(
        "Turnover by trade and region;;\n\ntrade;region;value\n"
        + "".join(f"{t};{r};{'x' if v is None else v}\n" for t, r, v in rows),
        encoding="utf-8",
    )
    book = Workbook()
    page = book.active
    page.title = "Turnover"
    page.append(["Turnover by trade and region"])
    page.append([])
    regions = ["Total", "North", "East", "South"]
    page.append(["trade", *regions])
    value = {(t, r): v for t, r, v in rows}
    for trade in dict.fromkeys(cells["trade"]):
        page.append([trade, *(value[trade, region] for region in regions)])
    crossed = tmp_path / "crossed.xlsx"
    book.save(crossed)
    one = ds.check_output(long, BY, delimiter=";")
    two = ds.check_output(crossed, BY, sheet="Turnover")
    plain = ds.check_output(release.to_frame(), BY)
    assert one.columns() == two.columns() == plain.columns()
    with pytest.raises(ParameterError, match="no sheet"):
        ds.check_output(crossed, BY, sheet="other")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("region,value\nTotal,10\nN,n/a\n", "Line 3 holds 'n/a'"),
        ("region,value\nTotal,10\nN,4\nN,4\n", "stands twice"),
        ("area,value\nTotal,10\n", "No line"),
        ("region,value\n", "no cells"),
        ("region,value\nTotal,10\n", "no codes but the total"),
        ("region,value\nTotal,-3\nN,-3\n", "signed=True"),
    ],
)
def test_bad_files_are_refused_with_advice(tmp_path, text, words):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        ds.check_output(path, ["region"])
    assert error.value.hint


def test_files_that_are_no_workbooks_are_refused(tmp_path):
    path = tmp_path / "table.xlsx"
    path.write_text("region,value\n")
    with pytest.raises(InputError, match="not an xlsx file"):
        ds.check_output(path, ["region"])
    with pytest.raises(InputError, match="no file"):
        ds.check_output(tmp_path / "other.csv", ["region"])


@pytest.mark.parametrize("options", [{"within": -1}, {"missing": "none"}, {"smallest": 1}])
def test_impossible_parameters_are_refused(options):
    with pytest.raises(ParameterError):
        ds.check_output(pa.table({"r": ["a"], "value": [1]}), ["r"], **options)


def test_the_command(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("region,value\nTotal,100\nN,40\nS,x\nW,y\n")
    true = tmp_path / "true.csv"
    true.write_text("region,value,contributors\nTotal,100,20\nN,40,9\nS,30,2\nW,30,9\n")

    def run(*words: object):
        return CliRunner().invoke(main, ["check-output", *map(str, words)])

    marks = ("--mark", "x", "--mark", "y")
    passed = run(table, "--by", "region", *marks, "--json")
    assert passed.exit_code == 0, passed.output
    assert json.loads(passed.stdout)["recomputed"] == 0
    output = tmp_path / "intervals.csv"
    rules = ("--true", true, "--min-contributors", 3)
    again = run(table, "--by", "region", *marks, *rules, "--output", output)
    assert again.exit_code == 0, again.output
    assert output.stat().st_mode & 0o077 == 0
    table.write_text("region,value\nTotal,100\nN,40\nS,x\nW,30\n")
    failed = run(table, "--by", "region", *rules)
    assert failed.exit_code == 5
    assert "worked out exactly" in failed.stdout
    assert run(table, "--by", "region", "--min-contributors", 3).exit_code == 2
    assert run(table, "--by", "region", "--within", "much").exit_code == 2


def test_a_rounded_release_leaves_the_intervals_of_its_audit():
    """Both know that true values lie within the base less one of published ones."""
    true = true_table()
    release = ds.protect(true, ds.Round(base=10))
    audited = ds.audit(release, exact=True).to_frame("pandas").set_index("cell")
    mine = ds.check_output(release.to_frame(), BY, true=true, within=9).to_frame("pandas").set_index("cell")
    assert len(audited)
    for cell, row in audited.iterrows():
        assert (mine.lower[cell], mine.upper[cell]) == pytest.approx((row.lower, row.upper))


def test_true_cells_of_another_table_are_refused(release):
    other = {"trade": ds.Hierarchy.flat(["retail", "food", "craft"]), "region": BY["region"]}
    shown = release.to_frame().to_pydict()
    shown["trade"] = [code.replace("crafts", "craft") for code in shown["trade"]]
    with pytest.raises(InputError, match="other variables or codes"):
        ds.check_output(pa.table(shown), other, true=true_table())
    with pytest.raises(InputError, match="has the variables"):
        ds.check_output(release.to_frame(), dict(reversed(BY.items())), true=true_table())


def test_sums_of_holes_that_one_contributor_rules_are_found():
    """a1 and a2 in region y are known together, and one holding stands behind them."""
    from tests.tables.suppress.test_joint import BY as ACTIVITIES
    from tests.tables.suppress.test_joint import records, table_of

    table = table_of(records(75))
    bad = ds.check_output(ds.protect(table, ds.Suppress(joint=False)).to_frame(), ACTIVITIES, true=table)
    assert not bad.holds
    assert [refusal.check for refusal in bad.verdict.refused] == ["sums"]
    assert "act=a1, reg=y" in bad.summary()
    good = ds.check_output(ds.protect(table, ds.Suppress()).to_frame(), ACTIVITIES, true=table)
    assert good.holds
    assert not any("sums" in text for text in good.verdict.not_considered)


def test_sums_are_not_considered_where_contributors_have_no_names(release):
    found = ds.check_output(release.to_frame(), BY, true=true_table())
    assert "sums of withheld cells that are unsafe themselves" in found.verdict.not_considered
