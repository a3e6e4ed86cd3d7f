"""A given pattern is completed only where there is one, and within the limits that were given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.relations import System, build_system
from discreet.tables.suppress import complete as completing
from discreet.tables.suppress.attackers import Attackers
from discreet.tables.suppress.certified import CertifiedPattern
from discreet.tables.suppress.effort import EffortLimits
from tests.tables.rounding.making import table

NOTHING = np.zeros(4, np.bool_)


def system_of(**masks: str) -> System:
    """Three cells and their total; each mask names its cells by their numbers."""
    system = build_system(table([10, 20, 30]))
    return replace(system, **{name: np.isin(np.arange(4), list(map(int, mask))) for name, mask in masks.items()})


def attackers_of(system: System) -> Attackers:
    return Attackers(system, None, None, NOTHING)


@pytest.fixture
def called(monkeypatch) -> list[Any]:
    """What was called, and the limits or the cells that it was called with."""
    found: list[Any] = []

    def certify(system, cost, attackers, limits, allowed=None):
        found.append(((limits.effort, limits.seconds), None if allowed is None else np.flatnonzero(allowed).tolist()))
        return CertifiedPattern(NOTHING, {}, {}, {"limit_struck_at": 7})

    def often(system, cost, attackers, limits, likely):
        found.append("afresh")
        return CertifiedPattern(NOTHING, {}, {}, {})

    monkeypatch.setattr(completing, "certify", certify)
    monkeypatch.setattr(completing, "certify_often", often)
    return found


@pytest.mark.parametrize(
    ("given", "known", "afresh"), [("", "", True), ("2", "", False), ("2", "2", True), ("23", "2", False)]
)
def test_a_pattern_is_completed_where_cells_of_it_are_new(called, given, known, afresh):
    system = system_of(unsafe="1", given=given, known=known)
    completing.complete(system, np.ones(4), attackers_of(system), EffortLimits())
    assert called == (["afresh"] if afresh else [((0, None), sorted({1, *map(int, given)}))])


def test_given_cells_that_are_not_published_now_are_no_pattern(called):
    system = system_of(unsafe="1", given="2")
    later = replace(system, present=0)
    assert not later.now.any()
    completing.complete(later, np.ones(4), attackers_of(system), EffortLimits())
    assert called == ["afresh"]


@pytest.mark.parametrize(
    ("effort", "seconds", "limits", "struck"),
    [
        (None, None, (0, None), False),
        (5, None, (5, None), True),
        (None, 3.0, (None, 3.0), True),
        (5, 3.0, (5, 3.0), True),
    ],
)
def test_without_limits_the_search_is_the_plainest_and_no_limit_struck(called, effort, seconds, limits, struck):
    system = system_of(unsafe="1", given="2")
    found = completing.completed_at_once(system, np.ones(4), attackers_of(system), EffortLimits(effort, seconds))
    assert called == [(limits, None)]
    assert ("limit_struck_at" in found.effort) is struck
