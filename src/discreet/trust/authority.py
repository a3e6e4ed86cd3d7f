"""A certification authority of two levels: who may sign in, be a server, or sign; and who may no longer.

A registration officer approves a request, somebody else issues the certificate. The names of both are written down as
they are given: who may say that they are who, the accounts of the machine decide, not this file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError, ParameterError, unknown_name
from discreet.trust.authority_folder import (
    ROOT_KEY,
    FolderChange,
    der_of,
    event,
    key_text,
    load_certificate,
    utc_now,
    write_key,
)
from discreet.trust.certificate_index import (
    CertificateIndex,
    CertificateRequest,
    IndexedCertificate,
    IndexEvent,
    write_index,
)
from discreet.trust.certificates import (
    HOLD,
    REASONS,
    checked_days,
    end_certificate,
    key_of_request,
    new_key,
    require_cryptography,
    require_strong,
)
from discreet.trust.holders import Holder, Purpose, checked_holder, plain_name, same_person
from discreet.trust.private_folder import make_private_folder
from discreet.trust.root_level import RootLevel, begun_index, checked_years

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

LONGEST = 365
"""Days that a certificate of a user, server or signer is valid at most."""

SHORTEST_PASSWORD = 12


@dataclass(frozen=True)
class IssuedCertificate:
    """A certificate that was issued, with its key where that was made here; the authority keeps no copy of the key."""

    serial: str
    certificate: bytes
    """The certificate and that of its issuer, as PEM: what a server or client shows."""
    not_after: datetime
    key: EllipticCurvePrivateKey | None = field(default=None, repr=False)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM, without a password; write it where only its owner may read it.

        Raises
        ------
        InputError
            When the key was made elsewhere.
        """
        if self.key is None:
            raise InputError("The key of this certificate was made elsewhere.", hint="Its holder has it.")
        return key_text(self.key)

    def pkcs12(self, password: str) -> bytes:
        """Key and certificates in one file for browsers, encrypted with a password.

        Raises
        ------
        InputError
            When the key was made elsewhere.
        ParameterError
            When the password is short.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

        if self.key is None:
            raise InputError("The key of this certificate was made elsewhere.", hint="Its holder has it.")
        checked_password(password)
        own, *others = x509.load_pem_x509_certificates(self.certificate)
        return pkcs12.serialize_key_and_certificates(
            f"discreet {self.serial}".encode(), self.key, own, others, BestAvailableEncryption(password.encode())
        )


class Authority(RootLevel):
    """A certification authority in a folder of its own.

    Parameters
    ----------
    folder
        The folder; :meth:`create` makes it.
    clock
        What tells the time, in UTC.

    Examples
    --------
    >>> import tempfile
    >>> ca = Authority.create(tempfile.mkdtemp() + "/ca", "Example Office", by="Otto")
    >>> number = ca.request("user", Holder("Ada Lovelace", email="ada@example.org"), approved_by="Rosa")
    >>> issued = ca.issue(number, by="Otto")
    >>> [one.holder.email for one in ca.index.certificates]
    ['ada@example.org']
    >>> ca.revoke(issued.serial, by="Rosa", reason="keyCompromise")
    """

    @classmethod
    def create(
        cls,
        folder: str | Path,
        name: str,
        *,
        by: str,
        root_years: int = 15,
        issuing_years: int = 4,
        crl_url: str = "",
        issuing_key: str = "",
        clock: Callable[[], datetime] = utc_now,
    ) -> Authority:
        """Make an authority: a root, an issuing level below it, and the lists of both, still empty.

        Parameters
        ----------
        folder
            A new folder.
        name
            The house's name, which stands in all certificates.
        by
            Who makes it.
        root_years, issuing_years
            How long the two levels are valid: 10 to 20 and 3 to 5 years.
        crl_url
            Where the list of revoked certificates can be fetched; stands in certificates.
        issuing_key
            A ``pkcs11:`` URI, where the issuing key lies on a token.
        clock
            What tells the time, in UTC.
        """
        require_cryptography("A certification authority")
        plain_name(name, "name of the authority")
        plain_name(by, "name of who makes it")
        checked_years(root_years, 10, 20, "root")
        checked_years(issuing_years, 3, 5, "issuing authority")
        folder = Path(folder)
        make_private_folder(folder)
        root_key, now = new_key(384), clock()
        write_key(folder / ROOT_KEY, root_key)
        write_index(folder, begun_index(name, root_key, root_years, crl_url, IndexEvent(now, "init", by), now))
        authority = cls(folder, clock=clock)
        authority.new_issuing(by=by, years=issuing_years, key=issuing_key)
        return authority

    def request(
        self,
        purpose: Purpose,
        holder: Holder,
        *,
        approved_by: str,
        csr: bytes | None = None,
        days: int = LONGEST,
    ) -> int:
        """Register a request that a registration officer has checked; somebody else issues it.

        Parameters
        ----------
        purpose
            ``"user"``, ``"server"`` or ``"signing"``.
        holder
            Whom it is for. These names come into the certificate, not those of the CSR.
        approved_by
            The registration officer who saw that the holder is who they say.
        csr
            A certificate request (PEM or DER) of the holder, whose public key is certified; without it a key is made
            when the certificate is issued.
        days
            How long the certificate is valid, from its issue; at most a year.

        Returns
        -------
        int
            The number of the request.
        """
        checked_holder(holder, purpose)
        plain_name(approved_by, "name of the registration officer")
        checked_days(days, LONGEST)
        if purpose != "server" and (same_person(approved_by, holder.name) or same_person(approved_by, holder.email)):
            raise ParameterError("Nobody approves a certificate for themselves.", hint="Ask another officer.")
        key = key_bytes(key_of_request(csr)) if csr is not None else b""
        with self.changing() as change:
            if key:
                _require_unused(change.index, key, holder, purpose)
            number = 1 + max((one.number for one in change.index.requests), default=0)
            change.index.requests.append(
                CertificateRequest(number, purpose, holder, days, approved_by, change.now, key)
            )
        return number

    def issue(self, number: int, *, by: str) -> IssuedCertificate:
        """Issue the certificate of a request that somebody else approved.

        Raises
        ------
        InputError
            When there is no such request, or it was issued before.
        ParameterError
            When the same person approved it.
        """
        plain_name(by, "name of who issues")
        with self.changing() as change:
            request = change.index.request(number)
            if request.serial:
                raise InputError(
                    f"Request number {number} was issued before.", hint="Renew the certificate, or make a new request."
                )
            if same_person(by, request.approved_by):
                raise ParameterError(
                    "Who approved a request cannot issue its certificate.", hint="Let a second person issue it."
                )
            return self._issue(change, request, request.key, event(change, "issued", by))

    def renew(self, serial: str, *, by: str, csr: bytes | None = None, days: int = LONGEST) -> IssuedCertificate:
        """Issue a certificate again, for the same holder and purpose; the registration stands.

        The old one stays valid to its end, so that there is time to change over. Without a CSR a new key is made.

        Raises
        ------
        InputError
            When the certificate was suspended, revoked, or has expired: then a new request is needed.
        """
        plain_name(by, "name of who renews")
        checked_days(days, LONGEST)
        key = key_bytes(key_of_request(csr)) if csr is not None else b""
        with self.changing() as change:
            old = change.index.certificate(serial)
            if old.state != "valid" or old.not_after <= change.now:
                state = "has expired" if old.state == "valid" else f"is {old.state}"
                raise InputError(f"The certificate {state}; only a valid one is renewed.", hint="Make a new request.")
            request = change.index.request(old.request)
            request = CertificateRequest(
                request.number, old.purpose, old.holder, days, request.approved_by, request.approved
            )
            old.events.append(event(change, "renewed", by))
            return self._issue(change, request, key, event(change, "issued", by, f"renews {old.serial}"))

    def suspend(self, serial: str, *, by: str) -> None:
        """Suspend a certificate until it is reactivated or revoked, and publish the list."""
        with self.changing() as change:
            one = self._of_state(change, serial, by, ("valid",))
            one.state, one.reason, one.since = "suspended", HOLD, change.now
            self._changed(change, one, event(change, "suspended", by))

    def reactivate(self, serial: str, *, by: str) -> None:
        """Let a suspended certificate count again, and publish the list."""
        with self.changing() as change:
            one = self._of_state(change, serial, by, ("suspended",))
            one.state, one.reason, one.since = "valid", "", None
            self._changed(change, one, event(change, "reactivated", by))

    def revoke(self, serial: str, *, by: str, reason: str = "unspecified") -> None:
        """Revoke a certificate for good, and publish the list.

        Parameters
        ----------
        serial
            Its serial number, in hexadecimal digits.
        by
            The officer who revokes it.
        reason
            Why, in the words of RFC 5280, such as ``"keyCompromise"``.
        """
        if reason not in REASONS:
            raise ParameterError(unknown_name("reason", reason, REASONS))
        with self.changing() as change:
            one = self._of_state(change, serial, by, ("valid", "suspended"))
            one.state, one.reason, one.since = "revoked", reason, change.now
            self._changed(change, one, event(change, "revoked", by, reason))

    def expiring(self, days: int) -> list[IndexedCertificate]:
        """Certificates that still count and end within some days, the next one first."""
        now = self.clock()
        ending = [
            one
            for one in self.index.certificates
            if one.state != "revoked" and now < one.not_after <= now + timedelta(days=days)
        ]
        return sorted(ending, key=lambda one: one.not_after)

    def _issue(
        self, change: FolderChange, request: CertificateRequest, key: bytes, done: IndexEvent
    ) -> IssuedCertificate:
        index, level = change.index, change.index.current
        if key:  # once more, because much may have happened since it was registered
            _require_unused(index, key, request.holder, request.purpose)
        issuer = load_certificate(level.der)
        own = None if key else new_key()
        public = own.public_key() if own is not None else public_from(key)
        made = end_certificate(
            self.issuing_key(level), issuer, public, request.holder, request.purpose, request.days, change.now,
            index.crl_url,
        )  # fmt: skip
        der, serial = der_of(made), f"{made.serial_number:x}"
        index.certificates.append(
            IndexedCertificate(
                serial=serial,
                request=request.number,
                issuer=level.number,
                purpose=request.purpose,
                holder=request.holder,
                not_before=made.not_valid_before_utc,
                not_after=made.not_valid_after_utc,
                fingerprint=hashlib.sha256(der).hexdigest(),
                key_digest=hashlib.sha256(key_bytes(public)).hexdigest(),
                der=der,
                events=[event(change, "approved", request.approved_by), done],
            )
        )
        index.request(request.number).serial = serial
        return IssuedCertificate(serial, pem_of(der) + pem_of(level.der), made.not_valid_after_utc, own)

    def _of_state(self, change: FolderChange, serial: str, by: str, allowed: Sequence[str]) -> IndexedCertificate:
        plain_name(by, "name of who does it")
        one = change.index.certificate(serial)
        if one.state not in allowed:
            raise InputError(
                f"The certificate is {one.state}.",
                hint="What was revoked stays so." if one.state == "revoked" else f"It must be {' or '.join(allowed)}.",
            )
        return one

    def _changed(self, change: FolderChange, one: IndexedCertificate, done: IndexEvent) -> None:
        one.events.append(done)
        level = next(level for level in change.index.issuing if level.number == one.issuer)
        self.add_list(change, level)


def checked_password(password: str) -> str:
    """A password that is long enough for a file that travels.

    Raises
    ------
    ParameterError
        When it is not.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise ParameterError("The password is too short.", hint=f"Use at least {SHORTEST_PASSWORD} characters.")
    return password


def pem_of(der: bytes) -> bytes:
    """A certificate as PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return load_certificate(der).public_bytes(Encoding.PEM)


def key_bytes(public: CertificatePublicKeyTypes) -> bytes:
    """A public key as the index keeps it."""
    from cryptography.hazmat.primitives import serialization

    return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def public_from(key: bytes) -> CertificatePublicKeyTypes:
    """A public key from the index, looked at again before it is certified."""
    from cryptography.hazmat.primitives import serialization

    public = serialization.load_der_public_key(key)
    require_strong(public)
    return public  # type: ignore[return-value]


def _require_unused(index: CertificateIndex, key: bytes, holder: Holder, purpose: str) -> None:
    """Refuse a key of another holder or purpose, and one that was given up."""
    digest = hashlib.sha256(key).hexdigest()
    for one in index.certificates:
        if one.key_digest != digest:
            continue
        if one.holder != holder or one.purpose != purpose:
            raise InputError(
                "This key is certified for another holder or purpose.", hint="Make a key pair for each purpose."
            )
        if one.state == "revoked":
            raise InputError("This key belongs to a revoked certificate.", hint="Make a new key pair.")
