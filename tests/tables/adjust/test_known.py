"""What readers know who know what an adjustment leaves as it is: the release admits it, and the audit tells it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as ds
from discreet.relations import build_system
from discreet.tables.adjust.moves import known_of_others
from discreet.verify import check_release
from tests.tables.rounding.making import table

INNER = np.array([[30, 400, 0], [500, 2, 0], [0, 0, 80]])


def marked() -> ds.Table:
    """A cell that can rise by 5 under true sums, but fall by no more than 2: its zeros and a small cell hold it."""
    return table(INNER).marked({("a0", "b0"): "U"}, protection=(5, 5)).assess()


def left(release: ds.Release) -> str:
    """What the release admits to have left as it is."""
    return next(
        (t for t in release.custodian.evidence[0].claim.not_considered if "left as it is" in t), "nothing is left"
    )


@pytest.mark.parametrize(
    ("options", "words", "short"),
    [
        ({}, "(zeros)", 0),
        ({"zeros": "movable"}, "nothing is left", 0),
        ({"fixed": "margins"}, "(all sums, zeros)", 1),
        ({"fixed": "total"}, "(grand totals, zeros)", 0),
        ({"objective": "mdi"}, "(one-way margins, zeros)", 1),
        ({"limit": 2}, "(zeros, cells that are not unsafe, within 2 %)", 0),
        ({"keep_mean": "inner"}, "(zeros, sums of some sets of cells)", 0),
    ],
)
def test_the_release_names_what_it_left_and_the_audit_tells_what_that_discloses(options, words, short):
    release = ds.protect(marked(), ds.Adjust(**options))
    assert release.verify().holds
    assert words in left(release)
    assert words in release.summary() or words == "nothing is left"
    assert ds.audit(release).short == short


def test_cells_published_by_force_are_named():
    forced = table(INNER).marked({("a0", "b0"): "U"}, protection=(5, 5)).marked({("a2", "b2"): "P"}).assess()
    release = ds.protect(forced, ds.Adjust())
    assert "(zeros, cells published by force)" in left(release)
    assert release.verify().holds


def test_a_release_that_conceals_what_it_left_is_refused():
    release = ds.protect(marked(), ds.Adjust(fixed="margins"))
    evidence = release.custodian.evidence[0]
    claim = replace(
        evidence.claim, not_considered=tuple(t for t in evidence.claim.not_considered if "left as it is" not in t)
    )
    custodian = replace(release.custodian, evidence=(replace(evidence, claim=claim),))
    verdict = check_release(custodian, release.public)
    assert not verdict.holds
    assert "does not admit" in str(verdict)


@pytest.mark.parametrize("percent", [0, 1, 7, 50, 99, 100, 250])
def test_what_a_limit_tells_holds_every_value_that_could_have_moved_there(percent):
    for true in range(-40, 41):
        most = abs(true) * percent // 100
        published = np.arange(true - most, true + most + 1)
        low, high = known_of_others(published, Fraction(percent))
        assert np.all((low <= true) & (true <= high))
    published = np.array([10, -10])
    low, high = known_of_others(published, Fraction(25))
    assert (low.tolist(), high.tolist()) == ([8, -13], [13, -8])


def test_a_limit_narrows_what_is_known():
    release = ds.protect(marked(), ds.Adjust(limit=2))
    system = build_system(release.custodian.tables)
    found = ds.Adjust(limit=2).reading(system, release.custodian.published[0], release.custodian.evidence[0])
    low, high = found.lower, found.upper
    assert np.all((low <= system.value) & (system.value <= high))
    assert (high - low)[~system.unsafe].max() < 60
