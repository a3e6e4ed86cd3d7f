"""From a frame to a table with the names of its columns: flat codes, lists, one call."""

from __future__ import annotations

from pathlib import Path

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError, ParameterError

FIRMS = {
    "region": ["N", "N", "S", "S", "S", "N"],
    "size": [10, 2, 1, 2, 10, 2],
    "sales": [5, 7, 9, 4, 3, 8],
    "firm": ["a", "b", "c", "d", "e", "a"],
}


def codes(table: ds.Table, variable: str) -> list[str]:
    return list(table.spec.by[variable].codes)


def rows(table: ds.Table | ds.Release) -> str:
    return str(nw.from_native(table.to_frame(), eager_only=True).rows())


def written(folder: Path, kind: str) -> Path:
    path = folder / f"firms.{kind}"
    if kind == "csv":
        pd.DataFrame(FIRMS).to_csv(path, index=False)
    else:
        pd.DataFrame(FIRMS).to_parquet(path)
    return path


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_names_of_columns_span_a_table_of_any_frame(made):
    table = ds.tabulate(made(FIRMS), by=["region", "size"], value="sales", contributor="firm")
    explicit = {"region": ds.Hierarchy.flat(["N", "S"]), "size": ds.Hierarchy.flat(["1", "2", "10"])}
    same = ds.tabulate(pa.table(FIRMS), by=explicit, value="sales", contributor="firm")
    assert codes(table, "region") == ["Total", "N", "S"]
    assert codes(table, "size") == ["Total", "1", "2", "10"], "whole numbers stand by size"
    assert rows(table) == rows(same)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_files_and_engines_give_the_same_codes(tmp_path, kind, engine):
    table = ds.tabulate(written(tmp_path, kind), by=["region", "size"], value="sales", engine=engine)
    assert rows(table) == rows(ds.tabulate(pa.table(FIRMS), by=["region", "size"], value="sales"))


def test_one_name_and_lists_and_trees_will_do():
    frame = pa.table(FIRMS)
    assert codes(ds.tabulate(frame, by="size"), "size") == ["Total", "1", "2", "10"]
    assert codes(ds.tabulate(frame, by={"size": [10, 2, 1]}), "size") == ["Total", "10", "2", "1"]
    tree = ds.tabulate(frame, by={"size": {"small": ["1", "2"], "large": ["10"]}, "region": None})
    assert codes(tree, "size") == ["Total", "small", "1", "2", "large", "10"]
    assert codes(tree, "region") == ["Total", "N", "S"]


def test_what_the_data_declare_comes_first():
    tree = ds.Hierarchy.from_nested({"both": ["S", "N"]})
    data = ds.Microdata(pa.table(FIRMS), hierarchies={"region": tree})
    assert ds.tabulate(data, by=["region"]).spec.by["region"] is tree


def test_the_order_of_ordered_categories_stays():
    ages = pd.Categorical(["old", "young", "old", "middle"], ["young", "middle", "old", "oldest"], ordered=True)
    assert codes(ds.tabulate(pd.DataFrame({"age": ages}), by=["age"]), "age") == ["Total", "young", "middle", "old"]


def test_recoded_and_missing_codes_are_those_of_the_records():
    frame = pa.table({"region": ["N", None, "S", "X"]})
    data = ds.Microdata(frame, missing={"region": "unknown"}, recode={"region": {"X": "S"}})
    table = ds.tabulate(data, by=["region"])
    assert codes(table, "region") == ["Total", "N", "S", "unknown"]
    assert table.values.tolist() == [4, 1, 2, 1]


def test_codes_are_those_of_the_whole_file_whatever_the_filter():
    assert codes(ds.tabulate(pa.table(FIRMS), by=["region"], where="size == 1"), "region") == ["Total", "N", "S"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (["regionn"], r"no column 'regionn' in the data. Did you mean 'region'"),
        (["region", "region"], "by= names 'region' 2 times"),
        ([3], "by= has a int where the name of a column is needed"),
        ({"region": 3}, r"by\['region'\] is a int, not a hierarchy"),
        ({"region": "N"}, r"by\['region'\] is a str, not a hierarchy"),
        (None, "Say what spans the table"),
        (["rate"], "'rate' holds numbers with decimals"),
        (["whole"], "Records have the code 'Total' in 'whole'"),
    ],
)
def test_what_cannot_span_a_table_is_refused(by, message):
    frame = pa.table({**FIRMS, "rate": [0.5] * 6, "whole": ["Total"] + ["a"] * 5})
    with pytest.raises(ds.DiscreetError, match=message):
        ds.tabulate(frame, by=by)


def test_another_delimiter_is_named(tmp_path):
    (tmp_path / "firms.csv").write_text("region;sales\nN;1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"'firms.csv' is separated by ';', not by ','"):
        ds.tabulate(tmp_path / "firms.csv", by=["region"])


def test_a_column_that_names_the_records_is_no_variable():
    frame = pa.table({"person": [f"p{k}" for k in range(1_200)], "sex": ["f", "m"] * 600})
    with pytest.raises(ParameterError, match="'person' has 1,200 codes in 1,200 records: it seems to name records"):
        ds.tabulate(frame, by=["person", "sex"])


def test_a_misspelt_option_is_named():
    with pytest.raises(ParameterError, match=r"no option 'contributorr' in tabulate. Did you mean 'contributor'"):
        ds.tabulate(pa.table(FIRMS), by=["region"], contributorr="firm")


def test_rules_come_as_a_list_too():
    table = ds.tabulate(pa.table(FIRMS), by=["region", "size"], value="sales")
    rules = [ds.MinContributors(2), ds.PPercent(10)]
    assert table.assess(rules).unsafe.tolist() == table.assess(*rules).unsafe.tolist()
    with pytest.raises(ParameterError, match="rules for tables, and PPercent is a class"):
        table.assess(ds.PPercent)
    with pytest.raises(ParameterError, match="rules for tables, not a KAnonymity"):
        table.assess([ds.KAnonymity(3)])


# ---- one call -----------------------------------------------------------------------------------------------------


def survey() -> pd.DataFrame:
    made = ds.generate.business_survey(600).records
    return made.to_pandas() if hasattr(made, "to_pandas") else pd.DataFrame(made)


def test_from_a_frame_to_a_release_in_one_call():
    frame = survey()
    rules = [ds.PPercent(10), ds.MinContributors(3)]
    release = ds.protect(
        frame, ds.Suppress(), by=["region", "size"], value="turnover", contributor="holding", rules=rules
    )
    table = ds.tabulate(frame, by=["region", "size"], value="turnover", contributor="holding").assess(rules)
    assert rows(release) == rows(ds.protect(table, ds.Suppress()))
    assert release.verify().holds


def test_one_call_takes_a_single_rule_several_values_and_methods_for_records():
    data = ds.Microdata(survey(), contributor="holding")
    release = ds.protect(data, ds.Suppress(), by=["size"], value=["turnover", "employees"], rules=ds.MinContributors(3))
    assert [table.name for table in release.public.tables] == ["turnover_by_size", "employees_by_size"]
    noise = ds.MultiplicativeNoise("firm", columns=["turnover"], insecure_seed=1)
    noisy = ds.protect(data, [noise, ds.Suppress()], by=["size"], value="turnover", rules=ds.MinContributors(3))
    assert [evidence.method["method"] for evidence in noisy.custodian.evidence] == ["multiplicative_noise", "suppress"]


def test_without_rules_nothing_is_safe_in_one_call_either():
    with pytest.raises(ds.DiscreetError, match="No rule was given"):
        ds.protect(pa.table(FIRMS), ds.Suppress(), by=["region"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ds.protect(pa.table(FIRMS), ds.Suppress()), "protect takes tables or records, not Table"),
        (lambda: ds.protect(pa.table(FIRMS), ds.Suppress(), value="sales"), "Say what spans the table"),
        (lambda: ds.protect(ds.examples.small_table(), ds.Suppress(), by=["a"]), "by= and value= are for records"),
        (
            lambda: ds.protect(pa.table(FIRMS), ds.Suppress(), rulez=1),
            "no option 'rulez' in protect. Did you mean 'rules'",
        ),
        (
            lambda: ds.protect(pa.table(FIRMS), ds.Suppress(), by=["region"], rules=ds.MinFrequency(2), valuee="x"),
            "no option 'valuee' in tabulate",
        ),
    ],
)
def test_one_call_that_cannot_be_understood(call, message):
    with pytest.raises(ds.DiscreetError, match=message):
        call()


# ---- crosstab -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
def test_crosstab_takes_columns_as_pandas_does(made):
    frame = made(FIRMS)
    table = ds.crosstab(frame["region"], frame["size"], frame["sales"], contributor=frame["firm"])
    same = ds.tabulate(frame, by=["region", "size"], value="sales", contributor="firm")
    assert rows(table) == rows(same)


def test_crosstab_counts_like_pandas():
    frame = pd.DataFrame(FIRMS)
    table = ds.crosstab(frame["region"], frame["size"], cells="all")
    frame_of_cells = nw.from_native(table.to_frame(), eager_only=True)
    shown = {tuple(row[:2]): row[2] for row in frame_of_cells.rows()}
    counted = pd.crosstab(frame["region"], frame["size"], margins=True, margins_name="Total")
    assert shown == {(str(r), str(c)): int(counted.loc[r, c]) for r in counted.index for c in counted.columns}


def test_crosstab_takes_lists_plain_arrays_and_rules():
    frame = pd.DataFrame(FIRMS)
    table = ds.crosstab([frame["region"], frame["firm"]], [[1, 2, 1, 2, 1, 2]], rules=ds.MinFrequency(2))
    assert table.variables == ("region", "firm", "col_0")
    assert table.assessment is not None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: ds.crosstab("region", "size"), "'row_0' is a str, not a column"),
        (
            lambda f: ds.crosstab(f["region"], f["size"].iloc[1:]),
            "not of one length: 'region' has 6 rows, 'size' has 5",
        ),
        (lambda f: ds.crosstab(f["region"], f["size"].sort_values()), "different indexes"),
        (
            lambda f: ds.crosstab(f["region"], f["size"], f["sales"], aggfunc="mean"),
            "aggfunc='mean' cannot be protected",
        ),
        (lambda f: ds.crosstab(f["region"], f["size"], aggfunc="sum"), "aggfunc='sum' needs values="),
        (lambda f: ds.crosstab(f["region"], f["region"]), "Two columns have the same name"),
        (lambda f: ds.crosstab(f["region"], []), "at least one column"),
        (lambda f: ds.crosstab(f["region"], f["size"], f["size"] * 2), "'size' spans the table and is summed"),
    ],
)
def test_crosstab_refuses_what_does_not_belong_together(call, message):
    with pytest.raises((ParameterError, InputError), match=message):
        call(pd.DataFrame(FIRMS))
