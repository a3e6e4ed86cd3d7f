"""Errors as problem details (RFC 9457): a short word, a sentence, and what to do next; never a value of anybody."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from discreet.errors import DiscreetError
from discreet.server.denied import Denied
from discreet.server.question import QuestionRefusal
from discreet.trust.log.writer import LogUnavailable

MEDIA_TYPE = "application/problem+json"
WHO = "not-signed-in"


class Problem(NamedTuple):
    """What is told of an error."""

    status: int
    kind: str
    message: str
    hint: str = ""
    retry_after: int | None = None

    def body(self, request: str) -> bytes:
        """The body of the answer; ``request`` is the number under which the operator finds it."""
        plain = {"type": f"urn:discreet:{self.kind}", "title": self.message, "status": self.status, "request": request}
        return msgspec.json.encode({**plain, "detail": self.hint} if self.hint else plain)


UNEXPECTED = Problem(
    500, "unexpected", "Something went wrong here, and nothing was answered.", "Tell the office the request number."
)


def problem_of(error: Exception) -> Problem:
    """What is told of an error. Only errors that were written for those who ask keep their text."""
    if isinstance(error, Denied):
        kind = WHO if error.status == 401 else error.kind  # only the log learns what was wrong
        return Problem(error.status, kind, error.message, error.hint, error.retry_after)
    if isinstance(error, QuestionRefusal):
        return Problem(error.status, error.kind, error.message, error.hint)
    if isinstance(error, LogUnavailable):
        return Problem(503, "not-logged", "The answer could not be logged, and so it was not given.", "Ask again.", 5)
    if type(error).__name__ == "StoreUnavailable":
        return Problem(503, "no-store", "The server cannot reach its accounts at the moment.", "Ask again.", 5)
    if isinstance(error, DiscreetError):
        return Problem(500, "not-answered", "The table could not be made.", "Tell the office the request number.")
    return UNEXPECTED
