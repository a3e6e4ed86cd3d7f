"""A real server on loopback, in a thread, that ends with the block."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from discreet.server.account import MemoryAccount
from discreet.server.app import MoreAddresses, TableApp
from discreet.server.dataset import Dataset
from discreet.server.extracts.addresses import ExtractAddresses
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.identity import Identity
from discreet.server.plots import PlotAddresses, PlotDesk
from discreet.server.service import Service
from discreet.server.store.store import Store
from tests.server.census import KEY, PUBLIC, Budgets, KeptLog

PATIENCE = 20.0


class Running:
    """A server that answers: its address, its log and what it was asked; with a store plots, with a desk extracts."""

    def __init__(self, *datasets: Dataset, store: Store | None = None, desk: ExtractDesk | None = None) -> None:
        self.log, self.budgets, self.account = KeptLog(), Budgets(), MemoryAccount()
        self.url, self.who = "", PUBLIC
        places = {(one.name, one.edition): one for one in datasets}
        self.service = Service(places, self.account, self.budgets, self.log, KEY)

        async def who(_request: Any) -> Identity:
            return self.who

        beside: list[MoreAddresses] = []
        if store is not None:
            beside.append(PlotAddresses(PlotDesk(self.service, store), who))
        if desk is not None:
            beside.append(ExtractAddresses(desk, who))
        self.app = TableApp(self.service, who, beside=beside).application()


@contextmanager
def running(
    *datasets: Dataset, store: Store | None = None, desk: ExtractDesk | None = None, **options: Any
) -> Iterator[Running]:
    """Serve data sets; ``options`` are those of uvicorn."""
    made, started = Running(*datasets, store=store, desk=desk), threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    settings = {"port": 0, "log_level": "critical", "timeout_graceful_shutdown": 2, **options}
    server = Server(uvicorn.Config(made.app, **settings))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert started.wait(PATIENCE)
        port = server.servers[0].sockets[0].getsockname()[1]
        made.url = f"http://127.0.0.1:{port}"
        yield made
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()
