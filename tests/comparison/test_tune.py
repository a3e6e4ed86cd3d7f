"""Fair comparison and utility on the map, recommendation under a threshold, and methods tuned to equal risk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.comparison.tune import _FamilySearch
from discreet.errors import NeedsError, ParameterError
from discreet.keys import Key
from discreet.measures import fair_comparison, table_measures
from discreet.report.riskmap import Axis, Point, RiskMap, Spot
from tests.papers.test_fair_comparison import COVER, OTHER, T1, T5, published_of

PARTIES, AGES, SEXES = "ABC", "ymo", "mf"


def voters() -> pa.Table:
    """The 56 persons of table 1 of card 004."""
    rows = [(PARTIES[p], AGES[c // 2], SEXES[c % 2]) for p in range(3) for c in range(6) for _ in range(int(T1[p, c]))]
    party, age, sex = zip(*rows, strict=True)
    return pa.table({"person": range(56), "party": party, "age": age, "sex": sex})


def specs() -> list[ds.TableSpec]:
    by = {"party": ds.Hierarchy.flat(PARTIES), "age": ds.Hierarchy.flat(AGES), "sex": ds.Hierarchy.flat(SEXES)}
    return [ds.TableSpec(by={n: by[n] for n in ("party", other)}, name=other) for other in ("age", "sex")]


@pytest.fixture(scope="module")
def table():
    return ds.examples.small_table().assess(ds.PPercent(10))


# ---- fair comparison ------------------------------------------------------------------------------------------------


def test_small_counts_of_the_published_study_have_its_two_outcomes_on_the_map():
    """Card 004: risk 0 and utility .945652, or risk 5/9 and utility .945958, with self-removal 5/7 and 10/11."""
    found = ds.compare(
        voters(), [ds.SmallCount(base=3)], tables=specs(), rules=[ds.MinFrequency(3)], runs=12, attack=False,
        fair=ds.FairRisk("party", rule="cascade"),
    )  # fmt: skip
    seen = {(round(r["fair_risk"], 4), round(r["fair_self"], 4), round(1 - r["fair_loss"], 6)) for r in found.rows}
    assert seen == {(0.0, 0.7143, 0.945652), (0.5556, 0.9091, 0.945958)}
    assert found.risk_map.axes_to_show() == ("fair_risk", "fair_loss")
    assert "fair_risk" in found.summary()


@pytest.mark.parametrize("rule", ["nnls", "cascade"])
def test_cell_keys_are_measured_as_one_call_of_the_fair_comparison_does(rule):
    method = ds.CellKey(identifier="person")
    (row,) = ds.compare(
        voters(), [method], tables=specs(), rules=[ds.MinFrequency(3)], seed=3, attack=False,
        fair=ds.FairRisk("party", rule=rule),
    ).rows  # fmt: skip
    tables = ds.tabulate(ds.Microdata(voters()), specs=specs()).assess(ds.MinFrequency(3))
    release = ds.protect(tables, method, key=Key.from_seed(3))
    cells: dict[tuple[str, str], int] = {}
    for public in release.public.tables:
        for codes, value in zip(public.codes.tolist(), public.value.tolist(), strict=True):
            words = tuple(known[code] for known, code in zip(public.code_lists, codes, strict=True))
            cells[words] = value
    columns = [("y",), ("m",), ("o",), ("m",), ("f",), ("Total",)]
    sides = ["age"] * 3 + ["sex"] * 2 + ["age"]
    by_table = {p.name: p for p in release.public.tables}
    published = np.zeros((4, 6))
    for i, party in enumerate([*PARTIES, "Total"]):
        for j, ((code,), side) in enumerate(zip(columns, sides, strict=True)):
            public = by_table[side]
            wanted = [public.code_lists[0].index(party), public.code_lists[1].index(code)]
            at = np.flatnonzero((public.codes == wanted).all(axis=1))
            published[i, j] = public.value[at[0]] if len(at) else 0
    by_hand = fair_comparison(T1, published.ravel(), COVER, rule=rule)
    assert row["fair_risk"] == pytest.approx(by_hand.risk.risk)
    assert row["fair_self"] == pytest.approx(by_hand.self_risk.risk)
    assert row["fair_loss"] == pytest.approx(1 - by_hand.restored_utility, abs=1e-6)
    assert row["fair_inner"] == pytest.approx(1 - by_hand.inner_utility, abs=1e-6)


def test_withheld_cells_are_rebuilt_from_the_shown_ones():
    (row,) = ds.compare(
        voters(), [ds.Suppress()], tables=specs(), rules=[ds.MinFrequency(3)], fair="party", attack=False
    ).rows
    assert row["note"] == ""
    assert 0 < row["fair_loss"] < 1
    assert row["fair_risk"] == 0.0


def test_values_and_unknown_variables_have_no_fair_comparison(table):
    with pytest.raises(NeedsError, match="counts"):
        ds.compare(table, [ds.Suppress()], fair="trade")
    with pytest.raises(ParameterError, match="colour"):
        ds.compare(voters(), [ds.Suppress()], tables=specs(), rules=[ds.MinFrequency(3)], fair="colour")
    for bad in ({"beta": 0}, {"rule": "none"}):
        with pytest.raises(ParameterError):
            ds.FairRisk("party", **bad)


def test_shown_cells_alone_are_fitted_and_additive_ones_are_left_as_they_are():
    inner = fair_comparison(T1, published_of(T5).ravel(), COVER, additive=True)
    assert inner.restored == pytest.approx(published_of(T5).ravel())
    shown = np.ones(24, bool)
    shown[7] = False
    part = fair_comparison(T1, published_of(OTHER).ravel(), COVER, shown=shown, additive=True)
    assert part.restored[7] == pytest.approx(published_of(OTHER).ravel()[7])


# ---- measures of utility on the map ---------------------------------------------------------------------------------


def test_measures_of_utility_stand_on_the_map(table):
    method = ds.Round(base=7, rule="unbiased", levels=False)
    found = ds.compare(table, [method], utility="all", seed=2)
    release = ds.protect(table, method, key=Key.from_seed(2))
    measures = {line.measure.name: line.measure.value for line in ds.utility(release, levels=False).lines}
    (row,) = found.rows
    assert row["utility_hellinger"] == pytest.approx(measures["hellinger"])
    assert row["utility_cramers_v_change"] == pytest.approx(abs(measures["cramers_v_change"]) / 100)
    assert row["utility_deviance_ratio"] == pytest.approx(abs(measures["deviance_ratio"] - 1))
    assert row["utility_correlation"] == pytest.approx(1 - measures["correlation"])
    assert 'value="utility_hellinger"' in found.page()
    assert found.map(loss="utility_hellinger").startswith("loss: mean Hellinger distance of rows")


def test_withheld_cells_need_an_imputation_for_measures_of_utility(table):
    found = ds.compare(table, [ds.Suppress()], utility=["hellinger"])
    assert found.rows[0]["utility_hellinger"] is None
    assert "row_mean" in found.summary()
    (row,) = ds.compare(table, [ds.Suppress()], utility="hellinger", imputation="row_mean", rows="region").rows
    assert row["utility_hellinger"] > 0
    for bad in ({"utility": "beauty"}, {"utility": "hellinger", "rows": "colour"}):
        with pytest.raises(ParameterError):
            ds.compare(table, [ds.Suppress()], **bad)


def test_identical_tables_have_no_loss_on_any_axis():
    counts = np.random.default_rng(1).poisson(4, (30, 8))
    from discreet.comparison.utility_axes import TURNED, losses

    for name, loss in losses(tuple(TURNED), [table_measures(counts, counts)]).items():
        assert loss == pytest.approx(1.0 if name == "utility_small_unchanged_share" else 0.0, abs=1e-9)


# ---- recommendation -------------------------------------------------------------------------------------------------


def test_the_recommendation_changes_at_the_threshold():
    """Card 003-07: swapping leaves 61.1 % of small counts at a Hellinger distance of 1.405, rounding none at 2.043."""
    axes = (Axis("risk", "small counts not changed", "risk"), Axis("relative", "Hellinger", "loss", share=False))
    spots = {"swap": (0.611, 1.405), "round": (0.0, 2.043)}
    points = tuple(
        Point(name, "done", "", 1, {"risk": Spot(r, r, r), "relative": Spot(u, u, u)}) for name, (r, u) in spots.items()
    )
    found = RiskMap(axes, points)
    assert [found.recommended(most).name for most in (0.65, 0.611, 0.61, 0.0)] == ["swap", "swap", "round", "round"]
    assert found.recommended(-0.1) is None
    assert "most risk allowed" in found.image(most_risk=0.3)


# ---- equal risk -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_good", [0, 1, 17, 62, 63])
def test_halving_finds_the_first_that_keeps_the_risk_in_few_tries(first_good):
    search = _FamilySearch(list(range(64)), scan=False)
    tries = 0
    while asked := search.next():
        for method in asked:
            tries += 1
            risk, loss = float(method < first_good), float(method)
            spots = {"risk": Spot(risk, risk, risk), "relative": Spot(loss, loss, loss)}
            search.hear(method, Point(str(method), "done", "", 1, spots), "risk", "relative", 0.5)
    assert search.choice("risk", "relative", 0.5) == str(first_good)
    assert tries <= 8


def test_scanning_tries_all_and_takes_the_least_loss(table):
    bases = ds.family(ds.Round(base=2, levels=False), base=(5, 19, 20))
    found = ds.tune(table, {"rounding": bases}, most_risk=0.0, scan=True)
    relative = {row["method"]: row["relative"] for row in found.tried.rows if row["risk"] <= 0}
    assert len(found.tried.rows) == 3
    assert relative[found.chosen["rounding"]] == min(relative.values())


def test_where_the_last_of_a_family_does_not_keep_the_risk_all_are_tried(table):
    """Rounded to a base of 39 the unsafe cell is known too well again."""
    bases = ds.family(ds.Round(base=2, levels=False), base=(19, 20, 39))
    found = ds.tune(table, {"rounding": bases}, most_risk=0.0)
    assert len(found.tried.rows) == 3
    assert found.chosen["rounding"] in ("Round(base=19, levels=False)", "Round(base=20, levels=False)")


def test_families_are_compared_at_equal_risk(table):
    families = {
        "rounding": ds.family(ds.Round(base=2, rule="unbiased", levels=False), base=(5, 15, 30, 60)),
        "suppression": [ds.Suppress()],
        "hopeless": [ds.Round(base=2, levels=False)],
        "keys": [ds.CellKey()],
    }
    found = ds.tune(table, families, most_risk=0.1, runs=4)
    assert found.chosen["hopeless"] is None
    assert found.why["hopeless"].startswith("none keeps the risk; the least found is 1")
    assert found.why["keys"].startswith("not applicable")
    assert set(found.comparison.to_frame("pandas").method) == {found.chosen["rounding"], "Suppress()"}
    assert found.best == "rounding"
    lines = found.summary().splitlines()
    assert lines[0] == "risk at most 10.00 %, by relative:"
    assert lines[1].startswith("rounding: Round(")
    assert lines[2] == "suppression: Suppress(): risk 0 %, relative 25.00 %"


@pytest.mark.parametrize(
    "given",
    [
        {"families": {}},
        {"families": {"a": []}},
        {"families": {"a": [ds.Suppress()], "b": [ds.Suppress()]}},
        {"families": [ds.Suppress()]},
        {"families": {"a": [ds.Suppress()]}, "most_risk": -1},
        {"families": {"a": [ds.Suppress()]}, "risk": "withheld"},
    ],
)
def test_impossible_tuning_is_refused(table, given):
    with pytest.raises(ParameterError):
        ds.tune(table, **({"most_risk": 0.1} | given))


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "varies at least one parameter"), ({"bass": [3]}, "no parameter 'bass' in Round. Did you mean 'base'")],
)
def test_a_family_varies_parameters_that_exist(values, message):
    with pytest.raises(ParameterError, match=message):
        ds.family(ds.Round(base=3), **values)


def test_a_family_of_several_parameters_holds_all_combinations():
    found = ds.family(ds.Round(base=3), base=[3, 5], rule=["controlled", "unbiased"])
    assert [(one.base, one.rule) for one in found] == [
        (3, "controlled"),
        (3, "unbiased"),
        (5, "controlled"),
        (5, "unbiased"),
    ]


def test_methods_for_records_are_tuned_to_the_same_risk():
    rng = np.random.default_rng(5)
    frame = pa.table({"pay": rng.lognormal(3, 1, 300).round(2), "tax": rng.lognormal(2, 1, 300).round(2)})
    firms = ds.Microdata(frame, numeric=["pay", "tax"])
    grouped = ds.family(ds.Microaggregate(["pay", "tax"], algorithm="mdav"), k=[2, 3, 5, 10, 20])
    found = ds.tune(firms, {"groups": grouped}, most_risk=0.2, risk="linked", loss="il1")
    rows = {row["method"]: row for row in found.tried.rows}
    assert rows[found.chosen["groups"]]["linked"] <= 0.2
    scanned = ds.tune(firms, {"groups": grouped}, most_risk=0.2, risk="linked", loss="il1", scan=True)
    kept = [row for row in scanned.tried.rows if row["linked"] <= 0.2]
    assert scanned.chosen["groups"] == min(kept, key=lambda row: row["il1"])["method"] == found.chosen["groups"]


RECIPE = """
version = 1
protect = []

[data]
file = "voters.csv"

[hierarchies]
{hierarchies}

[[tables]]
name = "age"
by = ["party", "age"]

[[tables]]
name = "sex"
by = ["party", "sex"]

[[rules]]
kind = "min_frequency"
n = 3

[[compare]]
name = "small counts"
method = "small_count"
vary = {{ base = [2, 3, 5] }}

[[compare]]
name = "cell keys"
method = "cell_key"
identifier = "person"
vary = {{ V = [2.0, 3.0] }}

[output]
directory = "out"
"""


@pytest.fixture
def job(tmp_path):
    import pyarrow.csv

    pyarrow.csv.write_csv(voters(), tmp_path / "voters.csv")
    lines = []
    for name, codes in (("party", PARTIES), ("age", AGES), ("sex", SEXES)):
        (tmp_path / f"{name}.hrc").write_text("".join(f"{code}\n" for code in codes))
        lines.append(f'{name} = "{name}.hrc"')
    (tmp_path / "voters.toml").write_text(RECIPE.format(hierarchies="\n".join(lines)))
    return tmp_path


def test_one_command_compares_cell_keys_with_small_counts_and_draws_the_map(job):
    page = job / "compare.html"
    done = CliRunner().invoke(
        main, ["compare", str(job / "voters.toml"), "--runs", "3", "--no-attack", "--guess", "party",
               "--report", str(page), "--utility", "cramers_v_change"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "loss: Hellinger loss of published cells, additivity restored" in done.output
    assert "cell keys, V=3.0" in done.output
    assert "fair_self" in page.read_text()
    assert "utility_cramers_v_change" in page.read_text()


def test_the_command_line_tunes_to_equal_risk(job):
    recipe = str(job / "voters.toml")
    start = ["compare", recipe, "--runs", "3", "--no-attack", "--guess", "party"]
    done = CliRunner().invoke(main, [*start, "--equal-risk", "0.6"])
    assert done.exit_code == 0, done.output
    assert "fair_risk at most 60.00 %, by fair_loss:" in done.output
    none = CliRunner().invoke(main, [*start, "--equal-risk", "0", "--risk", "fair_recall", "--release", recipe])
    assert none.exit_code != 0
