"""Extracts on pages: the cart, its definition, how large and risky it would be, the queue, and the sealed file."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.responses import FileResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError, InputError
from discreet.server.denied import Denied
from discreet.server.extracts.definition import MOST_BYTES, Definition, read_definition
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.extracts.file import ExtractFile
from discreet.server.pages.frame import PageFrame, Visit, may_open, see_other
from discreet.server.problems import problem_of
from discreet.server.roles import Subject, allowed
from discreet.server.store.applications import ApplicationRow
from discreet.server.store.extracts import ExtractRow
from discreet.trust.log.entries import DecisionTaken
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
        who = _self(visit)

        def work() -> tuple[list[ApplicationRow], list[ExtractRow], str | None]:
            mine = []
            for project in self.desk.store.projects.of(who):
                try:
                    mine.append(self.desk.store.applications.find(project.id))
                except InputError:
                    continue  # a project without extracts
            rows = self.desk.store.extracts.of([row.project.id for row in mine])
            return mine, rows, self.desk.store.extracts.key_of(who)

        projects, rows, key = await asyncio.to_thread(work)
        shown: dict[str, Any] = {
            "projects": projects,
            "rows": rows,
            "states": STATES,
            "me": who,
            "fingerprint": None if key is None else RecipientKey.from_text(key).fingerprint,
        }
        return self.frame.page(visit, "extracts.html", "Extracts", **shown)

    async def set_key(self, visit: Visit) -> Response:
        """Take the public key that extracts are sealed to."""
        who = _self(visit)
        allowed(visit.who, "extract.request", Subject(belongs_to=frozenset({who}))).required()
        key = RecipientKey.from_text(visit.form.get("key", ""))
        entry = DecisionTaken(
            subject=visit.who.name,
            serial=visit.who.serial,
            request=visit.number,
            action="extract.key",
            decision="granted",
            about=f"key:{key.fingerprint}",
        )
        await self.desk.log.append(entry)
        await asyncio.to_thread(self.desk.store.extracts.set_key, who, key.text)
        return see_other("/extracts")

    # ---- the cart -------------------------------------------------------------------------------------------

    async def _place(self, visit: Visit) -> tuple[ApplicationRow, ExtractFile]:
        """One's own project, and its file."""
        number, who = int(visit.request.path_params["number"]), _self(visit)
        allowed(visit.who, "extract.request", Subject(belongs_to=frozenset({who}))).required()

        def work() -> tuple[ApplicationRow, ExtractFile]:
            try:
                row = self.desk.store.applications.find(number)
            except InputError:
                row = None
            if row is None or who not in row.project.members:
                raise Denied("other-project", "You do not work on this project.", hint="Ask its head to add you.")
            self.desk.grant_of(number, who, row.dataset, row.edition)
            return row, self.desk.file(row.dataset, row.edition)

        return await asyncio.to_thread(work)

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
        number, who = int(visit.request.path_params["number"]), _self(visit)

        def work() -> ExtractRow | None:
            try:
                row = self.desk.store.extracts.find(number)
                return row if who in self.desk.store.projects.find(row.project_id).members else None
            except DiscreetError:
                return None

        found = await asyncio.to_thread(work)
        if found is None:
            raise Denied("not-yours", "This is not yours.", hint="See your own extracts.")
        return found

    async def show_extract(self, visit: Visit) -> Response:
        """Where an extract is."""
        row = await self._row(visit)
        wanted = read_definition(row.definition.encode())
        shown: dict[str, Any] = {
            "row": row,
            "wanted": wanted,
            "state": STATES[row.state],
            "mine": row.requested_by == _self(visit),
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


def _self(visit: Visit) -> int:
    if visit.who.principal_id is None:
        raise Denied("nobody", "This needs somebody who is known.", hint="Sign in.", status=401)
    return visit.who.principal_id
