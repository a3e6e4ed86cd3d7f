"""Rules and losses by level against counting cell by cell; bounds in words; intervals of altered values."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.model.table import CellStatus
from discreet.report import custodian_report
from discreet.report.deduction import altered_deduction
from discreet.report.findings import bounds_words
from discreet.report.levels import ALTERED, WITHHELD, loss_by_level, unsafe_by_level
from discreet.report.numbers import TableNumbers
from tests.report.reader import Page


def at_level(table, variable, level):
    """Rows of a table at a level of a variable, found by asking each code."""
    hierarchy = table.spec.by[variable]
    k = list(table.spec.by).index(variable)
    return [row for row in range(len(table)) if hierarchy.depth[table.codes[row, k]] == level]


def test_rules_are_counted_by_level(survey):
    table, status = survey.custodian.tables.tables[0], survey.custodian.status[0]
    numbers = TableNumbers(table, status)
    lines = unsafe_by_level(table, numbers.by_reason, status)
    assert lines[0].variable == "All cells"
    assert lines[0].numbers == tuple(
        f"{int(n):,}" for n in (*(b.sum() for b in numbers.by_reason), numbers.tally.unsafe)
    )
    for line in lines[1:]:
        rows = at_level(table, line.variable, int(line.level))
        unsafe = sum(status[row] == CellStatus.UNSAFE for row in rows)
        assert line.numbers[0] == str(sum(bool(numbers.by_reason[0][row]) for row in rows))
        assert line.numbers[-1] == str(unsafe)


def test_losses_are_counted_by_level(survey):
    table, hidden = survey.custodian.tables.tables[0], survey.custodian.withheld(0)
    lines = loss_by_level(table, table.value, table.decimals, hidden, WITHHELD)
    for line in lines[1:]:
        rows = [row for row in at_level(table, line.variable, int(line.level)) if not table.empty[row]]
        withheld = [row for row in rows if hidden[row]]
        assert line.numbers[:2] == (f"{len(rows):,}", f"{len(withheld):,}")
        if withheld:
            share = abs(table.value[withheld]).sum() / abs(table.value[rows]).sum()
            assert line.numbers[3] in (f"{100 * share:.1f} %", "100 %", "< 0.1 %", "> 99.9 %")


def test_losses_of_altered_values(small):
    table = small.custodian.tables.tables[0]
    after = table.value.copy()
    after[5] += 12  # 120 becomes 132
    (whole, *_) = loss_by_level(table, after, 0, np.zeros(16, np.bool_), ALTERED)
    assert whole.numbers[:5] == ("16", "6.2 %", "0.75", f"{10 / 16:.2f} %", "10.00 %")


def test_a_table_of_zeros_has_losses_without_numbers_to_divide_by(small):
    table = small.custodian.tables.tables[0]
    zeros = table.with_(value=np.zeros(16, np.int64))
    lines = loss_by_level(zeros, zeros.value, 0, np.ones(16, np.bool_), WITHHELD)
    assert lines[0].numbers == ("16", "16", "100 %", "–", "1.0000")


def test_bounds_are_said_in_words(small):
    table = small.custodian.tables.tables[0]
    assert bounds_words([table]) == ["turnover: all are at least 0, no upper bound"]
    lower = np.full(16, -5, np.int64)
    upper = table.value + 5
    assert bounds_words([table.with_(lower_bound=lower, upper_bound=upper)]) == [
        "turnover: a lower bound of 16 cells, an upper bound of 16 cells"
    ]


@pytest.fixture(scope="module")
def rounded():
    table = ds.examples.small_table().assess(ds.PPercent(10))
    return ds.protect(table, ds.Round(base=7, rule="conventional", levels=False))


def test_intervals_of_altered_values_are_those_of_the_audit(rounded):
    audit = ds.audit(rounded)
    found = altered_deduction(rounded.custodian, 0, audit)
    assert found.rows.tolist() == [7]
    columns = audit.columns()
    at = columns["unsafe"].index(True)
    assert (found.lower[0], found.upper[0]) == (columns["lower"][at], columns["upper"][at])
    assert altered_deduction(rounded.custodian, 0, None) is None
    assert altered_deduction(rounded.custodian, 0, ds.audit(rounded, exact=False)) is None


def test_the_page_of_altered_values_has_levels_intervals_and_a_map_of_unsafe_cells(rounded):
    page = Page(custodian_report(rounded, audit=ds.audit(rounded)))
    assert page.table("Information lost by level").rows[0][2:4] == ["Cells", "Changed"]
    assert page.table("Rules by level").row("All cells")[2:] == ["1", "1"]
    assert "1 of 16 cells (6.2 %) unsafe." in page.text
    assert "For half of the unsafe cells" in page.text
    assert "withheld besides" not in page.text


def test_a_comparison_can_stand_in_the_report(small, rounded):
    found = ds.compare(small.custodian.tables.tables[0], [ds.Suppress(), ds.Adjust()]).risk_map
    for release in (small, rounded):
        text = custodian_report(release, comparison=found)
        page = Page(text)
        assert (2, "Methods compared: risk and loss") in page.headings
        assert page.table("Loss of each method").rows[0] == ["Measure", "A", "B"]
        assert all(name in page.text for name in ("A Suppress()", "B Adjust()"))
        assert "script-src 'sha256-" in text
    assert "map-data" not in custodian_report(small)
