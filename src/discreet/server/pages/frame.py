"""The frame of all pages: who asks, forms that are ours, headers, errors as pages, one look."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from discreet.errors import InputError, ParameterError, counted, missing_extra
from discreet.server.denied import Denied
from discreet.server.identity import CSRF_HEADER, Identity, drop_cookie
from discreet.server.metrics import Metrics
from discreet.server.pages.static_files import FOREVER, static_files
from discreet.server.problems import Problem, problem_of
from discreet.server.question import MOST_PAIRS
from discreet.server.roles import RULES, STRONG
from discreet.server.store.sessions import csrf_token

if TYPE_CHECKING:
    from jinja2 import Environment

LOG = logging.getLogger("discreet.server")
MOST_FORM = 256 * 1024
"""Bytes of a form without files."""
CSP = "default-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors 'none'"
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": CSP,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Stand in every page: nothing runs or is shown that does not come from here, and no other page frames it."""

WhoAsks = Callable[[Request], Awaitable[Identity]]


class PageLink(NamedTuple):
    """A line in the head of pages, for those who may do what it is for."""

    address: str
    words: str
    action: str


LINKS: tuple[PageLink, ...] = (
    PageLink("/", "Tables", "table.ask"),
    PageLink("/history", "History", "history.read"),
    PageLink("/plots", "Plots", "plot.ask"),
    PageLink("/outputs", "Outputs", "output.hand_in"),
    PageLink("/outputs", "Outputs", "output.release"),
    PageLink("/extracts", "Extracts", "project.request"),
    PageLink("/reviews", "Applications", "application.review"),
    PageLink("/reviews", "Applications", "registration.check"),
    PageLink("/reviews", "Applications", "application.suspend"),
    PageLink("/office", "Data sets", "office.read"),
    PageLink("/office/people", "People", "certificate.suspend"),
    PageLink("/office/requests", "Four eyes", "role.grant"),
    PageLink("/office/requests", "Four eyes", "office.read"),
    PageLink("/log", "Log", "log.read"),
)
"""In this order; a page that is not served has no link."""


class UploadedFile(NamedTuple):
    """A file of a form, as it came; its name is what the sender called it, and no path."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Visit:
    """A request for a page: who asks, under which number, and what a form says."""

    request: Request
    who: Identity
    number: str
    form: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[UploadedFile] = ()
    many: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Fields of a form that stand in it several times."""

    @property
    def partial(self) -> bool:
        """Whether a script asks for a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def csrf(self) -> str:
        """The text that forms of this session send back; empty without a session."""
        return "" if self.who.token is None else csrf_token(self.who.token)


Handler = Callable[[Visit], Awaitable[Response]]


class PageFrame:
    """What all pages share.

    Parameters
    ----------
    who_asks
        Who sent a request; it checks origin and token of what changes something.
    title
        What the server is called.
    metrics
        Where requests are counted.
    """

    def __init__(self, who_asks: WhoAsks, *, title: str = "discreet", metrics: Metrics | None = None) -> None:
        self.who_asks = who_asks
        self.title = title
        self.metrics = metrics or Metrics()
        self.addresses: set[str] = set()
        static_files()  # a changed file is found at the start

    def route(self, path: str, handler: Handler, *, methods: Sequence[str] = ("GET",), files: int = 0) -> Route:
        """An address of a page; ``files`` is how many bytes of files its form may bring."""
        self.addresses.add(path)
        return Route(path, self._guarded(handler, files), methods=list(methods), name=f"{path} {methods[0]}")

    def static_route(self) -> Route:
        """The address of files that pages need."""
        return Route("/static/{digest}/{name}", self._static, methods=["GET"])

    async def _static(self, request: Request) -> Response:
        found = static_files().get(request.path_params["name"])
        if found is None or found.address != request.url.path:
            return Response("There is nothing here.", 404, HEADERS, "text/plain")
        return Response(found.content, headers={**HEADERS, "cache-control": FOREVER}, media_type=found.media_type)

    def _guarded(self, handler: Handler, most: int) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            number, began = secrets.token_hex(8), time.perf_counter()
            visit: Visit | None = None
            try:
                visit = await self._visit(request, number, most)
                response = await handler(visit)
            except (asyncio.CancelledError, ClientDisconnect):
                raise
            except Exception as error:
                response = self._refused(visit, request, error, number)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            response.headers["x-request-id"] = number
            self._count(handler.__name__, response, number, began)
            return response

        return answer

    async def _visit(self, request: Request, number: str, most: int) -> Visit:
        """Who asks; a form is read only from somebody who is known not to be refused anyway."""
        if request.method == "GET":
            return Visit(request, await self.who_asks(request), number)
        await self.who_asks(Request({**request.scope, "method": "GET"}))
        form, many, files = await read_form(request, most)
        scope = dict(request.scope)
        if CSRF_HEADER not in request.headers and "csrf" in form:  # forms without scripts cannot send headers
            token = form["csrf"].encode("latin-1", "replace")
            scope["headers"] = [*scope["headers"], (CSRF_HEADER.encode(), token)]
        return Visit(request, await self.who_asks(Request(scope)), number, form, files, many)

    def page(self, visit: Visit, template: str, title: str, status: int = 200, **context: Any) -> Response:
        """A page."""
        own = {
            "title": title,
            "site": self.title,
            "who": visit.who,
            "here": visit.request.url.path,
            "links": self._links(visit.who),
            "csrf": _hidden(visit.csrf),
            "csrf_token": visit.csrf,
            "signs_in": "/account" in self.addresses,
        }
        return self.part(template, status, **own, **context)

    def part(self, template: str, status: int = 200, **context: Any) -> Response:
        """A part of a page, for a script that puts it in its place."""
        text = _environment().get_template(template).render(context)
        return Response(text, status, media_type="text/html; charset=utf-8")

    def _links(self, who: Identity) -> list[PageLink]:
        open_to = (link for link in LINKS if link.address in self.addresses and may_open(who, link.action))
        return list({link.address: link for link in open_to}.values())

    def _refused(self, visit: Visit | None, request: Request, error: Exception, number: str) -> Response:
        problem = page_problem(error)
        if problem.status >= 500:
            LOG.error("request %s failed: %s", number, type(error).__name__)
        shown = visit or Visit(request, Identity(None, "", frozenset()), number)
        response = self.page(shown, "problem.html", problem.message, problem.status, problem=problem, number=number)
        if problem.status == 401:
            response.headers["set-cookie"] = drop_cookie()  # what does not hold is not sent again
        if problem.status == 413:
            response.headers["connection"] = "close"  # the rest is not read
        if problem.retry_after is not None:
            response.headers["retry-after"] = str(problem.retry_after)
        return response

    def _count(self, what: str, response: Response, number: str, began: float) -> None:
        seconds = time.perf_counter() - began
        self.metrics.count(what, response.status_code, seconds)
        status, spent = response.status_code, round(1000 * seconds, 1)
        LOG.info("request", extra={"request": number, "what": what, "status": status, "ms": spent})


def page_problem(error: Exception) -> Problem:
    """What a page tells of an error: more than the program interface where a person filled a form wrongly."""
    found = problem_of(error)
    if found.kind == "not-answered" and isinstance(error, InputError | ParameterError):
        return Problem(400, "form", error.message, error.hint)
    return found


def may_open(who: Identity, action: str) -> bool:
    """Whether somebody's roles and sign-in are such that they may do an action at all."""
    rule = RULES[action]
    return bool(who.roles & rule.roles) and (rule.level < STRONG or who.auth_level >= STRONG)


def see_other(address: str) -> Response:
    """The answer to a form: look there now."""
    return RedirectResponse(address, 303)


async def read_form(
    request: Request, most: int
) -> tuple[dict[str, str], dict[str, list[str]], tuple[UploadedFile, ...]]:
    """Fields and files of a form; one that is too large is refused before it is read.

    Parameters
    ----------
    request
        The request.
    most
        Bytes that its files may have; 0 where it has none.

    Raises
    ------
    Denied
        When it is too large (413) or no form (415).
    """
    limit = MOST_FORM + most
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    wanted = "multipart/form-data" if most else "application/x-www-form-urlencoded"
    if kind != wanted:
        raise Denied("not-a-form", "This is not the form of the page.", hint="Load the page again.", status=415)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise too_large(most or MOST_FORM)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise too_large(most or MOST_FORM)
    return await _multipart(request, bytes(body), most) if most else _urlencoded(bytes(body))


def too_large(most: int) -> Denied:
    """The refusal of a form that is too large."""
    return Denied("too-large", "What was sent is too large.", hint=f"Send at most {most:,} bytes.", status=413)


def _urlencoded(body: bytes) -> tuple[dict[str, str], dict[str, list[str]], tuple[UploadedFile, ...]]:
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_PAIRS)
    except ValueError:
        raise _no_form() from None
    many: dict[str, list[str]] = {}
    for name, value in pairs:
        many.setdefault(name, []).append(value)
    return dict(pairs), many, ()


async def _multipart(
    request: Request, body: bytes, most: int
) -> tuple[dict[str, str], dict[str, list[str]], tuple[UploadedFile, ...]]:
    from starlette.exceptions import HTTPException

    async def again() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    fields: dict[str, list[str]] = {}
    files: list[UploadedFile] = []
    try:
        async with Request(request.scope, again).form(max_files=20, max_fields=MOST_PAIRS, max_part_size=most) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    if value.filename:
                        files.append(UploadedFile(value.filename, await value.read()))
                else:
                    fields.setdefault(name, []).append(str(value))
    except (HTTPException, ValueError, KeyError):
        raise _no_form() from None
    return {name: values[-1] for name, values in fields.items()}, fields, tuple(files)


def _no_form() -> Denied:
    return Denied("not-a-form", "The form cannot be read.", hint="Load the page again and fill it in.", status=400)


def _hidden(token: str) -> str:
    from markupsafe import Markup

    return Markup('<input type="hidden" name="csrf" value="{}">').format(token) if token else Markup("")


def _environment() -> Environment:
    try:
        import jinja2
    except ImportError:
        raise missing_extra("jinja2", "server", "A page") from None
    return _with_templates(jinja2.Environment)


@cache
def _with_templates(kind: type[Environment]) -> Environment:
    from jinja2 import PackageLoader, StrictUndefined

    environment = kind(
        loader=PackageLoader("discreet.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"counted": counted, "thousands": lambda number: f"{number:,}", "moment": _moment}
    environment.globals |= {"script": _script, "styles": _styles, "static": lambda name: static_files()[name]}
    return environment


def read_templates() -> None:
    """Compile all templates, so that nobody who opens a page first waits for it."""
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


def _moment(seconds: int) -> str:
    """A time of the store in words."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def _script(name: str) -> str:
    from markupsafe import Markup

    found = static_files()[name]
    return Markup('<script src="{}" integrity="{}" defer></script>').format(found.address, found.integrity)


def _styles() -> str:
    from markupsafe import Markup

    line = Markup('<link rel="stylesheet" href="{}" integrity="{}">')
    both = (static_files()[name] for name in ("style.css", "server.css"))
    return Markup("\n").join(line.format(found.address, found.integrity) for found in both)
