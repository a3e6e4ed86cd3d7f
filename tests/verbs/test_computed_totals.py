"""Totals that a ready-made table lacks are never judged safer than they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import NeedsError, ParameterError

BY = {"trade": ds.Hierarchy.from_nested({"A": ["a", "b"], "C": ["c"]}), "region": ds.Hierarchy.flat(["N", "S"])}
RULES = (ds.PPercent(20), ds.MinContributors(3), ds.Dominance(2, 85))


def finest(table: ds.Table) -> pa.Table:
    """The finest cells of a table as another office would hand them over: no totals, nobody named."""
    bottom = np.all([h.base[table.codes[:, k]] for k, h in enumerate(table.spec.hierarchies)], axis=0)
    leaf = table.at(np.flatnonzero(bottom))
    found = leaf.contributions["holding"]
    columns = {name: leaf.columns()[name] for name in (*BY, "value")}
    columns["contributors"] = found.count.tolist()
    return pa.table({**columns, **{f"top{i + 1}": found.top[:, i] for i in range(3)}})


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("NS"), st.integers(0, 5), st.integers(1, 100)),
        min_size=2,
        max_size=25,
    )
)
def test_no_total_looks_safer_than_with_its_records(records):
    trade, region, firm, amount = (list(column) for column in zip(*records, strict=True))
    data = pa.table({"trade": trade, "region": region, "firm": firm, "amount": amount})
    true = ds.tabulate(ds.Microdata(data, contributor="firm"), by=BY, value="amount").assess(*RULES)
    made = ds.Table.from_cells(finest(true), by=BY, compute_totals=True, disjoint="unknown").assess(*RULES)
    assert np.array_equal(made.codes, true.codes)
    assert np.array_equal(made.value, true.value)
    assert not (true.unsafe & ~made.unsafe).any()
    assert (made.assessment.lower >= true.assessment.lower).all()
    assert (made.assessment.upper >= true.assessment.upper).all()


def test_one_firm_behind_all_cells_of_a_total_is_found():
    cells = {"region": ["N", "S", "W"], "value": [60, 55, 65], "contributors": [1, 1, 1], "top1": [60, 55, 65]}
    by = {"region": ds.Hierarchy.flat(["N", "S", "W"])}
    added = ds.Table.from_cells(pa.table(cells), by=by, compute_totals=True, disjoint=True).assess(
        ds.MinContributors(3)
    )
    worst = ds.Table.from_cells(pa.table(cells), by=by, compute_totals=True, disjoint="unknown").assess(
        ds.MinContributors(3)
    )
    assert (bool(added.unsafe[0]), bool(worst.unsafe[0])) == (False, True)
    assert worst.contributions["holding"].count[0] == 1


def test_what_has_no_bound_is_refused():
    by = {"region": ds.Hierarchy.flat(["N", "S"])}
    signed = {"region": ["N", "S"], "value": [60, -5], "contributors": [1, 1], "top1": [60, -5]}
    with pytest.raises(NeedsError, match="nothing bounds who contributes"):
        ds.Table.from_cells(pa.table(signed), by=by, compute_totals=True, disjoint="unknown")
    named = {"region": ["N", "S"], "value": [60, 5], "contributors": [1, 1], "top1": [60, 5], "holder1": ["x", "x"]}
    with pytest.raises(NeedsError, match="which of the named contributors"):
        ds.Table.from_cells(pa.table(named), by=by, compute_totals=True, disjoint="unknown")
    with pytest.raises(ParameterError, match='Use True, False or "unknown"'):
        ds.Table.from_cells(pa.table(named), by=by, compute_totals=True, disjoint="perhaps")


def test_a_batch_judges_absent_totals_by_the_worst(tmp_path: Path):
    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\nRegion\n<RECODEABLE>\nAmount\n<NUMERIC>\nFreq\n<FREQUENCY>\nTop\n<MAXSCORE>\n'
    )
    (tmp_path / "t.tab").write_text("N;60;1;60\nS;55;1;55\nW;65;1;65\n")
    (tmp_path / "t.arb").write_text(
        '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "Region"|"Amount"||\n'
        '<SAFETYRULE> FREQ(3,20)\n<READTABLE> 1\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,AS+,"safe.txt")\n'
    )
    done = ds.run_batch(tmp_path / "t.arb")
    table = done.runs[0].release.custodian.tables.tables[0]
    assert table.unsafe.all()  # added up, the total would have three contributors and be published
    assert not done.runs[0].release.public.tables[0].shown.any()
    assert "judged by the worst that may be" in done.log
