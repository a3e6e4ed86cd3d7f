"""One question asked 10,000 times, in every way that it can be asked, has one answer: there is nothing to average."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice, permutations, product
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from discreet.server.account import MemoryAccount
from discreet.server.dataset import Dataset
from discreet.server.encoding import ENCODINGS
from discreet.server.identity import Identity
from discreet.server.question import QuestionBody, VariableAsked
from discreet.server.roles import Role
from discreet.server.service import Service
from tests.server.census import Budgets, KeptLog
from tests.server.running import Running

TIMES = 10_000
RESTART_AFTER = 1_000
NAMES = ("sex", "age_group", "marital")
Cells = frozenset[tuple[frozenset[tuple[str, str]], float]]


def of_rows(rows: list[dict[str, Any]], value: str = "value") -> Cells:
    """Cells that are not zero, whatever the order of variables and rows."""
    return frozenset(
        (frozenset((name, row[name]) for name in NAMES), float(row[value])) for row in rows if float(row[value])
    )


def of_jsonstat(content: bytes) -> Cells:
    cube = json.loads(content)
    codes = [cube["dimension"][name]["category"]["index"] for name in cube["id"]]
    given = cube["value"]
    rows = []
    for place, value in given.items() if isinstance(given, dict) else enumerate(given):
        where = np.unravel_index(int(place), cube["size"])
        rows.append({"value": value} | {n: c[i] for n, c, i in zip(cube["id"], codes, where, strict=True)})
    return of_rows(rows)


def of_csv(content: bytes) -> Cells:
    return of_rows(list(csv.DictReader(io.StringIO(content.decode()))))


def of_arrow(content: bytes) -> Cells:
    return of_rows(pa.ipc.open_stream(content).read_all().to_pylist())


def of_sdmx(content: bytes) -> Cells:
    rows = [dict(obs.attrib) for obs in ElementTree.fromstring(content).iter("Obs")]
    for row in rows:
        row.update({name: "Total" for name in NAMES if row[name] == "_T"})
    return of_rows(rows, "OBS_VALUE")


READERS = {"jsonstat": of_jsonstat, "csv": of_csv, "arrow": of_arrow}


def ways(census: Dataset) -> Iterator[tuple[int, QuestionBody, str]]:
    """Who asks, how, and in which format: all orders, levels named or not, as text or apart."""
    finest = {name: len(census.levels[name]) for name in NAMES}
    spelt = [(name, f"{name}:{finest[name]}", VariableAsked(name), VariableAsked(name, finest[name])) for name in NAMES]
    for places, forms, format, user in product(permutations(range(3)), product(range(4), repeat=3), READERS, range(3)):
        variables = [spelt[place][form] for place, form in zip(places, forms, strict=True)]
        yield user, QuestionBody(variables=variables), format


def test_ten_thousand_repeats_have_one_answer_and_are_charged_once(census: Dataset) -> None:
    account, log = MemoryAccount(), KeptLog()
    charged: list[str] = []
    charge = account.charge

    def counting(name: str, edition: str, question: str, *rest: Any) -> None:
        charged.append(question)
        charge(name, edition, question, *rest)

    account.charge = counting  # type: ignore[method-assign]
    new = partial(Service, {(census.name, census.edition): census}, account, Budgets(), log)
    users = [Identity(n, f"user{n}", frozenset({Role.REGISTERED}), 3) for n in range(3)]
    told: set[Cells] = set()
    read: dict[tuple[str, str], Cells] = {}

    async def ask_all() -> None:
        service = new()
        for number, (user, body, format) in enumerate(islice(cycle(ways(census)), TIMES)):
            if number and number % RESTART_AFTER == 0:  # nothing that was kept helps
                await service.workplace.close()
                service = new()
            reply = await service.ask(users[user], (census.name, census.edition), body, format, f"{number}")
            if (format, reply.digest) not in read:
                read[format, reply.digest] = READERS[format](reply.content)
            told.add(read[format, reply.digest])
        await service.workplace.close()

    asyncio.run(ask_all())
    assert len(told) == 1
    assert len(next(iter(told))) > 100
    assert len(log.entries) == TIMES
    assert len({entry.question for entry in log.entries}) == 1
    assert len(set(charged)) == 1


@pytest.mark.parametrize("universe", ["all", "adults"])
def test_all_doors_of_http_have_that_answer(census: Dataset, universe: str) -> None:
    table = "/v1/datasets/census"
    told: set[Cells] = set()
    with TestClient(Running(census).app) as client:
        for order in permutations(NAMES):
            for edition, format in product(("latest", "2021.1"), READERS):
                asked = {"variables": ",".join(order), "universe": universe}
                accept = {"accept": ENCODINGS[format].media_type}
                replies = [
                    client.get(f"{table}/{edition}/table", params={**asked, "format": format}),
                    client.get(f"{table}/{edition}/table", params=asked, headers=accept),
                    client.post(f"{table}/{edition}/table", json={**asked, "variables": order}, headers=accept),
                ]
                told |= {READERS[format](reply.content) for reply in replies}
        key = ".".join("" if name in NAMES else "_T" for name in census.catalogue.variables)
        flow = "census" if universe == "all" else f"census@{universe}"
        accept = {"accept": "application/vnd.sdmx.structurespecificdata+xml"}
        told.add(of_sdmx(client.get(f"/sdmx/data/{flow}/{key}", headers=accept).content))
    assert len(told) == 1
    assert len(next(iter(told))) > 100
