"""All pages of a server."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import Route

from discreet.server.extracts.desk import ExtractDesk
from discreet.server.pages.account import AccountPages
from discreet.server.pages.applications import ApplicationPages
from discreet.server.pages.extracts import ExtractPages
from discreet.server.pages.frame import PageFrame
from discreet.server.pages.log import LogPages
from discreet.server.pages.office import OfficePages
from discreet.server.pages.outputs import OutputPages
from discreet.server.pages.plots import PlotPages
from discreet.server.pages.requests import RequestPages
from discreet.server.pages.tables import TablePages
from discreet.server.plots import PlotDesk
from discreet.server.service import Service
from discreet.server.sign_in import SignIn


def page_routes(
    frame: PageFrame,
    service: Service,
    *,
    sign_in: SignIn | None = None,
    log_folder: Path | None = None,
    extracts: ExtractDesk | None = None,
) -> list[Route]:
    """Addresses of pages; those of sign-in, and what belongs to somebody or an office, where people can sign in.

    Parameters
    ----------
    frame, service
        The frame of pages, and what answers questions.
    sign_in
        How people sign in.
    log_folder
        Where the log lies, for auditors.
    extracts
        Where extracts are asked for.
    """
    store = None if sign_in is None else sign_in.store
    found = [frame.static_route(), *TablePages(frame, service, store).routes()]
    if sign_in is not None:
        ways = AccountPages(frame, sign_in.provider is not None, sign_in.passkeys is not None)
        found += [*ways.routes(), *sign_in.routes(), *OutputPages(frame, sign_in.store, service.log).routes()]
        found += OfficePages(frame, service, sign_in.store).routes()
        found += PlotPages(frame, PlotDesk(service, sign_in.store)).routes()
        found += RequestPages(frame, service, sign_in.store).routes()
        if extracts is not None:
            found += [*ApplicationPages(frame, extracts).routes(), *ExtractPages(frame, extracts).routes()]
        if log_folder is not None:
            found += LogPages(frame, log_folder).routes()
    return found
