"""Commands of ``discreet server role``: roles after the first ones. One asks, two others agree, and it is given.

Everybody shows who they are by their certificate and its key, which stay on their own medium.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.people import DATABASE, LARGEST, certificate_in
from discreet.cli.terminal import errors, result
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.server.identity import Identity
    from discreet.server.store.store import Store

NUMBER = click.argument("number", type=click.IntRange(min=1))


class RoleCommands(click.Group):
    """Commands about roles."""

    command_class = SpokenCommand


@click.group("role", cls=RoleCommands)
def role() -> None:
    """Give and take roles after the first ones, by four eyes: ask, vote (two others), give."""


def _shown(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options by which somebody shows who they are."""
    for name, words in (("key", "Its private key."), ("certificate", "Your certificate, entered and valid.")):
        option = click.option(f"--{name}", f"own_{name}", type=click.Path(path_type=Path), required=True, help=words)
        command = option(command)
    return command


def _who(store: Store, certificate: Path, key: Path) -> Identity:
    """Whose certificate it is, where they have its key and it counts now.

    Raises
    ------
    InputError
        When the key is not that of the certificate, or cannot be read.
    Denied
        When the certificate is unknown, suspended, revoked, expired or not for signing in.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    from discreet.server.identity import from_certificate
    from discreet.trust.certificates import unreadable
    from discreet.trust.private_folder import read_bounded

    found, shown = certificate_in(certificate)
    try:
        public = load_pem_private_key(read_bounded(key, "key", LARGEST), None).public_key()
    except unreadable():
        raise InputError("The key cannot be read.", hint="Give the key that belongs to the certificate.") from None
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if public.public_bytes(*form) != found.public_key().public_bytes(*form):
        raise InputError("The key is not that of the certificate.", hint="Give both files of the same person.")
    return from_certificate(store, shown)


def _asked_for(store: Store, number: int) -> tuple[int, str, Any]:
    """Whom a request is about, for which role, and the request."""
    from discreet.server.store.people import ROLE_GRANT

    row = store.approvals.find(number)
    if row.action != ROLE_GRANT:
        raise InputError(f"Request {number} is not about a role.", hint="Give the number that role ask printed.")
    person, _, name = row.subject.partition(" ")
    return int(person), name, row


@role.command()
@DATABASE
@_shown
@click.argument("email")
@click.argument("name", metavar="ROLE")
@JSON
def ask(database: str, own_certificate: Path, own_key: Path, email: str, name: str, as_json: bool) -> None:
    """Ask that the person with EMAIL gets ROLE; two others must agree."""
    with errors(as_json):
        from discreet.server.roles import role_named
        from discreet.server.store.people import ROLE_GRANT
        from discreet.server.store.store import Store

        wanted = role_named(name)
        with Store.open(database) as store:
            who = _who(store, own_certificate, own_key)
            holder = store.people.with_email(email)
            assert who.principal_id is not None
            number = store.approvals.request(ROLE_GRANT, f"{holder.id} {wanted}", who.principal_id)
        result({"number": number}, f"Request {number}: {holder.name} as {wanted}. Two others must agree.", as_json)


@role.command()
@DATABASE
@_shown
@NUMBER
@click.option("--agree/--disagree", "agrees", required=True, default=None, help="Your vote; it cannot be changed.")
@click.option("--reason", required=True, help="Why; it is kept.")
@JSON
def vote(
    database: str, own_certificate: Path, own_key: Path, number: int, agrees: bool, reason: str, as_json: bool
) -> None:
    """Agree or disagree to request NUMBER of another, with a reason."""
    with errors(as_json):
        from discreet.server.denied import Denied
        from discreet.server.roles import may_approve
        from discreet.server.store.people import ROLE_GRANT
        from discreet.server.store.store import Store

        with Store.open(database) as store:
            who = _who(store, own_certificate, own_key)
            person, _, row = _asked_for(store, number)
            may_approve(who, ROLE_GRANT, row.requested_by).required()
            if who.principal_id == person:
                raise Denied("own-role", "Nobody approves a role of their own.", hint="Let others agree.")
            assert who.principal_id is not None
            row = store.approvals.vote(number, who.principal_id, agrees=agrees, reason=reason)
        plain = {"number": number, "agreed": len(row.agreed), "disagreed": len(row.disagreed)}
        result(plain, f"Request {number}: {len(row.agreed)} agreed, {len(row.disagreed)} disagreed.", as_json)


@role.command()
@DATABASE
@_shown
@NUMBER
@JSON
def give(database: str, own_certificate: Path, own_key: Path, number: int, as_json: bool) -> None:
    """Give the role of request NUMBER, to which two others agreed."""
    with errors(as_json):
        from discreet.server.roles import Subject, allowed
        from discreet.server.store.people import ROLE_GRANT
        from discreet.server.store.store import Store

        with Store.open(database) as store:
            who = _who(store, own_certificate, own_key)
            person, name, row = _asked_for(store, number)
            subject = Subject(requested_by=row.requested_by, belongs_to=frozenset({person}), approved_by=row.agreed)
            allowed(who, ROLE_GRANT, subject).required()
            store.people.grant_role(person, name, number)
        result({"person": person, "role": name}, f"Person {person} is {name} now.", as_json)


@role.command()
@DATABASE
@_shown
@click.argument("email")
@click.argument("name", metavar="ROLE")
@JSON
def take(database: str, own_certificate: Path, own_key: Path, email: str, name: str, as_json: bool) -> None:
    """Take ROLE from the person with EMAIL at once; their sessions end. One who may give roles suffices."""
    with errors(as_json):
        from discreet.server.denied import Denied
        from discreet.server.roles import RULES, role_named
        from discreet.server.store.people import ROLE_GRANT
        from discreet.server.store.store import Store

        wanted = role_named(name)
        with Store.open(database) as store:
            who = _who(store, own_certificate, own_key)
            if not who.roles & RULES[ROLE_GRANT].roles:
                raise Denied("role", "Your roles do not allow this.", hint="Ask one who gives roles.")
            holder = store.people.with_email(email)
            if wanted not in holder.roles:
                raise InputError(f"{holder.name} is no {wanted}.", hint="Check the name of the role.")
            store.people.take_role(holder.id, wanted)
        result({"person": holder.id, "role": wanted}, f"{holder.name} is no {wanted} any more.", as_json)
