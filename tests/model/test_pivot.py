"""Tables as rows by columns: totals and statuses stay, zeros that altered tables leave out come back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.pages import public_source
from discreet.model.pivot import pivoted
from discreet.model.public import altered_table


@pytest.fixture(scope="module")
def assessed():
    return ds.examples.small_table().assess(ds.PPercent(10))


@pytest.fixture(scope="module")
def release(assessed):
    return ds.protect(assessed, ds.Suppress(insiders=None))


@pytest.fixture(scope="module")
def cube():
    """Three variables, one code of which has no cells at all in one year."""
    rows = [("N", "f", "1"), ("N", "m", "1"), ("S", "f", "1"), ("N", "f", "2")]
    frame = pa.table({name: [row[k] for row in rows] for k, name in enumerate(("area", "sex", "year"))})
    by = {"area": ds.Hierarchy.flat(["N", "S"]), "sex": ds.Hierarchy.flat(["f", "m"]), "year": ["1", "2"]}
    return ds.tabulate(frame, by={**by, "year": ds.Hierarchy.flat(["1", "2"])}, name="people")


def test_rows_and_columns_have_totals_and_statuses(assessed):
    found = assessed.pivot("region", "trade")
    assert found.values == [[920, 400, 300, 220], [250, 120, 90, 40], [250, 80, 60, 110], [420, 200, 150, 70]]
    assert found.statuses[3] == ["V", "U", "V", "V"]
    assert repr(found).splitlines()[-1].split() == ["South", "420", "200", "U", "150", "70"]


def test_a_release_shows_what_is_public_only(release):
    found = release.pivot()
    assert found.values[1] == [400, None, 80, None]
    assert found.statuses[1] == ["V", "X", "V", "X"]
    text, html = repr(found), found._repr_html_()
    assert "120" not in text
    assert ">120<" not in html
    assert ">200<" not in html
    assert text.splitlines()[3].split() == ["retail", "400", "X", "80", "X"]


def test_codes_are_indented_as_they_stand_under_each_other(assessed):
    tree = ds.Hierarchy.from_parents({"a": "A", "b": "A", "A": "Total", "B": "Total"}, "Total")
    cells = pa.table({"code": ["Total", "A", "a", "b", "B"], "value": [9, 5, 2, 3, 4]})
    lines = repr(ds.Table.from_cells(cells, by={"code": tree}).pivot()).splitlines()
    assert [line[: len(line) - len(line.lstrip())] for line in lines[2:]] == ["", "  ", "    ", "    ", "  "]


def test_other_variables_stand_at_their_total_unless_told(cube):
    whole, one = cube.pivot("area", "sex"), cube.pivot("area", "sex", at={"year": "2"})
    assert whole.values[0] == [4, 3, 1]
    assert whole.at == {"year": "Total"}
    assert "Other variables: year = Total; pivot(at={...}) shows other codes." in repr(whole)
    assert one.values == [[1, 1], [1, 1]]  # codes without any cell are left out
    assert one.rows.codes == ["Total", "N"]


def test_the_longer_of_two_variables_goes_down():
    cells = {"a": ["Total", "x"] * 4, "b": ["Total"] * 2 + ["p"] * 2 + ["q"] * 2 + ["r"] * 2}
    by = {"a": ds.Hierarchy.flat(["x"]), "b": ds.Hierarchy.flat(["p", "q", "r"])}
    found = ds.Table.from_cells(pa.table({**cells, "value": [6, 6, 1, 1, 2, 2, 3, 3]}), by=by).pivot()
    assert (found.rows.variable, found.columns.variable) == ("b", "a")


def test_zeros_that_an_altered_table_does_not_list_are_filled_in_and_counted(assessed):
    published = assessed.value.copy()
    published[[5, 6, 10]] = 0
    public = altered_table(assessed, published, 0)
    assert len(public) == 13
    assert public.zeros_left_out == 3
    assert repr(public).splitlines()[1] == "3 zeros are not listed; pivot() fills them in"
    assert "3 zeros not listed" in public._repr_html_()
    found = public.pivot()
    assert found.values[1] == [400, 0, 0, 200]
    assert found.filled == 3
    assert {letter for line in found.statuses for letter in line} == {"A"}
    assert "3 zeros are filled in" in repr(found)
    assert "3 zeros are filled in" in found._repr_html_()


def test_nothing_is_filled_in_where_cells_are_withheld_or_missing(release, cube):
    assert release.pivot().filled == 0
    missing = cube.pivot("area", "sex")
    assert missing.filled == 0
    assert missing.values[2] == [1, 1, None]
    assert missing.statuses[2] == ["?", "?", ""]


def test_a_row_of_zeros_of_an_altered_table_stays(cube):
    public = altered_table(cube, cube.value.copy(), 0)
    found = public.pivot("area", "sex", at={"year": "2"})
    assert found.values == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("backend", ["pyarrow", "pandas", "polars"])
def test_a_pivot_becomes_a_frame(release, backend):
    pytest.importorskip(backend)
    frame = release.pivot().to_frame(backend)
    assert type(frame).__module__.startswith(backend)
    assert list(frame.columns if backend != "pyarrow" else frame.column_names) == [
        "trade", "Total", "North", "East", "South",
    ]  # fmt: skip


def test_a_pandas_pivot_has_the_codes_as_its_index(release):
    pytest.importorskip("pandas")
    frame = release.pivot().to_pandas(text=True)
    assert frame.loc["retail"].tolist() == ["400", "X", "80", "X"]


def test_long_pivots_are_cut_and_say_how_to_see_all():
    codes = [f"c{i:02}" for i in range(40)]
    side = ds.Hierarchy.flat(codes)
    small = ds.examples.small_table()
    grid = np.stack(np.meshgrid(np.arange(41), np.arange(41), indexing="ij"), axis=-1).reshape(-1, 2)
    table = small.with_(
        spec=small.spec.with_(by={"a": side, "b": side}),
        codes=grid.astype(np.int32),
        value=np.full(41 * 41, 123_456, np.int64),
        empty=np.zeros(41 * 41, np.bool_),
        contributions={},
        records=None,
        nonzero=None,
    )
    text, html = repr(table.pivot()), table._repr_html_()
    assert "... 26 more rows and 31 more columns (pivot().to_frame() shows all)" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "16 more rows and 29 more columns (pivot().to_frame() shows all)" in html
    assert html.count("<tr>") == 26


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": "trad"}, "There is no variable 'trad' in table 'turnover'. Did you mean 'trade'"),
        ({"rows": "trade", "columns": "trade"}, "Variable 'trade' is asked for twice"),
        ({"at": {"region": "Nort"}}, "no code 'Nort' in variable 'region'"),
        ({"at": {"region": "North", "trade": "food"}}, "No variable is left for the rows"),
    ],
)
def test_what_cannot_be_pivoted_is_refused(assessed, given, message):
    with pytest.raises(ParameterError, match=message):
        assessed.pivot(**given)


def test_a_column_that_is_called_like_the_rows_keeps_its_place():
    side = ds.Hierarchy.flat(["code"])
    table = ds.Table.from_cells(
        pa.table({"code": ["Total", "Total", "code", "code"], "b": ["Total", "code"] * 2, "value": [1, 1, 1, 1]}),
        by={"code": side, "b": side},
    )
    assert table.pivot().to_frame().column_names == ["code", "Total", "code "]


def test_a_public_table_without_parents_is_flat(release):
    from dataclasses import replace

    flat = replace(release.public.tables[0], parents=())
    assert pivoted(public_source(flat)).rows.depth == [0, 0, 0, 0]
