"""Releases that the reports are about."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as ds
from discreet.attack import Audit
from discreet.generate import business_survey
from discreet.model.custodian import TableCustodian
from discreet.model.public import PublicRelease, public_table
from discreet.model.release import Release
from discreet.model.table import CellStatus, Table
from discreet.model.tableset import TableSet

RULES = (ds.PPercent(10), ds.MinContributors(3))


@pytest.fixture(scope="session")
def small() -> Release:
    """One unsafe cell, three secondary ones."""
    return ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress(insiders=None))


@pytest.fixture(scope="session")
def survey_table() -> Table:
    made = business_survey(300, activities=(3, 6, 12), regions=(2, 6))
    by = {
        v: ds.Hierarchy.from_parents(made.parents[v], "Total").labelled(made.labels[v]) for v in ("activity", "region")
    }
    return ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover", name="survey")


@pytest.fixture(scope="session")
def survey(survey_table: Table) -> Release:
    """Two hierarchies, two rules that overlap, one unsafe cell published by force and one marked by hand."""
    table = survey_table.assess(*RULES)
    by_size = np.argsort(-table.value, kind="stable")
    forced = by_size[table.unsafe[by_size]][0]
    marked = by_size[~table.unsafe[by_size]][-1]
    codes = {table.spec_codes(table.codes[row].tolist()): letter for row, letter in ((forced, "P"), (marked, "U"))}
    return ds.protect(survey_table.marked(codes).assess(*RULES), ds.Suppress(insiders=None, joint=False))


@pytest.fixture(scope="session")
def survey_audit(survey: Release) -> Audit:
    return ds.audit(survey)


@pytest.fixture(scope="session")
def broken(small: Release) -> Release:
    """A release that publishes one of the cells it should withhold besides."""
    custodian = small.custodian
    status = custodian.status[0].copy()
    status[np.flatnonzero(status == CellStatus.SECONDARY)[0]] = CellStatus.SAFE
    return release_of(custodian.tables, status, custodian.evidence, custodian.log)


def release_of(tables: TableSet, status, evidence=(), log=None) -> Release:
    """A release made by hand from one table and its statuses."""
    hidden = (status == CellStatus.UNSAFE) | (status == CellStatus.SECONDARY)
    public = PublicRelease((public_table(tables.tables[0], hidden),))
    return Release(public, TableCustodian(tables, (status,), tuple(evidence), log or {}))
