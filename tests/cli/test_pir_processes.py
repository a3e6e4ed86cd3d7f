"""``discreet pir``: two servers and a client as processes of their own, over mutual TLS."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from urllib.parse import urlsplit

import pytest

pytest.importorskip("cryptography")
pytest.importorskip("uvicorn")

from click.testing import CliRunner

from discreet.cli import main
from discreet.private import build_database
from discreet.trust.holders import Holder
from discreet.trust.tls import client_context
from tests.private.parties.offices import Offices, child

ROWS = [(f"a{i}", f"b{j}", i * 100 + j) for i in range(12) for j in range(10)]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    public = folder / "out" / "public"
    public.mkdir(parents=True)
    text = "".join(f"{a},{b},{value},V\n" for a, b, value in ROWS)
    (public / "counts.csv").write_text(f"area,band,value,status\n{text}")
    return build_database(folder / "out", folder / "pir", page_bytes=256).folder


@pytest.fixture(scope="module")
def offices(tmp_path_factory):
    return Offices(tmp_path_factory.mktemp("offices"))


def command(*arguments) -> list[str]:
    return [sys.executable, "-m", "discreet", "pir", *map(str, arguments)]


def words(credentials) -> list[str]:
    return [
        *("--certificate", str(credentials.certificate), "--certificate-key", str(credentials.key)),
        *("--authorities", str(credentials.authorities)),
    ]


@contextmanager
def serving(database, offices, count, processes=None) -> Iterator[list[str]]:
    """Servers in processes of their own, which are added to ``processes``; gives their addresses."""
    own, ports = words(offices.credentials("retrieval", server=True)), []
    processes = [] if processes is None else processes
    try:
        for _ in range(count):
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                ports.append(found.getsockname()[1])
            processes.append(subprocess.Popen(command("serve", database, "--port", ports[-1], *own)))
        end = time.monotonic() + 30
        for port, process in zip(ports, processes, strict=True):
            while time.monotonic() < end and process.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)
        yield [f"https://localhost:{port}" for port in ports]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def asked(*arguments) -> list:
    """The command ``get`` in a process of its own."""

    def work():
        done = CliRunner().invoke(main, ["pir", "get", *map(str, arguments), "--json"])
        return [done.exit_code, json.loads(done.output)]

    return child(work).told()["result"]


def test_cells_come_back_from_processes_over_mutual_tls(database, offices):
    own = words(offices.credentials("reader"))
    with serving(database, offices, 2) as (one, other):
        for scheme, servers in (("xor", ["--server", one, "--server", other]), ("simplepir", ["--server", one])):
            code, told = asked("a3,b5", *servers, "--scheme", scheme, *own)
            assert code == 0, told
            assert (told["scheme"], told["cells"][0]["value"]) == (scheme, "305")
        code, told = asked("a3,b5", "--server", one, "--authorities", offices.public)
        assert code == 9, told
        assert told["message"].startswith("Party unreachable")


def test_whoever_is_revoked_is_answered_no_more_also_on_an_open_connection(database, offices):
    leaver = offices.issued("user", Holder("leaver", email="leaver@example.org"))
    certificate, key = offices.files(leaver)
    processes = []
    with serving(database, offices, 1, processes) as (address,):
        place = urlsplit(address)
        context = client_context(offices.public, certificate=certificate, key=key)
        open_line = HTTPSConnection(place.hostname, place.port, context=context, timeout=20)

        def status() -> int:
            open_line.request("GET", "/part/manifest")
            reply = open_line.getresponse()
            said = reply.read()
            assert reply.status == 200 or json.loads(said)["message"].endswith("Your certificate no longer counts.")
            return reply.status

        assert status() == 200
        line = open_line.sock
        offices.ca.revoke(leaver.serial, by="Rosa")
        offices.give()
        processes[0].send_signal(signal.SIGHUP)
        end = time.monotonic() + 20
        while (last := status()) == 200 and time.monotonic() < end:
            pass
        assert last == 403
        assert open_line.sock is line
        open_line.close()
        given = ["--certificate", certificate, "--certificate-key", key, "--authorities", offices.public]
        code, told = asked("a3,b5", "--server", address, *given)
        assert code != 0, told
        code, told = asked("a3,b5", "--server", address, *words(offices.credentials("reader")))
        assert (code, told["cells"][0]["value"]) == (0, "305")


def test_half_of_mutual_tls_is_refused(database, offices):
    own = words(offices.credentials("reader"))
    wrong = [
        ["get", "a3,b5", "--server", "https://localhost:1", *own[:4]],
        ["get", "a3,b5", "--server", "https://localhost:1", *own, "--ca", own[1]],
        ["get", "a3,b5", "--server", "https://localhost:1", *own[:2], *own[4:]],
        ["serve", str(database), *own[4:]],
        ["serve", str(database), *own[:4], "--crls", own[1]],
    ]
    for one in wrong:
        done = CliRunner().invoke(main, ["pir", *map(str, one)])
        assert done.exit_code == 2, done.output
