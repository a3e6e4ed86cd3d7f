"""Outcomes of several runs in one file."""

from __future__ import annotations

from tests.mutants.store import KILLED, SURVIVED, UNREACHED, Store
from tests.mutants.weaken import weakenings_of

SOURCE = "def f(v, a, b):\n    if a > b:\n        v.refuse('x')\n"


def test_outcomes_are_kept_over_runs_and_what_was_noticed_once_stays_so(tmp_path):
    path = tmp_path / "outcomes.jsonl"
    condition, refusal = weakenings_of(SOURCE)
    for outcome in (UNREACHED, SURVIVED, KILLED, SURVIVED):
        Store(path).note(condition, outcome)
    Store(path).note(refusal, SURVIVED)
    kept = Store(path)
    assert (kept.of(condition), kept.of(refusal)) == (KILLED, SURVIVED)
    assert kept.open_([condition, refusal]) == [refusal]


def test_outcomes_of_a_function_that_was_edited_count_no_more(tmp_path):
    store = Store(tmp_path / "outcomes.jsonl")
    store.note(weakenings_of(SOURCE)[0], KILLED)
    moved = weakenings_of("\n\n" + SOURCE)[0]
    edited = weakenings_of(SOURCE.replace("'x'", "'y'"))[0]
    assert moved.key == edited.key
    assert (store.of(moved), store.of(edited)) == (KILLED, None)
