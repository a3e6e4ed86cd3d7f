"""The root key in shares: any ``needed`` of them together are the key, fewer tell nothing about it (Shamir 1979).

Shares are words (SLIP-39, through the package ``shamir-mnemonic``), so that they can be printed, read aloud and typed
in; a wrong word is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, ParameterError, counted, missing_extra
from discreet.trust.private_folder import read_bounded

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

MOST_SHARES = 16
LARGEST = 8192
"""Bytes of a file with a share."""
TITLE = "discreet root key share 1"
WORDS = "words:"


def split_key(key: EllipticCurvePrivateKey, needed: int, shares: int) -> list[str]:
    """The private key as shares in words.

    Raises
    ------
    ParameterError
        When one share would be the key, more are needed than there are, or there are too many.
    """
    if not 2 <= needed <= shares <= MOST_SHARES:
        raise ParameterError(
            f"{needed} of {counted(shares, 'share')} is not allowed.",
            hint=f"Let at least 2 be needed, at most as many as there are, and make at most {MOST_SHARES}.",
        )
    library = _library()
    secret = key.private_numbers().private_value.to_bytes(key.key_size // 8, "big")
    (words,) = library.generate_mnemonics(1, [(needed, shares)], secret)
    return [str(one) for one in words]


def joined_key(shares: Sequence[str], root: x509.Certificate) -> EllipticCurvePrivateKey:
    """The private key of a root certificate out of its shares.

    Raises
    ------
    InputError
        When a share is mistyped, of another split or another root, or there are too few different ones.
    """
    from cryptography.hazmat.primitives.asymmetric import ec

    library = _library()
    found: dict[int, Any] = {}
    splits = set()
    for place, words in enumerate(shares, start=1):
        try:
            share = library.Share.from_mnemonic(words)
        except library.MnemonicError:
            raise InputError(
                f"Share number {place} of those given is mistyped or damaged.", hint="Compare it with its paper."
            ) from None
        found[share.index] = share
        splits.add((share.common_parameters(), share.group_parameters()))
    if not found:
        raise InputError("No share of the root key is given.", hint="Give as many as are needed.")
    if len(splits) > 1:
        raise InputError(
            "The shares were not made together.", hint="After a new split, shares of the one before are worth nothing."
        )
    needed = next(iter(found.values())).member_threshold
    if len(found) < needed:
        raise InputError(
            f"{counted(len(found), 'different share')} of the root key given, and {needed} are needed.",
            hint="Bring together more custodians.",
        )
    chosen = [one.mnemonic() for one in list(found.values())[:needed]]
    curve = root.public_key()
    try:
        secret = int.from_bytes(library.combine_mnemonics(chosen), "big")
        key = ec.derive_private_key(secret, ec.SECP384R1())
    except (library.MnemonicError, ValueError):
        raise InputError("The shares do not fit together.", hint="Compare them with their papers.") from None
    if key.public_key() != curve:
        raise InputError("The shares are those of another root key.", hint="Bring the shares of this authority.")
    return key


def share_text(words: str, authority: str, fingerprint: str, place: str) -> bytes:
    """A share as its file holds it."""
    lines = [TITLE, f"authority: {authority}", f"root: {fingerprint}", f"share: {place}", f"{WORDS} {words}", ""]
    return "\n".join(lines).encode()


def read_share(path: Path) -> str:
    """The words of a share from its file.

    Raises
    ------
    InputError
        When the file holds none.
    """
    text = read_bounded(Path(path), "share", LARGEST).decode("utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.startswith(WORDS)]
    if not text.startswith(TITLE) or len(lines) != 1:
        raise InputError(
            f"The file {Path(path).name!r} holds no share of a root key.",
            hint="Give what discreet ca split made.",
        )
    return lines[0].removeprefix(WORDS).strip()


def _library() -> Any:
    try:
        import shamir_mnemonic
    except ModuleNotFoundError:
        raise missing_extra("shamir-mnemonic", "server", "Splitting a root key") from None
    return shamir_mnemonic
