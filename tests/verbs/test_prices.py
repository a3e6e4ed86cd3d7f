"""The price list of a suppressed release."""

from __future__ import annotations

import pytest

import discreet as ds
from discreet.errors import ProtectionError
from discreet.model.table import CellStatus
from discreet.verbs import prices as prices_module
from discreet.verbs.prices import PROMISES


def survey() -> ds.Table:
    made = ds.generate.business_survey(400)
    return ds.tabulate(made.records, by=["region", "size"], value="turnover", contributor="holding")


def test_prices_are_those_of_releases_with_these_promises():
    table = survey().assess(ds.PPercent(10), ds.MinContributors(3))
    release = ds.protect(table, ds.Suppress())
    found = release.prices()
    assert [price.promise for price in found.prices] == list(PROMISES)
    assert [price.here for price in found.prices] == [False, False, False, True, False]
    assert not found.at_most
    for price, insiders, joint in zip(
        found.prices[1:], [None, "nonzero", "nonzero", "full"], [False, False, True, True], strict=True
    ):
        other = ds.protect(table, ds.Suppress(insiders=insiders, joint=joint))
        (status,) = other.custodian.status
        assert price.besides == int((status == CellStatus.SECONDARY).sum())
        assert price.withheld == price.besides + int(table.unsafe.sum())
    assert "<- this release" in str(found).splitlines()[4]
    assert found.to_frame("pandas").shape == (5, 5)
    assert release.summary(prices=True) == f"{release.summary()}\n\n{found}"


def test_a_release_with_other_promises_has_a_line_of_its_own():
    table = survey().assess(ds.PPercent(10))
    found = ds.protect(table, ds.Suppress(insiders=None, joint=True)).prices()
    assert [price.promise for price in found.prices if price.here] == ["what this release promises"]


def test_less_effort_gives_upper_bounds_and_says_so():
    table = survey().assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress())
    found = release.prices(effort=0)
    assert found.at_most
    assert "at most" in str(found)


def test_a_promise_that_cannot_be_kept_is_named(monkeypatch):
    table = survey().assess(ds.PPercent(10))
    release = ds.protect(table, ds.Suppress())
    protect_tables = prices_module.protect_tables

    def full_is_impossible(whole, method, already):
        if method.insiders == "full":
            raise ProtectionError("1 unsafe cell cannot be protected")
        return protect_tables(whole, method, already)

    monkeypatch.setattr(prices_module, "protect_tables", full_is_impossible)
    found = release.prices(effort=0)
    assert [price.withheld is None for price in found.prices] == [False, False, False, False, True]
    assert "cannot be kept" in str(found).splitlines()[-1]


def test_releases_without_withheld_cells_have_none():
    made = ds.generate.census_population(300)
    table = ds.tabulate(made.records, by=["sex"]).assess(ds.MinFrequency(3))
    release = ds.protect(table, ds.SmallCount(base=3, insecure_seed=1))
    with pytest.raises(ds.DiscreetError, match="Only tables with withheld cells have a price list"):
        release.prices()
