"""The server on the web: a small ASGI application, and uvicorn to run it, on this machine alone unless it has TLS."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import ssl
import threading
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, missing_extra
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.server import PARTS, RetrievalServer
from discreet.trust.peer import peer

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from discreet.trust.tls import CheckedContext

LOG = logging.getLogger("discreet.private")
WAITING = 8
"""Questions that wait for the one that is worked on; more are turned away."""
PORT = 8461


def retrieval_app(server: RetrievalServer) -> Starlette:
    """An ASGI application that answers for a server; it can be mounted in another one.

    ``GET /part/NAME`` gives a public part of the database, ``POST /question`` answers one question. Nothing is logged.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import FileResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise missing_extra("starlette", "server", "Serving a database for private retrieval") from None
    turns = threading.BoundedSemaphore(1 + WAITING)
    working = threading.Lock()

    def answered(message: bytes) -> bytes:
        with working:
            return server.answer(message)

    async def part(request: Request) -> Response:
        name = request.path_params["name"]
        file = server.database.folder / PARTS.get(name, "nothing")
        if not file.is_file():
            return refusal(ProtocolError("other database", "The database has no such part."), 404)
        return FileResponse(file, media_type="application/octet-stream")

    async def question(request: Request) -> Response:
        if not turns.acquire(blocking=False):
            return refusal(ProtocolError("busy", "Too many questions wait.", hint="Ask again in a moment."), 503)
        try:
            message = await _body(request, server.longest_question())
            return Response(await run_in_threadpool(answered, message), media_type="application/octet-stream")
        except ProtocolError as error:
            return refusal(error, 400)
        finally:
            turns.release()

    return Starlette(routes=[Route("/part/{name}", part), Route("/question", question, methods=["POST"])])


async def _body(request: Request, longest: int) -> bytes:
    """The body of a request, which is not read further than it may be long."""
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > longest:
            raise ProtocolError("wrong length", "The question is too long.", hint="Ask for fewer cells at once.")
    return bytes(found)


def refusal(error: ProtocolError, status: int) -> Response:
    """An error as an answer: its name, its words, nothing else."""
    from starlette.responses import JSONResponse

    return JSONResponse({"error": error.kind, "message": error.plain, "hint": error.hint}, status)


def require_safe_address(host: str, context: ssl.SSLContext | None) -> None:
    """Refuse to listen to other machines without TLS."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local and context is None:
        raise ParameterError(
            f"{host} can be reached by other machines, and there is no TLS.",
            hint="Listen on 127.0.0.1, or give a TLS context.",
        )


def serve_retrieval(
    server: RetrievalServer,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    ssl_context: ssl.SSLContext | None = None,
) -> None:
    """Answer questions until a signal asks to stop.

    Parameters
    ----------
    server
        What answers.
    host, port
        Where to listen. Other addresses than this machine's own need TLS.
    ssl_context
        TLS as it was set up elsewhere, with or without certificates of clients. One of
        :func:`discreet.trust.tls.server_context` takes over new lists of revoked certificates, every half minute and
        at SIGHUP, and every request goes by them.
    """
    from discreet.trust.tls import CheckedContext

    running = web_server(server, host=host, port=port, ssl_context=ssl_context)

    async def main() -> None:
        from discreet.trust.uvicorn_tls import take_new_lists

        task = None
        if isinstance(ssl_context, CheckedContext):
            task = asyncio.create_task(take_new_lists(ssl_context, LOG.error))
        await running.serve()
        if task is not None:
            task.cancel()

    with asyncio.Runner(loop_factory=running.config.get_loop_factory()) as runner:
        runner.run(main())


def web_server(server: RetrievalServer, *, host: str, port: int, ssl_context: ssl.SSLContext | None) -> Any:
    """A server of uvicorn that is ready to run."""
    try:
        import uvicorn
    except ImportError:
        raise missing_extra("uvicorn", "server", "Serving a database for private retrieval") from None
    from discreet.trust.tls import CheckedContext
    from discreet.trust.uvicorn_tls import uvicorn_options

    require_safe_address(host, ssl_context)
    app: ASGIApp = retrieval_app(server)
    options: dict[str, Any] = {"server_header": False}
    if isinstance(ssl_context, CheckedContext):
        app, options = _for_those_who_count(app, ssl_context), uvicorn_options(ssl_context)
    elif ssl_context is not None:
        options["ssl_context_factory"] = lambda _config, _default: ssl_context
    return uvicorn.Server(
        uvicorn.Config(app, host=host, port=port, access_log=False, log_level="warning", lifespan="off", **options)
    )


def _for_those_who_count(app: ASGIApp, context: CheckedContext) -> ASGIApp:
    """The application, which answers no request of a connection whose certificate no longer counts."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        shown = peer(scope)
        if shown is not None and context.refusal(shown) is not None:
            error = ProtocolError("refused by a party", "Your certificate no longer counts.", hint="Ask for a new one.")
            await refusal(error, 403)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return checked
