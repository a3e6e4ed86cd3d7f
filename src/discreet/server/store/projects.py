"""Projects: who works on what, with which variables of which editions, down to which areas, until when."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.store.database import insert_into, new_id, read, written
from discreet.server.store.editions import edition_in
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import PROJECT, PROJECT_GRANT, PROJECT_MEMBER

T, G, M = PROJECT, PROJECT_GRANT, PROJECT_MEMBER
STATES = {"draft": ("active", "closed"), "active": ("suspended", "closed"), "suspended": ("active", "closed")}
"""What a project may become."""


@dataclass(frozen=True)
class ProjectRow:
    """A project with its members."""

    id: int
    name: str
    requested_by: int
    state: str
    licence: str
    expires: int
    members: frozenset[int]


@dataclass(frozen=True)
class GrantRow:
    """What a project may ask of an edition."""

    variables: frozenset[str]
    finest_geography: int | None
    """The finest level of areas; ``None`` where areas may not be asked for."""


class Projects(StorePart):
    """Projects and what they were granted."""

    def request(self, name: str, requested_by: int, *, licence: str, expires: int) -> int:
        """Ask for a project; its number. It is a draft, and grants nothing."""
        values = {
            "name": plain_text(name, "name", 200),
            "requested_by": requested_by,
            "state": "draft",
            "licence": plain_text(licence, "version of the licence", 64),
            "expires": expires,
        }

        def work(connection: Connection) -> int:
            number = new_id(connection, insert(T).values(values))
            connection.execute(insert(M).values(project_id=number, principal_id=requested_by))
            return number

        return written(self.engine, work)

    def add_member(self, number: int, principal_id: int) -> None:
        """Let somebody work on a project."""
        values = {"project_id": number, "principal_id": principal_id}
        written(
            self.engine,
            lambda connection: connection.execute(insert_into(connection, M).values(values).on_conflict_do_nothing()),
        )

    def set_state(self, number: int, state: str) -> None:
        """Approve (``active``), suspend or close a project; closed is for good."""
        before = [one for one, later in STATES.items() if state in later]
        changed = update(T).where(T.c.id == number, T.c.state.in_(before)).values(state=state)
        if not written(self.engine, lambda connection: connection.execute(changed).rowcount):
            raise InputError(f"There is no project of this number that could become {state}.", hint="See its state.")

    def grant(
        self, number: int, dataset: str, edition: str, variables: Iterable[str], finest_geography: int | None
    ) -> None:
        """Let a project ask for variables of an edition, instead of what it could ask before."""

        def work(connection: Connection) -> None:
            row = edition_in(connection, dataset, edition)
            grant_in(connection, number, row.id, variables, finest_geography)

        written(self.engine, work)

    def find(self, number: int) -> ProjectRow:
        """A project with its members.

        Raises
        ------
        InputError
            When there is none of this number.
        """
        return read(self.engine, lambda connection: project_in(connection, number))

    def of(self, principal_id: int) -> list[ProjectRow]:
        """Projects that somebody works on."""

        def work(connection: Connection) -> list[ProjectRow]:
            asked = select(M.c.project_id).where(M.c.principal_id == principal_id).order_by(M.c.project_id)
            return [project_in(connection, number) for number in connection.execute(asked).scalars().all()]

        return read(self.engine, work)

    def granted(self, number: int, principal_id: int, dataset: str, edition: str) -> GrantRow:
        """What somebody may ask of an edition within a project.

        Raises
        ------
        Denied
            When they are no member, the project is not active or has expired, or has no grant for the edition.
        """

        def work(connection: Connection) -> GrantRow:
            project = project_in(connection, number)
            if principal_id not in project.members:
                raise Denied("other-project", "You do not work on this project.", hint="Ask its head to add you.")
            if project.state != "active" or project.expires <= self.now():
                raise Denied("project-over", "The project is not active.", hint="Have it approved or renewed.")
            row = edition_in(connection, dataset, edition)
            mine = (G.c.project_id == number) & (G.c.edition_id == row.id)
            asked = select(G.c.variables, G.c.finest_geography).where(mine)
            found = connection.execute(asked).first()
            if found is None:
                raise Denied("no-grant", "The project has no grant for this edition.", hint="Ask its owner for one.")
            return GrantRow(frozenset(json.loads(found[0])), found[1])

        return read(self.engine, work)


def grant_in(
    connection: Connection, number: int, edition_id: int, variables: Iterable[str], finest_geography: int | None
) -> None:
    """Let a project ask for variables of an edition, within a transaction."""
    names = json.dumps(sorted({plain_text(name, "variable", 64) for name in variables}))
    change = {"variables": names, "finest_geography": finest_geography}
    entry = insert_into(connection, G).values(project_id=number, edition_id=edition_id, **change)
    connection.execute(entry.on_conflict_do_update(index_elements=[G.c.project_id, G.c.edition_id], set_=change))


def project_in(connection: Connection, number: int) -> ProjectRow:
    """A project within a transaction."""
    found = connection.execute(select(T).where(T.c.id == number)).first()
    if found is None:
        raise InputError(f"There is no project number {number}.", hint="See your list of projects.")
    members = connection.execute(select(M.c.principal_id).where(M.c.project_id == number)).scalars()
    return ProjectRow(*(*found, frozenset(members)))
