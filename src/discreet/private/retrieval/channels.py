"""How a client reaches a server: in the same process, or by HTTP with or without TLS."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Protocol
from urllib.parse import urlsplit

from discreet.errors import ParameterError
from discreet.private.problems import KINDS, ProtocolError
from discreet.private.retrieval.server import RetrievalServer

SECONDS = 120.0
"""A server that is silent for so long has not answered."""
LONGEST_ANSWER = 16 * 2**30


class Channel(Protocol):
    """A way to one server."""

    name: str

    def part(self, name: str) -> bytes:
        """A public part of its database."""
        ...

    def ask(self, message: bytes) -> bytes:
        """Its answer to a question."""
        ...


class SameProcess:
    """A server in the same process, for simulations, tests and machines that hold the database themselves."""

    def __init__(self, server: RetrievalServer, name: str) -> None:
        self._server, self.name = server, name

    def part(self, name: str) -> bytes:
        """A public part of its database."""
        return self._server.part(name)

    def ask(self, message: bytes) -> bytes:
        """Its answer to a question."""
        return self._server.answer(message)


class OverHttp:
    """A server at an address; ``http`` without TLS only on this machine."""

    def __init__(
        self, address: str, name: str, *, ssl_context: ssl.SSLContext | None = None, seconds: float = SECONDS
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(f"{address!r} is no address of a server.", hint="Write http://127.0.0.1:8461.")
        if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ParameterError(
                f"{parts.hostname} would be asked without TLS.", hint="Use an address that begins with https."
            )
        self.name, self._parts, self._context, self._seconds = name, parts, ssl_context, seconds

    def _connection(self) -> http.client.HTTPConnection:
        host = str(self._parts.hostname)
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, self._parts.port, timeout=self._seconds)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, self._parts.port, timeout=self._seconds, context=context)

    def _request(self, method: str, path: str, body: bytes | None = None) -> bytes:
        connection = self._connection()
        try:
            connection.request(method, self._parts.path.rstrip("/") + path, body)
            response = connection.getresponse()
            data = response.read(LONGEST_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise ProtocolError(
                "party unreachable", f"{self.name} did not answer ({type(error).__name__}).", hint="Is it running?"
            ) from None
        finally:
            connection.close()
        if response.status != 200:
            raise _refused(data, response.status, self.name)
        return data

    def part(self, name: str) -> bytes:
        """A public part of its database."""
        return self._request("GET", f"/part/{name}")

    def ask(self, message: bytes) -> bytes:
        """Its answer to a question."""
        return self._request("POST", "/question", message)


def _refused(data: bytes, status: int, name: str) -> ProtocolError:
    """What a server said when it refused."""
    try:
        told = json.loads(data[:10_000])
        kind, words, hint = str(told["error"]), str(told["message"]), str(told["hint"])
    except (ValueError, KeyError, TypeError):
        kind, words, hint = "", "", ""
    if kind not in KINDS:
        return ProtocolError(
            "party unreachable", f"{name} answered with status {status}.", hint="Is it a retrieval server?"
        )
    return ProtocolError(kind, f"{name} refused: {words}", hint=hint)
