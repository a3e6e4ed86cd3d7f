"""Commands of ``discreet server`` about people: the first ones, further ones, and their certificates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import JSON
from discreet.cli.terminal import errors, result
from discreet.errors import InputError, counted

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from discreet.trust.peer import PeerCertificate

LARGEST = 65_536
"""Bytes of a certificate."""
DATABASE = click.option(
    "--database",
    envvar="DISCREET_DATABASE",
    required=True,
    metavar="FILE|URL",
    help="An SQLite file, or postgresql://user@host/name; better in DISCREET_DATABASE than on the command line.",
)


@click.command("founders", cls=SpokenCommand)
@DATABASE
@click.option(
    "--person",
    "people",
    multiple=True,
    nargs=3,
    required=True,
    metavar="NAME EMAIL ROLE",
    help="Somebody and their role; at least three, because each has it by the other two.",
)
@JSON
def founders(database: str, people: tuple[tuple[str, str, str], ...], as_json: bool) -> None:
    """Enter the first people with their roles, once. Afterwards a role takes two others who agree."""
    with errors(as_json):
        from discreet.server.roles import role_named
        from discreet.server.store.people import Founder
        from discreet.server.store.store import Store

        named = [Founder(name, email, role_named(role)) for name, email, role in people]
        with Store.open(database) as store:
            numbers = store.people.found(named)
        result({"numbers": numbers}, f"{counted(len(numbers), 'person', 'are')} entered.", as_json)


@click.command("person", cls=SpokenCommand)
@DATABASE
@click.argument("name")
@click.argument("email")
@JSON
def person(database: str, name: str, email: str, as_json: bool) -> None:
    """Enter a person by NAME and EMAIL, without a role: they may what the public may."""
    with errors(as_json):
        from discreet.server.store.store import Store

        with Store.open(database) as store:
            number = store.people.add(name, email)
        result({"number": number}, f"{name} is number {number}.", as_json)


@click.command("certificate", cls=SpokenCommand)
@DATABASE
@click.argument("file", type=click.Path(path_type=Path))
@JSON
def certificate(database: str, file: Path, as_json: bool) -> None:
    """Enter the certificate in FILE (PEM) for the person whose e-mail address it has."""
    with errors(as_json):
        from discreet.server.store.store import Store

        shown = certificate_in(file)[1]
        purposes = [{"user": "client", "signing": "signature"}.get(one, "") for one in sorted(shown.purposes)]
        if len(purposes) != 1 or not purposes[0]:
            raise InputError(
                "The certificate is not for signing in or signing.", hint="Issue one with --purpose user or signing."
            )
        with Store.open(database) as store:
            holder = store.people.with_email(shown.email)
            store.people.add_certificate(
                shown.serial,
                shown.fingerprint,
                holder.id,
                not_before=int(shown.not_before.timestamp()),
                not_after=int(shown.not_after.timestamp()),
                purpose=purposes[0],
            )
        plain = {"serial": shown.serial, "number": holder.id, "purpose": purposes[0]}
        result(plain, f"Certificate {shown.serial} is {holder.name}'s.", as_json)


def certificate_in(file: Path) -> tuple[Certificate, PeerCertificate]:
    """The first certificate of a file, and what it says of its holder.

    Raises
    ------
    InputError
        When there is none that can be read.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    from discreet.trust.certificates import unreadable
    from discreet.trust.peer import PeerCertificate
    from discreet.trust.private_folder import read_bounded

    try:
        found = x509.load_pem_x509_certificates(read_bounded(file, "certificate", LARGEST))[0]
        return found, PeerCertificate.from_der(found.public_bytes(Encoding.DER))
    except unreadable(IndexError):
        raise InputError(
            "The certificate cannot be read.", hint="Give the file that discreet ca issue wrote."
        ) from None


def _changed(name: str, method: str, said: str, about: str) -> click.Command:
    """A command that changes the state of a certificate at once, on open connections too."""

    @click.command(name, cls=SpokenCommand, help=about)
    @DATABASE
    @click.argument("serial")
    @JSON
    def change(database: str, serial: str, as_json: bool) -> None:
        with errors(as_json):
            from discreet.server.store.store import Store

            plain = serial.strip().lower().replace(":", "").lstrip("0")
            with Store.open(database) as store:
                getattr(store.people, method)(plain)
            result({"serial": plain, "state": said}, f"Certificate {plain} is {said}.", as_json)

    return change


COMMANDS = (
    founders,
    person,
    certificate,
    _changed(
        "suspend",
        "suspend_certificate",
        "suspended",
        "Suspend the certificate SERIAL at once, on open connections too; its sessions end.",
    ),
    _changed("reactivate", "reactivate_certificate", "valid", "Let the suspended certificate SERIAL be used again."),
    _changed(
        "revoke",
        "revoke_certificate",
        "revoked",
        "Revoke the certificate SERIAL at once, on open connections too; revoke it at the authority as well.",
    ),
)
"""What ``discreet server`` adds."""
