"""The public page shows what is public, and cannot show more."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.errors import ParameterError
from discreet.model.release import Custodian, Release
from discreet.model.table import Contributions
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
    return Release(release.public, Custodian(custodian.tables, custodian.status, custodian.evidence, log))


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
