"""Handshakes over real sockets on loopback: what each side says of them. Every wait has an end."""

from __future__ import annotations

import socket
import ssl
import threading
from dataclasses import dataclass

from discreet.trust.refusals import WhyRefused, handshake_refusal

PATIENCE = 10.0


@dataclass
class Meeting:
    """What became of one connection, as the server saw it and as the client did."""

    answered: bool
    server: WhyRefused | None
    client: WhyRefused | None
    session: ssl.SSLSession | None = None


def meet(
    server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost", session: ssl.SSLSession | None = None
) -> Meeting:
    """Let a client with one context meet a server with another; answered is who got its word back."""
    found: dict[str, WhyRefused] = {}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        thread = threading.Thread(target=_serve, args=[listening, server, found])
        thread.start()
        answered, refused, kept = _ask(listening.getsockname()[1], client, host, session)
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return Meeting(answered, found.get("server"), refused, kept)


def _serve(listening: socket.socket, context: ssl.SSLContext, found: dict[str, WhyRefused]) -> None:
    plain, _ = listening.accept()
    plain.settimeout(PATIENCE)
    try:
        with context.wrap_socket(plain, server_side=True) as secure:
            secure.sendall(secure.recv(100))
    except ssl.SSLError as error:
        found["server"] = handshake_refusal(error)
    except OSError:
        pass  # the client went away: its own side says why
    finally:
        plain.close()


def _ask(
    port: int, context: ssl.SSLContext, host: str, session: ssl.SSLSession | None
) -> tuple[bool, WhyRefused | None, ssl.SSLSession | None]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=host, session=session) as secure:
                secure.sendall(b"word")
                # In TLS 1.3 a client learns of a refusal with its first answer only.
                return secure.recv(100) == b"word", None, secure.session
        except ssl.SSLError as error:
            return False, handshake_refusal(error), None
        except OSError:
            return False, None, None
