"""Applications for extracts: the states of card 003-31, two reviewers, and the licence of everybody who gets data."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, insert, select, update

from discreet.errors import InputError, listed
from discreet.server.denied import Denied
from discreet.server.store.database import insert_into, new_id, read, written
from discreet.server.store.editions import edition_in, refuse_closed
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.projects import ProjectRow, grant_in, project_in
from discreet.server.store.tables import (
    APPLICATION,
    APPLICATION_EVENT,
    DATASET_EDITION,
    LICENCE_ACCEPTANCE,
    PROJECT,
    PROJECT_MEMBER,
)

T, E, L, P = APPLICATION, APPLICATION_EVENT, LICENCE_ACCEPTANCE, PROJECT
REVIEWERS = 2
REVIEWS = ("approve", "more", "refuse")
"""What a reviewer may say."""
LONGEST = 4_000
LEAST_WHY = 40
"""Characters of a reason why microdata are needed: a shorter one shows no need."""

MOVES: Mapping[str, Mapping[str, str]] = {
    "submit": {"draft": "submitted", "more information": "review"},
    "take up": {"submitted": "identity check"},
    "identified": {"identity check": "review"},
    "not identified": {"identity check": "refused"},
    "renew": {"active": "review", "renewed": "review", "expired": "review"},
    "suspend": {"active": "suspended", "renewed": "suspended"},
    "reinstate": {"suspended": "active"},
    "revoke": {"active": "revoked", "renewed": "revoked", "suspended": "revoked", "expired": "revoked"},
}
"""What may be done in which state, and what follows; reviews, licences and time move an application on besides."""


class ApplicationForm(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What an applicant says."""

    title: str
    institution: str
    domain: str
    """Of the institution's e-mail addresses."""
    signatory: str
    """Who signs for the institution."""
    ethics: str
    """The ethics board."""
    abstract: str
    why: str
    """Why microdata are needed."""
    variables: list[str]
    finest_geography: int = 0
    funding: str = ""
    commercial: bool = False


class EventRow(NamedTuple):
    """What somebody did with an application."""

    turn: int
    principal_id: int
    kind: str
    words: str
    made: int


@dataclass(frozen=True)
class ApplicationRow:
    """An application with everything that was done with it."""

    project: ProjectRow
    dataset: str
    edition: str
    state: str
    turn: int
    renewing: bool
    form: ApplicationForm
    licence: str
    months: int
    changed: int
    events: tuple[EventRow, ...]

    def decided(self) -> dict[int, str]:
        """What reviewers decided on this turn."""
        return {one.principal_id: one.kind for one in self.events if one.turn == self.turn and one.kind in REVIEWS}

    def seen_by(self, principal_id: int) -> tuple[EventRow, ...]:
        """Events that somebody may see: a reviewer sees the other's decision after their own."""
        over = self.state != "review" or principal_id in self.decided()
        return tuple(one for one in self.events if over or one.turn < self.turn or one.kind not in REVIEWS)


class Applications(StorePart):
    """Applications for extracts."""

    def draft(
        self, form: ApplicationForm, requested_by: int, dataset: str, edition: str, *, licence: str, months: int
    ) -> int:
        """Begin an application; the number of its project.

        Raises
        ------
        Denied
            When the edition is unknown or answers no more.
        ParameterError
            When something in the form is missing or too long.
        """
        _check_form(form)
        values = {"name": form.title, "requested_by": requested_by, "state": "draft", "licence": licence, "expires": 0}

        def work(connection: Connection) -> int:
            row = edition_in(connection, dataset, edition)
            refuse_closed(row)
            number = new_id(connection, insert(P).values(values))
            connection.execute(insert(PROJECT_MEMBER).values(project_id=number, principal_id=requested_by))
            entry = {"project_id": number, "edition_id": row.id, "state": "draft", "turn": 1, "renewing": 0}
            more = {"form": msgspec.json.encode(form).decode(), "licence": licence, "months": months}
            connection.execute(insert(T).values(**entry, **more, changed=self.now()))
            return number

        return written(self.engine, work)

    def submit(self, number: int, principal_id: int, words: str = "") -> ApplicationRow:
        """Hand a draft in, or answer what reviewers asked. Commercial use, and no need of microdata, are refused.

        Raises
        ------
        Denied
            When it is not the applicant's, or not their turn.
        """

        def work(connection: Connection) -> ApplicationRow:
            row = _row(connection, number, lock=True)
            _require(row, principal_id == row.project.requested_by, "submit")
            turn = row.turn + (row.state == "more information")
            state = MOVES["submit"][row.state]
            reason = _refused_at_once(row.form)
            self._event(connection, number, turn, principal_id, "submit", words)
            if reason and state == "submitted":
                self._event(connection, number, turn, principal_id, "refused by rule", reason)
                return self._moved(connection, number, "refused", turn=turn, project="closed")
            return self._moved(connection, number, state, turn=turn)

        return written(self.engine, work)

    def act(self, number: int, principal_id: int, action: str, words: str = "") -> ApplicationRow:
        """Check identity, suspend, reinstate, revoke, or ask for renewal: see :data:`MOVES`.

        Raises
        ------
        Denied
            When it cannot be done in this state, or is one's own where it must not be.
        """
        projects = {"suspend": "suspended", "reinstate": "active", "revoke": "closed", "not identified": "closed"}

        def work(connection: Connection) -> ApplicationRow:
            row = self._timely(connection, number)
            own = principal_id in row.project.members
            _require(row, own if action == "renew" else not own, action)
            renewing = action == "renew"
            self._event(connection, number, row.turn + renewing, principal_id, action, words)
            state = MOVES[action][row.state]
            return self._moved(
                connection,
                number,
                state,
                turn=row.turn + renewing,
                renewing=renewing or None,
                project=projects.get(action),
            )

        return written(self.engine, work)

    def review(self, number: int, principal_id: int, decision: str, words: str) -> ApplicationRow:
        """Decide as one of two reviewers, once a turn, with a reason; the second decision moves it on.

        Raises
        ------
        Denied
            When it is not under review, one's own or one's project's, or was decided before.
        """
        plain_text(words.replace("\r", "").replace("\n", " ").strip(), "reason", LONGEST)
        if decision not in REVIEWS:
            raise InputError("There is no such decision.", hint=f"Choose {', '.join(REVIEWS)}.")

        def work(connection: Connection) -> ApplicationRow:
            row = _row(connection, number, lock=True)
            before = row.decided()
            if row.state != "review":
                raise Denied("not-open", "This application is not under review.", hint="See its state.")
            if principal_id in {*row.project.members, row.project.requested_by}:
                raise Denied("own", "Nobody decides on what is their own.", hint="Two others decide.")
            if principal_id in before or len(before) >= REVIEWERS:
                raise Denied("decided", "You, or two others, have decided on this turn.", hint="See its state.")
            self._event(connection, number, row.turn, principal_id, decision, words)
            if len(before) + 1 < REVIEWERS:
                return _row(connection, number)
            return self._after_reviews(connection, row, {*before.values(), decision})

        return written(self.engine, work)

    def _after_reviews(self, connection: Connection, row: ApplicationRow, said: set[str]) -> ApplicationRow:
        number = row.project.id
        if said == {"refuse"}:
            live = row.renewing and row.project.state == "active"
            return self._moved(connection, number, "refused", renewing=False, project=None if live else "closed")
        if said != {"approve"}:
            return self._moved(connection, number, "more information")
        if row.renewing and self._accepted(connection, row, row.project.requested_by):
            return self._begin(connection, row, "renewed")
        return self._moved(connection, number, "approved")

    def accept(self, number: int, principal_id: int, conditions: Collection[str], version: str) -> ApplicationRow:
        """Accept the conditions in a version, all of them; the applicant's acceptance begins the project.

        Raises
        ------
        Denied
            When one is missing, the version is not the current one, or there is nothing to accept.
        """
        from discreet.server.extracts.conditions import CONDITIONS

        def work(connection: Connection) -> ApplicationRow:
            row = self._timely(connection, number)
            if principal_id not in row.project.members:
                raise Denied("not-yours", "This is not yours.", hint="Ask the head of the project to add you.")
            if row.state not in ("approved", "active", "renewed"):
                raise Denied("not-approved", "There is nothing to accept yet.", hint="Wait for the reviewers.")
            if version != row.licence:
                raise Denied("licence", "These are not the current conditions.", hint="Load the page again.")
            missing = sorted(set(CONDITIONS) - set(conditions))
            if missing or set(conditions) - set(CONDITIONS):
                raise Denied(
                    "licence", f"All conditions must be accepted; missing: {listed(missing)}.", hint="Read them."
                )
            for name in CONDITIONS:
                values = {"project_id": number, "principal_id": principal_id, "condition": name, "version": version}
                entry = insert_into(connection, L).values(**values, accepted=self.now()).on_conflict_do_nothing()
                connection.execute(entry)
            self._event(connection, number, row.turn, principal_id, "accept", f"version {version}")
            if row.state == "approved" and principal_id == row.project.requested_by:
                return self._begin(connection, row, "renewed" if row.renewing else "active")
            return _row(connection, number)

        return written(self.engine, work)

    def new_licence(self, dataset: str, edition: str, version: str) -> None:
        """Let another version of the conditions be the current one: all users must accept it before they get more."""
        plain_text(version, "version of the licence", 64)

        def work(connection: Connection) -> None:
            row = edition_in(connection, dataset, edition)
            connection.execute(update(T).where(T.c.edition_id == row.id).values(licence=version))

        written(self.engine, work)

    def require_licence(self, number: int, principal_id: int) -> ApplicationRow:
        """The application of a project whose current conditions somebody accepted.

        Raises
        ------
        Denied
            When there is none, it is not in force, or they did not.
        """

        def work(connection: Connection) -> ApplicationRow:
            row = self._timely(connection, number)
            if row.state not in ("active", "renewed") and not (row.renewing and row.project.expires > self.now()):
                raise Denied("project-over", "The project is not active.", hint="Have it approved or renewed.")
            if not self._accepted(connection, row, principal_id):
                raise Denied("licence", "The current conditions were not accepted by you.", hint="Accept them first.")
            return row

        return written(self.engine, work)

    def has_accepted(self, number: int, principal_id: int) -> bool:
        """Whether somebody accepted the current conditions of a project."""

        def work(connection: Connection) -> bool:
            return self._accepted(connection, _row(connection, number), principal_id)

        return read(self.engine, work)

    def find(self, number: int) -> ApplicationRow:
        """An application as it is now.

        Raises
        ------
        InputError
            When there is none of this number.
        """
        return written(self.engine, lambda connection: self._timely(connection, number))

    def listed(self) -> list[ApplicationRow]:
        """All applications, the last first."""

        def work(connection: Connection) -> list[ApplicationRow]:
            numbers = connection.execute(select(T.c.project_id).order_by(T.c.project_id.desc())).scalars().all()
            return [_row(connection, number) for number in numbers]

        return read(self.engine, work)

    def settle(self) -> int:
        """Let projects expire whose time is over; how many did."""

        def work(connection: Connection) -> int:
            asked = select(T.c.project_id).where(T.c.state.in_(("active", "renewed")))
            numbers = connection.execute(asked).scalars().all()
            return sum(self._timely(connection, number).state == "expired" for number in numbers)

        return written(self.engine, work)

    # ---- within transactions --------------------------------------------------------------------------------

    def _timely(self, connection: Connection, number: int) -> ApplicationRow:
        """An application, locked, as it is by the clock."""
        row = _row(connection, number, lock=True)
        if row.state in ("active", "renewed") and row.project.expires <= self.now():
            return self._moved(connection, number, "expired")
        return row

    def _begin(self, connection: Connection, row: ApplicationRow, state: str) -> ApplicationRow:
        """Let a project begin, or go on: until when, and with which grant."""
        number, form = row.project.id, row.form
        until = months_later(self.now(), row.months)
        connection.execute(update(P).where(P.c.id == number).values(state="active", expires=until, licence=row.licence))
        edition = edition_in(connection, row.dataset, row.edition)
        grant_in(connection, number, edition.id, form.variables, form.finest_geography or None)
        return self._moved(connection, number, state, renewing=False)

    def _accepted(self, connection: Connection, row: ApplicationRow, principal_id: int) -> bool:
        from discreet.server.extracts.conditions import CONDITIONS

        mine = (L.c.project_id == row.project.id) & (L.c.principal_id == principal_id) & (L.c.version == row.licence)
        return set(connection.execute(select(L.c.condition).where(mine)).scalars()) >= set(CONDITIONS)

    def _event(self, connection: Connection, number: int, turn: int, who: int, kind: str, words: str) -> None:
        words = words.replace("\r", "").replace("\n", " ").strip()
        if words:
            plain_text(words, "text", LONGEST)
        values = {"project_id": number, "turn": turn, "principal_id": who, "kind": kind, "words": words}
        connection.execute(insert(E).values(**values, made=self.now()))

    def _moved(
        self,
        connection: Connection,
        number: int,
        state: str,
        *,
        turn: int | None = None,
        renewing: bool | None = None,
        project: str | None = None,
    ) -> ApplicationRow:
        change: dict[str, object] = {"state": state, "changed": self.now()}
        change |= {} if turn is None else {"turn": turn}
        change |= {} if renewing is None else {"renewing": int(renewing)}
        connection.execute(update(T).where(T.c.project_id == number).values(change))
        if project is not None:
            connection.execute(update(P).where(P.c.id == number).values(state=project))
        return _row(connection, number)


def months_later(now: int, months: int) -> int:
    """The same day some months later, at the same time."""
    day = datetime.fromtimestamp(now, UTC)
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return int(day.replace(year=year, month=month + 1, day=min(day.day, last)).timestamp())


def _check_form(form: ApplicationForm) -> None:
    plain_text(form.title, "title", 200)
    for name in ("institution", "domain", "signatory", "ethics", "abstract", "why"):
        plain_text(getattr(form, name).replace("\r", "").replace("\n", " ").strip(), name, LONGEST)
    if not form.variables:
        raise InputError("No variable was asked for.", hint="Choose those that the project needs.")
    for name in form.variables:
        plain_text(name, "variable", 64)


def _refused_at_once(form: ApplicationForm) -> str:
    if form.commercial:
        return "Commercial use."
    return "No need of microdata is shown." if len(form.why.strip()) < LEAST_WHY else ""


def _require(row: ApplicationRow, mine: bool, action: str) -> None:
    if not mine:
        raise Denied("own", "This is for others to do.", hint="Nobody decides on what is their own.")
    if row.state not in MOVES[action]:
        raise Denied("state", f"An application that is {row.state!r} is not for this.", hint="See its state.")


def _row(connection: Connection, number: int, *, lock: bool = False) -> ApplicationRow:
    names = (T.c.project_id, DATASET_EDITION.c.dataset, DATASET_EDITION.c.edition, T.c.state, T.c.turn, T.c.renewing)
    more = (T.c.form, T.c.licence, T.c.months, T.c.changed)
    if lock:
        connection.execute(select(T.c.project_id).where(T.c.project_id == number).with_for_update())
    asked = select(*names, *more).join(DATASET_EDITION).where(T.c.project_id == number)
    found = connection.execute(asked).first()
    if found is None:
        raise InputError(f"There is no application number {number}.", hint="See the list of applications.")
    columns = (E.c.turn, E.c.principal_id, E.c.kind, E.c.words, E.c.made)
    events = connection.execute(select(*columns).where(E.c.project_id == number).order_by(E.c.id)).all()
    _, dataset, edition, state, turn, renewing, form, licence, months, changed = tuple(found)
    return ApplicationRow(
        project_in(connection, number),
        dataset,
        edition,
        state,
        turn,
        bool(renewing),
        msgspec.json.decode(form, type=ApplicationForm),
        licence,
        months,
        changed,
        tuple(EventRow(*tuple(one)) for one in events),
    )
