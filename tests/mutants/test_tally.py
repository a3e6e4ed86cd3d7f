"""Both rates of a run, and when it is good enough."""

from __future__ import annotations

from tests.mutants.store import KILLED, SURVIVED, UNREACHED
from tests.mutants.tally import Tally
from tests.mutants.weaken import Key


def key(number: int) -> Key:
    return ("a.py", "f", "x", "y", number)


def tally(*outcomes: str | None, listed: int = 0) -> Tally:
    """The last so many weakenings are listed."""
    found = {key(i): outcome for i, outcome in enumerate(outcomes)}
    return Tally.of(found, {key(i) for i in range(len(outcomes) - listed, len(outcomes))})


def test_listed_survivors_count_in_the_plain_rate_only():
    found = tally(KILLED, KILLED, KILLED, SURVIVED, UNREACHED, listed=1)
    assert (found.rate, found.plain_rate) == (0.75, 0.6)
    assert (found.listed, found.new) == (1, (key(3),))
    assert str(found) == (
        "5 weakenings {'killed': 3, 'survived': 1, 'not reached': 1}: 75.0% killed of those that change anything, "
        "60.0% of all; survivors: 1 listed, 1 not"
    )


def test_what_is_listed_and_killed_nevertheless_counts_as_killed():
    assert tally(KILLED, KILLED, listed=1).rate == 1


def test_a_survivor_without_a_reason_is_never_good():
    found = tally(*[KILLED] * 99, SURVIVED)
    assert found.rate > 0.95
    assert not found.good(partial=True)
    assert not found.good(partial=False)


def test_many_listed_survivors_are_good():
    found = tally(KILLED, *[SURVIVED] * 9, listed=9)
    assert (found.rate, found.plain_rate) == (1, 0.1)
    assert found.good(partial=False)


def test_a_whole_run_tries_everything():
    found = tally(KILLED, None)
    assert "1 not tried" in str(found)
    assert found.good(partial=True)
    assert not found.good(partial=False)


def test_nothing_at_all_is_not_good():
    assert not tally().good(partial=False)
