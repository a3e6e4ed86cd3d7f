"""Four eyes on pages: what one person asks for and two others agree to: another key, a further role."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.pages.frame import PageFrame, Visit, may_open, see_other
from discreet.server.roles import RULES, Role, may_approve, role_named
from discreet.server.service import Service, in_order
from discreet.server.store.approvals import ApprovalRow
from discreet.server.store.store import Store
from discreet.trust.log.entries import DecisionTaken, KeyChanged, RoleChanged

KEY, ROLE = "key.change", "role.grant"
WORDS = {KEY: "Retire the key of an edition", ROLE: "Give somebody a role"}


@dataclass(frozen=True)
class RequestPages:
    """Requests that need four eyes.

    Parameters
    ----------
    frame
        The frame of pages.
    service
        What is served.
    store
        What is kept.
    """

    frame: PageFrame
    service: Service
    store: Store

    def routes(self) -> list[Route]:
        """Addresses."""
        one = "/office/requests/{number:int}"
        return [
            self.frame.route("/office/requests", self.show_requests),
            self.frame.route("/office/requests", self.ask, methods=("POST",)),
            self.frame.route(f"{one}/vote", self.vote, methods=("POST",)),
            self.frame.route(f"{one}/use", self.use, methods=("POST",)),
        ]

    async def show_requests(self, visit: Visit) -> Response:
        """Requests, votes, and what one may do with them."""
        if not any(may_open(visit.who, action) or visit.who.roles & RULES[action].approvers for action in WORDS):
            raise Denied("role", "Your roles do not allow this.", hint="Ask the office if you should have this right.")
        now = self.store.approvals.now()

        def work() -> tuple[list[dict[str, Any]], list[Any], list[Any]]:
            rows = [self._shown(visit, row, now) for row in self.store.approvals.listed() if row.action in WORDS]
            editions = [row for row in self.store.editions.listed() if row.state != "withdrawn"]
            return rows, editions, [person for person, _ in self.store.people.listed()]

        rows, editions, people = await asyncio.to_thread(work)
        asks = {action: may_open(visit.who, action) for action in WORDS}
        roles = [role.value for role in Role if role != Role.PUBLIC]
        shown: dict[str, Any] = {"rows": rows, "editions": editions, "people": people, "asks": asks, "roles": roles}
        return self.frame.page(visit, "requests.html", "Four eyes", **shown)

    def _shown(self, visit: Visit, row: ApprovalRow, now: int) -> dict[str, Any]:
        votes = {*row.agreed, *row.disagreed}
        names = {number: self._name(number) for number in (row.requested_by, *votes)}
        may_vote = may_approve(visit.who, row.action, row.requested_by) and visit.who.principal_id not in votes
        holds = row.holds(now)
        return {
            "row": row,
            "words": WORDS[row.action],
            "subject": self._subject(row),
            "by": names[row.requested_by],
            "agreed": [names[number] for number in sorted(row.agreed)],
            "disagreed": [names[number] for number in sorted(row.disagreed)],
            "may_vote": bool(may_vote) and not row.used and not holds and not row.disagreed,
            "may_use": holds and visit.who.principal_id == row.requested_by,
            "holds": holds,
        }

    def _name(self, number: int) -> str:
        person = self.store.people.find(number)
        return person.name if person else "somebody"

    def _subject(self, row: ApprovalRow) -> str:
        first, _, rest = row.subject.partition(" ")
        return f"{self._name(int(first))}: {rest}" if row.action == ROLE and first.isdigit() else row.subject

    async def ask(self, visit: Visit) -> Response:
        """Ask for something that two others must agree to."""
        action = visit.form.get("action", "")
        if action not in WORDS or not may_open(visit.who, action):
            raise Denied("role", "Your roles do not allow this.", hint="Ask the office if you should have this right.")
        assert visit.who.principal_id is not None
        subject = await asyncio.to_thread(self._asked, action, visit)
        await self._log(visit, action, "asked", subject, True)
        await asyncio.to_thread(self.store.approvals.request, action, subject, visit.who.principal_id)
        return see_other("/office/requests")

    def _asked(self, action: str, visit: Visit) -> str:
        if action == KEY:
            name, _, edition = visit.form.get("edition", "").partition(" ")
            row = self.store.editions.find(name, edition)
            return f"{row.dataset} {row.edition}"
        number = visit.form.get("person", "")
        if not number.isdigit() or self.store.people.find(int(number[:9])) is None:
            raise InputError("There is nobody of this number.", hint="Choose somebody of the list.")
        if int(number) == visit.who.principal_id:
            raise Denied("own-role", "Nobody asks for a role of their own.", hint="Ask another officer.")
        return f"{number} {role_named(visit.form.get('role', ''))}"

    async def vote(self, visit: Visit) -> Response:
        """Agree or disagree, with a reason."""
        row = await self._row(visit)
        may_approve(visit.who, row.action, row.requested_by).required()
        agrees = visit.form.get("agrees")
        if agrees not in ("yes", "no"):
            raise InputError("It was not said whether you agree.", hint="Choose one of the buttons.")
        assert visit.who.principal_id is not None
        reason = visit.form.get("reason", "")
        await self._log(visit, row.action, f"vote:{row.id}", row.subject, agrees == "yes")
        await asyncio.to_thread(
            lambda: self.store.approvals.vote(
                row.id, visit.who.principal_id or 0, agrees=agrees == "yes", reason=reason
            )
        )
        return see_other("/office/requests")

    async def use(self, visit: Visit) -> Response:
        """Do what two others agreed to; once."""
        row = await self._row(visit)
        if visit.who.principal_id != row.requested_by or not may_open(visit.who, row.action):
            raise Denied("other-request", "Only who asked for it does it.", hint="Let the requester do it.")
        if not row.holds(self.store.approvals.now()):
            raise Denied("four-eyes", "Two others must agree to this first.", hint="Wait for their votes.")
        if row.action == KEY:
            await self._retire(visit, row)
        else:
            await self._give_role(visit, row)
        return see_other("/office/requests")

    async def _retire(self, visit: Visit, row: ApprovalRow) -> None:
        """Let an edition answer no more: its key is done with, and a new key is a new edition."""
        name, _, edition = row.subject.partition(" ")
        found = await asyncio.to_thread(self.store.editions.find, name, edition)
        second = ", ".join(self._name(number) for number in sorted(row.agreed))
        entry = KeyChanged(
            subject=visit.who.name,
            serial=visit.who.serial,
            request=visit.number,
            action="key.retire",
            fingerprint=found.key_fingerprint[:40] or "0",
            dataset=name,
            edition=edition,
            second=second,
        )
        await self.service.log.append(entry)
        await asyncio.to_thread(self.store.approvals.use, row.id, KEY, row.subject)
        await asyncio.to_thread(self.store.editions.withdraw, name, edition)
        others = [known for known in self.service.datasets if known[0] == name and known[1] != edition]
        newest = max((known[1] for known in others), key=in_order, default="")
        self.service.withdrawn = {**self.service.withdrawn, (name, edition): newest}

    async def _give_role(self, visit: Visit, row: ApprovalRow) -> None:
        number, _, role = row.subject.partition(" ")
        second = ", ".join(self._name(one) for one in sorted(row.agreed))
        entry = RoleChanged(
            subject=visit.who.name,
            serial=visit.who.serial,
            request=visit.number,
            action="role.grant",
            about=self._name(int(number)),
            given=role.replace(" ", "_").lower(),
            second=second,
        )
        await self.service.log.append(entry)
        await asyncio.to_thread(self.store.people.grant_role, int(number), role, row.id)

    async def _row(self, visit: Visit) -> ApprovalRow:
        row = await asyncio.to_thread(self.store.approvals.find, int(visit.request.path_params["number"]))
        if row.action not in WORDS:
            raise InputError("There is no such request here.", hint="See the list of requests.")
        return row

    async def _log(self, visit: Visit, action: str, about: str, subject: str, agrees: bool) -> None:
        entry = DecisionTaken(
            subject=visit.who.name,
            serial=visit.who.serial,
            request=visit.number,
            action=action,
            decision="granted" if agrees else "denied",
            about=about,
            purpose=subject,
        )
        await self.service.log.append(entry)
