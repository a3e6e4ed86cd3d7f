"""What all parts of the store have: a database and a clock; and what they all do: digests, plain text."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from time import time

from sqlalchemy import Engine

from discreet.errors import ParameterError

LONGEST = 4096
"""Characters of a text, where nothing else is said."""


def now_in_seconds() -> int:
    """Whole seconds since 1970, by the clock of the machine."""
    return int(time())


@dataclass(frozen=True)
class StorePart:
    """A part of the store."""

    engine: Engine = field(repr=False)
    clock: Callable[[], float] = time
    """Seconds since 1970; tests set their own."""

    def now(self) -> int:
        """Whole seconds since 1970."""
        return int(self.clock())


def digest_of(purpose: str, *parts: str) -> str:
    """What stands for secrets in the database. They are long and random, so that nothing slower is needed."""
    found = hashlib.sha256(f"discreet {purpose} 1".encode())
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        found.update(b"\0%d:" % len(raw) + raw)
    return found.hexdigest()


def plain_text(value: str, what: str, most: int = LONGEST) -> str:
    """A text as it was given, where it can be kept and shown.

    Raises
    ------
    ParameterError
        When it is empty, too long, or has characters that nobody sees.
    """
    if not value or len(value) > most:
        raise ParameterError(f"The {what} has {len(value):,} characters.", hint=f"Give 1 to {most:,}.")
    if any(unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in value):
        raise ParameterError(
            f"The {what} has control characters or others that cannot be seen.", hint="Give plain text."
        )
    return value
