"""What the addresses of the server answer, and that nothing leaves before it is logged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from math import prod
from typing import Any

import pytest
from starlette.testclient import TestClient

from discreet.server.account import MemoryAccount
from discreet.server.app import TableApp
from discreet.server.dataset import Dataset
from discreet.server.identity import Identity
from discreet.server.question import LARGEST
from discreet.server.roles import Role
from discreet.server.service import Service, Workplace
from tests.server.census import PUBLIC, Asker, Budgets, KeptLog

BAD = "not-a-question"
JSON = {"content-type": "application/json"}
TABLE = "/v1/datasets/census/latest/table"


class Server:
    """An application with its log and budgets in reach."""

    def __init__(self, census: Dataset, **more: Any) -> None:
        self.log, self.budgets, self.account = KeptLog(), Budgets(), MemoryAccount()
        self.who = PUBLIC
        datasets = {(census.name, census.edition): census}
        self.service = Service(datasets, self.account, self.budgets, self.log, **more)

        async def who(_request: Any) -> Identity:
            return self.who

        self.client = TestClient(TableApp(self.service, who).application(), raise_server_exceptions=False)

    def __enter__(self) -> Server:
        self.client.__enter__()  # one event loop for all requests
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__()


@pytest.fixture
def server(census: Dataset) -> Iterator[Server]:
    with Server(census) as server:
        yield server


def test_a_table_comes_with_the_digest_that_the_log_has(server: Server) -> None:
    reply = server.client.get(TABLE, params={"variables": "sex,marital"})
    assert reply.status_code == 200
    (entry,) = server.log.entries
    assert entry.answer == hashlib.sha256(reply.content).hexdigest() == reply.headers["x-content-digest"]
    assert entry.request == reply.headers["x-request-id"]


def test_values_are_those_of_protect(server: Server, census: Dataset) -> None:
    cube = server.client.post(TABLE, json={"variables": ["sex", "marital"]}).json()
    codes = [cube["dimension"][name]["category"]["index"] for name in cube["id"]]
    told = {}
    for i, sex in enumerate(codes[0]):
        for j, marital in enumerate(codes[1]):
            told[sex, marital] = cube["value"][i * len(codes[1]) + j]
    assert told == Asker(census)("sex", "marital")
    assert "altered" in cube["extension"]["status"]["label"]["A"]


def test_nothing_leaves_when_the_log_does_not_answer(server: Server) -> None:
    server.log.broken = True
    reply = server.client.get(TABLE, params={"variables": "sex"})
    assert reply.status_code == 503
    assert "value" not in reply.text
    assert reply.headers["retry-after"]


def test_refusals_are_logged_with_their_rule(server: Server) -> None:
    reply = server.client.get(TABLE, params={"variables": "sex,marital,education,labour"})
    assert reply.status_code == 403
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["type"] == "urn:discreet:too-many-variables"
    assert reply.json()["detail"]
    assert [entry.rule for entry in server.log.entries] == ["too-many-variables"]


@pytest.mark.parametrize(
    ("send", "status", "kind"),
    [
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400, "not-json"),
        ({"content": b"[" * 100, "headers": {"content-type": "application/json"}}, 400, "too-deep"),
        ({"content": b"\xff\xfe", "headers": {"content-type": "application/json"}}, 400, "not-json"),
        ({"content": b" " * (LARGEST + 1), "headers": {"content-type": "application/json"}}, 413, "too-large"),
        ({"content": b"sex", "headers": {"content-type": "text/plain"}}, 415, "not-json"),
        ({"json": {"variables": ["sex"], "where": "age=1"}}, 400, "not-a-question"),
        ({"json": {"variables": "sex"}}, 400, "not-a-question"),
        ({"json": {"variables": ["sex' or 1=1"]}}, 404, "unknown-variable"),
        ({"json": {"variables": ["sex\x00"]}}, 404, "unknown-variable"),
        ({"json": {"variables": ["../../etc/passwd"]}}, 404, "unknown-variable"),
        ({"json": {"variables": ["sexx"]}}, 404, "unknown-variable"),
        ({"json": {"variables": ["sex", "marital", "education", "labour"]}}, 403, "too-many-variables"),
        ({"json": {"variables": ["area", "birth", "age_group", "labour"]}}, 413, "too-many-cells"),
        ({"json": {"variables": ["sex"] * 30_000}}, 400, "twice"),
        ({"content": b'{"variables": [{"name": "sex", "level": 1%s}]}' % (b"0" * 5_000), "headers": JSON}, 400, BAD),
        ({"json": {"variables": [{"name": "sex", "level": -1}]}}, 400, "not-a-question"),
        ({"json": {"variables": [{"name": "sex", "level": 9}]}}, 404, "unknown-level"),
        ({"json": {"variables": ["sex"], "select": "F"}}, 400, "not-a-question"),
        ({"json": {"variables": ["sex"], "select": {"sex": "F"}}}, 400, "not-a-question"),
        ({"json": {"variables": ["sex"], "select": {"sex": [["F"]]}}}, 400, "not-a-question"),
        ({"json": {"variables": ["sex"], "select": {"sex": []}}}, 400, "no-codes"),
        ({"json": {"variables": ["sex"], "select": {"sex": ["F' or 1=1"]}}}, 404, "unknown-code"),
        ({"json": {"variables": ["sex"], "select": {"age": ["1"]}}}, 400, "unknown-variable"),
        ({"json": {"variables": ["sex"], "groups": {"sex": {"both": []}}}}, 400, "group-members"),
        ({"json": {"variables": ["sex"], "universe": "age >= 18"}}, 404, "unknown-universe"),
        ({"json": {"variables": ["sex"], "area": "G01' or 1=1"}}, 404, "unknown-area"),
        ({"content": b'{"variables": ["sex"], "select": ' + b'{"a":' * 60_000, "headers": JSON}, 413, "too-large"),
        ({"content": b'{"variables": ["sex"], "select": ' + b'{"a":' * 50, "headers": JSON}, 400, "too-deep"),
        ({"content": b"", "headers": JSON}, 400, "not-json"),
        ({"content": b'{"variables": ["sex"]}'}, 415, "not-json"),
        ({"data": {"variables": "sex"}}, 415, "not-json"),
        ({"content": b"{}", "headers": {"content-type": "application/json5"}}, 415, "not-json"),
    ],
)
def test_bad_questions_have_a_status_and_a_word(server: Server, send: dict[str, Any], status: int, kind: str) -> None:
    reply = server.client.post(TABLE, **send)
    assert (reply.status_code, reply.json()["type"]) == (status, f"urn:discreet:{kind}")
    assert reply.json().get("detail") or "Available" in reply.json()["title"]
    assert reply.headers["content-type"] == "application/problem+json"


def test_too_many_cells_are_refused_with_their_number_before_any_work(
    server: Server, census: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def worked(*_: object) -> None:
        raise AssertionError("nothing is to be computed")

    monkeypatch.setattr(server.service.workplace, "run", worked)
    names = ["area", "birth", "age_group", "labour"]
    cells = prod(len(census.hierarchies[name]) for name in names)
    for path in (TABLE, TABLE.replace("/table", "/estimate")):
        reply = server.client.post(path, json={"variables": names})
        assert reply.status_code == 413
        assert f"{cells:,} cells" in reply.json()["title"]
    assert not server.budgets.used
    assert server.client.post(TABLE, json={"variables": ["sex"]}).status_code == 500  # where work would be noticed


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/datasets/nothing/latest/table?variables=sex", 404),
        ("/v1/datasets/census/1900/table?variables=sex", 404),
        ("/v1/datasets/census/latest/table?variables=sex&filter=age", 400),
        ("/v1/datasets/census/latest/table?variables=sex&variables=marital", 400),
        ("/v1/datasets/census/latest/table", 400),
        ("/v1/datasets/census/latest/table?variables=sex&format=pdf", 406),
        ("/v1/datasets/census/latest/table?variables=" + "x" * 9000, 414),
        ("/v1/datasets/..%2f..%2fetc/latest", 404),
        ("/v1/datasets/%2e%2e/%2e%2e/table?variables=sex", 404),
        ("/v1/datasets/census/..%2f..%2f2021.1", 404),
        ("/v1/datasets/census%00/latest", 404),
        ("/v1/datasets/census/latest%0d%0aset-cookie:a=b", 404),
        ("/v1/datasets/census/latest/variables/..%2f..%2fcatalogue.json", 404),
        ("/v1/datasets/census/latest/variables/%2e%2e", 404),
        ("/v1/datasets/CENSUS/latest", 404),
        ("/v1/datasets/census/latest/table?variables=sex&select.sex=", 404),
        ("/v1/datasets/census/latest/table?variables=sex&select.age=1", 400),
        ("/v1/datasets/census/latest/table?variables=sex&select.sex=F&select.sex=M", 400),
        ("/v1/datasets/census/latest/table?variables=sex&totals=maybe", 400),
        ("/v1/datasets/census/latest/table?variables=,", 400),
        ("/v1/datasets/census/latest/table?" + "&".join(f"a{n}=1" for n in range(300)), 400),
        ("/nothing", 404),
    ],
)
def test_bad_addresses_are_problems(server: Server, path: str, status: int) -> None:
    reply = server.client.get(path)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_withdrawn_edition_is_gone_and_says_the_way_on(census: Dataset) -> None:
    with Server(census, withdrawn={("census", "2011.1"): "2021.1"}) as server:
        reply = server.client.get("/v1/datasets/census/2011.1/table?variables=sex")
    assert reply.status_code == 410
    assert "2021.1" in reply.json()["detail"]


def test_a_line_that_is_too_long_sends_people_away(census: Dataset) -> None:
    with Server(census, workplace=Workplace(longest=0)) as server:
        reply = server.client.get(TABLE, params={"variables": "sex"})
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")


def test_cells_are_reserved_once_for_what_a_project_had_before(server: Server) -> None:
    for _ in range(3):
        assert server.client.get(TABLE, params={"variables": "sex,marital"}).status_code == 200
    assert server.budgets.used[PUBLIC.holder] == 3 * 5


def test_an_administrator_gets_no_data(server: Server) -> None:
    server.who = Identity(1, "root", frozenset({Role.ADMINISTRATOR}), 3)
    assert server.client.get(TABLE, params={"variables": "sex"}).status_code == 403
    assert server.client.get("/v1/datasets").status_code == 403


def test_a_mean_is_a_published_sum_over_a_published_count(server: Server) -> None:
    sums = server.client.get(TABLE, params={"variables": "sex", "value": "income", "format": "csv"})
    assert sums.status_code == 200, sums.text
    counts = server.client.get(TABLE, params={"variables": "sex", "format": "csv"})
    means = server.client.get(TABLE, params={"variables": "sex", "value": "income", "measure": "mean", "format": "csv"})
    rows = [[line.split(",") for line in reply.text.splitlines()[1:]] for reply in (sums, counts, means)]
    for (_, total, _), (_, count, _), (_, mean, _) in zip(*rows, strict=True):
        assert abs(float(total) / float(count) - float(mean)) <= 0.005 + 1e-9


@pytest.mark.parametrize("format", ["csv", "arrow", "xlsx", "sdmx-csv", "sdmx-json", "px", "parquet"])
def test_every_format_is_sent(server: Server, format: str) -> None:
    reply = server.client.get(TABLE, params={"variables": "sex", "format": format})
    assert reply.status_code == 200
    assert reply.content


def test_headers_of_every_answer_forbid_keeping_and_framing(server: Server) -> None:
    for path in ("/health", "/v1/datasets", "/nothing", f"{TABLE}?variables=sex"):
        headers = server.client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_the_catalogue_tells_no_count_of_anybody(server: Server, census: Dataset) -> None:
    page = server.client.get("/v1/datasets/census/latest").json()
    assert page.pop("limits") == {"variables": 3, "cells": 200_000, "cells_per_day": 50_000_000}
    assert "20000" not in json.dumps(page)
    codes = server.client.get("/v1/datasets/census/latest/variables/sex").json()["codes"]
    assert [code["label"] for code in codes] == ["Total", "Women", "Men"]


def test_a_hostile_label_stays_text(server: Server) -> None:
    reply = server.client.post(TABLE, json={"variables": ["<script>alert(1)</script>"]})
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert json.loads(reply.text)["status"] == 404
