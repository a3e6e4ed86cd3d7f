"""A table server that offers private retrieval: a page, and cells that come back without a word about which."""

from __future__ import annotations

import http.client
import logging
from urllib.parse import urlsplit

import pytest

import discreet as ds
from discreet.private.problems import ProtocolError
from discreet.server import worker
from discreet.server.app import HEADERS, TableApp
from discreet.server.config import LogPart, ServerConfig
from discreet.server.retrieval import retrieval_routes
from discreet.server.store.schema import migrate
from tests.server import running as running_module
from tests.server.running import running


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    release = ds.protect(ds.examples.small_table().assess(ds.PPercent(10)), ds.Suppress())
    release.save(folder / "out")
    ds.private.build_database(folder / "out", folder / "tables.pir", page_bytes=256)
    return folder / "tables.pir"


def answered(url, path):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.request("GET", path)
    reply = connection.getresponse()
    return reply.status, dict(reply.getheaders()), reply.read()


def test_cells_of_published_tables_are_fetched_in_private(database, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    more = retrieval_routes(database, HEADERS)
    monkeypatch.setattr(
        running_module, "TableApp", lambda service, who, **others: TableApp(service, who, more=more, **others)
    )
    with running() as server:
        status, headers, page = answered(server.url, "/retrieval")
        assert status == 200
        assert b"<li>turnover</li>" in page
        assert f"{server.url}/retrieval".encode() in page
        assert headers["content-security-policy"].startswith("default-src 'none'")
        status, headers, _ = answered(server.url, "/retrieval/part/nothing")
        assert status == 404
        assert headers["x-content-type-options"] == "nosniff"
        client = ds.private.RetrievalClient(f"{server.url}/retrieval", scheme="simplepir")
        cells = client.get_many([("food", "East"), ("retail", "North")], table="turnover")
        assert [(cell.value, cell.status) for cell in cells] == [(60, "V"), (None, "X")]
        with pytest.raises(ProtocolError, match="No such cell"):
            client.get("turnover", "food", "nowhere")
        assert server.log.entries == []
    assert "East" not in caplog.text


def test_settings_say_whether_it_is_there(database, tmp_path, monkeypatch):
    migrate(tmp_path / "server.db")
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setattr(worker, "opened_datasets", lambda config: {})
    plain = {"version": 1, "datasets": [], "log": LogPart(folder="log", key="key"), "store": "server.db", "run": "run"}
    for retrieval, there in ((str(database), True), (None, False)):
        config = ServerConfig(**plain, folder=str(tmp_path), retrieval=retrieval)
        routes = worker.application(config, None).routes()
        assert any(getattr(route, "path", "") == "/retrieval" for route in routes) is there
