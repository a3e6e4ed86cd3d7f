"""Utility of records: which files, which columns, what fails, and what the numbers are."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.analyse import ModelFormula
from discreet.engine.record_set import read_record_set
from discreet.errors import InputError, ParameterError
from discreet.model.records import RecordSet

ROWS = 600


def people() -> pa.Table:
    draw = np.random.default_rng(7)
    age = draw.integers(20, 65, ROWS)
    sex = draw.choice(["f", "m"], ROWS)
    region = draw.choice(["east", "north", "west"], ROWS, p=[0.5, 0.3, 0.2])
    wage = np.round(np.exp(7 + 0.01 * age + 0.2 * (sex == "m") + draw.normal(0, 0.5, ROWS)), 2)
    work = (draw.random(ROWS) < 1 / (1 + np.exp(-(age - 40) / 10))).astype(int)
    children = draw.poisson(np.exp(0.01 * age))
    weight = np.round(1 + draw.gamma(4, 20, ROWS), 2)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "age": age,
            "sex": sex,
            "region": region,
            "wage": wage,
            "work": work,
            "children": children,
            "w": weight,
        }
    )


TABLE = people()
ROLES = {"identifier": "id", "keys": ["sex", "region"], "numeric": ["age", "wage", "work", "children"], "weight": "w"}
MODELS = ["log(wage) ~ age + sex + region", "logit: work ~ age + sex", "poisson: children ~ age * sex"]


@pytest.fixture(scope="module")
def release() -> ds.Release:
    return ds.protect(ds.Microdata(TABLE, **ROLES), ds.Microaggregate(["age", "wage"], k=3))


@pytest.fixture(scope="module")
def found(release) -> ds.measures.RecordUtility:
    return ds.utility(release, models=MODELS, tables=[["sex", "region"]], by=["region", "wage"])


def with_column(name: str, values, table: pa.Table = TABLE) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(values))


# ---- which files --------------------------------------------------------------------------------------------


def test_a_release_is_compared_with_its_original_record_by_record(found):
    assert found.aligned
    assert found.records == (ROWS, ROWS)
    assert found.weighted == "w"
    assert found["il1"] > 0
    assert "the same records, weighted by w" in str(found)
    assert {one.name for one in found.columns if one.compared} == {*TABLE.column_names} - {"id", "w"}


def test_the_same_release_by_all_doors(release, found, tmp_path):
    release.save(tmp_path / "out")
    ways = [
        ds.utility(ds.Microdata(TABLE, **ROLES), release),
        ds.utility(str(tmp_path / "out")),
        release.utility(),
    ]
    for one in ways:
        assert one.aligned
        assert one.losses == found.losses
        assert one.columns_of("margins") == found.columns_of("margins")
        assert one.logistic.total == pytest.approx(found.logistic.total)


def test_the_public_part_stands_in_another_order_and_is_not_matched(release, found):
    one = ds.utility(ds.Microdata(TABLE, **ROLES), release.public)
    assert not one.aligned
    assert [m.variation for m in one.margins] == pytest.approx([m.variation for m in found.margins])
    assert np.isnan(one.losses.il1)
    assert one.battery.lines[0].matrix == "V"
    assert "Records are not matched" in str(one)


def test_records_are_matched_by_identifiers():
    order = np.random.default_rng(1).permutation(ROWS)
    matched = ds.utility(ds.Microdata(TABLE, **ROLES), TABLE.take(order), propensity="none")
    assert matched.aligned
    assert matched["il1"] == 0
    fewer = ds.utility(ds.Microdata(TABLE, **ROLES), TABLE.slice(0, ROWS - 5), propensity="none")
    assert not fewer.aligned
    assert "5 identifiers are in one file only: records were not matched." in fewer.notes
    twice = with_column("id", np.zeros(ROWS, int))
    with pytest.raises(InputError, match="Identifiers in 'id' occur twice in a file"):
        ds.utility(ds.Microdata(TABLE, **ROLES), twice)


def test_files_of_the_same_size_are_not_taken_for_the_same_records():
    assert not ds.utility(TABLE, TABLE, propensity="none").aligned
    assert ds.utility(TABLE, TABLE, propensity="none", aligned=True).aligned
    with pytest.raises(InputError, match="The original has 600 records and the released file 599"):
        ds.utility(TABLE, TABLE.slice(1), aligned=True)


def test_records_that_are_not_those_of_the_release(release):
    found = ds.utility(ds.Microdata(TABLE.slice(0, 500), **ROLES), release, propensity="none")
    assert not found.aligned
    assert "The records are not those that the release was made from." in found.notes


def test_record_sets_and_other_frames_are_files_too():
    records = read_record_set(ds.Microdata(TABLE))
    assert ds.utility(records, TABLE.to_pandas(), propensity="none")["margins"] == 0


def test_one_file_alone_and_tables_are_refused(release):
    with pytest.raises(ParameterError, match="measured beside another"):
        ds.utility(TABLE)
    tables = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    with pytest.raises(ParameterError, match="release of tables is compared with tables, not with a Table"):
        ds.utility(tables, TABLE)
    with pytest.raises(ParameterError, match="This is a release of tables"):
        ds.utility(TABLE, tables)
    with pytest.raises(ParameterError, match="utility of records does not have the option 'imputation'"):
        ds.utility(release, imputation="zero")
    with pytest.raises(ParameterError, match="utility of tables does not have the option 'models'"):
        ds.utility(tables, models=["a ~ b"])
    with pytest.raises(ParameterError, match="no cells to fill, and no levels"):
        release.utility(imputation="zero")
    with pytest.raises(InputError, match="The released file has no records"):
        ds.utility(TABLE, RecordSet(TABLE.slice(0, 0), {}))


def test_several_releases_are_measured_on_average():
    by = [1.0, 1.1, 1.3]
    copies = [with_column("wage", TABLE["wage"].to_numpy() * factor) for factor in by]
    asked = {"models": ["wage ~ age + sex"], "tables": [["sex"]], "by": "region"}
    each = [ds.utility(TABLE, copy, aligned=True, **asked) for copy in copies]
    found = ds.utility(TABLE, copies, aligned=True, **asked)
    at = next(i for i, one in enumerate(found.statistics) if one.quantity == "wage")
    mean = TABLE["wage"].to_numpy().mean()
    assert found.statistics[at].percent == pytest.approx(-100 * np.mean([factor - 1 for factor in by]))
    squares = [(mean * (factor - 1)) ** 2 for factor in by]
    assert found.statistics[at].inverse_mse == pytest.approx(1 / np.mean(squares))
    assert found.models[0].overlap == pytest.approx(np.mean([one.models[0].overlap for one in each]))
    for name in ("propensity_logistic", "margins", "il1", "eigenvalues"):
        wanted = np.mean([one[name] for one in each])
        assert found[name] == pytest.approx(wanted, abs=1e-12), name
    assert found.battery["X"].mae == pytest.approx(np.mean([one.battery["X"].mae for one in each]))
    assert "All numbers are means over 3 releases" in found.notes[0]
    json.dumps(found.to_dict(), allow_nan=False)
    alone = ds.utility(TABLE, [copies[1]], aligned=True, **asked)
    assert alone.columns_of("models") == each[1].columns_of("models")
    with pytest.raises(ParameterError, match="no released file in the list"):
        ds.utility(TABLE, [])


def test_a_model_that_fails_for_one_of_several_releases():
    constant = with_column("work", np.zeros(ROWS, int))
    found = ds.utility(TABLE, [TABLE, constant], models=["logit: work ~ age"], propensity="none")
    assert found.models[0].failed.startswith("1 release of 2: The fit to the released file failed")


# ---- columns ------------------------------------------------------------------------------------------------


def test_other_columns_and_types_are_named():
    other = with_column("age", [f"{20 + 5 * (a // 5)}-" for a in TABLE["age"].to_pylist()]).drop(["children"])
    other = other.append_column("extra", pa.array(np.ones(ROWS)))
    found = ds.utility(TABLE, other, propensity="none", models=["wage ~ children"], tables=[["age", "sex"], ["sex"]])
    notes = {one.name: one.note for one in found.not_compared}
    assert notes == {
        "age": "Numbers before and text after.",
        "children": "Only in the original.",
        "extra": "Only in the released file.",
    }
    text = str(found)
    assert "WARNING: Column 'age' was not compared. Numbers before and text after." in text
    assert "Model 'wage ~ children': Column 'children' was not compared. Only in the original." in text
    assert "Table age x sex cannot be made of both files: Column 'age' is not compared: Numbers before" in text
    assert [one.table for one in found.tables] == ["sex"]


def test_text_that_is_numbers(tmp_path):
    from pyarrow import csv

    csv.write_csv(TABLE, tmp_path / "released.csv")
    mixed = ds.utility(TABLE, tmp_path / "released.csv", propensity="none")
    assert mixed["margins"] == 0
    assert "wage: Text was read as numbers." in str(mixed)
    both = ds.utility(tmp_path / "released.csv", tmp_path / "released.csv", propensity="none")
    assert "numeric=['wage'] compares them as numbers" in str(both)
    named = ds.utility(tmp_path / "released.csv", tmp_path / "released.csv", numeric=["wage"], propensity="none")
    assert {one.quantity for one in named.statistics} == {"wage"}
    wrong = ds.utility(TABLE, TABLE, numeric=["sex"], propensity="none")
    assert "To be compared as numbers, and the original has text that is none." in str(wrong)


def test_numbers_may_be_codes():
    found = ds.utility(TABLE, TABLE, categories=["children"], propensity="none")
    assert "children" not in {one.quantity for one in found.statistics}
    assert next(one for one in found.columns if one.name == "children").compared == "codes"
    with pytest.raises(ParameterError, match="There is no column 'kids' in the files"):
        ds.utility(TABLE, TABLE, categories=["kids"])


def test_nothing_in_common():
    with pytest.raises(InputError, match="no column that can be compared"):
        ds.utility(pa.table({"a": [1, 2]}), pa.table({"b": [1, 2]}))


def test_gaps_are_a_class_of_their_own_and_are_counted():
    wage = TABLE["wage"].to_pylist()
    blanked = with_column("wage", [None if row % 4 == 0 else value for row, value in enumerate(wage)])
    found = ds.utility(TABLE, blanked, aligned=True, tables=[["sex"]])
    column = next(one for one in found.columns if one.name == "wage")
    assert (column.empty_original, column.empty_released) == (0, ROWS // 4)
    margin = next(one for one in found.margins if one.column == "wage")
    assert margin.variation == pytest.approx(0.25)
    assert "150 original and 150 released records have a gap in a number" in str(found)
    assert found["propensity_logistic"] > 2.5
    assert found["propensity_tree"] > 2.5


def test_codes_for_unknown_are_gaps():
    coded = with_column("wage", [-9.0 if row % 4 == 0 else 100.0 + row for row in range(ROWS)])
    data = ds.Microdata(coded, numeric=["wage"], missing_codes={"wage": ["-9"]})
    found = ds.utility(data, coded, columns=["wage"], propensity="none", statistics=["mean"])
    column = next(one for one in found.columns if one.name == "wage")
    assert column.empty_original == ROWS // 4
    known = [100.0 + row for row in range(ROWS) if row % 4]
    assert found.statistics[0].original == pytest.approx(np.mean(known))
    assert found.statistics[0].released < np.mean(known)


# ---- statistics ---------------------------------------------------------------------------------------------


def test_statistics_by_hand():
    before = pa.table({"x": [1.0, 2.0, 3.0, 10.0], "g": ["a", "a", "b", "b"], "w": [1.0, 1.0, 2.0, 1.0]})
    after = with_column("x", [1.0, 2.0, 4.0, 10.0], before)
    found = ds.utility(
        before, after, by="g", weight="w", statistics=["mean", "median", "sd", "total"], propensity="none"
    )
    lines = {(one.statistic, one.group): one for one in found.statistics}
    assert lines["mean", "all"].original == pytest.approx(19 / 5)
    assert lines["mean", "all"].percent == pytest.approx(100 * (19 / 5 - 21 / 5) / (19 / 5))
    assert lines["median", "all"].original == 3.0
    assert lines["total", "g b"].released == pytest.approx(18.0)
    assert lines["mean", "g a"].flag == "same"
    assert lines["mean", "g b"].records == 2
    assert lines["mean", "g b"].relative == pytest.approx((18 / 3 - 16 / 3) / (16 / 3))
    assert lines["sd", "g a"].original == pytest.approx(np.sqrt(0.5))


def test_groups_of_numbers_and_where_they_are_cut():
    before = pa.table({"x": np.arange(1.0, 101.0)})
    after = pa.table({"x": np.arange(1.0, 101.0) * 2})
    each = ds.utility(before, after, by="x", statistics=["mean"], propensity="none")
    assert [one.records for one in each.statistics] == [100, 20, 20, 20, 20, 10, 10]
    assert [one.group for one in each.statistics][1:3] == ["x 0-20 %", "x 20-40 %"]
    assert {round(one.percent, 9) for one in each.statistics} == {-100.0}
    cut = ds.utility(before, after, by={"x": [0, 50, 100]}, cuts="original", statistics=["mean"], propensity="none")
    assert [one.released for one in cut.statistics] == [101.0, 26.0, 126.0]
    with pytest.raises(ParameterError, match="do not rise"):
        ds.utility(before, after, by={"x": [0, 50, 40]})
    with pytest.raises(ParameterError, match="not within 0 and 100"):
        ds.utility(before, after, by={"x": [0, 150]})


def test_ratios_record_by_record():
    before = pa.table({"debt": [1.0, 4.0, 5.0], "income": [2.0, 4.0, 0.0]})
    found = ds.utility(
        before, with_column("debt", [2.0, 4.0, 5.0], before), ratios=["debt / income"], propensity="none"
    )
    line = next(one for one in found.statistics if one.quantity == "debt / income" and one.statistic == "mean")
    assert (line.original, line.released, line.records) == (0.75, 1.0, 2)
    with pytest.raises(ParameterError, match="'debt' is no ratio of two columns"):
        ds.utility(before, before, ratios=["debt"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"statistics": ["mode"]}, "There is no statistic 'mode'"),
        ({"limits": (5, 1)}, r"limits=\(5, 1\) is not allowed"),
        ({"tables": "sex"}, "tables='sex' is not allowed"),
        ({"tables": [["sex", "sex"]]}, "A table is a list of different columns"),
        ({"tables": [["sects"]]}, "No file has a column"),
        ({"models": {"a": 1}}, "models={'a': 1} is not allowed"),
        ({"weight": "nothing"}, "There is no column 'nothing' in the files"),
        ({"by": "id"}, None),
        ({"propensity": "forest"}, "There is no propensity 'forest'"),
        ({"degree": 4}, "degree=4"),
        ({"cuts": "both"}, "There is no cuts 'both'"),
        ({"weight": "sex"}, "The weight 'sex' of the original has values that are missing, negative or no numbers"),
        ({"columns": 3}, "columns=3 is not allowed"),
    ],
)
def test_what_is_not_allowed(given, message):
    if message is None:
        assert ds.utility(TABLE, TABLE, propensity="none", **given)
        return
    with pytest.raises((ParameterError, InputError), match=message):
        ds.utility(TABLE, TABLE, **given)


# ---- models -------------------------------------------------------------------------------------------------


def test_models_are_those_of_other_code(found):
    """Against normal equations and Newton's steps by hand, with weights."""
    import pyarrow.compute as pc

    weight = TABLE["w"].to_numpy()
    age = TABLE["age"].to_numpy().astype(float)
    male = np.asarray(pc.equal(TABLE["sex"], "m")).astype(float)
    regions = [np.asarray(pc.equal(TABLE["region"], name)).astype(float) for name in ("north", "west")]
    design = np.column_stack([np.ones(ROWS), age, male, *regions])
    outcome = np.log(TABLE["wage"].to_numpy())
    root = np.sqrt(weight)
    linear = np.linalg.lstsq(design * root[:, None], outcome * root, rcond=None)[0]
    lines = found.models[0].lines
    assert [line.term for line in lines] == ["intercept", "age", "sex=m", "region=north", "region=west"]
    assert [line.original for line in lines] == pytest.approx(linear.tolist())
    small, work = design[:, :3], TABLE["work"].to_numpy()
    beta = np.zeros(3)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-small @ beta))
        curve = (small * (weight * chance * (1 - chance))[:, None]).T @ small
        beta = beta + np.linalg.solve(curve, small.T @ (weight * (work - chance)))
    assert [line.original for line in found.models[1].lines] == pytest.approx(beta.tolist())
    assert [line.term for line in found.models[2].lines] == ["intercept", "age", "sex=m", "age:sex=m"]


def test_overlaps_are_of_intervals_of_95_per_cent(found):
    for line in found.models[0].lines:
        ends = [
            (value - 1.96 * error, value + 1.96 * error)
            for value, error in ((line.original, line.original_error), (line.released, line.released_error))
        ]
        common = min(ends[0][1], ends[1][1]) - max(ends[0][0], ends[1][0])
        shares = [common / (high - low) for low, high in ends]
        assert line.overlap == pytest.approx(sum(shares) / 2, abs=1e-4)
    assert found["overlap"] == pytest.approx(np.mean([model.overlap for model in found.models]))


def test_a_model_that_fails_on_the_released_file_is_reported():
    constant = with_column("work", np.zeros(ROWS, int))
    found = ds.utility(TABLE, constant, models=["logit: work ~ age", "wage ~ age"], propensity="none")
    assert found["failed_models"] == 1
    assert (
        "The fit to the released file failed: The outcome 'work' is the same in every record" in found.models[0].failed
    )
    assert found.models[1].lines
    assert found.to_dict()["failed"][0]["model"] == "logit: work ~ age"
    unvarying = ds.utility(TABLE, with_column("age", np.full(ROWS, 40)), models=["wage ~ age"], propensity="none")
    assert "The regressors 'age' never vary" in unvarying.models[0].failed


def test_a_coefficient_that_turned_is_a_warning():
    steep = with_column("wage", TABLE["age"].to_numpy() * 10.0 + np.arange(ROWS) % 7)
    falling = with_column("wage", 1000 - TABLE["age"].to_numpy() * 10.0 + np.arange(ROWS) % 7)
    found = ds.utility(steep, falling, models=["wage ~ age"], propensity="none")
    assert found.models[0].turned == ("intercept", "age") or found.models[0].turned == ("age",)
    assert "the coefficient of age has the other sign, clearly" in str(found)
    assert found.models[0].lines[1].overlap == 0


def test_codes_that_one_file_lacks():
    without = TABLE.filter(pa.compute.not_equal(TABLE["region"], "west"))
    found = ds.utility(TABLE, without, models=["wage ~ region"], propensity="none")
    assert [line.term for line in found.models[0].lines] == ["intercept", "region=north", "region=west"]
    assert np.isnan(found.models[0].lines[2].overlap)
    assert "The released file has no 'region=west': not compared." in found.models[0].notes


def test_two_codes_are_an_outcome():
    found = ds.utility(TABLE, TABLE, models=["logit: sex ~ wage", "region ~ wage"], propensity="none")
    assert found.models[0].overlap == 1
    assert "The outcome 'region' holds 3 codes, not numbers" in found.models[1].failed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wage", "'wage' is no formula"),
        ("wage ~ ", "is no formula"),
        ("probit: work ~ age", "There is no model 'probit'"),
        ("wage ~ wage + age", "The outcome 'wage' explains itself"),
        ("wage ~ 0 + age", "'0' in 'wage ~ 0 [+] age' is no column"),
        ("C(work) ~ age", "The outcome 'C[(]work[)]' is not one number"),
        (3, "A model is text or a ModelFormula, not int"),
        ("wage ~ height", "needs a column 'height', which neither file has"),
    ],
)
def test_formulas_that_are_none(text, message):
    with pytest.raises(ParameterError, match=message):
        ds.utility(TABLE, TABLE, models=[text])


def test_formulas():
    read = ModelFormula.read("poisson: children ~ age^2 + sqrt(wage):sex + C(work)*region")
    assert str(read) == "poisson: children ~ age^2 + sqrt(wage):sex + C(work) + region + C(work):region"
    assert read.columns == ("children", "age", "wage", "sex", "work", "region")
    assert ModelFormula.read(str(read)) == read
    found = ds.utility(TABLE, TABLE, models=[read], propensity="none")
    assert found.models[0].overlap == 1


# ---- distances ----------------------------------------------------------------------------------------------


def test_distances_by_hand():
    before = pa.table({"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"], "n": [1.0, 2.0, 3.0, 4.0]})
    after = pa.table({"a": ["x", "y", "y", "y"], "b": ["p", "q", "p", "q"], "n": [1.0, 2.0, 4.0, 4.0]})
    found = ds.utility(before, after, tables=[["a", "b"]], propensity="none")
    a, _, n = found.margins
    assert a.variation == 0.25
    assert a.hellinger == pytest.approx(np.sqrt(((0.5**0.5 - 0.25**0.5) ** 2 + (0.5**0.5 - 0.75**0.5) ** 2) / 2))
    assert np.isnan(a.kolmogorov)
    assert (n.variation, n.kolmogorov) == (0.25, 0.25)
    (table,) = found.tables
    assert (table.cells, table.variation, table.lost, table.new) == (4, 0.25, 1, 0)
    assert table.original_v == pytest.approx(0)
    assert table.released_v == pytest.approx(np.sqrt(1 / 3))
    pair = next(one for one in found.pairs if (one.first, one.second) == ("a", "b"))
    assert pair.difference == pytest.approx(table.released_v)


def test_distances_against_counting_one_by_one():
    from scipy.stats import ks_2samp

    draw = np.random.default_rng(5)
    one, two = draw.normal(size=400).round(1), draw.normal(0.3, 1.2, 300).round(1)
    found = ds.utility(pa.table({"x": one, "y": one**2}), pa.table({"x": two, "y": two**2}), propensity="none")
    assert found.margins[0].kolmogorov == pytest.approx(ks_2samp(one, two).statistic)
    assert found.pairs[0].original == pytest.approx(np.corrcoef(one, one**2)[0, 1])
    assert found.pairs[0].released == pytest.approx(np.corrcoef(two, two**2)[0, 1])


def test_weights_count_in_distances():
    before = pa.table({"a": ["x", "y"], "w": [1.0, 3.0]})
    after = pa.table({"a": ["x", "x", "y", "y"], "w": [1.0, 0.0, 2.0, 1.0]})
    assert ds.utility(before, after, weight="w", propensity="none")["margins"] == 0


def test_the_order_of_rows_decides_nothing():
    """Not even between codes that occur equally often, of which some have no term of their own."""
    codes = [f"c{row % 40}" for row in range(400)]
    draw = np.random.default_rng(8)
    one = pa.table({"a": codes, "x": draw.normal(size=400)})
    two = pa.table({"a": [*codes[100:], *codes[:20] * 5], "x": draw.normal(size=400)})
    found = [ds.utility(one.take(draw.permutation(400)), two.take(draw.permutation(400))) for _ in range(2)]
    assert found[0].logistic.total == pytest.approx(found[1].logistic.total, rel=1e-4)
    assert found[0].tree.score.total == pytest.approx(found[1].tree.score.total)
    assert [m.variation for m in found[0].margins] == pytest.approx([m.variation for m in found[1].margins])


def test_many_terms_for_few_records_are_told():
    few = pa.table({"a": [f"c{row % 19}" for row in range(40)]})
    assert "That is many for so few records" in str(ds.utility(few, few))


# ---- what is shown ------------------------------------------------------------------------------------------


def test_the_own_questions_come_first(found, release):
    assert found.findings[0].measure == "overlap"
    assert "Read first: mean overlap of confidence intervals (3 models)" in str(found)
    plain = ds.utility(release)
    assert plain.findings[0].measure == "percent"
    assert "Name models= and tables= that your readers use" in str(plain)
    with pytest.raises(ParameterError, match="There is no measure 'il2'"):
        found["il2"]


def test_every_part_is_a_frame(found):
    from discreet.measures.utility_result import PARTS

    for part in PARTS:
        assert found.to_frame(part).num_rows, part
    with pytest.raises(ParameterError, match="There is no part 'all'"):
        found.to_frame("all")
    bare = ds.utility(pa.table({"a": ["x", "y"]}), pa.table({"a": ["x", "x"]}), propensity="none")
    assert bare.to_frame("models").num_rows == 0
    assert "overlap" in bare.to_frame("models").column_names


def test_plain_data_are_json(found):
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["records"] == [ROWS, ROWS]
    assert told["parts"]["models"][0]["term"] == "intercept"
    same = ds.utility(TABLE, TABLE, aligned=True, propensity="none")
    assert same.to_dict()["parts"]["statistics"][0]["inverse_mse"] == "identical"
    json.dumps(same.to_dict(), allow_nan=False)


def test_pages_stand_alone_and_escape(found):
    page = found.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert "http://" not in page.replace("http-equiv", "")
    assert "It is for the custodian" in page
    odd = with_column("sex", np.where(np.arange(ROWS) % 2, "<b>f</b>", "m"))
    other = ds.utility(odd, odd, by="sex", propensity="none", statistics=["mean"]).to_html()
    assert "<b>f</b>" not in other
    assert "&lt;b&gt;f&lt;/b&gt;" in other


def test_whether_a_file_is_valid_and_interesting(found):
    grouped = {name: why for name, _, why in found.checks()}
    assert grouped["analytically valid"] == "mean of children; mean of work"  # of groups of some sixty records
    same = {name: (holds, why) for name, holds, why in ds.utility(TABLE, TABLE, propensity="none").checks()}
    assert same["analytically valid"] == (True, "means, correlations and tables are kept")
    assert same["analytically interesting"] == (True, "8 columns of 8 keep their distribution and means")
    poor = ds.utility(TABLE, with_column("wage", TABLE["wage"].to_numpy()[::-1] * 1.2), propensity="none")
    holds = {name: (good, why) for name, good, why in poor.checks()}
    assert holds["analytically valid"][0] is False
    assert "mean of wage" in holds["analytically valid"][1]
    assert not holds["analytically interesting"][0]


# ---- the public part ----------------------------------------------------------------------------------------


def test_the_public_part_has_classes_and_no_number_of_the_original(release):
    found = ds.utility(release, models=MODELS, by=["region"])
    public = found.public()
    text = f"{public}{json.dumps(public.to_dict())}{public.to_html()}{public._repr_html_()}"
    for one in found.statistics:
        for number in (one.original, one.percent, one.inverse_mse):
            assert np.isinf(number) or number == 0 or f"{number:.3f}" not in text
    assert {line.change for line in public.lines if line.part == "statistics"} <= {
        *("up to 1 %", "1 to 5 %", "5 to 10 %", "10 to 25 %", "above 25 %")
    }
    assert not [name for name in vars(public) if "original" in name]


def test_unchanged_statistics_are_not_told_from_close_ones():
    same = ds.utility(TABLE, TABLE, propensity="none").public()
    assert {line.change for line in same.lines if line.part == "statistics"} == {"up to 1 %"}


def test_codes_that_only_the_original_has_are_not_told():
    coarse = with_column("region", np.where(TABLE["region"].to_numpy(zero_copy_only=False) == "west", "north", "east"))
    found = ds.utility(TABLE, coarse, by="region", models=["wage ~ region"], tables=[["region"]], propensity="none")
    assert "west" in str(found.to_dict())
    public = found.public()
    assert "west" not in f"{public}{public.to_dict()}{public.to_html()}"


def test_small_groups_are_left_out():
    rare = with_column("region", np.where(np.arange(ROWS) < 5, "far", "near"))
    found = ds.utility(rare, rare, by="region", statistics=["mean"], propensity="none")
    public = found.public()
    assert not [line for line in public.lines if line.group == "region far"]
    assert public.left_out == 6
    assert "6 statistics are left out: the group has fewer than 10 original records, or is in one file only." in str(
        public
    )
    with pytest.raises(ParameterError, match="least=2 is not allowed"):
        found.public(least=2)
