"""The page of one's own account: sign in, sign out, who one is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from discreet.server.pages.frame import PageFrame, Visit


@dataclass(frozen=True)
class AccountPages:
    """Sign-in as people see it; ``sign_in.py`` does it.

    Parameters
    ----------
    frame
        The frame of pages.
    provider
        Whether there is an identity provider.
    passkeys
        Whether passkeys are offered.
    """

    frame: PageFrame
    provider: bool = False
    passkeys: bool = False

    def routes(self) -> list[Route]:
        """Addresses."""
        return [self.frame.route("/account", self.show_account)]

    async def show_account(self, visit: Visit) -> Response:
        """Who one is, and the ways to sign in."""
        who = visit.who
        title = who.name or "Sign in"
        shown: dict[str, Any] = {"provider": self.provider, "passkeys": self.passkeys, "roles": sorted(who.roles)}
        by_certificate = who.fingerprint is not None
        return self.frame.page(visit, "account.html", title, by_certificate=by_certificate, **shown)
