"""What results look like in a notebook."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.notebook import page
from discreet.verify import Verdict
from tests.report.reader import Page

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def table():
    return ds.examples.small_table().assess(ds.PPercent(10))


@pytest.fixture(scope="module")
def release(table):
    return ds.protect(table, ds.Suppress(insiders=None))


@pytest.fixture(scope="module")
def people():
    frame = pa.table({"age": ["20", "20", "30"], "sex": ["f", "f", "m"], "name": ["Ann", "Bo", "Cy"]})
    return ds.Microdata(frame, keys=["age", "sex"], identifier="name")


def chips(html: str) -> list[str]:
    return re.findall(r'<span class="chip ?\w*">([^<]*)</span>', html)


def test_a_table_has_a_headline_counts_and_its_cells_by_row_and_column(table):
    html = table._repr_html_()
    assert "<strong>turnover: 16 cells by trade × region</strong>" in html
    assert chips(html) == ["15 safe", "1 unsafe"]
    assert Page(html).tables[0].row("retail") == ["retail", "400", "120", "80", "200U"]


def test_an_unsafe_cell_has_a_colour_a_letter_and_its_reason(table):
    cell = re.search(r'<td class="n u" title="([^"]*)">200<sup>U</sup></td>', table._repr_html_())
    assert cell is not None
    assert cell[1].startswith("trade=retail, region=South: p% rule: the second largest contributor")


def test_a_table_that_nobody_assessed_says_so():
    assert chips(ds.examples.small_table()._repr_html_()) == ["16 not assessed"]
    unruled = ds.examples.small_table().assess()._repr_html_()
    assert "No rule was given: nothing but marks by hand says which cells are unsafe." in unruled


def test_a_release_shows_its_public_part_and_no_withheld_number(release):
    html = release._repr_html_()
    assert chips(html) == ["12 published", "4 withheld"]
    assert Page(html).tables[0].row("retail") == ["retail", "400", "X", "80", "X"]
    hidden = release.custodian.tables.tables[0].value[release.custodian.withheld(0)]
    shown = release.public.tables[0].value
    for number in set(hidden.tolist()) - set(shown.tolist()):
        assert f">{number}<" not in html


def test_the_custodians_part_shows_what_it_holds_and_no_array(release):
    for text in (repr(release.custodian), Page(release.custodian._repr_html_()).text):
        assert "Custodian's part of a release: confidential" in text
        assert "table turnover: 16 cells (12 safe, 1 unsafe, 3 secondary)" in text
        assert "evidence of suppress" in text
        assert "array" not in text
        assert "920" not in text


def test_the_custodians_part_of_records_shows_no_record(people):
    made = ds.protect(people, ds.Recode("age", {"20": "20-39", "30": "20-39"}))
    for text in (repr(made.custodian), Page(made.custodian._repr_html_()).text, repr(made.custodian.steps)):
        assert "age" in text
        assert "Ann" not in text
    assert "records" in repr(made.custodian).splitlines()[1]
    with pytest.raises(ParameterError, match="A release of records has no table to pivot"):
        made.pivot()


def test_a_verdict_has_its_headline_and_lists(release):
    html = release.verify()._repr_html_()
    assert "<strong>The claims hold.</strong>" in html
    assert chips(html)[:2] == ["verified", "Proved"]
    assert "Not considered" in html


def test_a_refused_verdict_says_do_not_publish():
    verdict = Verdict()
    for number in range(25):
        verdict.refuse("relation", EVIL, f"cell {number}")
    html = verdict._repr_html_()
    assert chips(html)[0] == "do not publish"
    assert "REFUSED for 25 reasons." in html
    assert "5 more reasons (refused has all)" in html
    assert "<script>" not in html


def test_a_verdict_that_shows_all_its_reasons_does_not_speak_of_more():
    verdict = Verdict()
    for number in range(20):
        verdict.refuse("relation", "no", f"cell {number}")
    html = verdict._repr_html_()
    assert html.count("<li>") == 20
    assert "more reason" not in html


def test_a_verdict_that_proved_or_judged_nothing_is_not_called_verified():
    assert chips(Verdict()._repr_html_()) == ["nothing proved"]
    assert chips(Verdict(proved=["x"], not_judged=["t"])._repr_html_())[0] == "nothing judged"


def test_an_audit_has_its_findings_as_a_table(release):
    html = release.audit()._repr_html_()
    assert chips(html)[0] == "every level is kept against the attackers below"
    assert Page(html).tables[0].row("unsafe cells short of their level")[1] == "0"


def test_an_audit_of_a_leaky_pattern_does_not_look_good(table):
    html = table.audit(insiders=None)._repr_html_()  # the unsafe cell alone is withheld
    assert chips(html)[0] == "not every unsafe cell is kept"


def test_an_audit_of_a_sample_does_not_speak_of_all_cells():
    made = ds.generate.business_survey(120, activities=(2, 4), regions=(2, 4))
    by = {name: ds.Hierarchy.from_parents(made.parents[name], "Total") for name in ("activity", "region")}
    firms = ds.Microdata(made.records, contributor="holding")
    table = ds.tabulate(firms, by=by, value="turnover").assess(ds.MinContributors(3))
    release = ds.protect(table, ds.Suppress(insiders=None, joint=False))
    assert int(table.unsafe.sum()) > 2
    first = chips(release.audit(sample=2)._repr_html_())[0]
    assert re.fullmatch(r"a sample: 2 of \d+ unsafe cells were looked at and are kept", first)


def test_a_hierarchy_is_a_tree_cut_where_it_is_long():
    tree = ds.Hierarchy.from_parents({"a": "A", "A": "Total"}, "Total").labelled({"A": "Crafts & <b>"})
    html = tree._repr_html_()
    assert chips(html) == ["1 base code", "3 levels", "total Total"]
    assert re.findall(r'style="padding-left:([\d.]+)em', html) == ["0.0", "1.1", "2.2"]
    assert "Crafts &amp; &lt;b&gt;" in html
    long = ds.Hierarchy.flat([f"c{i}" for i in range(50)])._repr_html_()
    assert "... 21 more codes (codes shows all)" in long


def test_microdata_show_roles_and_never_a_record(people):
    html = people._repr_html_()
    assert "Microdata from a Table in memory: 3 records, 3 columns" in html
    assert Page(html).tables[0].row("keys") == ["keys", "age, sex"]
    assert "Ann" not in html
    assessed = people.assess(ds.KAnonymity(2))._repr_html_()
    assert "some records are unsafe" in assessed
    assert "No column has a role" in ds.Microdata(people.source)._repr_html_()


def test_public_records_are_cut_and_say_how_to_see_all():
    frame = pa.table({"age": ["20", "30"] * 20})
    made = ds.protect(ds.Microdata(frame, keys=["age"]), ds.Recode("age", {"20": "young"}))
    html = made._repr_html_()
    assert "altered: age" in chips(html)
    assert "... 10 more records (shown() shows all)" in html


def test_a_comparison_has_a_map_and_a_line_a_method(table):
    html = ds.compare(table, [ds.Suppress(), ds.Adjust()])._repr_html_()
    assert "<strong>2 methods compared; smaller is better</strong>" in html
    assert html.count("<svg") == 1
    assert [row[1] for row in Page(html).tables[0].rows[1:]] == ["Suppress()", "Adjust()"]


def test_a_comparison_without_the_package_that_draws_has_its_lines(table, monkeypatch):
    import sys

    found = ds.compare(table, [ds.Suppress(), ds.Adjust()])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = found._repr_html_()
    assert "<svg" not in html
    assert "Suppress()" in html


def test_utility_is_a_table(release):
    html = release.utility(imputation="row_mean")._repr_html_()
    assert "totals_absolute" in html


def test_a_pattern_colours_its_words(release):
    html = release.pattern()._repr_html_()
    assert chips(html) == ["1 unsafe", "3 secondary", "12 published"]
    assert '<td class="u">unsafe</td>' in html


def test_hostile_names_stay_words(table):
    trade = ds.Hierarchy.flat([EVIL, "food", "crafts"]).labelled({EVIL: EVIL})
    spec = table.spec.with_(by={EVIL: trade, "region": table.spec.by["region"]}, name=EVIL, value=EVIL)
    hostile = ds.examples.small_table().with_(spec=spec, notes=(EVIL,)).assess(ds.PPercent(10))
    made = ds.protect(hostile, ds.Suppress(insiders=None))
    shown = [hostile, trade, made, made.custodian, made.verify(), made.audit(), made.pattern(), made.pivot()]
    for thing in shown:
        read = Page(thing._repr_html_())
        assert not {"script", "img"} & {tag for tag, _ in read.tags}
        assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]


def test_pages_need_no_theme():
    html = page("x")
    assert "prefers-color-scheme" not in html
    assert not re.search(r"[^-]color:#", html.replace(".paper{background:#fff;color:#1a2433", ""))


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_a_table_comes_back_in_the_kind_of_frame_that_came_in(package):
    pytest.importorskip(package)
    cells = pa.table({"r": ["Total", "a", "b"], "value": [3, 1, 2]})
    firms = pa.table({"r": ["a", "b", "b"], "v": [1, 1, 1]})
    if package != "pyarrow":
        change = (lambda t: t.to_pandas()) if package == "pandas" else pytest.importorskip("polars").from_arrow
        cells, firms = change(cells), change(firms)
    by = {"r": ds.Hierarchy.flat(["a", "b"])}
    ready, made = ds.Table.from_cells(cells, by=by), ds.tabulate(firms, by=by, value="v")
    for table in (ready, made, ready.assess()):
        assert type(table.to_frame()).__module__.split(".")[0] == package
        assert type(table.pivot().to_frame()).__module__.split(".")[0] == package


def test_a_table_becomes_a_pandas_frame(table, release):
    pytest.importorskip("pandas")
    assert table.to_pandas().status.tolist().count("U") == 1
    assert np.isnan(release.to_pandas().value.tolist()[5])
