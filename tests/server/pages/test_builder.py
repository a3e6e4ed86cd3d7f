"""The table builder past the browser: addresses, numbers, refusals, old links, definitions, what it loads."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from discreet.model.public import PublicTable
from discreet.server.dataset import build_dataset
from discreet.server.pages.grid import QualityMarks, TableGrid, grid_of
from discreet.server.pages.hexagons import SIDES, hexagon_map
from discreet.server.pages.layout import TableLayout, layout_of, layout_of_definition
from discreet.server.quality import ErrorCurve
from discreet.server.question import QuestionRefusal, query_pairs
from tests.server.answers.test_quality import BY_CLUSTERS, weighted
from tests.server.census import KEY, Asker
from tests.server.pages.office import Office, serving

PLACE = "/tables/census/2021.1"


def table(values: dict[tuple[str, str, str], int]) -> PublicTable:
    """A small table of three variables: what is not listed is zero, as in answers of the server."""
    lists = (("T", "a", "b", "c"), ("T", "x", "y"), ("T", "1", "2"))
    codes = np.array([[lists[k].index(code) for k, code in enumerate(cell)] for cell in values], np.int32)
    number = np.array(list(values.values()), np.int64)
    yes, no = np.ones(len(number), np.bool_), np.zeros(len(number), np.bool_)
    above = ((-1, 0, 0, 0), (-1, 0, 0), (-1, 0, 0))
    names = ("r", "s", "t")
    return PublicTable("t", names, lists, ({"a": "<b>A</b>"}, {}, {}), codes, number, 0, yes, no, True, parents=above)


CELLS = {("T", "T", "T"): 12, ("a", "x", "1"): 6, ("a", "T", "T"): 8, ("b", "y", "2"): 4, ("a", "x", "T"): 6}
TOTALS = {"r": "T", "s": "T", "t": "T"}


def laid_out(**layout: Any) -> TableGrid:
    words = {"r": "R", "s": "S", "t": "T"}
    return grid_of(table(CELLS), TableLayout(rows=("r",), columns=("s",), layers=("t",), **layout), TOTALS, words, None)


def rows(grid: TableGrid) -> dict[str, tuple[str, ...]]:
    return {row.headings[0].words: row.cells for row in grid.rows}


def test_rows_are_hidden_that_are_empty_in_all_layers_and_not_only_in_this_one() -> None:
    shown = laid_out(at={"t": "1"}, empty="hide")
    assert rows(shown) == {"T": ("0", "0", "0"), "<b>A</b>": ("0", "6", "0"), "b": ("0", "0", "0")}
    assert shown.hidden == 1
    assert set(rows(laid_out(at={"t": "1"}))) == {"T", "<b>A</b>", "b", "c"}


def test_shares_are_those_of_published_totals_and_none_of_nothing() -> None:
    assert rows(laid_out(percent="row"))["<b>A</b>"] == ("100.0 %", "75.0 %", "0.0 %")
    assert rows(laid_out(percent="all"))["<b>A</b>"] == ("66.7 %", "50.0 %", "0.0 %")
    assert rows(laid_out(percent="row"))["c"] == ("·", "·", "·")
    assert rows(laid_out(percent="column"))["<b>A</b>"][1] == "·"  # the total of x was not published


def test_totals_are_left_out_of_the_grid_and_still_what_shares_are_of() -> None:
    grid = laid_out(totals="no", percent="all")
    assert [heading.words for heading in grid.head[0]] == ["x", "y"]
    assert rows(grid)["<b>A</b>"] == ("50.0 %", "0.0 %")


def test_counts_are_marked_by_their_relative_standard_error() -> None:
    """Errors of 1 / root(count): 12 has 29 %, 6 has 41 %, 4 has 50 %, and nothing has none."""
    marks = QualityMarks(ErrorCurve(0.0, 1.0), (40.0, 50.0))
    layout = TableLayout(rows=("r",), columns=("s",), layers=("t",))
    grid = grid_of(table(CELLS), layout, TOTALS, {"r": "R", "s": "S", "t": "T"}, None, marks)
    assert {row.headings[0].words: row.marks for row in grid.rows}["<b>A</b>"] == ("", "*", "")
    assert grid.rows[0].marks[0] == ""
    small = grid_of(table({("T", "T", "T"): 4}), layout, TOTALS, {"r": "R", "s": "S", "t": "T"}, None, marks)
    assert small.rows[0].marks[0] == "**"
    assert laid_out().rows[0].marks == (), "no stars where nobody knows the errors"


def test_the_page_of_weighted_data_has_stars_and_says_what_they_mean(tmp_path: Path) -> None:
    folder = weighted(tmp_path, BY_CLUSTERS)
    with serving(Office(tmp_path, [build_dataset(folder, tmp_path / "built", key=KEY)])) as origin:
        text = httpx.get(f"{origin}{PLACE}?rows=sex&columns=marital&ask=yes").text
    assert "*: the relative standard error of the count is 10 % or more." in text
    assert "<sup>*</sup></td>" in text
    assert "<b>Weighted number by Sex, Marital status, 2021.</b>" in text


def test_an_address_holds_the_whole_layout() -> None:
    layout = TableLayout(
        rows=("age_group:1", "sex"),
        columns=("marital",),
        layers=("area",),
        universe="adults",
        value="income",
        measure="mean",
        totals="no",
        empty="hide",
        percent="row",
        view="map",
        ask="yes",
        page=3,
        select={"sex": ("F", "a,b")},
        at={"area": "G01"},
    )
    assert layout_of(query_pairs(layout.query)) == layout
    assert layout_of_definition(layout.definition("census", "2021.1")) == ("census", "2021.1", layout)


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 5000, b'{"format": "discreet table definition 1"}', b"\xff"])
def test_what_is_no_definition_is_refused(content: bytes) -> None:
    with pytest.raises(QuestionRefusal):
        layout_of_definition(content)


def shown_numbers(text: str) -> list[str]:
    return re.findall(r'<td class="n">([^<]*)</td>', text)


def test_the_page_shows_the_numbers_that_the_server_answers(office: Office, census: Any) -> None:
    text = httpx.get(f"{office.origin}{PLACE}?rows=sex&columns=marital&ask=yes").text
    told = Asker(census)("sex", "marital")
    wanted = [told.get((sex, marital), 0) for sex in ("Total", "F", "M") for marital in ("Total", "D", "M", "S", "W")]
    assert shown_numbers(text) == [f"{number:,}" for number in wanted]
    assert "Values are altered to protect confidentiality, and may not add up." in text
    assert office.log.entries[-1].question is not None


def test_nothing_is_asked_before_somebody_wants_the_table(office: Office) -> None:
    before = len(office.log.entries)
    text = httpx.get(f"{office.origin}{PLACE}?rows=education&columns=labour").text
    assert len(office.log.entries) == before
    assert "Up to <b>72</b> cells" in text
    assert not shown_numbers(text)


def test_the_reason_of_a_refusal_stands_there_before_anything_is_asked(office: Office) -> None:
    before = len(office.log.entries)
    text = httpx.get(f"{office.origin}{PLACE}?rows=education,labour&columns=sex,marital").text
    assert "3 are answered at most" in html.unescape(text)
    assert "Show the table" not in text
    assert len(office.log.entries) == before


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("rows=nothing", 200),
        ("rows=sex&bogus=1", 400),
        ("rows=sex&percent=x", 400),
        ("rows=sex:x", 400),
        ("up=sex", 400),
    ],
)
def test_bad_addresses_are_pages_with_a_reason(office: Office, query: str, status: int) -> None:
    reply = httpx.get(f"{office.origin}{PLACE}?{query}&ask=yes")
    assert reply.status_code == status
    assert "text/html" in reply.headers["content-type"]
    assert "Traceback" not in reply.text


def test_an_old_link_says_that_its_edition_is_gone_and_leads_on(office: Office) -> None:
    office.service.withdrawn = {("census", "2011.1"): "2021.1"}
    reply = httpx.get(f"{office.origin}/tables/census/2011.1?rows=sex&columns=marital&ask=yes")
    assert reply.status_code == 410
    way_on = html.unescape(reply.text.partition('class="button" href="')[2].partition('"')[0])
    assert way_on == "/tables/census/2021.1?rows=sex&columns=marital&ask=yes"
    assert shown_numbers(httpx.get(office.origin + way_on).text)
    assert httpx.get(f"{office.origin}/tables/census/1871.1").status_code == 404


def test_a_definition_comes_back_as_its_page(office: Office) -> None:
    query = "rows=age_group:1&columns=sex&percent=row&ask=yes"
    saved = httpx.get(f"{office.origin}{PLACE}/definition?{query}").content
    assert json.loads(saved)["dataset"] == "census"
    headers = {"origin": office.origin}
    reply = httpx.post(f"{office.origin}/tables/definition", files={"definition": ("d.json", saved)}, headers=headers)
    assert reply.status_code == 303
    path, _, given = reply.headers["location"].partition("?")
    assert (path, layout_of(query_pairs(given))) == (PLACE, layout_of(query_pairs(query)))
    foreign = {"origin": "https://evil.example.org"}
    files = {"definition": ("d.json", saved)}
    assert httpx.post(f"{office.origin}/tables/definition", files=files, headers=foreign).status_code == 403


def test_downloads_and_calls_ask_the_same_question(office: Office) -> None:
    query = "rows=age_group:1&columns=sex&universe=adults&totals=no&select.sex=F&ask=yes"
    text = html.unescape(httpx.get(f"{office.origin}{PLACE}?{query}").text)
    for format in ("csv", "xlsx", "jsonstat", "sdmx-csv", "sdmx-json", "px"):
        (address,) = set(re.findall(rf'href="(/v1/datasets/[^"]*format={format})"', text))
        reply = httpx.get(office.origin + address)
        assert reply.status_code == 200
        assert reply.content
    curl = text.partition("curl '")[2].partition("'")[0]
    lines = httpx.get(curl).text.splitlines()
    assert lines[0].startswith("age_group,sex,value")
    assert {line.split(",")[1] for line in lines[1:]} == {"F"}
    assert f"server = ds.connect('{office.origin}')" in text
    assert "universe='adults'" in text


def test_a_line_of_the_history_opens_the_page_as_it_was(office: Office) -> None:
    query = "rows=labour:1&columns=sex&value=income&measure=mean&empty=hide&select.sex=F&ask=yes"
    reader = {"x-test-certificate": "Mara"}
    assert httpx.get(f"{office.origin}{PLACE}?{query}", headers=reader).status_code == 200
    text = html.unescape(httpx.get(f"{office.origin}/history", headers=reader).text)
    assert "Mean of Income (EUR) by Labour market, Sex, 2021." in text
    address = text.partition(f'href="{PLACE}?')[2].partition('"')[0]
    assert layout_of(query_pairs(address)) == layout_of(query_pairs(query))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("rows=sex", "Number of records by Sex, 2021."),
        (
            "rows=sex&universe=adults&percent=all",
            "Number of records, % of all, Persons of 18 years and more by Sex, 2021.",
        ),
        ("rows=sex&columns=marital&value=income", "Income (EUR) by Sex, Marital status, 2021."),
    ],
)
def test_a_table_says_what_it_shows(office: Office, query: str, words: str) -> None:
    text = httpx.get(f"{office.origin}{PLACE}?{query}&ask=yes").text
    assert f"<b>{words}</b> Values are altered" in text


@pytest.mark.parametrize(
    ("words", "names"),
    [("DIVORCED", ["marital"]), ("g01030201", ["area"]), ("Labour", ["labour"]), ("nothing like it", [])],
)
def test_variables_are_found_by_all_codes_and_labels(office: Office, words: str, names: list[str]) -> None:
    reply = httpx.get(f"{office.origin}{PLACE}/find", params={"words": words})
    assert reply.json() == {"variables": names}


def test_variables_are_found_by_labels_of_their_codes(office: Office) -> None:
    text = httpx.get(f"{office.origin}{PLACE}?find=divorced").text
    assert re.findall(r'<li data-name="(\w+)"', text) == ["marital"]


def test_a_chart_says_what_it_leaves_out(office: Office) -> None:
    text = httpx.get(f"{office.origin}{PLACE}?rows=birth,labour&columns=sex&view=chart&ask=yes").text
    drawn = json.loads(html.unescape(text.partition('data-bars="')[2].partition('"')[0]))
    assert len({row for row, _, _ in drawn}) == 40
    assert re.search(r"It has the first 40 of \d+ rows; the table has all\.", text)


def test_maps_and_layers_of_very_many_areas_stay_light() -> None:
    drawn = hexagon_map([(f"area {k}", float(k)) for k in range(35_000)])
    assert drawn is not None
    assert (len(drawn.hexagons), drawn.left_out) == (1_400, 33_600)
    assert sum(len(one.words) + 60 for one in drawn.hexagons) < 125_000, "a page stays below 250 kB"


def test_history_is_ones_own(office: Office) -> None:
    address = f"{office.origin}{PLACE}?rows=sex&columns=marital&ask=yes"
    for name in ("Ada", "Ada", "Ben"):
        assert httpx.get(address, headers={"x-test-certificate": name}).status_code == 200
    for name in ("Ada", "Ben"):
        text = httpx.get(f"{office.origin}/history", headers={"x-test-certificate": name}).text
        assert text.count("Number of records by Sex, Marital status, 2021.") == 1
    assert httpx.get(f"{office.origin}/history").status_code == 403
    assert httpx.get(f"{office.origin}/history", headers={"x-test-certificate": "Zoe"}).status_code == 403


def test_areas_of_a_class_are_one_shape_where_there_are_many() -> None:
    few, many = (hexagon_map([(f"area {k}", float(k % 7)) for k in range(number)]) for number in (200, 201))
    assert few is not None
    assert many is not None
    assert few.shapes == ()
    assert [shade for shade, _ in many.shapes] == sorted({one.shade for one in many.hexagons})
    for shade, shape in many.shapes:
        mine = [one for one in many.hexagons if one.shade == shade]
        assert shape.count("M") == shape.count("z") == len(mine)
        assert all(f"M{one.x},{one.y}m" in shape for one in mine)
    assert json.loads(many.words)[0] == [int(many.hexagons[0].x), int(many.hexagons[0].y), "area 0: 0"]
    assert len(json.loads(many.words)) == 201


def test_a_shape_is_the_hexagon_of_the_outline() -> None:
    many = hexagon_map([(f"area {k}", 1.0) for k in range(201)])
    assert many is not None
    corners = [tuple(map(float, corner.split(","))) for corner in many.outline[1:-1].split("L")]
    steps = [tuple(map(float, step.split(","))) for step in re.findall(r"[ml](-?[\d.]+,-?[\d.]+)", SIDES)]
    walked = np.cumsum(np.array(steps), axis=0)
    assert np.abs(walked - np.array(corners)).max() < 0.25
