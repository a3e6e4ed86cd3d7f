"""People, their certificates and roles. Who is not here has no rights; nothing is ever removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update

from discreet.errors import InputError, ParameterError
from discreet.server.denied import Denied
from discreet.server.roles import Role, refuse_incompatible, role_named
from discreet.server.store.approvals import used_in
from discreet.server.store.database import KeptRows, new_id, read, written
from discreet.server.store.failures import StoreConflict
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import CERTIFICATE, OUTSIDE_IDENTITY, PRINCIPAL, ROLE_OF, SESSION

FOUNDERS = 3
"""People who are needed at first: each has their role by the other two."""
ROLE_GRANT, REVOCATION_OVERRIDE = "role.grant", "revocation.override"


@dataclass(frozen=True)
class Person:
    """Somebody, with the roles that they have."""

    id: int
    name: str
    email: str
    state: str
    roles: frozenset[Role]


@dataclass(frozen=True)
class CertificateRow:
    """A certificate as it is kept."""

    serial: str
    fingerprint: str
    principal_id: int
    purpose: str
    not_before: int
    not_after: int
    state: str


NAMES = ("serial", "fingerprint", "principal_id", "purpose", "not_before", "not_after", "state")
HOLDER = (
    select(*CERTIFICATE.c[NAMES], *PRINCIPAL.c["id", "name", "email", "state"], ROLE_OF.c.role)
    .select_from(CERTIFICATE.join(PRINCIPAL).outerjoin(ROLE_OF, ROLE_OF.c.principal_id == PRINCIPAL.c.id))
    .where(CERTIFICATE.c.serial == bindparam("wanted"))
)
"""A certificate with its holder, a row for each role."""


@dataclass(frozen=True)
class Founder:
    """Somebody who is there from the beginning."""

    name: str
    email: str
    role: Role


class People(StorePart):
    """People, certificates and roles."""

    def add(self, name: str, email: str) -> int:
        """Enter a person, who has no role yet; their number."""
        return written(self.engine, lambda connection: self._added(connection, name, email))

    def _added(self, connection: Connection, name: str, email: str) -> int:
        plain_text(name, "name", 200)
        plain_text(email, "e-mail address", 254)
        values = {"name": name, "email": email.lower(), "state": "active", "made": self.now()}
        return new_id(connection, insert(PRINCIPAL).values(values))

    def found(self, founders: Sequence[Founder]) -> list[int]:
        """Enter the first people with their roles, once, while nobody has any.

        Raises
        ------
        StoreConflict
            When somebody has a role already.
        """
        if len(founders) < FOUNDERS:
            raise ParameterError(
                f"{len(founders)} people cannot begin with four eyes.", hint=f"Name at least {FOUNDERS}."
            )

        def work(connection: Connection) -> list[int]:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("LOCK TABLE role_of IN EXCLUSIVE MODE")
            if connection.execute(select(func.count()).select_from(ROLE_OF)).scalar():
                raise StoreConflict("Roles have been given already.", hint="Ask for further ones by four eyes.")
            ids = [self._added(connection, one.name, one.email) for one in founders]
            for at, one in enumerate(founders):
                first, second = [number for number in ids if number != ids[at]][:2]
                self._give(connection, ids[at], one.role, first, second)
            return ids

        return written(self.engine, work)

    def grant_role(self, principal_id: int, role: str, approval: int) -> None:
        """Give a role that two others agreed to: an approval of ``role.grant`` for ``"NUMBER role"``.

        Raises
        ------
        Denied
            When they did not agree, or the person has a role that this one does not go with.
        """
        wanted = role_named(role)

        def work(connection: Connection) -> None:
            row = used_in(connection, approval, ROLE_GRANT, f"{principal_id} {wanted}", self.now())
            if principal_id in row.agreed:
                raise Denied("own-role", "Nobody approves a role of their own.", hint="Let others agree.")
            connection.execute(select(PRINCIPAL.c.id).where(PRINCIPAL.c.id == principal_id).with_for_update())
            first, second = sorted(row.agreed - {row.requested_by})[:2]
            self._give(connection, principal_id, wanted, first, second)

        written(self.engine, work)

    def _give(self, connection: Connection, principal_id: int, role: Role, first: int, second: int) -> None:
        refuse_incompatible(roles_in(connection, principal_id) | {role})
        values = {"principal_id": principal_id, "role": role, "granted_by": first, "second_by": second}
        connection.execute(insert(ROLE_OF).values(**values, granted=self.now()))

    def take_role(self, principal_id: int, role: str) -> None:
        """Take a role away, and end the person's sessions."""

        def work(connection: Connection) -> None:
            gone = delete(ROLE_OF).where(ROLE_OF.c.principal_id == principal_id, ROLE_OF.c.role == role_named(role))
            connection.execute(gone)
            connection.execute(delete(SESSION).where(SESSION.c.principal_id == principal_id))

        written(self.engine, work)

    def set_state(self, principal_id: int, state: str) -> None:
        """Suspend, close or reactivate a person; sessions end where they are not active."""

        def work(connection: Connection) -> None:
            changed = update(PRINCIPAL).where(PRINCIPAL.c.id == principal_id, PRINCIPAL.c.state != "closed")
            if not connection.execute(changed.values(state=state)).rowcount:
                raise InputError("There is nobody of this number whose state may change.", hint="Closed is for good.")
            if state != "active":
                connection.execute(delete(SESSION).where(SESSION.c.principal_id == principal_id))

        written(self.engine, work)

    def find(self, principal_id: int) -> Person | None:
        """Somebody by their number."""
        return self._one(select(PRINCIPAL).where(PRINCIPAL.c.id == principal_id))

    def named(self, name: str) -> Person | None:
        """Somebody by their name."""
        return self._one(select(PRINCIPAL).where(PRINCIPAL.c.name == name))

    def with_email(self, email: str) -> Person:
        """Somebody by their e-mail address.

        Raises
        ------
        InputError
            When nobody has it, or several have.
        """

        def work(connection: Connection) -> list[Person]:
            rows = connection.execute(select(PRINCIPAL).where(PRINCIPAL.c.email == email.lower())).all()
            return [_person(connection, row) for row in rows]

        found = read(self.engine, work)
        if not email or len(found) != 1:
            raise InputError(
                "Nobody has the e-mail address of the certificate, or several have.",
                hint="Enter the person: discreet server person NAME EMAIL",
            )
        return found[0]

    def listed(self) -> list[tuple[Person, list[CertificateRow]]]:
        """Everybody with their certificates."""

        def work(connection: Connection) -> list[tuple[Person, list[CertificateRow]]]:
            mine: dict[int, list[CertificateRow]] = {}
            for row in connection.execute(select(*CERTIFICATE.c[NAMES]).order_by(CERTIFICATE.c.not_before)):
                mine.setdefault(row.principal_id, []).append(CertificateRow(*tuple(row)))
            everybody = connection.execute(select(PRINCIPAL).order_by(PRINCIPAL.c.name)).all()
            return [(_person(connection, row), mine.get(row.id, [])) for row in everybody]

        return read(self.engine, work)

    def known_outside(self, issuer: str, subject: str) -> Person | None:
        """Somebody by what an identity provider calls them."""
        chosen = (OUTSIDE_IDENTITY.c.issuer == issuer) & (OUTSIDE_IDENTITY.c.subject == subject)
        return self._one(select(PRINCIPAL).join(OUTSIDE_IDENTITY).where(chosen))

    def link_outside(self, principal_id: int, issuer: str, subject: str) -> None:
        """Note what an identity provider calls somebody."""
        plain_text(issuer, "issuer", 1024)
        plain_text(subject, "subject", 1024)
        values = {"issuer": issuer, "subject": subject, "principal_id": principal_id}
        written(self.engine, lambda connection: connection.execute(insert(OUTSIDE_IDENTITY).values(values)))

    def _one(self, asked: Select[Any]) -> Person | None:
        def work(connection: Connection) -> Person | None:
            found = connection.execute(asked).first()
            return None if found is None else _person(connection, found)

        return read(self.engine, work)

    def add_certificate(
        self,
        serial: str,
        fingerprint: str,
        principal_id: int,
        *,
        not_before: int,
        not_after: int,
        purpose: str = "client",
    ) -> None:
        """Enter a certificate that was issued to somebody."""
        values = {
            "serial": plain_text(serial, "serial number", 64),
            "fingerprint": plain_text(fingerprint, "fingerprint", 128),
            "principal_id": principal_id,
            "purpose": purpose,
            "not_before": not_before,
            "not_after": not_after,
            "state": "valid",
            "changed": self.now(),
        }
        written(self.engine, lambda connection: connection.execute(insert(CERTIFICATE).values(values)))

    def certificate(self, serial: str) -> tuple[CertificateRow, Person] | None:
        """A certificate and whose it is, by its serial number; ``None`` where nobody entered it."""
        return self._holders.find({"wanted": serial})

    @cached_property
    def _holders(self) -> KeptRows[tuple[CertificateRow, Person] | None]:
        return KeptRows(self.engine, HOLDER, _holder)

    def close(self) -> None:
        """Let go of what looks certificates up."""
        self._holders.close()

    def suspend_certificate(self, serial: str) -> None:
        """Suspend a certificate at once, on open connections too; its sessions end."""
        self._set_certificate(serial, "suspended", ("valid", "suspended"))

    def reactivate_certificate(self, serial: str) -> None:
        """Let a suspended certificate be used again."""
        self._set_certificate(serial, "valid", ("suspended", "valid"))

    def revoke_certificate(self, serial: str) -> None:
        """Revoke a certificate at once, on open connections too; its sessions end."""
        self._set_certificate(serial, "revoked", ("valid", "suspended", "revoked"))

    def override_revocation(self, serial: str, approval: int) -> None:
        """Take a revocation back that was a mistake, where two others agreed to it.

        Raises
        ------
        Denied
            When they did not: an approval of ``revocation.override`` for the serial number.
        """
        self._set_certificate(serial, "valid", ("revoked",), approval)

    def _set_certificate(self, serial: str, state: str, before: tuple[str, ...], approval: int | None = None) -> None:
        def work(connection: Connection) -> None:
            if approval is not None:
                used_in(connection, approval, REVOCATION_OVERRIDE, serial, self.now())
            chosen = (CERTIFICATE.c.serial == serial) & CERTIFICATE.c.state.in_(before)
            changed = update(CERTIFICATE).where(chosen).values(state=state, changed=self.now())
            if not connection.execute(changed).rowcount:
                raise InputError(
                    f"There is no certificate of this serial number that could become {state}.",
                    hint="What was revoked stays so, unless two people override it.",
                )
            if state != "valid":
                prints = select(CERTIFICATE.c.fingerprint).where(CERTIFICATE.c.serial == serial)
                connection.execute(delete(SESSION).where(SESSION.c.fingerprint.in_(prints)))

        written(self.engine, work)


def _holder(rows: Sequence[Sequence[Any]]) -> tuple[CertificateRow, Person] | None:
    """A certificate and whose it is, of the rows of :data:`HOLDER`."""
    if not rows:
        return None
    roles = frozenset(role_named(row[-1]) for row in rows if row[-1] is not None)
    return CertificateRow(*rows[0][:7]), Person(*(*rows[0][7:11], roles))


def roles_in(connection: Connection, principal_id: int) -> frozenset[Role]:
    """The roles of somebody, within a transaction."""
    asked = select(ROLE_OF.c.role).where(ROLE_OF.c.principal_id == principal_id)
    return frozenset(role_named(role) for role in connection.execute(asked).scalars())


def person_in(connection: Connection, principal_id: int) -> Person | None:
    """Somebody by their number, within a transaction."""
    found = connection.execute(select(PRINCIPAL).where(PRINCIPAL.c.id == principal_id)).first()
    return None if found is None else _person(connection, found)


def _person(connection: Connection, found: Any) -> Person:
    return Person(found.id, found.name, found.email, found.state, roles_in(connection, found.id))
