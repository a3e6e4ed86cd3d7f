"""A server with pages on loopback: real sessions, roles and tokens in a real store; certificates as TLS shows them.

The browser says in a header whose certificate its connection has, and a layer in front of the application puts it where
TLS does. That layer is the only part that is not the server's own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any

import uvicorn

from discreet.server.app import TableApp
from discreet.server.dataset import Dataset
from discreet.server.identity import check_origin, who_asks
from discreet.server.pages.frame import PageFrame
from discreet.server.pages.site import page_routes
from discreet.server.roles import Role
from discreet.server.service import Service
from discreet.server.sign_in import SignIn, request_data
from discreet.server.store.people import Founder
from discreet.server.store.schema import migrate
from discreet.server.store.store import Store
from tests.server.census import KEY, KeptLog

PATIENCE = 20.0
YEAR = 365 * 86_400
HEADER = b"x-test-certificate"
PEOPLE = {
    "Ada": Role.RESEARCHER,
    "Ben": Role.RESEARCHER,
    "Rita": Role.REVIEWER,
    "Otto": Role.REVIEWER,
    "Olga": Role.OFFICER,
    "Mara": Role.DATA_OWNER,
    "Nora": Role.REGISTRATION_OFFICER,
    "Emil": Role.ADMINISTRATOR,
    "Zoe": Role.AUDITOR,
}


@dataclass(frozen=True)
class Peer:
    """A certificate as TLS shows it."""

    serial: str
    fingerprint: str
    not_after: datetime


@dataclass
class Office:
    """A server with its store and people."""

    folder: Path
    datasets: list[Dataset]
    log: KeptLog = field(default_factory=KeptLog)
    origin: str = ""
    numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        migrate(self.folder / "server.db")
        self.store = Store.open(self.folder / "server.db")
        founders = [Founder(name, f"{name.lower()}@example.org", role) for name, role in PEOPLE.items()]
        self.numbers = dict(zip(PEOPLE, self.store.people.found(founders), strict=True))
        now = int(time())
        for name, number in self.numbers.items():
            self.store.people.add_certificate(
                f"0{number}", f"print{name}", number, not_before=now - 9, not_after=now + YEAR
            )
        for one in self.datasets:
            self.store.editions.register(one.name, one.edition, key_fingerprint="00", key_version=1)
        places = {(one.name, one.edition): one for one in self.datasets}
        self.service = Service(places, self.store.account, self.store.budgets, self.log, KEY)

    def application(self) -> Any:
        async def ask(request: Any) -> Any:
            data = request_data(request)
            found = who_asks(self.store, data)
            check_origin(data, found, self.origin)
            return found

        frame = PageFrame(ask)
        sign_in = SignIn(self.store, self.origin, log=self.log)
        app = TableApp(self.service, ask, more=self.more_routes(frame, sign_in)).application()

        async def with_certificates(scope: Any, receive: Any, send: Any) -> None:
            name = dict(scope.get("headers", [])).get(HEADER, b"").decode()
            if name:
                until = datetime.fromtimestamp(time() + YEAR, UTC)
                shown = Peer(f"0{self.numbers[name]}", f"print{name}", until)
                scope = {**scope, "extensions": {**scope.get("extensions", {}), "tls": {"peer": shown}}}
            await app(scope, receive, send)

        return with_certificates

    def project(self, name: str, *members: str, variables: tuple[str, ...] = ()) -> int:
        """An active project of some people, with variables of all data sets."""
        until = int(time()) + 86_400
        number = self.store.projects.request(name, self.numbers[members[0]], licence="1", expires=until)
        for member in members[1:]:
            self.store.projects.add_member(number, self.numbers[member])
        self.store.projects.set_state(number, "active")
        for one in self.datasets if variables else ():
            self.store.projects.grant(number, one.name, one.edition, variables, None)
        return number

    def more_routes(self, frame: PageFrame, sign_in: SignIn) -> list[Any]:
        return page_routes(frame, self.service, sign_in=sign_in, log_folder=self.folder / "log")


@contextmanager
def serving(office: Office) -> Iterator[str]:
    """Serve it; the address."""
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    from discreet.server.serving import listening

    socket = listening("127.0.0.1", 0)
    office.origin = f"http://127.0.0.1:{socket.getsockname()[1]}"
    server = Server(uvicorn.Config(office.application(), log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        assert started.wait(PATIENCE)
        yield office.origin
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        office.store.close()
    assert not thread.is_alive()
