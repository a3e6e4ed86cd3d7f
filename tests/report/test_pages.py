"""What holds for every page: it needs nothing, trusts nobody, and can be read by everybody."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from dataclasses import replace
from itertools import pairwise

import matplotlib
import numpy as np
import pytest

import discreet as ds
from discreet.attack.insiders import WorstInsider
from discreet.errors import NeedsError
from discreet.model.claims.suppression import INSIDERS
from discreet.model.tableset import TableSet
from discreet.report import custodian_report, public_report
from discreet.report.page import script
from discreet.report.words import plain_number
from discreet.verify import Verdict
from tests.report.conftest import release_of
from tests.report.reader import Page

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\N{RIGHT-TO-LEFT OVERRIDE}$x^{$&amp;"


@pytest.fixture(scope="module")
def pages(survey, survey_audit) -> dict[str, str]:
    return {"custodian": custodian_report(survey, audit=survey_audit), "public": public_report(survey.public)}


@pytest.fixture(params=["custodian", "public"])
def page(request, pages) -> str:
    return pages[request.param]


def test_nothing_is_fetched_from_anywhere(page):
    tags = Page(page).tags
    assert not {"link", "iframe", "object", "embed", "base", "form", "img"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not [name for name in attributes if name in ("src", "srcset", "action") or name.startswith("on")]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"https?:|@import|url\((?!#)", page)


def test_policy_forbids_requests_and_all_scripts_but_the_one_of_the_page(page):
    read = Page(page)
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    (text,) = read.scripts
    allowed = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert text == script("page.js")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp", text)


def test_headings_go_down_step_by_step(page):
    levels = [level for level, _ in Page(page).headings]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_page_says_its_language_and_tables_have_captions_and_scopes(page):
    read = Page(page)
    assert ("html", {"lang": "en"}) in read.tags
    assert all(table.caption for table in read.tables)
    assert all(a.get("scope") for tag, a in read.tags if tag == "th")
    widths = [{len(row) for row in table.rows if len(row) > 1} for table in read.tables]
    assert all(len(width) == 1 for width in widths)


def test_images_have_words_and_ids_of_their_own(pages):
    read = Page(pages["custodian"])
    images = [a for tag, a in read.tags if tag == "svg" and a.get("aria-hidden") != "true"]
    assert len(images) == 6
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in images)
    assert sum(tag == "figcaption" for tag, _ in read.tags) == len(images)
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_links_inside_the_page_lead_somewhere(pages):
    read = Page(pages["custodian"])
    ids = {a["id"] for _, a in read.tags if "id" in a}
    assert {a["href"][1:] for tag, a in read.tags if tag == "a"} <= ids


def test_custodians_page_is_marked_confidential(pages):
    assert Page(pages["custodian"]).text.count("Confidential: for the custodian only") == 2
    assert "Confidential" not in pages["public"]


# ---- hostile words --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile():
    """Every name that a stranger can give is an attack."""
    table = ds.examples.small_table()
    trade = ds.Hierarchy.flat([EVIL, "food\nand $drink", "日本" * 40], total="Total").labelled({"Total": EVIL})
    region = ds.Hierarchy.flat(["North", "East", "South"]).labelled({"South": EVIL * 5, "North": "N\x00\x1b[31m"})
    spec = table.spec.with_(by={EVIL: trade, "region": region}, name=EVIL, value=EVIL, period=EVIL)
    return ds.protect(table.with_(spec=spec, notes=(EVIL,)).assess(ds.PPercent(10)), ds.Suppress())


def test_hostile_names_stay_words(hostile):
    custodian = custodian_report(hostile, audit=ds.audit(hostile), recipe=EVIL, title=EVIL)
    for text in (custodian, public_report(hostile.public, title=EVIL, notes=[EVIL])):
        read = Page(text)
        assert "img" not in {tag for tag, _ in read.tags}
        assert read.scripts == [script("page.js")]
        assert not [name for _, a in read.tags for name in a if name.startswith("on")]
        assert read.headings[0] == (1, EVIL)
        assert read.text.count(EVIL) > 5


# ---- the same page every time ---------------------------------------------------------------------------------


def test_same_release_gives_the_same_bytes_whatever_the_users_settings(survey, survey_audit, pages):
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 31, "svg.hashsalt": None, "axes.facecolor": "red"}):
        mine = dict(matplotlib.rcParams)
        again = custodian_report(survey, audit=survey_audit)
        assert dict(matplotlib.rcParams) == mine
    assert dict(matplotlib.rcParams) == before
    assert again == pages["custodian"]
    assert public_report(survey.public) == pages["public"]


# ---- what is not installed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_missing_package_is_named_with_the_way_to_install_it(small, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NeedsError, match=rf"A report needs the package '{package}'.*pip install 'discreet\[report\]'"):
        custodian_report(small)


def test_public_report_needs_no_images(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "How to read" in public_report(small.public)


# ---- many cells -----------------------------------------------------------------------------------------------


def test_page_of_a_large_table_stays_small():
    side = 180
    codes = ds.Hierarchy.flat([f"c{i:03}" for i in range(side - 1)])
    inner = np.arange((side - 1) ** 2, dtype=np.int64).reshape(side - 1, side - 1)
    values = np.zeros((side, side), np.int64)
    values[1:, 1:] = inner
    values[0, 1:], values[1:, 0], values[0, 0] = inner.sum(axis=0), inner.sum(axis=1), inner.sum()
    table = ds.examples.small_table()
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 2)
    table = table.with_(
        spec=table.spec.with_(by={"a": codes, "b": codes}),
        codes=grid.astype(np.int32),
        value=values.ravel(),
        empty=np.zeros(side**2, np.bool_),
        contributions={},
        records=None,
    )
    status = np.where(np.arange(side**2) % 3 == 0, 3, 1).astype(np.int8)
    page = custodian_report(release_of(TableSet([table]), status))
    assert f"{side**2 // 3 - 50:,} more stand in the custodian’s cell file" in page
    assert len(page) < 250_000


# ---- what readers look for first ------------------------------------------------------------------------------


def tiles(page: str) -> list[str]:
    return [" ".join(re.sub(r"<[^>]+>", " ", tile).split()) for tile in re.findall(r"<li[^>]*><b>.*?</li>", page)]


def test_headline_numbers_and_a_picture_stand_in_the_first_section(pages):
    first = pages["custodian"].split('<section aria-labelledby="summary">')[0]
    shown = tiles(first)
    assert re.fullmatch(r"\d+ cells", shown[0])
    assert [re.sub(r"[\d.,]+", "n", tile) for tile in shown[1:4]] == [
        "n unsafe n %",
        "n withheld besides n for each unsafe cell",
        "n published n %",
    ]
    assert shown[-1] == "0 unsafe cells known too closely by the audit"
    assert first.count("<svg") == 1
    assert first.index('class="tiles"') < first.index("<svg") < first.index("<h3>Proved</h3>")


def test_headline_says_what_nobody_looked_at(small, broken):
    assert tiles(custodian_report(small))[-1] == "0 unsafe cells known too closely proved, not audited"
    nothing = tiles(custodian_report(small, verdict=Verdict()))[-1]
    assert nothing == "? unsafe cells known too closely nothing is proved and nothing audited"
    assert tiles(custodian_report(broken))[-1] == nothing


def test_headline_counts_what_an_audit_found(broken):
    found = ds.audit(broken)
    assert tiles(custodian_report(broken, audit=found))[-1] == "1 unsafe cells known too closely by the audit"


def test_headline_counts_what_insiders_know(small):
    found = ds.audit(small)
    worst = np.full(len(found.intervals.cells), WorstInsider.KEPT, np.int8)
    assert found.known_too_closely == 0
    worst[0] = WorstInsider.SHORT
    levels = replace(found, insiders=worst, attackers=(*found.attackers, INSIDERS["full"]))
    assert (levels.known_too_closely, levels.holds) == (1, False)
    assert tiles(custodian_report(small, audit=levels))[-1] == "1 unsafe cells known too closely by the audit"
    exactly = replace(found, insiders=worst)  # only what is known exactly counts where no levels were asked for
    assert exactly.known_too_closely == 0
    worst[0] = WorstInsider.RECOVERABLE
    assert replace(found, insiders=worst).known_too_closely == 1
    assert replace(found, together=worst).known_too_closely == 1


def test_headline_is_never_good_where_a_sum_is_unsafe(small):
    found = replace(ds.audit(small), sums=("a sum",))
    page = custodian_report(small, audit=found)
    assert tiles(page)[-1] == "0 unsafe cells known too closely by the audit, and 1 unsafe sum"
    assert 'class="is-good"' not in page


def test_headline_of_altered_values(small):
    table = small.custodian.tables.tables[0]
    rounded = ds.protect(table, ds.Round(base=7, rule="conventional", levels=False))
    page = custodian_report(rounded)
    assert tiles(page)[:2] == ["16 cells", "1 unsafe 6.2 %"]
    assert tiles(page)[-1] == "? unsafe cells known too closely not audited"
    assert 'class="heat"' in page.split('<section aria-labelledby="changes">')[0]


def test_long_lists_are_folded_and_short_ones_are_open(pages, small):
    assert re.search(r"<details>\s*<summary>Unsafe cells in survey: \d+", pages["custodian"])
    assert re.search(r"<details open>\s*<summary>Unsafe cells in turnover: 1 listed", custodian_report(small))


def test_charts_name_their_colours_and_one_stands_for_unsafe(pages):
    images = re.findall(r"<svg role=.*?</svg>", pages["custodian"], re.DOTALL)
    drawn = [image for image in images if 'class="follows"' in image]
    assert len(drawn) == 4  # all but the pattern, which the style colours
    for image in drawn:
        bare = re.sub(r"var\(--[a-z]+, #[0-9a-f]{6}\)", "", image)
        assert not re.search(r'(style="[^"]*|fill=")#[0-9a-f]{6}', bare)
    assert ".b1 { stroke: var(--unsafe); }" in pages["custodian"]
    assert sum("var(--unsafe, #b3361f)" in image for image in drawn) == 3


def test_words_in_a_chart_are_not_taken_for_colours(small):
    from discreet.report.plots import drawn

    image = drawn(lambda figure: figure.text(0.1, 0.5, 'a: #b3361f; fill="#b3361f"'), 1.0, "words")
    assert "a: #b3361f" in image


def test_a_chart_with_other_colours_stays_on_white_paper():
    from discreet.report.plots import drawn

    image = drawn(lambda figure: figure.text(0.1, 0.5, "x", color="#12ab34"), 1.0, "green")
    assert "follows" not in image
    assert "var(" not in image


def test_a_cell_of_one_contributor_is_not_said_to_have_a_second():
    import pyarrow as pa

    firms = pa.table({"r": ["a", "b", "b", "b"], "v": [9, 5, 4, 4], "f": [1, 2, 3, 4]})
    table = ds.tabulate(firms, by={"r": ds.Hierarchy.flat(["a", "b"])}, value="v", contributor="f")
    table = table.assess(ds.PPercent(10))
    assert table.reasons(table.row(r="a")) == [
        "p% rule: there is one contributor, and the cell's value is its contribution (limit 10 %)"
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(79718.4, "79,718"), (999.96, "1,000"), (999.4, "999.4"), (-2.5, "−2.5"), (0.0, "0"), (-0.00001, "> −0.0001")],
)
def test_measured_numbers_have_no_exponent(value, text):
    assert plain_number(value) == text
