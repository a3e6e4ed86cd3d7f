"""Sets of tables and equations between their variables."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as ds
from discreet import Hierarchy, Table, TableSet, VariableEquation
from discreet.errors import ParameterError

REGION = Hierarchy.flat(["N", "S"])


def table(variable: str, values: list[float], **options) -> Table:
    cells = pa.table({"region": ["", "N", "S"], "value": values})
    return Table.from_cells(cells, {"region": REGION}, variable=variable, **{"name": variable, **options})


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("turnover = home + export", (("turnover", -1), ("home", 1), ("export", 1))),
        ("a=b+c-d", (("a", -1), ("b", 1), ("c", 1), ("d", -1))),
        ("net = - costs + gross", (("net", -1), ("gross", 1), ("costs", -1))),
        ("all = non-profit + profit", (("all", -1), ("non-profit", 1), ("profit", 1))),
        ("same = other", (("same", -1), ("other", 1))),
    ],
)
def test_equations_are_read_as_they_are_written(text, terms):
    assert VariableEquation.parse(text).terms() == terms


@pytest.mark.parametrize("text", ["a = b + c - d", "a = b", "a = - b", "a = b - c-d"])
def test_equations_read_back_as_they_were_written(text):
    equation = VariableEquation.parse(text)
    assert str(equation) == text
    assert VariableEquation.parse(str(equation)) == equation


@pytest.mark.parametrize("text", ["", "a", "a =", "= b + c", "a = b +", "a = b c", "a = + + b"])
def test_what_is_no_equation_is_refused(text):
    with pytest.raises(ParameterError, match=r"Cannot read the equation .* Write: turnover = home \+ export"):
        VariableEquation.parse(text)


@pytest.mark.parametrize("text", ["a = b + b", "a = a + b", "a = b - b"])
def test_a_variable_stands_once_in_an_equation(text):
    with pytest.raises(ParameterError, match=r"names '.' twice. Write each variable once"):
        VariableEquation.parse(text)


def test_an_equation_needs_a_right_hand_side():
    with pytest.raises(ParameterError, match=r"for 'a' has no right-hand side"):
        VariableEquation("a", ())


def test_tables_are_found_by_name():
    whole = TableSet([table("home", [5, 2, 3]), table("export", [3, 1, 2])])
    assert whole["export"].values.tolist() == [3.0, 1.0, 2.0]
    assert [t.name for t in whole] == ["home", "export"]
    with pytest.raises(ParameterError, match=r"no table 'exports' in the set. Did you mean 'export'"):
        whole["exports"]


def test_a_set_needs_tables_with_different_names():
    with pytest.raises(ParameterError, match=r"at least one table"):
        TableSet([])
    with pytest.raises(ParameterError, match=r"Table names must differ; used twice: 'home'.*Give name="):
        TableSet([table("home", [5, 2, 3]), table("home", [5, 2, 3])])


def test_an_equation_may_only_name_variables_of_the_set():
    with pytest.raises(ParameterError, match=r"no value variable 'exprt' in the equation 'home = exprt'.*'export'"):
        TableSet([table("home", [5, 2, 3]), table("export", [5, 2, 3])], ["home = exprt"])


def test_a_set_shows_its_tables_and_equations():
    whole = TableSet([table("home", [5, 2, 3]), table("<i>", [5, 2, 3])], ["home = <i>"])
    assert repr(whole) == "TableSet(home: 3 cells, <i>: 3 cells)"
    assert str(whole).startswith("2 tables\nEquation home = <i>\nTable home: 3 cells by region")
    html = whole._repr_html_()
    assert "<strong>2 tables protected together</strong>" in html
    assert "<li>home = &lt;i&gt;</li>" in html
    assert html.index("home: 3 cells") < html.index("&lt;i&gt;: 3 cells")
    assert "<i>" not in html


def test_other_versions_of_the_tables_keep_equations_and_pattern():
    whole = TableSet([table("home", [5, 2, 3]), table("export", [5, 2, 3])], ["home = export"], one_pattern=True)
    again = whole.replaced([table("home", [7, 4, 3]), table("export", [7, 4, 3])])
    assert again.equations == whole.equations
    assert again.one_pattern
    assert again["home"].values[0] == 7


def test_shared_cells_are_printed_by_table():
    whole = TableSet([table("home", [5, 2, 3]), table("home", [5, 2, 3], name="again"), table("export", [1, 1, 0])])
    assert whole.shared() == [("home", "again", 3)]
    assert ds.TableSet is TableSet
