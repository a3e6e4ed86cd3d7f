"""Sums of withheld cells that are known must be safe too."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import discreet as ds
from discreet.model.claims.suppression import JOINT, NOT_JOINT
from discreet.relations import build_system
from discreet.tables.suppress.joint import unsafe_sums
from discreet.verify.check import check_release

ACTIVITIES, REGIONS, HOLDINGS, P = ("a1", "a2", "a3", "b1", "b2"), ("x", "y", "z"), 14, 15
BY = {
    "act": ds.Hierarchy.from_parents(
        {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "b2": "b", "a": "T", "b": "T"}, total="T"
    ),
    "reg": ds.Hierarchy.from_parents(dict.fromkeys(REGIONS, "T"), total="T"),
}


def records(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    n = int(random.integers(60, 200))
    return {
        "act": random.choice(ACTIVITIES, n),
        "reg": random.choice(REGIONS, n),
        "v": np.ceil(np.exp(random.normal(3, 1.5, n))).astype(np.int64),
        "h": random.integers(0, HOLDINGS, n),
    }


def table_of(data: dict[str, np.ndarray]) -> ds.Table:
    made = ds.tabulate(ds.Microdata(pa.table(data), contributor="h"), by=BY, value="v")
    return made.assess(ds.PPercent(P))


def single(rows: list[tuple[str, str, int]]) -> ds.Table:
    """A table by activity alone, from its records."""
    data = pa.table(dict(zip(("act", "h", "v"), map(list, zip(*rows, strict=True)), strict=True)))
    return ds.tabulate(ds.Microdata(data, contributor="h"), by={"act": BY["act"]}, value="v")


def brute_force(data: dict[str, np.ndarray], table: ds.Table, hidden: np.ndarray) -> list[list[str]]:
    """All sets of withheld cells, no two overlapping, whose sum the relations give away and that break the rule."""
    system = build_system(table)
    cells = system.of[0][hidden]
    relations = system.matrix.toarray()[:, cells].astype(float)
    rank = np.linalg.matrix_rank(relations)
    inside = []
    for act, reg in (table.spec_codes(table.codes[row].tolist()) for row in np.flatnonzero(hidden).tolist()):
        in_act = np.array([act == "T" or a == act or a[0] == act for a in data["act"].tolist()])
        inside.append(in_act & ((data["reg"] == reg) | (reg == "T")))
    broken = []
    for size in range(2, len(cells) + 1):
        for chosen in map(list, combinations(range(len(cells)), size)):
            if np.sum([inside[i] for i in chosen], axis=0).max() > 1:
                continue
            together = np.zeros(len(cells))
            together[chosen] = 1
            if np.linalg.matrix_rank(np.vstack([relations, together])) > rank:
                continue
            who = np.zeros(HOLDINGS, np.int64)
            for i in chosen:
                np.add.at(who, data["h"][inside[i]], data["v"][inside[i]])
            who = np.sort(who)[::-1]
            if 100 * who[2:].sum() < P * who[0]:
                broken.append([table.cell_name(int(np.flatnonzero(hidden)[i])) for i in chosen])
    return broken


@pytest.mark.parametrize("seed", [0, 7, 22, 71, 75])
def test_no_set_of_withheld_cells_whose_sum_is_known_breaks_the_rule(seed):
    data = records(seed)
    table = table_of(data)
    release = ds.protect(table, ds.Suppress())
    assert release.verify().holds
    assert brute_force(data, table, release.custodian.withheld(0)) == []


def test_without_joint_such_sums_are_left_and_the_release_says_so():
    data = records(75)
    table = table_of(data)
    release = ds.protect(table, ds.Suppress(joint=False))
    assert ["act=a1, reg=y", "act=a2, reg=y"] in brute_force(data, table, release.custodian.withheld(0))
    verdict = release.verify()
    assert verdict.holds
    assert NOT_JOINT in verdict.not_considered
    assert JOINT not in verdict.attackers


def test_an_audit_names_the_sums_that_are_known_and_unsafe():
    table = table_of(records(75))
    without = ds.audit(ds.protect(table, ds.Suppress(joint=False)), joint=True)
    assert without.sums == ("'act=a1, reg=y', 'act=a2, reg=y'",)
    assert not without.holds
    release = ds.protect(table, ds.Suppress())
    found = ds.audit(release)
    assert found.sums == ()
    assert found.holds
    assert found.attackers == release.custodian.evidence[0].claim.attackers
    assert ds.audit(release, sample=2).sums is None


def test_the_checker_refuses_a_pattern_with_a_known_unsafe_sum():
    release = ds.protect(table_of(records(75)), ds.Suppress(joint=False))
    custodian = release.custodian
    honest = custodian.evidence[0]
    claim = replace(
        honest.claim,
        attackers=(*honest.claim.attackers, JOINT),
        not_considered=tuple(text for text in honest.claim.not_considered if text != NOT_JOINT),
    )
    forged = replace(honest, method={**honest.method, "joint": True}, claim=claim)
    verdict = check_release(replace(custodian, evidence=(forged,)), release.public)
    assert {refused.check for refused in verdict.refused} == {"joint"}


def test_one_contributor_in_two_cells_is_seen_through_a_withheld_total():
    # b and its part b1 are withheld, so that 'T = a + b' and 'b = b1 + b2' give away a1 + b1 only together.
    others = [(code, who, 20) for code in ("a2", "a3", "b2") for who in "pqrt"]
    table = single([("a1", "s", 50), ("b1", "s", 90), *others]).assess(ds.PPercent(10))
    system = build_system(table)
    withheld = np.zeros(len(system), np.bool_)
    for codes in ("a", "a1", "b", "b1"):
        withheld[system.of[0][table.row(act=codes)]] = True
    names = [{system.cell_name(cell) for cell in found.cells} for found in unsafe_sums(system, withheld)]
    assert {"act=a1", "act=b1"} in names


def test_a_sum_that_cannot_be_hidden_stops_the_release_unless_it_is_accepted():
    # Two cells of one holding are all that may be withheld.
    rows = [
        ("a1", "s", 100),
        ("a2", "s", 80),
        *(("a3", who, 50) for who in "tuvw"),
        *(("b1", who, 50) for who in "tuv"),
    ]
    made = single(rows).marked({(code,): "P" for code in ("T", "a", "a3", "b", "b1")}).assess(ds.PPercent(10))
    with pytest.raises(ds.errors.ProtectionError, match="the sum of 'act=a1', 'act=a2' is known and unsafe itself"):
        ds.protect(made, ds.Suppress())
    accept = {"cells": [["a1"], ["a2"]], "reason": "agreed with the holding", "name": "N. N."}
    release = ds.protect(made, ds.Suppress(accept=accept))
    assert release.verify().holds
    assert len(release.custodian.evidence[0].accepted) == 2


def test_tables_that_do_not_name_their_contributors_are_said_to_be_left_out():
    made = ds.examples.small_table().assess(ds.PPercent(10))
    release = ds.protect(made.with_(holders=None), ds.Suppress())
    assert NOT_JOINT in release.verify().not_considered


def test_patterns_of_engines_that_are_not_repaired_stay_as_they_are():
    assert not ds.Suppress(algorithm="hypercube").joint
    assert ds.Suppress(algorithm="hypercube", repair=True).joint
