"""Applications for extracts on pages: apply, accept the conditions, review by two others, suspend, renew; logged."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import DiscreetError, InputError
from discreet.server.denied import Denied
from discreet.server.extracts.conditions import CONDITIONS
from discreet.server.extracts.desk import ExtractDesk
from discreet.server.pages.frame import PageFrame, Visit, may_open, see_other
from discreet.server.roles import Decision, Subject, allowed
from discreet.server.service import log_fields
from discreet.server.store.applications import MOVES, REVIEWS, ApplicationForm, ApplicationRow
from discreet.trust.log.entries import DecisionTaken

STATES = {
    "approved": "good",
    "active": "good",
    "renewed": "good",
    "refused": "bad",
    "revoked": "bad",
    "expired": "warn",
    "suspended": "warn",
    "more information": "warn",
}
"""Colours of states."""
ACTIONS = {
    "take up": "registration.check",
    "identified": "registration.check",
    "not identified": "registration.check",
    "suspend": "application.suspend",
    "reinstate": "application.suspend",
    "revoke": "application.suspend",
}
"""Who may do what with an application of others."""
OPEN = ("submitted", "identity check", "review")
SOON = 30 * 86_400
"""Seconds before its end from which a project is reminded."""


@dataclass(frozen=True)
class ApplicationPages:
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
        mine, theirs = "/extracts/projects/{number:int}", "/reviews/{number:int}"
        return [
            self.frame.route("/extracts/apply", self.show_apply),
            self.frame.route("/extracts/apply", self.apply, methods=("POST",)),
            self.frame.route(mine, self.show_project),
            self.frame.route(f"{mine}/submit", self.submit, methods=("POST",)),
            self.frame.route(f"{mine}/renew", self.renew, methods=("POST",)),
            self.frame.route(f"{mine}/accept", self.accept, methods=("POST",)),
            self.frame.route("/reviews", self.show_reviews),
            self.frame.route(theirs, self.show_review),
            self.frame.route(f"{theirs}/decide", self.decide, methods=("POST",)),
            self.frame.route(f"{theirs}/act", self.act, methods=("POST",)),
        ]

    # ---- applying -------------------------------------------------------------------------------------------

    async def show_apply(self, visit: Visit) -> Response:
        """The form."""
        allowed(visit.who, "project.request").required()
        files = await asyncio.to_thread(self.desk.open_files)
        return self.frame.page(visit, "apply.html", "Apply for extracts", files=files)

    async def apply(self, visit: Visit) -> Response:
        """Take an application as a draft; the applicant looks at it once more and hands it in."""
        allowed(visit.who, "project.request").required()
        who, form = _number(visit), visit.form
        name, _, edition = form.get("file", "").partition("/")
        given = [one.partition(":") for one in visit.many.get("variables", ())]
        chosen = [variable for place, _, variable in given if place == f"{name}/{edition}"]

        def work() -> int:
            file = self.desk.file(name, edition)
            unknown = [one for one in chosen if one not in file.variables]
            if unknown:
                raise InputError("A variable is not in the file.", hint="Choose from its list.")
            levels = [file.variables[one].level for one in chosen]
            text = {key: form.get(key, "").strip() for key in TEXTS}
            said = ApplicationForm(
                **text,
                variables=chosen,
                finest_geography=max(levels, default=0),
                commercial=form.get("commercial") == "yes",
            )
            months = file.manifest.approval_months
            licence = file.codebook.licence
            return self.desk.store.applications.draft(said, who, name, edition, licence=licence, months=months)

        number = await asyncio.to_thread(work)
        await self._log(visit, "application.draft", True, number)
        return see_other(f"/extracts/projects/{number}")

    async def _row(self, visit: Visit) -> ApplicationRow:
        number = int(visit.request.path_params["number"])
        return await asyncio.to_thread(self.desk.store.applications.find, number)

    async def _mine(self, visit: Visit) -> ApplicationRow:
        """An application of one's own; others are not told whether it is there."""
        try:
            row = await self._row(visit)
        except InputError:
            row = None
        if row is None or visit.who.principal_id not in row.project.members:
            raise Denied("not-yours", "This is not yours.", hint="See your own projects.")
        return row

    async def show_project(self, visit: Visit) -> Response:
        """One's own project: where it is, what it was granted, and the conditions."""
        row, who = await self._mine(visit), _number(visit)
        now = self.desk.store.applications.now()
        shown: dict[str, Any] = {
            "row": row,
            "colour": STATES.get(row.state, ""),
            "head": who == row.project.requested_by,
            "events": row.seen_by(who) if row.state != "review" else [e for e in row.events if e.kind not in REVIEWS],
            "names": await self._names(row),
            "conditions": CONDITIONS,
            "to_accept": row.state in ("approved", "active", "renewed") and not await self._has_accepted(row, who),
            "may_submit": row.state in MOVES["submit"],
            "may_renew": row.state in MOVES["renew"],
            "soon": row.state in ("active", "renewed") and row.project.expires - now < SOON,
        }
        return self.frame.page(visit, "extract_project.html", row.form.title, **shown)

    async def _has_accepted(self, row: ApplicationRow, who: int) -> bool:
        return await asyncio.to_thread(self.desk.store.applications.has_accepted, row.project.id, who)

    async def _names(self, row: ApplicationRow) -> dict[int, str]:
        people = self.desk.store.people

        def work() -> dict[int, str]:
            numbers = {row.project.requested_by, *(one.principal_id for one in row.events)}
            found = {number: people.find(number) for number in numbers}
            return {number: person.name if person else "somebody" for number, person in found.items()}

        return await asyncio.to_thread(work)

    async def submit(self, visit: Visit) -> Response:
        """Hand an application in, or answer."""
        row = await self._mine(visit)
        await self._log(visit, "application.submit", True, row.project.id, row)
        words = visit.form.get("words", "")
        done = await asyncio.to_thread(self.desk.store.applications.submit, row.project.id, _number(visit), words)
        if done.state == "refused":
            await self._log(visit, "application.submit", False, row.project.id, row, "by-rule")
        return see_other(f"/extracts/projects/{row.project.id}")

    async def renew(self, visit: Visit) -> Response:
        """Ask for another term."""
        row = await self._mine(visit)
        await self._log(visit, "application.renew", True, row.project.id, row)
        words = visit.form.get("words", "")
        applications = self.desk.store.applications
        await asyncio.to_thread(applications.act, row.project.id, _number(visit), "renew", words)
        return see_other(f"/extracts/projects/{row.project.id}")

    async def accept(self, visit: Visit) -> Response:
        """Accept the seven conditions."""
        row = await self._mine(visit)
        chosen, version = list(visit.many.get("condition", ())), visit.form.get("version", "")
        await self._log(visit, "licence.accept", set(chosen) >= set(CONDITIONS), row.project.id, row)
        await asyncio.to_thread(self.desk.store.applications.accept, row.project.id, _number(visit), chosen, version)
        return see_other(f"/extracts/projects/{row.project.id}")

    # ---- reviewing ------------------------------------------------------------------------------------------

    async def show_reviews(self, visit: Visit) -> Response:
        """The queue, what became of others, and why."""
        if not any(may_open(visit.who, action) for action in ("application.review", *ACTIONS.values())):
            raise Denied("role", "Your roles do not allow this.", hint="Ask the office if you should have this right.")
        rows = await asyncio.to_thread(self.desk.store.applications.listed)
        who = visit.who.principal_id
        shown = [
            {
                "row": row,
                "own": who in row.project.members,
                "colour": STATES.get(row.state, ""),
                "open": row.state in OPEN,
            }
            for row in rows
            if row.state != "draft"
        ]
        return self.frame.page(
            visit, "reviews.html", "Applications", rows=shown, statistics=application_statistics(rows)
        )

    async def show_review(self, visit: Visit) -> Response:
        """An application of somebody else: what they say, what was found, and what one may do."""
        row = await self._row(visit)
        if not any(may_open(visit.who, action) for action in ("application.review", *ACTIONS.values())):
            _may(visit, row, "application.review").required()
        who = _number(visit)
        review = _may(visit, row, "application.review")
        actions = [
            name
            for name, action in ACTIONS.items()
            if row.state in MOVES[name] and _may(visit, row, action) and row.state != "draft"
        ]
        others = await asyncio.to_thread(self.desk.store.applications.listed)
        person = await asyncio.to_thread(self.desk.store.people.find, row.project.requested_by)
        shown: dict[str, Any] = {
            "row": row,
            "colour": STATES.get(row.state, ""),
            "own": who in row.project.members,
            "events": row.seen_by(who),
            "names": await self._names(row),
            "warnings": warnings_of(row, "" if person is None else person.email, others),
            "may_decide": bool(review) and row.state == "review" and who not in row.decided(),
            "decided": len(row.decided()),
            "actions": actions,
        }
        return self.frame.page(visit, "review.html", row.form.title, **shown)

    async def decide(self, visit: Visit) -> Response:
        """Decide as one of two reviewers; who may not is in the log, too."""
        row = await self._row(visit)
        decision = visit.form.get("decision", "")
        found = _may(visit, row, "application.review")
        if not found:
            await self._log(visit, "application.review", False, row.project.id, row, found.reason)
        found.required()
        if decision not in REVIEWS:
            raise InputError("There is no such decision.", hint=f"Choose {', '.join(REVIEWS)}.")
        await self._log(visit, "application.review", decision == "approve", row.project.id, row, decision)
        await self._kept(visit, row, self.desk.store.applications.review, decision, visit.form.get("words", ""))
        return see_other(f"/reviews/{row.project.id}")

    async def act(self, visit: Visit) -> Response:
        """Check who somebody is; suspend, reinstate or revoke."""
        row, action = await self._row(visit), visit.form.get("action", "")
        if action not in ACTIONS:
            raise InputError("There is no such action.", hint=f"Choose {', '.join(ACTIONS)}.")
        found = _may(visit, row, ACTIONS[action])
        kind = "application." + action.replace(" ", "-")
        await self._log(visit, kind, bool(found), row.project.id, row, None if found else found.reason)
        found.required()
        await self._kept(visit, row, self.desk.store.applications.act, action, visit.form.get("words", ""))
        return see_other(f"/reviews/{row.project.id}")

    async def _kept(self, visit: Visit, row: ApplicationRow, work: Any, *given: str) -> None:
        """Keep a decision that stands in the log; that it was not kept stands there, too."""
        try:
            await asyncio.to_thread(work, row.project.id, _number(visit), *given)
        except DiscreetError:
            await self._log(visit, "application.review", False, row.project.id, row, "not-kept")
            raise

    async def _log(
        self,
        visit: Visit,
        action: str,
        granted: bool,
        number: int,
        row: ApplicationRow | None = None,
        rule: str | None = None,
    ) -> None:
        content = None if row is None else hashlib.sha256(msgspec.json.encode(row.form)).hexdigest()
        entry = DecisionTaken(
            **log_fields(visit.who, visit.number),
            action=action,
            decision="granted" if granted else "denied",
            about=f"project:{number}",
            content=content,
            rule=rule,
        )
        await self.desk.log.append(entry)


TEXTS = ("title", "institution", "domain", "signatory", "ethics", "abstract", "why", "funding")


def _number(visit: Visit) -> int:
    if visit.who.principal_id is None:
        raise Denied("nobody", "This needs somebody who is known.", hint="Sign in.")
    return visit.who.principal_id


def _may(visit: Visit, row: ApplicationRow, action: str) -> Decision:
    return allowed(visit.who, action, Subject(belongs_to=row.project.members, requested_by=row.project.requested_by))


def warnings_of(row: ApplicationRow, email: str, others: Sequence[ApplicationRow]) -> list[str]:
    """What reviewers should look at twice: addresses that do not fit, and applications that are alike."""
    found = []
    domain, said = email.rpartition("@")[2].lower(), row.form.domain.lower().strip().lstrip("@")
    if domain != said and not domain.endswith(f".{said}"):
        found.append("The e-mail address of the applicant is not of the institution's domain.")
    for other in others:
        if other.project.id == row.project.id or other.state == "draft":
            continue
        if other.project.requested_by == row.project.requested_by:
            found.append(f"The applicant has another application: number {other.project.id}, {other.state}.")
        elif other.form.abstract.casefold() == row.form.abstract.casefold():
            found.append(f"Another person handed in the same abstract: number {other.project.id}, {other.state}.")
    return found


def application_statistics(rows: Sequence[ApplicationRow]) -> dict[str, Any]:
    """Numbers of states, share of refusals, days until a decision, and reasons."""
    states = Counter(row.state for row in rows)
    refused = [row for row in rows if row.state == "refused"]
    over = [row for row in rows if row.state not in ("draft", *OPEN, "more information")]
    days = []
    for row in over:
        handed = [one.made for one in row.events if one.kind == "submit"]
        ended = [one.made for one in row.events if one.kind in ("approve", "refuse", "refused by rule")]
        if handed and ended:
            days.append((ended[-1] - handed[0]) / 86_400)
    reasons = [one.words for row in refused for one in row.events if one.kind in ("refuse", "refused by rule")]
    return {
        "states": sorted(states.items()),
        "refused": len(refused) / len(over) if over else 0.0,
        "decided": len(over),
        "days": median(days) if days else None,
        "reasons": Counter(reasons).most_common(10),
    }
