"""Who may do what: one table of roles and actions. What is not in it is denied.

The card on layered security gives the roles their limits: the auditor reads the log and nothing else, the administrator
has no data, nobody reviews or approves what they asked for, and confidential functions need a client's certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from discreet.errors import ParameterError, unknown_name
from discreet.server.denied import Denied


class Role(StrEnum):
    """What somebody is to the server."""

    PUBLIC = "public"
    REGISTERED = "registered"
    RESEARCHER = "researcher"
    REVIEWER = "reviewer"
    OFFICER = "officer"
    DATA_OWNER = "data owner"
    REGISTRATION_OFFICER = "registration officer"
    CA_OPERATOR = "CA operator"
    ADMINISTRATOR = "administrator"
    AUDITOR = "auditor"


STRONG = 3
"""The level of sign-in that a client's certificate gives: 0 name and password, 1 one-time code, 2 one-time code with
challenge (passkeys), 3 key and two-way challenge by certificates, 4 the same with biometrics."""


@dataclass(frozen=True)
class RoleRule:
    """Who may do something, and what else it needs."""

    roles: frozenset[Role]
    level: int = STRONG
    own: bool = False
    """Only what is one's own, or one's project's."""
    not_own: bool = False
    """Never what one asked for oneself."""
    approvers: frozenset[Role] = frozenset()
    """Whose roles may agree to it, where it needs four eyes."""


P, G, R, V, O = Role.PUBLIC, Role.REGISTERED, Role.RESEARCHER, Role.REVIEWER, Role.OFFICER  # noqa: E741
D, N, C, A, L = (
    Role.DATA_OWNER,
    Role.REGISTRATION_OFFICER,
    Role.CA_OPERATOR,
    Role.ADMINISTRATOR,
    Role.AUDITOR,
)


def _of(*roles: Role) -> frozenset[Role]:
    return frozenset(roles)


RULES: Mapping[str, RoleRule] = {
    "catalogue.read": RoleRule(_of(P, G, R, V, O, D), level=0),
    "table.ask": RoleRule(_of(P, G, R, V, O, D), level=0),
    "history.read": RoleRule(_of(G, R, V, O, D), level=0, own=True),
    "project.request": RoleRule(_of(G, R), level=0),
    "project.read": RoleRule(_of(R), own=True),
    "table.ask_confidential": RoleRule(_of(R), own=True),
    "extract.request": RoleRule(_of(R), own=True),
    "extract.fetch": RoleRule(_of(R), own=True),
    "application.review": RoleRule(_of(V), not_own=True),
    "application.suspend": RoleRule(_of(D), not_own=True),
    "plot.ask": RoleRule(_of(R), own=True),
    "project.approve": RoleRule(_of(D), not_own=True),
    "dataset.register": RoleRule(_of(D)),
    "dataset.withdraw": RoleRule(_of(D)),
    "office.read": RoleRule(_of(O, D)),
    "rules.change": RoleRule(_of(D), approvers=_of(D, O)),
    "key.change": RoleRule(_of(D), approvers=_of(D, O)),
    "output.hand_in": RoleRule(_of(R), own=True),
    "output.review": RoleRule(_of(V), not_own=True),
    "output.release": RoleRule(_of(V, O), not_own=True, approvers=_of(V, O)),
    "registration.check": RoleRule(_of(N), not_own=True),
    "certificate.issue": RoleRule(_of(C), not_own=True),
    "certificate.renew": RoleRule(_of(G, R, V, O, D, N, C, A), own=True),
    "certificate.suspend": RoleRule(_of(N, C)),
    "certificate.revoke": RoleRule(_of(N, C)),
    "revocation.override": RoleRule(_of(C), approvers=_of(N, C)),
    "role.grant": RoleRule(_of(N, A), not_own=True, approvers=_of(N, A, D)),
    "server.operate": RoleRule(_of(A)),
    "log.read": RoleRule(_of(L)),
}
"""The table: action, and who may."""

ALONE = (Role.AUDITOR, Role.ADMINISTRATOR)
"""Roles that go with no other."""
APART = ((Role.REGISTRATION_OFFICER, Role.CA_OPERATOR),)
"""Two persons issue a certificate."""
APPROVALS = 2
"""Others who must agree where four eyes are needed."""


class Someone(Protocol):
    """As much of an identity as decisions need."""

    @property
    def principal_id(self) -> int | None:
        """Their number; ``None`` for the public."""

    @property
    def roles(self) -> frozenset[Role]:
        """Their roles."""

    @property
    def auth_level(self) -> int:
        """How well they proved who they are, 0 to 4."""


@dataclass(frozen=True)
class Subject:
    """What an action is about."""

    belongs_to: frozenset[int] = frozenset()
    """Whose it is: the members of a project, the holder of a certificate, whoever asked a question."""
    requested_by: int | None = None
    """Who asked for it."""
    approved_by: frozenset[int] = frozenset()
    """Who agreed to it: those of a row of ``store.approvals`` that holds."""


NOTHING = Subject()


@dataclass(frozen=True)
class Decision:
    """Whether something may be done, and why not; true or false as it is allowed."""

    allowed: bool
    reason: str
    """One word, for the log."""
    message: str = ""

    def __bool__(self) -> bool:
        return self.allowed

    def required(self) -> None:
        """Refuse what is not allowed.

        Raises
        ------
        Denied
            When it is not; the text does not say what is there.
        """
        if not self.allowed:
            raise Denied(self.reason, self.message, hint="Ask the office if you should have this right.")


def allowed(identity: Someone, action: str, subject: Subject = NOTHING) -> Decision:
    """Whether somebody may do something.

    Parameters
    ----------
    identity
        Who; see ``identity.py``.
    action
        A row of :data:`RULES`.
    subject
        What it is about; an action on what is one's own, or not one's own, or that needs four eyes, is denied without.

    Examples
    --------
    >>> from discreet.server.identity import Identity
    >>> from discreet.server.roles import Role, allowed
    >>> auditor = Identity(1, "Ada", frozenset({Role.AUDITOR}), auth_level=3)
    >>> bool(allowed(auditor, "log.read")), allowed(auditor, "table.ask").reason
    (True, 'role')
    """
    rule = RULES.get(action)
    if rule is None:
        return Decision(False, "unknown-action", "There is nothing of this name to be done.")
    if not _effective(identity.roles) & rule.roles:
        return Decision(False, "role", "Your roles do not allow this.")
    if not 0 <= identity.auth_level <= 4 or identity.auth_level < rule.level:
        return Decision(False, "level", "This needs your certificate.")
    if (rule.own or rule.not_own) and identity.principal_id is None:
        return Decision(False, "nobody", "This needs somebody who is known.")
    if rule.own and identity.principal_id not in subject.belongs_to:
        return Decision(False, "not-yours", "This is not yours.")
    if rule.not_own and subject.requested_by is None:
        return Decision(False, "no-requester", "It is not known who asked for this.")
    if rule.not_own and identity.principal_id in {subject.requested_by, *subject.belongs_to}:
        return Decision(False, "own", "Nobody decides on what is their own.")
    if rule.approvers and len(subject.approved_by - {subject.requested_by}) < APPROVALS:
        return Decision(False, "four-eyes", "Two others must agree to this first.")
    if rule.approvers and subject.requested_by is None:
        return Decision(False, "no-requester", "It is not known who asked for this.")
    return Decision(True, "allowed")


def may_approve(identity: Someone, action: str, requested_by: int) -> Decision:
    """Whether somebody may vote on a request of another for an action that needs four eyes."""
    rule = RULES.get(action)
    if rule is None or not rule.approvers:
        return Decision(False, "unknown-action", "This is not voted on.")
    if not _effective(identity.roles) & rule.approvers:
        return Decision(False, "role", "Your roles do not allow this.")
    if not STRONG <= identity.auth_level <= 4:
        return Decision(False, "level", "This needs your certificate.")
    if identity.principal_id is None or identity.principal_id == requested_by:
        return Decision(False, "own", "Nobody approves what they asked for.")
    return Decision(True, "allowed")


@lru_cache(maxsize=1024)
def _effective(roles: frozenset[Role]) -> frozenset[Role]:
    """Roles that count: what must not come together counts for nothing."""
    return frozenset() if _clash(roles) else roles


def _clash(roles: frozenset[Role]) -> bool:
    alone = any(role in roles for role in ALONE) and len(roles) > 1
    return alone or any(set(pair) <= roles for pair in APART)


def refuse_incompatible(roles: frozenset[Role]) -> None:
    """Refuse roles that one person must not have together.

    Raises
    ------
    Denied
        When an auditor or administrator would be anything else, or one person could issue certificates alone.
    """
    if _clash(roles):
        raise Denied(
            "roles-apart",
            f"One person cannot have these roles together: {', '.join(sorted(roles))}.",
            hint="Auditors and administrators have no other role; registration officers are no CA operators.",
        )


def role_named(name: str) -> Role:
    """A role by its name.

    Raises
    ------
    ParameterError
        When there is none; nobody is given the role ``public``, which everybody has who is not known.
    """
    if name == Role.PUBLIC or name not in set(Role):
        raise ParameterError(unknown_name("role", name[:80], [role for role in Role if role != Role.PUBLIC]))
    return Role(name)
