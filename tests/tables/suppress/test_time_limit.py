"""Limits of time, by a clock that counts how often it is looked at, and wishes to stop: the best so far, or why not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import discreet as ds
from discreet.errors import Cancelled, Enough, ProtectionError, TimeLimitReached
from discreet.progress import Step, reporting
from discreet.tables.suppress import effort as effort_module
from discreet.tables.suppress.effort import EffortLimits
from tests.tables.suppress.test_bound import survey_table

LOOKS = 4
"""Looks at the clock from one that is late to the end."""


class Clock:
    """A clock on which every look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(effort_module, "monotonic", found)
    return found


def same_pattern(first: ds.Release, second: ds.Release) -> bool:
    """Whether two releases withhold the same cells."""
    return bool(np.array_equal(first.custodian.status[0], second.custodian.status[0]))


def effort_of(release: ds.Release) -> dict[str, int]:
    return dict(release.custodian.evidence[0].effort)


def looks_of(method: ds.Suppress, clock: Clock) -> float:
    """How often the clock is looked at in all when nothing is limited but the name."""
    start = clock.now
    ds.protect(survey_table(400), method)
    return clock.now - start


@pytest.mark.parametrize("word", ["quick", "best"])
def test_a_limit_of_time_ends_the_work_wherever_it_strikes_and_is_replayed(
    clock: Clock, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effort_module, "SLACK", 40.0)
    whole = looks_of(ds.Suppress(effort=word, time_limit=1e9), clock)  # type: ignore[arg-type]
    careful = set()
    for share in (*(0.01 * part for part in range(1, 21, 2)), 0.3, 0.5, 0.7, 0.9):
        before, limit = clock.now, share * whole
        try:
            release = ds.protect(survey_table(400), ds.Suppress(effort=word, time_limit=limit))  # type: ignore[arg-type]
        except TimeLimitReached:
            assert clock.now - before <= 1.25 * limit + 40 + LOOKS
            continue
        assert clock.now - before <= 1.25 * limit + 40 + LOOKS
        assert release.verify().holds
        effort = effort_of(release)
        careful.add(effort["limit_struck_cells"] < effort["limit_struck_of"])
        again = ds.replay(release)
        assert same_pattern(again, release)
        assert effort_of(again) == effort
    assert careful == {True, False}


def test_the_optimum_is_given_up_for_the_first_pattern_when_time_is_over(clock: Clock) -> None:
    def method(limit: float) -> ds.Suppress:
        return ds.Suppress(algorithm="optimal", insiders=None, joint=False, time_limit=limit)

    whole = looks_of(method(1e9), clock)
    release = ds.protect(survey_table(400), method(0.7 * whole))
    effort = effort_of(release)
    assert effort["proven"] == 0
    assert release.verify().holds
    assert same_pattern(ds.replay(release), release)


def test_a_limit_that_leaves_no_time_for_a_first_pattern_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(effort_module, "monotonic", clock)
    clock_hours = iter(range(10**6))
    monkeypatch.setattr(effort_module, "monotonic", lambda: 3600.0 * next(clock_hours))
    with pytest.raises(TimeLimitReached, match=r"The time limit of 10 s came before there was a pattern") as caught:
        ds.protect(survey_table(400), ds.Suppress(time_limit=10))
    assert isinstance(caught.value, ProtectionError)
    assert "effort='quick'" in caught.value.hint


def stop_at(wanted: Callable[[Step], bool]) -> tuple[list[Step], Callable[[Step], None]]:
    """Steps that were heard, and a listener that has enough at the first step that is wanted."""
    heard: list[Step] = []

    def listen(step: Step) -> None:
        heard.append(step)
        if wanted(step):
            raise Enough

    return heard, listen


@pytest.mark.parametrize("stage", ["improve", "search again"])
@pytest.mark.parametrize("insiders", [None, "nonzero"])
def test_whoever_has_enough_gets_the_best_certified_pattern_so_far(stage: str, insiders: str | None) -> None:
    heard, listen = stop_at(lambda step: step.stage == stage and step.done > 0)
    with reporting(listen):
        release = ds.protect(survey_table(400), ds.Suppress(insiders=insiders))  # type: ignore[arg-type]
    assert release.verify().holds
    assert stage in {step.stage for step in heard}
    assert "limit_struck_at" in effort_of(release)
    assert same_pattern(ds.replay(release), release)


def test_whoever_has_enough_while_the_optimum_is_looked_for_keeps_the_first_pattern() -> None:
    _, listen = stop_at(lambda step: step.stage == "optimum")
    method = ds.Suppress(algorithm="optimal", insiders=None, joint=False, effort="quick")
    with reporting(listen):
        release = ds.protect(survey_table(400), method)
    assert release.verify().holds
    assert effort_of(release)["proven"] == 0
    assert same_pattern(ds.replay(release), release)


def test_whoever_has_enough_before_there_is_a_pattern_cancels() -> None:
    heard, listen = stop_at(lambda step: step.stage == "protect")
    with reporting(listen), pytest.raises(Cancelled):
        ds.protect(survey_table(400), ds.Suppress())
    assert not {step.stage for step in heard} & {"improve", "search again", "joint"}


def test_who_cancels_gets_nothing_even_where_there_is_a_pattern() -> None:
    def listen(step: Step) -> None:
        if step.stage == "improve":
            raise Cancelled

    with reporting(listen), pytest.raises(Cancelled):
        ds.protect(survey_table(400), ds.Suppress())


def test_progress_says_how_the_cost_stands_to_the_proven_least() -> None:
    heard, listen = stop_at(lambda step: False)
    with reporting(listen):
        release = ds.protect(survey_table(400), ds.Suppress(effort="quick"))
    notes = [step.note for step in heard if step.stage == "improve" and "x the proven least" in step.note]
    assert notes
    said = float(notes[-1].split(", ")[-1].split(" x ")[0])
    effort = effort_of(release)
    assert said >= 0.99 * effort["cost"] / effort["least_cost"]


def test_cells_that_have_nothing_yet_are_given_time() -> None:
    limits = EffortLimits(seconds=1e6)
    assert not limits.due
    limits.started -= 7e5
    assert not limits.due
    limits.waiting = 10**9
    assert limits.due
