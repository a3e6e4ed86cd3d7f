"""What holds for every page: it needs nothing, trusts nobody, and can be read by everybody."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pytest

import discreet as ds
from discreet.errors import NeedsError
from discreet.model.tableset import TableSet
from discreet.report import custodian_report, public_report
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
    assert not {"script", "link", "iframe", "object", "embed", "base", "form", "img"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not [name for name in attributes if name in ("src", "srcset", "action") or name.startswith("on")]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not re.search(r"https?:|@import|url\((?!#)", page)


def test_policy_forbids_scripts_and_requests(page):
    policy = next(a["content"] for tag, a in Page(page).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


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
        assert not {"script", "img"} & {tag for tag, _ in read.tags}
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
