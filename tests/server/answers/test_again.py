"""What somebody asks again, word for word, is answered as it was before: same bytes, same headers, same entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from discreet.server.account import MemoryAccount
from discreet.server.again import AskedAgain
from discreet.server.app import TableApp
from discreet.server.dataset import Dataset
from discreet.server.denied import Denied, who_are_you
from discreet.server.identity import Identity
from discreet.server.roles import Role
from discreet.server.service import Service
from tests.server.census import PUBLIC, Budgets, KeptLog

TABLE = "/v1/datasets/census/latest/table?variables=sex,marital"
ADA = Identity(1, "Ada", frozenset({Role.RESEARCHER}), 3, "127.0.0.1", serial="a1")
BEN = replace(ADA, principal_id=2, name="Ben", serial="b2")


class Server:
    """An application, and how often it looked at a question whole."""

    def __init__(self, census: Dataset, *, quick: bool = True) -> None:
        self.log, self.who, self.refused = KeptLog(), ADA, False
        self.gone: dict[tuple[str, str], str] = {}
        self.budgets = Budgets()
        places = {(census.name, census.edition): census}
        self.service = Service(places, MemoryAccount(), self.budgets, self.log, withdrawn=self.gone)
        self.slow = 0
        whole = self.service.ask

        async def ask(_request: Any) -> Identity:
            return self.now({})

        async def counted(*given: Any) -> Any:
            self.slow += 1
            return await whole(*given)

        self.service.ask = counted  # type: ignore[method-assign]

        app = TableApp(self.service, ask, who_now=self.now if quick else None)
        self.client = TestClient(app.application(), raise_server_exceptions=False)

    def now(self, _scope: Any) -> Identity:
        if self.refused:
            raise who_are_you("revoked-certificate")
        return self.who

    def get(self, path: str = TABLE, **more: Any) -> Any:
        return self.client.get(path, **more)


@pytest.fixture
def server(census: Dataset) -> Iterator[Server]:
    made = Server(census)
    with made.client:
        yield made


def told(reply: Any) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All of an answer but the number of its request."""
    return reply.status_code, reply.content, [pair for pair in reply.headers.items() if pair[0] != "x-request-id"]


def test_what_is_asked_again_has_the_same_bytes_headers_and_entry(server: Server, census: Dataset) -> None:
    first, again = server.get(), server.get()
    assert server.slow == 1  # the second one went no further than the door
    assert told(first) == told(again)
    one, two = server.log.entries
    assert replace_request(one, "") == replace_request(two, "")
    assert [one.request, two.request] == [first.headers["x-request-id"], again.headers["x-request-id"]]
    plain = Server(census, quick=False)
    with plain.client:
        assert told(plain.get()) == told(again)
        assert replace_request(plain.log.entries[0], "") == replace_request(two, "")


def replace_request(entry: Any, request: str) -> Any:
    import msgspec

    return msgspec.structs.replace(entry, request=request)


def test_other_words_people_formats_and_methods_are_looked_at_whole(server: Server) -> None:
    server.get()
    other = [
        lambda: server.get(TABLE + "&totals=no"),
        lambda: server.get(TABLE.replace("variables=sex,marital", "variables=marital,sex")),
        lambda: server.get(headers={"accept": "text/csv"}),
        lambda: server.get(headers={"cookie": "a=b"}),
        lambda: server.get(headers={"discreet-signature": "a.b.c"}),
        lambda: server.get(headers=[("accept", "*/*"), ("accept", "text/csv")]),
        lambda: server.client.post(TABLE.partition("?")[0], json={"variables": ["sex", "marital"]}),
    ]
    for number, ask in enumerate(other, start=2):
        ask()
        assert server.slow == number
    server.who = BEN
    server.get()
    assert server.slow == len(other) + 2  # what somebody else was answered saves nobody work


def test_nothing_leaves_when_the_log_does_not_answer(server: Server) -> None:
    server.get()
    server.log.broken = True
    reply = server.get()
    assert server.slow == 1
    assert (reply.status_code, "value" in reply.text) == (503, False)
    assert reply.headers["retry-after"]
    assert reply.headers["cache-control"] == "no-store"


class Editions:
    """Editions, one of which may be withdrawn at any time."""

    def __init__(self) -> None:
        self.gone: set[tuple[str, str]] = set()

    def refuse_closed(self, dataset: str, edition: str) -> None:
        if (dataset, edition) in self.gone:
            raise Denied("withdrawn", "This edition was withdrawn.", hint="Ask for a newer one.", status=410)


@pytest.mark.parametrize("quick", [True, False])
def test_an_edition_that_is_withdrawn_meanwhile_is_given_to_nobody(census: Dataset, quick: bool) -> None:
    server = Server(census, quick=quick)
    server.service.editions = editions = Editions()
    with server.client:
        assert server.get().status_code == server.get().status_code == 200
        editions.gone.add((census.name, census.edition))
        for reply in (server.get(), server.get(headers={"accept": "text/csv"}), server.get(TABLE + "&totals=no")):
            assert (reply.status_code, "value" in reply.text) == (410, False)
    assert [type(entry).__name__ for entry in server.log.entries] == ["AnswerGiven"] * 2 + ["QuestionRefused"] * 3
    assert {entry.rule for entry in server.log.entries[2:]} == {"withdrawn"}


def test_who_is_revoked_in_between_is_refused_and_that_is_logged(server: Server) -> None:
    server.get()
    server.refused = True
    reply = server.get()
    assert reply.status_code == 401
    assert "value" not in reply.text
    assert server.log.entries[-1].rule == "revoked-certificate"


def test_who_loses_their_role_in_between_is_refused(server: Server) -> None:
    server.get()
    server.who = replace(ADA, roles=frozenset({Role.ADMINISTRATOR}))
    assert server.get().status_code == 403
    assert server.log.entries[-1].rule == "role"


def test_an_edition_that_is_withdrawn_in_between_is_gone(server: Server, census: Dataset) -> None:
    server.get()
    server.gone[census.name, census.edition] = ""
    assert server.get().status_code == 410
    assert server.log.entries[-1].dataset == census.name or server.log.entries[-1].rule == "withdrawn"


def test_who_has_no_cells_left_has_what_they_had_and_nothing_new(server: Server, census: Dataset) -> None:
    first = server.get()
    server.budgets.used[ADA.holder] = census.policy.budget_cells
    assert told(server.get()) == told(first)
    assert server.get(TABLE.replace("marital", "labour")).status_code == 429


def test_an_answer_that_is_kept_no_more_is_made_anew(server: Server) -> None:
    first = server.get()
    server.service._encoded.clear()
    assert told(server.get()) == told(first)
    assert server.slow == 2


def test_words_are_kept_for_a_bounded_number_of_short_questions(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = AskedAgain(server.service, lambda _scope: ADA)
    reply = server.client.portal.call(  # type: ignore[union-attr]
        lambda: server.service.ask(ADA, ("census", "latest"), body_of("sex"), "jsonstat", "1")
    )
    monkeypatch.setattr("discreet.server.again.MOST", 3)
    for number in range(5):
        again.remember(scope(b"a=%d" % number), ADA, ("census", "latest"), reply, [])
    again.remember(scope(b"a" * 4_096), ADA, ("census", "latest"), reply, [])
    found = [again.find(scope(b"a=%d" % number), ADA) is not None for number in range(5)]
    assert found == [False, False, True, True, True]
    assert again.find(scope(b"a" * 4_096), ADA) is None


def scope(query: bytes) -> dict[str, Any]:
    return {"method": "GET", "raw_path": b"/v1", "query_string": query, "headers": []}


def body_of(*names: str) -> Any:
    from discreet.server.question import QuestionBody

    return QuestionBody(variables=list(names))


def test_the_public_is_told_again_by_its_address_only(census: Dataset) -> None:
    server = Server(census)
    server.who = PUBLIC
    with server.client:
        server.get()
        server.get()
        assert server.slow == 1
        server.who = replace(PUBLIC, address="127.0.0.2")
        server.get()
        assert server.slow == 2
