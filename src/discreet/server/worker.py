"""One worker of a server: opens the data sets, warms up, and answers until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import atexit
import gc
import logging
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request

from discreet.engine.column_cubes import cube_variables
from discreet.engine.column_universe import MOST_UNIVERSES
from discreet.engine.columns import ENGINE as COLUMNS
from discreet.errors import DiscreetError
from discreet.files.published import Heading
from discreet.keys import Key
from discreet.server.account import MemoryAccount
from discreet.server.again import WhoNow
from discreet.server.answer import answered, shown
from discreet.server.app import HEADERS, TableApp
from discreet.server.catalogue import EVERYBODY
from discreet.server.config import SOCKET, ServerConfig, answering_key, read_config
from discreet.server.dataset import Dataset, open_dataset
from discreet.server.denied import who_are_you
from discreet.server.encoding import encoding_named
from discreet.server.extracts.addresses import ExtractAddresses
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.extracts.file import ExtractFile, open_file
from discreet.server.identity import Identity, RequestData, check_origin, who_asks
from discreet.server.metrics import Metrics
from discreet.server.oidc import IdentityProvider
from discreet.server.pages.frame import PageFrame, read_templates
from discreet.server.pages.site import page_routes
from discreet.server.passkeys import Passkeys
from discreet.server.plots import PlotAddresses, PlotDesk
from discreet.server.purses import Purses
from discreet.server.question import Question, Selection
from discreet.server.retrieval import retrieval_routes
from discreet.server.service import Service, Workplace, in_order
from discreet.server.sign_in import SignIn, request_data
from discreet.server.signed import SignedRequests
from discreet.server.store.store import Store
from discreet.trust.log.client import AsyncLogClient
from discreet.trust.peer import peer
from discreet.trust.refusals import WhyRefused
from discreet.trust.tls import CheckedContext, server_context
from discreet.trust.uvicorn_tls import take_new_lists, uvicorn_options

LOG = logging.getLogger("discreet.server")
"""Seconds between two looks at the lists of revoked certificates."""


class LinesOfJson(logging.Formatter):
    """Log records as lines of JSON; what a request was about is not in them."""

    FIELDS = ("request", "what", "status", "ms", "place")

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        plain = {"time": when, "level": record.levelname.lower(), "text": record.getMessage()}
        known = record.__dict__
        more = {name: known[name] for name in self.FIELDS if name in known}
        return msgspec.json.encode({**plain, **more}).decode()


class RequestLine(msgspec.Struct):
    """The line of a request; there are many, and this is all that they need."""

    time: str
    level: str
    text: str
    request: str
    what: str
    status: int
    ms: float


class LinesTogether(logging.Handler):
    """Lines of requests go out many at once, and at least every second; warnings and errors at once."""

    MOST = 64
    EVERY = 1.0

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: list[str | RequestLine] = []
        self._second = (0, "")
        threading.Thread(target=self._go_on, daemon=True).start()
        atexit.register(self.flush)

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self._lines.append(self.format(record))
        if record.levelno >= logging.WARNING or len(self._lines) >= self.MOST:
            self.flush()

    def line(self, number: str, what: str, status: int, milliseconds: float) -> None:
        """Take the line of a request, past what ``logging`` does for one."""
        now = time.time()
        if int(now) != self._second[0]:
            self._second = int(now), datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%S")
        when = f"{self._second[1]}.{int(now % 1 * 1000):03}+00:00"
        self._lines.append(RequestLine(when, "info", "request", number, what, status, milliseconds))
        if len(self._lines) >= self.MOST:
            self.flush()

    def flush(self) -> None:
        """Write what there is."""
        with self.lock or nullcontext():
            lines, self._lines = self._lines, []
            if lines:
                texts = (one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in lines)
                self._stream.write("\n".join(texts) + "\n")
                self._stream.flush()

    def _go_on(self) -> None:
        while True:
            time.sleep(self.EVERY)
            self.flush()


def opened_datasets(config: ServerConfig) -> dict[tuple[str, str], Dataset]:
    """All data sets of the settings."""
    found: dict[tuple[str, str], Dataset] = {}
    for part in config.datasets:
        signed_by = None if part.signed_by is None else config.path(part.signed_by)
        dataset = open_dataset(config.path(part.folder), signed_by=signed_by)
        found[dataset.name, dataset.edition] = dataset
    return found


def warm_up(dataset: Dataset, key: Key | None) -> None:
    """Make what is made once of a data set, and one small table: no question is the first, none waits for compilers.

    Were universes and variables made ready by those who ask first, others could tell from the time that somebody did.
    """
    if dataset.policy.mode == "hypercube":
        dataset.hypercube(EVERYBODY, None, key)
        return
    for universe in dataset.conditions:
        for name, levels in dataset.levels.items():
            for level in range(1, len(levels) + 1):
                data, spec = dataset.asked(
                    Question(dataset.name, dataset.edition, universe, None, ((name, level),)),
                )
                COLUMNS.opened(data, [spec], data.weight).prepare(spec)
    finest = {name: len(levels) for name, levels in dataset.levels.items()}
    names = (
        min(dataset.policy.combinations, key=len)
        if dataset.policy.combinations
        else sorted(finest, key=lambda name: len(dataset.hierarchies[name]))[:2]
    )
    variables = tuple(sorted((name, finest[name]) for name in names))
    question = Question(dataset.name, dataset.edition, EVERYBODY, None, variables)
    _ = dataset.larger_areas
    made = answered(dataset, question, MemoryAccount(), key)  # no answer: nobody gets it, and nothing is charged
    encoding_named("jsonstat").encode(
        shown(dataset, made, Selection(question.names)), Heading(dataset.catalogue.agency)
    )


def make_universes(dataset: Dataset) -> None:
    """Find where the records of larger areas lie, as many as are kept: no table of one is the first."""
    pairs = ((area, universe) for area in dataset.larger_areas for universe in dataset.conditions)
    for area, universe in islice(pairs, MOST_UNIVERSES // 2):
        if area not in dataset.refused[universe]:
            question = Question(dataset.name, dataset.edition, universe, area, ())
            COLUMNS.selected(dataset.data, dataset.where(question))


def cubes_to_make(dataset: Dataset) -> list[Callable[[], bool]]:
    """Each counts a large data set by variables that many tables are by: those are sums of fewer cells from then on."""
    sizes = {name: levels[-1].finest for name, levels in dataset.levels.items() if name != dataset.geography}
    if not sizes or dataset.data.weight is not None:  # a cube counts records
        return []
    data, spec = dataset.asked(Question(dataset.name, dataset.edition, EVERYBODY, None, ((min(sizes), 1),)))
    opened, policy = COLUMNS.opened(data, [spec], None), dataset.policy
    return [
        partial(opened.make_cube, names)
        for names in cube_variables(sizes, policy.most_variables, policy.most_cells, len(opened))
    ]


def refusing(context: CheckedContext | None) -> Callable[[Mapping[str, Any]], None]:
    """Refuses requests of connections whose certificate no longer counts: by the lists in memory, at every request."""

    def refuse(scope: Mapping[str, Any]) -> None:
        shown = peer(scope)
        if shown is not None:
            why = WhyRefused.BAD_AUTHORITIES if context is None else context.refusal(shown)
            if why is not None:
                raise who_are_you(why.value.replace(" ", "-"))

    return refuse


def asking(
    config: ServerConfig, store: Store, context: CheckedContext | None
) -> Callable[[Request], Awaitable[Identity]]:
    """Who asks, from the connection and the store; looked up at every request."""
    refuse = refusing(context)
    origin = config.listen.origin

    def find(data: RequestData) -> Identity:
        found = who_asks(store, data)
        check_origin(data, found, origin)
        return found

    async def ask(request: Request) -> Identity:
        refuse(request.scope)
        data = request_data(request)
        if "cookie" not in data.headers and (data.peer is None or store.in_file):
            return find(data)  # nothing is looked up, or one row of a file: sooner done than handed to a thread
        return await asyncio.to_thread(find, data)

    return ask


def asking_now(config: ServerConfig, store: Store, context: CheckedContext | None) -> WhoNow | None:
    """The same where it is known at once: who shows a certificate that one row of a file tells of, and the public.

    ``None`` where every question is signed, or a database elsewhere must be asked. Sessions are none of these.
    """
    if not store.in_file or (config.tls is not None and config.tls.signed == "required"):
        return None
    refuse = refusing(context)

    def ask(scope: Mapping[str, Any]) -> Identity:
        refuse(scope)
        client = scope.get("client")
        return who_asks(store, RequestData(scope["method"], {}, client[0] if client else "", peer(scope)))

    return ask


def application(
    config: ServerConfig, context: CheckedContext | None, go: Callable[[], object] = lambda: None
) -> TableApp:
    """The application of a worker; ``go`` returns once the store is as it should be."""
    key = answering_key(config)
    datasets = opened_datasets(config)
    for dataset in datasets.values():
        warm_up(dataset, key)
    go()
    store = Store.open(_store_place(config))
    client = AsyncLogClient(config.path(config.run) / SOCKET)
    service = Service(
        datasets,
        store.account,
        Purses(store.budgets),
        client,
        key,
        gone_editions(store, datasets),
        Workplace(longest=config.listen.queue),
        editions=store.editions,
        at_once=store.in_file,
        later=[
            *(partial(make_universes, dataset) for dataset in datasets.values()),
            read_templates,
            *(work for dataset in datasets.values() for work in cubes_to_make(dataset)),
        ],
    )
    ask, metrics = asking(config, store, context), Metrics(config.path(config.run))
    title = "discreet" if config.sign_in is None else config.sign_in.title
    frame = PageFrame(ask, title=title, metrics=metrics)
    sign_in = None if context is None else signing_in(config, store, client, context)
    signatures = None if context is None or config.tls is None else SignedRequests(store, context, config.tls.signed)
    desk = extract_desk(config, store, client)
    extracts = [] if desk is None else [ExtractAddresses(desk, ask, signatures)]
    return TableApp(
        service,
        ask,
        metrics=metrics,
        proofs=client,
        ready=store.ready,
        signatures=signatures,
        operators_only=config.tls is not None,
        more=[
            *page_routes(
                frame,
                service,
                sign_in=sign_in,
                log_folder=config.path(config.log.folder),
                extracts=desk,
            ),
            *(retrieval_routes(config.path(config.retrieval), HEADERS) if config.retrieval else []),
        ],
        beside=[PlotAddresses(PlotDesk(service, store), ask), *extracts],
        who_now=asking_now(config, store, context),
        line=next((one.line for one in logging.getLogger().handlers if isinstance(one, LinesTogether)), None),
    )


def opened_files(config: ServerConfig) -> dict[tuple[str, str], ExtractFile]:
    """All files of the settings that extracts are taken from."""
    found: dict[tuple[str, str], ExtractFile] = {}
    for part in [] if config.extracts is None else config.extracts.files:
        signed_by = None if part.signed_by is None else config.path(part.signed_by)
        file = open_file(config.path(part.folder), signed_by=signed_by)
        found[file.name, file.edition] = file
    return found


def extract_desk(config: ServerConfig, store: Store, log: AsyncLogClient) -> ExtractDesk | None:
    """Where extracts are asked for, where the settings name files for them."""
    if config.extracts is None:
        return None
    return ExtractDesk(opened_files(config), store, log, config.path(config.extracts.folder))


def gone_editions(store: Store, datasets: Mapping[tuple[str, str], Dataset]) -> dict[tuple[str, str], str]:
    """Editions that were withdrawn or are served no more, and the newest of the same name, for old links."""
    found = {}
    for row in store.editions.listed():
        place = (row.dataset, row.edition)
        if row.state == "withdrawn" or place not in datasets:
            others = [edition for name, edition in datasets if name == row.dataset and edition != row.edition]
            found[place] = max(others, key=in_order, default="")
    return found


def signing_in(config: ServerConfig, store: Store, log: AsyncLogClient, context: CheckedContext) -> SignIn:
    """The addresses of sign-in: by certificate, and by what [sign_in] names."""
    part, origin = config.sign_in, config.listen.origin
    provider: IdentityProvider | None = None
    if part is not None and part.issuer and part.client_id and part.client_secret:
        secret = config.path(part.client_secret).read_text("utf-8").strip()
        provider = IdentityProvider(part.issuer, part.client_id, secret, f"{origin}/sign-in/callback")
    passkeys = None
    if part is not None and part.passkeys:
        passkeys = Passkeys(urlsplit(origin).hostname or "", origin, part.title)
    return SignIn(store, origin, provider, passkeys, log, refusing(context))


def _store_place(config: ServerConfig) -> str | Path:
    return config.store if "://" in config.store else config.path(config.store)


def run_worker(config: ServerConfig, listening: socket.socket, go: Callable[[], object]) -> None:
    """Answer requests on a socket, once ``go`` returns, until the process is told to stop."""
    import uvicorn

    context: CheckedContext | None = None
    options: dict[str, Any] = {"ws": "none", "proxy_headers": False, "server_header": False}
    if config.tls is not None:
        tls = config.tls
        crls = None if tls.crls is None else config.path(tls.crls)
        context = server_context(
            config.path(tls.certificate),
            config.path(tls.key),
            config.path(tls.authorities),
            crls,
            clients=tls.clients,
        )
        options = uvicorn_options(context)
    app = application(config, context, go)
    settings = uvicorn.Config(
        app.application(),
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=20,
        h11_max_incomplete_event_size=65_536,
        limit_concurrency=1_000,
        date_header=False,
        **options,
    )
    server = uvicorn.Server(settings)

    # What is there now stays: a search for what nobody holds any more would look through all of it.
    gc.collect()
    gc.freeze()
    gc.enable()

    async def main() -> None:
        task = asyncio.create_task(take_new_lists(context, LOG.error)) if context is not None else None
        print("ready", flush=True)
        await server.serve(sockets=[listening])
        for handler in logging.getLogger().handlers:
            handler.flush()  # the signal that ended us ends the process next
        if task is not None:
            task.cancel()

    with asyncio.Runner(loop_factory=settings.get_loop_factory()) as runner:
        runner.run(main())


def _with_parent() -> threading.Event:
    """Set once the supervisor says go; we stop when it is gone: its end of our standard input closes then."""
    go = threading.Event()

    def wait() -> None:
        while os.read(0, 1024):
            go.set()
        os.kill(os.getpid(), 15)

    threading.Thread(target=wait, daemon=True).start()
    return go


def main(words: list[str] | None = None) -> int:
    """Run as a process of its own; see :mod:`discreet.server.worker_process`."""
    parser = argparse.ArgumentParser(prog="discreet.server.worker_process")
    parser.add_argument("config")
    parser.add_argument("--fd", type=int, required=True)
    given = parser.parse_args(words)
    handler = LinesTogether(sys.stderr)
    handler.setFormatter(LinesOfJson())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    LOG.setLevel(logging.INFO)
    go = _with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump of memory would hold records
    try:
        run_worker(read_config(given.config), socket.socket(fileno=given.fd), go.wait)
    except DiscreetError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        return 2
    return 0
