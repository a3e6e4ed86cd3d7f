"""X.509: the certificates of two levels of authorities and of those they vouch for, and lists of revoked ones.

Profiles are fixed and small, so that OpenSSL's strict rules hold for all of them: critical basic constraints and key
usage, key identifiers of subject and authority, one purpose a certificate. Nothing of a request (CSR) but its public
key comes into a certificate; names are those that were registered.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from discreet.errors import InputError, ParameterError, missing_extra
from discreet.trust.holders import Holder, Purpose, is_address

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

SKEW = timedelta(minutes=5)
"""Certificates and lists begin so long before they are made, for clocks that are slow."""
LARGEST_REQUEST = 65_536
"""Bytes of a certificate request."""
SMALLEST_RSA = 2048
REASONS = (
    "unspecified",
    "keyCompromise",
    "cACompromise",
    "affiliationChanged",
    "superseded",
    "cessationOfOperation",
    "privilegeWithdrawn",
)
"""Why a certificate may be revoked for good (RFC 5280)."""
HOLD = "certificateHold"
"""Why a certificate is on the list that may come off it again."""
DOCUMENT_SIGNING = "1.3.6.1.5.5.7.3.36"
"""Purpose of certificates that sign (RFC 9336). Without any, they would pass for every purpose."""


@dataclass(frozen=True)
class RevokedEntry:
    """A line of a revocation list."""

    serial: int
    since: datetime
    reason: str


def require_cryptography(purpose: str) -> None:
    """Refuse where the package that does the cryptography is not installed."""
    try:
        import cryptography  # noqa: F401
    except ModuleNotFoundError:
        raise missing_extra("cryptography", "server", purpose) from None


def unreadable(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What ``cryptography`` raises, at once or when a field is looked at, for what others have made; and ``more``."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    return (
        ValueError,
        TypeError,
        UnsupportedAlgorithm,
        x509.InvalidVersion,
        x509.DuplicateExtension,
        x509.UnsupportedGeneralNameType,
        *more,
    )


def new_key(bits: int = 256) -> EllipticCurvePrivateKey:
    """A new key on the curve P-256 or P-384."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key({256: ec.SECP256R1(), 384: ec.SECP384R1()}[bits])


def root_certificate(key: EllipticCurvePrivateKey, name: str, years: int, now: datetime) -> x509.Certificate:
    """The certificate of a root, signed by itself; below it there is one level of authorities."""
    subject = _subject(f"{name} Root CA", name)
    builder = _builder(subject, subject, key.public_key(), now, timedelta(days=365 * years))
    builder = _as_authority(builder, 1)
    return builder.sign(key, _hash_for(key))


def issuing_certificate(
    root_key: EllipticCurvePrivateKey,
    root: x509.Certificate,
    public: CertificatePublicKeyTypes,
    names: tuple[str, str],
    days: int,
    now: datetime,
) -> x509.Certificate:
    """The certificate of an authority that issues to others; ``names`` are its own and the house's."""
    end = min(now + timedelta(days=days), root.not_valid_after_utc)
    builder = _builder(root.subject, _subject(*names), public, now, end - now)
    builder = _as_authority(builder, 0)
    builder = _with_authority_identifier(builder, root)
    return builder.sign(root_key, _hash_for(root_key))


def end_certificate(
    key: EllipticCurvePrivateKey,
    issuer: x509.Certificate,
    public: CertificatePublicKeyTypes,
    holder: Holder,
    purpose: Purpose,
    days: int,
    now: datetime,
    crl_url: str,
) -> x509.Certificate:
    """The certificate of a user, a server or a signer."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    usage = {
        "user": ExtendedKeyUsageOID.CLIENT_AUTH,
        "server": ExtendedKeyUsageOID.SERVER_AUTH,
        "signing": x509.ObjectIdentifier(DOCUMENT_SIGNING),
    }[purpose]
    end = min(now + timedelta(days=days), issuer.not_valid_after_utc)
    builder = _builder(issuer.subject, _subject(holder.name, _organisation(issuer)), public, now, end - now)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(signs=True, commits=purpose == "signing"), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=purpose != "server")
    builder = builder.add_extension(x509.SubjectAlternativeName(_alternative_names(holder)), critical=False)
    builder = _with_authority_identifier(builder, issuer)
    if crl_url:
        point = x509.DistributionPoint([x509.UniformResourceIdentifier(crl_url)], None, None, None)
        builder = builder.add_extension(x509.CRLDistributionPoints([point]), critical=False)
    return builder.sign(key, _hash_for(key))


def revocation_list(
    key: EllipticCurvePrivateKey,
    issuer: x509.Certificate,
    revoked: Iterable[RevokedEntry],
    number: int,
    this_update: datetime,
    next_update: datetime,
) -> x509.CertificateRevocationList:
    """The signed, dated and numbered list of what an authority has revoked or suspended."""
    from cryptography import x509

    builder = x509.CertificateRevocationListBuilder().issuer_name(issuer.subject)
    builder = builder.last_update(this_update).next_update(next_update)
    builder = builder.add_extension(x509.CRLNumber(number), critical=False)
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    builder = builder.add_extension(authority, critical=False)
    for one in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(one.serial).revocation_date(one.since)
        if one.reason != "unspecified":
            reason = x509.CRLReason(x509.ReasonFlags(one.reason))
            entry = entry.add_extension(reason, critical=False)
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(key, _hash_for(key))


def key_of_request(data: bytes) -> CertificatePublicKeyTypes:
    """The public key of a certificate request (CSR), once the request is found to be sound.

    Raises
    ------
    InputError
        When it is malformed, not signed with its own key, signed with an old digest, weak, or asks to be an authority.
    """
    from cryptography import x509

    hint = "Make a new one: openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem"
    if len(data) > LARGEST_REQUEST:
        raise InputError("The certificate request is too large.", hint=hint)
    try:
        pem = data.lstrip().startswith(b"-----")
        request = x509.load_pem_x509_csr(data) if pem else x509.load_der_x509_csr(data)
        digest = request.signature_hash_algorithm
        signed, public = request.is_signature_valid, request.public_key()
        extensions = request.extensions
    except unreadable():
        raise InputError("The certificate request cannot be read.", hint=hint) from None
    if digest is not None and digest.name in ("md5", "sha1", "sha224"):
        raise InputError(f"The certificate request is signed with {digest.name}, which is too weak.", hint=hint)
    if not signed:
        raise InputError("The certificate request is not signed with its own key.", hint=hint)
    for extension in extensions:
        if isinstance(extension.value, x509.BasicConstraints) and extension.value.ca:
            raise InputError("The certificate request asks to be an authority.", hint=hint)
    require_strong(public)
    return public


def require_strong(public: object) -> None:
    """Refuse a public key that is too weak, or of a kind that no server of ours takes.

    Raises
    ------
    InputError
        When it is.
    """
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(public, ed25519.Ed25519PublicKey):
        return
    if isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in ("secp256r1", "secp384r1", "secp521r1"):
        return
    if isinstance(public, rsa.RSAPublicKey):
        if public.key_size >= SMALLEST_RSA and public.public_numbers().e >= 65_537:
            return
        raise InputError(
            f"The RSA key has {public.key_size} bits or a small exponent.",
            hint=f"Use P-256, Ed25519, or RSA of at least {SMALLEST_RSA} bits with exponent 65537.",
        )
    raise InputError("Keys of this kind are not taken.", hint="Use P-256, P-384, Ed25519 or RSA.")


def checked_days(days: int, most: int) -> int:
    """A number of days from 1 to a limit.

    Raises
    ------
    ParameterError
        When it is another.
    """
    if not 1 <= days <= most:
        raise ParameterError(f"days={days} is not allowed.", hint=f"Use 1 to {most}.")
    return days


def _builder(
    issuer: x509.Name, subject: x509.Name, public: CertificatePublicKeyTypes, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    from cryptography import x509

    builder = x509.CertificateBuilder().issuer_name(issuer).subject_name(subject).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - SKEW).not_valid_after(now + life)
    identifier = x509.SubjectKeyIdentifier.from_public_key(public)
    return builder.add_extension(identifier, critical=False)


def _as_authority(builder: x509.CertificateBuilder, below: int) -> x509.CertificateBuilder:
    from cryptography import x509

    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=below), critical=True)
    return builder.add_extension(_key_usage(authority=True), critical=True)


def _with_authority_identifier(builder: x509.CertificateBuilder, issuer: x509.Certificate) -> x509.CertificateBuilder:
    from cryptography import x509

    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    authority = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    return builder.add_extension(authority, critical=False)


def _key_usage(*, signs: bool = False, commits: bool = False, authority: bool = False) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=signs,
        content_commitment=commits,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(name: str, organisation: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation)] if organisation else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _organisation(issuer: x509.Certificate) -> str:
    from cryptography.x509.oid import NameOID

    return "".join(str(one.value) for one in issuer.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))


def _alternative_names(holder: Holder) -> list[x509.GeneralName]:
    from cryptography import x509

    names: list[x509.GeneralName] = [x509.RFC822Name(holder.email)] if holder.email else []
    names += [x509.UniformResourceIdentifier(uri) for uri in holder.uris]
    for host in holder.hosts:
        names.append(x509.IPAddress(ipaddress.ip_address(host)) if is_address(host) else x509.DNSName(host))
    return names


def _hash_for(key: EllipticCurvePrivateKey) -> hashes.SHA384 | hashes.SHA256:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA384() if key.key_size == 384 else hashes.SHA256()
