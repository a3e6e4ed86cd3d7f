"""A table server of many records with mutual TLS, as operators run it: its folder, its processes, its users."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.columns import AREAS, DISTRICTS, MODULUS, SIZES, people

TICKS = os.sysconf("SC_CLK_TCK")
CATALOGUE = """\
version = 1
name = "census"
edition = "2021.1"

[data]
file = "records.parquet"
record_key = "rkey"

{variables}
[variables.area]
hierarchy = "area.hrc"

[[universes]]
name = "women"
where = ["sex == 'se0'"]

[geography]
variable = "area"

[policy]
method = {{ method = "cell_key", D = 5, V = 3.0, js = 2, modulus = {modulus} }}
most_variables = 4
exact_share = 1.0
budget_cells = 1000000000
"""
SETTINGS = """\
version = 1
store = "server.db"
run = "run"

[listen]
port = {port}
workers = {workers}
origin = "https://127.0.0.1:{port}"

[log]
folder = "log"
key = "log.key"

[tls]
certificate = "server.pem"
key = "server.key"
authorities = "trust"
clients = "required"

[[datasets]]
folder = "census"
"""


def build(folder: Path, records: int) -> float:
    """Make the data set of the server; CPU seconds."""
    import pyarrow.parquet as pq

    from discreet.keys import Key
    from discreet.server.dataset import build_dataset

    source = folder / "source"
    source.mkdir()
    table = people(records)
    pq.write_table(table, source / "records.parquet")
    del table
    lines = []
    for district in range(DISTRICTS):
        lines.append(f"D{district:03}")
        lines += [f"@A{area:05}" for area in range(AREAS) if area // (AREAS // DISTRICTS) == district]
    (source / "area.hrc").write_text("\n".join(lines) + "\n")
    variables = "".join(f"[variables.{name}]\n\n" for name in SIZES)
    (source / "census.toml").write_text(CATALOGUE.format(variables=variables, modulus=MODULUS))
    started = time.process_time()
    build_dataset(source / "census.toml", folder / "census", key=Key(bytes(range(32))))
    return time.process_time() - started


def furnish(folder: Path, workers: int, names: Sequence[str]) -> int:
    """Keys, certificates, people and settings; the port."""
    from discreet.server.roles import Role
    from discreet.server.store.people import Founder
    from discreet.server.store.schema import migrate
    from discreet.server.store.store import Store
    from discreet.trust import make_keys
    from discreet.trust.authority import Authority, IssuedCertificate
    from discreet.trust.holders import Holder
    from discreet.trust.peer import PeerCertificate

    def give(name: str, issued: IssuedCertificate) -> None:
        (folder / f"{name}.pem").write_bytes(issued.certificate)
        (folder / f"{name}.key").touch(mode=0o600)
        (folder / f"{name}.key").write_bytes(issued.key_pem)

    with socket.create_server(("127.0.0.1", 0)) as found:
        port = int(found.getsockname()[1])
    make_keys(folder / "log.key")
    migrate(folder / "server.db")
    authority = Authority.create(folder / "ca", "Example Office", by="Otto")
    authority.export(folder / "trust")
    local = Holder("tables", hosts=("127.0.0.1",))
    give("server", authority.issue(authority.request("server", local, approved_by="Rosa"), by="Otto"))
    with Store.open(folder / "server.db") as store:
        numbers = store.people.found([Founder(name, f"{name}@example.org", Role.RESEARCHER) for name in names])
        for name, number in zip(names, numbers, strict=True):
            holder = Holder(name, email=f"{name}@example.org")
            issued = authority.issue(authority.request("user", holder, approved_by="Rosa"), by="Otto")
            give(name, issued)
            shown = PeerCertificate.from_der(ssl.PEM_cert_to_DER_cert(_first(issued.certificate)))
            store.people.add_certificate(
                shown.serial,
                shown.fingerprint,
                number,
                not_before=int(shown.not_before.timestamp()),
                not_after=int(shown.not_after.timestamp()),
                purpose="client",
            )
    (folder / "server.toml").write_text(SETTINGS.format(port=port, workers=workers))
    return port


def _first(chain: bytes) -> str:
    end = "-----END CERTIFICATE-----\n"
    return chain.decode().partition(end)[0] + end


@dataclass
class Served:
    """A server that runs."""

    folder: Path
    port: int
    process: subprocess.Popen[str]

    def everybody(self) -> list[int]:
        """Numbers of the supervisor, the logger and the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def cpu(self) -> Counter[str]:
        """CPU seconds so far, by what the processes are."""
        found: Counter[str] = Counter()
        for number in self.everybody():
            words = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            found[self._kind(number)] += (int(words[11]) + int(words[12])) / TICKS  # type: ignore[assignment]
        return found

    def _kind(self, number: int) -> str:
        words = Path(f"/proc/{number}/cmdline").read_text().split("\0")
        known = {"discreet.server.worker_process": "workers", "discreet.trust.log": "logger"}
        return "supervisor" if number == self.process.pid else next((known[w] for w in words if w in known), "others")

    def memory(self) -> float:
        """Peak GiB of all processes together, columns included that they share (counted in each)."""
        found = 0
        for number in self.everybody():
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
            found += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        return found / 2**20

    def own_memory(self) -> float:
        """GiB now that no file backs: what the processes themselves hold."""
        found = 0
        for number in self.everybody():
            lines = Path(f"/proc/{number}/status").read_text().splitlines()
            found += sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
        return found / 2**20

    def connection(self, name: str) -> http.client.HTTPSConnection:
        """A connection of somebody."""
        from discreet.trust.tls import client_context

        own = {"certificate": self.folder / f"{name}.pem", "key": self.folder / f"{name}.key"}
        context = client_context(self.folder / "trust", **own)
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=300)


@contextmanager
def served(folder: Path, port: int) -> Iterator[Served]:
    """Run a server, and stop it with the block; modules that it compiles are kept in its folder."""
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", "serve", "--config", str(folder / "server.toml")],
        env={**os.environ, **kept},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "Listening on" in line:
                break
        else:
            raise RuntimeError("The server did not start.")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Served(folder, port, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def floor_served(folder: Path, port: int, size: int) -> Iterator[Served]:
    """Run a server that answers everything with so many bytes, over the same TLS and the same protocol class."""
    words = [sys.executable, "-m", "benchmarks.server_floor", str(folder), str(port), str(size)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        if "Listening" not in process.stderr.readline():
            raise RuntimeError("The floor did not start.")
        yield Served(folder, port, process)
    finally:
        process.terminate()
        process.wait(60)


class Wait(NamedTuple):
    """Seconds that an answer took, its status, and whether a refusal said when to come again."""

    seconds: float
    status: int
    retry: bool
    size: int


@dataclass
class Load:
    """What people were told while they asked, each on one connection, one question after the other.

    CPU is that of the server's processes only; who asks has a process of their own.
    """

    served: Served
    waits: list[Wait] = field(default_factory=list)
    cpu: Counter[str] = field(default_factory=Counter)
    clock: float = 0.0

    def ask(self, lists: Sequence[tuple[str, Sequence[str]]], *, quiet: bool = False) -> Load:
        """Ask lists of paths at the same time, each in the name of somebody."""
        start = threading.Barrier(len(lists) + 1)

        def one(name: str, paths: Sequence[str]) -> None:
            connection = self.served.connection(name)
            if not quiet:
                connection.connect()
            start.wait()
            for path in paths:
                began = time.perf_counter()
                connection.request("GET", path)
                reply = connection.getresponse()
                size = len(reply.read())
                retry = reply.getheader("retry-after") is not None
                self.waits.append(Wait(time.perf_counter() - began, reply.status, retry, size))
            connection.close()

        threads = [threading.Thread(target=one, args=given) for given in lists]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        cpu = self.served.cpu()
        start.wait()
        began = time.perf_counter()
        for thread in threads:
            thread.join()
        self.clock = time.perf_counter() - began
        self.cpu = self.served.cpu()
        self.cpu.subtract(cpu)
        return self

    def quantile(self, share: float) -> float:
        """Milliseconds within which a share of the answers came."""
        found = sorted(wait.seconds for wait in self.waits if wait.status == 200)
        return 1000 * found[min(len(found) - 1, int(share * len(found)))]

    @property
    def each(self) -> float:
        """CPU ms of the server's processes a request."""
        return 1000 * self.cpu.total() / len(self.waits)

    @property
    def split(self) -> str:
        """The same by process."""
        parts = sorted(self.cpu.items(), key=lambda part: -part[1])
        return ", ".join(f"{kind} {1000 * seconds / len(self.waits):.3g}" for kind, seconds in parts)

    def count(self, status: int) -> int:
        """How many answers had a status."""
        return sum(wait.status == status for wait in self.waits)
