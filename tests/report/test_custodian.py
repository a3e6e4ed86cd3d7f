"""A colleague who did not see the run can answer all questions from the custodian's page."""

from __future__ import annotations

import json
from html import escape

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.table import CellStatus
from discreet.model.tableset import TableSet
from discreet.relations import build_system
from discreet.report import custodian_report
from discreet.report.numbers import TableNumbers
from discreet.report.structure import structure_part
from discreet.report.words import count, interval, number, percent
from discreet.verify import Verdict
from tests.report.conftest import release_of
from tests.report.reader import Page


@pytest.fixture(scope="module")
def page(survey, survey_audit) -> Page:
    return Page(custodian_report(survey, audit=survey_audit, recipe="version = 1\n"))


@pytest.fixture(scope="module")
def numbers(survey) -> TableNumbers:
    return TableNumbers(survey.custodian.tables.tables[0], survey.custodian.status[0])


def plain(text: str) -> str:
    return " ".join(text.split())


# ---- the answers ----------------------------------------------------------------------------------------------


def test_status_table_has_the_cells_and_the_value(page, numbers):
    shown = page.table("Cells and value by status")
    tally, value = numbers.tally, numbers.base_value
    for name, letter, cells, worth in (
        ("Published", "V, P", tally.published, value.published),
        ("of these by force", "P", tally.forced, value.forced),
        ("Withheld", "U, M", tally.withheld, value.withheld),
        ("unsafe", "U", tally.unsafe, value.unsafe),
        ("besides (secondary)", "M", tally.secondary, value.secondary),
        ("Empty", "E", tally.empty, value.empty),
        ("All cells", "", tally.total, value.total),
    ):
        assert shown.row(name) == [
            name,
            letter,
            count(cells),
            percent(cells, tally.total),
            number(worth, numbers.table.decimals),
            percent(worth, value.total),
        ]


def test_summary_answers_the_questions(page, numbers):
    tally = numbers.tally
    assert f"{tally.unsafe} of {tally.total} cells" in page.text
    assert f"the {tally.unsafe} unsafe and {tally.secondary} besides" in page.text
    assert "1 cell breaks a rule and is published by force" in page.text
    assert f"{tally.secondary / tally.unsafe:.2f} for each unsafe cell" in page.text
    assert "No withheld cell can be worked out exactly; every unsafe cell keeps its level." in page.text


def test_rules_stand_in_words_with_their_counts(page, numbers):
    shown = page.table("Rules, and the cells that break them")
    for reason, row in zip(numbers.reasons, shown.rows[1:], strict=True):
        assert row[1:] == [count(n) for n in (reason.hit, reason.only, reason.hit - reason.only, reason.forced)]
    assert "within 10 %" in shown.rows[1][0]
    assert "fewer than 3" in shown.rows[2][0]
    assert "by hand" in shown.rows[3][0]
    overlap = page.table("Cells that break two rules at once")
    assert [row[1:] for row in overlap.rows[1:]] == [[count(n) for n in r.with_others] for r in numbers.reasons]


def test_examples_give_the_reasons_of_their_cells(page, survey):
    table = survey.custodian.tables.tables[0]
    shown = page.table("Examples")
    for row in shown.rows[1:]:
        codes = {v: row[i].split()[0] for i, v in enumerate(table.variables)}
        for reason in ds.Table.reasons(table, table.row(**codes)):
            assert plain(reason) in row[shown.rows[0].index("Why unsafe")]


def test_levels_are_shown_for_every_variable(page, numbers):
    shown = page.table("Withheld cells by level")
    for level in numbers.levels:
        row = shown.row(level.variable, str(level.depth))
        assert row[4:8] == [
            count(n) for n in (level.tally.total, level.tally.unsafe, level.tally.secondary, level.tally.withheld)
        ]


def test_all_withheld_cells_are_listed_with_required_and_remaining_interval(survey, survey_audit):
    table, status = survey.custodian.tables.tables[0], survey.custodian.status[0]
    page = Page(custodian_report(survey, audit=survey_audit, most_cells=10_000))
    audited = survey_audit.columns()
    where = {cell: i for i, cell in enumerate(survey_audit.intervals.cells.tolist())}
    for caption, kind in (("Unsafe cells", CellStatus.UNSAFE), ("Cells withheld besides", CellStatus.SECONDARY)):
        shown = page.table(caption)
        rows = np.flatnonzero(status == kind)
        assert len(shown.rows) - 1 == len(rows)
        by_codes = {tuple(cell.split()[0] for cell in row[:2]): row for row in shown.rows[1:]}
        for r in rows.tolist():
            line = by_codes[table.spec_codes(table.codes[r].tolist())]
            i = where[int(survey_audit.system.of[0][r])]
            assert line[2] == number(int(table.value[r]), table.decimals)
            assert line[3] == count(int(table.contributions["holding"].count[r]))
            assert line[-1] == plain(interval(round(audited["lower"][i]), round(audited["upper"][i]), 0))
            if kind == CellStatus.UNSAFE:
                need = table.value[r] - table.assessment.lower[r], table.value[r] + table.assessment.upper[r]
                assert line[-2] == plain(interval(*need, 0))


def test_lists_are_cut_and_say_so(survey, numbers):
    page = Page(custodian_report(survey, most_cells=3))
    shown = page.table("Unsafe cells")
    assert len(shown.rows) == 4
    assert f"{numbers.tally.unsafe - 3} more stand in the custodian’s cell file" in shown.caption
    values = [int(v.replace(",", "")) for v in shown.column("Value")]
    assert values == sorted(values, reverse=True)


def test_cost_is_the_secondary_cells_and_their_value(page, numbers):
    row = page.table("Cells withheld besides the unsafe ones").rows[1]
    value, decimals = numbers.base_value, numbers.table.decimals
    assert row == [
        "survey",
        count(numbers.tally.secondary),
        f"{numbers.tally.secondary / numbers.tally.unsafe:.2f}",
        count(numbers.base_tally.secondary),
        number(value.secondary, decimals),
        percent(value.secondary, value.total),
        percent(value.withheld, value.total),
        number(numbers.secondary_value, decimals),
    ]


def test_audit_shows_what_can_be_deduced(page, survey_audit, numbers):
    shown = page.table("Result of the audit")
    cells = survey_audit.intervals.cells
    assert [row[1] for row in shown.rows[1:]] == [
        count(n) for n in (len(cells), int(survey_audit.system.unsafe[cells].sum()), 0, 0)
    ]
    widths = page.table("Width of the interval")
    assert sum(int(n) for n in widths.column("Unsafe cells")) == numbers.tally.unsafe
    assert sum(int(n) for n in widths.column("Cells withheld besides")) == numbers.tally.secondary


def test_without_an_audit_the_proved_intervals_are_shown_and_called_so(survey):
    page = Page(custodian_report(survey))
    assert "the attacker’s true interval contains them and may be wider" in page.text
    assert "Proved possible" in page.table("Unsafe cells").rows[0]
    assert "Result of the audit" not in page.text


def test_a_sampled_audit_is_called_so_and_never_a_full_one(survey):
    page = Page(custodian_report(survey, audit=ds.audit(survey, sample=2)))
    assert "not an audit of all cells" in page.text
    assert "random sample of 2 of" in page.text
    assert "computed for every withheld cell" not in page.text
    assert "Proved possible" in page.text
    assert "every unsafe cell keeps its level" not in page.text
    assert "of these looked at" in page.text


def test_an_audit_that_only_decides_levels_shows_no_intervals_of_its_own(survey):
    page = Page(custodian_report(survey, audit=ds.audit(survey, exact=False)))
    assert "did not compute both ends" in page.text
    assert "computed for every withheld cell" not in page.text
    assert "sample" not in page.text


def test_a_sample_that_contradicts_the_verdict_is_shown_as_such(broken, small):
    page = Page(custodian_report(broken, audit=ds.audit(broken, sample=1_000), verdict=small.verify()))
    full = Page(custodian_report(broken, audit=ds.audit(broken), verdict=small.verify()))
    assert ("contradict" in page.text) == ("contradict" in full.text)


def test_audit_of_another_release_is_refused(survey, small, broken):
    for other in (small, broken):
        with pytest.raises(ParameterError, match="another release"):
            custodian_report(survey if other is small else small, audit=ds.audit(other))


# ---- the verdict ----------------------------------------------------------------------------------------------


def test_verdict_names_what_was_proved_against_whom_and_what_was_not(page, survey):
    verdict = survey.verify()
    assert page.headings[1] == (2, "1 Verdict: the claims below were proved")
    for said in (*verdict.proved, *verdict.asserted, *verdict.attackers, *verdict.not_considered):
        assert plain(said) in page.text


def test_refused_release_is_refused_loudly(broken):
    page = Page(custodian_report(broken))
    assert page.headings[1] == (2, "1 Verdict: refused, do not publish")
    assert str(broken.verify().refused[0]) in page.text
    assert "Not established" in page.text


def test_unverified_release_is_called_so(small):
    page = Page(custodian_report(small, verdict=Verdict()))
    assert page.headings[1] == (2, "1 Verdict: not verified, nothing is proved")


def test_audit_that_contradicts_a_verdict_goes_before_it(broken, small):
    page = Page(custodian_report(broken, audit=ds.audit(broken), verdict=small.verify()))
    assert page.headings[1] == (2, "1 Verdict: the intervals contradict the claims, do not publish")
    assert "known exactly" in page.table("Unsafe cells").rows[1][-1]
    assert "1 unsafe cell is short of the protection level" in page.text


def test_verdict_of_another_release_does_not_make_one_proved(small):
    bare = release_of(small.custodian.tables, small.custodian.status[0])
    page = Page(custodian_report(bare, verdict=small.verify()))
    assert page.headings[1] == (2, "1 Verdict: the intervals contradict the claims, do not publish")


# ---- how to repeat it -----------------------------------------------------------------------------------------


def test_log_recipe_and_versions_are_complete(page, survey):
    assert page.blocks[0] == "version = 1\n"
    assert json.loads(page.blocks[-1]) == json.loads(json.dumps(survey.custodian.log))
    assert "discreet verify out" in page.text
    assert f"made with discreet {survey.custodian.log['discreet']}" in page.text
    assert page.table("Methods, in order").rows[1][0] == "suppress"
    assert page.table("Methods, in order").rows[1][1].startswith("cost = value, exponent = 1.0, insiders = None")


def test_python_steps_make_the_same_release(page, survey):
    steps = page.blocks[1]
    scope = {"table": survey.custodian.tables.tables[0].with_(assessment=None)}
    exec(steps, scope)
    assert np.array_equal(scope["release"].custodian.status[0], survey.custodian.status[0])


def test_a_repaired_release_says_so_and_does_not_spread_out_the_pattern(small):
    table = small.custodian.tables.tables[0]
    release = ds.repair(table, small.pattern(), ds.Suppress(insiders=None, prefer=small.pattern())).release
    page = Page(custodian_report(release))
    steps = page.blocks[0]
    assert f"# pattern is 'turnover', digest {small.pattern().digest}" in steps
    assert "prefer=, last period's pattern" in steps
    scope = {"table": table.with_(assessment=None), "pattern": small.pattern()}
    exec(steps, scope)
    assert np.array_equal(scope["release"].custodian.status[0], release.custodian.status[0])
    assert "prefer = 1 entry, in the log" in page.table("Methods, in order").rows[1][1]


def test_notes_and_settings_of_the_table_are_shown(small):
    table = small.custodian.tables.tables[0]
    spec = table.spec.with_(where=("employees >= 10",), weight="w", period="2024", decimals=0)
    noted = table.with_(spec=spec, notes=("Totals were computed anew.",))
    page = Page(custodian_report(release_of(TableSet([noted]), small.custodian.status[0]), verdict=Verdict()))
    facts = dict(row for row in page.table("What the table is about").rows)
    assert (facts["Universe"], facts["Weight"], facts["Period"]) == ("employees >= 10", "w", "2024")
    assert facts["Decimals"] == "0 published, 0 inside"
    assert "Totals were computed anew." in page.text


# ---- several tables, and tables with nothing in them ----------------------------------------------------------


def test_linked_tables_stand_on_one_page(survey_table):
    by_activity = survey_table.spec.with_(by={"activity": survey_table.spec.by["activity"]}, name="by activity")
    at_total = survey_table.codes[:, 1] == 0
    small = survey_table.at(np.flatnonzero(at_total))
    small = small.with_(spec=by_activity, codes=small.codes[:, :1])
    tables = TableSet([survey_table, small]).assess(ds.MinContributors(4))
    release = ds.protect(tables, ds.Suppress(insiders=None, joint=False))
    for audit in (None, ds.audit(release)):
        page = Page(custodian_report(release, audit=audit))
        assert f"survey and by activity share {int(at_total.sum())} cells" in page.text
        assert (3, "by activity") in page.headings
        assert "tables = ds.TableSet([table1, table2])" in page.blocks[0]


def test_release_with_nothing_withheld_has_a_report():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(1)), ds.Suppress())
    page = Page(custodian_report(release, audit=ds.audit(release)))
    assert "0 of 16 cells (0 %)" in page.text
    assert "Nothing is withheld in this table" in page.text


def test_table_without_cells_has_a_report(small):
    none = small.custodian.tables.tables[0].at(np.zeros(0, np.int64))
    page = Page(custodian_report(release_of(TableSet([none]), none.status)))
    assert "0 of 0 cells (–)" in page.text


def test_unsafe_zeros_and_unlimited_intervals_have_a_place():
    table = ds.examples.small_table()
    value = table.value.copy()
    value[[0, 1, 4, 5]] -= 120
    release = ds.protect(table.with_(value=value, contributions={}).assess(ds.ZeroUnsafe()), ds.Suppress())
    widths = Page(custodian_report(release, audit=ds.audit(release))).table("Width of the interval")
    assert widths.row("value is zero")[1] == "1"


@pytest.mark.parametrize("most", [-1, True, "10"])
def test_impossible_length_of_lists_is_refused(small, most):
    with pytest.raises(ParameterError, match="most_cells"):
        custodian_report(small, most_cells=most)


def test_structure_stands_at_the_end_folded_and_with_its_links_named(survey):
    page = custodian_report(survey)
    found = survey.custodian.tables.structure()
    assert found.few_links
    section = page[page.index('<section aria-labelledby="structure">') :]
    assert section.count("<details>") == 1  # folded: not open
    assert escape(found.found.summary()) in section
    assert escape(found.links[0]).replace("&#x27;", "&#39;") in section
    assert f"and {len(found.links) - 10} more" in section
    assert '<a href="#structure">' in page
    assert section.count("<section") == 1


def test_tables_without_a_structure_show_none(small):
    assert "hang together" not in custodian_report(small)


def test_large_tables_show_parts_that_nothing_links_and_no_others(survey, monkeypatch):
    monkeypatch.setattr("discreet.report.structure.SEARCHED_UP_TO", 100)
    assert "hang together" not in custodian_report(survey)
    (table,) = survey.custodian.tables
    apart = TableSet([table.with_(spec=table.spec.with_(period=year, name=year)) for year in ("2024", "2025")])
    part = structure_part(build_system(apart))
    assert part is not None
    assert part.words.startswith("2 blocks")
    assert part.words.endswith("Nothing links them.")
    assert part.links == ()


def test_altered_tables_show_their_structure_too(survey_table):
    counts = survey_table.assess(ds.MinContributors(3))
    page = custodian_report(ds.protect(counts, ds.Round(5, levels=False)))
    assert page[page.index('<section aria-labelledby="structure">') :].count("<details>") == 1
    assert '<a href="#structure">How the tables hang together</a>' in page
