"""Extracts on pages: the cart, its definition, how large and risky it would be, the queue, and the sealed file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.responses import FileResponse, Response
from starlette.routing import Route

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.extracts.definition import MOST_BYTES, Definition, read_definition
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.extracts.file import ExtractFile
from discreet.server.pages.frame import PageFrame, Visit, may_open, see_other
from discreet.server.problems import problem_of
from discreet.server.store.applications import ApplicationRow
from discreet.server.store.extracts import ExtractRow
from discreet.trust.sealed_file import RecipientKey

STATES = {
    "queued": ("waiting", ""),
    "running": ("being made", ""),
    "ready": ("ready", "good"),
    "expired": ("expired", "warn"),
    "failed": ("failed", "bad"),
    "refused": ("refused", "bad"),
    "withdrawn": ("withdrawn", "warn"),
}


@dataclass(frozen=True)
class ExtractPages:
    """The pages.

    Parameters
    ----------
    frame
        The frame of pages.
    desk
        Files, store and log.
    """

    frame: PageFrame
    desk: ExtractDesk

    def routes(self) -> list[Route]:
        """Addresses."""
        one, cart = "/extracts/{number:int}", "/extracts/projects/{number:int}/cart"
        return [
            self.frame.route("/extracts", self.show_extracts),
            self.frame.route("/extracts/key", self.set_key, methods=("POST",)),
            self.frame.route(cart, self.show_cart),
            self.frame.route(cart, self.ask, methods=("POST",)),
            self.frame.route(f"{cart}/estimate", self.show_estimate, methods=("POST",)),
            self.frame.route(f"{cart}/definition", self.give_definition, methods=("POST",)),
            self.frame.route(f"{cart}/upload", self.take_definition, methods=("POST",), files=MOST_BYTES),
            self.frame.route(one, self.show_extract),
            self.frame.route(f"{one}/file", self.give_extract),
            self.frame.route(f"{one}/withdraw", self.withdraw, methods=("POST",)),
            self.frame.route(f"{one}/destroyed", self.destroyed, methods=("POST",)),
        ]

    # ---- lists ----------------------------------------------------------------------------------------------

    async def show_extracts(self, visit: Visit) -> Response:
        """One's own projects and extracts, and the key that they are sealed to."""
        if not (may_open(visit.who, "extract.request") or may_open(visit.who, "project.request")):
            raise Denied("role", "Your roles do not allow this.", hint="Ask the office if you should have this right.")
        desk, who = self.desk, visit.who

        def work() -> tuple[list[ApplicationRow], list[ExtractRow], RecipientKey | None]:
            return desk.own_projects(who), desk.own_extracts(who), desk.own_key(who)

        projects, rows, key = await asyncio.to_thread(work)
        shown: dict[str, Any] = {
            "projects": projects,
            "rows": rows,
            "states": STATES,
            "fingerprint": None if key is None else key.fingerprint,
        }
        return self.frame.page(visit, "extracts.html", "Extracts", **shown)

    async def set_key(self, visit: Visit) -> Response:
        """Take the public key that extracts are sealed to."""
        await self.desk.use_key(visit.who, visit.form.get("key", ""), visit.number)
        return see_other("/extracts")

    # ---- the cart -------------------------------------------------------------------------------------------

    async def _place(self, visit: Visit) -> tuple[ApplicationRow, ExtractFile]:
        """One's own project, and its file."""
        number = int(visit.request.path_params["number"])
        return await asyncio.to_thread(self.desk.own_project, visit.who, number)

    async def show_cart(self, visit: Visit) -> Response:
        """The cart of a project."""
        row, file = await self._place(visit)
        empty = Definition(dataset=file.name, edition=file.edition, variables=[])
        return self._cart(visit, row, file, empty)

    def _cart(self, visit: Visit, row: ApplicationRow, file: ExtractFile, wanted: Definition) -> Response:
        granted = [file.variables[name] for name in row.form.variables if name in file.variables]
        shown: dict[str, Any] = {"row": row, "file": file, "granted": granted, "wanted": wanted}
        return self.frame.page(visit, "cart.html", "Cart", **shown)

    def _wanted(self, visit: Visit, file: ExtractFile) -> Definition:
        """The definition that a form says."""
        form = visit.form
        share = form.get("share", "100").strip().rstrip("%")
        try:
            percent = float(share)
        except ValueError:
            raise Denied("share", "The share of households is no number.", hint="Give 1 to 100.", status=400) from None
        return Definition(
            dataset=file.name,
            edition=file.edition,
            variables=list(visit.many.get("variables", ())),
            where=[line.strip() for line in form.get("where", "").splitlines() if line.strip()],
            households=form.get("households") == "yes",
            strata=form.get("strata") == "yes",
            share=percent / 100,
            file="parquet" if form.get("format") == "parquet" else "csv",
        )

    async def show_estimate(self, visit: Visit) -> Response:
        """How large and how risky it would be, or why it is refused; nothing is kept."""
        row, file = await self._place(visit)
        found, problem = None, None
        try:
            wanted = self._wanted(visit, file)
            _, found = await asyncio.to_thread(self.desk.looked_at, visit.who, row.project.id, wanted)
        except Denied as error:
            problem = problem_of(error)
        return self.frame.part("estimate.html", found=found, problem=problem, limits=file.limits)

    async def give_definition(self, visit: Visit) -> Response:
        """The definition as a file."""
        _, file = await self._place(visit)
        wanted = self._wanted(visit, file)
        headers = {"content-disposition": f'attachment; filename="{file.name}-extract.json"'}
        return Response(wanted.text, headers=headers, media_type="application/json")

    async def take_definition(self, visit: Visit) -> Response:
        """A definition from a file, put into the cart."""
        row, file = await self._place(visit)
        if len(visit.files) != 1:
            raise InputError("No definition was chosen.", hint="Choose one file.")
        wanted = read_definition(visit.files[0].content)
        if (wanted.dataset, wanted.edition) != (file.name, file.edition):
            await asyncio.to_thread(self.desk.file, wanted.dataset, wanted.edition)
            raise Denied("other-edition", "The definition is of another file.", hint="Change it there.", status=400)
        return self._cart(visit, row, file, wanted)

    async def ask(self, visit: Visit) -> Response:
        """Ask for the extract."""
        row, file = await self._place(visit)
        number = await self.desk.request(visit.who, row.project.id, self._wanted(visit, file), visit.number)
        return see_other(f"/extracts/{number}")

    # ---- one extract ----------------------------------------------------------------------------------------

    async def _row(self, visit: Visit) -> ExtractRow:
        """An extract of one's own project; others are not told whether it is there."""
        number = int(visit.request.path_params["number"])
        return await asyncio.to_thread(self.desk.own_extract, visit.who, number)

    async def show_extract(self, visit: Visit) -> Response:
        """Where an extract is."""
        row = await self._row(visit)
        wanted = read_definition(row.definition.encode())
        shown: dict[str, Any] = {
            "row": row,
            "wanted": wanted,
            "state": STATES[row.state],
            "mine": row.requested_by == visit.who.principal_id,
        }
        if visit.partial:
            return self.frame.part("extract_part.html", **shown)
        return self.frame.page(visit, "extract.html", f"Extract {row.id}", **shown)

    async def give_extract(self, visit: Visit) -> Response:
        """The sealed file; it is in the log before it leaves."""
        row = await self._row(visit)
        path = await self.desk.fetch(visit.who, row, visit.number)
        return FileResponse(path, media_type="application/octet-stream", filename=f"extract-{row.id}.sealed")

    async def withdraw(self, visit: Visit) -> Response:
        """Give an extract up."""
        row = await self._row(visit)
        await self.desk.withdraw(visit.who, row, visit.number)
        return see_other(f"/extracts/{row.id}")

    async def destroyed(self, visit: Visit) -> Response:
        """State that all copies were destroyed."""
        row = await self._row(visit)
        if visit.form.get("sure") != "yes":
            raise InputError("The statement was not confirmed.", hint="Tick that all copies are destroyed.")
        await self.desk.destroyed(visit.who, row, visit.number)
        return see_other(f"/extracts/{row.id}")
