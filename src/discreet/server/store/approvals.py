"""Four eyes: what one person asks for and two others agree to, once.

The requester has no vote. One who disagrees stops it. What was agreed to holds for a week, and for one use.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from discreet.errors import InputError
from discreet.server.denied import Denied
from discreet.server.store.database import new_id, read, written
from discreet.server.store.part import StorePart, plain_text
from discreet.server.store.tables import APPROVAL, APPROVAL_VOTE

T, V = APPROVAL, APPROVAL_VOTE
LASTS = 7 * 86_400
"""Seconds that a request may be voted on and used."""
NEEDED = 2
"""People who must agree besides the requester."""


@dataclass(frozen=True)
class ApprovalRow:
    """A request with its votes."""

    id: int
    action: str
    subject: str
    requested_by: int
    requested: int
    used: bool
    agreed: frozenset[int]
    disagreed: frozenset[int]

    def holds(self, now: int) -> bool:
        """Whether enough others agreed, nobody disagreed, and it is neither used nor too old."""
        others = self.agreed - {self.requested_by}
        return len(others) >= NEEDED and not self.disagreed and not self.used and now - self.requested <= LASTS


class Approvals(StorePart):
    """Requests that need four eyes, and votes on them."""

    def request(self, action: str, subject: str, requested_by: int) -> int:
        """Ask for something; the number of the request."""
        plain_text(action, "action", 64)
        plain_text(subject, "subject", 512)
        values = {"action": action, "subject": subject, "requested_by": requested_by, "requested": self.now()}
        return written(self.engine, lambda connection: new_id(connection, insert(T).values(values)))

    def vote(self, number: int, principal_id: int, *, agrees: bool, reason: str) -> ApprovalRow:
        """Agree or disagree, once, with a reason.

        Raises
        ------
        Denied
            When it is one's own request, was voted on before by the same person, is used or too old.
        """
        plain_text(reason, "reason")

        def work(connection: Connection) -> ApprovalRow:
            row = _row(connection, number, lock=True)
            if row.requested_by == principal_id:
                raise Denied("own-request", "Nobody approves what they asked for.", hint="Ask two others.")
            if principal_id in row.agreed | row.disagreed:
                raise Denied("voted", "You have voted on this request.", hint="Another person must.")
            if row.used or self.now() - row.requested > LASTS:
                raise Denied("over", "The request is used or too old.", hint="Make a new one.")
            vote = {"approval_id": number, "principal_id": principal_id, "agrees": int(agrees)}
            connection.execute(insert(V).values(**vote, reason=reason, voted=self.now()))
            return _row(connection, number)

        return written(self.engine, work)

    def find(self, number: int) -> ApprovalRow:
        """A request with its votes.

        Raises
        ------
        InputError
            When there is none of this number.
        """
        return read(self.engine, lambda connection: _row(connection, number))

    def listed(self, most: int = 100) -> list[ApprovalRow]:
        """Requests with their votes, the last first."""

        def work(connection: Connection) -> list[ApprovalRow]:
            numbers = connection.execute(select(T.c.id).order_by(T.c.id.desc()).limit(most)).scalars().all()
            return [_row(connection, number) for number in numbers]

        return read(self.engine, work)

    def use(self, number: int, action: str, subject: str) -> ApprovalRow:
        """Use what was agreed to; a second time is refused.

        Raises
        ------
        Denied
            When not enough people agreed, or to something else.
        """
        return written(self.engine, lambda connection: used_in(connection, number, action, subject, self.now()))


def used_in(connection: Connection, number: int, action: str, subject: str, now: int) -> ApprovalRow:
    """Use what was agreed to, within the transaction that does it."""
    row = _row(connection, number, lock=True)
    if (row.action, row.subject) != (action, subject):
        raise Denied("other-request", "The approval is for something else.", hint="Ask for approval of this.")
    if not row.holds(now):
        raise Denied(
            "four-eyes",
            f"This needs {NEEDED} people who agree, neither of them the requester, within a week, and once.",
            hint="Ask for approval, and let two others vote.",
        )
    connection.execute(update(T).where(T.c.id == number).values(used=now))
    return row


def _row(connection: Connection, number: int, *, lock: bool = False) -> ApprovalRow:
    asked = select(T).where(T.c.id == number)
    found = connection.execute(asked.with_for_update() if lock else asked).first()
    if found is None:
        raise InputError(f"There is no request for approval number {number}.", hint="See the list of requests.")
    votes = connection.execute(select(V.c.principal_id, V.c.agrees).where(V.c.approval_id == number)).all()
    return ApprovalRow(
        found.id,
        found.action,
        found.subject,
        found.requested_by,
        found.requested,
        found.used is not None,
        frozenset(principal for principal, agrees in votes if agrees),
        frozenset(principal for principal, agrees in votes if not agrees),
    )
