"""Extracts over HTTP: for programs, what the pages do for people, by the same desk and under the same rules."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from discreet.errors import InputError, ParameterError
from discreet.server.bodies import json_body, json_content
from discreet.server.denied import Denied
from discreet.server.extract_client import ANY_EDITION
from discreet.server.extracts.definition import Definition, read_definition
from discreet.server.extracts.described import (
    DestroyedBody,
    ExtractList,
    FileList,
    KeyBody,
    KeyShown,
    ProjectList,
    estimate_shown,
    extract_shown,
    file_described,
    file_shown,
    project_shown,
)
from discreet.server.extracts.desk import ExtractDesk, known
from discreet.server.identity import Identity
from discreet.server.roles import Subject, allowed
from discreet.server.store.extracts import ExtractRow
from discreet.trust.peer import peer

WhoAsks = Callable[[Request], Awaitable[Identity]]
Signatures = Callable[[Request, Identity, str], Awaitable[Identity]]


class ExtractAddresses:
    """What answers ``/v1/extracts``.

    Parameters
    ----------
    desk
        Where extracts are asked for.
    who_asks
        Who sent a request; it checks origin and token of what changes something.
    signatures
        Checks the signature of a request that changes something or takes an extract away.
    """

    def __init__(self, desk: ExtractDesk, who_asks: WhoAsks, signatures: Signatures | None = None) -> None:
        self.desk, self.who_asks, self.signatures = desk, who_asks, signatures

    def routes(self, guarded: Callable[[Any], Any]) -> list[Route]:
        """Addresses and what answers them; ``guarded`` is what goes for all requests."""
        base = "/v1/extracts"
        one, project = f"{base}/{{number:int}}", f"{base}/projects/{{number:int}}"
        return [
            Route(base, guarded(self.list_extracts), methods=["GET"]),
            Route(f"{base}/files", guarded(self.list_files), methods=["GET"]),
            Route(f"{base}/files/{{name}}/{{edition}}", guarded(self.show_file), methods=["GET"]),
            Route(f"{base}/key", guarded(self.show_key), methods=["GET"]),
            Route(f"{base}/key", guarded(self.use_key), methods=["PUT"]),
            Route(f"{base}/projects", guarded(self.list_projects), methods=["GET"]),
            Route(f"{project}/estimate", guarded(self.estimate_extract), methods=["POST"]),
            Route(f"{project}/extracts", guarded(self.ask_extract), methods=["POST"]),
            Route(one, guarded(self.show_extract), methods=["GET"]),
            Route(f"{one}/definition", guarded(self.show_definition), methods=["GET"]),
            Route(f"{one}/file", guarded(self.give_extract), methods=["GET"]),
            Route(f"{one}/withdraw", guarded(self.withdraw_extract), methods=["POST"]),
            Route(f"{one}/destroyed", guarded(self.state_destroyed), methods=["POST"]),
        ]

    # ---- what there is --------------------------------------------------------------------------------------

    async def list_files(self, request: Request, _number: str) -> Response:
        """Files that extracts can be asked of now."""
        allowed(await self.who_asks(request), "project.request").required()
        files = await asyncio.to_thread(self.desk.open_files)
        return _json(FileList(files=[file_shown(file) for file in files]))

    async def show_file(self, request: Request, _number: str) -> Response:
        """Variables, notes and limits of a file."""
        allowed(await self.who_asks(request), "project.request").required()
        place = request.path_params["name"], request.path_params["edition"]
        return _json(file_described(await asyncio.to_thread(self.desk.file, *place)))

    async def list_projects(self, request: Request, _number: str) -> Response:
        """One's own projects."""
        who = self._researcher(await self.who_asks(request))
        rows = await asyncio.to_thread(self.desk.own_projects, who)
        return _json(ProjectList(projects=[project_shown(row) for row in rows]))

    async def list_extracts(self, request: Request, _number: str) -> Response:
        """Extracts of one's own projects."""
        who = self._researcher(await self.who_asks(request))
        rows = await asyncio.to_thread(self.desk.own_extracts, who)
        return _json(ExtractList(extracts=[extract_shown(row, known(who)) for row in rows]))

    async def show_key(self, request: Request, _number: str) -> Response:
        """The key that one's extracts are sealed to."""
        who = self._researcher(await self.who_asks(request))
        key = await asyncio.to_thread(self.desk.own_key, who)
        return _json(KeyShown(fingerprint=None if key is None else key.fingerprint))

    async def use_key(self, request: Request, number: str) -> Response:
        """Take the key that one's extracts are sealed to from now on."""
        who = self._researcher(await self.who_asks(request))
        body = await json_body(request, KeyBody)
        who = await self._signed(request, who, ANY_EDITION, "extract.key", number)
        try:
            key = await self.desk.use_key(who, body.key, number)
        except (InputError, ParameterError) as error:
            raise Denied("bad-key", error.message, hint=error.hint, status=400) from None
        return _json(KeyShown(fingerprint=key.fingerprint))

    # ---- asking ---------------------------------------------------------------------------------------------

    async def estimate_extract(self, request: Request, _number: str) -> Response:
        """How large and how risky an extract would be, or why it is refused; nothing is kept."""
        who = self._researcher(await self.who_asks(request))
        wanted, project = await self._wanted(request), int(request.path_params["number"])
        file, found = await asyncio.to_thread(self.desk.looked_at, who, project, wanted)
        return _json(estimate_shown(file, found))

    async def ask_extract(self, request: Request, number: str) -> Response:
        """Ask for an extract; it is queued."""
        who = self._researcher(await self.who_asks(request))
        wanted = await self._wanted(request)
        who = await self._signed(request, who, f"{wanted.dataset}/{wanted.edition}", "extract.request", number)
        made = await self.desk.request(who, int(request.path_params["number"]), wanted, number)
        row = await asyncio.to_thread(self.desk.own_extract, who, made)
        response = _json(extract_shown(row, known(who)), 201)
        response.headers["location"] = f"/v1/extracts/{made}"
        return response

    async def _wanted(self, request: Request) -> Definition:
        """The definition of a body: as it is saved and shared."""
        return read_definition(await json_content(request))

    # ---- one extract ----------------------------------------------------------------------------------------

    async def _row(self, request: Request, who: Identity) -> ExtractRow:
        return await asyncio.to_thread(self.desk.own_extract, who, int(request.path_params["number"]))

    async def _signed_row(self, request: Request, action: str, number: str) -> tuple[Identity, ExtractRow]:
        """Who asks, with what they signed, and an extract of their projects."""
        who = self._researcher(await self.who_asks(request))
        row = await self._row(request, who)
        return await self._signed(request, who, f"{row.dataset}/{row.edition}", action, number), row

    async def show_extract(self, request: Request, _number: str) -> Response:
        """Where an extract is."""
        who = self._researcher(await self.who_asks(request))
        return _json(extract_shown(await self._row(request, who), known(who)))

    async def show_definition(self, request: Request, _number: str) -> Response:
        """The definition that an extract was asked for by: it can be changed and sent again."""
        who = self._researcher(await self.who_asks(request))
        row = await self._row(request, who)
        return Response(row.definition, media_type="application/json")

    async def give_extract(self, request: Request, number: str) -> Response:
        """The sealed file; it is in the log before it leaves."""
        who, row = await self._signed_row(request, "extract.fetch", number)
        path = await self.desk.fetch(who, row, number)
        return FileResponse(path, media_type="application/octet-stream", filename=f"extract-{row.id}.sealed")

    async def withdraw_extract(self, request: Request, number: str) -> Response:
        """Give an extract up."""
        who, row = await self._signed_row(request, "extract.withdraw", number)
        await self.desk.withdraw(who, row, number)
        return _json(extract_shown(await self._row(request, who), known(who)))

    async def state_destroyed(self, request: Request, number: str) -> Response:
        """State that all copies of an extract were destroyed."""
        self._researcher(await self.who_asks(request))
        await json_body(request, DestroyedBody)
        who, row = await self._signed_row(request, "extract.destroyed", number)
        await self.desk.destroyed(who, row, number)
        return _json(extract_shown(await self._row(request, who), known(who)))

    # ---- who asks -------------------------------------------------------------------------------------------

    @staticmethod
    def _researcher(who: Identity) -> Identity:
        """Somebody who may have extracts at all; bodies of others are not read."""
        allowed(who, "extract.request", Subject(belongs_to=frozenset({known(who)}))).required()
        return who

    async def _signed(self, request: Request, who: Identity, dataset: str, action: str, number: str) -> Identity:
        """Who asks, with what they signed; a signature that does not hold is in the log."""
        if self.signatures is None:
            return who
        try:
            return await self.signatures(request, who, dataset)
        except Denied as error:
            shown = peer(request.scope)
            await self.desk.log_denied(action, error, number, None if shown is None else shown.serial)
            raise


def _json(plain: msgspec.Struct, status: int = 200) -> Response:
    return Response(msgspec.json.encode(plain), status, media_type="application/json")
