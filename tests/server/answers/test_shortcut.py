"""The short way to plain counts gives what ``protect`` gives: every area, universe, level and method that it takes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.files.published import Heading
from discreet.files.published.jsonstat import jsonstat_text
from discreet.server import answer as answering
from discreet.server.account import MemoryAccount
from discreet.server.answer import answered, shown
from discreet.server.dataset import Dataset
from discreet.server.question import Question, QuestionBody, Selection
from discreet.server.service import Service
from discreet.server.shortcut import same_tables
from discreet.verbs.protect import protect
from tests.server.census import PUBLIC, Budgets, KeptLog, made

METHOD = "D = 5, V = 3.0, js = 2, modulus = 65536"
METHODS = {
    "as it stands": METHOD,
    "another number of keys": "D = 4, V = 2.0, js = 1, modulus = 3000",
    "threshold": f"{METHOD}, threshold = 8",
    "nothing forbidden": "D = 3, V = 1.0, js = 0, modulus = 256",
}


@pytest.fixture(scope="module", params=METHODS)
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder: Path = tmp_path_factory.mktemp("shortcut")
    return made(
        folder,
        records=6_000,
        areas=30,
        change={METHOD: METHODS[request.param], "exact_share = 0.5": "exact_share = 0.99"},
    )


def questions(dataset: Dataset) -> list[Question]:
    """Tables of areas of all kinds, by variables down to all levels."""
    assert dataset.areas is not None
    areas = [code for code in dataset.areas.codes if code != dataset.areas.total]
    found = []
    for universe, (place, area) in product(dataset.conditions, enumerate(areas)):
        if area in dataset.refused[universe]:
            continue
        names = [name for name in dataset.levels if name != dataset.geography]
        tables = [some for many in (1, 2, 3) for some in combinations(names, many)]
        for some in tables[place % 5 :: 5]:
            levels = tuple((name, 1 + place % len(dataset.levels[name])) for name in sorted(some))
            found.append(Question(dataset.name, dataset.edition, universe, area, levels))
    return found


def test_tables_are_those_that_protect_gives_to_the_last_byte(dataset: Dataset) -> None:
    compared = shorter_lists = 0
    for question in questions(dataset):
        data, spec = dataset.asked(question)
        public = protect(data, dataset.method, tables=[spec]).public.tables[0]
        found = dataset.shortcut.table(question)
        assert found is not None
        assert same_tables(found, public)
        turned = Selection(tuple(reversed(question.names)))
        texts = [
            jsonstat_text(shown(dataset, answering.Answer(question, table), turned), Heading(), ready)
            for table, ready in ((found, dataset.shortcut.written), (public, None))
        ]
        assert texts[0] == texts[1]
        compared += 1
        shorter_lists += any(
            len(codes) < len(spec.by[name]) for name, codes in zip(found.variables, found.code_lists, strict=True)
        )
    assert compared > 200
    assert shorter_lists > 20


def test_who_asks_first_goes_the_long_way_and_the_others_the_short_one(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, question = MemoryAccount(), questions(dataset)[0]
    first = answered(dataset, question, account)
    monkeypatch.setattr(answering, "protect", None)  # whoever called it would fail
    assert same_tables(answered(dataset, question, account, charged=True).table, first.table)
    with pytest.raises(TypeError):
        answered(dataset, question, MemoryAccount(), charged=True)  # the account does not have it: it is charged


def test_a_way_that_leads_elsewhere_is_closed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = made(tmp_path, records=3_000, areas=10)
    question = questions(dataset)[0]
    straight = dataset.shortcut.table(question)
    assert straight is not None
    wrong = replace(straight, value=np.where(np.arange(len(straight)) == 1, straight.value + 1, straight.value))
    assert not same_tables(straight, wrong)
    monkeypatch.setattr("discreet.server.shortcut.straight_counts", lambda *_: wrong)
    account = MemoryAccount()
    right = answered(dataset, question, account)
    assert same_tables(right.table, straight)
    assert not dataset.shortcut.leads(question)
    assert same_tables(answered(dataset, question, account, charged=True).table, straight)
    assert "gave another table" in caplog.text


@pytest.mark.parametrize(
    "change",
    [
        {METHOD: f'{METHOD}, additive = "integer"'},
        {METHOD: "D = 5, V = 3.0, js = 2"},  # fractional keys
        {"exact_share = 0.5": "exact_share = 0.5\nmost_sparse = 0.9"},
    ],
    ids=["additive", "fractions", "sparse"],
)
def test_what_the_short_way_does_not_do_goes_the_long_one(tmp_path: Path, change: dict[str, str]) -> None:
    dataset = made(tmp_path, records=3_000, areas=10, change=change)
    question = questions(dataset)[0]
    assert not dataset.shortcut.leads(question)
    account = MemoryAccount()
    first = answered(dataset, question, account)
    assert same_tables(answered(dataset, question, account, charged=True).table, first.table)


def test_values_whole_countries_and_tables_of_areas_go_the_long_way(dataset: Dataset) -> None:
    question = questions(dataset)[0]
    assert dataset.areas is not None
    others = [
        replace(question, value="income"),
        replace(question, area=None),
        replace(question, area=dataset.areas.total),
        replace(question, area=None, variables=((str(dataset.geography), 1), *question.variables)),
    ]
    assert dataset.shortcut.leads(question)
    assert not any(dataset.shortcut.leads(other) for other in others)


class ReadyBudgets(Budgets):
    """Budgets of which some cells are at hand."""

    ready = 10**6

    def at_hand(self, holder: str, cells: int, most: int) -> bool:
        if self.ready < cells:
            return False
        self.ready -= cells
        return True


def test_what_takes_little_needs_no_thread_and_is_paid_and_logged(tmp_path: Path) -> None:
    dataset = made(tmp_path, records=3_000, areas=10)
    places, log, budgets = {(dataset.name, dataset.edition): dataset}, KeptLog(), ReadyBudgets()
    assert dataset.areas is not None
    one, two = [code for code in dataset.areas.base_codes if code not in dataset.refused["all"]][:2]
    threads: list[int] = []

    async def asked(service: Service, area: str | None) -> bytes:
        whole = service.workplace.run

        async def counted(size: int, work: Any) -> Any:
            threads.append(size)
            return await whole(size, work)

        service.workplace.run = counted  # type: ignore[method-assign]
        body = QuestionBody(variables=["sex", "marital"], area=area)
        try:
            return (await service.ask(PUBLIC, (dataset.name, "latest"), body, "jsonstat", "1")).content
        finally:
            service.workplace.run = whole  # type: ignore[method-assign]

    async def main() -> None:
        account = MemoryAccount()
        service = Service(places, account, budgets, log, at_once=True)
        plain = Service(places, MemoryAccount(), Budgets(), KeptLog())
        first = await asked(service, one)
        assert len(threads) == 1  # the first one is charged
        second = await asked(service, two)
        assert len(threads) == 1
        assert [first, second] == [await asked(plain, one), await asked(plain, two)]
        assert budgets.ready == 10**6 - 3 * 5
        budgets.ready = 0
        service.answers = type(service.answers)()
        service._encoded.clear()
        account.tables.clear()
        del threads[:]
        assert await asked(service, two) == second
        assert len(threads) == 1
        for each in (service, plain):
            await each.workplace.close()

    asyncio.run(main())
    assert [type(entry).__name__ for entry in log.entries] == ["AnswerGiven"] * 3
