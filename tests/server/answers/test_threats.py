"""Attackers of the threat table who come through HTTP: trackers, evasion, complements, clocks, caches, canaries."""

from __future__ import annotations

import gc
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.server.answer as answer_module
import discreet.server.service as service_module
from discreet.server.account import MemoryAccount
from discreet.server.answer import answered, charges
from discreet.server.dataset import Dataset, build_dataset
from discreet.server.gate import admitted
from discreet.server.identity import Identity
from discreet.server.question import QuestionBody
from discreet.server.roles import Role
from tests.server.answers.test_http import TABLE, Server
from tests.server.census import KEY, cells, made, people

LIMIT = 0.5
"""The owner's limit: ``exact_share`` of the sample."""
FORMATS = ["jsonstat", "csv", "arrow", "xlsx", "sdmx-csv", "sdmx-json", "px", "parquet"]


def user(number: int) -> Identity:
    return Identity(number, f"user {number}", frozenset({Role.REGISTERED}), 0)


def told(server: Server, *variables: str, **more: Any) -> dict[tuple[str, ...], float]:
    """The cells of an answer by code, from its JSON-stat."""
    reply = server.client.post(TABLE, json={"variables": list(variables), **more})
    assert reply.status_code == 200, reply.text
    cube = reply.json()
    codes = [list(cube["dimension"][name]["category"]["index"]) for name in cube["id"]]
    values = cube["value"]
    listed = values.items() if isinstance(values, dict) else enumerate(values)
    found = {}
    for place, value in listed:
        where = np.unravel_index(int(place), cube["size"])
        found[tuple(column[i] for column, i in zip(codes, where, strict=True))] = value
    return found


# ---- trackers --------------------------------------------------------------------------------------------------


def tracked(table: dict[tuple[str, ...], float], cell: tuple[str, ...], k: int, rest: list[str]) -> float:
    """Denning's tracker along one variable: everybody of the padded formula, less those who are not meant."""
    whole = table.get((*cell[:k], "Total", *cell[k + 1 :]), 0)
    return whole - sum(table.get((*cell[:k], code, *cell[k + 1 :]), 0) for code in rest)


def test_ten_thousand_trackers_isolate_nobody_beyond_the_owners_limit(census: Dataset, census_folder: Path) -> None:
    records = people(census_folder)
    names = ["age_group", "marital", "education", "labour", "birth"]
    tries = singles = said_single = right = 0
    with Server(census) as server:
        for three in combinations(names, 3):
            if server.client.post(TABLE, json={"variables": list(three)}).status_code != 200:
                continue  # the account has no room: an attacker gets no more of it
            table = told(server, *three)
            true = Counter(tuple(person[name] for name in three) for person in records)
            finest = [sorted({cell[k] for cell in true}) for k in range(3)]
            for cell in product(*finest):
                for k in range(3):
                    guess = tracked(table, cell, k, [code for code in finest[k] if code != cell[k]])
                    tries += 1
                    singles += true[cell] == 1
                    said_single += guess == 1
                    right += guess == 1 == true[cell]
    assert tries >= 10_000
    assert singles > 500
    assert said_single > 0
    assert right / said_single <= LIMIT  # who is told "one" is wrong more often than not
    assert right / singles <= LIMIT


def test_no_single_person_is_shown_by_any_answer(census: Dataset) -> None:
    with Server(census) as server:
        for two in combinations(["age_group", "marital", "education", "birth"], 2):
            assert not {1, 2} & set(told(server, *two).values())


def test_cells_that_noise_made_empty_look_like_those_that_are(census: Dataset, census_folder: Path) -> None:
    three = ("age_group", "marital", "education")
    true = Counter(tuple(person[name] for name in three) for person in people(census_folder))
    with Server(census) as server:
        shown = told(server, *three)
    assert 0 not in shown.values()
    gone = [cell for cell in true if cell not in shown]
    assert gone  # some that are not empty are not there either
    assert {1, 2} <= {true[cell] for cell in gone}


# ---- evasion ---------------------------------------------------------------------------------------------------


def evasions() -> Iterator[tuple[dict[str, Any], str, dict[str, str]]]:
    """Ways to ask for less of the same: slices, groups, totals, formats, languages."""
    for more in (
        {},
        {"select": {"sex": ["F"]}},
        {"select": {"sex": ["F"], "marital": ["W"]}, "totals": False},
        {"groups": {"marital": {"was": ["W", "D"]}}},
        {"value": "income"},
        {"value": "income", "measure": "mean"},
        {"universe": "adults"},
    ):
        yield more, "csv", {}
    for format in FORMATS:
        yield {}, format, {"accept-language": "cy"}


@pytest.mark.parametrize("order", [1, -1])
def test_a_refused_table_stays_refused_however_it_is_sliced(census: Dataset, order: int) -> None:
    wanted = ["sex", "marital", "education", "labour"][::order]
    with Server(census) as server:
        for more, format, headers in evasions():
            reply = server.client.post(f"{TABLE}?format={format}", json={"variables": wanted, **more}, headers=headers)
            assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:too-many-variables"), more
        assert {type(entry).__name__ for entry in server.log.entries} == {"QuestionRefused"}


@pytest.fixture(scope="module")
def small_areas(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dataset]:
    folder = tmp_path_factory.mktemp("small-areas")
    return folder, made(folder, records=6_000, areas=40, change={"smallest = 20": "smallest = 130"})


def test_an_area_that_is_refused_is_in_no_answer(small_areas: tuple[Path, Dataset]) -> None:
    _, dataset = small_areas
    refused = sorted(dataset.refused["all"])
    assert 0 < len(refused) < len(dataset.areas.codes)
    with Server(dataset) as server:
        for area in refused:
            for more, format, headers in evasions():
                body = {"variables": ["sex", "marital"], **more, "area": area}
                reply = server.client.post(f"{TABLE}?format={format}", json=body, headers=headers)
                assert (reply.status_code, reply.json()["type"]) == (403, "urn:discreet:small-area")
        for area in refused:
            assert not any(cell[0] == area for cell in told(server, "area", "sex"))
            body = {"variables": ["area", "sex"], "select": {"area": [area]}}
            assert server.client.post(TABLE, json=body).json()["type"] == "urn:discreet:small-area"
            body = {"variables": ["area", "sex"], "groups": {"area": {"mine": [area]}}}
            assert server.client.post(TABLE, json=body).json()["type"] == "urn:discreet:group-members"


# ---- complements -----------------------------------------------------------------------------------------------


def test_two_who_ask_complementary_universes_differ_by_many_everywhere(small_areas: tuple[Path, Dataset]) -> None:
    """One asks for everybody, the other for adults: wherever both are answered, children are many, or none."""
    folder, dataset = small_areas
    least = dataset.policy.smallest_difference
    children = Counter(person["area"] for person in people(folder) if person["age"] < 18)
    adults = Counter(person["area"] for person in people(folder) if person["age"] >= 18)
    both = 0
    with Server(dataset) as server:
        for area in sorted(children | adults):
            statuses = []
            for number, universe in ((1, "all"), (2, "adults")):
                server.who = user(number)
                body = {"variables": ["sex"], "universe": universe, "area": area}
                statuses.append(server.client.post(TABLE, json=body).status_code)
            if statuses == [200, 200]:
                both += 1
                assert children[area] == 0 or children[area] >= least
                assert adults[area] >= least
    assert both > 5


def test_what_two_users_ask_is_one_account(census: Dataset) -> None:
    """What one has used up is used up for the other: halves of an attack are not cheaper than the whole."""
    attack = list(combinations(["age_group", "marital", "education", "labour", "birth"], 3))
    answers = []
    for users in (1, 2):
        with Server(census) as server:
            for number, three in enumerate(attack):
                server.who = user(1 + number % users)
                reply = server.client.post(TABLE, json={"variables": list(three)})
                answers.append((users, three, reply.status_code))
    assert [a[1:] for a in answers if a[0] == 1] == [a[1:] for a in answers if a[0] == 2]


# ---- clocks and caches -----------------------------------------------------------------------------------------


def calls(work: Any) -> list[tuple[str, str]]:
    """All functions that are called, in their order."""
    found: list[tuple[str, str]] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            found.append((frame.f_code.co_filename, frame.f_code.co_name))
        elif event == "c_call":
            found.append(("", argument.__name__))

    gc.collect()
    gc.disable()  # it comes when it likes
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def test_whether_somebody_is_there_changes_no_step_of_the_work(tmp_path: Path) -> None:
    """Two data sets that differ by one person: the same calls in the same order, the same cells in the answer."""
    import pyarrow.parquet as pq

    made(tmp_path / "with", records=3_000, areas=4)
    whole = pq.read_table(tmp_path / "with" / "source" / "records.parquet")
    for name in ("area.hrc", "age_group.hrc", "birth.hrc", "labour.hrc", "census.toml"):
        target = tmp_path / "without" / "source" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((tmp_path / "with" / "source" / name).read_bytes())
    pq.write_table(whole.slice(1), tmp_path / "without" / "source" / "records.parquet")
    build_dataset(tmp_path / "without" / "source" / "census.toml", tmp_path / "without" / "census", key=KEY)
    from discreet.server.dataset import open_dataset

    traces, shapes = [], []
    for place in ("with", "without"):
        dataset = open_dataset(tmp_path / place / "census")
        question, _ = admitted(dataset, QuestionBody(variables=["sex", "marital"]))
        answered(dataset, question, MemoryAccount())  # what is made once is made
        traces.append(calls(lambda d=dataset, q=question: answered(d, q, MemoryAccount())))
        shapes.append(sorted(cells(answered(dataset, question, MemoryAccount()).table)))
    assert len(traces[0]) > 100
    assert traces[0] == traces[1]
    assert shapes[0] == shapes[1]


def test_that_somebody_asked_before_saves_another_no_work(census: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(dataset: Dataset, question: Any, *rest: Any, **more: Any) -> Any:
        asked.append(question.digest)
        return answered(dataset, question, *rest, **more)

    monkeypatch.setattr(service_module, "answered", counted)
    with Server(census) as server:
        for number, times in ((1, 1), (1, 1), (2, 2), (2, 2), (3, 3)):
            server.who = user(number)
            told(server, "sex", "marital")
            assert len(asked) == times
        for address in ("192.0.2.1", "192.0.2.2"):  # nor between two of the public
            server.who = Identity(None, "", frozenset({Role.PUBLIC}), 0, address)
            told(server, "sex", "marital")
        assert len(asked) == 5


@pytest.mark.parametrize("area", [None, "region"])
def test_what_somebody_else_had_charged_is_counted_again(
    census: Dataset, monkeypatch: pytest.MonkeyPatch, area: str | None
) -> None:
    """The table of all areas is the expensive part; only those who had it charged themselves are spared it."""
    assert census.areas is not None
    place = census.areas.codes[1] if area else None
    work: list[str] = []

    def counted(dataset: Dataset, question: Any, table: Any) -> Any:
        work.append(question.digest)
        return charges(dataset, question, table)

    monkeypatch.setattr(answer_module, "charges", counted)
    with Server(census) as server:
        for number, times in ((1, 1), (2, 2), (3, 3)):
            server.who = user(number)
            told(server, "sex", "marital", area=place)
            assert len(work) == times
        if place is not None:  # another area of the same kind is free for those who had it charged
            other = next(code for code in census.areas.codes[2:] if code not in census.refused["all"])
            same = int(census.areas.depth[census.areas.index[other]]) == int(census.areas.depth[1])
            told(server, "sex", "marital", area=other)
            assert len(work) == 3 + (not same)
        assert len(set(work)) <= 2


# ---- what is worked out of answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("universe", ["all", "adults"])
def test_percentages_and_means_tell_no_more_than_the_published_cells(
    census: Dataset, census_folder: Path, universe: str
) -> None:
    """A count recomputed from percent and total, or from total and mean, is never closer to the truth on the whole.

    Both are functions of published cells, which is what matters. Rounding moves a recomputed count by one here and
    there, and then now and then towards the truth; over all cells it does not.
    """
    names = ("age_group", "marital")
    with Server(census) as server:
        count = told(server, *names, universe=universe)
        percent = told(server, *names, universe=universe, measure="percent")
        chosen = told(server, *names, universe=universe, measure="percent", select={"marital": ["S"]}, totals=False)
        income = told(server, *names, universe=universe, value="income")
        mean = told(server, *names, universe=universe, value="income", measure="mean")
    whole = count["Total", "Total"]
    true = Counter[tuple[str, str]]()
    for person in people(census_folder):
        if universe == "all" or person["age"] >= 18:
            true[person["age_group"], person["marital"]] += 1
    assert set(percent) == set(count)
    for cell, share in percent.items():
        assert share == np.floor(10_000 * count[cell] / whole + 0.5) / 100  # of published cells, and of nothing else
        assert chosen.get(cell, share) == share
    recomputed = published = 0.0
    for cell, one in true.items():
        if cell not in count:
            continue
        from_percent = round(percent[cell] * whole / 100)
        half = 0.005 * whole / 100 + 0.5
        assert abs(from_percent - count[cell]) <= half  # whatever rounding adds is no knowledge of the truth
        recomputed += abs(from_percent - one)
        published += abs(count[cell] - one)
        if mean.get(cell):
            assert round(income[cell] / mean[cell]) == count[cell]
    assert recomputed >= published > 0


# ---- enumeration -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "budget"), [(2, 2_000), (3, 5_000)])
def test_a_crawler_meets_the_budget_and_the_estimate_is_what_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, budget: int
) -> None:
    change = {"exact_share = 0.5": f"exact_share = 0.9\nbudget_cells = {budget}"}
    dataset = made(tmp_path, records=2_000, areas=4, change=change)
    statuses, charged = Counter[int](), 0
    names = [name for name in dataset.levels if name != "area"]
    with Server(dataset) as server:
        monkeypatch.setattr(server.account, "charge", lambda *_: None)  # it would stop the crawler before the budget
        for some in combinations(names, size):
            body = {"variables": list(some)}
            estimate = server.client.post(TABLE.replace("/table", "/estimate"), json=body).json()["cells"]
            before = sum(server.budgets.used.values())
            status = server.client.post(TABLE, json=body).status_code
            statuses[status] += 1
            spent = sum(server.budgets.used.values()) - before
            assert spent == (estimate if status == 200 else 0)
            charged += spent
    assert statuses[200] > 0
    assert statuses[429] > 0
    assert set(statuses) == {200, 429}
    assert charged <= budget


# ---- canaries --------------------------------------------------------------------------------------------------

CANARY = ("Xanthippe-77", "98765432", "9876543.21")


def test_canaries_are_in_no_log_error_or_counter(
    census: Dataset, census_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """An error that speaks of a record, a key and a place is told to nobody in its own words."""
    words = [*CANARY, KEY.secret.hex(), str(census_folder), "records.parquet"]

    def broken(*_: Any) -> Any:
        record = dict(zip(("person", "income", "wealth"), CANARY, strict=True))
        raise ValueError(f"{record} {KEY.secret.hex()} {census_folder}/source/records.parquet")

    texts: list[str] = []
    with caplog.at_level(logging.DEBUG), Server(census) as server:
        monkeypatch.setattr(service_module, "answered", broken)
        for variables in (["sex"], ["marital", "sex"], ["area"]):
            reply = server.client.post(TABLE, json={"variables": variables})
            assert reply.status_code == 500
            texts += [reply.text, str(dict(reply.headers))]
        texts += [server.client.get("/metrics").text, server.client.get("/health").text]
        texts += [repr(entry) for entry in server.log.entries]
        assert [entry.rule for entry in server.log.entries] == ["unexpected"] * 3
    texts += [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    assert any("failed" in text for text in texts)
    for text in texts:
        for word in words:
            assert word not in text
