"""Certified suppression: attackers, limits, acceptances and the optimum."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.errors import Cancelled, ParameterError, ProtectionError
from discreet.generate import business_survey
from discreet.progress import Step, reporting
from discreet.relations import build_system
from discreet.solve.local import LocalPrograms
from discreet.solve.small import STEEP
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.bound import least_cost
from discreet.tables.suppress.certified import certify
from discreet.tables.suppress.classes import classify
from discreet.tables.suppress.effort import EffortLimits
from discreet.tables.suppress.families import Unprotected
from discreet.tables.suppress.several import certify_often


def survey(records: int = 250, seed: int = 5) -> ds.Table:
    made = business_survey(records, seed=seed, activities=(3, 6), regions=(2, 5))
    by = {v: ds.Hierarchy.from_parents(made.parents[v], total="Total") for v in ("activity", "region")}
    data = ds.Microdata(made.records, contributor="holding")
    return ds.tabulate(data, by=by, value="turnover").assess(ds.PPercent(10))


def price(release: ds.Release) -> int:
    table = release.custodian.tables.tables[0]
    return int(table.value[release.custodian.withheld(0) & ~table.unsafe].sum())


@pytest.mark.parametrize("insiders", ["full", "nonzero", None])
def test_the_independent_audit_agrees_with_the_certificates(insiders):
    release = ds.protect(survey(), ds.Suppress(insiders=insiders))
    assert release.verify().require()
    audit = ds.audit(release, insiders=insiders)
    assert audit.short == 0
    if insiders is not None:
        assert (audit.short_insiders if insiders == "full" else audit.recoverable_insiders) == 0


def test_two_single_contributors_in_a_row_do_not_protect_each_other():
    """Each of them would know the other's cell from the published total."""
    frame = pa.table(
        {
            "region": ["r0", "r0", *["r1"] * 4, *["r2"] * 4],
            "trade": ["t0", "t1", "t0", "t0", "t1", "t1", "t0", "t0", "t1", "t1"],
            "firm": list(range(10)),
            "x": [50, 40, 20, 21, 22, 23, 24, 25, 26, 27],
        }
    )
    by = {"region": ds.Hierarchy.flat(["r0", "r1", "r2"]), "trade": ds.Hierarchy.flat(["t0", "t1"])}
    table = ds.tabulate(frame, by=by, value="x", contributor="firm").assess(ds.MinContributors(2))
    outside = ds.protect(table, ds.Suppress(insiders=None))
    inside = ds.protect(table, ds.Suppress(insiders="nonzero"))
    total = table.row(region="r0")
    assert not outside.custodian.withheld(0)[total]
    assert inside.custodian.withheld(0)[total]
    assert inside.verify().holds


def test_a_release_cannot_claim_insiders_that_its_certificates_do_not_keep_out():
    release = ds.protect(survey(), ds.Suppress(insiders=None))
    honest = ds.protect(survey(), ds.Suppress(insiders="full"))
    evidence = release.custodian.evidence[0]
    boast = replace(evidence, method=honest.custodian.evidence[0].method, claim=honest.custodian.evidence[0].claim)
    verdict = ds.Release(release.public, replace(release.custodian, evidence=(boast,))).verify()
    assert any("a contributor can rule out" in str(refusal) for refusal in verdict.refused)


def test_what_everybody_knows_within_a_share_is_kept_by_every_certificate():
    release = ds.protect(survey(), ds.Suppress(insiders=None, known_within=60))
    assert "60 %" in str(release.verify().require())
    table, evidence = release.custodian.tables.tables[0], release.custodian.evidence[0]
    rows = evidence.certificates.entry_row
    assert (np.abs(evidence.certificates.amount) <= 0.6 * np.abs(table.value[rows])).all()


def test_a_limit_makes_the_pattern_dearer_but_not_less_safe():
    table = survey()
    free, limited = ds.protect(table, ds.Suppress()), ds.protect(table, ds.Suppress(effort=1))
    assert limited.verify().holds
    assert price(limited) >= price(free)
    assert limited.custodian.evidence[0].effort["limit_struck_at"] >= 1


def test_a_time_limit_is_replayed_by_the_effort_at_which_it_struck():
    release = ds.protect(survey(), ds.Suppress(time_limit=1e-6))
    assert np.array_equal(ds.replay(release).custodian.status[0], release.custodian.status[0])


def test_the_optimum_is_proven_and_never_dearer():
    table = survey(120, seed=2)
    certified = ds.protect(table, ds.Suppress(insiders=None))
    best = ds.protect(table, ds.Suppress(insiders=None, algorithm="optimal"))
    assert best.verify().holds
    effort = best.custodian.evidence[0].effort
    assert effort["proven"] == 1
    assert effort["least_cost"] <= price(best) <= price(certified)


def stuck() -> ds.Table:
    """A row of two cells, one unsafe, with everything else published by force."""
    frame = pa.table({"region": ["a", "b"], "value": [10, 20], "status": ["U", "P"]})
    table = ds.Table.from_cells(frame, by={"region": ds.Hierarchy.flat(["a", "b"])}, compute_totals=True)
    return table.marked({("Total",): "P"}).assess()


def test_an_impossible_cell_fails_the_release_with_its_reason_and_a_way_out():
    with pytest.raises(
        ProtectionError, match=r"1 proved impossible.*region: Total = a \+ b.*let .*region=.* be withheld"
    ):
        ds.protect(stuck(), ds.Suppress())


def test_an_officer_can_accept_an_impossible_cell_by_name():
    accept = {"class": "impossible", "reason": "public anyway", "name": "A. Officer"}
    release = ds.protect(stuck(), ds.Suppress(accept=(accept,)))
    verdict = release.verify().require()
    assert any("A. Officer" in text and "region=a" in text for text in verdict.asserted)
    by_codes = ds.Suppress(accept=({"cells": [["a"]], "reason": "public anyway", "name": "A. Officer"},))
    assert ds.protect(stuck(), by_codes).verify().holds


@pytest.mark.parametrize(
    "entry",
    [
        {"class": "impossible", "reason": "", "name": "A"},
        {"class": "unlikely", "reason": "x", "name": "A"},
        {"reason": "x", "name": "A"},
        {"class": "impossible", "cells": [["a"]], "reason": "x", "name": "A"},
        {"klass": "impossible", "reason": "x", "name": "A"},
    ],
)
def test_incomplete_acceptances_are_refused(entry):
    with pytest.raises(ParameterError):
        ds.Suppress(accept=(entry,))


@pytest.mark.parametrize(
    "parameters",
    [{"exponent": 0}, {"known_within": -1}, {"effort": True}, {"time_limit": 0}, {"insiders": "some"}],
)
def test_impossible_parameters_are_refused(parameters):
    with pytest.raises(ParameterError):
        ds.Suppress(**parameters)


def test_what_was_not_found_is_not_called_impossible():
    table = survey()
    system = build_system(table)
    cell = int(np.argmax(system.unsafe))
    found = classify(system, Attackers(system, None, None, np.zeros(len(system), np.bool_)), {cell: Unprotected(0)})
    assert found[0].kind == "undecided"


def test_whole_lines_are_withheld_before_a_cell_of_a_large_table_stays_without_certificate(monkeypatch):
    table, method = survey(), ds.Suppress(insiders=None, joint=False)
    # As if the table were too large for programs of the whole system.
    monkeypatch.setattr("discreet.solve.local.SIZES", ((1, STEEP),))
    monkeypatch.setattr("discreet.solve.local.LARGE", ((30, STEEP),))
    monkeypatch.setattr("discreet.tables.suppress.certified.HUGE", ((30, STEEP),))
    release = ds.protect(table, method)
    assert release.verify().holds
    assert release.custodian.log["effort"]["fallbacks"] >= 1
    monkeypatch.setattr("discreet.tables.suppress.certified.LINES", ())
    with pytest.raises(ProtectionError, match="undecided"):
        ds.protect(table, method)


def test_in_tables_of_millions_of_cells_something_cheaper_is_looked_for_where_much_is_at_stake(monkeypatch):
    table = survey()
    system = build_system(table)
    cost, attackers = system.cost("value"), Attackers(system, None, None, np.zeros(len(system), np.bool_))
    least, limits = least_cost(system, cost, attackers), EffortLimits.of("quick", None)
    monkeypatch.setattr("discreet.tables.suppress.certified.MILLION", 0)
    careful = certify_often(system, cost, attackers, limits, least)
    monkeypatch.setattr("discreet.solve.local.BY_STAKE", 0)
    plain = certify_often(system, cost, attackers, limits, least)
    assert careful.effort["linear_programs"] > plain.effort["linear_programs"]
    for pattern in (careful, plain):
        assert not pattern.unprotected
        assert least.proved() <= cost[pattern.withheld & ~system.unsafe].sum()
    assert ds.protect(table, ds.Suppress(insiders=None, joint=False)).verify().holds


def test_what_a_search_works_with_is_gone_when_it_ends(monkeypatch):
    """Of millions of cells it is gigabytes, which the evidence needs next."""
    held = []

    class Seen(LocalPrograms):
        def __init__(self, *given):
            super().__init__(*given)
            held.append(weakref.ref(self))

    monkeypatch.setattr("discreet.tables.suppress.certified.LocalPrograms", Seen)
    system = build_system(survey())
    cost, attackers = system.cost("value"), Attackers(system, "nonzero", None, np.zeros(len(system), np.bool_))
    gc.disable()
    try:
        pattern = certify(system, cost, attackers, EffortLimits())
        assert pattern.families
        assert [one() for one in held] == [None]
    finally:
        gc.enable()


def test_small_tables_are_searched_several_times_and_the_best_of_all_is_taken():
    table = survey(500, seed=3)
    system = build_system(table)
    cost, attackers = system.cost("value"), Attackers(system, "nonzero", None, np.zeros(len(system), np.bool_))
    once = certify(system, cost, attackers, EffortLimits())
    often = certify_often(system, cost, attackers, EffortLimits())
    assert often.effort["searches"] > 1
    assert often.effort["simplex_iterations"] > once.effort["simplex_iterations"]
    assert cost[often.withheld].sum() <= cost[once.withheld].sum()
    release = ds.protect(table, ds.Suppress(insiders="nonzero", joint=False))
    assert price(release) == cost[often.withheld & ~system.unsafe].sum()
    assert release.verify().require()


def test_a_limit_of_effort_means_one_search():
    release = ds.protect(survey(500, seed=3), ds.Suppress(joint=False, effort=10_000))
    assert "searches" not in release.custodian.evidence[0].effort


def test_the_search_for_the_optimum_reports_and_can_be_stopped_at_any_time():
    seen: list[Step] = []

    def listen(step: Step) -> None:
        seen.append(step)
        if len([step for step in seen if step.stage == "optimum"]) == 3:
            raise Cancelled("enough")

    with reporting(listen), pytest.raises(Cancelled):
        ds.protect(survey(500, seed=3), ds.Suppress(algorithm="optimal", insiders=None, joint=False, effort=1_000))
    assert seen[-1].stage == "optimum"
    assert seen[-1].done < seen[-1].total


def test_a_listener_stops_the_search_from_within_a_program(monkeypatch):
    """The same step twice on end comes from a program that is running; small ones are left to HiGHS here."""
    monkeypatch.setattr("discreet.solve.program.LISTEN", 0.0)
    monkeypatch.setattr("discreet.solve.local.QUICK", 0)
    last: list[Step] = []

    def listen(step: Step) -> None:
        if last == [step] and step.stage == "protect":
            raise Cancelled("enough")
        last[:] = [step]

    with reporting(listen), pytest.raises(Cancelled):
        ds.protect(survey(500, seed=3), ds.Suppress(joint=False, effort=10_000))
    assert last[0].done < last[0].total
