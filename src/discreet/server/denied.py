"""What a person may not have, or not now; questions that nobody may ask are refused in ``question.py``."""

from __future__ import annotations

from discreet.errors import DiscreetError


class Denied(DiscreetError):
    """A request that is not served. It says no more than its sender knows already.

    ``kind`` is a short word for logs, ``status`` what HTTP calls it, ``retry_after`` seconds until it may go better.
    """

    exit_code = 2

    def __init__(
        self, kind: str, message: str, *, hint: str = "", status: int = 403, retry_after: int | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after


def who_are_you(kind: str) -> Denied:
    """One text for all that is wrong with proofs of identity: only the log learns which of them it was."""
    return Denied(kind, "You are not signed in.", hint="Sign in, with your certificate where you have one.", status=401)
