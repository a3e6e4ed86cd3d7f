"""Filters: what can be written, and that it reads back as it was meant."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.model.condition import Condition, parse_conditions

names = st.text(st.characters(blacklist_characters="`", blacklist_categories=["Cs"]), min_size=1).filter(str.strip)
texts = st.text(st.characters(blacklist_categories=["Cs"]))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(
    names,
    st.one_of(
        st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.tuples(numbers | texts)),
        st.tuples(st.sampled_from(["in", "not in"]), st.lists(numbers | texts, min_size=1).map(tuple)),
    ),
)
@example("my column", ("in", ("it's", 'a "quote"', "back\\slash", "comma, and ]")))
@example("in", ("not in", (1, 2.5, "3")))
@example("x", ("==", ("new\nline",)))
def test_a_condition_reads_back_as_it_was_written(column, comparison):
    operator, values = comparison
    condition = Condition(column.strip(), operator, values)
    assert Condition.parse(str(condition)) == condition


@pytest.mark.parametrize(
    ("text", "column", "operator", "values"),
    [
        ("employees>=10", "employees", ">=", (10,)),
        ("employees < -1.5", "employees", "<", (-1.5,)),
        ("turnover > 1e6", "turnover", ">", (1e6,)),
        ("region == 'N'", "region", "==", ("N",)),
        ('region != "N and S"', "region", "!=", ("N and S",)),
        ("code == '01'", "code", "==", ("01",)),
        ("region in ['N', \"S\"]", "region", "in", ("N", "S")),
        ("region  not   in [1,2,]", "region", "not in", (1, 2)),
        ("`legal form` == 'GmbH & Co'", "legal form", "==", ("GmbH & Co",)),
        ("path == 'C:\\new'", "path", "==", ("C:\\new",)),
    ],
)
def test_every_operator_can_be_written(text, column, operator, values):
    assert Condition.parse(text) == Condition(column, operator, values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Cannot read the filter ''"),
        ("employees", "Cannot read the filter 'employees'"),
        ("employees ==", "Cannot read the filter 'employees =='"),
        ("margin ['a']", "Cannot read the filter"),
        ("region in 'N'", "needs a list of at least one value in brackets after 'in'"),
        ("region not in []", "needs a list of at least one value in brackets after 'not in'"),
        ("region in [1 2]", "needs a list of at least one value in brackets"),
        ("region == North", "compares with 'North'. Put text in quotes"),
        ("region in [N, S]", "compares with 'N'. Put text in quotes"),
        ("a == 1 and b == 2", "compares with '1 and b == 2'.*several filters as a list"),
        ("a < nan", "compares with 'nan'"),
        ("a < inf", "compares with 'inf'"),
    ],
)
def test_what_cannot_be_read_is_refused(text, words):
    with pytest.raises(ParameterError, match=words):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("operator", "values", "words"),
    [
        ("~", (1,), r"cannot compare with '~'. Use '==', '!=', '<', '<=', '>', '>=', 'in', 'not in'"),
        ("==", (1, 2), "compares '==' with 2 values. Give one value"),
        ("in", (), "compares 'in' with 0 values"),
        ("==", (float("nan"),), "compares with nan. Compare with text or a finite number"),
        ("==", (True,), "compares with True.*1 and 0 for true and false"),
    ],
)
def test_an_impossible_condition_is_refused(operator, values, words):
    with pytest.raises(ParameterError, match=words):
        Condition("x", operator, values)


def test_several_filters_have_one_order_and_no_repetitions():
    assert parse_conditions(["b == 1", "a == 1", "b==1"]) == parse_conditions(("a == 1", "b == 1"))
    assert parse_conditions(None) == ()
    assert parse_conditions("a == 1") == (Condition("a", "==", (1,)),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x >= 10", "x >= 10.0"),
        ("x in ['N', 'S']", "x in ['S', 'N', 'S']"),
        ("x in ['N']", "x == 'N'"),
        ("x not in [3]", "x != 3"),
    ],
)
def test_universes_that_are_written_differently_are_recognised(one, other):
    assert Condition.parse(one).canonical() == Condition.parse(other).canonical()


def test_text_and_numbers_are_different_universes():
    assert Condition.parse("x == '1'").canonical() != Condition.parse("x == 1").canonical()
