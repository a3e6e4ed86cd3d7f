"""Whom a certificate is for, and what for: names that were checked before anything is signed."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from typing import Literal, get_args

import msgspec

from discreet.errors import ParameterError, unknown_name

Purpose = Literal["user", "server", "signing"]
"""What a certificate may be used for: sign in as a client, be a server, sign requests and documents."""
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
LONGEST_NAME = 64
"""Characters of a name in a certificate (X.520)."""
MOST_NAMES = 32
EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?=.{1,190}$)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:[!-~]{1,400}")


class Holder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom a certificate is for.

    Parameters
    ----------
    name
        The person's or server's name (common name).
    email
        E-mail address: of users and signers.
    uris
        URIs that stand for them, such as an account's address.
    hosts
        DNS names and IP addresses: of servers.
    """

    name: str
    email: str = ""
    uris: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def checked_holder(holder: Holder, purpose: str) -> Holder:
    """The holder, when names are such as a certificate for this purpose may carry.

    Raises
    ------
    ParameterError
        When a name is missing, malformed or of another purpose.

    Examples
    --------
    >>> checked_holder(Holder("Ada Lovelace", email="ada@example.org"), "user").name
    'Ada Lovelace'
    """
    if purpose not in PURPOSES:
        raise ParameterError(unknown_name("purpose", purpose, PURPOSES))
    plain_name(holder.name, "name")
    if len(holder.uris) + len(holder.hosts) > MOST_NAMES:
        raise ParameterError(f"More than {MOST_NAMES} names are given.", hint="Make several certificates.")
    if holder.email and not EMAIL.fullmatch(holder.email):
        raise ParameterError("The e-mail address is malformed.", hint="Write it as name@example.org, in ASCII.")
    if any(not URI.fullmatch(uri) for uri in holder.uris):
        raise ParameterError("A URI is malformed.", hint="Write it as scheme:rest, in ASCII.")
    if purpose == "server":
        if holder.email or not holder.hosts:
            raise ParameterError(
                "A server is known by its hosts and nothing else.",
                hint="Give hosts=, and no e-mail address.",
                recipe_hint="Give --host, and no --email.",
            )
        for host in holder.hosts:
            _check_host(host)
    elif holder.hosts or not (holder.email or holder.uris):
        raise ParameterError(
            "Users and signers are known by an e-mail address or a URI, not by hosts.",
            hint="Give email= or uris=.",
            recipe_hint="Give --email or --uri.",
        )
    return holder


def plain_name(name: str, what: str) -> str:
    """A name of printable characters, not too long.

    Raises
    ------
    ParameterError
        When it is empty, too long, or has invisible characters.
    """
    odd = any(unicodedata.category(sign)[0] in "CZ" and sign != " " for sign in name)
    if not name.strip() or name != name.strip() or odd or len(name) > LONGEST_NAME:
        raise ParameterError(
            f"The {what} is not allowed.",
            hint=f"Give 1 to {LONGEST_NAME} printable characters, without blanks at the ends.",
        )
    return name


def same_person(one: str, other: str) -> bool:
    """Whether two names stand for one person, however they are written.

    Examples
    --------
    >>> same_person("Rosa  Klein", "rosa klein"), same_person("Rosa", "Otto")
    (True, False)
    """

    def plain(name: str) -> str:
        return " ".join(unicodedata.normalize("NFKC", name).casefold().split())

    return plain(one) == plain(other)


def is_address(host: str) -> bool:
    """Whether a host is given by its IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_host(host: str) -> None:
    labels = host.split(".")
    if is_address(host) or (len(host) <= 253 and all(LABEL.fullmatch(label) for label in labels)):
        return
    raise ParameterError(
        "A host is malformed.", hint="Give DNS names without wildcards, or IP addresses: tables.example.org, 127.0.0.1"
    )
