"""``ds.connect``: tables as the server protects them, and its refusals as our errors."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import DiscreetError, InputError, NeedsError, ParameterError, ResourceError
from discreet.files.published import Heading
from discreet.files.published.jsonstat import jsonstat_text
from discreet.server.account import MemoryAccount
from discreet.server.answer import answered
from discreet.server.client import refusal_of
from discreet.server.dataset import Dataset
from discreet.server.gate import admitted
from discreet.server.question import QuestionBody
from discreet.server.received import table_of_jsonstat
from discreet.trust.tls import server_context
from discreet.trust.uvicorn_tls import uvicorn_options
from tests.files.published.making import public_tables
from tests.server.census import Asker, cells
from tests.server.running import Running, running
from tests.trust.house import LOCAL, House


@pytest.fixture(scope="module")
def server(census: Dataset) -> Iterator[Running]:
    with running(census) as found:
        yield found


def test_data_sets_and_what_may_be_asked(server: Running) -> None:
    found = ds.connect(server.url)
    assert [(row["name"], row["edition"]) for row in found.datasets()] == [("census", "2021.1")]
    assert found.describe("census")["limits"]["variables"] == 3
    assert [code["label"] for code in found.codes("census", "sex")] == ["Total", "Women", "Men"]
    assert found.estimate("census", ["sex", "marital"]) == 15


def test_a_table_is_what_protect_gives(server: Running, census: Dataset) -> None:
    found = ds.connect(server.url + "/").table("census", ["sex", "age_group:1"])
    assert cells(found) == Asker(census)("sex", "age_group:1")
    question, _ = admitted(census, QuestionBody(variables=["age_group:1", "sex"]))
    direct = answered(census, question, MemoryAccount()).table
    k = direct.variables.index("age_group")
    assert found.variables == ("sex", "age_group")
    assert (found.code_lists[1], found.parents[1]) == (direct.code_lists[k], direct.parents[k])
    assert (found.altered, found.decimals, found.measure) == (True, 0, "")
    assert found.labels[0]["F"] == "Women"


def test_all_parts_of_a_question_arrive(server: Running, census: Dataset) -> None:
    more = {
        "universe": "adults",
        "area": census.areas.codes[1],
        "value": "income",
        "select": {"sex": ["F"]},
        "groups": {"marital": {"was married": ["W", "D"]}},
        "totals": False,
    }
    connection = ds.connect(server.url)
    assert cells(connection.table("census", ["sex", "marital"], **more)) == Asker(census)("sex", "marital", **more)
    mean = connection.table("census", ["sex"], value="income", measure="mean")
    assert mean.decimals > connection.table("census", "sex", value="income").decimals


def test_arrow_has_the_same_cells(server: Running, census: Dataset) -> None:
    frame = ds.connect(server.url).arrow("census", ["sex", "marital"])
    rows = zip(frame["sex"].to_pylist(), frame["marital"].to_pylist(), strict=True)
    assert dict(zip(rows, frame["value"].to_pylist(), strict=True)) == Asker(census)("sex", "marital")


@pytest.mark.parametrize(
    ("variables", "more", "words"),
    [
        (["sexx"], {}, "Did you mean 'sex'"),
        (["sex", "marital", "education", "labour"], {}, "3 are answered at most. Leave some out."),
        (["area", "birth", "age_group", "labour"], {}, "cells, and 200,000 are answered at most"),
        (["sex"], {"edition": "1900"}, "no edition '1900'"),
        (["sex"], {"edition": "../../../metrics"}, "There is"),
    ],
)
def test_refusals_are_errors_with_the_servers_words(server: Running, variables, more, words) -> None:
    with pytest.raises(ParameterError) as found:
        ds.connect(server.url).table("census", variables, **more)
    assert words in str(found.value)


def test_nobody_at_the_address() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(InputError, match=f"No server answers at 127.0.0.1:{port}"):
            ds.connect(f"http://127.0.0.1:{port}").datasets()


@pytest.mark.parametrize(
    ("url", "more", "words"),
    [
        ("tables.example.org", {}, "not the address"),
        ("ftp://tables.example.org", {}, "not the address"),
        ("http://127.0.0.1:x", {}, "not the address"),
        ("http://tables.example.org", {}, "in the open"),
        ("https://ada@tables.example.org", {}, "no user"),
        ("https://tables.example.org?a=b", {}, "no user"),
        ("http://127.0.0.1", {"authorities": "public"}, "for https"),
        ("https://tables.example.org", {"certificate": "a", "key": "b"}, "authorities is not given"),
        ("https://tables.example.org", {"signing_key": "a", "purpose": "thesis"}, "takes a certificate, its key and"),
        ("https://tables.example.org", {"purpose": "thesis"}, "takes a certificate, its key and a purpose"),
        ("https://tables.example.org", {"signing_certificate": "a", "signing_key": "b"}, "say what they are for"),
    ],
)
def test_bad_addresses(url: str, more: dict[str, str], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ds.connect(url, **more)


def test_with_a_certificate_over_tls(census: Dataset, tmp_path: Path) -> None:
    house = House(tmp_path)
    context = server_context(*house.files(house.issued("server", LOCAL)), house.public)
    certificate, key = house.files(house.issued())
    with running(census, **uvicorn_options(context)) as server:
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        known = ds.connect(url, authorities=house.public, certificate=certificate, key=key)
        assert cells(known.table("census", ["sex"])) == Asker(census)("sex")
        with pytest.raises(InputError, match=r"do not trust each other|No server answers"):
            ds.connect(url, authorities=house.public).datasets()
        with pytest.raises(InputError, match="do not trust each other"):
            ds.connect(url).datasets()
    assert ds.connect("https://tables.example.org").context.minimum_version == ssl.TLSVersion.TLSv1_3


# ---- servers that are not ours --------------------------------------------------------------------------------


@contextmanager
def saying(reply: bytes) -> Iterator[str]:
    """The address of something that says one thing to whoever comes first."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)

        def answer() -> None:
            with listening.accept()[0] as opened:
                opened.settimeout(10)
                while not opened.recv(65_536).endswith((b"\r\n\r\n", b"}")):
                    pass
                opened.sendall(reply)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>", "not what discreet sends"),
        (b"[1]", "not what discreet sends"),
        (b"[" * 100_000, "not what discreet sends"),
    ],
)
def test_what_is_no_answer_of_ours_is_an_error(body: bytes, words: str) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)
    with saying(head + body) as url, pytest.raises(InputError, match=words):
        ds.connect(url).describe("census")


def test_an_answer_without_the_digest_of_the_log_is_refused() -> None:
    with (
        saying(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}") as url,
        pytest.raises(InputError, match="not the one that the server logged"),
    ):
        ds.connect(url).table("census", ["sex"])


def test_a_redirect_is_not_followed() -> None:
    reply = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
    with saying(reply) as url, pytest.raises(InputError, match="status 302"):
        ds.connect(url).datasets()


def test_a_server_that_says_no_http_is_none() -> None:
    with saying(b"220 mail.example.org\r\n") as url, pytest.raises(InputError, match="No server answers"):
        ds.connect(url).datasets()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, ParameterError), (401, NeedsError), (429, ResourceError), (503, ResourceError), (500, InputError)],
)
def test_statuses_are_kinds_of_errors(status: int, kind: type[DiscreetError]) -> None:
    problem = {"title": "No.\x1b[2J", "detail": "Ask\nless."}
    found = refusal_of(status, json.dumps(problem).encode(), "7")
    assert type(found) is kind
    assert found.message == "No. [2J"
    assert found.hint.startswith("Ask less.")
    assert ("in 7 seconds" in found.hint) == (kind is ResourceError)
    assert str(status) in refusal_of(status, b"[]").message


@given(public_tables())
def test_reading_back_gives_what_was_written(table) -> None:
    if table.lower is not None:
        return
    found = table_of_jsonstat(jsonstat_text(table, Heading()))
    order = np.lexsort(table.codes.T[::-1])
    assert found.variables == table.variables
    assert found.code_lists == table.code_lists
    assert np.array_equal(found.codes, table.codes[order])
    for name in ("value", "shown", "empty"):
        assert np.array_equal(getattr(found, name), getattr(table, name)[order])
    assert (found.altered, found.decimals) == (table.altered, table.decimals)


GOOD = {
    "label": "t",
    "id": ["a"],
    "size": [2],
    "dimension": {"a": {"category": {"index": ["x", "y"]}}},
    "value": [1, 2],
    "status": "A",
    "extension": {"decimals": 0},
}


@pytest.mark.parametrize(
    "change",
    [
        {"size": [3]},
        {"size": [3], "value": {"0": 1}},
        {"id": ["a", "a"], "size": [2, 2], "value": {"0": 1}},
        {"id": ["b"]},
        {"value": [1, 2, 3]},
        {"value": {"2": 1}},
        {"value": {"-1": 1}},
        {"value": {"x": 1}},
        {"value": [1.5, 2]},
        {"value": [1e300, 2]},
        {"value": ["NaN", 2]},
        {"extension": {"decimals": 400}},
        {"dimension": {"a": {"category": {"index": ["x", "y"], "child": {"x": ["z"]}}}}},
        {"dimension": 1},
    ],
)
def test_tables_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    assert len(table_of_jsonstat(json.dumps(GOOD).encode())) == 2
    with pytest.raises(InputError, match="not a table"):
        table_of_jsonstat(json.dumps({**GOOD, **change}).encode())


@given(st.binary(max_size=200))
def test_noise_is_no_table(noise: bytes) -> None:
    with pytest.raises(InputError):
        table_of_jsonstat(noise)


def test_a_signing_key_of_somebody_else_or_none_at_all_is_refused(tmp_path: Path) -> None:
    house = House(tmp_path)
    certificate, _ = house.files(house.issued("signing"))
    _, key = house.files(house.issued("signing"))
    text = tmp_path / "text"
    text.write_text("no certificate")
    text.chmod(0o600)
    for one, other, words in ((certificate, key, "not the one of the certificate"), (text, text, "cannot be read")):
        with pytest.raises(InputError, match=words):
            ds.connect("https://localhost", signing_certificate=one, signing_key=other, purpose="thesis")


def test_a_connection_shows_no_key(tmp_path: Path) -> None:
    certificate, key = (house := House(tmp_path)).files(house.issued("signing"))
    connection = ds.connect("https://localhost", signing_certificate=certificate, signing_key=key, purpose="thesis")
    assert "thesis" in repr(connection)
    assert "PRIVATE" not in repr(connection)
    assert "Key" not in repr(connection)
