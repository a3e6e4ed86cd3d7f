"""Filters as expressions: the same words, the same records."""

from __future__ import annotations

import narwhals as nw
import polars as pl
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.condition import parse_conditions

FRAME = pl.DataFrame({"r": ["a", "a", "b", "b", None], "s": [1, 20, 30, None, 5], "y": [0.5, 1.5, None, 2.5, 1.5]})


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (pl.col("s") >= 10, ["s >= 10"]),
        (pl.lit(10) <= pl.col("s"), ["s >= 10"]),
        ((pl.col("s") > 1) & (pl.col("r") == "b"), ["r == 'b'", "s > 1"]),
        (pl.col("r").is_in(["a", "c"]), ["r in ['a', 'c']"]),
        (~pl.col("r").is_in(["a"]), ["r not in ['a']"]),
        (~(pl.col("s") < 10), ["s >= 10"]),
        (pl.col("s").is_null(), ["s is null"]),
        (pl.col("s").is_not_null(), ["s is not null"]),
        (pl.col("s").is_between(1, 20), ["s <= 20", "s >= 1"]),
        (pl.col("s").is_between(1, 20, closed="none"), ["s < 20", "s > 1"]),
        (pl.col("y") != 1.5, ["y != 1.5"]),
        (nw.col("s") >= 10, ["s >= 10"]),
        ((nw.col("s") > 1) & (nw.col("r") == "b"), ["r == 'b'", "s > 1"]),
        (~nw.col("s").is_null(), ["s is not null"]),
        (nw.col("r").is_in(["a"]), ["r in ['a']"]),
    ],
)
def test_an_expression_has_words_and_means_the_same_records(expression, words):
    conditions = parse_conditions(expression)
    assert [str(condition) for condition in conditions] == words
    ours = ds.tabulate(FRAME.with_columns(all=pl.lit("x")), by={"all": ds.Hierarchy.flat(["x"])}, where=expression)
    frame = nw.from_native(FRAME) if isinstance(expression, nw.Expr) else FRAME
    assert ours.values[0] == len(frame.filter(expression))


@pytest.mark.parametrize(
    "expression",
    [
        (pl.col("s") > 1) | (pl.col("s") < 0),
        pl.col("s") + 1 > 2,
        pl.col("s") == pl.col("y"),
        ~((pl.col("s") > 1) & (pl.col("r") == "b")),
        pl.col("r").str.starts_with("a"),
        pl.col("r").is_in(["a"], nulls_equal=True),
        (nw.col("s") > 1) | (nw.col("s") < 0),
        nw.col("s") + 1 > 2,
        nw.col("s") > nw.col("y"),
        nw.col("s", "y") > 1,
    ],
)
def test_what_has_no_words_is_refused(expression):
    with pytest.raises(ParameterError, match=r"cannot be put into words.*or write text"):
        parse_conditions(expression)


def test_expressions_and_text_may_stand_in_one_list():
    assert [str(c) for c in parse_conditions([pl.col("s") > 1, "r == 'a'"])] == ["r == 'a'", "s > 1"]


def test_something_else_is_refused():
    with pytest.raises(ParameterError, match="A filter is a int"):
        parse_conditions(5)


@pytest.mark.parametrize("text", ["s is null", "s IS NULL", "`s` is missing"])
def test_gaps_are_looked_for_in_words(text):
    assert str(parse_conditions(text)[0]) == "s is null"


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_engines_agree_about_gaps(tmp_path, engine):
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    path = tmp_path / "x.csv"
    path.write_text("a,y\nN,1.5\nN,\nS,2.5\nS,\nS,3.5\n")
    by = {"a": ds.Hierarchy.flat(["N", "S"])}
    assert ds.tabulate(path, by=by, where="y is null", engine=engine).values.tolist() == [2, 1, 1]
    assert ds.tabulate(path, by=by, where="y is not null", engine=engine).values.tolist() == [3, 1, 2]
