"""uvicorn with certificates: what the handshake proved reaches the application in the ASGI scope.

uvicorn checks certificates and tells the application nothing of them. A small subclass of its protocol adds the
extension ``tls`` of ASGI to every request, with the certificate as :class:`discreet.trust.peer.PeerCertificate`.
"""

from __future__ import annotations

import asyncio
import signal
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, InputError, missing_extra
from discreet.trust.peer import EXTENSION, PeerCertificate

if TYPE_CHECKING:
    from discreet.trust.tls import CheckedContext

FORGED = (b"x-client-cert", b"x-forwarded-client-cert", b"x-ssl-client", b"x-tls-client", b"ssl-client")
"""How headers begin that proxies use to speak of certificates. Nobody believes them, and they are not passed on."""

GOODBYE = 1.0
"""Seconds that an idle client has to end its side of TLS when the server stops."""
RELOAD_EVERY = 30.0
"""Seconds after which lists of revoked certificates are read again."""


def uvicorn_options(context: ssl.SSLContext) -> dict[str, Any]:
    """Options of ``uvicorn.Config`` for a server with certificates.

    Parameters
    ----------
    context
        A context of :func:`discreet.trust.tls.server_context`.

    Raises
    ------
    InputError
        When it is another context, which may look at no certificate.
    """
    from discreet.trust.tls import CheckedContext

    if not isinstance(context, CheckedContext):
        raise InputError("This is no context that checks certificates.", hint="Make it with server_context(...).")
    return {
        "http": certificate_protocol(),
        "ws": "none",
        "ssl_context_factory": lambda _config, _default: context,
        "proxy_headers": False,
        "server_header": False,
    }


@cache
def certificate_protocol() -> type[Any]:
    """The class of uvicorn's protocol that hands certificates on."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError:
        raise missing_extra("uvicorn", "server", "A server with certificates") from None

    class CertificateProtocol(HttpToolsProtocol):
        """One connection, whose certificate is read once."""

        _tls: dict[str, Any]

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._tls = {}
            layer = transport.get_extra_info("ssl_object")
            if layer is None:
                return
            try:
                self._tls = _proved(layer)
            except InputError:
                self._tls = {}
                transport.abort()  # it was verified and yet cannot be read: nobody knows whose it is

        def on_message_begin(self) -> None:
            super().on_message_begin()
            found: dict[str, Any] = {EXTENSION: dict(self._tls)} if self._tls else {}
            self.scope["extensions"] = found

        def shutdown(self) -> None:
            """Close; a client that does not say goodbye holds nobody up."""
            idle = self.cycle is None or self.cycle.response_complete
            super().shutdown()
            if idle:
                self.loop.call_later(GOODBYE, self.transport.abort)

        def on_header(self, name: bytes, value: bytes) -> None:
            if not name.lower().replace(b"_", b"-").startswith(FORGED):
                super().on_header(name, value)

    return CertificateProtocol


async def take_new_lists(context: CheckedContext, warn: Callable[[str], object]) -> None:
    """Take over new lists of revoked certificates, every half minute and at SIGHUP, until this is cancelled.

    Where they cannot be used, those in use hold to their own end, and ``warn`` hears why.

    Parameters
    ----------
    context
        The context of a server that runs in this event loop.
    warn
        Takes the words of what is wrong with new lists.
    """
    now = asyncio.Event()
    if threading.current_thread() is threading.main_thread():  # signals are heard there only
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, now.set)
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(now.wait(), RELOAD_EVERY)
        now.clear()
        try:
            context.reload()
        except DiscreetError as error:
            warn(f"lists of revoked certificates were not taken: {error.message}")


def _proved(layer: Any) -> dict[str, Any]:
    """What a TLS layer proved, as ASGI's extension has it, and the certificate as it was read."""
    der = layer.getpeercert(binary_form=True)
    peer = PeerCertificate.from_der(der) if der else None
    return {
        "server_cert": None,
        "client_cert_chain": [ssl.DER_cert_to_PEM_cert(der)] if der else [],
        "client_cert_name": peer.subject if peer else None,
        "client_cert_error": None,
        "tls_version": 0x0304 if layer.version() == "TLSv1.3" else None,
        "cipher_suite": None,
        "peer": peer,
    }
