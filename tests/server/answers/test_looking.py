"""A look before asking tells whether asking would be refused, with the same words, for the same price, and no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest

from discreet.errors import DiscreetError
from discreet.server.account import MemoryAccount
from discreet.server.dataset import Dataset
from discreet.server.gate import admitted, estimated_cells
from discreet.server.identity import Identity
from discreet.server.looking import why_not
from discreet.server.question import QuestionBody
from discreet.server.roles import Role
from discreet.server.service import Service
from discreet.trust.log.writer import LogUnavailable
from tests.server.census import Budgets, KeptLog

PLACE = ("census", "2021.1")
NAMES = ("sex", "age_group", "marital", "education", "labour", "birth", "area:1", "area:2", "age_group:1")
OTHER = Identity(None, "", frozenset({Role.PUBLIC}), 0, "127.0.0.2")
SELF = Identity(None, "", frozenset({Role.PUBLIC}), 0, "127.0.0.1")


def served(census: Dataset, most: float = 1e9) -> Service:
    """A server whose account has room for so much."""
    facts = msgspec.structs.replace(census.facts, most_precision=most)
    return Service({PLACE: replace(census, facts=facts)}, MemoryAccount(), Budgets(), KeptLog())


def body(*variables: str, **more: Any) -> QuestionBody:
    return QuestionBody(variables=list(variables), **more)


def looked(service: Service, question: QuestionBody, who: Identity = SELF) -> str:
    found = asyncio.run(why_not(with_new_line(service), who, PLACE, question, "1"))
    return "" if found is None else found.message


def asked(service: Service, question: QuestionBody, who: Identity = SELF) -> str:
    try:
        asyncio.run(with_new_line(service).ask(who, PLACE, question, "csv", "2"))
    except DiscreetError as error:
        return error.message
    return ""


def with_new_line(service: Service) -> Service:
    """The same service in an event loop of its own."""
    return replace(service, workplace=type(service.workplace)())


def told(service: Service) -> dict[Any, Any]:
    account: Any = service.account
    return {place: dict(readings) for place, readings in account.readings.items() if readings}


@pytest.mark.parametrize("seed", range(4))
def test_a_look_says_what_asking_then_does(census: Dataset, seed: int) -> None:
    draw, service = Random(seed), served(census, most=2.2)
    seen: Counter[str] = Counter()
    for _ in range(40):
        more: dict[str, Any] = draw.choice([{}, {}, {"universe": "adults"}, {"value": "income"}, {"measure": "mean"}])
        question = body(*draw.sample(NAMES, draw.choice([1, 2, 2, 3])), **more)
        before, tables = told(service), set(service.account.tables)  # type: ignore[attr-defined]
        said = looked(service, question)
        assert (told(service), service.account.tables) == (before, tables)  # type: ignore[attr-defined]
        assert asked(service, question) == said
        seen["answered" if not said else said.split()[0]] += 1
    assert seen["answered"] >= 5
    assert seen["Tables"] >= 3, "the account must have refused some"


def test_a_look_takes_the_cells_of_the_table_and_asking_then_takes_none(census: Dataset) -> None:
    service = served(census)
    question = body("sex", "age_group", "marital")
    size = estimated_cells(census, admitted(census, question)[0])
    used: Any = service.budgets
    for times in (1, 2, 3):
        assert looked(service, question) == ""
        assert used.used[SELF.holder] == times * size
    assert asked(service, question) == ""
    assert used.used[SELF.holder] == 3 * size
    assert asked(service, question, OTHER) == ""
    assert used.used[OTHER.holder] == size, "what one person paid for is nobody else's"


def test_looks_end_with_the_budget_and_say_so(census: Dataset) -> None:
    service = served(census)
    used: Any = service.budgets
    used.used[SELF.holder] = census.policy.budget_cells
    assert "cells of today do not suffice" in looked(service, body("sex"))
    assert looked(service, body("sex"), OTHER) == ""


def test_what_somebody_had_before_is_looked_at_for_nothing(census: Dataset) -> None:
    service = served(census)
    used: Any = service.budgets
    assert asked(service, body("sex", "marital")) == ""
    before = used.used[SELF.holder]
    assert looked(service, body("marital", "sex")) == ""
    assert used.used[SELF.holder] == before


def test_every_look_is_logged_and_without_a_log_nothing_is_told(census: Dataset) -> None:
    service = served(census, most=0.0)
    log: Any = service.log
    assert looked(service, body("sex")).startswith("Tables that refine")
    assert looked(service, body("nothing")) != ""
    assert [(one.action, one.rule) for one in log.entries] == [
        ("table.look", "told-too-often"),
        ("table.look", "unknown-variable"),
    ]
    assert log.entries[0].question == admitted(census, body("sex"))[0].digest
    log.broken = True
    with pytest.raises(LogUnavailable):
        asyncio.run(why_not(with_new_line(service), SELF, PLACE, body("sex"), "1"))


def test_who_may_not_ask_may_not_look(census: Dataset) -> None:
    service = served(census)
    auditor = Identity(1, "Ed", frozenset({Role.AUDITOR}), 4, "127.0.0.1")
    assert asked(service, body("sex"), auditor) != ""
    assert looked(service, body("sex"), auditor) == asked(service, body("sex"), auditor)
    assert told(service) == {}
