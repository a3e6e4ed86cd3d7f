"""What nobody has judged is not called safe, and sums that nobody has declared are relations all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import NeedsError, ProtectionError
from discreet.verify.check import check_release

FLAT = ds.Hierarchy.flat(["N", "S", "W"])


def one_way(values, codes, total=None, **columns):
    by = {"region": ds.Hierarchy.flat([code for code in codes if code != total], total=total)}
    return ds.Table.from_cells(pa.table({"region": codes, "value": values, **columns}), by, counts=True)


# ---- not judged ---------------------------------------------------------------------------------------------


def test_a_table_that_was_not_assessed_calls_no_cell_safe():
    table = one_way([6, 3, 2, 1], ["Total", "N", "S", "W"], "Total")
    assert "4 not assessed" in str(table)
    assert "safe" not in str(table)
    assert table.columns()["status"] == ["?"] * 4
    assert table.assess(ds.MinFrequency(3)).columns()["status"] == ["V", "V", "U", "U"]


def test_a_table_that_was_assessed_without_rules_says_so():
    assert "No rule was given" in str(one_way([6, 3, 2, 1], ["Total", "N", "S", "W"], "Total").assess())


def test_tables_without_rules_and_marks_are_not_suppressed():
    table = one_way([6, 3, 2, 1], ["Total", "N", "S", "W"], "Total")
    with pytest.raises(NeedsError, match="nothing says which cells are unsafe"):
        ds.protect(table.assess(), ds.Suppress())
    marked = ds.protect(table.marked({("W",): "U"}).assess(), ds.Suppress()).verify()
    assert marked.holds
    assert any("are as they were marked by hand; no rule is stated" in text for text in marked.proved)


def test_a_release_without_rules_does_not_say_that_claims_hold():
    table = one_way([60, 30, 20, 10], ["Total", "N", "S", "W"], "Total").assess()
    verdict = ds.protect(table, ds.Round(5)).verify()
    assert str(verdict).startswith("Nothing was refused, but NOT JUDGED")
    assert "The claims hold" not in str(verdict)
    assert verdict.to_dict()["not_judged"] == [f"table {table.name}"]


def test_a_forged_release_whose_rules_were_taken_out_is_refused():
    release = ds.protect(ds.examples.small_table().assess(ds.Dominance(1, 99)), ds.Suppress())
    table = release.custodian.tables.tables[0]
    bare = table.with_(assessment=replace(table.assessment, rules=()))
    forged = replace(release.custodian, tables=release.custodian.tables.replaced([bare]))
    verdict = check_release(forged, release.public)
    assert "no rule is stated and no cell is marked, so nothing is known to be safe" in [
        refusal.message for refusal in verdict.refused
    ]


# ---- sums that nobody declared ------------------------------------------------------------------------------


@st.composite
def tables_with_a_hidden_total(draw):
    """Two variables; the margin of the first stands among its codes, which no total says."""
    rows, columns = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    inner = np.array([draw(st.integers(1, 60)) for _ in range(rows * columns)]).reshape(rows, columns)
    full = np.concatenate((inner, inner.sum(axis=0, keepdims=True)))
    full = np.concatenate((full.sum(axis=1, keepdims=True), full), axis=1)
    order = draw(st.permutations(range(rows + 1)))
    codes = [f"c{i}" for i in order]
    second = ds.Hierarchy.flat([f"y{j}" for j in range(columns)])
    cells = [(i, j) for i in order for j in range(columns + 1)]
    frame = pa.table(
        {
            "a": [f"c{i}" for i, _ in cells],
            "b": [second.codes[j] for _, j in cells],
            "value": [int(full[i, j]) for i, j in cells],
        }
    )
    return ds.Table.from_cells(frame, {"a": ds.Hierarchy.flat(codes, total=None), "b": second}, counts=True)


@settings(max_examples=60, deadline=None)
@given(table=tables_with_a_hidden_total())
def test_a_total_that_is_not_declared_is_found_and_refused(table):
    with pytest.raises(NeedsError, match="no total says so"):
        ds.protect(table.assess(ds.MinFrequency(2)), ds.Suppress())
    with pytest.raises(NeedsError, match="no total says so"):
        ds.audit(table.assess(ds.MinFrequency(2)))


@settings(max_examples=30, deadline=None)
@given(table=tables_with_a_hidden_total())
def test_the_checker_refuses_what_a_method_should_have(table):
    """Certified as if it were a coincidence; then the release no longer says that it was called one."""
    try:
        release = ds.protect(table.assess(ds.MinFrequency(4), unrelated=["a"]), ds.Suppress(insiders=None))
    except ProtectionError:
        return
    verdict = release.verify()
    assert verdict.holds
    assert any("that it is a coincidence that code" in text for text in verdict.asserted)
    custodian = release.custodian
    judged = custodian.tables.tables[0]
    options = {name: value for name, value in judged.assessment.options.items() if name != "unrelated"}
    silent = judged.with_(assessment=replace(judged.assessment, options=options))
    forged = replace(custodian, tables=custodian.tables.replaced([silent]))
    assert "relations" in {refusal.check for refusal in check_release(forged, release.public).refused}


def test_codes_that_do_not_add_up_are_left_alone():
    table = one_way([7, 3, 2, 1], ["A", "N", "S", "W"]).assess(ds.MinFrequency(2))
    assert ds.protect(table, ds.Suppress(insiders=None)).verify().holds


def test_two_names_of_one_code_that_nobody_declared_are_found():
    by = {"a": ds.Hierarchy.flat(["all", "N"], total=None), "b": ds.Hierarchy.flat(["x", "y"])}
    frame = pa.table({"a": ["all"] * 3 + ["N"] * 3, "b": ["Total", "x", "y"] * 2, "value": [5, 3, 2] * 2})
    table = ds.Table.from_cells(frame, by, counts=True).assess(ds.MinFrequency(3))
    with pytest.raises(NeedsError, match="code 'all' of 'a' is the sum of 'N' in 3 lines"):
        ds.protect(table, ds.Suppress())


def test_the_verdict_says_how_many_relations_were_used():
    verdict = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress()).verify()
    assert "relations used: 8, between 16 cells" in verdict.proved


# ---- one person alone ---------------------------------------------------------------------------------------


def test_where_one_contributor_stands_alone_the_message_names_every_way_out_and_what_it_gives_up():
    """One person in a place: for that person the zeros beside it are plain, whatever is withheld."""
    frame = pa.table({"place": ["p", *"qqqqrrrrr"], "job": ["a", *"aaabaabbb"]})
    by = {"place": ds.Hierarchy.flat(["p", "q", "r"]), "job": ds.Hierarchy.flat(["a", "b"])}
    table = ds.tabulate(frame, by=by, cells="all").assess(ds.MinFrequency(3), ds.ZeroUnsafe())
    with pytest.raises(ProtectionError) as error:
        ds.protect(table, ds.Suppress(insiders="full"))
    hint = str(error.value.hint)
    for way in ("insiders='nonzero' gives up", "insiders=None gives up", "accept= gives up", "merging costs"):
        assert way in hint
    with pytest.raises(ProtectionError) as error:
        ds.protect(table, ds.Suppress())
    assert "insiders='nonzero'" not in str(error.value.hint)
    assert "insiders=None gives up" in str(error.value.hint)
    assert ds.protect(table, ds.Suppress(insiders=None)).verify().holds
