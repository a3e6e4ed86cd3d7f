"""Sign-in and sign-out over HTTP: thin glue between starlette and ``identity.py``, ``oidc.py`` and ``passkeys.py``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from discreet.server.denied import Denied, who_are_you
from discreet.server.identity import (
    CSRF_HEADER,
    Identity,
    RequestData,
    check_origin,
    drop_cookie,
    from_certificate,
    named_cookie,
    start_session,
    who_asks,
)
from discreet.server.oidc import FLOW_COOKIE, IdentityProvider, known_person
from discreet.server.passkeys import LARGEST, Passkeys
from discreet.server.store.failures import StoreError
from discreet.server.store.sessions import csrf_token
from discreet.server.store.store import Store
from discreet.trust.log.entries import LogEntry, SignedIn, SignedOut
from discreet.trust.log.writer import LogUnavailable

if TYPE_CHECKING:
    from discreet.server.service import Log

RATE, SIZE = 0.2, 20.0
"""Sign-ins that an address may try: a second, and at once."""
FORM = "application/x-www-form-urlencoded"


def request_data(request: Request) -> RequestData:
    """As much of a request as it takes to know who asks. The certificate comes from the TLS layer, never a header."""
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        joint = "; " if name == "cookie" else ", "
        headers[name] = f"{headers[name]}{joint}{value}" if name in headers else value
    tls: Mapping[str, Any] = request.scope.get("extensions", {}).get("tls", {})
    address = request.client.host if request.client else ""
    return RequestData(request.method, headers, address, tls.get("peer"))


def problem(error: Denied | StoreError | LogUnavailable) -> Response:
    """An error as problem+json; who may not learn more does not."""
    status = error.status if isinstance(error, Denied) else 503
    body = {"title": error.message, "status": status, "detail": error.hint}
    retry = error.retry_after if isinstance(error, Denied) else 5
    headers = {"Retry-After": str(retry)} if retry is not None else {}
    headers["Cache-Control"] = "no-store"
    return JSONResponse(body, status, headers, "application/problem+json")


@dataclass(frozen=True)
class SignIn:
    """The pages of sign-in.

    Parameters
    ----------
    store
        Who is who.
    origin
        Our address as browsers see it: ``https://tables.example.org``.
    provider
        An identity provider, where there is one.
    passkeys
        Passkeys as a second factor, where they are offered.
    log
        Where sign-ins are written down before anybody is told of them.
    refuse
        Refuses a request whose connection no longer counts.
    """

    store: Store
    origin: str
    provider: IdentityProvider | None = None
    passkeys: Passkeys | None = None
    log: Log | None = None
    refuse: Callable[[Mapping[str, Any]], None] | None = None

    def routes(self) -> list[Route]:
        """Routes for a starlette application."""
        found = [
            Route("/sign-in/certificate", self._page(self._certificate, SignedIn), methods=["POST"]),
            Route("/sign-in/me", self._page(self._me), methods=["GET"]),
            Route("/sign-out", self._page(self._out, SignedOut), methods=["POST"]),
        ]
        if self.provider is not None:
            found.append(Route("/sign-in", self._page(self._begin), methods=["GET"]))
            found.append(Route("/sign-in/callback", self._page(self._callback, SignedIn), methods=["GET"]))
        if self.passkeys is not None:
            found.append(Route("/passkeys/options", self._page(self._new_passkey), methods=["POST"]))
            found.append(Route("/passkeys", self._page(self._register), methods=["POST"]))
            found.append(Route("/sign-in/passkey/options", self._page(self._passkey), methods=["POST"]))
            found.append(Route("/sign-in/passkey", self._page(self._confirm, SignedIn), methods=["POST"]))
        return found

    def _page(
        self, page: Callable[[RequestData, Request, str], Response], logged: type[SignedIn | SignedOut] | None = None
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            try:
                if self.refuse is not None:
                    self.refuse(request.scope)
                body = await _bounded(request)
                response = await run_in_threadpool(page, _with_token(request_data(request), body), request, body)
            except (Denied, StoreError) as error:
                if logged is SignedIn:
                    await self._append(SignedIn(decision="denied", level=0, rule=getattr(error, "kind", "no-store")))
                return problem(error)
            who: Identity | None = getattr(request.state, "signed_in", None)
            if logged is not None and who is not None:
                named = {"subject": who.name, "serial": who.serial}
                given = logged is SignedIn
                entry = SignedIn(**named, decision="granted", level=who.auth_level) if given else SignedOut(**named)
                await self._append(entry)
            return response

        async def serve(request: Request) -> Response:
            try:
                return await answered(request)
            except LogUnavailable as error:
                return problem(error)

        return serve

    async def _append(self, entry: LogEntry) -> None:
        if self.log is not None:
            await self.log.append(entry)

    def _who(self, data: RequestData) -> Identity:
        identity = who_asks(self.store, data)
        check_origin(data, identity, self.origin)
        return identity

    def _slowly(self, data: RequestData) -> None:
        self.store.rates.take(f"sign-in {data.address}", rate=RATE, size=SIZE)

    def _started(self, identity: Identity, request: Request) -> Response:
        request.state.signed_in = identity
        header = start_session(self.store, identity)
        return _done(request, {"Set-Cookie": header, "Cache-Control": "no-store"})

    def _certificate(self, data: RequestData, request: Request, _: str) -> Response:
        self._slowly(data)
        if data.peer is None:
            raise who_are_you("no-certificate")
        identity = from_certificate(self.store, data.peer, data.address)
        check_origin(data, identity, self.origin)
        return self._started(identity, request)

    def _me(self, data: RequestData, _: Request, __: str) -> Response:
        identity = who_asks(self.store, data)
        body = {"name": identity.name, "roles": sorted(identity.roles), "auth_level": identity.auth_level}
        if identity.token is not None:
            body["csrf"] = csrf_token(identity.token)
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    def _out(self, data: RequestData, request: Request, _: str) -> Response:
        identity = self._who(data)
        if identity.token is not None:
            self.store.sessions.end(identity.token)
            request.state.signed_in = identity
        return _done(request, {"Set-Cookie": drop_cookie(), "Clear-Site-Data": '"cache"'})

    def _begin(self, data: RequestData, _: Request, __: str) -> Response:
        self._slowly(data)
        assert self.provider is not None
        start = self.provider.begin(self.store)
        return RedirectResponse(start.url, 303, {"Set-Cookie": start.set_cookie, "Cache-Control": "no-store"})

    def _callback(self, data: RequestData, request: Request, _: str) -> Response:
        self._slowly(data)
        assert self.provider is not None
        secret = named_cookie(data.headers.get("cookie", ""), FLOW_COOKIE) or ""
        outside = self.provider.finish(self.store, dict(request.query_params), secret)
        request.state.signed_in = known_person(self.store, outside, data.address)
        header = start_session(self.store, request.state.signed_in)
        response = RedirectResponse("/", 303, {"Set-Cookie": header, "Cache-Control": "no-store"})
        response.headers.append("Set-Cookie", f"{FLOW_COOKIE}=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Lax")
        return response

    def _new_passkey(self, data: RequestData, _: Request, __: str) -> Response:
        assert self.passkeys is not None
        text = self.passkeys.registration_options(self.store, self._who(data))
        return Response(text, headers={"Cache-Control": "no-store"}, media_type="application/json")

    def _register(self, data: RequestData, _: Request, body: str) -> Response:
        assert self.passkeys is not None
        self.passkeys.register(self.store, self._who(data), body)
        return Response(status_code=204)

    def _passkey(self, data: RequestData, _: Request, __: str) -> Response:
        assert self.passkeys is not None
        text = self.passkeys.sign_in_options(self.store, self._who(data))
        return Response(text, headers={"Cache-Control": "no-store"}, media_type="application/json")

    def _confirm(self, data: RequestData, request: Request, body: str) -> Response:
        self._slowly(data)
        assert self.passkeys is not None
        return self._started(self.passkeys.confirm(self.store, self._who(data), body), request)


def _done(request: Request, headers: Mapping[str, str]) -> Response:
    """What a browser that sent a form gets is the page of its account; programs get no content."""
    if request.headers.get("content-type", "").partition(";")[0] == FORM:
        return RedirectResponse("/account", 303, headers)
    return Response(status_code=204, headers=headers)


def _with_token(data: RequestData, body: str) -> RequestData:
    """The token of a form, which cannot send headers, where a program would send it."""
    if data.headers.get("content-type", "").partition(";")[0] != FORM or CSRF_HEADER in data.headers:
        return data
    token = dict(parse_qsl(body, max_num_fields=10)).get("csrf", "")
    return replace(data, headers={**data.headers, CSRF_HEADER: token})


async def _bounded(request: Request) -> str:
    """The body of a request, refused where it is too large or no text."""
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > LARGEST:
            raise Denied("too-large", "The request is too large.", hint=f"At most {LARGEST:,} bytes.", status=413)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Denied("not-text", "The request is not text.", hint="Send JSON in UTF-8.", status=400) from None
