"""What takes the root's key: issuing authorities, the list of revoked ones, and splitting the key itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InputError, ParameterError, unknown_name
from discreet.trust.authority_folder import (
    ROOT_KEY,
    AuthorityFolder,
    der_of,
    event,
    key_text,
    load_certificate,
)
from discreet.trust.certificate_index import CertificateIndex, IndexEvent, IssuingLevel, LevelList
from discreet.trust.certificates import REASONS, checked_days, issuing_certificate, new_key, root_certificate
from discreet.trust.holders import plain_name
from discreet.trust.private_folder import SECRET, remove_file, replace_file, write_new_file
from discreet.trust.shares import joined_key, read_share, share_text, split_key
from discreet.trust.tokens import SCHEME, token_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ROOT_LIST_DAYS = 90
"""How long a list of revoked authorities may be used: it takes the custodians to make one."""


class RootLevel(AuthorityFolder):
    """What an authority does with its root's key: from the folder, or out of ``shares`` once it was split."""

    def new_issuing(self, *, by: str, years: int = 4, key: str = "", shares: Sequence[str | Path] = ()) -> int:
        """Make a new issuing authority, which issues from now on; older ones stay valid.

        Parameters
        ----------
        by
            Who does it.
        years
            How long it is valid: 3 to 5 years.
        key
            A ``pkcs11:`` URI, where its key lies on a token.
        shares
            Files with shares of the root's key, once it was split.

        Returns
        -------
        int
            Its number.
        """
        plain_name(by, "name of who does it")
        checked_years(years, 3, 5, "issuing authority")
        with self.changing() as change:
            index = change.index
            root_key = self.root_key(index, shares)
            number = 1 + max((level.number for level in index.issuing), default=0)
            own = token_key(key) if key.startswith(SCHEME) else new_key()
            names = (f"{index.name} Issuing CA {number}", index.name)
            root = load_certificate(index.root)
            made = issuing_certificate(root_key, root, own.public_key(), names, 365 * years, change.now)
            if not key:
                key = f"issuing-{number}.key"
                # Over one that an attempt left which did not come to its end: no certificate of it is in the index.
                replace_file(self.folder / key, key_text(own))
            level = IssuingLevel(number, der_of(made), key, made.not_valid_after_utc)
            index.issuing.append(level)
            index.events.append(event(change, f"issuing authority {number} made", by))
            self.add_list(change, level)
            self.add_root_list(change, root_key, timedelta(days=ROOT_LIST_DAYS))
        return number

    def revoke_issuing(
        self, number: int, *, by: str, reason: str = "unspecified", shares: Sequence[str | Path] = ()
    ) -> None:
        """Revoke an issuing authority, and with it all that it issued; publishes the root's list."""
        plain_name(by, "name of who does it")
        if reason not in REASONS:
            raise ParameterError(unknown_name("reason", reason, REASONS))
        with self.changing() as change:
            found = [level for level in change.index.issuing if level.number == number]
            if not found or found[0].state == "revoked":
                raise InputError(f"There is no valid issuing authority number {number}.", hint="Look: discreet ca list")
            root_key = self.root_key(change.index, shares)
            found[0].state, found[0].reason, found[0].since = "revoked", reason, change.now
            change.index.events.append(event(change, f"issuing authority {number} revoked", by, reason))
            self.add_root_list(change, root_key, timedelta(days=ROOT_LIST_DAYS))

    def publish_lists(
        self, *, root: bool = False, shares: Sequence[str | Path] = (), root_days: int = ROOT_LIST_DAYS
    ) -> Path:
        """Make new lists of revoked certificates of the issuing level, and of the root where asked.

        Parameters
        ----------
        root
            Whether to make the root's list, too, which takes its key.
        shares
            Files with shares of the root's key, once it was split.
        root_days
            How long the root's list may be used: at most 365 days.

        Returns
        -------
        Path
            The folder with what servers are given.
        """
        checked_days(root_days, 365)
        with self.changing() as change:
            for level in change.index.issuing:
                if level.not_after > change.now:
                    self.add_list(change, level)
            if root or shares:
                self.add_root_list(change, self.root_key(change.index, shares), timedelta(days=root_days))
        return self.folder / "public"

    def split(self, needed: int, files: Sequence[str | Path], *, by: str) -> None:
        """Write the root's key in shares, one a file, see that they work, and remove the key from the folder.

        Parameters
        ----------
        needed
            How many shares together are the key: at least 2.
        files
            One new file for each custodian, best on a medium of their own.
        by
            Who does it.
        """
        plain_name(by, "name of who does it")
        paths = [Path(path) for path in files]
        with self.changing() as change:
            index = change.index
            key = self._key_in_folder(index)
            words = split_key(key, needed, len(paths))
            root = load_certificate(index.root)
            self._write_shares(index, words, needed, paths)
            for first in range(len(paths)):
                # Every share is read back and used once before the only other copy goes.
                some = [paths[(first + step) % len(paths)] for step in range(needed)]
                joined_key([read_share(path) for path in some], root)
            index.shares = f"any {needed} of {len(paths)} shares are the key"
            index.events.append(event(change, "root key split", by, index.shares))
        remove_file(self.folder / ROOT_KEY)

    def join(self, shares: Sequence[str | Path], *, by: str) -> None:
        """Put the root's key back into the folder out of its shares, to split it anew among other custodians."""
        plain_name(by, "name of who does it")
        with self.changing() as change:
            index = change.index
            if not index.shares:
                raise InputError("The root key was not split.", hint="It lies in the folder or on a token.")
            key = joined_key([read_share(Path(path)) for path in shares], load_certificate(index.root))
            replace_file(self.folder / ROOT_KEY, key_text(key))
            index.shares = ""
            index.events.append(event(change, "root key joined", by))

    def _key_in_folder(self, index: CertificateIndex) -> EllipticCurvePrivateKey:
        if index.shares:
            raise InputError(
                f"The root key was split before: {index.shares}.", hint="Put it together first: discreet ca join"
            )
        return self.root_key(index, ())

    def _write_shares(self, index: CertificateIndex, words: Sequence[str], needed: int, paths: Sequence[Path]) -> None:
        from cryptography.hazmat.primitives import hashes

        fingerprint = load_certificate(index.root).fingerprint(hashes.SHA256()).hex()
        done: list[Path] = []
        try:
            for place, (one, path) in enumerate(zip(words, paths, strict=True), start=1):
                text = f"{place} of {len(paths)}, any {needed} together are the key"
                write_new_file(path, share_text(one, index.name, fingerprint, text), SECRET)
                done.append(path)
        except BaseException:
            for path in done:
                path.unlink(missing_ok=True)
            raise


def begun_index(
    name: str, key: EllipticCurvePrivateKey, years: int, crl_url: str, done: IndexEvent, now: datetime
) -> CertificateIndex:
    """The index of a new authority: a root, and nothing below it."""
    root = root_certificate(key, name, years, now)
    return CertificateIndex(1, name, der_of(root), LevelList(), crl_url, events=[done])


def checked_years(years: int, least: int, most: int, what: str) -> None:
    """Refuse a number of years outside of what is usual for a level.

    Raises
    ------
    ParameterError
        When it is.
    """
    if not least <= years <= most:
        raise ParameterError(f"years={years} is not allowed for the {what}.", hint=f"Use {least} to {most}.")
