"""Codes that look the same and are not: they differ by blanks, invisible characters or the composition of accents.

Published beside each other they are a riddle to every reader, and an attacker adds them up; counted as two contributors
they make one look like two. They are refused by name, because only the owner of the data knows which one is meant.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from discreet.errors import InputError, spelt

INVISIBLE = frozenset({"Cc", "Cf"})
"""Categories of characters that nobody sees: controls and marks of format, such as a space of no width."""
HINT = "Write them the same way in the data and the hierarchy (UTF-8, composed accents, no blanks at the ends)."


def plain(code: str) -> str:
    """A code as a reader sees it: composed accents, single blanks, nothing invisible.

    Examples
    --------
    >>> plain("A\\u00a0 1\\u200b "), plain("Cre\\u0301") == "Cr\\u00e9"
    ('A 1', True)
    """
    if code.isascii() and code.isprintable() and code == " ".join(code.split()):
        return code
    seen = [" " if sign.isspace() else sign for sign in code if sign.isspace() or not _invisible(sign)]
    return unicodedata.normalize("NFC", " ".join("".join(seen).split()))


def _invisible(sign: str) -> bool:
    return unicodedata.category(sign) in INVISIBLE


def refuse_alike(codes: Iterable[str], where: str) -> None:
    """Refuse codes of one variable that look the same, and those with a NUL, which some formats end at."""
    first: dict[str, str] = {}
    for code in codes:
        if "\0" in code:
            raise InputError(
                f"{where} has the code {code!a} with a NUL character in it.", hint="Remove it: it is no text."
            )
        other = first.setdefault(plain(code), code)
        if other != code:
            raise InputError(
                f"{where} has two codes that look the same: {spelt(other)} and {spelt(code)}. They differ by blanks, "
                "invisible characters or the composition of accents.",
                hint=HINT,
            )
