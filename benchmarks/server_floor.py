"""The floor of a server's figures: the same TLS, the same protocol class, and an answer that nobody has to think about.

Run as a process of its own: ``python -m benchmarks.server_floor FOLDER PORT BYTES``.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import Any


def answering(size: int) -> Any:
    """An ASGI application that answers everything with so many bytes."""
    body = b"0" * size
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]}

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send(head)
            await send({"type": "http.response.body", "body": body})

    return application


def main(folder: Path, port: int, size: int) -> None:
    """Answer until the process is ended."""
    import uvicorn

    from discreet.trust.tls import server_context
    from discreet.trust.uvicorn_tls import uvicorn_options

    context = server_context(folder / "server.pem", folder / "server.key", folder / "trust")
    settings = uvicorn.Config(
        answering(size),
        log_config=None,
        access_log=False,
        lifespan="off",
        date_header=False,
        **uvicorn_options(context),
    )
    listening = socket.create_server(("127.0.0.1", port), backlog=1024)
    with asyncio.Runner(loop_factory=settings.get_loop_factory()) as runner:
        print("Listening on", port, file=sys.stderr, flush=True)
        runner.run(uvicorn.Server(settings).serve(sockets=[listening]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
