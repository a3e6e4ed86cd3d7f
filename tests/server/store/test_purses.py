"""Purses: fewer entries in the database, never more cells than the budget."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from discreet.server.denied import Denied
from discreet.server.purses import SHARE, Purses
from discreet.server.store.store import Store

MOST = 1_000 * SHARE


def test_small_tables_come_from_a_purse_that_is_written_down_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    whole = type(store.budgets).reserve

    def reserve(self: object, holder: str, cells: int, most: int) -> None:
        taken.append(cells)
        whole(store.budgets, holder, cells, most)

    monkeypatch.setattr(type(store.budgets), "reserve", reserve)
    purses = Purses(store.budgets)
    for _ in range(10):
        purses.reserve("ada", 100, MOST)
    purses.reserve("ada", 5_000, MOST)
    assert taken == [1_000, 5_000]
    assert store.budgets.used("ada") == 6_000


def test_workers_together_never_hand_out_more_than_the_budget(store: Store) -> None:
    workers, given = [Purses(store.budgets) for _ in range(3)], 0

    def ask_on() -> None:
        nonlocal given
        for number in range(10**6):
            workers[number % 3].reserve("ada", 700, MOST)
            given += 700

    with pytest.raises(Denied) as refused:
        ask_on()
    assert MOST - 3 * MOST // SHARE <= given <= MOST
    assert refused.value.status == 429
    assert f"{MOST:,} cells of today do not suffice for this table of 700" in refused.value.message
    assert store.budgets.used("ada") <= MOST


def test_at_hand_is_what_a_purse_has_and_no_more(store: Store, clock: Callable[[], float]) -> None:
    purses = Purses(store.budgets)
    assert not purses.at_hand("ada", 1, MOST)  # nobody filled it
    purses.reserve("ada", 100, MOST)
    assert [purses.at_hand("ada", 400, MOST) for _ in range(3)] == [True, True, False]
    assert purses.at_hand("ada", 100, MOST)
    assert not purses.at_hand("ada", 1, MOST)
    assert not purses.at_hand("ben", 1, MOST)
    assert store.budgets.used("ada") == 1_000
    purses.reserve("ada", 1, MOST)
    assert store.budgets.used("ada") == 2_000
    with purses._lock:  # somebody takes cells from the budgets
        assert not purses.at_hand("ada", 1, MOST)
    clock.time += 86_400  # type: ignore[attr-defined]
    assert not purses.at_hand("ada", 1, MOST)


def test_what_was_taken_yesterday_is_for_yesterday(store: Store, clock: Callable[[], float]) -> None:
    purses = Purses(store.budgets)
    purses.reserve("ada", 1, MOST)
    clock.time += 86_400  # type: ignore[attr-defined]
    purses.reserve("ada", 1, MOST)
    assert store.budgets.used("ada") == 1_000


def test_a_table_beyond_the_budget_is_refused_and_takes_nothing(store: Store) -> None:
    purses = Purses(store.budgets)
    with pytest.raises(Denied):
        purses.reserve("ada", MOST + 1, MOST)
    assert store.budgets.used("ada") == 0
