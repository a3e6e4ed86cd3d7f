"""What ends a protocol: errors with a name that the other party, a test or an operator can tell apart."""

from __future__ import annotations

from typing import Any

from discreet.errors import DiscreetError

KINDS = (
    "busy",
    "collinear columns",
    "damaged answer",
    "did not converge",
    "duplicate record",
    "element outside the group",
    "end not heard",
    "index out of range",
    "key too short",
    "no such cell",
    "no such scheme",
    "not safe to reveal",
    "number too large",
    "other database",
    "other plan",
    "other records",
    "party left",
    "party unreachable",
    "randomness used twice",
    "refused by a party",
    "replayed message",
    "separable responses",
    "tampered",
    "too coarse",
    "too few parties",
    "too many runs",
    "too much work",
    "too small",
    "wrong length",
    "wrong row count",
    "wrong sum",
    "wrong version",
)
"""Names of problems."""


class ProtocolError(DiscreetError):
    """A protocol between parties cannot go on; nothing of it is used.

    Parameters
    ----------
    kind
        The name of the problem, one of ``KINDS``.
    message
        What is wrong, in public words.
    hint
        What to do next.

    Examples
    --------
    >>> error = ProtocolError("wrong version", "The message has version 9.", hint="Use the same version of discreet.")
    >>> error.kind, str(error)
    ('wrong version', 'Wrong version: The message has version 9. Use the same version of discreet.')
    """

    exit_code = 9

    def __init__(self, kind: str, message: str, *, hint: str = "") -> None:
        assert kind in KINDS, kind
        self.kind = kind
        self.plain = message
        super().__init__(f"{kind.capitalize()}: {message}", hint=hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (self.kind, self.plain, self.hint))


def _again(kind: str, message: str, hint: str) -> ProtocolError:
    return ProtocolError(kind, message, hint=hint)
