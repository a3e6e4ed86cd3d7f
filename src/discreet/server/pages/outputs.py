"""The output checking room: hand in, two checkers who do not know of each other, turns, release; all of it logged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import DiscreetError, InputError
from discreet.server.denied import Denied
from discreet.server.handed_in import (
    KINDS,
    MOST_BYTES,
    Findings,
    OutputReading,
    Released,
    beside_releases,
    handed_in,
    turn_digest,
)
from discreet.server.pages.frame import PageFrame, Visit, may_open, see_other
from discreet.server.roles import Decision, Subject, allowed
from discreet.server.service import Log
from discreet.server.store.outputs import DECISIONS, FileRow, OutputFile, OutputRow
from discreet.server.store.projects import ProjectRow
from discreet.server.store.store import Store
from discreet.trust.log.entries import DecisionTaken

STATES = {
    "open": ("being checked", ""),
    "returned": ("returned to the analyst", "warn"),
    "approved": ("approved by two, not yet released", "good"),
    "released": ("released", "good"),
    "refused": ("refused", "bad"),
    "withdrawn": ("withdrawn", "bad"),
}


@dataclass(frozen=True)
class OutputPages:
    """The pages of the room.

    Parameters
    ----------
    frame
        The frame of pages.
    store
        Where outputs are.
    log
        Where decisions are written before anybody is told of them.
    """

    frame: PageFrame
    store: Store
    log: Log

    def routes(self) -> list[Route]:
        """Addresses."""
        one = "/outputs/{number:int}"
        return [
            self.frame.route("/outputs", self.show_outputs),
            self.frame.route("/outputs/new", self.show_new_output),
            self.frame.route("/outputs/new", self.hand_in, methods=("POST",), files=MOST_BYTES),
            self.frame.route(one, self.show_output),
            self.frame.route(f"{one}/turn", self.hand_in_again, methods=("POST",), files=MOST_BYTES),
            self.frame.route(f"{one}/comment", self.comment, methods=("POST",)),
            self.frame.route(f"{one}/decide", self.decide, methods=("POST",)),
            self.frame.route(f"{one}/release", self.release, methods=("POST",)),
            self.frame.route(f"{one}/withdraw", self.withdraw, methods=("POST",)),
            self.frame.route(f"{one}/files/{{file:int}}", self.give_file),
        ]

    # ---- lists ----------------------------------------------------------------------------------------------

    async def show_outputs(self, visit: Visit) -> Response:
        """One's own outputs, and those that one may check."""
        hands_in, checks = may_open(visit.who, "output.hand_in"), may_open(visit.who, "output.release")
        if not (hands_in or checks):
            raise Denied("role", "Your roles do not allow this.", hint="Ask the office if you should have this right.")

        def work() -> list[dict[str, Any]]:
            found = []
            for row in self.store.outputs.listed():
                project = self.store.projects.find(row.project_id)
                mine = visit.who.principal_id in project.members
                if mine or checks:
                    found.append({"row": row, "project": project, "mine": mine, "state": STATES[row.state]})
            return found

        rows = await asyncio.to_thread(work)
        return self.frame.page(visit, "outputs.html", "Output checking", rows=rows, hands_in=hands_in, checks=checks)

    async def show_new_output(self, visit: Visit) -> Response:
        """The form to hand something in."""
        projects = await self._projects(visit)
        shown: dict[str, Any] = {"projects": projects, "kinds": KINDS, "most": MOST_BYTES, "row": None}
        return self.frame.page(visit, "output_new.html", "Hand in an output", **shown)

    async def _projects(self, visit: Visit) -> list[ProjectRow]:
        """Active projects of who asks."""
        number = visit.who.principal_id
        allowed(visit.who, "output.hand_in", Subject(belongs_to=frozenset({number or 0}))).required()
        assert number is not None
        found = await asyncio.to_thread(self.store.projects.of, number)
        now = self.store.projects.now()
        return [one for one in found if one.state == "active" and one.expires > now]

    # ---- handing in -----------------------------------------------------------------------------------------

    async def hand_in(self, visit: Visit) -> Response:
        """Take an output, after its files were looked at."""
        projects = {str(one.id): one for one in await self._projects(visit)}
        project = projects.get(visit.form.get("project", ""))
        if project is None:
            raise Denied("project-over", "The project is not active, or not yours.", hint="Choose one of yours.")
        files = await self._files(visit)
        who = visit.who.principal_id
        assert who is not None
        await self._log(visit, "output.hand_in", True, f"project:{project.id}", files)
        number = await asyncio.to_thread(
            self.store.outputs.hand_in, project.id, who, visit.form.get("title", ""), files
        )
        return see_other(f"/outputs/{number}")

    async def hand_in_again(self, visit: Visit) -> Response:
        """Take the next turn of an output that was returned."""
        row, project = await self._output(visit)
        if project.id not in {one.id for one in await self._projects(visit)}:
            raise Denied("project-over", "The project is not active, or not yours.", hint="Have it renewed.")
        files = await self._files(visit)
        who = visit.who.principal_id
        assert who is not None
        await self._log(visit, "output.hand_in", True, f"output:{row.id}:{row.turn + 1}", files)
        await asyncio.to_thread(self.store.outputs.next_turn, row.id, who, files)
        return see_other(f"/outputs/{row.id}")

    async def _files(self, visit: Visit) -> list[OutputFile]:
        kind, reading = visit.form.get("kind", ""), _reading(visit)
        if sum(len(one.content) for one in visit.files) > MOST_BYTES:
            raise Denied("too-large", "The files are too large.", hint=f"At most {MOST_BYTES:,} bytes.", status=413)
        if len({one.name for one in visit.files}) < len(visit.files) or not visit.files:
            raise InputError("No file was chosen, or two have one name.", hint="Choose files with names of their own.")

        def work() -> list[OutputFile]:
            released = self._released()
            return [handed_in(one.name, one.content, kind, reading, released) for one in visit.files]

        return await asyncio.to_thread(work)

    def _released(self, rows: Sequence[OutputRow] | None = None) -> list[Released]:
        """Tables of outputs that were released, of all projects; of all such outputs where none are named."""
        found = []
        for row in self.store.outputs.listed(released=True) if rows is None else rows:
            for file in self.store.outputs.files(row.id, row.turn):
                if file.kind == "table":
                    _, content = self.store.outputs.content(row.id, file.id)
                    words = f"output {row.id}, {file.name}"
                    found.append(
                        Released(words, msgspec.json.decode(file.reading, type=OutputReading), content, file.name)
                    )
        return found

    def _since(self, row: OutputRow, files: Sequence[FileRow]) -> tuple[frozenset[int], list[str]]:
        """All outputs that are released now, and what files of this turn tell beside those that came after them."""
        released = self.store.outputs.listed(released=True)
        later = self._released([one for one in released if one.released_at() >= row.handed_in])
        found: list[str] = []
        for file in files:
            if file.turn == row.turn and file.kind == "table" and later:
                _, content = self.store.outputs.content(row.id, file.id)
                reading = msgspec.json.decode(file.reading, type=OutputReading)
                known = msgspec.json.decode(file.findings, type=Findings).differencing
                told = beside_releases(file.name, content, reading, later)
                found += [words for words in told if words not in known]
        return frozenset(one.id for one in released), found

    # ---- one output -----------------------------------------------------------------------------------------

    async def _output(self, visit: Visit) -> tuple[OutputRow, ProjectRow]:
        number = int(visit.request.path_params["number"])

        def work() -> tuple[OutputRow, ProjectRow]:
            row = self.store.outputs.find(number)
            return row, self.store.projects.find(row.project_id)

        return await asyncio.to_thread(work)

    async def show_output(self, visit: Visit) -> Response:
        """An output: files and findings, what was said, and what one may do."""
        row, project = await self._output(visit)
        who = visit.who.principal_id
        mine = who is not None and who in project.members
        review = _may_review(visit, row, project)
        if not (mine or review or may_open(visit.who, "output.release")):
            review.required()
        files = await asyncio.to_thread(self.store.outputs.files, row.id)
        names = await asyncio.to_thread(self._names, row)
        undecided = row.state in ("open", "approved")
        _, since = await asyncio.to_thread(self._since, row, files) if undecided else (None, [])
        assert who is not None
        shown: dict[str, Any] = {
            "row": row,
            "project": project,
            "mine": mine,
            "author": who == row.requested_by,
            "state": STATES[row.state],
            "files": [(one, msgspec.json.decode(one.findings, type=Findings)) for one in files],
            "remarks": row.seen_by(who),
            "names": names,
            "kinds": KINDS,
            "most": MOST_BYTES,
            "decided": row.decided(),
            "may_decide": bool(review) and row.state == "open" and who not in row.decided(),
            "may_release": row.state == "approved" and bool(_may_release(visit, row, project)),
            "may_fetch": _may_fetch(row, mine, bool(review)),
            "seen": _seen(row, files),
            "since": since,
            "may_withdraw": who == row.requested_by and row.state in ("open", "returned", "approved"),
        }
        return self.frame.page(visit, "output.html", row.title, **shown)

    def _names(self, row: OutputRow) -> dict[int, str]:
        numbers = {row.requested_by, *(one.principal_id for one in row.remarks)}
        found = {number: self.store.people.find(number) for number in numbers}
        return {number: person.name if person else "somebody" for number, person in found.items()}

    async def comment(self, visit: Visit) -> Response:
        """Say something of an output."""
        row, project = await self._output(visit)
        who = visit.who.principal_id
        if who is None or who not in project.members:
            _may_review(visit, row, project).required()
        assert who is not None
        await asyncio.to_thread(self.store.outputs.comment, row.id, who, visit.form.get("words", ""))
        return see_other(f"/outputs/{row.id}")

    async def decide(self, visit: Visit) -> Response:
        """Approve, return or refuse, as one of two checkers; refused attempts are in the log, too."""
        row, project = await self._output(visit)
        decision, about = visit.form.get("decision", ""), f"output:{row.id}:{row.turn}"
        files = await asyncio.to_thread(self.store.outputs.files, row.id, row.turn)
        found = _may_review(visit, row, project)
        if not found:
            await self._log(visit, "output.review", False, about, files, found.reason)
        found.required()
        who = visit.who.principal_id
        assert who is not None
        if decision not in DECISIONS:
            raise InputError("There is no such decision.", hint=f"Choose {', '.join(DECISIONS)}.")
        if row.state != "open" or who in row.decided():
            raise Denied("decided", "You, or two others, have decided on this turn.", hint="See its state.")
        _refuse_unseen(visit, row, files)
        await self._log(visit, "output.review", decision == "approve", about, files, decision)
        try:
            words = visit.form.get("words", "")
            await asyncio.to_thread(self.store.outputs.decide, row.id, who, decision, words, row.turn)
        except DiscreetError:
            await self._log(visit, "output.review", False, about, files, "not-kept")
            raise
        return see_other(f"/outputs/{row.id}")

    async def release(self, visit: Visit) -> Response:
        """Release what two checkers approved."""
        row, project = await self._output(visit)
        about = f"output:{row.id}:{row.turn}"
        files = await asyncio.to_thread(self.store.outputs.files, row.id, row.turn)
        found = _may_release(visit, row, project)
        if not found:
            await self._log(visit, "output.release", False, about, files, found.reason)
        found.required()
        _refuse_unseen(visit, row, files)
        who = visit.who.principal_id
        assert who is not None
        beside, unseen = await asyncio.to_thread(self._since, row, files)
        if unseen:
            await self._log(visit, "output.release", False, about, files, "differencing")
            words = "Returned, because of what was released meanwhile: " + "; ".join(unseen)
            await asyncio.to_thread(self.store.outputs.send_back, row.id, who, words)
            return see_other(f"/outputs/{row.id}")
        await self._log(visit, "output.release", True, about, files)
        try:
            await asyncio.to_thread(self.store.outputs.release, row.id, who, row.turn, beside)
        except DiscreetError:
            await self._log(visit, "output.release", False, about, files, "not-kept")
            raise
        return see_other(f"/outputs/{row.id}")

    async def withdraw(self, visit: Visit) -> Response:
        """Take one's own output back."""
        row, _ = await self._output(visit)
        await self._projects(visit)
        who = visit.who.principal_id
        assert who is not None
        files = await asyncio.to_thread(self.store.outputs.files, row.id, row.turn)
        await self._log(visit, "output.withdraw", who == row.requested_by, f"output:{row.id}:{row.turn}", files)
        await asyncio.to_thread(self.store.outputs.withdraw, row.id, who)
        return see_other(f"/outputs/{row.id}")

    async def give_file(self, visit: Visit) -> Response:
        """A file: for checkers at any time, for the project once it is released."""
        row, project = await self._output(visit)
        mine = visit.who.principal_id is not None and visit.who.principal_id in project.members
        review = _may_review(visit, row, project)
        if not _may_fetch(row, mine, bool(review)):
            raise Denied("not-released", "This was not released.", hint="Two checkers must approve of it first.")
        file, content = await asyncio.to_thread(
            self.store.outputs.content, row.id, int(visit.request.path_params["file"])
        )
        if not review and file.turn != row.turn:
            raise Denied("not-released", "Only the last turn was released.", hint="See the page of the output.")
        await self._log(visit, "output.fetch", True, f"output:{row.id}:{file.turn}", [file])
        ascii_name = file.name.encode("ascii", "replace").decode().replace('"', "_").replace("?", "_")
        headers = {"content-disposition": f'attachment; filename="{ascii_name}"', "x-content-digest": file.digest}
        return Response(content, headers=headers, media_type="application/octet-stream")

    async def _log(
        self,
        visit: Visit,
        action: str,
        granted: bool,
        about: str,
        files: Sequence[OutputFile | FileRow],
        rule: str | None = None,
    ) -> None:
        """Write a decision; nothing is done where it cannot be written."""
        who = visit.who
        entry = DecisionTaken(
            subject=who.name or "public",
            serial=who.serial,
            role=sorted(who.roles)[0].replace(" ", "_").lower(),
            request=visit.number,
            action=action,
            decision="granted" if granted else "denied",
            about=about,
            rule=rule,
            content=turn_digest([(one.name, one.digest) for one in files]),
        )
        await self.log.append(entry)


def _seen(row: OutputRow, files: Sequence[FileRow]) -> str:
    """What forms send back, so that nobody decides on files that came after those that they looked at."""
    return f"{row.turn}:{turn_digest([(one.name, one.digest) for one in files if one.turn == row.turn])}"


def _refuse_unseen(visit: Visit, row: OutputRow, files: Sequence[FileRow]) -> None:
    if visit.form.get("seen", "") != _seen(row, files):
        raise Denied(
            "changed", "Other files were handed in since you looked.", hint="Load the page and look again.", status=409
        )


def _subject(row: OutputRow, project: ProjectRow) -> Subject:
    """Whoever came to the project after they approved counts no longer."""
    agreed = frozenset(who for who, kind in row.decided().items() if kind == "approve") - project.members
    return Subject(belongs_to=project.members, requested_by=row.requested_by, approved_by=agreed)


def _may_review(visit: Visit, row: OutputRow, project: ProjectRow) -> Decision:
    return allowed(visit.who, "output.review", _subject(row, project))


def _may_release(visit: Visit, row: OutputRow, project: ProjectRow) -> Decision:
    return allowed(visit.who, "output.release", _subject(row, project))


def _may_fetch(row: OutputRow, mine: bool, review: bool) -> bool:
    return review or (mine and row.state == "released")


def _reading(visit: Visit) -> OutputReading:
    """How a table is read, as the form says."""
    names = [name.strip() for name in visit.form.get("variables", "").split(",") if name.strip()]
    smallest = visit.form.get("smallest", "").strip()
    if smallest and not (smallest.isascii() and smallest.isdigit() and 2 <= int(smallest[:9]) <= 1_000):
        raise InputError("The smallest count is no number from 2 to 1,000.", hint="Leave it empty where there is none.")
    return OutputReading(
        variables=names[:20],
        value=visit.form.get("value", "").strip() or "value",
        counts=visit.form.get("counts") == "yes",
        smallest=int(smallest) if smallest else None,
    )
