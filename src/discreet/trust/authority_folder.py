"""The folder of a certification authority: keys, index, lists of revoked certificates, and what servers are given.

::

    ca/                      mode 0700
      index.json             requests, certificates, states, who did what
      root.key               until it is split; then in shares with custodians
      issuing-1.key          signs certificates and lists
      crl-root.pem  crl-1.pem
      public/                what servers and clients need, and nothing else
        authorities.pem      root and issuing certificates
        revoked.pem          the lists of both levels
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError, OutputError
from discreet.trust.certificate_index import (
    CertificateIndex,
    IndexedCertificate,
    IndexEvent,
    IssuingLevel,
    LevelList,
    read_index,
    write_index,
)
from discreet.trust.certificates import SKEW, RevokedEntry, require_cryptography, revocation_list
from discreet.trust.private_folder import (
    OPEN,
    SECRET,
    alone_in,
    read_bounded,
    remove_file,
    replace_file,
    require_private_folder,
    write_new_file,
)
from discreet.trust.shares import joined_key, read_share
from discreet.trust.tokens import SCHEME, token_key

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITIES, REVOKED = "authorities.pem", "revoked.pem"
"""What servers are given: the certificates of both levels, and the lists of revoked ones of both levels."""
GIVEN = (AUTHORITIES, REVOKED)
"""In this order, so that every list has its authority."""
PUBLIC = "public"
ROOT_KEY = "root.key"
LIST_LIFE = timedelta(hours=24)
"""How long a list of the issuing level may be used; a new one is made every hour, or as soon as something changes."""
KEPT = timedelta(days=7)
"""How long certificates that have expired stay on the list."""
LARGEST_KEY = 65_536
LARGEST_LIST = 64 * 1024 * 1024
NO_AUTHORITY = "Make one: discreet ca init FOLDER --name NAME --by NAME"


def utc_now() -> datetime:
    """The time, to the second, as certificates have it."""
    return datetime.now(UTC).replace(microsecond=0)


@dataclass
class FolderChange:
    """An index that is being changed, and files that are written once it is safe on disk."""

    index: CertificateIndex
    now: datetime
    files: list[tuple[Path, bytes]] = field(default_factory=list)


class AuthorityFolder:
    """Keys, index and lists of an authority.

    Parameters
    ----------
    folder
        The folder, which only its owner may enter.
    clock
        What tells the time, in UTC.
    """

    def __init__(self, folder: str | Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        require_cryptography("A certification authority")
        self.folder = Path(folder)
        self.clock = clock
        require_private_folder(self.folder, "authority", NO_AUTHORITY)

    @property
    def index(self) -> CertificateIndex:
        """Every request and certificate, as they stand now."""
        return read_index(self.folder)

    @contextmanager
    def changing(self) -> Iterator[FolderChange]:
        """Change the index, alone; then write what follows from it, and what servers are given."""
        with alone_in(self.folder):
            change = FolderChange(read_index(self.folder), self.clock())
            if change.index.shares:
                remove_file(self.folder / ROOT_KEY)  # a split or a joining that was interrupted left it
            yield change
            write_index(self.folder, change.index)
            for path, data in change.files:
                replace_file(path, data)
            if change.files:
                self._write_public(change)

    def key_of(self, name: str) -> EllipticCurvePrivateKey:
        """A key of the authority: of a token, or from its file in the folder."""
        return token_key(name) if name.startswith(SCHEME) else read_key(self.folder / Path(name).name)

    def issuing_key(self, level: IssuingLevel) -> EllipticCurvePrivateKey:
        """The key of an issuing authority.

        Raises
        ------
        InputError
            When it is not to be had, or is another.
        """
        return _fitting(self.key_of(level.key), load_certificate(level.der))

    def root_key(self, index: CertificateIndex, shares: Sequence[str | Path]) -> EllipticCurvePrivateKey:
        """The root's key: out of shares, of a token, or from the folder as long as it lies there.

        Raises
        ------
        InputError
            When it does not lie there and shares are missing or wrong.
        """
        if shares:
            return joined_key([read_share(Path(path)) for path in shares], load_certificate(index.root))
        if index.shares:
            raise InputError(
                f"This needs the root key, which was split: {index.shares}.", hint="Give the files: --share FILE ..."
            )
        return _fitting(self.key_of(index.root_key), load_certificate(index.root))

    def add_list(self, change: FolderChange, level: IssuingLevel) -> None:
        """Make a new revocation list of an issuing authority."""
        key, issuer = self.issuing_key(level), load_certificate(level.der)
        revoked = [
            entry_of(one)
            for one in change.index.certificates
            if one.issuer == level.number and one.state != "valid" and one.not_after > change.now - KEPT
        ]
        made = _next_list(key, issuer, revoked, level.crl, change.now, LIST_LIFE)
        change.files.append((self.folder / f"crl-{level.number}.pem", made))

    def add_root_list(self, change: FolderChange, key: EllipticCurvePrivateKey, life: timedelta) -> None:
        """Make a new list of revoked authorities, signed by the root."""
        index = change.index
        revoked = [
            RevokedEntry(load_certificate(level.der).serial_number, level.since, level.reason)
            for level in index.issuing
            if level.since is not None
        ]
        made = _next_list(key, load_certificate(index.root), revoked, index.root_crl, change.now, life)
        change.files.append((self.folder / "crl-root.pem", made))

    def export(self, folder: str | Path) -> None:
        """Copy what servers and clients are given to another folder: certificates and lists, no key.

        Raises
        ------
        InputError
            When the authority has not published its lists.
        """
        target = Path(folder)
        files = [(name, read_bounded(self.folder / PUBLIC / name, "public file", LARGEST_LIST)) for name in GIVEN]
        try:
            target.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"Cannot make the folder {target.name!r}: {error.strerror}.", hint="Check it.") from None
        for name, data in files:
            replace_file(target / name, data, OPEN)

    def _write_public(self, change: FolderChange) -> None:
        """Put together what servers are given: certificates first, so that every list has its authority."""
        from cryptography.hazmat.primitives.serialization import Encoding

        public = self.folder / PUBLIC
        public.mkdir(mode=0o755, exist_ok=True)
        levels = [level for level in change.index.issuing if level.not_after > change.now]
        certificates = [change.index.root, *(level.der for level in levels)]
        pem = b"".join(load_certificate(der).public_bytes(Encoding.PEM) for der in certificates)
        replace_file(public / AUTHORITIES, pem, OPEN)
        names = ["crl-root.pem", *(f"crl-{level.number}.pem" for level in levels)]
        lists = b"".join(read_bounded(self.folder / name, "revocation list", LARGEST_LIST) for name in names)
        replace_file(public / REVOKED, lists, OPEN)


def entry_of(certificate: IndexedCertificate) -> RevokedEntry:
    """A certificate as a line of a revocation list."""
    assert certificate.since is not None
    return RevokedEntry(int(certificate.serial, 16), certificate.since, certificate.reason)


def event(change: FolderChange, what: str, by: str, reason: str = "") -> IndexEvent:
    """Something that is done now."""
    return IndexEvent(change.now, what, by, reason)


def load_certificate(der: bytes) -> x509.Certificate:
    """A certificate out of its bytes."""
    from cryptography import x509

    return x509.load_der_x509_certificate(der)


def der_of(certificate: x509.Certificate) -> bytes:
    """The bytes of a certificate."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.DER)


def key_text(key: EllipticCurvePrivateKey) -> bytes:
    """A private key as PEM, without a password."""
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_key(path: Path, key: EllipticCurvePrivateKey) -> None:
    """Write a private key to a new file that only its owner may read."""
    write_new_file(path, key_text(key), SECRET)


def read_key(path: Path) -> EllipticCurvePrivateKey:
    """A private key on a curve, from a file that only its owner may read.

    Raises
    ------
    InputError
        When there is none, or others may read it.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    data = read_bounded(path, "key of the authority", LARGEST_KEY, secret=True)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise InputError(f"The file {path.name!r} holds no key of an authority.", hint="Restore it from a backup.")
    return key


def _fitting(key: EllipticCurvePrivateKey, certificate: x509.Certificate) -> EllipticCurvePrivateKey:
    """The key, when it is the one of the certificate."""
    if key.public_key() != certificate.public_key():
        raise InputError("A key of the authority is not the one of its certificate.", hint="Restore it from a backup.")
    return key


def _next_list(
    key: EllipticCurvePrivateKey,
    issuer: x509.Certificate,
    revoked: Sequence[RevokedEntry],
    last: LevelList,
    now: datetime,
    life: timedelta,
) -> bytes:
    """A list later than the last one: OpenSSL goes on using an old list beside one of the same date.

    It begins some minutes ago, for slow clocks, which leaves room for several lists within one second. None ends before
    the one before it, because a server that has both would go back to the old one.
    """
    from cryptography.hazmat.primitives.serialization import Encoding

    begin, end = now - SKEW, now + life
    if last.this_update is not None and last.next_update is not None:
        begin, end = max(begin, last.this_update + timedelta(seconds=1)), max(end, last.next_update)
    if begin > now:
        raise InputError(
            "The clock stands before the date of the last revocation list.", hint="Set the clock right, or wait."
        )
    last.number, last.this_update, last.next_update = last.number + 1, begin, end
    return revocation_list(key, issuer, revoked, last.number, begin, end).public_bytes(Encoding.PEM)
