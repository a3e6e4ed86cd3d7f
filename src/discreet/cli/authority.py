"""The commands ``discreet ca``: a certification authority of two levels."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import SpokenCommand
from discreet.cli.options import FOLDER, JSON
from discreet.cli.terminal import errors, result
from discreet.errors import OutputError, ParameterError

if TYPE_CHECKING:
    from discreet.trust.authority import Authority, IssuedCertificate

FILE = click.Path(path_type=Path)
BY = click.option("--by", required=True, help="Who does it; is written down.")
SERIAL = click.argument("serial")
SHARES = click.option(
    "--share", "shares", type=FILE, multiple=True, help="A file with a share of the root key; as many as are needed."
)
REASON = click.option("--reason", default="unspecified", show_default=True, help="Why: keyCompromise, superseded ...")
CSR = click.option("--csr", type=FILE, help="Certificate request of the holder; without it a key is made here.")
DAYS = click.option("--days", type=int, default=365, show_default=True, help="How long it is valid: at most a year.")
OUTPUT = click.option("--output", type=FILE, required=True, help="New file: .p12 for browsers, else PEM.")
GENERATE = click.option("--generate-password", is_flag=True, help="Make up a password for the .p12 file and print it.")


class AuthorityCommands(click.Group):
    """Commands that say less or more, like all others."""

    command_class = SpokenCommand


@click.group(cls=AuthorityCommands)
def ca() -> None:
    """Certificates for users, servers and signers: make, renew, suspend, revoke.

    An authority lives in a folder of its own. One person registers a request, another issues the certificate.
    """


@ca.command()
@FOLDER
@click.option("--name", required=True, help="Name of the house; stands in all certificates.")
@BY
@click.option("--root-years", type=int, default=15, show_default=True, help="Validity of the root: 10 to 20.")
@click.option("--issuing-years", type=int, default=4, show_default=True, help="Of the issuing level: 3 to 5.")
@click.option("--crl-url", default="", help="Where lists of revoked certificates can be fetched.")
@click.option("--issuing-key", default="", help="pkcs11: URI, where the issuing key lies on a token.")
@JSON
def init(folder: Path, name: str, as_json: bool, **options: Any) -> None:
    """Make an authority in the new FOLDER: a root, an issuing level below it, and empty lists of revoked ones."""
    from discreet.trust.authority import Authority

    with errors(as_json):
        Authority.create(folder, name, **options)
        text = (
            f"Made: {folder.name} (for you only). The root key still lies in it. Split it among custodians:\n"
            f"  discreet ca split {folder.name} --needed 3 --by NAME SHARE_1 SHARE_2 SHARE_3 SHARE_4 SHARE_5"
        )
        result({"folder": str(folder), "name": name}, text, as_json)


@ca.command()
@FOLDER
@click.option("--purpose", type=click.Choice(["user", "server", "signing"]), required=True, help="What it is for.")
@click.option("--name", required=True, help="The person's or server's name.")
@click.option("--email", default="", help="E-mail address of a user or signer.")
@click.option("--uri", "uris", multiple=True, help="A URI that stands for them; may be given often.")
@click.option("--host", "hosts", multiple=True, help="DNS name or IP address of a server; may be given often.")
@click.option("--approved-by", required=True, help="The registration officer who saw who they are.")
@CSR
@DAYS
@JSON
def request(
    folder: Path, purpose: str, approved_by: str, csr: Path | None, days: int, as_json: bool, **names: Any
) -> None:
    """Register a request for a certificate, which an officer has checked. Somebody else issues it."""
    from discreet.trust.holders import Holder

    with errors(as_json):
        number = _opened(folder).request(
            purpose,  # type: ignore[arg-type]
            Holder(**names),
            approved_by=approved_by,
            csr=_csr(csr),
            days=days,
        )
        text = f"Request {number}. Let somebody else issue it: discreet ca issue {folder.name} {number} --by NAME"
        result({"request": number}, text, as_json)


@ca.command()
@FOLDER
@click.argument("number", type=int)
@BY
@OUTPUT
@GENERATE
@JSON
def issue(folder: Path, number: int, by: str, output: Path, generate_password: bool, as_json: bool) -> None:
    """Issue the certificate of request NUMBER, which somebody else has approved.

    Where the key is made here, --output FILE.p12 writes key and certificate for browsers, with a password that is asked
    for; any other name writes the certificate to FILE and its key, without a password, to FILE.key. No copy is kept.
    """
    with errors(as_json):
        authority = _opened(folder)
        has_key = not authority.index.request(number).key
        password = _password(output, has_key, generate_password)
        _written(authority.issue(number, by=by), output, password, generate_password, as_json)


@ca.command()
@FOLDER
@SERIAL
@BY
@CSR
@DAYS
@OUTPUT
@GENERATE
@JSON
def renew(
    folder: Path,
    serial: str,
    by: str,
    csr: Path | None,
    days: int,
    output: Path,
    generate_password: bool,
    as_json: bool,
) -> None:
    """Issue the certificate SERIAL again for the same holder, with a new key. The old one stays valid to its end."""
    with errors(as_json):
        authority = _opened(folder)
        password = _password(output, csr is None, generate_password)
        issued = authority.renew(serial, by=by, csr=_csr(csr), days=days)
        _written(issued, output, password, generate_password, as_json)


@ca.command()
@FOLDER
@SERIAL
@BY
@JSON
def suspend(folder: Path, serial: str, by: str, as_json: bool) -> None:
    """Suspend the certificate SERIAL until it is reactivated or revoked."""
    with errors(as_json):
        _opened(folder).suspend(serial, by=by)
        _told_of_lists(folder, serial, "suspended", as_json)


@ca.command()
@FOLDER
@SERIAL
@BY
@JSON
def reactivate(folder: Path, serial: str, by: str, as_json: bool) -> None:
    """Let the suspended certificate SERIAL count again."""
    with errors(as_json):
        _opened(folder).reactivate(serial, by=by)
        _told_of_lists(folder, serial, "valid", as_json)


@ca.command()
@FOLDER
@SERIAL
@BY
@REASON
@JSON
def revoke(folder: Path, serial: str, by: str, reason: str, as_json: bool) -> None:
    """Revoke the certificate SERIAL for good."""
    with errors(as_json):
        _opened(folder).revoke(serial, by=by, reason=reason)
        _told_of_lists(folder, serial, "revoked", as_json)


@ca.command()
@FOLDER
@click.option("--root", is_flag=True, help="Make the root's list, too, which takes the root key.")
@click.option("--root-days", type=int, default=90, show_default=True, help="How long the root's list may be used.")
@SHARES
@click.option("--output", type=FILE, help="Folder to copy certificates and lists to, for servers; never a key.")
@JSON
def crl(folder: Path, root: bool, root_days: int, shares: tuple[Path, ...], output: Path | None, as_json: bool) -> None:
    """Make new lists of revoked certificates; they may be used for 24 hours, so let this run every hour."""
    with errors(as_json):
        authority = _opened(folder)
        public = authority.publish_lists(root=root, shares=shares, root_days=root_days)
        if output is not None:
            authority.export(output)
            public = output
        text = f"Lists of revoked certificates are in {public.name}; give servers a copy."
        result({"folder": str(public)}, text, as_json)


@ca.command("list")
@FOLDER
@click.option("--state", type=click.Choice(["valid", "suspended", "revoked"]), help="Only those in this state.")
@click.option("--expiring", type=click.IntRange(min=1), metavar="DAYS", help="Only those that end within some days.")
@JSON
def list_all(folder: Path, state: str | None, expiring: int | None, as_json: bool) -> None:
    """List certificates, requests that wait, and how long authorities and lists last."""
    from discreet.cli.authority_list import described, shown

    with errors(as_json):
        found = described(_opened(folder), state, expiring)
        result(found, shown(found), as_json)


@ca.command()
@FOLDER
@click.argument("files", type=FILE, nargs=-1, required=True)
@click.option("--needed", type=int, required=True, help="How many shares together are the key: at least 2.")
@BY
@JSON
def split(folder: Path, files: tuple[Path, ...], needed: int, by: str, as_json: bool) -> None:
    """Split the root key into shares, one in each of FILES, and remove it from FOLDER.

    Give every custodian one file, best on a medium of their own.
    """
    with errors(as_json):
        _opened(folder).split(needed, files, by=by)
        text = f"Any {needed} of {len(files)} shares are the root key now. It no longer lies in {folder.name}."
        result({"needed": needed, "shares": [str(path) for path in files]}, text, as_json)


@ca.command()
@FOLDER
@click.argument("files", type=FILE, nargs=-1, required=True)
@BY
@JSON
def join(folder: Path, files: tuple[Path, ...], by: str, as_json: bool) -> None:
    """Put the root key back into FOLDER out of the shares in FILES, to split it anew among other custodians."""
    with errors(as_json):
        _opened(folder).join(files, by=by)
        text = f"The root key lies in {folder.name} again. Split it: discreet ca split {folder.name} ..."
        result({"folder": str(folder)}, text, as_json)


@ca.command("new-issuing")
@FOLDER
@BY
@click.option("--years", type=int, default=4, show_default=True, help="How long it is valid: 3 to 5 years.")
@click.option("--key", default="", help="pkcs11: URI, where its key lies on a token.")
@SHARES
@JSON
def new_issuing(folder: Path, by: str, years: int, key: str, shares: tuple[Path, ...], as_json: bool) -> None:
    """Make a new issuing authority, which issues from now on. Takes the root key."""
    with errors(as_json):
        number = _opened(folder).new_issuing(by=by, years=years, key=key, shares=shares)
        result({"issuing": number}, f"Issuing authority {number} issues from now on.", as_json)


@ca.command("revoke-issuing")
@FOLDER
@click.argument("number", type=int)
@BY
@REASON
@SHARES
@JSON
def revoke_issuing(folder: Path, number: int, by: str, reason: str, shares: tuple[Path, ...], as_json: bool) -> None:
    """Revoke the issuing authority NUMBER, and with it all that it issued. Takes the root key."""
    with errors(as_json):
        _opened(folder).revoke_issuing(number, by=by, reason=reason, shares=shares)
        text = f"Issuing authority {number} is revoked, and all its certificates with it."
        result({"issuing": number, "state": "revoked"}, text, as_json)


def _opened(folder: Path) -> Authority:
    from discreet.trust.authority import Authority

    return Authority(folder)


def _csr(path: Path | None) -> bytes | None:
    from discreet.trust.certificates import LARGEST_REQUEST
    from discreet.trust.private_folder import read_bounded

    return None if path is None else read_bounded(path, "certificate request", LARGEST_REQUEST)


def _told_of_lists(folder: Path, serial: str, state: str, as_json: bool) -> None:
    text = f"The certificate is {state}, and so says the new list. Give it to servers: discreet ca crl {folder.name}"
    result({"serial": serial, "state": state}, text, as_json)


def _places(output: Path, has_key: bool) -> Sequence[Path]:
    beside = output.with_name(f"{output.name}.key")
    return [output, beside] if has_key and output.suffix != ".p12" else [output]


def _password(output: Path, has_key: bool, generate: bool) -> str:
    """The password of a file for browsers, before anything is issued; empty where there is no such file.

    Never an argument or a variable: those are seen by others.
    """
    for path in _places(output, has_key):
        if os.path.lexists(path):
            raise OutputError(f"The file {path.name!r} exists.", hint="Choose another name, or remove it.")
    if not output.parent.is_dir():
        raise OutputError(f"{output.parent.name!r} is no folder.", hint="Make it first, or choose another.")
    if output.suffix != ".p12":
        return ""
    if not has_key:
        raise ParameterError("The key was made elsewhere, so there is no .p12 to write.", hint="Write to FILE.pem.")
    if generate:
        return secrets.token_urlsafe(18)
    if not sys.stdin.isatty():
        raise ParameterError(
            "There is no terminal to ask for a password.", hint="Run it on a terminal, or use --generate-password."
        )
    from discreet.trust.authority import checked_password

    return checked_password(
        str(click.prompt("Password for the file", hide_input=True, confirmation_prompt=True, err=True))
    )


def _written(issued: IssuedCertificate, output: Path, password: str, generated: bool, as_json: bool) -> None:
    """Write what was issued to files; a key to one that only its owner may read."""
    from discreet.trust.private_folder import OPEN, write_new_file

    has_key = issued.key is not None
    try:
        if password:
            write_new_file(output, issued.pkcs12(password))
        else:
            if has_key:
                write_new_file(_places(output, True)[1], issued.key_pem)
            write_new_file(output, issued.certificate, OPEN)
    except (OutputError, ParameterError) as error:
        raise OutputError(
            f"Certificate {issued.serial} was issued, but not written: {error.message}",
            hint=f"Its key is lost. Revoke it: discreet ca revoke FOLDER {issued.serial} --by NAME --reason superseded",
        ) from None
    files = [str(path) for path in _places(output, has_key)]
    found = {"serial": issued.serial, "not_after": issued.not_after.isoformat(), "files": files}
    text = f"Certificate {issued.serial}, valid until {issued.not_after:%Y-%m-%d}.\nWritten: {', '.join(files)}"
    if password and generated:
        found["password"] = password
        text += f"\nPassword: {password}  (shown once; send it another way than the file)"
    result(found, text, as_json)
