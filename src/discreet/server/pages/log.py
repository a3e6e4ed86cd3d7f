"""The page of the log, for auditors: search in it, and judge it with code that shares nothing with its writer."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from starlette.responses import Response
from starlette.routing import Route

from discreet.server.denied import Denied
from discreet.server.pages.frame import PageFrame, Visit
from discreet.server.roles import allowed
from discreet.trust.log_verify.check import check_log
from discreet.trust.log_verify.verdict import LogVerdict

MOST = 200
"""Entries that a page shows, the last ones."""


class FoundEntry(NamedTuple):
    """An entry as the page shows it."""

    seq: int
    time: str
    kind: str
    subject: str
    rest: str


@dataclass(frozen=True)
class LogPages:
    """The log as auditors see it.

    Parameters
    ----------
    frame
        The frame of pages.
    folder
        Where the log lies.
    """

    frame: PageFrame
    folder: Path

    def routes(self) -> list[Route]:
        """Addresses."""
        return [self.frame.route("/log", self.show_log)]

    async def show_log(self, visit: Visit) -> Response:
        """The verdict on the whole log, and the entries that hold some words."""
        allowed(visit.who, "log.read").required()
        words = visit.request.query_params.get("find", "")[:200]
        kind = visit.request.query_params.get("kind", "")[:60]
        verdict, entries, many = await asyncio.to_thread(self._judged, words, kind)
        shown: dict[str, Any] = {"verdict": verdict, "entries": entries, "many": many, "find": words, "kind": kind}
        return self.frame.page(visit, "log.html", "The log", **shown)

    def _judged(self, words: str, kind: str) -> tuple[LogVerdict, list[FoundEntry], int]:
        found: deque[FoundEntry] = deque(maxlen=MOST)
        many = 0
        wanted = words.casefold()

        def each(entry: Any) -> None:
            nonlocal many
            shown = _shown(entry)
            text = f"{shown.kind} {shown.subject} {shown.rest}".casefold()
            if wanted in text and kind in ("", shown.kind):
                many += 1
                found.append(shown)

        if not os.access(self.folder, os.R_OK | os.X_OK):
            raise Denied(
                "log-not-readable",
                "This process may not read the log.",
                hint="On the server: discreet log verify, discreet log show.",
                status=503,
            )
        verdict = check_log(self.folder, each=each)
        return verdict, list(reversed(found)), many


def _shown(entry: Any) -> FoundEntry:
    body = dict(entry.body)
    kind, subject = str(body.pop("kind", "")), str(body.pop("subject", ""))
    body.pop("signed", None)
    rest = " · ".join(f"{name} {value}" for name, value in body.items())
    return FoundEntry(int(entry.seq), str(entry.time), kind, subject, rest)
