"""The application learns who is at the other end from the TLS layer only: with a real uvicorn on loopback."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection

import pytest

from discreet.errors import InputError
from discreet.trust.holders import Holder
from discreet.trust.peer import peer
from discreet.trust.tls import client_context, server_context
from discreet.trust.uvicorn_tls import uvicorn_options
from tests.trust.house import ADA, LOCAL, House

pytest.importorskip("cryptography")
uvicorn = pytest.importorskip("uvicorn")

PATIENCE = 10.0
FORGERIES = {
    "X-Client-Cert": "-----BEGIN CERTIFICATE-----",
    "X-Client-Certificate-Serial": "1",
    "x_client_cert": "serial=1",
    "X-SSL-Client-Cert": "anything",
    "X-Forwarded-Client-Cert": "Hash=1",
}


async def app(scope, receive, send):
    """Tell the client who it is, and which headers came."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    found = peer(scope)
    told = {
        "serial": found and found.serial,
        "email": found and found.email,
        "name": scope["extensions"].get("tls", {}).get("client_cert_name"),
        "purposes": sorted(found.purposes) if found else [],
        "headers": [name.decode() for name, _ in scope["headers"]],
        "refusal": found and context_of(scope).refusal(found),
    }
    body = json.dumps(told).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def context_of(scope):
    return RUNNING[scope["server"][1]]


RUNNING: dict[int, ssl.SSLContext] = {}


@contextmanager
def served(context) -> Iterator[int]:
    """The port of a server that runs in a thread and ends with the block."""
    started = threading.Event()
    config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=2, **uvicorn_options(context))

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert started.wait(PATIENCE)
        port = server.servers[0].sockets[0].getsockname()[1]
        RUNNING[port] = context
        yield port
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture
def house(tmp_path) -> House:
    return House(tmp_path)


def connection(house, port, issued=None) -> HTTPSConnection:
    files = house.files(issued) if issued else (None, None)
    context = client_context(house.public, certificate=files[0], key=files[1])
    return HTTPSConnection("localhost", port, context=context, timeout=PATIENCE)


def told(opened: HTTPSConnection, headers=None) -> dict:
    opened.request("GET", "/", headers=headers or {})
    return json.loads(opened.getresponse().read())


def test_the_certificate_reaches_the_application_and_forged_headers_do_not(house):
    context = server_context(*house.files(house.issued("server", LOCAL)), house.public)
    ada, eve = house.issued(), house.issued(holder=Holder("Eve", email="eve@example.org"))
    with served(context) as port:
        for one, email in ((ada, ADA.email), (eve, "eve@example.org")):
            opened = connection(house, port, one)
            for headers in ({}, FORGERIES | {"X-Client-Cert": ada.certificate.decode().replace("\n", " ")}):
                found = told(opened, headers)
                assert (found["serial"], found["email"], found["purposes"]) == (one.serial, email, ["user"])
                assert found["headers"] == ["host", "accept-encoding"]
            opened.close()


def test_who_shows_no_certificate_is_nobody_whatever_the_headers_say(house):
    context = server_context(*house.files(house.issued("server", LOCAL)), house.public, clients="optional")
    with served(context) as port:
        opened = connection(house, port)
        found = told(opened, FORGERIES)
        assert (found["serial"], found["name"], found["headers"]) == (None, None, ["host", "accept-encoding"])
        opened.close()


def test_without_a_certificate_no_request_comes_through_where_one_is_required(house):
    context = server_context(*house.files(house.issued("server", LOCAL)), house.public)
    with served(context) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            told(connection(house, port))
        assert told(connection(house, port, house.issued()))["email"] == ADA.email  # it goes on for others


def test_an_open_connection_is_refused_from_the_reload_on(house):
    context = server_context(*house.files(house.issued("server", LOCAL)), house.public)
    one = house.issued()
    with served(context) as port:
        opened, next_one = (connection(house, port, one) for _ in range(2))
        assert told(opened)["refusal"] is None
        house.ca.revoke(one.serial, by="Rosa")
        house.give()
        context.reload()
        assert told(opened)["refusal"] == "certificate revoked"
        opened.close()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            told(next_one)


def test_a_context_that_checks_nothing_is_not_served():
    with pytest.raises(InputError, match="no context that checks"):
        uvicorn_options(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
