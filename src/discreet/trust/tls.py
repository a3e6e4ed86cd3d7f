"""TLS contexts that fail closed: TLS 1.3 only, certificates of one's own authority, lists of both levels checked.

What the handshake proves holds for the moment of the handshake. Sessions are never resumed, because a resumed one looks
at no list; and a server asks :meth:`CheckedContext.refusal` at every request, because a connection that was opened
before its certificate was revoked goes on otherwise.
"""

from __future__ import annotations

import ssl
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from discreet.errors import InputError, ParameterError
from discreet.trust.authority_folder import utc_now
from discreet.trust.certificates import unreadable
from discreet.trust.holders import Purpose
from discreet.trust.peer import PeerCertificate
from discreet.trust.private_folder import read_bounded
from discreet.trust.refusals import TrustRefusal, WhyRefused
from discreet.trust.trusted import MAKE, KnownList, TrustedAuthorities

Clients = Literal["required", "optional"]
LARGEST = 1024 * 1024
"""Bytes of a file with certificates or a key of one's own."""
STRICT = ssl.VerifyFlags.VERIFY_CRL_CHECK_CHAIN | ssl.VerifyFlags.VERIFY_X509_STRICT


class CheckedContext(ssl.SSLContext):
    """A TLS context that knows its authorities and lists, and can take over newer lists while it is in use.

    Made by :func:`server_context` and :func:`client_context`.
    """

    trusted: TrustedAuthorities
    _sources: tuple[str | Path, str | Path | None]

    def refusal(self, peer: PeerCertificate, now: datetime | None = None) -> WhyRefused | None:
        """Why the certificate of an open connection no longer counts; ``None`` when it does. Ask at every request."""
        return self.trusted.peer_refusal(peer, now)

    def reload(self, now: datetime | None = None) -> bool:
        """Read authorities and lists again; new connections, and :meth:`refusal`, go by the new ones.

        Returns
        -------
        bool
            Whether there was anything new.

        Raises
        ------
        TrustRefusal
            When the new ones cannot be used: no list, an expired one, one that is not later than the one in use. What
            was in use stays so, to its own end.
        """
        found = TrustedAuthorities.read(*self._sources, now=now)
        gone = self.trusted.authorities.keys() - found.authorities.keys()
        if any(self.trusted.authorities[name].not_valid_after_utc > (now or utc_now()) for name in gone):
            raise TrustRefusal(
                WhyRefused.BAD_AUTHORITIES,
                "An authority was taken out of the bundle, which works after a restart only.",
                hint="Revoke the authority, or restart the server.",
            )
        news = {name: one for name, one in found.lists.items() if self._is_news(name, one)}
        if not news and found.authorities.keys() == self.trusted.authorities.keys():
            return False
        self.take(found)
        return True

    def take(self, trusted: TrustedAuthorities) -> None:
        """Give authorities and lists to OpenSSL, which reads lists from files only."""
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(trusted.pem)
            file.flush()
            self.load_verify_locations(cafile=file.name)
        self.trusted = trusted

    def _is_news(self, name: str, one: KnownList) -> bool:
        """Whether a list is new; one that OpenSSL would not use, or not for long enough, is refused."""
        last = self.trusted.lists.get(name)
        if last is None:
            return True
        if one.crl == last.crl:
            return False
        # OpenSSL keeps both: of two with one date it uses the first, and after the end of one it uses the other.
        if one.this_update <= last.this_update or one.next_update < last.next_update:
            raise TrustRefusal(
                WhyRefused.CRL_NOT_LATER,
                f"The new list of revoked certificates of {name} does not begin later, or ends before the one in use.",
                hint=MAKE,
            )
        return True


def server_context(
    certificate: str | Path,
    key: str | Path,
    authorities: str | Path,
    crls: str | Path | None = None,
    *,
    clients: Clients = "required",
) -> CheckedContext:
    """The TLS context of a server: who comes must show a certificate of our own authority that counts.

    Parameters
    ----------
    certificate
        File with the server's certificate and that of its issuer (PEM).
    key
        File with its key, which only its owner may read.
    authorities
        The folder ``public`` of the authority, or a copy; or a file with certificates.
    crls
        File with the lists of revoked certificates, where ``authorities`` is a file.
    clients
        ``"required"``, or ``"optional"`` for public pages: whoever shows none is let in without a name.

    Raises
    ------
    TrustRefusal
        When the root's key lies there, a list is missing or expired, or the server's own certificate does not count.
    """
    if clients not in ("required", "optional"):
        raise ParameterError(f"clients={clients!r} is not allowed.", hint="Use 'required' or 'optional'.")
    context = _context(ssl.PROTOCOL_TLS_SERVER, authorities, crls)
    context.verify_mode = ssl.CERT_REQUIRED if clients == "required" else ssl.CERT_OPTIONAL
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    _show(context, certificate, key, "server")
    return context


def client_context(
    authorities: str | Path,
    crls: str | Path | None = None,
    *,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
) -> CheckedContext:
    """The TLS context of a client: the server must have a certificate of our own authority that counts.

    Parameters
    ----------
    authorities, crls
        As for :func:`server_context`.
    certificate, key
        Files with the user's certificate and key; without them only public pages are to be had.
    """
    if (certificate is None) != (key is None):
        raise ParameterError("A certificate and its key belong together.", hint="Give both, or neither.")
    context = _context(ssl.PROTOCOL_TLS_CLIENT, authorities, crls)
    if certificate is not None and key is not None:
        _show(context, certificate, key, "user")
    return context


def _context(protocol: Any, authorities: str | Path, crls: str | Path | None) -> CheckedContext:
    context = CheckedContext(protocol)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.verify_flags |= STRICT
    context._sources = (authorities, crls)
    context.take(TrustedAuthorities.read(authorities, crls))
    return context


def _show(context: CheckedContext, certificate: str | Path, key: str | Path, purpose: Purpose) -> None:
    """Let a side show its own certificate, once it is seen to count."""
    from cryptography import x509

    chain = read_bounded(Path(certificate), "certificate", LARGEST)
    read_bounded(Path(key), "key", LARGEST, secret=True)
    try:
        own = x509.load_pem_x509_certificates(chain)[0]
        context.load_cert_chain(certificate, key, password=_no_password)
    except unreadable(ssl.SSLError):
        raise InputError(
            "Certificate and key cannot be used together.", hint="Give the PEM files that were made together."
        ) from None
    why = context.trusted.refusal(own, purpose)
    if why is not None:
        raise TrustRefusal(why, f"One's own certificate is refused: {why.value}.", hint=_way_out(why, purpose))


def _way_out(why: WhyRefused, purpose: Purpose) -> str:
    if why == WhyRefused.WRONG_PURPOSE:
        return f"Use one that was issued for this: discreet ca request --purpose {purpose}"
    return "Renew it: discreet ca renew"


def _no_password() -> str:
    """Never let OpenSSL ask a terminal that nobody sits at."""
    raise ValueError("the key has a password")
