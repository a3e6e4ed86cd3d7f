"""The checker on sets of tables: equations between variables, slack, and several periods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import InputError
from discreet.model.custodian import TableCustodian
from discreet.verify import check_release
from tests.battery.cases import INPUTS

REGION = ds.Hierarchy.flat(["N", "S", "W"])
SEX = ds.Hierarchy.flat(["f", "m"])


def ready(value: str, numbers: list[float], by: dict[str, ds.Hierarchy], **options: object) -> ds.Table:
    frame = {value: numbers}
    codes = [
        (r, *rest) for r in REGION.base_codes for rest in ([(s,) for s in SEX.base_codes] if len(by) > 1 else [()])
    ]
    for k, variable in enumerate(by):
        frame[variable] = [c[k] for c in codes]
    return ds.Table.from_cells(pa.table(frame), by=by, value=value, compute_totals=True, **options)


def test_an_equation_holds_only_where_every_part_is_known():
    """Home is known by region only, so there is no equation by sex."""
    turnover = ready("turnover", [10, 20, 30, 40, 50, 60], {"region": REGION, "sex": SEX})
    home = ready("home", [20, 40, 70], {"region": REGION})
    export = ready("export", [10, 30, 40], {"region": REGION})
    tables = ds.TableSet([turnover.marked({("N", "f"): "U"}), home, export], ["turnover = home + export"])
    release = ds.protect(tables.assess(), ds.Suppress(insiders=None))
    assert release.verify().holds, release.verify()


def test_an_equation_between_rounded_tables_may_be_off_by_their_rounding():
    by = {"region": REGION}
    turnover = ready("turnover", [31, 70, 110], by, slack="rounded")
    home = ready("home", [20, 40, 70], by, slack="rounded")
    export = ready("export", [10, 30, 40], by, slack="rounded")
    marked = turnover.marked({("N",): "U"})
    release = ds.protect(
        ds.TableSet([marked, home, export], ["turnover = home + export"]).assess(), ds.Suppress(insiders=None)
    )
    assert release.verify().holds, release.verify()
    exact = [table.with_(slack=None) for table in release.custodian.tables]
    lying = replace(release.custodian, tables=ds.TableSet(exact, ["turnover = home + export"]))
    assert "'turnover = home + export' does not hold" in str(check_release(lying, release.public))


def test_periods_may_have_other_classifications():
    """N was part of the north last year and is a region of its own this year."""
    last = ds.Hierarchy.from_nested({"North": ["N", "W"], "South": ["S"]})
    this = ds.Hierarchy.from_nested({"North": ["W"], "South": ["S", "N"]})
    tables = []
    for name, hierarchy in (("2023", last), ("2024", this)):
        frame = pa.table({"region": ["N", "S", "W"], "x": [7, 8, 9]})
        table = ds.Table.from_cells(
            frame, by={"region": hierarchy}, value="x", compute_totals=True, name=f"y{name}", period=name
        )
        tables.append(table.marked({("N",): "U"}))
    release = ds.protect(ds.TableSet(tables).assess(), ds.Suppress(insiders=None))
    assert release.verify().holds, release.verify()
    assert ds.TableSet(tables).shared() == []


def test_a_certificate_that_breaks_an_equation_between_variables_is_refused():
    release = ds.protect(INPUTS["equations"](), ds.Suppress(insiders=None))
    evidence = release.custodian.evidence[0]
    c = evidence.certificates
    turnover_only = replace(c, amount=np.where(c.entry_table == 0, 2 * c.amount, c.amount))
    lying = TableCustodian(
        release.custodian.tables, release.custodian.status, (replace(evidence, certificates=turnover_only),), {}
    )
    refused = check_release(lying, release.public).refused
    assert any("breaks 'turnover = home + export'" in str(refusal) for refusal in refused)


def test_a_shared_cell_withheld_in_one_table_and_published_in_the_other_is_refused():
    tables = INPUTS["linked"]()
    marked = tables.tables[0].with_(assessment=None).marked({("N2", "Total"): "U"})
    assessed = [table.with_(assessment=None).assess() for table in (marked, tables.tables[1])]
    release = ds.protect(ds.TableSet(assessed), ds.Suppress())
    shared = [
        (t, r)
        for t in range(2)
        for r in np.flatnonzero(release.custodian.withheld(t))
        if _is_margin(release, t, int(r))
    ]
    assert len(shared) >= 4
    for t, r in shared:
        status = [s.copy() for s in release.custodian.status]
        status[t][r] = 1
        lying = replace(release.custodian, status=tuple(status))
        assert not check_release(lying, release.public).holds


def _is_margin(release: ds.Release, table: int, row: int) -> bool:
    return release.custodian.tables.tables[table].codes[row, 1] == 0


def test_tables_with_other_names_than_the_public_ones_are_refused():
    release = ds.protect(INPUTS["linked"](), ds.Suppress())
    swapped = replace(release.public, tables=release.public.tables[::-1])
    assert "not those of the release" in str(check_release(release.custodian, swapped))
    with pytest.raises(ds.DiscreetError, match="does not prove what it claims"):
        check_release(release.custodian, swapped).require()


def test_a_release_without_stated_rules_is_refused():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(1)), ds.Suppress())
    bare = [table.with_(assessment=None) for table in release.custodian.tables]
    lying = replace(release.custodian, tables=ds.TableSet(bare))
    assert "nothing is known to be safe" in str(check_release(lying, release.public))


def test_a_rule_that_cannot_be_checked_again_is_not_called_proved():
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    tables = release.custodian.tables.tables

    def checked(kind):
        odd = replace(tables[0].assessment, rules=(*tables[0].assessment.rules, {"kind": kind}))
        return check_release(
            replace(release.custodian, tables=ds.TableSet([tables[0].with_(assessment=odd)])), release.public
        )

    verdict = checked("theirs.unheard_of")
    assert any("unheard_of" in text for text in verdict.asserted)
    assert not any("unheard_of" in text for text in verdict.proved)
    with pytest.raises(InputError, match="not well formed"):
        checked("unheard_of")
