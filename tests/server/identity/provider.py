"""A small identity provider on loopback, which can be told to lie."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "tables", "a secret of both"


class Provider:
    """Signs in whoever comes as ``subject``."""

    def __init__(self) -> None:
        self.issuer = ""
        self.subject = "ada-77"
        self.now = 1_800_000_000
        self.key = ECKey.generate_key("P-256", {"kid": "k1", "use": "sig", "alg": "ES256"})
        self.codes: dict[str, dict[str, str]] = {}
        self.claims: dict[str, Any] = {}  # what the token says instead
        self.metadata: dict[str, Any] = {}  # what discovery says instead
        self.signed_by: Any = None  # another key than the one it shows
        self.algorithm = "ES256"
        self.token_status = 200

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.discovery),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/keys", self.keys),
                Route("/elsewhere", lambda request: RedirectResponse("/keys")),
            ]
        )

    async def discovery(self, request: Request) -> Response:
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        return JSONResponse({**found, **self.metadata})

    async def keys(self, request: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"], "iss": self.issuer})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 302)

    async def token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        asked = self.codes.pop(form.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        good = (
            asked is not None
            and request.headers.get("authorization") == f"Basic {basic}"
            and asked["code_challenge"] == challenge
            and asked["redirect_uri"] == form.get("redirect_uri")
        )
        if not good or asked is None or self.token_status != 200:
            return JSONResponse({"error": "invalid_grant"}, 400 if self.token_status == 200 else self.token_status)
        claims = {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": CLIENT,
            "iat": self.now,
            "exp": self.now + 300,
            "nonce": asked["nonce"],
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        key = self.signed_by or self.key
        header = {"alg": self.algorithm, "kid": "k1"}
        text = jwt.encode(header, claims, key, [self.algorithm])
        return JSONResponse({"access_token": "t", "token_type": "Bearer", "expires_in": 300, "id_token": text})


def shared_key() -> OctKey:
    """The client's secret as a key, as one would forge with that knows it."""
    return OctKey.import_key(SECRET * 4)


@contextmanager
def running(provider: Provider) -> Iterator[None]:
    """Serve it on a free port of 127.0.0.1, in a thread that ends with the block."""
    config = uvicorn.Config(provider.app(), host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    started = threading.Event()
    startup = server.startup

    async def told(*args: Any, **options: Any) -> None:
        await startup(*args, **options)
        started.set()

    server.startup = told  # type: ignore[method-assign]
    thread.start()
    assert started.wait(timeout=30)
    port = server.servers[0].sockets[0].getsockname()[1]
    provider.issuer = f"http://127.0.0.1:{port}"
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(timeout=30)
