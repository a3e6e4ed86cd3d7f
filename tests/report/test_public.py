"""The public page shows what is public, and cannot show more."""

from __future__ import annotations

import copy
from dataclasses import fields

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.custodian import TableCustodian
from discreet.model.release import Release
from discreet.model.table import CellStatus, Contributions
from discreet.report import public_report
from tests.report.reader import Page

CANARY = "canary-7h3k"


@pytest.fixture(scope="module")
def planted() -> Release:
    """A release whose confidential numbers are unlike any other, with words planted where words can stand."""
    table = ds.examples.small_table()
    value = table.value * 104_729
    found = table.contributions["holding"]
    top = found.top * 104_729 + np.array([31, 17, 5])
    planted = table.with_(
        spec=table.spec.with_(shadow=CANARY, cost=CANARY),
        value=value,
        contributions={"holding": Contributions(found.count + 88_000, value, top, found.negative)},
        cost=np.full(16, 90_210.5),
        notes=(CANARY,),
    )
    release = ds.protect(planted.assess(ds.PPercent(10)), ds.Suppress())
    custodian = release.custodian
    log = {**custodian.log, "key": CANARY}
    return Release(release.public, TableCustodian(custodian.tables, custodian.status, custodian.evidence, log))


def test_nothing_of_the_custodian_is_on_the_page(planted):
    page = public_report(planted.public)
    custodian = planted.custodian
    table, hidden = custodian.tables.tables[0], custodian.withheld(0)
    secrets = set(table.value[hidden].tolist())
    secrets |= set(table.assessment.lower[hidden].tolist()) | set(table.assessment.upper[hidden].tolist())
    secrets |= set(table.contributions["holding"].top.ravel().tolist())
    secrets |= set(table.contributions["holding"].count.tolist()) | {90_210}
    secrets |= {int(abs(a)) for evidence in custodian.evidence for a in evidence.certificates.amount}
    published = set(table.value[~hidden].tolist())
    for secret in sorted(s for s in secrets - published if s > 1000):
        assert str(secret) not in page
        assert f"{secret:,}" not in page
    for word in (CANARY, "unsafe cell", "secondary", "p_percent", "p%", "suppress", "protection level", "contributors"):
        assert word not in page


def test_withheld_cells_are_empty_and_marked(planted):
    shown = Page(public_report(planted.public)).table("All 16 cells")
    public = planted.public.tables[0]
    assert shown.column("Status") == public.status
    assert [value == "" for value in shown.column("Value")] == [s == "X" for s in public.status]
    assert shown.rows[1] == ["Total", "Total", f"{920 * 104_729:,}", "V"]


def test_dimensions_and_counts_are_told(planted):
    read = Page(public_report(planted.public, title="Turnover 2024", notes=["Revised in May."]))
    assert (
        "trade (4 codes) × region (4 codes): 16 cells, 12 published (75.0 %), 4 withheld (25.0 %), 0 empty" in read.text
    )
    assert read.headings[0] == (1, "Turnover 2024")
    assert "Revised in May." in read.text
    assert [row[0] for row in read.table("Status letters").rows[1:]] == ["V", "X", "E"]


def test_only_the_first_cells_are_shown(planted):
    shown = Page(public_report(planted.public, most_cells=2)).table("The first 2 cells")
    assert len(shown.rows) == 3


def test_only_the_public_part_is_taken(planted):
    for other in (planted, planted.custodian, planted.custodian.tables.tables[0], planted.public.tables[0]):
        with pytest.raises(ParameterError, match="public part"):
            public_report(other)


def test_one_long_text_is_not_a_list_of_notes(planted):
    with pytest.raises(ParameterError, match="list of sentences"):
        public_report(planted.public, notes="Revised in May.")


def test_impossible_number_of_cells_is_refused(planted):
    with pytest.raises(ParameterError, match="most_cells"):
        public_report(planted.public, most_cells=-1)


# ---- no field of the custodian can be told from the page ----------------------------------------------------------

PUBLIC_IN_TABLE = {"spec", "codes", "value", "decimals", "empty"}
"""Fields of a table of which the public sees a part; what it must not see of them is tested apart."""
PUBLIC_IN_SPEC = {"by", "name", "decimals"}
PUBLIC_IN_CUSTODIAN = {"tables", "status", "published", "intervals"}
RELEASES = {
    "suppressed": ds.Suppress(),
    "rounded": ds.Round(base=7, rule="unbiased", levels=False, insecure_seed=1),
    "intervals": ds.Intervals(insecure_seed=1),
}


class Canary:
    """Stands in any field; whoever prints it gives itself away.

    Evidence only tells its decimals, and of its facts the coverage of confidence intervals, which these have not.
    """

    def __init__(self, decimals: int = 0) -> None:
        self.decimals = decimals
        self.facts = {CANARY: CANARY, "reach": CANARY}

    def __repr__(self) -> str:
        return CANARY


def forced(thing, **changes):
    """A copy with some fields replaced, whatever its checks say."""
    made = copy.copy(thing)
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


def page_of(custodian) -> str:
    return public_report(forced(custodian).public(), most_cells=1000)


@pytest.fixture(scope="module", params=RELEASES)
def custodian(request):
    table = ds.examples.small_table().assess(ds.PPercent(10))
    return ds.protect(table, RELEASES[request.param]).custodian


def with_table(custodian, **changes):
    whole = custodian.tables
    return forced(custodian, tables=forced(whole, tables=(forced(whole.tables[0], **changes),)))


def test_fields_of_the_custodian_leave_no_trace(custodian):
    expected = page_of(custodian)
    secret = {field.name for field in fields(custodian)} - PUBLIC_IN_CUSTODIAN
    assert secret == {"evidence", "log", "already", "key"}
    for name in secret:
        value = (Canary(custodian.decimals),) if name == "evidence" else Canary()
        assert page_of(forced(custodian, **{name: value})) == expected, name


def test_fields_of_tables_leave_no_trace(custodian):
    expected = page_of(custodian)
    table = custodian.tables.tables[0]
    secret = {field.name for field in fields(table)} - PUBLIC_IN_TABLE
    assert {"contributions", "assessment", "cost", "notes", "source", "manual", "lower_bound"} <= secret
    for name in secret:
        assert page_of(with_table(custodian, **{name: Canary()})) == expected, name


def test_fields_of_specs_leave_no_trace(custodian):
    expected = page_of(custodian)
    spec = custodian.tables.tables[0].spec
    secret = {field.name for field in fields(spec)} - PUBLIC_IN_SPEC
    assert {"shadow", "cost", "where", "weight"} <= secret
    for name in secret:
        if name != "value":
            assert page_of(with_table(custodian, spec=forced(spec, **{name: Canary()}))) == expected, name


def test_values_that_are_not_published_leave_no_trace(custodian):
    expected = page_of(custodian)
    table = custodian.tables.tables[0]
    hidden = custodian.withheld(0) | (custodian.published is not None)
    other = np.where(hidden, table.value * 31 + 104_729, table.value)
    assert (other != table.value).any()
    assert page_of(with_table(custodian, value=other)) == expected


def test_why_a_cell_is_withheld_leaves_no_trace(custodian):
    expected = page_of(custodian)
    swapped = {CellStatus.UNSAFE: CellStatus.SECONDARY, CellStatus.SECONDARY: CellStatus.UNSAFE}
    status = np.array([swapped.get(CellStatus(s), s) for s in custodian.status[0]], np.int8)
    assert (status != custodian.status[0]).any()
    assert page_of(forced(custodian, status=(status,))) == expected


def test_the_page_of_another_value_is_another_page(custodian):
    """The tests above would see a difference if there were one."""
    table = custodian.tables.tables[0]
    if custodian.published is None:
        changed = with_table(custodian, value=table.value + 1)
    else:
        changed = forced(custodian, published=(custodian.published[0] + 7,))
    assert page_of(changed) != page_of(custodian)
