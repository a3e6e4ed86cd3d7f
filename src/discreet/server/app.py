"""The server's addresses: thin, everything that decides lies elsewhere."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.server.again import AskedAgain, WhoNow
from discreet.server.bodies import limited_body
from discreet.server.denied import Denied
from discreet.server.description import dataset_page, dataset_row, variable_page
from discreet.server.encoding import format_accepted
from discreet.server.gate import admitted, estimated_cells
from discreet.server.identity import Identity
from discreet.server.metrics import Metrics
from discreet.server.openapi import openapi
from discreet.server.problems import MEDIA_TYPE, Problem, problem_of
from discreet.server.question import (
    QuestionBody,
    QuestionRefusal,
    decode_question,
    query_pairs,
    question_of_query,
)
from discreet.server.roles import allowed
from discreet.server.sdmx_rest import SdmxAddresses
from discreet.server.service import Reply, Service
from discreet.trust.peer import peer

LOG = logging.getLogger("discreet.server")
TABLE = re.compile("/v1/datasets/(?P<name>[^/]+)/(?P<edition>[^/]+)/table")
KNOWN = "discreet.who"
"""Where the scope of a request says who sends it, when that was looked up for this very request already."""
MOST_QUERY = 8_192
"""Characters of a query."""
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
}
"""Stand in every answer: it is nobody else's, and nothing in it runs."""

RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
RAW_NAMES = frozenset(name for name, _ in RAW_HEADERS)

WhoAsks = Callable[[Request], Awaitable[Identity]]
Signatures = Callable[[Request, Identity, str], Awaitable[Identity]]
LogProofs = Any
Line = Callable[[str, str, int, float], None]
"""Takes the number of a request, what it was, its status and its milliseconds."""


class MoreAddresses(Protocol):
    """What answers further addresses."""

    def routes(self, guarded: Callable[[Any], Any]) -> list[Route]:
        """Addresses and what answers them; ``guarded`` is what goes for all requests."""


class TableApp:
    """What answers requests.

    Parameters
    ----------
    service
        What they are about.
    who_asks
        Who sent a request.
    metrics
        Where requests are counted.
    proofs
        Heads and proofs of the log (an ``AsyncLogClient``); without one ``/v1/log`` is not there.
    ready
        Raises while the server cannot answer.
    signatures
        Checks the signature of a request: who asks, with what they signed.
    operators_only
        Whether counters are for administrators only: they tell that somebody asked something.
    more
        Further addresses: pages, those of sign-in and of private retrieval.
    beside
        What answers further addresses under the rules of all requests: plots, extracts.
    who_now
        Who sent a request, where that is known at once: what they ask again is answered past all routes then.
    line
        Where a line goes for each request; to ``logging`` where nothing is said.
    """

    def __init__(
        self,
        service: Service,
        who_asks: WhoAsks,
        *,
        metrics: Metrics | None = None,
        proofs: LogProofs = None,
        ready: Callable[[], None] | None = None,
        signatures: Signatures | None = None,
        operators_only: bool = False,
        more: Sequence[BaseRoute] = (),
        beside: Sequence[MoreAddresses] = (),
        who_now: WhoNow | None = None,
        line: Line | None = None,
    ) -> None:
        self.service = service
        self.who_asks = who_asks
        self.metrics = metrics or Metrics()
        self.proofs = proofs
        self.ready_check = ready
        self.signatures = signatures
        self.operators_only = operators_only
        self.more = list(more)
        self.beside = list(beside)
        self.again = None if who_now is None else AskedAgain(service, who_now)
        self.line = line or _line

    def routes(self) -> list[BaseRoute]:
        """Addresses and what answers them."""
        table = "/v1/datasets/{name}/{edition}"  # TABLE is the same for what is asked most
        found: list[BaseRoute] = [
            Route(f"{table}/table", self._guarded(self.table), methods=["GET", "POST"]),  # the one that is asked most
            Route("/health", self._guarded(self.health), methods=["GET"]),
            Route("/ready", self._guarded(self.ready), methods=["GET"]),
            Route("/metrics", self._guarded(self.show_metrics), methods=["GET"]),
            Route("/openapi.json", self._guarded(self.show_openapi), methods=["GET"]),
            Route("/v1/datasets", self._guarded(self.list_datasets), methods=["GET"]),
            Route(table, self._guarded(self.show_dataset), methods=["GET"]),
            Route(f"{table}/variables/{{variable}}", self._guarded(self.show_variable), methods=["GET"]),
            Route(f"{table}/estimate", self._guarded(self.estimate), methods=["POST"]),
            *SdmxAddresses(self.service, self.who_asks).routes(self._guarded),
            *(route for one in self.beside for route in one.routes(self._guarded)),
        ]
        if self.proofs is not None:
            found.append(Route("/v1/log/head", self._guarded(self.log_head), methods=["GET"]))
            found.append(Route("/v1/log/consistency", self._guarded(self.log_consistency), methods=["GET"]))
            found.append(Route("/v1/log/inclusion", self._guarded(self.log_inclusion), methods=["GET"]))
        return [*found, *self.more]

    def application(self) -> ASGIApp:
        """The application as ASGI servers take it."""

        @asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            self.service.workplace.later(self.service.later)
            yield
            await self.service.workplace.close()

        handlers: Mapping[Any, Any] = {404: self._no_such_address, 405: self._no_such_method}
        whole = Starlette(routes=self.routes(), lifespan=lifespan, exception_handlers=handlers)
        return whole if self.again is None else self._before(whole, self.again)

    def _before(self, whole: Starlette, again: AskedAgain) -> ASGIApp:
        """Questions that are asked again do not go through routes, and those for tables know their way."""
        table = self._guarded(self.table)

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == "GET":
                began = time.perf_counter()
                who = again.who(scope)
                found = None if who is None else again.find(scope, who)
                if who is not None and found is not None:
                    await self._answered_again(who, *found, began, scope, receive, send)
                    return
                scope[KNOWN] = who
                asked = TABLE.fullmatch(scope["path"])
                if asked is not None:
                    scope["path_params"] = asked.groupdict()
                    response = await table(Request(scope, receive, send))
                    await response(scope, receive, send)
                    return
            await whole(scope, receive, send)

        return application

    async def _answered_again(
        self,
        who: Identity,
        reply: Reply,
        headers: list[tuple[bytes, bytes]],
        began: float,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        number = os.urandom(8).hex()
        try:
            await self.service.log_again(who, reply, number)
        except Exception as error:
            response = self._finished(self._refused(error, number), "table", number, began)
            await response(scope, receive, send)
            return
        self._count("table", 200, number, began)
        named = [*headers, (b"x-request-id", number.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": named})
        await send({"type": "http.response.body", "body": reply.content})

    # ---- what goes for all requests -------------------------------------------------------------------------

    def _guarded(self, handler: Callable[[Request, str], Awaitable[Response]]) -> Any:
        async def answer(request: Request) -> Response:
            number, began = os.urandom(8).hex(), time.perf_counter()
            try:
                if len(request.scope["query_string"]) > MOST_QUERY:
                    raise QuestionRefusal(
                        "too-large", "The address is too long.", hint="Send the question by POST.", status=414
                    )
                response = await handler(request, number)
            except (asyncio.CancelledError, ClientDisconnect):
                raise
            except Exception as error:
                response = self._refused(error, number)
            return self._finished(response, handler.__name__, number, began)

        return answer

    def _finished(self, response: Response, what: str, number: str, began: float) -> Response:
        """A response with the headers of all, counted."""
        own = [pair for pair in response.raw_headers if pair[0] not in RAW_NAMES]
        response.raw_headers = [*own, *RAW_HEADERS, (b"x-request-id", number.encode())]
        self._count(what, response.status_code, number, began)
        return response

    def _count(self, what: str, status: int, number: str, began: float) -> None:
        seconds = time.perf_counter() - began
        self.metrics.count(what, status, seconds)
        self.line(number, what, status, round(1000 * seconds, 1))

    def _refused(self, error: Exception, number: str) -> Response:
        problem = problem_of(error)
        if problem.status >= 500:
            # The text may be about records: the operator gets the kind and the place, nobody its words.
            LOG.error("request %s failed: %s", number, type(error).__name__, extra={"place": _place(error)})
        return problem_response(problem, number)

    async def _no_such_address(self, _request: Request, _error: Exception) -> Response:
        return problem_response(Problem(404, "no-such-address", "There is nothing here.", "See /openapi.json."), "")

    async def _no_such_method(self, _request: Request, _error: Exception) -> Response:
        return problem_response(Problem(405, "no-such-method", "This cannot be done here.", "See /openapi.json."), "")

    # ---- the server itself -----------------------------------------------------------------------------------

    async def health(self, _request: Request, _number: str) -> Response:
        """That the process lives."""
        return _json({"status": "ok"})

    async def ready(self, _request: Request, _number: str) -> Response:
        """That questions are answered: store and log are there."""
        if self.ready_check is not None:
            await asyncio.to_thread(self.ready_check)
        if self.proofs is not None:
            await self.proofs.head()
        return _json({"status": "ready", "waiting": self.service.workplace.waiting})

    async def show_metrics(self, request: Request, _number: str) -> Response:
        """Counters as Prometheus reads them."""
        if self.operators_only:
            allowed(await self.who_asks(request), "server.operate").required()
        text = self.metrics.text(waiting=self.service.workplace.waiting)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def show_openapi(self, _request: Request, _number: str) -> Response:
        """The description of these addresses."""
        return Response(openapi(), media_type="application/json")

    # ---- data sets -------------------------------------------------------------------------------------------

    async def list_datasets(self, request: Request, _number: str) -> Response:
        """Data sets and their editions."""
        allowed(await self.who_asks(request), "catalogue.read").required()
        return _json({"datasets": [dataset_row(d) for _, d in sorted(self.service.datasets.items())]})

    async def show_dataset(self, request: Request, _number: str) -> Response:
        """Variables, values, universes and limits of a data set."""
        allowed(await self.who_asks(request), "catalogue.read").required()
        return _json(dataset_page(self._dataset(request)))

    async def show_variable(self, request: Request, _number: str) -> Response:
        """Codes of a variable."""
        allowed(await self.who_asks(request), "catalogue.read").required()
        return _json(variable_page(self._dataset(request), request.path_params["variable"]))

    def _dataset(self, request: Request) -> Any:
        return self.service.dataset(request.path_params["name"], request.path_params["edition"])

    # ---- questions -------------------------------------------------------------------------------------------

    async def table(self, request: Request, number: str) -> Response:
        """A protected table."""
        try:
            who = request.scope.get(KNOWN) or await self.who_asks(request)
            body, format = await self._question(request)
            dataset = self._dataset(request)
            if self.signatures is not None:
                who = await self.signatures(request, who, f"{dataset.name}/{dataset.edition}")
        except Denied as error:
            shown = peer(request.scope)
            await self.service.log_denied(error, number, None if shown is None else shown.serial)
            raise
        reply = await self.service.ask(who, (dataset.name, dataset.edition), body, format, number)
        response = _table_response(reply)
        if self.again is not None:
            place = (request.path_params["name"], request.path_params["edition"])
            self.again.remember(request.scope, who, place, reply, [*response.raw_headers, *RAW_HEADERS])
        return response

    async def estimate(self, request: Request, _number: str) -> Response:
        """How large a table would be, and whether it is refused at the gate; nothing is computed."""
        allowed(await self.who_asks(request), "table.ask").required()
        body, _ = await self._question(request)
        dataset = self._dataset(request)
        question, _ = admitted(dataset, body)
        return _json({"cells": estimated_cells(dataset, question), "most_cells": dataset.policy.most_cells})

    async def _question(self, request: Request) -> tuple[QuestionBody, str]:
        """The question of a request, and the format of its answer."""
        pairs = query_pairs(request.scope["query_string"].decode("latin-1"))
        chosen = [value for name, value in pairs if name == "format"]
        format = chosen[-1] if chosen else format_accepted(request.headers.get("accept", "*/*"))
        if request.method == "GET":
            return question_of_query([pair for pair in pairs if pair[0] != "format"]), format
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise QuestionRefusal(
                "not-json", "The question is not JSON.", hint="Send it with Content-Type: application/json.", status=415
            )
        request.state.body = await limited_body(request)
        return decode_question(request.state.body), format

    # ---- the log ---------------------------------------------------------------------------------------------

    async def log_head(self, _request: Request, _number: str) -> Response:
        """The signed head of the log, for whoever wants to keep it."""
        return Response((await self.proofs.head()).to_json(), media_type="application/json")

    async def log_consistency(self, request: Request, _number: str) -> Response:
        """That the log of a later head continues that of an earlier one."""
        first, second = _whole(request, "first"), _whole(request, "second")
        return Response((await self.proofs.consistency(first, second)).to_json(), media_type="application/json")

    async def log_inclusion(self, request: Request, _number: str) -> Response:
        """That an entry is in the log."""
        return Response((await self.proofs.inclusion(_whole(request, "seq"))).to_json(), media_type="application/json")


def _table_response(reply: Reply) -> Response:
    """A table as it is sent."""
    headers = {
        "x-content-digest": reply.digest,
        "x-dataset": f"{reply.question.dataset}/{reply.question.edition}",
        "content-disposition": f'inline; filename="{reply.file_name}"',
    }
    return Response(reply.content, media_type=reply.media_type, headers=headers)


def _line(number: str, what: str, status: int, milliseconds: float) -> None:
    LOG.info("request", extra={"request": number, "what": what, "status": status, "ms": milliseconds})


def _whole(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise QuestionRefusal("no-number", f"{name} is not a whole number.", hint=f"Give ?{name}=12.", status=400)
    return int(text)


def _place(error: BaseException) -> str:
    """Where an error came from: file and line, no words."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"


def _json(plain: Any) -> Response:
    return Response(msgspec.json.encode(plain), media_type="application/json")


def problem_response(problem: Problem, number: str) -> Response:
    """An error as an answer."""
    headers = {} if problem.retry_after is None else {"retry-after": str(problem.retry_after)}
    return Response(problem.body(number), problem.status, {**HEADERS, **headers}, MEDIA_TYPE)
