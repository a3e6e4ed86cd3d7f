"""Private retrieval on a table server: published cells, fetched without telling the server which.

The database is built of public tables (``discreet pir build``). Questions are not logged, counted by holder or charged:
the server does not know what they are about.
"""

from __future__ import annotations

import asyncio
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from discreet.private.retrieval.database import about
from discreet.private.retrieval.server import RetrievalServer
from discreet.private.retrieval.web import retrieval_app

if TYPE_CHECKING:
    from collections.abc import MutableMapping

PLACE = "/retrieval"
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Private look-up</title></head>
<body>
<h1>Look up published cells in private</h1>
<p>Cells of these tables can be fetched without telling this server which:</p>
<ul>
{tables}
</ul>
<p>{records} cells, {bytes} bytes; a hint of {hint} bytes for one server.</p>
<p>Check what comes back against this root of a hash tree: <code>{root}</code></p>
<p>Ask with <code>discreet pir get CODE,CODE --server {address}</code>.
What the server learns is that somebody asks, when, how often, and for how many cells at once.</p>
</body>
</html>
"""


class WithHeaders:
    """An application whose answers have headers that all answers of a server have."""

    def __init__(self, app: Any, headers: dict[str, str]) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer a request."""

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self._headers]}
            await send(message)

        await self._app(scope, receive, sent)


def retrieval_routes(folder: Path, headers: dict[str, str]) -> list[BaseRoute]:
    """The addresses of a database for private retrieval: a page, and below it what clients ask."""
    server = RetrievalServer(folder)

    async def page(request: Request) -> Response:
        told = await asyncio.to_thread(about, server.database)
        text = PAGE.format(
            tables="\n".join(f"<li>{escape(name)}</li>" for name in told["tables"]),
            records=f"{told['records']:,}",
            bytes=f"{told['bytes']:,}",
            hint=f"{told['hint_bytes']:,}",
            root=escape(str(told["root"])),
            address=escape(str(request.url.replace(query="", fragment=""))),
        )
        return HTMLResponse(text, headers=headers)

    return [
        Route(PLACE, page, methods=["GET"]),
        Mount(PLACE, app=WithHeaders(retrieval_app(server), headers)),
    ]
