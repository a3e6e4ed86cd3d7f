"""A server as operators run it: real processes on loopback, certificates of an authority of its own."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.server.roles import Role
from discreet.server.store.people import Founder
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.trust import make_keys
from discreet.trust.authority import IssuedCertificate
from discreet.trust.holders import Holder
from discreet.trust.peer import PeerCertificate
from discreet.trust.tls import client_context
from tests.server.census import made
from tests.trust.house import LOCAL, House

ROOT = Path(__file__).parents[3]
TABLE = "/v1/datasets/census/latest/table"
SETTINGS = """\
version = 1
store = "server.db"
run = "run"

[listen]
port = {port}
workers = {workers}
origin = "https://127.0.0.1:{port}"
{listen}

[log]
folder = "log"
key = "log.key"

[[datasets]]
folder = "census"
"""
TLS = """
[tls]
certificate = "server.pem"
key = "server.key"
authorities = "trust"
clients = "{clients}"
"""
PEOPLE = {
    "Ada": Role.RESEARCHER,
    "Emil": Role.ADMINISTRATOR,
    "Mara": Role.DATA_OWNER,
    "Zoe": Role.AUDITOR,
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def environment(clock: Path | None = None) -> dict[str, str]:
    """Where the code lies, and what it needs, for this interpreter and others of its version.

    With the file of a clock its processes go by that (``tests/soak/clock``).
    """
    places, more = [str(ROOT / "src"), sysconfig.get_path("purelib")], {}
    if clock is not None:
        places, more = [str(ROOT / "tests" / "soak" / "clock"), *places], {"SOAK_CLOCK": str(clock)}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places), **more}


@dataclass
class Office:
    """A folder with everything that a server needs, and the people who use it."""

    folder: Path
    records: int = 2_000
    areas: int = 4
    port: int = field(default_factory=free_port)
    house: House = field(init=False)
    issued: dict[str, IssuedCertificate] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        made(self.folder, records=self.records, areas=self.areas)
        make_keys(self.folder / "log.key")
        migrate(self.folder / "server.db")

    def with_certificates(self, clients: str = "required", workers: int = 1, listen: str = "", more: str = "") -> Path:
        """Settings with TLS; everybody has a certificate, entered in the store."""
        self.house = House(self.folder / "authority")
        self.publish()
        self.give("server", self.house.issued("server", LOCAL))
        with Store.open(self.folder / "server.db") as store:
            founders = [Founder(name, f"{name.lower()}@example.org", role) for name, role in PEOPLE.items()]
            self.numbers = dict(zip(PEOPLE, store.people.found(founders), strict=True))
        for name in PEOPLE:
            self.enter(name, name)
        return self.settings(listen, TLS.format(clients=clients) + more, workers)

    def settings(self, listen: str = "", more: str = "", workers: int = 1) -> Path:
        path = self.folder / "server.toml"
        path.write_text(SETTINGS.format(port=self.port, workers=workers, listen=listen) + more, encoding="utf-8")
        return path

    def publish(self) -> None:
        """Bring the lists of revoked certificates to the server."""
        self.house.ca.export(self.folder / "trust")

    def give(self, name: str, issued: IssuedCertificate) -> None:
        (self.folder / f"{name}.pem").write_bytes(issued.certificate)
        key = self.folder / f"{name}.key"
        key.touch(mode=0o600)
        key.write_bytes(issued.key_pem)
        self.issued[name] = issued

    def enter(self, name: str, file: str, purpose: str = "user") -> None:
        """Issue a certificate for somebody and enter it in the store."""
        issued = self.house.issued(purpose, Holder(name, email=f"{name.lower()}@example.org"))
        self.give(file, issued)
        shown = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(first_pem(issued.certificate)))
        with Store.open(self.folder / "server.db") as store:
            store.people.add_certificate(
                shown.serial,
                shown.fingerprint,
                self.numbers[name],
                not_before=int(shown.not_before.timestamp()),
                not_after=int(shown.not_after.timestamp()),
                purpose="client" if purpose == "user" else "signature",
            )

    def connection(self, name: str | None = None) -> http.client.HTTPSConnection:
        """A connection of somebody, or of somebody without certificate."""
        given: dict[str, Any] = {}
        if name is not None:
            given = {"certificate": self.folder / f"{name}.pem", "key": self.folder / f"{name}.key"}
        context = client_context(self.folder / "trust", **given)
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=20)


def first_pem(chain: bytes) -> str:
    end = "-----END CERTIFICATE-----\n"
    return chain.decode().partition(end)[0] + end


def asked(
    connection: http.client.HTTPConnection, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    found: dict[str, str] = {}
    for given, value in reply.getheaders():
        found[given.lower()] = f"{found[given.lower()]}, {value}" if given.lower() in found else value
    return reply.status, found, reply.read()


def told(connection: http.client.HTTPConnection, path: str, **more: Any) -> tuple[int, Any]:
    """Status and JSON of an answer."""
    status, _, body = asked(connection, path, **more)
    return status, json.loads(body) if body else None


def cpu_seconds(number: int) -> float:
    """What a process has used; nothing where it is gone."""
    try:
        words = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Running:
    """A server that was started by ``discreet serve --config``."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    new: queue.Queue[str] = field(default_factory=queue.Queue)

    def read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            self.new.put(line)
        self.new.put("")

    def wait_for(self, text: str, seconds: float = 240) -> str:
        """Wait until a line with some text comes: so many seconds of work, or of doing nothing, not by the clock."""
        spent, idle, last = 0.0, 0.0, self.spent()
        while True:
            try:
                line = self.new.get(timeout=1.0)
            except queue.Empty:
                now = self.spent()
                spent, idle, last = spent + max(0.0, now - last), 0.0 if now > last else idle + 1.0, now
                if max(spent, idle) < seconds:
                    continue
                why = f"no {text!r} after {spent:.0f} s of work and {idle:.0f} s of none: "
                raise AssertionError(why + self.said()) from None
            if text in line:
                return line
            if not line:
                raise AssertionError("the server ended: " + self.said())

    def said(self) -> str:
        """The end of what it wrote on standard error."""
        return "".join(self.lines)[-2000:]

    def spent(self) -> float:
        """Seconds of CPU of its processes."""
        return sum(cpu_seconds(number) for number in (self.process.pid, *self.children()))

    def children(self) -> dict[int, list[str]]:
        """Numbers and words of the processes that the server started."""
        found = {}
        for name in [place.name for place in Path("/proc").iterdir()]:
            if name.isdigit():
                try:
                    parent = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
                    words = Path("/proc", name, "cmdline").read_text().split("\0")
                except (OSError, ProcessLookupError):
                    continue
                if parent == self.process.pid and words != [""]:
                    found[int(name)] = words
        return found

    def of_kind(self, module: str) -> list[int]:
        """Numbers of its workers (``discreet.server.worker_process``) or of its logger (``discreet.trust.log``)."""
        return [number for number, words in self.children().items() if module in words]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def running(
    settings: Path, *, python: str = sys.executable, compiled: bool = True, clock: Path | None = None
) -> Iterator[Running]:
    """Run a server, and end it with the block; a user without compiled kernels would take a minute to compile them."""
    process = subprocess.Popen(
        [python, "-m", "discreet", "serve", "--config", str(settings)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment(clock) | ({} if compiled else {"NUMBA_DISABLE_JIT": "1"}),
    )
    found = Running(process)
    reader = threading.Thread(target=found.read, daemon=True)
    reader.start()
    try:
        found.wait_for("Listening on")
        yield found
    finally:
        found.stop()
        reader.join(10)
        assert process.stderr is not None
        process.stderr.close()


def refused_start(settings: Path) -> str:
    """What a server says that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "serve", "--config", str(settings)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode not in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "Listening" not in done.stderr
    return done.stderr
