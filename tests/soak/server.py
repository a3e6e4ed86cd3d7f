"""Kill -9 workers, the logger, the database or the whole server, and let the clock jump, while clients ask.

No wrong answer, no lost entry.
Whoever asks keeps every answer. Afterwards each of them must be in the log, with its digest; the log must verify; and
each answer must be the one that the data set gives when it is asked in this process.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import http.client
import io
import os
import random
import signal
import struct
import subprocess
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.server.dataset import open_dataset
from discreet.server.gate import admitted
from discreet.server.question import QuestionBody
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from discreet.trust.log_verify import check_log
from tests.server.census import KEY, Asker
from tests.server.operations.running import TABLE, Office, Running, asked, running
from tests.server.postgres import Postgres

QUESTIONS = (("sex",), ("marital",), ("sex", "marital"), ("education",), ("age_group:1", "sex"), ("labour:1",))
LONGEST = 60.0
"""Seconds of work, or of doing nothing, within which a server that lost a process answers again."""
PATIENCE = 600.0
"""Seconds by the clock for what a busy machine may put off."""
JUMPS = (1.5, 3_600.0, 86_400.0, 400 * 86_400.0, 25 * 366 * 86_400.0)
"""How far the clock is set off, forwards or backwards: leap seconds to batteries that ran out."""
MODULES = {"worker": "discreet.server.worker_process", "logger": "discreet.trust.log"}


@dataclass
class Clients:
    """People who ask all the time, and keep what they are told."""

    port: int
    number: int = 3
    answers: dict[str, tuple[tuple[str, ...], str, bytes]] = field(default_factory=dict)
    """By the number of the request: question, digest in the header, bytes."""
    found: Counter[str] = field(default_factory=Counter)
    end: threading.Event = field(default_factory=threading.Event)
    guard: threading.Lock = field(default_factory=threading.Lock)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Clients:
        self.threads = [threading.Thread(target=self._ask, args=(who,)) for who in range(self.number)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end.set()
        for thread in self.threads:
            thread.join()

    def _ask(self, who: int) -> None:
        draw = random.Random(who)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        while not self.end.is_set():
            question = draw.choice(QUESTIONS)
            if draw.random() < 0.2:  # somebody else, for whom nothing is kept
                connection.close()
                place = (f"127.0.0.{draw.randint(2, 250)}", 0)
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10, source_address=place)
            try:
                path = f"{TABLE}?variables={','.join(question)}&format=csv"
                status, headers, content = asked(connection, path)
            except (OSError, http.client.HTTPException):
                connection.close()
                with self.guard:
                    self.found["no answer"] += 1
                self.end.wait(0.05)  # nobody is there
                continue
            with self.guard:
                if status == 200:
                    self.answers[headers["x-request-id"]] = (question, headers["x-content-digest"], content)
                else:
                    self.found[f"refused with {status}"] += 1
            self.end.wait(0.01)

    def answered(self, more: int, server: Running) -> None:
        """Wait until so many further answers have come; how long depends on what the server could do meanwhile."""
        wanted, begun = len(self.answers) + more, time.monotonic()
        spent, last = 0.0, server.spent()
        while len(self.answers) < wanted:
            time.sleep(0.005)
            waited = time.monotonic() - begun
            if waited < 1:
                continue
            now = server.spent()  # less than before where one of its processes ended
            spent, last = spent + max(0.0, now - last), now
            if spent > LONGEST or waited > PATIENCE:
                why = f"no answer after {waited:.0f} s, {spent:.0f} s of them work: "
                raise AssertionError(f"{why}{dict(self.found)} {server.said()}")


KINDS = {"worker": 4, "logger": 10, "database": 5, "server": 1, "clock": 4}
"""What is killed, and how often: workers and servers take seconds of CPU to start. The clock jumps."""


@dataclass
class Attacked:
    """A server whose processes are killed while clients ask."""

    office: Office
    settings: Path
    draw: random.Random
    postgres: Postgres | None
    found: Counter[str]
    stack: ExitStack
    said: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = self.office.folder / "clock"
        self.clock.write_bytes(struct.pack("<d", 0.0))
        self.start()

    def start(self) -> None:
        """Start the server, once more."""
        self.server = self.stack.enter_context(running(self.settings, clock=self.clock))
        self.said.append(self.server.lines)

    def harm(self, kind: str) -> None:
        """Kill a process of some kind, or let the clock jump."""
        if kind == "clock":
            off = self.draw.choice([*JUMPS, *(-jump for jump in JUMPS), 0.0])
            self.clock.write_bytes(struct.pack("<d", off))
        elif kind == "server":
            _kill_server(self.server)
            self.start()
        elif kind == "database":
            assert self.postgres is not None
            _kill_database(self.postgres, self.draw)
        elif there := self.server.of_kind(MODULES[kind]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.draw.choice(there), signal.SIGKILL)
        else:
            kind = f"{kind} (none was there)"  # it is starting again
        self.found[f"harmed: {kind}"] += 1


def killed_at_random(
    folder: Path, kills: int, seed: int, kinds: tuple[str, ...] = (), workers: int = 3, postgres: Postgres | None = None
) -> Counter[str]:
    """Kill processes of a server, and of its database where that is PostgreSQL; ``kinds`` instead of chance."""
    draw, office = random.Random(seed), Office(folder)
    settings = office.settings(workers=workers)
    store: str | Path = folder / "server.db"
    chances = {kind: chance for kind, chance in KINDS.items() if kind != "database" or postgres is not None}
    if postgres is not None:
        store = postgres.url("postgres")
        migrate(store)
        settings.write_text(settings.read_text().replace('"server.db"', f'"{store}"'))
    with ExitStack() as stack:
        clients = Clients(office.port)
        attacked = Attacked(office, settings, draw, postgres, clients.found, stack)
        with clients:
            try:
                for number in range(kills):
                    clients.answered(3, attacked.server)
                    time.sleep(draw.uniform(0, 0.2))
                    kind = kinds[number % len(kinds)] if kinds else draw.choices([*chances], [*chances.values()])[0]
                    attacked.harm(kind)
                clients.answered(10, attacked.server)
            except AssertionError as error:  # what was answered until then is judged all the same
                clients.found[f"FAILED: {error}"] += 1
        clients.found["FAILED: it did not stop as it should"] = attacked.server.stop() != 0
    judge(office, clients, office.folder / "log")
    charged(office, clients, store)
    find_secrets(office, ["".join(lines) for lines in attacked.said], clients.found)
    return clients.found


def _kill_database(postgres: Postgres, draw: random.Random) -> None:
    """Kill the server of the database, or one that works for a connection; the first must be started again."""
    (first, *_) = (postgres.folder / "data" / "postmaster.pid").read_text().split()
    mine = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    if draw.random() < 0.5 and mine:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(draw.choice(mine)), signal.SIGKILL)  # all others end then, and it recovers by itself
        return
    os.kill(int(first), signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return postgres.start()
        except (
            RuntimeError
        ):  # one that worked for a connection has not noticed yet, or it takes longer than pg_ctl waits
            if postgres.runs():
                return None
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def charged(office: Office, clients: Clients, store: str | Path) -> None:
    """See that every table that was answered is in the account."""
    dataset = open_dataset(office.folder / "census")
    with Store.open(store) as opened:
        for names in {question for question, _, _ in clients.answers.values()}:
            question, _ = admitted(dataset, QuestionBody(variables=list(names)))
            there = opened.account.has(dataset.name, dataset.edition, question.digest)
            clients.found["FAILED: answered and not in the account"] += not there


def _kill_server(server: Running) -> None:
    """Kill the supervisor; what it started ends by itself."""
    server.process.send_signal(signal.SIGSTOP)  # nothing starts any more that is not in the list
    children = list(server.children())
    server.process.kill()
    server.process.wait()
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{child}").exists() and not _zombie(child) for child in children):
        if time.monotonic() > end:
            raise AssertionError("processes of a killed server go on")
        time.sleep(0.02)


def _zombie(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def judge(office: Office, clients: Clients, log: Path) -> None:
    """Compare what the clients have with the log, and with the data set asked here."""
    found, there = clients.found, {}
    kinds: Counter[str] = Counter()

    def look(entry: Any) -> None:
        kinds[entry.body["kind"]] += 1
        if entry.body["kind"] == "answer":
            there[entry.body["request"]] = entry.body["answer"]

    verdict = check_log(log, each=look)
    asker = Asker(open_dataset(office.folder / "census"))
    right = {question: asker(*question) for question in QUESTIONS}
    found["answers"], found["entries of answers"] = len(clients.answers), kinds["answer"]
    found["repairs"] = kinds["repair"]
    found["FAILED: the log does not verify"] = not verdict.holds
    for request, (question, digest, content) in clients.answers.items():
        found["FAILED: answered and not in the log"] += there.get(request) != digest
        found["FAILED: cut answers"] += hashlib.sha256(content).hexdigest() != digest
        found["FAILED: wrong answers"] += cells_of(content, question) != right[question]


def cells_of(content: bytes, question: tuple[str, ...]) -> dict[tuple[str, ...], float]:
    """The cells of an answer in CSV."""
    rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig")))
    names = [word.partition(":")[0] for word in question]
    return {tuple(row[name] for name in names): float(row["value"]) for row in rows}


def find_secrets(office: Office, said: list[str], found: Counter[str]) -> None:
    """Look for keys, places and records in all that the server wrote for others to read."""
    texts = [text.encode() for text in said]
    for place in ("log", "run"):
        texts += [path.read_bytes() for path in (office.folder / place).iterdir() if path.is_file()]
    marks = [str(office.folder).encode(), KEY.secret, KEY.secret.hex().encode(), b"records.parquet", b"PRIVATE KEY"]
    for mark in marks:
        found["FAILED: a secret was written"] += sum(mark in text for text in texts)
    found["texts looked through"] = len(texts)


def full_disk(folder: Path, times: int, seed: int) -> Counter[str]:
    """Fill the disk of the log while clients ask: nothing is answered then, and everything afterwards."""
    found, draw, office = Counter[str](), random.Random(seed), Office(folder)
    place = office.folder / "disk"
    place.mkdir(mode=0o700)
    settings = office.settings()
    settings.write_text(settings.read_text().replace('folder = "log"', 'folder = "disk/log"'))
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        found["no file system could be mounted"] = 1
        return found
    try:
        with running(settings) as server:
            clients = Clients(office.port, 1)
            with clients:
                for _ in range(times):
                    clients.answered(draw.randint(1, 5), server)
                    filling = place / "filling"
                    with contextlib.suppress(OSError), filling.open("wb", buffering=0) as stream:  # full is full
                        while stream.write(b"0" * 64):
                            pass
                    before = clients.found["refused with 503"]
                    end = time.monotonic() + PATIENCE
                    while clients.found["refused with 503"] < before + 3 and time.monotonic() < end:
                        time.sleep(0.005)
                    clients.found["FAILED: answered without room for the log"] += (
                        clients.found["refused with 503"] < before + 3
                    )
                    filling.unlink()
                clients.answered(5, server)
        judge(office, clients, place / "log")
        found.update(clients.found)
    finally:
        subprocess.run(["umount", str(place)], check=True)
    return found
