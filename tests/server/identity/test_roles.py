"""Who may what, cell by cell, from the words of the card on layered security and the list of roles of the server.

The table was written from those words, not from the code: analysts (researchers) ask within their own projects; the
data owner defines rules and approves projects; the output checker (reviewer) releases or refuses results, never own
ones; officers release too, with four eyes; registration officers check requests, CA operators sign; revoking is for
officers of the CA only; users renew their own certificates; the auditor reads the log, nothing else; the administrator
has no data; all else is denied.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.server.denied import Denied
from discreet.server.identity import Identity
from discreet.server.roles import RULES, Decision, Role, Subject, allowed, may_approve, refuse_incompatible, role_named

COLUMNS = [
    "public",
    "registered",
    "researcher",
    "reviewer",
    "officer",
    "data owner",
    "registration officer",
    "CA operator",
    "administrator",
    "auditor",
]
# One sign a role in that order: y may, - may not. Then the least level, and what it is bound to: own (only what is
# mine), other (never what I asked for), 4 (four eyes).
CARD = """
catalogue.read          y y y y y y - - - -   0
table.ask               y y y y y y - - - -   0
history.read            - y y y y y - - - -   0  own
project.request         - y y - - - - - - -   0
project.read            - - y - - - - - - -   3  own
table.ask_confidential  - - y - - - - - - -   3  own
extract.request         - - y - - - - - - -   3  own
extract.fetch           - - y - - - - - - -   3  own
application.review      - - - y - - - - - -   3  other
application.suspend     - - - - - y - - - -   3  other
plot.ask                - - y - - - - - - -   3  own
project.approve         - - - - - y - - - -   3  other
dataset.register        - - - - - y - - - -   3
dataset.withdraw        - - - - - y - - - -   3
office.read             - - - - y y - - - -   3
rules.change            - - - - - y - - - -   3  4
key.change              - - - - - y - - - -   3  4
output.hand_in          - - y - - - - - - -   3  own
output.review           - - - y - - - - - -   3  other
output.release          - - - y y - - - - -   3  other 4
registration.check      - - - - - - y - - -   3  other
certificate.issue       - - - - - - - y - -   3  other
certificate.renew       - y y y y y y y y -   3  own
certificate.suspend     - - - - - - y y - -   3
certificate.revoke      - - - - - - y y - -   3
revocation.override     - - - - - - - y - -   3  4
role.grant              - - - - - - y - y -   3  other 4
server.operate          - - - - - - - - y -   3
log.read                - - - - - - - - - y   3
"""
ROWS = {line.split()[0]: line.split()[1:] for line in CARD.strip().splitlines()}
CELLS = [
    (action, role, row[at] == "y", int(row[10]), set(row[11:]))
    for action, row in ROWS.items()
    for at, role in enumerate(COLUMNS)
]
ME, OTHER, SECOND, THIRD = 1, 2, 3, 4


def one(role: str, level: int = 3, number: int | None = ME) -> Identity:
    return Identity(number, "Me", frozenset({Role(role)}), auth_level=level)


def right_subject(bound: set[str]) -> Subject:
    """A subject with which nothing but role and level can stand in the way."""
    return Subject(
        belongs_to=frozenset({ME}) if "own" in bound else frozenset(),
        requested_by=OTHER if bound & {"other", "4"} else None,
        approved_by=frozenset({SECOND, THIRD}) if "4" in bound else frozenset(),
    )


def test_the_table_is_about_all_roles_and_all_actions():
    assert [role.value for role in Role] == COLUMNS
    assert set(RULES) == set(ROWS)
    assert len(CELLS) == 290


@pytest.mark.parametrize(
    ("action", "role", "may", "level", "bound"),
    CELLS,
    ids=lambda value: "+".join(sorted(value)) if isinstance(value, set) else str(value),
)
def test_every_cell_of_the_table(action, role, may, level, bound):
    subject = right_subject(bound)
    decision = allowed(one(role), action, subject)
    assert decision.allowed is may
    assert decision.reason == ("allowed" if may else "role")
    if not may:
        return
    for weaker in range(level):
        assert allowed(one(role, weaker), action, subject).reason == "level"
    if "own" in bound:
        others = Subject(frozenset({OTHER}), subject.requested_by, subject.approved_by)
        assert allowed(one(role), action, others).reason == "not-yours"
        assert not allowed(one(role), action)
        assert not allowed(one(role, number=None), action, Subject(frozenset()))
    if "other" in bound:
        mine = Subject(subject.belongs_to, ME, subject.approved_by)
        assert allowed(one(role), action, mine).reason == "own"
        assert allowed(one(role), action, Subject(approved_by=subject.approved_by)).reason == "no-requester"
    if "4" in bound:
        for too_few in ({SECOND}, {OTHER, SECOND}, set()):
            assert allowed(one(role), action, Subject(frozenset(), OTHER, frozenset(too_few))).reason == "four-eyes"
        assert not allowed(one(role), action, Subject(frozenset(), None, frozenset({SECOND, THIRD})))


@pytest.mark.parametrize("action", ["", "table", "table.ask ", "TABLE.ASK", "*", "log.write", "__class__"])
def test_what_is_not_in_the_table_is_denied_to_everybody(action):
    for role in COLUMNS:
        assert allowed(one(role), action, right_subject({"own", "other", "4"})).reason == "unknown-action"


@pytest.mark.parametrize("level", [-1, 5, 99])
def test_levels_that_do_not_exist_are_denied(level):
    assert allowed(one("auditor", level), "log.read").reason == "level"


def test_somebody_without_roles_may_nothing():
    nobody = Identity(ME, "Me", frozenset(), auth_level=3)
    assert not any(allowed(nobody, action, right_subject(set(row[11:]))) for action, row in ROWS.items())


@given(st.frozensets(st.sampled_from(COLUMNS), min_size=1), st.sampled_from(sorted(ROWS)))
def test_an_auditor_or_administrator_gains_nothing_by_another_role(roles, action):
    apart = {"registration officer", "CA operator"} <= roles
    clash = len(roles) > 1 and bool(roles & {"auditor", "administrator"})
    identity = Identity(ME, "Me", frozenset(Role(role) for role in roles), auth_level=3)
    row = ROWS[action]
    may = any(row[COLUMNS.index(role)] == "y" for role in roles) and not apart and not clash
    assert bool(allowed(identity, action, right_subject(set(row[11:])))) is may
    if apart or clash:
        with pytest.raises(Denied, match="cannot have these roles together"):
            refuse_incompatible(identity.roles)
    else:
        refuse_incompatible(identity.roles)


# Who may agree to what needs four eyes: from "four-eyes for approval, revocation override, rule change" and the issue's
# "four eyes for key change and release"; approvers are officials of the same field, never the public or researchers.
APPROVERS = {
    "rules.change": {"data owner", "officer"},
    "key.change": {"data owner", "officer"},
    "output.release": {"reviewer", "officer"},
    "revocation.override": {"registration officer", "CA operator"},
    "role.grant": {"registration officer", "administrator", "data owner"},
}


@pytest.mark.parametrize("action", sorted(ROWS))
@pytest.mark.parametrize("role", COLUMNS)
def test_who_may_agree(action, role):
    may = role in APPROVERS.get(action, set())
    assert bool(may_approve(one(role), action, OTHER)) is may
    if may:
        assert may_approve(one(role), action, ME).reason == "own"
        assert may_approve(one(role, 2), action, OTHER).reason == "level"
        assert not may_approve(one(role, number=None), action, OTHER)


def test_a_decision_that_is_required_is_refused_without_detail():
    allowed(one("auditor"), "log.read").required()
    with pytest.raises(Denied) as caught:
        allowed(one("administrator"), "table.ask").required()
    assert (caught.value.kind, caught.value.status) == ("role", 403)
    assert not Decision(False, "role")


def test_everybody_is_public_without_a_grant():
    assert role_named("data owner") is Role.DATA_OWNER
    with pytest.raises(ParameterError):
        role_named("public")
