"""Engines as algorithms of ``Suppress``: what their patterns are worth is found, never claimed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import NeedsError, ParameterError, ProtectionError
from discreet.generate import business_survey
from discreet.tables.engines import SETTINGS
from discreet.tables.suppress import proposed
from tests.battery.cases import hierarchical
from tests.battery.cases import one_hierarchy as sparse

ACCEPT = [{"class": kind, "reason": "as every year", "name": "table officer"} for kind in ("undecided", "impossible")]


def protected(algorithm: str, **options) -> ds.Release:
    return ds.protect(sparse(), ds.Suppress(algorithm=algorithm, **{"insiders": "full", **options}))


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_a_pattern_that_is_not_certified_is_not_published_unless_completed(algorithm):
    with pytest.raises(ProtectionError, match=r"is not certified.*found by audit.*repair=True"):
        protected(algorithm)
    done = protected(algorithm, repair=True)
    assert done.verify().holds
    assert done.audit().holds


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_accepted_cells_are_counted_in_the_claim_and_named_by_every_verdict(algorithm, tmp_path):
    done = protected(algorithm, accept=ACCEPT)
    accepted = done.custodian.evidence[0].accepted
    verdict = done.verify()
    assert verdict.holds
    assert accepted
    assert any(f"{len(accepted)} cells are accepted without that" in text for text in verdict.proved)
    assert any(f"{len(accepted)} unsafe cells are withheld without a proof" in text for text in verdict.asserted)
    assert any(algorithm in text and "found by audit over all relations" in text for text in verdict.asserted)
    done.save(tmp_path / "out")
    again = ds.check_folder(tmp_path / "out")
    assert again.holds
    assert set(verdict.asserted) <= set(again.asserted)
    assert "found by audit" not in b"".join(p.read_bytes() for p in (tmp_path / "out" / "public").iterdir()).decode()


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_what_an_audit_finds_short_is_never_certified(algorithm):
    """Every unsafe cell that an attacker finds too closely is among the accepted ones."""
    done = protected(algorithm, accept=ACCEPT)
    found = done.audit()
    system, intervals = found.system, found.intervals
    short = intervals.cells[(intervals.short | (found.insiders >= 1)) & system.unsafe[intervals.cells]]
    rows = np.flatnonzero(np.isin(system.of[0], short))
    table = done.custodian.tables.tables[0]
    named = {a.cell for a in done.custodian.evidence[0].accepted}
    assert {table.spec_codes(table.codes[row].tolist()) for row in rows.tolist()} <= named


def test_the_evidence_says_which_standard_was_met():
    small = ds.examples.small_table().assess(ds.PPercent(10))
    done = ds.protect(small, ds.Suppress(algorithm="hypercube"))
    said = done.custodian.evidence[0].findings[0]
    assert "meets PS1, PS1*, PS2, PS2*;" in said
    said = protected("gauss", accept=ACCEPT).custodian.evidence[0].findings[0]
    assert "not PS1*" in said
    assert "found by audit" in protected("gauss", repair=True).summary()


# ---- known weaknesses, as the evidence of a release says them ------------------------------------------------


def survey(seed: int = 1) -> ds.Table:
    made = business_survey(600, seed=seed, activities=(3, 9, 20), regions=(3, 9))
    by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region")}
    return ds.tabulate(ds.Microdata(made.records, contributor="holding"), by=by, value="turnover").assess(
        ds.PPercent(10)
    )


@pytest.mark.parametrize("algorithm", ["modular", "gauss"])
def test_cells_that_are_short_over_all_relations_show_in_the_evidence(algorithm):
    """Modular looks at sub-tables one by one, gauss at exact values only; nobody works a cell out exactly."""
    done = ds.protect(survey(), ds.Suppress(algorithm=algorithm, accept=ACCEPT, insiders=None))
    said = done.custodian.evidence[0].findings[0]
    found = done.audit(insiders=None)
    assert found.short > 0
    assert found.recoverable == 0
    assert "meets PS1" in said
    assert "not PS1*" in said
    assert f" {found.short} are short of their level and 0 worked out exactly by an outsider" in said
    assert any("short of their level: " in note for note in done.custodian.log["notes"])


def one_row_of_two() -> ds.Table:
    """Two unsafe cells in one row, each of a single firm."""
    firms = [("r1", "c1", 50), ("r1", "c2", 40)]
    firms += [(r, c, v) for r in ("r1", "r2", "r3") for c, v in (("c1", 9), ("c2", 8), ("c3", 40)) for _ in range(5)
              if r != "r1" or c == "c3"]  # fmt: skip
    records = pa.table(dict(zip(("r", "c", "v"), zip(*firms, strict=True), strict=True)))
    by = {"r": ds.Hierarchy.flat(["r1", "r2", "r3"]), "c": ds.Hierarchy.flat(["c1", "c2", "c3"])}
    return ds.tabulate(records, by=by, value="v").assess(ds.PPercent(10))


def test_two_single_contributors_that_see_through_each_other_show_in_the_evidence():
    """Network flows know of outsiders only; the other engines look at such rows."""
    table = one_row_of_two()
    weak = ds.protect(table, ds.Suppress(algorithm="network", accept=ACCEPT, insiders="nonzero"))
    said = weak.custodian.evidence[0].findings[0]
    assert "meets PS1, PS1*, not PS2, PS2*" in said
    assert "0 and 2 by an insider" in said
    assert any("worked out by an insider: " in note for note in weak.custodian.log["notes"])
    for algorithm in ("gauss", "modular", "hypercube"):
        strong = ds.protect(table, ds.Suppress(algorithm=algorithm, accept=ACCEPT, insiders="nonzero"))
        assert "PS2, PS2*;" in strong.custodian.evidence[0].findings[0]
    repaired = ds.protect(table, ds.Suppress(algorithm="network", repair=True, insiders="nonzero"))
    assert repaired.audit(insiders="nonzero").holds


def test_an_infeasible_subtable_is_named_in_the_log_and_the_rest_is_protected():
    table = ds.examples.small_table()
    others = [table.spec_codes(c) for c in table.codes.tolist() if c[0] == 1 and c != [1, 3]]
    stuck = table.marked(dict.fromkeys(others, "P")).assess(ds.PPercent(10))
    with pytest.raises(ProtectionError, match="trade=retail, region=South"):
        ds.protect(stuck, ds.Suppress(algorithm="modular", repair=True))
    done = ds.protect(stuck, ds.Suppress(algorithm="modular", accept=ACCEPT))
    assert any("trade=retail, region=South (in the sub-table of trade=" in note for note in done.custodian.log["notes"])


def test_a_completed_pattern_holds_all_cells_of_the_proposed_one():
    before, after = protected("modular", accept=ACCEPT), protected("modular", repair=True)
    assert np.all(after.custodian.withheld(0)[before.custodian.withheld(0)])
    assert after.custodian.withheld(0).sum() > before.custodian.withheld(0).sum()
    assert any("further cells" in text for text in after.custodian.evidence[0].findings)


def test_names_of_short_cells_are_for_the_custodian():
    done = protected("gauss", accept=ACCEPT)
    assert any("short of their level" in note and "region=" in note for note in done.custodian.log["notes"])


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_hints_and_last_periods_pattern_are_honoured(algorithm):
    table = sparse()
    plain = ds.protect(table, ds.Suppress(algorithm=algorithm, accept=ACCEPT))
    secondary = plain.pattern().cells(status="secondary")
    never = secondary[0]
    hinted = ds.protect(table, ds.Suppress(algorithm=algorithm, accept=ACCEPT, hints={never: "never"}))
    assert never not in hinted.pattern().cells(status="secondary")
    free = {tuple(codes): 0.0 for codes in plain.pattern().cells(status="published")}
    options = {"algorithm": algorithm, "accept": ACCEPT, "settings": _by_cost(algorithm)}
    cheap = ds.protect(table, ds.Suppress(**options, hints=free))
    assert cheap.pattern().cells(status="secondary") != secondary
    again = ds.Suppress(**options, prefer=cheap.pattern(), prefer_share=0.0)
    preferred = set(cheap.pattern().cells(status="secondary"))
    kept, without = (
        set(ds.protect(table, m).pattern().cells(status="secondary")) for m in (again, ds.Suppress(**options))
    )
    assert len(kept & preferred) > len(without & preferred)


def _by_cost(algorithm: str) -> dict[str, str]:
    return {"choice": "cost"} if algorithm == "hypercube" else {}


def test_settings_reach_the_engine():
    full = protected("hypercube", accept=ACCEPT)
    bare = protected("hypercube", accept=ACCEPT, settings={"variant": "hyper0", "singletons": "none"})
    assert bare.custodian.withheld(0).sum() < full.custodian.withheld(0).sum()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"algorithm": "gauss", "settings": {"singleton": "none"}}, "no setting 'singleton'"),
        ({"algorithm": "hypercube", "settings": {"variant": "hyper9"}}, "hyper0"),
        ({"algorithm": "gauss", "settings": "none"}, "takes a mapping"),
        ({"algorithm": "gauss", "repair": "yes"}, "repair='yes'"),
        ({"repair": True}, "is for patterns of engines"),
        ({"settings": {"nodes": 1}}, "is for patterns of engines"),
    ],
)
def test_impossible_parameters_are_refused(options, said):
    with pytest.raises(ParameterError, match=said):
        ds.Suppress(**options)


def test_a_table_with_two_hierarchies_is_refused_by_network_which_says_who_can():
    with pytest.raises(NeedsError, match=r"one variable with a hierarchy.*'certified', 'hypercube', 'modular' or"):
        ds.protect(hierarchical(), ds.Suppress(algorithm="network", repair=True))


def test_what_everybody_knows_reaches_the_engine():
    """Whoever knows cells to within a few per cent leaves less room, so that more cells are withheld."""
    wide = protected("modular", accept=ACCEPT, insiders=None)
    narrow = protected("modular", accept=ACCEPT, insiders=None, known_within=60)
    assert narrow.custodian.withheld(0).sum() > wide.custodian.withheld(0).sum()


def test_engines_protect_together_with_what_is_already_published():
    table = sparse()
    first = ds.protect(table, ds.Suppress())
    second = ds.protect(table, ds.Suppress(algorithm="modular", repair=True), already_published=first)
    assert second.verify().holds
    out = np.flatnonzero(~first.custodian.withheld(0))
    assert not second.custodian.withheld(0)[out].any()


@pytest.mark.parametrize("insiders", ["full", "nonzero", None])
@pytest.mark.parametrize("algorithm", SETTINGS)
def test_attackers_find_the_same_where_proved_cells_are_left_alone(algorithm, insiders, monkeypatch):
    """Certificates within the pattern save the attack on their cells, and change nothing of what it finds."""
    options = {"insiders": insiders, "joint": False, "accept": ACCEPT}
    saved = protected(algorithm, **options)
    plain = proposed.standards

    def unaided(system, withheld, **given):
        return plain(system, withheld, levels=given["levels"])

    monkeypatch.setattr(proposed, "standards", unaided)
    assert saved.custodian.evidence[0].findings == protected(algorithm, **options).custodian.evidence[0].findings


@pytest.mark.parametrize("algorithm", SETTINGS)
def test_a_large_pattern_that_is_completed_is_not_attacked_and_says_so(algorithm, monkeypatch):
    monkeypatch.setattr(proposed, "LARGE", 5)
    done = protected(algorithm, repair=True)
    assert done.verify().holds
    assert done.audit().holds
    assert "it was completed at once and not attacked" in done.custodian.evidence[0].findings[0]
    assert "limit_struck_at" not in done.custodian.evidence[0].effort
    assert "found by audit" in protected(algorithm, accept=ACCEPT).custodian.evidence[0].findings[0]
