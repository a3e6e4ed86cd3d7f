"""The short way to plain counts gives what ``protect`` gives: every area, universe, level and method that it takes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from discreet.files.published import Heading
from discreet.files.published.jsonstat import jsonstat_text
from discreet.server import answer as answering
from discreet.server.account import MemoryAccount
from discreet.server.answer import answered, shown
from discreet.server.dataset import Dataset
from discreet.server.question import Question, Selection
from discreet.server.shortcut import same_tables
from discreet.verbs.protect import protect
from tests.server.census import made

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
